/** A derived app: the app with other members, for parts that show something else than it does. */

/**
 * The app, or a service of it, with some members of its own; all others are as they are when they are read.
 * Whatever is set reaches the app itself; to set a member of the derived one's own throws.
 * @template {object} T
 * @param {T} app
 * @param {Partial<T>} members  values, functions and getters
 * @returns {T}
 */
export function derived(app, members) {
  return /** @type {T} */ (
    new Proxy(members, {
      get: (own, name) => (Object.hasOwn(own, name) ? own[name] : app[name]),
      set: (own, name, value) => !Object.hasOwn(own, name) && Reflect.set(app, name, value),
    })
  );
}
