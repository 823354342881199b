/** Source: everything of one analysis that can be drawn. */

import {
  decodeJpeg,
  positionMaps,
  readFirst,
  readLens,
  readPicture,
  readPool,
  readPositions,
  readResults,
  readStatistics,
} from "./analysis.js";
import { readComponents, readEmbedding } from "../maths/embedding.js";
import { readInside } from "../maths/inside.js";
import { Explanations } from "./explanations.js";
import { FairTest } from "./fairtest.js";
import { Features } from "./features.js";
import { explainFailure, fetchChecked, fetchOrAsk, fileOf } from "./files.js";
import { readFilm } from "./film.js";
import { EXPLAINER_KEYS } from "../engine/tables.js";
import { layerOf } from "../maths/attention.js";
import { gridOf } from "../maths/geometry.js";
import { LazyFile } from "./lazyfile.js";
import { LayerStore, layerName } from "./layers.js";
import { AttentionMaps } from "./maps.js";
import { Matrices } from "./matrix.js";
import { readMixing } from "../maths/mixing.js";
import { Recent } from "./recent.js";
import { Relevance, readRollouts } from "./relevance.js";
import { parseSafetensors, toFloat32 } from "../maths/safetensors.js";

const MOST_MIXINGS = 6; // layers whose values are kept: 4 MB each of ViT-B/16

/**
 * The part of the backend (passes/backend.js) that a source needs. ask: a question to the host; explains:
 * whether this page can make explanations of a pass; answererOf: answers questions about a pass, in this page
 * or by the host; null where nobody can.
 * @typedef {(name: string, params: any, onShare?: (share: number) => void) => Promise<any>} Ask
 * @typedef {{ask: Ask|null, explains: (manifest: import("../types.js").Manifest) => boolean,
 *   answererOf: (source: Source) => Ask|null}} Answers
 */

/**
 * The model, with the explainers that this page can compute marked as `late`.
 * @param {import("../types.js").Model} model
 */
const explained = (model) => ({
  ...model,
  explainers: (model.explainers ?? []).map((one) => ({
    ...one,
    late: one.late || EXPLAINER_KEYS.includes(one.key),
  })),
});

/**
 * The picture, the maps and the files of one analysis. Sources are independent of each other; a source
 * with a selection is a view.
 */
export class Source {
  /**
   * Fetches what is shown first; everything else is fetched when it is first needed.
   * @param {import("../types.js").Manifest} sent
   * @param {(file: import("../types.js").PayloadFile, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
   * @param {Answers|null} backend
   * @param {() => void} onProgress  something new can be drawn
   * @param {Source|null} intact  a source that outlives this one: files that both have are not fetched again
   */
  constructor(sent, fetchFile, backend, onProgress, intact = null) {
    const explains = backend?.explains(sent) ?? false;
    // Its pass gets what follows from the logits when they are here, once.
    const manifest = {
      ...sent,
      model: explains ? explained(sent.model) : sent.model,
      pass: { ...sent.pass, lens: [] },
    };
    this.manifest = manifest;
    this.grid = gridOf(manifest);
    /**
     * The fields that begin every request to the host about this pass.
     * @type {import("../types.js").Asked}
     */
    this.asked = manifest.asked ?? { id: manifest.pass.id };
    const answers = backend?.answererOf(this) ?? null;
    const fetchAny = fetchOrAsk(fetchFile, answers, this.asked);
    this.store = new LayerStore(manifest, fetchAny);
    const { signal } = this.store.stop;
    const lazy = (name, read, place = name) => {
      const file = manifest.files[name];
      if (file && intact?.[place] && file === intact.manifest.files[name]) return intact[place];
      return new LazyFile(fileOf(manifest, name), fetchAny, signal, read, onProgress);
    };
    /**
     * The part of the photo that the model saw, in the photo's own resolution.
     * @type {LazyFile<ImageBitmap>}
     */
    this.photograph = lazy("photograph", decodeJpeg);
    /** The whole photo, small, if the model did not see all of it. @type {LazyFile<ImageBitmap>} */
    this.whole = lazy("whole", decodeJpeg);
    this.onProgress = onProgress;
    this.lazyMixing = (layer) => lazy(layerName(layer, "mixing"), (buffer) => readMixing(buffer, manifest));
    this.mixings = new Recent(MOST_MIXINGS); // layer -> LazyFile
    this.maps = new AttentionMaps(this.store, manifest.model);
    this.matrices = new Matrices(this.store, manifest, onProgress);
    this.relevance = new Relevance(
      this.store,
      manifest,
      this.asked,
      backend?.ask ?? null,
      onProgress,
      lazy("rollout", (buffer) => readRollouts(buffer, manifest.model)),
    );
    this.features = new Features(manifest, fetchAny, signal, onProgress);
    this.explanations = new Explanations(manifest, fetchAny, signal, onProgress);
    this.fairTest = new FairTest(manifest, this.asked, answers, signal, onProgress);
    /** @type {LazyFile<import("../types.js").LensLine[]>} */
    this.lens = lazy("lens", (buffer) => {
      manifest.pass.lens = readLens(buffer, manifest);
      return manifest.pass.lens;
    });
    /** @type {LazyFile<import("../maths/embedding.js").Embedding>} */
    this.embedding = lazy("embedding", (buffer) => readEmbedding(buffer, manifest));
    /** @type {LazyFile<import("../maths/embedding.js").Components>} */
    this.components = lazy("filters", (buffer) => readComponents(buffer, manifest), "components");
    /** @type {LazyFile<import("../maths/inside.js").Inside>} */
    this.inside = lazy("inside", (buffer) => readInside(buffer, manifest));
    /** @type {LazyFile<import("./analysis.js").Pool>} */
    this.pooling = lazy("pooling", (buffer) => readPool(buffer, manifest));
    /** @type {LazyFile<import("./film.js").Film>} */
    this.film = lazy("film", readFilm);
    /** @type {LazyFile<import("./analysis.js").Statistics>} */
    this.statistics = lazy("statistics", (buffer) => readStatistics(buffer, manifest));
    /** @type {LazyFile<Float32Array|null>} */
    this.untrained = lazy("untrained", (buffer) => readPositions(parseSafetensors(buffer), this.grid));
    /** Unit rows of the position embedding. @type {LazyFile<Float32Array|null>} */
    this.positions = lazy("positions", (buffer) => readPositions(parseSafetensors(buffer), this.grid));
    this.mapsOfPositions = null;
    /** Pooled features, beside classes. @type {LazyFile<Float32Array>} */
    this.pooled = lazy("vector", (buffer) => toFloat32(parseSafetensors(buffer).vector));
    /** The picture as the model saw it. @type {LazyFile<ReturnType<typeof readPicture>>} */
    this.picture = lazy("picture", (buffer) => readPicture(buffer, manifest));
    this.seeded = fetchChecked(fetchFile, manifest.files.first, signal).then((buffer) => {
      Object.assign(manifest.pass, readResults(buffer, manifest));
      this.maps.seed(manifest.pass.first, readFirst(buffer, manifest));
    });
    this.seeded.catch(() => {}); // `loaded` rejects with it, whenever somebody waits for that
  }

  /**
   * Fetches what is shown first: rows of attention, and the photograph or the picture. Rejects if one
   * of them fails; the picture is the fallback for the photograph.
   * @param {boolean} photograph  whether the photograph is shown first, and the picture not awaited
   */
  async loaded(photograph) {
    if (photograph && this.photograph.exists) await Promise.all([this.seeded, this.photograph.fetch()]);
    else await Promise.all([this.seeded, this.picture.fetch()]);
    if (this.photograph.error && !this.picture.here) await this.picture.fetch();
    if (this.picture.error) throw this.picture.error;
  }

  /**
   * Replaces the layers of an intact pass by those that this page has computed: the layers in its files are
   * rounded, and a difference from another pass would show the rounding.
   * @param {import("../engine/vit.js").Looked[]} layers
   */
  take(layers) {
    layers.forEach((one, layer) => this.store.provide(layer, layerOf(one, this.manifest.model, null)));
    this.maps.remembered.clear();
  }

  /**
   * Whether the attention of a selection comes ahead of its layer, so that the layer need not be waited for.
   */
  showsAhead({ layer, token, direction }) {
    const { first } = this.manifest.pass;
    return first.layer === layer && first.token === token && first.direction === direction;
  }

  /**
   * Cosine similarities of a token's position to all others.
   * @param {number} token
   * @returns {Float32Array|null}  null for a prefix token, or while there are no positions: see `positions`
   */
  positionMap(token) {
    const rows = this.positions.get();
    if (rows && !this.mapsOfPositions) this.mapsOfPositions = positionMaps(rows, this.grid);
    return this.mapsOfPositions?.(token) ?? null;
  }

  /** The bounds of a selection in this source. */
  get shape() {
    return { depth: this.manifest.model.depth, heads: this.manifest.model.num_heads, grid: this.grid };
  }

  /**
   * The values of a layer and what follows them, as a file that is fetched when it is first needed.
   * @param {number} layer
   * @returns {LazyFile<import("../maths/mixing.js").Mixing>}
   */
  mixing(layer) {
    if (!this.mixings.has(layer)) this.mixings.set(layer, this.lazyMixing(layer));
    return this.mixings.get(layer);
  }

  /** Why the selected layer could not be fetched; null if nothing has failed. */
  get failure() {
    return this.store.failure;
  }

  get disposed() {
    return this.store.stop.signal.aborted;
  }

  /** Whether something has failed because the host has deleted the files. */
  expired() {
    const error = this.features.error ?? this.positions.error ?? this.picture.error;
    const key = this.failure?.key ?? (error && explainFailure(error).key);
    return key === "error_expired";
  }

  /** Tries again to fetch what has failed of a layer. */
  retry() {
    this.store.failure = null;
    this.positions.error = null;
    this.picture.error = null;
    this.lens.error = null;
    this.pooled.error = null;
    this.features.retry();
  }

  /** Aborts all requests and frees the memory. */
  dispose() {
    this.store.dispose();
  }
}
