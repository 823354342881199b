/** Local explanations: explanations and fair tests of a pass, computed in this page as a host computes them. */

import { EXPLAINER_KEYS, KINDS } from "../engine/tables.js";
import { centreMap, keptAt, planOf, removalOf } from "../maths/fairness.js";
import { writeSafetensors } from "../maths/safetensors.js";
import { LIKE, keyOf } from "./explanations.js";
import { notHere } from "./files.js";

const NAME = /^explain-([a-z_0-9]+)-(\d+)-(\d+|any|like)$/;

/**
 * Input of an explanation or a step of a fair test. told: called with the share of a long task that is done.
 * @typedef {{engine: import("../engine/client.js").Engine, known: import("./localpayload.js").Known,
 *   source: import("./source.js").Source,
 *   told: (share: number) => void}} Wanted
 */

/**
 * Input of an engine task. Pixel interventions are already applied to the picture, so only the others are
 * passed on.
 * @param {Wanted} wanted
 */
function passOf({ source: { manifest, picture } }) {
  const { pixels } = /** @type {NonNullable<typeof picture.here>} */ (picture.here);
  return {
    picture: pixels,
    interventions: manifest.pass.changes.filter(({ kind }) => KINDS[kind].touches !== "pixels"),
  };
}

/** The error for a result that nobody waits for any more, so that no host is asked. @param {string} what */
const gone = (what) => Object.assign(new Error(what + " is shown no longer"), { gone: true });

/** The picture beside, before its normalisation. @param {import("./source.js").Source} source */
async function besideOf({ explanations: { other } }) {
  await other?.picture.fetch();
  if (!other?.picture.here) throw other?.picture.error ?? gone("the picture beside");
  return other.picture.here.pixels;
}

/**
 * The file of an explanation, by its name, as vitviz/payload/explanations.py makes it.
 * @param {string} name
 * @param {Wanted} wanted  whose picture is here
 * @returns {Promise<ArrayBuffer>}
 */
export async function explanationFile(name, wanted) {
  const [, explainer, token, target] = /** @type {RegExpExecArray} */ (NAME.exec(name));
  if (!EXPLAINER_KEYS.includes(explainer)) throw notHere(name); // Python alone has it
  const begun = performance.now();
  const task = {
    ...passOf(wanted),
    explainer,
    token: Number(token),
    target: /\d/.test(target) ? Number(target) : -1,
    like: target === LIKE ? await besideOf(wanted.source) : null,
  };
  const { values, forward, backward, gap, likeness } = await wanted.engine.work(task, {
    told: wanted.told,
    signal: wanted.source.store.stop.signal,
  });
  const cost = Float32Array.of(forward, backward, (performance.now() - begun) / 1000);
  return writeSafetensors({
    values: { shape: [values.length], data: values },
    cost: { shape: [3], data: cost },
    ...(gap === null ? {} : { gap: { shape: [1], data: Float32Array.of(gap) } }),
    ...(likeness === undefined ? {} : { likeness: { shape: [1], data: Float32Array.of(likeness) } }),
  });
}

/**
 * @type
 *   {WeakMap<import("./source.js").Source, {key: string, maps: Record<string, Float32Array>,
 *     columns: Float32Array[], seconds: number}>}
 */
const tests = new WeakMap(); // of each analysis the last one

/** @type {WeakMap<import("./source.js").Source, Promise<any>>} */
const turns = new WeakMap(); // of each analysis the last step that was asked for

/**
 * A step of a fair test, as vitviz/web/service/fair_tests.py does it: the next map, or when all are there the
 * next column; with the last, the result. One at a time: a test that is stopped and begun again finds the last
 * step of the first one under way, and would compute the same column once more.
 * @param {import("./fairtest.js").Question} question
 * @param {Wanted} wanted  whose picture is here
 */
export function fairStep(question, wanted) {
  const go = () => step(question, wanted);
  const mine = (turns.get(wanted.source) ?? Promise.resolve()).then(go, go);
  turns.set(wanted.source, mine);
  return mine;
}

async function step(question, wanted) {
  const { explainers, token, target, other } = question;
  const { engine, source } = wanted;
  const { config } = wanted.known.facts;
  const { grid } = source;
  const { model, pass } = source.manifest;
  const beside = source.explanations.other;
  if (other && beside?.asked.id !== other.id) throw gone("the picture beside");
  const key = keyOf(question);
  const test =
    tests.get(source)?.key === key
      ? /** @type {NonNullable<ReturnType<typeof tests.get>>} */ (tests.get(source))
      : { key, maps: {}, columns: [], seconds: 0 };
  tests.set(source, test);
  const begun = performance.now();
  const missing = explainers.find((one) => !test.maps[one]);
  if (missing) {
    const file = source.explanations.of({ key: missing, token, target });
    await file.fetch();
    if (!file.here) throw file.error ?? gone("this analysis");
    test.maps[missing] = file.here.values.subarray(grid.prefix);
  }
  const patches = Array.from({ length: grid.rows * grid.cols }, (_, patch) => patch).filter(
    (patch) => !pass.removed.includes(patch),
  );
  const ordered = { centre: centreMap(grid), ...test.maps };
  const like = target === LIKE && !missing ? await besideOf(source) : null;
  const plan = planOf(ordered, patches, config.global_pool !== "token");
  const isFull = test.columns.length === plan.counts.length; // its result was made for a run that was stopped
  for (let left = missing || isFull ? 0 : test.columns.length === 0 ? 2 : 1; left > 0; left--) {
    const kept = keptAt(plan, test.columns.length);
    const task = {
      ...passOf(wanted),
      target: like ? -1 : target,
      like,
      kept: test.columns.length === 0 ? kept.slice(0, 1) : kept,
      temperature: model.temperature,
      outputs: model.outputs,
    };
    test.columns.push(await engine.work(task, { signal: source.store.stop.signal }));
  }
  test.seconds += (performance.now() - begun) / 1000;
  const maps = new Set(explainers).size;
  const done = Object.keys(test.maps).length + Math.max(0, test.columns.length - 1);
  const isDone = test.columns.length === plan.counts.length;
  return {
    done,
    all: maps + plan.counts.length - 1,
    seconds: test.seconds,
    ...(isDone ? { result: removalOf(plan, test.columns, target === LIKE ? null : target) } : {}),
  };
}
