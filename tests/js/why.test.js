/** The first look tells how its light is read only while the picture is lit so. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { SPOTLIGHT } from "../../vitviz/viewer/maths/colour.js";
import { why } from "../../vitviz/viewer/panels/why.js";
import { sourceOf } from "./fixture.js";
import { openPage } from "./page.js";
import { appOf } from "./walk.js";

test("what light and dark mean is said under the spotlight, and not in other colours", async (context) => {
  const { body } = openPage(context);
  const app = /** @type {any} */ (appOf(await sourceOf("cls")));
  const parts = {
    bench: { marks: () => false },
    backend: { changes: false },
    page: { play: null, wide: null },
  };
  Object.assign(app, parts, { taste: { colours: SPOTLIGHT } });
  const panel = /** @type {any} */ (why).create(app);
  body.append(panel.root);
  const note = () => body.querySelectorAll(".vv-note").find((node) => node.textContent === app.t("whyLight"));
  const draw = () => panel.render({ token: 0 });
  draw();
  assert.equal(note().hidden, false);
  app.taste = { colours: "turbo" };
  draw();
  assert.equal(note().hidden, true);
});

test("a larger model is not offered beside a model of this page: its photo would not go along", async (context) => {
  for (const saved_as of [undefined, "own-cup.safetensors"]) {
    const { button } = openPage(context);
    const source = await sourceOf("cls");
    const model = { ...source.manifest.model, saved_as };
    const manifest = { ...source.manifest, model };
    const app = /** @type {any} */ (
      appOf(/** @type {any} */ (Object.create(source, { manifest: { value: manifest } })))
    );
    const wide = { name: "deit", megabytes: 11, open() {} };
    const parts = {
      bench: { marks: () => false },
      backend: { changes: false },
      page: { play: null, wide, widening: false },
    };
    Object.assign(app, parts, { taste: { colours: SPOTLIGHT } });
    const panel = /** @type {any} */ (why).create(app);
    globalThis.document.body.append(panel.root);
    panel.render({ token: 0 });
    const dare = panel.root
      .querySelectorAll("button")
      .find((node) => node.textContent.includes(app.t("dareWide")));
    assert.equal(dare.hidden, saved_as !== undefined);
    assert.ok(button);
  }
});
