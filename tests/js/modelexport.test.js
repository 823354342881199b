/** Models that leave the playground have names of their own, whichever page they come from. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createModelExport } from "../../vitviz/viewer/play/modelexport.js";
import { MODELS, checkpointOf } from "./engine.js";
import { openPage } from "./page.js";

const CLS = /** @type {any} */ (MODELS.find(({ name }) => name === "cls"));

test("models of two data sets that are opened in the viewer do not share a name", async (context) => {
  openPage(context);
  const digits = { classes: ["cup", "pen"], test: { labels: [] } };
  const run = { name: "one of mine", step: 1, settings: {}, right: null };
  const names = [];
  for (let at = 0; at < 2; at++) {
    const modelExport = createModelExport(
      /** @type {any} */ ({ weights: async () => checkpointOf(CLS) }),
      /** @type {any} */ (digits),
      async ({ template }) => names.push(template.model.key.name),
    );
    await modelExport.show(/** @type {any} */ (run), { key: "sign-1", pixels: new Uint8Array(28 * 28) });
    modelExport.stop();
  }
  assert.equal(new Set(names).size, 2);
});

test("a model of a file has its own temperature, and the ink that its recipe tells of", async (context) => {
  openPage(context);
  const adopted = async (details) => {
    const buffer = checkpointOf(CLS, (_tensors, meta) => Object.assign(meta.details, details));
    const modelExport = createModelExport(
      /** @type {any} */ ({ weights: async () => buffer }),
      /** @type {any} */ ({ classes: ["cup", "pen"], test: { labels: [] } }),
      async ({ template }) => Object.assign(found, template.model),
    );
    const found = /** @type {any} */ ({});
    const run = { name: "one", step: 1, settings: {}, right: null };
    await modelExport.show(/** @type {any} */ (run), { key: "sign-1", pixels: new Uint8Array(28 * 28) });
    modelExport.stop();
    return [found.temperature, found.calibrated, found.light_ink_only];
  };
  assert.deepEqual(await adopted({ temperature: "0.597", recipe: "{" }), [0.597, true, false]);
  const light = await adopted({ recipe: '{"name": "mnist", "invert": 0.0}' });
  assert.deepEqual(light, [1, false, CLS.preprocess.mean[0] < 1 / 3]);
  assert.deepEqual(await adopted({ recipe: '{"name": "mnist", "invert": 0.5}' }), [1, false, false]);
});
