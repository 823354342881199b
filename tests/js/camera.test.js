/** The camera opens when it is pressed, also before the first analysis is here, and closes with it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { el } from "../../vitviz/viewer/parts/dom.js";
import { createCamera } from "../../vitviz/viewer/session/camera.js";
import { openPage, settled } from "./page.js";

/** A camera in a page, and what it has opened and prepared. */
function cameraIn(context, source = null) {
  const { body } = openPage(context);
  const app = /** @type {any} */ ({ source });
  const [opened, prepared, filming] = [[], [], []];
  const living = () => {
    const root = el("div", {}, el("button"));
    return { root, render() {}, end: () => root.remove() };
  };
  const camera = createCamera(
    app,
    /** @type {any} */ ({
      running: async () => ({ living }),
      take: () => {},
      filming: (on) => filming.push(on),
    }),
    /** @type {any} */ ({
      open: (root) => {
        opened.push(root);
        body.append(root);
      },
    }),
    /** @type {any} */ ((model, asked) => prepared.push([model, asked])),
  );
  return { app, body, camera, opened, prepared, filming };
}

const sourceOf = (model) => ({ manifest: { model } });

test("a camera that is pressed before the first analysis opens when it comes", async (context) => {
  const { app, camera, opened, prepared } = cameraIn(context);
  const opens = camera.toggle();
  await settled(80);
  assert.equal(opened.length, 0);
  app.source = sourceOf("small");
  camera.render();
  await opens;
  assert.equal(opened.length, 1);
  assert.deepEqual(prepared.at(-1), ["small", true]);
  app.source = sourceOf("other");
  camera.render();
  assert.equal(opened[0].isConnected, false);
});

test("pressed again before it opens, it stays closed", async (context) => {
  const { app, camera, opened } = cameraIn(context);
  const opens = camera.toggle();
  camera.close();
  app.source = sourceOf("small");
  await opens;
  assert.equal(opened.length, 0);
});

test("a second press of its button before it opens gives it up", async (context) => {
  const { app, camera, opened } = cameraIn(context);
  const opens = [camera.toggle(), camera.toggle()];
  app.source = sourceOf("small");
  await Promise.all(opens);
  assert.equal(opened.length, 0);
  await camera.toggle();
  assert.equal(opened.length, 1);
});

test("the keyboard is back where the camera was opened", async (context) => {
  const { body, camera, opened } = cameraIn(context, sourceOf("small"));
  const button = el("button");
  body.append(button);
  button.focus();
  await camera.toggle();
  opened[0].querySelector("button").focus();
  camera.close();
  assert.equal(globalThis.document.activeElement, button);
});
