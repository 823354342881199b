/**
 * Local analysis: analyzes a photo in this page, as vitviz/probe/analysis.py and vitviz/payload/payload.py
 * analyze one on the host.
 */

import { filesOf, labelsOf } from "./localpayload.js";
import { decoded } from "./decoding.js";
import { HERE } from "./files.js";
import { savedOf } from "./saved.js";
import { gridOf, startToken } from "../maths/geometry.js";
import { isDarkOnLight } from "../maths/ink.js";
import { canStretch, isDark, uncropped } from "../maths/pixels.js";
import { isOfLook, linkOfLook, lookOf } from "../maths/photolevels.js";

/** Files that say nothing of a photo. */
const OF_MODEL = ["positions", "untrained", "filters", "inside", "film"];

/**
 * A photo to analyse. `template`: any intact analysis of the same model; it gives all that is true of every
 * picture. `id`: of a photo that this page keeps, "" otherwise; `cropped`: it is what the model sees already;
 * `first`: the rows that are shown first.
 * @typedef {{file: Blob, name: string, template: import("../types.js").Manifest,
 *   engine: import("../engine/client.js").Engine,
 *   known: import("./localpayload.js").Known, say: (told: import("./decoding.js").Told) => Record<string, string>,
 *     inverted?: boolean, stretched?: boolean, id?: string, cropped?: boolean,
 *   first?: {layer: number, token: number}}} Wanted
 */

/**
 * The manifest of a photo, with files that are made here; null for a file that the host alone can open.
 * Rejected with a `PhotoError` for what is no picture.
 * @param {Wanted} wanted
 * @returns {Promise<import("../types.js").Manifest|null>}
 */
export async function analysed({
  file,
  name: called,
  template,
  engine,
  known,
  say,
  id: photoId = "",
  cropped = false,
  first,
  ...photoLook
}) {
  const look = lookOf(photoLook);
  const name = cleaned(called);
  const { labels } = known.facts;
  const preprocess = cropped ? uncropped(known.facts.preprocess) : known.facts.preprocess;
  const { model } = template;
  const photo = await decoded(file, name);
  if (!photo) return null;
  const { seen, photograph, ...about } = await engine.see({ bitmap: photo.bitmap, preprocess, look });
  const notes = photo.notes(about);
  const stretched = look.stretched && canStretch(about.levels);
  const dark = !look.stretched && !look.inverted && isDark(about.levels);
  const levels = levelsNote(stretched, dark, about.levels);
  const levelsAt = levels ? notes.push(levels) - 1 : null;
  if (look.inverted) notes.push({ key: "inverted", values: {} });
  if (about.coloured) {
    notes.push({
      key: (labels ?? ["?"]).every((label) => /^\d$/.test(label)) ? "grey_copy_digits" : "grey_copy",
      values: {},
    });
  }
  const id = HERE + Math.random().toString(36).slice(2);
  // A lane for each photo: in a shared one the late pass of an older photo would replace the waiting pass of
  // the newest photo, and the newest photo would be sent to the host.
  const found = await engine.run({ picture: new Uint8Array(seen.data), lane: id });
  /** @type {any} */
  const pass = {
    id,
    changes: [],
    removed: [],
    here: true,
    first: firstOf(model, first),
    ...labelsOf(model, known),
  };
  const said = notes.map((note) => say(note));
  const told = {
    name,
    notes: said.map(({ en }) => en),
    ...look,
    stretched,
    dark,
    levels_note: levelsAt,
    dark_ink: model.light_ink_only && isDarkOnLight(seen),
    frame: photograph && photograph.frame.map((share) => Number(share.toFixed(5))),
    words: wordsOf(said),
  };
  const files = {
    ...ofModel(template),
    ...filesOf(found, model, pass, known),
    ...(photograph ? filesOfJpeg(photograph) : {}),
  };
  /** @type {import("../types.js").Manifest} */
  const manifest = {
    version: template.version,
    model,
    photo: told,
    pass,
    files,
    ...hosts(template, look, { address: photoId, name }),
    template,
    save: () => savedOf(found, manifest, known, { ...photograph, notes }),
  };
  return manifest;
}

/** The note on the levels of a photo; null where there is nothing to say. */
function levelsNote(stretched, dark, [low, high]) {
  if (stretched) return { key: "levels_stretched", values: { low, high } };
  return dark ? { key: "dark", values: { high, top: 255 } } : null;
}

/**
 * The host's fields of a manifest: every example can stand beside a photo of one's own.
 * @param {import("../types.js").Manifest} template
 */
function hosts({ link, beside, itself }, look, upload) {
  if (!link) return {};
  const others = Object.entries(link).filter(([part]) => part !== "example" && !isOfLook(part));
  return {
    link: { ...Object.fromEntries(others), ...linkOfLook(look) },
    beside: [...(beside ?? []), ...(itself ? [itself] : [])],
    ...(upload.address ? { upload } : {}),
  };
}

/** A file name is a stranger's text: one printable line of at most 80 characters. @param {string} name */
function cleaned(name) {
  const letters = [
    ...[...name]
      .map((one) => (one === " " || !/[\p{C}\p{Z}]/u.test(one) ? one : " "))
      .join("")
      .trim(),
  ];
  return (
    (letters.length <= 80
      ? letters.join("")
      : letters.slice(0, 60).join("") + "..." + letters.slice(-17).join("")) || "photo"
  );
}

/** The first view: the rows of attention of this token in this layer. */
function firstOf(model, wanted) {
  const { depth, num_tokens: tokens } = model;
  const fits = wanted && wanted.layer < depth && wanted.token < tokens;
  const { layer, token } = fits ? wanted : { layer: depth - 1, token: startToken(gridOf({ model })) };
  return { layer, token, direction: "from" };
}

/**
 * Files of the template that are the same for every photo; late ones are requested for the template's
 * analysis.
 * @param {import("../types.js").Manifest} template
 */
function ofModel({ files, asked, pass: { id } }) {
  return Object.fromEntries(
    OF_MODEL.filter((name) => files[name]).map((name) => [
      name,
      files[name].late ? { ...files[name], asked: files[name].asked ?? asked ?? { id } } : files[name],
    ]),
  );
}

/** Translations: language -> English -> the sentence. @param {Record<string, string>[]} said */
function wordsOf(said) {
  const words = {};
  for (const { en, ...others } of said) {
    for (const [language, one] of Object.entries(others)) if (one !== en) (words[language] ??= {})[en] = one;
  }
  return words;
}

/** @returns {Record<string, import("../types.js").PayloadFile>} */
function filesOfJpeg({ crop, whole }) {
  const made = Object.entries({ photograph: crop, whole }).filter(([, bytes]) => bytes);
  return Object.fromEntries(made.map(([name, bytes]) => [name, { make: async () => bytes.buffer }]));
}
