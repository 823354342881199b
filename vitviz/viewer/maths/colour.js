/** Colour: perceptually uniform colour maps, and pixels from values. */

/** Every fifth colour of matplotlib's tables, as rrggbb; linear interpolation is off by at most 2 of 255. */
const ANCHORS = {
  viridis:
    "44015446085c471063481769481d6f482475472a7a46307e453781433d844142873f48893d4e8a3a538b38598c" +
    "355e8d33638d31688e2e6d8e2c718e2a768e297b8e27808e25848e23898e218e8d20928c1f978b1e9c891fa188" +
    "21a58524aa8328ae802eb37c35b7793dbc7446c06f50c46a5ac86465cb5e70cf577cd25089d54895d840a2da37" +
    "b0dd2fbddf26cae11fd8e219e5e419f1e51dfde725",
  magma:
    "00000402020b0504160907200e0b2b140e361a104221114e29115a311165390f6e420f754a107952137c5a167e" +
    "6219806a1c81721f81792282812581892881912b81992d80a1307eaa337db2357bba3878c23b75ca3e72d2426f" +
    "d9466be04c67e75263ec5860f1605df4695cf7725cf97b5dfb8560fc8e64fd9869fea16efeaa74feb47bfebd82" +
    "fec68afecf92fed89afde2a3fdebacfcf4b6fcfdbf",
  cividis:
    "00224e002656002a5f002d68003070083370163770203a6f273e6e2e416d34456c3a486c3f4c6c444f6c49536c" +
    "4e566c535a6d575d6d5c616e60646f656870696b716d6f727272747676767a7a787e7d788381798885788d8878" +
    "928c789690779b9476a09875a59c74aaa073afa471b5a86fbaac6dbfb06bc4b468c9b965cfbd62d4c15fdac65b" +
    "dfca57e5cf52ead34cf0d846f6dd3ffce236fee838",
  // For signed values: blue and orange of equal lightness, with the same light grey between them.
  diverging:
    "003e6b00548f006cb30084d93c9bf375b1fca2c6fec9dafaebebeb" +
    "f7d2c0f6b697ec9a71dc7e4fc76430ae4a149133006c2400",
};

/** The maps a visitor may choose among; `diverging` is only for values from -1 to 1. */
export const COLOUR_MAPS = ["viridis", "magma", "cividis"];

/** Drawn without colours: the picture itself, dimmed where the value is low. */
export const SPOTLIGHT = "spotlight";

/**
 * The brightness at the low end of the spotlight's scale: a photo keeps at least this share of its own. The
 * scale is that of square roots, so that small values can be told from none.
 */
export const DIMMEST = 0.2;

/** The same for greys, in maps without a picture under them: there is nothing to recognise. */
export const DARKEST = 0.25;

const tables = new Map();

/**
 * The 256 colours of a map, each packed as 0xAABBGGRR, the order of canvas memory. The spotlight's table has
 * greys, for maps without a picture under them.
 * @param {string} name
 * @returns {Uint32Array}
 */
export function colourTable(name) {
  if (!tables.has(name))
    tables.set(name, name === SPOTLIGHT ? greys() : buildTable(ANCHORS[name] ?? ANCHORS.viridis));
  return tables.get(name);
}

/** The brightness of a share from 0 to 1: linear from the lowest to 1. */
const brightness = (share, lowest) => lowest + (1 - lowest) * share;

function greys() {
  return Uint32Array.from({ length: 256 }, (_, place) => {
    const grey = Math.round(255 * brightness(place / 255, DARKEST));
    return pack(grey, grey, grey);
  });
}

/**
 * The shade of the spotlight, drawn over a picture: black, with the opacity that leaves each pixel the
 * brightness of its value.
 * @returns {Uint32Array}
 */
export function shadeTable() {
  return veil("shade", DIMMEST);
}

/** The table of a map that is drawn over a picture, and of its legend. @param {string} name */
export function tableOver(name) {
  return name === SPOTLIGHT ? shadeTable() : colourTable(name);
}

/**
 * Table of a layer that is blended as saturation, so that the spotlight also removes colour: a pixel keeps
 * its full colour at the high end of the scale, and none at the low end.
 * @returns {Uint32Array}
 */
export function greyTable() {
  return veil("grey", 0);
}

/** Black, with the opacity that leaves a share of what lies under it, from the lowest to 1. */
function veil(name, lowest) {
  if (!tables.has(name)) {
    const opacity = (_, place) =>
      Math.round(255 * (1 - brightness(Math.sqrt(place / 255), lowest))) * 2 ** 24;
    tables.set(name, Uint32Array.from({ length: 256 }, opacity));
  }
  return tables.get(name);
}

function buildTable(anchors) {
  const channel = (at, c) => parseInt(anchors.slice(at * 6 + c * 2, at * 6 + c * 2 + 2), 16);
  const steps = anchors.length / 6 - 1;
  const table = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * steps;
    const low = Math.min(steps - 1, Math.floor(place));
    const mix = (c) => Math.round(channel(low, c) * (low + 1 - place) + channel(low + 1, c) * (place - low));
    table[i] = pack(mix(0), mix(1), mix(2));
  }
  return table;
}

function pack(red, green, blue) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Red, green and blue in [0, 1] at colours[at ...] as one packed colour. */
export function packColour(colours, at) {
  const byte = (c) => Math.round(255 * colours[at + c]);
  return pack(byte(0), byte(1), byte(2));
}

/**
 * A packed colour in CSS.
 * @param {number} packed
 * @returns {string}
 */
export function cssColour(packed) {
  const opacity = (packed >>> 24) / 255;
  const parts = [0, 8, 16].map((at) => Math.round(255 + opacity * (((packed >> at) & 255) - 255)));
  return "rgb(" + parts.join(" ") + ")";
}

/**
 * Index of a value in a table of 256; values outside the scale get the first or last.
 * @param {number} value
 * @param {{min: number, max: number}} scale
 * @returns {number}
 */
export function colourIndex(value, { min, max }) {
  const place = ((value - min) / (max - min)) * 255;
  return place >= 255 ? 255 : place > 0 ? Math.round(place) : 0;
}

/**
 * Colour `pixels.length` values, the first of them at values[offset].
 * @param {ArrayLike<number>} values
 * @param {number} offset
 * @param {{min: number, max: number}} scale
 * @param {Uint32Array} table
 * @param {Uint32Array} pixels  written
 */
export function paint(values, offset, { min, max }, table, pixels) {
  const factor = max > min ? 255 / (max - min) : 0;
  for (let i = 0; i < pixels.length; i++) {
    const place = (values[offset + i] - min) * factor + 0.5;
    pixels[i] = table[place >= 255 ? 255 : place > 0 ? place | 0 : 0];
  }
}

/**
 * The largest of values[from ... to), at least `floor` so that a flat map is not noise.
 * @param {ArrayLike<number>} values
 * @param {number} from
 * @param {number} to
 * @param {number} floor
 * @returns {number}
 */
export function largest(values, from, to, floor = 0) {
  let max = floor;
  for (let i = from; i < to; i++) if (values[i] > max) max = values[i];
  return max;
}

/** The largest absolute value, above 0. @param {ArrayLike<number>} values */
export const largestSize = (values) =>
  Array.from(values, Math.abs).reduce((most, value) => (value > most ? value : most), 1e-12);

/**
 * Red, green, blue, alpha for a picture of 1 or 3 channels (any other count: its first channel).
 * @param {Uint8Array} bytes  (h, w, C)
 * @param {number} channels
 * @returns {Uint8ClampedArray<ArrayBuffer>}  (h, w, 4)
 */
export function toRgba(bytes, channels) {
  const count = bytes.length / channels;
  const rgba = new Uint8ClampedArray(count * 4);
  const [green, blue] = channels >= 3 ? [1, 2] : [0, 0];
  for (let i = 0, at = 0; i < count; i++, at += channels) {
    rgba[i * 4] = bytes[at];
    rgba[i * 4 + 1] = bytes[at + green];
    rgba[i * 4 + 2] = bytes[at + blue];
    rgba[i * 4 + 3] = 255;
  }
  return rgba;
}
