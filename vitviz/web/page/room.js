// A class in one room. Read before anything else: the teacher's word is taken off the address, so that no
// link, no request and no history has it, and stays in this tab; so does the random number that stands for a
// pupil.
window.vitvizRoom = (() => {
  const kept = {}; // where the browser refuses to keep anything
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
