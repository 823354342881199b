/** Colours: the ends and the middle of matplotlib's maps, scales, and pixels of a picture. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  COLOUR_MAPS,
  DARKEST,
  DIMMEST,
  greyTable,
  SPOTLIGHT,
  colourIndex,
  colourTable,
  cssColour,
  largest,
  packColour,
  paint,
  shadeTable,
  toRgba,
} from "../../vitviz/viewer/maths/colour.js";

const rgb = (packed) => [packed & 255, (packed >> 8) & 255, (packed >> 16) & 255];

/** Lightness as CIE L*, accurate enough to check that a colour map is monotonic. */
function lightness(packed) {
  const [r, g, b] = rgb(packed).map((c) =>
    c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4,
  );
  const y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return y > 0.008856 ? 116 * Math.cbrt(y) - 16 : 903.3 * y;
}

test("tables are matplotlib's", () => {
  // matplotlib.colormaps[name](i, bytes=True) for i = 0, 64, 128, 255
  const theirs = {
    viridis: [
      [68, 1, 84],
      [58, 82, 139],
      [32, 144, 140],
      [253, 231, 36],
    ],
    magma: [
      [0, 0, 3],
      [80, 18, 123],
      [182, 54, 121],
      [251, 252, 191],
    ],
    cividis: [
      [0, 34, 77],
      [66, 78, 107],
      [125, 124, 120],
      [253, 231, 55],
    ],
  };
  for (const [name, colours] of Object.entries(theirs)) {
    [0, 64, 128, 255].forEach((i, at) =>
      rgb(colourTable(name)[i]).forEach((c, channel) =>
        assert.ok(Math.abs(c - colours[at][channel]) <= 4, name + " " + i + ": " + rgb(colourTable(name)[i])),
      ),
    );
  }
});

test("lightness only rises, and falls evenly on both sides of the diverging map", () => {
  for (const name of COLOUR_MAPS) {
    const table = colourTable(name);
    for (let i = 8; i < 256; i += 8) assert.ok(lightness(table[i]) > lightness(table[i - 8]), name + " " + i);
  }
  const table = colourTable("diverging");
  for (let i = 0; i < 128; i += 16) {
    assert.ok(Math.abs(lightness(table[i]) - lightness(table[255 - i])) < 1.5, String(i));
  }
});

test("values outside of the scale take its ends; what is no number takes the low end", () => {
  const table = colourTable("magma");
  const pixels = new Uint32Array(5);
  paint([9, -1, 0.5, 2, NaN, 1], 1, { min: 0, max: 1 }, table, pixels);
  assert.deepEqual([...pixels], [table[0], table[128], table[255], table[0], table[255]]);
  paint([-1, -0.5, 0.25], 0, { min: -1, max: 0 }, table, pixels.subarray(0, 3));
  assert.deepEqual([...pixels.subarray(0, 3)], [table[0], table[128], table[255]]);
  assert.equal(colourIndex(0.25, { min: -1, max: 1 }), 159);
  assert.deepEqual(
    [-2, -1, 0.999, 1, 2, NaN].map((value) => colourIndex(value, { min: -1, max: 1 })),
    [0, 0, 255, 255, 255, 0],
  );
  assert.equal(cssColour(table[255]), "rgb(252 253 191)");
});

test("a flat scale paints, and the largest of a range is found", () => {
  const pixels = new Uint32Array(1);
  paint([0], 0, { min: 0, max: 0 }, colourTable("viridis"), pixels);
  assert.equal(pixels[0], colourTable("viridis")[0]);
  assert.equal(largest([9, 1, 3, 2], 1, 4), 3);
  assert.equal(largest([0, 0], 0, 2, 1e-7), 1e-7);
});

test("shares of red, green and blue become one colour", () => {
  assert.deepEqual(rgb(packColour([9, 0, 0.2, 1], 1)), [0, 51, 255]);
});

test("one channel is grey, three are red, green and blue", () => {
  assert.deepEqual([...toRgba(Uint8Array.of(7, 9), 1)], [7, 7, 7, 255, 9, 9, 9, 255]);
  assert.deepEqual([...toRgba(Uint8Array.of(1, 2, 3), 3)], [1, 2, 3, 255]);
});

test("the spotlight leaves each pixel a brightness that grows with the root of its value, and greys with it", () => {
  const [shade, greys] = [shadeTable(), colourTable(SPOTLIGHT)];
  const scale = { min: 0, max: 0.5 };
  for (const [value, brightness] of [
    [0, DIMMEST],
    [0.125, (1 + DIMMEST) / 2],
    [0.02, DIMMEST + (1 - DIMMEST) / 5],
    [0.5, 1],
    [9, 1],
  ]) {
    const place = colourIndex(value, scale);
    // A white pixel under the shade: alpha of black over 255.
    assert.ok(Math.abs(1 - (shade[place] >>> 24) / 255 - brightness) < 0.005, String(value));
    assert.equal(shade[place] & 0xffffff, 0, "black");
    // A square beside the picture, and the legend, have the same grey.
    const [grey] = cssColour(shade[place]).match(/\d+/g).map(Number);
    assert.ok(Math.abs(grey / 255 - brightness) < 0.005, String(value));
    // As saturation: the share of the colours that stays.
    const colours = (brightness - DIMMEST) / (1 - DIMMEST);
    assert.ok(Math.abs(1 - (greyTable()[place] >>> 24) / 255 - colours) < 0.01, String(value));
  }
  for (const [value, brightness] of [
    [0, DARKEST],
    [0.25, (1 + DARKEST) / 2],
    [0.5, 1],
    [9, 1],
  ]) {
    assert.deepEqual(
      rgb(greys[colourIndex(value, scale)]).map((part) => Math.abs(part / 255 - brightness) < 0.005),
      [true, true, true],
    );
  }
  assert.ok(DIMMEST >= 0.2, "what is not looked at can still be recognised");
});

test("the names of lines can be read where they are lit, in both schemes and on the wall", () => {
  const css = readFileSync(new URL("../../vitviz/viewer/style/viewer.css", import.meta.url), "utf8");
  const colours = (rule) => {
    const [, body] = css.split("\n" + rule + " {\n");
    return Object.fromEntries(
      [...body.split("}")[0].matchAll(/--vv-([\w-]+): (#\w{6});/g)].map((m) => m.slice(1)),
    );
  };
  const light = colours(".vitviz");
  const dark = colours('.vitviz[data-theme="dark"]');
  const schemes = {
    light,
    dark,
    "light wall": { ...light, ...colours(".vitviz.vv-projector") },
    "dark wall": { ...dark, ...colours('.vitviz.vv-projector[data-theme="dark"]') },
  };
  const luminance = (hex) =>
    [1, 3, 5]
      .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, at) => sum + [0.2126, 0.7152, 0.0722][at] * c, 0.05);
  for (const [name, scheme] of Object.entries(schemes)) {
    for (const series of ["accent", "s1", "s2", "s3", "s4", "muted"]) {
      for (const under of ["bg", "surface"]) {
        const [less, more] = [scheme[series], scheme[under]].map(luminance).sort((a, b) => a - b);
        assert.ok(more / less >= 4.5, [name, series, under, (more / less).toFixed(2)].join(" "));
      }
    }
  }
});
