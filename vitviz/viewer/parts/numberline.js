/** The number line: a field and a slider for a guessed number, and after it both marks on one line. */

import { el, freshId, setText, show } from "./dom.js";

/**
 * @param {{t: (key: string, values?: any) => string, min: number, max: number, percent: boolean,
 *   onPut: (value: number) => void, format: (value: number) => string}} props
 * @returns {{root: HTMLElement, render: (guess: number|null, truth: number|null) => void}}
 */
export function createNumberLine({ t, min, max, percent, onPut, format }) {
  const id = freshId("number");
  const field = el("input", { type: "number", id, min, max, step: "any", inputmode: "decimal",
    oninput: () => { if (field.value !== "" && Number.isFinite(field.valueAsNumber)) onPut(field.valueAsNumber); } });
  const slider = el("input", { type: "range", min, max, step: stepOf(min, max), "aria-label": t("lessonYour"),
    oninput: () => onPut(Number(slider.value)) });
  const asking = el("div", { class: "vv-number-field" }, el("label", { for: id, text: t("lessonYour") }), field,
    percent ? el("span", { text: "%" }) : null, slider);
  const [mine, theirs] = ["mine", "truth"].map((who) => el("span", { class: "vv-number-mark vv-number-" + who }));
  const between = el("span", { class: "vv-number-between" });
  const ends = [el("span"), el("span")];
  const scale = el("div", { class: "vv-number-scale", "aria-hidden": "true" },
    el("div", { class: "vv-number-rail" }, between, mine, theirs), el("div", { class: "vv-ends" }, ...ends));
  const root = el("div", { class: "vv-number-line" }, asking, scale);
  return {
    root,
    render(guess, truth) {
      show(asking, truth === null);
      show(scale, truth !== null);
      if (guess !== null && field.valueAsNumber !== guess && document.activeElement !== field) field.value = String(Number(guess.toFixed(3)));
      if (guess === null && document.activeElement !== field) field.value = "";
      slider.value = String(guess ?? (min + max) / 2);
      if (truth === null || guess === null) return;
      // A guess outside of the line makes it longer: the gap is drawn, however large.
      const [low, high] = [Math.min(min, guess, truth), Math.max(max, guess, truth)];
      const place = (value) => (100 * (value - low)) / (high - low);
      mine.style.left = place(guess) + "%";
      theirs.style.left = place(truth) + "%";
      between.style.left = Math.min(place(guess), place(truth)) + "%";
      between.style.width = Math.abs(place(guess) - place(truth)) + "%";
      setText(mine, t("lessonYou"));
      setText(theirs, t("lessonModel"));
      [low, high].forEach((value, at) => setText(ends[at], format(value)));
    },
  };
}

/** Whole steps where the line is long, hundredths where it is short. */
function stepOf(min, max) {
  return max - min > 20 ? 1 : 0.01;
}
