/** Pairs, filters, whole maps and marginals: the numbers of Python, and cases by hand. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { readStatistics } from "../../vitviz/viewer/data/analysis.js";
import { attentionOf } from "../../vitviz/viewer/maths/attention.js";
import {
  embeddedToken,
  filterPicture,
  readComponents,
  readEmbedding,
} from "../../vitviz/viewer/maths/embedding.js";
import { LazyFile } from "../../vitviz/viewer/data/lazyfile.js";
import { linePoints, marginals } from "../../vitviz/viewer/maths/marginals.js";
import { similarities } from "../../vitviz/viewer/data/maps.js";
import { MOST_MATRIX_TOKENS, Matrices } from "../../vitviz/viewer/data/matrix.js";
import { bySize, pairOf } from "../../vitviz/viewer/maths/pair.js";
import { patchValues } from "../../vitviz/viewer/maths/patch.js";
import { quantile, sampledQuantile } from "../../vitviz/viewer/maths/quantile.js";
import {
  dotInView,
  dotOfClick,
  evenDistance,
  headsByLayer,
  nearestDot,
  pileAt,
  ticks,
  topOf,
} from "../../vitviz/viewer/maths/scatter.js";
import { FIXTURES, assertClose } from "./fixture.js";

for (const { name, expected, manifest, grid, buffers, layers, picture } of FIXTURES) {
  const { layer, head, token } = expected;

  test(name + ": a pair and the row it goes into", () => {
    const found = pairOf(layers[layer], head, token, 1);
    for (const part of ["q", "k", "products", "scores", "attention"]) {
      assertClose(found[part], expected.pair[part], 1e-4);
    }
    for (const part of ["sum", "scale", "score", "share"]) {
      assertClose([found[part]], [expected.pair[part]], 1e-4);
    }
    assertClose([found.attention.reduce((sum, value) => sum + value)], [1], 1e-5);
    assertClose([Math.exp(found.score - found.lse)], [found.share], 1e-12);
  });

  test(name + ": content and position are the token that enters the first block", () => {
    const embedding = readEmbedding(buffers[manifest.files.embedding.path], manifest);
    expected.embedded.forEach((numbers, at) => {
      assertClose(embeddedToken(embedding, at).sum, numbers, 1e-4);
    });
    const patch = patchValues(picture, token, manifest, grid, "channel").normalised;
    const { content } = embeddedToken(embedding, token);
    // The tolerance is that of half precision, in which filters are sent.
    for (let i = 0; i < embedding.count; i++) {
      assertClose([answerOf(embedding, i, patch)], [content[i]], 5e-3);
    }
  });

  test(name + ": the components of all filters share out what makes these differ", () => {
    const {
      image: { channels },
      grid: { patch_height: height, patch_width: width },
      embed_dim: dim,
    } = manifest.model;
    const { filters, shares, count } = readComponents(buffers[manifest.files.filters.path], manifest);
    const numbers = channels * height * width;
    assert.equal(count, Math.min(28, dim, numbers));
    assert.equal(filters.length, count * numbers);
    assert.ok(shares.every((share, at) => at === 0 || share <= shares[at - 1]));
    if (count === Math.min(dim, numbers))
      assertClose([shares.reduce((sum, share) => sum + share)], [1], 1e-4);
    // Components are of length 1; half precision rounds them.
    for (let at = 0; at < count; at++) {
      assertClose(
        [filters.subarray(at * numbers, (at + 1) * numbers).reduce((sum, value) => sum + value * value, 0)],
        [1],
        3e-3,
      );
    }
  });

  test(name + ": similarity of a position, averaged along rows and columns", () => {
    const map = similarities(picture.positions, token - grid.prefix, grid.rows * grid.cols);
    const { ofRows, ofCols } = marginals(map, grid.rows, grid.cols);
    assertClose(ofRows, expected.similarity_of_rows, 1e-3);
    assertClose(ofCols, expected.similarity_of_cols, 1e-3);
  });

  test(name + ": a whole map has the rows of its head, and the mean those of all", async () => {
    const store = { get: (index) => layers[index], stop: new AbortController() };
    const matrix = await made(new Matrices(store, manifest, () => {}), layer, head);
    const row = new Float32Array(grid.tokens);
    for (let query = 0; query < grid.tokens; query++) {
      attentionOf(layers[layer], head, query, "from", row);
      assertClose(matrix.subarray(query * grid.tokens, (query + 1) * grid.tokens), row, 0);
    }
    const mean = await made(new Matrices(store, manifest, () => {}), layer, "mean");
    const of = (index) =>
      expected.attention_from.reduce((sum, values) => sum + values[index], 0) / manifest.model.num_heads;
    assertClose([mean[token * grid.tokens + 1]], [of(1)], 1e-5);
  });

  test(name + ": figures of every head", () => {
    const statistics = readStatistics(buffers[manifest.files.statistics.path], manifest);
    for (const figure of ["entropy", "distance"]) {
      assert.equal(statistics[figure].length, manifest.model.depth);
      assert.ok(statistics[figure].every((heads) => heads.length === manifest.model.num_heads));
    }
    // Entropy of the head, from the rows the browser makes.
    let sum = 0;
    const row = new Float32Array(grid.tokens);
    for (let query = 0; query < grid.tokens; query++) {
      attentionOf(layers[layer], head, query, "from", row);
      sum -= row.reduce((total, value) => total + (value > 0 ? value * Math.log(value) : 0), 0);
    }
    assertClose([sum / grid.tokens], [statistics.entropy[layer][head]], 2e-3);
    assertClose([evenDistance(grid)], [expected.even_distance], 1e-4);
  });
}

/** The response of a filter to a patch: the sum of all products, and its bias. */
function answerOf({ filters, bias, count }, index, patch) {
  const size = filters.length / count;
  return patch.reduce((sum, value, at) => sum + filters[index * size + at] * value, bias[index]);
}

async function made(matrices, layer, head) {
  for (let tries = 0; tries < 200; tries++) {
    const matrix = matrices.of(layer, head);
    if (matrix) return matrix;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  throw new Error("the map was never made");
}

test("the map that is wanted last is made, and one that is too large is not begun", async () => {
  const { manifest, layers } = FIXTURES[0];
  let looked = 0;
  const store = {
    get: (index) => {
      looked += 1;
      return layers[index];
    },
    stop: new AbortController(),
  };
  const matrices = new Matrices(store, manifest, () => {});
  assert.equal(matrices.of(0, 0), null);
  assert.equal(matrices.of(0, 1), null);
  assert.notDeepEqual(await made(matrices, 0, 1), await made(matrices, 0, 0));
  assert.equal(matrices.of(0, 1), matrices.of(0, 1));
  looked = 0;
  const large = new Matrices(store, { model: { num_tokens: MOST_MATRIX_TOKENS + 1 } }, () => {});
  assert.equal(large.of(0, 0), null);
  assert.equal(looked, 0);
});

test("quantiles, of few and of very many", () => {
  assert.equal(quantile([3, 1, 2, 4], 0.5), 2.5);
  assert.equal(quantile([3, 1, 2, 4], 1), 4);
  const many = Float32Array.from({ length: 100000 }, (_, i) => i / 100000);
  assertClose([sampledQuantile(many, 0.995)], [0.995], 1e-3);
  // One column is bright: in a sample of every second column it would count twice.
  const tokens = 1370;
  const map = Float32Array.from({ length: tokens ** 2 }, (_, at) => Number(at % tokens === 0));
  assert.equal(sampledQuantile(map, 0.999), 0);
});

test("a sum, its largest parts first", () => {
  assert.deepEqual(bySize([0.1, -3, 2, 3]), [1, 3, 2, 0]);
  const layer = {
    heads: 1,
    tokens: 2,
    dim: 2,
    scale: 0.5,
    q: Float32Array.of(1, 2, 0, 0),
    k: Float32Array.of(3, -1, 1, 1),
    lse: Float32Array.of(Math.log(Math.exp(0.5) + Math.exp(1.5)), 0),
  };
  const found = pairOf(layer, 0, 0, 1);
  assert.deepEqual([...found.products], [1, 2]);
  assert.deepEqual([found.sum, found.score], [3, 1.5]);
  assertClose([found.share], [Math.exp(1.5) / (Math.exp(0.5) + Math.exp(1.5))], 1e-6);
});

test("a filter is grey where it does not care, and in full colour where it cares most", () => {
  // One filter, three channels, 1 x 2 pixels, stored channel by channel.
  const embedding = { filters: Float32Array.of(0, 2, 0, -1, 0, 0), count: 1 };
  assert.deepEqual(
    [...filterPicture(embedding, 0, { channels: 3 })],
    [128, 128, 128, 255, 255, 64, 128, 255],
  );
  const two = { filters: Float32Array.of(1, 1, 0, -4), count: 2 };
  assert.deepEqual([...filterPicture(two, 1, { channels: 1 })], [128, 128, 128, 255, 0, 0, 0, 255]);
});

test("the dot that is meant is the nearest within reach", () => {
  const twins = [
    { x: 1, y: 1 },
    { x: 1, y: 1 },
  ];
  assert.equal(nearestDot(twins, 1, 2, 24), twins[0]);
  const dots = [
    { x: 0, y: 0 },
    { x: 10, y: 0 },
  ];
  assert.equal(nearestDot(dots, 6, 1, 24), dots[1]);
  assert.equal(nearestDot(dots, 60, 1, 24), null);
  assert.deepEqual([nearestDot(dots, 34, 0, 24), nearestDot(dots, 34.1, 0, 24)], [dots[1], null]);
});

test("dots that lie on each other are all found, and clicks walk through them", () => {
  const dots = [
    [3, 1, 10],
    [3, 2, 40],
    [3, 4, 13],
    [3, 5, 7],
    [4, 0, 12],
  ].map(([layer, head, y]) => ({ layer, head, x: layer === 3 ? 0 : 3, y }));
  const found = pileAt(dots, 8, 9, 24, 5);
  assert.equal(found.nearest, dots[4]);
  assert.deepEqual(pileAt(dots, 0, 10.5, 24, 5).pile, [dots[0], dots[2], dots[3], dots[4]]);
  assert.deepEqual(headsByLayer(pileAt(dots, 0, 10.5, 24, 5).pile), [
    [3, [1, 4, 5]],
    [4, [0]],
  ]);
  assert.deepEqual(pileAt(dots, 0, 39, 24, 5), { nearest: dots[1], pile: [dots[1]] });
  assert.deepEqual(pileAt(dots, 0, 99, 24, 5), { nearest: null, pile: [] });
  let chosen = { layer: 0, head: "mean" };
  const walked = Array.from({ length: 5 }, () => {
    const here = pileAt(dots, 0, 12.5, 24, 5); // head 4 is the nearest
    assert.equal(dotInView(here, chosen), here.pile.includes(chosen) ? chosen : here.nearest);
    chosen = dotOfClick(here, chosen);
    return chosen.layer + "." + chosen.head;
  });
  assert.deepEqual(walked, ["3.4", "4.0", "3.1", "3.4", "4.0"]);
  assert.equal(dotOfClick(pileAt(dots, 0, 99, 24, 5), chosen), null);
});

test("an axis has round numbers, few of them", () => {
  assert.deepEqual(ticks(5.5), [0, 2, 4]);
  assert.deepEqual(ticks(0.9), [0, 0.5]);
  assert.deepEqual(ticks(130), [0, 50, 100]);
  assertClose([topOf([2, 5, 1])], [5.2], 1e-12);
  assert.equal(topOf([0, 0]), 1, "a picture of one patch has no distances");
});

test("means of rows and columns, and the points of a line", () => {
  const { ofRows, ofCols } = marginals([1, 2, 3, 4, 5, 6], 2, 3);
  assertClose(ofRows, [2, 5], 1e-12);
  assertClose(ofCols, [2.5, 3.5, 4.5], 1e-12);
  assert.equal(linePoints([-1, 1], { min: -1, max: 1 }, 100, 10), "25.00,10.00 75.00,0.00");
});

test("a file is fetched when it is looked for, once, and again after a failure", async () => {
  let asked = 0;
  let fails = true;
  const fetchFile = async () => {
    asked += 1;
    if (fails) throw new Error("no");
    return new ArrayBuffer(3);
  };
  let told = 0;
  const late = new LazyFile(
    { size: 3 },
    fetchFile,
    new AbortController().signal,
    (buffer) => ({ bytes: buffer.byteLength }),
    () => {
      told += 1;
    },
  );
  assert.equal(asked, 0);
  assert.equal(late.get(), null);
  late.get();
  await new Promise((resolve) => setTimeout(resolve, 1));
  assert.equal(late.error.kind, "network");
  assert.deepEqual([late.get(), asked, told], [null, 1, 1]);
  fails = false;
  late.retry();
  late.get();
  await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual([late.get().bytes, asked], [3, 2]);
  assert.equal(new LazyFile(undefined, fetchFile, null, null, null).get(), null);
});
