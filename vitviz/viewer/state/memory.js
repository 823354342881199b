/** Memory: a visitor's taste from one visit to the next, where the browser lets a page remember. */

const KEY = "vitviz-taste";

/**
 * What was remembered; nothing where storage is refused, damaged or empty.
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
    // Refused or full: nothing is lost but the memory.
  }
}
