/** Own cheat: counts the right answers that stay without the middle of the pictures, and without their rim. */

import { Overtaken } from "../engine/client.js";
import { readOf, sidesOf } from "../maths/halves.js";
import { el, setText, show } from "../parts/dom.js";
import { allow, button } from "../parts/widgets.js";
import { thumbnailOf } from "./thumbnails.js";

const OUT = "rgb(128 128 128)"; // colour of the patches that are taken out

/**
 * @typedef {import("./ownmodel.js").Found} Found
 * @typedef {Awaited<ReturnType<ReturnType<typeof import("./ownmodel.js").createOwnModel>["halves"]>>} Counts
 */

/** Counts by the head that they are of; they outlive the page, which is made anew. @type {WeakMap<Found, Counts>} */
const counted = new WeakMap();

/**
 * @param {{trunk: import("./ownmodel.js").Trunk, model: ReturnType<typeof import("./ownmodel.js").createOwnModel>,
 *   say: import("./texts.js").Say, nameOf: (thing: import("./ownset.js").Thing) => string}} of
 */
export function createCheat({ trunk: { template }, model, say, nameOf }) {
  const { image, grid } = template.model;
  const press = button({ text: say("ownCheat"), title: say("ownCheatTitle"), onClick: look });
  const [status, list] = [
    el("p", { class: "vv-note", role: "status" }),
    el("div", { class: "vv-own-halves", role: "list" }),
  ];
  const note = el("p", { class: "vv-note", text: say("ownCheatNote") });
  const now = {
    found: /** @type {Found|null} */ (null),
    drawn: /** @type {Found|null} */ (null),
    busy: false,
  };
  render(null);
  return { root: el("div", {}, press, status, list, note), render };

  /** @param {Found|null} found  what is learned */
  function render(found) {
    now.found = found;
    const counts = found ? counted.get(found) : null;
    if (found && counts && now.drawn !== found) {
      now.drawn = found;
      list.replaceChildren(...counts.map((of) => entryOf(nameOf(of.thing), of, found)));
    }
    allow(press, !now.busy && Boolean(found?.count.some((count) => count > 0)));
    for (const node of [list, note]) show(node, now.drawn !== null && now.drawn === found);
  }

  async function look() {
    const { found } = now;
    if (!found || now.busy) return;
    now.busy = true;
    render(found);
    try {
      const counts = await model.halves(found, (share) =>
        setText(status, say("ownCheating", { share: Math.floor(100 * share) + "%" })),
      );
      counted.set(found, counts);
      now.drawn = null;
      setText(status, "");
    } catch (error) {
      if (error instanceof Overtaken) return; // pressed again on the page in another language
      setText(status, say("ownFailed", { why: error.message }));
      throw error;
    } finally {
      now.busy = false;
      render(now.found);
    }
    list.scrollIntoView({ block: "nearest" });
  }

  /**
   * @param {string} name
   * @param {Counts[number]} of
   * @param {Found} found
   */
  function entryOf(name, of, found) {
    const text = {
      rim: say("ownReads_rim", { name }),
      middle: say("ownReads_middle", { name }),
      both: say("ownReads_both", { name }),
      nothing: say("ownReads_nothing", { name }),
    }[readOf(of)];
    const halves = /** @type {[string, number, "middle"|"rim"][]} */ ([
      ["ownCheatMiddle", of.withoutMiddle, "middle"],
      ["ownCheatRim", of.withoutRim, "rim"],
    ]);
    const figures = of.pictures
      .slice(0, 1)
      .flatMap((at) =>
        halves.map(([key, right, side]) =>
          el(
            "figure",
            {},
            without(found.pictures[at].pixels, sidesOf(grid)[side]),
            el("figcaption", { text: say(key, { right, count: of.right, name }) }),
          ),
        ),
      );
    return el("div", { role: "listitem" }, el("p", { text }), el("div", { class: "vv-own-two" }, ...figures));
  }

  /** A picture whose patches are covered. @param {Uint8Array} pixels @param {number[]} patches */
  function without(pixels, patches) {
    const canvas = thumbnailOf(pixels, image);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const [height, width] = [image.height / grid.rows, image.width / grid.cols];
    context.fillStyle = OUT;
    for (const patch of patches)
      context.fillRect((patch % grid.cols) * width, Math.floor(patch / grid.cols) * height, width, height);
    return canvas;
  }
}
