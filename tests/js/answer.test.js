/** The answer of a model as a phrase: a picture of none of the classes is told as such. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { cosineDistance } from "../../vitviz/viewer/maths/difference.js";
import { percents } from "../../vitviz/viewer/maths/numbers.js";
import {
  answerOf,
  isAnswer,
  likenessOf,
  movedText,
  partSeen,
  rivalsOf,
} from "../../vitviz/viewer/text/answer.js";
import { knownTexts, othersRows, photographsNote } from "../../vitviz/viewer/text/novelty.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { appOf, fixtureOf, withFacts } from "./fixture.js";

const manifestOf = (name) => fixtureOf(name).manifest;

function told(manifest, language = "en") {
  return answerOf(appOf({ manifest, language, t: translator(language) }));
}

test("a picture that scores below the threshold is told as one of none of the classes", () => {
  const manifest = manifestOf("no_cls");
  assert.equal(manifest.pass.known_or_not.known, false);
  const { text, note, why, line } = told(manifest);
  assert.equal(text, "Not one of my " + manifest.model.num_classes + " things");
  assert.match(note, /^if it had to choose: class \d$/);
  assert.equal(line, text + "; " + note);
  assert.match(why, /below the model's threshold/);
  const korean = told(manifest, "ko");
  assert.match(korean.line, /^배운 \d가지에 없는 것입니다. 굳이 고르자면: class \d$/);
  for (const said of [text, note, why, line, ...Object.values(korean)]) assert.doesNotMatch(said, /%/);
  const many = told({ ...manifest, model: { ...manifest.model, num_classes: 1000 } });
  assert.equal(many.text, "Not one of my 1,000 things");
});

test("an answer below the bound of its model is a maybe, without quotes, and the reason stands beside it", () => {
  const manifest = manifestOf("cls");
  const answer = { ...manifest.pass.answer, level: "maybe", probability: 0.62, name: "class 2" };
  const maybe = withFacts({ ...manifest, model: { ...manifest.model, certain: 0.94 } }, { pass: { answer } });
  assert.deepEqual(told(maybe), {
    text: "Maybe class 2, 62.0%",
    note: "Below 94.0% such an answer is wrong too often to be told plainly.",
    line: "Maybe class 2, 62.0%",
  });
  assert.equal(told(maybe, "ko").text, "어쩌면 class 2, 62.0%");
  assert.equal(isAnswer(appOf({ manifest: maybe }).source), true);
});

test("it is told before that the model is not sure, and never of random weights", () => {
  const manifest = manifestOf("no_cls");
  const unsure = withFacts(manifest, { pass: { answer: { ...manifest.pass.answer, sure: false } } });
  assert.equal(told(unsure).text, told(manifest).text);
  const untrained = { ...manifest, model: { ...manifest.model, trained: false } };
  assert.equal(told(untrained).text, "No answer yet");
});

test("a known picture, and any picture in a model that cannot tell, has its answer", () => {
  for (const [name, known] of [
    ["cls", true],
    ["distilled", null],
  ]) {
    const manifest = manifestOf(name);
    assert.equal(manifest.pass.answer.known, known);
    assert.equal(told(manifest).line, told(manifest).text);
    assert.doesNotMatch(told(manifest).text, /Not one/);
  }
  assert.doesNotMatch(
    told(
      withFacts(manifestOf("cls"), {
        pass: { answer: { ...manifestOf("cls").pass.answer, known: undefined } },
      }),
    ).text,
    /Not one/,
    "from an older page",
  );
});

test("score, threshold and figures are those of Python", () => {
  const manifest = manifestOf("no_cls");
  const {
    known_or_not: { score, threshold, kept },
  } = manifest.pass;
  assert.deepEqual([threshold, kept], [50, 0.95]);
  const texts = (language) => knownTexts(appOf({ manifest, t: translator(language) }));
  assert.equal(
    texts("en").verdict,
    "Score " + score.toFixed(2) + ", threshold 50.00: this picture counts as none of its classes.",
  );
  const about = texts("en").about.join(" ");
  assert.match(about, /keep at least 95% of the pictures/);
  assert.match(about, /Of 1,500 pictures of 3 kinds of things .* catches 33.0% and lets 67.0% through/);
  assert.match(
    texts("ko").about.join(" "),
    /3가지의 그림 1,500장 가운데 33.0%를 거절하고 67.0%는 잘못 받아들입니다/,
  );
  const known = manifestOf("cls");
  const told = knownTexts(appOf({ manifest: known, t: translator("en") }));
  assert.match(told.verdict, /counts as one of its classes/);
  assert.doesNotMatch(told.about.join(" "), /catches/, "nothing was measured of it");
  assert.equal(knownTexts(appOf({ manifest: manifestOf("distilled"), t: translator("en") })), null);
});

test("the threshold of a taught head is one of its largest probability", () => {
  const manifest = withFacts(manifestOf("cls"), { model: { known_by: "largest probability" } });
  const said = (manifest, language) =>
    knownTexts(appOf({ manifest, t: translator(language) })).about.join(" ");
  assert.match(said(manifest, "en"), /The score is the largest of the probabilities/);
  assert.match(said(manifest, "ko"), /확률 가운데 가장 큰 값/);
  assert.match(said(manifestOf("cls"), "en"), /log-sum-exp/);
});

test("score and threshold have as many decimals as tell them apart", () => {
  const manifest = withFacts(manifestOf("cls"), {
    pass: { known_or_not: { score: -1.23446, threshold: -1.23431, known: false, kept: 0.95 } },
  });
  const { verdict } = knownTexts(appOf({ manifest, t: translator("en") }));
  assert.match(verdict, /^Score \u22121.2345, threshold \u22121.2343:/);
});

test("the table of what it refuses has the figures that were measured, beside chance", () => {
  const { others } = manifestOf("no_cls").model.measurements;
  const rows = othersRows({ others }, translator("en"));
  assert.deepEqual(
    rows.map(({ share }) => Number(share.toFixed(4))),
    [0.82, 0.31, 0.948, 0.33, 0.67],
  );
  assert.deepEqual(
    rows.slice(0, 2).map(({ note }) => note),
    ["by chance 50.0%", "by chance 5.0%"],
  );
  assert.equal(rows[1].name, "refused, where 95% of its own are kept");
  const { auroc, refused, kept } = others;
  assert.equal(
    othersRows({ others: { auroc, refused, kept } }, translator("en")).length,
    2,
    "a model without a threshold",
  );
  const { tables } = PANELS.find(({ id }) => id === "model").saves(appOf({ manifest: manifestOf("no_cls") }));
  assert.deepEqual(Object.fromEntries(tables.others.rows), others);
  assert.deepEqual(
    tables.measured.rows.map(([name]) => name),
    ["top1"],
  );
});

test("how often plain answers are right stands in the table, with its standard error", () => {
  const photographs = {
    plain_right: 0.758,
    plain_right_error: 0.046,
    plain_kept: 0.667,
    plain_kept_error: 0.075,
  };
  assert.deepEqual(
    othersRows({ photographs }, translator("en")).map(({ share, note }) => [share, note]),
    [
      [0.758, "standard error 4.6%"],
      [0.667, "standard error 7.5%"],
    ],
  );
});

test("what was measured on photographs stands beside it, with what it is worth", () => {
  const without = manifestOf("no_cls");
  const photographs = {
    known: 52,
    strangers: 1263,
    kept: 0.981,
    refused: 0.205,
    auroc: 0.74,
    left_out: 0.962,
  };
  const manifest = {
    ...without,
    model: { ...without.model, measurements: { ...without.model.measurements, photographs } },
  };
  const plain = knownTexts(appOf({ manifest: without, t: translator("en") })).about;
  const { about } = knownTexts(appOf({ manifest, t: translator("en") }));
  assert.equal(about.length, plain.length + 1);
  assert.match(
    about.join(" "),
    /Of 52 large photographs of its classes it keeps 98.1%, of 1,263 of other things it refuses 20.5%/,
  );
  const rows = othersRows(manifest.model.measurements, translator("en"));
  assert.deepEqual(
    rows.slice(5).map(({ name, share }) => [name, share]),
    [
      ["photographs of its classes, kept", 0.981],
      ["photographs of other things, refused", 0.205],
    ],
  );
  assert.match(
    photographsNote(photographs, translator("en")),
    /52 of its classes.* would keep 96.2%.* 1,263 of other/,
  );
  assert.match(photographsNote(photographs, translator("ko")), /52장.*96.2%.*1,263장/);
  assert.equal(photographsNote(undefined, translator("en")), "");
  const { tables } = PANELS.find(({ id }) => id === "model").saves(appOf({ manifest }));
  assert.deepEqual(Object.fromEntries(tables.photographs.rows), photographs);
  assert.deepEqual(
    tables.measured.rows.map(([name]) => name),
    ["top1"],
  );
});

test("the rivals of a class are classes, those of a group are groups, and random weights have none", () => {
  const manifest = {
    photo: {},
    model: { trained: true, words: {} },
    pass: {
      answer: { kind: "class" },
      predictions: ["a", "b", "c", "d"].map((label, at) => ({ label, probability: 0.4 - at / 10 })),
      groups: ["x", "y", "z"].map((name, at) => ({ name, probability: 0.5 - at / 10 })),
    },
  };
  const of = (changed) => rivalsOf(appOf({ manifest: withFacts(manifest, changed), language: "en" }));
  assert.deepEqual(
    of({}).map(({ name }) => name),
    ["b", "c"],
  );
  assert.deepEqual(
    of({ pass: { answer: { kind: "group" } } }).map(({ name }) => name),
    ["y", "z"],
  );
  assert.deepEqual(of({ model: { trained: false } }), []);
  assert.deepEqual(
    of({ pass: { answer: { kind: "class", known: false } } }),
    [],
    "a refusal has no percentages",
  );
  assert.deepEqual(of({ pass: { answer: null } }), []);
});

test("a probability beside the answer is written as in the list of all", () => {
  const predictions = [0.9988, 0.0009, 0.00021].map((probability, at) => ({ label: "abc"[at], probability }));
  const app = (more) =>
    appOf({
      manifest: {
        photo: {},
        model: { trained: true, words: {} },
        pass: {
          answer: { kind: "class", name: "a", probability: predictions[0].probability },
          predictions,
          groups: [],
          ...more,
        },
      },
      language: "en",
      t: translator("en"),
    });
  assert.deepEqual(
    rivalsOf(app({})).map(({ text }) => text),
    percents(predictions.map(({ probability }) => probability)).slice(1),
  );
  assert.deepEqual(
    rivalsOf(app({})).map(({ text }) => text),
    ["0.1%", "<\u00a00.1%"],
  );
  assert.match(
    answerOf(app({ answer: { kind: "class", name: "a", probability: 0.0012 } })).text,
    / 0\.12%/,
    "one of a thousand that are nearly alike",
  );
});

test("how much of the photo the model saw is told where more than 15 % was cut away", () => {
  const told = (frame, language = "en") =>
    partSeen(/** @type {any} */ ({ t: translator(language), source: { manifest: { photo: { frame } } } }));
  assert.equal(told([0, 0.125, 1, 0.75]), "saw the middle 75% of the photo"); // the square in 4 : 3
  assert.equal(told([0, 0.125, 1, 0.75], "ko"), "사진의 가운데 75%만 보았습니다");
  assert.equal(told([0.05, 0.05, 0.9, 0.9]), "saw the middle 81% of the photo");
  assert.equal(told([0.05, 0, 0.9, 1]), "");
  assert.equal(told([0, 0.4995, 1, 0.001]), "saw the middle 1% of the photo");
  assert.equal(told([0, 0, 1, 1]), "");
  assert.equal(told(null), "", "nobody knows");
});

test("a model without classes says how far its vector has moved", () => {
  // 1 - 24 / 25
  assert.ok(Math.abs(cosineDistance(Float32Array.of(3, 4), Float32Array.of(4, 3)) - 0.04) < 1e-6);
  assert.equal(cosineDistance(Float32Array.of(1, 0), Float32Array.of(0, 2)), 1);
  assert.equal(cosineDistance(Float32Array.of(1, 0), Float32Array.of(0, 0)), 1, "it was NaN");
  const manifest = manifestOf("registers");
  assert.equal(manifest.model.head, "none");
  const sides = (model, ...vectors) =>
    vectors.map((vector) => appOf({ manifest: withFacts(manifest, { model, pass: { vector } }) }));
  const said = (language, model, ...vectors) => {
    const [before, after] = sides(model, ...vectors);
    return movedText({ ...before, t: translator(language) }, after);
  };
  const [before, after] = [Float32Array.of(3, 4), Float32Array.of(4, 3)];
  assert.equal(said("en", { pool: "token" }, before, after), "CLS moved by 0.0400");
  assert.equal(said("en", { pool: "avg" }, before, after), "the vector of the picture moved by 0.0400");
  assert.equal(
    said("en", { head: "embedding", pool: "token" }, before, after),
    "the vector of the picture moved by 0.0400",
  );
  assert.equal(said("ko", { pool: "token" }, before, after), "CLS가 0.0400만큼 움직였습니다");
  assert.equal(said("en", {}, null, null), "", "a model that names classes");
  const liked = { manifest: { photo: { name: "cat.jpg" }, pass: { vector: after } } };
  const like = (language, other, ...vectors) => {
    const [mine, changed] = sides({}, ...vectors);
    mine.source.explanations = { liked: other };
    return likenessOf({ ...mine, t: translator(language) }, changed)?.line;
  };
  assert.equal(like("en", null, before, after), undefined);
  assert.equal(like("en", liked, before, after), "Likeness to cat.jpg: 0.96 → 1.00");
  assert.equal(like("ko", liked, before, after), "그림 cat.jpg와 닮은 정도: 0.96 → 1.00");
  assert.equal(like("en", liked, before, null), "Likeness to cat.jpg: 0.96 → …", "it is on its way");
});
