/** The course: which lesson and step is open, what was guessed in it, and whether the truth is shown. */

import { derived } from "../state/derivedapp.js";
import { experimentIn, experimentsOf } from "./experiments.js";
import {
  CARD,
  atOf,
  besideOf,
  firstOf,
  gapOf,
  isGuess,
  paintable,
  painted,
  stateOf,
  stepAt,
  stepIn,
  subjectOf,
} from "./steps.js";
import { OPERATED } from "../state/experiment.js";
import { HOSTS } from "../state/link.js";
import { lookIn, lookOf } from "../maths/photolevels.js";
import { TRUTHS, holds, truthOf } from "./truths.js";

/** @typedef {ReturnType<typeof createCourse>} Course */

/**
 * The part of the app that holds a lesson. What is open stands in the selection (`lesson`, `step`), so it
 * is in the history and in links; guesses are kept on the device.
 * @param {import("../main.js").App} app
 * @param {import("./steps.js").Lesson[]} lessons
 * @param {{recall: (key: string) => any, keep: (key: string, entry: any) => void,
 *   of: (lesson: string) => Record<string, any>}} notebook
 * @param {import("../state/photos.js").PhotoStore} photos
 * @param {(origin: {model: string, example: string, lesson: string, step: number}) => boolean} travel  opens
 *   another picture or model; false where it cannot
 * @param {import("./outcomes.js").Outcomes} outcomes
 * @param {() => void} render
 */
export function createCourse(app, lessons, notebook, photos, travel, outcomes, render) {
  const lesson = () => lessons.find(({ id }) => id === app.selection?.lesson) ?? null;
  const number = () => app.selection.step;
  const isShown = (origin) => isFrom(origin, app.source.manifest);
  const step = () => stepIn(stepAt(lesson(), number()), app.source);
  const question = () => step()?.question ?? null;
  const isOfPatches = () => ["patch", "patches"].includes(question()?.kind);
  // A guess belongs to a question about one picture in one model. Photos of the visitor's own often share a
  // name (image.jpg from every camera of a phone): they go by their ids.
  const photoKey = () => photos.idOf(app.source.manifest) || app.source.manifest.photo.name;
  const key = () => [lesson().id, step().id, ...subjectOf(app.source.manifest), photoKey()].join("/");
  const entry = () => (question() && notebook.recall(key())) || {};
  const value = (/** @type {import("./truths.js").Operand} */ { truth, at }) =>
    truthOf(truth, app.source, course.at(at), other(), outcomeOf);

  const course = {
    lessons,
    lesson,
    step,
    number,
    question,
    value,
    /** @param {string} name  of a truth */
    unit: (name) => TRUTHS[name].unit,
    /** The arguments for the truths of the step. @param {any} [more]  fields of one of them */
    at: (more) => atOf(step(), app.source, app.shape(), more),
    count: () => lesson()?.steps.length ?? 0,
    first: () => firstOf(lesson()),
    closed: () => step()?.id === CARD, // all steps are done, and the card with their findings is open
    found: () => foundIn(lesson(), notebook),
    /** The guesses of the lesson as a page of this analysis alone finds them, where the photo has no id. */
    guesses() {
      const [ending, there] = [photoKey(), app.source.manifest.photo.name].map((name) => "/" + name);
      return Object.fromEntries(
        Object.entries(notebook.of(lesson().id)).map(([name, guess]) => [
          name.endsWith(ending) ? name.slice(0, -ending.length) + there : name,
          guess,
        ]),
      );
    },
    following: () => lessons[lessons.indexOf(lesson()) + 1] ?? null, // in the list
    /** The names of controls that are shown; null outside of lessons: all. */
    shows() {
      if (!lesson()) return null;
      return (course.revealed() && step().reveal?.shows) || step().shows || [];
    },
    /** The tokens with letters, a first. */
    marks: () => (step() ? (atOf(step(), app.source, app.shape()).marks ?? []) : []),
    /** The present guess, perhaps not complete; undefined if there is none. */
    guess: () => entry().guess,
    complete: () => question() !== null && isGuess(question(), course.guess(), app.source),
    revealed: () => Boolean(entry().shown) && course.complete(),
    /** The truth of the open question: see `Truth`. */
    truth: () => (question().kind === "write" ? "" : value(question())),
    /** Whether the visitor has closed or exchanged what the step put beside, which its truth compares with. */
    moved: () => wantedBeside() !== "" && app.selection.beside !== wantedBeside(),
    /** Why the truth cannot be worked out, where something went wrong; null where nobody failed. */
    failure: () =>
      experimentsOf(step(), app.source.manifest.model)
        .map((text) => outcomes.failure(text, app.source))
        .find(Boolean) ?? (wantedBeside() === "" ? null : (app.second?.error ?? null)),
    retry() {
      outcomes.retry();
      if (course.moved()) app.select({ beside: wantedBeside() });
      else if (app.second?.error) app.second.retry();
      render();
    },
    gap: () => gapOf(question(), course.guess(), course.truth(), app.source.grid),
    /** Whether a sentence about this analysis holds; undefined without one. */
    holds: () => (step()?.claim ? holds(step().claim, value) : undefined),
    /** Whether the lesson was written for what is shown. */
    atHome: () => isShown(course.origin()),
    origin: () => originOf(lesson(), step()),
    /**
     * A copy of the app in another step of the lesson, to read the texts and truths of that step. The copy
     * stores nothing, and has no analysis beside.
     * @param {number} at
     * @returns {import("../main.js").App}
     */
    inStep(at) {
      const selection = {
        ...app.selection,
        ...stateOf(stepIn(stepAt(lesson(), at), app.source), app.source, app.shape()),
        step: at,
        beside: "",
      };
      const members = { selection, course: app.course };
      const there = derived(app, members);
      members.course = createCourse(
        there,
        lessons,
        { recall: () => undefined, keep() {}, of: () => ({}) },
        photos,
        () => false,
        outcomes,
        () => {},
      );
      return there;
    },
    /**
     * The passes after the experiments of all steps about this picture, by their texts: null while one is
     * computed.
     * @returns {Record<string, import("./outcomes.js").Outcome["manifest"]["pass"]>|null}
     */
    outcomes: () =>
      outcomesOf(
        lesson()
          .steps.filter((lessonStep) => isShown(originOf(lesson(), lessonStep)))
          .flatMap((lessonStep) => experimentsOf(lessonStep, app.source.manifest.model)),
        outcomeOf,
      ),
    /**
     * The fields that a step still lacks, because the map that its experiment needs has only now come; null
     * if none.
     */
    missed() {
      const wanted = step()?.state?.experiment;
      if (!wanted || app.selection.experiment !== "" || !app.shape().besides.includes(OPERATED)) return null;
      const experiment = experimentIn(wanted, app.source);
      return experiment ? { experiment, beside: step().state.beside } : null;
    },
    /** Why the pupil thinks it is so, in their own words; kept with the guess. */
    because: () => entry().because ?? "",
    explain: (because) => notebook.keep(key(), { ...entry(), because }),
    put(guess) {
      notebook.keep(key(), { guess });
      render();
    },
    /** Whether a tap on the picture is a guess now. */
    takes: () => isOfPatches() && !course.revealed(),
    /** Whether guess and truth are drawn on the picture. */
    draws: () => isOfPatches() && course.revealed(),
    take(token) {
      if (token < app.source.grid.prefix) return;
      const { kind } = question();
      course.put(
        kind === "patch" ? token : painted(course.guess() ?? [], token, paintable(question(), app.source)),
      );
    },
    /** @param {[string, string]} [words]  the question and the gap, in words for the end of the lesson */
    reveal(words) {
      if (!course.complete()) return;
      notebook.keep(key(), { guess: course.guess(), shown: true, ...(words ? { told: words } : {}) });
      app.select(shownState() ?? {});
      render();
    },
    /** Forgets the guess, so that the question is asked again. */
    again() {
      notebook.keep(key(), undefined);
      app.select(stateOf(step(), app.source, app.shape()));
      render();
    },
    /** Opens a step; steps are counted from 1, what is recalled is 0, and the card is behind the last one. */
    go(wanted) {
      open(lesson(), Math.min(course.count() + 1, Math.max(course.first(), wanted)));
    },
    start(id, at = firstOf(lessons.find((wanted) => wanted.id === id))) {
      open(
        lessons.find((wanted) => wanted.id === id),
        at,
      );
    },
    leave: () => app.select({ lesson: "", step: 1 }),
    /** The fields of the open step, for a picture that has just come: its truth may be known. */
    arrival: () => ({
      ...stateOf(step(), app.source, app.shape()),
      ...(course.revealed() ? shownState() : {}),
    }),
    home: () => travel({ ...course.origin(), lesson: lesson().id, step: number() }),
  };
  return course;

  /**
   * The analysis that the truths of the step compare with: the outcome of its experiment, or the analysis
   * beside.
   */
  function other() {
    const { experiment, beside } = step()?.state ?? {};
    if (experiment) return outcomeOf(experiment);
    const isMissing = beside && (wantedBeside() === "" || course.moved() || app.second?.error);
    return isMissing ? undefined : (app.facing()?.source ?? null);
  }

  /** The key of the analysis that the truths of the step compare with; "" without one. */
  function wantedBeside() {
    const { experiment, beside = "" } = step()?.state ?? {};
    const { besides } = app.shape();
    const key = experiment ? "" : besideOf({ beside }, besides);
    return besides.includes(key) ? key : "";
  }

  /** @type {import("./truths.js").OutcomeOf} */
  function outcomeOf(text) {
    const { beside, experiment } = app.selection;
    // The analysis beside is not requested again.
    if (beside === OPERATED && !app.second?.error && experiment === experimentIn(text, app.source)) {
      return app.second?.coming ? null : (app.facing()?.source ?? null);
    }
    return outcomes.of(text, app.source);
  }

  function shownState() {
    const { state } = step().reveal ?? {};
    return state && stateOf({ ...step(), state: { ...step().state, ...state } }, app.source, app.shape());
  }

  function open(next, at) {
    outcomes.retry();
    const there = stepAt(next, at);
    const now = lesson() === next ? originOf(next, step()) : {};
    const named = originOf(next, there);
    const origin =
      lesson() === next && changesPhoto(next, at) && isShown(named)
        ? { ...named, ...unusedIn(next, app.shape()) }
        : named;
    // A picture of the visitor's own stays, as long as the lesson does not change to another one.
    if (
      HOSTS.some((name) => origin[name] !== now[name]) &&
      !isShown(origin) &&
      travel({ ...origin, lesson: next.id, step: at })
    )
      return;
    app.select({ ...stateOf(stepIn(there, app.source), app.source, app.shape()), lesson: next.id, step: at });
    if (course.revealed()) app.select(shownState() ?? {});
  }
}

/** Whether a step begins with a photo that is neither that of its lesson nor that of the step before. */
export function changesPhoto(lesson, number) {
  const [before, now] = [number - 1, number].map((at) => originOf(lesson, lesson.steps[at - 1]));
  return (
    number <= lesson.steps.length &&
    now.example !== lesson.example &&
    HOSTS.every((name) => (now[name] === before[name]) === (name !== "example"))
  );
}

/** An example that no step of a lesson is about, where the host has one. @returns {{example?: string}} */
function unusedIn(lesson, { besides }) {
  const used = [null, ...lesson.steps].map((step) => "example-" + originOf(lesson, step).example);
  const [key] = besides.filter((name) => name.startsWith("example-") && !used.includes(name));
  return key ? { example: key.slice("example-".length) } : {};
}

function outcomesOf(texts, outcomeOf) {
  const found = [...new Set(texts)].map((text) => /** @type {const} */ ([text, outcomeOf(text)]));
  if (found.some(([, outcome]) => outcome === null)) return null;
  return Object.fromEntries(
    found
      .filter(([, outcome]) => outcome)
      .map(([text, { manifest }]) => {
        const { predictions, probabilities } = manifest.pass;
        return [text, { predictions, probabilities }];
      }),
  );
}

/**
 * The entries of the steps whose truth was revealed: question and answer in the words of that moment, and the
 * pupil's own reason.
 * @returns {{told: [string, string], because?: string}[]}
 */
function foundIn({ id, steps }, notebook) {
  const entries = Object.entries(notebook.of(id)).filter(([, { told: words }]) => Array.isArray(words));
  return steps
    .map((step) => [step, ...Object.values(step.instead ?? {})].map(({ id: name }) => name))
    .map((ids) => entries.findLast(([key]) => ids.includes(key.split("/")[1]))?.[1])
    .filter(Boolean);
}

/**
 * Compares by the fields of the host; a page of one analysis has only names.
 * @param {any} origin
 * @param {import("../types.js").Manifest} manifest
 */
function isFrom(origin, { link, model: { name, key }, photo }) {
  if (link) return HOSTS.every((name) => link[name] === origin[name]);
  return (
    name === origin.model &&
    photo.name.replace(/\.[^.]*$/, "") === origin.example &&
    key.untrained === Boolean(origin.untrained) &&
    JSON.stringify(lookOf(photo)) === JSON.stringify(lookIn(origin))
  );
}

/**
 * Model and example of a step, by default those of its lesson, and the other fields for the host that the
 * step sets.
 */
export function originOf({ model, example }, step) {
  const { state = {} } = step ?? {};
  const more = HOSTS.filter((name) => Object.hasOwn(state, name)).map((name) => [name, String(state[name])]);
  return /** @type {import("../state/link.js").Origin} */ ({ model, example, ...Object.fromEntries(more) });
}

/**
 * The link that opens a step with nothing left to the page: model, picture, language, projector.
 * @param {string} href  of the present page
 * @param {import("../state/link.js").Origin & {lesson: string, step: number}} origin
 * @param {{lang?: string, projector?: boolean}} page
 * @returns {string}
 */
export function stepLink(href, { step, ...origin }, { lang = "", projector = false } = {}) {
  const url = new URL(href);
  url.search = "";
  const fields = {
    ...origin,
    step: String(step),
    ...(lang ? { lang } : {}),
    ...(projector ? { projector: "true" } : {}),
  };
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
  return url.href;
}
