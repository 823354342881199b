/** Worksheets: the rulers of a printed picture count as the names of its patches do. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { worksheet } from "../../vitviz/viewer/teaching/worksheet.js";
import { servedBy } from "../../vitviz/viewer/text/lesson.js";
import { sourceOf, until } from "./fixture.js";
import { openPage } from "./page.js";
import { appOf, openStep } from "./walk.js";

/** A paper here is its words. */
function paperAsWords(context) {
  openPage(context);
  const part = () => globalThis.document.createElement("div");
  const file = () => ({ documentElement: {}, head: part(), body: part() });
  Object.assign(globalThis.document, {
    implementation: { createHTMLDocument: file },
  });
  globalThis.XMLSerializer = /** @type {any} */ (
    class {
      serializeToString = ({ body }) => body.textContent;
    }
  );
  context.after(() => delete globalThis.XMLSerializer);
}

/** The app in the first step of the first lesson, when all that its papers need is here. */
async function opened(language = "en") {
  const app = /** @type {any} */ (appOf(await sourceOf("cls"), { language }));
  await openStep(app, LESSONS[0], 1);
  await until(() => app.source.picture.get() !== null);
  return app;
}

test("where rows count from 1, the rulers on paper do, too", async (context) => {
  paperAsWords(context);
  const app = await opened();
  const { rows, cols } = app.source.grid;
  const ruler = (first) =>
    [cols, rows].flatMap((count) => Array.from({ length: count }, (_, at) => at + first)).join("");
  for (const fromOne of [false, true]) {
    app.taste = { fromOne };
    const sheet = worksheet(app, false);
    assert.deepEqual([sheet.includes(ruler(0)), sheet.includes(ruler(1))], [!fromOne, fromOne]);
  }
});

test("the key names the competences of the lesson in its language, and the sheet of pupils does not", async (context) => {
  paperAsWords(context);
  for (const [language, word] of Object.entries({
    en: "digital encoding",
    ko: "디지털 부호화",
  })) {
    const app = await opened(language);
    const served = servedBy(app, [LESSONS[0].id]);
    assert.ok(served.includes("AI4K12 1-A-iii " + word));
    assert.deepEqual(
      [true, false].map((key) => worksheet(app, key).includes(served)),
      [true, false],
    );
  }
});
