/** Positions of the lines of a chart and of their names. Heights are from 0 (top) to 1. */

/**
 * @typedef {{min: number, max: number, log?: boolean}} Scale  min is at the bottom; a rank chart
 *   has its min above its max
 */

/**
 * The height of a value, from 0 (top) to 1.
 * @param {number} value
 * @param {Scale} scale
 * @returns {number}
 */
export function heightOf(value, { min, max, log = false }) {
  const [low, high, here] = log ? [min, max, value].map(Math.log) : [min, max, value];
  return high === low ? 0 : Math.min(1, Math.max(0, (high - here) / (high - low)));
}

/**
 * The middle of a column, from 0 (left) to 1.
 * @param {number} column
 * @param {number} count
 * @returns {number}
 */
export function placeOfColumn(column, count) {
  return (column + 0.5) / count;
}

/**
 * The column under a pointer.
 * @param {number} share  from 0 (left) to 1
 * @param {number} count
 * @returns {number}
 */
export function columnAt(share, count) {
  return Math.min(count - 1, Math.max(0, Math.floor(share * count)));
}

/**
 * Heights close to the wanted ones, in the same order, no two closer than `gap`, and all from 0 to 1
 * if there is room.
 * @param {number[]} wanted
 * @param {number} gap
 * @returns {number[]}
 */
export function spread(wanted, gap) {
  const order = wanted.map((_, at) => at).sort((a, b) => wanted[a] - wanted[b] || a - b);
  const room = Math.min(gap, wanted.length > 1 ? 1 / (wanted.length - 1) : gap);
  const placed = [];
  let above = -Infinity;
  for (const at of order) above = placed[at] = Math.max(wanted[at], above + room);
  let below = 1 + room;
  for (const at of [...order].reverse()) below = placed[at] = Math.min(placed[at], below - room);
  return placed;
}

/**
 * The line that is nearest to a height in one column; -1 without lines.
 * @param {number[]} heights  of each line in this column
 * @param {number} height
 * @returns {number}
 */
export function nearestLine(heights, height) {
  let best = -1;
  heights.forEach((here, at) => {
    if (best < 0 || Math.abs(here - height) < Math.abs(heights[best] - height)) best = at;
  });
  return best;
}

/**
 * The top of an axis of shares: a round number that no line exceeds, so that small shares can be read.
 * @param {number[][]} lines
 * @returns {number}
 */
export function topShare(lines) {
  const largest = Math.max(...lines.flat());
  return [0.02, 0.04, 0.1, 0.2, 0.4].find((top) => top >= largest) ?? 1;
}

/**
 * The ends of an axis of shares or cosines: 0 and `topShare`; below 0 as far as a line goes, rounded alike.
 * @param {number[][]} lines
 * @returns {[number, number]}
 */
export function spanOf(lines) {
  const lowest = Math.min(...lines.flat());
  return [lowest < 0 ? -topShare([[-lowest]]) : 0, topShare(lines)];
}

/**
 * Ticks of the axis of `spanOf`; an end so near to 0 that their texts would overlap has none.
 * @param {[number, number]} span
 */
export function ticksOf([low, top]) {
  return low === 0
    ? [0, top / 2, top]
    : [low, 0, top].filter((at) => at === 0 || Math.abs(at) > (top - low) / 8);
}

/**
 * Ticks of an axis of ranks: 1, 10, 100, ... and the largest rank.
 * @param {number} count
 * @returns {number[]}
 */
export function rankTicks(count) {
  const ticks = [];
  for (let tick = 1; tick <= count; tick *= 10) ticks.push(tick);
  if (count / ticks[ticks.length - 1] > 2) ticks.push(count);
  return ticks;
}
