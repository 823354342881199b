/** Numbers as they are written on the screen. */

/**
 * A value with three significant digits, and at most five decimals: 0.0213, 1.20, 0.00012; smaller
 * values with two significant digits: 8.0e-5.
 * @param {number} value
 * @returns {string}
 */
export function digits(value) {
  return written(value, 3);
}

/**
 * A value with five significant digits, for sums that a reader may check with a calculator.
 * @param {number} value
 * @returns {string}
 */
export function exactly(value) {
  return written(value, 5);
}

/** A value with `count` significant digits, and at most two decimals more. */
function written(value, count) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(Number(value.toPrecision(count))); // 0.9996 is written as 1.00
  if (size === 0) return "0";
  if (size < 0.0001)
    return value
      .toExponential(count - 2)
      .replace("-", "\u2212")
      .replace("e\u2212", "e-");
  const decimals = count - 1 - Math.floor(Math.log10(size) + 1e-9); // log10(1000) is 2.9999999999999996
  return withMinus(value.toFixed(Math.max(0, Math.min(count + 2, decimals))));
}

/**
 * A multiple of uniform attention: 123, 57.1, 4.2, 0.3, and one significant digit below 0.1: 0.003.
 * @param {number} times
 * @returns {string}
 */
export function multiple(times) {
  if (times > 0 && times < 0.095) return String(Number(times.toPrecision(1)));
  return times.toFixed(times >= 99.5 ? 0 : 1);
}

/** A share above this is 1 but for rounding: 32-bit floats have 7 digits. */
const WHOLE = 1 - 1e-6;

/**
 * A share as a percentage: 12.3%, and with two significant digits below 0.1%: 0.085%. A share below
 * 1 is never written as 100%, but as > 99.9%.
 * @param {number} share
 * @returns {string}
 */
export function percent(share) {
  if (share > 0 && share < 0.000001) return "<\u00a00.0001%";
  if (share > 0 && share < 0.00095) return Number((100 * share).toPrecision(2)) + "%";
  return rounded(share, 1) + "%";
}

/**
 * Shares of one column as percentages with equally many decimals: one, or as many as give the largest
 * two significant digits. Shares that are too small for them are written as < 0.1%.
 * @param {number[]} shares
 * @returns {string[]}
 */
export function percents(shares) {
  const largest = Math.max(...shares);
  const decimals = largest > 0 ? Math.min(6, Math.max(1, 1 - Math.floor(Math.log10(100 * largest)))) : 1;
  return shares.map((share) => rounded(share, decimals) + "%");
}

/**
 * The numbers of predictions as texts: probabilities as percentages of one column, values with three digits.
 * @param {{probability: number|null, logit: number}[]} predictions
 * @returns {string[]}
 */
export function numberTexts(predictions) {
  return predictions.every(({ probability }) => probability !== null)
    ? percents(predictions.map(({ probability }) => /** @type {number} */ (probability)))
    : predictions.map(({ logit }) => digits(logit));
}

/** A percentage with this many decimals; only 0 and 1 (but for rounding) are written as 0 and 100. */
function rounded(share, decimals) {
  const text = (100 * share).toFixed(decimals);
  const least = 10 ** -decimals;
  if (share > 0 && Number(text) === 0) return "<\u00a0" + least.toFixed(decimals);
  if (share < WHOLE && Number(text) === 100) return ">\u00a0" + (100 - least).toFixed(decimals);
  return text;
}

/** A number of fixed length: its sign is a real minus, or a figure space. */
export function signed(value, decimals = 2) {
  const text = Math.abs(value).toFixed(decimals);
  return (value < 0 && Number(text) !== 0 ? "\u2212" : "\u2007") + text;
}

/**
 * A number with its thousands separated: 86,567,656.
 * @param {number} value
 * @returns {string}
 */
export function grouped(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A text with the thousands of its whole numbers separated, except in years. @param {string} text */
export function inGroups(text) {
  return text.replace(
    /(^|[\s(])(\d{5,}|(?!19|20)\d{4})(?=$|[\s,;)\uAC00-\uD7A3])/g,
    (_all, before, number) => before + grouped(number),
  );
}

/**
 * A shape as (1, 197, 768).
 * @param {number[]} shape
 * @returns {string}
 */
export function shapeText(shape) {
  return "(" + shape.join(", ") + ")";
}

function withMinus(text) {
  return text.replace("-", "\u2212");
}

/**
 * A value that is not negative and may be large: 18.9, 532, 1.20e7.
 * @param {number} value
 * @param {number} count  of significant digits
 * @returns {string}
 */
export function plain(value, count = 3) {
  return value >= 1e6 ? value.toExponential(count - 1).replace("e+", "e") : written(value, count);
}
