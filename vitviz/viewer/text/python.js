/**
 * The Python that makes the arrays on the screen: cells of the files in snippets/, with the values of the
 * page.
 */

import { SNIPPETS } from "./snippets.js";

/**
 * @typedef {{vitviz: string, torch: string|null}} Code  with vitviz's own functions, and with plain PyTorch,
 *   where there is one
 */

/**
 * A text from outside as a Python literal. What cannot be seen is escaped: it could end the line, or
 * make a reader see other code than Python does.
 * @param {string} text
 * @returns {string}
 */
export function literal(text) {
  const escaped = [...text].map((letter) => {
    if (letter === '"' || letter === "\\") return "\\" + letter;
    if (/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(letter)) return letter;
    const code = letter.codePointAt(0);
    return code > 0xffff
      ? "\\U" + code.toString(16).padStart(8, "0")
      : "\\u" + code.toString(16).padStart(4, "0");
  });
  return '"' + escaped.join("") + '"';
}

/** A value of JSON as a Python literal. */
function valueOf(value) {
  if (value === null) return "None";
  if (Array.isArray(value)) return "[" + value.map(valueOf).join(", ") + "]";
  if (typeof value === "string") return literal(value);
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return String(value);
  const items = Object.entries(value).map(([name, item]) => literal(name) + ": " + valueOf(item));
  return "{" + items.join(", ") + "}";
}

/** The call that loads the model. @param {import("../types.js").Model} model */
function loadCall({ key: { name, untrained, image_size: size }, outputs, saved_as: file }) {
  const sides = size && (size[0] === size[1] ? size[0] : "(" + size.join(", ") + ")");
  const given = [
    literal(file ?? name),
    untrained && "pretrained=False",
    sides && "image_size=" + sides,
    outputs !== "one_of" && "outputs=" + literal(outputs),
  ];
  return "vitviz.load(" + given.filter(Boolean).join(", ") + ")";
}

/**
 * A change; the tokens of a transplant are those of another photo in the same model, of which the pass tells
 * both names.
 */
function changeOf({ from, ...change }, model) {
  if (from === undefined) return valueOf(change);
  const photo = from.endsWith(", " + model.name) ? from.slice(0, -model.name.length - 2) : from;
  return valueOf(change).slice(0, -1) + ', "from": vitviz.analyze(loaded, ' + literal(photo) + ")}";
}

/** The call that analyses the photo, with what was done to it first and in the pass. */
function analyzeCall({ name, inverted, stretched }, changes, model) {
  const lines = changes.map((change) => "    " + changeOf(change, model) + ",\n").join("");
  const given = [
    "loaded",
    literal(name || "photo.jpg"),
    inverted && "invert=True",
    stretched && "stretch=True",
    lines && "interventions=[\n" + lines + "]",
  ];
  return "vitviz.analyze(" + given.filter(Boolean).join(", ") + ")";
}

/**
 * Cells of a file, each once and below those that it needs, with all imports on top; lines as `layer, head =
 * 2, 0` get the values of the page. Null if the file lacks one of the cells.
 * @param {string} source  where a line `# %% NAME (needs NAME, NAME)` begins a cell
 * @param {string[]} wanted
 * @param {Record<string, string>} values  as Python
 * @returns {string|null}
 */
export function filled(source, wanted, values) {
  const cells = new Map(
    [...source.matchAll(/^# %% (\w+)(?: \(needs (.+)\))?\n([^]*?)(?=^# %% |$(?![^]))/gm)].map(
      ([, name, needs, text]) => [name, { needs: needs?.split(", ") ?? [], text: text.trim() }],
    ),
  );
  const order = new Set();
  const visit = (name) => {
    cells.get(name)?.needs.forEach(visit);
    order.add(name);
  };
  wanted.forEach(visit);
  if ([...order].some((name) => !cells.has(name))) return null;
  const imports = [];
  const bodies = [...order].map((name) =>
    cells
      .get(name)
      .text.replace(/^(?:import|from) .*\n+/gm, (line) => {
        imports.push(line.trim());
        return "";
      })
      .replace(/^(\w+(?:, \w+)*) = .*$/gm, (line, left) => {
        const names = left.split(", ");
        return names.every((name) => Object.hasOwn(values, name))
          ? left + " = " + names.map((name) => values[name]).join(", ")
          : line;
      }),
  );
  return [imports.join("\n"), ...bodies].join("\n\n") + "\n";
}

/**
 * The code of a panel: its cells with vitviz's own functions and, where there are such, with plain PyTorch.
 * @param {import("../types.js").Manifest} manifest
 * @param {string|{vitviz: string[], torch: string[]}} cells
 * @param {Record<string, any>} values  by the names that the cells have for them, for a head also "mean"
 * @returns {Code}
 */
export function codeOf({ model, photo, pass }, cells, values, changes = pass.changes) {
  const python = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      valueOf(name === "head" && value === "mean" ? null : value),
    ]),
  );
  // A line that ends in the name of a kind of positions is for models that have it.
  const absent = ["rotary", "bias"].filter((kind) => !model.position_kinds.includes(kind));
  const lines = new RegExp("^.*  # (" + absent.join("|") + ")\\n", "gm");
  Object.assign(python, { loaded: loadCall(model), analysis: analyzeCall(photo, changes, model) });
  const [vitviz, torch] = ["vitviz", "torch"].map((kind) =>
    filled(SNIPPETS[kind].replace(lines, ""), typeof cells === "string" ? [cells] : cells[kind], python),
  );
  return { vitviz, torch };
}
