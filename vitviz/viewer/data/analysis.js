/** One analysis in the browser: its picture, its grid, and the sources of all maps. */

import { toRgba } from "../maths/colour.js";
import { readEmbedding } from "../maths/embedding.js";
import { Features } from "./features.js";
import { FileError, fetchChecked, fetchOrAsk, fileOf } from "./files.js";
import { readFilm } from "./film.js";
import { gridOf } from "../maths/geometry.js";
import { LateFile } from "./late.js";
import { LayerStore } from "./layers.js";
import { AttentionMaps, similarities } from "./maps.js";
import { Matrices } from "./matrix.js";
import { Relevance } from "./relevance.js";
import { FormatError, expectTensor, parseSafetensors, toFloat32 } from "../maths/safetensors.js";

/**
 * Fetches the picture and begins with the layers.
 * @param {import("../types.js").Manifest} manifest
 * @param {(file: import("../types.js").PayloadFile, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
 * @param {null|((name: string, params: any) => Promise<any>)} ask
 * @param {() => void} onProgress
 * @returns {{manifest: import("../types.js").Manifest, grid: import("../maths/geometry.js").Grid, store: LayerStore,
 *   maps: AttentionMaps, matrices: Matrices, relevance: Relevance, features: Features,
 *   embedding: LateFile<import("../maths/embedding.js").Embedding>, film: LateFile<import("./film.js").Film>,
 *   statistics: LateFile<Statistics>, untrained: LateFile<Float32Array|null>,
 *   loaded: Promise<ReturnType<typeof readPicture>>, dispose: () => void}}
 */
export function openAnalysis(manifest, fetchFile, ask, onProgress) {
  const grid = gridOf(manifest);
  const store = new LayerStore(manifest, fetchFile);
  const late = (name, read) => new LateFile(fileOf(manifest, name), fetchOrAsk(fetchFile, ask, manifest.id),
    store.stop.signal, read, onProgress);
  const maps = new AttentionMaps(store, manifest);
  const relevance = new Relevance(store, manifest, ask, onProgress);
  const features = new Features(manifest, fetchOrAsk(fetchFile, ask, manifest.id), store.stop.signal, onProgress);
  const matrices = new Matrices(store, manifest, onProgress);
  const embedding = late("embedding", (buffer) => readEmbedding(buffer, manifest));
  const film = late("film", readFilm);
  const statistics = late("statistics", (buffer) => readStatistics(buffer, manifest));
  const untrained = late("untrained", (buffer) => readPositions(parseSafetensors(buffer), grid));
  const loaded = fetchChecked(fetchFile, manifest.files.picture, store.stop.signal)
    .then((buffer) => readPicture(buffer, manifest, grid));
  return { manifest, grid, store, maps, matrices, relevance, features, embedding, film, statistics, untrained,
    loaded, dispose: () => store.dispose() };
}

/**
 * Of every head, [layer][head]: entropy in nats, mean attention distance in pixels.
 * @typedef {{entropy: number[][], distance: number[][]}} Statistics
 */

/** @returns {Statistics} */
export function readStatistics(buffer, manifest) {
  const { depth, num_heads: heads } = manifest;
  const tensors = parseSafetensors(buffer);
  const read = (name) => {
    const { data } = expectTensor(tensors, name, [depth, heads]);
    return Array.from({ length: depth }, (_, layer) => Array.from(data.subarray(layer * heads, (layer + 1) * heads)));
  };
  return { entropy: read("entropy"), distance: read("distance") };
}

/**
 * The picture as bytes and ready to draw, with the unit rows of the position embedding if any.
 * @returns {{pixels: Uint8Array, rgba: Uint8ClampedArray<ArrayBuffer>, positions: Float32Array|null}}
 */
export function readPicture(buffer, manifest, grid) {
  const { height, width, channels } = manifest.image;
  const tensors = parseSafetensors(buffer);
  const pixels = expectTensor(tensors, "pixels", [height, width, channels]).data;
  return { pixels, rgba: toRgba(pixels, channels), positions: readPositions(tensors, grid) };
}

/** Unit rows of a position embedding, one for each patch; null where there is none. */
export function readPositions(tensors, grid) {
  const rows = tensors.pos_embed;
  if (rows && rows.shape[0] !== grid.rows * grid.cols) {
    throw new FormatError("pos_embed has " + rows.shape[0] + " rows for " +
      grid.rows * grid.cols + " patches");
  }
  return rows ? toFloat32(rows) : null;
}

/**
 * A function that gives the similarities of a token's position, remembering the last one.
 * @returns {(token: number) => Float32Array|null}  null for a prefix token, or without positions
 */
export function positionMaps(positions, grid) {
  let last = { token: -1, map: null };
  return (token) => {
    if (!positions || token < grid.prefix) return null;
    if (last.token !== token) {
      last = { token, map: similarities(positions, token - grid.prefix, grid.rows * grid.cols) };
    }
    return last.map;
  };
}

/**
 * Which of the sentences about failures fits, with its reason.
 * @param {Error} error
 * @returns {{key: string, reason: string}}  key: error_expired, error_broken or error_network
 */
export function explainFailure(error) {
  const kind = error instanceof FileError ? error.kind : "broken";
  return { key: "error_" + kind, reason: error.message };
}
