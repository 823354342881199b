/** Links: what is looked at as the parameters of an address, and back. No document in here. */

import { openPanel, restingToken } from "./state.js";

const always = () => true;
const inPanel = (id) => ({ panel }) => panel === id;
const inRollout = ({ panel, overlay }) => panel === "rollout" || overlay === "rollout";

/**
 * What of a selection and of a taste a link holds, and where it matters.
 * @type {Record<string, (selection: import("./state.js").Selection, grid: import("../maths/geometry.js").Grid) => boolean>}
 */
const PARAMETERS = {
  panel: always,
  token: ({ pinned, token, panel }, grid) => pinned || token !== restingToken(panel, grid),
  partner: inPanel("qk"),
  layer: always, head: always, direction: always,
  overlay: ({ panel, overlay }) => overlay !== openPanel(panel).overlay,
  first: inRollout, residual: inRollout, fusion: inRollout,
  scale: always, colours: always,
  order: inPanel("patches"), units: inPanel("patches"),
  mosaic: inPanel("positions"),
  gallery: inPanel("attention"),
  lens: inPanel("predictions"),
  moment: inPanel("training"),
};
const HOSTS = ["model", "example", "untrained"];

/**
 * What an address asks for, in part; it may be anything, so `validSelection` and `validTaste` judge
 * and take what is theirs.
 * @param {string} href
 * @returns {any}
 */
export function readLink(href) {
  const asked = new URL(href).searchParams;
  return Object.fromEntries(Object.keys(PARAMETERS).filter((name) => asked.has(name))
    .map((name) => [name, valueOf(asked.get(name))]));
}

function valueOf(text) {
  return /^[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text;
}

/**
 * The address with what is looked at in it; parameters of others stay.
 * @param {string} href
 * @param {import("./state.js").Selection} selection
 * @param {typeof import("./state.js").START_TASTE} taste
 * @param {Record<string, string>} origin  how the host finds the picture and the model again
 * @param {import("../maths/geometry.js").Grid} grid
 * @returns {string}
 */
export function writeLink(href, selection, taste, origin, grid) {
  const url = new URL(href);
  const values = { ...origin, ...taste, ...selection };
  for (const name of HOSTS) put(name, name in origin);
  for (const [name, matters] of Object.entries(PARAMETERS)) put(name, matters(selection, grid));
  return url.href;

  function put(name, wanted) {
    url.searchParams.delete(name); // also where it stood before: the order is always the same
    if (wanted) url.searchParams.set(name, String(values[name]));
  }
}
