/**
 * Fooling: move the values of a picture a little until the intact model answers another class, as
 * vitviz/probe/intervene/fooling.py does, whose docstrings name the sources.
 */

import { backward } from "./backward.js";
import { LIMITS } from "./tables.js";
import { encode, head, taken, tokenize } from "./vit.js";
import { Chance } from "../maths/chance.js";
import { softmax } from "../maths/outputs.js";
import { normalised } from "../maths/pixels.js";

/** Index of the largest number, but for one of them. @param {ArrayLike<number>} numbers @param {number} not */
function largest(numbers, not = -1) {
  let best = -1;
  for (let i = 0; i < numbers.length; i++)
    if (i !== not && (best < 0 || numbers[i] > numbers[best])) best = i;
  return best;
}

/**
 * The picture after a `perturb`, (h, w, C) bytes.
 * @param {import("./machine.js").Machine} m
 * @param {Uint8Array} picture
 * @param {any} change  an intervention of the kind perturb
 * @param {import("./surgery.js").Surgery} intact  without interventions
 * @param {number} temperature  of the probabilities
 * @returns {Uint8Array}
 */
export function fooled(m, picture, { target, epsilon, steps, seed }, intact, temperature) {
  const moved = (from, by) =>
    picture.map((start, i) => Math.min(Math.max(from[i] + by(i), start - epsilon, 0), start + epsilon, 255));
  if (target === "random") {
    const signs = new Chance(seed, "signs").below(new Uint32Array(picture.length).fill(2));
    return moved(picture, (i) => epsilon * (2 * signs[i] - 1));
  }
  if (epsilon === 0) return picture;
  const { in_chans: channels, num_tokens: tokens, embed_dim: dim } = m.config;
  const area = picture.length / channels;
  const size = Math.ceil(epsilon / 4);
  let [now, answer] = [picture, -1];
  for (let step = 0; ; step++) {
    const pixels = normalised(m, now);
    tokenize(m, pixels, intact);
    const pass = { tokens: [taken(m, m.at.x, tokens, dim)], layers: /** @type {any[]} */ ([]) };
    encode(m, 0, intact, (_, looked, after) => {
      pass.layers.push(looked);
      pass.tokens.push(after);
    });
    const logits = head(m, intact);
    if (step === 0) answer = largest(logits);
    if (step === steps || leads(logits, answer, target, temperature)) break;
    const one = target === "away" ? answer : target;
    const gradient = new Float32Array(logits.length);
    gradient[one] = target === "away" ? -1 : 1;
    gradient[largest(logits, one)] = -gradient[one];
    const slope = /** @type {Float32Array} */ (backward(m, pass, pixels, intact, gradient));
    now = moved(now, (i) => size * Math.sign(slope[(i % channels) * area + Math.floor(i / channels)]));
  }
  return now;
}

/** Whether a new answer, or the target, leads all other classes. */
function leads(logits, answer, target, temperature) {
  const shares = softmax(logits, temperature);
  const best = largest(shares);
  const wanted = target === "away" ? best !== answer : best === target;
  return wanted && shares[best] - shares[largest(shares, best)] >= LIMITS.lead;
}
