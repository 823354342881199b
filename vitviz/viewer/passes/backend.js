/**
 * Backend: decides whether this page or the host computes a pass, and what depends on it. Of an analysis that is
 * shown no other file does; where a new photo goes first, its host decides.
 *
 * This page computes what it has the model for; until the weights have come, and where it cannot, the host
 * does. A photo that has not left this page goes to no host before the visitor agrees (`consent`).
 */

import { HERE, notHere } from "../data/files.js";
import { takesFromOthers, takesTokens } from "../state/experiment.js";
import { lookOf } from "../maths/photolevels.js";
import { LEARNED_HERE, granted, isOnHost, refusal } from "../text/refusal.js";
import { createLocal, sketch } from "./local.js";
import { createLocalModels } from "./localmodels.js";
import { createRemote } from "./remote.js";

/** Questions that a panel asks by itself, and waits for. */
const UNASKED = ["late", "rollout"];

/** Whether a photo is one that the host may not have. @param {import("../state/photos.js").OwnPhoto|null} photo */
const isHeld = (photo) => photo !== null && photo.consent !== "given";

/** @typedef {ReturnType<typeof createBackend>} Backend */

/**
 * @param {import("../types.js").Host} host
 * @param {{fetchFile: (file: any, signal: AbortSignal) => Promise<ArrayBuffer>,
 *   noticing: (error: Error) => never, photos: import("../state/photos.js").PhotoStore,
 *   consent: (ids?: string[]) => never}} on
 *   noticing: hears of each refusal of the host; consent: asks the visitor whether the shown photo may be sent, and
 *   refuses until then; `ids`: of the analyses that the host needs
 * @param {() => void} render  the state of a model has changed
 */
export function createBackend(host, { fetchFile, noticing, photos, consent }, render) {
  const remote = createRemote(host, noticing);
  const models = createLocalModels({ ...host, mayBeSlow: !remote.changes }, render);
  const local = createLocal(fetchFile, render);
  return {
    analyze,
    change: (question) => remote.allowed(change(question)),
    answererOf,
    sketch: sketchOf,
    beside,
    completed,
    explains,
    where,
    prepare: models.prepare,
    model: models.get,
    has: models.has,
    stop: models.stop,
    pixelsOf: local.pixelsOf,
    /** The change below which half precision kept the answers of this page's model; undefined: no change. */
    rounded: ({ model, pass }) =>
      pass.here ? models.get(model)?.known?.described.details.rounded : undefined,
    changes: remote.changes || models.any,
    compares: remote.compares,
    isLocal: (manifest) => manifest.pass.here === true,
    /** Whether the photo of an analysis has not left this page. */
    holdsPhoto: (manifest) => Boolean(manifest.template),
    ask: remote.answers ? ask : null,
    share: remote.share,
    takeHome: host.takeHome ? async (wanted) => (isHere(wanted) ? consent() : remote.takeHome(wanted)) : null,
    /** Takes a photo to the host; it can stand beside then. */
    send:
      host.send && remote.compares
        ? // two photos would be sent, and the visitor was asked about one
          async (manifest, file) => (manifest.template && host.share ? consent() : remote.send(file))
        : null,
  };

  /**
   * A model of this page that has come, or undefined. `asked`: it is needed now, and no host stands in for it.
   * @returns {Promise<any>}
   */
  async function come(model, asked = !remote.changes) {
    const known = models.prepare(model, asked);
    await known?.ready;
    return known?.state === "here" ? known : undefined;
  }

  /**
   * The manifest of a photo that does not leave this page, in the model of another one; null where the host
   * has to analyze it. Rejected for what is no picture, with the sentence by language as `said`, with
   * `modelLost` where the model did not come and no host has it, and with `hostOpens` where the model is here
   * and only the host can open the file.
   * @param {import("../types.js").Manifest} template
   * @param {import("../types.js").PhotoFile} photo
   */
  async function analyze(template, photo) {
    const model = await come(template.model, true);
    const changes = remote.changes && isOnHost(template.model);
    if (!model && !changes && models.has(template.model))
      throw Object.assign(new Error("the model did not come"), { modelLost: true });
    if (!model) return null;
    try {
      const manifest = await local.analyze(model, template, photo);
      if (manifest || !changes) return manifest;
    } catch (error) {
      if (!error.told && changes) return null; // the host says in every language what cannot be done
      if (!error.told) throw error;
      throw Object.assign(error, { said: model.tools.said(error.told, !changes) });
    }
    throw Object.assign(new Error("only the host can open the file"), { hostOpens: true });
  }

  /**
   * Runs a pass with interventions: resolves to the fields of its manifest, or to a refusal. A host that has
   * this picture and another one computes the experiments with tokens of the other one. `asked`: the
   * interventions as the host takes them; `other`: the manifest of another picture, by its key.
   * @param {{source: import("../data/source.js").Source, interventions: any[], asked?: any[], layer: number,
   *   token: number, other: (key: string) => Promise<import("../types.js").Manifest>}} question
   */
  async function change(question) {
    const { source, interventions, asked = interventions, layer, token } = question;
    const { template, model: described, pass } = source.manifest;
    const there = () => (template ? consent() : remote.change(asked, pass.id, { layer, token }));
    const changes = remote.changes && isOnHost(described);
    const knowsDonors = interventions.every(({ from }) => !isHeld(photos.find(from)));
    if (takesFromOthers(interventions) && changes && !template && knowsDonors) return there();
    const model = changes ? models.prepare(described) : await come(described, true);
    if (model?.state !== "here") {
      if (!changes) throw refusal(models.has(described) ? "error_network" : "error_no_host");
      return there();
    }
    try {
      return await local.change(model, question);
    } catch (error) {
      const isImpossible = Boolean(error.key && !error.reasons); // and not the refusal of a donor
      // Of a picture that it has, the host says in every language what cannot be done.
      if (changes && !(template && isImpossible)) return there();
      if (!isImpossible) throw error;
      const errors = /** @type {any} */ (model.tools).said({
        key: "experiment." + error.key,
        values: error.values,
      });
      return granted({ error: errors.en, errors });
    }
  }

  /**
   * Whether this page can make explanations of a pass, once its model has come.
   * @param {import("../types.js").Manifest} manifest
   */
  function explains({ model, pass }) {
    return models.has(model) && !takesFromOthers(pass.changes);
  }

  /**
   * Answers questions about a pass, this page first; null where nobody can.
   * @param {import("../data/source.js").Source} source
   * @returns {import("../data/source.js").Ask|null}
   */
  function answererOf(source) {
    const host = remote.answers ? ask : null;
    if (!explains(source.manifest)) return host;
    return async (name, params, onShare = () => {}) => {
      const found = await answerHere(name, params, source, onShare);
      if (!found && !host) throw notHere(params.name ?? name);
      return found ?? host?.(name, params);
    };
  }

  /**
   * An explanation, or a step of a fair test, by this page; null where the host is to be asked.
   * @param {string} name  of the question
   * @param {any} params
   * @param {import("../data/source.js").Source} source
   * @param {(share: number) => void} onShare  hears the share that is done
   */
  async function answerHere(name, params, source, onShare) {
    const isExplanation = (name === "late" && params.name.startsWith("explain-")) || name === "fair";
    const model = isExplanation ? await come(source.manifest.model) : undefined;
    if (!model) return null;
    try {
      return await local.answer(model, name, params, source, onShare);
    } catch (error) {
      if (!remote.answers || source.disposed || error.gone || error.cause?.gone) throw error;
      return null; // the host says in every language what cannot be done
    }
  }

  /** The answer of a model after an experiment, at once, or null. */
  function sketchOf(source, interventions) {
    const model = models.get(source.manifest.model);
    return model?.state === "here" && !takesTokens(interventions)
      ? sketch(model, source, interventions)
      : null;
  }

  /** Whether a question is about an analysis that was made in this page. */
  function isHere(asked) {
    return asked?.id.startsWith(HERE);
  }

  /** A question to the host about a pass. */
  async function ask(name, params) {
    const here = [params, params.other].filter(isHere);
    if (here.length === 0) return remote.answer(name, params);
    // Explanations are computed one after another, so one that waits would block the rest: it fails instead.
    try {
      return consent(here.map(({ id }) => id));
    } catch (error) {
      const waits = UNASKED.includes(name) && !params.name?.startsWith("explain-");
      if (!waits || error.key === LEARNED_HERE) throw error;
    }
    return new Promise(() => {}); // the panel asks again when the host has the photo
  }

  /**
   * The manifest of an analysis that stands beside another one.
   * @param {import("../types.js").Manifest} manifest  of the first
   * @param {string} key  of what stands beside
   * @param {any} request  the key as the host takes it: of a photo its address
   * @returns {Promise<import("../types.js").Manifest>}
   */
  async function beside(manifest, key, request) {
    const { template, upload, photo } = manifest;
    const look = lookOf(photo);
    if (key === "untrained" && host.twin) {
      const twin = await host.twin();
      return (await analyze(twin.like, { ...twin.photo, ...look })) ?? consent();
    }
    const own = photos.find(key);
    if (own && isHeld(own)) return (await analyze(template ?? manifest, own)) ?? consent([own.id]);
    const fetched = async () => completed(await remote.beside(request, (template ?? manifest).pass.id));
    if (!template) return fetched();
    if (key === template.itself?.key) return template;
    if (key.startsWith("untrained")) return consent();
    const other = await fetched();
    if (!/^(model|size)-/.test(key)) return other;
    const shown = /** @type {any} */ (photos.find(upload?.address));
    return (await analyze(other, { ...shown, ...look })) ?? consent();
  }

  /**
   * The manifest of an intact pass, whose late files this page makes where there is no host to ask for them.
   * @param {any} manifest  without files: stays as it is
   */
  function completed(manifest) {
    if (remote.answers || !manifest?.files || !models.has(manifest.model)) return manifest;
    let files = /** @type {Promise<Record<string, import("../types.js").PayloadFile>>|null} */ (null);
    const intact = async () => {
      const model = await come(manifest.model);
      if (!model) throw Object.assign(new Error("the model did not come"), { modelLost: true });
      return local.files(model, manifest);
    };
    const make = (name) => async (signal) => {
      files ??= intact().catch((error) => {
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
   * Which machine computed a pass, and why. "": only the host runs the model; share: of the weights that has
   * arrived.
   * @param {import("../types.js").Manifest} manifest
   * @returns {{state: ""|"here"|"plain"|"coming"|"there"|"slow"|"failed", share: number}}
   */
  function where({ model: described, pass }) {
    const model = models.get(described);
    if (!model) return { state: "", share: 0 };
    const { state, share, plain } = model;
    if (pass.here) return { state: plain ? "plain" : "here", share };
    return { state: state === "here" ? "there" : state, share };
  }
}
