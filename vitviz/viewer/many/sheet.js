/** Sheet: the pictures of an album with their maps and answers, sorted, and statistics over all of them. */

import { el, setText, show } from "../parts/dom.js";
import { fileField, takesDrops } from "../parts/drops.js";
import { button, choice } from "../parts/widgets.js";
import { saidOf } from "../text/phototold.js";
import { MOST, createAlbum, meanOf, together } from "./album.js";
import { createSummary } from "./summary.js";
import { createTile } from "./tile.js";

/**
 * Orders of the sheet: each gives a number for each picture, the least first.
 * @type {Record<string, (item: import("./album.js").Item, common: number) => number|string>}
 */
const ORDERS = {
  order: () => 0,
  sure: ({ results }) => -(results?.answer?.probability ?? 0),
  answer: ({ results }) => results?.answer?.name ?? "",
  far: ({ distance }) => -meanOf(distance ?? []),
  unlike: (_item, common) => common,
};

/**
 * The album that the sheet shows. changed: draws it anew; drawn: the colours in which it was drawn.
 * @typedef {ReturnType<typeof createAlbum>
 *   & {runner: import("../passes/localmodels.js").LocalModel, changed: () => void, drawn?: string}} Shown
 */

/**
 * The sheet of the album of this page; it is kept on `app` while the model stays, for it outlives the photo
 * that is shown.
 * @param {import("../main.js").App} app
 * @param {import("../passes/localmodels.js").LocalModel} runner  that is here
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createMany(app, runner) {
  const { model } = app.source.manifest;
  const say = (key, values = {}) => saidOf({ key, values }, true)[app.language];
  const before = app.album?.runner === runner ? null : app.album;
  before?.stop();
  if (app.album?.runner !== runner)
    app.album = Object.assign(
      createAlbum({ .../** @type {any} */ (runner), model, pixelsOf: app.backend.pixelsOf }, () =>
        app.album.changed(),
      ),
      { runner, changed() {} },
    );
  const album = app.album;
  for (const item of album.items()) item.name = item.names?.[app.language] ?? item.name;
  const named = model.head === "classes";
  let [sorted, failed, adding] = ["order", false, false];
  const tiles = /** @type {Map<import("./album.js").Item, HTMLElement>} */ (new Map());
  const input = fileField("image/*", take, true);
  const tools = {
    choose: press("choose", () => input.click()),
    examples: press("examples", addExamples),
    stop: press("stop", album.stop),
    go: press("go", () => run(album.go())),
    clear: press("clear", album.clear),
  };
  const note = el("p", { role: "status" });
  const lost = el("ul", { class: "vv-note" });
  const summary = createSummary(app, model, say);
  const orders = Object.keys(ORDERS).filter((name) => named || !["sure", "answer"].includes(name));
  const order = choice({
    label: say("many_sort"),
    wrap: true,
    options: orders.map((value) => ({ value, text: say("many_by_" + value) })),
    onChoose(value) {
      sorted = value;
      draw();
    },
  });
  const sheet = el("div", { class: "vv-sheet", role: "list", "aria-label": say("many_sheet") });
  const root = takesDrops(
    el(
      "div",
      {},
      summary.found,
      el("p", { class: "vv-intro", text: say("many_intro", { most: MOST }) + " " + say("many_private") }),
      el("div", { class: "vv-many-tools" }, input, ...Object.values(tools)),
      note,
      lost,
      order.root,
      sheet,
      summary.root,
    ),
    take,
  );
  root.classList.add("vv-takes-all");
  order.set(sorted);
  album.changed = draw;
  draw();
  if (before)
    add(
      before
        .items()
        .filter(({ file }) => file)
        .map(({ name, file }) => ({ name, file })),
    ); // another model sees the same photos
  return {
    root,
    render() {
      if (album.drawn !== colours()) draw();
      else summary.mark();
    },
  };

  function press(name, onClick) {
    return button({ text: say("many_" + name), title: say("many_" + name + "_title"), onClick });
  }

  function colours() {
    return app.taste.colours;
  }

  async function run(work) {
    failed = false;
    try {
      await work;
    } catch (error) {
      failed = true;
      draw();
      throw error;
    }
  }

  function add(more) {
    return run(album.add(more));
  }

  function take(files) {
    return add([...files].map((file) => ({ name: file.name, file })));
  }

  /** Adds the examples of the page; the one on the screen comes first. */
  async function addExamples() {
    if (adding) return;
    adding = true;
    const { manifest } = app.source; // another one may be shown when their turn comes
    const { itself } = manifest;
    const keys = [
      ...(itself?.kind === "example" ? [itself] : []),
      ...app.comparisons.besides().filter(({ kind }) => kind === "example"),
    ];
    const fresh = keys.filter(({ key }) => !album.items().some((item) => item.key === key));
    const manifestOf = async (key) =>
      key === itself?.key ? manifest : app.comparisons.manifestOf(key, undefined, manifest);
    await add(
      fresh.map(({ key, name, names }) => ({
        key,
        name: names?.[app.language] ?? name,
        names: { en: name, ...names },
        manifest: () => manifestOf(key),
      })),
    ).finally(() => {
      adding = false;
    });
  }

  /** Draws everything that depends on the album. */
  function draw() {
    if (album.changed !== draw) return;
    album.drawn = colours();
    const { running, over, total, waiting } = album.state();
    const [done, broken] = [album.done(), album.broken()];
    const all = together(done, model);
    const busy = running && waiting > 0;
    for (const [name, useful] of Object.entries({
      choose: total < MOST,
      examples: total < MOST && !adding && app.comparisons.besides().some(({ kind }) => kind === "example"),
      stop: busy,
      go: waiting > 0 && !running,
      clear: total > 0,
    }))
      show(tools[name], useful);
    setText(
      note,
      failed
        ? say("camera_broken")
        : waiting > 0
          ? say("many_progress", { done: total - waiting, total })
          : over > 0
            ? say("many_over", { over, most: MOST })
            : "",
    );
    lost.replaceChildren(...broken.map(({ told }) => el("li", { text: say(told.key, told.values) })));
    for (const node of [order.root, sheet, summary.root, summary.found]) show(node, all !== null);
    if (!all) {
      tiles.clear();
      sheet.replaceChildren();
      return;
    }
    const placed = done.map((item, at) => ({
      item,
      at,
      by: ORDERS[sorted](item, all.common.get(item) ?? 0),
    }));
    placed.sort((a, b) => (a.by < b.by ? -1 : a.by > b.by ? 1 : a.at - b.at));
    placed.forEach(({ item }, at) => {
      // a tile that is not moved keeps the focus
      if (sheet.children[at] !== tileOf(item)) sheet.insertBefore(tileOf(item), sheet.children[at] ?? null);
    });
    while (sheet.children.length > placed.length) sheet.lastChild.remove();
    if (!busy) summary.render(done, all);
  }

  function tileOf(item) {
    const tile = tiles.get(item) ?? createTile(app, item, say);
    tiles.set(item, tile);
    return tile;
  }
}
