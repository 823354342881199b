/** Assembles vitviz/viewer/engine/kernels.wat and writes module.js: `node tests/js/assemble.js`. */

import { readFileSync, writeFileSync } from "node:fs";

import wabt from "wabt";

const ENGINE = new URL("../../vitviz/viewer/engine/", import.meta.url);

/** The text of module.js, for kernels.wat as it is. */
export async function assembled() {
  const { parseWat } = await wabt();
  const module = parseWat("kernels.wat", readFileSync(new URL("kernels.wat", ENGINE), "utf8"), {
    simd: true,
    bulk_memory: true,
  });
  module.validate();
  const { buffer } = module.toBinary({});
  return (
    "/** The bytes of kernels.wat, in base64; `node tests/js/assemble.js` writes them. */\n" +
    'export const MODULE = "' +
    Buffer.from(buffer).toString("base64") +
    '";\n'
  );
}

if (process.argv[1] === new URL(import.meta.url).pathname)
  writeFileSync(new URL("module.js", ENGINE), await assembled());
