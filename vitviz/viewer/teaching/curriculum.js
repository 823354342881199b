/**
 * The curriculum: the built-in lessons and the own one, their list, and the way to their pictures.
 */

import { createCheck } from "../lessons/check.js";
import { createCourse, stepLink } from "../lessons/course.js";
import { LESSONS } from "../lessons/index.js";
import { createOutcomes } from "../lessons/outcomes.js";
import { createShelf } from "../lessons/shelf.js";
import { guessBook, lessonBook, recordBook } from "../state/memory.js";
import { knowsLessons, learnLessons } from "../text/latetexts.js";
import { createCalls } from "./calls.js";
import { createLessonList } from "./lessonlist.js";
import { createMoments } from "./moments.js";

/** Pause before texts that could not be loaded are asked for again: the host tells each failure. */
const AGAIN_MS = 20_000;

/**
 * The part of the app that has the lessons.
 * @param {import("../main.js").App} app
 * @param {import("../types.js").Host} host
 * @param {Parameters<typeof createOutcomes>[0]} results  of an experiment in a lesson
 * @param {import("../state/photos.js").PhotoStore} photos
 * @param {() => Storage} storage
 * @param {HTMLElement} root  gets the list of lessons, and where the class is
 * @param {() => void} render
 */
export function createCurriculum(
  app,
  { address = null, go = null, taken = null, texts = null, room = null },
  results,
  photos,
  storage,
  root,
  render,
) {
  const shelf = createShelf(lessonBook(storage), () => address?.read() ?? null, taken?.lesson ?? null);
  const guesses = guessBook(storage, taken?.guesses);
  const moments = createMoments(guesses, Boolean(room?.teacher));
  const travels = Boolean(go && address);
  const lessons = [...LESSONS]; // and the own one
  shelve();
  const course = createCourse(
    app,
    lessons,
    guesses,
    photos,
    travel,
    createOutcomes(results, taken?.outcomes ?? {}, render),
    render,
  );
  // lost: the language whose texts could not be loaded, until they may be asked for again
  let [coming, lost] = [/** @type {Promise<string>|null} */ (null), ""];
  let until = 0;
  return {
    shelf,
    guesses,
    records: recordBook(storage),
    room,
    moments,
    calls: room && createCalls(app, room, guesses, moments, root, render),
    // opens the key of a lesson
    forTeacher: Boolean(address) && new URL(address.read()).searchParams.get("key") === "true",
    check: createCheck(guesses),
    travels,
    course,
    collect,
    openLessons,
    speaksLessons,
  };

  /**
   * Whether the texts of lessons are loaded. If not, fetches them, and draws the page again afterwards.
   */
  function speaksLessons() {
    if (!knowsLessons(app.language) && (lost !== app.language || Date.now() > until))
      fetchTexts().then(render);
    return knowsLessons(app.language);
  }

  async function fetchTexts() {
    const { language } = app;
    // who chose another language meanwhile waits for the first, and asks again
    coming ??= learnLessons(language, texts)
      .then((here) => (here ? "" : language))
      .finally(() => {
        coming = null;
      });
    lost = await coming;
    until = Date.now() + AGAIN_MS;
  }

  /** Puts the own lesson after the others, where there is one. */
  function shelve() {
    const own = shelf.played();
    lessons.splice(LESSONS.length, 1, ...(own ? [own] : []));
  }

  /** The collected lesson has changed; it may be the open one. */
  function collect(lesson, whole = false) {
    shelf.put(lesson, whole);
    shelve();
    if (app.source) app.select({});
    render();
  }

  /** Opens a step of a lesson with the model and the picture that it was written for, where the host can. */
  function travel(origin) {
    if (!travels) return false;
    go(linkTo(origin));
    return true;
  }

  function linkTo(origin) {
    return stepLink(address.read(), origin, { lang: app.language, projector: app.taste.projector });
  }

  async function openLessons() {
    await fetchTexts();
    // those of another language may have been on their way
    if (!knowsLessons(app.language) && lost !== app.language) await fetchTexts();
    if (!knowsLessons(app.language)) return; // the host has said why
    root.querySelector(".vv-lesson-list")?.remove();
    const dialog = createLessonList(app, lessons, travels ? linkTo : null);
    root.append(dialog);
    dialog.showModal();
  }
}
