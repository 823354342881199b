/** Python that makes the arrays on the screen: literals, and the lines with which every snippet begins. */

/** @typedef {{vitviz: string, torch: string|null}} Code  a snippet with vitviz's own functions, and one with plain PyTorch, where there is one */

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
    return code > 0xffff ? "\\U" + code.toString(16).padStart(8, "0") : "\\u" + code.toString(16).padStart(4, "0");
  });
  return '"' + escaped.join("") + '"';
}

/** A head as Python names it: None is the mean. */
export const headOf = (head) => (head === "mean" ? "None" : String(head));

/** The call that loads the model, as an expression. */
export function loadCall({ model: { key: { name, untrained, image_size: size } } }, ...options) {
  const sides = size && (size[0] === size[1] ? size[0] : "(" + size.join(", ") + ")");
  return "vitviz.load(" + [literal(name), untrained ? "pretrained=False" : null, sides && "image_size=" + sides, ...options]
    .filter(Boolean).join(", ") + ")";
}

/** The name of the photo's file, and what was done to it first. */
const photoOf = ({ photo }) => literal(photo.name || "photo.jpg") + (photo.inverted ? ", invert=True" : "");

/** The first lines of a snippet with vitviz's own functions: they make `analysis`. */
export function analysed(manifest, ...imports) {
  return analysedWith(manifest, manifest.pass.changes, ...imports);
}

/** The same with interventions in the pass. */
export function analysedWith(manifest, changes, ...imports) {
  const call = "analysis = vitviz.analyze(" + loadCall(manifest) + ", " + photoOf(manifest);
  if (changes.length === 0) return ["import vitviz", ...imports, "", call + ")"];
  return ["import vitviz", ...imports, "", call + ", interventions=[", ...changes.map((one) => "    " + valueOf(one) + ","), "])"];
}

/** A value of JSON, of numbers, texts, lists and objects, as a Python literal. */
function valueOf(value) {
  if (Array.isArray(value)) return "[" + value.map(valueOf).join(", ") + "]";
  if (typeof value === "string") return literal(value);
  if (typeof value !== "object") return String(value);
  return "{" + Object.entries(value).map(([name, one]) => literal(name) + ": " + valueOf(one)).join(", ") + "}";
}

/** The first lines of a snippet in plain PyTorch: they make the modules `vit` and the tensor `pixels`. */
export function loadedPlain(manifest) {
  return ["import torch, vitviz", "", "loaded = " + loadCall(manifest, 'device="cpu"'),
    "vit, pixels = loaded.vit, vitviz.analyze(loaded, " + photoOf(manifest) + ").pixels[None]"];
}

/** The line that makes the tokens `x` that enter a layer, (1, N, D). */
export function tokensBefore(layer) {
  return "x = torch.nn.Sequential(*vit.blocks[:" + layer + "])(vit.norm_pre(vit.embed(pixels)))";
}

/** The lines that make q, k and v of `block`, (1, H, N, d) each. */
export function queriesOf(manifest) {
  return [projected(manifest), ...(hasNorms(manifest) ? ["q, k = block.attn.q_norm(q), block.attn.k_norm(k)"] : [])];
}

/** The line that makes q, k and v of `block`, before the norms that some models have for q and k. */
function projected({ model: { num_heads: heads, head_dim: dim, attention_norm: norm } }) {
  return "q, k, v = block.attn.qkv(" + (norm ? "block.norm1(x)" : "x") + ").unflatten(-1, (3, " + heads + ", " + dim +
    ")).permute(2, 0, 3, 1, 4)";
}

const hasNorms = ({ model: { attention_parts: parts } }) => parts.includes("qk_norm");

/** The attention maps of a block as an expression, (1, H, N, N). */
export function mapsOf({ model: { head_dim: dim } }, q = "q", k = "k") {
  return "torch.softmax(" + q + " @ " + k + ".mT / " + dim + "**0.5, dim=-1)";
}

/** The lines that make `maps`, the attention maps (H, N, N) of every layer. */
export function allMaps(manifest) {
  const qk = hasNorms(manifest) ? ["block.attn.q_norm(q)", "block.attn.k_norm(k)"] : [];
  return [...loadedPlain(manifest), "x, maps = vit.norm_pre(vit.embed(pixels)), []", "for block in vit.blocks:",
    ...[projected(manifest), "maps.append(" + mapsOf(manifest, ...qk) + "[0])", "x = block(x)"].map((line) => "    " + line)];
}

/** Lines as a text. */
export const lines = (...all) => all.flat().join("\n") + "\n";
