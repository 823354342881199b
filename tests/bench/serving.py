"""A payload behind a small server, so that files travel as they do from an app."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from tests.running import answering
from vitviz.payload import bundle, css
from vitviz.payload.payload import Payload

PAGE = """<!doctype html><meta charset="utf-8"><style>{css}</style><div id="viewer"></div><script>
const viewer = {bundle};
const manifest = {manifest};
const place = document.getElementById("viewer");
window.times = {{}};
new MutationObserver(() => {{
  if (place.dataset.state !== "ready" || times.ready) return;
  const files = performance.getEntriesByType("resource")
    .filter(({{ name }}) => name.endsWith(".safetensors"));
  times.bytes = files.reduce((sum, file) => sum + file.encodedBodySize, 0);
  times.waited = Math.max(...files.map((file) => file.responseEnd)) - times.began;
  const painted = () => {{ times.ready = performance.now() - times.began; }};
  requestAnimationFrame(() => setTimeout(painted, 0));
}}).observe(place, {{ attributes: true }});
window.open_ = (wanted) => {{
  times.began = performance.now();
  window.mounted = viewer.mount({{ element: place, manifest, selection: wanted,
    ask: () => new Promise(() => {{}}) }});
}};
</script>"""


@contextmanager
def serving(payload: Payload) -> Iterator[str]:
    """The address of a page with one analysis; `open_()` in it shows the viewer."""
    manifest = json.loads(json.dumps(payload.manifest))
    for files in manifest["files"].values():
        for file in files if isinstance(files, list) else [files]:
            file["url"] = f"/{file['path']}"
    html = PAGE.format(css=css(), bundle=bundle(), manifest=json.dumps(manifest)).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = html if self.path == "/" else payload.files.get(self.path[1:], b"")
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html" if self.path == "/" else "x/x")
            self.send_header("Content-Length", str(len(body)))
            # Only an isolated page may be asked how much memory it takes.
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: the measurements are what is printed."""

    with answering(Handler) as url:
        yield url
