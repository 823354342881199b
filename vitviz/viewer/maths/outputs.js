/** The meaning of the outputs of a model: their probabilities, as vitviz/model/outputs.py names them. */

/**
 * The probabilities of classes: of "one_of" the softmax, of "any_of" and "score" the sigmoid of each; null of
 * values, which have none.
 * @param {ArrayLike<number>} logits @param {import("../types.js").Outputs} outputs
 * @param {number} temperature @returns {number[]|null}
 */
export function probabilitiesOf(logits, outputs, temperature) {
  if (outputs === "value") return null;
  if (outputs === "one_of") return softmax(logits, temperature);
  return Array.from(logits, (logit) => 1 / (1 + Math.exp(-logit / temperature)));
}

/** Whether a model chooses one class, so that its classes share out one certainty. */
export const choosesOne = ({ manifest: { model } }) => model.outputs === "one_of";

/** @param {ArrayLike<number>} logits @param {number} temperature @returns {number[]} */
export function softmax(logits, temperature) {
  const scaled = Array.from(logits, (logit) => logit / temperature);
  const most = scaled.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = scaled.map((value) => Math.exp(value - most));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}
