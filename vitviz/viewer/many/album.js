/**
 * Album: many pictures, analysed one after the other by the model of this page; only the values on the screen
 * are kept.
 */

import { decoded } from "../data/decoding.js";
import { inSlices } from "../data/idle.js";
import { attentionRows, layerOf, meanOfHeads, prefixKind } from "../maths/attention.js";
import { gridOf } from "../maths/geometry.js";
import { headStatistics } from "../maths/measures.js";
import { resultsOf } from "../maths/predictions.js";
import { commonWithOthers, meanAndError } from "../maths/several.js";
import { saidOf } from "../text/phototold.js";

/** Most pictures at once: a page of thumbnails can show them, and a phone can hold them. */
export const MOST = 100;

/** @param {ArrayLike<number>} values */
export const meanOf = (values) =>
  Array.from(values).reduce((sum, value) => sum + value, 0) / (values.length || 1);

/**
 * A picture of the album. Its pixels come from `file` (of a visitor) or from the example `key`. told: the
 * reason why it is broken. What was found: `results` of the model, `distance` (L * H) of its heads in pixels,
 * `map` (P) of where CLS looks in the last layer, or all tokens where there is none, sums to 1. names: of an
 * example, by language.
 * @typedef {{name: string, names?: Record<string, string>, file?: File, key?: string,
 *   manifest?: () => Promise<import("../types.js").Manifest>, state: "waiting"|"done"|"broken",
 *   told?: {key: string, values: any},
 *   picture?: Uint8Array, results?: import("../maths/predictions.js").Results, distance?: Float32Array,
 *   map?: Float32Array}} Item
 */

/**
 * @param {{engine: import("../engine/client.js").Engine, known: import("../data/localpayload.js").Known,
 *   model: import("../types.js").Model,
 *   pixelsOf: (manifest: import("../types.js").Manifest) => Promise<Uint8Array>}} of
 * @param {() => void} changed  is told of each picture that is done
 */
export function createAlbum({ engine, known, model, pixelsOf }, changed) {
  const { preprocess, labels } = known.facts;
  const { depth, num_heads: heads } = model;
  const grid = gridOf({ model });
  const fromCls = prefixKind(model.prefix_tokens[0] ?? "reg") === "cls";
  /** @type {Item[]} */
  let items = [];
  let [running, stopped, over] = [false, false, 0];
  const of = (state) => items.filter((item) => item.state === state);
  return {
    /**
     * Takes pictures, as many as there is room for, and looks at them.
     * @param {Omit<Item, "state">[]} more
     */
    add(more) {
      const room = MOST - items.length;
      items.push(
        ...more.slice(0, room).map((item) => ({ ...item, state: /** @type {const} */ ("waiting") })),
      );
      over = Math.max(0, more.length - room);
      return go();
    },
    go,
    stop() {
      stopped = true;
      changed();
    },
    clear() {
      [items, over, stopped] = [[], 0, true];
      changed();
    },
    items: () => items,
    done: () => of("done"),
    broken: () => of("broken"),
    /** over: number of pictures without room. */
    state: () => ({ running, over, total: items.length, waiting: of("waiting").length }),
    tables: () => tablesOf(items, model),
  };

  /** Analyses all waiting pictures. Rejected if the engine stops. */
  async function go() {
    stopped = false;
    changed();
    if (running) return;
    running = true;
    try {
      for (let item = next(); item; item = next()) {
        Object.assign(item, await looked(item));
        changed();
      }
    } finally {
      running = false;
      changed();
    }
  }

  function next() {
    return stopped ? undefined : items.find(({ state }) => state === "waiting");
  }

  /** @param {Item} item @returns {Promise<Partial<Item>>} */
  async function looked(item) {
    const broken = (key, error = /** @type {any} */ (null)) => ({
      state: /** @type {const} */ ("broken"),
      told: error?.told ?? { key, values: { name: item.name } },
    });
    let picture;
    try {
      picture = item.manifest
        ? await pixelsOf(await item.manifest())
        : await seen(/** @type {File} */ (item.file), item.name);
    } catch (error) {
      return broken("many_lost", error);
    }
    if (!picture) return broken("many_host");
    const pass = await engine.run({ picture, lane: "many" }).catch((error) => {
      if (error.kind !== "unsound") throw error;
      return null;
    });
    if (!pass) return broken("many_unsound");
    const { logits, layers } = pass;
    const at = (layer) => layerOf(/** @type {any} */ (layers)[layer], model, null);
    const distance = new Float32Array(depth * heads);
    let layer = 0;
    await inSlices(
      () => {
        distance.set(headStatistics(at(layer), grid, []).distance, layer * heads);
        layer += 1;
        return layer === depth;
      },
      { sliceMs: 0 },
    );
    const results = resultsOf(model.head === "classes" ? logits : [], model, model.labels ?? labels ?? {}, 1);
    return { state: "done", picture, results, distance, map: await whereItLooks(at(depth - 1)) };
  }

  async function seen(file, name) {
    const photo = await decoded(file, name);
    return (
      photo &&
      new Uint8Array((await engine.see({ bitmap: photo.bitmap, preprocess, display: false })).seen.data)
    );
  }

  /** The share of each patch in the attention of CLS; without CLS, in that of all tokens. (P), sums to 1 */
  async function whereItLooks(layer) {
    const map = new Float32Array(grid.tokens - grid.prefix);
    let token = 0;
    await inSlices(
      () => {
        meanOfHeads(attentionRows(layer, token, "from"), heads)
          .subarray(grid.prefix)
          .forEach((share, at) => {
            map[at] += share;
          });
        token += 1;
        return fromCls || token === grid.tokens;
      },
      { sliceMs: 0 },
    );
    const total = map.reduce((sum, share) => sum + share, 0) || 1;
    return map.map((share) => share / total);
  }
}

/**
 * Statistics over all finished pictures; null before the first one is done.
 * @param {Item[]} done
 * @param {import("../types.js").Model} model
 */
export function together(done, { depth, num_heads: heads }) {
  if (done.length === 0) return null;
  const far = meanAndError(done.map(({ distance }) => /** @type {Float32Array} */ (distance)));
  const byLayer = (row) =>
    Array.from({ length: depth }, (_, layer) => row.slice(layer * heads, (layer + 1) * heads));
  const maps = done.map(({ map }) => /** @type {Float32Array} */ (map));
  const common = commonWithOthers(maps);
  return {
    distance: byLayer(far.mean),
    error: byLayer(far.error),
    map: meanAndError(maps).mean,
    common: new Map(done.map((item, at) => [item, common[at]])),
  };
}

/**
 * As `Survey.to_csv` and `pictures_to_csv` of vitviz/many/survey.py have them.
 * @param {Item[]} items
 * @returns {Record<string, import("../maths/csv.js").Table>}
 */
function tablesOf(items, model) {
  const all = together(
    items.filter(({ state }) => state === "done"),
    model,
  );
  if (!all) return {};
  const heads = all.distance.flatMap((row, layer) =>
    row.map((value, head) => [layer, head, value, all.error[layer][head]]),
  );
  const known = { true: "True", false: "False" };
  const values = model.outputs === "value" ? ["value"] : [];
  const pictures = items.flatMap(({ name, results }) =>
    results
      ? [
          [
            name,
            results.predictions[0]?.label ?? "",
            results.predictions[0]?.probability ?? "",
            known[String(results.known_or_not?.known)] ?? "",
            "",
            "",
            ...(model.outputs === "value" ? [results.predictions[0]?.logit ?? ""] : []),
            "",
          ],
        ]
      : [],
  );
  const broken = items.flatMap(({ name, told }) =>
    told ? [[name, "", "", "", "", "", ...values.map(() => ""), saidOf(told, true).en]] : [],
  );
  return {
    distances: { columns: ["layer", "head", "distance", "distance_error"], rows: heads },
    pictures: {
      columns: ["picture", "answer", "probability", "known", "label", "right", ...values, "sentence"],
      rows: [...pictures, ...broken],
    },
  };
}
