/** Defaults: the settings of a run, and what the page shows of one, without the code that trains. */

/** @type {import("./trainer.js").Settings} */
export const DEFAULTS = {
  positions: "learned",
  patch: 7,
  dim: 48,
  depth: 2,
  heads: 4,
  pool: "cls",
  train: 4000,
  lr: 5e-3,
  batch: 32,
  epochs: 10,
  seed: 0,
  labels: "true",
  patches: "ordered",
};

/**
 * Accuracy: the share of pictures whose most probable class is right. Of equally probable classes the first
 * counts.
 * @param {Float32Array} probabilities  (pictures x classes) @param {ArrayLike<number>} labels
 */
export function rightOf(probabilities, labels) {
  const classes = probabilities.length / labels.length;
  let right = 0;
  for (let picture = 0; picture < labels.length; picture++) {
    const row = probabilities.subarray(picture * classes, (picture + 1) * classes);
    const label = labels[picture];
    right += Number(row.every((other, i) => other < row[label] || (other === row[label] && i >= label)));
  }
  return right / labels.length;
}

/**
 * Whether a run is measured after a step: more often at the beginning, and at the same steps in every run.
 * @param {number} step  number of steps taken
 * @param {number} steps  of the whole run
 */
export const isMeasured = (step, steps) => step === steps || step % (step < 100 ? 20 : 50) === 0;
