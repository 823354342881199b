/** The numbers of one patch, in the two orders in which a patch is flattened. */

import { boxOf } from "./geometry.js";

/**
 * "pixel": (p1 p2 c), the channels of a pixel together; "channel": (c p1 p2), as in a convolution's weights.
 */
export const ORDERS = ["pixel", "channel"];

/**
 * One patch, flattened.
 * @param {{pixels: Uint8Array}} picture  (h, w, C)
 * @param {number} token  not a prefix token
 * @param {import("../types.js").Manifest} manifest
 * @param {import("./geometry.js").Grid} grid
 * @param {"pixel"|"channel"} order
 * @returns {{raw: Uint8Array, normalised: Float32Array}}  raw 0..255, and (raw / 255 - mean) / std
 */
export function patchValues(picture, token, manifest, grid, order) {
  const { channels } = manifest.model.image;
  const count = channels * grid.patchHeight * grid.patchWidth;
  const raw = new Uint8Array(count);
  const normalised = new Float32Array(count);
  const box = boxOf(token, grid);
  if (!box) throw new RangeError("token " + token + " is no patch");
  for (let at = 0; at < count; at++) {
    const { row, col, channel } = elementAt(at, channels, grid, order);
    const pixel = (box.top + row) * grid.width + box.left + col;
    raw[at] = picture.pixels[pixel * channels + channel];
    normalised[at] = (raw[at] / 255 - manifest.model.mean[channel]) / manifest.model.std[channel];
  }
  return { raw, normalised };
}

/**
 * The pixel and the channel of element `at` of the flattened patch.
 * @returns {{row: number, col: number, channel: number}}
 */
export function elementAt(at, channels, { patchHeight, patchWidth }, order) {
  const size = patchHeight * patchWidth;
  const channel = order === "pixel" ? at % channels : Math.floor(at / size);
  const pixel = order === "pixel" ? Math.floor(at / channels) : at % size;
  return { row: Math.floor(pixel / patchWidth), col: pixel % patchWidth, channel };
}
