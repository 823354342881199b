/** Analysed: a photo that never left the page, as vitviz/probe/analysis.py and vitviz/viewer/payload.py do it with one that came. */

import { filesOf, labelsOf } from "./made.js";
import { decoded } from "./decoding.js";
import { HERE } from "./files.js";
import { savedOf } from "./saved.js";
import { isDarkOnLight } from "../maths/ink.js";
import { framing, hasColours, inChannels, marginOf, pictureOf } from "../maths/pixels.js";

/** As vitviz/model/photograph.py has them, but that a page need not care for bytes. */
const [LONGEST, WHOLE_LONGEST, FINER, SEEN, QUALITY] = [512, 192, 1.2, 0.995, 0.82];

/** Files that say nothing of a photo. */
const OF_MODEL = ["positions", "untrained", "filters", "inside", "film"];

/**
 * What is analysed, and with what. `template`: any intact analysis of the same model; it gives all that is true of every picture. `address`:
 * how the host knows the photo, if it keeps it ("" where it does not); `first`: the rows that are shown first.
 * @typedef {{file: Blob, name: string, template: import("../types.js").Manifest, engine: import("../engine/client.js").Engine,
 *   known: import("./made.js").Known, say: (told: import("./decoding.js").Told) => Record<string, string>, inverted?: boolean, address?: string,
 *   first?: {layer: number, token: number}}} Wanted
 */

/**
 * The manifest of a photo, with files that are made here; null for a file that the host alone can open. Rejected with a `PhotoError` for what
 * is no picture.
 * @param {Wanted} wanted
 * @returns {Promise<import("../types.js").Manifest|null>}
 */
export async function analysed({ file, name: called, template, engine, known, say, inverted = false, address = "", first }) {
  const name = cleaned(called);
  const { facts: { preprocess, labels } } = known;
  const { model } = template;
  const photo = await decoded(file, name);
  if (!photo) return null;
  const inModel = inChannels(photo, preprocess.channels, inverted);
  const seen = pictureOf(inModel, preprocess);
  const notes = [...photo.notes];
  if (inverted) notes.push({ key: "inverted", values: {} });
  if (preprocess.channels === 1 && hasColours(inChannels(photo, 3))) {
    notes.push({ key: (labels ?? ["?"]).every((label) => /^\d$/.test(label)) ? "grey_copy_digits" : "grey_copy", values: {} });
  }
  const photograph = await photographOf(photo, preprocess, inverted);
  photo.bitmap.close();
  const id = HERE + Math.random().toString(36).slice(2);
  // A lane of its own: a photo that is not the newest one any more must not take the place of the newest, which would be sent to the host.
  const found = await engine.run({ picture: new Uint8Array(seen.data), lane: id });
  /** @type {any} */
  const pass = { id, changes: [], removed: [], here: true, first: firstOf(model, first), ...labelsOf(model, known) };
  const said = notes.map(say);
  const told = { name, notes: said.map(({ en }) => en), inverted, dark_ink: model.light_ink_only && isDarkOnLight(seen),
    frame: photograph && photograph.frame.map((share) => Number(share.toFixed(5))), words: wordsOf(said) };
  const files = { ...ofModel(template), ...filesOf(found, model, pass, known), ...(photograph ? filesOfJpeg(photograph) : {}) };
  /** @type {import("../types.js").Manifest} */
  const manifest = { version: template.version, model, photo: told, pass, files, ...hosts(template, inverted, { address, name }),
    like: template, save: () => savedOf(found, manifest, known, { ...photograph, notes }) };
  return manifest;
}

/** What the host adds to a manifest: of a photo of one's own every example can stand beside. @param {import("../types.js").Manifest} template */
function hosts({ link, beside, itself }, inverted, upload) {
  if (!link) return {};
  const others = Object.entries(link).filter(([part]) => part !== "example" && part !== "invert");
  return { link: { ...Object.fromEntries(others), ...(inverted ? { invert: "1" } : {}) }, beside: [...(beside ?? []), ...(itself ? [itself] : [])], ...(upload.address ? { upload } : {}) };
}

/** A file name is a stranger's text: one printable line of at most 80 characters. @param {string} name */
function cleaned(name) {
  const letters = [...[...name].map((one) => (one === " " || !/[\p{C}\p{Z}]/u.test(one) ? one : " ")).join("").trim()];
  return (letters.length <= 80 ? letters.join("") : letters.slice(0, 60).join("") + "..." + letters.slice(-17).join("")) || "photo";
}

/** Where a viewer begins: the rows of attention of this token in this layer. */
function firstOf({ depth, num_tokens: tokens, prefix_tokens: { length: prefix }, grid: { rows, cols } }, wanted) {
  const fits = wanted && wanted.layer < depth && wanted.token < tokens;
  const { layer, token } = fits ? wanted : { layer: depth - 1, token: prefix ? 0 : Math.floor(rows / 2) * cols + Math.floor(cols / 2) };
  return { layer, token, direction: "from" };
}

/** Files of another analysis that are those of any photo in its model; the host makes late ones for that one. @param {import("../types.js").Manifest} template */
function ofModel({ files, asked, pass: { id } }) {
  return Object.fromEntries(OF_MODEL.filter((name) => files[name])
    .map((name) => [name, files[name].late ? { ...files[name], asked: files[name].asked ?? asked ?? { id } } : files[name]]));
}

/** Translations: language -> English -> the sentence. @param {Record<string, string>[]} said */
function wordsOf(said) {
  const words = {};
  for (const { en, ...others } of said) {
    for (const [language, one] of Object.entries(others)) if (one !== en) (words[language] ??= {})[en] = one;
  }
  return words;
}

/**
 * The part of the photo that the model saw, and the whole of it, as small JPEG files; null if they show nothing that the model's pixels do not.
 * @param {{bitmap: ImageBitmap, width: number, height: number}} photo
 * @param {import("../maths/pixels.js").Preprocess} preprocess
 * @returns {Promise<null|{crop: Uint8Array|null, whole: Uint8Array|null, frame: number[]}>}
 */
async function photographOf({ bitmap, width, height }, preprocess, inverted) {
  const [top, left, bottom, right] = framing({ width, height }, preprocess);
  const share = (edge, side) => Math.min(Math.max(edge / side, 0), 1);
  const frame = [share(top, height), share(left, width), share(bottom, height) - share(top, height), share(right, width) - share(left, width)];
  const [rows, cols] = preprocess.size;
  const scale = Math.min(LONGEST / Math.max(rows, cols), Math.max((bottom - top) / rows, (right - left) / cols));
  const small = Math.min(1, WHOLE_LONGEST / Math.max(width, height));
  const side = (length) => Math.max(1, Math.round(length));
  const drawn = (across, down, x, y, wide, high) => jpegOf(bitmap, { width: side(across), height: side(down) }, [x, y, wide, high], preprocess, inverted);
  const crop = scale < FINER ? null : await drawn(cols * scale, rows * scale, left, top, right - left, bottom - top);
  const whole = Math.min(frame[2], frame[3]) >= SEEN ? null : await drawn(width * small, height * small, 0, 0, width, height);
  return crop || whole ? { crop, whole, frame } : null;
}

/** A place of a picture in another size, in the model's channels: for the eye alone. */
async function jpegOf(bitmap, { width, height }, [x, y, across, down], preprocess, inverted) {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const fill = marginOf(preprocess);
  Object.assign(context, { imageSmoothingQuality: "high", fillStyle: "rgb(" + Array.from({ length: 3 }, (_, at) => fill[at % fill.length]) + ")" });
  context.fillRect(0, 0, width, height);
  const [left, top] = [Math.max(x, 0), Math.max(y, 0)];
  const [wide, high] = [Math.min(x + across, bitmap.width) - left, Math.min(y + down, bitmap.height) - top];
  /** @type {[number, number, number, number]} */
  const place = [(left - x) / across * width, (top - y) / down * height, wide / across * width, high / down * height];
  context.clearRect(...place);
  context.drawImage(bitmap, left, top, wide, high, ...place);
  const drawn = context.getImageData(0, 0, width, height);
  const { data, channels } = inChannels(drawn, preprocess.channels, inverted);
  for (let at = 0; at < drawn.data.length; at++) drawn.data[at] = at % 4 === 3 ? 255 : data[Math.floor(at / 4) * channels + Math.min(at % 4, channels - 1)];
  context.putImageData(drawn, 0, 0);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/jpeg", QUALITY));
  return new Uint8Array(await blob.arrayBuffer());
}

/** @returns {Record<string, import("../types.js").PayloadFile>} */
function filesOfJpeg({ crop, whole }) {
  const made = Object.entries({ photograph: crop, whole }).filter(([, bytes]) => bytes);
  return Object.fromEntries(made.map(([name, bytes]) => [name, { make: async () => bytes.buffer }]));
}
