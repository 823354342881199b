/** Worksheets: a lesson on paper, and its key, computed from the analysis on the screen. */

import { CODE } from "../lessons/codelines.js";
import { figureIn } from "../lessons/figures.js";
import { photoCanvas, pictureCanvas } from "../parts/canvas.js";
import { el } from "../parts/dom.js";
import { percentBox } from "../maths/geometry.js";
import { paper } from "./paper.js";
import { strongest } from "../maths/attention.js";
import { goalOf, optionText, servedBy, stepText, sayings, titleOf, written } from "../text/lesson.js";
import { experimentIn } from "../lessons/experiments.js";
import { optionsOf, paintable } from "../lessons/steps.js";
import { read, removedIn, touchedIn } from "../state/experiment.js";
import { counted, sourceName, tokenName } from "../text/words.js";
import { figured } from "./figured.js";

/** Numbers in a line of query and key, and their decimals. */
const LINE = 12;
const DECIMALS = 3;

/** Numbers that texts name without telling an answer. */
const PLACES = ["layer", "head", "token", "partner"];

/**
 * The steps of the open lesson, each with an app that stands in it. `here`: the step can be printed from this
 * page: it is about the picture on the screen, and needs no second one; `asked`: on the sheet of a pupil, too, where
 * it gives no answer away.
 * @param {import("../main.js").App} app
 */
function stepsOn(app) {
  const { course } = app;
  const origin = JSON.stringify(course.origin());
  return Array.from({ length: course.count() }, (_, at) => course.inStep(at + 1)).map((there) => {
    const here = isAlone(there.course.step()) && JSON.stringify(there.course.origin()) === origin;
    return { there, here, asked: here && !there.course.step().late };
  });
}

/**
 * Replaces numbers that a step asks for by a line with the number of the step.
 * @param {ReturnType<typeof stepsOn>} steps
 */
function veilOf(steps) {
  const numeric = steps.filter(
    ({ there, asked }) =>
      asked && there.course.question()?.kind === "number" && there.course.truth() !== undefined,
  );
  const lines = new Map(
    numeric.map(({ there }) => [
      ungrouped(written(there, there.course.question(), there.course.truth())),
      there.t("lessonBlank", { step: there.course.number() }),
    ]),
  );
  return (name, text) => (PLACES.includes(name) ? text : (lines.get(ungrouped(text)) ?? text));
}

/** A number as text, without commas between its thousands. */
const ungrouped = (text) => String(text).replace(/(\d),(?=\d{3}(?!\d))/g, "$1");

/** Whether it is known what the experiment of a step does. */
function isPlaced({ course, source }) {
  const { experiment = "" } = course.step().state ?? {};
  return experimentIn(experiment, source) !== null;
}

/** Whether a step shows no second picture; what comes of an experiment are numbers. */
function isAlone({ state: { beside = "", experiment = "" } = {} }) {
  return beside === "" || experiment !== "";
}

const asks = (there) => Boolean(there.course.question()) && there.course.truth() !== undefined;

/**
 * Whether everything for the sheets is loaded: the picture, the patches that steps hide, texts and questions,
 * and the answers, which the sheets leave out.
 */
export function sheetIsReady(app, part = "asked") {
  const says = (there) =>
    isPlaced(there) &&
    stepText(there, "") !== null &&
    (!multiplies(there) || vectorsOf(there) !== null) &&
    (!framed(there) || there.source.whole.get() !== null) &&
    (!asks(there) || (there.course.truth() !== null && stepText(there, "question") !== null));
  return app.source.picture.get() !== null && stepsOn(app).every((step) => !step[part] || says(step.there));
}

/** Whether the picture and every answer of the key are here. */
export function keyIsReady(app) {
  return (
    sheetIsReady(app, "here") &&
    stepsOn(app).every(({ there, here }) => !here || !asks(there) || stepText(there, "why") !== null)
  );
}

/**
 * A lesson as an HTML file for A4 paper.
 * @param {import("../main.js").App} app
 * @param {boolean} key  with the answers
 * @returns {string}
 */
export function worksheet(app, key) {
  const { t, course } = app;
  const title = titleOf(app, course.lesson());
  const steps = stepsOn(app);
  const about = [sourceName(app), key ? goalOf(app, course.lesson()) : ""].filter(Boolean).join(" — ");
  return paper(
    app.language,
    key ? title + ": " + t("lessonKey") : title,
    [
      el("p", { class: "about", text: about }),
      ...(key
        ? [...answersOf(steps), el("p", { class: "about", text: servedBy(app, [course.lesson().id]) })]
        : sheetOf(app, steps)),
    ],
    key ? "key" : "",
  );
}

const sectionOf = ({ course }, ...inside) =>
  el("section", {}, el("h2", { text: String(course.number()) }), ...inside);

/** The answers in the key; of a step without one, why it has none here. */
function answersOf(steps) {
  return steps.map(({ there, here }) => {
    if (!here || !asks(there))
      return sectionOf(there, el("p", { class: "about", text: there.t(here ? "keyTells" : "keyElsewhere") }));
    const question = there.course.question();
    const words = [
      el("p", { text: stepText(there, "question") ?? "" }),
      question.kind === "write"
        ? null
        : el("p", {
            class: "question",
            text: there.t("lessonAnswer", { answer: answerText(there, there.course.truth()) }),
          }),
      ...Object.entries(sayings(there))
        .filter(([, text]) => text)
        .map(([name, text]) => el("p", { class: name, text })),
    ];
    return sectionOf(
      there,
      el(
        "div",
        { class: "step" },
        el("div", { class: "words" }, ...words),
        isMarked(question) ? picture(there, there.course.truth()) : null,
      ),
    );
  });
}

/** Lines for who writes, the steps, and a table to fill in. */
function sheetOf({ t }, steps) {
  const veil = veilOf(steps);
  const here = steps.filter(({ asked }) => asked).map(({ there }) => there);
  /** A sheet has its picture once, and again where a step that asks marks something else in it. */
  const pictured = here.filter(
    (there, at) =>
      at === 0 || (asks(there) && markedIn(there) !== "" && markedIn(there) !== markedIn(here[at - 1])),
  );
  const questions = steps.filter(
    ({ there }) => there.course.question() && there.course.question().kind !== "write",
  );
  const sections = steps.map(({ there, asked }) =>
    sectionOf(
      there,
      ...(asked
        ? onPaper(there, veil, pictured.includes(there))
        : [el("p", { text: t(there.course.step().late ? "sheetLate" : "lessonOnPage") })]),
    ),
  );
  const last = steps.findLastIndex(({ there, asked }) => asked && asks(there));
  const score =
    questions.length > 0
      ? el(
          "table",
          { class: "score" },
          rowOf("th", [t("sheetStep"), t("sheetMine"), t("sheetModel"), t("sheetGap")]),
          ...questions.map(({ there }) => rowOf("td", [String(there.course.number()), "", "", ""])),
        )
      : null;
  return [
    el(
      "div",
      { class: "who" },
      ...["sheetName", "sheetClass", "sheetDate"].map((name) => el("span", { text: t(name) })),
    ),
    ...sections.slice(0, last),
    el("div", { class: "last" }, ...sections.slice(last), score), // no page has the table alone
  ];
}

const rowOf = (kind, texts) => el("tr", {}, ...texts.map((text) => el(kind, { text })));

/** Whether a step is about query and key, number by number. */
const multiplies = ({ course }) =>
  /** @type {any} */ (figureIn(course.lesson(), course.step(), false))?.rows?.includes?.("q");

/** Query, key and their products as a step shows them; null while they are loading. */
const vectorsOf = (there) =>
  figured(there, /** @type {any} */ (figureIn(there.course.lesson(), there.course.step(), false)));

/** Query and key in lines, with room under them for the products. */
function byHand(there) {
  const [q, k, products] = vectorsOf(there);
  const number = (value) => value.toFixed(DECIMALS).replace("-", "\u2212");
  const lines = Math.ceil(q.values.length / LINE);
  const part = (values, at) => Array.from(values.slice(at * LINE, (at + 1) * LINE), number);
  return el(
    "table",
    { class: "numbers" },
    ...Array.from({ length: lines }, (_, at) => [
      rowOf("td", [q.name, ...part(q.values, at)]),
      rowOf("td", [k.name, ...part(k.values, at)]),
      rowOf("td", [products.name, ...part(q.values, at).map(() => "")]),
    ]).flat(),
  );
}

/** Whether a step shows the whole photo with a frame, and there is one. */
const framed = ({ course, source }) =>
  course.shows().includes("photo") && source.whole.exists && Boolean(source.manifest.photo.frame);

/** The whole photo with a frame around what the model gets. */
function wholePhoto({ source }) {
  const whole = photoCanvas("");
  whole.draw(source.whole.get());
  const frame = el("b", { class: "token" });
  const [top, left, height, width] = source.manifest.photo.frame.map((share) => 100 * share + "%");
  Object.assign(frame.style, { top, left, height, width });
  return el("div", { class: "sheet whole" }, el("img", { src: whole.canvas.toDataURL(), alt: "" }), frame);
}

/** One step: its sentences, the question, and room for a guess and its reason. */
function onPaper(there, veil, pictured) {
  const { course } = there;
  const question = asks(there) ? course.question() : null;
  /** @type {(HTMLElement|null)[]} */
  const words = (stepText(there, "", veil) ?? "").split("\n").map((text) => el("p", { text }));
  if (course.step().code) words.push(el("pre", { text: CODE[course.step().code] }));
  if (question) {
    words.push(el("p", { class: "question", text: stepText(there, "question", veil) ?? "" }));
    if (question.kind === "choose")
      words.push(
        ...optionsOf(question, there.source).map((option) =>
          el("p", { class: "option", text: optionText(there, option) }),
        ),
      );
    else words.push(el("div", { class: question.kind === "number" ? "line" : "line wide" }));
    words.push(
      question.kind === "write"
        ? el("div", { class: "line wide" })
        : el("p", { class: "because", text: there.t("sheetBecause") }),
    );
  }
  const image = framed(there) ? wholePhoto(there) : pictured ? picture(there, null) : null;
  return [
    el("div", { class: "step" }, el("div", { class: "words" }, ...words), image),
    multiplies(there) && !question ? byHand(there) : null,
  ];
}

/** An identity of the marks in the picture of a step; "" where it has none. A picture to mark in equals no other. */
function markedIn(there) {
  const { course, selection } = there;
  const token = course.step().state?.token ? selection.token : null;
  const found = [course.marks(), touched(there), token, isMarked(course.question()) && course.number()];
  return found.every((part) => part === null || part === false || part.length === 0)
    ? ""
    : JSON.stringify(found);
}

/** Whether patches are marked in the picture, which is large then. */
const isMarked = (question) => ["patch", "patches"].includes(question?.kind);

/** The patches that the experiment of a step changes, each with its kind ("gone" or "changed"). */
function touched({ course, selection, source: { grid } }) {
  if (!course.step().state?.experiment) return [];
  const list = read(selection.experiment) ?? [];
  const gone = removedIn(list, grid.rows * grid.cols);
  const changed = [...touchedIn(list)].filter((patch) => !gone.has(patch));
  return [
    ...[...gone].map((patch) => ({ token: patch + grid.prefix, kind: "gone" })),
    ...changed.map((patch) => ({ token: patch + grid.prefix, kind: "changed" })),
  ];
}

/** The answer in words: patches by row and column. */
function answerText(there, truth) {
  const question = there.course.question();
  if (question.kind === "choose") return optionText(there, truth);
  if (question.kind === "number") return written(there, question, truth);
  return best(there, truth)
    .map((token) => tokenName(token, there))
    .join("; ");
}

function best({ course, source }, truth) {
  const count = course.question().kind === "patch" ? 1 : paintable(course.question(), source);
  return strongest(truth, count).map((patch) => patch + source.grid.prefix);
}

/** The picture with its patches and their coordinates, so that a patch can be found and named on paper. */
function picture(there, truth) {
  const { course, selection } = there;
  const { grid, manifest } = there.source;
  const { rgba } = there.source.picture.here;
  const { height, width } = manifest.model.image;
  const place = (token, kind, text = "") => {
    const box = el("b", { class: kind, text });
    Object.assign(box.style, percentBox(token, grid));
    return box;
  };
  const patches = Array.from({ length: grid.rows * grid.cols }, (_, patch) => patch + grid.prefix);
  const ruler = (count, side) =>
    Array.from({ length: count }, (_, at) => {
      const node = el("i", { text: String(counted({ row: at, col: at }, there).row) });
      const share = 100 / count;
      Object.assign(
        node.style,
        side === "top"
          ? { left: at * share + "%", width: share + "%", top: "-4mm" }
          : { top: (at + 0.5) * share + "%", left: "-5mm", width: "5mm", transform: "translateY(-50%)" },
      );
      return node;
    });
  const drawn = isMarked(course.question()) && truth ? best(there, truth) : [];
  return el(
    "div",
    { class: isMarked(course.question()) ? "sheet marked" : "sheet" },
    el("img", { src: pictureCanvas(rgba, height, width, "").toDataURL(), alt: manifest.photo.name }),
    ...patches.map((token) => place(token, "cell")),
    ...touched(there).map(({ token, kind }) => place(token, kind, kind === "gone" ? "×" : "")),
    ...drawn.map((token) => place(token, "truth")),
    ...(course.step().state?.token ? [place(selection.token, "token")] : []),
    ...course.marks().map((token, at) => place(token, "mark", "AB"[at])),
    ...ruler(grid.cols, "top"),
    ...ruler(grid.rows, "left"),
  );
}
