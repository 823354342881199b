/** Runs: what learns, and what has learned; each has a curve. No document in here. */

import { USUAL } from "../learn/trainer.js";

/** So many runs are kept; the oldest that does not learn goes first. */
export const MOST_RUNS = 6;
/** Measuring takes at most about this share of the time. */
const MEASURING = 0.15;
const SOONEST_MS = 250;

/**
 * state: "coming": the learner prepares itself; "ready": nothing learned yet; "kept": has no learner any more, but `weights`. losses, rights: what was
 * measured, by step. answers: of every test digit, (count x classes); number: tells runs apart, and colours them; pace: steps a second; name: of a file.
 * @typedef {{number: number, settings: import("../learn/trainer.js").Settings, name: string|null, state: "coming"|"ready"|"playing"|"paused"|"done"|"kept"|"failed",
 *   step: number, steps: number, parameters: number, pace: number, losses: Point[], rights: Point[], answers: Float32Array|null,
 *   learner: import("../learn/client.js").Learner|null, weights: ArrayBuffer|null, watched: boolean, why: string, begun: Promise<void>}} Run
 * @typedef {{step: number, value: number}} Point
 */

export class Runs {
  /** @type {Run[]} */
  all = [];
  /** What is looked at. @type {Run} */
  current;
  #of;

  /**
   * A first run begins at once. changed: hears that a run has news.
   * @param {{digits: import("./playground.js").Digits, createLearner: typeof import("../learn/client.js").createLearner, changed: (run: Run) => void,
   *   wait?: (ms: number) => Promise<void>, clock?: () => number}} of
   * @param {import("../learn/trainer.js").Settings} [settings]
   */
  constructor({ wait = (ms) => new Promise((done) => { setTimeout(done, ms); }), clock = () => performance.now(), ...of }, settings = USUAL) {
    this.#of = { wait, clock, ...of };
    this.current = this.start(settings);
  }

  #learning() {
    return this.all.filter(({ learner }) => learner);
  }

  get playing() {
    return this.all.some(({ state }) => state === "playing");
  }

  /**
   * A run from the beginning, which is looked at from now on. Those before have learned enough, and one that has not begun leaves no curve;
   * beside: the one that is looked at goes on.
   * @param {import("../learn/trainer.js").Settings} settings @param {boolean} [beside]
   */
  start(settings, beside = false) {
    for (const old of this.#learning()) {
      if (beside && old === this.current) continue;
      if (old.step === 0) this.#drop(old);
      else this.#retire(old);
    }
    const run = this.#made({ settings });
    const learner = this.#of.createLearner({ told: (facts) => this.#hear(run, facts) });
    run.learner = learner;
    run.begun = this.#attempt(run, async () => {
      const { parameters, steps } = await learner.begin(settings, this.#of.digits);
      Object.assign(run, { parameters, steps, state: "ready" });
      await this.#measure(run);
    });
    return run;
  }

  /** The same settings and seed from the beginning. */
  again() {
    const { current } = this;
    this.#drop(current);
    this.start(current.settings);
  }

  /** A model that has learned elsewhere. @param {string} name @param {ArrayBuffer} weights @param {Float32Array} answers */
  add(name, weights, answers) {
    this.pause();
    this.#made({ name, weights, answers, state: "kept", rights: [{ step: 0, value: this.#share(answers) }] });
  }

  /** @param {Partial<Run>} parts @returns {Run} */
  #made(parts) {
    const number = this.all.reduce((next, one) => Math.max(next, one.number + 1), 0);
    /** @type {Run} */
    const run = { number, settings: USUAL, name: null, state: "coming", step: 0, steps: 0, parameters: 0, pace: 0, losses: [], rights: [], answers: null,
      learner: null, weights: null, watched: false, why: "", begun: Promise.resolve(), ...parts };
    this.current = run;
    this.all.push(run);
    while (this.all.length > MOST_RUNS) this.#drop(this.all.find((one) => one !== run && one.state !== "playing") ?? this.all[0]);
    this.#of.changed(run);
    return run;
  }

  /** All that have a learner learn; one of them is looked at. */
  play() {
    const learning = this.#learning();
    if (!this.current.learner) this.current = learning.at(-1) ?? this.current;
    for (const run of learning) {
      if (run.state === "done" || run.state === "playing") continue;
      run.begun.then(() => {
        if (!run.learner || run.state === "failed") return;
        run.state = "playing";
        this.#attempt(run, () => run.learner.play());
        this.#of.changed(run);
        this.#watch(run);
      });
    }
  }

  pause() {
    for (const run of this.#learning()) {
      if (run.state !== "playing") continue;
      run.state = "paused";
      this.#attempt(run, () => run.learner.pause());
      this.#of.changed(run);
    }
  }

  /** One step of the run that is looked at. */
  async step() {
    const run = this.current;
    if (!run.learner || run.state === "done") return;
    this.pause();
    await run.begun;
    await this.#attempt(run, () => run.learner.step());
    await this.#measure(run);
  }

  /** A step of the run that is looked at, for one training digit, taken apart and not taken; null where it has no learner. @param {number} index */
  async apart(index) {
    const { learner, begun } = this.current;
    this.pause();
    await begun;
    return learner && learner.apart(index);
  }

  /** Looks at another run. @param {Run} run */
  choose(run) {
    this.current = run;
    this.#of.changed(run);
  }

  /** The weights as they are now. @param {Run} run @returns {Promise<ArrayBuffer>} */
  async weights(run) {
    return run.weights ?? await run.learner.weights();
  }

  /** What the learner tells, some ten times a second. @param {Run} run @param {import("../learn/client.js").Told} facts */
  #hear(run, { state, step, steps, loss, seconds }) {
    if (!run.learner || run.state === "failed") return;
    Object.assign(run, { step, steps, pace: seconds > 0 ? step / seconds : 0 });
    if (state === "done") run.state = "done";
    if (state === "paused" && run.state === "ready" && step > 0) run.state = "paused";
    if (loss !== null && step > (run.losses.at(-1)?.step ?? 0)) run.losses.push({ step, value: loss });
    this.#of.changed(run);
  }

  /** Measures while it learns, so seldom that it hardly takes time. @param {Run} run */
  async #watch(run) {
    if (run.watched) return;
    run.watched = true;
    const { clock, wait } = this.#of;
    while (run.learner && run.state === "playing") {
      const before = clock();
      await this.#measure(run);
      await wait(Math.max(SOONEST_MS, (clock() - before) * (1 - MEASURING) / MEASURING));
    }
    run.watched = false;
    await this.#measure(run); // as it is after the last step
  }

  /** The answers to all test digits. @param {Run} run */
  async #measure(run) {
    const { learner } = run;
    if (!learner || run.state === "failed") return;
    await this.#attempt(run, async () => {
      const { probabilities } = await learner.measure();
      run.answers = probabilities;
      if (run.rights.at(-1)?.step === run.step) run.rights.pop();
      run.rights.push({ step: run.step, value: this.#share(probabilities) });
    });
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

  /** The learner goes, its weights stay. @param {Run} run */
  async #retire(run) {
    const { learner } = run;
    await this.#attempt(run, async () => {
      await learner.pause();
      await this.#measure(run);
      run.weights = await learner.weights();
    });
    Object.assign(run, { learner: null, state: run.state === "failed" ? "failed" : "kept" });
    learner.stop();
    this.#of.changed(run);
  }

  /** @param {Run} run */
  #drop(run) {
    const { learner } = run;
    run.learner = null;
    learner?.stop();
    this.all = this.all.filter((one) => one !== run);
  }

  /** The share of the test digits whose most probable class is theirs. @param {Float32Array} answers */
  #share(answers) {
    const { test: { labels }, classes } = this.#of.digits;
    return labels.reduce((sum, label, at) => sum + Number(guessOf(answers, at, classes.length).best === label), 0) / labels.length;
  }
}

/** The most probable class of one digit, and how probable it is. @param {Float32Array} answers  (digits x classes) @param {number} at @param {number} classes */
export function guessOf(answers, at, classes) {
  const row = answers.subarray(at * classes, (at + 1) * classes);
  const best = row.reduce((most, value, index) => (value > row[most] ? index : most), 0);
  return { best, sure: row[best] };
}

/** What is taken for what, the most frequent first. @param {Float32Array} answers @param {Uint8Array} labels @param {number} classes */
export function confusions(answers, labels, classes) {
  const counts = new Uint32Array(classes * classes); // [truth, guess]
  labels.forEach((label, at) => { counts[label * classes + guessOf(answers, at, classes).best] += 1; });
  const pairs = [...counts].map((count, at) => ({ label: Math.floor(at / classes), guess: at % classes, count }))
    .filter(({ label, guess, count }) => count > 0 && label !== guess).sort((a, b) => b.count - a.count);
  return { counts, pairs };
}
