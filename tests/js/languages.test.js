/** A language is a folder of dictionaries: adding a folder adds a language. */

import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

import { languageName, nextLanguage } from "../../vitviz/viewer/text/language.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";

const HOUSE = new URL("../../vitviz/", import.meta.url);

const copy = mkdtempSync(join(tmpdir(), "vitviz-languages-"));
after(() => rmSync(copy, { recursive: true }));
for (const part of ["viewer", "languages/en", "languages/ko"])
  cpSync(new URL(part, HOUSE), join(copy, part), { recursive: true });

/** Every text in brackets, with its placeholders unchanged. */
const pseudo = (texts) =>
  Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, "[" + text + "]"]));

test("a folder is all that another language of the viewer takes", async () => {
  const english = JSON.parse(readFileSync(join(copy, "languages/en/viewer.json"), "utf8"));
  const { untrained, ...some } = english;
  mkdirSync(join(copy, "languages/qps"));
  writeFileSync(join(copy, "languages/qps/viewer.json"), JSON.stringify(pseudo(some)));
  const room = (name) => import(pathToFileURL(join(copy, "viewer/text", name)).href);
  const [language, { translator }, { granted, reasonOf }] = await Promise.all(
    ["language.js", "words.js", "refusal.js"].map(room),
  );
  assert.equal(language.languageOf("qps_Ploc"), "qps");
  assert.deepEqual(["en", "ko", "qps"].map(language.nextLanguage), ["ko", "qps", "en"]);
  const t = translator("qps");
  assert.equal(t("patchShort", { row: 1, col: 2 }), "[row 1, col 2]");
  for (const key of Object.keys(some)) assert.match(t(key), /^\[.*\]$/s, key);
  assert.equal(t("untrained"), untrained, "what it lacks is English");
  assert.throws(
    () => granted(undefined),
    (error) => reasonOf(error, "qps") === "[" + english.noReply + "]",
  );
});

test("texts that the viewer was not brought with are learned once, or asked for again", async () => {
  const room = (name) => import(pathToFileURL(join(copy, "viewer/text", name)).href);
  const [{ STRINGS: here, GLOSSARY: terms }, { learn }, { translator }] = await Promise.all(
    ["strings.js", "latetexts.js", "words.js"].map(room),
  );
  const [korean, cards] = [here.ko, terms.ko];
  [here.ko, terms.ko] = [{}, {}];
  assert.equal(translator("ko")("tryAgain"), here.en.tryAgain);
  const asked = [];
  const offline = async () => {
    throw new Error("offline");
  };
  const host = async (language) => {
    asked.push(language);
    return { STRINGS: korean, GLOSSARY: cards };
  };
  assert.deepEqual([await learn("ko-KR", offline), here.ko], [false, {}]);
  assert.deepEqual(
    [await learn("ko-KR", host), await learn("ko", host), await learn("en", host), await learn("ko")],
    [true, true, true, true],
  );
  assert.deepEqual([asked, here.ko, terms.ko], [["ko"], korean, cards]);
  assert.equal(translator("ko")("tryAgain"), korean.tryAgain);
});

test("a page with the texts of one language refuses in it, and in another once that has come", async () => {
  const room = (name) => import(pathToFileURL(join(copy, "viewer/text", name)).href);
  const [{ STRINGS: here }, { languageHere }, { granted, reasonOf }, { translator }] = await Promise.all(
    ["strings.js", "latetexts.js", "refusal.js", "words.js"].map(room),
  );
  const { en, qps } = here;
  Object.assign(here, { en: {}, qps: {} });
  assert.equal(languageHere(), "ko");
  const t = translator("en");
  assert.equal(t("tryAgain"), here.ko.tryAgain, "until English has come");
  /** @type {any} */
  let refused = null;
  assert.throws(
    () => granted(undefined),
    (error) => (refused = error) instanceof Error,
  );
  assert.deepEqual([refused.message, reasonOf(refused, "ko")], [here.ko.noReply, here.ko.noReply]);
  Object.assign(here, { en, qps });
  assert.equal(reasonOf(refused, "en"), en.noReply);
});

test("a button offers the language after this one, by its own name", () => {
  assert.equal(nextLanguage("en-GB"), nextLanguage("en"));
  const round = Object.keys(STRINGS).reduce((seen) => [...seen, nextLanguage(seen.at(-1))], ["ko"]);
  assert.deepEqual([round.at(-1), new Set(round)], ["ko", new Set(Object.keys(STRINGS))]);
  assert.deepEqual(
    [languageName("ko", "ko"), languageName("ko", "en"), languageName("en", "ko")],
    ["한국어", "Korean", "영어"],
  );
});
