// A class in one room. Runs before everything else: the teacher's secret is removed from the address, so that
// no link, request or history contains it, and kept in this tab. The random number that identifies a pupil is
// kept in this browser: a second tab is no second pupil. Questions whose answer was seen are kept in this tab.
window.vitvizRoom = (() => {
  const kept = {}; // used if the browser refuses to store anything
  const keep = (name, make, storage = "sessionStorage") => {
    const key = "vitviz-" + name;
    try {
      if (make) window[storage].setItem(key, make);
      return window[storage].getItem(key);
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
  const voter = (make) => keep("voter", make, "localStorage");
  const seen = () => (keep("answered") ?? "").split(" ");
  const answered = {
    has: (question) => seen().includes(question),
    add: (question) => answered.has(question) || keep("answered", [...seen(), question].join(" ")),
  };
  return { teacher: keep("teacher", word), voter: voter() ?? voter(number()), answered };
})();
