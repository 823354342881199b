/** The languages of the viewer, and which of them a tag asks for. */

/** @typedef {"en"|"ko"} Language */

/**
 * The language that the viewer speaks where a page is marked so: "ko-KR" is Korean, "kok" is
 * Konkani and no Korean; whatever is not known reads English.
 * @param {any} tag  as in `<html lang>`: BCP 47, in any case, also with underscores; or nothing
 * @returns {Language}
 */
export function languageOf(tag) {
  return /^ko([-_]|$)/i.test(String(tag ?? "").trim()) ? "ko" : "en";
}
