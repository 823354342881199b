/** Tables as CSV, RFC 4180: what a spreadsheet and pandas read. */

/**
 * @param {import("../data/saves.js").Table} table
 * @returns {string}
 */
export function csvText({ columns, rows }) {
  return [columns, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");
}

function cell(value) {
  if (typeof value === "number") return Number.isFinite(value) ? number(value) : "";
  // Labels come from strangers: a spreadsheet would run a text that begins so.
  const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

/** Seven digits: all that a 32-bit number has. */
function number(value) {
  return String(Number(value.toPrecision(7)));
}

/**
 * A name for a file: letters of any script, digits, dots and dashes. A Mac sends names taken apart
 * into strokes and accents; they are put together first.
 * @param {...(string|number)} parts
 * @returns {string}
 */
export function fileName(...parts) {
  const words = parts.map((part) =>
    String(part).normalize("NFC").replace(/\.[^.]{1,5}$/, "").replace(/[^\p{L}\p{N}.-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 40));
  return words.filter(Boolean).join("-") || "vitviz";
}
