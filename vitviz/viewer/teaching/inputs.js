/** Inputs: what a question of a lesson is answered with; one for each kind. */

import { MOST_LETTERS, optionsOf, paintable, rangeOf } from "../lessons/steps.js";
import { el, freshId, setText, show } from "../parts/dom.js";
import { button, choice } from "../parts/widgets.js";
import { optionText, written } from "../text/lesson.js";

/**
 * @param {import("../main.js").App} app
 * @param {any} question  the question of a step
 * @returns {{root: HTMLElement, render: (revealed: boolean) => void}}
 *   root: for a guess on the picture, a line that counts
 */
export function createInput(app, question) {
  return { choose: chooser, number: numberLine, patch: counter, patches: counter, write: writer }[
    question.kind
  ](app, question);
}

function chooser(app, question) {
  const { t, course } = app;
  const options = optionsOf(question, app.source);
  const bar = choice({
    label: t("lessonYour"),
    wrap: true,
    onChoose: (guess) => course.put(guess),
    options: options.map((key) => ({ value: key, text: optionText(app, key) })),
  });
  bar.root.classList.add("vv-lesson-options");
  bar.root.classList.toggle("vv-lesson-sentences", Array.isArray(question.options)); // one below the other
  const labels = [...bar.root.querySelectorAll("label")];
  return {
    root: bar.root,
    render(revealed) {
      bar.set(course.guess());
      bar.root.toggleAttribute("disabled", revealed);
      labels.forEach((label, at) => {
        label.classList.toggle("vv-lesson-right", revealed && options[at] === course.truth());
        label.classList.toggle("vv-lesson-mine", revealed && options[at] === course.guess());
      });
    },
  };
}

function numberLine(app, question) {
  const { t, course } = app;
  const factor = question.percent ? 100 : 1;
  const { low, high } = rangeOf(question);
  const line = createNumberLine({
    t,
    low: low * factor,
    high: high * factor,
    min: question.min * factor,
    max: question.max * factor,
    percent: Boolean(question.percent),
    worked: Boolean(question.worked),
    onPut: (number) => course.put(number === undefined ? undefined : number / factor),
    format: (number) => written(app, question, number / factor),
  });
  return {
    root: line.root,
    render: (revealed) =>
      line.render(
        course.guess() === undefined ? null : course.guess() * factor,
        revealed ? course.truth() * factor : null,
      ),
  };
}

function writer({ t, course }) {
  const field = el("textarea", {
    rows: 3,
    maxlength: MOST_LETTERS,
    "aria-label": t("lessonYour"),
    oninput: () => course.put(field.value),
  });
  return {
    root: field,
    render(revealed) {
      if (document.activeElement !== field) field.value = course.guess() ?? "";
      field.readOnly = revealed;
    },
  };
}

function counter(app, question) {
  const { t, course } = app;
  const line = el("p", { class: "vv-note", "aria-live": "polite" });
  return {
    root: line,
    render(revealed) {
      const guess = course.guess();
      const done = question.kind === "patch" ? Number(course.complete()) : (guess ?? []).length;
      setText(
        line,
        revealed
          ? ""
          : t("lessonPainted", {
              done,
              count: question.kind === "patch" ? 1 : paintable(question, app.source),
            }),
      );
    },
  };
}

/**
 * A field and a slider for a guessed number, and after it both marks on one line.
 * @param {{t: (key: string, values?: any) => string, low: number, high: number, min: number, max: number,
 *   percent: boolean, worked: boolean,
 *   onPut: (value: number|undefined) => void, format: (value: number) => string}} props
 * @returns {{root: HTMLElement, render: (guess: number|null, truth: number|null) => void}}
 */
function createNumberLine({ t, low: least, high: most, min, max, percent, worked, onPut, format }) {
  const id = freshId("number");
  const field = el("input", {
    type: "number",
    id,
    min,
    max,
    step: "any",
    inputmode: "decimal",
    oninput() {
      const value = field.valueAsNumber;
      const fits = value >= least && value <= most;
      setText(
        note,
        Number.isNaN(value) || fits ? "" : t("lessonRange", { low: format(least), high: format(most) }),
      );
      onPut(fits ? value : undefined);
      // Who types 0.073 where percent are asked for may mean 7.3 %.
      show(meant, percent && value > 0 && value < 1);
      setText(meant, t("lessonMeant", { share: format(100 * value) }));
      meant.setAttribute("aria-label", meant.textContent);
    },
  });
  const note = el("p", { class: "vv-note", role: "status" });
  const meant = button({
    text: "",
    title: t("lessonMeantTitle"),
    onClick() {
      show(meant, false);
      onPut(Number((100 * field.valueAsNumber).toPrecision(6))); // which writes it into the field
    },
  });
  show(meant, false);
  const slider = el("input", {
    type: "range",
    min,
    max,
    step: stepOf(min, max),
    "aria-label": t("lessonYour"),
    oninput: () => onPut(Number(slider.value)),
    onclick: () => onPut(Number(slider.value)), // also where it stood before it was touched
  });
  const asking = el(
    "div",
    { class: "vv-number-field" },
    el("label", { for: id, text: t("lessonYour") }),
    field,
    percent ? el("span", { text: "%" }) : null,
    slider,
    meant,
    note,
  );
  const [mine, theirs] = ["mine", "truth"].map((who) =>
    el("span", { class: "vv-number-mark vv-number-" + who }),
  );
  const between = el("span", { class: "vv-number-between" });
  const ends = [el("span"), el("span")];
  const scale = el(
    "div",
    { class: "vv-number-scale", "aria-hidden": "true" },
    el("div", { class: "vv-number-rail" }, between, mine, theirs),
    el("div", { class: "vv-ends" }, ...ends),
  );
  const root = el("div", { class: "vv-number-line" }, asking, scale);
  return {
    root,
    render(guess, truth) {
      show(asking, truth === null);
      show(scale, truth !== null);
      if (guess !== null && field.valueAsNumber !== guess && document.activeElement !== field)
        field.value = String(Number(guess.toFixed(3)));
      if (guess === null && document.activeElement !== field) field.value = "";
      slider.value = String(guess ?? (min + max) / 2);
      slider.classList.toggle("vv-blank", guess === null);
      if (truth === null || guess === null) return;
      // A guess outside of the line makes it longer: the gap is drawn, however large.
      const [low, high] = [Math.min(min, guess, truth), Math.max(max, guess, truth)];
      const place = (value) => (100 * (value - low)) / (high - low);
      mine.style.left = place(guess) + "%";
      theirs.style.left = place(truth) + "%";
      between.style.left = Math.min(place(guess), place(truth)) + "%";
      between.style.width = Math.abs(place(guess) - place(truth)) + "%";
      setText(mine, t("lessonYou"));
      setText(theirs, t(worked ? "lessonIs" : "lessonModel"));
      [low, high].forEach((value, at) => setText(ends[at], format(value)));
    },
  };
}

/** Whole steps where the line is long, hundredths where it is short. */
function stepOf(min, max) {
  return max - min > 20 ? 1 : 0.01;
}
