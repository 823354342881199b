/** Files for the engine: those of strangers are refused with a sentence, before memory is taken for them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { readConfig } from "../../vitviz/viewer/engine/config.js";
import { Core } from "../../vitviz/viewer/engine/core.js";
import { CONFIG, ROTARY } from "../../vitviz/viewer/engine/tables.js";
import { readModel } from "../../vitviz/viewer/engine/weights.js";
import { Chance } from "../../vitviz/viewer/maths/chance.js";
import { FormatError } from "../../vitviz/viewer/maths/safetensors.js";
import { MODELS, checkpointOf } from "./engine.js";

const MODEL = MODELS.find(({ name }) => name === "grey");
const good = checkpointOf(MODEL);

/** A checkpoint with another description. */
const told = (change) => checkpointOf(MODEL, (_, meta) => change(meta));
const configured = (fields) =>
  told((meta) => {
    meta.config = { ...meta.config, ...fields };
  });

/** The good file with other bytes of its header. */
function withHeader(change) {
  const length = new DataView(good).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(good, 8, length)));
  const text = new TextEncoder().encode(JSON.stringify(change(header) ?? header));
  const file = new Uint8Array(8 + text.length + good.byteLength - 8 - length);
  new DataView(file.buffer).setUint32(0, text.length, true);
  file.set(text, 8);
  file.set(new Uint8Array(good, 8 + length), 8 + text.length);
  return file.buffer;
}

const FILES = {
  "expected a safetensors file, got 3 bytes": new ArrayBuffer(3),
  "header of 4294967295 bytes in a file of": (() => {
    const one = good.slice(0);
    new DataView(one).setUint32(0, 2 ** 32 - 1, true);
    return one;
  })(),
  "header is not JSON": (() => {
    const one = good.slice(0);
    new Uint8Array(one)[8] = 0;
    return one;
  })(),
  "the file holds": good.slice(0, good.byteLength - 8),
  "does not say which model": withHeader((header) => {
    delete header.__metadata__;
  }),
  "header names no tensors": withHeader(() => 7),
  "description inside the file is damaged: ": withHeader((header) => {
    header.__metadata__.vitviz = "{";
  }),
  "it is no dictionary": withHeader((header) => {
    header.__metadata__.vitviz = "3";
  }),
  "config must be a dictionary": told((meta) => {
    meta.config = null;
  }),
  "fields that vitviz does not know: __proto__, future": told((meta) => {
    meta.config = JSON.parse('{"__proto__": 1, "future": 2}');
  }),
  "embed_dim must be a whole number from 1 to 65536, got 1000000000": configured({ embed_dim: 1e9 }),
  "mlp_hidden_dim must be a whole number from 1 to 65536, got 131072": configured({
    embed_dim: 32768,
    mlp_hidden_dim: null,
  }),
  "norm_eps must be a number from 1e-30 to 1, got": configured({ norm_eps: "1" }),
  "image_size must be height and width from 1 to 65536 pixels, got": configured({ image_size: [28, 0] }),
  "class_token must be true or false": configured({ class_token: 1 }),
  "the height 30 is not a multiple of the patch's 7": configured({ image_size: [30, 28] }),
  "embed_dim 16 is not a multiple of num_heads 5": configured({ num_heads: 5 }),
  "activation must be one of gelu": configured({ activation: "relu" }),
  "reads the CLS token, but class_token is off": configured({ class_token: false }),
  "rotary has a kind": configured({ rotary: { kind: "spiral" } }),
  "the file is too small for 65536 blocks": configured({ depth: 65536 }),
  "parameters; a page runs models of at most 25000000": configured({
    mlp_hidden_dim: 65536,
    embed_dim: 4096,
    num_heads: 4,
  }),
  "65546 tokens; a page runs models of at most 1400": configured({ reg_tokens: 65529 }),
  "numbers behind; a page keeps at most 67108864": configured({
    depth: 400,
    embed_dim: 64,
    mlp_hidden_dim: 256,
    reg_tokens: 1380,
  }),
  "fc1.weight has shape [64,16] instead of [32,16]": configured({ mlp_hidden_dim: 32 }),
  "blocks.2.attn.proj.bias is not expected": configured({ depth: 2 }),
  "norm.bias is missing": checkpointOf(MODEL, (tensors) => {
    delete tensors["norm.bias"];
  }),
  "constructor is not expected": checkpointOf(MODEL, (tensors) => {
    tensors.constructor = { shape: [1], numbers: new Float32Array(1) };
  }),
  "norm.bias holds values that are not finite": checkpointOf(MODEL, (tensors) => {
    tensors["norm.bias"].numbers[3] = NaN;
  }),
  "it does not name its 10 classes": told((meta) => {
    meta.labels = ["one"];
  }),
  "mean and std need one number": told((meta) => {
    meta.preprocess = { ...meta.preprocess, std: [0] };
  }),
  "its preprocessing makes pictures of [999,28]": told((meta) => {
    meta.preprocess = { ...meta.preprocess, size: [999, 28] };
  }),
  "header has no dtype, shape and place of norm.bias": withHeader((header) => {
    header["norm.bias"].shape = [16.5];
  }),
  "header has no dtype, shape and place of head.bias": withHeader((header) => {
    header["head.bias"] = null;
  }),
  "norm.bias: unknown dtype F64": withHeader((header) => {
    header["norm.bias"].dtype = "F64";
  }),
};

test("a file that is damaged or of a stranger is refused with a sentence", () => {
  for (const [sentence, file] of Object.entries(FILES)) {
    assert.throws(
      () => readModel(file),
      (error) => error instanceof FormatError && error.message.includes(sentence),
      sentence,
    );
  }
  assert.deepEqual(readModel(good).unknown, []);
});

test("every field of a config is checked, and can be left out if it has a default", () => {
  const { config } = MODEL;
  for (const name of Object.keys(CONFIG)) {
    assert.throws(
      () => readConfig({ ...config, [name]: {} }),
      (error) => error instanceof FormatError && error.message.startsWith(name),
      name,
    );
  }
  for (const name of Object.keys(ROTARY)) {
    assert.throws(() => readConfig({ ...config, rotary: { kind: "axial", [name]: {} } }), FormatError, name);
  }
  assert.deepEqual(readConfig({}).mlp_hidden_dim, 4 * 768);
  assert.equal(readConfig({ ...config, rotary: { kind: "axial" } }).rotary?.order, "yx");
});

test("whatever single byte of a header is another, a file is read or refused", () => {
  const length = new DataView(good).getUint32(0, true);
  const chance = new Chance(1, "noise");
  const places = chance.below(new Uint32Array(400).fill(8 + length));
  const bytes = chance.below(new Uint32Array(400).fill(256));
  let refused = 0;
  places.forEach((place, at) => {
    const file = good.slice(0);
    new Uint8Array(file)[place] = bytes[at];
    try {
      new Core().load(file);
    } catch (error) {
      assert.ok(error instanceof FormatError, "byte " + place + " as " + bytes[at] + ": " + error.stack);
      refused += 1;
    }
  });
  assert.ok(refused > 200, String(refused));
});

test("a model with an unknown switch is read as far as its switches, and runs no pass", () => {
  const core = new Core();
  const facts = core.load(configured({ patch_norm_before: true, patch_norm_after: true }));
  assert.deepEqual(facts.unknown, ["patch_norm_before", "patch_norm_after"]);
  assert.throws(() => core.run({ picture: new Uint8Array(784) }), /no model is loaded that runs here/);
});
