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
  return {
    /** Opens it, or closes it where it is open. */
    async toggle() {
      const open = living !== null;
      close();
      const runner = app.source && !open ? prepare(app.source.manifest.model) : undefined;
      if (!runner || !take) return;
      const mine = wanted;
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
    living?.end();
    living = null;
    filming(false);
  }
}
