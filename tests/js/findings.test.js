/** What panels have found, in a sentence: examples worked by hand. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { linesOf } from "../../vitviz/viewer/maths/marginals.js";
import { positionsFinding, rolloutFinding } from "../../vitviz/viewer/text/findings.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { appOf } from "./fixture.js";

const grid = { rows: 2, cols: 2, prefix: 1, tokens: 5 };
const app = (language, layer = 5) => appOf({ t: translator(language), language, grid, taste: {}, selection: { first: 0, layer }, manifest: { model: { depth: 6 } } });

test("a rollout is flat below three times the average, which is one in N", () => {
  const say = (values, token, language = "en", layer = 5) => rolloutFinding(app(language, layer), Float32Array.from(values), token);
  // 0.3 of 5 tokens is 1.5 times 1 / 5, and 0.7 is 3.5 times.
  const [flat, peak] = [[0.2, 0.2, 0.3, 0.2, 0.1], [0.1, 0.05, 0.7, 0.1, 0.05]];
  assert.equal(say(flat, 0), "Followed to the end, nothing stands out: the strongest square counts 1.5 times the average.");
  assert.equal(say(peak, 0), "Followed to the end, one square stands out: row 0, col 1 counts 3.5 times the average.");
  assert.match(say(peak, 2), /no other square stands out: the strongest counts 0.5 times/, "what a patch keeps of itself is no finding");
  assert.match(say([0.1, 0.7, 0.1, 0.05, 0.05], 2), /one other square stands out: row 0, col 0 counts 3.5 times/);
  assert.match(say([0.8, 0.05, 0.05, 0.05, 0.05], 0), /counts 0.3 times/, "nor is CLS, which is no square");
  assert.match(say(flat, 0, "en", 2), /^Followed this far, /);
  assert.equal(say(peak, 0, "ko"), "끝까지 따라가 보니 한 칸이 두드러집니다. 0행 1열 칸이 평균의 3.5배입니다.");
});

test("the row and the column of a place, without it, and all others", () => {
  // (2 + 3 + 4) / 3 and (5 + 6) / 2; of the middle below (4 + 6 + 2) / 3 and (1 + 3) / 2.
  assert.deepEqual(linesOf([1, 2, 3, 4, 5, 6], 2, 3, { row: 0, col: 0 }), { same: 3, rest: 5.5 });
  assert.deepEqual(linesOf([1, 2, 3, 4, 5, 6], 2, 3, { row: 1, col: 1 }), { same: 4, rest: 2 });
});

test("positions have learned rows and columns where these are more alike than the rest", () => {
  const say = (similar, token = 1, language = "en") => positionsFinding(app(language), similar, token);
  assert.match(say([1, 0.4, 0.6, 0.1]), /^Nobody told it .* more like it \(0.50\) than all others \(0.10\)\.$/);
  assert.match(say([1, 0.1, 0.1, 0.1]), /^It has not learned .* no more like it \(0.10\) than all others \(0.10\)\.$/);
  assert.match(say([1, 0.4, 0.6, 0.1], 1, "ko"), /스스로 배웠습니다\. .*자리\(0.50\)가 나머지\(0.10\)보다 이 자리를 더 닮았습니다\.$/);
  assert.equal(say([1, 0.4, 0.6, 0.1], 0), "", "CLS has no place");
  assert.equal(say(null), "");
});
