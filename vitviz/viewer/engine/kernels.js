/**
 * Kernels: the arithmetic of a pass over one memory, by a WebAssembly module (kernels.wat), or in plain
 * JavaScript where a page may not run WebAssembly. Both have the same functions with the same arguments:
 * addresses are in bytes and multiples of 16, strides and counts in numbers. Rows are padded with zeros to
 * their stride.
 */

import { normal } from "../maths/gelu.js";
import { MODULE } from "./module.js";

/**
 * product      out = a b + bias; with `add` above 0 it is added to out. b is packed (see `pack` of
 *              machine.js); rows and depth are multiples of 4, cols of 8
 * strided      the same without packing and bias: number k of row i of a stands at i down + k along, so a may
 *              be read as its transpose; b has its rows as they are; depth is any number
 * sums         column sums, added to the numbers at `to`; width is a multiple of 4
 * spread       number c of row r, of `width` numbers, goes to r down + c across
 * move         the first `width` numbers of each row go to rows with another stride
 * softmax      of `count` scores in each row, times `scale`, in place; `stats` gets for each row the largest,
 *              and the sum of the exponentials of the differences to it
 * norm         LayerNorm of each row's first `width` numbers; here and below RMSNorm if `eps` is negative, which
 *              then stands for its opposite
 * gelu         of count numbers (a multiple of 4) in place; with `gradient` the gradient is multiplied by the
 *              slope there, in place
 * softmaxBack  gradient of the scores from that of the shares that `softmax` left at `at`, in place
 * normBack     gradient at the input of `norm` from that at its output, added to the rows at `to`; the
 *              padding of these rows is undefined
 * normGain     gradient of the gain of `norm`, added to the numbers at `sums`
 * adamw        one step of AdamW for count numbers (a multiple of 4). The gradients are multiplied by
 *              `shorter`; the running means move towards them by the share `first`, the running squares
 *              towards their squares by the share `second`; the numbers are multiplied by `keeps` and lowered
 *              by `rate` mean / (`root` sqrt(square) + eps)
 * @typedef {{
 *   memory: ArrayBuffer, simd: boolean,
 *   product: (a: number, lda: number, b: number, bias: number, out: number, ldo: number, rows: number,
 *     depth: number, cols: number, add: number) => void,
 *   strided: (a: number, down: number, along: number, b: number, ldb: number, out: number, ldo: number,
 *     rows: number, depth: number, cols: number, add: number) => void,
 *   sums: (from: number, lda: number, to: number, rows: number, width: number) => void,
 *   spread: (from: number, lda: number, to: number, down: number, across: number, rows: number,
 *     width: number) => void,
 *   move: (from: number, lda: number, to: number, ldo: number, rows: number, width: number) => void,
 *   softmax: (at: number, rows: number, count: number, stride: number, scale: number, stats: number) => void,
 *   norm: (from: number, to: number, gain: number, shift: number, rows: number, width: number,
 *     stride: number, eps: number) => void,
 *   gelu: (at: number, count: number, gradient: number) => void,
 *   softmaxBack: (at: number, gradient: number, rows: number, stride: number, scale: number) => void,
 *   normBack: (from: number, gradient: number, to: number, gain: number, rows: number, width: number,
 *     stride: number, eps: number) => void,
 *   normGain: (from: number, gradient: number, sums: number, rows: number, width: number, stride: number,
 *     eps: number) => void,
 *   adamw: (at: number, gradient: number, mean: number, square: number, count: number, shorter: number,
 *     keeps: number, first: number, second: number, rate: number, root: number, eps: number) => void,
 * }} Kernels
 */

/**
 * The fastest kernels that this browser runs: plain JavaScript without SIMD, or where a policy forbids
 * WebAssembly. The module is compiled synchronously, which browsers allow a page up to 4 kB.
 * @param {number} bytes  of their memory
 * @param {boolean} [isFused]  whether products may round differently on different devices; see `fusedKernels`
 * @returns {Kernels}
 */
export function bestKernels(bytes, isFused = false) {
  try {
    const code = Uint8Array.from(atob(MODULE), (letter) => letter.charCodeAt(0));
    const module = new WebAssembly.Module((isFused && fusedCode(code)) || code);
    const page = { memory: new WebAssembly.Memory({ initial: Math.ceil(bytes / 65536) }) };
    const { exports } = new WebAssembly.Instance(module, { page });
    return /** @type {Kernels} */ (
      /** @type {unknown} */ ({ ...exports, memory: page.memory.buffer, simd: true })
    );
  } catch (error) {
    if (error instanceof RangeError) throw error; // out of memory: plain kernels would fail, too
    return plainKernels(bytes);
  }
}

/**
 * The fastest kernels for passes: products use the fused multiply-add of relaxed SIMD where the browser has
 * it, which takes four fifths of the time. On devices with such an instruction the result is rounded once, on
 * others twice. Training must give the same numbers everywhere, so it does not use this.
 * @param {number} bytes  of their memory
 */
export const fusedKernels = (bytes) => bestKernels(bytes, true);

/**
 * The module with `f32x4.relaxed_madd` in place of each multiplication whose product is added to a local;
 * `nop` fills the bytes that this saves. null where the browser refuses it.
 * @param {Uint8Array} code
 */
export function fusedCode(code) {
  const [prefix, multiply, add, madd, get, nop] = [0xfd, [0xe6, 1], [0xe4, 1], [0x85, 2], 0x20, 1];
  const product = [prefix, ...multiply, get, null, prefix, ...add];
  const fused = code.slice();
  for (let at = 0; at < code.length; at++)
    if (product.every((byte, next) => byte === null || byte === code[at + next]))
      fused.set([nop, nop, nop, get, code[at + 4], prefix, ...madd], at);
  return WebAssembly.validate(fused) ? fused : null;
}

/** Start value of a search for the largest score: finite, but below every score. */
const LEAST = -3e38;

/**
 * The kernels in plain JavaScript.
 * @param {number} bytes  of their memory
 * @returns {Kernels}
 */
export function plainKernels(bytes) {
  const f = new Float32Array(bytes / 4);
  return {
    memory: f.buffer,
    simd: false,
    product(a, lda, b, bias, out, ldo, rows, depth, cols, add) {
      for (let col = 0; col < cols; col += 8) {
        for (let row = 0; row < rows; row++) {
          panelRow(f, a / 4 + row * lda, 1, b / 4 + col * depth, 8, out / 4 + row * ldo + col, depth, add);
          for (let at = col; at < col + 8; at++) f[out / 4 + row * ldo + at] += f[bias / 4 + at];
        }
      }
    },
    strided(a, down, along, b, ldb, out, ldo, rows, depth, cols, add) {
      for (let row = 0; row < rows; row++) {
        for (let col = 0; col < cols; col += 8)
          panelRow(f, a / 4 + row * down, along, b / 4 + col, ldb, out / 4 + row * ldo + col, depth, add);
      }
    },
    sums(from, lda, to, rows, width) {
      for (let row = 0; row < rows; row++) {
        for (let i = 0; i < width; i++) f[to / 4 + i] += f[from / 4 + row * lda + i];
      }
    },
    spread(from, lda, to, down, across, rows, width) {
      for (let row = 0; row < rows; row++) {
        for (let at = 0; at < width; at++)
          f[to / 4 + row * down + at * across] = f[from / 4 + row * lda + at];
      }
    },
    move(from, lda, to, ldo, rows, width) {
      for (let row = 0; row < rows; row++) {
        const start = from / 4 + row * lda;
        f.copyWithin(to / 4 + row * ldo, start, start + width);
      }
    },
    softmax(at, rows, count, stride, scale, stats) {
      for (let row = 0; row < rows; row++) {
        const start = at / 4 + row * stride;
        let most = LEAST,
          sum = 0;
        for (let i = start; i < start + count; i++) most = Math.max(most, f[i]);
        for (let i = start; i < start + stride; i++)
          sum += f[i] = i < start + count ? Math.exp(scale * (f[i] - most)) : 0;
        for (let i = start; i < start + count; i++) f[i] /= sum;
        f[stats / 4 + 2 * row] = scale * most;
        f[stats / 4 + 2 * row + 1] = sum;
      }
    },
    softmaxBack(at, gradient, rows, stride, scale) {
      for (let row = 0, start = at / 4, d = gradient / 4; row < rows; row++, start += stride, d += stride) {
        let sum = 0;
        for (let i = 0; i < stride; i++) sum += f[start + i] * f[d + i];
        for (let i = 0; i < stride; i++) f[d + i] = scale * f[start + i] * (f[d + i] - sum);
      }
    },
    norm(from, to, gain, shift, rows, width, stride, eps) {
      for (let row = 0; row < rows; row++) {
        const start = from / 4 + row * stride;
        const { mean, scale } = moments(f, start, width, eps);
        for (let i = 0; i < width; i++)
          f[to / 4 + row * stride + i] = (f[start + i] - mean) * scale * f[gain / 4 + i] + f[shift / 4 + i];
      }
    },
    normBack(from, gradient, to, gain, rows, width, stride, eps) {
      for (let row = 0; row < rows; row++) {
        const [x, d] = [from / 4 + row * stride, gradient / 4 + row * stride];
        const { mean, scale } = moments(f, x, width, eps);
        let first = 0,
          second = 0;
        for (let i = 0; i < width; i++) {
          const g = f[gain / 4 + i] * f[d + i];
          if (eps > 0) first += g / width;
          second += (g * (f[x + i] - mean) * scale) / width;
        }
        for (let i = 0; i < width; i++)
          f[to / 4 + row * stride + i] +=
            scale * (f[gain / 4 + i] * f[d + i] - first - (f[x + i] - mean) * scale * second);
      }
    },
    normGain(from, gradient, sums, rows, width, stride, eps) {
      for (let row = 0; row < rows; row++) {
        const [x, d] = [from / 4 + row * stride, gradient / 4 + row * stride];
        const { mean, scale } = moments(f, x, width, eps);
        for (let i = 0; i < width; i++) f[sums / 4 + i] += f[d + i] * (f[x + i] - mean) * scale;
      }
    },
    adamw(at, gradient, mean, square, count, shorter, keeps, first, second, rate, root, eps) {
      const [p, g, m, v] = [at / 4, gradient / 4, mean / 4, square / 4];
      for (let i = 0; i < count; i++) {
        const slope = shorter * f[g + i];
        f[m + i] += first * (slope - f[m + i]);
        f[v + i] += second * (slope * slope - f[v + i]);
        f[p + i] = keeps * f[p + i] - (rate * f[m + i]) / (root * Math.sqrt(f[v + i]) + eps);
      }
    },
    gelu(at, count, gradient) {
      for (let i = 0; i < count; i++) {
        const x = f[at / 4 + i];
        const { phi, density } = normal(x);
        if (gradient) f[gradient / 4 + i] *= phi + x * density;
        else f[at / 4 + i] = x * phi;
      }
    },
  };
}

/** Mean of a row, and 1 / its standard deviation; for RMSNorm (negative `eps`) 0, and 1 / its root mean square. */
function moments(f, start, width, eps) {
  let mean = 0,
    variance = 0;
  if (eps > 0) for (let i = 0; i < width; i++) mean += f[start + i] / width;
  for (let i = 0; i < width; i++) variance += (f[start + i] - mean) ** 2 / width;
  return { mean, scale: 1 / Math.sqrt(variance + Math.abs(eps)) };
}

/** Product of one row of `a` and 8 columns of `b`. */
function panelRow(f, a, along, b, ldb, out, depth, add) {
  let s0 = 0,
    s1 = 0,
    s2 = 0,
    s3 = 0,
    s4 = 0,
    s5 = 0,
    s6 = 0,
    s7 = 0;
  for (let at = 0; at < depth; at++, a += along, b += ldb) {
    const x = f[a];
    s0 += x * f[b];
    s1 += x * f[b + 1];
    s2 += x * f[b + 2];
    s3 += x * f[b + 3];
    s4 += x * f[b + 4];
    s5 += x * f[b + 5];
    s6 += x * f[b + 6];
    s7 += x * f[b + 7];
  }
  const sums = [s0, s1, s2, s3, s4, s5, s6, s7];
  for (let at = 0; at < 8; at++) f[out + at] = add ? f[out + at] + sums[at] : sums[at];
}
