/** Camera: opens its living picture, whose code comes when it is wanted. */

/** Interval of the checks whether the first analysis is here. */
const LOOK_MS = 50;

/**
 * @param {import("../main.js").App} app
 * @param {import("../types.js").Host} host
 * @param {import("../shell/screen.js").Screen} screen
 * @param {import("../passes/backend.js").Backend["prepare"]} prepare
 */
export function createCamera(app, { running, take, filming = () => {} }, screen, prepare) {
  let living = /** @type {ReturnType<import("../localengine.js").LocalEngine["living"]>|null} */ (null);
  let source = app.source;
  let opener = /** @type {HTMLElement|null} */ (null); // has the focus again when the camera closes
  // wanted: times that it was opened or closed; opening: its code or its model is on the way
  const way = { wanted: 0, opening: false };
  return {
    /** Opens it, or closes it where it is open or on the way. */
    async toggle() {
      const open = living !== null || way.opening;
      close();
      if (open || !take) return;
      const mine = way.wanted;
      const isWanted = () => mine === way.wanted;
      opener = /** @type {HTMLElement|null} */ (document.activeElement);
      if (app.source) prepare(app.source.manifest.model, true);
      way.opening = true;
      /** @type {any} */
      let tools;
      try {
        tools = await /** @type {NonNullable<typeof running>} */ (running)();
        // It may be pressed before the first analysis is here.
        while (!app.source && isWanted()) await new Promise((done) => setTimeout(done, LOOK_MS));
      } finally {
        if (isWanted()) way.opening = false;
      }
      const runner = isWanted() && prepare(app.source.manifest.model, true);
      if (!runner) return;
      source = app.source;
      living = tools.living(app, { runner, take, close });
      filming(true);
      screen.open(living.root);
      living.root.scrollIntoView({ block: "nearest" });
      living.root.querySelector("button")?.focus({ preventScroll: true });
    },
    close,
    /** Another picture or model is looked at by now, or another language spoken. */
    render() {
      if (living && source !== app.source) close();
      living?.render();
    },
  };

  function close() {
    way.wanted += 1;
    way.opening = false;
    const held = living?.root.contains(document.activeElement);
    living?.end();
    living = null;
    if (held && opener?.isConnected) opener.focus({ preventScroll: true });
    filming(false);
  }
}
