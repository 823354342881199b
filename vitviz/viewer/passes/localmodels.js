/** Local models: those that this page runs itself; their weights come when they are needed. */

import { fetchWithShare } from "../data/files.js";

/** Number of times that weights are fetched before the host computes, until a visitor asks for them. */
const MOST_TRIES = 3;

/** A page without a host fetches lost weights again, at the earliest after this time. */
const REST_MS = 3000;

/** Number of models whose engines are kept, each with its worker and weights; the one used last goes last. */
const MOST_MODELS = 6;

/**
 * Multiplications of a pass that take a tenth of a second without WebAssembly: from there on a host is faster.
 */
const MOST_PLAIN = 1e8;

/**
 * A model that this page may run. share: of its weights that has arrived; plain: it runs without WebAssembly;
 * "failed", "slow": the host goes on computing for it; failedAt: when, ms; ready: resolves when the state is known.
 * @typedef {{state: "coming"|"here"|"failed"|"slow", tries: number, failedAt: number, share: number, plain: boolean,
 *   ready: Promise<void>, engine: import("../engine/client.js").Engine|null,
 *   tools: import("../localengine.js").LocalEngine|null,
 *   known: import("../data/localpayload.js").Known|null}} LocalModel
 */

/** Parameters of the largest model whose weights come before a visitor gives it a photo: 24 MB. */
const MOST_UNASKED = 12e6;

/**
 * The name of a model's weights; its untrained twin and its other sizes have another one. By the name that a host
 * lends it under, because the files of two models can have one name.
 * @param {import("../types.js").Model} model
 */
const weightsName = ({ key: { name, untrained, image_size: size }, in_page: lentAs }) =>
  (untrained ? "untrained " + name : (lentAs ?? name)) + (size ? " " + size.join("x") : "");

/**
 * `mayBeSlow`: nobody else is there to run a model.
 * @param {Pick<import("../types.js").Host, "weights"|"running"|"fetchWeights"> & {mayBeSlow: boolean}} host
 * @param {() => void} render  the state of a model has changed
 */
export function createLocalModels(
  { weights = {}, running, fetchWeights = fetchWithShare, mayBeSlow },
  render,
) {
  /** @type {Map<string, LocalModel>} */
  const models = new Map(); // by the names of their weights
  return {
    prepare,
    any: Object.keys(weights).length > 0,
    /** @param {import("../types.js").Model} model @returns {LocalModel|undefined} */
    get: (model) => models.get(weightsName(model)),
    /**
     * Whether this page has the weights of a model, their address, or an engine that still holds them.
     * @param {import("../types.js").Model} model
     */
    has: (model) => weightsOf(model) !== undefined || models.get(weightsName(model))?.state === "here",
    stop() {
      for (const model of models.values()) model.ready.then(() => model.engine?.stop());
    },
  };

  /** @param {import("../types.js").Model} model @returns {any} */
  function weightsOf(model) {
    const name = weightsName(model);
    return Object.hasOwn(weights, name) ? weights[name] : model.weights;
  }

  /**
   * Starts to fetch a model, unless that was done: to be called when strokes are near. undefined: this page
   * has no weights for it.
   * @param {import("../types.js").Model} model
   * @param {boolean} [asked]  by a visitor, who is refused no further try
   */
  function prepare(model, asked = false) {
    const address = weightsOf(model);
    const name = weightsName(model);
    const known = models.get(name);
    if (!address && known?.state !== "here") return undefined;
    if (!known && !asked && !mayBeSlow && model.num_parameters > MOST_UNASKED) return undefined;
    models.delete(name);
    if (known && (known.state !== "failed" || (!asked && rests(known)))) {
      models.set(name, known);
      return known;
    }
    /** @type {LocalModel} */
    const fresh = {
      state: "coming",
      tries: 1 + (known?.tries ?? 0),
      failedAt: 0,
      share: 0,
      plain: false,
      engine: null,
      tools: null,
      known: null,
      ready: Promise.resolve(),
    };
    models.set(name, fresh);
    // `start` draws the page before it waits for anything; what is drawn then must find this promise.
    fresh.ready = Promise.resolve().then(() => start(fresh, model, address));
    for (const [other, { state, engine }] of [...models].slice(0, -MOST_MODELS)) {
      if (state === "coming") continue;
      engine?.stop();
      models.delete(other);
    }
    return fresh;
  }

  /** Whether a model that failed is left alone for now. @param {LocalModel} model */
  function rests({ tries, failedAt }) {
    return mayBeSlow ? performance.now() - failedAt < REST_MS : tries >= MOST_TRIES;
  }

  /** @param {LocalModel} model */
  function fail(model) {
    Object.assign(model, { state: "failed", failedAt: performance.now() });
  }

  /** @param {LocalModel} model */
  async function start(model, { num_parameters: parameters, num_tokens: tokens }, address) {
    try {
      const coming =
        address instanceof ArrayBuffer
          ? address
          : fetchWeights(address, (share) => {
              model.share = share;
              render();
            });
      const [buffer, tools] = await Promise.all([
        coming,
        /** @type {() => Promise<import("../localengine.js").LocalEngine>} */ (running)(),
      ]);
      const { engine, known } = await tools.started(buffer, ({ where }) => {
        if (where !== "stopped") return;
        fail(model);
        render();
      });
      const { unknown, simd } = known.facts;
      const slow = !mayBeSlow && !simd && parameters * tokens > MOST_PLAIN;
      const state = slow ? "slow" : "here";
      Object.assign(model, { engine, known, tools, plain: !simd, state });
      if (unknown.length > 0) fail(model);
    } catch {
      fail(model);
    }
    render();
  }
}
