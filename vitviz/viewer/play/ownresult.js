/** Own result: how good the head is on pictures that it has not seen, and which two it confuses most. */

import { percent } from "../maths/numbers.js";
import { el, setText, show } from "../parts/dom.js";
import { thumbnailOf } from "./thumbnails.js";

const LONG_MS = 1000; // from here on the progress is shown

/**
 * @param {{say: import("./texts.js").Say, nameOf: (thing: import("./ownset.js").Thing) => string,
 *   image: {height: number, width: number, channels: number}}} of
 */
export function createOwnResult({ say, nameOf, image }) {
  const [progress, missing] = [el("p", { class: "vv-note", role: "status" }), el("p", { role: "status" })];
  const all = el("b", { class: "vv-play-big" });
  const [big, counts, pair] = [
    el("p", { class: "vv-play-right" }, all, el("span", { text: say("ownAll") })),
    el("ul", { class: "vv-own-counts" }),
    el("div", { class: "vv-own-pair" }),
  ];
  const about = el("p", { class: "vv-note", text: say("ownGoodNote") });
  let drawn = { names: "", found: /** @type {import("./ownmodel.js").Found|null} */ (null) };
  return {
    root: el("div", {}, el("h3", { text: say("ownGood") }), progress, missing, big, counts, about, pair),
    /**
     * @param {{found: import("./ownmodel.js").Found|null, set: import("./ownset.js").OwnSet,
     *   state: {working: boolean, since: number, share: number, failed: string}}} now
     */
    render({ found, state, set }) {
      const long = state.working && performance.now() > state.since + LONG_MS;
      setText(
        progress,
        state.failed
          ? say("ownFailed", { why: state.failed })
          : long
            ? say("ownLearning", { share: Math.floor(100 * state.share) + "%" })
            : "",
      );
      setText(missing, missingIn(found, set));
      const right = found ? sumOf(found.right) : 0;
      const count = found ? sumOf(found.count) : 0;
      for (const node of [big, counts, about]) show(node, count > 0);
      setText(all, say("ownOf", { right, count }));
      const names = JSON.stringify(found?.things.map(nameOf));
      if (names === drawn.names && found === drawn.found) return;
      drawn = { names, found };
      counts.replaceChildren(
        ...(found?.things ?? []).flatMap((thing, at) =>
          found && found.count[at] > 0
            ? [
                el(
                  "li",
                  {},
                  el("span", { text: nameOf(thing) }),
                  el("b", { text: say("ownOf", { right: found.right[at], count: found.count[at] }) }),
                ),
              ]
            : [],
        ),
      );
      pair.replaceChildren(...(found && count > 0 ? pairOf(found) : []));
    },
  };

  /** A sentence about the pictures that are missing; "" if none are. */
  function missingIn(found, set) {
    const content = set.content();
    if (content.things.length < 2) return say("ownFewThings");
    const alone = (found?.things ?? []).filter((_, at) => found.count[at] === 0).map(nameOf);
    return alone.length > 0 ? say("ownAlone", { names: alone.join(", ") }) : "";
  }

  /** @param {import("./ownmodel.js").Found} found */
  function pairOf({ pair: confused, things, pictures, shares }) {
    if (!confused) return [el("p", { text: say("ownNoPair") })];
    const [one, other] = confused.classes.map((at) => nameOf(things[at]));
    const figures = confused.pictures.flatMap((at, side) => {
      if (at < 0) return [];
      const share = /** @type {number[]} */ (shares[at])[confused.classes[1 - side]];
      const [name, like] = side === 0 ? [one, other] : [other, one];
      const text = say("ownPairPicture", { name, other: like, share: percent(share) });
      return [el("figure", {}, thumbnailOf(pictures[at].pixels, image), el("figcaption", { text }))];
    });
    return [
      el("h4", { text: say("ownPair", { one, other, count: confused.times }) }),
      el("div", { class: "vv-own-two" }, ...figures),
      el("p", { text: say("ownPairDo") }),
    ];
  }
}

/** @param {number[]} counts */
export const sumOf = (counts) => counts.reduce((sum, count) => sum + count, 0);
