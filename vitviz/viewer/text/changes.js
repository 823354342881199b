/** What an intervention does, in few words: the sentences of vitviz/probe/intervention.py. */

const NAMED = 6; // so many patches are named; of more, their number

/**
 * @param {import("../state/experiment.js").Intervention} one  with all of its fields, as in a manifest
 * @param {(key: string, values?: any) => string} t
 * @returns {string}
 */
export function changeText(one, t) {
  const say = (key, values = {}) => t("experiment." + key, values);
  const { kind, by, layer, head, patches, cells, branch, rows, edges } = one;
  const where = () => {
    const inLayers = one.layers === "all" ? say("in_all_layers") : say("in_layers", { layers: one.layers.join(", ") });
    return (one.heads ?? "all") === "all" ? inLayers : say("in_heads", { where: inLayers, heads: one.heads.join(", ") });
  };
  if (kind === "remove" || kind === "keep") return say("did_" + kind, { patches: named(patches, say) });
  if (kind === "replace") return say("did_replace_" + by, { patches: named(patches, say) });
  if (kind === "shuffle") return say("did_shuffle", { cells });
  if (kind === "swap") return say("did_swap", { one: patches[0], other: patches[1] });
  if (kind === "positions") return say("did_positions_" + by);
  if (kind === "head") return say("did_head_" + by, { layer, head });
  if (kind === "branch") return say("did_branch_" + branch, { layer });
  if (kind === "even") return say("did_even_" + rows, { where: where() });
  if (kind === "scramble") return say("did_scramble", { where: where() });
  if (kind === "transplant") {
    const { tokens, from: donor } = one;
    return Array.isArray(tokens) ? say("did_transplant_patches", { patches: named(tokens, say), layer, donor })
      : say("did_transplant_" + tokens, { layer, donor });
  }
  if (typeof edges === "string") return say("did_cut_" + edges.replaceAll(" ", "_"), { where: where() });
  const [[query, key]] = edges;
  return edges.length === 1 ? say("did_cut_edge", { where: where(), query, key }) : say("did_cut_edges", { where: where(), count: edges.length });
}

function named(patches, say) {
  if (patches.length === 1) return say("one_patch", { patch: patches[0] });
  if (patches.length <= NAMED) return say("few_patches", { patches: patches.join(", ") });
  return say("many_patches", { count: patches.length });
}
