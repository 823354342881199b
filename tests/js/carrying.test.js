/** Models that leave the playground have names of their own, whichever page they come from. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createCarrying } from "../../vitviz/viewer/play/carrying.js";
import { MODELS, checkpointOf } from "./engine.js";
import { openPage } from "./page.js";

const CLS = /** @type {any} */ (MODELS.find(({ name }) => name === "cls"));

test("models of two data sets that are opened in the viewer do not share a name", async (context) => {
  openPage(context);
  const digits = { classes: ["cup", "pen"], test: { labels: [] } };
  const run = { name: "one of mine", step: 1, settings: {}, right: null };
  const names = [];
  for (let at = 0; at < 2; at++) {
    const carrying = createCarrying(
      /** @type {any} */ ({ weights: async () => checkpointOf(CLS) }),
      /** @type {any} */ (digits),
      async ({ template }) => names.push(template.model.key.name),
    );
    await carrying.show(/** @type {any} */ (run), { key: "sign-1", pixels: new Uint8Array(28 * 28) });
    carrying.stop();
  }
  assert.equal(new Set(names).size, 2);
});
