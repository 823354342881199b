/** The legend: which colour is which number, for every map. */

import { mapCanvas } from "./canvas.js";
import { colourTable } from "../maths/colour.js";
import { el, setText, show } from "./dom.js";
import { digits, signed } from "../maths/numbers.js";
import { valueText } from "../text/words.js";

const STEPS = 128;
const RAMP = Float32Array.from({ length: STEPS }, (_, i) => i / (STEPS - 1));

/**
 * @param {(key: string, values?: any) => string} t
 * @returns {{root: HTMLElement, render: (legend: {scale: {min: number, max: number},
 *   colours: string, table?: Uint32Array, uniform: number|null, note?: string, marked?: number|null,
 *    decimals?: number, ends?: (value: number) => string}) => void}}
 */
export function createLegend(t) {
  const ramp = mapCanvas(1, STEPS, "vv-ramp");
  const low = el("span");
  const high = el("span");
  const tick = el("span", { class: "vv-tick" });
  const marker = el("span", { class: "vv-marker" });
  const note = el("p", { class: "vv-note" });
  const bar = el("div", { class: "vv-ramp-bar" }, ramp.canvas, tick, marker);
  const ends = el("div", { class: "vv-ends" }, low, high);
  const root = el("div", { class: "vv-legend" }, bar, ends, note);
  /** @type {Uint32Array|null} */
  let drawn = null;
  return {
    root,
    render({
      scale,
      colours,
      table = colourTable(colours),
      uniform,
      note: text = "",
      marked = null,
      decimals = 0,
      ends = (value) => signed(value, decimals).trim(),
    }) {
      if (drawn !== table) {
        ramp.draw(RAMP, 0, { min: 0, max: 1 }, table);
        drawn = table;
      }
      const place = (value) =>
        Math.max(0, Math.min(100, (100 * (value - scale.min)) / (scale.max - scale.min))) + "%";
      if (uniform === null) {
        setText(low, ends(scale.min));
        setText(high, ends(scale.max));
      } else {
        setText(low, "0");
        setText(high, valueText(scale.max, 1 / uniform, t));
      }
      show(tick, uniform !== null && scale.max > uniform);
      if (uniform !== null) {
        tick.style.left = place(uniform);
        tick.title = t("uniform", { value: digits(uniform) });
      }
      show(marker, Number.isFinite(marked));
      if (Number.isFinite(marked)) marker.style.left = place(marked);
      setText(note, text);
      show(note, text !== "");
    },
  };
}
