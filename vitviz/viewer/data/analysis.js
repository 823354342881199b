/** One analysis in the browser: its picture, its grid, and the sources of all maps. */

import { toRgba } from "../maths/colour.js";
import { readEmbedding } from "../maths/embedding.js";
import { Features } from "./features.js";
import { FileError, fetchChecked } from "./files.js";
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
 *   loaded: Promise<ReturnType<typeof readPicture>>, dispose: () => void}}
 */
export function openAnalysis(manifest, fetchFile, ask, onProgress) {
  const grid = gridOf(manifest);
  const store = new LayerStore(manifest, fetchFile);
  const maps = new AttentionMaps(store, manifest);
  const relevance = new Relevance(store, manifest, ask, onProgress);
  const features = new Features(manifest, fetchFile, store.stop.signal, onProgress);
  const matrices = new Matrices(store, manifest, onProgress);
  const embedding = new LateFile(manifest.files.embedding, fetchFile, store.stop.signal,
    (buffer) => readEmbedding(buffer, manifest), onProgress);
  const film = new LateFile(manifest.files.film, fetchFile, store.stop.signal, readFilm, onProgress);
  const loaded = fetchChecked(fetchFile, manifest.files.picture, store.stop.signal)
    .then((buffer) => readPicture(buffer, manifest, grid));
  return { manifest, grid, store, maps, matrices, relevance, features, embedding, film, loaded,
    dispose: () => store.dispose() };
}

/**
 * The picture as bytes and ready to draw, with the unit rows of the position embedding if any, and
 * of the one that training began with if that is known.
 * @returns {{pixels: Uint8Array, rgba: Uint8ClampedArray<ArrayBuffer>, positions: Float32Array|null,
 *   untrainedPositions: Float32Array|null}}
 */
export function readPicture(buffer, manifest, grid) {
  const { height, width, channels } = manifest.image;
  const tensors = parseSafetensors(buffer);
  const pixels = expectTensor(tensors, "pixels", [height, width, channels]).data;
  const positions = (name) => {
    const rows = tensors[name];
    if (rows && rows.shape[0] !== grid.rows * grid.cols) {
      throw new FormatError(name + " has " + rows.shape[0] + " rows for " +
        grid.rows * grid.cols + " patches");
    }
    return rows ? toFloat32(rows) : null;
  };
  return { pixels, rgba: toRgba(pixels, channels), positions: positions("pos_embed"),
    untrainedPositions: positions("pos_embed_untrained") };
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
