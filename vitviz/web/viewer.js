// Runs once when Gradio mounts the component; `element`, `props` and `watch` are Gradio's.
const viewer = __BUNDLE__;
const place = element.querySelector('.vv-place');

// Files lie in Gradio's cache for about an hour. A cut-off answer must not be drawn.
async function fetchFile(file, signal) {
  const response = await fetch(file.url, { signal });
  if (!response.ok) throw Object.assign(new Error(`HTTP ${response.status}`), { status: response.status });
  const buffer = await response.arrayBuffer();
  if (file.size && buffer.byteLength !== file.size) throw new Error(`${buffer.byteLength} of ${file.size} bytes`);
  return buffer;
}

const mounted = viewer.mount({ element: place, manifest: props.value || null, fetchFile });
watch('value', () => mounted.update(props.value || null));
element.dataset.mounted = 'true';

// Gradio does not say when it takes the component away; the browser tells a custom element.
if (!customElements.get('vv-life')) {
  customElements.define('vv-life', class extends HTMLElement {
    disconnectedCallback() { this.ended?.(); }
  });
}
element.querySelector('vv-life').ended = () => mounted.destroy();
