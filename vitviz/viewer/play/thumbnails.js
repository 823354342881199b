/** Thumbnails: pictures as a model sees them, as canvases and as files. */

import { toRgba } from "../maths/colour.js";
import { pictureCanvas } from "../parts/canvas.js";

/** @param {Uint8Array} pixels  (h, w, C) @param {{height: number, width: number, channels: number}} image */
export const thumbnailOf = (pixels, { height, width, channels }) =>
  pictureCanvas(toRgba(pixels, channels), height, width, "vv-play-digit");

/** A picture as a PNG file. @returns {Promise<File>} */
export async function fileOf(pixels, image, name) {
  const blob = /** @type {Blob} */ (
    await new Promise((done) => {
      thumbnailOf(pixels, image).toBlob(done, "image/png");
    })
  );
  return new File([blob], name, { type: "image/png" });
}
