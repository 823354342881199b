/** The lesson bar: the sentences of a step, its question, and after the guess the gap to the truth. */

import { CODE } from "../lessons/codelines.js";
import { hasCodes } from "../lessons/codes.js";
import { changesPhoto } from "../lessons/course.js";
import { el, setText, show } from "../parts/dom.js";
import { createFraming } from "../stage/framing.js";
import { createCalling } from "./calls.js";
import { createFigure } from "./figure.js";
import { createInput } from "./inputs.js";
import { openPaper } from "./paper.js";
import { createPoll } from "./poll.js";
import { createBallot } from "./room.js";
import { gapText, stepText, sayings, titleOf } from "../text/lesson.js";
import { reasonOf } from "../text/refusal.js";
import { allow, button, entitle } from "../parts/widgets.js";
import { keyIsReady, sheetIsReady, worksheet } from "./worksheet.js";

/** A sentence of the pupil's own is cut after so many letters. */
const MOST_BECAUSE = 200;

/** Parts of a step's text that are shown when the truth is. */
const AFTER = ["why", "claim", "slip"];

/**
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void, destroy: () => void}}
 */
export function createLessonBar(app) {
  const { t, course } = app;
  const title = el("h3", { class: "vv-lesson-title", tabindex: "-1" });
  const where = el("span", { class: "vv-lesson-where" });
  const leave = button({ text: "✕", title: t("lessonLeave"), onClick: () => course.leave() });
  const elsewhere = el("p", { class: "vv-note" });
  const home = button({ text: t("lessonHome"), onClick: () => course.home() });
  const text = el("div", { class: "vv-lesson-text" });
  const lines = el("pre", { class: "vv-lesson-lines", tabindex: "0" });
  const question = el("p", { class: "vv-lesson-question" });
  const answer = el("div", { class: "vv-lesson-answer" });
  const play = button({ text: t("lessonPlay"), onClick: () => app.page.play(course.step().play) });
  const figure = createFigure(app);
  const ballot = createBallot(app, () => render());
  const waiting = el("p", { class: "vv-note" });
  const retry = button({
    text: t("tryAgain"),
    onClick() {
      title.focus({ preventScroll: true });
      course.retry();
    },
  });
  const gap = el("p", { class: "vv-lesson-gap" });
  const after = Object.fromEntries(AFTER.map((name) => [name, el("p", { class: "vv-lesson-" + name })]));
  const because = el("input", {
    type: "text",
    maxlength: MOST_BECAUSE,
    oninput: () => course.explain(because.value),
  });
  const why = el("label", { class: "vv-lesson-because" }, el("span", { text: t("lessonBecause") }), because);
  // A screen reader reads the truth when it appears.
  const truth = el("div", { class: "vv-lesson-truth", role: "status" }, gap, ...Object.values(after));
  const back = button({ text: t("lessonBack"), onClick: () => move(-1) });
  const reveal = button({
    text: t("lessonReveal"),
    onClick: () => {
      const value = course.complete() && !ballot.waits() ? course.truth() : null;
      // a hidden button says by ARIA alone that the truth is not there yet
      if (value !== null && value !== undefined) course.reveal([question.textContent, gapText(app, value)]);
    },
  });
  const again = button({
    text: t("lessonAgain"),
    onClick() {
      course.again();
      (answer.querySelector("input, textarea, button") ?? title).focus({ preventScroll: true });
    },
  });
  const next = button({ text: t("lessonNext"), onClick: () => move(1) });
  for (const main of [reveal, play]) main.classList.add("vv-main");
  const others = button({ text: t("lessonOthers"), onClick: () => app.teaching.openLessons() });
  const [teacher, framing, calling] = [createTeacher(app), createFraming(app), createCalling(app)];
  const card = createCard(app);
  const root = el(
    "section",
    { class: "vv-lesson", "aria-label": t("lesson"), hidden: true },
    el("header", { class: "vv-lesson-head" }, title, where, leave),
    el("div", { class: "vv-lesson-elsewhere" }, elsewhere, home),
    text,
    framing.root,
    card.root,
    lines,
    play,
    question,
    answer,
    figure.root,
    ballot.root,
    waiting,
    retry,
    truth,
    why,
    el("div", { class: "vv-lesson-buttons" }, back, reveal, again, next, others),
    calling.root,
    teacher.root,
  );
  // the step whose texts and inputs are drawn, its input: {root, render}, and its words
  let [drawn, input, heard] = ["", null, ""];
  return { root, render, destroy: ballot.stop };

  function move(by) {
    if (!course.closed() || by < 0) course.go(course.number() + by);
    else if (course.following()) course.start(course.following().id);
    else return course.leave();
    return title.focus({ preventScroll: true });
  }

  function render() {
    const lesson = course.lesson();
    show(root, lesson !== null);
    if (!lesson) ballot.stop();
    if (!lesson) return;
    if (app.teaching.speaksLessons()) renderStep(lesson);
    else setText(title, t("lessonLoading"));
  }

  function renderStep(lesson) {
    const [step, current] = [course.step(), course.question()];
    const value = current && course.truth();
    const revealed = course.revealed() && value !== null && value !== undefined;
    setText(title, titleOf(app, lesson));
    setText(where, placeText(app));
    setText(
      elsewhere,
      changesPhoto(lesson, course.number()) && !app.teaching.travels
        ? t("lessonNoOther")
        : course.atHome()
          ? ""
          : t("lessonElsewhere"),
    );
    show(elsewhere, elsewhere.textContent !== "");
    show(home, !course.atHome() && app.teaching.travels);
    paragraphs(text, stepText(app, "") ?? t("lessonLoading"));
    card.render();
    if (renderPhoto(framing, course, revealed)) arrive(); // it has pushed the question down
    setText(lines, CODE[step.code] ?? "");
    show(lines, step.code !== undefined);
    setText(question, (current && stepText(app, "question")) ?? "");
    show(question, current !== null && value !== undefined);
    const said = text.textContent + question.textContent;
    if (said !== heard && !revealed) arrive(); // so do words that come late
    heard = said;
    figure.render(revealed, current === null || value !== undefined);
    build(lesson, step, current);
    show(answer, current !== null && value !== undefined && input !== null);
    input?.render(revealed);
    show(play, Boolean(step.play && app.page.play));
    renderWaiting(current, value);
    ballot.render();
    renderTruth(revealed, value);
    renderButtons(current, revealed, value);
    calling.render();
    teacher.render();
  }

  /** Says why there is no truth yet, and offers what helps. */
  function renderWaiting(current, value) {
    const isMissing = current !== null && value === undefined;
    const [failure, moved] = isMissing ? [course.failure(), course.moved()] : [null, false];
    show(retry, failure || moved);
    setText(retry, t(moved ? "lessonPutBack" : "tryAgain"));
    const reason = failure && reasonOf(failure, app.language).replace(/\.$/, "");
    if (moved) setText(waiting, t("lessonMoved"));
    else if (failure) setText(waiting, t("lessonFailed", { reason }));
    else if (isMissing) setText(waiting, t("lessonCannot"));
    else setText(waiting, value === null && current && course.complete() ? t("lessonWaiting") : "");
    show(waiting, waiting.textContent !== "");
  }

  function renderTruth(revealed, value) {
    const parts = revealed ? sayings(app) : {};
    const before = truth.textContent;
    setText(gap, revealed ? gapText(app, value) : "");
    for (const name of AFTER) setText(after[name], parts[name] ?? "");
    for (const node of [gap, ...Object.values(after)]) show(node, node.textContent !== "");
    truth.classList.toggle("vv-told", revealed);
    show(why, revealed && course.question().kind !== "write");
    if (document.activeElement !== because) because.value = course.because();
    // words that come late would end behind the buttons
    if (revealed && document.activeElement === next && truth.textContent !== before) tellOf();
  }

  function renderButtons(current, revealed, value) {
    const open = current !== null && value !== undefined && !revealed;
    const held = document.activeElement === reveal;
    show(others, course.closed());
    show(back, course.number() > course.first());
    show(reveal, open);
    reveal.setAttribute("aria-disabled", String(!(course.complete() && value !== null && !ballot.waits())));
    show(again, revealed);
    const onward = onwardText(app, open);
    entitle(next, onward, onward);
    next.classList.toggle("vv-main", !open);
    if (!held || open) return;
    next.focus({ preventScroll: true });
    tellOf();
  }

  function tellOf() {
    onScreen([why, truth, ...evidence()]);
  }

  /** Makes the input of a step; the one of the picture needs none but a line that counts. */
  function build(lesson, step, current) {
    const key = [lesson.id, step.id, app.source.manifest.pass.id].join("/");
    if (key === drawn) return;
    drawn = key;
    input = current && createInput(app, current);
    answer.replaceChildren(...(input ? [input.root] : []));
    arrive();
  }

  function arrive() {
    onScreen([title, text, question, answer, ...evidence()]);
  }

  /** The nodes of this bar that the step is about; the bar itself, if that is the panel below it. */
  function evidence() {
    const { dataset } = figure.root;
    if (dataset.figure === "code") return [answer.querySelector(".vv-lesson-right") ?? lines];
    if (dataset.figure === "photo") return [framing.root];
    if (dataset.figure === "panel") return [root];
    return figure.root.hidden ? [] : [figure.root];
  }
}

/**
 * Scrolls the last of these nodes into view, under the picture on a phone too, once the next frame has laid
 * out the step.
 */
function onScreen(nodes) {
  requestAnimationFrame(() => nodes.forEach((node) => node.scrollIntoView({ block: "nearest" })));
}

/**
 * Shows the whole photo, with a frame around the part that the model saw; its share appears after the guess.
 * Returns true if the photo has just become visible.
 */
function renderPhoto({ root, render }, course, revealed) {
  const { hidden } = root;
  const wanted = course.shows().includes("photo");
  if (wanted) render();
  else show(root, false);
  root.classList.toggle("vv-untold", wanted && !revealed);
  return hidden && !root.hidden;
}

/** The place of a step in its lesson, in words. */
function placeText({ t, course }) {
  if (course.closed()) return t("lessonFound");
  return course.number() === 0
    ? t("lessonRecall")
    : t("lessonStep", { step: course.number(), count: course.count() });
}

/** The text of the button that goes on: to a step, the card after the last one, or another lesson. */
function onwardText(app, open) {
  const { t, course } = app;
  if (!course.closed()) return t(open ? "lessonSkip" : "lessonNext");
  return course.following()
    ? t("lessonFollowing", { lesson: titleOf(app, course.following()) })
    : t("lessonDone");
}

function paragraphs(node, words) {
  const wanted = words.split("\n");
  if ([...node.children].map((child) => child.textContent).join("\n") === wanted.join("\n")) return;
  node.replaceChildren(...wanted.map((text) => el("p", { text: text })));
}

/** The card at the end: each question with what was guessed, what is, and the pupil's own reason. */
function createCard({ t, course }) {
  const root = el("ol", { class: "vv-lesson-found" });
  return { root, render };

  function render() {
    const entries = course.closed() ? course.found() : [];
    show(root, entries.length > 0);
    root.replaceChildren(
      ...entries.map(({ told: [question, gap], because }) =>
        el(
          "li",
          {},
          el("p", { class: "vv-note", text: question }),
          el("p", { text: gap }),
          because ? el("p", { class: "vv-note", text: t("lessonOwn", { because }) }) : null,
        ),
      ),
    );
  }
}

/** Buttons for teachers: the lesson on paper, and its key. */
function createTeacher(app) {
  const { t } = app;
  const make = (text, title, key) =>
    button({
      text,
      title,
      onClick: () => {
        if (isReady(key)) openPaper(worksheet(app, key));
      },
    });
  const sheet = make(t("lessonSheet"), t("lessonSheetTitle"), false);
  const key = make(t("lessonKey"), t("lessonKeyTitle"), true);
  const poll = button({
    text: t("poll"),
    title: t("pollTitle"),
    onClick() {
      const dialog = createPoll(app);
      root.append(dialog);
      dialog.showModal();
    },
  });
  const root = el(
    "details",
    { class: "vv-lesson-teacher" },
    el("summary", { text: t("lessonTeacher") }),
    el("div", { class: "vv-lesson-buttons" }, sheet, key, poll),
    el("p", { class: "vv-note", text: t("lessonPrint") }),
  );
  root.open = app.teaching.forTeacher;
  root.addEventListener("toggle", () => render());
  return { root, render };

  /** The answers are fetched only for somebody who looks. After a change of language the texts come later. */
  function render() {
    if (!app.course.lesson()) return;
    show(poll, hasCodes(app) && app.teaching.speaksLessons());
    if (!root.open) return;
    allow(sheet, isReady(false));
    allow(key, isReady(true));
  }

  function isReady(withKey) {
    return app.teaching.speaksLessons() && (withKey ? keyIsReady(app) : sheetIsReady(app));
  }
}
