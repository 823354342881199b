/** Computing: whether a pass is computed in this page or by the host. The one place that decides. */

import { readPicture, readResults } from "./data/analysis.js";
import { fetchChecked, notHere } from "./data/files.js";
import { createRunners, weightsOf } from "./runners.js";
import { takesFromOthers, touches } from "./state/experiment.js";
import { granted, refusal } from "./text/refusal.js";

/**
 * @param {import("./types.js").Host} host
 * @param {() => void} render  something new is known of a runner
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} [fetchFile]
 * @param {any} [need]  refuses what a host would have to do with a photo that it does not have
 */
export function createComputing(
  { weights = {}, running, ask, operate: operateThere, fetchWeights },
  render,
  fetchFile,
  need,
) {
  const {
    prepare,
    runner: runnerOf,
    stop,
  } = createRunners({ weights, running, fetchWeights, mayBeSlow: !operateThere }, render);
  let count = 0;
  /**
   * Sources whose layers this page computed, such as those of a changed pass.
   * @type {WeakSet<import("./data/source.js").Source>}
   */
  const own = new WeakSet();
  return {
    operate,
    analyse,
    sketch: (source, interventions) => answerTo(runnerOf(source.manifest.model), source, interventions),
    prepare,
    completed,
    explains,
    answer,
    pixelsOf,
    operates: Boolean(operateThere) || Object.keys(weights).length > 0,
    runner: runnerOf,
    stop,
  };

  /**
   * The manifest of a photo that does not leave this page, in the model of another one; null where the host
   * has to analyze it. Rejected for what is no picture, with the sentence by language as `said`.
   * @param {import("./types.js").Manifest} template
   * @param {import("./types.js").OwnPhoto} photo
   */
  async function analyse(template, photo) {
    const runner = /** @type {any} */ (prepare(template.model));
    await runner?.ready;
    if (runner?.state !== "here") return null;
    const { engine, known, tools } = runner;
    return tools.analysed({ ...photo, template, engine, known }).catch((error) => {
      if (!error.told && operateThere) return null; // it says in every language what cannot be done
      if (!error.told) throw error;
      throw Object.assign(error, { said: tools.said(error.told) });
    });
  }

  /**
   * A pass with interventions: what its manifest has, or a refusal. In this page, once it has the model;
   * until then, and where it cannot, by the host, which also has the tokens of another picture where it has
   * this one. `asked`: the interventions as the host takes them; `other`: the manifest of another picture, by
   * its key.
   * @param {{source: import("./data/source.js").Source, interventions: any[], asked?: any[], layer: number,
   *   token: number,
   *   other: (key: string) => Promise<import("./types.js").Manifest>}} question
   */
  async function operate({ source, interventions, asked = interventions, layer, token, other }) {
    const {
      like,
      model,
      pass: { id },
    } = source.manifest;
    const there = () =>
      like
        ? need()
        : /** @type {NonNullable<typeof operateThere>} */ (operateThere)(asked, id, { layer, token });
    const runner = takesFromOthers(interventions) && operateThere && !like ? undefined : prepare(model);
    if (!operateThere) await runner?.ready;
    if (runner?.state !== "here" && !operateThere) throw refusal("error_no_host");
    if (runner?.state !== "here") return there();
    await source.picture.fetch();
    try {
      count += 1; // each wish in a lane of its own: who asks here waits for the answer
      const lane = String(count);
      const donors = await donorsOf(
        runner,
        interventions,
        async (key) => {
          const one = await other(key);
          return [one, await pixelsOf(one)];
        },
        lane,
      );
      if (!source.manifest.pass.here && !own.has(source)) {
        const { layers } = await /** @type {any} */ (runner.engine).run({
          picture: source.picture.here?.pixels,
          lane,
        });
        source.take(layers);
        own.add(source);
      }
      return await operateHere(runner, source, interventions, donors, { layer, token }, lane);
    } catch (error) {
      if (operateThere) return there(); // it says in every language what cannot be done
      if (!error.key) throw error;
      const errors = runner.tools.said({ key: "experiment." + error.key, values: error.values });
      return granted({ error: errors.en, errors });
    }
  }

  /**
   * Whether explanations of a pass can be had: its model may come here.
   * @param {import("./types.js").Manifest} manifest
   */
  function explains({ model, pass }) {
    return Boolean(weightsOf(weights, model)) && !model.key.image_size && !takesFromOthers(pass.changes);
  }

  /**
   * Answers a request about a pass in place of the host: an explanation, or a step of a fair test. null: the
   * request is for the host. A request for a model that may still be loaded here waits for it.
   * @param {string} name  of the question
   * @param {any} params
   * @param {import("./data/source.js").Source} source
   * @param {(share: number) => void} [told]  hears the share that is done
   */
  async function answer(name, params, source, told = () => {}) {
    const isFile = name === "late" && params.name.startsWith("explain-");
    const runner =
      (isFile || name === "fair") && explains(source.manifest) ? prepare(source.manifest.model) : undefined;
    await runner?.ready;
    if (runner?.state !== "here") return null;
    await source.picture.fetch();
    const { engine, tools, known } = /** @type {any} */ (runner);
    const wanted = {
      engine,
      known,
      source,
      told: (share) => {
        told(share);
        render();
      },
    };
    try {
      return isFile
        ? { buffer: await tools.explanationFile(params.name, wanted) }
        : await tools.fairStep(params, wanted);
    } catch (error) {
      if (!ask || source.disposed) throw error;
      return null; // it says in every language what cannot be done
    }
  }

  /**
   * The manifest of an intact pass, whose late files this page makes where there is no host to ask for them.
   * @param {any} manifest  what is none stays as it is
   */
  function completed(manifest) {
    if (ask || !manifest?.files || !weightsOf(weights, manifest.model)) return manifest;
    let files = /** @type {Promise<Record<string, import("./types.js").PayloadFile>>|null} */ (null);
    const make = (name) => async (signal) => {
      files ??= intact(manifest).catch((error) => {
        files = null;
        throw error;
      });
      const { [name]: file } = await files;
      if (!file?.make) throw notHere(name);
      return file.make(signal);
    };
    const late = Object.entries(manifest.files)
      .filter(([, file]) => file.late)
      .map(([name]) => [name, { make: make(name) }]);
    return { ...manifest, files: { ...manifest.files, ...Object.fromEntries(late) } };
  }

  /**
   * The files that follow from the picture of a manifest, once its model is here.
   * @param {import("./types.js").Manifest} manifest
   */
  async function intact(manifest) {
    const runner = prepare(manifest.model);
    await runner?.ready;
    if (runner?.state !== "here") throw new Error("the model did not come");
    count += 1;
    const { engine, tools, known } = /** @type {any} */ (runner);
    return tools.filesOf(
      await engine.run({ picture: await pixelsOf(manifest), lane: String(count) }),
      manifest.model,
      manifest.pass,
      known,
    );
  }

  /** The pixels that the model saw. @param {import("./types.js").Manifest} manifest */
  async function pixelsOf(manifest) {
    const { signal } = new AbortController(); // whoever asks next needs the same pass
    return readPicture(
      await fetchChecked(/** @type {any} */ (fetchFile), manifest.files.picture, signal),
      manifest,
    ).pixels;
  }
}

/**
 * The answer of a model after an experiment, without the other results of its pass; null where this page
 * cannot compute it at once.
 * @param {import("./runners.js").Runner|undefined} runner
 * @param {import("./data/source.js").Source} source
 * @param {any[]} interventions
 * @returns {Promise<import("./types.js").Pass>|null}
 */
function answerTo(runner, { manifest: { model, pass }, picture }, interventions) {
  if (runner?.state !== "here" || !picture.here || takesFromOthers(interventions)) return null;
  const { engine, tools, known } = /** @type {any} */ (runner);
  const named = { ...pass, ...tools.labelsOf(model, known) };
  return engine
    .run({ picture: picture.here.pixels, interventions, answer: true, lane: "sketch" })
    .then((found) => ({
      ...named,
      ...readResults(tools.answerFile(found, model), { model, pass: named }),
      changes: found.interventions,
      removed: found.removed,
    }));
}

/**
 * The passes of the pictures that interventions take tokens from, by their keys.
 * @returns {Promise<Record<string, import("./data/made.js").Donor>>}
 */
async function donorsOf({ engine }, interventions, pictureOf, lane) {
  const donors = {};
  for (const { from } of interventions) {
    if (from === undefined || donors[from]) continue;
    const [{ photo, model }, picture] = await pictureOf(from);
    donors[from] = { name: photo.name + ", " + model.name, pass: await engine.run({ picture, lane }) };
  }
  return donors;
}

/**
 * @param {any} runner  that is here
 * @param {import("./data/source.js").Source} source
 * @param {any[]} interventions
 * @param {Record<string, import("./data/made.js").Donor>} donors  by the keys that interventions name
 * @param {{layer: number, token: number}} first
 * @param {string} lane
 */
async function operateHere(
  { engine, tools, known },
  { manifest, picture },
  interventions,
  donors,
  first,
  lane,
) {
  const { model } = manifest;
  const passes = Object.fromEntries(Object.entries(donors).map(([key, { pass }]) => [key, pass]));
  const found = tools.named(
    await engine.run({ picture: picture.here.pixels, interventions, donors: passes, lane }),
    donors,
  );
  /** @type {import("./types.js").Pass} */
  const pass = {
    changes: found.interventions,
    removed: found.removed,
    first: { ...first, direction: "from" },
    here: true,
    ...tools.labelsOf(model, known),
  };
  const repaints = touches(found.interventions, "pixels");
  const { picture: repainted, ...files } = tools.filesOf(found, model, pass, known);
  return {
    pass,
    files: repaints ? { ...files, picture: repainted } : files,
    save: () => tools.savedOf(found, manifest, known),
  };
}
