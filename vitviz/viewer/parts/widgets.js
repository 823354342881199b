/**
 * Native controls in the style of the viewer: a choice, a slider, a switch, a button. `set` hides a control
 * whose `useful` is false.
 */

import { icon } from "./svg.js";
import { el, freshId, setText, show } from "./dom.js";

/**
 * A choice of one of a few values: radio buttons that look like one bar.
 * @param {{label: string, options: {value: *, text: string, title?: string, more?: string}[],
 *   onChoose: (value: *) => void, wrap?: boolean}} props
 *   more: of the text, where there is room for it
 * @returns {{root: HTMLElement, set: (value: *, useful?: boolean) => void}}
 */
export function choice({ label, options, onChoose, wrap = false }) {
  const name = freshId("choice");
  const inputs = options.map(({ value }, at) =>
    el("input", { type: "radio", name, value: String(at), onchange: () => onChoose(value) }),
  );
  const items = options.map(({ text, title, more = "" }, at) =>
    el(
      "label",
      { class: "vv-option", title: title ?? null },
      inputs[at],
      el("span", {}, text, more && el("span", { class: "vv-more", text: more })),
    ),
  );
  const bar = el("div", { class: wrap ? "vv-options vv-wrap" : "vv-options" }, ...items);
  const root = el("fieldset", { class: "vv-choice" }, el("legend", { text: label }), bar);
  return {
    root,
    set(value, useful) {
      const at = options.findIndex((option) => option.value === value);
      inputs.forEach((input, index) => {
        if (input.checked !== (index === at)) input.checked = index === at;
      });
      if (useful !== undefined) show(root, useful);
    },
  };
}

/**
 * A slider, with its value as text beside it.
 * @param {{label: string, min: number, max: number, step: number,
 *   format: (value: number) => string, onInput: (value: number) => void}} props
 * @returns {{root: HTMLElement, set: (value: number, useful?: boolean) => void}}
 */
export function slider({ label, min, max, step, format, onInput }) {
  const id = freshId("slider");
  const input = el("input", {
    type: "range",
    id,
    min,
    max,
    step,
    oninput: () => onInput(Number(input.value)),
  });
  const output = el("output", { for: id });
  const head = el("div", { class: "vv-slider-head" }, el("label", { for: id, text: label }), output);
  const root = el("div", { class: "vv-slider" }, head, input);
  return {
    root,
    set(value, useful) {
      if (Number(input.value) !== value) input.value = String(value);
      input.disabled = min === max;
      const share = max > min ? (100 * (value - min)) / (max - min) : 100;
      input.style.setProperty("--vv-filled", share + "%");
      const text = format(value);
      setText(output, text);
      if (input.getAttribute("aria-valuetext") !== text) input.setAttribute("aria-valuetext", text);
      if (useful !== undefined) show(root, useful);
    },
  };
}

/**
 * A switch that is on or off.
 * @param {{label: string, onSwitch: (on: boolean) => void}} props
 * @returns {{root: HTMLElement, set: (on: boolean, useful?: boolean) => void}}
 */
export function toggle({ label, onSwitch }) {
  const input = el("input", { type: "checkbox", onchange: () => onSwitch(input.checked) });
  const root = el("label", { class: "vv-toggle" }, input, el("span", { text: label }));
  return {
    root,
    set(on, useful) {
      input.checked = on;
      if (useful !== undefined) show(root, useful);
    },
  };
}

/**
 * Says whether pressing a button has an effect now. The button is not disabled, since it would lose
 * the focus when it is pressed for the last time.
 * @param {HTMLButtonElement} node
 * @param {boolean} possible
 */
export function allow(node, possible) {
  node.setAttribute("aria-disabled", String(!possible));
}

/** Marks a button as the one that is chosen, or not. @param {HTMLElement} node @param {boolean} chosen */
export function markChosen(node, chosen) {
  node.classList.toggle("vv-chosen", chosen);
  node.setAttribute("aria-pressed", String(chosen));
}

/** The accessible name contains the visible text, by which speech control finds a button. */
const nameOf = (text, title) => (/\p{L}/u.test(text) && !title.includes(text) ? text + ": " + title : title);

/** Gives a button another title, and perhaps another text. @param {HTMLElement} node @param {string} title */
export function entitle(node, title, text = node.textContent) {
  if (node.title === title && node.textContent === text) return;
  setText(node, text);
  node.title = title;
  node.setAttribute("aria-label", nameOf(text, title));
}

/** A box of numbers that scrolls. @param {string} label @param {string} [kind]  further classes */
export const numberBox = (label, kind = "") =>
  el("pre", { class: "vv-numbers" + kind, tabindex: "0", role: "group", "aria-label": label });

/**
 * @param
 *   {{text?: string, sign?: "play"|"pause"|"next", title?: string, onClick: () => void, pressed?: boolean}}
 *   props
 *   sign: an icon in place of the text; title: by default the text
 * @returns {HTMLButtonElement}
 */
export function button({ text = "", sign, title = text, onClick, pressed }) {
  return el(
    "button",
    {
      type: "button",
      class: "vv-button",
      text,
      title,
      "aria-label": nameOf(text, title),
      "aria-pressed": pressed === undefined ? null : String(pressed),
      onclick: onClick,
    },
    sign ? icon(sign) : null,
  );
}

/**
 * Dresses a button that plays something: pressed, with the sign for a pause, while it does.
 * @param {HTMLButtonElement} node
 * @param {boolean} playing
 * @param {string} title  what pressing it does now
 */
export function dressPlayer(node, playing, title) {
  node.replaceChildren(icon(playing ? "pause" : "play"));
  node.title = title;
  node.setAttribute("aria-label", title);
  node.setAttribute("aria-pressed", String(playing));
}
