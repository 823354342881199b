/**
 * Cuts: edges of attention that interventions removed from a pass. The map is 0 there, whatever q and k are.
 */

/**
 * The cuts of one layer: whether a query could not look at a key in a head.
 * @typedef {(head: number, query: number, key: number) => boolean} IsCut
 */

/**
 * The parts of a manifest that describe a model and a pass.
 * @typedef {{model: import("../types.js").Model, pass: import("../types.js").Pass}} Passed
 */

/**
 * The tokens that were removed from a pass: they attend only to themselves, and no other token attends to
 * them.
 * @param {Passed} manifest
 * @returns {Uint8Array|null}  (N), 1 for a removed token; null if none is
 */
function removedTokens({ pass: { removed }, model: { prefix_tokens: prefix, num_tokens: tokens } }) {
  if (removed.length === 0) return null;
  const gone = new Uint8Array(tokens);
  for (const patch of removed) gone[prefix.length + patch] = 1;
  return gone;
}

/**
 * @param {Passed} manifest  the `changes` of its pass say which edges were cut, as
 *   vitviz/probe/intervene/intervention.py describes them
 * @param {number} layer
 * @returns {IsCut|null}  null if the layer has all of its edges
 */
export function cutsOf(manifest, layer) {
  const gone = removedTokens(manifest);
  const { num_tokens: tokens, prefix_tokens: prefix } = manifest.model;
  const parts = manifest.pass.changes
    .filter(({ kind, layers }) => kind === "cut" && has(layers, layer))
    .map(({ edges, heads }) => ({
      heads,
      cut: typeof edges === "string" ? named(edges, prefix.length) : listed(edges, tokens),
    }));
  if (!gone && parts.length === 0) return null;
  return (head, query, key) => {
    if (gone && (gone[query] || gone[key])) return query !== key;
    return parts.some(({ heads, cut }) => has(heads, head) && cut(query, key));
  };
}

/**
 * Whether a field of an intervention names a number, of a layer or a head.
 * @param {"all"|number[]} some
 * @param {number} number
 */
export const has = (some, number) => some === "all" || some.includes(number);

/**
 * A named set of edges; none leads from a token to itself.
 * @returns {(query: number, key: number) => boolean}
 */
function named(edges, prefix) {
  const [from, to] = edges.split(" to ").map((side) => side !== "prefix");
  return (query, key) => query !== key && query >= prefix === from && key >= prefix === to;
}

function listed(edges, tokens) {
  const all = new Set(edges.map(([query, key]) => query * tokens + key));
  return (query, key) => all.has(query * tokens + key);
}
