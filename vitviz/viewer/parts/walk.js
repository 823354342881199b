/**
 * The walk: at the start, a few tokens are shown once, one after another, unless somebody touches the page.
 */

/** It begins after this long, and stays this long with each token. */
const BEGIN_MS = 2000;
const STAY_MS = 2400;
const TOUCHES = ["pointerdown", "touchstart", "wheel", "keydown", "focusin"];

/**
 * Ends for good after the last token, when the page is touched, by pointer, key or focus, and when the
 * pointer comes over `node`; with prefers-reduced-motion it never begins.
 * @param {number[]} tokens
 * @param {(token: number|null) => void} show  null: the walk has ended
 * @param {HTMLElement} node
 * @returns {{stop: () => void}}
 */
export function startWalk(tokens, show, node) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (still || tokens.length === 0) return { stop() {} };
  let at = 0;
  let timer = setTimeout(step, BEGIN_MS);
  for (const type of TOUCHES) window.addEventListener(type, stop, true);
  node.addEventListener("pointermove", stop, true);
  return { stop };

  function step() {
    timer = setTimeout(step, STAY_MS);
    if (document.hidden) return;
    if (at < tokens.length) show(tokens[at]);
    else stop();
    at += 1;
  }

  function stop() {
    if (timer === 0) return;
    clearTimeout(timer);
    timer = 0;
    for (const type of TOUCHES) window.removeEventListener(type, stop, true);
    node.removeEventListener("pointermove", stop, true);
    if (at > 0) show(null);
  }
}
