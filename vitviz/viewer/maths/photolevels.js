/** Photo levels: read as they are, stretched, inverted, or both. No document in here. */

/**
 * inverted: light and dark are exchanged; stretched: before that, the lowest level became black and the highest
 * white.
 * @typedef {{inverted: boolean, stretched: boolean}} Look
 */

/** Parameters of a link, by field. */
const PARAMETERS = { inverted: "invert", stretched: "stretch" };

/** The look of a photo, of whatever else it has. @param {Partial<Look>} [photo] @returns {Look} */
export const lookOf = ({ inverted = false, stretched = false } = {}) => ({ inverted, stretched });

/** The look in the host's fields of a link. @param {Record<string, string>} [link] @returns {Look} */
export const lookIn = (link = {}) => ({ inverted: link.invert === "1", stretched: link.stretch === "1" });

/** The host's fields of a link for a look. @param {Look} look @returns {Record<string, string>} */
export const linkOfLook = (look) =>
  Object.fromEntries(
    Object.entries(PARAMETERS)
      .filter(([field]) => look[field])
      .map(([, name]) => [name, "1"]),
  );

/** Whether a field of a link is about the look. @param {string} name */
export const isOfLook = (name) => Object.values(PARAMETERS).includes(name);
