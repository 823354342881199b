/** Names of tokens and sentences about values, in the language of the page. */

import { prefixKind } from "../maths/attention.js";
import { placeOf } from "../maths/geometry.js";
import { digits, multiple } from "../maths/numbers.js";
import { ITSELF } from "../state/experiment.js";
import { changeText } from "./changes.js";
import { languageOf } from "./language.js";
import { filled } from "./particles.js";
import { STRINGS } from "./strings.js";

/**
 * The function that looks texts up in a language; a text that the language lacks is in English, or in the language
 * that the page has.
 * @param {string} language
 * @returns {(key: string, values?: Record<string, *>) => string}
 */
export function translator(language) {
  const texts = STRINGS[languageOf(language)]; // more can come to them
  return (key, values = {}) => {
    const text =
      texts[key] ?? STRINGS.en[key] ?? Object.values(STRINGS).find((one) => Object.hasOwn(one, key))?.[key];
    if (text === undefined) throw new Error("no text named " + key);
    return filled(text, values);
  };
}

/** Whether there is a text with this key. */
export function hasText(key) {
  return Object.values(STRINGS).some((texts) => Object.hasOwn(texts, key));
}

/** The names of the values that a text has places for. */
export function namesIn(key, language) {
  return [...(STRINGS[languageOf(language)][key] ?? STRINGS.en[key]).matchAll(/\{(\w+)\}/g)].map(
    ([, name]) => name,
  );
}

/**
 * The short name of a prefix token, for its tile: "CLS", "REG 2".
 * @param {string} name
 * @returns {string}
 */
export function prefixLabel(name) {
  const number = name.split(" ")[1];
  const kind = prefixKind(name).toUpperCase();
  return number ? kind + " " + number : kind;
}

/**
 * Row and column as they are written: counted from 0 as in programs, or from 1 as at school.
 * @param {{row: number, col: number}} place
 * @returns {{row: number, col: number}}
 */
export function counted(place, { taste }) {
  const first = taste?.fromOne ? 1 : 0;
  return { ...place, row: place.row + first, col: place.col + first };
}

/**
 * The name of a token: "row 4, col 7" or "CLS".
 * @returns {string}
 */
export function tokenName(token, app) {
  const { t } = app;
  const { manifest, grid } = app.source;
  const place = placeOf(token, grid);
  return place ? t("patchShort", counted(place, app)) : prefixLabel(manifest.model.prefix_tokens[token]);
}

/**
 * The full name of a token: "Patch in row 4, column 7" or "CLS token", with its index.
 * @returns {string}
 */
export function tokenTitle(token, app) {
  const { t } = app;
  const { manifest, grid } = app.source;
  const place = placeOf(token, grid);
  if (place) return t("patchTitle", counted(place, app));
  return t("prefixTitle", { name: prefixLabel(manifest.model.prefix_tokens[token]) });
}

/**
 * The translation of a text, a class or a group that came with the analysis.
 * @param {"texts"|"labels"|"groups"} kind
 * @param {string} text  in English
 * @param {import("../types.js").Manifest} manifest
 * @param {string} language
 * @returns {string|null}  null if none came
 */
function brought(kind, text, manifest, language) {
  const own = languageOf(language);
  const known = {
    ...manifest.model.words?.[own]?.[kind],
    ...(kind === "texts" ? manifest.photo.words?.[own] : {}),
  };
  return Object.hasOwn(known, text) ? known[text] : null;
}

/**
 * A text of the analysis, in the language of the page if its host has translated it.
 * @param {string} text
 * @param {{language: string, source: {manifest: import("../types.js").Manifest}}} app
 * @returns {string}
 */
export function translated(text, { language, source: { manifest } }) {
  return brought("texts", text, manifest, language) ?? text;
}

/**
 * The name of a class in the visitor's language; without a translation in the checkpoint, as it is.
 * @param {string} label
 * @param {{language: string, source: {manifest: import("../types.js").Manifest}}} app
 * @returns {string}
 */
export function labelName(label, { language, source: { manifest } }) {
  return brought("labels", label, manifest, language) ?? label;
}

/** A head, or the mean of all, in a sentence. @param {number|"mean"} head */
export const headName = (head, { t }) => t(head === "mean" ? "headMean" : "headNumber", { head });

/**
 * A step of the ledger in the visitor's language; an unknown name stays as it is.
 * @param {string} name  from the manifest, in English
 * @returns {string}
 */
export function stepName(name, t) {
  const key = "step_" + name.replace(/[^A-Za-z0-9]+/g, "_");
  return hasText(key) ? t(key) : name;
}

/**
 * A group of classes in the visitor's language, else in English with its article: "a dog" for "dog".
 * @param {string} name  as the checkpoint groups its classes
 * @param {{language: string, source: {manifest: import("../types.js").Manifest}}} app
 * @returns {string}
 */
export function groupName(name, { language, source: { manifest } }) {
  return brought("groups", name, manifest, language) ?? brought("groups", name, manifest, "en") ?? name;
}

/**
 * An attention value, also as a multiple of uniform attention: "0.0213 = 4.2 x uniform".
 * @param {number} value
 * @param {number} tokens
 * @returns {string}
 */
export function valueText(value, tokens, t) {
  return t("valueTimes", { value: digits(value), times: multiple(value * tokens) });
}

/**
 * The name of the photo, and how its levels are read if not as they are.
 * @param {{t: (key: string, values?: any) => string, source: {manifest: import("../types.js").Manifest}}} app
 * @returns {string}
 */
export function photoName({ t, source }) {
  const { photo } = source.manifest;
  const name = photo.stretched ? t("photoStretched", { name: photo.name }) : photo.name;
  return photo.inverted ? t("photoInverted", { name }) : name;
}

/**
 * The interventions in the pass of an analysis, in words; "" for the intact model.
 * @param {{t: (key: string, values?: any) => string, source: {manifest: import("../types.js").Manifest}}} app
 * @returns {string}
 */
export function changesOf(app) {
  return (app.source.manifest.pass.changes ?? [])
    .map((change) => changeText(change, app.t, namesOf(app)))
    .join(", ");
}

/** The names of a patch by its number in the grid, of a token, and of a class. */
const namesOf = (app) => ({
  label(index) {
    const { model, pass } = app.source.manifest;
    return labelName((model.labels ?? pass.labels)?.[index] ?? String(index), app);
  },
  square: (patch) => tokenName(app.source.grid.prefix + patch, app),
  token: (token) => tokenName(token, app),
});

/**
 * A name of the model of an analysis, with the size of its pictures where that is not the model's own.
 * @param {string} name
 * @param {{t: (key: string, values?: any) => string, source: {manifest: import("../types.js").Manifest}}} app
 * @returns {string}
 */
export function sized(name, { t, source }) {
  const { image_size: size } = source.manifest.model.key;
  return size ? t("atSize", { name, height: size[0], width: size[1] }) : name;
}

/** The same size as links and file names have it: "144", or "144x192"; "" for the model's own. */
export function sizeOf({ image_size: size }) {
  return size ? [...new Set(size)].join("x") : "";
}

/**
 * The name of an analysis beside another one: picture, model, whether it is untrained, and what was changed.
 * @param {{t: (key: string, values?: any) => string, language: string,
 *   source: {manifest: import("../types.js").Manifest}}} app
 * @returns {string}
 */
export function sourceName(app) {
  const { model } = app.source.manifest;
  const untrained = model.trained === false ? app.t("besideUntrained") : "";
  return [
    photoName(app),
    sized(translated(model.title, app), app),
    untrained,
    changesOf(app) && app.t("changed", { changes: changesOf(app) }),
  ]
    .filter(Boolean)
    .join(" · ");
}

/**
 * The names of two analyses by what differs: picture, model, training, or what was changed; their full names
 * if nothing does.
 * @returns {[string, string]}
 */
export function sideNames(app, other) {
  const [first, two] = [app, other].map((side) => {
    const { model } = side.source.manifest;
    const shown = { ...side, t: app.t, source: side.source };
    return [
      photoName(shown),
      sized(translated(model.title, side), shown),
      app.t(model.trained === false ? "besideUntrained" : "besideTrained"),
      app.t(side.source.manifest.pass.changes?.length > 0 ? "besideChanged" : "besideIntact"),
    ];
  });
  const differ = first.map((part, at) => part !== two[at]);
  if (!differ.includes(true)) return [sourceName(app), sourceName(other)];
  const name = (parts) => parts.filter((part, at) => differ[at] && part).join(" · ");
  return [name(first), name(two)];
}

/**
 * The name of an analysis on the menu of those that can be put beside.
 * @param {import("../types.js").Beside} beside
 * @returns {string}
 */
export function besideName({ kind, photo = "", name = "", names = {} }, { t, language }) {
  return t("beside_" + kind, {
    name: [photo, names[languageOf(language)] ?? name].filter(Boolean).join(" · "),
  });
}

/**
 * An intervention in words, with the name of the picture whose tokens it takes.
 * @param {import("../state/experiment.js").Intervention} change
 * @param {import("../main.js").App} app
 */
export function changeName(change, app) {
  const donor = app.comparisons.besides().find(({ key }) => key === change.from);
  const from = change.from === ITSELF ? app.t("experimentItself") : donor && besideName(donor, app);
  return changeText(from ? { ...change, from } : change, app.t, namesOf(app));
}
