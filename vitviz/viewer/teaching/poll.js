/** The poll: codes of a class, typed or pasted, become a picture of what it guessed, beside the truth. */

import { countsOf, lengthOf, middleOf, readCodes, rightOf } from "../lessons/codes.js";
import { optionsOf, paintable } from "../lessons/steps.js";
import { createDialog } from "../parts/dialog.js";
import { el, setText, show } from "../parts/dom.js";
import { createMarked } from "../parts/marked.js";
import { strongest } from "../maths/attention.js";
import { optionText, stepText, titleOf, written } from "../text/lesson.js";
import { button } from "../parts/widgets.js";
import { createPolls } from "./polls.js";
import { createGathering } from "./room.js";

const SOON_MS = 200; // until an answer that is being worked out is asked for again

/**
 * @param {import("../main.js").App} app  in the step whose guesses are collected
 * @returns {HTMLDialogElement}
 */
export function createPoll(app) {
  const { t, course } = app;
  const question = course.question();
  const field = el("textarea", {
    rows: 4,
    spellcheck: "false",
    autocapitalize: "characters",
    maxlength: 10_000,
    oninput: draw,
  });
  const count = el("p", { class: "vv-note", role: "status" });
  const wrong = el("ul", { class: "vv-poll-wrong" });
  const figure = el("div", { class: "vv-poll-figure" });
  const truth = button({
    text: t("lessonReveal"),
    pressed: false,
    onClick() {
      revealed = !revealed;
      truth.setAttribute("aria-pressed", String(revealed));
      if (revealed) room?.close(); // who sees the answer does not vote any more
      draw();
    },
  });
  let [revealed, later] = [false, 0];
  const polls = app.teaching.room?.teacher ? createPolls(app) : null;
  const room = polls && createGathering(app, draw);
  const typed = el(
    "label",
    {},
    el("span", { class: "vv-note", text: t("pollCodes", { count: lengthOf(app) }) }),
    field,
  );
  const dialog = createDialog(
    t,
    t("poll"),
    "vv-help vv-poll",
    el("p", {
      class: "vv-lesson-question",
      text: titleOf(app, course.lesson()) + ": " + (stepText(app, "question") ?? ""),
    }),
    ...(room ? [room.root, count, figure, typed, wrong] : [typed, count, wrong, figure]),
    el("div", { class: "vv-lesson-buttons" }, truth),
    el("p", { class: "vv-note", text: t(room ? "pollHelpRoom" : "pollHelp") }),
    ...(polls ? [polls.root] : []),
  );
  dialog.addEventListener("close", () => {
    room?.stop();
    dialog.remove();
  }); // nothing is kept
  draw();
  return dialog;

  function draw() {
    const found = readCodes(app, field.value);
    const guesses = [...found.guesses, ...(room?.guesses() ?? [])];
    setText(
      count,
      t("pollCount", { count: guesses.length }) +
        (found.more > 0 ? " " + t("pollMore", { more: found.more }) : ""),
    );
    wrong.replaceChildren(...found.wrong.map(({ code, key }) => el("li", { text: t(key, { code }) })));
    show(wrong, found.wrong.length > 0);
    show(figure, guesses.length > 0);
    const known = revealed ? course.truth() : null;
    clearTimeout(later);
    if (revealed && known === null && dialog.isConnected) later = setTimeout(draw, SOON_MS);
    const drawn = ({ choose: bars, number: line }[question.kind] ?? maps)(guesses, known ?? null);
    const told = (known ?? null) !== null;
    const right = told && guesses.length ? rightCount(guesses, known) : null;
    const score = right && el("p", { class: "vv-poll-score", text: t(right.key, right.values) });
    figure.replaceChildren(...(score ? [score] : []), ...drawn);
    if (room?.heard()) polls.record(guesses, told ? truthText(known) : "", right);
  }

  function rightCount(guesses, known) {
    const right = rightOf(app, guesses, known);
    return question.kind === "patches"
      ? { key: "pollShared", values: { right: right.toFixed(1), count: paintable(question, app.source) } }
      : { key: "pollRight", values: { right, count: guesses.length } };
  }

  /** The truth in words, where it is a word or a number. */
  function truthText(known) {
    if (question.kind === "choose") return optionText(app, known);
    return question.kind === "number" ? written(app, question, known) : "";
  }

  /** Two maps: how often the class guessed each patch, and beside it the truth. */
  function maps(guesses, known) {
    const { grid } = app.source;
    const counts = countsOf(guesses, grid);
    const drawn = [
      picture(t("pollClass"), counts, (patch) => (counts[patch] ? String(counts[patch]) : ""), []),
    ];
    if (known) {
      const best = strongest(known, question.kind === "patch" ? 1 : paintable(question, app.source));
      drawn.push(
        picture(
          t("pollModel"),
          Array.from(known, (value) => Math.max(0, value)),
          () => "",
          best,
        ),
      );
    }
    return drawn;
  }

  function picture(title, values, textOf, framed) {
    const largest = Math.max(...values) || 1;
    return el(
      "figure",
      {},
      el("figcaption", { text: title }),
      createMarked(
        app.source,
        "vv-poll-picture",
        values.map((value, patch) => ({
          token: patch + app.source.grid.prefix,
          class: framed.includes(patch) ? "vv-poll-box vv-guess-truth" : "vv-poll-box",
          text: textOf(patch),
          style: { background: "rgb(255 122 61 / " + ((0.85 * value) / largest).toFixed(3) + ")" },
        })),
      ),
    );
  }

  /** How many chose each option; the right one is marked. */
  function bars(guesses, known) {
    return [
      el(
        "ul",
        { class: "vv-poll-bars" },
        ...optionsOf(question, app.source).map((option) => {
          const number = guesses.filter((guess) => guess === option).length;
          const fill = el("span", { class: "vv-fill" });
          fill.style.width = (guesses.length ? (100 * number) / guesses.length : 0) + "%";
          const right = known === option;
          return el(
            "li",
            { class: right ? "vv-poll-right" : "" },
            el("span", { text: optionText(app, option) + (right ? " ✓ " + t("lessonModel") : "") }),
            el("span", { class: "vv-track", "aria-hidden": "true" }, fill),
            el("b", { text: String(number) }),
          );
        }),
      ),
    ];
  }

  /** All numbers on one line, one dot for each. */
  function line(guesses, known) {
    const [low, high] = [
      Math.min(question.min, known ?? question.min),
      Math.max(question.max, known ?? question.max),
    ];
    const place = (value) => (100 * (value - low)) / (high - low) + "%";
    const pile = new Map(); // dots at nearly the same place stand on each other
    const dots = guesses.map((value) => {
      // A guess beyond the line stands at its end.
      const column = Math.round((60 * (Math.min(Math.max(value, low), high) - low)) / (high - low));
      const above = pile.get(column) ?? 0;
      pile.set(column, above + 1);
      const dot = el("span", { class: "vv-poll-dot" });
      Object.assign(dot.style, { left: (100 * column) / 60 + "%", bottom: 0.7 * above + "em" });
      return dot;
    });
    const mark = known === null ? null : el("span", { class: "vv-poll-truth" });
    if (mark) mark.style.left = place(known);
    const rail = el("div", { class: "vv-poll-line", "aria-hidden": "true" }, ...dots, mark);
    rail.style.height = 0.7 * Math.max(4, ...pile.values()) + 1 + "em";
    const ends = el(
      "div",
      { class: "vv-ends" },
      ...[low, high].map((value) => el("span", { text: written(app, question, value) })),
    );
    const words = [
      t("pollMiddle", { middle: guesses.length ? written(app, question, rounded(middleOf(guesses))) : "–" }),
      ...(known === null ? [] : [t("pollTruth", { truth: written(app, question, known) })]),
    ];
    return [el("div", {}, rail, ends, el("p", { text: words.join(" ") }))];
  }

  /** Counts are whole, however fine a code is. */
  function rounded(value) {
    return course.unit(question.truth) === "count" ? Math.round(value) : value;
  }
}
