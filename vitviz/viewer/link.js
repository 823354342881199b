/** Links: what is looked at as the parameters of an address, and back. No document in here. */

import { openPanel } from "./state.js";

const SELECTED = ["panel", "token", "partner", "layer", "head", "direction", "overlay", "first", "residual", "fusion"];
const SEEN = ["scale", "colours", "gallery"];
const HOSTS = ["model", "example", "untrained"];

/**
 * What an address asks for, in part; it may be anything, so `validSelection` and `validTaste` judge.
 * @param {string} href
 * @returns {{selection: any, taste: any}}
 */
export function readLink(href) {
  const asked = new URL(href).searchParams;
  const pick = (names) => Object.fromEntries(
    names.filter((name) => asked.has(name)).map((name) => [name, valueOf(asked.get(name))]));
  return { selection: pick(SELECTED), taste: pick(SEEN) };
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
 * @returns {string}
 */
export function writeLink(href, selection, taste, origin) {
  const url = new URL(href);
  for (const name of [...HOSTS, ...SELECTED, ...SEEN]) url.searchParams.delete(name);
  const { panel, token, partner, pinned, layer, head, direction, overlay, first, residual, fusion } = selection;
  const own = openPanel(panel).overlay;
  const rollout = panel === "rollout" || overlay === "rollout";
  const all = {
    ...Object.fromEntries(HOSTS.filter((name) => name in origin).map((name) => [name, origin[name]])),
    panel,
    ...(pinned ? { token } : {}),
    ...(panel === "qk" ? { partner } : {}),
    layer, head, direction,
    ...(overlay === own ? {} : { overlay }),
    ...(rollout ? { first, residual, fusion } : {}),
    scale: taste.scale, colours: taste.colours,
    ...(panel === "attention" ? { gallery: taste.gallery } : {}),
  };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, String(value));
  return url.href;
}
