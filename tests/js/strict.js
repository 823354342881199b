/**
 * The rooms of the viewer in which nothing may be null or undefined unseen: `node strict.js [CONFIG]`.
 *
 * Their files import types from all rooms, so tsc reads and judges those too. Here only what it finds in
 * these rooms counts, and what is of no file of the viewer, such as a fault in the configuration.
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const STRICT = /^\S*viewer\/(?:maths|engine|learn|state)\//;
const FINDING = /^\S*viewer\/\S+\(\d+,\d+\): error /;

/** The findings of tsc that count, each with the lines below it that belong to it. */
function counted(output) {
  const lines = [];
  let keeps = true;
  for (const line of output.split("\n").filter(Boolean)) {
    if (!line.startsWith(" ")) keeps = STRICT.test(line) || !FINDING.test(line);
    if (keeps) lines.push(line);
  }
  return lines;
}

const here = fileURLToPath(new URL(".", import.meta.url));
const config = process.argv[2] ?? here + "tsconfig.strict.json";
const tsc = spawnSync(here + "node_modules/.bin/tsc", ["--project", config], { encoding: "utf8", cwd: here });
if (tsc.error) throw tsc.error;
const found = counted(tsc.stdout + tsc.stderr);
if (found.length > 0) process.stdout.write(found.join("\n") + "\n");
process.exitCode = found.length > 0 ? 1 : 0;
