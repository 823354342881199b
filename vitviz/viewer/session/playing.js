/** Playing: opens the playground, which comes as a file of its own, and shows what has learned there. */

/**
 * A model from the playground.
 * @typedef
 *   {{template: import("../types.js").Manifest, buffer: ArrayBuffer, photo: import("../types.js").PhotoFile}}
 *   Adopted
 */

/**
 * @param {import("../main.js").App} app
 * @param {import("../types.js").Host} host
 * @param
 *   {(template: import("../types.js").Manifest, photo: import("../types.js").PhotoFile) => Promise<boolean>}
 *   show
 * @returns {{open: (settings?: string) => Promise<void>, draw: import("../types.js").Host["draw"],
 *   destroy: () => void}}  draw: what is drawn is for the model that has learned here, while that is shown;
 *   open: in settings as a link has them, or as it was
 */
export function createPlaying(app, { element, address = null, playing, digitsOf, weights = {}, draw }, show) {
  /** @type {Promise<{open: (settings?: string) => void, destroy: () => void}>|null} */
  let coming = null;
  let ours = /** @type {import("../types.js").Manifest|null} */ (null);
  if (playing && address && new URL(address.read()).searchParams.has("play")) open();
  return {
    open,
    draw:
      draw &&
      (async (file, name, first) => {
        if (ours && app.source?.manifest.template === ours) await show(ours, { file, name });
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
      fetchDigits: async () => {
        const [train, test] = await Promise.all([digitsOf("train"), digitsOf("test")]);
        return { train, test };
      },
    });
  }

  /** Shows a model that has learned here, as any other. @param {Adopted} adopted */
  function adopt({ template, buffer, photo }) {
    weights[template.model.key.name] = buffer;
    ours = template;
    return show(template, photo);
  }
}
