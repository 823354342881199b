/** Tables as CSV (RFC 4180), which spreadsheets and pandas read. */

/**
 * @typedef {{columns: string[], rows: (string|number)[][]}} Table
 * @param {Table} table
 * @returns {string}
 */
export function csvText({ columns, rows }) {
  return [columns, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");
}

function cell(value) {
  if (typeof value === "number") return Number.isFinite(value) ? number(value) : "";
  // Labels come from strangers: a spreadsheet would run a text with these first letters as a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

/** A number with seven digits: a 32-bit float has no more. */
function number(value) {
  return String(Number(value.toPrecision(7)));
}

/**
 * A safe name for a file from the names of strangers, by the rule of tests/file_names.json: letters,
 * marks and digits of any script, dots, dashes, underscores. Marks are vowels of Hindi, for example,
 * and accents that no letter has built in. Names are composed first (Unicode NFC), since a Mac sends
 * them decomposed.
 * @param {...(string|number)} parts
 * @returns {string}
 */
export function fileName(...parts) {
  return (
    parts
      .map((part) => safe(String(part)))
      .filter(Boolean)
      .join("-") || "vitviz"
  );
}

function safe(text) {
  const words =
    text
      .normalize("NFC")
      .replace(/\.[^.]{1,5}$/, "")
      .match(/[\p{L}\p{N}._-][\p{L}\p{M}\p{N}._-]*/gu) ?? [];
  return [...words.join("-")]
    .slice(0, 40)
    .join("")
    .replace(/^[._-]+|[._-]+$/g, "");
}
