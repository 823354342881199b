/** Remote passes: what is asked of the host. A refusal of the host is thrown as a `Refusal`. */

import { granted } from "../text/refusal.js";

/**
 * @param {import("../types.js").Host} host
 * @param {(error: Error) => never} noticing  hears of each refusal, and throws it
 */
export function createRemote(host, noticing) {
  const allowed = async (reply) => {
    try {
      return granted(await reply);
    } catch (error) {
      return noticing(error);
    }
  };
  return {
    allowed,
    answers: Boolean(host.ask),
    changes: Boolean(host.operate),
    compares: Boolean(host.beside),
    /** @param {string} name @param {any} params */
    answer: (name, params) => allowed(/** @type {any} */ (host.ask)(name, params)),
    /** A changed pass, or the refusal in the reply. */
    change: (interventions, id, first) => /** @type {any} */ (host.operate)(interventions, id, first),
    /** The manifest of an analysis that stands beside the one with an id. */
    beside: (key, id) => allowed(/** @type {any} */ (host.beside)(key, id)),
    takeHome: (wanted) => allowed(/** @type {any} */ (host.takeHome)(wanted)),
    send: (file) => /** @type {any} */ (host.send)(file),
    share: async (photo) => granted(await /** @type {any} */ (host.share)(photo)),
  };
}
