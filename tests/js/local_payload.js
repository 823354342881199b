/**
 * Computes passes as a page does, and writes the files of each: `node local_payload.js QUESTION`, a file in JSON with
 * the address of the weights, a picture in base64, another one that tokens are taken from, and cases, which
 * have a folder, the manifest's model and photo, and interventions.
 */

import { readFileSync, writeFileSync } from "node:fs";

import { filesOf, named } from "../../vitviz/viewer/data/localpayload.js";
import { savedOf } from "../../vitviz/viewer/data/saved.js";
import { Core } from "../../vitviz/viewer/engine/core.js";
import { parseSafetensors, readMetadata } from "../../vitviz/viewer/maths/safetensors.js";

const { weights, picture, other, cases } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const buffer = new Uint8Array(readFileSync(weights)).buffer;
const described = JSON.parse(readMetadata(buffer).vitviz);
const core = new Core();
// A page is free between the layers of what takes long: so often it was.
let free = 0;
/** @type {any} */ (globalThis).requestIdleCallback = (next) => {
  free += 1;
  return setTimeout(next);
};
for (const { folder, model, photo, interventions, first } of cases) {
  const facts = core.load(buffer); // forgets the passes before, where it would begin otherwise
  const seen = (text) => new Uint8Array(Buffer.from(text, "base64"));
  const donor = core.run({ picture: seen(other.picture) });
  const donors = interventions.map(({ from, layer }) =>
    from ? { tokens: /** @type {any} */ (donor.tokens)[layer], width: donor.width } : null,
  );
  const found = named(core.run({ picture: seen(picture), interventions, donors }), {
    other: { name: other.name + ", " + model.name, pass: donor },
  });
  const pass = { changes: found.interventions, removed: found.removed, first };
  const known = { facts, described, tensors: parseSafetensors(buffer) };
  for (const [name, { make }] of Object.entries(filesOf(found, model, pass, known))) {
    writeFileSync(`${folder}/${name}.safetensors`, new Uint8Array(await /** @type {any} */ (make)()));
  }
  writeFileSync(`${folder}/saved`, new Uint8Array(savedOf(found, { model, photo }, known)));
  const wanted = 3 * (model.depth - 1); // heads, features, and those behind the last norm
  if (free !== wanted) throw new Error("the page was free " + free + " times, wanted " + wanted);
  free = 0;
}
