/**
 * Findings: what a panel has found, in one sentence made from the numbers on the screen. Of the words that a card
 * explains it has the name of CLS alone.
 */

import { LIKE } from "../data/explanations.js";
import { holdingHalf, prefixKind, strongest } from "../maths/attention.js";
import { placeOf } from "../maths/geometry.js";
import { insideMeans } from "../maths/inside.js";
import { linesOf } from "../maths/marginals.js";
import { multiple, percent, signed } from "../maths/numbers.js";
import { choosesOne } from "../maths/outputs.js";
import { firstAfter } from "../maths/predictions.js";
import { byGain, quarterOf } from "../maths/removal.js";
import { LEAST_TIMES } from "../maths/scales.js";
import { waveSimilarity } from "../maths/waves.js";
import { answerOf, isAnswer, nameOf, rivalsOf, whyNone } from "./answer.js";
import { SURE, explainerName, fallingOf } from "./explaining.js";
import { labelName, tokenName } from "./words.js";

/**
 * Least difference in similarity (at most 1) between squares of the same row or column and the rest, above
 * which positions count as learned.
 */
const LEARNED = 0.05;

/** Difference of gains (areas under curves of probabilities) below which two maps count as equally good. */
const TIED = 0.01;

/** Largest error of positions sent in half precision, compared with the formula. */
const ROUNDED = 0.005;

/**
 * Squares are alike if half of the attention needs at least this share of them; it would need half of them if
 * all were equal.
 */
const ALIKE = 0.4;

/** Least difference between the most and the least similar square, of at most 2. */
const APART = 0.1;

/**
 * A token within a sentence; `square`: name of a square. CLS has its name only where the answer is read from
 * it.
 */
function plainName({ t, source: { grid, manifest } }, token, square) {
  if (token >= grid.prefix) return square;
  const { model } = manifest;
  const [first, end] = model.steps.find(({ name }) => name === "pooled")?.tokens ?? [0, 1];
  const isRead = first <= token && token < end;
  return t(isRead && prefixKind(model.prefix_tokens[token]) === "cls" ? "foundWhole" : "foundOutside");
}

/** Tokens of the squares in the pass: an experiment may remove some. */
function squaresOf({ source: { grid, manifest } }) {
  const gone = new Set(manifest.pass?.removed);
  return [...Array(grid.tokens - grid.prefix).keys()]
    .filter((patch) => !gone.has(patch))
    .map((patch) => patch + grid.prefix);
}

/**
 * Whether a token has nothing to be compared with: fewer than two squares are left, or the token is removed.
 */
const isAlone = ({ source: { grid } }, squares, token) =>
  squares.length < 2 || (token >= grid.prefix && !squares.includes(token));

/** The selected square. */
const thisOne = (app, token) => plainName(app, token, app.t("foundSquare"));

/** A share in a sentence: whole percents, unless that would make it none or all. */
function roughly(share) {
  const whole = Math.round(100 * share);
  return share >= 0.01 && (whole < 100 || share === 1) ? whole + "%" : percent(share);
}

/**
 * A sentence about the attention of a token, given or received; "" if only one square is left, or the token
 * is removed.
 * @param {import("../main.js").App} app
 * @param {Float32Array} values  of all tokens: a row, which sums to 1, or a column, which does so on the
 *   average of all tokens
 * @param {number} token
 * @param {string} [place]  name of the strongest square, where it can be seen; by default its row and column
 */
export function attentionFinding(app, values, token, place) {
  const { t } = app;
  const { direction } = app.selection;
  const squares = squaresOf(app);
  if (isAlone(app, squares, token)) return "";
  const [all, taken] = [squares.length, squares.map((at) => values[at])];
  const best = squares[strongest(taken, 1)[0]];
  const name = best === token ? t("itself") : (place ?? tokenName(best, app));
  const words = { who: thisOne(app, token), all, name };
  const sum = (list) => list.reduce((total, value) => total + value, 0);
  if (direction === "to") return t("attentionReceived", { ...words, times: multiple(sum(values)) });
  const inside = sum(taken);
  if (inside < 0.4995) return t("attentionOutside", { ...words, share: percent(1 - inside) });
  const count = holdingHalf(taken);
  return t(count >= ALIKE * all ? "attentionFlat" : "attentionHalf", { ...words, count });
}

/**
 * How narrow and how wide heads look; "" for one alone.
 * @param {import("../main.js").App} app
 * @param {import("../data/analysis.js").Statistics|null} found
 */
export function headsFinding({ t, source: { grid } }, found) {
  const widths = (found?.entropy ?? []).flat().map(Math.exp);
  if (widths.length < 2) return "";
  const [least, most] = [Math.min(...widths), Math.max(...widths)].map((width) => width.toFixed(0));
  return t("headsWidth", { count: widths.length, least, most, tokens: grid.tokens });
}

/**
 * A sentence about the numbers that the model gets for a square; "" for a token that is no square.
 * @param {import("../main.js").App} app
 * @param {Uint8Array|null} raw  the numbers of the square
 */
export function patchFinding({ t, source: { grid } }, raw) {
  if (!raw) return "";
  const [least, most] = [Math.min(...raw), Math.max(...raw)];
  return t(least === most ? "patchFoundEven" : "patchFound", {
    all: grid.tokens - grid.prefix,
    count: raw.length,
    least,
    most,
  });
}

/**
 * Names the squares that are most and least like the selected one.
 * @param {import("../main.js").App} app
 * @param {Float32Array} values  of all tokens
 * @param {number} token
 */
export function featuresFinding(app, values, token) {
  const { t } = app;
  const squares = squaresOf(app);
  const others = squares.filter((at) => at !== token).sort((a, b) => values[b] - values[a]);
  if (others.length < 2 || isAlone(app, squares, token)) return "";
  const [best, worst] = [others[0], others[others.length - 1]];
  const words = {
    who: thisOne(app, token),
    name: tokenName(best, app),
    other: tokenName(worst, app),
    most: signed(values[best]).trim(),
    least: signed(values[worst]).trim(),
  };
  return t(values[best] - values[worst] < APART ? "featuresAlike" : "featuresUnlike", words);
}

/**
 * A sentence about the share that one token takes from another.
 * @param {import("../main.js").App} app
 * @param {{query: number, key: number}} pair
 * @param {{share: number, cut: boolean}} found
 */
export function pairFinding(app, { query, key }, { share, cut }) {
  const { t } = app;
  const { grid } = app.source;
  const [from, to] = [query, key].map((token) => plainName(app, token, tokenName(token, app)));
  const words = { query: from, key: query === key ? t("itself") : to };
  return cut
    ? t("pairFoundCut", words)
    : t("pairFound", { ...words, share: percent(share), times: multiple(share * grid.tokens) });
}

/**
 * The steps after which the classifier would read the answer; while that is unknown, the lead of the answer;
 * or the reason why there is none.
 * @param {import("../main.js").App} app
 * @param {import("../types.js").LensLine[]|null} lens
 */
export function predictionsFinding(app, lens) {
  const { t, source } = app;
  const { pass, model } = source.manifest;
  const { answer, predictions } = pass;
  if (!answer) return "";
  if (model.trained === false) return t("predictionsChance");
  if (!choosesOne(source)) return answerOf(app).line;
  if (!isAnswer(source)) return answer.known === false ? whyNone(app) : answerOf(app).note;
  const name = nameOf(answer, app);
  const final = answer.kind === "class" && lens?.find(({ index }) => index === predictions[0].index);
  if (final) return settled(app, lens, final, name);
  const [rival] = rivalsOf(app);
  return rival
    ? t("predictionsAhead", {
        name,
        other: rival.name,
        times: multipleUpTo(1e4, answer.probability / rival.probability),
      })
    : "";
}

/** @param {number} most  from which on only that is said */
const multipleUpTo = (most, times) => (times > most ? ">" : "") + multiple(Math.min(most, times));

/** After how many steps the answer that would be read is the last one. */
function settled(app, lens, final, name) {
  const { t } = app;
  const { depth } = app.source.manifest.model;
  let before = depth; // the steps after which it is another one
  while (before > 0 && firstAfter(lens, before - 1) === final) before -= 1;
  if (before === 0) return t("predictionsAtOnce", { name, depth });
  const other = firstAfter(lens, before - 1);
  const words = { name, depth, before, step: before + 1, other: other && labelName(other.label, app) };
  return t(other ? "predictionsSettled" : "predictionsFromNothing", words);
}

/**
 * How far the maps side by side agree on the tenth of the squares that matters most.
 * @param {import("../main.js").App} app
 * @param {{explainer: import("../types.js").Explainer, values: Float32Array}[]} maps  all that are here
 */
export function explainFinding(app, maps) {
  const { t } = app;
  const ranked = maps.map(({ explainer, values }) => ({
    explainer,
    values,
    squares: squaresOf(app).filter((at) => Number.isFinite(values[at])),
  }));
  const even = ranked.find(({ values, squares }) => squares.every((at) => values[at] === values[squares[0]]));
  if (ranked.length === 0 || ranked[0].squares.length < 2) return "";
  if (even) return t("explainEven", { map: explainerName(even.explainer, app) });
  const count = Math.ceil(ranked[0].squares.length / 10);
  const [first, ...others] = ranked.map(({ values, squares }) =>
    squares.sort((a, b) => values[b] - values[a]).slice(0, count),
  );
  if (others.length === 0)
    return t("explainOne", { map: explainerName(ranked[0].explainer, app), name: tokenName(first[0], app) });
  const common = first.filter((at) => others.every((list) => list.includes(at))).length;
  return t("explainAgree", { maps: maps.length, count, common });
}

/**
 * The verdict of a fair test: whose order has the largest gain, if it is better than the middle and than chance;
 * its numbers are the probabilities when a quarter of the squares is out.
 * @param {import("../main.js").App} app
 * @param {import("../data/fairtest.js").Result} result
 * @param {{key: string, name: string}[]} maps  the centre last
 */
export function fairFinding(app, result, maps) {
  const { target, removed, orders, maps: curves } = result;
  const { what, text } = fallingOf(target ?? LIKE, app);
  const number = target === null ? text : roughly;
  const at = quarterOf(removed);
  const centre = maps[maps.length - 1];
  const [first, ...rest] = byGain(result, maps);
  const tied = [first, ...rest.filter(({ key }) => curves[first.key].gain - curves[key].gain < TIED)];
  // The centre map knows nothing of the picture, so it wins a tie: a map must beat it.
  const best = tied.includes(centre) ? centre : first;
  const { beaten } = curves[best.key];
  const { [0]: whole, [at]: left } = curves[best.key].first;
  const finer = (value) => (target === null ? signed(value, 4).trim() : (100 * value).toFixed(4) + "%");
  const fall = [number, target === null ? number : percent].find((to) => to(whole) !== to(left)) ?? finer;
  const nameAndShare = ({ key, name }) => name + " " + number(curves[key].first[at]);
  const others = [first, ...rest].filter((map) => map !== best).map(nameAndShare);
  const words = {
    name: best.name,
    names: tied.map(({ name }) => name).join(", "),
    what,
    gone: roughly(removed[at]),
    whole: fall(whole),
    left: fall(left),
    others: others.length > 0 ? app.t("fairOthers", { others: others.join(", ") }) : "",
    beaten,
    orders,
  };
  if (left >= whole) return app.t("fairStays", words);
  if (beaten < SURE * orders) return app.t("fairChance", words);
  if (best === centre) return app.t("fairMiddle", words);
  return app.t(tied.length > 1 ? "fairTied" : "fairBest", words);
}

/**
 * A sentence about the patches in a rollout, except the selected one: it takes most from itself. "" if there
 * is no other patch, or the selected one is removed.
 * @param {import("../main.js").App} app
 * @param {Float32Array} values  of all tokens; they sum to 1, so their mean is 1 / N
 * @param {number} token
 */
export function rolloutFinding(app, values, token) {
  const { t } = app;
  const { first, layer } = app.selection;
  const { grid, manifest } = app.source;
  if (isAlone(app, squaresOf(app), token)) return "";
  const others = Float32Array.from(values, (value, at) => (at < grid.prefix || at === token ? -1 : value));
  const [best] = strongest(others, 1);
  const times = values[best] * grid.tokens;
  const end = t(first === 0 && layer === manifest.model.depth - 1 ? "foundToTheEnd" : "foundSoFar");
  const [flat, peak] =
    token < grid.prefix ? ["rolloutFlat", "rolloutPeak"] : ["rolloutFlatOther", "rolloutPeakOther"];
  return t(times < LEAST_TIMES ? flat : peak, { end, name: tokenName(best, app), times: multiple(times) });
}

/**
 * A sentence about the effect of positions inside attention on the score of a square: with the one right
 * beside it, and with the farthest in the picture.
 * @param {import("../main.js").App} app
 * @param {import("../maths/inside.js").Inside} inside
 * @param {{row: number, col: number}} place
 */
export function insideFinding({ t, source: { grid }, selection: { layer } }, inside, place) {
  const { rows, cols } = grid;
  if (cols < 2) return "";
  const means = insideMeans(inside, layer, place, grid);
  const at = (row, col) => means[row * cols + col];
  const near = at(place.row, place.col + (place.col + 1 < cols ? 1 : -1));
  const far = at(2 * place.row < rows ? rows - 1 : 0, 2 * place.col < cols ? cols - 1 : 0);
  const text = (value) => signed(value, 2).trim();
  return t("insideFound_" + inside.kind, {
    near: text(near),
    far: text(far),
    mean: inside.heads > 1 ? t("insideMean") : "",
  });
}

/**
 * From how many squares a pool gathers the answer; "" where there is one alone.
 * @param {import("../main.js").App} app
 * @param {Float32Array} values  of all tokens; they sum to 1
 */
export function poolFinding(app, values) {
  const squares = squaresOf(app);
  if (squares.length < 2) return "";
  const [all, taken] = [squares.length, squares.map((at) => values[at])];
  const best = squares[strongest(taken, 1)[0]];
  return app.t("poolFound", {
    all,
    count: holdingHalf(taken),
    name: tokenName(best, app),
    times: multiple(values[best] * app.source.grid.tokens),
  });
}

/**
 * A sentence about the rows and columns that positions encode; "" for a prefix token, or if one line has all
 * patches.
 * @param {import("../main.js").App} app
 * @param {ArrayLike<number>|null} similar  the similarities of a position to those of all patches
 * @param {number} token
 */
export function positionsFinding(app, similar, token) {
  const { t } = app;
  const { grid, manifest } = app.source;
  const place = placeOf(token, grid);
  if (!similar || !place || grid.rows < 2 || grid.cols < 2) return "";
  const { same, rest } = linesOf(similar, grid.rows, grid.cols, place);
  const text = (value) => signed(value, 2).trim();
  const given = waveSimilarity(grid, place, manifest.model.embed_dim);
  const key =
    similar.length === given.length && given.every((value, at) => Math.abs(value - similar[at]) < ROUNDED)
      ? "positionsGiven"
      : same - rest > LEARNED
        ? "positionsLearned"
        : "positionsUnlearned";
  return t(key, { same: text(same), rest: text(rest) });
}
