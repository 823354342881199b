/** Quantiles, as numpy defines them. */

/**
 * The quantile of values, interpolated linearly.
 * @param {ArrayLike<number>} values  at least one
 * @param {number} share  from 0 to 1
 */
export function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  return sorted[low] + (place - low) * (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]);
}

const MOST = 50_000;

/**
 * `quantile` of a sample, where there are more than MOST values.
 * @param {ArrayLike<number>} values
 * @param {number} share
 */
export function sampledQuantile(values, share) {
  let step = Math.max(1, Math.ceil(values.length / MOST));
  // If the step and the length of a row had a common divisor, the sample would miss whole columns.
  while (step > 1 && divisor(step, values.length) > 1) step += 1;
  return quantile(
    Float64Array.from({ length: Math.ceil(values.length / step) }, (_, i) => values[i * step]),
    share,
  );
}

/** The greatest common divisor. @param {number} a @param {number} b @returns {number} */
const divisor = (a, b) => (b === 0 ? a : divisor(b, a % b));
