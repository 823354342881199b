/** The playground: a page beside the viewer, on which a small Vision Transformer learns digits. */

import { createLearner } from "../learn/client.js";
import { el } from "../parts/dom.js";
import { watchSurroundings } from "../parts/surroundings.js";
import { button } from "../parts/widgets.js";
import { createCarrying } from "./carrying.js";
import { readDigits } from "./digits.js";
import { createPage } from "./page.js";
import { STYLE } from "./playstyle.js";
import { Runs } from "./runs.js";
import { sayingIn } from "./saying.js";
import { read, written } from "./settings.js";

/** @typedef {Awaited<ReturnType<typeof readDigits>>} Digits */

const SPOKEN_MS = 10_000; // a screen reader hears how it goes so seldom
const PLAY = "play"; // of the address
// Gradio puts selectors of its own before the viewer's rules, and with an id these are above them all the same.
const RULES = STYLE.replaceAll(".vitviz", ".vitviz:not(#vv)");

/**
 * address: of the page; fetchDigits: the sheets of digits, as PNG files; adopt: shows a model and a digit in the viewer.
 * @typedef {{element: HTMLElement, address: import("../types.js").Address|null, fetchDigits: () => Promise<{train: ArrayBuffer, test: ArrayBuffer}>,
 *   adopt: (model: import("../playing.js").Adopted) => Promise<any>}} Place
 */

/** @param {Place} place @returns {{open: () => void}} */
export function createPlayground({ element, address, fetchDigits, adopt }) {
  const dialog = el("dialog", { class: "vitviz vv-play", onclose: leave, onkeydown: onKey, onscroll: later });
  element.append(dialog);
  let [say, digits, runs, carrying, page] = /** @type {[import("./saying.js").Say, any, any, any, any]} */ ([sayingIn(document.documentElement.lang), null, null, null, null]);
  let [chosen, drawing, spokenAt, hidden, failure] = [0, false, 0, false, ""];
  const surroundings = watchSurroundings(dialog, dress);
  dress(surroundings);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden || !runs?.playing) return;
    hidden = true;
    runs.pause();
  });
  return { open };

  function dress({ theme, size, language }) {
    Object.assign(dialog.dataset, { theme, size });
    if (language === dialog.lang) return;
    dialog.lang = language;
    say = sayingIn(language);
    build();
  }

  async function open() {
    if (dialog.open) return;
    dialog.showModal();
    render();
    if (runs) return;
    failure = ""; // of the last time
    build();
    try {
      digits = await readDigits(await fetchDigits());
    } catch (error) {
      failure = error.message;
      build();
      return;
    }
    const asked = address && new URL(address.read()).searchParams.get(PLAY);
    runs = new Runs({ digits, createLearner, changed: later }, read(asked ?? ""));
    carrying = createCarrying(runs, digits, adopt);
    build();
    dialog.querySelector(".vv-play-player").focus(); // what had the focus while the digits came is gone
  }

  /** The viewer is there again; what was learned stays. */
  function leave() {
    runs?.pause();
    tell(address, null);
  }

  function build() {
    const close = button({ text: "✕", title: say("close"), onClick: () => dialog.close() });
    const head = el("header", { class: "vv-play-head" }, el("div", {}, el("h2", { text: say("title") }), el("p", { class: "vv-note", text: say("goal") })), close);
    dialog.setAttribute("aria-label", say("title"));
    const waiting = el("p", { class: "vv-play-waiting", role: "status", text: failure ? say("lost", { why: failure }) : say("coming") });
    page = runs ? createPage({ say, digits, runs, on: { start, play, show, choose: (at) => { chosen = at; later(); }, load, link: () => copyLink(say).then(page.hear), save: () => carrying.save(runs.current) } }) : null;
    dialog.replaceChildren(el("style", { text: RULES }), head, page?.root ?? waiting);
    render();
  }

  /** A new run; one that was begun by hand goes on by itself. */
  function start(settings, beside = false) {
    const goesOn = beside || runs.current.step > 0;
    hidden = false;
    runs.start(settings, beside);
    if (goesOn) runs.play();
    later();
  }

  async function show() {
    runs.pause();
    dialog.close();
    await carrying.show(runs.current, chosen);
  }

  /** @param {File} file */
  async function load(file) {
    page.hear(say("reading"));
    try {
      await carrying.load(file);
    } catch (error) {
      page.hear(say("unreadable", { why: error.message }));
    }
  }

  function play() {
    hidden = false;
    if (runs.playing) runs.pause();
    else runs.play();
    later();
  }

  /** Draws with the next frame, however often there is news. */
  function later() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => { drawing = false; render(); });
  }

  function render() {
    const run = runs?.current;
    if (!page || !run || !dialog.open) return;
    page.render({ run, chosen, hidden });
    carrying.look(run, chosen, page.showsInside).then((found) => found && page.inside.draw(found));
    tell(address, run.name === null ? written(run.settings) : null);
    const now = performance.now();
    if (run.state !== "playing" || now > spokenAt + SPOKEN_MS) {
      page.speak();
      spokenAt = now;
    }
  }

  function onKey(event) {
    const does = page && { " ": play, s: () => runs.step() }[event.key];
    if (!does || (event.key === " " && event.target.closest("button, input, summary, a")) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    does();
  }
}

/** The address names the run that is looked at; null: none. @param {import("../types.js").Address|null} address @param {string|null} text */
function tell(address, text) {
  if (!address) return;
  const url = new URL(address.read());
  if (url.searchParams.get(PLAY) === text) return;
  if (text === null) url.searchParams.delete(PLAY);
  else url.searchParams.set(PLAY, text);
  address.write(url.href, /** @type {any} */ (address.view?.() ?? null), false);
}

/** What is said once the link is on the clipboard; where it may not be, the link itself. @param {import("./saying.js").Say} say */
async function copyLink(say) {
  const { href } = location;
  return navigator.clipboard.writeText(href).then(() => say("linkCopied"), () => href);
}
