/** The self-check: its questions in every model, its scores by hand, its codes, and what the device keeps. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  FORMS,
  ITEMS,
  LEVELS,
  createCheck,
  isRight,
  isSureAndWrong,
  keyOf,
  layersOf,
  lookOf,
  reasonOf,
  scoreOf,
} from "../../vitviz/viewer/lessons/check.js";
import {
  checkCode,
  classOf,
  readResults,
  resultOf,
  tableOf,
} from "../../vitviz/viewer/lessons/checkcodes.js";
import { MOST_CODES } from "../../vitviz/viewer/lessons/codes.js";
import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { csvText } from "../../vitviz/viewer/maths/csv.js";
import { guessBook } from "../../vitviz/viewer/state/memory.js";
import { itemTitle, wordsOf } from "../../vitviz/viewer/teaching/selfcheck.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { FIXTURES, sourceOf, storageOf } from "./fixture.js";
import { appOf } from "./walk.js";

async function open(name) {
  const source = await sourceOf(name);
  await Promise.all(layersOf(appOf(source)).map((layer) => source.store.ensure(layer)));
  return source;
}

const mark = (text) => ({ answer: text[0] === "1", reason: text[1] === "1", sure: Number(text[2]) });
const marks = (text) => text.split(" ").map(mark);
// Worked by hand: the letters are answer, reason, how sure. Item 7 (the last) is the control.
const BEFORE = marks("112 102 012 001 112 100 000 012"); // right: 0 and 4; sure and wrong: 1, 2 and 7
const AFTER = marks("112 112 110 101 112 112 111 112"); // right: all but 3; nothing is sure and wrong

test("five questions are taught, two are transfer, one is not taught; each has its texts in every language, and no other", () => {
  assert.deepEqual(
    ["taught", "transfer", "control"].map((kind) => ITEMS.filter((one) => one.kind === kind).length),
    [5, 2, 1],
  );
  const keys = new Set([
    "kind_transfer",
    "kind_control",
    ...LEVELS.map((level) => "level_" + level),
    ...["both", "answer", "reason", "none"].map((one) => "mark_" + one),
  ]);
  for (const item of ITEMS) {
    assert.equal(item.lesson === null, item.kind === "control", item.id);
    assert.ok(item.lesson === null || LESSONS.some(({ id }) => id === item.lesson), item.id);
    const options = FORMS.flatMap((form) => Object.keys(item[form].options));
    for (const key of [
      "",
      ...FORMS.map((form) => form + "_question"),
      ...options.map((name) => "option_" + name),
      ...item.reasons.map((name) => "reason_" + name),
    ]) {
      keys.add([item.id, key].filter(Boolean).join("_"));
    }
    for (const form of FORMS) assert.equal(Object.keys(item[form].options).length, 3);
    assert.equal(item.reasons.length, 3);
  }
  const said = ["selfcheck", "checkclass", "lessonlist"]
    .map((name) =>
      readFileSync(new URL("../../vitviz/viewer/teaching/" + name + ".js", import.meta.url), "utf8"),
    )
    .join("");
  for (const [, key] of said.matchAll(/"check\.(\w*[a-zA-Z])"/g)) keys.add(key);
  for (const language of Object.keys(STRINGS)) {
    const own = Object.keys(STRINGS[language])
      .filter((key) => key.startsWith("check."))
      .map((key) => key.slice(6));
    assert.deepEqual(own.sort(), [...keys].sort(), language);
  }
});

test("every form can be asked in every model and language, has one right option, and says no nonsense", async () => {
  for (const { name } of FIXTURES) {
    const source = await open(name);
    for (const language of Object.keys(STRINGS)) {
      const app = /** @type {any} */ (appOf(source, { language }));
      for (const item of ITEMS) {
        for (const form of FORMS) {
          const { key, question, options, reasons, marks: tokens } = wordsOf(app, item, form);
          const where = [name, language, item.id, form].join("/");
          assert.ok(Object.hasOwn(item[form].options, key), where);
          assert.ok(item.reasons.includes(reasonOf(item, key)), where);
          for (const text of [
            itemTitle(app, item),
            question,
            ...[...options, ...reasons].map((one) => one.text),
          ]) {
            assert.doesNotMatch(text, /undefined|null|NaN|Infinity|\{\w+\}|\[object|^$/, where);
          }
          for (const token of tokens ?? [])
            assert.ok(token >= source.grid.prefix && token < source.grid.tokens, where);
        }
      }
    }
  }
});

test("who clicks the longest texts, or the shortest, is right in two of eight at most", async () => {
  const app = (language) => /** @type {any} */ (appOf(source, { language }));
  const source = await open("cls");
  for (const language of Object.keys(STRINGS)) {
    for (const form of FORMS) {
      for (const wit of [-1, 1]) {
        const most = (list) => [...list].sort((a, b) => wit * (a.text.length - b.text.length))[0].value;
        const right = ITEMS.filter((item) => {
          const { key, options, reasons } = wordsOf(app(language), item, form);
          return most(options) === key && most(reasons) === reasonOf(item, key);
        });
        assert.ok(right.length <= 2, [language, form, wit, ...right.map(({ id }) => id)].join(" "));
      }
    }
  }
});

test("keys come from the model: where the answer is gathered patches count, and an even share is the same both ways", async () => {
  const source = await open("cls");
  const [pair, late] = ["pair", "late"].map((id) => ITEMS.find((one) => one.id === id));
  const look = lookOf(/** @type {any} */ (appOf(source)), late.a);
  const read = ["token", "avg", "token_avg", "map"].map((pool) => keyOf(late.a, { ...look, pool }));
  assert.deepEqual(read, ["stays", "changes", "changes", "changes"]);
  assert.deepEqual(
    read.slice(0, 2).map((key) => reasonOf(late, key)),
    ["read", "gathered"],
  );
  const real = lookOf(/** @type {any} */ (appOf(source)), pair.a);
  const [there, back] = [{}, { token: real.at.partner, partner: real.at.token }].map((more) =>
    real.value("pairShare", more),
  );
  assert.deepEqual([there === back, keyOf(pair.a, real)], [false, "anew"]);
  const shares = (one, other) =>
    keyOf(pair.a, {
      ...look,
      at: { ...look.at, token: 3, partner: 4 },
      value: (_truth, { token = 3 } = {}) => (token === 4 ? other : one),
    });
  assert.deepEqual(
    [shares(0.3, 0.3), shares(0.3, 0.30004), shares(0.3, 0.7), shares(0.3, 0.2)],
    ["share", "share", "rest", "anew"],
  );
  const bright = ITEMS.find((one) => one.id === "bright");
  const row = Float32Array.from([0.2, 0.5, 0.1, 0.2]);
  assert.deepEqual(
    FORMS.map((form) => bright[form].marks({ ...look, prefix: 1, row: () => row })),
    [[2], [3]],
  );
  assert.deepEqual(
    FORMS.map((form) => bright[form].values({ ...look, row: () => row }).share),
    ["50.0%", "10.0%"],
  );
});

test("right is who has answer and reason, as worked by hand", () => {
  assert.deepEqual(
    ["110", "112", "102", "012", "002"].map((one) => isRight(mark(one))),
    [true, true, false, false, false],
  );
  assert.deepEqual(
    ["112", "102", "012", "002", "101", "000"].map((one) => isSureAndWrong(mark(one))),
    [false, true, true, true, false, false],
  );
  assert.deepEqual([BEFORE, AFTER].map(scoreOf), [
    { right: 2, sureWrong: 3, control: 0 },
    { right: 7, sureWrong: 0, control: 1 },
  ]);
});

test("a class of two is counted question by question, and each is a row of a table", () => {
  const code = checkCode({ form: "b", before: BEFORE, after: AFTER });
  const other = checkCode({ form: "a", before: AFTER, after: BEFORE });
  const { guesses, wrong } = readResults(code + "\n" + other.toLowerCase());
  assert.deepEqual(wrong, []);
  const items = classOf(guesses);
  assert.deepEqual(items[1], { right: { before: 1, after: 1 }, sureWrong: { before: 1, after: 1 } });
  assert.deepEqual(items[3], { right: { before: 0, after: 0 }, sureWrong: { before: 0, after: 0 } });
  assert.deepEqual(items[4].right, { before: 2, after: 2 });
  const { columns, rows } = tableOf(guesses);
  assert.equal(columns.length, 2 + 2 * (3 * 8 + 2));
  const [first, second] = rows.map((row) => Object.fromEntries(row.map((value, at) => [columns[at], value])));
  assert.deepEqual([first.code, first.form_before, second.form_before], [code, "B", "A"]);
  assert.deepEqual(
    ["answer", "reason", "sure"].map((part) => first["before_pair_" + part]),
    [1, 0, 2],
  );
  assert.deepEqual(
    [
      first.before_right,
      first.before_sure_wrong,
      first.after_right,
      first.after_sure_wrong,
      second.after_right,
    ],
    [2, 3, 7, 0, 2],
  );
  assert.deepEqual(
    ["answer", "reason", "sure"].map((part) => first["after_photo_" + part]),
    [1, 1, 2],
  );
  assert.match(csvText({ columns, rows }).split("\r\n")[1], /^[0-9A-Z-]+,B,1,1,2,1,0,2,/);
});

test("every result comes back from its code, and every slip is noticed", () => {
  const states = ["000", "001", "002", "010", "011", "012", "100", "101", "102", "110", "111", "112"].map(
    mark,
  );
  const seen = new Map();
  for (const form of FORMS) {
    for (let at = 0; at < 16; at++) {
      for (const state of states) {
        const both = Array.from({ length: 16 }, (_, place) =>
          place === at ? state : states[(place * 5 + at) % 12],
        );
        const result = { form, before: both.slice(0, 8), after: both.slice(8) };
        const code = checkCode(result);
        assert.match(code, /^([0-9A-Z]{4}-){3}[0-9A-Z]{4}$/);
        assert.deepEqual(resultOf(code.toLowerCase().replaceAll("0", "o")), result);
        assert.equal(
          seen.get(code) ?? JSON.stringify(result),
          JSON.stringify(result),
          "two results never share a code",
        );
        seen.set(code, JSON.stringify(result));
      }
    }
  }
  for (const state of [states[0], states[11]]) {
    const result = { form: FORMS[1], before: Array(8).fill(state), after: Array(8).fill(state) };
    assert.deepEqual(resultOf(checkCode(result)), result);
  }
  const right = checkCode({ form: "a", before: BEFORE, after: AFTER });
  for (let at = 0; at < right.length; at++) {
    for (const letter of "0123456789ABCDEFGHJKMNPQRSTVWXYZ") {
      if (right[at] === "-" || right[at] === letter) continue;
      assert.equal(readResults(right.slice(0, at) + letter + right.slice(at + 1)).wrong[0]?.key, "pollSlip");
    }
  }
  const found = readResults([right, "9235-CC3", "hello!", right.slice(0, -1), right].join(" ,;\n"));
  assert.equal(found.guesses.length, 2);
  assert.ok(found.wrong.every(({ key }) => key in STRINGS.en));
  assert.equal(readResults((right + " ").repeat(MOST_CODES + 3)).more, 3);
});

test("a round is answered, left, taken up again, and compared with what was right then", () => {
  const kept = new Map();
  const check = createCheck(guessBook(storageOf(kept)), () => 0.7);
  assert.deepEqual([check.form("before"), check.form("after"), check.begun()], ["b", "a", false]);
  const answer = (round, at, right) => {
    const item = ITEMS[at];
    const form = item[check.form(round)];
    const key = typeof form.key === "string" ? form.key : Object.keys(form.options)[0];
    const [wrong] = Object.keys(form.options).filter((one) => one !== key);
    check.put(round, at, { answer: right ? key : wrong, reason: reasonOf(item, key) ?? item.reasons[0] });
    assert.ok(!check.complete(round, at));
    check.put(round, at, { sure: 2 });
    assert.ok(check.complete(round, at));
    check.settle(round, at, key);
  };
  for (let at = 0; at < 8; at++) answer("before", at, at % 2 === 0);
  check.put("before", 3, { sure: 1 });
  assert.deepEqual(
    [check.open("before"), check.done("before")],
    [3, false],
    "what was changed is compared anew",
  );
  // A reload: another lot is not drawn.
  const again = createCheck(guessBook(storageOf(kept)), () => 0.1);
  assert.deepEqual([again.form("before"), again.entry("before", 3).sure, again.begun()], ["b", 1, true]);
  check.settle("before", 3, "nothing of it");
  assert.ok(check.done("before") && !check.done("after"));
  assert.deepEqual(
    check.marks("before").map(({ answer: right }) => right),
    [true, false, true, false, true, false, true, false],
  );
  check.clear();
  assert.deepEqual([check.begun(), check.open("before")], [false, 0]);
});

test("what is damaged on the device is asked again", () => {
  const whole = (at) => ({
    answer: Object.keys(ITEMS[at].a.options)[0],
    reason: ITEMS[at].reasons[0],
    sure: 1,
    right: [true, false],
  });
  const damaged = [
    3,
    null,
    { ...whole(2), answer: "toString" },
    whole(3),
    { ...whole(4), sure: 3 },
    { ...whole(5), right: "yes" },
    { ...whole(6), sure: "length" },
    { ...whole(7), reason: "grid" },
  ];
  const book = { recall: () => ({ form: "a", before: damaged, after: "none" }), keep() {} };
  const check = createCheck(book, () => 0);
  assert.deepEqual(
    ITEMS.map((_, at) => Boolean(check.entry("before", at).right)),
    [false, false, false, true, false, false, false, false],
  );
  assert.equal(check.entry("before", 2).answer, undefined);
  assert.equal(createCheck({ ...book, recall: () => ({ form: "c" }) }, () => 0.9).form("before"), "b");
});
