/** Steps of lessons: what a step shows, which guesses are possible, and how far a guess is from the truth. */

import { experimentIn } from "./experiments.js";
import { strongest } from "../maths/attention.js";
import { middleToken, tokenOf } from "../maths/geometry.js";
import { lookOf } from "../maths/photolevels.js";
import { HOSTS } from "../state/link.js";
import { startSelection } from "../state/state.js";
import { TRUTHS } from "./truths.js";

/**
 * Tolerances for a right and for a close number: as a share of the truth if the number is worked out, of the
 * length of the number line if it is guessed.
 */
const WITHIN = { worked: { right: 0.005, close: 0.05 }, guessed: { right: 0.02, close: 0.1 } };

/** Factor that widens the range of counts and sums: other models can have larger ones. */
const LARGER = 10;

/** The id of the step behind the last one. */
export const CARD = "card";

/** A guess in words is cut after so many letters. */
export const MOST_LETTERS = 1000;

/**
 * A place in the picture: shares of its height and width, from the upper left corner. So a step means the
 * same patch of the picture however many patches a model cuts.
 * @typedef {[number, number]} Place
 */

/**
 * A question; without one, a step only says something.
 * @typedef {{kind: "patch"|"patches"|"choose"|"number"|"write", truth: string, at?: any, count?: number,
 *   options?: string[]|"heads"|"blocks", min?: number, max?: number, percent?: boolean, worked?: boolean,
 *     strict?: boolean}} Question
 *   count: of the patches to paint; options: keys, or one for each head or block; min, max: of the number;
 *   percent: it is asked for, and told, in percent; worked: whoever calculates finds it; strict: no number
 *   outside of min and max can be; write: in words, which nothing is compared with
 * @typedef {{id: string, state?: any, marks?: Place[], shows?: string[], question?: Question,
 *   reveal?: {state?: any, shows?: string[]}, values?: Record<string, import("./truths.js").Operand>,
 *   claim?: import("./truths.js").Claim, code?: keyof typeof import("./codelines.js").CODE, texts?:
 *     Record<string, string>, play?: string, says?: string, late?: boolean, figure?:
 *     import("./figures.js").Figure, instead?: {told: Step, untold?: Step}}} Step
 *   state: the fields of a link, with places for `token` and `partner` ("strongest": the patch the token
 *   looks at most); marks: patches with letters; shows: the controls that are shown; reveal: what changes
 *   when the truth is shown; values: more numbers for its texts; claim: a sentence that is only told where it
 *   holds; code: lines with a gap that are shown; instead: other steps, for models that learned no positions:
 *   where attention is told places, and where nothing is; play: the settings in which it opens the
 *   playground; figure: its evidence, by default that of the lesson; late: its sentences tell what earlier
 *   steps ask, so it is on no worksheet; texts: by part, of a lesson that a teacher has written; says: what its
 *   texts are named by, if not by lesson and step
 * @typedef {{id: string, title?: string, minutes: number, model: string, example: string, recall?: Step,
 *   steps: Step[], figure?: import("./figures.js").Figure}} Lesson
 *   model, example: what it was written for; a step may name others in its state; recall: what is asked
 *   before
 */

/**
 * The first number of a lesson: steps are counted from 1, and what is recalled comes before.
 * @param {Lesson} lesson
 */
export const firstOf = ({ recall }) => (recall ? 0 : 1);

/**
 * The card after the last step: guesses and findings of the lesson, over the picture of the last step.
 * @param {Lesson} lesson
 * @returns {Step}
 */
function cardOf({ title, steps }) {
  const { state = {} } = steps.at(-1) ?? {};
  const origin = Object.fromEntries(
    HOSTS.filter((name) => Object.hasOwn(state, name)).map((name) => [name, state[name]]),
  );
  return { id: CARD, state: origin, ...(title === undefined ? {} : { texts: {} }) };
}

/**
 * The step of this number: see `firstOf` and `cardOf`.
 * @param {Lesson|null|undefined} lesson
 * @param {number} number
 * @returns {Step|undefined}
 */
export function stepAt(lesson, number) {
  if (!lesson) return undefined;
  return number === 0
    ? lesson.recall
    : number > lesson.steps.length
      ? cardOf(lesson)
      : lesson.steps[number - 1];
}

/**
 * What a guess is about, but for the photo: the model, and what makes its twin, another size and another look
 * of the photo differ from it.
 * @param {import("../types.js").Manifest} manifest
 * @returns {string[]}
 */
export function subjectOf({ model: { name, key }, photo }) {
  const looks = Object.entries(lookOf(photo)).flatMap(([look, on]) => (on ? [look] : []));
  const size = key.image_size ? [key.image_size.join("x")] : [];
  return [name, ...(key.untrained ? ["untrained"] : []), ...size, ...looks];
}

/**
 * The step as it is for this model.
 * @param {Step|null|undefined} step
 * @param {{manifest: import("../types.js").Manifest}} source
 * @returns {Step|null}
 */
export function stepIn(step, { manifest }) {
  const { position_kinds: kinds } = manifest.model;
  if (!step?.instead || kinds.includes("learned")) return step ?? null;
  return (kinds.length > 0 ? step.instead.told : step.instead.untold) ?? step;
}

/** The token of a place. @param {Place} place */
function tokenAtPlace([down, right], grid) {
  return tokenOf(
    Math.min(grid.rows - 1, Math.floor(down * grid.rows)),
    Math.min(grid.cols - 1, Math.floor(right * grid.cols)),
    grid,
  );
}

/**
 * The analysis that a step puts beside. If it names the example that is open already, another example takes
 * its place.
 */
export const besideOf = ({ beside = "" }, besides) =>
  beside.startsWith("example-") && !besides.includes(beside)
    ? (besides.find((key) => key.startsWith("example-")) ?? beside)
    : beside;

/** Fields of a step that the host reads, and fields of the selection that tell where the step stands. */
const NOT_OF_STEPS = [...HOSTS, "lesson", "step"];

/**
 * Fields in which places are tokens of this source, and layers are layers that it has.
 * @param {any} state
 * @param {import("../data/source.js").Source} source
 * @returns {any}
 */
function fieldsIn(state, source) {
  const { grid, manifest } = source;
  const fields = { ...state };
  for (const name of ["token", "partner", "to"])
    if (Array.isArray(state[name])) fields[name] = tokenAtPlace(/** @type {Place} */ (state[name]), grid);
  if (state.marks) fields.marks = state.marks.map((place) => tokenAtPlace(place, grid));
  if (state.layer === "last") fields.layer = manifest.model.depth - 1;
  // While the map is loading that an experiment hides patches by, or where there is none, nothing stands
  // beside.
  if (state.experiment) Object.assign(fields, { experiment: experimentIn(state.experiment, source) || "" });
  if (state.experiment && !fields.experiment) fields.beside = "";
  if (typeof fields.layer === "number") fields.layer = Math.min(fields.layer, manifest.model.depth - 1);
  if (typeof fields.head === "number") fields.head = Math.min(fields.head, manifest.model.num_heads - 1);
  return fields;
}

/**
 * The fields of the selection at the beginning of a step. The partner "strongest" becomes the middle
 * patch while its layer is not loaded.
 * @param {Step} step
 * @param {import("../data/source.js").Source} source
 * @param {import("../state/state.js").Shape} shape
 * @returns {any}
 */
export function stateOf({ state = {} }, source, shape) {
  /** @type {any} */
  const fields = {
    ...startSelection(shape),
    overlay: "none",
    ...fieldsIn({ ...state, beside: besideOf(state, shape.besides) }, source),
    pinned: state.token !== undefined,
  };
  for (const name of NOT_OF_STEPS) delete fields[name];
  if (fields.partner === "strongest") fields.partner = strongestFrom(source, fields);
  return fields;
}

function strongestFrom({ store, maps, grid }, { layer, head, token }) {
  if (!store.get(layer)) return middleToken(grid);
  const row = Float32Array.from(maps.head(layer, token, "from", head));
  row.fill(-1, 0, grid.prefix);
  row[token] = -1;
  return strongest(row, 1)[0];
}

/**
 * The arguments for the truths of a step.
 * @param {Step} step
 * @param {any} [more]  fields of a question, a value or a claim
 * @returns {import("./truths.js").At}
 */
export function atOf(step, source, shape, more = {}) {
  const { token, partner, layer, head, moment } = stateOf(step, source, shape);
  const { experiment, ...others } = more; // an outcome has its name in the lesson
  return {
    token,
    partner,
    layer,
    head,
    moment,
    experiment,
    ...fieldsIn({ marks: step.marks, ...others }, source),
  };
}

/**
 * The keys of the options of a question.
 * @param {{options?: string[]|"heads"|"blocks"}} question
 * @param {{manifest: import("../types.js").Manifest}} source
 * @returns {string[]}
 */
export function optionsOf({ options = [] }, { manifest }) {
  if (options === "heads") return Array.from({ length: manifest.model.num_heads }, (_, head) => String(head));
  if (options === "blocks")
    return Array.from({ length: manifest.model.depth }, (_, layer) => String(layer + 1));
  return options;
}

/**
 * Whether a guess is possible, and complete: only then the truth is shown.
 * @param {Question} question
 * @param {any} guess  anything, also from an earlier visit
 * @param {import("../data/source.js").Source} source
 */
export function isGuess(question, guess, source) {
  const { prefix, tokens } = source.grid;
  const isPatch = (token) => Number.isInteger(token) && token >= prefix && token < tokens;
  if (question.kind === "patch") return isPatch(guess);
  if (question.kind === "patches")
    return Array.isArray(guess) && guess.length === paintable(question, source) && guess.every(isPatch);
  if (question.kind === "choose") return optionsOf(question, source).includes(guess);
  if (question.kind === "write")
    return typeof guess === "string" && guess.trim() !== "" && guess.length <= MOST_LETTERS;
  const { low, high } = rangeOf(question);
  return typeof guess === "number" && guess >= low && guess <= high;
}

/** The range of possible guesses; shares and cosines have limits of their own. @param {Question} question */
export function rangeOf({
  truth,
  min = -Infinity,
  max = Infinity,
  percent = false,
  strict = percent && max === 1,
}) {
  const times = strict || TRUTHS[truth]?.unit === "cosine" ? 1 : LARGER;
  return { low: min < 0 ? times * min : min, high: times * max };
}

/** How many patches a visitor paints. */
export function paintable({ count = 1 }, { grid }) {
  return Math.min(count, grid.tokens - grid.prefix);
}

/**
 * The painted patches after a tap: a painted one is cleared, and a new one replaces the oldest if all are
 * painted.
 */
export function painted(before, token, most) {
  if (before.includes(token)) return before.filter((other) => other !== token);
  return [...before, token].slice(-most);
}

/**
 * How far a guess is from the truth.
 * @typedef {{tokens: number[], of: number, most: number, common: number}} PatchGap
 *   tokens: the strongest patches; of and most: the sums of the guessed and of the strongest values; common:
 *   how many of the guessed patches are among the strongest
 * @param {Question} question
 * @param {any} guess
 * @param {any} truth
 * @param {import("../maths/geometry.js").Grid} grid
 * @returns {any}  `PatchGap`, {same} for a choice, {apart, verdict} for a number
 */
export function gapOf(question, guess, truth, grid) {
  if (question.kind === "choose") return { same: guess === truth };
  if (question.kind === "number") {
    const apart = Math.abs(guess - truth);
    const { right, close } = question.worked ? WITHIN.worked : WITHIN.guessed;
    const whole = question.worked ? Math.abs(truth) : question.max - question.min;
    return {
      apart,
      verdict: apart <= right * whole + 1e-9 ? "right" : apart <= close * whole + 1e-9 ? "close" : "far",
    };
  }
  if (question.kind === "write") return {};
  const guessed = question.kind === "patch" ? [guess] : guess;
  const tokens = strongest(truth, guessed.length).map((patch) => patch + grid.prefix);
  const sum = (list) => list.reduce((total, token) => total + truth[token - grid.prefix], 0);
  return {
    tokens,
    of: sum(guessed),
    most: sum(tokens),
    common: guessed.filter((token) => tokens.includes(token)).length,
  };
}
