/**
 * Settings: the choices of a run, its name by them, and both in a link. Does not use the document.
 */

import { DEFAULTS } from "../learn/defaults.js";

/** @typedef {import("../learn/trainer.js").Settings} Settings */

/**
 * A field of the settings that a visitor changes, and its values. Keys are of play.json: the field is the key of
 * its own name, `keyOf` makes others; a number without a key stands for itself.
 * @typedef {{field: keyof Settings, options: {value: any, text?: string}[]}} Change
 */

/**
 * The key of a text on a field: the advice what to watch for, or its value as part of the name of a run.
 * @param {"watch"|"differs"} what
 * @param {string} field
 */
export const keyOf = (what, field) => what + field[0].toUpperCase() + field.slice(1);

/** @type {Change[]} */
export const CHANGES = [
  {
    field: "positions",
    options: [
      { value: "learned", text: "positionsLearned" },
      { value: "none", text: "positionsNone" },
      { value: "rotary", text: "positionsRotary" },
    ],
  },
  { field: "patch", options: [{ value: 4 }, { value: 7 }, { value: 14 }] },
  { field: "dim", options: [{ value: 16 }, { value: 48 }, { value: 96 }] },
  { field: "depth", options: [{ value: 1 }, { value: 2 }, { value: 4 }] },
  { field: "heads", options: [{ value: 1 }, { value: 2 }, { value: 4 }] },
  {
    field: "pool",
    options: [
      { value: "cls", text: "poolCls" },
      { value: "mean", text: "poolMean" },
    ],
  },
  { field: "train", options: [{ value: 200 }, { value: 1000 }, { value: 4000 }] },
  { field: "lr", options: [{ value: 5e-4 }, { value: 5e-3 }, { value: 5e-2 }] },
  {
    field: "labels",
    options: [
      { value: "true", text: "labelsTrue" },
      { value: "shuffled", text: "labelsShuffled" },
    ],
  },
  {
    field: "patches",
    options: [
      { value: "ordered", text: "patchesOrdered" },
      { value: "same", text: "patchesSame" },
      { value: "each", text: "patchesEach" },
    ],
  },
  { field: "seed", options: [{ value: 0 }, { value: 1 }, { value: 2 }] },
];

/** How a value is called. @param {Change} change @param {any} value @param {import("./texts.js").Say} say */
export function called({ options }, value, say) {
  const { text } = options.find((option) => option.value === value) ?? {};
  return text ? say(text) : String(value);
}

/**
 * The name of a run: what differs from the standard.
 * @param {Settings} settings
 * @param {import("./texts.js").Say} say
 */
export function nameOf(settings, say) {
  const differing = CHANGES.filter(({ field }) => settings[field] !== DEFAULTS[field]);
  return (
    differing
      .map((change) =>
        say(keyOf("differs", change.field), { value: called(change, settings[change.field], say) }),
      )
      .join(", ") || say("standard")
  );
}

/**
 * The differences from the standard settings, for a link: "positions_none*seed_1".
 * @param {Settings} settings
 */
export function written(settings) {
  return (
    CHANGES.filter(({ field }) => settings[field] !== DEFAULTS[field])
      .map(({ field }) => field + "_" + settings[field])
      .join("*") || "standard"
  );
}

/**
 * The settings of a link; what is not among the choices stays as the standard has it.
 * @param {string} text
 * @returns {Settings}
 */
export function read(text) {
  const settings = { ...DEFAULTS };
  for (const part of text.split("*")) {
    const [field, value] = part.split("_");
    const option = CHANGES.find((change) => change.field === field)?.options.find(
      (option) => String(option.value) === value,
    );
    if (option) Object.assign(settings, { [field]: option.value });
  }
  return settings;
}
