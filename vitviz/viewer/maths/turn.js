/** Rotary positions in one attention value: query and key before their places turned them. */

/**
 * A pair of channels m and m + d / 2 is an arrow; its place turns it.
 * @typedef {{q: Float64Array, k: Float64Array, angleQ: Float64Array, angleK: Float64Array,
 *   before: Float64Array, after: Float64Array}} Turn
 *   q, k (d): before the turn; angleQ, angleK (d / 2): in radians, 0 for a token without a place;
 *   before, after (d / 2): what each pair adds to q . k, without the turn and with it
 */

/** @typedef {{row: number, col: number}|null} Place  null: a prefix token */

/**
 * How far each pair of a token is turned. (d / 2)
 * @param {import("./inside.js").Inside} inside
 * @param {number} layer
 * @param {number} head
 * @param {Place} place
 */
export function anglesAt({ turns, layers, heads }, layer, head, place) {
  const count = turns.length / layers / 3 / heads;
  const at = (part) =>
    ((layers === 1 ? 0 : layer) * 3 + part) * heads * count + (heads === 1 ? 0 : head) * count;
  return Float64Array.from({ length: count }, (_, m) =>
    place ? turns[at(0) + m] + place.row * turns[at(1) + m] + place.col * turns[at(2) + m] : 0,
  );
}

/**
 * @param {import("./inside.js").Inside} inside  of a rotary model
 * @param {number} layer
 * @param {number} head
 * @param {{q: Float32Array, k: Float32Array}} pair  as the head used them: after the turn
 * @param {Place} placeQ
 * @param {Place} placeK
 * @returns {Turn}
 */
export function turnOf(inside, layer, head, pair, placeQ, placeK) {
  const [angleQ, angleK] = [placeQ, placeK].map((place) => anglesAt(inside, layer, head, place));
  const [q, k] = [turnedBack(pair.q, angleQ), turnedBack(pair.k, angleK)];
  return { q, k, angleQ, angleK, before: productsOf(q, k), after: productsOf(pair.q, pair.k) };
}

function turnedBack(values, angles) {
  const half = angles.length;
  const out = new Float64Array(2 * half);
  for (let m = 0; m < half; m++) {
    const [a, b, cos, sin] = [values[m], values[m + half], Math.cos(angles[m]), Math.sin(angles[m])];
    out[m] = a * cos + b * sin;
    out[m + half] = b * cos - a * sin;
  }
  return out;
}

function productsOf(q, k) {
  const half = q.length / 2;
  return Float64Array.from({ length: half }, (_, m) => q[m] * k[m] + q[m + half] * k[m + half]);
}
