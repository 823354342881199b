/**
 * Playing: opens the playground, which comes as a file of its own, with what it needs of the page, and shows what
 * has learned there.
 */

import { visitPanel } from "../state/panels.js";
import { translated } from "../text/words.js";
import { createTaughtRow } from "./taughtrow.js";

const POOLS = ["token", "avg", "token_avg"]; // one vector for a picture, that a head reads
const LOOK_MS = 100; // between two looks whether the first analysis has come
const MOST_ADOPTED = 6; // whose weights are kept, as engines are; one can stand beside its successors

/** @typedef {import("../types.js").Host} Host */

/**
 * A model from the playground. pictures: some of those it was taught with; all: opens all panels.
 * @typedef {{template: import("../types.js").Manifest, buffer: ArrayBuffer, photo: import("../types.js").PhotoFile,
 *   pictures?: import("./taughtrow.js").TaughtPicture[], all?: boolean}} Adopted
 */

/**
 * @param {import("../main.js").App} app
 * @param {Host} host
 * @param {(template: import("../types.js").Manifest, photo: import("../types.js").PhotoFile) => Promise<boolean>} show
 * @returns {{open: (settings?: string) => Promise<void>, begin: (play: () => Promise<void>) => void,
 *   learned: () => boolean, give: (photo: import("../types.js").PhotoFile) => Promise<boolean>,
 *   draw: Host["draw"], take: Host["take"], look: Host["look"],
 *   row: HTMLElement, render: () => void, destroy: () => void}}
 *   open: opens the playground with the settings of a link, by default as it was left; begin: calls `play` if
 *   the address asks for the playground; learned: whether the shown model has learned here; give: shows a
 *   photo to that model; draw, take, look: functions of the host, except while the shown model has learned
 *   here: its photos go to `give`, because no host knows that model; row: the pictures that the model was
 *   taught with
 */
export function createPlaying(app, host, show) {
  const { element, address = null, playing, digitsOf, weights = {}, draw, take, look, adopted } = host;
  /** @type {Promise<{open: (settings?: string) => void, destroy: () => void}>|null} */
  let coming = null;
  let ours = /** @type {import("../types.js").Manifest|null} */ (null);
  let given = /** @type {import("../types.js").PhotoFile|null} */ (null); // the photo that was shown to it last
  let taught = /** @type {import("./taughtrow.js").TaughtPicture[]} */ ([]);
  const adoptedNames = /** @type {string[]} */ ([]);
  const isOurs = () => ours !== null && app.source?.manifest.template === ours;
  const nameToHost = createNaming(app, adopted);
  const row = createTaughtRow(app, async (picture) => {
    if (isOurs()) await give(await picture.file());
  });
  return {
    open,
    begin(play) {
      const asked = address && new URL(address.read()).searchParams;
      if (playing && (asked?.has("play") || asked?.has("teach"))) play().catch(() => {}); // the page has said so
    },
    learned: isOurs,
    give,
    row: row.root,
    render() {
      row.render(isOurs() ? taught : []);
      nameToHost(isOurs());
    },
    draw:
      draw &&
      (async (file, name, first) => {
        if (isOurs()) await give({ file, name });
        else await draw(file, name, first);
      }),
    take: take && ((file, name) => (isOurs() ? give({ file, name }) : take(file, name))),
    look: look && ((wanted) => (given && isOurs() ? give({ ...given, ...wanted }) : look(wanted))),
    destroy: () =>
      coming?.then(
        ({ destroy }) => destroy(),
        () => {},
      ),
  };

  /** Shows a photo to the model that has learned here. @param {import("../types.js").PhotoFile} photo */
  async function give(photo) {
    const before = given;
    given = photo;
    let shown = false;
    try {
      shown = await show(/** @type {import("../types.js").Manifest} */ (ours), photo);
    } finally {
      if (!shown && given === photo) given = before; // it is no picture
    }
    return shown;
  }

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
  async function adopt({ template, buffer, photo, pictures = [], all = false }) {
    weights[template.model.key.name] = buffer;
    adoptedNames.push(template.model.key.name);
    if (adoptedNames.length > MOST_ADOPTED) delete weights[adoptedNames.shift()];
    [ours, taught] = [template, pictures];
    if (all && !app.taste.all) {
      app.prefer({ all });
      app.select(visitPanel(app.panels.find(({ first }) => first).id, app.selection, app.shape()));
    }
    return give(photo);
  }

  /**
   * A trained model of this page on which a new head can be put: the first that takes colour pictures,
   * beginning with the shown one; else the first grey one; null if there is none.
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

/**
 * Tells the host the name of a model that has learned here while it is shown, and "" when another one is.
 * @param {import("../main.js").App} app @param {Host["adopted"]} adopted
 */
function createNaming(app, adopted = () => {}) {
  let name = "";
  return (isOurs) => {
    const now = isOurs ? translated(app.source.manifest.model.title, app) : "";
    if (now !== name) adopted(now);
    name = now;
  };
}

/** The settings that decide how a model sees a photo. @param {import("../types.js").Model} model */
const seenBy = ({ image, mean, std }) => [image, mean, std];

/** Whether a head can be put on a model. @param {import("../types.js").Model} model */
const isTrunk = ({ trained, pool, key, prefix_tokens: prefix }) =>
  trained && !key.untrained && !key.image_size && POOLS.includes(pool) && !prefix.includes("dist_token");
