// First: removes the first picture and answer from the document when the viewer shows its own, or an error.
// A photo or a lesson of the visitor's own comes back.
// A frame loses its history state when the page around it is reloaded: the viewer's hosts/entry.js keeps the
// state of an own photo in sessionStorage.
const vitvizOwn = (() => {
  try {
    const isKept = window.parent !== window && sessionStorage.getItem("vitviz-entry") !== null;
    return Boolean(history.state?.vitviz?.photo || location.hash || isKept);
  } catch {
    return Boolean(history.state?.vitviz?.photo || location.hash); // the browser refuses storage in frames
  }
})();
(() => {
  const texts = __SAID__; // language -> answer, and question of the first look
  const first = document.querySelector(".vv-first");
  const IN_ITS_PLACE = "[data-state=ready], [data-state=error], .vv-absent:not([hidden])";
  let spoken = null;
  try {
    spoken = JSON.parse(localStorage.getItem("vitviz-taste")).language;
  } catch {
    // nothing is remembered, or the browser refuses
  }
  if (Object.hasOwn(texts, spoken))
    first
      .querySelectorAll("p")
      .forEach((line, at) => Object.assign(line, { lang: spoken, textContent: texts[spoken][at] }));
  if (vitvizOwn) first.remove();
  new MutationObserver((_, observer) => {
    const place = document.querySelector(IN_ITS_PLACE);
    // page.css hides the viewer until the strip is there
    if (!place || getComputedStyle(place).visibility !== "visible") return;
    observer.disconnect();
    first.remove();
  }).observe(document, { subtree: true, childList: true, attributeFilter: ["data-state", "hidden"] });
})();
