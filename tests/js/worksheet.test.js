/** Worksheets: the rulers of a printed picture count as the names of its patches do. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { worksheet } from "../../vitviz/viewer/teaching/worksheet.js";
import { sourceOf, until } from "./fixture.js";
import { openPage } from "./page.js";
import { appOf, openStep } from "./walk.js";

test("where rows count from 1, the rulers on paper do, too", async (context) => {
  openPage(context);
  const part = () => globalThis.document.createElement("div");
  const file = () => ({ documentElement: {}, head: part(), body: part() });
  Object.assign(globalThis.document, { implementation: { createHTMLDocument: file } });
  globalThis.XMLSerializer = /** @type {any} */ (
    class {
      serializeToString = ({ body }) => body.textContent;
    }
  );
  context.after(() => delete globalThis.XMLSerializer);
  const app = appOf(await sourceOf("cls"));
  await openStep(app, LESSONS[0], 1);
  await until(() => app.source.picture.get() !== null);
  const { rows, cols } = app.source.grid;
  const ruler = (first) =>
    [cols, rows].flatMap((count) => Array.from({ length: count }, (_, at) => at + first)).join("");
  for (const fromOne of [false, true]) {
    app.taste = { fromOne };
    const sheet = worksheet(/** @type {any} */ (app), false);
    assert.deepEqual([sheet.includes(ruler(0)), sheet.includes(ruler(1))], [!fromOne, fromOne]);
  }
});
