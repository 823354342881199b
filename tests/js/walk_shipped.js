/**
 * Walks every step of every lesson through payloads that Python packed, and prints what it found.
 *
 * `node walk_shipped.js FOLDER`: each analysis lies in FOLDER/MODEL-EXAMPLE, with its files and
 * manifest.json; one with interventions in FOLDER/MODEL-EXAMPLE~EXPERIMENT. `node walk_shipped.js FOLDER
 * experiments` prints which are needed, and `node walk_shipped.js FOLDER check MODEL/EXAMPLE ...` the
 * questions of the self-check about these.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Source } from "../../vitviz/viewer/data/source.js";
import { FORMS, ITEMS, layersOf, lookOf, reasonOf } from "../../vitviz/viewer/lessons/check.js";
import { originOf } from "../../vitviz/viewer/lessons/course.js";
import { experimentIn, experimentsOf } from "../../vitviz/viewer/lessons/experiments.js";
import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { read } from "../../vitviz/viewer/state/experiment.js";
import { wordsOf } from "../../vitviz/viewer/teaching/selfcheck.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { hostOnly } from "./fixture.js";
import { appOf, visitStep } from "./walk.js";

const folder = process.argv[2];
const opened = new Map();

async function open(model, example) {
  const place = join(folder, model + "-" + example);
  if (!opened.has(place)) {
    const manifest = JSON.parse(readFileSync(join(place, "manifest.json"), "utf8"));
    const bytes = (path) => Uint8Array.from(readFileSync(join(place, path))).buffer;
    const late = async (_, { name }) => ({ data: readFileSync(join(place, name)).toString("base64") });
    const source = new Source(
      manifest,
      async ({ path }) => bytes(path),
      hostOnly(late),
      () => {},
    );
    await source.loaded(false);
    opened.set(place, source);
  }
  return opened.get(place);
}

/** An experiment of a lesson for a source, when the map that it needs has come. */
async function experimentFor(text, source) {
  for (let tries = 0; tries < 400; tries++) {
    const found = experimentIn(text, source);
    if (found) return found;
    if (found === undefined) break;
    await new Promise((done) => {
      setTimeout(done, 5);
    });
  }
  throw new Error("no experiment " + text);
}

/** The experiments that a step speaks of: their texts for this source, by those of the lesson. */
async function experimentsFor(step, source) {
  const texts = experimentsOf(step, source.manifest.model);
  return Object.fromEntries(
    await Promise.all(texts.map(async (text) => [text, await experimentFor(text, source)])),
  );
}

if (process.argv[3] === "experiments") {
  const wanted = new Map();
  for (const lesson of LESSONS) {
    for (const step of lesson.steps) {
      const origin = originOf(lesson, step);
      if (experimentsOf(step, { depth: 1 }).length === 0) continue;
      for (const [asked, text] of Object.entries(
        await experimentsFor(step, await open(origin.model, origin.example)),
      )) {
        const name = origin.example + "~" + text;
        wanted.set(origin.model + "/" + name, { ...origin, name, asked, interventions: read(text) });
      }
    }
  }
  process.stdout.write(JSON.stringify([...wanted.values()]));
  process.exit(0);
}

if (process.argv[3] === "check") {
  const asked = [];
  for (const name of process.argv.slice(4)) {
    const [model, example] = name.split("/");
    const app = /** @type {any} */ (appOf(await open(model, example)));
    await Promise.all(layersOf(app).map((layer) => app.source.store.ensure(layer)));
    for (const item of ITEMS) {
      for (const form of FORMS) {
        const words = wordsOf(app, item, form);
        asked.push({
          model,
          example,
          item: item.id,
          form,
          lesson: item.lesson,
          ...words,
          right: reasonOf(item, words.key),
          at: lookOf(app, item[form]).at,
        });
      }
    }
  }
  process.stdout.write(JSON.stringify(asked));
  process.exit(0);
}

const found = [];
for (const lesson of LESSONS) {
  for (const [at, step] of [
    ...(lesson.recall ? [/** @type {const} */ ([-1, lesson.recall])] : []),
    ...lesson.steps.entries(),
  ]) {
    const { model, example } = originOf(lesson, step);
    const source = await open(model, example);
    const experiments = await experimentsFor(step, source);
    const analyses = Object.fromEntries(
      await Promise.all(
        Object.entries(experiments).map(async ([text, experiment]) => [
          text,
          await open(model, example + "~" + experiment),
        ]),
      ),
    );
    // which can stand beside only with the truth
    const own = experiments[step.state?.experiment ?? step.reveal?.state?.experiment];
    const beside = own ? example + "~" + own : (step.state?.beside?.replace("example-", "") ?? null);
    const other = beside ? await open(model, beside) : null;
    const outcomes = { of: (text) => analyses[text], retry() {} };
    for (const language of Object.keys(STRINGS)) {
      const app = appOf(source, { language, other, outcomes });
      found.push({
        language,
        model,
        example,
        beside,
        experiments,
        ...(await visitStep(app, lesson, at + 1)),
      });
    }
  }
}
process.stdout.write(JSON.stringify(found));
