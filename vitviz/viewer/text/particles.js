/** Texts with their values, and the Korean particles in them, which depend on the sound before them. */

/** With a consonant before it, and with a vowel. */
const PAIRS = [
  ["을", "를"],
  ["은", "는"],
  ["이", "가"],
  ["과", "와"],
  ["으로", "로"],
  ["이라", "라"],
];
/** A pair as it is written for both cases: 을(를) or 를(을), and (으)로. */
const both = ([closed, open]) =>
  closed.endsWith(open)
    ? `(\\(${closed[0]}\\)${open})`
    : `(${closed}\\(${open}\\)|${open}\\(${closed}\\)(?!라))`;
const EITHER = new RegExp(
  "([a-z]*[^\\s'\"’”)\\]])(['\"’”)\\]]*)(?:" + PAIRS.map(both).join("|") + ")",
  "giu",
);
/** Digits and letters whose Korean names end in ㄹ (일, 칠, 팔; 엘, 알), or in another consonant (영, 삼; 엠). */
const [LIQUID, CLOSED] = ["178LRlr", "036MNmn"];
/** English words, which are read as such; ViT and jpg are read letter by letter. */
const WORD = /^(?=.*[aeiouy])[a-z]+$/i;
/** Its ends that stay a consonant in Korean: cat, book, clock, pen, time, king. */
const ENDS = /(^|[^aeiou])[aeiou](ck|[ptk])$|ook$|[mn]e?$|ng$/;

/**
 * A text with its values, in which every particle that is written for both cases fits the word before it.
 * @param {string} text
 * @param {Record<string, any>} values
 * @param {(value: any) => string} [told]
 * @returns {string}
 */
export function filled(text, values, told = String) {
  return text
    .replace(/\{(\w+)\}/g, (_, name) => told(values[name]))
    .replace(EITHER, (_, word, quotes, ...found) => {
      const [closed, open] = PAIRS[found.findIndex((match, at) => at < PAIRS.length && match !== undefined)];
      const end = endOf(word);
      return word + quotes + (end === "" || (end === "ㄹ" && open === "로") ? open : closed);
    });
}

/** The consonant at the end of a word: "ㄹ", "*" for any other, "" for none. */
function endOf(word) {
  const last = word.at(-1);
  const syllable = last.codePointAt(0) - 0xac00;
  // A syllable without a final consonant is a multiple of 28 from the first; ㄹ is the eighth final.
  if (syllable >= 0 && syllable < 11172) return syllable % 28 === 8 ? "ㄹ" : syllable % 28 ? "*" : "";
  if (word.length > 1 && WORD.test(word) && last > "Z")
    return /le?$/.test(word) ? "ㄹ" : ENDS.test(word) ? "*" : "";
  return LIQUID.includes(last) ? "ㄹ" : CLOSED.includes(last) ? "*" : "";
}
