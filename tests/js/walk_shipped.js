/**
 * Walks every step of every lesson through payloads that Python packed, and prints what it found.
 *
 * `node walk_shipped.js FOLDER`: each analysis lies in FOLDER/MODEL-EXAMPLE, with its files and manifest.json; one with
 * interventions in FOLDER/MODEL-EXAMPLE~EXPERIMENT. `node walk_shipped.js FOLDER experiments` prints which are needed.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Source } from "../../vitviz/viewer/data/source.js";
import { originOf } from "../../vitviz/viewer/lessons/course.js";
import { stateOf } from "../../vitviz/viewer/lessons/steps.js";
import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { read } from "../../vitviz/viewer/state/experiment.js";
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

/** What stands beside in a step: another example, or the same one after an experiment. */
async function besideOf(lesson, step) {
  const { model, example } = originOf(lesson, step);
  if (!step.state?.experiment) return { name: step.state?.beside?.replace("example-", "") ?? null, text: "" };
  const source = await open(model, example);
  const text = stateOf(step, source, appOf(source).shape()).experiment;
  return { name: example + "~" + text, text };
}

if (process.argv[3] === "experiments") {
  const wanted = [];
  for (const lesson of LESSONS) {
    for (const step of lesson.steps) {
      const { name, text } = await besideOf(lesson, step);
      if (text) wanted.push({ ...originOf(lesson, step), name, interventions: read(text) });
    }
  }
  process.stdout.write(JSON.stringify(wanted));
  process.exit(0);
}

const found = [];
for (const lesson of LESSONS) {
  for (const [at, step] of lesson.steps.entries()) {
    const { model, example } = originOf(lesson, step);
    const { name: beside } = await besideOf(lesson, step);
    const other = beside ? await open(model, beside) : null;
    for (const language of Object.keys(STRINGS)) {
      const app = appOf(await open(model, example), { language, other });
      found.push({ language, model, example, beside, ...await visitStep(app, lesson, at + 1) });
    }
  }
}
process.stdout.write(JSON.stringify(found));
