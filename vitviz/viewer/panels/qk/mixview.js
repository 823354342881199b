/** The end of the story of a value: the values that are mixed, what a head adds to the token, and the sum. */

import { strongest } from "../../maths/attention.js";
import { colourTable, largestSize } from "../../maths/colour.js";
import { lengthOf, mixOf, valueOf } from "../../maths/mixing.js";
import { digits, exactly, percents, signed } from "../../maths/numbers.js";
import { tokenName } from "../../text/words.js";
import { el, setText, show } from "../../parts/dom.js";
import { createStrip } from "../../parts/strip.js";
import { createFileWaiting } from "../../parts/waiting.js";

const KEYS = 5; // whose values are shown
const WIDE = "vv-wide-name";

/** The vectors of the token; those of one group have one colour scale. */
const VECTORS = [
  ["added", "change"],
  ["before", "after"],
];

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement,
 *   render: (query: number, key: number, pair: import("../../maths/pair.js").Pair) => void}}
 */
export function createMixView(app) {
  const { t, source } = app;
  const { manifest } = source;
  const waiting = createFileWaiting(app, () => source.mixing(app.selection.layer), "mixLoading", {
    none: "mixNone",
  });
  let shown = null; // {mixing, mix, pair, query, key}
  const values = createMixedValues(app, draw);
  const token = createTokenSum(app, draw);
  const origins = ["q", "k"].map(() => el("p"));
  const switches = manifest.model.attention_parts
    .filter((name) => name !== "qkv_bias")
    .map((name) => el("p", { class: "vv-note", text: t("mix_" + name) }));
  const body = el(
    "div",
    { class: "vv-pair-body" },
    el("p", { class: "vv-intro", text: t("mixIntro") }),
    values.root,
    el("h4", { text: t("mixTokenTitle") }),
    ...token.nodes,
    el("h4", { text: t("originTitle") }),
    el("div", { class: "vv-origins" }, ...origins),
    ...switches,
  );
  const root = el(
    "section",
    { class: "vv-mix", "aria-label": t("mixTitle") },
    el("h4", { text: t("mixTitle") }),
    waiting.root,
    body,
  );

  return {
    root,
    render(query, key, pair) {
      const { layer, head } = app.selection;
      const mixing = waiting.get();
      show(body, mixing !== null);
      shown = null;
      if (!mixing) return;
      const { rows } = source.maps.of(layer, query, "from");
      shown = { mixing, mix: mixOf(mixing, rows, Number(head), query), pair, query, key, head };
      draw();
    },
  };

  function draw() {
    if (!shown) return;
    values.render(shown);
    token.render(shown);
    drawOrigins(shown);
  }

  /** Suffix for a patch in a model with rotary positions: its place rotates query and key. Else "". */
  function turned(token) {
    const off = manifest.pass.changes.some(
      ({ kind, by }) => kind === "positions" && ["off", "rotary off"].includes(by),
    );
    return manifest.model.position_kinds.includes("rotary") && token >= app.source.grid.prefix && !off
      ? " → " + t("originTurned")
      : "";
  }

  function drawOrigins({ mixing, pair, query, key }) {
    [
      [query, "q"],
      [key, "k"],
    ].forEach(([token, name], at) => {
      const before = lengthOf(mixing.before.subarray(token * mixing.width, (token + 1) * mixing.width));
      const norm = manifest.model.attention_norm;
      setText(
        origins[at],
        t(norm ? "origin" : "originPlain", {
          name,
          token: tokenName(token, app),
          norm: norm === "rmsnorm" ? "RMSNorm" : "LayerNorm",
          before: digits(before),
          normed: digits(mixing.norms[token]),
          rows: mixing.dim,
          cols: mixing.width,
          length: digits(lengthOf(pair[name])),
          bias: (manifest.model.attention_parts.includes("qkv_bias") ? " + b_" + name : "") + turned(token),
        }),
      );
    });
  }
}

/** The values of the keys with most attention, and the mix that they add up to. */
function createMixedValues(app, redraw) {
  const { t } = app;
  const { manifest, grid } = app.source;
  let pointed = null; // of the d numbers of a head
  const point = (at) => {
    pointed = at;
    redraw();
  };
  const values = Array.from({ length: Math.min(KEYS, grid.tokens) + 1 }, () => createValue(app, point));
  const mixed = createStrip(manifest.model.head_dim, t("mixed"), point, WIDE);
  const valueReading = el("p", { class: "vv-under" });
  return {
    root: el("div", { class: "vv-strips" }, ...values.map((strip) => strip.root), mixed.root, valueReading),
    render,
  };

  function render({ mixing, mix, pair, key, head }) {
    const table = colourTable("diverging");
    const best = strongest(pair.attention, KEYS);
    const keys = best.includes(key) ? best : [...best, key];
    const reach = Math.max(...keys.map((token) => largestSize(valueOf(mixing, head, token))));
    values.forEach((strips, at) =>
      strips.render(keys[at], pair, key, (strip, token) => {
        strip.draw(valueOf(mixing, head, token), table, reach);
        strip.mark(pointed);
      }),
    );
    mixed.draw(mix.mixed, table);
    mixed.mark(pointed);
    const at = pointed;
    if (at === null) return setText(valueReading, t("mixPoint", { count: grid.tokens }));
    const number = (token) => valueOf(mixing, head, token)[at];
    const terms = best
      .slice(0, 2)
      .map((token) => exactly(pair.attention[token]) + " × " + exactly(number(token)));
    return setText(
      valueReading,
      t("mixReading", {
        at,
        value: exactly(mix.mixed[at]),
        terms: terms.join(" + ") + (grid.tokens > 2 ? " + …" : ""),
      }),
    );
  }
}

/**
 * The sum that the heads add to the token: the vectors before and after, their lengths, and the share of each
 * head.
 */
function createTokenSum(app, redraw) {
  const { t } = app;
  const { manifest } = app.source;
  let pointed = null; // of the D numbers of a token
  const point = (at) => {
    pointed = at;
    redraw();
  };
  const vectors = VECTORS.flat().map((name) => ({
    name,
    ...createStrip(manifest.model.embed_dim, t("mix_" + name), point, WIDE),
  }));
  const tokenReading = el("p", { class: "vv-under" });
  const lines = ["added", "change", "token"].map((name) => {
    const number = el("b");
    const work = el("span");
    return {
      number,
      work,
      root: el("div", {}, el("dt", { text: t("mixLine_" + name) }), el("dd", {}, number, work)),
    };
  });
  const heads = Array.from({ length: manifest.model.num_heads }, (_, head) => {
    const share = el("b");
    return {
      share,
      root: el(
        "button",
        { type: "button", class: "vv-head-share", onclick: () => app.select({ head }) },
        el("span", { text: t("headNumber", { head }) }),
        share,
      ),
    };
  });
  const rest = el("b");
  return {
    render,
    nodes: [
      el("div", { class: "vv-strips" }, ...vectors.map((strip) => strip.root), tokenReading),
      el("dl", { class: "vv-sum-board vv-mix-board" }, ...lines.map(({ root }) => root)),
      el(
        "div",
        { class: "vv-head-shares", role: "group", "aria-label": t("mixHeads") },
        el("span", { class: "vv-strip-name", text: t("mixHeads") }),
        ...heads.map(({ root }) => root),
        el("span", { class: "vv-head-share" }, el("span", { text: t("mixRest") }), rest),
      ),
    ],
  };

  function render({ mix, head }) {
    const table = colourTable("diverging");
    for (const group of VECTORS) {
      const reach = Math.max(...group.map((name) => largestSize(mix[name])));
      for (const strip of vectors.filter(({ name }) => group.includes(name))) {
        strip.draw(mix[strip.name], table, reach);
        strip.mark(pointed);
      }
    }
    const at = pointed;
    const three = (value) => signed(value, 4).trim();
    setText(
      tokenReading,
      at === null
        ? t("mixTokenPoint")
        : t("mixTokenReading", {
            at,
            before: three(mix.before[at]),
            added: three(mix.added[at]),
            others: three(mix.change[at] - mix.added[at]),
            after: three(mix.after[at]),
          }),
    );
    const lengths = Object.fromEntries(VECTORS.flat().map((name) => [name, lengthOf(mix[name])]));
    const shares = percents(mix.shares.map(Math.abs)).map(
      (text, i) => (mix.shares[i] < 0 ? "\u2212" : "") + text,
    );
    const [added, change, token] = lines;
    setText(added.number, t("mixNorm", { norm: exactly(lengths.added) }));
    setText(added.work, " · " + t("mixOfChange", { cosine: exactly(mix.cosine), share: shares[head] }));
    setText(change.number, t("mixNorm", { norm: exactly(lengths.change) }));
    setText(
      change.work,
      " · " +
        t("mixShare", {
          share: shares[head],
          added: exactly(lengths.added),
          cosine: exactly(mix.cosine),
          change: exactly(lengths.change),
        }),
    );
    setText(token.number, t("mixNorm", { norm: exactly(lengths.before) + " → " + exactly(lengths.after) }));
    setText(token.work, " · " + t("mixToken", { times: digits(lengths.change / lengths.before) }));
    heads.forEach(({ root: node, share }, at) => {
      setText(share, shares[at]);
      node.classList.toggle("vv-chosen", at === head);
    });
    setText(rest, shares[heads.length]);
  }
}

/** The value of one key after its share; a click on its name selects it. */
function createValue(app, onPoint) {
  let token = 0;
  const share = el("span");
  const name = el("button", {
    type: "button",
    class: "vv-word",
    onclick: () => app.select({ partner: token }),
  });
  const strip = createStrip(
    app.source.manifest.model.head_dim,
    [share, document.createTextNode(" "), name],
    onPoint,
    WIDE,
  );
  const { root } = strip;
  return {
    root,
    render(next, pair, key, draw) {
      show(root, next !== undefined);
      if (next === undefined) return;
      token = next;
      root.classList.toggle("vv-chosen", token === key);
      setText(share, exactly(pair.attention[token]) + " ×");
      setText(name, tokenName(token, app));
      draw(strip, token);
    },
  };
}
