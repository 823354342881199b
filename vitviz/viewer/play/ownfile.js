/**
 * Own file: a visitor's own things as one file with their pictures as the model sees them, to go on with later, and
 * for `vitviz.teach`; vitviz/many/picture_set.py is the other reader.
 */

import { FormatError, parseSafetensors, readMetadata, writeSafetensors } from "../maths/safetensors.js";
import { CARD, LONGEST_TEXT, MOST_PICTURES, MOST_THINGS, NONE, isEqual } from "./ownset.js";

const FORMAT = "vitviz_set"; // key of the description in the metadata
const VERSION = 1;
const LONGEST = 40; // letters of a name
const MOST_GROUP = 1e9;
const LARGEST = 64e6; // bytes of a file that is read
const UNSEEN = /\p{C}|[^\S ]/u; // control characters, and white space that is no space

/** Says why a file is no set to go on with. */
export class SetError extends Error {}

/**
 * @param {import("./ownset.js").OwnSet} set
 * @param {string[]} names  of all things; `NONE` of the row of what shows none of them
 * @param {{height: number, width: number, channels: number}} image
 * @returns {ArrayBuffer}
 */
export function setFile({ things, card }, names, { height, width, channels }) {
  const told = things
    .map(({ pictures }, at) => ({
      name: names[at],
      groups: pictures.map(({ group }) => group),
    }))
    .filter(({ groups }, at) => things[at].name !== "" || groups.length > 0);
  const all = things.flatMap(({ pictures }) => pictures);
  const data = new Uint8Array(all.length * height * width * channels);
  all.forEach(({ pixels }, at) => data.set(pixels, at * pixels.length));
  return writeSafetensors(
    { pictures: { shape: [all.length, height, width, channels], data } },
    { [FORMAT]: JSON.stringify({ version: VERSION, things: told, card }) },
  );
}

/**
 * The things and the card in a file, for `replace` of a set. Rejected with a SetError for anything that is no set
 * of pictures of this size.
 * @param {File} file
 * @param {{height: number, width: number, channels: number}} image  as the model of the page sees them
 * @param {import("./texts.js").Say} say
 */
export async function openSet(file, { height, width, channels }, say) {
  const name = file.name;
  const found = file.size > LARGEST ? null : partsIn(await file.arrayBuffer());
  if (!found) throw new SetError(say(found === null ? "ownSetOther" : "ownSetBroken", { name }));
  const { told, pictures } = found;
  const [count, ...sides] = pictures.shape;
  const [theirs, ours] = [sides, [height, width, channels]].map((some) => some.join(" × "));
  if (theirs !== ours) throw new SetError(say("ownSetSides", { name, theirs, ours }));
  const named = told.things.filter((thing) => thing.name !== NONE).length;
  if (named > MOST_THINGS) throw new SetError(say("ownSetThings", { name, count: named, most: MOST_THINGS }));
  if (count > MOST_PICTURES) throw new SetError(say("ownSetPictures", { name, count, most: MOST_PICTURES }));
  if (!told.things.every((thing) => isName(thing.name)))
    throw new SetError(say("ownSetNames", { name, most: LONGEST }));
  const bytes = height * width * channels;
  let at = 0;
  const things = told.things.map(({ name: called, groups }) => ({
    name: called === NONE ? "" : called,
    none: called === NONE,
    pictures: groups.map((group) => ({
      group,
      pixels: pictures.data.slice(at * bytes, ++at * bytes),
      file: null,
    })),
  }));
  things.sort((one, other) => Number(one.none) - Number(other.none)); // its row is the last
  const twice = things.some((thing, place) =>
    things.slice(place + 1).some((other) => shared(thing.pictures, other.pictures)),
  );
  if (twice) throw new SetError(say("ownSetTwice", { name }));
  return { things, card: told.card };
}

/**
 * The things and the pictures in a file; null if it is none of a set, undefined if what it says of itself does not
 * fit.
 */
function partsIn(buffer) {
  try {
    const text = readMetadata(buffer)[FORMAT];
    if (typeof text !== "string") return null;
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
  try {
    const told = JSON.parse(readMetadata(buffer)[FORMAT]);
    const { pictures } = parseSafetensors(buffer);
    return isSound(told, pictures) ? { told, pictures } : undefined;
  } catch (error) {
    if (error instanceof FormatError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** @param {any} told @param {import("../maths/safetensors.js").Tensor|undefined} pictures */
function isSound(told, pictures) {
  const whole = (group) => Number.isSafeInteger(group) && group >= 0 && group <= MOST_GROUP;
  const isThing = (thing) =>
    typeof thing?.name === "string" && Array.isArray(thing.groups) && thing.groups.every(whole);
  if (told?.version !== VERSION || !Array.isArray(told.things) || !told.things.every(isThing)) return false;
  const { card = {} } = told;
  const isText = (text) => typeof text === "string" && text.length <= LONGEST_TEXT;
  if (!Object.keys(card ?? "?").every((key) => CARD.includes(/** @type {any} */ (key)) && isText(card[key])))
    return false;
  const names = told.things.map(({ name }) => name);
  if (new Set(names).size < names.length) return false;
  const count = told.things.reduce((sum, { groups }) => sum + groups.length, 0);
  return pictures?.dtype === "U8" && pictures.shape.length === 4 && pictures.shape[0] === count;
}

const isName = (name) => name.trim() !== "" && [...name].length <= LONGEST && !UNSEEN.test(name);

const shared = (some, others) =>
  some.some(({ pixels }) => others.some((other) => isEqual(pixels, other.pixels)));
