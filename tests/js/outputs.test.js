/** The answers of models that do not choose one class: several classes, a score, values. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { truthOf } from "../../vitviz/viewer/lessons/truths.js";
import { besideEachOther } from "../../vitviz/viewer/maths/difference.js";
import { numberTexts } from "../../vitviz/viewer/maths/numbers.js";
import { resultsOf } from "../../vitviz/viewer/maths/predictions.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { answerOf, isAnswer, moved, rivalsOf } from "../../vitviz/viewer/text/answer.js";
import { predictionsFinding } from "../../vitviz/viewer/text/findings.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { appOf, fixtureOf } from "./fixture.js";

const LABELS = ["mass", "nodule", "edema", "hernia", "scar"];

/** An app with these logits, by what its outputs mean. */
function appWith(outputs, logits, language = "en") {
  const { manifest } = fixtureOf("cls");
  const labels = LABELS.slice(0, logits.length);
  const facts = { outputs, labels, groups: null, threshold: null, temperature: 1, words: {} };
  const model = { ...manifest.model, ...facts, num_classes: logits.length };
  const pass = { ...manifest.pass, ...resultsOf(Float32Array.from(logits), model), lens: [] };
  return appOf({ manifest: { ...manifest, model, pass }, language, t: translator(language) });
}

const names = (rows) => rows.map(({ name }) => name);

test("several can be true: the headline names them, and the next answers are the others", () => {
  const app = appWith("any_of", [1.04, 0.0711, -1.3, -1.7, -4]);
  assert.equal(answerOf(app)?.text, "mass 73.9%, nodule 51.8%; several can be true");
  assert.equal(predictionsFinding(app, null), answerOf(app)?.text);
  assert.deepEqual(names(rivalsOf(app)), ["edema", "hernia"]);
  assert.equal(isAnswer(app.source), true);
  const korean = appWith("any_of", [1.04, 0.0711, -1.3], "ko");
  assert.equal(answerOf(korean)?.text, "mass 73.9%, nodule 51.8%. 여러 개가 함께 참일 수 있습니다");
  const none = appWith("any_of", [-2, -1, -3]);
  assert.equal(answerOf(none)?.text, "None of 3 reaches 50%; nearest: nodule 26.9%");
  assert.equal(isAnswer(none.source), false);
});

test("after a change all classes that were or are true stand with both probabilities", () => {
  const [before, after] = [appWith("any_of", [2, 1, -1]), appWith("any_of", [-2, 1, 3])];
  assert.deepEqual(
    moved(before, after).map(({ name, text }) => name + " " + text),
    ["mass 88.1% → 11.9%", "edema 26.9% → 95.3%", "nodule 73.1% → 73.1%"],
  );
});

test("one score is an answer from a half on, and stands alone", () => {
  const [less, more] = [appWith("score", [-1.495]), appWith("score", [0.1])];
  assert.equal(answerOf(less)?.text, "“mass”, 18.3%");
  assert.match(answerOf(less)?.note ?? "", /sigmoid/);
  assert.deepEqual([isAnswer(less.source), isAnswer(more.source)], [false, true]);
  assert.deepEqual(rivalsOf(more), []);
});

test("values are told as they are, without a percent sign", () => {
  const app = appWith("value", [-1.2282, 30.5]);
  const { predictions, answer } = app.source.manifest.pass;
  assert.equal(answerOf(app)?.text, "mass \u22121.23, nodule 30.5");
  assert.deepEqual(numberTexts(predictions), ["\u22121.23", "30.5"]);
  assert.deepEqual([answer?.probability, isAnswer(app.source)], [null, false]);
  assert.deepEqual([rivalsOf(app), moved(app, app)], [[], []]);
  assert.deepEqual(besideEachOther(predictions, predictions, 1), [
    { label: "mass", first: predictions[0].logit, second: predictions[0].logit },
  ]);
  const { tables } = /** @type {any} */ (PANELS.find(({ id }) => id === "predictions")).saves(app);
  assert.deepEqual(tables.predictions.rows[1].slice(2), ["nodule", "", 30.5]);
});

test("lessons ask nothing about the one class of a model that chooses none", () => {
  const at = { token: 0, layer: 0, head: 0, partner: 0 };
  const ask = (name, outputs) =>
    truthOf(name, appWith(outputs, [1, 2, 3]).source, /** @type {any} */ (at), null);
  for (const name of ["wordShare", "answerShare", "answerKind", "lossOfWord", "sumOfClasses"]) {
    assert.notEqual(ask(name, "one_of"), undefined, name);
    for (const outputs of ["any_of", "value"]) assert.equal(ask(name, outputs), undefined, name);
  }
});

test("the code of a panel loads the model with the same meaning, and computes it", () => {
  const { code } = /** @type {any} */ (PANELS.find(({ id }) => id === "predictions"));
  const of = (outputs) => code({}, appWith(outputs, [1, 2]).source);
  assert.match(of("any_of").vitviz, /vitviz\.load\("[^"]+", outputs="any_of"\)/);
  assert.doesNotMatch(of("one_of").vitviz, /outputs=/);
  assert.match(of("one_of").torch, /softmax/);
  for (const outputs of ["any_of", "score", "value"]) assert.doesNotMatch(of(outputs).torch, /softmax/);
  for (const outputs of ["any_of", "score"]) assert.match(of(outputs).torch, /sigmoid/);
});
