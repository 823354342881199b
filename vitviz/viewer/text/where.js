/** Where: a sentence about the machine that computed what is shown. */

import { percent } from "../maths/numbers.js";
import { questionOf, shownExplainers } from "../state/explaining.js";

const SENTENCES = {
  "": "",
  here: "computedHere",
  plain: "computedPlainly",
  coming: "computedMeanwhile",
  there: "computedThere",
  slow: "computedFaster",
  failed: "computedThereAlone",
};

/**
 * A sentence about a pass; "" of a model that only the host runs.
 * @param {{source: import("../data/source.js").Source}} side
 * @param {import("../main.js").App} app
 */
export function whereComputed({ source }, { t, backend }) {
  const { state, share } = backend.where(source.manifest);
  return state ? t(SENTENCES[state], { share: percent(share) }) : "";
}

/**
 * A sentence about explanations and fair tests; "" of a model that only the host runs, or of a map that only
 * the host makes.
 * @param {import("../main.js").App} app
 */
export function whereExplained({ t, backend, selection, source, source: { manifest, explanations } }) {
  const { state, share, plain } = backend.model(manifest.model) ?? {};
  if (!backend.explains(manifest) || !state || state === "failed" || state === "slow") return "";
  const shown = shownExplainers(selection, source).map((explainer) =>
    explanations.of(questionOf(selection, source, explainer)),
  );
  if (shown.some(({ file }) => file?.there)) return "";
  return state === "coming"
    ? t("explainComing", { share: percent(share) })
    : t(plain ? "computedPlainly" : "computedHere");
}
