/** Plans: their minutes add up, what they name exists, and the page for teachers has the same. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { PLANS, taughtBy } from "../../vitviz/viewer/lessons/plans.js";
import { TEXTS } from "../../vitviz/viewer/play/playtexts.js";
import { planRows, planTeaches, servedBy } from "../../vitviz/viewer/text/lesson.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { translator } from "../../vitviz/viewer/text/words.js";

test("the minutes of each plan add up, and its lessons and steps exist", () => {
  for (const { id, minutes, parts } of PLANS) {
    assert.equal(
      parts.reduce((sum, part) => sum + part.minutes, 0),
      minutes,
      id,
    );
    for (const { does, steps = [1] } of parts) {
      const lesson = LESSONS.find((one) => one.id === does);
      assert.ok(lesson || "plan.does_" + does in STRINGS.en, id + ": " + does);
      if (lesson)
        assert.ok(
          steps.length > 0 &&
            steps.every((step, at) => step > (steps[at - 1] ?? 0) && step <= lesson.steps.length),
          id + ": " + does,
        );
    }
    const done = parts.map(({ does }) => does);
    assert.equal(new Set(done).size, done.length, id);
  }
  assert.deepEqual(
    PLANS.map(({ minutes }) => minutes),
    [20, 45, 90, 45, 45, 45, 45],
  );
  const named = new Set(PLANS.flatMap(({ parts }) => parts.map(({ does }) => does)));
  assert.deepEqual(
    LESSONS.map(({ id }) => id).filter((id) => !named.has(id)),
    [],
    "lessons without a place",
  );
});

test("the 45 minutes begin with what the class teaches a model itself", () => {
  const plan = PLANS.find(({ id }) => id === "lesson");
  const [first] = planRows({ t: translator("en") }, plan);
  assert.deepEqual([first.from, first.does, first.what], ["0:00", "things", "Things of the class"]);
  for (const language of Object.keys(STRINGS)) {
    const { subjectOwn, subjectSigns } = TEXTS[language];
    const { how } = planRows({ t: translator(language) }, plan)[0];
    assert.ok(how.includes(subjectOwn) && how.includes(subjectSigns), how);
  }
});

test("a plan is said line by line, from the minute when a part begins, in every language", () => {
  const double = PLANS.find(({ id }) => id === "double");
  assert.deepEqual(
    planRows({ t: translator("en") }, double).filter(({ does }) =>
      ["before", "cut", "matter"].includes(does),
    ),
    [
      {
        from: "0:00",
        minutes: 4,
        does: "before",
        what: "Self-check, before",
        which: "",
        how: "",
      },
      {
        from: "0:04",
        minutes: 6,
        does: "cut",
        what: "Cut",
        which: "",
        how: "",
      },
      {
        from: "0:53",
        minutes: 9,
        does: "matter",
        what: "Does this map matter?",
        which: "",
        how: STRINGS.en["plan.note_cat"],
      },
    ],
  );
  assert.equal(planRows({ t: translator("en") }, double).at(-1).from, "1:25");
  const [cut, ask] = planRows({ t: translator("en") }, PLANS[0]);
  assert.deepEqual([cut.how, ask.how], ["Steps 1–4, 6.", "Steps 1–4."]);
  const used = new Set();
  for (const [language, texts] of Object.entries(STRINGS)) {
    const t = (key, values) => {
      used.add(key);
      assert.ok(key in texts, key + " is missing in " + language);
      return translator(language)(key, values);
    };
    for (const plan of PLANS) {
      planRows({ t }, plan);
      planTeaches({ t }, plan);
      servedBy(
        { t },
        plan.parts.map(({ does }) => does),
      );
      for (const name of ["name_", "for_"]) t("plan." + name + plan.id);
    }
  }
  const spare = Object.keys(STRINGS.en).filter(
    (key) => /^plan\.(name|for|does|note|serves)_/.test(key) && !used.has(key),
  );
  assert.deepEqual(spare, [], "texts that no plan says");
});

test("a plan says which questions of the self-check it teaches, and which it only asks", () => {
  assert.deepEqual(Object.fromEntries(PLANS.map((plan) => [plan.id, taughtBy(plan).map(({ id }) => id)])), {
    look: ["pixels", "pair", "bright"],
    lesson: ["pixels", "pair", "percent", "late"],
    double: ["pixels", "pair", "percent", "late", "bright"],
    week1: ["pixels", "pair"],
    week2: ["cls"],
    week3: ["late", "bright"],
    week4: [],
  });
  const said = (id) =>
    planTeaches(
      { t: translator("en") },
      PLANS.find((plan) => plan.id === id),
    );
  assert.equal(said("week4"), "");
  assert.equal(
    said("double"),
    "The self-check asks about what it teaches here: How much of a photo the model gets; From A to B, and back; " +
      "What a percentage tells; Whether a map is the reason; What brightness in a map says. " +
      "Asked too, but not taught in this plan: What CLS is.",
  );
});

test("the page for teachers has every plan as it is", () => {
  const page = readFileSync(new URL("../../vitviz/teaching.md", import.meta.url), "utf8").replace(
    /\s+/g,
    " ",
  );
  const t = translator("en");
  for (const plan of PLANS) {
    const parts = planRows({ t }, plan).map(
      ({ minutes, what, which }) =>
        minutes +
        " " +
        what.replace(/[.?:].*/, "") +
        (which ? " (" + which.replace(".", "").toLowerCase() + ")" : ""),
    );
    const row = ["", t("plan.name_" + plan.id), parts.join(" + ") + " = " + plan.minutes, ""]
      .join(" | ")
      .trim();
    assert.ok(page.includes(row), "teaching.md lacks: " + row);
    const teaches = taughtBy(plan).map(({ id }) => t("check." + id).toLowerCase());
    const line = "| " + t("plan.name_" + plan.id) + " | " + (teaches.join("; ") || "nothing") + " |";
    assert.ok(page.toLowerCase().includes(line.toLowerCase()), "teaching.md lacks: " + line);
  }
});

const CODES = /\d-[A-C]-[iv]+|CG[\d.]+\d/g;

test("the page for teachers says of each lesson once which competences it serves, as its key does", () => {
  const page = readFileSync(new URL("../../vitviz/teaching.md", import.meta.url), "utf8");
  const part = page.split("## A place in the syllabus")[1].split("\n## ")[0];
  const rows = [...part.matchAll(/^\| ([^|]+) \| ([^|]*\d-[A-C]-[^|]*)/gm)];
  const named = rows.flatMap(([, lessons]) => lessons.split("; "));
  const titles = LESSONS.map(({ id }) => translator("en")("lesson." + id).replace(/[?.:].*/, ""));
  assert.deepEqual([...named].sort(), [...titles].sort());
  const unesco = /^UNESCO's .*\n.*/m.exec(part)[0];
  for (const language of Object.keys(STRINGS))
    LESSONS.forEach(({ id }, at) => {
      const [, , codes] = rows.find(([, lessons]) => lessons.split("; ").includes(titles[at]));
      const wanted = codes.match(CODES);
      if (unesco.includes("*" + titles[at] + "*")) wanted.push(...unesco.match(CODES));
      assert.deepEqual(
        servedBy({ t: translator(language) }, [id]).match(CODES),
        wanted,
        language + ": " + id,
      );
    });
});

test("competences that several lessons of a plan serve are named once, and the sources after them", () => {
  const t = translator("en");
  assert.equal(servedBy({ t }, ["before", "pause"]), "");
  const said = servedBy({ t }, ["before", "cut", "where", "own-1234"]);
  assert.ok(
    said.startsWith(
      "Competences, by our reading: AI4K12 1-A-iii digital encoding; AI4K12 2-A-iv feature vectors. Sources: ",
    ),
    said,
  );
  assert.match(said, /Not seen/);
});
