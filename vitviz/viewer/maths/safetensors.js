/** Reads and writes a safetensors file: eight bytes of header length, a JSON header, then the numbers. */

/**
 * @typedef {{dtype: string, shape: number[], data: any}} Tensor
 *   data: a Uint8Array, Uint16Array or Float32Array, as `dtype` says
 */

/**
 * Bytes of the largest header that is parsed: a header of brackets would take a hundred times its size.
 */
const MOST_HEADER = 2 ** 22;

const ARRAYS = { U8: Uint8Array, F16: Uint16Array, F32: Float32Array };

/** A file that contradicts its own header or its manifest. */
export class FormatError extends Error {}

/**
 * All tensors of a file by name; F16 stays as raw 16-bit words (see `toFloat32`).
 * @param {ArrayBuffer} buffer
 * @returns {Record<string, Tensor>}
 */
export function parseSafetensors(buffer) {
  const { entries, start } = readHeader(buffer);
  return Object.fromEntries(entries.map(([name, entry]) => [name, readTensor(buffer, start, name, entry)]));
}

/**
 * The metadata of a file: texts by name.
 * @param {ArrayBuffer} buffer
 * @returns {Record<string, string>}
 */
export function readMetadata(buffer) {
  return readHeader(buffer).metadata ?? {};
}

/**
 * The shapes of all tensors, from the header alone, so that a file can be checked before its numbers are
 * read.
 * @param {ArrayBuffer} buffer
 * @returns {Map<string, number[]>}
 */
export function readShapes(buffer) {
  return new Map(readHeader(buffer).entries.map(([name, { shape }]) => [name, shape]));
}

/**
 * The header: metadata, tensors in the order of the file, and the offset at which their numbers start.
 * @param {ArrayBuffer} buffer
 * @returns {{metadata: any,
 *   entries: [string, {dtype: string, shape: number[], data_offsets: [number, number]}][], start: number}}
 */
function readHeader(buffer) {
  if (buffer.byteLength < 8) {
    throw new FormatError("expected a safetensors file, got " + buffer.byteLength + " bytes");
  }
  const view = new DataView(buffer);
  const length = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  const start = 8 + length;
  if (start > buffer.byteLength) {
    throw new FormatError(
      "safetensors header of " + length + " bytes in a file of " + buffer.byteLength + " bytes",
    );
  }
  if (length > MOST_HEADER)
    throw new FormatError("safetensors header of " + length + " bytes; at most " + MOST_HEADER + " are read");
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  } catch (error) {
    throw new FormatError("safetensors header is not JSON: " + error.message);
  }
  if (header === null || typeof header !== "object")
    throw new FormatError("safetensors header names no tensors");
  const { __metadata__: metadata, ...tensors } = header;
  const entries = /** @type {[string, any][]} */ (Object.entries(tensors));
  const lacking = entries.find(([, entry]) => !describes(entry));
  if (lacking) throw new FormatError("safetensors header has no dtype, shape and place of " + lacking[0]);
  return { metadata, entries, start };
}

const areWhole = (values) =>
  Array.isArray(values) && values.every((value) => Number.isSafeInteger(value) && value >= 0);
const describes = (entry) =>
  typeof entry?.dtype === "string" &&
  areWhole(entry.shape) &&
  areWhole(entry.data_offsets) &&
  entry.data_offsets.length === 2;

/** @returns {Tensor} */
function readTensor(buffer, start, name, { dtype, shape, data_offsets: [from, to] }) {
  if (!Object.hasOwn(ARRAYS, dtype)) throw new FormatError(name + ": unknown dtype " + dtype);
  const Numbers = ARRAYS[dtype];
  const count = shape.reduce((product, size) => product * size, 1);
  const bytes = count * Numbers.BYTES_PER_ELEMENT;
  if (to - from !== bytes || start + to > buffer.byteLength) {
    const held = Math.min(to - from, buffer.byteLength - start - from);
    throw new FormatError(`${name}: ${dtype} [${shape}] needs ${bytes} bytes, the file holds ${held}`);
  }
  const offset = start + from;
  // A typed array must start at a multiple of its item size; a file need not.
  const data =
    offset % Numbers.BYTES_PER_ELEMENT === 0
      ? new Numbers(buffer, offset, count)
      : new Numbers(buffer.slice(offset, offset + bytes));
  return { dtype, shape, data };
}

/**
 * The tensor if it is there with this shape, else a FormatError that names both shapes.
 * @param {Record<string, Tensor>} tensors
 * @param {string} name
 * @param {number[]} shape
 * @returns {Tensor}
 */
export function expectTensor(tensors, name, shape) {
  if (!Object.hasOwn(tensors, name)) throw new FormatError("no tensor named " + name);
  const tensor = tensors[name];
  if (tensor.shape.join() !== shape.join()) {
    throw new FormatError(name + ": expected shape [" + shape + "], got [" + tensor.shape + "]");
  }
  return tensor;
}

/** @type {Float32Array|undefined} */
let halfTable;

/** The 65,536 values of a 16-bit float: a lookup is ten times faster than arithmetic. */
function halves() {
  halfTable ??= Float32Array.from({ length: 65536 }, (_, word) => halfToFloat(word));
  return halfTable;
}

/**
 * One IEEE 754 half-precision number, given as its 16 bits.
 * @param {number} word
 * @returns {number}
 */
export function halfToFloat(word) {
  const sign = word & 0x8000 ? -1 : 1;
  const exponent = (word >> 10) & 0x1f;
  const fraction = word & 0x3ff;
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 25) * (1024 + fraction);
}

/**
 * The numbers of a tensor as 32-bit floats (a copy for F16, the same memory for F32).
 * @param {Tensor} tensor
 * @returns {Float32Array}
 */
export function toFloat32(tensor) {
  if (tensor.dtype === "F32") return tensor.data;
  if (tensor.dtype === "U8") return Float32Array.from(tensor.data);
  const table = halves();
  const words = tensor.data;
  const floats = new Float32Array(words.length);
  for (let i = 0; i < words.length; i++) floats[i] = table[words[i]];
  return floats;
}

/** Concatenate arrays. @param {Float32Array[]} parts */
export function joined(parts) {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  parts.reduce((at, part) => {
    all.set(part, at);
    return at + part.length;
  }, 0);
  return all;
}

/**
 * The bytes of a file with these tensors; 16-bit words are those of F16.
 * @param {Record<string, {shape: number[], data: Uint8Array|Uint8ClampedArray|Uint16Array|Float32Array}>} tensors
 * @param {Record<string, string>|null} metadata
 * @returns {ArrayBuffer}
 */
export function writeSafetensors(tensors, metadata = null) {
  // Readers expect numbers of four bytes before those of one, so that all of them are aligned.
  const all = Object.entries(tensors).sort(
    ([, a], [, b]) => b.data.BYTES_PER_ELEMENT - a.data.BYTES_PER_ELEMENT,
  );
  /** @type {Record<string, any>} */
  const header = metadata ? { __metadata__: metadata } : {};
  let end = 0;
  for (const [name, { shape, data }] of all) {
    header[name] = {
      dtype: { 1: "U8", 2: "F16", 4: "F32" }[data.BYTES_PER_ELEMENT],
      shape,
      data_offsets: [end, (end += data.byteLength)],
    };
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const start = 8 + 8 * Math.ceil(text.length / 8);
  const file = new Uint8Array(start + end).fill(0x20, 8, start);
  new DataView(file.buffer).setUint32(0, start - 8, true);
  file.set(text, 8);
  for (const [name, { data }] of all) {
    file.set(
      new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
      start + header[name].data_offsets[0],
    );
  }
  return file.buffer;
}
