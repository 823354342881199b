/** The first filters of the patch embedding, their responses to a patch, and the resulting token. */

import { pictureCanvas } from "../../parts/canvas.js";
import { colourTable, largestSize } from "../../maths/colour.js";
import { el, setText } from "../../parts/dom.js";
import { embeddedToken, filterPicture } from "../../maths/embedding.js";
import { signed } from "../../maths/numbers.js";
import { createStrip } from "../../parts/strip.js";
import { createFileView } from "../../parts/waiting.js";

const PARTS = ["content", "position", "sum"];

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: (token: number) => void}}
 */
export function createFilters(app) {
  const { t } = app;
  const { manifest, grid } = app.source;
  const { embed_dim: dim } = manifest.model;
  const root = el(
    "section",
    { class: "vv-embedding", "aria-label": t("filters") },
    el("h4", { text: t("filters") }),
  );
  return createFileView(app, root, () => app.source.embedding, "filtersLoading", createBody, {
    none: "filtersOld",
  });

  function createBody(embedding) {
    const { count } = embedding;
    let pointed = null;
    let token = 0;
    const point = (at) => {
      pointed = at;
      draw();
    };
    const cards = Array.from({ length: count }, (_, at) => createCard(embedding, at, point));
    const reading = el("p", { class: "vv-under", role: "status" });
    const intro = el("p", { class: "vv-intro" });
    const gallery = el("div", { class: "vv-filters" }, ...cards.map((card) => card.root));
    gallery.style.setProperty("--vv-ratio", grid.patchWidth / grid.patchHeight);
    const learned = manifest.model.position_kinds.includes("learned");
    const strips = PARTS.filter((part) => learned || part !== "position").map((part) => ({
      part,
      ...createStrip(count, t("token_" + part), point),
    }));
    const sum = el("p", { class: "vv-under" });
    const norms = manifest.model.embedding_norms.map((name) =>
      el("p", { class: "vv-note", text: t("norm_" + name) }),
    );
    const body = el(
      "div",
      { class: "vv-embedding" },
      intro,
      gallery,
      reading,
      el("h4", { text: t("tokenTitle") }),
      el("p", { class: "vv-intro", text: t(learned ? "tokenIntro" : "tokenIntroPlain", { count, dim }) }),
      el("div", { class: "vv-strips" }, ...strips.map((strip) => strip.root), sum),
      ...norms,
    );
    return {
      root: body,
      render: (next) => {
        token = next;
        draw();
      },
    };

    function draw() {
      const parts = embeddedToken(embedding, token);
      const isPatch = token >= grid.prefix;
      setText(intro, isPatch ? t("filtersIntro", { count, dim }) : t("filtersPrefix", { count, dim }));
      const most = largestSize(parts.content);
      cards.forEach((card, at) => card.render(isPatch ? parts.content[at] : null, most, at === pointed));
      // One scale for all three, so that content and position can be compared.
      const reach = Math.max(...PARTS.map((part) => largestSize(parts[part])));
      for (const strip of strips) {
        strip.draw(parts[strip.part], colourTable("diverging"), reach);
        strip.mark(pointed);
      }
      const number = (part) => signed(parts[part][pointed], 3).trim();
      setText(
        reading,
        pointed === null || !isPatch
          ? t("filterPoint")
          : t("filterReading", {
              at: pointed,
              value: number("content"),
              bias: signed(embedding.bias[pointed], 3).trim(),
              count: manifest.model.image.channels * grid.patchHeight * grid.patchWidth,
            }),
      );
      setText(
        sum,
        pointed === null
          ? t("tokenPoint")
          : t("tokenReading", {
              at: pointed,
              content: number("content"),
              position: number("position"),
              sum: number("sum"),
            }),
      );
    }
  }

  /**
   * A filter as a small picture, with a bar for its response: negative to the left, positive to the right.
   */
  function createCard(embedding, at, point) {
    const canvas = pictureCanvas(
      filterPicture(embedding, at, manifest.model.image),
      grid.patchHeight,
      grid.patchWidth,
      "vv-map vv-enlarged",
    );
    const fill = el("span", { class: "vv-answer-fill" });
    const number = el("span", { class: "vv-answer" });
    const card = el(
      "button",
      {
        type: "button",
        class: "vv-filter",
        onpointerenter: () => point(at),
        onfocus: () => point(at),
        onclick: () => point(at),
        onpointerleave: (event) => {
          if (event.pointerType !== "touch") point(null);
        },
        onblur: () => point(null),
      },
      el("span", { class: "vv-live", text: t("filterNumber", { at }) }),
      canvas,
      el("span", { class: "vv-answer-bar", "aria-hidden": "true" }, fill),
      number,
    );
    return {
      root: card,
      render(answer, most, isPointed) {
        card.classList.toggle("vv-chosen", isPointed);
        setText(number, answer === null ? "" : signed(answer));
        const share = answer === null ? 0 : (50 * answer) / most;
        fill.style.left = 50 + Math.min(0, share) + "%";
        fill.style.width = Math.abs(share) + "%";
        fill.classList.toggle("vv-below", share < 0);
      },
    };
  }
}
