/** Dialogs close where somebody means it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { el } from "../../vitviz/viewer/parts/dom.js";
import { createDialog } from "../../vitviz/viewer/parts/dialog.js";
import { openPage } from "./page.js";

test("a click on the backdrop closes a dialog, and text that is selected up to there does not", (context) => {
  const { body } = openPage(context);
  const note = el("textarea");
  const dialog = /** @type {any} */ (createDialog((key) => key, "title", "vv-x", note));
  body.append(dialog);
  dialog.showModal();
  /** @type {any} */ (note).send("pointerdown");
  dialog.click();
  assert.equal(dialog.open, true);
  dialog.send("pointerdown");
  dialog.click();
  assert.equal(dialog.open, false);
});
