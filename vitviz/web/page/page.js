// Runs once when the page has loaded: everything for which Gradio has no component. Texts come from build.py.
() => {
  const texts = __TEXTS__; // language -> key -> text
  const names = __NAMES__; // of the examples, in the order of their thumbnails: language -> name
  const languageOf = __LANGUAGE_OF__;
  const page = document.documentElement;
  const language = () => languageOf(page.lang);
  const find = (selector) => document.querySelector(selector);
  const make = (tag, properties, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };

  const { vitviz } = window;
  window.vitvizSlowClocks?.(); // absent where another page holds the app
  const takes = () => vitviz.taker?.takes();

  // Gradio's picture input is hidden except while the camera is on. These buttons operate it.
  const sources = () => document.querySelectorAll("#vv-photo [data-testid=source-select] button");
  const UPLOAD = 0,
    CAMERA = 1;
  const [MOST_LOOKS, LOOK_MS] = [600, 100]; // for the file input to be there again: a minute
  async function fileInput() {
    const input = () => find("#vv-photo input[type=file]");
    if (!input()) sources()[UPLOAD]?.click(); // the input shows another source
    for (let looks = 0; !input() && looks < MOST_LOOKS; looks++)
      await new Promise((done) => {
        setTimeout(done, looks && LOOK_MS);
      });
    return input();
  }
  let [sends, newest] = [false, 0];
  /** Gives a file to Gradio's input. @param {boolean} [sending]  the page has passed it on: it is sent */
  async function take(file, sending = false) {
    newest += 1;
    const mine = newest;
    const input = await fileInput(); // there is none while a photo is on its way
    if (!input || mine !== newest) return;
    const files = new DataTransfer();
    files.items.add(file);
    input.files = files.files;
    sends = sending;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    sends = false;
  }
  // Only one of several files is shown; the page says which.
  let only = null; // {name, count}
  async function takeOne(files) {
    const file = [...files].find(({ type }) => type.startsWith("image/")) ?? files[0];
    await take(file);
    only = files.length > 1 ? { name: file.name, count: files.length } : null;
    sayOnly();
  }
  function sayOnly() {
    const t = texts[language()];
    say(...(only ? [t.only.replace(/{(\w+)}/g, (_, key) => only[key])] : []));
  }
  // Gradio makes its file input anew when an answer comes, and an input that is gone hears of no choice: the
  // photo that somebody chooses meanwhile would be lost.
  const chooser = vitviz.fileField("image/*", takeOne);
  document.body.append(chooser);
  function camera(on) {
    if (on) {
      find("#vv-photo [aria-label='Remove Image']")?.click(); // otherwise the input would keep its picture
      setTimeout(() => sources()[CAMERA].click(), 0);
    } else if ("vvCamera" in page.dataset) sources()[UPLOAD].click(); // ends the stream
    see(on);
  }
  function see(on) {
    if (on) page.dataset.vvCamera = "";
    else delete page.dataset.vvCamera;
    find("#vv-camera").setAttribute("aria-expanded", String(on));
  }
  const pressed = {
    "vv-upload": () => {
      camera(false);
      chooser.click();
    },
    "vv-camera": () => {
      if ("vvCamera" in page.dataset || !takes()) camera(!("vvCamera" in page.dataset));
      else document.dispatchEvent(new Event("vitviz-camera")); // the viewer has a living picture
    },
    "vv-paste": async () => {
      camera(false);
      const { file, why } = await pasted();
      if (file) give(file);
      else say(why(texts[language()]));
    },
    "vv-draw": () => {
      camera(false);
      document.dispatchEvent(new Event("vitviz-draw"));
    }, // the viewer has the field for it
    "vv-forget": () => vitviz.photos.forget(),
    "vv-play": () => document.dispatchEvent(new Event("vitviz-play")),
    "vv-lessons": () => document.dispatchEvent(new Event("vitviz-lessons")), // the viewer has the list
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (button && Object.hasOwn(pressed, button.id)) pressed[button.id]();
    else if (button?.matches("#vv-photo [aria-label='capture photo']")) taken();
  });
  // The model may have changed meanwhile to one whose pictures do not leave the page.
  document.addEventListener(
    "click",
    (event) => {
      if (!event.target.closest?.("#vv-photo [aria-label='capture photo']") || !takes()) return;
      event.stopImmediatePropagation();
      camera(false);
      pressed["vv-camera"]();
    },
    true,
  );
  /** The picture on the clipboard, or why there is none, as its text. */
  async function pasted() {
    try {
      for (const item of await navigator.clipboard.read()) {
        const type = item.types.find((name) => name.startsWith("image/"));
        if (type)
          return { file: new File([await item.getType(type)], "clipboard." + type.slice(6), { type }) };
      }
      return { why: (t) => t.nothing_pasted };
    } catch {
      return { why: (t) => t.paste_refused }; // by browser or visitor, or not over HTTPS
    }
  }
  /** Hide the camera when its picture has arrived; Gradio ends the stream. */
  function taken() {
    const arrived = new MutationObserver(() => {
      if (!find("#vv-photo img")) return;
      arrived.disconnect();
      see(false);
    });
    arrived.observe(find("#vv-photo"), { childList: true, subtree: true });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && "vvCamera" in page.dataset) camera(false);
  });

  // A picture that the page analyzes itself must not reach Gradio's input, which would upload it.
  document.addEventListener(
    "change",
    (event) => {
      const [file] = event.target.files ?? [];
      if (sends || !file || !event.target.closest("#vv-photo") || !takes()) return;
      event.stopImmediatePropagation();
      event.target.value = ""; // so that the same file can be chosen again
      give(file);
    },
    true,
  );
  async function give(file) {
    if (await vitviz.taker.take(file)) return;
    sayOnly();
    await take(file, true);
  }
  document.addEventListener("vitviz-said", ({ detail }) => {
    if (detail) say(detail[language()]);
    else sayOnly();
  });

  window.vitviz.takesPhotos(takeOne, () => {
    const t = texts[language()];
    say(t.nothing_pasted);
  });

  // The first stop of the Tab key is a link past the strip to the picture.
  const skip = make("a", {
    className: "vv-skip",
    href: "#vv-viewer",
    onclick: (event) => {
      event.preventDefault();
      (find("#vv-viewer .vv-frame") ?? find("#vv-viewer button"))?.focus();
    },
  });
  document.body.prepend(skip);

  function speak() {
    const t = texts[language()];
    skip.textContent = t.skip;
    nameExamples(100);
  }
  /** Name the examples. Gradio adds their thumbnails later, so this retries until they are there. */
  function nameExamples(tries) {
    const images = document.querySelectorAll("#vv-examples img");
    images.forEach((image, i) => {
      image.alt = names[i][language()];
    });
    if (images.length < names.length && tries > 0) setTimeout(nameExamples, 100, tries - 1);
  }
  // Gradio's own messages exist only in English. The message of a failed choice also stands under the strip,
  // until the next choice.
  const GRADIOS = [
    [/exceed the maximum/, (t) => t.too_large],
    [/^Invalid file type/, (t) => t.no_picture],
    [/^Connection errored/, (t) => t.unreachable],
    [/^Connection to the server/, (t) => t.reconnecting, true], // Gradio shows it until it is over
  ];
  function translate(message) {
    const t = texts[language()];
    const [, ours, stays] = GRADIOS.find(([words]) => words.test(message.textContent)) ?? [];
    if (ours) message.textContent = ours(t);
    message.closest(".toast-body").querySelector("button").setAttribute("aria-label", t.close);
    if (!stays) say(...message.cloneNode(true).childNodes);
    document.dispatchEvent(new Event("vitviz-over")); // Gradio sends no end if its queue was full
  }
  function say(...nodes) {
    find("#vv-said .html-container")?.replaceChildren(...nodes);
    page.toggleAttribute("data-vv-said", nodes.length > 0);
  }
  const translated = new WeakSet();
  new MutationObserver(() => {
    for (const message of document.getElementsByClassName("toast-message-text")) {
      if (!translated.has(message)) translate(message);
      translated.add(message);
    }
  }).observe(document.body, { childList: true, subtree: true });
  for (const type of ["click", "change", "drop", "paste"]) {
    document.addEventListener(
      type,
      ({ target }) => {
        if (sends || (type === "click" && !target.closest?.(".vv-toolbar button"))) return;
        only = null;
        say();
      },
      true,
    );
  }

  // The language of the address, else of the last visit; the viewer has a button to change it. Gradio has no
  // public way to set a language, but its module has one; without it Gradio's own texts stay as they are.
  let spoken = language();
  async function choose(code) {
    spoken = code;
    const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
    const core = loaded.find((name) => /\/assets\/core-[^/]*\.js$/.test(name));
    const { changeLocale } = core ? await import(core) : {};
    if (changeLocale) await changeLocale(code);
    if (spoken === code) page.lang = code; // another one may have been chosen meanwhile
  }
  function remembered() {
    try {
      return JSON.parse(localStorage.getItem("vitviz-taste")).language;
    } catch {
      return null; // nothing is stored, or the browser refuses
    }
  }
  const wanted = new URLSearchParams(location.search).get("lang") || remembered();
  if (wanted && languageOf(wanted) !== language()) choose(languageOf(wanted));
  new MutationObserver(() => {
    // Gradio writes a language into the page when its own texts have come; the visitor may have chosen another
    // one since, which the viewer's button notes in vvLanguage.
    const isLate = (page.dataset.vvLanguage ?? language()) !== language();
    if (language() !== spoken) choose(isLate ? spoken : language());
    speak();
  }).observe(page, { attributeFilter: ["lang"] });
  speak();
};
