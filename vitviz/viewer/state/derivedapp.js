/** A derived app: the app with other members, for parts that show something else than it does. */

/**
 * The app, or a service of it, with some members of its own; all others are as they are when they are read.
 * State is written through the app alone: to set a member of a derived one throws.
 * @template {object} T
 * @param {T} app
 * @param {Partial<T>} members  values, functions and getters
 * @returns {T}
 */
export function derived(app, members) {
  return /** @type {T} */ (
    new Proxy(members, {
      get: (own, name) => (Object.hasOwn(own, name) ? own[name] : app[name]),
      set: () => false,
    })
  );
}
