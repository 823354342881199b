/** Korean particles, which depend on whether the sound before them ends in a consonant. */

/** With a consonant before it, and with a vowel. */
const PAIRS = [
  ["을", "를"],
  ["은", "는"],
  ["이", "가"],
  ["과", "와"],
];
const EITHER = new RegExp(
  "([^\\s'\"’”)\\]])(['\"’”)\\]]*)(?:" +
    PAIRS.map(([closed, open]) => `(${closed}\\(${open}\\)|${open}\\(${closed}\\))`).join("|") +
    ")",
  "gu",
);
/** Digits and letters whose Korean names end in a consonant: 영, 일, 삼, 육, 칠, 팔; 엘, 엠, 엔, 알. */
const CLOSED = new Set("013678LMNRlmnr");

/**
 * A text in which every particle that is written for both cases, as 을(를), fits the word before it.
 * @param {string} text
 * @returns {string}
 */
export function withParticles(text) {
  return text.replace(EITHER, (_, last, quotes, ...found) => {
    const pair = PAIRS[found.findIndex((match, at) => at < PAIRS.length && match !== undefined)];
    return last + quotes + pair[endsInConsonant(last) ? 0 : 1];
  });
}

function endsInConsonant(letter) {
  const syllable = letter.codePointAt(0) - 0xac00;
  // A syllable without a final consonant is a multiple of 28 from the first.
  return syllable >= 0 && syllable < 11172 ? syllable % 28 !== 0 : CLOSED.has(letter);
}
