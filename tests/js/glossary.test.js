/** The glossary: two sentences for each technical term, in every language, wherever the viewer uses it. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { TERMS, cardOf, termsIn } from "../../vitviz/viewer/text/glossary.js";
import { GLOSSARY, STRINGS } from "../../vitviz/viewer/text/strings.js";

/** Technical words, which no text may use without a card; a text that needs another one adds it here. */
const TECHNICAL = (
  "token CLS register prefix-token patch layer block head attention even-share uniform-attention query key softmax " +
  "rollout residual embedding position-embedding cosine norms PCA variance median entropy logit logit-lens classifier calibrated " +
  "calibration temperature rank epoch weights parameters filter channel convolution half-precision Vision-Transformer"
)
  .split(" ")
  .map((word) => word.replaceAll("-", " "));

/** Texts that speak of keys of the keyboard, or of heads of dots. */
const KEYBOARD = /^(key_|help|stageLabel|matrixLabel|dotsLabel|hint|copyLink)/;

test("every term has a name, forms and two sentences in every language", () => {
  assert.ok(TERMS.length >= 35);
  for (const [language, texts] of Object.entries(GLOSSARY)) {
    assert.deepEqual(Object.keys(texts), Object.keys(GLOSSARY.en), language);
    for (const id of TERMS) {
      const { name, text } = cardOf(id, language);
      assert.ok(name.length > 0 && texts[id + "_forms"].length > 0, id);
      assert.equal(
        text.split(/[.](?=\s|$)/).length - 1,
        2,
        language + " " + id + ": two sentences, not " + text,
      );
      assert.ok(text.length < 260, id);
    }
    const forms = TERMS.flatMap((id) => texts[id + "_forms"].toLowerCase().split("|"));
    assert.equal(new Set(forms).size, forms.length, "one card for each form");
  }
});

test("no text uses a technical word that has no card", () => {
  for (const [key, text] of Object.entries(STRINGS.en)) {
    if (KEYBOARD.test(key)) continue;
    for (const word of TECHNICAL) {
      for (const { index } of text.matchAll(
        new RegExp("(?<![\\w{_.])" + word + "(?:e?s)?(?![\\w}_.])", "gi"),
      )) {
        const found = termsIn(text, "en").some(({ start, end }) => start <= index && index < end);
        assert.ok(found, key + " says " + word + ", which no card explains: " + text);
      }
    }
  }
});

test("every card can be reached: its term stands in a text of the viewer, in every language", () => {
  for (const [language, texts] of Object.entries(STRINGS)) {
    const reached = new Set(
      Object.entries(texts)
        .filter(([key]) => !KEYBOARD.test(key))
        .flatMap(([, text]) => termsIn(text, language).map(({ id }) => id)),
    );
    reached.add("cls"); // the names of prefix tokens are in no dictionary
    assert.deepEqual(
      TERMS.filter((id) => !reached.has(id)),
      [],
      language,
    );
  }
});

test("terms are whole words, the longest first", () => {
  const of = (text, language = "en") =>
    termsIn(text, language).map(({ id, start, end }) => [id, text.slice(start, end)]);
  assert.deepEqual(of("Tokens and the logit lens: a logit of a header"), [
    ["token", "Tokens"],
    ["logit_lens", "logit lens"],
    ["logit", "logit"],
  ]);
  assert.deepEqual(of("multihead heads"), [["head", "heads"]]);
  assert.deepEqual(of("토큰을 보는 헤드와 키를, 키위가", "ko"), [
    ["token", "토큰"],
    ["head", "헤드"],
    ["key", "키"],
  ]);
  assert.deepEqual(of("토큰 token", "ko-KR"), [["token", "토큰"]]);
  assert.deepEqual(of("a token", "fr"), [["token", "token"]]);
  assert.equal(cardOf("token", "fr").name, "token");
});

test("terms with one sign between them, and after signs of two units, are found each", () => {
  const of = (text) => termsIn(text, "en").map(({ start, end }) => text.slice(start, end));
  assert.deepEqual(of("token/head token"), ["token", "head", "token"]);
  assert.deepEqual(of("(token)head"), ["token", "head"]);
  assert.deepEqual(of("\u{1f600}token"), ["token"]);
  assert.deepEqual(of("token token token"), ["token", "token", "token"]);
  assert.deepEqual(of("1token _token \u00e9token"), []);
});

test("no pattern of the viewer looks behind: Safari before 16.4 refuses the whole of it", () => {
  const folder = new URL("../../vitviz/viewer/", import.meta.url);
  const files = readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith(".js"));
  assert.ok(files.length > 100);
  for (const file of files)
    assert.doesNotMatch(readFileSync(new URL(String(file), folder), "utf8"), /\(\?<[=!]/, String(file));
});
