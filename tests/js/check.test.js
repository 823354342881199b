/** The self-check: its questions in every model, its scores by hand, its codes, and what the device keeps. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  FORMS,
  ITEMS,
  LEVELS,
  ROUNDS,
  SEEDS,
  createCheck,
  isRight,
  isSureAndWrong,
  keyOf,
  layersOf,
  lookOf,
  markOf,
  ordersOf,
  reasonOf,
  scoreOf,
} from "../../vitviz/viewer/lessons/check.js";
import {
  CODE_LETTERS,
  HANDED,
  checkCode,
  classOf,
  codeFrom,
  marksOf,
  numbersOf,
  readResults,
  resultOf,
  tableOf,
} from "../../vitviz/viewer/lessons/checkcodes.js";
import { MOST_CODES } from "../../vitviz/viewer/lessons/codes.js";
import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { csvText } from "../../vitviz/viewer/maths/csv.js";
import { guessBook } from "../../vitviz/viewer/state/memory.js";
import { itemTitle, voterOf, wordsOf } from "../../vitviz/viewer/teaching/selfcheck.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { FIXTURES, sourceOf, storageOf } from "./fixture.js";
import { appOf } from "./walk.js";

async function open(name) {
  const source = await sourceOf(name);
  await Promise.all(layersOf(appOf(source)).map((layer) => source.store.ensure(layer)));
  return source;
}

const mark = (text) => ({ answer: text[0] === "1", reason: text[1] === "1", sure: Number(text[2]) });
/** A right option of a form, in a model whose answer is read from CLS. */
const keyIn = ({ key, options }) =>
  typeof key === "string" ? key : ["anew", "stays"].find((name) => name in options);
/**
 * Choices of a round, in a form: "112" is the right answer for the right reason, and sure; "000" the first that
 * is wrong for the first wrong reason, guessed.
 */
const choices = (text, form) =>
  text.split(" ").map((letters, at) => {
    const item = ITEMS[at];
    const { options, reasons } = item[form];
    const key = keyIn(item[form]);
    const other = (names, right) => names.find((name) => name !== right);
    const { answer, reason, sure } = mark(letters);
    return {
      answer: answer ? key : other(Object.keys(options), key),
      reason: reason ? reasonOf(item, key) : other(reasons, reasonOf(item, key)),
      sure,
      key,
    };
  });
// Worked by hand: the letters are answer, reason, how sure. Items 2 and 7 are untaught.
const BEFORE = "112 102 012 001 112 100 000 012"; // right: 0 and 4; sure and wrong: 1, 2 and 7
const AFTER = "112 112 110 101 112 112 111 112"; // right: all but 3; nothing is sure and wrong
const result = (form, seed, before, after) => ({
  form,
  seed,
  before: choices(before, form),
  after: choices(after, form === "a" ? "b" : "a"),
});

test("five questions are taught, one is transfer, two untaught; each has its texts, and no other", () => {
  assert.deepEqual(
    ["taught", "transfer", "control"].map((kind) => ITEMS.filter((one) => one.kind === kind).length),
    [5, 1, 2],
  );
  const keys = new Set([
    "kind_transfer",
    "kind_control",
    ...LEVELS.map((level) => "level_" + level),
    ...["both", "answer", "reason", "none"].map((one) => "mark_" + one),
  ]);
  for (const item of ITEMS) {
    assert.equal(item.lesson === null, item.kind === "control", item.id);
    const lesson = LESSONS.find(({ id }) => id === item.lesson);
    assert.ok(
      item.steps.every((step) => step >= 1 && step <= lesson.steps.length),
      item.id,
    );
    assert.equal(item.steps.length > 0, Boolean(lesson), item.id);
    const options = FORMS.flatMap((form) => Object.keys(item[form].options));
    for (const key of [
      "",
      ...FORMS.map((form) => form + "_question"),
      ...options.map((name) => "option_" + name),
      ...FORMS.flatMap((form) => item[form].reasons.map((name) => form + "_reason_" + name)),
    ]) {
      keys.add([item.id, key].filter(Boolean).join("_"));
    }
    for (const form of FORMS) {
      const { options, reasons } = item[form];
      assert.deepEqual([Object.keys(options).length, new Set(reasons).size], [3, 3], item.id);
    }
  }
  const said = ["teaching/selfcheck", "teaching/checkclass", "teaching/lessonlist", "lessons/checkcodes"]
    .map((name) => readFileSync(new URL("../../vitviz/viewer/" + name + ".js", import.meta.url), "utf8"))
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
          assert.ok(item[form].reasons.includes(reasonOf(item, key)), where);
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
  const source = await open("cls");
  for (const language of Object.keys(STRINGS)) {
    const app = /** @type {any} */ (appOf(source, { language }));
    for (const form of FORMS) {
      for (const wit of [-1, 1]) {
        const where = [language, form, wit].join(" ");
        const most = (list) => [...list].sort((a, b) => wit * (a.text.length - b.text.length))[0].value;
        const words = ITEMS.map((item) => ({ item, ...wordsOf(app, item, form) }));
        const reasoned = words.filter(({ item, key, reasons }) => most(reasons) === reasonOf(item, key));
        const right = reasoned.filter(({ key, options }) => most(options) === key);
        assert.ok(right.length <= 2, where + ": " + right.map(({ item }) => item.id));
        assert.ok(reasoned.length <= 3, where + ": " + reasoned.map(({ item }) => item.id));
        for (const { item, reasons } of words) {
          const lengths = reasons.map(({ text }) => text.length);
          assert.ok(
            Math.max(...lengths) <= 1.2 * Math.min(...lengths),
            where + " " + item.id + ": " + lengths,
          );
        }
      }
    }
    const texts = FORMS.map((form) =>
      ITEMS.flatMap((item) => wordsOf(app, item, form).reasons.map(({ text }) => text)),
    );
    assert.deepEqual(
      texts[0].filter((text) => texts[1].includes(text)),
      [],
      language,
    );
  }
});

test("the page for researchers has every question, what teaches it, and each of its reasons with a source", () => {
  const page = readFileSync(new URL("../../vitviz/research.md", import.meta.url), "utf8");
  for (const { id, lesson, steps, reason, a, b } of ITEMS) {
    const row = page.split("\n").find((line) => line.startsWith("| " + id + " | "));
    const [, , taught, right, wrong] = row.split("|").map((cell) => cell.trim());
    assert.equal(taught, lesson ? lesson + " " + steps.join(", ") : "no lesson", id);
    const rights = typeof reason === "string" ? [reason] : Object.values(reason);
    for (const name of rights) assert.match(right, new RegExp("\\b" + name + "\\b"));
    const named = [...wrong.matchAll(/(\w+) \((made|said: (\w+) (\d+))\)/g)];
    const others = new Set([...a.reasons, ...b.reasons].filter((name) => !rights.includes(name)));
    assert.deepEqual(new Set(named.map(([, name]) => name)), others, id);
    for (const [, , , from, step] of named) {
      if (!from) continue;
      const { id: quoted } = LESSONS.find((one) => one.id === from).steps[Number(step) - 1];
      assert.ok(["lesson", from + "_" + quoted + "_slip"].join(".") in STRINGS.en, id);
    }
  }
});

test("options and reasons are drawn by lot, and come again from the seed in the code", () => {
  const place = (order, names, right) => order.findIndex((at) => names[at] === right);
  const seen = Array.from({ length: SEEDS }, (_, seed) => ordersOf(seed));
  assert.deepEqual(seen[5], ordersOf(5));
  for (const round of ROUNDS) {
    for (const [at, item] of ITEMS.entries()) {
      const key = keyIn(item.a);
      const places = (part, names, right) =>
        seen.map((orders) => place(orders[round][at][part], names, right));
      for (const found of [
        places("answer", Object.keys(item.a.options), key),
        places("reason", item.a.reasons, reasonOf(item, key)),
      ])
        for (const first of [0, 1, 2])
          assert.ok(found.filter((one) => one === first).length >= 3, [round, item.id, found].join(" "));
    }
  }
  assert.equal(resultOf(checkCode(result("a", 19, BEFORE, AFTER))).seed, 19);
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
    [[2], [2, 1]], // the second of four is a quarter down
  );
  assert.deepEqual(bright.b.values({ ...look, row: () => row }), { share: "50.0%", other: "20.0%" });
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
  for (const form of FORMS)
    assert.deepEqual(
      [BEFORE, AFTER].map((text) => scoreOf(marksOf(choices(text, form)))),
      [
        { right: 2, sureWrong: 3, control: 0 },
        { right: 7, sureWrong: 0, control: 2 },
      ],
    );
  const late = ITEMS.find(({ id }) => id === "late");
  const gathered = { answer: "changes", reason: "gathered", sure: 2, key: "changes" };
  assert.ok(isRight(markOf(late, gathered)) && !isRight(markOf(late, { ...gathered, key: "stays" })));
});

test("a class of two is counted question by question, and each is a row of a table", () => {
  const code = checkCode(result("b", 3, BEFORE, AFTER));
  const other = checkCode(result("a", 30, AFTER, BEFORE));
  const { guesses, wrong } = readResults(code + "\n" + other.toLowerCase());
  assert.deepEqual(wrong, []);
  const items = classOf(guesses);
  assert.deepEqual(items[1], { right: { before: 1, after: 1 }, sureWrong: { before: 1, after: 1 } });
  assert.deepEqual(items[3], { right: { before: 0, after: 0 }, sureWrong: { before: 0, after: 0 } });
  assert.deepEqual(items[4].right, { before: 2, after: 2 });
  const { columns, rows } = tableOf(guesses);
  assert.equal(columns.length, 3 + 2 * (5 * 8 + 2));
  const [first, second] = rows.map((row) => Object.fromEntries(row.map((value, at) => [columns[at], value])));
  assert.deepEqual(
    [first.code, first.form_before, second.form_before, first.order_seed],
    [code, "B", "A", 3],
  );
  const parts = ["answer", "reason", "sure", "answer_right", "reason_right"];
  assert.deepEqual(
    parts.map((part) => first["before_pair_" + part]),
    ["anew", "alike", 2, 1, 0],
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
    parts.map((part) => first["after_grow_" + part]),
    ["sixteen", "pairs", 2, 1, 1],
  );
  assert.match(
    csvText({ columns, rows }).split("\r\n")[1],
    /^[0-9A-Z-]+,B,3,either,small,2,1,1,anew,alike,2,1,0,/,
  );
});

test("a class hands its codes in as numbers, and what is none breaks nothing", () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const code = checkCode(result(FORMS[seed % 2], seed, AFTER, BEFORE));
    assert.equal(codeFrom(numbersOf(code)), code);
    assert.ok(JSON.stringify(numbersOf(code)).length <= 100, "VOTE_BYTES of limits.py");
  }
  assert.match(HANDED, /^[0-9a-z]{8}$/); // a hash of a question has seven at most
  const strange = [5, -1, 0.5, [], [1], Array(40).fill(1e9), [-3, 2]].map(codeFrom);
  const { guesses, wrong } = readResults(strange.join("\n"));
  assert.equal(guesses.length, 0);
  for (const { key } of wrong) assert.ok(key in STRINGS.en, key);
});

test("two pupils of one device are two voters, and one who hands in again is one", () => {
  const codes = [0, 1].map((seed) => checkCode(result("a", seed, BEFORE, AFTER)));
  const [one, other] = codes.map((code) => voterOf("0123456789abcdef", code));
  assert.notEqual(one, other);
  assert.equal(voterOf("0123456789abcdef", codes[0]), one);
  assert.notEqual(voterOf("fedcba9876543210", codes[0]), one);
  for (let at = 0; at < 100; at++) assert.match(voterOf(String(at), codes[0]), /^[0-9a-f]{16}$/);
});

test("the pages say how long a code is", () => {
  assert.equal(checkCode(result("a", 0, BEFORE, AFTER)).replaceAll("-", "").length, CODE_LETTERS);
  for (const page of ["teaching.md", "viewer/README.md"]) {
    const text = readFileSync(new URL("../../vitviz/" + page, import.meta.url), "utf8");
    assert.match(text, new RegExp("code of " + CODE_LETTERS + " letters", "i"), page);
  }
});

test("a code of the first version is refused in a sentence that says so", () => {
  const { wrong } = readResults("5B50-4ET4-W5T8-ZK5V");
  assert.deepEqual(
    wrong.map(({ key }) => key),
    ["check.oldCode"],
  );
});

test("every result comes back from its code, and every slip is noticed", () => {
  const states = ["000", "001", "002", "010", "011", "012", "100", "101", "102", "110", "111", "112"];
  const seen = new Map();
  for (const form of FORMS) {
    for (let at = 0; at < 16; at++) {
      for (const state of states) {
        const both = Array.from({ length: 16 }, (_, place) =>
          place === at ? state : states[(place * 5 + at) % 12],
        );
        const one = result(form, (7 * at) % SEEDS, both.slice(0, 8).join(" "), both.slice(8).join(" "));
        const code = checkCode(one);
        assert.match(code, /^([0-9A-Z]{4}-){5}[0-9A-Z]{2}$/);
        assert.deepEqual(resultOf(code.toLowerCase().replaceAll("0", "o")), one);
        const text = JSON.stringify(one);
        assert.equal(seen.get(code) ?? text, text, "two results never share a code");
        seen.set(code, text);
      }
    }
  }
  // The last of every list, and a key that depends on the model.
  const last = (form) =>
    ITEMS.map((item) => {
      const { options, reasons, key } = item[form];
      const option = Object.keys(options).at(-1);
      return { answer: option, reason: reasons[2], sure: 2, key: typeof key === "string" ? key : option };
    });
  const one = { form: FORMS[1], seed: SEEDS - 1, before: last("b"), after: last("a") };
  assert.deepEqual(resultOf(checkCode(one)), one);
  const right = checkCode(result("a", 8, BEFORE, AFTER));
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
    const key = keyIn(form);
    const [wrong] = Object.keys(form.options).filter((one) => one !== key);
    check.put(round, at, { answer: right ? key : wrong, reason: reasonOf(item, key) });
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
  assert.equal(again.seed(), Math.floor(0.7 * SEEDS));
  check.settle("before", 3, keyIn(ITEMS[3].b));
  assert.ok(check.done("before") && !check.done("after"));
  assert.deepEqual(
    marksOf(check.choices("before")).map(({ answer: right }) => right),
    [true, false, true, false, true, false, true, false],
  );
  check.clear();
  assert.deepEqual([check.begun(), check.open("before")], [false, 0]);
});

test("what is damaged on the device is asked again", () => {
  const whole = (at) => {
    const { options, reasons } = ITEMS[at].a;
    return { answer: Object.keys(options)[0], reason: reasons[0], sure: 1, key: Object.keys(options)[1] };
  };
  const damaged = [
    3,
    null,
    { ...whole(2), answer: "toString" },
    whole(3),
    { ...whole(4), sure: 3 },
    { ...whole(5), key: "yes" },
    { ...whole(6), sure: "length" },
    { ...whole(7), reason: "grid" },
  ];
  const kept = { form: "a", seed: 4, before: damaged, after: "none" };
  const check = createCheck({ recall: () => kept, keep() {} }, () => 0);
  assert.deepEqual(
    ITEMS.map((_, at) => Boolean(check.entry("before", at).key)),
    [false, false, false, true, false, false, false, false],
  );
  assert.equal(check.entry("before", 2).answer, undefined);
  for (const strange of [{ form: "c" }, { seed: SEEDS }, { seed: "x" }, { seed: undefined }]) {
    const book = { recall: () => ({ ...kept, ...strange }), keep() {} };
    assert.deepEqual(
      [createCheck(book, () => 0.9).form("before"), createCheck(book, () => 0.9).seed()],
      ["b", 28],
    );
  }
});
