// Before anything is drawn: whether this is a page for the projector, which has no strip, or begins with the
// first look, which has a short one.
(() => {
  const HOST = ["model", "example", "photo", "untrained", "size", "invert", "stretch", "lang"];
  const { dataset } = document.documentElement;
  const names = new URLSearchParams(location.search);
  let taste = {};
  try {
    taste = JSON.parse(localStorage.getItem("vitviz-taste")) ?? {};
  } catch {
    // nothing is remembered, or the browser refuses
  }
  if (names.get("projector") === "true") dataset.vvWall = "";
  else if (
    !taste.all &&
    !taste.projector &&
    [...names.keys()].every((name) => HOST.includes(name) || name.startsWith("__"))
  )
    dataset.vvPlain = "";
})();
