/** Runs: models that learn or have learned, each with a curve. Does not use the document. */

import { DEFAULTS, isMeasured, rightOf } from "../learn/defaults.js";

/** Number of runs that are kept; the oldest one that does not learn is dropped first. */
export const MOST_RUNS = 6;
/** Number of runs that have a worker at a time; each takes some ten megabytes. */
const MOST_LEARNERS = 2;

/**
 * state: "coming": the learner prepares itself; "ready": nothing learned yet; "kept": the run has no learner
 * any more, but `weights`, and `kept` to resume from if it learned here. goes: whether it begins to learn
 * once its learner is ready, unless paused before. losses, rights: curves of loss and accuracy; runs of the
 * same settings have points of `rights` at the same steps; right: the last accuracy. answers: probabilities
 * for every test digit, (count x classes); number: unique id, also among dropped runs; colour: one of
 * `MOST_RUNS`; pace: steps a second; name: that of its file, null for a run that learned here.
 * @typedef {{number: number, colour: number, settings: import("../learn/trainer.js").Settings, name: string|null,
 *   state: "coming"|"ready"|"playing"|"paused"|"done"|"kept"|"failed",
 *   goes: boolean, step: number, steps: number, parameters: number, pace: number, losses: Point[], rights:
 *     Point[], right: number|null, answers: Float32Array|null,
 *   learner: import("../learn/client.js").Learner|null, weights: ArrayBuffer|null, kept:
 *     import("../learn/client.js").Kept|null, why: string, begun: Promise<void>}} Run
 * @typedef {{step: number, value: number}} Point
 */

/**
 * As many steps of fewer digits, so that there is time to learn them by heart.
 * @param {import("../learn/trainer.js").Settings} settings
 */
const asLong = (settings) => ({ ...settings, epochs: (settings.epochs * DEFAULTS.train) / settings.train });

/** @param {import("../learn/trainer.js").Settings} one @param {import("../learn/trainer.js").Settings} other */
const isEqual = (one, other) => Object.entries(other).every(([name, value]) => one[name] === value);

export class Runs {
  /** @type {Run[]} */
  all = [];
  /** The selected run. @type {Run} */
  current;
  /** Steps a second at most; null: as fast as it can. @type {number|null} */
  pace = null;
  #of;
  #next = 0; // the number of the next run
  /** Learners that stop once their state is saved, with that promise. @type {WeakMap<any, Promise<void>>} */
  #retiring = new WeakMap();

  /**
   * Takes the runs of a snapshot over and goes on looking at the same one, if it has these settings; else a new
   * run begins at once. `changed` is called when a run has news.
   * @param {{digits: import("./playground.js").Digits,
   *   createLearner: typeof import("../learn/client.js").createLearner, changed: (run: Run) => void}} of
   * @param {import("../learn/trainer.js").Settings|null} [settings]  null: those of any run
   * @param {import("./runskept.js").Snapshot|null} [kept]
   */
  constructor(of, settings = DEFAULTS, kept = null) {
    this.#of = of;
    for (const parts of kept?.runs ?? []) this.#made({ ...parts, state: "kept", begun: Promise.resolve() });
    const last = this.all.find(({ number }) => number === kept?.current);
    const fits = last && (settings === null || (last.name === null && isEqual(last.settings, settings)));
    this.current = fits ? last : this.start(settings ?? DEFAULTS);
  }

  /**
   * Copies all runs that have learned, for the constructor of others.
   * @returns {Promise<{runs: Partial<Run>[], current: number}>}
   */
  async snapshot() {
    const learned = this.all.filter(
      ({ step, weights, state }) => state !== "failed" && (step > 0 || weights),
    );
    const runs = await Promise.all(learned.map((run) => this.#kept(run)));
    return { runs: runs.flatMap((run) => run ?? []), current: this.current.number };
  }

  /** @param {Run} run @returns {Promise<Partial<Run>|null>} null: its learner was stopped meanwhile */
  async #kept(run) {
    const { learner } = run;
    let { weights, kept } = run;
    if (learner)
      try {
        [weights, kept] = await Promise.all([learner.weights(), learner.keep()]);
      } catch (error) {
        if (run.learner !== learner || run.state === "failed") return null; // it says so itself
        throw error;
      }
    const step = kept?.step ?? run.step;
    // A promise and a learner cannot be written to a database.
    const still = { begun: undefined, learner: null, goes: false };
    return { ...run, ...still, weights, step, kept: step < run.steps ? kept : null };
  }

  #learning() {
    return this.all.filter(({ learner }) => learner);
  }

  get playing() {
    return this.all.some(({ state, goes }) => state === "playing" || goes);
  }

  /**
   * Starts a new run and selects it. Other learners are stopped: their runs are kept, or dropped if they have
   * not taken a step. beside: the run that was selected goes on learning.
   * @param {import("../learn/trainer.js").Settings} settings @param {boolean} [beside]
   */
  start(settings, beside = false) {
    for (const old of this.#learning()) {
      if (beside && old === this.current) continue;
      if (old.step === 0) this.#drop(old);
      else this.#retire(old);
    }
    const run = this.#made({ settings });
    this.#begin(run);
    return run;
  }

  /** A learner for a run, which begins, or goes on where it was kept. @param {Run} run */
  #begin(run) {
    const learner = this.#of.createLearner({
      told: (facts) => this.#hear(run, facts),
      measured: (found) => this.#take(run, found),
    });
    Object.assign(run, { learner, state: "coming", weights: null });
    run.begun = this.#attempt(run, async () => {
      const { parameters, steps } = await learner.begin(asLong(run.settings), this.#of.digits, run.kept);
      Object.assign(run, { parameters, steps, state: run.step > 0 ? "paused" : "ready", kept: null });
      if (this.pace) await learner.pace(this.pace);
      await this.#measure(run);
    });
  }

  /** The same settings and seed from the beginning. */
  again() {
    const { current } = this;
    this.#drop(current);
    this.start(current.settings);
  }

  /**
   * A model that has learned elsewhere.
   * @param {string} name
   * @param {ArrayBuffer} weights
   * @param {Float32Array} answers
   */
  add(name, weights, answers) {
    this.pause();
    this.#made({
      name,
      weights,
      answers,
      state: "kept",
      right: rightOf(answers, this.#of.digits.test.labels),
    });
  }

  /** @param {Partial<Run>} parts @returns {Run} */
  #made(parts) {
    // With another run beside, the one that is looked at stays to be compared with.
    while (this.all.length >= MOST_RUNS)
      this.#drop(
        this.all.find((other) => other !== this.current && other.state !== "playing") ?? this.all[0],
      );
    const taken = this.all.map(({ colour }) => colour);
    const free = Array.from({ length: MOST_RUNS }, (_, at) => at).find((at) => !taken.includes(at));
    /** @type {Run} */
    const run = {
      number: this.#next,
      colour: free ?? 0,
      settings: DEFAULTS,
      name: null,
      state: "coming",
      goes: false,
      step: 0,
      steps: 0,
      parameters: 0,
      pace: 0,
      losses: [],
      rights: [],
      right: null,
      answers: null,
      learner: null,
      weights: null,
      kept: null,
      why: "",
      begun: Promise.resolve(),
      ...parts,
    };
    this.#next = Math.max(this.#next, run.number + 1);
    this.current = run;
    this.all.push(run);
    this.#of.changed(run);
    return run;
  }

  /** Whether a run can learn on. @param {Run} run */
  canLearn = ({ learner, kept, state, step, steps }) =>
    (learner !== null && !["done", "failed"].includes(state)) || (kept !== null && step < steps);

  /** Whether something can learn on; not while a model from a file is looked at. */
  canPlay() {
    return this.current.name === null && this.all.some(this.canLearn);
  }

  /**
   * Lets the selected run learn, and all others that have a learner; a run without one goes on from its saved
   * state.
   */
  play() {
    if (!this.canPlay()) return;
    if (!this.canLearn(this.current)) {
      const able = this.all.filter(this.canLearn); // without a learner, too: a reload or another run took it
      this.current = able.findLast(({ learner }) => learner) ?? able.at(-1) ?? this.current;
    }
    const saved = this.#retiring.get(this.current.learner);
    if (saved) {
      saved.then(() => this.play());
      return;
    }
    if (!this.current.learner && this.canLearn(this.current)) this.#wake(this.current);
    for (const run of this.#learning()) {
      if (this.#retiring.has(run.learner)) continue; // it would learn past the state that is kept
      if (run.goes || ["done", "failed", "playing"].includes(run.state)) continue;
      run.goes = true;
      run.begun.then(() => {
        const goes = run.goes && run.state !== "failed";
        run.goes = false;
        if (goes) {
          run.state = "playing";
          this.#attempt(run, () => run.learner.play());
        }
        this.#of.changed(run);
      });
    }
  }

  /**
   * Resumes a run from its saved state; if too many have learners then, others lose theirs.
   * @param {Run} run
   */
  #wake(run) {
    for (const old of this.#learning().slice(0, -(MOST_LEARNERS - 1))) this.#retire(old);
    this.#begin(run);
  }

  /** @param {number|null} perSecond  steps; null: as fast as it can */
  setPace(perSecond) {
    this.pace = perSecond;
    for (const run of this.#learning()) this.#attempt(run, () => run.learner.pace(perSecond));
    this.#of.changed(this.current);
  }

  pause() {
    for (const run of this.#learning()) {
      run.goes = false;
      if (run.state !== "playing") continue;
      run.state = "paused";
      this.#attempt(run, () => run.learner.pause()).then(() => this.#measure(run));
      this.#of.changed(run);
    }
  }

  /** One step of the run that is looked at. */
  async step() {
    const run = this.current;
    if (!this.canLearn(run)) return;
    this.pause();
    await this.#retiring.get(run.learner);
    if (!this.all.includes(run)) return; // it was dropped meanwhile
    if (!run.learner) this.#wake(run);
    await run.begun;
    await this.#attempt(run, () => run.learner.step());
    await this.#measure(run);
  }

  /**
   * A step of the run that is looked at, for one training digit, taken apart and not taken; null where
   * nothing learns.
   * @param {number} index
   */
  async apart(index) {
    const run = this.current;
    this.pause();
    if (!run.learner && this.canLearn(run)) this.#wake(run); // kept by a reload, or set aside
    await run.begun;
    let found = null;
    if (run.state !== "failed")
      await this.#attempt(run, async () => {
        found = run.learner && (await run.learner.apart(index));
      });
    return found;
  }

  /** Looks at another run. @param {Run} run */
  choose(run) {
    this.current = run;
    this.#of.changed(run);
  }

  /** The weights as they are now. @param {Run} run @returns {Promise<ArrayBuffer>} */
  async weights(run) {
    return run.weights ?? (await run.learner.weights());
  }

  /**
   * Handles a progress report of the learner, which comes some ten times a second.
   * @param {Run} run
   * @param {import("../learn/client.js").Told} facts
   */
  #hear(run, { state, step, steps, loss, seconds }) {
    if (!run.learner || run.state === "failed") return;
    if (state === "stopped") {
      // The reason is what the learner answers now.
      if (run.state === "playing") this.#attempt(run, () => /** @type {any} */ (run.learner).pause());
      return;
    }
    Object.assign(run, { step, steps, pace: seconds > 0 ? step / seconds : 0 });
    if (state === "done") run.state = "done";
    if (state === "paused" && run.state === "ready" && step > 0) run.state = "paused";
    if (loss !== null && step > (run.losses.at(-1)?.step ?? 0)) run.losses.push({ step, value: loss });
    this.#of.changed(run);
  }

  /** The answers of the present weights to all test digits. @param {Run} run */
  async #measure(run) {
    const { learner } = run;
    if (!learner || run.state === "failed") return;
    await this.#attempt(run, async () => this.#take(run, await learner.measure()));
  }

  /**
   * Stores a measurement; adds a point to the curve at the steps where every run with these settings has one.
   * @param {Run} run
   * @param {import("../learn/trainer.js").Measured} found
   */
  #take(run, { step, right, probabilities }) {
    Object.assign(run, { right, answers: probabilities });
    if (isMeasured(step, run.steps) && step > (run.rights.at(-1)?.step ?? -1))
      run.rights.push({ step, value: right });
    this.#of.changed(run);
  }

  /** @param {Run} run @param {() => Promise<any>} task */
  async #attempt(run, task) {
    try {
      await task();
    } catch (error) {
      if (!run.learner) return; // it was stopped meanwhile
      Object.assign(run, { state: "failed", why: error.message });
      this.#of.changed(run);
    }
  }

  /** Stops the learner; keeps the weights, and the state to resume from. @param {Run} run */
  #retire(run) {
    run.goes = false;
    if (!this.#retiring.has(run.learner)) this.#retiring.set(run.learner, this.#saveAndStop(run));
  }

  /** @param {Run} run */
  async #saveAndStop(run) {
    const { learner } = run;
    await this.#attempt(run, async () => {
      const { step } = await learner.pause();
      await this.#measure(run);
      [run.weights, run.kept] = await Promise.all([
        learner.weights(),
        step < run.steps ? learner.keep() : null,
      ]);
    });
    if (run.learner !== learner) return;
    Object.assign(run, { learner: null, state: run.state === "failed" ? "failed" : "kept" });
    learner.stop();
    this.#of.changed(run);
  }

  /** Drops all runs and stops their learners. */
  stop() {
    for (const run of this.all) this.#drop(run);
  }

  /** @param {Run} run */
  #drop(run) {
    const { learner } = run;
    Object.assign(run, { learner: null, goes: false });
    learner?.stop();
    this.all = this.all.filter((other) => other !== run);
  }
}

/**
 * The most probable class of one digit, and how probable it is.
 * @param {Float32Array} answers  (digits x classes)
 * @param {number} at
 * @param {number} classes
 */
export function guessOf(answers, at, classes) {
  const row = answers.subarray(at * classes, (at + 1) * classes);
  const best = row.reduce((most, value, index) => (value > row[most] ? index : most), 0);
  return { best, sure: row[best] };
}

/**
 * The confused pairs of classes, most frequent first.
 * @param {Float32Array} answers
 * @param {Uint8Array} labels
 * @param {number} classes
 */
export function confusions(answers, labels, classes) {
  const counts = new Uint32Array(classes * classes); // [truth, guess]
  labels.forEach((label, at) => {
    counts[label * classes + guessOf(answers, at, classes).best] += 1;
  });
  const pairs = [...counts]
    .map((count, at) => ({ label: Math.floor(at / classes), guess: at % classes, count }))
    .filter(({ label, guess, count }) => count > 0 && label !== guess)
    .sort((a, b) => b.count - a.count);
  return { counts, pairs };
}
