/** Rotary positions in one attention value: query and key before the rotation by their positions. */

/**
 * Channels m and m + d / 2 are a vector in the plane, which the position of a token turns.
 * @typedef {{q: Float64Array, k: Float64Array, angleQ: Float64Array, angleK: Float64Array,
 *   before: Float64Array, after: Float64Array}} Turn
 *   q, k (d): before the turn; angleQ, angleK (d / 2): in radians, 0 for a token without a place;
 *   before, after (d / 2): the part of each pair of channels in q . k, without the turn and with it
 */

/** @typedef {{row: number, col: number}|null} Place  null: a prefix token */

/**
 * The angle of each pair of channels of a token. (d / 2)
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
 * Turn the query and the key of a pair back.
 * @param {import("./inside.js").Inside} inside  of a rotary model
 * @param {number} layer
 * @param {number} head
 * @param {{q: Float32Array, k: Float32Array}} pair  after the turn, as the head used them
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
