/** Own card: what a model of a visitor's own things says of itself, in its file and in the viewer. */

/** Files of an analysis that say nothing of its head or its training. */
const OF_TRUNK = ["positions", "untrained", "filters", "inside"];

/**
 * The details of the file.
 * @param {import("./ownmodel.js").Found} found
 * @param {string[]} labels
 * @returns {Record<string, string>}
 */
export function cardOf(found, labels) {
  return { title: labels.join(", "), pictures: String(found.pictures.length) };
}

/**
 * The manifest of the trunk with the new head, without a picture, for `analysed` of data/analysed.js.
 * @param {import("../types.js").Manifest} template
 * @param {{key: string, labels: string[], details: Record<string, string>, names: Record<string, string>}} own
 *   names: of the model, by language
 * @returns {import("../types.js").Manifest}
 */
export function templateOf({ version, model, pass, files }, { key, labels, details, names }) {
  const { en: title, ...others } = names;
  const [classes, width] = [labels.length, model.embed_dim * (model.pool === "token_avg" ? 2 : 1)];
  const texts = Object.entries(others).map(([language, name]) => [language, { texts: { [title]: name } }]);
  return /** @type {any} */ ({
    version,
    model: {
      ...model,
      name: key,
      key: { name: key, untrained: false, image_size: null },
      source: title,
      title,
      details: { ...details, title },
      num_parameters: model.num_parameters + (classes - model.num_classes) * (width + 1),
      head: "classes",
      outputs: "one_of",
      assumed: [],
      measurements: {},
      labels,
      groups: null,
      temperature: 1,
      calibrated: false,
      threshold: null,
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
