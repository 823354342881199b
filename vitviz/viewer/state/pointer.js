/**
 * The state of the pointer: what is shown while it is there; not in the history. Links hold `compared` alone.
 */

import { strongest } from "../maths/attention.js";
import { restingToken } from "./panels.js";

const NOTHING = { pointed: null, previewed: null, pointedPartner: null, lit: null, compared: null };

/**
 * The other token that the shown one has most attention with. While the layer is not here, the first
 * other one.
 */
function strongestPartner(app) {
  const { layer, head, direction } = app.selection;
  const token = app.shownToken();
  const first = token === 0 && app.source.grid.tokens > 1 ? 1 : 0;
  const map = app.source.maps?.head(layer, token, direction, head);
  return (map ? strongest(map, 2) : []).find((other) => other !== token) ?? first;
}

/**
 * The part of the app that follows the pointer. `pointed` is the token under it; `previewed` replaces
 * the selected token and `pointedPartner` the partner while the pointer stays; `lit` is the part of
 * the picture that a line of the ledger is about; `compared` the token that was pointed at last while
 * another was pinned.
 * @param {import("../main.js").App} app
 * @param {() => void} render
 */
export function createPointerState(app, render) {
  let frozen = false;
  function look(next) {
    if (frozen) return;
    const changed = Object.keys(next).filter((field) => next[field] !== app[field]);
    if (changed.length === 0) return;
    Object.assign(app, next);
    render();
  }
  return {
    ...NOTHING,
    /** The effect of a click on the picture in a panel of pairs: "partner" or "token". */
    pairPick: "partner",
    shownToken: () => app.previewed ?? app.selection.token,
    /** The partner that is shown: in a panel without pairs, the token under the pointer. */
    shownPartner() {
      const other = app.panel().pairs ? null : app.pointed;
      const { partner } = app.selection;
      return app.pointedPartner ?? other ?? (partner === "strongest" ? strongestPartner(app) : partner);
    },
    /** The two tokens of the pair as query and key. */
    pair() {
      const [token, partner] = [app.shownToken(), app.shownPartner()];
      return app.selection.direction === "from"
        ? { query: token, key: partner }
        : { query: partner, key: token };
    },
    picksPartner: () => Boolean(app.panel().pairs) && app.pairPick === "partner",
    choosePick: (pairPick) => look({ pairPick }),
    /** The pointer is over a token. A pinned token stays shown, unless a finger explores. */
    point(token, exploring) {
      if (app.picksPartner()) return app.pointPartner(token);
      const preview = token !== null && (exploring || !app.selection.pinned) ? token : null;
      const other = token !== null && app.selection.pinned && token !== app.selection.token;
      return look({
        pointed: token,
        previewed: preview,
        pointedPartner: null,
        compared: other ? token : app.compared,
      });
    },
    /** Shows another token for a while; null: the selected one again. */
    preview: (token) => look({ pointed: null, previewed: token, pointedPartner: null }),
    pointPartner: (token) => look({ pointed: token, previewed: null, pointedPartner: token }),
    /** The pointer is over a cell of a whole map; null: it has left the map. */
    pointPair(cell) {
      if (!cell) return look({ pointed: null, previewed: null, pointedPartner: null });
      const [token, partner] =
        app.selection.direction === "from" ? [cell.query, cell.key] : [cell.key, cell.query];
      return look({ pointed: partner, previewed: token, pointedPartner: partner });
    },
    /** While it is frozen, the pointer changes nothing. */
    freeze(on) {
      frozen = on;
    },
    /** Lights a part of the picture: "picture", tokens {first, end}, or null. */
    light: (lit) => look({ lit }),
    /** Resets the state of the pointer, before another analysis is drawn. */
    forget: () => Object.assign(app, NOTHING),
    choose(token) {
      app.compared = null;
      app.select(app.picksPartner() ? { partner: token } : { token, pinned: true });
    },
    pin(token) {
      const again = app.selection.pinned && app.selection.token === token;
      if (again && !app.picksPartner()) app.release();
      else app.choose(token);
    },
    release() {
      app.previewed = app.pointed = app.compared = null;
      app.select({ token: restingToken(app.panel(), app.source.grid), pinned: false });
    },
  };
}
