"""The page: an analysis as one HTML file that needs no server and no network."""

import base64
import html
import json
from string import Template
from typing import TYPE_CHECKING

from .bundle import HERE, bundle, css
from .payload import Payload, pack

if TYPE_CHECKING:
    from ..probe.analysis import Analysis


def page(analysis: "Analysis | Payload", *, film: bool = False) -> str:
    """A self-contained HTML file with the viewer and all numbers of one analysis.

    It makes no request. Files are base64 in the page, so it is a third larger than the payload
    (ViT-B/16 at 224 pixels: about 10 MB; at 518 pixels 70 MB). `film`: with the film of the model's
    training, if there is one; it makes the page larger.
    """
    payload = analysis if isinstance(analysis, Payload) else pack(analysis, film=film)
    files = {path: base64.b64encode(data).decode() for path, data in payload.files.items()}
    photo, model = payload.manifest["photo"]["name"], payload.manifest["model"]["title"]
    template = Template((HERE / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=html.escape(" · ".join(part for part in (photo, model, "vitviz") if part)),
        css=css(),
        manifest=_json(payload.manifest),
        files=_json(files),
        viewer=bundle(),
    )


def _json(value: object) -> str:
    """JSON that may stand in a script element: no `<`, so no tag can end or begin in it."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")
