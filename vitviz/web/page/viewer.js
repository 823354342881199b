// Runs once when Gradio mounts the component; `element`, `props`, `server` and `watch` are its own.
const load = __LOAD__;
const fetched = (path) => load(new URL(path, document.baseURI).href);

// Texts that the viewer has not brought along, and whether they could be had.
const files = __TEXTS__; // the name of what is said -> path
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

// The address of the page gives the first selection and follows it, without a reload. What is looked at
// stands beside it in the browser's history, with the photo, which no address can name. The rest of
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

// Another analysis comes as the result of a call; its files are in Gradio's cache, as all are.
const beside = async (key, id) => placed(await ask("beside", { id, beside: key }));

// The few files of an experiment come with the reply.
const operate = (interventions, id, first) => ask("operate", { id, interventions, ...first });

// What this page can compute itself, and by what.
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

// The page to take home, as text.
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

// What the server made last, of an example where the photo has not left this page.
let template = null;
let awaited = null; // tells of the first
const first = new Promise((done) => {
  awaited = done;
});

// Shows a photo that stays in this page; false if the server has to analyze it.
async function analyse(photo) {
  const done = await mounted.analyse(template, photo);
  if (done) {
    said(null);
    vitvizKept.shown(photo);
    here(true);
    reveal(true);
  }
  return done;
}

// On a phone the viewer is below the controls, and one's own photo can come while one has scrolled down:
// scroll to it.
let shown = 0;
function reveal(own) {
  shown += 1;
  const { top } = element.getBoundingClientRect();
  if (shown > 1 && (top > 0.6 * innerHeight || (own && top < 0))) {
    // at once: a smooth one ends where anything else scrolls, and the line of layers may
    element.scrollIntoView();
  }
}

// Whether what is shown has not left this page: the file that the server offers is not of that.
function here(is) {
  document.documentElement.toggleAttribute("data-vv-here", is);
}

// A sentence by language, under the strip; null: none.
function said(detail) {
  document.dispatchEvent(new CustomEvent("vitviz-said", { detail }));
}

// A photo that a visitor gives; false if it has to be sent, as it always was.
async function take(file, ...others) {
  await first;
  const before = vitvizKept.own();
  try {
    if (runs(template.model.key) && (await analyse(vitvizKept.take(file, ...others)))) return true;
  } catch (error) {
    vitvizKept.hold(before);
    if (!error.said) throw error;
    said(error.said);
    return true;
  }
  vitvizKept.hold(null);
  return false;
}
vitvizKept.takes = () =>
  template ? runs(template.model.key) : props.photos && (!props.value || props.value.text);
vitvizKept.analyse = take;

// A photo that is not shown itself, but stands beside.
async function send(file) {
  const { path } = await upload(file);
  return { address: path, name: file.name };
}

// A drawing is what any photo is. The first of a page is for the model of digits.
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

// What the server is asked for it does with a photo that it has.
let wanted = {}; // also
async function share() {
  const sent = await vitvizKept.share();
  if (sent) trigger("upload", { ...sent, ...wanted });
  return sent;
}

// A class in one room (room.js): guesses go to the server, and all of them to the teacher's page.
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
    again: () => trigger("submit"), // build.py answers this event as it does a choice of the model
    reopen: () => trigger("retry"), // and this one as it opens the page
    filming: (on) => document.getElementById("vv-camera")?.setAttribute("aria-expanded", String(on)),
    entitle: (title) => {
      document.title = title + " · vitviz";
    },
    own: vitvizKept.stays,
    share,
    kept() {
      wanted = {};
      if (!runs(template.model.key)) trigger("retry"); // the menu goes back to the model that is shown
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
    go: (href) => location.assign(href), // a lesson goes on with another model or picture
  });
}

let mounted = null; // until the file of the viewer is here
// What the document brings of a page that asks for nothing (first.py) is shown until Gradio's queue has
// answered.
let brought = window.vitvizFirst;
delete window.vitvizFirst;
const butId = (manifest) => JSON.stringify({ ...manifest, pass: { ...manifest.pass, id: "" } });
const stands = (manifest) =>
  brought &&
  template &&
  !vitvizKept.own() &&
  butId(manifest) === butId(brought) &&
  !element.querySelector("[data-state=error]"); // of a tab that the browser kept, the files can be gone
async function show() {
  const { value } = props;
  if (!value && !brought) return;
  if (value && !value.text) {
    // the page could not open with anything
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
      // What was given while this came is no picture: `take` goes back to the one before, or this is shown.
      if (vitvizKept.own() === own) vitvizKept.hold(null);
      said(error.said);
      await show();
    }
  } else {
    if (manifest.upload) vitvizKept.keep(manifest.upload, urlOf(manifest.upload.address));
    mounted.update(template); // a later analysis keeps what the visitor looks at
    here(false);
    reveal(Boolean(manifest.upload));
  }
}

// The buttons above the page. The last one that was pressed before the viewer was here is kept for it.
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

// A request of the viewer is over; what it brought is on its way by the next task.
const over = () => setTimeout(() => mounted?.over());
document.addEventListener("vitviz-over", over);

let ended = false;
fetched("__FILE__").then(
  async (viewer) => {
    if (!(await viewer.prepare(document.documentElement.lang, texts))) document.documentElement.lang = "en";
    if (ended) return;
    mounted = mount(viewer);
    watch("value", show); // is not called for a value that was set before
    show();
    if (pressed) open({ type: pressed });
  },
  () => {
    vitvizKept.takes = null;
    const absent = element.querySelector(".vv-absent");
    absent.hidden = false;
    element.querySelector(".vv-place").hidden = true; // nothing comes there
    absent.querySelector("button").onclick = () => location.reload(); // the file can have another name by now
  },
);

// Gradio has no event for the removal of a component; a custom element is told by the browser.
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
