/** Conversions between pixels, patches and tokens, on grids that are not square. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  boxOf,
  gridOf,
  mapRatio,
  neighbour,
  percentBox,
  placeOf,
  samePlace,
  startToken,
  tokenAt,
  tokenOf,
} from "../../vitviz/viewer/maths/geometry.js";
import { columnsOf } from "../../vitviz/viewer/parts/gallery.js";

function make(prefix, rows = 2, cols = 3) {
  return gridOf({
    model: {
      grid: { rows, cols, patch_height: 8, patch_width: 4 },
      image: { height: rows * 8, width: cols * 4 },
      prefix_tokens: Array(prefix).fill("reg_token"),
      num_tokens: prefix + rows * cols,
    },
  });
}

test("token to place and back, with 0, 1, 2 and 5 prefix tokens", () => {
  for (const prefix of [0, 1, 2, 5]) {
    const grid = make(prefix);
    for (let token = 0; token < grid.tokens; token++) {
      const place = placeOf(token, grid);
      if (token < prefix) assert.equal(place, null);
      else assert.equal(tokenOf(place.row, place.col, grid), token);
    }
    assert.equal(boxOf(prefix - 1, grid), null);
    assert.deepEqual(boxOf(prefix + 4, grid), { top: 8, left: 4, height: 8, width: 4 });
  }
  assert.throws(
    () => gridOf({ model: { grid: { rows: 2, cols: 2 }, prefix_tokens: [], image: {}, num_tokens: 5 } }),
    /0 prefix tokens and 2 x 2 patches are not 5 tokens/,
  );
});

test("the token under a point, at any size of drawing", () => {
  const grid = make(1);
  const drawn = { width: 300, height: 400 };
  assert.equal(tokenAt(0, 0, drawn, grid), 1);
  assert.equal(tokenAt(299.9, 399.9, drawn, grid), 6);
  assert.equal(tokenAt(100, 199.9, drawn, grid), 2);
  assert.equal(tokenAt(100, 200, drawn, grid), 5);
  for (const [x, y] of [
    [-1, 5],
    [300, 5],
    [5, -0.1],
    [5, 400],
    [NaN, 1],
  ]) {
    assert.equal(tokenAt(x, y, drawn, grid), null);
  }
});

test("boxes for CSS are shares of the picture", () => {
  assert.deepEqual(percentBox(4, make(0)), {
    top: "50%",
    left: (100 * 4) / 12 + "%",
    height: "50%",
    width: (100 * 4) / 12 + "%",
  });
});

test("a map has the shape of its part of the picture, whatever the shape of patches", () => {
  assert.equal(mapRatio(make(1)), 12 / 16);
});

test("arrow keys walk the grid and reach the prefix tokens", () => {
  const grid = make(2);
  assert.equal(neighbour(6, "ArrowLeft", grid), 5);
  assert.equal(neighbour(6, "ArrowUp", grid), 3);
  assert.equal(neighbour(7, "ArrowRight", grid), 7, "no way out at the right");
  assert.equal(neighbour(7, "ArrowDown", grid), 7);
  assert.equal(neighbour(5, "ArrowLeft", grid), 1, "from the first column to the prefix tokens");
  assert.equal(neighbour(1, "ArrowRight", grid), 2, "and back");
  assert.equal(neighbour(0, "ArrowUp", grid), 0);
  assert.equal(neighbour(0, "ArrowLeft", make(0)), 0);
});

test("where to start", () => {
  assert.equal(startToken(make(5)), 0);
  assert.equal(startToken(make(0)), 4, "without prefix tokens, the middle patch");
  assert.equal(startToken(make(0, 2, 5)), 7);
});

test("a place on another grid", () => {
  const [coarse, fine] = [
    { rows: 8, cols: 8 },
    { rows: 12, cols: 16 },
  ];
  assert.deepEqual(samePlace({ row: 3, col: 5 }, coarse, coarse), { row: 3, col: 5 });
  assert.deepEqual(samePlace({ row: 0, col: 7 }, coarse, fine), { row: 0, col: 15 });
  assert.deepEqual(samePlace({ row: 11, col: 0 }, fine, coarse), { row: 7, col: 0 });
});

test("rows of a gallery are about equally full", () => {
  const columns = [
    [7, 4],
    [13, 7],
    [17, 7],
    [6, 4],
    [12, 4],
    [3, 4],
    [1, 6],
    [24, 6],
  ].map(([n, most]) => columnsOf(n, most));
  assert.deepEqual(columns, [4, 7, 6, 3, 4, 3, 1, 6]);
});
