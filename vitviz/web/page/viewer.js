// Runs once when Gradio mounts the component; `element`, `props`, `server` and `watch` are its own.
const load = __LOAD__;

// The address of the page gives the first selection and follows it, without a reload. What is looked at stands beside it in
// the browser's history, with the photo, which no address can name. The rest of `history.state` belongs to Gradio.
const { vitvizKept } = window;
let followed = null;
const address = {
  read: () => location.href,
  view() {
    const view = history.state?.vitviz;
    return view ? { ...view, photo: vitvizKept.pathOf(view.photo) } : null;
  },
  write(href, view, step) {
    const state = { ...history.state, vitviz: { ...view, photo: vitvizKept.idOf(view.photo) } };
    if (step) history.pushState(state, '', href);
    else if (href !== location.href || JSON.stringify(state) !== JSON.stringify(history.state)) history.replaceState(state, '', href);
  },
  follow(moved) {
    followed = moved;
    window.addEventListener('popstate', moved);
  },
};

// Calls to Python: figures for print, late files, and the rollout of very many tokens.
const ask = (name, question) => server[name](question);

// Gradio gives the picture of an analysis its URL, and knows of no other file. All of them are in the
// same cache, behind the same proxies, so this URL is the pattern. Another analysis comes as the
// result of a call.
const beside = async (key, id) => placed(await ask('beside', { id, beside: key }));

// The few files of an experiment come with the reply.
const operate = (interventions, id, first) => ask('operate', { id, interventions, ...first });

function placeOfFiles() {
  const { url } = props.value.picture;
  return url.slice(0, url.indexOf('/file=') + '/file='.length);
}

const urlOf = (path) => placeOfFiles() + path.split('/').map(encodeURIComponent).join('/');

// The page to take home, as text.
async function takeHome(wanted) {
  const reply = await ask('take_home', wanted);
  if (!reply?.path) return reply; // a refusal or undefined
  const answer = await fetch(urlOf(reply.path));
  if (!answer.ok) throw new Error('status ' + answer.status);
  return { html: await answer.text() };
}

function placed(reply) {
  if (!reply?.manifest) return reply; // a refusal or undefined
  const { manifest } = reply;
  const files = Object.entries(manifest.files).map(([name, file]) => [name, file.late ? file : { ...file, url: urlOf(file.path) }]);
  return { ...manifest, files: Object.fromEntries(files) };
}

// A photo that is not shown itself, but stands beside.
async function send(file) {
  const { path } = await upload(file);
  return { address: path, name: file.name };
}

// A drawing is uploaded as any photo is.
async function draw(picture, name, first) {
  const { path } = await upload(new File([picture], name, { type: picture.type }));
  trigger('upload', { path, name, first });
}

function mount(viewer) {
  return viewer.mount({
    element: element.querySelector('.vv-place'), ask, address, beside, operate, send, draw, takeHome, awaited: true, languages: true,
    again: () => trigger('submit'), // page.py answers this event as it does a choice of the model
    reopen: () => trigger('retry'), // and this one as it opens the page
    entitle: (title) => { document.title = title + ' · vitviz'; },
    invert: () => trigger('edit'),
    resize: (size) => trigger('select', size),
    go: (href) => location.assign(href), // a lesson goes on with another model or picture
  });
}

let mounted = null; // until the file of the viewer is here
let shown = 0;
function show() {
  if (!props.value) return;
  if (!props.value.text) { // the page could not open with anything
    mounted.update(null);
    return;
  }
  const manifest = JSON.parse(props.value.text);
  if (manifest.upload) vitvizKept.keep(manifest.upload, urlOf(manifest.upload.address));
  mounted.update(placed({ manifest })); // a later analysis keeps what the visitor looks at
  shown += 1;
  // On a phone the viewer is below the controls, and one's own photo can come while one has scrolled down: scroll to it.
  const { top } = element.getBoundingClientRect();
  if (shown > 1 && (top > 0.6 * innerHeight || (manifest.upload && top < 0))) {
    element.scrollIntoView(); // at once: a smooth one ends where anything else scrolls, and the line of layers may
  }
}

// The buttons above the page. The last one that was pressed before the viewer was here is kept for it.
const opens = { 'vitviz-lessons': 'openLessons', 'vitviz-draw': 'openDrawing' };
let pressed = null;
function open({ type }) {
  if (mounted) mounted[opens[type]]();
  else pressed = type;
}
Object.keys(opens).forEach((type) => document.addEventListener(type, open));

let ended = false;
load(new URL('__FILE__', document.baseURI).href).then((viewer) => {
  if (ended) return;
  mounted = mount(viewer);
  watch('value', show); // is not called for a value that was set before
  show();
  if (pressed) open({ type: pressed });
}, () => {
  const absent = element.querySelector('.vv-absent');
  absent.hidden = false;
  element.querySelector('.vv-place').hidden = true; // nothing comes there
  absent.querySelector('button').onclick = () => location.reload(); // the file can have another name by now
});

// Gradio has no event for the removal of a component; a custom element is told by the browser.
if (!customElements.get('vv-life')) {
  customElements.define('vv-life', class extends HTMLElement {
    disconnectedCallback() { this.ended?.(); }
  });
}
element.querySelector('vv-life').ended = () => {
  ended = true;
  Object.keys(opens).forEach((type) => document.removeEventListener(type, open));
  window.removeEventListener('popstate', followed);
  mounted?.destroy();
};
