/** The rooms of the viewer: imports point only to rooms on the left. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path/posix";
import test from "node:test";

const VIEWER = new URL("../../vitviz/viewer/", import.meta.url);
const PAGE = new URL("../../vitviz/web/page/", import.meta.url);
const TESTS = new URL("./", import.meta.url);
const ROOMS = [
  "maths",
  "engine",
  "learn",
  "data",
  "state",
  "lessons",
  "text",
  "parts",
  "stage",
  "panels",
  "many",
  "teaching",
  "saving",
  "play",
  "passes",
  "shell",
  "session",
  "hosts",
  ".",
];

/** @param {string} file */
const first = (file) => (file.includes("/") ? file.split("/")[0] : ".");

/** @param {URL} folder */
const filesIn = (folder) => readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".js"));
/**
 * The file that an import means, from the folder of the viewer.
 * @param {string} file
 * @param {string} target
 */
const aimOf = (file, target) => normalize(join(dirname(file), target)).replace("../../vitviz/viewer/", "");

test("rooms import from themselves and from those before them", () => {
  const files = filesIn(VIEWER);
  assert.ok(files.length > 70);
  for (const file of files) {
    const room = ROOMS.indexOf(first(file));
    assert.ok(room >= 0, file + " is in no room");
    const source = readFileSync(new URL(file, VIEWER), "utf8");
    for (const [, target] of source.matchAll(/^(?:import|\} from)[^"]*"([^"]+)";/gm)) {
      const path = aimOf(file, target);
      const other = ROOMS.indexOf(first(path));
      assert.ok(other >= 0 && other <= room, file + " imports " + target);
      // What one panel alone uses lies in its folder: panels/attention.js and panels/attention/.
      const folder = /^panels\/(\w+)\//.exec(path)?.[1];
      assert.ok(
        !folder || file.startsWith("panels/" + folder),
        file + " imports " + target + " of another panel",
      );
    }
  }
});

test("no files import each other in a circle", () => {
  const next = (file) =>
    [...readFileSync(new URL(file, VIEWER), "utf8").matchAll(/^(?:import|\} from)[^"]*"([^"]+)";/gm)]
      .map(([, target]) => target)
      .filter((target) => target.startsWith("."))
      .map((target) => aimOf(file, target));
  const done = new Set();
  const walk = (file, above = []) => {
    assert.ok(!above.includes(file), [...above, file].join(" -> "));
    if (!done.has(file)) for (const one of next(file)) walk(one, [...above, file]);
    done.add(file);
  };
  for (const file of filesIn(VIEWER)) walk(file);
});

test("maths are pure: no page, no clock, no chance of the browser, and nothing that is looked at", () => {
  const files = readdirSync(new URL("maths/", VIEWER));
  assert.ok(files.length > 10);
  const unwanted =
    /\b(document|window|navigator|fetch|setTimeout|requestAnimationFrame|performance|Date|Math\.random|app|taste|selection|source)\b/;
  for (const file of files) {
    const source = readFileSync(new URL("maths/" + file, VIEWER), "utf8");
    const code = source.replace(/\/\*\*[^]*?\*\/|\/\/[^\n]*|"[^"\n]*"/g, "");
    assert.ok(!unwanted.test(code), file + " uses " + unwanted.exec(code)?.[0]);
    const told = [...source.matchAll(/import\("\.\.\/([^"]+)"\)/g)].map(([, name]) => name);
    assert.deepEqual(
      told.filter((name) => name !== "types.js"),
      [],
      file + " speaks of another room",
    );
  }
});

test("what a file exports is imported by another file, or by a test", () => {
  const viewer = filesIn(VIEWER);
  const tests = filesIn(TESTS).filter((name) => !name.startsWith("node_modules"));
  const used = new Set([
    "main.js mount",
    "main.js firstLanguage",
    "main.js prepare",
    "main.js fromBase64",
    "hosts/site.js open",
    "hosts/gradiohead.js createHead",
    "gradioapp.js start",
    "play/playground.js createPlayground",
  ]); // by hosts
  for (const [folder, file] of [
    ...viewer.map((name) => ["", name]),
    ...tests.map((name) => ["../../tests/js/", name]),
  ]) {
    const source = readFileSync(new URL(folder + file, VIEWER), "utf8");
    for (const [, names, target] of source.matchAll(/^import \{([^}]*)\} from "([^"]+)";/gm)) {
      for (const name of names.split(","))
        used.add(aimOf(folder + file, target) + " " + name.trim().split(" as ")[0]);
    }
  }
  const unused = viewer
    .flatMap((file) =>
      [
        ...readFileSync(new URL(file, VIEWER), "utf8").matchAll(
          /^export (?:async function\*?|function\*?|const|class) +([\w$]+)/gm,
        ),
      ].map(([, name]) => file + " " + name),
    )
    .filter((name) => !used.has(name));
  assert.deepEqual(unused, []);
});

test("who computes a pass is decided in passes/backend.js alone", () => {
  const decides = /\bpass\.here\b|\bisHere\b|\bHERE\b|\bhost\.(own|twin)\b|\b(createLocal|createRemote)\(/;
  // data/ makes the id of an analysis, and local.js marks the passes of this page.
  const makers = [
    "data/files.js",
    "data/localanalysis.js",
    "passes/backend.js",
    "passes/local.js",
    "passes/remote.js",
  ];
  const deciding = filesIn(VIEWER).filter(
    (file) => !makers.includes(file) && decides.test(codeOf(readFileSync(new URL(file, VIEWER), "utf8"))),
  );
  assert.deepEqual(deciding, []);
});

test("a table becomes a file for spreadsheets in one place", () => {
  const making = filesIn(VIEWER).filter((file) =>
    /text\/csv/.test(codeOf(readFileSync(new URL(file, VIEWER), "utf8"))),
  );
  assert.deepEqual(making, ["parts/download.js"]);
});

/** A source without its comments. @param {string} source */
const codeOf = (source) => source.replace(/\/\*\*[^]*?\*\/|\/\/[^\n]*/g, "");

/**
 * Columns that a line may have: the formatter breaks at 110, and leaves strings, types and patterns whole.
 */
const MOST_COLUMNS = 120;
const WHOLE = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|\/(?:[^/\\\n]|\\.)+\/[a-z]*|\{.*\}/g;

test("a line is as wide as the formatter makes it, but for a string, a type or a pattern", () => {
  const wide = [];
  for (const folder of [VIEWER, PAGE, TESTS]) {
    for (const file of filesIn(folder).filter((name) => !name.startsWith("node_modules"))) {
      readFileSync(new URL(file, folder), "utf8")
        .split("\n")
        .forEach((line, at) => {
          if (line.replace(WHOLE, "").length > MOST_COLUMNS) wide.push(`${file}:${at + 1}`);
        });
    }
  }
  assert.deepEqual(wide, []);
});
