/** Panel Query and key: one attention value, from the dot product to what it adds to the token. */

import { colourTable } from "../maths/colour.js";
import { el, setText, show } from "../parts/dom.js";
import { exactly, multiple, percent, plain, signed } from "../maths/numbers.js";
import { mixOf } from "../maths/mixing.js";
import { bySize, pairOf } from "../maths/pair.js";
import { touches } from "../state/experiment.js";
import { tokenTable } from "../state/saves.js";
import { createMixView } from "./qk/mixview.js";
import { createBars, createSoftmaxRow } from "./qk/softmaxrow.js";
import { createTurnView, isTurned, turnFor } from "./qk/turnview.js";
import { createStrip } from "../parts/strip.js";
import { createWaiting, layerText } from "../parts/waiting.js";
import { button, choice, numberBox } from "../parts/widgets.js";
import { pairFinding } from "../text/findings.js";
import { codeOf } from "../text/python.js";
import { headName, tokenName } from "../text/words.js";

/** @type {import("../state/panels.js").PanelDescription} */
export const qk = {
  id: "qk",
  group: "why",
  overlay: "attention",
  needs: "layer",
  pairs: true,
  link: ["partner"],
  lights: ({ selection: { layer } }) => [layer],
  // The mean of heads has no queries and keys, so head 0 is borrowed.
  borrows: ({ head }) => (head === "mean" ? { head: 0 } : {}),
  create,
  saves,
  code,
};

const PARTS = ["q", "k", "products"];

/** A bar for every token, of the scores or the shares of a row. */
export const createRowBars = createBars;

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  let order = "place";
  let pointed = null; // one of the d numbers

  const found = el("p", { class: "vv-found" });
  const intro = el("p", { class: "vv-intro" });
  const pick = choice({
    label: t("pairPick"),
    options: ["partner", "token"].map((value) => ({ value, text: t("pairPick_" + value) })),
    onChoose: (value) => app.pointer.choosePick(value),
  });
  const swap = button({
    text: "⇄",
    title: t("pairSwap"),
    onClick: () => {
      const [token, partner] = [app.pointer.shownPartner(), app.pointer.shownToken()];
      app.select({ token, partner, pinned: true });
    },
  });
  const waiting = createWaiting(app);
  const noHead = el(
    "p",
    { class: "vv-note" },
    el("span", { text: t("pairMean") + " " }),
    button({
      text: t("headNumber", { head: 0 }),
      title: t("headNumber", { head: 0 }),
      onClick: () => app.select({ head: 0 }),
    }),
  );
  const strips = PARTS.map((part) => ({
    part,
    ...createStrip(app.source.manifest.model.head_dim, t("pair_" + part), (at) => {
      pointed = at;
      draw();
    }),
  }));
  const reading = el("p", { class: "vv-under" });
  const board = createSumBoard(app);
  const orderChoice = choice({
    label: t("pairOrder"),
    options: ["place", "size"].map((value) => ({ value, text: t("pairOrder_" + value) })),
    onChoose: (value) => {
      order = value;
      draw();
    },
  });
  const numbers = numberBox(t("pairNumbers"));
  const row = createSoftmaxRow(app);
  const mixView = createMixView(app);
  const turnView = isTurned(app.source) ? createTurnView(app) : null;
  const body = el(
    "div",
    { class: "vv-pair-body" },
    el("div", { class: "vv-strips" }, ...strips.map(({ root }) => root), reading),
    board.root,
    turnView?.root,
    el("h4", { text: t("pairRowTitle") }),
    row.root,
    el(
      "details",
      { class: "vv-facts" },
      el("summary", { text: t("pairNumbers") }),
      orderChoice.root,
      numbers,
    ),
    mixView.root,
  );
  const root = el(
    "div",
    {},
    found,
    intro,
    el("div", { class: "vv-pair vv-on-a-line" }, pick.root, swap),
    noHead,
    waiting.root,
    body,
  );
  let shown = null; // {pair, key}
  let late = 0;

  return { root, render, destroy: () => clearTimeout(late) };

  function render({ shown: over }) {
    const { layer, head } = app.selection;
    const { query, key } = app.pointer.pair();
    pick.set(app.pointer.pairPick);
    setText(
      intro,
      t("pairIntro", {
        query: tokenName(query, app),
        key: tokenName(key, app),
        layer,
        head: headName(head, app),
      }),
    );
    show(noHead, head === "mean");
    const decoded = head === "mean" ? null : app.source.store.get(layer);
    waiting.render(
      head === "mean" || decoded ? "" : layerText(app),
      app.source.failure !== null && over.missing !== "layer",
    );
    show(body, Boolean(decoded));
    shown = decoded && head !== "mean" ? { pair: pairOf(decoded, head, query, key), key } : null;
    setText(found, shown ? pairFinding(app, { query, key }, shown.pair) : "");
    draw();
    if (!shown) return;
    turnView?.render(query, key, shown.pair);
    mixView.render(query, key, shown.pair);
  }

  function draw() {
    clearTimeout(late);
    if (!shown) return;
    const { pair, key } = shown;
    orderChoice.set(order);
    const table = colourTable("diverging");
    for (const strip of strips) {
      strip.draw(pair[strip.part], table);
      strip.mark(pointed);
    }
    setText(
      reading,
      pointed === null
        ? t("pairPoint")
        : t("pairReading", {
            at: pointed,
            q: signed(pair.q[pointed], 3).trim(),
            k: signed(pair.k[pointed], 3).trim(),
            product: signed(pair.products[pointed], 3).trim(),
          }),
    );
    board.render(pair);
    row.render(pair, key);
    // A table of many numbers is written only when the pointer rests.
    late = setTimeout(() => setText(numbers, numbersText(pair, order)), 60);
  }
}

/** The dot product, the score and the share: each number with the line of arithmetic that makes it. */
function createSumBoard(app) {
  const { t } = app;
  const lines = ["sum", "score", "bias", "share"].map((name) => {
    const number = el("b");
    const work = el("span");
    return {
      name,
      number,
      work,
      root: el("div", {}, el("dt", { text: t("pairLine_" + name) }), el("dd", {}, work, number)),
    };
  });
  const root = el("dl", { class: "vv-sum-board" }, ...lines.map(({ root }) => root));
  return { root, render };

  function render(pair) {
    const [sum, score, bias, share] = lines;
    const biggest = bySize(pair.products)
      .slice(0, 3)
      .map((at) => signed(pair.products[at]).trim());
    const plus = (part) => (part.startsWith("\u2212") ? " \u2212 " + part.slice(1) : " + " + part);
    setText(
      sum.work,
      biggest[0] + biggest.slice(1).map(plus).join("") + (pair.products.length > 3 ? " + \u2026 = " : " = "),
    );
    setText(sum.number, exactly(pair.sum));
    const values = { scale: exactly(pair.scale), dim: pair.q.length, sum: exactly(pair.sum) };
    setText(score.work, t("pairScale", values) + " = ");
    setText(score.number, exactly(pair.scale * pair.sum));
    bias.root.hidden = pair.bias === null;
    setText(
      bias.work,
      pair.bias === null ? "" : exactly(pair.scale * pair.sum) + plus(exactly(pair.bias)) + " = ",
    );
    setText(bias.number, exactly(pair.score));
    // e^score can be too large to read; the difference score - lse is always readable.
    const total = Math.exp(pair.lse);
    const readable = total < 1e7 && Math.exp(pair.score) > 1e-6;
    setText(
      share.work,
      pair.cut
        ? t("pairCut") + " "
        : (readable
            ? t("pairFraction", {
                score: exactly(pair.score),
                part: plain(Math.exp(pair.score), 5),
                total: plain(total, 5),
              })
            : t("pairExponent", { score: exactly(pair.score), lse: exactly(pair.lse) })) + " = ",
    );
    setText(
      share.number,
      t("pairShare", {
        value: exactly(pair.share),
        share: percent(pair.share),
        times: multiple(pair.share * app.source.grid.tokens),
      }),
    );
  }
}

/** The numbers of both vectors with their products and the running sum, in rows. */
function numbersText(pair, order) {
  const count = pair.q.length;
  const places = order === "size" ? bySize(pair.products) : [...Array(count).keys()];
  const width = String(count - 1).length;
  const cell = (text) => text.padStart(9);
  let sum = 0;
  const head = " ".repeat(width) + "\u2502" + ["q", "k", "q\u00b7k", "\u03a3"].map(cell).join("");
  const rows = places.map((at) => {
    sum += pair.products[at];
    return (
      String(at).padStart(width) +
      "\u2502" +
      [pair.q[at], pair.k[at], pair.products[at], sum].map((value) => cell(signed(value, 3))).join("")
    );
  });
  return [head, ...rows].join("\n");
}

/**
 * Code for the products and the row of attention; then for the mix, the token after it and what the head adds
 * to the token; last for the rotation by positions.
 */
function code({ token, partner, layer, head, direction }, source) {
  const { manifest } = source;
  if (head === "mean") return null;
  const [query, key] = direction === "from" ? [token, partner] : [partner, token];
  const { attention_norm: norm, attention_parts: parts } = manifest.model;
  // A norm around `proj` divides all heads by one length: what one adds then takes more than a line.
  const added = norm !== "" && !parts.includes("attn_norm");
  // A head or a branch that is off does not add what its weights would.
  const mixes = !touches(manifest.pass.changes ?? [], "heads");
  const cells = [mixes ? (added ? "qk_added" : "qk_mix") : "qk", ...(isTurned(source) ? ["qk_turn"] : [])];
  return codeOf(manifest, { vitviz: cells, torch: cells }, { layer, head, query, key });
}

/** Saves query, key and row of a pair; for the mean of heads, query and key of every head. */
function saves(app) {
  const { layer, head } = app.selection;
  const figures = head === "mean" ? [] : ["pair"]; // a mean has no queries and keys of its own
  const decoded = app.source.store.get(layer);
  if (!decoded) return { tables: {}, figures };
  const { query, key } = app.pointer.pair();
  const columns = ["element", "q", "k", "product"];
  const vectors = ({ q, k, products }) => Array.from(products, (product, at) => [at, q[at], k[at], product]);
  if (head === "mean") {
    const heads = [...Array(decoded.heads).keys()];
    const rows = heads.flatMap((each) =>
      vectors(pairOf(decoded, each, query, key)).map((row) => [each, ...row]),
    );
    return { figures, tables: { vectors: { columns: ["head", ...columns], rows } } };
  }
  const pair = pairOf(decoded, head, query, key);
  const turn = turnFor(app, head, query, key, pair);
  const plain = {
    columns: [...columns, "q_before_turn", "k_before_turn"],
    rows: vectors(pair).map((row, at) => [...row, turn?.q[at], turn?.k[at]]),
  };
  return {
    figures,
    tables: {
      vectors: turn ? plain : { columns, rows: vectors(pair) },
      row: tokenTable(app, { score: pair.scores, attention: pair.attention }),
      ...mixTables(app, head, query),
    },
  };
}

/** The mix of the head, and the token before and after: while their file is here. */
function mixTables({ source, selection: { layer } }, head, query) {
  const mixing = source.mixing(layer).get();
  if (!mixing) return {};
  const { mixed, before, added, change, after } = mixOf(
    mixing,
    source.maps.of(layer, query, "from").rows,
    head,
    query,
  );
  return {
    mix: { columns: ["element", "mix"], rows: Array.from(mixed, (value, at) => [at, value]) },
    token: {
      columns: ["element", "before", "head", "all_heads", "after"],
      rows: Array.from(before, (value, at) => [at, value, added[at], change[at], after[at]]),
    },
  };
}
