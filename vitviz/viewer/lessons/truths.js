/** Truths: what the questions of lessons ask, computed from the analysis on the screen, by name. */

import { holdingHalf, overlap, strongest } from "../maths/attention.js";
import { attentionAt } from "../data/film.js";
import { gelu } from "../maths/gelu.js";
import { insideMeans } from "../maths/inside.js";
import { cosineDistance } from "../maths/difference.js";
import { lengthOf, mixOf, valueOf } from "../maths/mixing.js";
import { placeOf } from "../maths/geometry.js";
import { pairOf } from "../maths/pair.js";
import { patchValues } from "../maths/patch.js";
import { similarities } from "../data/maps.js";
import { choosesOne } from "../maths/outputs.js";
import { LEARNED, LEARNED_NUMBERS } from "./playgroundresults.js";

/**
 * The arguments of a truth: tokens, a layer, a head, a moment of the film; `to` and `marks` are other tokens;
 * `experiment` and `experiments` are texts of steps, these by the keys of options, several draws in a list;
 * `run` and `of` name a number in playgroundresults.js.
 * @typedef
 *   {{token: number, partner: number, layer: number, head: number|"mean", to?: number, marks?: number[],
 *   moment?: number|"last", given?: number, unit?: number, experiment?: string, experiments?: Record<string,
 *     string|string[]>, run?: string, of?: "right"|"own"}} At
 * @typedef {import("../data/source.js").Source} Source
 * @typedef {"count"|"share"|"cosine"|"times"|"number"|"which"|"map"|"label"|"answer"} Unit
 *   which: the key of an option; map: one value for each patch; label: a class; answer: the name in an answer
 * @typedef {import("./outcomes.js").Outcome} Outcome
 * @typedef {(experiment: string) => Outcome|null|undefined} OutcomeOf
 * @typedef {{unit: Unit, of: (source: Source, at: At, other: any, outcomeOf: OutcomeOf) => any}} Truth
 *   of: null while something of it is loading, undefined if this analysis does not know it; `other` is the
 *   analysis beside, or what came of the experiment of the step: null if it is not there yet, undefined if it
 *   cannot be
 */

/** A file that is fetched when it is first needed: null while it is loading, undefined if there is none. */
export const fetched = (file) => (file.exists && !file.error ? file.get() : undefined);

/** The decoded layer; null while it is loading. */
function layerOf(source, layer) {
  const found = source.store.get(layer);
  // A failure is told where the layer is drawn; here the question goes on waiting.
  if (!found) source.store.ensure(layer).then(source.onProgress, () => {});
  return found ?? null;
}

/** A row of attention, (N); null while its layer is loading. */
function rowOf(source, { layer, head }, token) {
  return layerOf(source, layer) && source.maps.head(layer, token, "from", head);
}

/** The pair of token and partner; null while its layer is loading, undefined for a mean of heads. */
export function pairAt(source, { layer, head, token, partner }) {
  if (head === "mean") return undefined;
  const decoded = layerOf(source, layer);
  return decoded && pairOf(decoded, head, token, partner);
}

/**
 * Reads the mixing of a layer (shares and values); null while a file is loading, undefined for a mean of
 * heads.
 */
export const mixingAt = (source, at, read) =>
  at.head === "mean"
    ? undefined
    : withinAll([layerOf(source, at.layer), fetched(source.mixing(at.layer))], ([, mixing]) => read(mixing));

/** Reads the vector that attention adds to the token. */
export const mixAt = (source, at, read) =>
  mixingAt(source, at, (mixing) =>
    read(mixOf(mixing, source.maps.of(at.layer, at.token, "from").rows, at.head, at.token)),
  );

/** The row minus its mean, divided by its deviation: LayerNorm without its learned gains. */
export function normed(row) {
  const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
  const centred = row.map((value) => value - mean);
  return centred.map((value) => (value * Math.sqrt(row.length)) / lengthOf(centred));
}

/** Reads a value unless it is loading (null) or missing (undefined). */
export const within = (found, read) => (found === null || found === undefined ? found : read(found));

/** Reads several such values at once: undefined if any is missing, null while any is loading. */
export function withinAll(all, read) {
  if (all.includes(undefined)) return undefined;
  return all.includes(null) ? null : read(all);
}

/** The most probable class; undefined where the model has no classes. */
const topIn = ({ manifest }) => manifest.pass.predictions[0];

/** The probability of a class after an experiment: of a class that is no longer among the first, too. */
const shareIn = ({ manifest: { pass } }, { index }) =>
  pass.predictions.find((row) => row.index === index)?.probability ?? pass.probabilities?.[index];

/**
 * Reads the probabilities of the most probable class after several experiments.
 * @param {Source} source
 * @param {string[]} experiments
 * @param {OutcomeOf} outcomeOf
 * @param {(shares: number[]) => any} read
 */
const sharesAfter = (source, experiments, outcomeOf, read) =>
  within(topIn(source), (own) =>
    withinAll(experiments.map(outcomeOf), (found) => read(found.map((outcome) => shareIn(outcome, own)))),
  );

/** The part of the share of the most probable class that another pass leaves; NaN without a class. */
function keptIn(before, now) {
  const first = topIn(before);
  return first ? shareIn(now, first) / first.probability : NaN;
}

const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
/** @param {At} at */
const textsOf = ({ experiments = {} }) => Object.values(experiments).flat();

/**
 * A number and a share rounded as the text of a lesson prints them, because pupils go on calculating with the
 * printed numbers.
 */
const seen = (value) => Number(value.toPrecision(5));
const seenShare = (share) =>
  share > 0.00095 && share < 0.9995 ? Number((100 * share).toFixed(1)) / 100 : share;

/** Two probabilities that differ by less count as equal: every real change by a step is larger. */
const ROUNDED = 1e-5;

const wordIn = (source) => topIn(source)?.label;

/** Whether the most probable class after an experiment is that of an analysis. */
const isSame = (found, source) => topIn(found)?.index === topIn(source)?.index;

/** Cosine similarities of the position of a token to those of all patches; undefined where it has none. */
function positionsFrom(source, token) {
  return within(fetched(source.positions), () => source.positionMap(token) ?? undefined);
}

/**
 * The effect of positions inside attention on the score of a patch with another: the mean over the heads of a
 * layer.
 */
const toldPlace = ({ inside: file, grid }, { token, layer }, to) =>
  within(fetched(file), (inside) => insideMeans(inside, layer, placeOf(token, grid), grid)[to - grid.prefix]);

/** The moment of a film; "last" and too large numbers are its last. */
function momentOf(film, { moment = /** @type {number|"last"} */ ("last") }) {
  const last = film.moments.length - 1;
  return moment === "last" ? last : Math.min(moment, last);
}

/** The line of the logit lens that is first after a block; -1: after the last one. */
const leader = ({ lens }, layer) =>
  within(fetched(lens), (lines) => lines.find(({ ranks }) => ranks.at(layer) === 1));

const patchesOf = ({ grid }) => grid.rows * grid.cols;
const numbersOf = ({ grid, manifest }) => manifest.model.image.channels * grid.patchHeight * grid.patchWidth;

/**
 * Ways to make the first numbers of a patch: a patch written as a row times a matrix (linear layer), a filter
 * that slides from patch to patch (convolution), and the same matrix with the row written pixel by pixel,
 * while its columns are for one channel after the other.
 * @returns {{linear: number[], slid: number[], mixed: number[]}}
 */
export function waysOf({ grid, manifest }, { filters, count }, picture, token) {
  const { channels } = manifest.model.image;
  const size = filters.length / count;
  const { row, col } = placeOf(token, grid);
  /** @param {"channel"|"pixel"} order */
  const written = (order) => patchValues(picture, token, manifest, grid, order).normalised;
  const [flat, byPixel] = [written("channel"), written("pixel")];
  const [linear, slid, mixed] = [0, 0, 0].map(() => Array(count).fill(0));
  for (let filter = 0; filter < count; filter++) {
    for (let i = 0; i < size; i++) {
      linear[filter] += filters[filter * size + i] * flat[i];
      mixed[filter] += filters[filter * size + i] * byPixel[i];
    }
    for (let y = 0; y < grid.patchHeight; y++) {
      for (let x = 0; x < grid.patchWidth; x++) {
        for (let c = 0; c < channels; c++) {
          const pixel = (row * grid.patchHeight + y) * grid.width + col * grid.patchWidth + x;
          const value =
            (picture.pixels[pixel * channels + c] / 255 - manifest.model.mean[c]) / manifest.model.std[c];
          slid[filter] += value * filters[filter * size + (c * grid.patchHeight + y) * grid.patchWidth + x];
        }
      }
    }
  }
  return { linear, slid, mixed };
}

/**
 * The largest difference between the linear layer and another way, over all patches.
 * @param {Source} source
 * @param {any} found
 * @param {any} picture
 * @param {"slid"|"mixed"} way
 */
function wayDifference(source, found, picture, way) {
  let worst = 0;
  for (let token = source.grid.prefix; token < source.grid.tokens; token++) {
    const ways = waysOf(source, found, picture, token);
    worst = Math.max(worst, ...ways.linear.map((value, at) => Math.abs(ways[way][at] - value)));
  }
  return worst;
}

/** @param {Source} source @param {"slid"|"mixed"} way */
const wayGap = (source, way) =>
  withinAll([fetched(source.embedding), fetched(source.picture)], ([found, picture]) =>
    wayDifference(source, found, picture, way),
  );

const sameOrNot = (source, way) => within(wayGap(source, way), (gap) => (gap < 1e-3 ? "same" : "different"));

/** The number of hidden units. @param {import("../types.js").Model} model */
const hiddenOf = ({ steps }) => steps.find(({ module }) => module === "blocks.*.mlp.act")?.shape.at(-1);

/** The weights of the two matrices of a block's MLP with so many hidden units; a gated one has three. */
const mlpWeights = ({ embed_dim: width, mlp: { gated } }, hidden) => (gated ? undefined : 2 * width * hidden);

/** The weights of q, k, v and the projection of a block. */
const attentionWeights = ({ embed_dim: width, num_heads: heads, head_dim: dim }) => 4 * width * heads * dim;

const partOf = (part, rest) => within(part, () => part / (part + rest));

/**
 * The sums of a hidden unit at the patches; undefined of one that the page does not have.
 * @param {Source} source
 * @param {At} at
 */
function sumsOf(source, { layer, unit = 0 }) {
  return within(fetched(source.mixing(layer)), ({ hidden, tokens }) => {
    const units = hidden.length / tokens;
    if (unit >= units) return undefined;
    const all = Float32Array.from({ length: tokens }, (_, token) => hidden[token * units + unit]);
    return all.subarray(source.grid.prefix);
  });
}

/** GELU of a sum, to three decimals; undefined where the model has another activation. */
const bent = ({ model }, sum) =>
  model.mlp.activation === "gelu" ? Math.round(1000 * gelu(sum)) / 1000 || 0 : undefined;

/** The place of the largest value. */
const best = (values) => strongest(values, 1)[0];

/** Another truth about the same tokens; only for truths that need neither `other` nor an experiment. */
const known = (name, source, at) => TRUTHS[name].of(source, at, null, () => null);

/** @type {Record<string, Truth>} */
export const TRUTHS = {
  // How a picture becomes tokens.
  patchCount: { unit: "count", of: patchesOf },
  patchNumbers: { unit: "count", of: numbersOf },
  pixelNumbers: {
    unit: "count",
    of({ manifest }) {
      const { height, width, channels } = manifest.model.image;
      return height * width * channels;
    },
  },
  tokenCount: { unit: "count", of: ({ manifest }) => manifest.model.num_tokens },
  /** The share of the photo that was cut away before the model saw it. */
  unseen: {
    unit: "share",
    of: ({ manifest: { photo } }) => (photo.frame ? 1 - photo.frame[2] * photo.frame[3] : undefined),
  },
  tokenNumbers: { unit: "count", of: ({ manifest }) => manifest.model.embed_dim },
  /** Whether a token has more numbers than a patch. */
  tokenWidth: {
    unit: "which",
    of(source) {
      const [token, patch] = [source.manifest.model.embed_dim, numbersOf(source)];
      return token > patch ? "more" : token < patch ? "fewer" : "same";
    },
  },
  convolutionDifference: { unit: "number", of: (source) => wayGap(source, "slid") },
  convolutionOrLinear: { unit: "which", of: (source) => sameOrNot(source, "slid") },
  /** The row of a patch written in another order than that of the matrix. */
  orderDifference: { unit: "number", of: (source) => wayGap(source, "mixed") },
  orderMatters: { unit: "which", of: (source) => sameOrNot(source, "mixed") },
  /** Tokens to which a learned position is added. */
  positionCount: {
    unit: "count",
    of: ({ embedding, grid, positions }) =>
      !positions.exists
        ? undefined
        : within(
            fetched(embedding),
            ({ position, count }) =>
              Array.from({ length: grid.tokens }, (_, token) =>
                position.subarray(token * count, (token + 1) * count).some((value) => value !== 0),
              ).filter(Boolean).length,
          ),
  },
  /** Whether CLS enters the first block with the same numbers for the picture beside. */
  classAtStart: {
    unit: "which",
    of(source, _at, other) {
      if (source.grid.prefix === 0 || other === undefined) return undefined;
      const layers = other && [layerOf(source, 0), layerOf(other, 0)];
      if (!layers || layers.includes(null)) return null;
      const [first, two] = layers;
      if (first.k.length !== two.k.length) return "different";
      for (let head = 0; head < first.heads; head++) {
        const start = head * first.tokens * first.dim;
        for (let i = start; i < start + first.dim; i++)
          if (Math.abs(first.k[i] - two.k[i]) > 1e-3) return "different";
      }
      return "same";
    },
  },

  // Positions.
  positionCosine: {
    unit: "cosine",
    of: (source, { token, to }) =>
      within(positionsFrom(source, token), (map) => map[to - source.grid.prefix]),
  },
  untrainedCosine: {
    unit: "cosine",
    of: (source, at) => within(known("untrainedMap", source, at), (map) => map[at.to - source.grid.prefix]),
  },
  untrainedMap: {
    unit: "map",
    of: (source, { token }) =>
      within(fetched(source.untrained), (rows) =>
        similarities(rows, token - source.grid.prefix, patchesOf(source)),
      ),
  },
  /** The one of two marked patches whose position is more like that of the token. */
  moreAlike: {
    unit: "which",
    of: (source, { token, marks: [a, b] }) =>
      within(positionsFrom(source, token), (map) =>
        map[a - source.grid.prefix] > map[b - source.grid.prefix] ? "a" : "b",
      ),
  },
  /** Without the patch itself, which is most like itself. */
  positionMap: {
    unit: "map",
    of: (source, { token }) =>
      within(positionsFrom(source, token), (map) =>
        map.map((value, patch) => (patch === token - source.grid.prefix ? -Infinity : value)),
      ),
  },

  /** The effect of positions inside attention on the score of a pair of patches, whatever they show. */
  toldPlace: { unit: "cosine", of: (source, at) => toldPlace(source, at, at.to) },
  toldMap: {
    unit: "map",
    of: ({ inside: file, grid }, { token, layer }) =>
      within(fetched(file), (inside) =>
        insideMeans(inside, layer, placeOf(token, grid), grid).map((value, patch) =>
          patch === token - grid.prefix ? -Infinity : value,
        ),
      ),
  },
  toldMore: {
    unit: "which",
    of: (source, at) =>
      withinAll(
        at.marks.map((to) => toldPlace(source, at, to)),
        ([a, b]) => (a > b ? "a" : "b"),
      ),
  },

  // Attention.
  attentionMap: {
    unit: "map",
    of: (source, at) => within(rowOf(source, at, at.token), (row) => row.subarray(source.grid.prefix)),
  },
  overlapOfPair: {
    unit: "share",
    of: (source, at) =>
      within(rowOf(source, at, at.token), (row) => overlap(row, rowOf(source, at, at.partner))),
  },
  /** How many patches lie between the token and the patch it looks at most: steps as a king in chess. */
  strongestDistance: {
    unit: "count",
    of(source, at) {
      const from = placeOf(at.token, source.grid);
      if (!from) return undefined;
      return within(rowOf(source, at, at.token), (row) => {
        const to = placeOf(source.grid.prefix + best(row.subarray(source.grid.prefix)), source.grid);
        return Math.max(Math.abs(to.row - from.row), Math.abs(to.col - from.col));
      });
    },
  },
  nearestHead: {
    unit: "which",
    of: (source, { layer }) =>
      within(fetched(source.statistics), ({ distance }) =>
        String(best(distance[layer].map((value) => -value))),
      ),
  },
  /** How far a head looks on average, in pixels. */
  headDistance: {
    unit: "count",
    of: (source, { layer, head }) =>
      within(fetched(source.statistics), ({ distance }) => distance[layer][head]),
  },
  halfOfAttention: {
    unit: "count",
    of: (source, at) =>
      within(rowOf(source, at, at.token), (row) => holdingHalf(row.subarray(source.grid.prefix))),
  },

  // One number of attention.
  dotProduct: { unit: "number", of: (source, at) => within(pairAt(source, at), ({ sum }) => sum) },
  score: {
    unit: "number",
    of: (source, at) =>
      within(pairAt(source, at), ({ sum }) => seen(sum) / Math.sqrt(source.manifest.model.head_dim)),
  },
  scorePower: {
    unit: "number",
    of: (source, at) => within(pairAt(source, at), () => Math.exp(seen(known("score", source, at)))),
  },
  scoreTotal: { unit: "number", of: (source, at) => within(pairAt(source, at), ({ lse }) => Math.exp(lse)) },
  pairShare: { unit: "share", of: (source, at) => within(pairAt(source, at), ({ share }) => share) },
  evenShare: { unit: "share", of: ({ grid }) => 1 / grid.tokens },
  /** The share if this score were larger by 1, and all others as they are. */
  raisedShare: {
    unit: "share",
    of: (source, at) =>
      within(pairAt(source, at), ({ share }) => (share * Math.E) / (share * Math.E + 1 - share)),
  },
  /** The shares of all other tokens together: now, and after the score has grown by 1 (`raisedRest`). */
  pairRest: { unit: "share", of: (source, at) => within(pairAt(source, at), ({ share }) => 1 - share) },
  raisedRest: {
    unit: "share",
    of: (source, at) => within(known("raisedShare", source, at), (share) => 1 - share),
  },
  /** The direction in which the shares of all other tokens change if the score grows by 1. */
  raisedOthers: {
    unit: "which",
    of: (source, at) =>
      within(pairAt(source, at), ({ share }) => {
        const others = (1 - share) / (share * Math.E + 1 - share);
        return others < 1 - share ? "shrink" : others > 1 - share ? "grow" : "stay";
      }),
  },

  // What is gathered, and what becomes of it.
  /** First number of the partner's value; `handedOn`: that number times the share that the partner gets. */
  valueNumber: {
    unit: "number",
    of: (source, at) => mixingAt(source, at, (mixing) => valueOf(mixing, at.head, at.partner)[0]),
  },
  handedOn: {
    unit: "number",
    of: (source, at) =>
      mixingAt(
        source,
        at,
        (mixing) => seenShare(pairAt(source, at).share) * seen(valueOf(mixing, at.head, at.partner)[0]),
      ),
  },
  mixedLength: { unit: "number", of: (source, at) => mixAt(source, at, ({ mixed }) => lengthOf(mixed)) },
  /** The mean length of the values that are mixed, each as often as its share says. */
  valueLength: {
    unit: "number",
    of: (source, at) =>
      mixingAt(source, at, (mixing) =>
        rowOf(source, at, at.token).reduce(
          (sum, share, token) => sum + share * lengthOf(valueOf(mixing, at.head, token)),
          0,
        ),
      ),
  },
  mixedOrValues: {
    unit: "which",
    of: (source, at) =>
      withinAll(
        ["mixedLength", "valueLength"].map((name) => known(name, source, at)),
        ([mixed, mean]) => (mixed < mean * 0.999 ? "shorter" : mixed > mean * 1.001 ? "longer" : "same"),
      ),
  },
  headNumbers: { unit: "count", of: ({ manifest: { model } }) => model.head_dim },
  joinedNumbers: { unit: "count", of: ({ manifest: { model } }) => model.num_heads * model.head_dim },
  /** The head that makes most of what attention adds to the token, and how much of it. */
  largestHead: {
    unit: "which",
    of: (source, at) => mixAt(source, at, ({ shares }) => String(best(shares.slice(0, -1)))),
  },
  headPart: {
    unit: "share",
    of: (source, at) => mixAt(source, { ...at, head: 0 }, ({ shares }) => shares[at.head]),
  },
  largestPart: {
    unit: "share",
    of: (source, at) => mixAt(source, at, ({ shares }) => Math.max(...shares.slice(0, -1))),
  },
  tokenLength: { unit: "number", of: (source, at) => mixAt(source, at, ({ before }) => lengthOf(before)) },
  changeLength: { unit: "number", of: (source, at) => mixAt(source, at, ({ change }) => lengthOf(change)) },
  changeOfToken: {
    unit: "share",
    of: (source, at) =>
      mixAt(source, at, ({ before, change }) => seen(lengthOf(change)) / seen(lengthOf(before))),
  },
  keptDirection: {
    unit: "cosine",
    of: (source, at) => mixAt(source, at, ({ before, after }) => 1 - cosineDistance(before, after)),
  },
  /** The effect of a norm on a token that is twice as long. */
  normOfTwice: {
    unit: "which",
    of: (source, at) =>
      mixAt(source, at, ({ before }) => {
        const [once, twice] = [normed(before), normed(before.map((value) => 2 * value))].map(lengthOf);
        return twice > once * 1.5 ? "twice" : twice < once / 1.5 ? "half" : "same";
      }),
  },
  /** The line that belongs into the gap: the check of the exercise knows it. */
  filled: { unit: "which", of: () => "right" },
  /** A number that a teacher has written. */
  given: { unit: "number", of: (_source, { given }) => given },

  // The MLP of a block: the weights of its matrices, and the sums of a hidden unit.
  hiddenCount: { unit: "count", of: ({ manifest: { model } }) => hiddenOf(model) },
  mlpWeights: { unit: "count", of: ({ manifest: { model } }) => mlpWeights(model, hiddenOf(model)) },
  attentionWeights: { unit: "count", of: ({ manifest: { model } }) => attentionWeights(model) },
  mlpPart: {
    unit: "share",
    of: ({ manifest: { model } }) => partOf(mlpWeights(model, hiddenOf(model)), attentionWeights(model)),
  },
  /** The same with half as many hidden units. */
  narrowWeights: { unit: "count", of: ({ manifest: { model } }) => mlpWeights(model, hiddenOf(model) / 2) },
  narrowPart: {
    unit: "share",
    of: ({ manifest: { model } }) => partOf(mlpWeights(model, hiddenOf(model) / 2), attentionWeights(model)),
  },
  unitMap: { unit: "map", of: sumsOf },
  /** How many patches have a sum above 0. */
  unitOn: {
    unit: "count",
    of: (source, at) => within(sumsOf(source, at), (sums) => sums.filter((sum) => sum > 0).length),
  },
  unitLeast: { unit: "number", of: (source, at) => within(sumsOf(source, at), (sums) => Math.min(...sums)) },
  unitMost: { unit: "number", of: (source, at) => within(sumsOf(source, at), (sums) => Math.max(...sums)) },
  /** Whether the six patches with the largest sums lie in the lowest quarter of the picture. */
  unitPlace: {
    unit: "which",
    of: (source, at) =>
      within(sumsOf(source, at), (sums) =>
        strongest(sums, 6).every((patch) => Math.floor(patch / source.grid.cols) >= 0.75 * source.grid.rows)
          ? "bottom"
          : "other",
      ),
  },
  bent: { unit: "number", of: ({ manifest }, { given }) => bent(manifest, given) },
  bentLeast: {
    unit: "number",
    of: (source, at) => within(sumsOf(source, at), (sums) => bent(source.manifest, Math.min(...sums))),
  },
  bentMost: {
    unit: "number",
    of: (source, at) => within(sumsOf(source, at), (sums) => bent(source.manifest, Math.max(...sums))),
  },
  /** The effect of GELU on the least sum: "gone" (about 0), "kept" or "flipped" (without its minus). */
  bentKind: {
    unit: "which",
    of: (source, at) =>
      within(known("bentLeast", source, at), (value) =>
        Math.abs(value) < 0.2 ? "gone" : value < 0 ? "kept" : "flipped",
      ),
  },

  // What a training would do with the answer, if it is the right one.
  lossOfWord: {
    unit: "number",
    of: (source) => within(topIn(source), (own) => -Math.log(seenShare(own.probability))),
  },
  /** The loss where the right class has a share. */
  lossOfGiven: { unit: "number", of: (_source, { given }) => -Math.log(given) },
  lossOfChance: {
    unit: "number",
    of: ({ manifest: { model } }) => (model.num_classes ? Math.log(model.num_classes) : undefined),
  },
  /** The slope of the loss for the logit of the class. */
  pushOfWord: {
    unit: "number",
    of: (source) => within(topIn(source), (own) => seenShare(own.probability) - 1),
  },
  shareBeside: {
    unit: "share",
    of: (_source, _at, other) => within(other, (found) => topIn(found)?.probability),
  },
  morePushed: {
    unit: "which",
    of: (source, _at, other) =>
      within(topIn(source), (own) =>
        within(other, (found) => (topIn(found).probability < own.probability ? "beside" : "this")),
      ),
  },

  // The film of a training.
  // Of test pictures, as the file of the model says.
  testedRight: {
    unit: "share",
    of: ({ manifest }) => manifest.model.measurements?.top1,
  },
  /** Right answers of a run of the playground. */
  learnedRight: { unit: "share", of: (_source, { run = "all", of = "right" }) => LEARNED[run][of] },
  learnedNumbers: { unit: "count", of: () => LEARNED_NUMBERS },
  /** The share of the wrong answers after 1,000 digits that is left after 4,000. */
  errorsLeft: { unit: "share", of: () => (1 - LEARNED.all.right) / (1 - LEARNED.some.right) },
  /** Whether positions of neighbours are alike from the start. */
  neighboursFrom: {
    unit: "which",
    of: (source, at) =>
      within(known("untrainedCosine", source, at), (cosine) =>
        Math.abs(cosine) < 0.3 ? "learned" : "built",
      ),
  },
  /** Temperature: the logits are divided by it before the softmax. */
  temperature: { unit: "number", of: ({ manifest }) => manifest.model.temperature },
  filmTop1: {
    unit: "share",
    of: (source, at) => within(fetched(source.film), (film) => film.moments[momentOf(film, at)].top1),
  },
  filmImages: {
    unit: "count",
    of: (source, at) => within(fetched(source.film), (film) => film.moments[momentOf(film, at)].images),
  },
  /**
   * The brightest patch of CLS in the last layer, mean of heads, in the first picture: multiples of an even
   * share.
   */
  filmPeak: {
    unit: "times",
    of: (source, at) =>
      within(fetched(source.film), (film) => {
        const row = attentionAt(film, momentOf(film, at), 0, film.layers - 1, "mean").subarray(film.prefix);
        return row[best(row)] * film.tokens;
      }),
  },
  /** The share of right answers of somebody who only guesses. */
  chance: {
    unit: "share",
    of: ({ manifest }) => (manifest.model.num_classes ? 1 / manifest.model.num_classes : undefined),
  },

  // Answers.
  /** The block after which the class of the answer leads for the first time, counted from 1. */
  firstLead: {
    unit: "which",
    of: (source) => within(leader(source, -1), ({ ranks }) => String(ranks.indexOf(1) + 1)),
  },
  lensShare: {
    unit: "share",
    of: (source, { layer }) => within(leader(source, -1), ({ probabilities }) => probabilities[layer]),
  },
  firstWord: {
    unit: "label",
    of: (source, { layer }) => within(leader(source, layer), ({ label }) => label),
  },
  /** The same for the analysis beside. */
  firstWordBeside: {
    unit: "label",
    of: (_source, { layer }, other) =>
      within(other, (found) => within(leader(found, layer), ({ label }) => label)),
  },
  finalWord: { unit: "label", of: wordIn },
  firstWordKind: {
    unit: "which",
    of: (source, { layer }) =>
      within(leader(source, layer), (line) => (line === leader(source, -1) ? "final" : "other")),
  },
  sameFirstWord: {
    unit: "which",
    of: (source, { layer }, other) =>
      withinAll([leader(source, layer), within(other, (found) => leader(found, layer))], ([own, found]) =>
        own.label === found.label ? "same" : "different",
      ),
  },
  // An experiment: what becomes of the most probable class.
  wordShare: {
    unit: "share",
    of: (source) => topIn(source)?.probability,
  },
  otherShare: {
    unit: "share",
    of: (source, _at, other) => within(topIn(source), (own) => within(other, (found) => shareIn(found, own))),
  },
  otherWord: {
    unit: "label",
    of: (source, _at, other) => within(topIn(source), () => within(other, wordIn)),
  },
  sameWord: {
    unit: "which",
    of: (source, _at, other) =>
      within(topIn(source), () => within(other, (now) => (isSame(now, source) ? "same" : "other"))),
  },
  /**
   * Whether all probabilities that are known here are the same in this pass and in the one beside, up to
   * `ROUNDED`: one pass may come from the page and the other from its host, which rounds differently.
   */
  sameNumbers: {
    unit: "which",
    of: ({ manifest: { pass } }, _at, other) =>
      pass.predictions.length === 0
        ? undefined
        : other &&
          (pass.predictions.every(
            ({ probability }, at) =>
              Math.abs(other.manifest.pass.predictions[at]?.probability - probability) < ROUNDED,
          )
            ? "same"
            : "different"),
  },
  // Experiments that the text names.
  outcomeShare: {
    unit: "share",
    of: (source, { experiment }, _other, outcomeOf) =>
      within(topIn(source), (own) => within(outcomeOf(experiment), (found) => shareIn(found, own))),
  },
  outcomeWord: {
    unit: "label",
    of: (_source, { experiment }, _other, outcomeOf) => within(outcomeOf(experiment), wordIn),
  },
  outcomesMean: {
    unit: "share",
    of: (source, at, _other, outcomeOf) => sharesAfter(source, textsOf(at), outcomeOf, meanOf),
  },
  outcomesLeast: {
    unit: "share",
    of: (source, at, _other, outcomeOf) =>
      sharesAfter(source, textsOf(at), outcomeOf, (shares) => Math.min(...shares)),
  },
  outcomesMost: {
    unit: "share",
    of: (source, at, _other, outcomeOf) =>
      sharesAfter(source, textsOf(at), outcomeOf, (shares) => Math.max(...shares)),
  },
  /** After how many of some experiments the most probable class is still the same. */
  outcomesSame: {
    unit: "count",
    of: (source, at, _other, outcomeOf) =>
      within(topIn(source), () =>
        withinAll(textsOf(at).map(outcomeOf), (found) => found.filter((one) => isSame(one, source)).length),
      ),
  },
  /**
   * Number of photos whose most probable class keeps less than half of its probability under an even gaze.
   * The photos are this one, whose even pass stands beside, and those of the experiments, which come in
   * pairs: the intact pass, then the even one.
   */
  halvedPhotos: {
    unit: "count",
    of: (source, at, other, outcomeOf) =>
      withinAll(
        [other, ...textsOf(at).map(outcomeOf)],
        ([even, ...found]) =>
          [source, even, ...found].filter(
            (before, place, all) => place % 2 === 0 && keptIn(before, all[place + 1]) < 1 / 2,
          ).length,
      ),
  },
  /**
   * Number of photos that lose more without the MLP of a block than without its attention. The photos are
   * this one and others, whose unchanged passes are the experiments `intact`.
   */
  moreHarmed: {
    unit: "count",
    of: (source, { experiments = {} }, _other, outcomeOf) => {
      const [mlp, attention, intact] = ["mlp", "attention", "intact"].map((name) =>
        withinAll([experiments[name]].flat().map(outcomeOf), (found) => found),
      );
      return withinAll(
        [mlp, attention, intact],
        () =>
          [source, ...intact].filter((one, at) => keptIn(one, mlp[at]) < keptIn(one, attention[at])).length,
      );
    },
  },
  /**
   * The share of the probability of the first experiment's most probable class that the second experiment
   * leaves. A single experiment is compared with this picture's own pass.
   */
  keptShare: {
    unit: "share",
    of: (source, at, _other, outcomeOf) =>
      withinAll(textsOf(at).map(outcomeOf), (found) => keptIn(found.at(-2) ?? source, found.at(-1))),
  },
  /** The same for this picture and the analysis beside it. */
  keptHere: {
    unit: "share",
    of: (source, _at, other) => within(other, (found) => keptIn(source, found)),
  },
  /** The experiment that leaves least of the most probable class; several draws count by their mean. */
  hurtsMost: {
    unit: "which",
    of: (source, { experiments }, _other, outcomeOf) =>
      withinAll(
        Object.values(experiments).map((texts) => sharesAfter(source, [texts].flat(), outcomeOf, meanOf)),
        (left) => Object.keys(experiments)[best(left.map((share) => -share))],
      ),
  },
  /**
   * The answer of the model when it has something of another picture: its own, that picture's, or a third.
   */
  whoseWord: {
    unit: "which",
    of: (source, { experiment }, other, outcomeOf) =>
      within(topIn(source), () =>
        withinAll([other, outcomeOf(experiment)], ([now, donor]) =>
          isSame(now, source) ? "own" : isSame(now, donor) ? "donor" : "third",
        ),
      ),
  },
  /**
   * Number of blocks after which a token of another picture first turns the answer into that picture's; PLACE
   * in the text stands for it.
   */
  firstTurn: {
    unit: "which",
    of({ manifest }, { experiment }, _other, outcomeOf) {
      const places = Array.from({ length: manifest.model.depth }, (_, at) => String(at + 1));
      return withinAll(
        places.map((place) => outcomeOf(experiment.replace("PLACE", place))),
        (found) => {
          const words = found.map((one) => topIn(one)?.index);
          return places[words.indexOf(words.at(-1))];
        },
      );
    },
  },
  /** The first experiment, from small to large, after which another class is most probable; else "further". */
  leastTurn: {
    unit: "which",
    of: (source, { experiments = {} }, _other, outcomeOf) =>
      withinAll(
        Object.values(experiments).map(outcomeOf),
        (found) => Object.keys(experiments)[found.findIndex((one) => !isSame(one, source))] ?? "further",
      ),
  },
  /** The experiments after which the class is the most probable one: "both", "none", or the key of one. */
  bringsBack: {
    unit: "which",
    of: (source, { experiments = {} }, _other, outcomeOf) =>
      withinAll(Object.values(experiments).map(outcomeOf), (found) => {
        const back = Object.keys(experiments).filter((_, at) => isSame(found[at], source));
        return back.length > 1 ? "both" : (back[0] ?? "none");
      }),
  },
  // A taught head. `leftOut`: pictures that a head answered which had not learned from them.
  taughtPictures: {
    unit: "count",
    of: ({ manifest }) => manifest.model.taught?.pictures,
  },
  leftOut: { unit: "count", of: ({ manifest }) => manifest.model.taught?.of },
  leftOutRight: { unit: "count", of: ({ manifest }) => manifest.model.taught?.right },
  /** The answer of a model of digits, if it is one of the two that a lesson asks about. */
  digitSaid: {
    unit: "which",
    of: (source) => within(wordIn(source), (word) => (["3", "8"].includes(word) ? word : "other")),
  },
  classCount: { unit: "count", of: ({ manifest }) => manifest.model.num_classes || undefined },
  answerKind: {
    unit: "which",
    of({ manifest }) {
      const { answer } = manifest.pass;
      if (!answer) return undefined;
      return answer.known === false ? "none" : answer.sure === false ? "unsure" : "named";
    },
  },
  answerShare: {
    unit: "share",
    of: ({ manifest }) => manifest.pass.answer?.probability,
  },
  answerName: {
    unit: "answer",
    of: ({ manifest }) => manifest.pass.answer ?? undefined,
  },
  /** The probabilities of all classes together, where all of them are known here. */
  sumOfClasses: {
    unit: "share",
    of: ({ manifest: { pass, model } }) =>
      pass.predictions.length > 0 && pass.predictions.length === model.num_classes
        ? pass.predictions.reduce((sum, { probability }) => sum + probability, 0)
        : undefined,
  },
};

/** Truths about the one class that a model chooses, or about its share. */
const OF_ONE_CLASS = new Set(
  (
    "lossOfWord lossOfChance pushOfWord shareBeside morePushed firstLead lensShare firstWord firstWordKind " +
    "firstWordBeside sameFirstWord wordShare otherShare otherWord sameWord sameNumbers outcomeShare " +
    "outcomeWord outcomesMean outcomesLeast outcomesMost outcomesSame halvedPhotos keptShare keptHere " +
    "hurtsMost whoseWord firstTurn leastTurn bringsBack digitSaid " +
    "answerKind answerShare answerName sumOfClasses"
  ).split(" "),
);

/**
 * The value of a truth by its name: null while something is loading, undefined if this analysis has none.
 * @param {string} name
 * @param {Source} source
 * @param {At} at
 * @param {any} other
 * @param {OutcomeOf} [outcomeOf]
 */
export function truthOf(name, source, at, other, outcomeOf = () => undefined) {
  const chooses = (found) => !found?.manifest?.model || choosesOne(found);
  if (OF_ONE_CLASS.has(name) && !(chooses(source) && chooses(other))) return undefined;
  return TRUTHS[name].of(source, at, other, outcomeOf);
}

/**
 * A claim about an analysis: a truth compared with bounds, which are numbers or other truths (`times` as
 * large), or with a key.
 * @typedef {{truth: string, at?: any, times?: number}} Operand
 * @typedef {Operand & {above?: number|Operand, below?: number|Operand, is?: string}} Claim
 */

/**
 * Whether a claim holds: null while something is loading, undefined if this analysis cannot say.
 * @param {Claim} claim
 * @param {(operand: Operand) => any} value  of a truth
 * @returns {boolean|null|undefined}
 */
export function holds(claim, value) {
  const bound = (wanted) =>
    typeof wanted === "object" ? within(value(wanted), (found) => found * (wanted.times ?? 1)) : wanted;
  const found = [
    value(claim),
    ...[claim.above, claim.below].filter((limit) => limit !== undefined).map(bound),
  ];
  if (found.includes(undefined)) return undefined;
  if (found.includes(null)) return null;
  const [own] = found;
  return (
    (claim.above === undefined || own > bound(claim.above)) &&
    (claim.below === undefined || own < bound(claim.below)) &&
    (claim.is === undefined || own === claim.is)
  );
}
