/**
 * Polls: what the class has guessed until now, question by question. They are on the teacher's device until a
 * new class begins.
 */

import { el, setText, show } from "../parts/dom.js";
import { csvFile, download } from "../parts/download.js";
import { button } from "../parts/widgets.js";
import { optionText, stepText, titleOf, written } from "../text/lesson.js";
import { photoName, tokenName } from "../text/words.js";
import { questionOf } from "../lessons/codes.js";
import { OWN } from "../lessons/own.js";

const KEPT = "class/polls";
const SAME_MS = 3 * 3_600_000; // votes within a morning are of one class; who comes later begins a poll anew
const COLUMNS = ["first", "lesson", "step", "picture", "question", "answer", "guess", "votes"];

/**
 * @typedef {{key: string, values: Record<string, string|number>}} Right  a text
 * @typedef {{first: string, at: number, id: string, lesson: string, step: number, picture: string, question: string,
 *   answer: string, right: Right|null, votes: [string, number][]}} Poll  first: when it was opened; at: when it last
 *   changed; id: of the lesson, whose title is in the language of the vote, as all words of the table are; votes:
 *   each guess in words, and how many made it; right: null while the answer was not shown
 */

/** The polls, by their questions. @param {import("../main.js").App} app @returns {Record<string, Poll>} */
const pollsOf = ({ teaching: { guesses } }) => guesses.recall(KEPT) ?? {};

/** Forgets all polls. @param {import("../main.js").App} app */
export const forgetPolls = ({ teaching: { guesses } }) => guesses.keep(KEPT, undefined);

/** Forgets the poll of the open question. @param {import("../main.js").App} app */
export function forgetPoll(app) {
  const question = questionOf(app);
  const others = Object.entries(pollsOf(app)).filter(([known]) => known !== question);
  app.teaching.guesses.keep(KEPT, Object.fromEntries(others));
}

/** Number of guesses. @param {Poll} poll */
const sizeOf = ({ votes }) => votes.reduce((total, [, count]) => total + count, 0);

/** A guess in words. */
function guessText(app, guess) {
  const question = app.course.question();
  if (question.kind === "choose") return optionText(app, guess);
  if (question.kind === "number") return written(app, question, guess);
  return [guess]
    .flat()
    .map((token) => tokenName(token, app))
    .join("; ");
}

/** One row for each guess of a poll. @param {Poll[]} polls @returns {import("../maths/csv.js").Table} */
const pollTable = (polls) => ({
  columns: COLUMNS,
  rows: polls.flatMap(({ first, lesson, step, picture, question, answer, votes }) =>
    votes.map(([guess, count]) => [first, lesson, step, picture, question, answer, guess, count]),
  ),
});

/**
 * The list of the polls of the hour, which goes on as guesses come.
 * @param {import("../main.js").App} app  in the step whose guesses are collected
 */
export function createPolls(app) {
  const { t, course } = app;
  const summary = el("summary", {});
  const body = el("tbody");
  const cells = (tag, texts) => texts.map((text) => el(tag, { text: String(text) }));
  const root = el(
    "details",
    { class: "vv-lesson-teacher" },
    summary,
    el(
      "table",
      { class: "vv-check-table" },
      el("thead", {}, el("tr", {}, ...cells("th", [t("pollsStep"), t("pollsGuesses"), t("pollsRight")]))),
      body,
    ),
    el(
      "div",
      { class: "vv-lesson-buttons" },
      button({ text: t("pollsCsv"), title: t("pollsCsvTitle"), onClick: save }),
    ),
    el("p", { class: "vv-note", text: t("pollsHelp") }),
  );
  let isOurs = false; // the poll that is kept is that of this dialog
  draw();
  return { root, record };

  /**
   * Stores the poll of the open question. A poll that was opened again begins without its typed codes, and
   * after a restart of the app without votes. The stored poll is therefore replaced only when there are as
   * many guesses again; if it is older than `SAME_MS`, already by the first guess.
   * @param {any[]} guesses
   * @param {string} answer  the truth in words; "" while it is not shown
   * @param {Right|null} right  how many are right; null while it is not shown
   */
  function record(guesses, answer, right) {
    const polls = pollsOf(app);
    const question = questionOf(app);
    const { [question]: known, ...others } = polls;
    const isOld = !known || !(Date.now() - known.at < SAME_MS);
    isOurs ||= !known || guesses.length >= sizeOf(known) || (isOld && guesses.length > 0);
    const told = {
      answer: answer || known?.answer || "",
      right: right ?? (answer ? null : (known?.right ?? null)),
    };
    if (!isOurs) {
      if (answer || right) app.teaching.guesses.keep(KEPT, { ...others, [question]: { ...known, ...told } });
      draw();
      return;
    }
    const counts = new Map();
    for (const text of guesses.map((guess) => guessText(app, guess)))
      counts.set(text, (counts.get(text) ?? 0) + 1);
    const poll = {
      first: (isOld ? null : known?.first) ?? new Date().toISOString(),
      at: Date.now(),
      id: course.lesson().id,
      lesson: titleOf(app, course.lesson()),
      step: course.number(),
      picture: photoName(app),
      question: stepText(app, "question") ?? "",
      ...told,
      votes: [...counts],
    };
    app.teaching.guesses.keep(KEPT, guesses.length > 0 ? { ...others, [question]: poll } : others);
    draw();
  }

  function draw() {
    const polls = Object.values(pollsOf(app));
    setText(summary, t("polls", { count: polls.length }));
    body.replaceChildren(
      ...polls.map((poll) =>
        el("tr", {}, ...cells("td", [lessonText(poll) + ", " + poll.step, sizeOf(poll), rightText(poll)])),
      ),
    );
    show(root, polls.length > 0);
  }

  /** In the language of the page, where the lesson is one of vitviz. */
  function lessonText({ id, lesson }) {
    const known = id !== OWN && course.lessons.find((other) => other.id === id);
    return known ? titleOf(app, known) : lesson;
  }

  function rightText({ right }) {
    return right?.key ? t(right.key, right.values) : "–";
  }

  function save() {
    download(csvFile(pollTable(Object.values(pollsOf(app)))), "vitviz-polls.csv");
  }
}
