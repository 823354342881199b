/** Reads a safetensors file: eight bytes of header length, a JSON header, then the numbers. */

/**
 * @typedef {{dtype: string, shape: number[], data: any}} Tensor
 *   data: a Uint8Array, Uint16Array or Float32Array, as `dtype` says
 */

const ARRAYS = { U8: Uint8Array, F16: Uint16Array, F32: Float32Array };

/** A file that contradicts its own header or its manifest. */
export class FormatError extends Error {}

/**
 * All tensors of a file by name; F16 stays as raw 16-bit words (see `toFloat32`).
 * @param {ArrayBuffer} buffer
 * @returns {Record<string, Tensor>}
 */
export function parseSafetensors(buffer) {
  const { header, start } = readHeader(buffer);
  const tensors = {};
  for (const [name, entry] of Object.entries(header)) {
    if (name !== "__metadata__") tensors[name] = readTensor(buffer, start, name, entry);
  }
  return tensors;
}

/**
 * The metadata of a file: texts by name.
 * @param {ArrayBuffer} buffer
 * @returns {Record<string, string>}
 */
export function readMetadata(buffer) {
  return readHeader(buffer).header.__metadata__ ?? {};
}

/** The header, and where the numbers begin. */
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
  try {
    return { header: JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length))), start };
  } catch (error) {
    throw new FormatError("safetensors header is not JSON: " + error.message);
  }
}

/** @returns {Tensor} */
function readTensor(buffer, start, name, { dtype, shape, data_offsets: [from, to] }) {
  const Numbers = ARRAYS[dtype];
  if (!Numbers) throw new FormatError(name + ": unknown dtype " + dtype);
  const count = shape.reduce((product, size) => product * size, 1);
  const bytes = count * Numbers.BYTES_PER_ELEMENT;
  if (to - from !== bytes || from < 0 || start + to > buffer.byteLength) {
    throw new FormatError(
      name + ": " + dtype + " [" + shape + "] needs " + bytes + " bytes, the file holds " +
        Math.min(to - from, buffer.byteLength - start - from),
    );
  }
  const offset = start + from;
  // A typed array must start at a multiple of its item size; a file need not.
  const data = offset % Numbers.BYTES_PER_ELEMENT === 0
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
  const tensor = tensors[name];
  if (!tensor) throw new FormatError("no tensor named " + name);
  if (tensor.shape.join() !== shape.join()) {
    throw new FormatError(name + ": expected shape [" + shape + "], got [" + tensor.shape + "]");
  }
  return tensor;
}

/** @type {Float32Array|undefined} */
let halfTable;

/** The 65,536 values of a 16-bit float; looking one up is ten times faster than arithmetic. */
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
