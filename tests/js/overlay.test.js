/** Overlays: the values of Python on the right scale, or why there are none. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { readSummary } from "../../vitviz/viewer/data/features.js";
import { AttentionMaps } from "../../vitviz/viewer/data/maps.js";
import { colourIndex } from "../../vitviz/viewer/maths/colour.js";
import { LEAST_TIMES, headsScale, leastEnd, patchScale, spanOf } from "../../vitviz/viewer/maths/scales.js";
import { OVERLAYS, overlayOf } from "../../vitviz/viewer/state/overlays.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { panelOf } from "../../vitviz/viewer/state/panels.js";
import { scaleOfBoth } from "../../vitviz/viewer/state/sharedscale.js";
import { stageSaves } from "../../vitviz/viewer/state/saves.js";
import { aboutOverlay } from "../../vitviz/viewer/text/overlay.js";
import { hasText, translator } from "../../vitviz/viewer/text/words.js";
import { FIXTURES, appOf, assertClose, fixtureOf } from "./fixture.js";

for (const { name, expected, manifest, grid, layers } of FIXTURES) {
  const { layer, token } = expected;
  const patches = (map) => map.slice(grid.prefix);
  const app = (overlay, more = {}) =>
    appOf({
      manifest,
      grid,
      maps: new AttentionMaps({ get: (at) => layers[at] }, manifest.model),
      selection: { overlay, layer, direction: "to", head: "mean" },
      taste: { scale: "map", colours: "magma" },
      ...more,
    });

  test(name + ": attention up to the largest patch of the map, or of all heads", () => {
    const own = overlayOf(app("attention"), token);
    assertClose(own.values, expected.mean_to, 1e-5);
    const least = Math.min(1, 3 / grid.tokens);
    assertClose([own.scale.min, own.scale.max], [0, Math.max(least, ...patches(expected.mean_to))], 1e-5);
    assert.deepEqual([own.uniform, own.colours, own.missing], [1 / grid.tokens, "magma", null]);
    const shared = overlayOf(app("attention", { taste: { scale: "heads" } }), token);
    assertClose([shared.scale.max], [Math.max(least, ...expected.attention_to.flatMap(patches))], 1e-5);
    const away = overlayOf(
      app("attention", { maps: new AttentionMaps({ get: () => undefined }, manifest) }),
      token,
    );
    assert.deepEqual([away.values, away.missing], [null, "layer"]);
  });

  test(name + ": a patch that was taken out has no map, and measures no other", () => {
    const pass = { ...manifest.pass, removed: [token - grid.prefix] };
    const whole = app("attention", { pointer: { shownToken: () => token } });
    const changed = {
      ...whole,
      source: { ...whole.source, manifest: { ...manifest, pass } },
      facing: () => whole,
    };
    whole.facing = () => changed;
    for (const overlay of ["attention", "rollout"]) {
      const gone = overlayOf({ ...changed, selection: { ...changed.selection, overlay } }, token);
      assert.deepEqual([gone.values, gone.missing], [null, "gone"]);
    }
    const alone = patchScale(expected.mean_to, grid);
    const scales = new Map([
      [whole, alone],
      [changed, { min: 0, max: 1 }],
    ]);
    for (const of of [whole, changed])
      assert.deepEqual(
        scaleOfBoth(of, (side) => scales.get(side)),
        alone,
      );
    assertClose([overlayOf(whole, token).scale.max], [alone.max], 1e-5);
  });

  test(name + ": positions of patches alone, from -1 to 1", () => {
    const positions = {
      positions: { exists: true },
      positionMap: (at) => (at < grid.prefix ? null : expected.similarity),
    };
    const shown = overlayOf(app("positions", positions), token);
    assertClose(patches(shown.values), expected.similarity, 1e-6);
    assert.ok(shown.values.slice(0, grid.prefix).every(Number.isNaN));
    assert.deepEqual([shown.scale, shown.colours, shown.uniform], [{ min: -1, max: 1 }, "diverging", null]);
    const ways = [
      [{ positions: { exists: false } }, token, "noPositions"],
      ...(grid.prefix > 0 ? [[positions, 0, "prefix"]] : []),
    ];
    for (const [more, at, missing] of ways) {
      const none = overlayOf(app("positions", more), at);
      assert.equal(none.missing, missing);
      const words = { ...app("positions", more), t: (key) => key };
      assert.equal(aboutOverlay(words, none), "about_none", "no place is most like one that there is not");
    }
    assert.equal(
      overlayOf(app("positions", { positions: { exists: true }, positionMap: () => null }), token).missing,
      "positions",
    );
  });

  test(name + ": what is told inside attention where no positions were learned", () => {
    const { rows, cols, prefix } = grid;
    const ways = (2 * rows - 1) * (2 * cols - 1);
    const values = Float32Array.from({ length: 2 * ways }, (_, at) => (at < ways ? 1 : -3)); // two heads
    const file = { kind: "bias", layers: 1, heads: 2, values, most: 3, turns: new Float32Array(0) };
    const of = (head, get = () => file) =>
      overlayOf(
        app("positions", {
          positions: { exists: false },
          inside: { exists: true, error: null, get },
          selection: { overlay: "positions", layer, head },
        }),
        token,
      );
    assert.deepEqual([of("mean").values[token], of(0).values[token], of(1).values[token]], [-1, 1, -3]);
    assert.deepEqual(
      [of("mean").told, of("mean").scale, of("mean").missing, of("mean").decimals],
      ["bias", { min: -3, max: 3 }, null, 2],
    );
    assert.equal(of(0, () => null).missing, "positions", "it is loading");
    assert.ok(of(0).values.slice(0, prefix).every(Number.isNaN));
    const saved = stageSaves(
      /** @type {any} */ ({ ...appOf({ manifest, grid }), selection: { overlay: "positions" } }),
      /** @type {any} */ ({ shown: of(0) }),
    );
    assert.deepEqual(
      [saved.figures, saved.tables.picture.rows.length],
      [[], grid.tokens],
      "the host draws learned ones alone",
    );
  });

  test(name + ": features from the least to the most similar patch", () => {
    const features = { similarity: () => Float32Array.from(expected.feature_similarity) };
    const { scale, uniform } = overlayOf(app("features", { features }), token);
    const alike = patches(expected.feature_similarity);
    assertClose([scale.min, scale.max], [Math.min(...alike), Math.max(...alike)], 1e-6);
    assert.equal(uniform, null);
    assert.equal(
      overlayOf(app("features", { features: { similarity: () => null } }), token).missing,
      "tokens",
    );
  });

  test(name + ": a rollout, or what it waits for", () => {
    const values = Float32Array.from(expected.rollout.mean);
    const shown = overlayOf(app("rollout", { relevance: { of: () => values } }), token);
    assertClose([shown.scale.max], [Math.max(3 / grid.tokens, ...patches([...values]))], 1e-6);
    const state = { of: () => null, possible: true, error: null, ask: null };
    for (const [more, missing] of [
      [{}, "building"],
      [{ ask: () => null }, "asking"],
      [{ ask: () => null, error: new Error("busy") }, "failed"],
      [{ possible: false }, "impossible"],
    ]) {
      assert.equal(overlayOf(app("rollout", { relevance: { ...state, ...more } }), token).missing, missing);
    }
  });
}

test("nothing lies over the picture where nothing is wanted", () => {
  const { manifest, grid } = FIXTURES[0];
  const { values, missing, kind } = overlayOf(
    appOf({ manifest, grid, selection: { overlay: "none" }, taste: {} }),
    0,
  );
  assert.deepEqual([values, missing, kind], [null, null, "none"]);
});

test("every overlay says all that is asked of one, and only the table knows their names", () => {
  const figures = new Set(["attention", "rollout", "positions", "features", "explanation", "patches"]);
  for (const { id, valuesOf, figure, controls, says } of OVERLAYS) {
    assert.ok(hasText("overlay_" + id), id);
    assert.ok(figures.delete(figure), id + " draws a figure of its own");
    assert.equal(controls.length > 0, valuesOf !== undefined, id);
    for (const direction of ["from", "to"]) {
      for (const colours of ["magma", "diverging"]) {
        const end = says?.({ direction }, { colours }) ?? id;
        assert.ok(
          hasText("about_" + end) && (!valuesOf || hasText("saying_" + end)),
          id + " has no words for " + end,
        );
      }
    }
  }
  const ofTheirOwn = ["positions", "features", "explain"]; // whose values are no shares of attention
  for (const id of ofTheirOwn) assert.ok(hasText("scale_" + id), id);
  const named = new RegExp(
    '(overlay|(shown|first)\\.kind|selection\\.overlay) [!=]== "(' +
      OVERLAYS.map(({ id }) => id)
        .filter((id) => id !== "none")
        .join("|") +
      ')"',
  );
  const viewer = new URL("../../vitviz/viewer/", import.meta.url);
  const compared = readdirSync(viewer, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".js"))
    .filter((name) => named.test(readFileSync(new URL(name, viewer), "utf8")));
  // What is explained is put into words where words are; a panel knows whether its own map lies over the
  // picture.
  assert.deepEqual(compared.sort(), ["panels/attention.js", "panels/rollout.js", "text/overlay.js"]);
});

test("a link of a panel names the fields of the overlay that lies over the picture, whichever panel is open", () => {
  const fields = Object.fromEntries(OVERLAYS.map(({ id, link = [] }) => [id, link]));
  assert.deepEqual(fields, {
    attention: [],
    rollout: ["first", "residual", "fusion"],
    positions: [],
    features: [],
    explain: ["explainer", "target"],
    none: [],
  });
});

test("two maps that are compared lie on one scale that holds both", () => {
  const [one, other] = [
    { min: 0.4, max: 0.9 },
    { min: -0.1, max: 0.7 },
  ];
  assert.deepEqual(
    [spanOf(one, other), spanOf(other, one)],
    [
      { min: -0.1, max: 0.9 },
      { min: -0.1, max: 0.9 },
    ],
  );
  assert.equal(spanOf(one, undefined), one);
});

test("the map of a model that looks everywhere alike looks even, and a clear one fills its scale", () => {
  const grid = { prefix: 1, tokens: 17 };
  const even = Float32Array.from({ length: 17 }, (_, at) => 1 / 17 + (at % 2 ? 0.004 : -0.004));
  const { max } = patchScale(even, grid);
  assertClose([max], [LEAST_TIMES / 17], 1e-7);
  // In the colour table all patches lie close together, at a third of it.
  const places = [...even.slice(1)].map((value) => colourIndex(value, { min: 0, max }));
  assert.ok(Math.max(...places) - Math.min(...places) < 16, String(places));
  const clear = Float32Array.from(even, (value, at) => (at === 5 ? 0.4 : value));
  assertClose([patchScale(clear, grid).max], [0.4], 1e-7);
  assert.equal(leastEnd(2), 1, "no share is more than 1");
  // Two heads, one row after the other: the largest patch of both, and not what CLS has.
  const [rows, small] = [
    [0.9, 0.1, ...new Array(8).fill(0), 0.5, 0.1, 0.4, ...new Array(7).fill(0)],
    { prefix: 1, tokens: 10 },
  ];
  assert.deepEqual([headsScale(rows, 2, small).max, headsScale(rows, 1, small).max], [0.4, LEAST_TIMES / 10]);
});

test("the line over the picture says which PCA of the tokens its colours are", () => {
  const { manifest, buffers, grid } = fixtureOf("cls");
  const summary = readSummary(buffers[manifest.files.features.path], manifest);
  const told = (language, painted, normed = /** @type {any} */ ({})) => {
    const source = { manifest, grid, features: { normed, summary: () => summary, similarity: () => null } };
    const app = {
      ...appOf({ manifest, grid, selection: { overlay: "features", layer: 1 }, taste: { painted } }),
      t: translator(language),
      source,
      panel: () => panelOf(PANELS, "features"),
      facing: () => null,
    };
    const shown = overlayOf(/** @type {any} */ (app), 0);
    return [
      aboutOverlay(/** @type {any} */ (app), shown),
      stageSaves(/** @type {any} */ (app), { shown }).figures,
    ];
  };
  assert.deepEqual(told("en", "colours"), ["colours by likeness · after layer 1", ["features"]]);
  assert.deepEqual(told("en", "normed"), ["PCA after the last norm · after layer 1", []]);
  assert.deepEqual(told("en", "normed", null), told("en", "colours"));
  assert.deepEqual(
    ["colours", "normed"].map((painted) => told("ko", painted)[0]),
    ["비슷한 칸끼리 같은 색 · 레이어 1 다음", "마지막 정규화 뒤의 주성분(PCA) · 레이어 1 다음"],
  );
});
