/**
 * Prints the syntax trees (ESTree) of some JavaScript files as JSON, in their order: for tests/mutants.py.
 */

import { readFileSync } from "node:fs";
import { parse } from "espree"; // comes with eslint

const trees = process.argv
  .slice(2)
  .map((path) =>
    parse(readFileSync(path, "utf8"), { ecmaVersion: "latest", sourceType: "module", range: true }),
  );
process.stdout.write(JSON.stringify(trees));
