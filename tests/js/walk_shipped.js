/**
 * Walks every step of every lesson through payloads that Python packed, and prints what it found.
 *
 * `node walk_shipped.js FOLDER`: each analysis lies in FOLDER/MODEL-EXAMPLE, with its files and manifest.json.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Source } from "../../vitviz/viewer/data/source.js";
import { originOf } from "../../vitviz/viewer/lessons/course.js";
import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { appOf, visitStep } from "./walk.js";

const folder = process.argv[2];
const opened = new Map();

async function open(model, example) {
  const place = join(folder, model + "-" + example);
  if (!opened.has(place)) {
    const manifest = JSON.parse(readFileSync(join(place, "manifest.json"), "utf8"));
    const bytes = (path) => Uint8Array.from(readFileSync(join(place, path))).buffer;
    const late = async (_, { name }) => ({ data: readFileSync(join(place, name)).toString("base64") });
    const source = new Source(manifest, async ({ path }) => bytes(path), late, () => {});
    await source.loaded(false);
    opened.set(place, source);
  }
  return opened.get(place);
}

const found = [];
for (const lesson of LESSONS) {
  for (const [at, step] of lesson.steps.entries()) {
    const { model, example } = originOf(lesson, step);
    const beside = step.state?.beside?.replace("example-", "");
    const other = beside ? await open(model, beside) : null;
    for (const language of Object.keys(STRINGS)) {
      const app = appOf(await open(model, example), { language, other });
      found.push({ language, model, example, beside: beside ?? null, ...await visitStep(app, lesson, at + 1) });
    }
  }
}
process.stdout.write(JSON.stringify(found));
