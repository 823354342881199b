"""The viewer as a Gradio component, and the manifest that it shows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import gradio as gr
from gradio.data_classes import GradioModel

from ...languages import Message, say
from ...payload.bundle import load, without_comments
from ..host.error_messages import in_all
from ..service.replies import with_places
from .gradio_inside import StillHTML, events
from .sending import DIGITS_FILES, PLAYING_FILE, RUNNING_FILE, TEXTS_FILES, VIEWER_FILES

TEMPLATE = f"""<p class="vv-no-texts" role="alert" hidden>
{in_all(Message("web.no_texts"))}</p><div class="vv-place"></div>
<div class="vv-absent" role="alert" hidden>
<p>{in_all(Message("web.no_viewer"))}</p><button>{in_all(Message("viewer.tryAgain"), say)}</button>
</div><vv-life></vv-life>"""


class Manifest(GradioModel):
    """The viewer's manifest as JSON text, with paths of its files in the cache, from which
    viewer/hosts/gradio.js makes addresses. As objects, Gradio would walk over all files and values
    several times, in the single thread that serves all visitors: longer than the model's pass.

    `id` is unique to each analysis, because Gradio sends the browser only changed values.
    """

    id: str
    text: str

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> "Manifest":
        """The manifest of an `Answered`."""
        return cls(
            id=manifest["pass"]["id"],
            text=json.dumps(with_places(manifest), ensure_ascii=False, allow_nan=False),
        )


class Viewer(StillHTML):
    """Shows a manifest. Actions in the viewer are not sent to the server.

    The HTML template never changes, so Gradio never replaces what the viewer has drawn.
    """

    data_model = Manifest
    # Events of viewer/hosts/gradio.js: analyze again, open the address, read the levels of the
    # photo in another way, another size of the pictures, another model, a photo of the visitor's.
    EVENTS: ClassVar = events(  # type: ignore[misc, assignment]  # Gradio disagrees with itself
        "again", "reopen", "look", "resize", "model", "photo"
    )

    def __init__(self, value: Manifest | None = None, **kwargs: Any) -> None:
        named = {"running": RUNNING_FILE, "playing": PLAYING_FILE} | DIGITS_FILES
        spoken = {"viewer": VIEWER_FILES, "texts": TEXTS_FILES}
        files = {name: file.path for name, file in named.items()} | {
            kind: {name: file.path for name, file in some.items()} for kind, some in spoken.items()
        }
        glue = without_comments((Path(__file__).parent / "component.js").read_text("utf-8"))
        glue = glue.replace("__LOAD__", load()).replace("__FILES__", json.dumps(files))
        kwargs |= {
            "html_template": TEMPLATE,
            "js_on_load": glue,
            "apply_default_css": False,
        }
        super().__init__(value, **kwargs)

    def api_info(self) -> dict[str, Any]:
        return gr.Component.api_info(self)  # gr.HTML's says "string"

    def example_payload(self) -> None:
        return None

    def example_value(self) -> None:
        return None
