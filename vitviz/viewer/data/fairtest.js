/**
 * A fair test of one picture: the page or the host does one step for each question, until it has the result.
 */

import { LIKE, keyOf } from "./explanations.js";

/**
 * The host is asked again after this long while it serves others, for at most `PATIENCE_MS` without a step.
 */
const BUSY_MS = 700;
const PATIENCE_MS = 60000;

/**
 * @typedef {{explainers: string[], token: number, target: number|"like"|null,
 *   other?: import("../types.js").Asked}} Question  other: the picture beside, where the likeness to it falls
 * @typedef
 *   {{deletion: number, insertion: number, gain: number, beaten: number, first: number[], last: number[]}}
 *   Tested
 * @typedef {{target: number|null, removed: number[], band: [number[], number[]], orders: number,
 *   maps: Record<string, Tested>}} Result  target: null where a likeness falls
 */

/** @returns {Promise<void>} */
const waited = (ms) => new Promise((done) => setTimeout(done, ms));

/** The fair test of one analysis; one runs at a time, and the last result stays. */
export class FairTest {
  /**
   * @param {import("../types.js").Manifest} manifest
   * @param {import("../types.js").Asked} asked  the pass
   * @param {null|((name: string, params: any) => Promise<any>)} ask
   * @param {AbortSignal} signal
   * @param {() => void} onProgress
   * @param {(ms: number) => Promise<void>} pause
   */
  constructor(manifest, asked, ask, signal, onProgress, pause = waited) {
    this.manifest = manifest;
    this.asked = asked;
    this.ask = ask;
    this.signal = signal;
    this.onProgress = onProgress;
    this.pause = pause;
    this.running = ""; // key of the question that is being answered
    this.failed = ""; // of the one that `error` is of
    this.share = 0; // of the steps that are done
    this.waiting = false; // whether others are served first
    /** @type {Error|null} */
    this.error = null;
    /** @type {{key: string, result: Result, seconds: number}|null} */
    this.done = null;
    this.turn = 0;
  }

  /** The number of patches that a test can take out. */
  get patches() {
    const { model, pass } = this.manifest;
    return model.grid.rows * model.grid.cols - (pass.removed?.length ?? 0);
  }

  /**
   * Whether a test can run: somebody computes it, there is a score, and at least two patches are left.
   * @param {Pick<Question, "target">} question
   */
  isPossible({ target }) {
    const { model, pass } = this.manifest;
    const falls = target === LIKE || (pass.predictions.length > 0 && model.outputs !== "value");
    return this.ask !== null && falls && this.patches > 1;
  }

  /** The result for this question, if the last test was of it. @param {Question} question */
  of(question) {
    return this.done?.key === keyOf(question) ? this.done : null;
  }

  /** Stops a test of anything else: its result would not be shown. @param {Question} question */
  follow(question) {
    if (this.running && this.running !== keyOf(question)) {
      this.turn += 1;
      Object.assign(this, { running: "", waiting: false });
    }
    if (this.error && this.failed !== keyOf(question)) this.error = null;
  }

  /** Stops asking. The page or the host keeps finished steps: a later test of the same question resumes. */
  cancel() {
    this.turn += 1;
    this.running = "";
    this.waiting = false;
    this.onProgress();
  }

  /** @param {Question} question */
  async run(question) {
    const mine = ++this.turn;
    const gone = () => mine !== this.turn || this.signal.aborted;
    Object.assign(this, { running: keyOf(question), share: 0, error: null, waiting: false });
    this.onProgress();
    let waited = 0;
    while (!gone()) {
      try {
        const reply = await this.ask("fair", { ...this.asked, ...question });
        if (gone()) return;
        [waited, this.waiting, this.share] = [0, false, reply.done / reply.all];
        if (reply.result) {
          this.done = {
            key: keyOf(question),
            result: readResult(reply.result, question),
            seconds: reply.seconds,
          };
          this.running = "";
        }
      } catch (error) {
        if (gone()) return;
        if (error.busy && waited < PATIENCE_MS) {
          this.waiting = true;
          this.onProgress();
          waited += BUSY_MS;
          await this.pause(BUSY_MS);
          continue;
        }
        Object.assign(this, { error, failed: this.running, running: "", waiting: false });
      }
      this.onProgress();
      if (!this.running) return;
    }
  }
}

/**
 * The result as the host sent it, if it has a curve of all steps for each explainer, the centre and the band.
 */
export function readResult(result, { explainers }) {
  const steps = result.removed.length;
  const curves = [
    result.removed,
    ...result.band,
    ...["centre", ...explainers].flatMap((key) => [result.maps[key]?.first, result.maps[key]?.last]),
  ];
  if (
    steps < 2 ||
    !curves.every((curve) => Array.isArray(curve) && curve.length === steps && curve.every(Number.isFinite))
  ) {
    throw new Error("curves of " + steps + " steps are missing");
  }
  return result;
}
