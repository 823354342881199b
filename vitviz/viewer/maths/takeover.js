/** Take over: the sentence about the blocks before which clean tokens bring an answer back. */

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
