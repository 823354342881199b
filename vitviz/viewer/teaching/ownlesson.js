/**
 * An own lesson: the views that a teacher has collected, with questions, to be ordered, handed out and kept.
 */

import { el, setText, show } from "../parts/dom.js";
import { download } from "../parts/download.js";
import { fileField } from "../parts/drops.js";
import {
  MOST,
  Misfit,
  OWN,
  WAYS,
  addressWith,
  askedBy,
  emptyLesson,
  fileText,
  lessonInFile,
  stepOf,
  withMoved,
} from "../lessons/own.js";
import { HOSTS, readLink, writeLink } from "../state/link.js";
import { allow, button } from "../parts/widgets.js";

/**
 * @param {import("../main.js").App} app
 * @param {(origin: any) => string} linkTo
 * @param {(step: number) => void} start  plays the lesson in this page, from a step on
 * @returns {HTMLElement}
 */
export function createOwnLesson(app, linkTo, start) {
  const { t } = app;
  const { shelf } = app.teaching;
  const status = el("p", { class: "vv-note", role: "status" });
  const title = el("input", {
    type: "text",
    maxlength: MOST.title,
    value: shelf.draft().title,
    placeholder: t("ownUntitled"),
    oninput: () => shelf.put({ ...shelf.draft(), title: title.value }), // a reload loses no letter
    onchange: () => app.teaching.collect({ ...shelf.draft(), title: title.value }),
  });
  const steps = el("ol", { class: "vv-own-steps" });
  const link = el("input", {
    type: "text",
    readonly: true,
    class: "vv-link",
    "aria-label": t("ownLink"),
    hidden: true,
  });
  const file = fileField(".json,application/json", read);
  const named = (key, onClick) => button({ text: t(key), onClick });
  const brought = shelf.brought();
  const withSteps = (act) => () => {
    if (shelf.draft().steps.length > 0) tell(act);
  };
  const hand = [
    ...(brought
      ? []
      : [
          named(
            "ownStart",
            withSteps(() => start(1)),
          ),
        ]),
    named("ownLink", withSteps(copy)),
    named("ownSave", withSteps(save)),
  ];
  const clear = named("ownClear", () => {
    if (isEmpty()) return;
    put(emptyLesson());
    say(t("ownCleared"));
  });
  const undo = named("experimentUndo", () => {
    if (shelf.before()) put(shelf.before());
  });
  const root = el(
    "div",
    { class: "vv-own-lesson vv-form" },
    el("p", { class: "vv-note", text: t("ownHelp") }),
    el("label", {}, el("span", { text: t("ownTitle") }), title),
    steps,
    el(
      "div",
      { class: "vv-lesson-buttons" },
      named("ownAdd", add),
      ...hand,
      named("ownOpen", () => file.click()),
      brought ? named("ownTake", () => put(brought)) : null,
      clear,
      undo,
    ),
    link,
    file,
    status,
  );
  draw();
  return root;

  /** Puts a lesson in the place of the collected one, which Undo brings back. */
  function put(lesson) {
    app.teaching.collect(lesson, true);
    title.value = lesson.title;
    say("");
    draw();
  }

  function isEmpty() {
    const { title: name, steps: all } = shelf.draft();
    return name === "" && all.length === 0;
  }

  /** Draws the steps anew; the texts in them are written as they are typed. */
  function draw() {
    const own = shelf.draft();
    steps.replaceChildren(...own.steps.map((step, at) => stepOfList(step, at, own.steps.length)));
    for (const node of hand) allow(node, own.steps.length > 0);
    allow(clear, !isEmpty());
    allow(undo, shelf.before() !== null);
    show(link, false);
  }

  function stepOfList({ view, ...texts }, at, count) {
    const changed = (more) => ({
      ...shelf.draft(),
      steps: shelf.draft().steps.map((step, place) => (place === at ? { ...step, ...more } : step)),
    });
    const change = (more) => app.teaching.collect(changed(more));
    const written = (name, rows) =>
      el(
        "label",
        {},
        el("span", { text: t("own_" + name) }),
        Object.assign(
          el("textarea", {
            rows,
            maxlength: MOST[name],
            oninput: (event) => shelf.put(changed({ [name]: event.target.value })),
            onchange: (event) => change({ [name]: event.target.value }),
          }),
          { value: texts[name] ?? "" },
        ),
      );
    const answered = createWay(app, written("right", 3), () => shelf.draft().steps[at], change);
    const go = (to) => {
      put(withMoved(shelf.draft(), at, to));
      steps.children[to].querySelector("button").focus();
    };
    const [up, down] = [
      button({ text: "↑", title: t("ownUp"), onClick: () => at > 0 && go(at - 1) }),
      button({ text: "↓", title: t("ownDown"), onClick: () => at + 1 < count && go(at + 1) }),
    ];
    allow(up, at > 0);
    allow(down, at + 1 < count);
    const remove = button({
      text: "✕",
      title: t("ownRemove"),
      onClick: () => {
        const { steps: all, ...rest } = shelf.draft();
        put({ ...rest, steps: all.filter((_, place) => place !== at) });
        title.focus();
      },
    });
    const preview = brought
      ? null
      : button({ text: t("ownTry"), title: t("ownTryTitle"), onClick: () => start(at + 1) });
    return el(
      "li",
      {},
      el("div", { class: "vv-own-head" }, el("b", { text: viewName(app, view) }), preview, up, down, remove),
      written("text", 2),
      written("question", 2),
      answered,
      written("answer", 2),
    );
  }

  function add() {
    const { source, taste, panels } = app;
    const selection = { ...app.selection, lesson: "" }; // the link into a lesson does not name the view
    const origin = source?.manifest.link ?? {};
    const link = source && writeLink(app.page.link(), selection, taste, origin, app.shape());
    const step = link && stepOf(selection, origin, Object.keys(readLink(link, panels)));
    if (!step) return say(t("ownPhoto"));
    const own = shelf.draft();
    if (own.steps.length >= MOST.steps)
      return say(t("ownManySteps", { count: own.steps.length + 1, most: MOST.steps }));
    put({ ...own, steps: [...own.steps, step] });
    return say(t("ownAdded", { count: own.steps.length + 1 }));
  }

  function ownAddress() {
    const [{ view }] = shelf.draft().steps;
    const origin = Object.fromEntries(HOSTS.filter((name) => view[name]).map((name) => [name, view[name]]));
    return addressWith(linkTo({ ...origin, lesson: OWN, step: 1 }), shelf.draft());
  }

  async function copy() {
    link.value = ownAddress();
    show(link, true);
    link.select();
    try {
      await navigator.clipboard.writeText(link.value);
      say(t("linkCopied"));
    } catch {
      say(t("copyByHand")); // without https or permission a page cannot write to the clipboard
    }
  }

  function save() {
    const name = (shelf.draft().title || t("ownUntitled")).replace(/[^\p{L}\p{N}]+/gu, "-");
    download(new Blob([fileText(shelf.draft())], { type: "application/json" }), name + ".json");
    say(t("ownSaved"));
  }

  async function read([chosen]) {
    await tell(async () => {
      if (chosen.size > MOST.file) throw new Misfit("ownLargeFile", { most: MOST.file / 1000 });
      const lesson = lessonInFile(await chosen.text());
      put(lesson);
      say(t("ownOpened", { count: lesson.steps.length }));
    });
  }

  /** Does something, and says why it cannot be done. */
  async function tell(act) {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      say(t(error.key, error.values));
    }
  }

  function say(text) {
    setText(status, text);
  }
}

/**
 * Fields for the kind of answer to a step and, where the teacher sets one, the right answer; a note stands
 * there as long as that is not clear.
 * @param {import("../main.js").App} app
 * @param {HTMLElement} right  the field for it
 * @param {() => import("../lessons/own.js").OwnStep} now  the step as it is
 * @param {(more: any) => void} change
 */
function createWay({ t }, right, now, change) {
  const select = el(
    "select",
    { class: "vv-select", onchange: () => change({ way: select.value }) },
    ...WAYS.map((value) =>
      el("option", { value, text: t("ownWay_" + value), selected: value === now().way }),
    ),
  );
  const lacks = el("p", { class: "vv-note vv-own-lacks", "aria-live": "polite" });
  const root = el(
    "div",
    { class: "vv-own-way", onchange: draw },
    el("label", {}, el("span", { text: t("ownWay") }), select),
    right,
    lacks,
  );
  draw();
  return root;

  function draw() {
    const { way } = now();
    const hasAnswer = way === "choose" || way === "number";
    show(right, hasAnswer);
    setText(lacks, hasAnswer && askedBy(now()).question.kind === "write" ? t("ownLacks_" + way) : "");
  }
}

/** A short name of a saved view: picture, model, panel, layer and head. */
function viewName({ t, panels }, { model, example, panel, layer, head }) {
  const parts = [String(example).replaceAll("-", " "), model];
  if (panels.some(({ id }) => id === panel)) parts.push(t("panel_" + panel));
  if (Number.isInteger(layer))
    parts.push(head === "mean" ? t("lessonLayerMean", { layer }) : t("lessonLayerHead", { layer, head }));
  return parts.join(" · ");
}
