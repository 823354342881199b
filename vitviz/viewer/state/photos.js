/**
 * Photos: those that the visitor sent while this page is open. Each can stand beside another analysis, and
 * its tokens can be put into one. No document in here.
 */

/** The key of one: nobody else has it. */
export const OWN_PHOTO = /^photo-[a-z0-9]{6}$/;

/** The older ones are forgotten. */
const MOST = 6;

/** Whether a name is that of a drawing: of successive drawings only the last one counts as a photo. */
export const isDrawn = (name) => /^drawing-\d+\.png$/.test(name);

/** @typedef {{key: string, address: string, name: string}} Photo  address: the host knows what it means */

/** @param {() => number} random  from 0 to 1 */
export function createPhotos(random = Math.random) {
  /** @type {Photo[]} */
  let all = []; // the newest first
  return {
    /**
     * @param {{address: string, name: string}} sent
     * @returns {string} its key, which means nothing in any other page
     */
    add({ address, name }) {
      const known = all.find((one) => one.address === address);
      const one = known ?? {
        key:
          "photo-" +
          Math.floor(random() * 36 ** 6)
            .toString(36)
            .padStart(6, "0"),
        address,
        name,
      };
      const others = all.filter((other) => other !== known && !(isDrawn(name) && isDrawn(other.name)));
      all = [one, ...others].slice(0, MOST);
      return one.key;
    },
    /** @returns {Photo[]} */
    list: () => all,
    /**
     * The host's name for a picture: the address of a photo, the key of anything else.
     * @param {string} key
     */
    asked(key) {
      const one = all.find((photo) => photo.key === key);
      return one ? { path: one.address, name: one.name } : key;
    },
    /** An experiment as the host takes it. @param {import("./experiment.js").Intervention[]} interventions */
    askedIn(interventions) {
      return interventions.map((one) =>
        one.from === undefined ? one : { ...one, from: this.asked(one.from) },
      );
    },
  };
}
