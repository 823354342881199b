/** Camera: opens its living picture, whose code comes when it is wanted. */

/**
 * @param {import("../main.js").App} app
 * @param {import("../types.js").Host} host
 * @param {import("../shell/screen.js").Screen} screen
 * @param {import("../passes/backend.js").Backend["prepare"]} prepare
 */
export function createCamera(app, { running, take, filming = () => {} }, screen, prepare) {
  let living = /** @type {ReturnType<import("../localengine.js").LocalEngine["living"]>|null} */ (null);
  let [source, wanted] = [app.source, 0];
  let opener = /** @type {HTMLElement|null} */ (null); // has the focus again when the camera closes
  return {
    /** Opens it, or closes it where it is open. */
    async toggle() {
      const open = living !== null;
      close();
      const runner = app.source && !open ? prepare(app.source.manifest.model, true) : undefined;
      if (!runner || !take) return;
      const mine = wanted;
      opener = /** @type {HTMLElement|null} */ (document.activeElement);
      source = app.source;
      const tools = await /** @type {NonNullable<typeof running>} */ (running)();
      if (mine !== wanted || source !== app.source) return;
      living = tools.living(app, { runner, take, close });
      filming(true);
      screen.open(living.root);
      living.root.scrollIntoView({ block: "nearest" });
      living.root.querySelector("button")?.focus({ preventScroll: true });
    },
    close,
    /** Another picture or model is looked at by now, or another language spoken. */
    render() {
      if (source !== app.source) close();
      living?.render();
    },
  };

  function close() {
    wanted += 1;
    const held = living?.root.contains(document.activeElement);
    living?.end();
    living = null;
    if (held && opener?.isConnected) opener.focus({ preventScroll: true });
    filming(false);
  }
}
