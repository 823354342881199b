/** Walks through lessons without a page: an app with a source, and what each step asks, finds and says. */

import { createCourse } from "../../vitviz/viewer/lessons/course.js";
import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { optionsOf, paintable } from "../../vitviz/viewer/lessons/steps.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { guessBook } from "../../vitviz/viewer/state/memory.js";
import { PhotoStore } from "../../vitviz/viewer/state/photos.js";
import { startSelection, validSelection } from "../../vitviz/viewer/state/state.js";
import { gapText, optionText, stepText, sayings } from "../../vitviz/viewer/text/lesson.js";
import { translator } from "../../vitviz/viewer/text/words.js";

/** An app as the course and the texts of lessons see it; `travelled` has the steps that it was sent to. */
export function appOf(
  source,
  {
    other = null,
    language = "en",
    storage = () => {
      throw new Error("no storage");
    },
    besides = ["untrained", "example-dog", "example-goldfish", "experiment"],
    brought = {},
    photos = new PhotoStore(),
    outcomes = { of: () => ({ manifest: source.manifest }), retry() {} },
  } = {},
) {
  const shape = () => ({ ...source.shape, panels: PANELS, besides, lessons: LESSONS });
  const app = {
    source,
    language,
    t: translator(language),
    shape,
    travelled: [],
    teaching: { travels: true },
    selection: startSelection(shape()),
    facing: () => other && { source: other },
    select(wanted) {
      app.selection = validSelection(wanted, app.selection, shape());
    },
  };
  app.course = createCourse(
    app,
    LESSONS,
    guessBook(storage, brought),
    photos,
    (origin) => {
      app.travelled.push(origin);
      return false;
    },
    outcomes,
    () => {},
  );
  return app;
}

/** Opens a step as a link does, after its layers have come. */
export async function openStep(app, lesson, number) {
  await Promise.all(
    [...Array(app.source.manifest.model.depth).keys()].map((layer) => app.source.store.ensure(layer)),
  );
  app.select({ lesson: lesson.id, step: number });
  app.select(app.course.arrival());
}

/** The truth of the open question, when everything that it needs has come. */
export async function truthOf(app, read = () => app.course.truth()) {
  for (let tries = 0; tries < 200; tries++) {
    const found = read();
    if (found !== null) return found;
    await new Promise((done) => {
      setTimeout(done, 5);
    });
  }
  throw new Error("it never came: " + app.selection.lesson + ", step " + app.selection.step);
}

/** A guess for the open question: the first possible one. */
export function anyGuess({ course, source }) {
  const question = course.question();
  const { prefix } = source.grid;
  if (question.kind === "patch") return prefix;
  if (question.kind === "patches")
    return Array.from({ length: paintable(question, source) }, (_, at) => prefix + at);
  if (question.kind === "choose") return optionsOf(question, source)[0];
  return question.min;
}

/** What a step says, asks and finds, in all its words. */
export async function visitStep(app, lesson, number) {
  await openStep(app, lesson, number);
  const { course } = app;
  const step = course.step();
  const found = {
    lesson: lesson.id,
    step: step.id,
    asked: [],
    claim: step.claim ?? null,
    range: step.question?.kind === "number" ? [step.question.min, step.question.max] : null,
    truth: null,
    holds: null,
    texts: {},
  };
  const bounds = [step.claim?.above, step.claim?.below].filter((bound) => typeof bound === "object");
  for (const operand of [step.question, step.claim, ...bounds, ...Object.values(step.values ?? {})]) {
    if (!operand) continue;
    const value = await truthOf(app, () => course.value(operand));
    // JSON has no -Infinity, which stands for a patch that does not count.
    const told = ArrayBuffer.isView(value)
      ? Array.from(/** @type {any} */ (value), (one) => (one === -Infinity ? -2 : one))
      : (value ?? null);
    found.asked.push({ truth: operand.truth, at: course.at(operand.at), value: told });
  }
  const words = { says: stepText(app, "") };
  if (course.question()) {
    const truth = await truthOf(app);
    found.truth = found.asked[0].value;
    if (step.claim) found.holds = (await truthOf(app, () => course.holds())) ?? null;
    words.question = stepText(app, "question");
    if (course.question().options)
      words.options = optionsOf(course.question(), app.source)
        .map((option) => optionText(app, option))
        .join(" / ");
    if (found.truth !== null) {
      course.put(anyGuess(app));
      course.reveal();
      Object.assign(words, { gap: gapText(app, truth) }, sayings(app));
    }
    course.again();
  }
  found.texts = words;
  return found;
}
