/** Runners: the models that this page runs itself; their weights come when they are needed. */

import { fetchWithShare } from "./data/files.js";

/** So often weights are fetched that do not come. */
const MOST_TRIES = 3;

/**
 * Without WebAssembly a pass of so many multiplications takes a tenth of a second and more; a host is faster
 * then.
 */
const MOST_PLAIN = 1e8;

/**
 * The state of a model that this page may run. share: of its weights that has arrived; plain: it runs without
 * WebAssembly; "failed", "slow": the host computes, as before; ready: resolves when the state is final.
 * @typedef {{state: "coming"|"here"|"failed"|"slow", tries: number, share: number, plain: boolean,
 *   ready: Promise<void>,
 *   engine: import("./engine/client.js").Engine|null, tools: import("./running.js").Running|null, known:
 *     import("./data/made.js").Known|null}} Runner
 */

/**
 * The name of a model's weights: that of the model, or another one for its untrained twin.
 * @param {import("./types.js").Model} model
 */
const weightsName = ({ key: { name, untrained } }) => (untrained ? "untrained " + name : name);

/** The weights of a model, or their address; undefined where this page has none. @returns {any} */
export function weightsOf(weights, model) {
  const name = weightsName(model);
  return Object.hasOwn(weights, name) ? weights[name] : undefined;
}

/**
 * `mayBeSlow`: nobody else is there to run a model.
 * @param {Pick<import("./types.js").Host, "weights"|"running"|"fetchWeights"> & {mayBeSlow: boolean}} host
 * @param {() => void} render  something new is known of a runner
 */
export function createRunners({ weights = {}, running, fetchWeights = fetchWithShare, mayBeSlow }, render) {
  /** @type {Map<string, Runner>} */
  const runners = new Map(); // by the names of their models
  return { prepare, runner: (model) => runners.get(weightsName(model)), stop };

  function stop() {
    for (const runner of runners.values()) runner.ready.then(() => runner.engine?.stop());
  }

  /**
   * Prepares to run a model here, once its weights have come: to be called when strokes are near.
   * @param {import("./types.js").Model} model
   */
  function prepare(model) {
    const name = weightsName(model);
    const address = weightsOf(weights, model);
    if (!address || model.key.image_size) return undefined;
    const known = runners.get(name);
    if (known && (known.state !== "failed" || known.tries === MOST_TRIES)) return known;
    /** @type {Runner} */
    const runner = {
      state: "coming",
      tries: 1 + (known?.tries ?? 0),
      share: 0,
      plain: false,
      engine: null,
      tools: null,
      known: null,
      ready: Promise.resolve(),
    };
    runners.set(name, runner);
    runner.ready = start(runner, model, address);
    return runner;
  }

  /** @param {Runner} runner */
  async function start(runner, { num_parameters: parameters, num_tokens: tokens }, address) {
    try {
      const weighed =
        address instanceof ArrayBuffer
          ? address
          : fetchWeights(address, (share) => {
              runner.share = share;
              render();
            });
      const [buffer, tools] = await Promise.all([
        weighed,
        /** @type {() => Promise<import("./running.js").Running>} */ (running)(),
      ]);
      const { engine, known } = await tools.started(buffer);
      const { unknown, simd } = known.facts;
      const slow = !mayBeSlow && !simd && parameters * tokens > MOST_PLAIN;
      Object.assign(runner, {
        engine,
        known,
        tools,
        plain: !simd,
        state: unknown.length > 0 ? "failed" : slow ? "slow" : "here",
      });
    } catch {
      runner.state = "failed";
    }
    render();
  }
}
