/** What panels have found, in a sentence: examples worked by hand. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { holdingHalf } from "../../vitviz/viewer/maths/attention.js";
import { linesOf } from "../../vitviz/viewer/maths/marginals.js";
import { lensLines, resultsOf } from "../../vitviz/viewer/maths/predictions.js";
import { quarterOf } from "../../vitviz/viewer/maths/removal.js";
import { waveSimilarity } from "../../vitviz/viewer/maths/waves.js";
import {
  attentionFinding,
  explainFinding,
  fairFinding,
  featuresFinding,
  headsFinding,
  pairFinding,
  patchFinding,
  positionsFinding,
  predictionsFinding,
  rolloutFinding,
} from "../../vitviz/viewer/text/findings.js";
import { termsIn } from "../../vitviz/viewer/text/glossary.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { appOf } from "./fixture.js";

const grid = { rows: 2, cols: 2, prefix: 1, tokens: 5 };
const app = (language, layer = 5) =>
  appOf({
    t: translator(language),
    language,
    grid,
    taste: {},
    selection: { first: 0, layer },
    manifest: { model: { depth: 6, prefix_tokens: ["cls_token"], steps: [] } },
  });

test("a rollout is flat below three times the average, which is one in N", () => {
  const say = (values, token, language = "en", layer = 5) =>
    rolloutFinding(app(language, layer), Float32Array.from(values), token);
  // 0.3 of 5 tokens is 1.5 times 1 / 5, and 0.7 is 3.5 times.
  const [flat, peak] = [
    [0.2, 0.2, 0.3, 0.2, 0.1],
    [0.1, 0.05, 0.7, 0.1, 0.05],
  ];
  assert.equal(
    say(flat, 0),
    "Followed to the end, nothing stands out: the strongest square counts 1.5 times the average.",
  );
  assert.equal(
    say(peak, 0),
    "Followed to the end, one square stands out: row 0, col 1 counts 3.5 times the average.",
  );
  assert.match(
    say(peak, 2),
    /no other square stands out: the strongest counts 0.5 times/,
    "what a patch keeps of itself is no finding",
  );
  assert.match(
    say([0.1, 0.7, 0.1, 0.05, 0.05], 2),
    /one other square stands out: row 0, col 0 counts 3.5 times/,
  );
  assert.match(say([0.8, 0.05, 0.05, 0.05, 0.05], 0), /counts 0.3 times/, "nor is CLS, which is no square");
  assert.match(say(flat, 0, "en", 2), /^Followed this far, /);
  const alone = {
    ...app("en"),
    source: { ...app("en").source, grid: { rows: 1, cols: 1, prefix: 1, tokens: 2 } },
  };
  assert.equal(rolloutFinding(alone, Float32Array.of(0.4, 0.6), 1), "", "of one square there is no other");
  const out = app("en");
  out.source.manifest.pass = { removed: [1] };
  assert.equal(
    rolloutFinding(out, Float32Array.of(0, 0, 1, 0, 0), 2),
    "",
    "a square that is out gathers from nowhere",
  );
  assert.equal(
    say(peak, 0, "ko"),
    "끝까지 따라가 보니 한 칸이 두드러집니다. 0행 1열 칸이 평균의 3.5배입니다.",
  );
});

test("the row and the column of a place, without it, and all others", () => {
  // (2 + 3 + 4) / 3 and (5 + 6) / 2; of the middle below (4 + 6 + 2) / 3 and (1 + 3) / 2.
  assert.deepEqual(linesOf([1, 2, 3, 4, 5, 6], 2, 3, { row: 0, col: 0 }), { same: 3, rest: 5.5 });
  assert.deepEqual(linesOf([1, 2, 3, 4, 5, 6], 2, 3, { row: 1, col: 1 }), { same: 4, rest: 2 });
});

test("positions have learned rows and columns where these are more alike than the rest", () => {
  const say = (similar, token = 1, language = "en") => positionsFinding(app(language), similar, token);
  assert.match(
    say([1, 0.4, 0.6, 0.1]),
    /^Training has put .* more like it \(0.50\) than all others \(0.10\)\.$/,
  );
  assert.match(
    say([1, 0.1, 0.1, 0.1]),
    /^It has not learned .* no more like it \(0.10\) than all others \(0.10\)\.$/,
  );
  assert.match(
    say([1, 0.4, 0.6, 0.1], 1, "ko"),
    /학습을 거치며 위치에 .*담겼습니다\. .*자리\(0.50\)가 나머지\(0.10\)보다 이 자리를 더 닮았습니다\.$/,
  );
  assert.equal(say([1, 0.4, 0.6, 0.1], 0), "", "CLS has no place");
  assert.equal(say(null), "");
});

/** An app with a model that answers "cat" and its lens: logits after each block. */
const answering = ({ logits, lens = null, model = {}, language = "en", labels = ["cat", "dog", "cow"] }) => {
  const classes = {
    labels,
    groups: null,
    temperature: 1,
    calibrated: true,
    threshold: null,
    kept: 0,
    not_sure: 0.5,
    holds_its_group: 0.5,
    outputs: /** @type {const} */ ("one_of"),
    true: 0.5,
    named: 3,
    ...model,
  };
  const manifest = {
    model: { ...classes, num_classes: labels.length, trained: true, depth: lens?.length ?? 1 },
    pass: resultsOf(logits, classes),
    photo: {},
  };
  Object.assign(manifest.model, model);
  return {
    app: appOf({ t: translator(language), language, manifest }),
    lines:
      lens &&
      lensLines(
        lens.map((one) => Float32Array.from(one)),
        { outputs: "one_of", temperature: 1 },
        labels,
      ),
  };
};

test("half of what is taken: nine tenths of one square are half, even squares need half of them", () => {
  assert.deepEqual(
    [[0.9, 0.05, 0.05], [1, 1, 1, 1], [3, 2, 1, 1, 1], [0, 0], []].map(holdingHalf),
    [1, 2, 2, 0, 0],
  );
  const say = (values, token, direction = "from", language = "en") =>
    attentionFinding({ ...app(language), selection: { direction } }, Float32Array.from(values), token);
  assert.equal(
    say([0.1, 0.7, 0.1, 0.05, 0.05], 3),
    "Half of what this square takes from the picture comes from 1 of 4 squares, most from row 0, col 0.",
  );
  assert.equal(
    say([0.1, 0.7, 0.1, 0.05, 0.05], 1),
    "Half of what this square takes from the picture comes from 1 of 4 squares, most from itself.",
  );
  assert.match(
    say([0.1, 0.25, 0.2, 0.25, 0.2], 0),
    /^Nothing stands out: half of what CLS takes .* 2 of 4 squares\.$/,
  );
  const averaged = app("en"); // the answer is the mean of the squares, and CLS no more than another token
  averaged.source.manifest.model.steps = [{ name: "pooled", tokens: [1, 5] }];
  assert.match(
    attentionFinding(
      { ...averaged, selection: { direction: "from" } },
      Float32Array.from([0.1, 0.25, 0.2, 0.25, 0.2]),
      0,
    ),
    /half of what a place outside the picture takes/,
  );
  assert.equal(
    say([0.6, 0.1, 0.1, 0.1, 0.1], 1),
    "Most of what this square takes, 60.0%, comes from no square of the picture.",
  );
  // A column: it sums to 1.5, and the mean over all tokens is 1.
  assert.equal(
    say([0.1, 0.7, 0.4, 0.2, 0.1], 2, "to"),
    "Compared with an average place, this square is looked at 1.5 times as much, most by row 0, col 0.",
  );
  assert.equal(
    say([0.1, 0.7, 0.1, 0.05, 0.05], 3, "from", "ko"),
    "이 칸이 사진에서 가져오는 것의 절반은 4칸 가운데 1칸에서 옵니다. 가장 많이 가져오는 곳: 0행 0열.",
  );
  // With one of four squares out: 0.5 of 0.6 is more than half of what comes from those left.
  const cut = { ...app("en"), selection: { direction: "from" } };
  cut.source = { ...cut.source, grid, manifest: { ...cut.source.manifest, pass: { removed: [1] } } };
  const left = (token) => attentionFinding(cut, Float32Array.from([0.4, 0.5, 0, 0.05, 0.05]), token);
  assert.equal(
    left(1),
    "Half of what this square takes from the picture comes from 1 of 3 squares, most from itself.",
  );
  assert.equal(left(2), "", "it is out");
  const one = {
    ...app("en"),
    source: { grid: { rows: 1, cols: 1, prefix: 1, tokens: 2 }, manifest: {} },
    selection: { direction: "from" },
  };
  assert.equal(attentionFinding(one, Float32Array.from([0.5, 0.5]), 1), "", "one square alone");
});

test("heads are as wide as the exponential of their entropy", () => {
  const entropy = [
    [Math.log(2), Math.log(4.6)],
    [0, Math.log(3)],
  ];
  assert.equal(
    headsFinding(app("en"), { entropy }),
    "Of its 4 ways of looking the narrowest takes in about 1 of 5 places, the widest about 5.",
  );
  assert.deepEqual([headsFinding(app("en"), null), headsFinding(app("en"), { entropy: [[1]] })], ["", ""]);
});

test("a square is its numbers, from the darkest to the brightest", () => {
  assert.match(
    patchFinding(app("en"), Uint8Array.from([7, 250, 31])),
    /it gets 4 squares, and this one is 3 numbers from 7 \(dark\) to 250 \(bright\)\.$/,
  );
  assert.match(patchFinding(app("en"), Uint8Array.from([9, 9])), /this one is 2 numbers that are all 9\.$/);
  assert.equal(patchFinding(app("en"), null), "");
});

test("the square that has become most like another, unless all are", () => {
  const say = (values, token) => featuresFinding(app("en"), Float32Array.from(values), token);
  assert.equal(
    say([1, 0.9, 1, 0.2, -0.31], 2),
    "To the model this square has become most like row 0, col 0 (0.90 of 1) and least like row 1, col 1 (−0.31).",
  );
  assert.match(
    say([1, 0.9, 0.95, 0.91, 0.92], 0),
    /^Nothing stands out: .* equally like CLS, from 0.90 to 0.95 of 1\.$/,
  );
});

test("a pair says the share, and that nothing comes where the way is cut", () => {
  const say = (query, key, found) =>
    pairFinding(app("en"), { query, key }, { cut: false, share: 0.5, ...found });
  assert.equal(
    say(1, 4, {}),
    "Of all that row 0, col 0 takes, 50.0% come from row 1, col 1: 2.5 times as much as if it took the same from everywhere.",
  );
  assert.match(say(0, 0, { share: 0.1 }), /^Of all that CLS takes, 10.0% come from itself: 0.5 times/);
  assert.equal(
    say(1, 0, { cut: true }),
    "Between row 0, col 0 and CLS the way is cut: nothing comes through.",
  );
});

test("predictions say when the answer was settled, and before that is known how far it is ahead", () => {
  const say = (one, lens) => {
    const { app: of, lines } = answering(one);
    return predictionsFinding(of, lens === null ? null : lines);
  };
  const last = [3, 0, 0]; // e^3 times as likely as each of the others
  const settled = { logits: last, lens: [[5, 0, 0], [0, 2, 0], [0, 0, 1], last] };
  assert.equal(say(settled), "After 3 of its 4 steps it would still say “cow”; once 4 are done, “cat”.");
  assert.equal(say(settled, null), "“cat” is 20.1 times as likely to it as the next answer, “dog”.");
  assert.match(say({ logits: [12, 0, 0] }, null), /^“cat” is >10000 times as likely/); // 162,755 times
  assert.equal(
    say({ ...settled, lens: [[1, 0, 0], last] }),
    "After the first of its 2 steps it would already say “cat”, and after every later one.",
  );
  assert.equal(
    say({ ...settled, lens: [[0, 0, 0], last] }),
    "After 1 of its 2 steps no answer would be ahead; once 2 are done, “cat” is.",
  );
  assert.match(say({ logits: [0.1, 0, 0] }), /^The best guess is cat with 35.6%/);
  assert.match(say({ logits: last, model: { threshold: 9 } }), /^This picture scores below/);
  assert.equal(
    say({ logits: last, model: { trained: false } }),
    "Nothing was learned yet: what follows is chance.",
  );
  assert.equal(say({ logits: [] }), "");
  assert.equal(say({ logits: [2], labels: ["cat"] }), "", "there is no other answer");
  assert.match(
    say({ ...settled, language: "ko" }),
    /^4단계 가운데 3단계를 마쳤을 때의 답은 “cow”, 4단계를 마친 뒤의 답은 “cat”/,
  );
});

test("maps agree on so many of the tenth of the squares that matters most in each", () => {
  const wide = { ...app("en"), source: { grid: { rows: 4, cols: 5, prefix: 1, tokens: 21 }, manifest: {} } };
  const map = (name, ...best) => ({
    explainer: { name, names: {} },
    values: Float32Array.from({ length: 21 }, (_, at) => (best.includes(at) ? 9 : at / 100)),
  });
  const say = (...maps) => explainFinding(wide, maps);
  assert.equal(
    say(map("a", 3, 4), map("b", 4, 9)),
    "These 2 maps agree on 1 of the 2 squares that matter most to each.",
  );
  assert.equal(say(map("a", 3)), "By “a” the square that matters most is row 0, col 2.");
  assert.equal(
    say(map("a", 3), { explainer: { name: "b", names: {} }, values: new Float32Array(21) }),
    "“b” finds no square more important than another.",
  );
  assert.equal(say(), "");
});

test("a fair test is won by the largest gain, if it is no tie and chance and the middle are worse", () => {
  const maps = [
    { key: "a", name: "map a" },
    { key: "b", name: "map b" },
    { key: "centre", name: "the middle" },
  ];
  const { app: of } = answering({ logits: [3, 0, 0] });
  /** By map: gain, what is left at a quarter, random orders beaten. */
  const say = (curves, tested = maps) =>
    fairFinding(
      of,
      /** @type {any} */ ({
        target: 0,
        removed: [0, 0.26, 0.5, 1],
        orders: 20,
        maps: Object.fromEntries(
          Object.entries(curves).map(([key, [gain, left, beaten]]) => [
            key,
            { gain, beaten, first: [0.9, left, 0.1, 0] },
          ]),
        ),
      }),
      tested,
    );
  assert.match(say({ centre: [0.3, 0.57, 20] }, maps.slice(2)), /falls from 90% to 57%\.$/);
  assert.equal(quarterOf([0, 0.1, 0.2, 0.32]), 2);
  assert.equal(
    say({ a: [0.1, 0.8, 20], b: [0.4, 0.05, 20], centre: [0.3, 0.57, 20] }),
    "“map b” orders the squares best: with 26% of them out in its order “cat” falls from 90% to 5%; the middle 57%, map a 80%.",
  );
  // What is left at a quarter is lowest for map a; the whole curves say the opposite.
  assert.match(
    say({ a: [0.1, 0.01, 20], b: [0.4, 0.05, 20], centre: [0.3, 0.57, 20] }),
    /^“map b” orders the squares best: /,
  );
  assert.match(
    say({ a: [0.395, 0.01, 20], b: [0.4, 0.05, 20], centre: [0.3, 0.57, 20] }),
    /^map b, map a order the squares equally well: .* in the order of “map b” “cat” falls from 90% to 5%; map a 1%, the middle 57%\.$/,
  );
  assert.match(
    say({ a: [0.1, 0.8, 20], b: [0.4, 0.55, 20], centre: [0.395, 0.5, 20] }),
    /^No map orders the squares better than “the middle”, which knows nothing: .* from 90% to 50%; map b 55%, map a 80%\.$/,
  );
  assert.match(
    say({ a: [0.1, 0.8, 12], b: [0.2, 0.6, 18], centre: [0.15, 0.7, 13] }),
    /^Nothing here is better than chance: “map b” is better than 18 of 20 random orders\. With 26% .* in its order “cat” is at 60%; /,
  );
  assert.match(
    say({ a: [0.1, 0.8, 20], b: [0.4, 0.8961, 20], centre: [0, 0.99, 20] }),
    /in its order “cat” falls from 90\.0% to 89\.6%; /,
  );
  assert.match(
    say({ a: [0.1, 0.8, 20], b: [0.4, 0.89999, 20], centre: [0, 0.99, 20] }),
    /in its order “cat” falls from 90\.0000% to 89\.9990%; /,
  );
  assert.match(
    say({ a: [0.1, 0.99, 20], b: [0.4, 0.95, 20], centre: [0, 0.99, 20] }),
    /^Nothing here takes “cat” away: with 26% .* order of “map b” it is at 95%, and was at 90%; /,
  );
});

test("where a likeness falls in a fair test, its finding names the other picture, and cosines", () => {
  const explanations = { other: { manifest: { photo: { name: "cat.jpg" } } } };
  const result = (first) => ({
    target: null,
    removed: [0, 0.25, 1],
    orders: 20,
    maps: { a: { gain: 0.2, beaten: 20, first }, centre: { gain: 0, beaten: 10, first: [0.834, 0.5, 0] } },
  });
  const maps = [
    { key: "a", name: "map a" },
    { key: "centre", name: "the middle" },
  ];
  const say = (language, first) =>
    fairFinding(
      { t: translator(language), source: { explanations } },
      /** @type {any} */ (result(first)),
      maps,
    );
  assert.equal(
    say("en", [0.834, -0.061, 0]),
    "“map a” orders the squares best: with 25% of them out in its order the likeness to cat.jpg falls from 0.83 to −0.06; the middle 0.50.",
  );
  assert.equal(
    say("ko", [0.834, 0.41, 0]),
    "칸의 순서를 가장 잘 매긴 맵은 “map a”입니다. 그 순서로 칸의 25%를 빼면 cat.jpg와 닮은 정도가 0.83에서 0.41까지 떨어집니다. the middle 0.50.",
  );
  assert.match(
    say("en", [0.834, 0.9, 0]),
    /^Nothing here takes the likeness to cat\.jpg away: .* is at 0\.90, and was at 0\.83/,
  );
});

test("positions of the fixed formula were given and not learned", () => {
  // One wave of length 1: cos 1 along a side, twice that across, halved.
  const near = (1 + Math.cos(1)) / 2;
  assert.deepEqual(
    [...waveSimilarity(grid, { row: 0, col: 1 }, 4)].map((value) => value.toFixed(6)),
    [near, 1, Math.cos(1), near].map((value) => value.toFixed(6)),
  );
  assert.equal(waveSimilarity(grid, { row: 0, col: 0 }, 6).length, 0);
  const say = (similar, dim) =>
    positionsFinding({ ...app("en"), source: { grid, manifest: { model: { embed_dim: dim } } } }, similar, 1);
  const given = [...waveSimilarity(grid, { row: 0, col: 0 }, 8)];
  assert.match(
    say(
      given.map((value) => value + 0.001),
      8,
    ),
    /^Nobody taught it this and it did not learn it: a fixed formula/,
  );
  assert.match(say([given[0], given[1] - 0.02, ...given.slice(2)], 8), /Training has put/);
  assert.match(say(given, 16), /Training has put|has not learned/);
});

test("no word in a finding needs a card, but the name of CLS", () => {
  const plain =
    /^(attention(Half|Flat|Outside|Received)|found(Square|Outside|ToTheEnd|SoFar)|headsWidth|patchFound|features(Unlike|Alike)|pairFound|predictions|explain(One|Even|Agree)$|fair(Best|Stays|Middle|Chance)|rollout(Flat|Peak)|positions(Given|Learned|Unlearned))/;
  for (const [language, texts] of Object.entries(STRINGS)) {
    const findings = Object.entries(texts).filter(([key]) => plain.test(key));
    assert.ok(findings.length > 30, language + ": " + findings.length);
    for (const [key, text] of findings)
      assert.deepEqual(
        termsIn(text.replace(/\{\w+\}/g, "0"), language),
        [],
        language + " " + key + ": " + text,
      );
  }
});
