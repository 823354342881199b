// Runs once when Gradio mounts the component; `element`, `props`, `server` and `watch` are its own.
const load = __LOAD__;
const fetched = (path) => load(new URL(path, document.baseURI).href);

// Texts that are not in the file of the viewer; an alert if they cannot be loaded.
const files = __TEXTS__; // name -> path
const silent = element.querySelector(".vv-no-texts");
async function texts(name) {
  silent.hidden = true;
  try {
    return await fetched(files[name]);
  } catch (error) {
    silent.hidden = false;
    throw error;
  }
}

// The address of the page sets the first selection and follows it, without a reload. The view is stored with
// it in the browser's history, together with the photo, which no address can name. The rest of
// `history.state` belongs to Gradio.
const { vitvizKept } = window;
let followed = null;
const address = {
  read: () => location.href,
  view() {
    const view = history.state?.vitviz;
    return view ? { ...view, photo: vitvizKept.pathOf(view.photo) } : null;
  },
  write(href, view, step) {
    const state = view
      ? { ...history.state, vitviz: { ...view, photo: vitvizKept.idOf(view.photo) } }
      : history.state;
    if (step) history.pushState(state, "", href);
    else if (href !== location.href || JSON.stringify(state) !== JSON.stringify(history.state))
      history.replaceState(state, "", href);
  },
  follow(moved) {
    followed = moved;
    window.addEventListener("popstate", moved);
  },
};

// Calls to Python: figures for print, late files, and the rollout of very many tokens.
const ask = (name, question) => server[name](question);

// Another analysis is the result of a call; its files are in Gradio's cache, too.
const beside = async (key, id) => placed(await ask("beside", { id, beside: key }));

// The few files of an experiment are in the reply.
const operate = (interventions, id, first) => ask("operate", { id, interventions, ...first });

// Scripts, digits and weights with which this page computes itself.
const running = async () => (await fetched("__RUNNING__")).running;
const playing = () => fetched("__PLAYING__");
const digits = { train: "__TRAIN__", test: "__TEST__" };
async function digitsOf(part) {
  const answer = await fetch(new URL(digits[part], document.baseURI));
  if (!answer.ok) throw new Error("status " + answer.status);
  return answer.arrayBuffer();
}
const weights = Object.fromEntries(
  Object.entries(props.weights ?? {}).map(([name, path]) => [name, new URL(path, document.baseURI).href]),
);

const placeOfFiles = new URL("gradio_api/file=", document.baseURI).href;
const urlOf = (path) => placeOfFiles + path.split("/").map(encodeURIComponent).join("/");

// The HTML of the page to take home.
async function takeHome(wanted) {
  const reply = await ask("take_home", wanted);
  if (!reply?.path) return reply; // a refusal or undefined
  const answer = await fetch(urlOf(reply.path));
  if (!answer.ok) throw new Error("status " + answer.status);
  return { html: await answer.text() };
}

function placed(reply) {
  if (!reply?.manifest) return reply; // a refusal or undefined
  const { manifest } = reply;
  const files = Object.entries(manifest.files).map(([name, file]) => [
    name,
    file.late ? file : { ...file, url: urlOf(file.path) },
  ]);
  return { ...manifest, files: Object.fromEntries(files) };
}

// Whether the page analyzes photos with the model of a manifest itself.
const runs = ({ name, untrained, image_size: size }) =>
  props.photos && Object.hasOwn(weights, name) && !untrained && !size;

// The latest manifest of the server; that of an example if the photo has not left this page.
let template = null;
let awaited = null; // resolves the promise below
const first = new Promise((done) => {
  awaited = done;
});

// Shows a photo that stays in this page; false if the server has to analyze it.
async function analyse(photo) {
  const done = await mounted.analyse(template, photo);
  if (done) {
    announce(null);
    vitvizKept.shown(photo);
    here(true);
    reveal(true);
  }
  return done;
}

// On a phone the viewer is below the controls, and a photo of the visitor's own can arrive after scrolling
// down: scroll to the viewer.
let shown = 0;
function reveal(own) {
  shown += 1;
  const { top } = element.getBoundingClientRect();
  if (shown > 1 && (top > 0.6 * innerHeight || (own && top < 0))) {
    // not smoothly: a smooth scroll ends when anything else scrolls, as the line of layers may
    element.scrollIntoView();
  }
}

// Mark the page if the shown photo has not left it: the download of the server is another analysis then.
function here(is) {
  document.documentElement.toggleAttribute("data-vv-here", is);
}

// Show a message, given by language, under the strip; null: none.
function announce(detail) {
  document.dispatchEvent(new CustomEvent("vitviz-said", { detail }));
}

// Take a visitor's photo; false if it has to be sent to the server.
async function take(file, ...others) {
  await first;
  const before = vitvizKept.own();
  try {
    if (runs(template.model.key) && (await analyse(vitvizKept.take(file, ...others)))) return true;
  } catch (error) {
    vitvizKept.hold(before);
    if (!error.said) throw error;
    announce(error.said);
    return true;
  }
  vitvizKept.hold(null);
  return false;
}
vitvizKept.takes = () =>
  template ? runs(template.model.key) : props.photos && (!props.value || props.value.text);
vitvizKept.analyse = take;

// Upload a photo for a comparison.
async function send(file) {
  const { path } = await upload(file);
  return { address: path, name: file.name };
}

// Take a drawing, like any photo. The first drawing of a page goes to the model of digits.
async function draw(picture, name, first) {
  const file = new File([picture], name, { type: picture.type });
  const other = first && template.model.key.name !== props.digits;
  if (other && runs({ name: props.digits })) {
    vitvizKept.take(file);
    trigger("upload", { first });
  } else if (other || !(await take(file))) {
    const { path } = await upload(file);
    vitvizKept.hold(null);
    trigger("upload", { path, name, first });
  }
}

// Send the shown photo to the server, with a request that needs it there.
let wanted = {}; // the request
async function share() {
  const sent = await vitvizKept.share();
  if (sent) trigger("upload", { ...sent, ...wanted });
  return sent;
}

// A class in one room (room.js): guesses go to the server, which shows them on the teacher's page.
const room = window.vitvizRoom && { ...window.vitvizRoom, ask: (question) => ask("room", question) };

function mount(viewer) {
  return viewer.mount({
    element: element.querySelector(".vv-place"),
    ask,
    address,
    beside,
    operate,
    weights,
    running,
    send,
    draw,
    take: (picture, name) => draw(picture, name, false),
    takeHome,
    awaited: true,
    languages: true,
    texts,
    playing,
    digitsOf,
    room,
    again: () => trigger("submit"), // build.py handles this event like a choice of the model
    reopen: () => trigger("retry"), // and this event like the opening of the page
    filming: (on) => document.getElementById("vv-camera")?.setAttribute("aria-expanded", String(on)),
    entitle: (title) => {
      document.title = title + " · vitviz";
    },
    own: vitvizKept.stays,
    share,
    kept() {
      wanted = {};
      if (!runs(template.model.key)) trigger("retry"); // resets the menu to the model that is shown
    },
    invert() {
      const own = vitvizKept.own();
      if (own) take(own.file, !own.inverted, own.address);
      else trigger("edit");
    },
    resize(size) {
      if (!vitvizKept.own()) trigger("select", size);
      else {
        wanted = { size };
        mounted.need();
      }
    },
    go: (href) => location.assign(href), // a lesson continues with another model or picture
  });
}

let mounted = null; // until the file of the viewer is loaded
// The manifest in the document of a page without parameters (first.py). It is shown until Gradio's queue has
// answered.
let brought = window.vitvizFirst;
delete window.vitvizFirst;
const butId = (manifest) => JSON.stringify({ ...manifest, pass: { ...manifest.pass, id: "" } });
const stands = (manifest) =>
  brought &&
  template &&
  !vitvizKept.own() &&
  butId(manifest) === butId(brought) &&
  !element.querySelector("[data-state=error]"); // in a restored tab the files can be gone
async function show() {
  const { value } = props;
  if (!value && !brought) return;
  if (value && !value.text) {
    // the page has nothing to show
    mounted.update(null);
    return;
  }
  const manifest = value ? JSON.parse(value.text) : brought;
  const shown = value && stands(manifest);
  if (value) brought = null;
  if (shown) return;
  template = placed({ manifest });
  awaited();
  const own = vitvizKept.own();
  wanted = {};
  if (own) {
    try {
      if (!runs(template.model.key) || !(await analyse(own))) mounted.need();
    } catch (error) {
      if (!error.said) throw error;
      // The file that came meanwhile is no picture: `take` restores the photo before it, else this is shown.
      if (vitvizKept.own() === own) vitvizKept.hold(null);
      announce(error.said);
      await show();
    }
  } else {
    if (manifest.upload) vitvizKept.keep(manifest.upload, urlOf(manifest.upload.address));
    mounted.update(template); // a later analysis keeps the view
    here(false);
    reveal(Boolean(manifest.upload));
  }
}

// The buttons above the viewer. A press before the viewer is loaded is remembered, the last one only.
const opens = {
  "vitviz-lessons": "openLessons",
  "vitviz-draw": "openDrawing",
  "vitviz-camera": "openCamera",
  "vitviz-play": "openPlayground",
};
let pressed = null;
function open({ type }) {
  if (mounted) mounted[opens[type]]();
  else pressed = type;
}
Object.keys(opens).forEach((type) => document.addEventListener(type, open));

// A request of the viewer is over; its result arrives by the next task.
const over = () => setTimeout(() => mounted?.over());
document.addEventListener("vitviz-over", over);

let ended = false;
fetched("__FILE__").then(
  async (viewer) => {
    if (!(await viewer.prepare(document.documentElement.lang, texts))) document.documentElement.lang = "en";
    if (ended) return;
    mounted = mount(viewer);
    watch("value", show); // is not called for a value that is already set
    show();
    if (pressed) open({ type: pressed });
  },
  () => {
    vitvizKept.takes = null;
    const absent = element.querySelector(".vv-absent");
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
  window.removeEventListener("popstate", followed);
  mounted?.destroy();
};
