/** Besides: the analyses that can be put beside one: those that its host offers, and a kept one. */

/** The key of an analysis that was kept. */
export const KEPT = "kept";

/**
 * @param {import("../types.js").Manifest} manifest  of what is shown
 * @param {import("../types.js").Manifest|null} kept
 * @param {boolean} offers  whether the host can give what the manifest says it offers
 * @returns {import("../types.js").Beside[]}
 */
export function besidesOf(manifest, kept, offers) {
  const offered = offers ? manifest.beside ?? [] : [];
  if (!kept) return offered;
  const { title } = kept.model;
  const names = Object.fromEntries(Object.entries(kept.words ?? {}).map(([language, { texts = {} }]) => [language, texts[title] ?? title]));
  return [...offered, { key: KEPT, kind: "kept", photo: kept.photo.name, name: title, names }];
}
