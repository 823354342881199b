/**
 * Playing: opens the playground, which comes as a file of its own, with what it needs of the page, and shows what
 * has learned there.
 */

import { createTaughtRow } from "./taughtrow.js";

const POOLS = ["token", "avg", "token_avg"]; // one vector for a picture, that a head reads
const LOOK_MS = 100; // between two looks whether the first analysis has come

/**
 * A model from the playground. pictures: some of those it was taught with.
 * @typedef
 *   {{template: import("../types.js").Manifest, buffer: ArrayBuffer, photo: import("../types.js").PhotoFile,
 *   pictures?: import("./taughtrow.js").TaughtPicture[]}} Adopted
 */

/**
 * @param {import("../main.js").App} app
 * @param {import("../types.js").Host} host
 * @param
 *   {(template: import("../types.js").Manifest, photo: import("../types.js").PhotoFile) => Promise<boolean>}
 *   show
 * @returns {{open: (settings?: string) => Promise<void>, draw: import("../types.js").Host["draw"],
 *   row: HTMLElement, render: () => void, destroy: () => void}}  draw: what is drawn is for the model that has
 *   learned here, while that is shown; open: in settings as a link has them, or as it was; row: the pictures it was
 *   taught with
 */
export function createPlaying(app, { element, address = null, playing, digitsOf, weights = {}, draw }, show) {
  /** @type {Promise<{open: (settings?: string) => void, destroy: () => void}>|null} */
  let coming = null;
  let ours = /** @type {import("../types.js").Manifest|null} */ (null);
  let taught = /** @type {import("./taughtrow.js").TaughtPicture[]} */ ([]);
  const isOurs = () => ours !== null && app.source?.manifest.template === ours;
  const row = createTaughtRow(app, async (picture) => {
    if (ours && isOurs()) await show(ours, await picture.file());
  });
  const asked = address && new URL(address.read()).searchParams;
  if (playing && (asked?.has("play") || asked?.has("teach"))) open();
  return {
    open,
    row: row.root,
    render: () => row.render(isOurs() ? taught : []),
    draw:
      draw &&
      (async (file, name, first) => {
        if (ours && isOurs()) await show(ours, { file, name });
        else await draw(file, name, first);
      }),
    destroy: () =>
      coming?.then(
        ({ destroy }) => destroy(),
        () => {},
      ),
  };

  async function open(settings) {
    coming ??= make();
    try {
      (await coming).open(settings);
    } catch (error) {
      coming = null; // it can be asked for again
      throw error;
    }
  }

  async function make() {
    const { createPlayground } = await playing();
    return createPlayground({
      element,
      address,
      adopt,
      trunk,
      picture,
      fetchDigits: async () => {
        const [train, test] = await Promise.all([digitsOf("train"), digitsOf("test")]);
        return { train, test };
      },
    });
  }

  /** Shows a model that has learned here, as any other. @param {Adopted} adopted */
  function adopt({ template, buffer, photo, pictures = [] }) {
    weights[template.model.key.name] = buffer;
    [ours, taught] = [template, pictures];
    return show(template, photo);
  }

  /**
   * A trained model of this page that a visitor's own things can be taught: the one that is shown, or the first of
   * colours; null where there is none.
   */
  async function trunk() {
    while (!app.source) await new Promise((done) => setTimeout(done, LOOK_MS));
    const { manifest } = app.source;
    const others = app.comparisons
      .besides()
      .filter(({ key, kind }) => kind === "model" && Object.hasOwn(weights, key.replace("model-", "")));
    const makers = [
      async () => manifest.template ?? manifest,
      ...others.map(
        ({ key }) =>
          () =>
            app.comparisons.manifestOf(key),
      ),
    ];
    let grey = null;
    for (const make of makers) {
      const template = await make();
      const found = isTrunk(template.model) ? await runs(template.template ?? template) : null;
      if (found && template.model.image.channels === 3) return found;
      grey ??= found;
    }
    return grey;
  }

  /** @param {import("../types.js").Manifest} template */
  async function runs(template) {
    const model = app.backend.prepare(template.model, true);
    await model?.ready;
    return model?.state === "here" ? { template, known: model.known, tools: model.tools } : null;
  }

  /** The picture that is shown, as a model sees it; null where another one sees it otherwise. */
  async function picture({ template: { model } }) {
    const { source } = app;
    if (!source || JSON.stringify(seenBy(model)) !== JSON.stringify(seenBy(source.manifest.model)))
      return null;
    await source.picture.fetch();
    return source.picture.here && { pixels: source.picture.here.pixels, file: null };
  }
}

/** The settings that decide how a model sees a photo. @param {import("../types.js").Model} model */
const seenBy = ({ image, mean, std }) => [image, mean, std];

/** Whether a head can be put on a model. @param {import("../types.js").Model} model */
const isTrunk = ({ trained, pool, key, prefix_tokens: prefix }) =>
  trained && !key.untrained && !key.image_size && POOLS.includes(pool) && !prefix.includes("dist_token");
