/** The playground: settings in a link, runs and their curves, digits of a sheet, and what it says. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { bestKernels } from "../../vitviz/viewer/engine/kernels.js";
import { Trainer } from "../../vitviz/viewer/learn/trainer.js";
import { DEFAULTS } from "../../vitviz/viewer/learn/defaults.js";
import { averaged } from "../../vitviz/viewer/play/curves.js";
import { digitAt, digitsOf } from "../../vitviz/viewer/play/digits.js";
import { createInside } from "../../vitviz/viewer/play/inside.js";
import { createKeptSigns } from "../../vitviz/viewer/play/signskept.js";
import { createOneStep } from "../../vitviz/viewer/play/onestep.js";
import { createOwnResult } from "../../vitviz/viewer/play/ownresult.js";
import { TEXTS } from "../../vitviz/viewer/play/playtexts.js";
import { MOST_RUNS, Runs, confusions, guessOf } from "../../vitviz/viewer/play/runs.js";
import { textsIn } from "../../vitviz/viewer/play/texts.js";
import { CHANGES, keyOf, nameOf, read, written } from "../../vitviz/viewer/play/settings.js";
import {
  MOST_BYTES,
  SignsError,
  fileOf,
  isEnough,
  joined,
  kept,
  pixelsOf,
  readFile,
  setOf,
  varied,
} from "../../vitviz/viewer/play/signs.js";
import { openPage } from "./page.js";

const ROOM = new URL("../../vitviz/viewer/play/", import.meta.url);

test("a link holds what differs from the usual run, and nothing else gets in", () => {
  assert.equal(written(DEFAULTS), "standard");
  for (const { field, options } of CHANGES) {
    for (const { value } of options) {
      const settings = { ...DEFAULTS, seed: 2, [field]: value };
      assert.deepEqual(read(written(settings)), settings);
    }
    assert.ok(
      options.some(({ value }) => value === DEFAULTS[field]),
      field + " cannot be what it is at first",
    );
  }
  assert.equal(written({ ...DEFAULTS, positions: "none", lr: 5e-4 }), "positions_none*lr_0.0005");
  for (const odd of ["", "standard", "positions_maybe", "dim_4800000", "batch_1", "__proto___1", "*_*"])
    assert.deepEqual(read(odd), DEFAULTS, odd);
});

test("a run is named by what differs", () => {
  const say = textsIn("en");
  assert.equal(nameOf(DEFAULTS, say), "standard");
  assert.equal(
    nameOf({ ...DEFAULTS, positions: "none", patch: 4 }, say),
    "positions: none, patches of 4 pixels",
  );
  assert.equal(nameOf({ ...DEFAULTS, positions: "none" }, textsIn("ko")), "위치: 없음");
  assert.throws(() => say("nothing"), /no text named nothing/);
});

test("every text of the playground is used, and every text that is used is there", () => {
  const source = readdirSync(ROOM)
    .map((name) => readFileSync(new URL(name, ROOM), "utf8"))
    .join("\n");
  const chosen = CHANGES.flatMap(({ field, options }) => [
    field,
    keyOf("watch", field),
    keyOf("differs", field),
    ...options.flatMap(({ text = field }) => text),
  ]);
  // What a pen field says is of another room, and some of it is said otherwise of a visitor's own signs.
  const ours = Object.keys(TEXTS.en).filter((key) => !key.startsWith("draw"));
  assert.deepEqual(
    ours
      .map((key) => key.replace(/_(signs|own)$/, ""))
      .filter((key) => !chosen.includes(key) && !source.includes('"' + key + '"')),
    [],
  );
  const said = [...source.matchAll(/\bsay\("(\w+)"/g)].map(([, key]) => key);
  assert.ok(said.length > 30);
  for (const texts of Object.values(TEXTS))
    assert.deepEqual(
      [...said, ...chosen].filter((key) => !(key in texts)),
      [],
    );
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
  assert.deepEqual(
    [0, 1, 2, 19].map((at) => digitAt(plain, at)[0]),
    [0, 1, 2, 19],
  );
  const turns = digitsOf(sheet(), true);
  assert.deepEqual([...turns.labels].slice(8, 12), [8, 9, 0, 1]);
  assert.deepEqual(
    [0, 1, 10, 19].map((at) => digitAt(turns, at)[0]),
    [0, 2, 1, 19],
  );
});

test("guesses and confusions are counted from the answers, by hand", () => {
  const answers = Float32Array.of(0.7, 0.3, 0.4, 0.6, 0.9, 0.1, 0.2, 0.8);
  assert.deepEqual(guessOf(answers, 1, 2), { best: 1, sure: Math.fround(0.6) });
  const { counts, pairs } = confusions(answers, Uint8Array.of(0, 0, 1, 1), 2);
  assert.deepEqual([...counts], [1, 1, 1, 1]);
  assert.deepEqual(pairs, [
    { label: 0, guess: 1, count: 1 },
    { label: 1, guess: 0, count: 1 },
  ]);
});

test("a long curve is drawn by the means of neighbours", () => {
  const points = [0, 1, 2, 3, 4].map((step) => ({ step, value: 2 * step }));
  assert.equal(averaged(points, 5), points);
  assert.deepEqual(averaged(points, 3), [
    { step: 0.5, value: 1 },
    { step: 2.5, value: 5 },
    { step: 4, value: 8 },
  ]);
});

/** A learner that does as it is told, and says what it was asked. */
function workshop() {
  const made = [];
  const createLearner = ({ told, measured }) => {
    const asked = [];
    const one = { asked, told, measured, right: 0, step: 0, begun: [] };
    made.push(one);
    const answer =
      (what, value) =>
      async (...of) => {
        asked.push(what);
        return value?.(...of);
      };
    return Object.assign(one, {
      learner: {
        begin: answer("begin", (...of) => {
          one.begun.push(of);
          one.step = of[2]?.step ?? 0;
          return { parameters: 7, steps: 100 };
        }),
        play: answer("play"),
        pause: answer("pause", () => ({ step: one.step })),
        step: answer("step"),
        apart: answer("apart", () => ({ loss: 1 })),
        stop: answer("stop"),
        pace: answer("pace"),
        keep: answer("keep", () => ({ step: one.step, numbers: [], milliseconds: 0 })),
        weights: answer("weights", () => new ArrayBuffer(4)),
        measure: answer("measure", () => ({
          step: one.step,
          right: one.right,
          loss: 1,
          probabilities: Float32Array.of(1, 0, one.right, 1 - one.right),
        })),
      },
    }).learner;
  };
  return { made, createLearner };
}

/** @type {any} */
const digits = { test: { pixels: new Uint8Array(2), labels: Uint8Array.of(0, 0) }, classes: ["a", "b"] };
const settled = async () => {
  for (let i = 0; i < 50; i++) await null;
};

function begun() {
  const { made, createLearner } = workshop();
  const runs = new Runs({ digits, createLearner, changed: () => {} });
  const learns = (one, step) => {
    one.step = step;
    one.told({ state: step < 100 ? "playing" : "done", step, steps: 100, loss: 1.5, rate: 0, seconds: 2 });
  };
  return { made, runs, learns };
}

test("a run whose learner dies when a step is taken apart has failed, and says why it did", async () => {
  const {
    made: [{ learner }],
    runs,
  } = begun();
  await settled();
  learner.apart = async () => {
    throw new Error("died");
  };
  assert.equal(await runs.apart(0), null);
  learner.apart = async () => {
    throw new Error("is dead");
  };
  assert.equal(await runs.apart(0), null);
  assert.deepEqual([runs.current.state, runs.current.why], ["failed", "died"]);
});

test("one step that is pressed twice shows the second digit alone, with its own numbers", async (t) => {
  const { body, button } = openPage(t);
  const say = textsIn("en");
  const weight = { name: "w", at: "0", value: 1, gradient: 1, finite: 1, update: -1 };
  const answers = [];
  const ask = () => new Promise((done) => answers.push(done));
  const train = { pixels: new Uint8Array(4 * 28 * 28), labels: Uint8Array.of(0, 1, 0, 1) };
  body.append(createOneStep({ train, classes: ["cat", "dog"] }, say, ask).root);
  button(say("apart")).click();
  button(say("apart")).click();
  const shown = () => body.querySelectorAll("li").map(({ textContent }) => textContent);
  const [first, second] = [0, 1].map((label) => ({
    label,
    probabilities: [0.25, 0.75],
    loss: 1,
    rate: 1,
    shorter: 0.5,
    weight,
  }));
  answers[0](first);
  await settled();
  assert.deepEqual(shown(), []);
  answers[1](second);
  await settled();
  assert.equal(shown()[0], say("apartForward", { label: "dog", share: "75.0%" }));
});

test("the pair that a head confuses is that of the last learning, also where the counts are the same", (t) => {
  const { body } = openPage(t);
  const say = textsIn("en");
  const result = createOwnResult({
    say,
    nameOf: ({ name }) => name,
    image: { height: 1, width: 1, channels: 3 },
  });
  body.append(result.root);
  const things = [{ name: "cup" }, { name: "pen" }];
  const learned = (share) => ({
    things,
    right: [1, 2],
    count: [2, 2],
    pair: { classes: [0, 1], times: 1, pictures: [0, -1] },
    pictures: [{ pixels: new Uint8Array(3) }],
    shares: [[1 - share, share]],
  });
  const render = (found) =>
    result.render(/** @type {any} */ ({ found, set: { content: () => ({ things }) }, state: {} }));
  for (const share of [0.6, 0.9]) {
    render(learned(share));
    assert.match(body.querySelector("figcaption").textContent, new RegExp(100 * share + "\\.0%"));
  }
});

test("a curve has its points at the same steps however often a run was asked", async () => {
  const {
    made: [one],
    runs,
    learns,
  } = begun();
  await settled();
  assert.deepEqual(runs.current.rights, [{ step: 0, value: 0 }]);
  runs.play();
  await settled();
  assert.equal(runs.current.state, "playing");
  learns(one, 20);
  one.measured({ step: 20, right: 0.5, loss: 1, probabilities: Float32Array.of(1, 0, 0, 1) });
  learns(one, 33);
  runs.pause();
  one.right = 0.75;
  await settled();
  assert.equal(runs.current.right, 0.75); // what stands there in large is as it is now
  assert.deepEqual(runs.current.rights, [
    { step: 0, value: 0 },
    { step: 20, value: 0.5 },
  ]);
  assert.equal(runs.current.pace, 16.5);
  learns(one, 100);
  one.measured({ step: 100, right: 1, loss: 1, probabilities: Float32Array.of(1, 0, 1, 0) });
  assert.deepEqual(runs.current.rights.at(-1), { step: 100, value: 1 });
  assert.deepEqual([runs.current.state, runs.playing], ["done", false]);
});

test("a new run leaves the curve and the weights of the one before, unless that had learned nothing", async () => {
  const { made, runs, learns } = begun();
  await settled();
  runs.start({ ...DEFAULTS, patch: 4 });
  assert.equal(runs.all.length, 1);
  assert.ok(made[0].asked.includes("stop"));
  learns(made[1], 5);
  const before = runs.current;
  runs.start({ ...DEFAULTS, patch: 14 });
  await settled();
  assert.deepEqual(
    runs.all.map(({ settings, state }) => [settings.patch, state]),
    [
      [4, "kept"],
      [14, "ready"],
    ],
  );
  assert.deepEqual(made[1].asked.slice(-4), ["measure", "weights", "keep", "stop"]);
  assert.equal((await runs.weights(before)).byteLength, 4);
});

test("a pause that comes while a run prepares itself holds, and a second wish to learn does not double the first", async () => {
  const { made, runs } = begun();
  runs.play();
  assert.ok(runs.playing); // the button says so at once
  runs.pause();
  assert.ok(!runs.playing);
  await settled();
  assert.deepEqual([runs.current.state, made[0].asked.includes("play")], ["ready", false]);
  runs.start({ ...DEFAULTS, patch: 14 });
  runs.play();
  runs.pause();
  runs.play();
  runs.play();
  await settled();
  assert.equal(runs.current.state, "playing");
  assert.equal(made[1].asked.filter((what) => what === "play").length, 1);
});

test("a run is not taken for one before it that left no curve", async () => {
  const { runs } = begun();
  await settled();
  const { number } = runs.current;
  runs.start({ ...DEFAULTS, positions: "none" }); // before Play: what a page wrote of the first is not of this one
  assert.equal(runs.all.length, 1);
  assert.notEqual(runs.current.number, number);
});

test("a run beside another one leaves that to be compared with, and has a colour of its own", async () => {
  const { made, runs } = begun();
  for (let seed = 1; seed < MOST_RUNS; seed++) {
    made.at(-1).told({ state: "paused", step: 1, steps: 100, loss: 2, rate: 0, seconds: 1 });
    runs.start({ ...DEFAULTS, seed });
    await settled();
  }
  made.at(-1).told({ state: "paused", step: 1, steps: 100, loss: 2, rate: 0, seconds: 1 });
  const [oldest] = runs.all;
  runs.choose(oldest);
  runs.start({ ...oldest.settings, positions: "none" }, true);
  await settled();
  assert.ok(runs.all.includes(oldest));
  assert.equal(runs.all.length, MOST_RUNS);
  assert.equal(new Set(runs.all.map(({ colour }) => colour)).size, MOST_RUNS);
});

/** A run that another one has set aside after 40 steps. */
async function setAside() {
  const { made, runs, learns } = begun();
  await settled();
  learns(made[0], 40);
  const first = runs.current;
  runs.start({ ...DEFAULTS, patch: 14 });
  await settled();
  return { made, runs, first };
}

test("a step can be taken apart of a run that another one has set aside", async () => {
  const { made, runs, first } = await setAside();
  runs.choose(first);
  assert.equal(first.learner, null);
  assert.deepEqual(await runs.apart(0), { loss: 1 });
  assert.deepEqual([made.length, first.state], [3, "paused"]);
});

test("a run that was replaced goes on where it was, and one from a file does not", async () => {
  const { made, runs, first } = await setAside();
  runs.setPace(10);
  runs.choose(first);
  runs.play();
  await settled();
  assert.deepEqual([first.state, first.kept, made.length], ["playing", null, 3]);
  assert.deepEqual(
    made[2].begun[0].map((part) => part.step ?? part.patch ?? 0),
    [7, 0, 40],
  );
  assert.ok(made[2].asked.includes("pace"));
  // With a third one that learns the oldest goes, and can come back.
  runs.start({ ...DEFAULTS, dim: 16 }, true);
  await settled();
  assert.deepEqual(made.filter(({ asked }) => !asked.includes("stop")).length, 2);
  runs.add("mine", new ArrayBuffer(4), Float32Array.of(1, 0, 0, 1));
  assert.deepEqual([runs.current.right, runs.canPlay()], [0.5, false]);
  await settled();
  runs.play(); // the picture of a model from a file stays
  await settled();
  assert.deepEqual([runs.current.name, runs.playing], ["mine", false]);
});

test("where the selected run has ended, one that was set aside goes on", async () => {
  const { made, runs, first } = await setAside();
  made[1].told({ state: "done", step: 100, steps: 100, loss: 1, rate: 0, seconds: 2 });
  assert.equal(first.learner, null);
  assert.ok(runs.canPlay());
  runs.play();
  await settled();
  assert.deepEqual([runs.current, first.state], [first, "playing"]);
});

test("a step of a run that is dropped while it is set aside leaves no learner behind", async () => {
  const { made, runs, learns } = begun();
  await settled();
  learns(made[0], 40);
  const [first] = runs.all;
  runs.start({ ...DEFAULTS, patch: 14 });
  runs.choose(first);
  const stepping = runs.step();
  runs.again();
  await stepping;
  await settled();
  const working = made.filter(({ asked }) => !asked.includes("stop")).length;
  assert.equal(working, runs.all.filter(({ learner }) => learner).length);
});

test("a kind of signs that is removed leaves the choice where it is", () => {
  globalThis.sessionStorage = /** @type {any} */ ({ getItem: () => null, setItem() {} });
  const kinds = createKeptSigns(() => {});
  kinds.more();
  const [first, second, third] = kinds.all();
  kinds.choose(second);
  kinds.remove(first);
  assert.equal(kinds.chosen(), second);
  kinds.remove(second);
  assert.equal(kinds.chosen(), third);
  delete globalThis.sessionStorage;
});

test("what one run confuses does not stand under the next, which has not answered yet", (t) => {
  openPage(t);
  const { root, confuse } = createInside(digits, textsIn("en"));
  confuse(Float32Array.of(0, 1, 1, 0));
  assert.equal(root.querySelectorAll("li").length, 1);
  confuse(null);
  assert.deepEqual(
    [root.querySelectorAll("li"), root.querySelectorAll(".vv-play-axes")].map(({ length }) => length),
    [0, 0],
  );
});

test("what runs have learned can be kept, and goes on in others", async () => {
  const { made, runs, learns } = begun();
  await settled();
  assert.deepEqual(await runs.snapshot(), { runs: [], current: 0 });
  learns(made[0], 40);
  runs.start({ ...DEFAULTS, patch: 14 }, true);
  await settled();
  learns(made[1], 100);
  runs.add("mine", new ArrayBuffer(4), Float32Array.of(1, 0, 0, 1));
  runs.choose(runs.all[0]);
  const snapshot = structuredClone(await runs.snapshot());
  assert.deepEqual(
    snapshot.runs.map(({ number, name, step, kept }) => [number, name, step, kept?.step]),
    [
      [0, null, 40, 40],
      [1, null, 100, undefined], // it has nothing left to learn
      [2, "mine", 0, undefined],
    ],
  );
  assert.ok(!made[1].asked.includes("pause")); // what learns goes on meanwhile
  assert.equal(snapshot.runs[0].pace, 20); // as it was when it learned
  const again = (settings, given = snapshot) => {
    const { made: learners, createLearner } = workshop();
    return { learners, runs: new Runs({ digits, createLearner, changed: () => {} }, settings, given) };
  };
  for (const settings of [null, DEFAULTS]) {
    const { learners, runs: next } = again(settings);
    assert.deepEqual([next.all.length, next.current.step, learners.length], [3, 40, 0]);
    next.play();
    await settled();
    assert.deepEqual([next.current.state, learners[0].begun[0][2].step], ["playing", 40]);
  }
  const { runs: other } = again({ ...DEFAULTS, dim: 16 });
  assert.deepEqual([other.all.length, other.current.number, other.current.step], [4, 3, 0]);
  const { runs: none } = again(null, null);
  assert.deepEqual([none.all.length, none.current.settings], [1, DEFAULTS]);
});

test("a run whose learner is stopped while it is kept is left out, and one that fails then is told of", async () => {
  const { made, runs, learns } = begun();
  await settled();
  learns(made[0], 40);
  const { learner } = made[0];
  learner.weights = async () => {
    if (runs.current.learner) runs.again();
    throw new Error("stopped");
  };
  assert.deepEqual((await runs.snapshot()).runs, []);
  made[1].told({ state: "playing", step: 3, steps: 100, loss: 1, rate: 0, seconds: 1 });
  made[1].learner.keep = async () => {
    throw new Error("odd");
  };
  await assert.rejects(runs.snapshot(), /odd/);
});

test("fewer digits are learned from in as many steps, so that they can be learned by heart", async () => {
  const { made, runs } = begun();
  await settled();
  runs.start({ ...DEFAULTS, train: 200, labels: "shuffled" });
  await settled();
  assert.deepEqual(
    made.map((one) => one.begun[0][0].epochs),
    [10, 200],
  );
});

test("a run that is set aside learns no further while its state is saved", async () => {
  const { made, runs, learns } = begun();
  await settled();
  learns(made[0], 40);
  runs.play();
  await settled();
  runs.pause();
  await settled();
  const before = made[0].asked.length;
  runs.start({ ...DEFAULTS, dim: 16 });
  runs.play(); // the new one
  await settled();
  assert.ok(!made[0].asked.slice(before).includes("play"), made[0].asked.join());
  assert.deepEqual(
    runs.all.map(({ state }) => state),
    ["kept", "playing"],
  );
  learns(made[1], 10);
  runs.start({ ...DEFAULTS, dim: 24 });
  runs.choose(runs.all[1]); // while its state is saved
  runs.play();
  await settled();
  assert.deepEqual(
    runs.all.map(({ state }) => state),
    ["kept", "playing", "playing"],
  );
  assert.deepEqual([made.length, made.at(-1).begun[0][2].step], [4, 10]); // it goes on where it was
});

test("with and without stand side by side, and both learn", async () => {
  const { made, runs } = begun();
  await settled();
  runs.start({ ...DEFAULTS, positions: "none" }, true);
  runs.play();
  await settled();
  assert.deepEqual(
    runs.all.map(({ state }) => state),
    ["playing", "playing"],
  );
  runs.pause();
  await settled();
  assert.deepEqual(
    made.map(({ asked }) => asked.at(-2)),
    ["pause", "pause"],
  );
});

test("few runs are kept, none that learns goes, and one that fails says why", async () => {
  const { made, runs } = begun();
  for (let seed = 1; seed < 9; seed++) {
    made.at(-1).told({ state: "paused", step: 1, steps: 100, loss: 2, rate: 0, seconds: 1 });
    runs.start({ ...DEFAULTS, seed });
    await settled();
  }
  assert.equal(runs.all.length, MOST_RUNS);
  assert.deepEqual(
    runs.all.map(({ settings }) => settings.seed),
    [3, 4, 5, 6, 7, 8],
  );
  // each has its colour
  assert.equal(new Set(runs.all.map(({ colour }) => colour)).size, MOST_RUNS);
  runs.current.learner.play = async () => {
    throw new Error("no room");
  };
  runs.play();
  await settled();
  assert.deepEqual([runs.current.state, runs.current.why], ["failed", "no room"]);
});

/** A stroke from point to point. @returns {any} */
const line = (...points) => [{ width: 0.09, points }];

test("a drawing is brought to the middle, and its pixels are as much ink as a pen lays", () => {
  const drawing = kept(line([0.1, 0.1], [0.1, 0.1001], [0.1, 0.4]));
  assert.deepEqual(drawing, [
    {
      width: 0.09,
      points: [
        [0.5, 0.188],
        [0.5, 0.812],
      ],
    },
  ]); // 20 of 28 pixels high with its pen; two points were one
  const pixels = pixelsOf([
    {
      width: 2 / 28,
      points: [
        [14 / 28, 7 / 28],
        [14 / 28, 21 / 28],
      ],
    },
  ]);
  // a line of two pixels
  assert.deepEqual([...pixels.subarray(10 * 28 + 11, 10 * 28 + 17)], [0, 0, 255, 255, 0, 0]);
  assert.ok(pixels[6 * 28 + 13] > 0 && pixels[6 * 28 + 13] < 255 && pixels[4 * 28 + 13] === 0); // a round end
  assert.deepEqual(
    [...pixelsOf([{ width: 1 / 28, points: [[0.5 / 28, 0.5 / 28]] }]).subarray(0, 2)],
    [255, 0],
  );
});

test("signs are varied a little, and a quarter of each kind is never trained on", () => {
  const [turned] = varied(line([0.5, 0.25]), [1, 0, 0, 0, 0]);
  assert.deepEqual(
    turned.points[0].map((share) => Math.round(1e4 * share) / 1e4),
    [0.5647, 0.2585],
  ); // 15 degrees about the middle
  assert.deepEqual(varied(line([0.5, 0.5]), [0, 0, 1, -1, 0])[0].points, [[0.5 + 2 / 28, 0.5 - 2 / 28]]);
  const kind = (name, from) => ({
    name,
    drawings: Array.from({ length: 8 }, (_, at) =>
      kept(line([0.2, from], [0.8, from + 0.04 * at], [0.5, 0.9])),
    ),
  });
  const kinds = [kind("a", 0.1), kind("b", 0.5), kind("c", 0.3)];
  assert.deepEqual(
    [isEnough(kinds), isEnough(kinds.slice(1)), isEnough(kinds.slice(2))],
    [true, true, false],
  );
  const { train, test: rest, classes } = setOf(kinds);
  assert.deepEqual(
    [classes, [...rest.labels], train.labels.length],
    [["a", "b", "c"], [0, 1, 2, 0, 1, 2], 576],
  );
  assert.deepEqual(digitAt(rest, 5), pixelsOf(kinds[2].drawings[7]));
  assert.deepEqual(setOf(kinds).train, train); // the same drawings make the same pictures
  const dots = [0, 1].map(() => line([0.5, 0.5]));
  const others = kinds.map((one) => ({ ...one, drawings: [...one.drawings.slice(0, 6), ...dots] }));
  assert.deepEqual(setOf(others).train, train); // the last two of eight are in none of them
});

test("two kinds that look different are learned in a few steps", () => {
  const stroke = (at) => line([0.5 + 0.01 * at, 0.1], [0.5 - 0.01 * at, 0.9]);
  const ring = (at) =>
    line(
      ...Array.from({ length: 13 }, (_, i) => [
        0.5 + 0.4 * Math.cos((i * Math.PI) / 6),
        0.5 + (0.35 + 0.005 * at) * Math.sin((i * Math.PI) / 6),
      ]),
    );
  const eight = (draw) => Array.from({ length: 8 }, (_, at) => kept(draw(at)));
  const trainer = new Trainer(
    { ...DEFAULTS, epochs: 20 },
    setOf([
      { name: "line", drawings: eight(stroke) },
      { name: "ring", drawings: eight(ring) },
    ]),
    bestKernels,
  );
  for (let step = 0; step < 60; step++) trainer.step();
  assert.equal(trainer.measure().right, 1);
});

test("a file of drawings comes back as it was saved, and a class puts its own together", () => {
  const one = kept(line([0.1, 0.1], [0.7, 0.4]));
  const two = kept(line([0.3, 0.1], [0.3, 0.4]));
  const kinds = [
    { name: "별", drawings: [one] },
    { name: "<b>", drawings: [two, one] },
  ];
  assert.deepEqual(readFile(fileOf(kinds)), kinds);
  const all = joined(kinds, [
    { name: "<b>", drawings: [two, two.concat(one)] },
    { name: "c", drawings: [one] },
  ]);
  assert.deepEqual(
    all.map(({ name, drawings }) => [name, drawings.length]),
    [
      ["별", 1],
      ["<b>", 3],
      ["c", 1],
    ],
  );
  assert.equal(kinds[1].drawings.length, 2);
  assert.deepEqual(joined([{ name: "A", drawings: [] }], kinds).length, 2); // empty ones make room
  assert.throws(
    () =>
      joined(all, [
        { name: "d", drawings: [one] },
        { name: "e", drawings: [one] },
      ]),
    { key: "signsTooManyKinds" },
  );
});

test("a file that holds something else is refused in a sentence", () => {
  const file = (kinds) => JSON.stringify({ vitviz: "signs", kinds });
  const kind = (drawings, name = "a") => file([{ name, drawings }]);
  const stroke = [0.1, [[0.5, 0.5]]];
  for (const [text, key] of [
    ["", "signsNone"],
    ["{", "signsNone"],
    ["null", "signsNone"],
    ["[]", "signsNone"],
    ['{"vitviz":"signs","kinds":{}}', "signsNone"],
    [file([]), "signsNone"],
    [" ".repeat(MOST_BYTES + 1), "signsLong"],
    [file([1, 2, 3, 4, 5]), "signsTooManyKinds"],
    [file([null]), "signsUnnamed"],
    [kind([], " \u200b\n"), "signsUnnamed"],
    [kind({ length: 1 }), "signsMany"],
    [kind(Array.from({ length: 65 }, () => [stroke])), "signsMany"],
    [kind([[]]), "signsBroken"],
    [kind([[null]]), "signsBroken"],
    [kind([[[5, [[0, 0]]]]]), "signsBroken"],
    [kind([[[0.1, []]]]), "signsBroken"],
    [kind([[[0.1, [[0, 1.5]]]]]), "signsBroken"],
    [kind([[[0.1, [["0", 0]]]]]), "signsBroken"],
    [kind([[[0.1, [[0, null]]]]]), "signsBroken"],
    [kind([[[0.1, Array.from({ length: 401 }, () => [0, 0])]]]), "signsBroken"],
    [kind([Array.from({ length: 41 }, () => stroke)]), "signsBroken"],
  ]) {
    assert.throws(
      () => readFile(text),
      (error) => error instanceof SignsError && error.key === key && error.key in TEXTS.en,
      text.slice(0, 60),
    );
  }
  assert.equal(readFile(kind([[stroke]], "x".repeat(500)))[0].name, "x".repeat(20));
  assert.throws(
    () =>
      readFile(
        file([
          { name: "a", drawings: [[stroke]] },
          { name: "a ", drawings: [] },
        ]),
      ),
    { key: "signsTwice" },
  );
});
