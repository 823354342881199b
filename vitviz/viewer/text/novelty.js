/** Novelty: says whether a picture shows one of the classes at all: score, threshold, and how good both are. */

import { grouped, percent, signed } from "../maths/numbers.js";
import { LARGEST } from "../maths/predictions.js";

/** Decimals of score and threshold: so many that both differ, if any do. */
const DECIMALS = [2, 3, 4, 5];

/**
 * @param {{t: (key: string, values?: any) => string, source: {manifest: import("../types.js").Manifest}}} app
 * @returns {{verdict: string, about: string[]}|null}  null if the model was not trained to tell
 */
export function knownTexts({ t, source: { manifest } }) {
  const result = manifest.pass.known_or_not;
  if (!result) return null;
  const [score, threshold] = apart(result.score, result.threshold);
  const { others, photographs } = manifest.model.measurements;
  const measured = others && "own_refused" in others && "pictures" in others && "classes" in others;
  return {
    verdict:
      !result.known && result.score >= result.threshold
        ? t("notTaughtClass")
        : t(result.known ? "knownYes" : "knownNo", { score, threshold }),
    about: [
      t("knownKeeps", { kept: whole(result.kept) }),
      measured ? catches(others, t) : "",
      photographs ? t("knownPhotographs", inTexts(photographs)) : "",
      t(manifest.model.known_by === LARGEST ? "knownLargest" : "knownScore"),
    ].filter(Boolean),
  };
}

/**
 * The measured rates of the threshold: pictures caught and let through.
 * @param {Record<string, number>} others
 */
function catches(others, t) {
  const { pictures, classes, own_refused: caught } = others;
  return t("knownCatches", {
    pictures: grouped(pictures),
    classes,
    caught: percent(caught),
    through: percent(1 - caught),
  });
}

/**
 * The measurements on photographs, as texts.
 * @param {Record<string, number>} photographs  of `model.measurements`
 */
function inTexts({ known, strangers, kept, refused }) {
  return {
    known: grouped(known),
    strangers: grouped(strangers),
    kept: percent(kept),
    refused: percent(refused),
  };
}

/**
 * The photographs that a table is about, and how far its figures can be trusted.
 * @param {Record<string, number>|undefined} photographs  of `model.measurements`
 * @param {(key: string, values?: any) => string} t
 */
export function photographsNote(photographs, t) {
  if (!photographs || !("left_out" in photographs)) return "";
  return t("othersPhotographs", { ...inTexts(photographs), leftOut: percent(photographs.left_out) });
}

/**
 * The rows of a table of how well a model tells its own classes from others; `chance`: of a coin.
 * @param {{others?: Record<string, number>, photographs?: Record<string, number>}} measurements  of the model
 * @param {(key: string, values?: any) => string} t
 * @returns {{name: string, share: number, note: string}[]}
 */
export function othersRows({ others = {}, photographs = {} }, t) {
  const chance = (share) => t("figureChance", { share: percent(share) });
  const error = (share) => (share === undefined ? "" : t("standardError", { share: percent(share) }));
  const { auroc, refused, own_kept: kept, own_refused: caught } = others;
  const rows = [
    { name: t("othersAuroc"), share: auroc, note: chance(0.5) },
    { name: t("othersRefused", { kept: whole(others.kept) }), share: refused, note: chance(1 - others.kept) },
    { name: t("othersOwnKept"), share: kept, note: "" },
    { name: t("othersOwnCaught"), share: caught, note: "" },
    { name: t("othersOwnThrough"), share: caught === undefined ? caught : 1 - caught, note: "" },
    { name: t("othersPhotosKept"), share: photographs.kept, note: "" },
    { name: t("othersPhotosCaught"), share: photographs.refused, note: "" },
    {
      name: t("plainRight"),
      share: photographs.plain_right,
      note: error(photographs.plain_right_error),
    },
    { name: t("plainKept"), share: photographs.plain_kept, note: error(photographs.plain_kept_error) },
  ];
  return rows.filter(({ share }) => share !== undefined);
}

function apart(first, second) {
  const texts = DECIMALS.map((decimals) => [first, second].map((value) => signed(value, decimals).trim()));
  return texts.find(([a, b]) => a !== b) ?? texts[0];
}

/** A share that was chosen: 0.95 is 95%, without decimals. */
function whole(share) {
  return Number((100 * share).toFixed(3)) + "%";
}
