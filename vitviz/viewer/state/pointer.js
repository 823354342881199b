/**
 * The state of the pointer: what is shown while it is there; not in the history. Links hold `compared` alone.
 */

import { strongest } from "../maths/attention.js";
import { removedIn } from "./experiment.js";
import { restingToken } from "./panels.js";

const NOTHING = { pointed: null, previewed: null, pointedPartner: null, lit: null, compared: null };

/**
 * The other token that the shown one has most attention with. While the layer is not here, the first
 * other one.
 */
function strongestPartner(app) {
  const { layer, head, direction } = app.selection;
  const token = app.pointer.shownToken();
  const first = token === 0 && app.source.grid.tokens > 1 ? 1 : 0;
  const map = app.source.maps?.head(layer, token, direction, head);
  return (map ? strongest(map, 2) : []).find((other) => other !== token) ?? first;
}

/**
 * `pointed` is the token under the pointer; `previewed` replaces the selected token and `pointedPartner` the
 * partner while the pointer stays; `lit` is the part of the picture that a line of the ledger is about;
 * `compared` the token that was pointed at last while another was pinned.
 * @param {import("../main.js").App} app
 * @param {() => void} render
 * @returns {import("../app.d.ts").Pointer}
 */
export function createPointer(app, render) {
  let frozen = false;
  function look(next) {
    if (frozen) return;
    const changed = Object.keys(next).filter((field) => next[field] !== pointer[field]);
    if (changed.length === 0) return;
    Object.assign(pointer, next);
    render();
  }
  /**
   * The token whose attention is shown for another: in the first look the answer token (CLS) for a patch that
   * is taken out, which looks nowhere. Panels say so instead.
   */
  function standIn(token) {
    const { bench, source } = app;
    const { prefix, rows, cols } = source.grid;
    if (prefix === 0 || !app.panel().plain || !bench.marks() || bench.shows === "before") return token;
    return removedIn(bench.list(), rows * cols).has(token - prefix) ? 0 : token;
  }
  /** @type {import("../app.d.ts").Pointer} */
  const pointer = {
    ...NOTHING,
    pairPick: "partner",
    shownToken: () => standIn(pointer.previewed ?? app.selection.token),
    shownPartner() {
      const other = app.panel().pairs ? null : pointer.pointed;
      const { partner } = app.selection;
      return pointer.pointedPartner ?? other ?? (partner === "strongest" ? strongestPartner(app) : partner);
    },
    pair() {
      const [token, partner] = [pointer.shownToken(), pointer.shownPartner()];
      return app.selection.direction === "from"
        ? { query: token, key: partner }
        : { query: partner, key: token };
    },
    picksPartner: () => Boolean(app.panel().pairs) && pointer.pairPick === "partner",
    choosePick: (pairPick) => look({ pairPick }),
    point(token, exploring) {
      if (pointer.picksPartner()) return pointer.pointPartner(token);
      const { pinned, token: selected } = app.selection;
      const preview = token !== null && (exploring || !pinned) ? token : null;
      const other = token !== null && pinned && token !== selected && !app.bench.paints();
      return look({
        pointed: token,
        previewed: preview,
        pointedPartner: null,
        compared: other ? token : pointer.compared,
      });
    },
    preview: (token) => look({ pointed: null, previewed: token, pointedPartner: null }),
    pointPartner: (token) => look({ pointed: token, previewed: null, pointedPartner: token }),
    pointPair(cell) {
      if (!cell) return look({ pointed: null, previewed: null, pointedPartner: null });
      const [token, partner] =
        app.selection.direction === "from" ? [cell.query, cell.key] : [cell.key, cell.query];
      return look({ pointed: partner, previewed: token, pointedPartner: partner });
    },
    freeze(on) {
      frozen = on;
    },
    light: (lit) => look({ lit }),
    forget: () => Object.assign(pointer, NOTHING),
    choose(token) {
      pointer.compared = null;
      app.select(pointer.picksPartner() ? { partner: token } : { token, pinned: true });
    },
    pin(token) {
      const again = app.selection.pinned && app.selection.token === token;
      if (again && !pointer.picksPartner()) pointer.release();
      else pointer.choose(token);
    },
    release() {
      pointer.previewed = pointer.pointed = pointer.compared = null;
      app.select({ token: restingToken(app.panel(), app.source.grid), pinned: false });
    },
  };
  return pointer;
}
