/** Texts that tell which machine computed the analysis on the page. */

import { percent } from "../maths/numbers.js";
import { questionOf, shownExplainers } from "../state/explaining.js";

/**
 * A sentence about a pass; "" of a model that only the host runs.
 * @param {{source: import("../data/source.js").Source}} side
 * @param {import("../main.js").App} app
 */
export function whereComputed(
  {
    source: {
      manifest: { model, pass },
    },
  },
  { t, runner },
) {
  const { state, share, plain } = runner(model) ?? {};
  if (!state) return "";
  if (pass.here) return t(plain ? "computedPlainly" : "computedHere");
  return t(
    {
      coming: "computedMeanwhile",
      here: "computedThere",
      slow: "computedFaster",
      failed: "computedThereAlone",
    }[state],
    { share: percent(share) },
  );
}

/**
 * A sentence about explanations and fair tests; "" of a model that only the host runs, or of a map that only
 * it makes.
 * @param {import("../main.js").App} app
 */
export function whereExplained({ t, runner, here, selection, source, source: { manifest, explanations } }) {
  const { state, share, plain } = runner(manifest.model) ?? {};
  if (!here.explains(manifest) || !state || state === "failed" || state === "slow") return "";
  if (
    shownExplainers(selection, source).some(
      (explainer) => explanations.of(questionOf(selection, source, explainer)).file?.there,
    )
  )
    return "";
  return state === "coming"
    ? t("explainComing", { share: percent(share) })
    : t(plain ? "computedPlainly" : "computedHere");
}
