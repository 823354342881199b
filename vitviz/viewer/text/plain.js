/** Explainers in plain PyTorch: their definitions, short enough for a snippet. */

import { lines, loadedPlain, mapsOf, queriesOf } from "./python.js";

const MOST_LETTERS = 118; // of a line

/** Parts around the attention of a block that the lines below have. */
const USUAL = ["qkv_bias", "qk_norm"];

/**
 * The values of some explainers, of every token; null where that takes more than a few lines.
 * @param {string[]} keys
 * @param {number} token  whose view it is
 * @param {number|null} target  the class
 * @param {{manifest: import("../types.js").Manifest, grid: import("../maths/geometry.js").Grid}} source
 * @returns {string|null}
 */
export function plainExplainers(keys, token, target, source) {
  const { attention_norm: norm, attention_parts: parts } = source.manifest.model;
  const usual = Boolean(norm) && parts.every((part) => USUAL.includes(part));
  if (keys.length === 1 && keys[0] in ALONE) return keys[0] === "grad_cam" && !usual ? null : ALONE[keys[0]](target, source);
  const passes = !keys.every((key) => NO_MODEL.includes(key));
  if (!keys.every((key) => key in TOGETHER) || (passes && !usual)) return null;
  const values = keys.map((key) => TOGETHER[key](token, source));
  const onOneLine = "shown = [" + values.join(", ") + "]";
  return lines(withImports(loadedPlain(source.manifest), keys), passes ? passed(target, source, keys.some((key) => SLOPED.includes(key))) : [],
    keys.flatMap((key) => BEFORE[key]?.(source) ?? []),
    onOneLine.length <= MOST_LETTERS ? onOneLine : ["shown = [", ...values.map((value) => "    " + value + ","), "]"]);
}

/** The lines that make the attention `maps` of every layer, (1, H, N, N) each, and `pairs` of them with their gradients. */
function passed(target, { manifest }, sloped) {
  return ["x, maps = vit.norm_pre(vit.embed(pixels)), []", "for block in vit.blocks:",
    ...[...queriesOf(manifest), "maps.append(" + mapsOf(manifest) + ".requires_grad_())",
      "x = x + block.attn.proj((maps[-1] @ v).transpose(1, 2).flatten(2))", "x = x + block.mlp(block.norm2(x))"].map((line) => "    " + line),
    ...(sloped ? ["pairs = [*zip(maps, torch.autograd.grad(vit.forward_head(vit.norm(x))[0, " + target + "], maps))]"] : [])];
}

const SLOPED = ["attention_gradient", "generic", "gradient_rollout"];
const NO_MODEL = ["centre", "random"];

/** @param {string[]} loading  the lines that every snippet begins with */
function withImports(loading, keys) {
  const [first, ...rest] = loading;
  const functools = keys.some((key) => ["rollout", "generic", "gradient_rollout"].includes(key));
  return [first.replace("torch, vitviz", [...(functools ? ["functools"] : []), "torch", "vitviz"].join(", ")), ...rest];
}

/** Steps from the last layer to the first, with one row instead of whole matrices. */
const followed = (step, all, token, tokens) => "functools.reduce(lambda r, " + step + ", " + all + "[::-1], torch.eye(" + tokens + ")[" + token + "])";

/** A map of the patches with a 0 for each prefix token. */
const placed = (patches, { grid: { prefix } }) => (prefix === 0 ? patches : "torch.cat([torch.zeros(" + prefix + "), " + patches + "])");

/** Explainers that are one expression of the attention maps and their gradients, or of neither. */
const TOGETHER = {
  attention: (token) => "maps[-1].mean(1)[0, " + token + "]",
  rollout: (token, { grid }) => followed("a: (r + r @ a.mean(1)[0]) / 2", "maps", token, grid.tokens),
  attention_norm: (token) => "((maps[-1][0, :, " + token + ", :, None] * v[0]).transpose(0, 1).flatten(1) @ block.attn.proj.weight.T).norm(dim=-1)",
  attention_gradient: (token) => "sum((a * d).sum(1)[0, " + token + "] for a, d in pairs)",
  generic: (token, { grid }) => followed("ad: r + r @ (ad[0] * ad[1]).relu().mean(1)[0]", "pairs", token, grid.tokens),
  gradient_rollout: (token, { grid }) => followed("ad: (r + r @ shares((ad[0] * ad[1]).relu().mean(1)[0])) / 2", "pairs", token, grid.tokens),
  centre: (_token, source) => placed("torch.outer(bump(" + source.grid.rows + "), bump(" + source.grid.cols + ")).flatten()", source),
  random: (_token, source) => placed("chance.uniforms(" + source.grid.rows * source.grid.cols + ")", source),
};

/** Lines that some of them need before. */
const BEFORE = {
  gradient_rollout: ({ grid }) => ["shares = lambda p: torch.where(p.sum(1, True) > 0, p / p.sum(1, True), torch.eye(" + grid.tokens + "))"],
  centre: () => ["bump = lambda n: torch.exp(-8 * ((torch.arange(n) + 0.5) / n - 0.5) ** 2)"],
  random: () => ["chance = vitviz.probe.chance.Chance(0, \"random map\")"],
};

/** Explainers that run the model in a way of their own. */
const ALONE = {
  grad_cam: (target, source) => {
    const { manifest, grid: { prefix } } = source;
    return lines(loadedPlain(manifest), "x, block = torch.nn.Sequential(*vit.blocks[:-1])(vit.norm_pre(vit.embed(pixels))), vit.blocks[-1]",
      "normed = block.norm1(x).detach().requires_grad_()", "x = x + block.attn(normed)", "x = x + block.mlp(block.norm2(x))",
      "(slope,) = torch.autograd.grad(vit.forward_head(vit.norm(x))[0, " + target + "], normed)",
      "cam = (normed[0, " + prefix + ":] @ slope[0, " + prefix + ":].mean(0)).relu()", "shown = [" + placed("cam", source) + "]");
  },
  integrated_gradients: (target, source) => {
    const { rows, cols } = source.grid;
    const { patch_height: height, patch_width: width } = source.manifest.model.grid;
    return lines(loadedPlain(source.manifest), "mean = pixels.mean((2, 3), keepdim=True)",
      "way = torch.lerp(mean, pixels, (torch.arange(32).view(-1, 1, 1, 1) + 0.5) / 32).requires_grad_()",
      "(slope,) = torch.autograd.grad(vit(way)[:, " + target + "].sum(), way)",
      "parts = ((pixels - mean) * slope.mean(0)).view(-1, " + [rows, height, cols, width].join(", ") + ")",
      "shown = [" + placed("parts.sum((0, 2, 4)).flatten()", source) + "]");
  },
  occlusion: (target, source) => {
    const { prefix, rows, cols, tokens } = source.grid;
    const sides = [1, 3].map((side) => "(" + Math.min(side, rows) + ", " + Math.min(side, cols) + ")").join(", ");
    return lines(loadedPlain(source.manifest), "x, places, means = vit.norm_pre(vit.embed(pixels)), torch.arange(" + rows * cols + ").view(" + rows + ", " + cols + ") + " + prefix + ", []",
      "answer = lambda kept: vit.forward_head(vit.norm(torch.nn.Sequential(*vit.blocks)(x[:, kept])))[0, " + target + "].item()",
      "for height, width in (" + sides + "):", "    tally = torch.zeros(2, " + tokens + ")  # falls, and windows, of each token",
      "    for window in places.unfold(0, height, 1).unfold(1, width, 1).reshape(-1, height * width):",
      "        kept = [token for token in range(" + tokens + ") if token not in window]",
      "        tally[:, window] += torch.tensor([[(answer(slice(None)) - answer(kept)) / len(window)], [1]])",
      "    means.append(tally[0] / tally[1].clamp(min=1))", "shown = [sum(means) / 2]");
  },
};
