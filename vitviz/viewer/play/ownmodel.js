/**
 * Own model: the trunk of a trained model with a head for a visitor's own things, which is fitted anew after each
 * change.
 */

import { createEngine } from "../engine/client.js";
import { createLearner } from "../learn/client.js";
import { best, sharesOf } from "../learn/linearhead.js";
import { sidesOf } from "../maths/halves.js";
import { writeSafetensors } from "../maths/safetensors.js";
import { NONE } from "./ownset.js";
import { TEXTS } from "./playtexts.js";
import { textsIn } from "./texts.js";

const REST_MS = 250; // of a hand that adds and removes pictures

/**
 * A trained model of this page. template: a manifest of it; tools: of the engine.
 * @typedef {{template: import("../types.js").Manifest, known: import("../data/localpayload.js").Known,
 *   tools: import("../localengine.js").LocalEngine}} Trunk
 * What was learned last, of these things and pictures.
 * @typedef {import("../learn/linearhead.js").Learned & ReturnType<import("./ownset.js").OwnSet["content"]>} Found
 */

/**
 * A checkpoint with another head, or without one.
 * @param {import("../data/localpayload.js").Known} known
 * @param {{head: import("../learn/linearhead.js").Head, labels: string[], details: Record<string, string>,
 *   counts?: {right: number, of: number}}|null} own
 */
export function checkpointOf({ described, tensors }, own) {
  const kept = Object.fromEntries(Object.entries(tensors).filter(([name]) => !name.startsWith("head.")));
  const classes = own?.labels.length ?? 0;
  if (own) {
    const [weight, bias] = [Float32Array.from(own.head.weight), Float32Array.from(own.head.bias)];
    Object.assign(kept, {
      "head.weight": { shape: [classes, weight.length / classes], data: weight },
      "head.bias": { shape: [classes], data: bias },
    });
  }
  const { config, preprocess } = described;
  const told = {
    config: { ...config, num_classes: classes },
    preprocess,
    labels: own?.labels ?? null,
    words: own ? wordsOf(own.labels) : {},
    details: own?.details ?? {},
    ...(own?.details.accuracy
      ? { messages: { [own.details.accuracy]: { key: "models.left_out", values: own.counts } } }
      : {}),
  };
  return writeSafetensors(kept, { vitviz: JSON.stringify(told) });
}

/**
 * Input of the learner.
 * @param {Pick<Found, "pictures"|"labels"|"things"|"none">} content
 */
const taughtOf = ({ pictures, labels, things, none }) => ({
  vectors: pictures.map(({ vectors }) => /** @type {Float32Array[]} */ (vectors)),
  labels,
  groups: pictures.map(({ group }) => group),
  classes: things.length,
  none,
});

/** Translations of the label "none of these" for a card; {} without that class. @param {string[]} labels */
export const wordsOf = (labels) =>
  labels.includes(NONE)
    ? Object.fromEntries(
        Object.keys(TEXTS)
          .filter((tag) => tag !== "en")
          .map((tag) => [tag, { labels: { [NONE]: textsIn(tag)("none_of_these") } }]),
      )
    : {};

/** An engine that makes the pooled features of a trunk. @param {import("../data/localpayload.js").Known} known */
function startEngine(known) {
  const engine = createEngine();
  return { ...engine, ready: engine.load(checkpointOf(known, null)) };
}

/** A picture with left and right exchanged. @param {Uint8Array} pixels  (h, w, C) */
export function mirrored(pixels, width, channels) {
  const row = width * channels;
  return pixels.map((_, at, all) => {
    const [from, channel] = [Math.floor((at % row) / channels), at % channels];
    return all[at - (at % row) + (width - 1 - from) * channels + channel];
  });
}

/**
 * @param {Trunk} trunk
 * @param {import("./ownset.js").OwnSet} set
 * @param {() => void} changed  something new is known
 */
export function createOwnModel({ template, known }, set, changed) {
  const { width, channels } = template.model.image;
  const engine = startEngine(known);
  // A second one begins with the camera, so that its pictures need not wait for those that are learned.
  let filming = /** @type {ReturnType<typeof startEngine>|null} */ (null);
  const learner = createLearner({
    taught(share) {
      state.share = (1 + share) / 2;
      changed();
    },
  });
  const state = {
    found: /** @type {Found|null} */ (null),
    working: false,
    since: 0,
    share: 0,
    failed: "",
    stopped: false,
  };
  let [wanted, done, timer] = [0, 0, 0];
  return {
    /** Learned from the set, or from an earlier one while that is under way. */
    found: () => state.found,
    /**
     * working: not all is learned yet; since: when that began; share: that is done, one half of it for the vectors of
     * the trunk, the other for the heads
     */
    state: () => ({ ...state, working: wanted !== done }),
    touch() {
      if (!state.working) Object.assign(state, { since: performance.now(), share: 0 });
      wanted += 1;
      clearTimeout(timer);
      timer = setTimeout(() => work(), REST_MS);
    },
    /** The picture of a photo, as the model sees it. @param {ImageBitmap} bitmap */
    async see(bitmap) {
      await engine.ready;
      const { seen } = await engine.see({ bitmap, preprocess: known.facts.preprocess, display: false });
      return new Uint8Array(seen.data);
    },
    /**
     * The probabilities of the things that are learned; null while there are none.
     * @param {Uint8Array} pixels
     * @param {boolean} [films]  whether the camera is on
     */
    async answer(pixels, films = false) {
      if (!state.found) return null;
      if (films) filming ??= startEngine(known);
      const vector = await vectorOf(pixels, "shown", [], (films && filming) || engine);
      const of = state.found;
      return of && { shares: sharesOf(of.head, vector), of };
    },
    /**
     * For each thing that is learned, the pictures that are answered rightly by a head which has not learned from
     * them, and how many stay right without the middle and without the rim: as `halves` of vitviz/many/halves.py.
     * @param {Found} found
     * @param {(share: number) => void} tell
     */
    async halves(found, tell) {
      const { things, pictures, labels, none } = found;
      const { middle, rim } = sidesOf(template.model.grid);
      const changed = [];
      for (const [at, { pixels }] of pictures.entries()) {
        tell(at / pictures.length);
        const both = [];
        for (const patches of [middle, rim]) both.push(await vectorOf(pixels, "halves", patches));
        changed.push(both);
      }
      const answered = await learner.teach({ ...taughtOf(found), changed });
      const isRight = (shares, at) => Boolean(shares) && best(shares) === labels[at];
      return things.flatMap((thing, label) => {
        if (label === none) return []; // it has no middle
        const right = labels.flatMap((one, at) =>
          one === label && isRight(answered.shares[at], at) ? [at] : [],
        );
        const still = (side) => right.filter((at) => isRight(answered.changed[at][side], at)).length;
        return [
          { thing, pictures: right, right: right.length, withoutMiddle: still(0), withoutRim: still(1) },
        ];
      });
    },
    stop() {
      state.stopped = true;
      clearTimeout(timer);
      engine.stop();
      filming?.stop();
      learner.stop();
    },
  };

  async function vectorOf(pixels, lane, removed = /** @type {number[]} */ ([]), on = engine) {
    await on.ready;
    const interventions = removed.length > 0 ? [{ kind: "remove", patches: removed }] : [];
    return (await on.run({ picture: pixels, interventions, answer: true, lane })).logits;
  }

  async function work() {
    if (state.working) return;
    Object.assign(state, { working: true, since: performance.now(), share: 0, failed: "" });
    let mine = wanted;
    try {
      while (wanted !== done) {
        mine = wanted;
        const content = set.content();
        changed();
        for (const [at, picture] of content.pictures.entries()) {
          state.share = at / content.pictures.length / 2;
          picture.vectors ??= [
            await vectorOf(picture.pixels, "learned"),
            await vectorOf(mirrored(picture.pixels, width, channels), "learned"),
          ];
        }
        if (mine !== wanted) continue;
        const classes = content.things.length;
        const learned = classes < 2 ? null : await learner.teach(taughtOf(content));
        state.found = learned && { ...learned, ...content };
        done = mine;
      }
    } catch (error) {
      done = mine; // what was added meanwhile is tried
      state.failed = error.message;
      throw error;
    } finally {
      state.working = false;
      if (wanted !== done && !state.stopped) {
        clearTimeout(timer);
        timer = setTimeout(() => work(), REST_MS);
      }
      changed();
    }
  }
}
