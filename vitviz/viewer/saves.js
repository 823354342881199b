/** What can be saved of the stage and of each panel: a table of numbers, and a figure by its name. */

import { layerFeatures, outliers } from "./features.js";
import { boxOf, placeOf } from "./geometry.js";
import { elementAt, patchValues } from "./patch.js";

/**
 * @typedef {{columns: string[], rows: (string|number)[][]}} Table
 * @typedef {{table: Table|null, figure: string|null}} Saves
 *   table: null while its numbers are not here; figure: what the host draws, null: nothing
 * @typedef {import("./main.js").App} App
 * @typedef {{token: number, shown: import("./overlay.js").Overlay}} View
 */

/** Which figure shows what lies over the picture. */
const FIGURES = {
  attention: "attention", rollout: "rollout", positions: "positions", features: "features", none: "patches",
};

/**
 * The stage: the value of every token that lies over the picture.
 * @param {App} app
 * @param {View} view
 * @returns {Saves}
 */
export function stageSaves(app, { shown }) {
  const { overlay } = app.selection;
  const figure = overlay === "positions" && !app.picture.positions ? null : FIGURES[overlay];
  return { table: shown.values && tokenTable(app, { [overlay]: shown.values }), figure };
}

/** What the panel shows: figures of every head, a whole map, or every head of the layer. */
export function attentionSaves(app, { token }) {
  const { layer, direction, head: chosen } = app.selection;
  if (app.taste.gallery === "dots") return { table: headsTable(app.manifest), figure: null };
  if (app.taste.gallery === "matrix") {
    const matrix = app.matrices.of(layer, chosen);
    return { table: matrix && matrixTable(matrix, app.grid.tokens), figure: null };
  }
  const maps = app.maps.of(layer, token, direction);
  if (!maps) return { table: null, figure: "heads" };
  const { tokens } = app.grid;
  const columns = { mean: maps.mean };
  for (let head = 0; head < app.manifest.num_heads; head++) {
    columns["head_" + head] = maps.rows.subarray(head * tokens, (head + 1) * tokens);
  }
  return { table: tokenTable(app, columns), figure: "heads" };
}

function headsTable({ heads: { entropy, distance } }) {
  const rows = entropy.flatMap((values, layer) =>
    values.map((value, head) => [layer, head, value, distance[layer][head]]));
  return { columns: ["layer", "head", "entropy", "distance"], rows };
}

/** A row for every query, a column for every key. */
function matrixTable(matrix, tokens) {
  const all = [...Array(tokens).keys()];
  const rows = all.map((query) => [query, ...matrix.subarray(query * tokens, (query + 1) * tokens)]);
  return { columns: ["query", ...all.map((key) => "key_" + key)], rows };
}

/** Rollout after every layer; of many tokens only what the host was asked for. */
export function rolloutSaves(app, { token }) {
  const { first, layer, residual, fusion } = app.selection;
  const columns = {};
  for (let last = app.relevance.ask ? layer : first; last <= layer; last++) {
    const values = app.relevance.of({ token, layer: last, first, residual, fusion });
    if (values) columns["up_to_layer_" + last] = values;
  }
  const known = Object.keys(columns).length > 0;
  return { table: known ? tokenTable(app, columns) : null, figure: "rollout" };
}

export function positionsSaves(app, { token }) {
  const similar = app.positionMap(token);
  if (!similar) return { table: null, figure: app.picture.positions ? "mosaic" : null };
  const values = new Float32Array(app.grid.tokens).fill(NaN);
  values.set(similar, app.grid.prefix);
  return { table: tokenTable(app, { cosine: values }), figure: "mosaic" };
}

export function featuresSaves(app, { token }) {
  const { layer } = app.selection;
  const [summary, similar] = [app.features.summary(), app.features.similarity(layer, token)];
  if (!summary || !similar) return { table: null, figure: "features" };
  const { prefix, tokens } = app.grid;
  const { scores, norms } = layerFeatures(summary, layer, app.manifest);
  const { above } = outliers(norms.subarray(prefix), app.manifest.outlier_times);
  const ofPatches = (value) => Array.from({ length: tokens }, (_, at) => (at < prefix ? NaN : value(at - prefix)));
  return { figure: "features", table: tokenTable(app, {
    cosine: similar, norm: norms, outlier: ofPatches((patch) => Number(above.includes(patch))),
    pc1: ofPatches((patch) => scores[3 * patch]), pc2: ofPatches((patch) => scores[3 * patch + 1]),
    pc3: ofPatches((patch) => scores[3 * patch + 2]),
  }) };
}

/** The numbers of the patch as the model gets them. */
export function patchesSaves(app, { token }) {
  const { manifest, grid, picture } = app;
  if (!boxOf(token, grid)) return { table: null, figure: "patches" };
  const { raw, normalised } = patchValues(picture, token, manifest, grid, "pixel");
  const rows = Array.from(raw, (value, at) => {
    const { row, col, channel } = elementAt(at, manifest.image.channels, grid, "pixel");
    return [at, row, col, channel, value, normalised[at]];
  });
  return { figure: "patches", table: {
    columns: ["element", "row", "col", "channel", "raw", "normalised"], rows } };
}

export function predictionsSaves({ manifest }) {
  const rows = manifest.predictions.map(({ index, label, probability, logit }, at) =>
    [at + 1, index, label, probability, logit]);
  if (rows.length === 0) return { table: null, figure: null };
  return { figure: "predictions", table: {
    columns: ["rank", "class", "label", "probability", "logit"], rows } };
}

/** The figures of every filmed moment of the training. */
export function trainingSaves({ film }) {
  const columns = ["step", "epoch", "images", "seconds", "loss", "top1", "top5"];
  const rows = film.here?.moments.map((moment) => columns.map((name) => moment[name] ?? NaN));
  return { figure: null, table: rows ? { columns, rows } : null };
}

/** The two vectors of a pair, in the chosen head, and the sum they make. */
export function qkSaves(app) {
  const { layer, head } = app.selection;
  const decoded = app.store.get(layer);
  if (!decoded || head === "mean") return { table: null, figure: null };
  const { query, key } = app.pair();
  const { q, k, tokens, dim } = decoded;
  const [a, b] = [query, key].map((token) => (head * tokens + token) * dim);
  const rows = Array.from({ length: dim }, (_, at) => [at, q[a + at], k[b + at], q[a + at] * k[b + at]]);
  return { figure: null, table: { columns: ["element", "q", "k", "product"], rows } };
}

/** One row for each token, with where it is; a value that a token does not have is left empty. */
function tokenTable({ manifest, grid }, columns) {
  const names = Object.keys(columns);
  const rows = Array.from({ length: grid.tokens }, (_, token) => {
    const place = placeOf(token, grid);
    const where = place ? ["patch", place.row, place.col] : [manifest.prefix_tokens[token], "", ""];
    return [token, ...where, ...names.map((name) => columns[name][token])];
  });
  return { columns: ["token", "kind", "row", "col", ...names], rows };
}
