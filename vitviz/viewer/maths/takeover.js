/**
 * Take over: the sentence about the blocks before which clean tokens bring an answer back, and what the logit
 * lens says of the old and the new answer.
 */

/**
 * The key of a text and its values.
 * @param {boolean[]} patches  whether the answer is back with clean patches before each block
 * @param {boolean[]} cls  the same with clean CLS
 */
export function takeOver(patches, cls) {
  const lost = patches.indexOf(false);
  const last = lost < 0 ? patches.length - 1 : lost - 1;
  const since = cls.lastIndexOf(false) + 1;
  return {
    key: since < patches.length ? "experimentFoolFoundBoth" : "experimentFoolFoundPatches",
    values: { last, since },
  };
}

/**
 * The layer from which on a class stays first in the lens; number of layers if it is not first at the end.
 * @param {{ranks: number[]}} line
 */
const leadsFrom = ({ ranks }) => ranks.findLastIndex((rank) => rank !== 1) + 1;

/**
 * Lines of the lens: the old answer in the clean picture, then the new and the old one in the changed picture;
 * and from which layer on each picture has the answer that it ends with. null unless the lens follows both.
 * @param {import("../types.js").LensLine[]|null} clean
 * @param {import("../types.js").LensLine[]|null} changed
 * @param {number} before  the answer to the clean picture
 * @param {number} after  the answer to the changed one
 */
export function lensOfBoth(clean, changed, before, after) {
  const lineOf = (lines, index) => lines?.find((line) => line.index === index);
  const [intact, now, old] = [lineOf(clean, before), lineOf(changed, after), lineOf(changed, before)];
  if (!intact || !now) return null;
  const lines = { clean: intact, after: now, ...(old ? { before: old } : {}) };
  return { lines, values: { clean: leadsFrom(intact), changed: leadsFrom(now) } };
}
