// Runs once when Gradio mounts the component; `element`, `props`, `server`, `trigger`, `upload` and `watch` are
// its own. Loads the viewer, which takes over (viewer/hosts/gradio.js).
const load = __LOAD__;
const files = __FILES__; // name -> path; viewer, texts: language -> path
const addressOf = (path) => new URL(path, document.baseURI).href;

// The file of the viewer with the texts of a language: that of the address, or what the browser prefers. The server
// names the same file in the headers (sending.py), so that it is on its way already.
const wanted = [new URLSearchParams(location.search).get("lang") ?? "", ...navigator.languages];
const spoken = wanted
  .flatMap((tag) => [tag, tag.split("-")[0]])
  .find((language) => Object.hasOwn(files.viewer, language));

// Texts of another language; an alert if they cannot be loaded.
const silent = element.querySelector(".vv-no-texts");
async function texts(name) {
  silent.hidden = true;
  try {
    return await load(addressOf(files.texts[name]));
  } catch (error) {
    silent.hidden = false;
    throw error;
  }
}

// The buttons above the viewer. A press before the viewer is loaded is remembered, the last one only.
const opens = {
  "vitviz-lessons": "openLessons",
  "vitviz-draw": "openDrawing",
  "vitviz-camera": "openCamera",
  "vitviz-play": "openPlayground",
};
let viewer = null; // until its file is loaded
let pressed = null;
const absent = element.querySelector(".vv-absent"); // says that the file did not come
function open({ type }) {
  if (viewer) viewer[opens[type]]();
  else if (absent.hidden) pressed = type;
  else absent.scrollIntoView({ block: "nearest" });
}
Object.keys(opens).forEach((type) => document.addEventListener(type, open));

// A request of the viewer is over; its result arrives by the next task.
let missed = false; // one was over before the viewer was there
const over = () =>
  setTimeout(() => {
    if (viewer) viewer.over();
    else missed = true;
  });
document.addEventListener("vitviz-over", over);

// Photos wait for the viewer, unless its file does not come.
const page = window.vitviz;
let ended = false;
let arrived = null;
const arriving = new Promise((done) => {
  arrived = done;
});
page.taker = {
  takes: () => props.photos && (!props.value || props.value.text),
  async take(file) {
    await arriving;
    return page.taker === null ? false : page.taker.take(file);
  },
};
load(addressOf(files.viewer[spoken ?? "en"])).then(
  async ({ start }) => {
    const opened = await start({ element, props, server, trigger, upload, watch, load, files }, page, texts);
    if (ended) return;
    viewer = opened();
    arrived();
    if (missed) over();
    if (pressed) open({ type: pressed });
  },
  () => {
    if (ended) return;
    // Nothing is sent of a photo that the viewer would have kept in the page.
    page.taker = {
      takes: () => props.photos,
      async take() {
        absent.scrollIntoView({ block: "nearest" });
        return true;
      },
    };
    arrived();
    absent.hidden = false;
    element.querySelector(".vv-place").hidden = true; // it stays empty
    absent.querySelector("button").onclick = () => location.reload(); // the file can have another name by now
  },
);

// Gradio has no event for the removal of a component, but the browser notifies a custom element.
if (!customElements.get("vv-life")) {
  customElements.define(
    "vv-life",
    class extends HTMLElement {
      disconnectedCallback() {
        this.ended?.();
      }
    },
  );
}
element.querySelector("vv-life").ended = () => {
  ended = true;
  Object.keys(opens).forEach((type) => document.removeEventListener(type, open));
  document.removeEventListener("vitviz-over", over);
  viewer?.destroy();
};
