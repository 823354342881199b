/**
 * Comparable: the analyses that can be put beside the one that is shown: those that its host offers, the
 * visitor's photos, and a kept one.
 */

import { OPERATED } from "./experiment.js";

/** The key of an analysis that was kept. */
export const KEPT = "kept";

/**
 * @param {import("../types.js").Manifest} manifest  of what is shown
 * @param {import("../types.js").Manifest|null} kept
 * @param {boolean} offers  whether the host can give what the manifest says it offers
 * @param {boolean} operates  whether it can run the model with interventions
 * @param {readonly import("./photos.js").OwnPhoto[]} photos  of the visitor
 * @returns {import("../types.js").Beside[]}
 */
export function besidesOf(manifest, kept, offers, operates = false, photos = []) {
  const shown = manifest.upload?.address;
  const own = photos
    // The host may have forgotten what was sent from this page before it was loaded again.
    .filter(({ address, consent }) => address !== null || consent !== "given")
    .filter(({ id, address }) => shown === undefined || (id !== shown && address !== shown))
    .map(({ id, name }) => ({ key: id, kind: /** @type {"photo"} */ ("photo"), name }));
  const offered = [
    ...(offers ? [...(manifest.beside ?? []), ...own] : []),
    ...(operates ? [{ key: OPERATED, kind: /** @type {"operated"} */ ("operated") }] : []),
  ];
  if (!kept) return offered;
  const { title } = kept.model;
  const names = Object.fromEntries(
    Object.entries(kept.model.words).map(([language, { texts = {} }]) => [
      language,
      Object.hasOwn(texts, title) ? texts[title] : title,
    ]),
  );
  return [...offered, { key: KEPT, kind: "kept", photo: kept.photo.name, name: title, names }];
}
