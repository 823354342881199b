// A class in one room. Runs before everything else: the teacher's secret is removed from the address, so that
// no link, request or history contains it, and kept in this tab, like the random number that identifies a
// pupil.
window.vitvizRoom = (() => {
  const kept = {}; // used if the browser refuses to store anything
  const keep = (name, make) => {
    const key = "vitviz-" + name;
    try {
      if (make) sessionStorage.setItem(key, make);
      return sessionStorage.getItem(key);
    } catch {
      if (make) kept[key] = make;
      return kept[key] ?? null;
    }
  };
  const url = new URL(location.href);
  const word = url.searchParams.get("teacher");
  if (url.searchParams.has("teacher")) {
    url.searchParams.delete("teacher");
    history.replaceState(history.state, "", url);
  }
  const number = () =>
    Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join(
      "",
    );
  return { teacher: keep("teacher", word), voter: keep("voter") ?? keep("voter", number()) };
})();
