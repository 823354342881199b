/** All languages have the same texts, and numbers are formatted correctly. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import {
  digits,
  exactly,
  grouped,
  inGroups,
  multiple,
  percent,
  percents,
  plain,
  shapeText,
  signed,
} from "../../vitviz/viewer/maths/numbers.js";
import { languageOf } from "../../vitviz/viewer/text/language.js";
import { granted, reasonOf } from "../../vitviz/viewer/text/refusal.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { filled, literal } from "../../vitviz/viewer/text/python.js";
import { FIXTURES, appOf } from "./fixture.js";
import {
  groupName,
  labelName,
  prefixLabel,
  stepName,
  tokenName,
  translated,
  translator,
} from "../../vitviz/viewer/text/words.js";

const VIEWER = new URL("../../vitviz/viewer/", import.meta.url);

test("every text is used, and every text that is used is there", () => {
  const files = readdirSync(VIEWER, { recursive: true }).filter((name) => name.endsWith(".js"));
  const source = files.map((name) => readFileSync(new URL(name, VIEWER), "utf8")).join("\n");
  for (const key of Object.keys(STRINGS.en)) {
    // lessons.test.js, check.test.js, experiment.test.js
    if (/^(lesson|check|experiment)\./.test(key)) continue;
    const [stem, first, base] = [/_[^_]*$/, /_.*$/, /_name$/].map((end, at) =>
      key.replace(end, at < 2 ? "_" : ""),
    );
    const used = [key, stem, first, base].some((text) => source.includes('"' + text + '"'));
    assert.ok(used, key + " is never used");
  }
  for (const [, key] of source.matchAll(/\bt\("(\w+)"/g)) {
    assert.ok(key.endsWith("_") || key in STRINGS.en, key + " is in no dictionary");
  }
});

test("a language is chosen by its tag, and a missing text is an error", () => {
  assert.equal(translator("ko-KR")("mean"), "평균");
  assert.equal(translator("fr")("mean"), "mean");
  assert.equal(translator("en")("patchShort", { row: 0, col: 3 }), "row 0, col 3");
  assert.throws(() => translator("en")("nothing"), /no text named nothing/);
});

test("Korean is Korean in any spelling of its tag, and no other language is", () => {
  for (const tag of ["ko", "ko-KR", "KO", "ko_KR", "ko-Hang-KR", " ko "])
    assert.equal(languageOf(tag), "ko", tag);
  for (const tag of ["kok", "kok-IN", "kos", "en", "EN_us", "en-KO", "fr", "", null, undefined, 5, {}]) {
    assert.equal(languageOf(tag), "en", String(tag));
  }
  assert.equal(translator("kok-IN")("mean"), "mean");
  assert.equal(
    translated(
      "a",
      appOf({ manifest: { model: { words: { ko: { texts: { a: "가" } } } }, photo: {} }, language: "kok" }),
    ),
    "a",
  );
});

test("a refusal is told in the language of the page, whenever it is read", () => {
  const refused = (reply) => {
    try {
      granted(reply);
    } catch (error) {
      return ["en", "ko-KR", "kok"].map((language) => reasonOf(error, language));
    }
    return null;
  };
  assert.deepEqual(refused({ error: "Busy.", errors: { ko: "바쁩니다." } }), ["Busy.", "바쁩니다.", "Busy."]);
  assert.deepEqual(refused({ error: "Busy." }), ["Busy.", "Busy.", "Busy."]);
  assert.deepEqual(refused(undefined), [STRINGS.en.noReply, STRINGS.ko.noReply, STRINGS.en.noReply]);
  assert.equal(refused({ values: [] }), null);
  assert.equal(reasonOf(new Error("2 values"), "ko"), "2 values");
});

test("every step of every model has a name in both languages", () => {
  for (const { manifest } of FIXTURES) {
    for (const { name } of manifest.model.steps) {
      assert.equal(stepName(name, translator("en")), name);
      assert.notEqual(stepName(name, translator("ko")), name, name);
    }
  }
  assert.equal(stepName("a new step", translator("ko")), "a new step");
});

test("words that came with an analysis are read in those languages that it brought", () => {
  const manifest = {
    model: { words: { ko: { texts: { "Handwritten digits": "손글씨 숫자" } } } },
    photo: { words: { ko: { "a note": "메모" } } },
  };
  assert.equal(
    translated("a note", appOf({ manifest, language: "ko" })),
    "메모",
    "what was noted about the photo",
  );
  assert.equal(translated("Handwritten digits", appOf({ manifest, language: "ko-KR" })), "손글씨 숫자");
  assert.equal(translated("Handwritten digits", appOf({ manifest, language: "en" })), "Handwritten digits");
  assert.equal(translated("constructor", appOf({ manifest, language: "ko" })), "constructor");
  assert.equal(
    translated("x", appOf({ manifest: { model: {}, photo: {} }, language: "ko" })),
    "x",
    "from an older page",
  );
});

test("classes and groups have the names that the checkpoint brought, and strangers keep theirs", () => {
  const words = {
    en: { groups: { dog: "a dog" } },
    ko: { labels: { dog: "개라는 클래스" }, groups: { dog: "개" } },
  };
  const names = (language, known = words) =>
    ["dog", "constructor", "<b>new</b>"].flatMap((name) =>
      [labelName, groupName].map((told) =>
        told(name, appOf({ language, manifest: { model: { words: known }, photo: {} } })),
      ),
    );
  const rest = ["constructor", "constructor", "<b>new</b>", "<b>new</b>"];
  assert.deepEqual(names("ko-KR"), ["개라는 클래스", "개", ...rest]);
  assert.deepEqual(names("en"), ["dog", "a dog", ...rest]);
  assert.deepEqual(names("kok"), ["dog", "a dog", ...rest]);
  assert.deepEqual(names("ko", { en: words.en }), ["dog", "a dog", ...rest], "what Korean lacks is English");
  assert.deepEqual(names("ko", {}), ["dog", "dog", ...rest], "from an older page");
});

test("names of tokens", () => {
  assert.deepEqual(["cls_token", "dist_token", "reg_token 3"].map(prefixLabel), ["CLS", "DIST", "REG 3"]);
  const app = appOf({
    t: translator("en"),
    manifest: { model: { prefix_tokens: ["cls_token"] } },
    grid: { prefix: 1, cols: 3 },
  });
  assert.deepEqual(
    [0, 1, 5].map((token) => tokenName(token, app)),
    ["CLS", "row 0, col 0", "row 1, col 1"],
  );
});

test("shares in one column have as many decimals as each other", () => {
  const of = (...shares) => percents(shares).map((text) => text.replace("%", ""));
  assert.deepEqual(of(0.97, 0.001, 0.00091, 0.0004, 0), ["97.0", "0.1", "0.1", "<\u00a00.1", "0.0"]);
  assert.deepEqual(of(0.0013, 0.001, 0.00091, 0.00003), ["0.13", "0.10", "0.09", "<\u00a00.01"]);
  assert.deepEqual(of(0.012, 0.0096), ["1.2", "1.0"]);
  assert.deepEqual(of(1e-9), ["<\u00a00.000001"]);
  assert.deepEqual(of(1, 0), ["100.0", "0.0"]);
  assert.deepEqual(of(0.99995, 0.00005), [">\u00a099.9", "<\u00a00.1"]);
  assert.deepEqual(of(0, 0), ["0.0", "0.0"]);
  assert.deepEqual(of(), []);
});

test("a sum that is done again with the printed numbers comes out as printed", () => {
  const read = (text) => Number(text.replace("\u2212", "-"));
  assert.deepEqual([10.882, 0.176777, -1.92371, 12345.6, 0.999996, 0.0000123456, 1000].map(exactly), [
    "10.882",
    "0.17678",
    "\u22121.9237",
    "12346",
    "1.0000",
    "1.235e-5",
    "1000.0",
  ]);
  for (let at = 1; at < 400; at++) {
    const [sum, scale] = [(at * 7.1234567) % 40, 1 / Math.sqrt((at % 128) + 1)];
    const printed = exactly(sum * scale);
    const again = read(exactly(sum)) * read(exactly(scale));
    assert.ok(Math.abs(again - read(printed)) <= 1.6e-4 * Math.abs(again), printed + " is not " + again);
  }
  assert.deepEqual(
    [18.93412, 1e7].map((value) => plain(value, 5)),
    ["18.934", "1.0000e7"],
  );
  assert.deepEqual(
    [999999, 1e6].map((value) => plain(value)),
    ["999999", "1.00e6"],
  );
});

test("numbers in words", () => {
  assert.deepEqual([0.02134, 1.2, 0.000123, 0.00001234, 0, 57.12, -0.5, 0.99959, -9.999, 99.97].map(digits), [
    "0.0213",
    "1.20",
    "0.00012",
    "1.2e-5",
    "0",
    "57.1",
    "\u22120.500",
    "1.00",
    "\u221210.0",
    "100",
  ]);
  assert.deepEqual([4.23, 0.31, 57.12, 123.4, 0.0951, 0.012, 0.00031, 0].map(multiple), [
    "4.2",
    "0.3",
    "57.1",
    "123",
    "0.1",
    "0.01",
    "0.0003",
    "0.0",
  ]);
  assert.deepEqual([0.1234, 1, 0.9998, 0.9999999, 0, 0.00085, 0.000002, 1e-9].map(percent), [
    "12.3%",
    "100.0%",
    ">\u00a099.9%",
    "100.0%",
    "0.0%",
    "0.085%",
    "0.0002%",
    "<\u00a00.0001%",
  ]);
  assert.deepEqual(
    [1, -1, -0.001].map((value) => signed(value)),
    ["\u20071.00", "\u22121.00", "\u20070.00"],
  );
  assert.equal(grouped(86567656), "86,567,656");
  assert.equal(inGroups("2442240"), "2,442,240");
  assert.equal(inGroups("그림 50000장과 5000장, 2026년"), "그림 50,000장과 5,000장, 2026년");
  assert.equal(
    inGroups("photos: 50000 training and 5000 test pictures (12720 of 2020), 160 min"),
    "photos: 50,000 training and 5,000 test pictures (12,720 of 2020), 160 min",
  );
  for (const stays of ["70800c035d4a", "2026-11-22", "2.15.0", "0.12345", "seed12345", "999"])
    assert.equal(inGroups(stays), stays);
  assert.equal(shapeText([1, 197, 768]), "(1, 197, 768)");
});

test("a name from outside is one text in Python, and everything in it can be seen", () => {
  const read = (text) =>
    JSON.parse(
      literal(text).replace(/\\U([0-9a-f]{8})/g, (_, code) => String.fromCodePoint(parseInt(code, 16))),
    );
  for (const name of [
    "dog.jpg",
    "",
    'a "b" \\ c',
    "강아지 \u00e9 \u{1f600}",
    "x\u202ey\u2028z\n\r\t\0",
    "\u{e0001}",
    "\ud800",
  ]) {
    assert.equal(read(name), name);
    assert.match(literal(name), /^"([\p{L}\p{M}\p{N}\p{P}\p{S} ])*"$/u);
  }
  assert.equal(literal("x\u202e\n\u{e0001}"), '"x\\u202e\\u000a\\U000e0001"');
});

test("the cells of a snippet stand below those that they need, with the values of the page", () => {
  const source = `"""A file."""

# %% a
import x

a = x.load("b")

# %% b (needs a)
layer, head = 2, 0
one, head = a
layer = 3 + layer


# %% c (needs a, b)
import y

if one:
    token = 5
shown = y(a, layer, head)
`;
  const start = '\n\na = "$& # %% b"\n\nlayer, head = 1, None\none, head = a\nlayer = 1\n';
  const values = { a: '"$& # %% b"', layer: "1", head: "None", token: "7" };
  assert.equal(filled(source, ["b"], values), "import x" + start);
  assert.equal(
    filled(source, ["c", "b"], values),
    "import x\nimport y" + start + "\nif one:\n    token = 5\nshown = y(a, layer, head)\n",
  );
  assert.equal(filled(source, ["b", "d"], values), null);
});
