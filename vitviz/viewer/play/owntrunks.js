/**
 * Own trunks: how good the same head is on the same pictures when it reads the model before its training, or
 * pixels alone, in place of the trained one.
 */

import { createEngine } from "../engine/client.js";
import { readConfig } from "../engine/config.js";
import { shapesOf } from "../engine/weights.js";
import { createLearner } from "../learn/client.js";
import { drawn } from "../learn/parameters.js";
import { el, setText, show } from "../parts/dom.js";
import { allow, button } from "../parts/widgets.js";
import { checkpointOf, mirrored } from "./ownmodel.js";
import { sumOf } from "./ownresult.js";

const SIDE = 12; // of the picture that stands for pixels alone

/**
 * Heads on the other two trunks, by the head that they are compared with; they outlive the page, which is made
 * anew.
 * @type {WeakMap<import("./ownmodel.js").Found, {untrained: any, pixels: any}>}
 */
const compared = new WeakMap();

/**
 * The mean values of 12 x 12 fields of a picture, from 0 to 1, as torch's adaptive_avg_pool2d takes them.
 * @param {Uint8Array} pixels  (h, w, C)
 * @param {{height: number, width: number, channels: number}} image
 * @returns {Float32Array}  (12 * 12 * C)
 */
export function fieldsOf(pixels, { height, width, channels }) {
  const fields = new Float32Array(SIDE * SIDE * channels);
  const edges = (at, size) => [Math.floor((at * size) / SIDE), Math.ceil(((at + 1) * size) / SIDE)];
  for (let field = 0; field < SIDE * SIDE; field++) {
    const [top, bottom] = edges(Math.floor(field / SIDE), height);
    const [left, right] = edges(field % SIDE, width);
    const share = 1 / (255 * (bottom - top) * (right - left));
    for (let row = top; row < bottom; row++)
      for (let col = left; col < right; col++)
        for (let channel = 0; channel < channels; channel++)
          fields[field * channels + channel] += share * pixels[(row * width + col) * channels + channel];
  }
  return fields;
}

/**
 * The checkpoint of a model as its training began, without a head.
 * @param {import("../data/localpayload.js").Known} known
 */
export function beforeTraining({ described, facts }) {
  const config = readConfig(described.config);
  const { seed = 0, wide_start: wide = false } = JSON.parse(described.details?.recipe ?? "{}");
  const numbers = drawn(config, seed, wide);
  const tensors = Object.fromEntries(
    Object.entries(shapesOf(config)).map(([name, shape]) => [
      name,
      { dtype: "F32", shape, data: numbers[name] },
    ]),
  );
  return checkpointOf({ described, facts, tensors }, null);
}

/**
 * @param {import("./ownmodel.js").Trunk} trunk
 * @param {import("./texts.js").Say} say
 */
export function createTrunks({ template, known }, say) {
  const { image } = template.model;
  /** @type {WeakMap<import("./ownset.js").Picture, Float32Array[]>} */
  const untrained = new WeakMap(); // what the model before its training makes of pictures
  const press = button({ text: say("ownCompare"), title: say("ownCompareTitle"), onClick: compare });
  const [status, list] = [
    el("p", { class: "vv-note", role: "status" }),
    el("ul", { class: "vv-own-counts" }),
  ];
  const note = el("p", { class: "vv-note" });
  let found = /** @type {import("./ownmodel.js").Found|null} */ (null);
  let [busy, drawnFor] = [false, /** @type {import("./ownmodel.js").Found|null} */ (null)];
  render(null);
  return { root: el("div", {}, press, status, list, note), render };

  /** @param {import("./ownmodel.js").Found|null} now  what is learned */
  function render(now) {
    found = now;
    if (found && drawnFor !== found && compared.has(found)) draw(found);
    allow(press, !busy && sumOf(found?.count ?? []) > 0);
    for (const node of [list, note]) show(node, drawnFor !== null && drawnFor === found);
  }

  async function compare() {
    const of = found;
    if (!of || busy) return;
    busy = true;
    const tell = (share) => setText(status, say("ownComparing", { share: Math.floor(100 * share) + "%" }));
    tell(0);
    render(found);
    const [engine, learner] = [createEngine(), createLearner({ taught() {} })];
    try {
      const groups = of.pictures.map(({ group }) => group);
      const taught = (vectors) =>
        learner.teach({ vectors, labels: of.labels, groups, classes: of.things.length });
      await engine.load(beforeTraining(known));
      const seen = [];
      for (const [at, picture] of of.pictures.entries()) {
        tell(at / of.pictures.length);
        seen.push(await before(engine, picture));
      }
      const fields = of.pictures.map(({ pixels }) => both(pixels).map((one) => fieldsOf(one, image)));
      compared.set(of, { untrained: await taught(seen), pixels: await taught(fields) });
      drawnFor = null;
      setText(status, "");
    } catch (error) {
      setText(status, say("ownFailed", { why: error.message }));
      throw error;
    } finally {
      engine.stop();
      learner.stop();
      busy = false;
      render(found);
    }
  }

  /** @param {import("./ownmodel.js").Found} of */
  function draw(of) {
    drawnFor = of;
    const others = compared.get(of);
    const rows = [
      [say("ownTrained"), of],
      [say("ownUntrained"), others?.untrained],
      [say("ownPixels"), others?.pixels],
    ];
    list.replaceChildren(
      ...rows.map(([text, { right, count }]) =>
        el(
          "li",
          {},
          el("span", { text }),
          el("b", { text: say("ownOf", { right: sumOf(right), count: sumOf(count) }) }),
        ),
      ),
    );
    setText(note, say("ownCompareNote", { things: of.things.length }));
  }

  function both(pixels) {
    return [pixels, mirrored(pixels, image.width, image.channels)];
  }

  /** The vectors of a picture and its mirror image. @param {import("./ownset.js").Picture} picture */
  async function before(engine, picture) {
    if (!untrained.has(picture)) {
      const vectors = [];
      for (const one of both(picture.pixels))
        vectors.push((await engine.run({ picture: one, answer: true, lane: "compared" })).logits);
      untrained.set(picture, vectors);
    }
    return untrained.get(picture);
  }
}
