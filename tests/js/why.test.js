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
