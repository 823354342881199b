/**
 * Preprocess: turns a decoded photo into the model's picture and into small JPEG files for display. Large photos
 * take a while, so a worker does it where it can.
 */

import {
  framing,
  hasColours,
  inChannels,
  isTranslucent,
  levelsOf,
  marginOf,
  pictureOf,
  tableOf,
} from "../maths/pixels.js";

/** As in vitviz/model/photograph.py, without its limits of bytes. */
const [LONGEST, WHOLE_LONGEST, FINER, SEEN, QUALITY] = [512, 192, 1.2, 0.995, 0.82];

/** Whether a photo can be drawn in a worker, which has no document. */
export const DRAWS_IN_WORKERS = typeof OffscreenCanvas === "function";

/**
 * A photo for a model, and how its levels are read. Its bitmap is closed, also after an error.
 * display: whether files for display are made, too.
 * @typedef {{bitmap: ImageBitmap, preprocess: import("../maths/pixels.js").Preprocess,
 *   look?: import("../maths/photolevels.js").Look, display?: boolean}} Photo
 */

/**
 * The model's picture of a photo. exact: whether this browser reads pixels back unchanged; coloured: whether
 * the model loses colours; levels: the lowest and the highest of the file
 * @param {Photo} photo
 */
export async function seenOf({ bitmap, preprocess, look, display = true }) {
  try {
    const photo = { data: pixelsOf(bitmap), width: bitmap.width, height: bitmap.height };
    const levels = levelsOf(photo.data);
    const table = tableOf(look, levels);
    const seen = pictureOf(inChannels(photo, preprocess.channels, table), preprocess);
    const photograph = display ? await photographOf(bitmap, preprocess, table) : null;
    return {
      seen,
      photograph,
      exact: readsExactly(),
      translucent: isTranslucent(photo.data),
      levels,
      coloured: preprocess.channels === 1 && hasColours(photo, table),
    };
  } finally {
    bitmap.close(); // its memory is the browser's, which may collect it late
  }
}

/**
 * The part of the photo that the model saw, and the whole photo, as small JPEG files; null if they show no
 * more than the model's pixels.
 * @param {ImageBitmap} bitmap
 * @param {import("../maths/pixels.js").Preprocess} preprocess
 * @returns {Promise<null|{crop: Uint8Array|null, whole: Uint8Array|null, frame: number[]}>}
 */
async function photographOf(bitmap, preprocess, table) {
  const { width, height } = bitmap;
  const [top, left, bottom, right] = framing({ width, height }, preprocess);
  const share = (edge, side) => Math.min(Math.max(edge / side, 0), 1);
  const frame = [
    share(top, height),
    share(left, width),
    share(bottom, height) - share(top, height),
    share(right, width) - share(left, width),
  ];
  const [rows, cols] = preprocess.size;
  const scale = Math.min(
    LONGEST / Math.max(rows, cols),
    Math.max((bottom - top) / rows, (right - left) / cols),
  );
  const small = Math.min(1, WHOLE_LONGEST / Math.max(width, height));
  const side = (length) => Math.max(1, Math.round(length));
  const drawn = (across, down, x, y, wide, high) =>
    jpegOf(bitmap, { width: side(across), height: side(down) }, [x, y, wide, high], preprocess, table);
  const crop =
    scale < FINER ? null : await drawn(cols * scale, rows * scale, left, top, right - left, bottom - top);
  const whole =
    Math.min(frame[2], frame[3]) >= SEEN
      ? null
      : await drawn(width * small, height * small, 0, 0, width, height);
  return crop || whole ? { crop, whole, frame } : null;
}

/** A part of a picture, resized and in the model's channels, as a JPEG file for display. */
async function jpegOf(bitmap, { width, height }, [x, y, across, down], preprocess, table) {
  const { canvas, context } = canvasOf(width, height);
  const fill = marginOf(preprocess);
  Object.assign(context, {
    imageSmoothingQuality: "high",
    fillStyle: "rgb(" + Array.from({ length: 3 }, (_, at) => fill[at % fill.length]) + ")",
  });
  context.fillRect(0, 0, width, height);
  const [left, top] = [Math.max(x, 0), Math.max(y, 0)];
  const [wide, high] = [Math.min(x + across, bitmap.width) - left, Math.min(y + down, bitmap.height) - top];
  /** @type {[number, number, number, number]} */
  const place = [
    ((left - x) / across) * width,
    ((top - y) / down) * height,
    (wide / across) * width,
    (high / down) * height,
  ];
  context.clearRect(...place);
  context.drawImage(bitmap, left, top, wide, high, ...place);
  const drawn = context.getImageData(0, 0, width, height);
  const { data, channels } = inChannels(drawn, preprocess.channels, table);
  for (let at = 0; at < drawn.data.length; at++)
    drawn.data[at] =
      at % 4 === 3 ? 255 : data[Math.floor(at / 4) * channels + Math.min(at % 4, channels - 1)];
  context.putImageData(drawn, 0, 0);
  const blob = await (canvas.convertToBlob?.({ type: "image/jpeg", quality: QUALITY }) ??
    new Promise((done) => canvas.toBlob(done, "image/jpeg", QUALITY)));
  return new Uint8Array(await blob.arrayBuffer());
}

/** Pixels of an image: red, green, blue, alpha. @param {ImageBitmap|ImageData} drawn */
function pixelsOf(drawn) {
  const { width, height } = drawn;
  const { context } = canvasOf(width, height);
  if (drawn instanceof ImageData) context.putImageData(drawn, 0, 0);
  else context.drawImage(drawn, 0, 0);
  return context.getImageData(0, 0, width, height).data;
}

/**
 * Whether this browser reads pixels back unchanged. Some add noise, so that pages cannot recognise a visitor
 * by them.
 */
function readsExactly() {
  const known = new ImageData(16, 16);
  for (let at = 0; at < known.data.length; at++) known.data[at] = at % 4 === 3 ? 255 : (at * 37) % 256;
  return pixelsOf(known).every((value, at) => value === known.data[at]);
}

/**
 * A canvas: workers have no document for one, and old browsers no OffscreenCanvas.
 * @returns {{canvas: any, context: CanvasRenderingContext2D}}
 */
export function canvasOf(width, height) {
  const canvas = DRAWS_IN_WORKERS
    ? new OffscreenCanvas(width, height)
    : Object.assign(document.createElement("canvas"), { width, height });
  return { canvas, context: /** @type {any} */ (canvas.getContext("2d", { willReadFrequently: true })) };
}
