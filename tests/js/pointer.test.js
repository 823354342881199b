/** The state of the pointer: previews, pairs, and what a click does. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createPointer } from "../../vitviz/viewer/state/pointer.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { panelOf } from "../../vitviz/viewer/state/panels.js";
import { startSelection } from "../../vitviz/viewer/state/state.js";

const grid = { rows: 2, cols: 3, prefix: 1, tokens: 7 };

function opened(selection = {}) {
  const app = {
    source: /** @type {any} */ ({ grid }),
    bench: { marks: () => false, paints: () => false, shows: "after", list: () => [] },
    drawn: 0,
    selection: { ...startSelection({ depth: 4, heads: 3, grid, panels: PANELS }), ...selection },
    panel: () => panelOf(PANELS, app.selection.panel),
    select(wanted) {
      app.selection = { ...app.selection, ...wanted };
    },
  };
  return Object.assign(app, {
    pointer: createPointer(app, () => {
      app.drawn += 1;
    }),
  });
}

test("pointing looks at a token, draws once for it, and leaves the selection alone", () => {
  const app = opened();
  app.pointer.point(3, false);
  app.pointer.point(3, false);
  assert.deepEqual(
    [app.pointer.pointed, app.pointer.shownToken(), app.selection.token, app.drawn],
    [3, 3, 0, 1],
  );
  app.pointer.point(null, false);
  assert.deepEqual([app.pointer.pointed, app.pointer.shownToken()], [null, 0]);
});

test("a pinned token stays under the pointer, but not under a finger that explores", () => {
  const app = opened({ token: 2, pinned: true });
  app.pointer.point(3, false);
  assert.deepEqual([app.pointer.pointed, app.pointer.shownToken()], [3, 2]);
  app.pointer.point(3, true);
  assert.equal(app.pointer.shownToken(), 3);
});

test("for a patch that is taken out the first look shows where CLS looks", () => {
  const app = opened({ panel: "why", token: 3 });
  Object.assign(app.bench, { marks: () => true, list: () => [{ kind: "remove", patches: [2] }] });
  assert.equal(app.pointer.shownToken(), 0);
  app.pointer.point(4, false);
  assert.equal(app.pointer.shownToken(), 4);
  app.bench.shows = "before";
  app.pointer.point(3, false);
  assert.equal(app.pointer.shownToken(), 3);
  app.bench.shows = "after";
  app.select({ panel: "attention" }); // which says that it is out
  assert.equal(app.pointer.shownToken(), 3);
});

test("a brush that passes over patches compares none of them with a pinned one", () => {
  const app = opened({ token: 2, pinned: true });
  app.bench.paints = () => true;
  app.pointer.point(5, false);
  assert.equal(app.pointer.compared, null);
});

test("a click pins, the same again lets go, and that leads to the start", () => {
  const app = opened();
  app.pointer.pin(4);
  assert.deepEqual([app.selection.token, app.selection.pinned], [4, true]);
  app.pointer.pin(5);
  assert.deepEqual([app.selection.token, app.selection.pinned], [5, true]);
  app.pointer.point(6, true);
  app.pointer.pin(5);
  assert.deepEqual(
    [app.selection.token, app.selection.pinned, app.pointer.pointed, app.pointer.shownToken()],
    [0, false, null, 0],
  );
});

test("Patches and Positions rest on a patch", () => {
  const app = opened({ panel: "patches", token: 2, pinned: true });
  app.pointer.release();
  assert.deepEqual([app.selection.token, app.selection.pinned], [5, false]);
});

test("the two of a pair, by what they do", () => {
  const app = opened({ token: 2, partner: 5 });
  assert.deepEqual(app.pointer.pair(), { query: 2, key: 5 });
  app.select({ direction: "to" });
  assert.deepEqual(app.pointer.pair(), { query: 5, key: 2 });
  app.pointer.pointPair({ query: 1, key: 6 });
  assert.deepEqual(
    [app.pointer.pair(), app.pointer.pointed, app.pointer.shownToken()],
    [{ query: 1, key: 6 }, 1, 6],
  );
  app.select({ direction: "from" });
  app.pointer.pointPair({ query: 1, key: 6 });
  assert.deepEqual(
    [app.pointer.pair(), app.pointer.pointed, app.pointer.shownToken()],
    [{ query: 1, key: 6 }, 6, 1],
  );
  app.pointer.pointPair(null);
  assert.deepEqual(app.pointer.pair(), { query: 2, key: 5 });
});

test("until a partner is chosen it is the other token with most attention", () => {
  const maps = {
    head: (layer, token, direction, head) => {
      assert.deepEqual([layer, direction, head], [3, "from", 1]);
      return token === 2 ? [0.1, 0.05, 0.5, 0.05, 0.3, 0, 0] : [0, 0, 0, 0, 0.1, 0.1, 0.8];
    },
  };
  const app = opened({ panel: "qk", token: 2, head: 1 });
  assert.deepEqual(app.pointer.pair(), { query: 2, key: 0 }, "the layer is not here yet");
  app.source.maps = maps;
  assert.deepEqual(app.pointer.pair(), { query: 2, key: 4 }, "not itself");
  app.select({ token: 6 });
  assert.deepEqual(app.pointer.pair(), { query: 6, key: 4 }, "of two that are alike, the first");
  app.pointer.pin(1);
  assert.deepEqual([app.pointer.pair(), app.selection.partner], [{ query: 6, key: 1 }, 1]);
});

test("beside the panel of pairs the pointer finds a partner, in it only where that is picked", () => {
  const app = opened({ token: 2, partner: 5, pinned: true });
  app.pointer.point(3, false);
  assert.deepEqual([app.pointer.picksPartner(), app.pointer.shownPartner()], [false, 3]);
  app.select({ panel: "qk" });
  assert.deepEqual([app.pointer.picksPartner(), app.pointer.shownPartner()], [true, 5]);
  app.pointer.point(4, true);
  assert.deepEqual([app.pointer.shownToken(), app.pointer.shownPartner()], [2, 4]);
  app.pointer.pin(2);
  assert.deepEqual([app.selection.token, app.selection.partner, app.selection.pinned], [2, 2, true]);
  app.pointer.choosePick("token");
  app.pointer.point(6, true);
  assert.deepEqual(
    [app.pointer.picksPartner(), app.pointer.shownToken(), app.pointer.shownPartner()],
    [false, 6, 2],
  );
  app.pointer.choose(1);
  assert.deepEqual([app.selection.token, app.selection.partner], [1, 2]);
});

test("what was pointed at is forgotten before something else is drawn", () => {
  const app = opened();
  app.pointer.point(3, false);
  app.pointer.light("picture");
  assert.equal(app.pointer.lit, "picture");
  app.pointer.forget();
  assert.deepEqual(
    [app.pointer.pointed, app.pointer.previewed, app.pointer.pointedPartner, app.pointer.lit],
    [null, null, null, null],
  );
});
