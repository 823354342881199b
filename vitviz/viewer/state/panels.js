/** How a panel describes itself, and what follows from it. The panels themselves are passed in. */

import { startToken } from "../maths/geometry.js";

/**
 * A field of the selection or of the taste: its initial value, and a test of values.
 * @typedef {{start: any, possible: (value: any) => boolean}} Field
 */

/**
 * A panel as panels/ID.js describes it; in text/strings.js its name is "panel_ID".
 * @typedef {{
 *   id: string,
 *   create: (app: import("../main.js").App) => import("../types.js").Panel,
 *   group?: "see"|"why"|"try", first?: boolean, plain?: boolean, overlay?: string, needs?: "layer", pairs?: boolean,
 *   rests?: (grid: import("../maths/geometry.js").Grid) => number,
 *   borrows?: (selection: import("./state.js").Selection) => any,
 *   selects?: Record<string, Field>, prefers?: Record<string, Field>, link?: string[],
 *   alone?: boolean, whole?: boolean, paints?: boolean, controls?: string[],
 *   note?: (app: import("../main.js").App) => string,
 *   painting?: (app: import("../main.js").App) => {kind: string, colours: Float32Array|null}|null,
 *   explains?: string[], lights: (app: import("../main.js").App) => (string|number)[],
 *   both?: (app: import("../main.js").App, other: import("../main.js").App) => import("../types.js").Panel,
 *   saves?: (app: import("../main.js").App, view: import("../types.js").View) => import("./saves.js").Saves,
 *   code: (selection: any, source: import("../data/source.js").Source, taste: any, done?: any[]|null) =>
 *     import("../text/python.js").Code|null,
 * }} PanelDescription
 *   group: the tabs that it stands among, under one name; the first look has none
 *   first: it is open at the start, if neither a link nor the page chooses another
 *   plain: the screen leaves out tabs, line, read-out and most tools while it is open
 *   overlay: the overlay that it opens with; by default the overlay stays as it is
 *   needs: "layer" if it draws from q and k of the selected layer
 *   pairs: it shows a pair of tokens, and pointing chooses the partner
 *   rests: the token that is selected while none is pinned, by default the first prefix token
 *   borrows: fields of the selection that it needs to change; they are given back when it is left
 *   selects, prefers: fields of the selection and of the taste that only it has; both are in its links
 *   alone: it stands once beside another analysis, for it would be the same; other panels stand twice
 *   whole: it is about the whole picture or the model, and needs no read-out of the selected token
 *   paints: a brush paints on the picture while it is open
 *   controls: the controls of the page that it uses, whatever lies over the picture
 *   note: the text that stands on the picture while it is open; "": none
 *   painting: the colours of the patches that lie over the picture in place of its overlay, once they are
 *     here; kind: the end of the key of their name, "painted_"; null: none
 *   explains: the parts of the line that lead to it: photo, patches, position, layers, answer
 *   lights: the parts of the line that it is about now, a layer by its number
 *   both: makes a part that shows both analyses at once, above the two panels
 *   code: Python that makes the array on the screen and calls it `shown`, for a selection and a taste; null
 *     where the panel shows none. done: the changes of the pass that an experiment has made
 *   link: fields of the selection that are not its own, but stand only in its links
 */

/** A field with one of a few values, the first at the start. @returns {Field} */
export function oneOf(values) {
  return { start: values[0], possible: (value) => values.includes(value) };
}

/** @returns {PanelDescription|undefined} */
export function panelOf(panels, id) {
  return panels.find((panel) => panel.id === id);
}

/** The panel that explains a part of the line. @returns {PanelDescription} */
export function explainerOf(panels, part) {
  return panels.find(({ explains = [] }) => explains.includes(part));
}

/** The layers from one to another, both with it. */
export const layersFrom = (first, last) => Array.from({ length: last - first + 1 }, (_, at) => first + at);

/** The fields that only one panel has, of all panels, by name. @returns {Record<string, Field>} */
export function fieldsOf(panels, /** @type {"selects"|"prefers"} */ kind) {
  return Object.assign({}, ...panels.map((panel) => panel[kind]));
}

/** The initial values of fields. */
export function startOf(fields) {
  return Object.fromEntries(Object.entries(fields).map(([name, { start }]) => [name, start]));
}

/** The names that a panel adds to a link. @param {Partial<PanelDescription>} panel @returns {string[]} */
export function linkOf({ link = [], selects = {}, prefers = {} }) {
  return [...link, ...Object.keys(selects), ...Object.keys(prefers)];
}

/**
 * The change of the selection that opens a panel, with the overlay that belongs to it.
 * @param {PanelDescription} panel
 * @returns {{panel: string, overlay?: string}}
 */
export function openPanel({ id, overlay }) {
  return overlay ? { panel: id, overlay } : { panel: id };
}

/**
 * The token that is selected in a panel while none is pinned.
 * @param {Partial<PanelDescription>} panel
 * @param {import("../maths/geometry.js").Grid} grid
 * @returns {number}
 */
export function restingToken({ rests = startToken }, grid) {
  return rests(grid);
}

const NOTHING = Object.freeze({});

/**
 * The change of the selection that opens a panel: the panel that is left gives back the fields that it
 * had borrowed, except those that were changed meanwhile, and the next one borrows.
 * @param {string} id
 * @param {import("./state.js").Selection} selection
 * @param {import("./state.js").Shape} shape
 * @returns {any}  to be checked by `validSelection`
 */
export function visitPanel(id, selection, { grid, panels }) {
  const panel = panelOf(panels, id);
  if (!panel) return {};
  if (id === selection.panel) return openPanel(panel);
  const back = givenBack(panelOf(panels, selection.panel), selection, grid);
  const before = { ...selection, ...back };
  const borrowed = borrowedBy(panel, before, grid);
  const names = Object.keys(borrowed);
  const lent = names.length > 0 ? Object.fromEntries(names.map((name) => [name, before[name]])) : NOTHING;
  return { ...openPanel(panel), ...back, ...borrowed, lent };
}

/** The fields that a panel borrows: also the token, if the panel rests on a patch and a prefix token
 * is selected but not pinned. */
function borrowedBy(panel, selection, grid) {
  const resting = restingToken(panel, grid);
  const patch = resting >= grid.prefix && !selection.pinned && selection.token < grid.prefix;
  return { ...(patch ? { token: resting } : {}), ...panel.borrows?.(selection) };
}

/**
 * The borrowed fields that a panel gives back: those that nobody has changed meanwhile, with their values
 * before.
 */
export function givenBack(panel, selection, grid) {
  const { lent, pinned } = selection;
  const borrowed = borrowedBy(panel, { ...selection, ...lent }, grid);
  const kept = Object.keys(lent).filter(
    (name) => selection[name] === borrowed[name] && !(name === "token" && pinned),
  );
  return Object.fromEntries(kept.map((name) => [name, lent[name]]));
}
