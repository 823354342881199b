/** A photo of the visitor's: one value from the file to the host, and whether it may be sent. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createConsent } from "../../vitviz/viewer/session/consent.js";
import { createConsentQuestion } from "../../vitviz/viewer/shell/consentquestion.js";
import { besidesOf } from "../../vitviz/viewer/state/comparable.js";
import { PhotoStore } from "../../vitviz/viewer/state/photos.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { openPage, settled } from "./page.js";

const FILE = new Blob(["a"]);

/** An app in whose panel "explain" a photo is shown, or none. */
function consentOf(photos, photo, host = { share: () => {} }) {
  const upload = photo && { address: photo.id, name: photo.name };
  const manifest = /** @type {any} */ ({ model: {}, pass: { id: "here-1" }, ...(photo && { upload }) });
  const app = { source: { manifest }, selection: { panel: "explain" } };
  const did = [];
  const consent = createConsent(app, host, photos, {
    share: async () => did.push("share"),
    render: () => did.push("render"),
  });
  return { app, consent, did };
}

test("a photo that was taken is not to be sent before the visitor says so, and then has its address", () => {
  const photos = new PhotoStore();
  const photo = photos.create({ file: FILE, name: "cat.jpg" });
  assert.deepEqual(
    [photo.consent, photo.address, photo.inverted, photo.stretched],
    ["unasked", null, false, false],
  );
  assert.equal(photos.find(photo.id), null, "it may be no picture");
  photos.keep(photo);
  photos.sent(photo, "/a");
  photos.sent(photo, "/b"); // uploaded again
  assert.deepEqual([photo.consent, photo.address], ["given", "/b"]);
  for (const name of [photo.id, "/a", "/b"]) assert.equal(photos.find(name), photo);
  assert.equal(photos.find(undefined), null);
});

test("a photo that is kept again takes the place of itself, and says which are forgotten", () => {
  const photos = new PhotoStore();
  const [first, ...others] = Array.from({ length: 6 }, (_, at) =>
    photos.create({ file: FILE, name: at + ".jpg" }),
  );
  for (const photo of [first, ...others]) assert.deepEqual(photos.keep(photo), []);
  const inverted = { ...others[4], inverted: true };
  assert.deepEqual(photos.keep(inverted), []);
  assert.equal(photos.find(inverted.id), inverted);
  assert.deepEqual(photos.keep(photos.create({ file: FILE, name: "new.jpg" })), [first]);
  assert.equal(photos.all.length, 6);
});

test("a photo stands beside others where this page has it, or the host", () => {
  const photos = new PhotoStore();
  const held = photos.create({ file: FILE, name: "held.jpg" });
  const gone = photos.create({ file: FILE, name: "gone.jpg", consent: "given" }); // of before a reload
  for (const photo of [held, gone]) photos.keep(photo);
  const names = (manifest) => besidesOf(manifest, null, true, false, photos.all).map(({ name }) => name);
  assert.deepEqual(names({}), ["held.jpg"]);
  photos.sent(gone, "/gone");
  assert.deepEqual(names({}), ["gone.jpg", "held.jpg"]);
  assert.deepEqual(names({ upload: { address: held.id, name: "held.jpg" } }), ["gone.jpg"]);
});

test("a no holds for the photo in all panels, until something else is chosen for it", () => {
  const photos = new PhotoStore();
  const photo = photos.create({ file: FILE, name: "cat.jpg" });
  photos.keep(photo);
  const heard = [];
  const { app, consent, did } = consentOf(photos, photo, {
    share: () => {},
    refused: () => heard.push("no"),
  });
  assert.deepEqual([consent.isAsked(), consent.isRefused()], [false, false]);
  assert.throws(consent.require, /server/);
  assert.equal(consent.isAsked(), true);
  consent.refuse();
  assert.deepEqual([photo.consent, heard], ["no", ["no"]]);
  app.selection = { panel: "rollout" };
  assert.equal(consent.isAsked(), false);
  const before = did.length;
  assert.throws(consent.require, /stays|kept|sent/);
  assert.deepEqual([consent.isAsked(), consent.isRefused(), did.length > before], [true, true, true]);
  consent.ask(photo);
  assert.deepEqual([photo.consent, consent.isRefused()], ["unasked", false]);
  consent.forget();
  assert.equal(consent.isAsked(), false);
});

test("a question about a model that was chosen stays in every panel; that of a panel in its own", () => {
  const photos = new PhotoStore();
  const photo = photos.create({ file: FILE, name: "cat.jpg" });
  photos.keep(photo);
  const { app, consent } = consentOf(photos, photo);
  const asksIn = (panel) => ((app.selection = { panel }), consent.isAsked());
  consent.ask(photo);
  assert.deepEqual([asksIn("explain"), asksIn("rollout")], [true, true]);
  consent.refuse();
  assert.deepEqual([asksIn("explain"), asksIn("rollout")], [true, false]);
  consent.forget();
  assert.throws(consent.require, { key: "photoKept" });
  assert.deepEqual([asksIn("rollout"), asksIn("explain")], [true, false]);
  photo.consent = "unasked";
  consent.ask(photo);
  assert.throws(consent.require, { key: "needsServer" });
  assert.equal(asksIn("rollout"), true, "a panel needs it, too");
  consent.forget();
  assert.equal(asksIn("explain"), false);
});

test("a photo that only the host can open is asked about alone, in all panels, and a no forgets it", () => {
  const photos = new PhotoStore();
  const shown = photos.create({ file: FILE, name: "cat.jpg" });
  const scan = photos.create({ file: FILE, name: "scan.tiff" });
  photos.keep(shown);
  const { consent } = consentOf(photos, shown, {
    share: () => {},
    refused: () => assert.fail("the photo that is shown was not asked about"),
  });
  consent.askToOpen(scan);
  assert.deepEqual([consent.isAsked(), consent.unopened()], [true, scan]);
  consent.refuse();
  assert.deepEqual([consent.isAsked(), consent.isRefused(), shown.consent], [false, false, "unasked"]);
  consent.askToOpen(scan);
  consent.forget(); // another photo came
  assert.equal(consent.unopened(), null);
});

test("a host that takes no photos is never asked, and a photo in place of an example has its own answer", () => {
  const photos = new PhotoStore();
  const { consent } = consentOf(photos, null, {});
  assert.throws(consent.require);
  assert.equal(consent.isAsked(), false);
  // Its model is one of the host's: the photo is shown nowhere yet.
  const photo = photos.create({ file: FILE, name: "cat.jpg" });
  const other = consentOf(photos, null).consent;
  other.ask(photo);
  other.refuse();
  assert.equal(photo.consent, "no");
});

test("the question is about the photo on the board, whatever is on its way there", async () => {
  const photos = new PhotoStore();
  const [shown, next] = ["a.jpg", "b.jpg"].map((name) => photos.create({ file: FILE, name }));
  for (const photo of [shown, next]) photos.keep(photo);
  photos.shown = shown;
  const { app, consent } = consentOf(photos, shown);
  assert.throws(consent.require, { key: "needsServer" });
  photos.shown = next;
  assert.equal(consent.photo(), shown);
  consent.refuse();
  assert.deepEqual([shown.consent, next.consent], ["no", "unasked"]);
  app.source.manifest.upload.address = next.id;
  assert.throws(consent.require, { key: "needsServer" });
  assert.equal(consent.photo(), next);
});

test("a photo that stands beside the shown one is not asked about: one that is sent would be shown", () => {
  const photos = new PhotoStore();
  const photo = photos.create({ file: FILE, name: "a.jpg" });
  photos.keep(photo);
  const { app, consent } = consentOf(photos, photo);
  assert.throws(() => consent.require(["here-2"]), { key: "photoKept" });
  assert.equal(consent.isAsked(), false);
  const beside = (address) => {
    const manifest = { pass: { id: "here-2" }, upload: { address } };
    Object.assign(app, { second: { app: { source: { manifest } } } });
  };
  beside("another photo");
  assert.throws(() => consent.require(["here-2"]), { key: "photoKept" });
  beside(photo.id); // in another model
  assert.throws(() => consent.require(["here-2"]), { key: "needsServer" });
  assert.equal(consent.isAsked(), true);
});

test("while a photo is sent nobody is asked again, until the host has answered or it could not be sent", async () => {
  const photos = new PhotoStore();
  const photo = photos.create({ file: FILE, name: "cat.jpg" });
  photos.keep(photo);
  const sent = [];
  const app = {
    source: { manifest: { model: {}, pass: { id: "here-1" }, upload: { address: photo.id } } },
    selection: { panel: "explain" },
  };
  const fails = { now: false };
  const consent = createConsent(app, { share: () => {} }, photos, {
    share: async (shown) => {
      sent.push(shown);
      if (fails.now) throw new Error("no server");
    },
    render: () => {},
  });
  assert.throws(consent.require);
  await consent.send();
  assert.deepEqual([sent, consent.isSending()], [[photo], true]);
  consent.over(); // the host has refused the analysis
  assert.equal(consent.isSending(), false);
  fails.now = true;
  await assert.rejects(consent.send(), /no server/);
  assert.equal(consent.isSending(), false);
});

test("a photo that is sent twice stands once, and each says when it was kept", () => {
  const photos = new PhotoStore();
  for (const now of [5, 7]) photos.keep(photos.create({ address: "/a", name: "a.jpg" }), now);
  assert.deepEqual(
    photos.all.map(({ kept }) => kept),
    [7],
  );
});

test("a model that has learned in this page asks for no photo: no host has it", () => {
  const photos = new PhotoStore();
  const own = photos.create({ file: FILE, name: "a.jpg" });
  photos.keep(own);
  photos.shown = own;
  const { app, consent } = consentOf(photos, own);
  app.source.manifest.model.saved_as = "own-cup-pen.safetensors";
  assert.throws(consent.require, { key: "learnedHere" });
  assert.deepEqual([consent.isAsked(), own.consent], [false, "unasked"]);
  delete app.source.manifest.model.saved_as;
  assert.throws(consent.require, { key: "needsServer" });
});

test("that one photo could not be sent does not hide the question about the next", async (context) => {
  const { body, button } = openPage(context);
  const photos = new PhotoStore();
  const { app, consent } = consentOf(photos, null);
  const [one, other] = ["a.tiff", "b.tiff"].map((name) => photos.create({ file: FILE, name }));
  const t = translator("en");
  Object.assign(app, { t, language: "en", consent });
  const line = createConsentQuestion(/** @type {any} */ (app));
  body.append(line.root);
  const said = () => (line.render(), line.root.textContent);
  consent.askToOpen(one);
  consent.send = async () => {
    throw new Error("no server");
  };
  button(t("sendPhoto")).click();
  await settled();
  assert.match(said(), /could not be sent/);
  consent.askToOpen(other);
  assert.ok(said().includes(t("sendToOpen", { name: "b.tiff" })));
});
