/** Worksheets: a lesson on paper, and its key, computed from the analysis on the screen. */

import { CODE } from "../lessons/codelines.js";
import { pictureCanvas } from "../parts/canvas.js";
import { el } from "../parts/dom.js";
import { percentBox } from "../maths/geometry.js";
import { strongest } from "../maths/attention.js";
import { goalOf, optionText, said, sayings, titleOf, written } from "../text/lesson.js";
import { experimentIn } from "../lessons/experiments.js";
import { optionsOf, paintable } from "../lessons/steps.js";
import { read, removedIn, touchedIn } from "../state/experiment.js";
import { sourceName, tokenName } from "../text/words.js";

/** For A4 paper, in black and white too: nothing is told by a colour alone. Without child selectors, which XML would escape. */
const STYLE = `
@page { size: A4; margin: 16mm; }
body { max-width: 178mm; margin: 0 auto; padding: 8mm 0; color: #000; background: #fff; font: 11pt/1.45 system-ui, "Apple SD Gothic Neo",
  "Malgun Gothic", "Noto Sans KR", "Noto Sans CJK KR", sans-serif; word-break: keep-all; }
@media print { body { padding: 0; } }
h1 { margin: 0 0 2mm; font-size: 17pt; } .about { margin: 0 0 6mm; color: #444; font-size: 9.5pt; }
section { break-inside: avoid; margin: 0 0 4mm; padding-top: 2mm; border-top: 0.4mm solid #000; }
.step { display: flex; gap: 6mm; } .words { flex: 1; } p { margin: 0 0 2mm; } h2 { margin: 0 0 2mm; font-size: 12pt; }
.question { font-weight: 700; } .line { border-bottom: 0.3mm solid #000; height: 9mm; width: 60%; } .wide { width: 100%; } .slip { padding-left: 3mm; border-left: 1mm solid #000; }
.option::before { content: "☐ "; } .option.right::before { content: "☒ "; } .option.right { font-weight: 700; }
.sheet { flex: none; position: relative; width: 52mm; align-self: flex-start; margin: 5mm 0 1mm 5mm; } .marked { width: 78mm; } .sheet img { display: block; width: 100%; image-rendering: pixelated; }
.sheet b, .sheet i { position: absolute; box-sizing: border-box; } .sheet i { font: 7pt sans-serif; font-style: normal; text-align: center; }
.sheet .cell { border: 0.1mm solid rgb(128 128 128 / .7); } .sheet .token { border: 1mm solid #000; outline: 0.5mm solid #fff; }
.sheet .mark { border: 0.5mm solid #000; background: #fff; font: 700 9pt sans-serif; display: grid; place-items: center; }
.sheet .gone { border: 0.1mm solid #fff; background: #6f7378; color: #fff; font: 700 8pt/1 sans-serif; display: grid; place-items: center;
  print-color-adjust: exact; } .sheet .changed { border: 0.5mm solid #000; outline: 0.3mm solid #fff; }
.sheet .truth { border: 0.8mm dashed #000; outline: 0.5mm solid #fff; background: rgb(255 255 255 / .45); }
`;

/**
 * The steps of the open lesson that this page can put on paper, each as the app that is in it: they are
 * about the picture on the screen, and need no second one.
 * @param {import("../main.js").App} app
 */
function stepsOn(app) {
  const { course } = app;
  const origin = JSON.stringify(course.origin());
  return Array.from({ length: course.count() }, (_, at) => course.inStep(at + 1)).map((there) => (
    { there, here: isAlone(there.course.step()) && JSON.stringify(there.course.origin()) === origin }));
}

/** Whether it is known what the experiment of a step does. */
function isPlaced({ course, source }) {
  const { experiment = "" } = course.step().state ?? {};
  return experimentIn(experiment, source) !== null;
}

/** Whether a step shows no second picture; what comes of an experiment are numbers. */
function isAlone({ state: { beside = "", experiment = "" } = {} }) {
  return beside === "" || experiment !== "";
}

/** Whether everything on the sheets is here: the picture, the patches that steps hide, and what they say and ask. */
export function sheetIsReady(app) {
  const says = ({ there, here }) => !here || (isPlaced(there) && said(there, "") !== null && (!there.course.question() || there.course.truth() === undefined || said(there, "question") !== null));
  return app.source.picture.get() !== null && stepsOn(app).every(says);
}

/** Whether the picture and every answer of the key are here. */
export function keyIsReady(app) {
  const answers = (there) => !there.course.question() || there.course.truth() === undefined || (there.course.truth() !== null && said(there, "why") !== null);
  return sheetIsReady(app) && stepsOn(app).every(({ there, here }) => !here || answers(there));
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
  const file = document.implementation.createHTMLDocument(key ? title + ": " + t("lessonKey") : title);
  file.documentElement.lang = app.language;
  file.head.append(el("meta", { charset: "utf-8" }), el("style", { text: STYLE }));
  file.body.append(el("h1", { text: file.title }),
    el("p", { class: "about", text: [sourceName(app), goalOf(app, course.lesson())].filter(Boolean).join(" — ") }),
    ...stepsOn(app).map(({ there, here }, at) => el("section", {}, el("h2", { text: String(at + 1) }),
      here ? onPaper(there, key) : el("p", { text: t("lessonOnPage") }))));
  return "<!doctype html>\n" + new XMLSerializer().serializeToString(file);
}

/** One step: its sentences, the question with room for the answer, or the answer with its reason. */
function onPaper(there, key) {
  const { course } = there;
  const question = course.question();
  const truth = question ? course.truth() : undefined;
  /** @type {HTMLElement[]} */
  const words = (said(there, "") ?? "").split("\n").map((text) => el("p", { text }));
  if (course.step().code) words.push(el("pre", { text: CODE[course.step().code] }));
  if (question && truth !== undefined) {
    words.push(el("p", { class: "question", text: said(there, "question") ?? "" }));
    if (question.kind === "choose") {
      words.push(...optionsOf(question, there.source).map((option) => el("p", { text: optionText(there, option),
        class: key && option === truth ? "option right" : "option" })));
    }
    if (key) {
      if (question.kind !== "write") words.push(el("p", { class: "question", text: there.t("lessonAnswer", { answer: answerText(there, truth) }) }));
      words.push(...Object.entries(sayings(there)).filter(([, text]) => text).map(([name, text]) => el("p", { class: name, text })));
    } else if (question.kind === "patches" || question.kind === "write") words.push(el("div", { class: "line wide" }), el("div", { class: "line wide" }));
    else if (question.kind !== "choose") words.push(el("div", { class: "line" }));
  }
  const shown = course.marks().length > 0 || course.step().state?.token || isMarked(question) || touched(there).length > 0;
  return el("div", { class: "step" }, el("div", { class: "words" }, ...words), shown ? picture(there, key ? truth : null) : null);
}

/** Whether patches are marked in the picture, which is large then. */
const isMarked = (question) => ["patch", "patches"].includes(question?.kind);

/** What the experiment of a step does to patches, each with its class. */
function touched({ course, selection, source: { grid } }) {
  if (!course.step().state?.experiment) return [];
  const list = read(selection.experiment) ?? [];
  const gone = removedIn(list, grid.rows * grid.cols);
  const changed = [...touchedIn(list)].filter((patch) => !gone.has(patch));
  return [...[...gone].map((patch) => ({ token: patch + grid.prefix, kind: "gone" })), ...changed.map((patch) => ({ token: patch + grid.prefix, kind: "changed" }))];
}

/** The answer in words: patches by row and column. */
function answerText(there, truth) {
  const question = there.course.question();
  if (question.kind === "choose") return optionText(there, truth);
  if (question.kind === "number") return written(there, question, truth);
  return best(there, truth).map((token) => tokenName(token, there)).join("; ");
}

function best({ course, source }, truth) {
  const count = course.question().kind === "patch" ? 1 : paintable(course.question(), source);
  return strongest(truth, count).map((patch) => patch + source.grid.prefix);
}

/** The picture with its patches and their coordinates, so that a patch can be found and named on paper. */
function picture(there, truth) {
  const { course, source: { grid, manifest, picture: { here: { rgba } } }, selection } = there;
  const { height, width } = manifest.model.image;
  const place = (token, kind, text = "") => {
    const box = el("b", { class: kind, text });
    Object.assign(box.style, percentBox(token, grid));
    return box;
  };
  const patches = Array.from({ length: grid.rows * grid.cols }, (_, patch) => patch + grid.prefix);
  const ruler = (count, side) => Array.from({ length: count }, (_, at) => {
    const node = el("i", { text: String(at) });
    const share = 100 / count;
    Object.assign(node.style, side === "top" ? { left: at * share + "%", width: share + "%", top: "-4mm" }
      : { top: (at + 0.5) * share + "%", left: "-5mm", width: "5mm", transform: "translateY(-50%)" });
    return node;
  });
  const drawn = isMarked(course.question()) && truth ? best(there, truth) : [];
  return el("div", { class: isMarked(course.question()) ? "sheet marked" : "sheet" },
    el("img", { src: pictureCanvas(rgba, height, width, "").toDataURL(), alt: manifest.photo.name }),
    ...patches.map((token) => place(token, "cell")), ...touched(there).map(({ token, kind }) => place(token, kind, kind === "gone" ? "×" : "")), ...drawn.map((token) => place(token, "truth")),
    ...(course.step().state?.token ? [place(selection.token, "token")] : []),
    ...course.marks().map((token, at) => place(token, "mark", "AB"[at])), ...ruler(grid.cols, "top"), ...ruler(grid.rows, "left"));
}
