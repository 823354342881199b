// First: takes picture and answer out of the document when the viewer's own are seen, or why there are none.
// a photo or a lesson of one's own comes back
const vitvizOwn = Boolean(history.state?.vitviz?.photo || location.hash);
(() => {
  const said = __SAID__; // language -> answer
  const first = document.querySelector(".vv-first");
  const IN_ITS_PLACE = "[data-state=ready], [data-state=error], .vv-absent:not([hidden])";
  let spoken = null;
  try {
    spoken = JSON.parse(localStorage.getItem("vitviz-taste")).language;
  } catch {
    // nothing is remembered, or the browser refuses
  }
  if (Object.hasOwn(said, spoken))
    Object.assign(first.querySelector("p"), { lang: spoken, textContent: said[spoken] });
  if (vitvizOwn) first.remove();
  new MutationObserver((_, observer) => {
    const place = document.querySelector(IN_ITS_PLACE);
    // page.css hides it while the strip is coming
    if (!place || getComputedStyle(place).visibility !== "visible") return;
    observer.disconnect();
    first.remove();
  }).observe(document, { subtree: true, childList: true, attributeFilter: ["data-state", "hidden"] });
})();
