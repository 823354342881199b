/** Experiments of steps: their texts, in which some words stand for what this analysis has. */

import { strongest } from "../maths/attention.js";
import { Chance } from "../maths/chance.js";

/** Share of the patches that is hidden where a step names the first ones of a map. */
const HIDDEN = 1 / 5;

/** How many patches a step hides that asks for the first ones of a map. */
export const hiddenIn = ({ rows, cols }) => Math.round(rows * cols * HIDDEN);

/**
 * The text of an experiment for this analysis; see state/experiment.js.
 * @param {string} text  with LAST for the last layer, END for the place behind it, HALF for the layer in the
 *   middle, PATCHES for all patches, CENTRE for those in the middle half of height and width, FIRST(explainer)
 *   for the first ones of a map, and LOT(seed) for as many drawn by lot
 * @param {import("../data/source.js").Source} source
 * @returns {string|null|undefined}  null while a map is loading, undefined if this analysis has no such map
 */
export function experimentIn(text, source) {
  const { grid, manifest } = source;
  const [, key = null] = /FIRST\((\w+)\)/.exec(text) ?? [];
  const first = key === null ? [] : firstOf(key, source);
  if (!first) return /** @type {null|undefined} */ (first);
  return text
    .replace("LAST", String(manifest.model.depth - 1))
    .replace("END", String(manifest.model.depth))
    .replace("HALF", String(Math.floor(manifest.model.depth / 2)))
    .replace("PATCHES", "0-" + (grid.rows * grid.cols - 1))
    .replace("CENTRE", centreOf(grid).join("."))
    .replace("FIRST(" + key + ")", first.join("."))
    .replace(/LOT\((\d+)\)/, (_, seed) => lotOf(Number(seed), grid).join("."));
}

/**
 * All experiments in a step, as the step writes them; PLACE stands for each number of blocks.
 * @param {import("./steps.js").Step} step
 * @param {{depth: number}} model
 * @returns {string[]}
 */
export function experimentsOf({ state = {}, question = null, claim = null, values = {} }, { depth }) {
  const bounds = [claim?.above, claim?.below].filter((bound) => typeof bound === "object");
  const operands = [question, claim, ...bounds, ...Object.values(values)].map((operand) => operand?.at ?? {});
  const all = [
    state.experiment,
    ...operands.flatMap(({ experiment, experiments = {} }) => [
      experiment,
      ...Object.values(experiments).flat(),
    ]),
  ];
  return [
    ...new Set(
      all
        .filter(Boolean)
        .flatMap((text) =>
          text.includes("PLACE")
            ? Array.from({ length: depth }, (_, at) => text.replace("PLACE", String(at + 1)))
            : [text],
        ),
    ),
  ];
}

/** The patches in the middle half of height and width, counted from 0. */
function centreOf({ rows, cols }) {
  const inside = (at, count) => at >= Math.round(count / 4) && at < count - Math.round(count / 4);
  return Array.from({ length: rows * cols }, (_, patch) => patch).filter(
    (patch) => inside(Math.floor(patch / cols), rows) && inside(patch % cols, cols),
  );
}

const lotOf = (seed, grid) =>
  [...new Chance(seed, "orders").permutation(grid.rows * grid.cols)]
    .slice(0, hiddenIn(grid))
    .sort((a, b) => a - b);

/**
 * The patches that an explainer puts first for CLS and the most probable class, in order of their numbers.
 */
function firstOf(key, { explanations, grid, manifest }) {
  const explainer = explanations.named(key);
  const { predictions } = manifest.pass;
  if (!predictions) return null; // the logits are not here yet
  const [best] = predictions;
  if (!explainer || !best || manifest.model.prefix_tokens[0] !== "cls_token") return undefined;
  const file = explanations.of({ key, token: 0, target: best.index });
  if (!file.exists || file.error) return undefined;
  const found = file.get();
  return found && strongest(found.values.subarray(grid.prefix), hiddenIn(grid)).sort((a, b) => a - b);
}
