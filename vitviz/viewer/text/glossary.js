/** The glossary: what each term means, and where the terms stand in a text. */

import { languageOf } from "./language.js";
import { GLOSSARY } from "./strings.js";

const readers = new Map(); // language -> {pattern, ids}

/** A term of one letter begins other words too, so it stands alone or with one of the Korean particles. */
const ALONE = "(?=.(?:$|[^\\p{L}]|[을를이가은는의와과로에도]))";

/** Every term, in the order of the dictionary. */
export const TERMS = Object.keys(GLOSSARY.en ?? {}).filter((key) => !/_(name|forms)$/.test(key));

/**
 * The card of a term: its name, and what it means in two sentences.
 * @param {string} id
 * @param {string} language
 * @returns {{name: string, text: string}}
 */
export function cardOf(id, language) {
  const texts = { ...GLOSSARY.en, ...GLOSSARY[languageOf(language)] };
  return { name: texts[id + "_name"], text: texts[id] };
}

/**
 * The terms in a text, in order, each in every place. A term begins where a word begins; it ends
 * where one ends, or before letters that are not Latin, which are particles in Korean.
 * @param {string} text
 * @param {string} language
 * @returns {{id: string, start: number, end: number}[]}
 */
export function termsIn(text, language) {
  const { pattern, ids } = readerOf(languageOf(language));
  return [...text.matchAll(pattern)].map((found) => ({
    id: ids.get(found[2].toLowerCase()),
    start: found.index + found[1].length,
    end: found.index + found[0].length,
  }));
}

function readerOf(language) {
  if (readers.has(language)) return readers.get(language);
  const texts = { ...GLOSSARY.en, ...GLOSSARY[language] };
  const ids = new Map(
    TERMS.flatMap((id) => texts[id + "_forms"].split("|").map((form) => [form.toLowerCase(), id])),
  );
  // The longest form first: "logit lens" is not a logit.
  const forms = [...ids.keys()]
    .sort((a, b) => b.length - a.length)
    .map((form) => (form.length > 1 ? "" : ALONE) + form.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  // What stands before a term is matched with it: Safari before 16.4 knows no pattern that looks behind.
  const pattern = new RegExp("(^|[^\\p{L}\\p{N}_])(" + forms.join("|") + ")(?![A-Za-z0-9_])", "giu");
  const reader = { pattern, ids };
  readers.set(language, reader);
  return reader;
}
