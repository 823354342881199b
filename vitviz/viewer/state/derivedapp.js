/** A derived app: the app with other members, for parts that show something else than it does. */

/**
 * The app with some members of its own; all others are those of the app, as they are when they are read.
 * @param {import("../main.js").App} app
 * @param {Partial<import("../main.js").App>} members  values, functions and getters
 * @returns {import("../main.js").App}
 */
export function derivedApp(app, members) {
  return Object.create(app, Object.getOwnPropertyDescriptors(members));
}
