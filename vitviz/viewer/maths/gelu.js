/** GELU, x times Phi(x): the activation between the two matrices of an MLP (arXiv:1606.08415). */

/** Phi(x) and phi(x); erf by Abramowitz and Stegun 7.1.26, exact to 1.5e-7. @param {number} x */
export function normal(x) {
  const z = Math.abs(x) * Math.SQRT1_2;
  const t = 1 / (1 + 0.3275911 * z);
  const bell = Math.exp(-z * z);
  const tail =
    0.5 *
    t *
    (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) *
    bell;
  return { phi: x < 0 ? tail : 1 - tail, density: bell / Math.sqrt(2 * Math.PI) };
}

/** @param {number} x */
export const gelu = (x) => x * normal(x).phi;
