/** Local passes: what this page computes itself. Its callers know that the model has come. */

import { readPicture, readResults } from "../data/analysis.js";
import { fetchChecked } from "../data/files.js";
import { touches } from "../state/experiment.js";

/** @typedef {import("./localmodels.js").LocalModel} LocalModel */

/**
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
 * @param {() => void} render  an explanation has come further
 */
export function createLocal(fetchFile, render) {
  let lanes = 0;
  /**
   * Sources whose intact layers were computed in this page.
   * @type {WeakSet<import("../data/source.js").Source>}
   */
  const exact = new WeakSet();
  return { analyze, change, answer, files, pixelsOf };

  /** Each request that waits for its answer has a lane of its own. */
  function newLane() {
    lanes += 1;
    return String(lanes);
  }

  /**
   * The manifest of a photo that does not leave this page, in the model of another manifest; null for a file
   * that only the host can open.
   * @param {LocalModel} model
   * @param {import("../types.js").Manifest} template
   * @param {import("../types.js").PhotoFile} photo
   */
  function analyze({ engine, known, tools }, template, photo) {
    return /** @type {any} */ (tools).analysed({ ...photo, template, engine, known });
  }

  /**
   * Manifest of a pass with interventions, whose intact layers are computed first.
   * @param {LocalModel} model
   * @param {{source: import("../data/source.js").Source, interventions: any[], layer: number, token: number,
   *   other: (key: string) => Promise<import("../types.js").Manifest>}} question
   */
  async function change(model, { source, interventions, layer, token, other }) {
    await source.picture.fetch();
    const lane = newLane();
    const donors = await donorsOf(model, interventions, other, lane);
    if (!source.manifest.pass.here && !exact.has(source)) {
      const { layers } = await /** @type {any} */ (model.engine).run({
        picture: source.picture.here?.pixels,
        lane,
      });
      source.take(layers);
      exact.add(source);
    }
    return changed(model, source, interventions, donors, { layer, token }, lane);
  }

  /**
   * An explanation as a file, or a step of a fair test.
   * @param {LocalModel} model
   * @param {string} name  of the question
   * @param {any} params
   * @param {import("../data/source.js").Source} source
   * @param {(share: number) => void} onShare  hears the share that is done
   */
  async function answer({ engine, tools, known }, name, params, source, onShare) {
    await source.picture.fetch();
    const told = (share) => {
      onShare(share);
      render();
    };
    const wanted = /** @type {any} */ ({ engine, known, source, told });
    const functions = /** @type {import("../localengine.js").LocalEngine} */ (tools);
    return name === "late"
      ? { buffer: await functions.explanationFile(params.name, wanted) }
      : functions.fairStep(params, wanted);
  }

  /**
   * The files of an intact pass that follow from its picture.
   * @param {LocalModel} model
   * @param {import("../types.js").Manifest} manifest
   */
  async function files({ engine, tools, known }, manifest) {
    const run = /** @type {any} */ (engine).run({ picture: await pixelsOf(manifest), lane: newLane() });
    return /** @type {any} */ (tools).filesOf(await run, manifest.model, manifest.pass, known);
  }

  /** Pixels that the model saw. @param {import("../types.js").Manifest} manifest */
  async function pixelsOf(manifest) {
    const { signal } = new AbortController(); // another caller needs the same pass
    return readPicture(await fetchChecked(fetchFile, manifest.files.picture, signal), manifest).pixels;
  }

  /**
   * Passes of the pictures that interventions take tokens from, by their keys.
   * @returns {Promise<Record<string, import("../data/localpayload.js").Donor>>}
   */
  async function donorsOf({ engine }, interventions, other, lane) {
    const donors = {};
    for (const { from } of interventions) {
      if (from === undefined || donors[from]) continue;
      const manifest = await other(from);
      const pass = await engine.run({ picture: await pixelsOf(manifest), lane });
      donors[from] = { name: manifest.photo.name + ", " + manifest.model.name, pass };
    }
    return donors;
  }
}

/**
 * Runs an experiment for the answer of the model alone, without the other results of its pass; null while the
 * picture is not here.
 * @param {LocalModel} model
 * @param {import("../data/source.js").Source} source
 * @param {any[]} interventions
 * @returns {Promise<import("../types.js").Pass>|null}
 */
export function sketch({ engine, tools, known }, { manifest: { model, pass }, picture }, interventions) {
  if (!picture.here) return null;
  const functions = /** @type {any} */ (tools);
  const labelled = { ...pass, ...functions.labelsOf(model, known) };
  return /** @type {any} */ (engine)
    .run({ picture: picture.here.pixels, interventions, answer: true, lane: "sketch" })
    .then((run) => ({
      ...labelled,
      ...readResults(functions.answerFile(run, model), { model, pass: labelled }),
      changes: run.interventions,
      removed: run.removed,
    }));
}

/**
 * @param {any} model  a LocalModel that has come
 * @param {import("../data/source.js").Source} source
 * @param {any[]} interventions
 * @param {Record<string, import("../data/localpayload.js").Donor>} donors  by the keys that interventions name
 * @param {{layer: number, token: number}} first
 * @param {string} lane
 */
async function changed({ engine, tools, known }, { manifest, picture }, interventions, donors, first, lane) {
  const { model } = manifest;
  const passes = Object.fromEntries(Object.entries(donors).map(([key, { pass }]) => [key, pass]));
  const run = tools.named(
    await engine.run({ picture: picture.here.pixels, interventions, donors: passes, lane }),
    donors,
  );
  /** @type {import("../types.js").Pass} */
  const pass = {
    changes: run.interventions,
    removed: run.removed,
    first: { ...first, direction: "from" },
    here: true,
    ...tools.labelsOf(model, known),
  };
  const repaints = touches(run.interventions, "pixels");
  const { picture: repainted, ...files } = tools.filesOf(run, model, pass, known);
  return {
    pass,
    files: repaints ? { ...files, picture: repainted } : files,
    save: () => tools.savedOf(run, manifest, known),
  };
}
