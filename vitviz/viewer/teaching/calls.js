/** Calls: the teacher calls a class to a step; a banner on pupils' pages names it, and its button opens it. */

import { OWN } from "../lessons/own.js";
import { CARD, firstOf } from "../lessons/steps.js";
import { el, setText, show } from "../parts/dom.js";
import { button, entitle } from "../parts/widgets.js";
import { titleOf } from "../text/lesson.js";
import { heard, replyText } from "./room.js";

/** Pause between two requests for the call of the class. */
const LOOK_MS = 4000;
/** Key of the call that the pupil of this device has followed or put away. */
const KEPT = "class/call";

/** @typedef {{lesson: string, step: number, call: string}} Call  call: its random number, eight hex digits */

/**
 * The state of a page: the call of its class, and whether its pupil has followed it.
 * @param {import("../types.js").Room} room
 * @param {{recall: (key: string) => any, keep: (key: string, entry: any) => void}} notebook
 * @param {import("./moments.js").Moments} moments
 */
export function createCallState(room, notebook, moments) {
  let [run, call] = ["", /** @type {Call|null} */ (null)]; // run: of the app, another after a restart
  const state = {
    call: () => call,
    /** The call that a pupil has neither followed nor put away. */
    open: () => (call && notebook.recall(KEPT) !== call.call ? call : null),
    done: () => notebook.keep(KEPT, call?.call),
    /** Requests the call of the class. After a restart of the app the teacher's page says what it forgot. */
    async look() {
      const before = { run, call };
      const reply = await state.ask({ do: "called" });
      const forgotten = reply && !call && before.call && before.run !== run;
      if (!room.teacher || !reply) return;
      const { teacher } = room;
      if (forgotten) await state.ask({ do: "call", ...before.call, teacher });
      const since = moments.counting();
      if (since > reply.since) await state.ask({ do: "called", teacher, since });
    },
    /** Calls the class to a step. @param {string} lesson @param {number} step */
    bring: (lesson, step) =>
      state.ask({ do: "call", lesson, step, call: randomHex(), teacher: room.teacher }),
    async ask(question) {
      const reply = await heard(room.ask(question));
      if (reply?.run) [run, call] = [reply.run, reply.call];
      moments.hear(reply);
      return reply;
    },
  };
  return state;
}

const randomHex = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );

/**
 * Requests the call of the class for as long as the page is visible. A pupil's page shows it in a banner.
 * @param {import("../main.js").App} app
 * @param {import("../types.js").Room} room
 * @param {Parameters<typeof createCallState>[1]} notebook
 * @param {import("./moments.js").Moments} moments
 * @param {HTMLElement} root
 * @param {() => void} render  draws the page
 */
export function createCalls(app, room, notebook, moments, root, render) {
  const state = createCallState(room, notebook, moments);
  const text = el("p", {});
  const go = button({ onClick: follow });
  go.classList.add("vv-main");
  const away = button({
    text: "✕",
    onClick() {
      /** @type {HTMLElement|null} */ (root.querySelector(".vv-frame"))?.focus({ preventScroll: true });
      state.done();
      draw();
    },
  });
  const banner = el("div", { class: "vv-called", role: "status", hidden: true }, text, go, away);
  let [timer, turn] = [setTimeout(look, 0), 0];
  document.addEventListener("visibilitychange", again);
  if (!room.teacher) root.append(banner);
  return {
    call: state.call,
    bring: (lesson, step) => state.bring(lesson, step).finally(render),
    render: draw,
    stop() {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", again);
    },
  };

  function again() {
    clearTimeout(timer);
    if (!document.hidden) look();
  }

  async function look() {
    const mine = ++turn; // a page that is seen again looks at once, while an earlier look may be on its way
    const before = [state.call()?.call, moments.since()].join();
    await state.look();
    if (!root.isConnected || mine !== turn) return;
    if (!document.hidden) timer = setTimeout(look, LOOK_MS);
    if ([state.call()?.call, moments.since()].join() !== before) render();
    else if (state.open()) draw(); // the texts of lessons may have failed to come
  }

  function draw() {
    const { selection } = app;
    const call = state.call();
    if (call && selection?.lesson === call.lesson && selection.step === stepOf(app, call)) state.done();
    const open = app.source && !room.teacher ? state.open() : null;
    const told = open !== null && app.teaching.speaksLessons();
    if (told) {
      setText(text, placeText(app, "calledTo", "calledStart", open));
      setText(go, app.t("callGo"));
      entitle(away, app.t("callAway"));
    }
    show(banner, told);
    banner.style.marginBottom = told ? above(root.querySelector(".vv-lesson > .vv-lesson-buttons")) : "";
  }

  function follow() {
    const call = state.call();
    state.done();
    show(banner, false);
    app.course.start(call.lesson, stepOf(app, call));
    /** @type {HTMLElement|null} */ (root.querySelector(".vv-lesson-title"))?.focus({ preventScroll: true });
  }
}

/** The margin with which a banner stands above buttons that stick to the end of the window; "" elsewhere. */
function above(buttons) {
  const { bottom = 0, height = 0 } = buttons?.getBoundingClientRect() ?? {};
  return bottom > innerHeight - height && bottom <= innerHeight + 1 ? height + 8 + "px" : "";
}

const lessonOf = ({ course }, { lesson }) => course.lessons.find(({ id }) => id === lesson);

/** The step of a call; a lesson that recalls nothing has no step 0. */
const stepOf = (app, call) => Math.max(firstOf(lessonOf(app, call)), call.step);

/** The step of a call in words; step 0 is what the lesson recalls. */
function placeText(app, numbered, recalled, call) {
  const [step, lesson] = [stepOf(app, call), titleOf(app, lessonOf(app, call))];
  return app.t(step > 0 ? numbered : recalled, { step, lesson });
}

/** The teacher's button that brings all to the open step. @param {import("../main.js").App} app */
export function createCalling(app) {
  const { t, course } = app;
  const { room, calls } = app.teaching;
  const said = el("p", { class: "vv-note", role: "status" });
  const bring = button({ text: t("callBring"), title: t("callBringTitle"), onClick: call });
  const root = el("div", { class: "vv-calling", hidden: true }, bring, said);
  let failure = ""; // of the last press
  let last = calls?.call()?.call;
  return { root, render };

  async function call() {
    failure = "";
    const reply = await calls.bring(course.lesson().id, course.number());
    if (!reply?.run) failure = replyText(app, reply, "", t("callLost"));
    render();
  }

  function render() {
    show(root, Boolean(room?.teacher) && course.lesson().id !== OWN && course.step().id !== CARD);
    const known = calls?.call() ?? null;
    if (known?.call !== last) [last, failure] = [known?.call, ""];
    setText(said, failure || (known ? placeText(app, "callBrought", "callBroughtStart", known) : ""));
  }
}
