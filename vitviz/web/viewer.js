// Runs once when Gradio mounts the component; `element`, `props`, `server` and `watch` are its own.
const viewer = __BUNDLE__;

// The address says where to look first and follows what is looked at: no reload, and no new step
// for the Back button. Its state belongs to Gradio and stays.
const address = {
  read: () => location.href,
  write(href) {
    if (href !== location.href) history.replaceState(history.state, '', href);
  },
};

// What only Python can do: figures for print, and the rollout of very many tokens.
const ask = (name, question) => server[name](question);

// Another analysis comes as an answer, so Gradio has not written where its files can be fetched: they
// lie in the same cache as those that it has, behind the same proxies.
async function beside(key, id) {
  const reply = await ask('beside', { id, beside: key });
  if (!reply?.manifest) return reply; // a refusal, or nothing at all
  const { manifest } = reply;
  const { url } = props.value.files.picture;
  const place = url.slice(0, url.indexOf('/file=') + '/file='.length);
  const put = (file) => (Array.isArray(file) ? file.map(put) : { ...file, url: place + file.path });
  const files = Object.entries(manifest.files).map(([name, file]) => [name, put(file)]);
  return { ...manifest, files: Object.fromEntries(files) };
}

const mounted = viewer.mount({
  element: element.querySelector('.vv-place'), ask, address, beside,
  again: () => trigger('submit'), // of this component: page.py answers it as the button would
});
let shown = 0;
function show() {
  if (!props.value) return;
  mounted.update(props.value); // a later analysis keeps what the visitor looks at
  shown += 1;
  // On a phone the answer lies below the controls: whoever asked for it is taken there.
  if (shown > 1 && element.getBoundingClientRect().top > 0.6 * innerHeight) {
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    element.scrollIntoView({ behavior: still ? 'auto' : 'smooth' });
  }
}
watch('value', show); // is silent about a value that was there before
show();

// Gradio does not say when it takes the component away; the browser tells a custom element.
if (!customElements.get('vv-life')) {
  customElements.define('vv-life', class extends HTMLElement {
    disconnectedCallback() { this.ended?.(); }
  });
}
element.querySelector('vv-life').ended = () => mounted.destroy();
