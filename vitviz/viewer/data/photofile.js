/**
 * Photo files: format, size and number of frames, read before decoding, as in vitviz/model/photo.py.
 */

import { FILE_KINDS } from "../engine/tables.js";

/**
 * The formats that a page decodes itself: offset and bytes of their signature.
 * @type {Record<string, [number, string]>}
 */
const BEGINNINGS = {
  JPEG: [0, "\xff\xd8\xff"],
  PNG: [0, "\x89PNG\r\n\x1a\n"],
  GIF: [0, "GIF8"],
  WEBP: [8, "WEBP"],
  BMP: [0, "BM"],
  AVIF: [4, "ftypavif"],
};
/** Signatures of formats that only Python opens: TIFF, JPEG 2000, PPM. */
const OTHERS = ["II*\0", "MM\0*", "\0\0\0\fjP", "\xff\x4f\xff\x51", "P1", "P2", "P3", "P4", "P5", "P6", "Pf"];
/** Whether it is a PNG with 16 bits, which browsers round in another way: only Python opens it. */
const isDeep = (bytes) => letters(bytes, 0, 4) === "\x89PNG" && bytes[24] === 16;
/** Whether it is an AVIF with several pictures: only Python opens it. */
const isSequence = (bytes) => letters(bytes, 4, 12) === "ftypavis";

/** Whether a segment of a JPEG holds its size: frames do, tables do not. */
const isFrame = (kind) => kind >= 0xc0 && kind <= 0xcf && kind !== 0xc4 && kind !== 0xc8 && kind !== 0xcc;

/** Bytes as characters. @param {Uint8Array} bytes @param {number} from @param {number} to */
const letters = (bytes, from, to) => String.fromCharCode(...bytes.subarray(from, to));

/** @param {Uint8Array} bytes */
const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * The name of a file's format; "" if only Python opens it, null if it is no picture.
 * @param {Uint8Array} bytes
 */
export function formatOf(bytes) {
  if (isDeep(bytes) || isSequence(bytes)) return "";
  const found = Object.entries(BEGINNINGS).find(
    ([, [at, begins]]) => letters(bytes, at, at + begins.length) === begins,
  );
  return found ? found[0] : OTHERS.some((begins) => letters(bytes, 0, begins.length) === begins) ? "" : null;
}

/**
 * The kind of a file that is no picture, as `looks_like` of vitviz/model/photo_kinds.py names it.
 * @param {Uint8Array} bytes
 * @returns {{what: string, format?: string}} the end of a key of photo.json, and a value in its text
 */
export function kindOf(bytes) {
  const placed = FILE_KINDS.placed.find(([at, there]) => letters(bytes, at, at + there.length) === there);
  if (placed) return { what: placed[2] };
  if (letters(bytes, 4, 8) === "ftyp")
    return { what: FILE_KINDS.heic.includes(letters(bytes, 8, 12)) ? "heic" : "video" };
  const head = letters(bytes, 0, FILE_KINDS.head)
    .replace(/^[\xef\xbb\xbf \t\r\n]+/, "")
    .replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase()); // not \xd8, which is no letter here
  const within = FILE_KINDS.within.find(([piece]) => head.includes(piece));
  if (within) return { what: within[1] };
  const known = FILE_KINDS.beginnings.find(([begins]) => head.startsWith(begins));
  if (known) return { what: known[1] };
  const damaged = FILE_KINDS.damaged.find(([begins]) => head.startsWith(begins));
  if (damaged) return { what: "damaged", format: damaged[1] };
  if (!/^[\t\r\n\f\x1b\x20-\x7e\x80-\xff]+$/.test(head)) return { what: "unknown" };
  try {
    const stream = bytes.length > FILE_KINDS.head;
    new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, FILE_KINDS.head), { stream });
  } catch {
    return { what: "unknown" };
  }
  return { what: "text" };
}

/**
 * Width and height from the header; null if only decoding shows them.
 * @param {Uint8Array} bytes
 * @param {string} format
 * @returns {[number, number]|null}
 */
export function sizeIn(bytes, format) {
  const view = viewOf(bytes);
  if (format === "PNG" && bytes.length >= 24 && letters(bytes, 12, 16) === "IHDR")
    return [view.getUint32(16), view.getUint32(20)];
  if (format === "GIF" && bytes.length >= 10) return [view.getUint16(6, true), view.getUint16(8, true)];
  const at = format === "JPEG" ? segmentsOf(view).find(({ kind }) => isFrame(kind))?.at : undefined;
  return at !== undefined && at + 9 <= bytes.length ? [view.getUint16(at + 7), view.getUint16(at + 5)] : null;
}

/** Whether a JPEG has four inks (CMYK). @param {Uint8Array} bytes */
export function isInInks(bytes) {
  const frame = segmentsOf(viewOf(bytes)).find(({ kind }) => isFrame(kind));
  return frame !== undefined && bytes[frame.at + 9] === 4;
}

/**
 * The number of frames of an animation; 1 for any other file, Infinity for a GIF with too many to count.
 * @param {Uint8Array} bytes
 * @param {string} format
 */
export function framesIn(bytes, format) {
  if (format === "GIF") return framesOfGif(bytes);
  const view = viewOf(bytes);
  if (format === "PNG") {
    const chunks = pngChunks(bytes);
    const [control, first, pixels] = ["acTL", "fcTL", "IDAT"].map((name) =>
      chunks.findIndex((chunk) => chunk.name === name),
    );
    if (control < 0 || control > pixels) return 1;
    // a picture before the first frame is a fallback for programs without animations
    return view.getUint32(chunks[control].at + 8) + (first < 0 || first > pixels ? 1 : 0);
  }
  const frames = format === "WEBP" ? webpChunks(bytes) : [];
  return Math.max(1, frames.filter(({ name }) => name === "ANMF").length);
}

/** Number of parts that are read: no camera makes more, but a malicious file can be full of empty parts. */
const MOST_PARTS = 100_000;

/** The chunks of a file from an offset on, up to the first that is cut off. */
function chunksOf(bytes, from, lengthOf, nameAt) {
  const found = [];
  for (let at = from; at + 8 <= bytes.length && found.length < MOST_PARTS; at += lengthOf(at))
    found.push({ name: letters(bytes, at + nameAt, at + nameAt + 4), at });
  return found;
}

function pngChunks(bytes) {
  const view = viewOf(bytes);
  return chunksOf(bytes, 8, (at) => 12 + view.getUint32(at), 4);
}

function webpChunks(bytes) {
  const length = (at) => viewOf(bytes).getUint32(at + 4, true);
  return chunksOf(bytes, 12, (at) => 8 + length(at) + (length(at) % 2), 0);
}

/**
 * Most commas (the byte that opens a frame) in a GIF whose frames are counted, as in vitviz/model/photo.py.
 */
const MOST_COMMAS = 100_000;

/** @param {Uint8Array} bytes */
function framesOfGif(bytes) {
  const table = (flags) => (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0);
  let frames = 0;
  let at = 13 + table(bytes[10]);
  const blocks = () => {
    while (bytes[at] > 0) at += bytes[at] + 1;
    at += 1;
  };
  while (bytes[at] === 0x21 || bytes[at] === 0x2c) {
    if (bytes[at] === 0x21) at += 2;
    else {
      frames += 1;
      at += 11 + table(bytes[at + 9]);
    }
    blocks();
  }
  return frames > 1 && bytes.filter((byte) => byte === 0x2c).length > MOST_COMMAS
    ? Infinity
    : Math.max(1, frames);
}

/** The segments of a JPEG before its pixels. @param {DataView} view */
function segmentsOf(view) {
  const found = [];
  for (
    let at = 2;
    at + 4 <= view.byteLength && view.getUint8(at) === 0xff && found.length < MOST_PARTS;
    at += 2 + view.getUint16(at + 2)
  ) {
    // Any number of 0xff may stand before a marker (ITU T.81, B.1.1.2).
    while (at + 5 <= view.byteLength && view.getUint8(at + 1) === 0xff) at += 1;
    const kind = view.getUint8(at + 1);
    if (kind === 0xda) break;
    found.push({ kind, at });
  }
  return found;
}

/** The offset at which the EXIF data of a file begin; undefined if it has none. */
function exifIn(bytes, format) {
  const view = viewOf(bytes);
  const marked = (at) => letters(bytes, at, at + 6) === "Exif\0\0";
  if (format === "JPEG") {
    const found = segmentsOf(view).find(({ kind, at }) => kind === 0xe1 && marked(at + 4));
    return found && found.at + 10;
  }
  if (format === "PNG") {
    const found = pngChunks(bytes).find(({ name }) => name === "eXIf");
    return found && found.at + 8;
  }
  const found = format === "WEBP" ? webpChunks(bytes).find(({ name }) => name === "EXIF") : undefined;
  return found && found.at + 8 + (marked(found.at + 8) ? 6 : 0);
}

/**
 * The EXIF orientation of a JPEG, PNG or WebP, from 1 to 8; 1, upright, where data are missing or damaged: the
 * picture is still good.
 * @param {Uint8Array} bytes
 * @param {string} format
 */
export function orientationOf(bytes, format) {
  const start = exifIn(bytes, format);
  if (start === undefined) return 1;
  const view = viewOf(bytes);
  const little = letters(bytes, start, start + 2) === "II";
  const number = (at, size) =>
    at + size > bytes.length ? 0 : size === 2 ? view.getUint16(at, little) : view.getUint32(at, little);
  const first = start + number(start + 4, 4);
  const entries = Array.from({ length: number(first, 2) }, (_, entry) => first + 2 + 12 * entry);
  const found = entries.find((at) => number(at, 2) === 0x112);
  const way = found === undefined ? 1 : number(found + 8, 2);
  return way >= 2 && way <= 8 ? way : 1;
}

/**
 * Whether a file says that its picture is to be rotated or mirrored.
 * @param {Uint8Array} bytes
 * @param {string} format
 */
export function isTurned(bytes, format) {
  if (format !== "AVIF") return orientationOf(bytes, format) > 1;
  // A property of the picture: a rotation by irot times 90 degrees, or a mirror (ISO/IEC 23008-12, 6.5.10).
  const view = viewOf(bytes);
  let parts = boxesOf(bytes, view, 0);
  for (const [name, head] of /** @type {[string, number][]} */ ([
    ["meta", 12],
    ["iprp", 8],
    ["ipco", 8],
  ])) {
    const box = parts.find((part) => part.name === name);
    if (!box) return false;
    parts = boxesOf(bytes, view, box.at + head);
  }
  return parts.some(({ name, at }) => name === "imir" || (name === "irot" && (bytes[at + 8] & 3) > 0));
}

/** The boxes of an AVIF from an offset on. */
const boxesOf = (bytes, view, from) => chunksOf(bytes, from, (at) => Math.max(8, view.getUint32(at)), 4);
