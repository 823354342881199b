/** The playground: settings in a link, runs and their curves, digits of a sheet, and what it says. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { USUAL } from "../../vitviz/viewer/learn/trainer.js";
import { averaged } from "../../vitviz/viewer/play/curves.js";
import { digitAt, digitsOf } from "../../vitviz/viewer/play/digits.js";
import { TEXTS } from "../../vitviz/viewer/play/playtexts.js";
import { MOST_RUNS, Runs, confusions, guessOf } from "../../vitviz/viewer/play/runs.js";
import { sayingIn } from "../../vitviz/viewer/play/saying.js";
import { CHANGES, nameOf, read, written } from "../../vitviz/viewer/play/settings.js";

const ROOM = new URL("../../vitviz/viewer/play/", import.meta.url);

test("a link holds what differs from the usual run, and nothing else gets in", () => {
  assert.equal(written(USUAL), "standard");
  for (const { field, options } of CHANGES) {
    for (const { value } of options) {
      const settings = { ...USUAL, seed: 2, [field]: value };
      assert.deepEqual(read(written(settings)), settings);
    }
    assert.ok(options.some(({ value }) => value === USUAL[field]), field + " cannot be what it is at first");
  }
  assert.equal(written({ ...USUAL, positions: "none", lr: 5e-4 }), "positions_none*lr_0.0005");
  for (const odd of ["", "standard", "positions_maybe", "dim_4800000", "batch_1", "__proto___1", "*_*"]) assert.deepEqual(read(odd), USUAL, odd);
});

test("a run is named by what differs", () => {
  const say = sayingIn("en");
  assert.equal(nameOf(USUAL, say), "standard");
  assert.equal(nameOf({ ...USUAL, positions: "none", patch: 4 }, say), "positions: none, patches of 4 pixels");
  assert.equal(nameOf({ ...USUAL, positions: "none" }, sayingIn("ko")), "위치: 없음");
  assert.throws(() => say("nothing"), /no text named nothing/);
});

test("every text of the playground is used, and every text that is used is there", () => {
  const source = readdirSync(ROOM).map((name) => readFileSync(new URL(name, ROOM), "utf8")).join("\n");
  assert.deepEqual(Object.keys(TEXTS.en).filter((key) => !source.includes('"' + key + '"')), []);
  const said = [...source.matchAll(/\bsay\("(\w+)"/g)].map(([, key]) => key);
  assert.ok(said.length > 30);
  assert.deepEqual([...said, ...CHANGES.flatMap(({ name, watch, differs, options }) => [name, watch, differs, ...options.flatMap(({ text = name }) => text)])].filter((key) => !(key in TEXTS.en)), []);
});

/** A sheet of two digits of each class in a row of twenty; the first pixel of each is its place. */
function sheet() {
  const data = new Uint8Array(20 * 28 * 28 * 4);
  for (let place = 0; place < 20; place++) data[4 * 28 * place] = place;
  return { data, width: 20 * 28, height: 28 };
}

test("digits come as the sheet has them, or one of each class by turns", () => {
  const plain = digitsOf(sheet());
  assert.deepEqual([...plain.labels].slice(0, 5), [0, 0, 1, 1, 2]);
  assert.deepEqual([0, 1, 2, 19].map((at) => digitAt(plain, at)[0]), [0, 1, 2, 19]);
  const turns = digitsOf(sheet(), true);
  assert.deepEqual([...turns.labels].slice(8, 12), [8, 9, 0, 1]);
  assert.deepEqual([0, 1, 10, 19].map((at) => digitAt(turns, at)[0]), [0, 2, 1, 19]);
});

test("guesses and confusions are counted from the answers, by hand", () => {
  const answers = Float32Array.of(0.7, 0.3, 0.4, 0.6, 0.9, 0.1, 0.2, 0.8);
  assert.deepEqual(guessOf(answers, 1, 2), { best: 1, sure: Math.fround(0.6) });
  const { counts, pairs } = confusions(answers, Uint8Array.of(0, 0, 1, 1), 2);
  assert.deepEqual([...counts], [1, 1, 1, 1]);
  assert.deepEqual(pairs, [{ label: 0, guess: 1, count: 1 }, { label: 1, guess: 0, count: 1 }]);
});

test("a long curve is drawn by the means of neighbours", () => {
  const points = [0, 1, 2, 3, 4].map((step) => ({ step, value: 2 * step }));
  assert.equal(averaged(points, 5), points);
  assert.deepEqual(averaged(points, 3), [{ step: 0.5, value: 1 }, { step: 2.5, value: 5 }, { step: 4, value: 8 }]);
});

/** A learner that does as it is told, and says what it was asked. */
function workshop() {
  const made = [];
  const createLearner = ({ told }) => {
    const asked = [];
    const one = { asked, told, right: 0 };
    made.push(one);
    const answer = (what, value) => async () => { asked.push(what); return value?.(); };
    return Object.assign(one, {
      learner: { begin: answer("begin", () => ({ parameters: 7, steps: 100 })), play: answer("play"), pause: answer("pause"), step: answer("step"), stop: answer("stop"),
        weights: answer("weights", () => new ArrayBuffer(4)), measure: answer("measure", () => ({ probabilities: Float32Array.of(1, 0, one.right, 1 - one.right) })) },
    }).learner;
  };
  return { made, createLearner };
}

/** @type {any} */
const digits = { test: { pixels: new Uint8Array(2), labels: Uint8Array.of(0, 0) }, classes: ["a", "b"] };
const settled = async () => { for (let i = 0; i < 50; i++) await null; };

function begun() {
  const { made, createLearner } = workshop();
  const waits = [];
  const runs = new Runs({ digits, createLearner, changed: () => {}, wait: () => new Promise((done) => waits.push(done)), clock: () => 0 });
  return { made, runs, waits };
}

test("a run is measured at its beginning, while it learns, and at its end", async () => {
  const { made, runs, waits } = begun();
  await settled();
  assert.deepEqual(runs.current.rights, [{ step: 0, value: 0.5 }]);
  runs.play();
  await settled();
  assert.equal(runs.current.state, "playing");
  made[0].right = 1;
  made[0].told({ state: "playing", step: 60, steps: 100, loss: 1.5, rate: 0, seconds: 2 });
  waits.pop()();
  await settled();
  assert.deepEqual(runs.current.rights, [{ step: 0, value: 0.5 }, { step: 60, value: 1 }]);
  assert.equal(runs.current.pace, 30);
  made[0].told({ state: "done", step: 100, steps: 100, loss: null, rate: 0, seconds: 4 });
  waits.pop()();
  await settled();
  assert.equal(runs.current.rights.at(-1).step, 100);
  assert.deepEqual(runs.current.losses, [{ step: 60, value: 1.5 }]);
  assert.equal(runs.playing, false);
});

test("a new run leaves the curve and the weights of the one before, unless that had learned nothing", async () => {
  const { made, runs } = begun();
  await settled();
  runs.start({ ...USUAL, patch: 4 });
  assert.equal(runs.all.length, 1);
  assert.ok(made[0].asked.includes("stop"));
  made[1].told({ state: "paused", step: 5, steps: 100, loss: 2, rate: 0, seconds: 1 });
  const before = runs.current;
  runs.start({ ...USUAL, patch: 14 });
  await settled();
  assert.deepEqual(runs.all.map(({ settings, state }) => [settings.patch, state]), [[4, "kept"], [14, "ready"]]);
  assert.deepEqual(made[1].asked.slice(-3), ["measure", "weights", "stop"]);
  assert.equal((await runs.weights(before)).byteLength, 4);
});

test("with and without stand side by side, and both learn", async () => {
  const { made, runs } = begun();
  await settled();
  runs.start({ ...USUAL, positions: "none" }, true);
  runs.play();
  await settled();
  assert.deepEqual(runs.all.map(({ state }) => state), ["playing", "playing"]);
  runs.pause();
  assert.deepEqual(made.map(({ asked }) => asked.at(-1)), ["pause", "pause"]);
});

test("few runs are kept, none that learns goes, and one that fails says why", async () => {
  const { made, runs } = begun();
  for (let seed = 1; seed < 9; seed++) {
    made.at(-1).told({ state: "paused", step: 1, steps: 100, loss: 2, rate: 0, seconds: 1 });
    runs.start({ ...USUAL, seed });
    await settled();
  }
  assert.equal(runs.all.length, MOST_RUNS);
  assert.deepEqual(runs.all.map(({ settings }) => settings.seed), [3, 4, 5, 6, 7, 8]);
  assert.equal(new Set(runs.all.map(({ number }) => number % MOST_RUNS)).size, MOST_RUNS); // each has its colour
  runs.current.learner.play = async () => { throw new Error("no room"); };
  runs.play();
  await settled();
  assert.deepEqual([runs.current.state, runs.current.why], ["failed", "no room"]);
});
