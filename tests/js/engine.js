/** Models for the tests of the engine: their weights are drawn as tests/engine_fixture.py draws them. */

import assert from "node:assert/strict";

import { backward } from "../../vitviz/viewer/engine/backward.js";
import { Core } from "../../vitviz/viewer/engine/core.js";
import { EXPLAINERS } from "../../vitviz/viewer/engine/explain.js";
import { makeMachine } from "../../vitviz/viewer/engine/machine.js";
import { Surgery } from "../../vitviz/viewer/engine/surgery.js";
import { readModel } from "../../vitviz/viewer/engine/weights.js";
import { attentionRows } from "../../vitviz/viewer/maths/attention.js";
import { biasOf } from "../../vitviz/viewer/maths/bias.js";
import { Chance } from "../../vitviz/viewer/maths/chance.js";
import { keptAt, planOf, removalOf } from "../../vitviz/viewer/maths/fairness.js";
import { normalised } from "../../vitviz/viewer/maths/pixels.js";
import { assertClose, namesIn, told } from "./fixture.js";

const NAMES = namesIn("gradients");

/** The passes of every small model, by Python. */
export const MODELS = NAMES.map((name) => ({ name, ...told("engine/" + name) }));
export const ANGLES = told("engine/angles");
export const SERVERS = told("engine/servers");

/** Gradients of the same by torch, by the names of the models. @type {Record<string, any[]>} */
export const GRADIENTS = Object.fromEntries(NAMES.map((name) => [name, told("gradients/" + name)]));

/** Explanations and fair tests of those that have classes, by Python. @type {Record<string, any[]>} */
export const EXPLAINED = Object.fromEntries(
  namesIn("explained").map((name) => [name, told("explained/" + name)]),
);

/** The numbers of a text in base64. */
export const bytesOf = (text) => Uint8Array.from(Buffer.from(text, "base64"));

/**
 * A .safetensors file of some tensors in single precision.
 * @param {Record<string, {shape: number[], numbers: Float32Array}>} tensors
 */
export function fileOf(tensors, metadata) {
  let end = 0;
  const header = { __metadata__: metadata };
  for (const [name, { shape, numbers }] of Object.entries(tensors)) {
    header[name] = { dtype: "F32", shape, data_offsets: [end, (end += numbers.byteLength)] };
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const file = new Uint8Array(8 + text.length + end);
  new DataView(file.buffer).setUint32(0, text.length, true);
  file.set(text, 8);
  let at = 8 + text.length;
  for (const { numbers } of Object.values(tensors)) {
    file.set(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength), at);
    at += numbers.byteLength;
  }
  return file.buffer;
}

/** A checkpoint of a model of the fixture. `change` may alter its tensors and its description. */
export function checkpointOf(
  { config, preprocess, parameters },
  change = /** @type {(tensors: any, meta: any) => void} */ (() => {}),
) {
  const tensors = Object.fromEntries(
    parameters.map(([name, shape], seed) => {
      const count = shape.reduce((product, side) => product * side, 1);
      const isMatrix = shape.length >= 2 && name.endsWith("weight");
      const numbers = new Chance(seed, "noise")
        .normals(count)
        .map((one) =>
          isMatrix
            ? Math.fround(one) / Math.fround(Math.sqrt(count / shape[0]))
            : name.endsWith("weight") || name.endsWith("gamma")
              ? 1 + 0.25 * one
              : 0.5 * one,
        );
      return [name, { shape, numbers: Float32Array.from(numbers) }];
    }),
  );
  const { num_classes: classes } = config;
  const labels = classes > 0 ? Array.from({ length: classes }, (_, at) => "class " + at) : null;
  const meta = { config, preprocess, labels, details: {} };
  change(tensors, meta);
  return fileOf(tensors, { vitviz: JSON.stringify(meta) });
}

/** Asserts that numbers are as expected, relative to the largest of them. */
export function assertAlike(actual, expected, tolerance = 1e-4, where = "") {
  try {
    assertClose(actual, expected, tolerance * Math.max(1e-3, ...expected.map(Math.abs)));
  } catch (error) {
    throw new Error(where + error.message);
  }
}

/** The attention of a token in a layer of a pass, as the viewer draws it. (H * N) */
function rowsOf(pass, layer, config, token) {
  const surgery = new Surgery(
    pass.interventions.filter(({ kind }) => kind !== "transplant"),
    config,
  );
  const { num_heads: heads, num_tokens: tokens, head_dim: dim } = config;
  return attentionRows(
    {
      ...pass.layers[layer],
      heads,
      tokens,
      dim,
      scale: dim ** -0.5,
      isCut: surgery.cuts[layer],
      bias: biasOf(pass.layers[layer].bias, { model: { ...config, grid: config } }),
    },
    token,
    "from",
  );
}

/** Asserts that the intact pass of a model is Python's. */
export function checkIntact(core, config, { intact, picture }) {
  const pass = core.run({ picture: bytesOf(picture) });
  assertAlike(pass.logits, intact.logits);
  intact.attention.forEach((rows, layer) =>
    assertClose(rowsOf(pass, layer, config, intact.token), rows, 1e-5),
  );
  const rowOf = (numbers, width) => numbers.subarray(intact.token * width, (intact.token + 1) * width);
  assertAlike(rowOf(pass.tokens[config.depth], config.embed_dim), intact.tokens);
  assertAlike(rowOf(pass.embedding.content, intact.content.length), intact.content);
  assertAlike(rowOf(pass.embedding.position, intact.content.length), intact.position);
  assert.equal(pass.lens === null, intact.lens === null);
  pass.lens?.forEach((logits, layer) => assertAlike(logits, intact.lens[layer]));
}

/**
 * Asserts that passes with one intervention of each kind are Python's: by a core that remembers nothing, by
 * one that begins where the passes before were the same, and where only the answer is wanted.
 */
export function checkCases(core, fresh, config, { cases, picture, other, intact }) {
  const donor = core.run({ picture: bytesOf(other) });
  core.run({ picture: bytesOf(picture) });
  for (const { interventions, logits, attention, tokens, checksum } of cases) {
    const [{ kind, layer }] = interventions;
    const donors = kind === "transplant" ? [{ tokens: donor.tokens[layer], width: donor.width }] : [];
    const wish = { picture: bytesOf(picture), interventions, donors };
    try {
      for (const pass of [
        fresh().run(wish),
        core.run(wish),
        fresh().run({ ...wish, answer: true }),
        core.run({ ...wish, answer: true }),
      ]) {
        assertAlike(pass.logits, logits);
        if (checksum !== undefined)
          assert.equal(
            pass.picture.reduce((sum, value, at) => (sum + value * (at + 1)) % 2 ** 32, 0),
            checksum,
          );
        if (pass.tokens === null) continue;
        assertClose(rowsOf(pass, config.depth - 1, config, intact.token), attention[0], 1e-5);
        assertAlike(
          pass.tokens[config.depth].subarray(
            intact.token * config.embed_dim,
            (intact.token + 1) * config.embed_dim,
          ),
          tokens,
        );
      }
    } catch (error) {
      throw new Error(JSON.stringify(interventions) + ": " + error.message);
    }
  }
}

/**
 * Asserts that numbers are those of which Python tells some and the length: to a ten-thousandth of the
 * largest, or of what lengths are like.
 */
export function assertSome(actual, { length, some }, where) {
  const step = Math.max(1, Math.floor(actual.length / 24));
  const found = Array.from(actual).filter((_, at) => at % step === 0);
  const bound =
    1e-4 *
    Math.max(
      1e-3,
      actual.reduce((most, one) => Math.max(most, Math.abs(one)), 0),
      length / Math.sqrt(actual.length),
    );
  assert.equal(found.length, some.length, where);
  some.forEach((one, at) =>
    assert.ok(
      Math.abs(found[at] - one) <= bound,
      where + ": number " + at + " is " + found[at] + ", not " + one,
    ),
  );
  const ours = Math.sqrt(actual.reduce((sum, one) => sum + one * one, 0));
  assert.ok(
    Math.abs(ours - length) <= 1e-4 * Math.max(1e-3, length),
    where + ": length " + ours + ", not " + length,
  );
}

/** Zeros in the shape of every parameter, by name. @param {Record<string, Float32Array>} weights */
export const zeros = (weights) =>
  Object.fromEntries(Object.entries(weights).map(([name, { length }]) => [name, new Float32Array(length)]));

/** Asserts that the gradients of a model are torch's, in every case. */
export function checkGradients(file, makeKernels, { picture, other }, cases) {
  const { weights, ...facts } = readModel(file);
  const m = makeMachine({ ...facts, weights }, makeKernels);
  const { config } = facts;
  const core = new Core(makeKernels);
  core.load(file);
  const donor = core.run({ picture: bytesOf(other) });
  for (const told of cases) {
    const donors = told.interventions.map(({ kind, layer }) =>
      kind === "transplant" ? { tokens: donor.tokens[layer], width: donor.width } : null,
    );
    const pass = core.run({ picture: bytesOf(picture), interventions: told.interventions, donors });
    const surgery = new Surgery(told.interventions, config, donors);
    const found = {
      tokens: [],
      attention: Array.from(
        { length: config.depth },
        () => new Float32Array(config.num_heads * config.num_tokens ** 2),
      ),
    };
    const gradient = new Float32Array(pass.logits.length);
    gradient[told.target] = 1;
    const wants = {
      tokens: (layer, rows) => {
        found.tokens[layer] = rows;
      },
      map(layer, head, f, { gradient: at, stride, rows }) {
        const tokens = config.num_tokens;
        for (let row = 0; row < rows; row++)
          found.attention[layer].set(
            f.subarray(at + row * stride, at + row * stride + tokens),
            (head * tokens + row) * tokens,
          );
      },
      ...(told.weights ? { weights: zeros(weights) } : {}),
    };
    const pixels = backward(m, pass, normalised(facts, pass.picture), surgery, gradient, wants);
    const where = JSON.stringify(told.interventions) + " ";
    found.tokens.forEach((rows, layer) => assertSome(rows, told.tokens[layer], where + "tokens " + layer));
    told.attention?.forEach((some, layer) =>
      assertSome(found.attention[layer], some, where + "attention " + layer),
    );
    assertSome(pixels, told.pixels, where + "pixels");
    if (!told.weights) continue;
    for (const [name, some] of Object.entries(told.weights)) assertSome(wants.weights[name], some, name);
    // Torch names no gradient of weights that no answer depends on: the gains of LayerScale with post-norm.
    const others = Object.keys(wants.weights).filter((name) => !(name in told.weights));
    assert.ok(others.every((name) => wants.weights[name].every((number) => number === 0)));
  }
}

/** What a task gives at its end. */
export function drained(task) {
  for (;;) {
    const { done, value } = task.next();
    if (done) return value;
  }
}

/**
 * Asserts that all explanations of a pass are Python's, with their costs, and a fair test of maps. like: the
 * other picture, of a case whose target is the likeness to it.
 */
export function checkExplained(core, config, picture, told, like = null) {
  const { interventions, target, token, values, costs, temperature, fair, likeness } = told;
  const wish = { picture, interventions, target, ...(likeness === undefined ? {} : { like }) };
  const prefix = config.num_prefix_tokens;
  const made = {};
  for (const explainer of Object.keys(values).filter((key) => key in EXPLAINERS)) {
    const found = drained(core.work({ ...wish, explainer, token }));
    try {
      // Differences of cosines near 1 keep few digits in single precision.
      const few = explainer === "occlusion" && likeness !== undefined;
      assertAlike(found.values, values[explainer], few ? 1e-3 : 1e-4);
      const [forward, backward, gap] = costs[explainer];
      assertClose([found.forward, found.backward], [forward, backward], 1e-4);
      assertClose([found.gap ?? 0], [gap], 1e-3);
      assertClose([found.likeness ?? 0], [likeness ?? 0], 1e-5);
    } catch (error) {
      throw new Error(explainer + " with " + JSON.stringify(interventions) + ": " + error.message);
    }
    made[explainer] = found.values.subarray(prefix);
  }
  if (!fair) return;
  const gone = core.run({ picture, interventions }).removed;
  const patches = Array.from({ length: config.num_patches }, (_, patch) => patch).filter(
    (patch) => !gone.includes(patch),
  );
  const maps = Object.fromEntries(Object.keys(fair.maps).map((key) => [key, made[key]]));
  const plan = planOf(maps, patches, config.global_pool !== "token");
  const columns = plan.counts.map((_, step) =>
    drained(core.work({ ...wish, kept: keptAt(plan, step), temperature })),
  );
  const { band, maps: curves, ...rest } = removalOf(plan, columns, likeness === undefined ? target : null);
  const { band: theirs, maps: expected, ...others } = fair;
  assert.deepEqual({ ...rest, removed: [] }, { ...others, removed: [] });
  for (const [ours, python] of [
    [rest.removed, others.removed],
    [band[0], theirs[0]],
    [band[1], theirs[1]],
  ])
    assertClose(ours, python, 1e-3);
  for (const [key, { first, last, beaten, ...figures }] of Object.entries(expected)) {
    assertClose([...curves[key].first, ...curves[key].last], [...first, ...last], 1e-3);
    for (const [name, figure] of Object.entries(figures)) assertClose([curves[key][name]], [figure], 1e-3);
    assert.equal(curves[key].beaten, beaten, key);
  }
}
