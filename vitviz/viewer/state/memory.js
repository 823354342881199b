/** Memory: a visitor's taste is kept from visit to visit, where the browser grants local storage. */

const KEY = "vitviz-taste";

/**
 * What is remembered; {} where storage is refused, damaged or empty.
 * @param {() => Storage} open  may throw: a browser can refuse even to name its storage
 * @returns {any}
 */
export function recall(open) {
  try {
    const found = JSON.parse(open().getItem(KEY) ?? "{}");
    return found !== null && typeof found === "object" ? found : {};
  } catch {
    return {};
  }
}

/**
 * Adds to what is remembered. Without storage the choice lasts as long as the page.
 * @param {() => Storage} open
 * @param {any} wanted
 */
export function remember(open, wanted) {
  try {
    open().setItem(KEY, JSON.stringify({ ...recall(open), ...wanted }));
  } catch {
    // Storage is refused or full: the choice is only not remembered.
  }
}
