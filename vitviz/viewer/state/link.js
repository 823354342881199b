/** Links: selection and taste as parameters of an address, and back. No document in here. */

import { KEPT } from "./comparable.js";
import { OPERATED, fitsLink } from "./experiment.js";
import { OWN_PHOTO } from "./photos.js";
import { SPOTLIGHT } from "../maths/colour.js";
import { OVERLAYS, overlayNamed } from "./overlays.js";
import { linkOf, panelOf, restingToken } from "./panels.js";
import { startTaste } from "./taste.js";

const always = () => true;
const differs = (name) => (_selection, shape, taste) => taste[name] !== startTaste(shape.panels)[name];

/**
 * The fields of selection and taste that any link can hold, each with the condition for writing it.
 * @type
 *   {Record<string, (selection: import("./state.js").Selection, shape: import("./state.js").Shape,
 *     taste: any, more: any) => boolean>}
 */
const COMMON = {
  panel: always,
  token: ({ pinned, token, panel }, { grid, panels }) =>
    pinned || token !== restingToken(panelOf(panels, panel) ?? {}, grid),
  layer: always,
  head: always,
  direction: always,
  overlay: ({ panel, overlay }, { panels }) => overlay !== panelOf(panels, panel)?.overlay,
  scale: always,
  colours: always,
  sight: (_selection, _shape, { colours }) => colours === SPOTLIGHT,
  // What was kept or sent is known to this page alone, and an experiment can be too long.
  beside: ({ beside, experiment }) =>
    beside !== "" &&
    beside !== KEPT &&
    !OWN_PHOTO.test(beside) &&
    (beside !== OPERATED || fitsLink(experiment)),
  experiment: ({ beside, experiment }) => beside === OPERATED && fitsLink(experiment),
  ...Object.fromEntries(
    ["opacity", "grid", "smooth", "rulers", "fromOne"].map((name) => [name, differs(name)]),
  ),
  // The language of the page, and the token that a pinned one was compared with last.
  lang: (_selection, _shape, _taste, { lang }) => Boolean(lang),
  with: ({ pinned }, _shape, _taste, more) => pinned && Number.isInteger(more.with),
};
/** A link into a lesson holds nothing else: the step says what is shown, and a guess is not spoilt. */
const OF_LESSON = ["lesson", "step"];
/** Written only while it is on. */
const SWITCHES = ["projector"];
/**
 * Fields with which the host finds model and picture again; the first, `untrained` and `size` are the key of
 * the model.
 */
export const HOSTS = ["model", "example", "untrained", "size", "invert", "stretch"];
/**
 * @typedef {{model: string, example: string, untrained?: string, size?: string, invert?: string,
 *   stretch?: string}} Origin
 */

function namesOf(panels) {
  return [
    ...new Set([
      ...OF_LESSON,
      ...SWITCHES,
      ...Object.keys(COMMON),
      ...OVERLAYS.flatMap(({ link = [] }) => link),
      ...panels.flatMap(linkOf),
    ]),
  ];
}

/**
 * The fields that an address names. Their values may be anything: `validSelection` and `validTaste`
 * check them.
 * @param {string} href
 * @param {import("./panels.js").PanelDescription[]} panels
 * @returns {any}
 */
export function readLink(href, panels) {
  const asked = new URL(href).searchParams;
  return Object.fromEntries(
    namesOf(panels)
      .filter((name) => name !== "lang" && asked.has(name)) // the page reads its language
      .map((name) => [name, valueOf(asked.get(name))]),
  );
}

/** In place of an example, where the picture is the visitor's own. */
const PHOTO = { name: "photo", own: "own" };

/**
 * Whether a link was copied beside an own photo, which no link holds, and an example is shown in its place.
 * @param {string} href
 * @param {{example?: string}} origin  of what is shown
 */
export const lacksPhoto = (href, { example }) =>
  example !== undefined && new URL(href).searchParams.get(PHOTO.name) === PHOTO.own;

/**
 * The names in an address of panel, model and picture that are not here.
 * @param {string} href
 * @param {{model?: string, example?: string}} origin  of what is shown
 * @param {import("./panels.js").PanelDescription[]} panels
 */
export function unknownNames(href, origin, panels) {
  const asked = new URL(href).searchParams;
  const known = {
    panel: (name) => Boolean(panelOf(panels, name)),
    model: (name) => origin.model === name,
    example: (name) => origin.example === name,
  };
  return Object.entries(known)
    .filter(([field, is]) => asked.has(field) && !is(asked.get(field)))
    .map(([field]) => asked.get(field));
}

function valueOf(text) {
  if (text === "true" || text === "false") return text === "true";
  return /^[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text;
}

/**
 * The address with selection and taste in it; parameters that are not the viewer's stay.
 * @param {string} href
 * @param {import("./state.js").Selection} selection
 * @param {import("../types.js").Taste} taste
 * @param {Record<string, string>} origin  how the host finds the picture and the model again
 * @param {import("./state.js").Shape} shape
 * @param {{lang?: string, with?: number|null}} more
 * @returns {string}
 */
export function writeLink(href, selection, taste, origin, shape, more = {}) {
  const url = new URL(href);
  const values = { ...origin, ...taste, ...selection, ...more };
  const own = [
    ...linkOf(panelOf(shape.panels, selection.panel) ?? {}),
    ...(overlayNamed(selection.overlay).link ?? []),
  ];
  for (const name of HOSTS) put(name, Object.hasOwn(origin, name));
  values[PHOTO.name] = PHOTO.own;
  put(PHOTO.name, Boolean(origin.model) && !origin.example);
  for (const name of namesOf(shape.panels)) {
    if (name !== "lang" || more.lang) put(name, stands(name));
  }
  return url.href;

  function stands(name) {
    if (SWITCHES.includes(name)) return taste[name] === true;
    if (selection.lesson && name !== "lang") return OF_LESSON.includes(name);
    return COMMON[name]?.(selection, shape, taste, more) || own.includes(name);
  }

  function put(name, wanted) {
    url.searchParams.delete(name); // always, so that the order of parameters is always the same
    if (wanted) url.searchParams.set(name, String(values[name]));
  }
}
