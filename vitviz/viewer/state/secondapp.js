/** The app as the parts of the second source see it: tokens are carried over to the other grid. */

import { derived } from "./derivedapp.js";
import { startToken } from "../maths/geometry.js";
import { carried, followed, startSelection, validSelection } from "./state.js";

/**
 * The same app for another source. Both share what is selected and pointed at: a patch by its place in
 * the picture, a layer or a head by its number if both have it.
 * @param {import("../main.js").App} app
 * @param {import("../data/source.js").Source} source
 * @returns {{app: import("../main.js").App, show: (next: import("../data/source.js").Source) => void}}
 *   show: exchanges the source, as each answer of an experiment does
 */
export function secondApp(app, source) {
  const shape = () => ({ ...app.shape(), ...source.shape });
  const forward = (token) => followed(token, app.source.grid, source.grid) ?? startToken(source.grid);
  const there = (token) => (token === null ? null : forward(token));
  const backFrom = (token) => followed(token, source.grid, app.source.grid) ?? startToken(app.source.grid);
  const back = (token) => (token === null ? null : backFrom(token));
  /** @type {{of?: any, here?: any}} */
  let last = {};
  function selection() {
    if (last.of !== app.selection) {
      const wanted = carried(app.selection, app.source.grid, source.grid);
      last = { of: app.selection, here: validSelection(wanted, startSelection(shape()), shape()) };
    }
    return last.here;
  }
  /**
   * Whether the first model has these layers and this head, too: both share what is selected.
   * @param {{layer?: number, first?: number, head?: number|"mean"}} wanted
   */
  const isInBoth = ({ layer = 0, first = 0, head = 0 }) => {
    const { depth, heads } = app.shape();
    return Math.max(layer, first) < depth && (head === "mean" || head < heads);
  };
  const tokensOf = (wanted, carry) =>
    Object.fromEntries(
      Object.entries(wanted).map(([name, value]) => [
        name,
        name === "token" || name === "partner" ? carry(value) : value,
      ]),
    );
  const pointer = derived(app.pointer, {
    get pointed() {
      return there(app.pointer.pointed);
    },
    get previewed() {
      return there(app.pointer.previewed);
    },
    get pointedPartner() {
      return there(app.pointer.pointedPartner);
    },
    shownToken: () => forward(app.pointer.shownToken()),
    shownPartner: () => forward(app.pointer.shownPartner()),
    pair: () => tokensOfPair(app.pointer.pair(), there),
    point: (token, exploring) => app.pointer.point(back(token), exploring),
    pointPartner: (token) => app.pointer.pointPartner(back(token)),
    pointPair: (cell) => app.pointer.pointPair(cell && tokensOfPair(cell, back)),
    choose: (token) => app.pointer.choose(backFrom(token)),
    pin: (token) => app.pointer.pin(backFrom(token)),
  });
  const second = derived(app, {
    get source() {
      return source;
    },
    get selection() {
      return selection();
    },
    pointer,
    shape,
    facing: () => app,
    page: derived(app.page, { resize: null }), // what stands beside chooses its size
    select: (wanted) => isInBoth(wanted) && app.select(tokensOf(wanted, back)),
  });
  return { app: second, show: (next) => (source = next) };
}

function tokensOfPair({ query, key }, carry) {
  return { query: carry(query), key: carry(key) };
}
