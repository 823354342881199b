/** The answer of a model as a phrase: a picture of none of the classes is told as such. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { answerOf } from "../../vitviz/viewer/text/answer.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { FIXTURES, appOf } from "./fixture.js";

const manifestOf = (name) => FIXTURES.find((one) => one.name === name).manifest;

function told(manifest, language = "en") {
  return answerOf(appOf({ manifest, language, t: translator(language) }));
}

/** Python writes no space before the percent sign. */
const unspaced = (text) => text.replace(/\s%/g, "%");

test("a picture that scores below the threshold is told as Python tells it", () => {
  const manifest = manifestOf("no_cls");
  assert.equal(manifest.known_or_not.known, false);
  assert.equal(unspaced(told(manifest).text), manifest.known_or_not.sentence);
  assert.match(told(manifest).text, /^Nothing I was taught; nearest: class \d, [\d.]+\s%$/);
  assert.match(told(manifest, "ko").text, /^배운 것이 아닙니다. 가장 가까운 것: class \d, [\d.]+\s%$/);
  assert.notEqual(told(manifest).note, "");
});

test("it is told before that the model is not sure, and never of random weights", () => {
  const manifest = manifestOf("no_cls");
  const unsure = { ...manifest, answer: { ...manifest.answer, sure: false } };
  assert.equal(told(unsure).text, told(manifest).text);
  const untrained = { ...manifest, model: { ...manifest.model, trained: false } };
  assert.equal(told(untrained).text, "No answer yet");
});

test("a known picture, and any picture in a model that cannot tell, has its answer", () => {
  for (const [name, known] of [["cls", true], ["distilled", null]]) {
    const manifest = manifestOf(name);
    assert.equal(manifest.answer.known, known);
    assert.equal(manifest.known_or_not?.sentence ?? null, null);
    assert.doesNotMatch(told(manifest).text, /nearest/);
  }
  assert.doesNotMatch(told({ ...manifestOf("cls"), answer: { ...manifestOf("cls").answer, known: undefined } }).text, /nearest/, "from an older page");
});
