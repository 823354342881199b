/** Decoding: a photo in a file becomes pixels, in this browser, or one sentence says why not. */

import { LIMITS } from "../engine/tables.js";
import { canvasOf } from "../engine/preprocess.js";
import { formatOf, framesIn, isInInks, isTurned, kindOf, orientationOf, sizeIn } from "./photofile.js";

const MEGABYTES = LIMITS.photo_bytes / 1e6;
const MEGAPIXELS = LIMITS.photo_pixels / 1e6;
const ALLOWED = { key: "allowed", values: { megabytes: MEGABYTES, megapixels: MEGAPIXELS } };

/** Pixels of the largest canvas that every browser has: iPhones read what is drawn on a larger one as nothing. */
const SURE_PIXELS = 2 ** 24;

/** Formats whose files say their size at once. */
const TELL = ["JPEG", "PNG", "GIF"];

/**
 * A message: the key of a text of photo.json, or "noise" (the browser's pixels are noisy), and the values for
 * the text, which can be messages, too.
 * @typedef {{key: string, values: Record<string, any>}} Told
 */

/** A file that is no picture; `told` says why. */
export class PhotoError extends Error {
  /** @param {string} key @param {Record<string, any>} values */
  constructor(key, values) {
    super(key);
    this.told = { key, values };
  }
}

/**
 * A photo, upright, and what was done to it; null for a file that the host alone can open.
 * @param {Blob} file
 * @param {string} name
 * @returns
 *   {Promise<{bitmap: ImageBitmap, notes: (pixels: {exact: boolean, translucent: boolean}) => Told[]}|null>}
 *   notes: by what engine/preprocess.js finds in its pixels
 */
export async function decoded(file, name) {
  const quoted = quotedAsPython(name);
  if (file.size === 0) throw new PhotoError("empty", { name: quoted, allowed: ALLOWED });
  if (file.size > LIMITS.photo_bytes)
    throw new PhotoError("too_long", { name: quoted, megabytes: MEGABYTES, allowed: ALLOWED });
  const bytes = new Uint8Array(
    await file.arrayBuffer().catch(() => {
      throw new PhotoError("unreadable", { name: quoted, reason: { key: "is_gone", values: {} } });
    }),
  );
  const format = formatOf(bytes);
  if (format === "") return null;
  const noPicture = (what, values = {}) =>
    new PhotoError("no_picture", { name: quoted, what: { key: "is_" + what, values }, allowed: ALLOWED });
  if (format === null) {
    const { what, ...values } = kindOf(bytes);
    throw noPicture(what, values);
  }
  const size = sizeIn(bytes, format);
  if (!size && TELL.includes(format)) throw noPicture("damaged", { format });
  checkSize(quoted, size);
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  } catch {
    if (format === "AVIF") return null; // some browsers do not know it
    throw new PhotoError("cut_off", { name: quoted, format });
  }
  const { width, height } = bitmap;
  try {
    checkSize(quoted, [width, height]);
    if (width * height > SURE_PIXELS && !isDrawable(width, height))
      checkSize(quoted, [width, height], SURE_PIXELS);
  } catch (error) {
    bitmap.close();
    throw error;
  }
  const way = orientationOf(bytes, format);
  if (way > 1 && !(await turns(format))) bitmap = await turnedUpright(bitmap, way);
  return { bitmap, notes };

  function notes({ exact, translucent }) {
    const told = /** @type {Told[]} */ ([]);
    const note = (key, values = {}) => told.push({ key, values });
    if (!exact) note("noise");
    const count = framesIn(bytes, format);
    if (count > 1) note(...(count === Infinity ? ["first_frame"] : ["first_of", { count }]));
    if (translucent) note("on_white");
    else if (format === "JPEG" && isInInks(bytes)) note("from_cmyk");
    if (isTurned(bytes, format)) note("upright");
    return told;
  }
}

/** Two pixels beside each other that EXIF data turn by 90 degrees, in the formats that not all browsers turn. */
const SIDEWAYS = {
  PNG:
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAGmVYSWZNTQAqAAAACAABARIAAwAAAAEABgAAAAAAANZnS2kAAAAP" +
    "SURBVHjaY+Q8IcfAwAAABKQA8QqF9AkAAAAASUVORK5CYII=",
  WEBP:
    "UklGRlIAAABXRUJQVlA4WAoAAAAIAAAAAQAAAAAAVlA4TBEAAAAvAQAAAAdQ5CbUo/+BiOh/AABFWElGGgAAAE1NACoAAAAIAAEB" +
    "EgADAAAAAQAGAAAAAAAA",
};
/** Whether this browser turns a picture of such a format upright itself. @type {Record<string, Promise<boolean>>} */
const known = {};

/** @param {string} format */
function turns(format) {
  if (!Object.hasOwn(SIDEWAYS, format)) return Promise.resolve(true); // every browser turns a JPEG
  known[format] ??= Promise.resolve().then(async () => {
    const bytes = Uint8Array.from(atob(SIDEWAYS[format]), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes]));
    const upright = bitmap.width < bitmap.height;
    bitmap.close();
    return upright;
  });
  return known[format];
}

/**
 * How to draw a picture of an EXIF orientation upright: the matrix of a canvas, its last two numbers in widths
 * and heights of the file's picture.
 * @type {Record<number, [number, number, number, number, "" | "width" | "height", "" | "width" | "height"]>}
 */
const UPRIGHT = {
  2: [-1, 0, 0, 1, "width", ""],
  3: [-1, 0, 0, -1, "width", "height"],
  4: [1, 0, 0, -1, "", "height"],
  5: [0, 1, 1, 0, "", ""],
  6: [0, 1, -1, 0, "height", ""],
  7: [0, -1, -1, 0, "height", "width"],
  8: [0, -1, 1, 0, "", "width"],
};

/** A picture turned upright; the one that came is closed. @param {ImageBitmap} bitmap @param {number} way */
async function turnedUpright(bitmap, way) {
  const { width, height } = bitmap;
  try {
    const { canvas, context } = way > 4 ? canvasOf(height, width) : canvasOf(width, height);
    const [a, b, c, d, right, down] = UPRIGHT[way];
    const length = (side) => (side ? bitmap[side] : 0);
    context.setTransform(a, b, c, d, length(right), length(down));
    context.drawImage(bitmap, 0, 0);
    return await createImageBitmap(canvas);
  } finally {
    bitmap.close();
  }
}

/** Python's `repr` of one line. @param {string} name */
function quotedAsPython(name) {
  const quote = name.includes("'") && !name.includes('"') ? '"' : "'";
  return quote + name.replaceAll("\\", "\\\\").replaceAll(quote, "\\" + quote) + quote;
}

/** Whether this browser reads back what it draws on a canvas of this size. */
function isDrawable(width, height) {
  const { canvas, context } = canvasOf(width, height);
  context.fillRect(width - 1, height - 1, 1, 1);
  const [, , , alpha] = context.getImageData(width - 1, height - 1, 1, 1).data;
  canvas.width = canvas.height = 0; // its memory is scarce there, and would be held for a while
  return alpha > 0; // some browsers add noise
}

function checkSize(name, size, most = LIMITS.photo_pixels) {
  if (!size) return;
  const [width, height] = size;
  if (width < 1 || height < 1) throw new PhotoError("nothing_to_see", { name, width, height });
  if (width * height <= most) return;
  const grouped = (number) => number.toLocaleString("en");
  throw new PhotoError("too_large", {
    name,
    size: { key: "size", values: { width: grouped(width), height: grouped(height) } },
    megapixels: ((width * height) / 1e6).toFixed(0),
    most: Math.floor(most / 1e6),
  });
}
