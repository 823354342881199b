/** What can be saved of the stage and of each panel: tables of numbers, and figures by their names. */

import { layerFeatures, outliers } from "./features.js";
import { boxOf, placeOf } from "../maths/geometry.js";
import { pairOf } from "../maths/pair.js";
import { elementAt, patchValues } from "../maths/patch.js";

/**
 * @typedef {{columns: string[], rows: (string|number)[][]}} Table
 * @typedef {{tables: Record<string, Table>, figures: string[]}} Saves
 *   tables: by name, none while its numbers are not here; figures: what the host draws
 * @typedef {import("../main.js").App} App
 * @typedef {import("../types.js").View} View
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
  const tables = shown.values ? { picture: tokenTable(app, { [overlay]: shown.values }) } : {};
  // Of positions there is nothing to draw without a patch that has one.
  return { tables, figures: overlay === "positions" && !shown.values ? [] : [FIGURES[overlay]] };
}

/** What the panel shows: every head of the layer or of all layers, a whole map, or figures of heads. */
export function attentionSaves(app, { token }) {
  const { layer, direction, head } = app.selection;
  if (app.taste.gallery === "dots") {
    const found = app.source.statistics.get();
    return { tables: found ? { statistics: headsTable(found) } : {}, figures: ["statistics"] };
  }
  if (app.taste.gallery === "matrix") {
    const matrix = app.source.matrices.of(layer, head);
    return { tables: matrix ? { matrix: matrixTable(matrix, app.source.grid.tokens) } : {},
      figures: app.source.matrices.possible ? ["matrix"] : [] };
  }
  if (app.taste.gallery === "all") {
    // Layers that are not here have no columns; the host has them all.
    const here = [...Array(app.source.manifest.depth).keys()].filter((at) => app.source.store.ready.has(at));
    const columns = Object.assign({}, ...here.map((at) =>
      headColumns(app, app.source.maps.of(at, token, direction), "layer_" + at + "_")));
    return { tables: here.length > 0 ? { wall: tokenTable(app, columns) } : {}, figures: ["wall"] };
  }
  const maps = app.source.maps.of(layer, token, direction);
  return { tables: maps ? { attention: tokenTable(app, headColumns(app, maps, "")) } : {}, figures: ["heads"] };
}

/** The mean and every head of a layer, by name. */
function headColumns({ source: { manifest, grid } }, maps, stem) {
  const columns = { [stem + "mean"]: maps.mean };
  for (let head = 0; head < manifest.num_heads; head++) {
    columns[stem + "head_" + head] = maps.rows.subarray(head * grid.tokens, (head + 1) * grid.tokens);
  }
  return columns;
}

function headsTable({ entropy, distance }) {
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
  for (let last = app.source.relevance.ask ? layer : first; last <= layer; last++) {
    const values = app.source.relevance.of({ token, layer: last, first, residual, fusion });
    if (values) columns["up_to_layer_" + last] = values;
  }
  const known = Object.keys(columns).length > 0;
  return { tables: known ? { rollout: tokenTable(app, columns) } : {}, figures: ["rollout"] };
}

export function positionsSaves(app, { token }) {
  const similar = app.source.positionMap(token);
  if (!similar) return { tables: {}, figures: app.source.picture.positions ? ["mosaic"] : [] };
  const values = new Float32Array(app.source.grid.tokens).fill(NaN);
  values.set(similar, app.source.grid.prefix);
  return { tables: { positions: tokenTable(app, { cosine: values }) }, figures: ["positions", "mosaic"] };
}

export function featuresSaves(app, { token }) {
  const { layer } = app.selection;
  const [summary, similar] = [app.source.features.summary(), app.source.features.similarity(layer, token)];
  if (!summary || !similar) return { tables: {}, figures: ["features"] };
  const { prefix, tokens } = app.source.grid;
  const { scores, norms } = layerFeatures(summary, layer, app.source.manifest);
  const { above } = outliers(norms.subarray(prefix), app.source.manifest.outlier_times);
  const ofPatches = (value) => Array.from({ length: tokens }, (_, at) => (at < prefix ? NaN : value(at - prefix)));
  return { figures: ["features"], tables: { features: tokenTable(app, {
    cosine: similar, norm: norms, outlier: ofPatches((patch) => Number(above.includes(patch))),
    pc1: ofPatches((patch) => scores[3 * patch]), pc2: ofPatches((patch) => scores[3 * patch + 1]),
    pc3: ofPatches((patch) => scores[3 * patch + 2]),
  }) } };
}

/** The numbers of the patch as the model gets them. */
export function patchesSaves(app, { token }) {
  const { manifest, grid, picture } = app.source;
  if (!boxOf(token, grid)) return { tables: {}, figures: ["patches"] };
  const { raw, normalised } = patchValues(picture, token, manifest, grid, "pixel");
  const rows = Array.from(raw, (value, at) => {
    const { row, col, channel } = elementAt(at, manifest.image.channels, grid, "pixel");
    return [at, row, col, channel, value, normalised[at]];
  });
  // An analysis saved by an older version has no filters to draw.
  return { figures: app.source.embedding.exists ? ["patch", "patches"] : ["patches"], tables: { patches: {
    columns: ["element", "row", "col", "channel", "raw", "normalised"], rows } } };
}

/** The most probable classes, and what the model would answer after each block. */
export function predictionsSaves({ source: { manifest } }) {
  const { predictions, lens } = manifest;
  if (predictions.length === 0) return { tables: {}, figures: [] };
  const rows = predictions.map(({ index, label, probability, logit }, at) =>
    [at + 1, index, label, probability, logit]);
  const tables = { predictions: { columns: ["rank", "class", "label", "probability", "logit"], rows } };
  if (lens.length === 0) return { tables, figures: ["predictions"] };
  const followed = lens.flatMap(({ index, label, probabilities, ranks }) =>
    probabilities.map((probability, layer) => [layer, index, label, probability, ranks[layer]]));
  return { figures: ["predictions", "lens"], tables: { ...tables,
    lens: { columns: ["layer", "class", "label", "probability", "rank"], rows: followed } } };
}

/** The figures of every filmed moment of the training. */
export function trainingSaves({ source: { film } }) {
  if (!film.exists) return { tables: {}, figures: [] };
  const columns = ["step", "epoch", "images", "seconds", "loss", "top1", "top5"];
  const rows = film.here?.moments.map((moment) => columns.map((name) => moment[name] ?? NaN));
  return { figures: ["training"], tables: rows ? { training: { columns, rows } } : {} };
}

/** How often a model that guesses is right. */
export function chanceOf(classes) {
  return { top1: 1 / classes, top5: Math.min(1, 5 / classes) };
}

/** What was measured of the model: how often it is right, and whether it looks at the object. */
export function modelSaves({ source: { manifest } }) {
  const { figures } = manifest.model;
  const { boxes } = figures;
  const chance = chanceOf(manifest.num_classes);
  const names = Object.keys(figures).filter((name) => name !== "boxes");
  const tables = {
    ...(names.length > 0 ? { measured: { columns: ["figure", "value", "chance"],
      rows: names.map((name) => [name, figures[name], chance[name] ?? NaN]) } } : {}),
    ...(boxes ? { boxes: { columns: ["map", "energy", "pointing"],
      rows: Object.entries(boxes).map(([map, { energy, pointing }]) => [map, energy, pointing]) } } : {}),
  };
  const drawn = boxes || ["top1", "top5", "group"].some((name) => name in figures);
  return { tables, figures: drawn ? ["measured"] : [] };
}

/** The two vectors of a pair and the row they meet in; of a mean of heads the vectors of every head. */
export function qkSaves(app) {
  const { layer, head } = app.selection;
  const figures = head === "mean" ? [] : ["pair"]; // a mean has no queries and keys of its own
  const decoded = app.source.store.get(layer);
  if (!decoded) return { tables: {}, figures };
  const { query, key } = app.pair();
  const columns = ["element", "q", "k", "product"];
  const vectors = ({ q, k, products }) => Array.from(products, (product, at) => [at, q[at], k[at], product]);
  if (head === "mean") {
    const heads = [...Array(decoded.heads).keys()];
    const rows = heads.flatMap((each) =>
      vectors(pairOf(decoded, each, query, key)).map((row) => [each, ...row]));
    return { figures, tables: { vectors: { columns: ["head", ...columns], rows } } };
  }
  const pair = pairOf(decoded, head, query, key);
  return { figures, tables: { vectors: { columns, rows: vectors(pair) },
    row: tokenTable(app, { score: pair.scores, attention: pair.attention }) } };
}

/** One row for each token, with where it is; a value that a token does not have is left empty. */
function tokenTable({ source: { manifest, grid } }, columns) {
  const names = Object.keys(columns);
  const rows = Array.from({ length: grid.tokens }, (_, token) => {
    const place = placeOf(token, grid);
    const where = place ? ["patch", place.row, place.col] : [manifest.prefix_tokens[token], "", ""];
    return [token, ...where, ...names.map((name) => columns[name][token])];
  });
  return { columns: ["token", "kind", "row", "col", ...names], rows };
}
