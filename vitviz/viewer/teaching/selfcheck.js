/**
 * The self-check on the screen: a line in the list of lessons, its questions in a dialog one by one, and the
 * difference between both rounds.
 */

import {
  ITEMS,
  LEVELS,
  ROUNDS,
  isRight,
  keyOf,
  layersOf,
  lookOf,
  ordersOf,
  reasonOf,
  scoreOf,
} from "../lessons/check.js";
import { HANDED, checkCode, marksOf, numbersOf } from "../lessons/checkcodes.js";
import { LESSONS } from "../lessons/index.js";
import { markOf } from "../lessons/own.js";
import { el, setText, show } from "../parts/dom.js";
import { createMarked } from "../parts/marked.js";
import { allow, button, choice, entitle } from "../parts/widgets.js";
import { titleOf } from "../text/lesson.js";
import { heard, replyText } from "./room.js";

/** @typedef {import("../main.js").App} App @typedef {import("../lessons/check.js").Round} Round */

/**
 * The line of the list of lessons.
 * @param {App} app
 * @param {(dialog: HTMLDialogElement) => void} open
 */
export function createCheckLine(app, open) {
  const { t } = app;
  const { check } = app.teaching;
  const rounds = {
    before: button({
      text: t("check.before"),
      title: t("check.beforeTitle"),
      onClick: () => begin("before"),
    }),
    after: button({
      text: t("check.after"),
      title: t("check.afterTitle"),
      onClick: () => check.done("before") && begin("after"),
    }),
  };
  const again = button({ text: t("check.again"), onClick: () => ask(true) });
  const named = (key, onClick) => button({ text: t(key), onClick });
  const yes = named("check.againYes", () => {
    check.clear();
    ask(false);
  });
  const confirmation = el(
    "div",
    { role: "alert", hidden: true },
    el("p", { text: t("check.againAsk") }),
    el(
      "div",
      { class: "vv-lesson-buttons" },
      yes,
      named("check.againNo", () => ask(false)),
    ),
  );
  const first = el("p", { class: "vv-note", text: t("check.afterFirst") });
  const root = el(
    "section",
    { class: "vv-check-line", "aria-label": t("check.title") },
    el("b", { text: t("check.title") }),
    el("p", { class: "vv-note", text: t("check.intro") }),
    el("div", { class: "vv-lesson-buttons" }, rounds.before, rounds.after, again),
    first,
    confirmation,
  );
  draw();
  return root;

  function begin(round) {
    if (app.source) open(createSelfCheck(app, round));
  }

  function ask(asking) {
    show(confirmation, asking);
    draw();
    (asking ? yes : rounds.before).focus();
  }

  function draw() {
    allow(rounds.after, check.done("before"));
    show(first, !check.done("before"));
    show(again, check.begun());
  }
}

/**
 * @param {App} app
 * @param {Round} round
 * @returns {HTMLDialogElement}
 */
function createSelfCheck(app, round) {
  const { t } = app;
  const { check } = app.teaching;
  let at = Math.min(check.open(round), ITEMS.length);
  const title = el("h3", {
    tabindex: "-1",
    text: t("check.title") + ": " + t(round === "before" ? "check.before" : "check.after"),
  });
  const where = el("span", { class: "vv-lesson-where" });
  const body = el("div", { class: "vv-check-body" }, el("p", { class: "vv-note", text: t("lessonLoading") }));
  const back = button({ text: t("lessonBack"), onClick: () => move(at - 1) });
  const next = button({ text: t("lessonNext"), onClick: go });
  next.classList.add("vv-main");
  const foot = el("div", { class: "vv-lesson-buttons" }, back, next);
  const dialog = el(
    "dialog",
    { class: "vv-help vv-check", "aria-label": title.textContent },
    el(
      "div",
      { class: "vv-help-head" },
      title,
      where,
      button({ text: "✕", title: t("close"), onClick: () => dialog.close() }),
    ),
    body,
    foot,
  );
  dialog.addEventListener("close", () => dialog.remove()); // the answers are stored
  show(foot, false);
  Promise.all([
    app.source.picture.fetch(),
    ...layersOf(app).map((layer) => app.source.store.ensure(layer)),
  ]).then(
    () => move(at),
    () => body.replaceChildren(el("p", { role: "alert", text: t("check.lost") })),
  );
  return dialog;

  function go() {
    if (!check.complete(round, at)) return missing();
    const form = ITEMS[at][check.form(round)];
    check.settle(round, at, keyOf(form, lookOf(app, form)));
    // Behind the last one what is still open comes, then the end.
    return move(at + 1 < ITEMS.length ? at + 1 : check.open(round));
  }

  /** On a small screen it may lie below. */
  function missing() {
    const first = [...body.querySelectorAll("fieldset")].find(
      (fieldset) => !fieldset.querySelector(":checked"),
    );
    first.scrollIntoView({ block: "nearest" });
    first.querySelector("input").focus();
  }

  function move(to) {
    at = to;
    draw();
    body.scrollTop = 0;
    title.focus({ preventScroll: true });
  }

  function draw() {
    const over = at === ITEMS.length;
    setText(where, over ? "" : t("check.progress", { at: at + 1, count: ITEMS.length }));
    show(foot, !over);
    show(back, at > 0);
    const onward = t(at + 1 === ITEMS.length ? "lessonDone" : "lessonNext");
    entitle(next, onward, onward);
    body.replaceChildren(...(over ? ending() : question()));
    if (!over) allow(next, check.complete(round, at));
  }

  function question() {
    const item = ITEMS[at];
    const entry = check.entry(round, at);
    const order = ordersOf(check.seed())[round][at];
    const words = wordsOf(app, item, check.form(round));
    const put = (more) => {
      check.put(round, at, more);
      allow(next, check.complete(round, at));
    };
    const asks = (label, part, options) => {
      const bar = choice({ label, wrap: true, options, onChoose: (value) => put({ [part]: value }) });
      bar.set(entry[part]);
      if (part !== "sure") bar.root.classList.add("vv-lesson-sentences");
      return bar.root;
    };
    return [
      el(
        "div",
        { class: words.marks ? "vv-check-item vv-check-pictured" : "vv-check-item" },
        words.marks && picture(app, words.marks),
        el("p", { class: "vv-lesson-question", text: words.question }),
        el(
          "div",
          { class: "vv-check-tiers" },
          asks(
            t("check.answer"),
            "answer",
            order.answer.map((place) => words.options[place]),
          ),
          asks(
            t("check.reason"),
            "reason",
            order.reason.map((place) => words.reasons[place]),
          ),
        ),
        asks(
          t("check.sure"),
          "sure",
          LEVELS.map((level, value) => ({ value, text: t("check.level_" + level) })),
        ),
      ),
    ];
  }

  /**
   * The end of a round. The first round reveals nothing that would teach; the second reveals everything.
   */
  function ending() {
    if (round === "before") return [el("p", { role: "status", text: t("check.kept") })];
    const choices = { before: check.choices("before"), after: check.choices("after") };
    const [before, after] = ROUNDS.map((name) => marksOf(choices[name]));
    const [first, last] = [before, after].map(scoreOf);
    const code = checkCode({ form: check.form("before"), seed: check.seed(), ...choices });
    const words = {
      count: ITEMS.length,
      before: first.right,
      after: last.right,
      sureBefore: first.sureWrong,
      sureAfter: last.sureWrong,
      controlBefore: first.control,
      controlAfter: last.control,
      untaught: ITEMS.filter(({ kind }) => kind === "control").length,
    };
    return [
      el("p", { class: "vv-lesson-gap", role: "status", text: t("check.result", words) }),
      el("p", { class: "vv-note", text: t("check.resultHelp") }),
      el("ol", {}, ...ITEMS.map((item, place) => answered(item, before[place], after[place]))),
      el("p", {}, t("check.code") + " ", el("output", { class: "vv-lesson-code", text: code })),
      el("p", { class: "vv-note", text: t("check.codeHelp") }),
      handing(app, code),
    ].filter(Boolean);
  }

  function answered(item, before, after) {
    const form = check.form("after");
    const { question: title, options, reasons, key } = wordsOf(app, item, form);
    const named = (list, wanted) => list.find(({ value }) => value === wanted).text;
    const lesson = LESSONS.find(({ id }) => id === item.lesson);
    const open = () => {
      dialog.close();
      app.course.start(item.lesson);
    };
    return el(
      "li",
      {},
      el("b", { text: itemTitle(app, item) }),
      el("p", { text: title }),
      el("p", { class: "vv-check-right", text: t("check.right", { answer: named(options, key) }) }),
      el("p", { text: t("check.because", { reason: named(reasons, reasonOf(item, key)) }) }),
      el("p", {
        class: "vv-note",
        text: t("check.was", { before: markText(t, before), after: markText(t, after) }),
      }),
      lesson
        ? button({
            text: t("check.lesson", { lesson: titleOf(app, lesson) }),
            title: t("check.lessonTitle"),
            onClick: open,
          })
        : el("p", { class: "vv-note", text: t("check.untaught") }),
    );
  }
}

/**
 * The voter that hands in a code: another one for every code, because pupils can share a device, and a class
 * keeps one answer of each voter.
 * @param {string} voter  of the device @param {string} code @returns {string} 16 hexadecimal digits
 */
export const voterOf = (voter, code) =>
  ["a", "b"]
    .map((half) =>
      parseInt(markOf(half + voter + code), 36)
        .toString(16)
        .padStart(8, "0"),
    )
    .join("");

/** Hands a code to the class of the room; null where there is none. @param {App} app @param {string} code */
function handing(app, code) {
  const { t } = app;
  const { room } = app.teaching;
  if (!room || room.teacher) return null;
  const said = el("p", { class: "vv-note", role: "status" });
  const hand = button({ text: t("check.hand"), title: t("check.handTitle"), onClick: send });
  return el("div", {}, el("div", { class: "vv-lesson-buttons" }, hand), said);

  async function send() {
    const sent = { do: "vote", voter: voterOf(room.voter, code), question: HANDED, guess: numbersOf(code) };
    const reply = await heard(room.ask(sent));
    setText(said, replyText(app, reply, t("check.handed"), t("check.silent")));
  }
}

/**
 * The title of a question; it says so if the question is about something that no lesson has shown.
 * @param {App} app
 * @param {import("../lessons/check.js").Item} item
 */
export function itemTitle({ t }, { id, kind }) {
  const question = t("check." + id);
  return kind === "taught" ? question : t("check.kind_" + kind, { question });
}

function markText(t, mark) {
  return t(
    "check.mark_" + (isRight(mark) ? "both" : mark.answer ? "answer" : mark.reason ? "reason" : "none"),
  );
}

/**
 * A question in words, with the numbers of the analysis on the screen.
 * @param {App} app  with the layers that are asked about
 * @param {import("../lessons/check.js").Item} item
 * @param {"a"|"b"} name
 */
export function wordsOf(app, item, name) {
  const { t } = app;
  const form = item[name];
  const look = lookOf(app, form);
  return {
    key: keyOf(form, look),
    marks: form.marks?.(look) ?? null,
    question: t(["check." + item.id, name, "question"].join("_"), form.values?.(look)),
    options: Object.entries(form.options).map(([value, number]) => ({
      value,
      text: t(["check." + item.id, "option", value].join("_"), { value: number?.(look) }),
    })),
    reasons: form.reasons.map((value) => ({
      value,
      text: t(["check." + item.id, name, "reason", value].join("_")),
    })),
  };
}

/** The picture that the model saw, with letters on the patches of the question. */
function picture({ source }, tokens) {
  const root = createMarked(
    source,
    "vv-check-picture",
    tokens.map((token, at) => ({ token, class: "vv-guess-mark", text: "AB"[at] })),
  );
  root.setAttribute("aria-hidden", "true");
  return root;
}
