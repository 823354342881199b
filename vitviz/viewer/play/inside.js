/**
 * Figures of a model while it learns: filters, positions, attention of CLS, and confused classes.
 */

import { attentionRows, dot } from "../maths/attention.js";
import { colourTable, largestSize } from "../maths/colour.js";
import { leastEnd } from "../maths/scales.js";
import { grouped } from "../maths/numbers.js";
import { toFloat32 } from "../maths/safetensors.js";
import { el, setText, show } from "../parts/dom.js";
import { createMosaic, createPatchMosaic } from "../parts/mosaic.js";
import { positionsOf } from "./adopted.js";
import { confusions } from "./runs.js";

const FILTERS_ACROSS = 12;
const MOST_PAIRS = 5;

/**
 * A model, its pass of a digit, and the step of its training, if known.
 * @typedef {{known: any, pass: import("../engine/core.js").Pass, step: number|null}} Looked
 */

/**
 * @param {import("./playground.js").Digits} digits
 * @param {import("./texts.js").Say} say
 */
export function createInside({ test, classes }, say) {
  const figure = (title, note) => {
    const [place, caption] = [
      el("div", { class: "vv-play-map" }),
      el("p", { class: "vv-note", text: say(note) }),
    ];
    return { place, caption, root: el("figure", {}, el("h4", { text: say(title) }), place, caption) };
  };
  const filters = figure("filters", "filtersNote");
  const positions = figure("similarity", "similarityNote");
  const attention = figure("looks", "looksNote");
  const confused = figure("confused", "confusedNote");
  const pairs = el("ol", { class: "vv-play-pairs" });
  confused.root.append(pairs);
  const of = el("p", { class: "vv-note" });
  const root = el(
    "div",
    {},
    of,
    el("div", { class: "vv-play-figures" }, filters.root, positions.root, attention.root, confused.root),
  );
  let drawn = /** @type {Float32Array|null} */ (null);
  return { root, draw, confuse };

  /** @param {Looked} looked */
  function draw({
    known: {
      facts: { config },
      tensors,
    },
    pass,
    step,
  }) {
    setText(of, step === null ? "" : say("insideOf", { step: grouped(step) }));
    const {
      embed_dim: dim,
      patch_size: [height, width],
      rows,
      cols,
      num_prefix_tokens: prefix,
      num_heads: heads,
      depth,
      num_tokens: tokens,
      head_dim,
    } = config;
    const diverging = colourTable("diverging");
    const weights = toFloat32(tensors["patch_embed.proj.weight"]);
    const across = Math.min(FILTERS_ACROSS, dim);
    const shown = createMosaic({
      outerRows: Math.ceil(dim / across),
      outerCols: across,
      rows: height,
      cols: width,
      ratio: 1,
      label: say("filters"),
    });
    for (let filter = 0; filter < dim; filter++) {
      const own = weights.subarray(filter * height * width, (filter + 1) * height * width);
      const most = largestSize(own);
      shown.place(Math.floor(filter / across), filter % across, own, 0, { min: -most, max: most }, diverging);
    }
    put(filters, shown);
    setText(
      positions.caption,
      say(config.pos_embed ? "similarityNote" : config.rotary ? "similarityRotary" : "similarityNone"),
    );
    show(positions.place, config.pos_embed);
    if (config.pos_embed) {
      const unit = positionsOf({ tensors, dim, prefix });
      const maps = createPatchMosaic({ rows, cols }, 1, say("similarity"));
      for (let at = 0; at < rows * cols; at++) {
        const map = Float32Array.from({ length: rows * cols }, (_, other) =>
          dot(unit, at * dim, unit, other * dim, dim),
        );
        maps.place(Math.floor(at / cols), at % cols, map, 0, { min: -1, max: 1 }, diverging);
      }
      put(positions, maps);
    }
    setText(attention.caption, say(config.class_token ? "looksNote" : "looksNone"));
    show(attention.place, config.class_token);
    if (!config.class_token || !pass.layers) return;
    const maps = createMosaic({
      outerRows: depth,
      outerCols: heads,
      rows,
      cols,
      ratio: 1,
      label: say("looks"),
    });
    pass.layers.forEach((layer, row) => {
      const all = attentionRows(
        { ...layer, heads, tokens, dim: head_dim, scale: head_dim ** -0.5, isCut: null, bias: null },
        0,
        "from",
      );
      const most = all.reduce(
        (largest, value, at) => (at % tokens >= prefix ? Math.max(largest, value) : largest),
        leastEnd(tokens),
      );
      for (let head = 0; head < heads; head++)
        maps.place(row, head, all, head * tokens + prefix, { min: 0, max: most }, colourTable("magma"));
    });
    put(attention, maps);
  }

  function put({ place }, mosaic) {
    mosaic.flush();
    place.replaceChildren(mosaic.frame);
  }

  /** @param {Float32Array|null} answers */
  function confuse(answers) {
    if (answers === drawn) return;
    drawn = answers;
    if (!answers) {
      confused.place.replaceChildren();
      pairs.replaceChildren();
      return;
    }
    const count = classes.length;
    const { counts, pairs: found } = confusions(answers, test.labels, count);
    const wrong = Float32Array.from(counts, (times, at) =>
      Math.floor(at / count) === at % count ? 0 : times,
    );
    const map = createMosaic({
      outerRows: 1,
      outerCols: 1,
      rows: count,
      cols: count,
      ratio: 1,
      label: say("confused"),
    });
    map.draw(0, 0, wrong, 0, { min: 0, max: Math.max(1, ...wrong) }, colourTable("magma"));
    const names = () => classes.map((text) => el("span", { text }));
    confused.place.replaceChildren(
      el("div", { class: "vv-play-axes", "aria-hidden": "true" }, ...names()),
      el("div", { class: "vv-play-axes vv-play-down", "aria-hidden": "true" }, ...names()),
      map.frame,
    );
    confused.place.classList.add("vv-play-square");
    pairs.replaceChildren(
      ...found
        .slice(0, MOST_PAIRS)
        .map(({ label, guess, count: times }) =>
          el("li", { text: say("pair", { label: classes[label], guess: classes[guess], count: times }) }),
        ),
    );
  }
}
