/** The read-out beside the stage: the selected token, its attention, and its partners. */

import { shares, strongest } from "../maths/attention.js";
import { createCompare } from "./compare.js";
import { el, setText, show } from "../parts/dom.js";
import { digits, percent } from "../maths/numbers.js";
import { overlayNamed } from "../state/overlays.js";
import { aboutOverlay } from "../text/overlay.js";
import { tokenName, tokenTitle } from "../text/words.js";

const PARTNERS = 4;

/**
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: (view: import("../types.js").View) => void,
 *   sentence: (view: import("../types.js").View) => string, about: (view: import("../types.js").View) =>
 *     string}}
 */
export function createReadout(app) {
  const { t } = app;
  const { manifest, grid } = app.source;
  const title = el("h3", { class: "vv-token-title" });
  const number = el("span", { class: "vv-token-number" });
  const pin = el("span", { class: "vv-pin-state" });
  const about = el("p", { class: "vv-about" });
  const bar = createShares(app);
  const compare = createCompare(app);
  const partners = Array.from({ length: Math.min(PARTNERS, grid.tokens) }, () => {
    const name = el("span");
    const value = el("b");
    const node = el("button", { type: "button", class: "vv-partner" }, name, value);
    const partner = { node, name, value, token: 0 };
    node.addEventListener("click", () => app.select({ token: partner.token, pinned: true }));
    return partner;
  });
  const row = el(
    "div",
    { class: "vv-partners", role: "group", "aria-label": t("partners") },
    ...partners.map(({ node }) => node),
  );
  const root = el(
    "section",
    { class: "vv-readout", "aria-label": t("readout") },
    el("div", { class: "vv-readout-words" }, el("div", { class: "vv-token" }, title, number, pin), about),
    bar.root,
    row,
    compare.root,
  );

  return { root, render, sentence, about: ({ shown }) => aboutOverlay(app, shown) };

  function render(view) {
    const { shown, token } = view;
    setText(title, tokenTitle(token, app));
    setText(number, t("tokenNumber", { token }));
    setText(pin, app.selection.pinned ? t("pinned") : "");
    setText(about, aboutOverlay(app, shown));
    compare.render(view);
    const { values } = shown;
    const { flows, controls } = overlayNamed(shown.kind);
    bar.render(flows ? values : null, controls.includes("direction") && app.selection.direction);
    show(row, Boolean(values));
    if (!values) return;
    const best = strongest(shown.uniform === null ? without(values, token) : values, PARTNERS);
    partners.forEach((partner, at) => {
      const other = best[at];
      show(partner.node, other !== undefined && Number.isFinite(values[other]));
      if (other === undefined) return;
      partner.token = other;
      setText(partner.name, other === token ? t("itself") : tokenName(other, app));
      setText(partner.value, shown.uniform === null ? digits(values[other]) : percent(values[other]));
    });
  }

  /** The sentence that a screen reader hears once a selection has settled. */
  function sentence(view) {
    const { shown, token } = view;
    const parts = [tokenTitle(token, app), aboutOverlay(app, shown)];
    if (shown.values) {
      const best = strongest(without(shown.values, token), 3);
      const text = shown.uniform === null ? digits : percent;
      parts.push(
        best
          .filter((other) => Number.isFinite(shown.values[other]))
          .map((other) => tokenName(other, app) + " " + text(shown.values[other]))
          .join(", "),
      );
    }
    return parts.filter(Boolean).join(". ");
  }

  function without(values, token) {
    const copy = Float32Array.from(values, (value) => (Number.isFinite(value) ? value : -Infinity));
    if (manifest.model.num_tokens > 1) copy[token] = -Infinity;
    return copy;
  }
}

/**
 * A bar of the shares of CLS, registers and patches, with the numbers.
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: (map: Float32Array|null, direction?: string) => void}}
 */
export function createShares({ t, source: { manifest } }) {
  const kinds = shares(new Float32Array(manifest.model.num_tokens), manifest.model.prefix_tokens);
  const parts = kinds.map(({ kind }) => {
    const part = el("span", { class: "vv-part vv-" + kind });
    const number = el("b");
    const item = el("li", { class: "vv-" + kind }, el("span", { text: t("kind_" + kind) }), number);
    return { part, number, item };
  });
  const sum = el("li", { class: "vv-sum" });
  const root = el(
    "div",
    { class: "vv-shares" },
    el("div", { class: "vv-bar", "aria-hidden": "true" }, ...parts.map(({ part }) => part)),
    el("ul", {}, ...parts.map(({ item }) => item), sum),
  );
  return {
    root,
    render(map, direction = "from") {
      show(root, map !== null);
      if (!map) return;
      let total = 0;
      shares(map, manifest.model.prefix_tokens).forEach((entry, at) => {
        total += entry.sum;
        parts[at].part.style.width = 100 * entry.share + "%";
        setText(parts[at].number, percent(entry.share));
      });
      // A column need not sum to 1: its sum, the attention that the token receives, is shown too.
      show(sum, direction === "to");
      if (direction === "to") setText(sum, t("received", { sum: digits(total) }));
    },
  };
}
