/** Own card: what a model of a visitor's own things says of itself, in its file and in the viewer. */

import { PENALTY } from "../engine/tables.js";
import { best } from "../learn/linearhead.js";
import { LARGEST } from "../maths/predictions.js";
import { wordsOf } from "./ownmodel.js";
import { NONE } from "./ownset.js";
import { TEXTS } from "./playtexts.js";
import { textsIn } from "./texts.js";
import { fileOf } from "./thumbnails.js";

const MOST_SHOWN = 12; // pictures in a row that a phone scrolls
const MOST_CONFUSED = 20; // pictures that are kept by name
/** Files of an analysis that say nothing of its head or its training. */
const OF_TRUNK = ["positions", "untrained", "filters", "inside"];

/**
 * The details of the file, as vitviz/model/taught.py reads them. Pictures go by their thing and place, since
 * names of files may say more than their owner would.
 * @param {import("./ownmodel.js").Found} found
 * @param {string[]} labels
 * @param {string} base  the name of the trunk
 * @returns {Record<string, string>}
 */
export function cardOf(
  { things, none, pictures, labels: classes, shares, confusions, threshold, pair },
  labels,
  base,
) {
  const named = (at, answer) => ({
    picture: labels[classes[at]] + " " + (1 + things[classes[at]].pictures.indexOf(pictures[at])),
    label: classes[at],
    answer,
    probability: /** @type {number[]} */ (shares[at])[answer],
  });
  const answers = shares.map((found) => found && best(found));
  const confused = answers
    .flatMap((answer, at) => (answer !== null && answer !== classes[at] ? [named(at, answer)] : []))
    .sort((one, other) => other.probability - one.probability)
    .slice(0, MOST_CONFUSED);
  const taught = {
    base,
    pictures: things.map((_, label) => classes.filter((one) => one === label).length),
    penalty: PENALTY,
    confusions,
    none: none ?? null,
    confused,
    pair: (pair?.pictures ?? []).flatMap((at, side) =>
      at < 0 ? [] : [named(at, /** @type {any} */ (pair).classes[1 - side])],
    ),
  };
  return {
    title: labels.filter((label) => label !== NONE).join(", "),
    taught: JSON.stringify(taught),
    ...(countsOf(confusions).of > 0 ? { accuracy: leftOut("en", confusions) } : {}),
    ...(threshold === null ? {} : { others: JSON.stringify({ score: LARGEST, threshold }) }),
  };
}

/**
 * Some of the pictures that were learned, of each thing as many as of the others, for the row above the viewer.
 * @param {import("./ownmodel.js").Found} found
 * @param {string[]} labels
 * @param {{height: number, width: number, channels: number}} image
 * @returns {import("../session/taughtrow.js").TaughtPicture[]}
 */
export function picturesOf({ things }, labels, image) {
  const each = Math.max(1, Math.floor(MOST_SHOWN / things.length));
  return things.flatMap(({ pictures }, at) =>
    pictures.slice(0, each).map(({ pixels, file }, place) => {
      const name = labels[at] + "-" + (place + 1) + ".png";
      return {
        label: labels[at],
        number: place + 1,
        pixels,
        file: async () =>
          file ? { file, name } : { file: await fileOf(pixels, image, name), name, cropped: true },
      };
    }),
  );
}

/** The counts of pictures left out. @param {number[][]} confusions */
export const countsOf = (confusions) => ({
  right: confusions.reduce((sum, row, label) => sum + row[label], 0),
  of: confusions.flat().reduce((sum, count) => sum + count, 0),
});

/** How good it is, in a sentence. @param {string} language @param {number[][]} confusions */
const leftOut = (language, confusions) => textsIn(language)("left_out", countsOf(confusions));

/**
 * The manifest of the trunk with the new head, without a picture, for `analysed` of data/localanalysis.js.
 * @param {import("../types.js").Manifest} template
 * @param {{key: string, file: string, labels: string[], details: Record<string, string>,
 *   found: import("./ownmodel.js").Found}} own  file: the name under which it is saved
 * @returns {import("../types.js").Manifest}
 */
export function templateOf({ version, model, pass, files }, { key, file, labels, details, found }) {
  const { title, accuracy } = details;
  const { threshold, confusions, pictures, none } = found;
  const words = wordsOf(labels);
  const texts = Object.keys(TEXTS).map((tag) => [
    tag,
    { ...words[tag], ...(accuracy ? { texts: { [accuracy]: leftOut(tag, confusions) } } : {}) },
  ]);
  const [classes, width] = [labels.length, model.embed_dim * (model.pool === "token_avg" ? 2 : 1)];
  return /** @type {any} */ ({
    version,
    model: {
      ...model,
      name: key,
      key: { name: key, untrained: false, image_size: null },
      saved_as: file,
      in_page: null, // the trunk's: its weights are others
      weights: undefined,
      source: title,
      title,
      details,
      num_parameters: model.num_parameters + (classes - model.num_classes) * (width + 1),
      head: "classes",
      outputs: "one_of",
      assumed: [],
      taught: { pictures: pictures.length, ...countsOf(confusions) },
      measurements: {},
      labels,
      groups: null,
      temperature: 1,
      calibrated: false,
      threshold,
      ...(none === undefined ? {} : { none }),
      known_by: LARGEST,
      certain: null,
      explainers: model.explainers.map((one) => ({ ...one, measured: null })),
      tested: null,
      sizes: [],
      num_classes: classes,
      steps: model.steps.map((step) => (step.name === "logits" ? { ...step, shape: [1, classes] } : step)),
      words: Object.fromEntries(texts),
    },
    photo: null,
    pass: { id: pass.id, changes: [], removed: [] },
    files: Object.fromEntries(Object.entries(files).filter(([name]) => OF_TRUNK.includes(name))),
  });
}
