/**
 * A class in one room, where the host has one: pupils' pages send their guesses, the teacher's page shows
 * them as they come.
 */

import { codeOf, guessFrom, hasCodes, lengthOf, plainOf, questionOf } from "../lessons/codes.js";
import { originOf, stepLink } from "../lessons/course.js";
import { OWN } from "../lessons/own.js";
import { el, setText, show } from "../parts/dom.js";
import { svg } from "../parts/svg.js";
import { button, entitle } from "../parts/widgets.js";
import { forgetPoll, forgetPolls } from "./polls.js";
import { reasonOf, refusalOf } from "../text/refusal.js";

/** STILL_MS: time that a number must stay unchanged before it is sent; AGAIN_MS: pause before a retry. */
const STILL_MS = 400;
const AGAIN_MS = 5000;
/** WAIT_MS: pause between two requests whether the answer is open yet; LOST_MS: timeout of any request. */
const WAIT_MS = 1500;
const LOST_MS = 3500;
/** Between two looks of the teacher's page. */
const LOOK_MS = 1000;
/** How long the button of a new class asks whether it is meant. */
const ASK_MS = 5000;
/** Light modules around a QR code, which its readers need. */
const MARGIN = 4;

/**
 * Hands a pupil's guess to the class: shows its code, and in a room a line about the delivery. A new guess is
 * sent by itself. A guess from an earlier visit is sent only while the teacher shows the vote and the app has
 * no guess of this pupil, as after a restart. A guess from before the vote was emptied, or from before a new
 * class began, is sent only at the press of a button. A guess that was made after the answer was seen is
 * never sent.
 * @param {import("../main.js").App} app
 * @param {() => void} changed  the answer is kept back from now on, or no longer
 * @returns {{root: HTMLElement, render: () => void, waits: () => boolean, stop: () => void}}  waits: the teacher has
 *   not opened the answer yet; stop: nobody sees the question any more
 */
export function createBallot(app, changed) {
  const { t } = app;
  const { room, moments } = app.teaching;
  const line = el("p", { class: "vv-note vv-ballot-said", role: "status" });
  const resend = button({ onClick: sendAnew });
  resend.classList.add("vv-ballot-again");
  const code = el("output", { class: "vv-lesson-code" });
  const letters = el("p", { class: "vv-note" });
  const codes = el("details", {}, el("summary", { class: "vv-note", text: t("pollCode") }), code, letters);
  const root = el("div", {}, line, resend, codes);
  // the question, the guess that was sent or is being sent, and whether the teacher shows its vote
  let [open, held, timer, waits] = ["", "", 0, false];
  // a guess is on its way; when the teacher had last emptied a vote
  let [sending, known] = [false, 0];
  const isLate = room && createMemory(room, moments);
  show(line, false);
  show(resend, false);
  return { root, render, waits: () => waits, stop };

  function stop() {
    clearTimeout(timer);
    [open, waits, sending] = ["", false, false]; // what is on its way is for no question
  }

  function render() {
    const { course } = app;
    const complete = hasCodes(app) && course.complete();
    show(codes, complete);
    if (complete) setText(code, codeOf(app, course.guess()));
    if (complete) setText(letters, t("pollCodeHelp", { count: lengthOf(app) }));
    if (room && !room.teacher && hasCodes(app)) follow(complete);
    else tell("");
  }

  /** Says something about the delivery; nothing if it is "". */
  function tell(text, anew = false) {
    setText(line, text);
    show(line, text !== "");
    if (anew) setText(resend, t("roomAgain"));
    show(resend, anew);
  }

  /** Sends the guess when it is another one than before; asks what became of it when votes were emptied. */
  function follow(complete) {
    const { course } = app;
    const question = questionOf(app);
    const guess = complete ? JSON.stringify(plainOf(app, course.guess())) : "";
    const arrived = question !== open;
    const shown = course.revealed();
    const late = isLate(question, shown);
    const emptied = moments.since() > known;
    known = moments.since();
    if (!arrived && guess === held) {
      if (emptied && !late) tell("");
      if (emptied && guess && !late && !shown && !sending) again(ask, 0);
      return;
    }
    [open, held, waits, sending] = [question, guess, waits && !arrived, false];
    tell(late && guess && !shown ? t("roomLate") : "");
    clearTimeout(timer);
    if (!guess || late) return;
    if (arrived) again(ask, 0);
    else sendSoon(course.question().kind === "number" ? STILL_MS : 0);
  }

  /** Sends a guess that the pupil has just made: without a moment it counts in any case. */
  function sendSoon(pause) {
    sending = true;
    moments.guessed(open);
    again(send, pause, {});
  }

  function sendAnew() {
    tell("");
    sendSoon(0);
  }

  /** @param {(question: string, guess: string, by: object) => any} what @param {number} pause @param {object} [by] */
  function again(what, pause, by = { at: moments.of(open) }) {
    clearTimeout(timer);
    timer = setTimeout(what, pause, open, held, by);
  }

  /** @param {string} question @param {string} guess @param {object} by  its moment, if the page sends it by itself */
  async function send(question, guess, by) {
    sending = true;
    const reply = await heard(
      room.ask({ do: "vote", voter: room.voter, question, guess: JSON.parse(guess), ...by }),
    );
    moments.hear(reply);
    if (reply?.counted) moments.guessed(question, reply.at);
    if (question !== open || guess !== held) return undefined;
    sending = !reply?.counted && !reply?.anew;
    if (reply?.anew) return ask(question, guess, by);
    tell(replyText(app, reply, t("roomSent"), t("roomLost")));
    if (sending) again(send, AGAIN_MS);
    return hold(question, Boolean(reply?.waits));
  }

  /**
   * Keeps the answer back while the teacher shows the vote.
   * @param {string} question
   * @param {boolean} now
   * @param {boolean} [anew]  the guess is from before the vote was emptied
   */
  function hold(question, now, anew = false) {
    const before = [waits, resend.hidden].join();
    waits = now;
    if (anew) tell(t("roomAnew"), true);
    else if (now) tell(t("roomWait"));
    if (now) again(ask, WAIT_MS);
    if ([waits, resend.hidden].join() === before) return;
    changed();
    (anew ? resend : line).scrollIntoView({ block: "nearest" }); // on a phone it is behind the buttons
  }

  /**
   * Ask the app whether the answer is still kept back. Without a reply the pupil no longer waits, and the
   * page asks again later. A guess that the app has lost is sent again, unless it is from before the vote was
   * emptied.
   */
  async function ask(question, guess, by) {
    const reply = await heard(room.ask({ do: "wait", voter: room.voter, question, ...by }));
    moments.hear(reply);
    if (question !== open || guess !== held) return undefined;
    const now = Boolean(reply?.waits);
    const anew = Boolean(reply?.anew);
    if (now && !reply.counted && !anew) return send(question, guess, by);
    if (waits && !now && !anew) tell(t(reply ? "roomShown" : "roomLost"));
    else if (reply?.counted && !resend.hidden) tell(t("roomSent")); // from another tab
    hold(question, now, anew);
    if (!reply) again(ask, AGAIN_MS);
    return undefined;
  }
}

/**
 * Remembers which answers this device has shown, for each class that uses it: who has seen one votes no more.
 * @param {import("../types.js").Room} room @param {import("./moments.js").Moments} moments
 * @returns {(question: string, shown: boolean) => boolean}  whether it was shown in this class; `shown`: it is now
 */
function createMemory(room, moments) {
  let last = ""; // the question whose answer stands there; it may be that of a class before
  return (question, shown) => {
    const entry = question + "@" + moments.began();
    if (shown && question !== last) room.answered.add(entry);
    last = shown ? question : "";
    return room.answered.has(entry);
  };
}

/**
 * The vote on the teacher's page, beside typed codes, for as long as a dialog is open.
 * @param {import("../main.js").App} app  in the step whose guesses are collected
 * @param {() => void} draw  the guesses have changed
 * @returns {{root: HTMLElement, guesses: () => any[], heard: () => boolean, stop: () => void,
 *   close: () => void}}  heard: the class has answered once
 */
export function createGathering(app, draw) {
  const { t } = app;
  const { room, moments } = app.teaching;
  const question = questionOf(app);
  const state = el("p", { class: "vv-note" });
  const turn = button({
    text: t("roomClose"),
    title: t("roomCloseTitle"),
    onClick: () => look(open ? "close" : "open"),
  });
  const empty = button({
    text: t("roomEmpty"),
    title: t("roomEmptyTitle"),
    onClick() {
      forgetPoll(app);
      look("empty");
    },
  });
  const fresh = button({ text: t("roomNew"), title: t("roomNewTitle"), onClick: begin });
  const way = el("p");
  const root = el(
    "div",
    { class: "vv-poll-room" },
    el("div", {}, state, el("div", { class: "vv-lesson-buttons" }, turn, empty, fresh), way),
  );
  let [open, guesses, last, timer, requests, ended] = [true, /** @type {any[]} */ ([]), "", 0, 0, false];
  document.addEventListener("visibilitychange", again);
  look("tally");
  room
    .ask({ do: "address", teacher: room.teacher, query: linkOf(app) })
    .then(invite)
    .catch(() => {});
  return { root, guesses: () => guesses, heard: () => last !== "", stop, close: () => look("close") };

  function stop() {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", again);
  }

  function again() {
    if (!document.hidden) look("tally");
  }

  /** Forgets the guesses of all questions, if the button is pressed twice. */
  function begin() {
    const sure = fresh.textContent === t("roomNewAsk");
    entitle(fresh, t("roomNewTitle"), t(sure ? "roomNew" : "roomNewAsk"));
    if (sure) {
      forgetPolls(app);
      last = ""; // what comes next is drawn, also if it is the same
      look("new");
    } else setTimeout(() => entitle(fresh, t("roomNewTitle"), t("roomNew")), ASK_MS);
  }

  /** Asks how the vote stands, after what is done to it; and again, as long as somebody sees it. */
  async function look(what) {
    clearTimeout(timer);
    requests += 1;
    const mine = requests;
    const since = moments.counting(question);
    const reply = await heard(
      room.ask({ do: what, teacher: room.teacher, question, since, heard: moments.heard() }),
    );
    if (reply?.since) moments.count(question, reply.since, what === "new");
    if (!root.isConnected) stop(); // where the board is made anew, no dialog is closed
    if (ended || mine !== requests) return; // what was done meanwhile is newer
    if (!document.hidden) timer = setTimeout(look, LOOK_MS, "tally");
    const now = JSON.stringify(reply);
    if (now === last) return;
    last = now;
    if (Array.isArray(reply?.guesses)) take(reply);
    else setText(state, reply?.error ? reasonOf(refusalOf(reply), app.language) : t("roomSilent"));
  }

  function take(reply) {
    open = reply.open;
    guesses = reply.guesses.map((plain) => guessFrom(app, plain)).filter((guess) => guess !== undefined);
    setText(state, t(open ? "roomOpen" : "roomClosed"));
    if (open) entitle(turn, t("roomCloseTitle"), t("roomClose"));
    else entitle(turn, t("roomReopenTitle"), t("roomReopen"));
    draw();
  }

  /** How pupils get here: an address to type, and the way to this step for their cameras. */
  function invite({ address, rows, ...failure }) {
    if (!address) return setText(way, reasonOf(refusalOf(failure), app.language));
    if (Array.isArray(rows) && rows.length > 0) root.append(qrCode(rows, t("roomQr")));
    return way.append(t("roomWay"), el("br"), el("strong", { text: String(address) }));
  }
}

/** The line for a reply: why it refuses, else `done`; `lost` where none came. */
export const replyText = ({ language }, reply, done, lost) =>
  (reply?.error && reasonOf(refusalOf(reply), language)) || (reply ? done : lost);

/** The answer to a request; null where it fails or stays away. @param {Promise<any>} request */
export const heard = (request) =>
  Promise.race([
    request.catch(() => null),
    new Promise((lost) => {
      setTimeout(lost, LOST_MS, null);
    }),
  ]);

/** @param {string[]} rows  "1" where a module is dark */
function qrCode(rows, label) {
  const side = rows.length + 2 * MARGIN;
  const dark = rows.flatMap((row, y) =>
    [...row].map((module, x) => (module === "1" ? "M" + (x + MARGIN) + " " + (y + MARGIN) + "h1v1h-1z" : "")),
  );
  return svg(
    "svg",
    {
      class: "vv-poll-qr",
      viewBox: "0 0 " + side + " " + side,
      role: "img",
      "aria-label": label,
      "shape-rendering": "crispEdges",
    },
    svg("rect", { width: side, height: side, fill: "#ffffff" }),
    svg("path", { d: dark.join(""), fill: "#000000" }),
  );
}

/**
 * The query of the link to the open step; "" for a lesson of the teacher's own, which fits into no QR code.
 */
function linkOf({ course }) {
  const lesson = course.lesson();
  if (lesson.id === OWN) return "";
  return new URL(
    stepLink("http://x/", { ...originOf(lesson, course.step()), lesson: lesson.id, step: course.number() }),
  ).search.slice(1);
}
