/** The playground: a page beside the viewer, on which a small Vision Transformer learns digits. */

import { DEFAULTS } from "../learn/defaults.js";
import { softmax } from "../maths/outputs.js";
import { el, keepFocus } from "../parts/dom.js";
import { takesDrops } from "../parts/drops.js";
import { watchSurroundings } from "../parts/surroundings.js";
import { button, choice } from "../parts/widgets.js";
import { letterOf } from "../state/keys.js";
import { digitAt, readDigits } from "./digits.js";
import { createTask } from "./task.js";
import { temperatureOf } from "./inspect.js";
import { createOwn } from "./own.js";
import { createPage } from "./page.js";
import { STYLE } from "./playstyle.js";
import { createRunsKept } from "./runskept.js";
import { textsIn } from "./texts.js";
import { read, written } from "./settings.js";
import { createSigning } from "./signing.js";
import { setOf } from "./signs.js";

/** @typedef {Awaited<ReturnType<typeof readDigits>>} Digits @typedef {"digits"|"signs"|"own"} Subject */

const NEWS_MS = 120; // pause between two drawings of progress
const SPOKEN_MS = 10_000; // pause between two progress messages for screen readers
const MOST_SAID = 300; // letters of a reason, which can quote the file
const PLAY = "play"; // parameter of the address
const SIGNS = "signs"; // value of that parameter for signs; name of this subject
const OWN = "own"; // subject: a trained model is taught a visitor's own things
const TEACH = "teach"; // parameter of the address for that subject
const SIGNS_EPOCHS = 20; // over the pictures made from drawings; a second or two
// Gradio puts selectors of its own before the viewer's rules, and with an id these are above them all the
// same.
const RULES = STYLE.replaceAll(".vitviz", ".vitviz:not(#vv)");

/**
 * address: of the page; fetchDigits: the sheets of digits, as PNG files; adopt: shows a model and a digit in
 * the viewer.
 * @typedef {import("./own.js").Around & {element: HTMLElement, address: import("../types.js").Address|null,
 *   fetchDigits: () => Promise<{train: ArrayBuffer, test: ArrayBuffer}>}} Place
 */

/** @param {Place} place @returns {{open: (wanted?: string) => void, destroy: () => void}} */
export function createPlayground({ element, address, fetchDigits, ...around }) {
  const { adopt } = around;
  const { later, soon } = inFrames(() => render());
  const dialog = takesDrops(
    el("dialog", {
      class: "vitviz vv-play",
      onclose: leave,
      onkeydown: (event) => onKey(event, task()),
      onscroll: later,
    }),
    (files, on) => (subject === OWN ? own.take(files, on) : take(files)),
  );
  element.append(dialog);
  const digits = once(() => fetchDigits().then(readDigits));
  const taskOf = (pictures, settings, kept) =>
    createTask(pictures, settings, { adopt, changed: soon, request: later }, kept);
  const tasks = /** @type {Record<Subject, import("./task.js").Task|null>} */ ({
    digits: null,
    signs: null,
    own: null,
  });
  const own = createOwn({ ...around, close: () => dialog.close() });
  let subject = /** @type {Subject} */ ("digits");
  const [task, take] = [
    () => tasks[subject],
    (/** @type {Iterable<File>} */ files) => {
      const isDrawings = ({ name }) => subject === SIGNS && (!task() || /\.json$/i.test(name));
      const [drawings, others] = [true, false].map((is) =>
        [...files].filter((one) => isDrawings(one) === is),
      );
      if (drawings.length > 0) signing.take(drawings);
      return load(others, task(), say, page?.hear);
    },
  ];
  let [say, page, signing] =
    /** @type {[import("./texts.js").Say, any, ReturnType<typeof createSigning>|null]} */ ([
      textsIn(document.documentElement.lang),
      null,
      null,
    ]);
  let [chosen, spokenAt, failure, linked] = [0, 0, "", /** @type {string|null|undefined} */ (undefined)];
  const picture = () => pictureIn(task().digits, chosen, subject === SIGNS ? signing : null);
  const show = () => {
    dialog.close();
    return task().show(picture());
  };
  const surroundings = watchSurroundings(dialog, dress);
  dress(surroundings);
  const gone = new AbortController();
  document.addEventListener(
    "visibilitychange",
    () => {
      if (document.hidden) task()?.hide();
    },
    { signal: gone.signal },
  );
  window.addEventListener("popstate", () => follow(), { signal: gone.signal });
  return { open, destroy };

  /** Closes and opens the playground as the entries of the history say. */
  function follow() {
    const isNamed = address !== null && names(new URL(address.read()));
    if (dialog.open && !isNamed) dialog.close();
    else if (isNamed) open();
  }

  function dress({ theme, size, language }) {
    Object.assign(dialog.dataset, { theme, size });
    if (language === dialog.lang) return;
    dialog.lang = language;
    build();
  }

  /**
   * Opens with settings in the form of a link, or with one of the other subjects; without any, as it was or
   * as the address says.
   * @param {string} [wanted]
   */
  async function open(wanted) {
    if (dialog.open) return;
    dialog.showModal();
    document.documentElement.classList.add("vv-plays");
    render();
    const asked = address && new URL(address.read()).searchParams;
    const request = wanted ?? (asked?.has(TEACH) ? OWN : asked?.get(PLAY));
    if (request === OWN || ((request ?? null) === null && subject === OWN)) {
      turn(OWN);
      return;
    }
    if (subject === OWN) subject = "digits";
    if (wanted !== undefined && tasks.digits) {
      turn("digits");
      if (written(tasks.digits.runs.current.settings) !== wanted) tasks.digits.start(read(wanted));
    } else await bring(request ?? "");
  }

  /** Fetches the digits, unless they are here, and begins with settings as a link has them. */
  async function bring(request = "") {
    if (tasks.digits) return;
    failure = ""; // of the last time
    build();
    try {
      const keeps = createRunsKept();
      const [pictures, snapshot] = await Promise.all([digits(), keeps.read()]);
      if (gone.signal.aborted) return;
      const settings = request && request !== SIGNS ? read(request) : null;
      tasks.digits ??= taskOf(pictures, settings, { ...keeps, snapshot });
    } catch (error) {
      failure = error.message;
      build();
      return;
    }
    if (subject === OWN) return; // chosen meanwhile
    turn(request === SIGNS ? SIGNS : "digits");
    dialog.querySelector(".vv-play-player").focus(); // what had the focus while the digits came is gone
  }

  /** Goes back to the viewer; the runs stay. */
  function leave() {
    task()?.runs.pause();
    own.leave();
    document.documentElement.classList.remove("vv-plays");
    tell(address, (linked = null));
  }

  function destroy() {
    gone.abort();
    surroundings.stop();
    own.destroy();
    for (const running of Object.values(tasks)) running?.stop();
    Object.assign(tasks, { digits: null, signs: null });
    dialog.close();
    dialog.remove();
  }

  function build() {
    say = textsIn(dialog.lang, { signs: SIGNS, own: OWN }[subject]);
    dialog.setAttribute("aria-label", say("title"));
    const current = task();
    current?.modelExport.forget(); // what was seen inside is to be drawn in the new page, too
    page =
      current &&
      createPage({
        say,
        digits: current.digits,
        runs: current.runs,
        fixed: subject === SIGNS ? ["train"] : [],
        on: {
          start: current.start,
          play: current.play,
          save: current.save,
          show,
          load: take,
          choose: (at) => {
            chosen = at;
            later();
          },
          link: () => copyLink(say).then(page.hear),
        },
      });
    if (subject === SIGNS) signing ??= createSigning({ learn, request: later });
    const waiting = el("p", {
      role: "status",
      text: failure ? say("lost", { why: failure }) : say("coming"),
    });
    if (subject === OWN) own.build(say, dialog.lang);
    const shown =
      subject === OWN
        ? [own.root]
        : tasks.digits
          ? [subject === SIGNS ? signing.build(say) : null, page?.root]
          : [waiting];
    const parts = [subjects(say, subject, turn), ...shown];
    const again = keepFocus(dialog); // of who chooses by the arrow keys
    dialog.replaceChildren(
      el("style", { text: RULES }),
      headOf(say, () => dialog.close()),
      ...parts.filter(Boolean),
    );
    again(dialog.querySelector(".vv-play-subject input:checked"));
    render();
  }

  /** Switches to another data set; the runs of the former one stay. @param {Subject} other */
  function turn(other) {
    task()?.runs.pause();
    own.leave();
    [subject, chosen] = [other, 0];
    build();
    if (subject !== OWN) bring(subject === SIGNS ? SIGNS : "");
  }

  /**
   * Starts to learn a visitor's own kinds at once; runs of former kinds are dropped.
   * @param {import("./signs.js").Kind[]} kinds
   */
  function learn(kinds) {
    chosen = 0; // there may be fewer signs than before
    tasks.signs?.stop();
    tasks.signs = taskOf(setOf(kinds), {
      ...(tasks.signs?.runs.current.settings ?? DEFAULTS),
      epochs: SIGNS_EPOCHS,
    });
    build();
    tasks.signs.play();
  }

  function render() {
    if (!dialog.open) return;
    const current = task();
    const run = current?.runs.current;
    const name = subject !== "digits" ? subject : run?.name === null ? written(run.settings) : null;
    if ((tasks.digits || subject === OWN) && name !== linked) tell(address, (linked = name));
    if (!page || !run) return;
    page.render({ run, chosen, hidden: current.hidden() });
    const shown = picture();
    if (subject === SIGNS && !shown.own) signing.answer(null);
    current.modelExport
      .look(run, shown, () => shown.own || page.showsInside())
      .then(
        (found) => {
          if (!found || task() !== current) return;
          // A drawing may have been taken back before its answer came.
          if (shown.own && picture().key === shown.key) signing.answer(sharesOf(found, current.digits));
          page.inside.draw(found);
        },
        (error) => {
          if (task() === current) throw error;
        },
      );
    const now = performance.now();
    if (run.state === "playing" && now <= spokenAt + SPOKEN_MS) return;
    page.speak();
    spokenAt = now;
  }
}

/**
 * Memoizes an async factory; after a failure the next call tries again.
 * @template Made
 * @param {() => Promise<Made>} make
 */
function once(make) {
  let made = /** @type {Promise<Made>|null} */ (null);
  return () =>
    (made ??= make().catch((error) => {
      made = null;
      throw error;
    }));
}

/** @param {import("./inside.js").Looked} found @param {Digits} of */
const sharesOf = ({ known: { facts }, pass }, { classes }) =>
  softmax(pass.logits, temperatureOf(facts)).map((share, label) => ({
    name: (facts.labels ?? classes)[label],
    share,
  }));

/**
 * Batches calls of `draw` into one for each frame. `soon` is for news that nobody waits for: it draws less
 * often, so that the pointer stays responsive.
 * @param {() => void} draw
 */
function inFrames(draw) {
  let [waits, drawnAt, timer] = [false, -Infinity, 0];
  const later = () => {
    clearTimeout(timer);
    timer = 0;
    if (!waits)
      requestAnimationFrame(() => {
        [waits, drawnAt] = [false, performance.now()];
        draw();
      });
    waits = true;
  };
  return {
    later,
    soon() {
      if (!waits) timer ||= setTimeout(later, Math.max(0, drawnAt + NEWS_MS - performance.now()));
    },
  };
}

/** @param {import("./texts.js").Say} say @param {() => void} close */
function headOf(say, close) {
  return el(
    "header",
    { class: "vv-play-head" },
    el("div", {}, el("h2", { text: say("title") }), el("p", { class: "vv-note", text: say("goal") })),
    button({ text: "✕", title: say("close"), onClick: close }),
  );
}

/**
 * @param {Digits} digits
 * @param {number} chosen  of the test
 * @param {ReturnType<typeof createSigning>|null} signing  where a visitor draws
 * @returns {import("./modelexport.js").Shown & {own: boolean}}
 */
function pictureIn({ test, classes }, chosen, signing) {
  const own = signing?.picture();
  if (own) return { key: "drawing-" + own.number, pixels: own.pixels, own: true };
  return {
    key: signing ? "sign-" + chosen : "digit-" + classes[test.labels[chosen]],
    at: chosen,
    pixels: digitAt(test, chosen),
    own: false,
  };
}

/**
 * Loads the first file (chosen or dropped) that has the name of a model. Does nothing without a file, or
 * before anything learns.
 * @param {File[]} files
 * @param {import("./task.js").Task|null} task
 * @param {import("./texts.js").Say} say
 * @param {(text: string) => void} hear
 */
async function load(files, task, say, hear) {
  const file = files.find(({ name }) => name.endsWith(".safetensors")) ?? files[0];
  if (!file || !task) return;
  const only = files.length > 1 ? say("photoOnly", { name: file.name, count: files.length }) : "";
  hear(say("reading"));
  try {
    await task.modelExport.load(file);
    if (only) hear(only + " " + say("ofFile"));
  } catch (error) {
    hear((only && only + " ") + say("unreadable", { why: error.message.slice(0, MOST_SAID) }));
  }
}

/**
 * The choice of what is learned.
 * @param {import("./texts.js").Say} say
 * @param {Subject} subject
 * @param {(other: Subject) => void} turn
 */
function subjects(say, subject, turn) {
  const { root, set } = choice({
    label: say("subject"),
    options: [
      { value: "digits", text: say("subjectDigits") },
      { value: SIGNS, text: say("subjectSigns") },
      { value: OWN, text: say("subjectOwn") },
    ],
    onChoose: turn,
  });
  set(subject);
  root.classList.add("vv-play-subject");
  return el("form", { onsubmit: (event) => event.preventDefault() }, root);
}

/** @param {KeyboardEvent} event @param {import("./task.js").Task|null} task */
function onKey(event, task) {
  const key = letterOf(event) || event.code;
  const does = task && { Space: task.play, s: () => task.runs.step() }[key];
  const isTaken =
    event.defaultPrevented ||
    /** @type {Element} */ (event.target).closest(
      event.code === "Space" ? "button, input, summary, a" : "input[type=text]",
    );
  if (!does || isTaken || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  does();
}

/** Whether an address opens the playground. @param {URL} url */
const names = ({ searchParams }) => searchParams.has(PLAY) || searchParams.has(TEACH);

/**
 * The address names the run that is looked at; null: none. Its first run is a new entry of the history, so
 * that Back closes the playground.
 * @param {import("../types.js").Address|null} address
 * @param {string|null} text
 */
function tell(address, text) {
  if (!address) return;
  const url = new URL(address.read());
  const [before, isStep] = [url.href, text !== null && !names(url)];
  const told = { [PLAY]: text === OWN ? null : text, [TEACH]: text === OWN ? "" : null };
  for (const [name, value] of Object.entries(told)) {
    if (value === null) url.searchParams.delete(name);
    else if (url.searchParams.get(name) !== value) url.searchParams.set(name, value);
  }
  if (url.href === before) return;
  address.write(url.href, /** @type {any} */ (address.view?.() ?? null), isStep);
}

/**
 * Copies the link to the page. Resolves with a message, or with the link itself where the clipboard is
 * refused.
 * @param {import("./texts.js").Say} say
 */
async function copyLink(say) {
  const { href } = location;
  try {
    await navigator.clipboard.writeText(href);
    return say("linkCopied");
  } catch {
    return href; // without https there is no clipboard at all
  }
}
