"""Our own Gradio components: the viewer, and a picture input that refuses with a sentence."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.components.base import Component
from gradio.data_classes import FileData, GradioModel, ImageData

from .. import viewer
from ..languages import Message
from .error_messages import in_all
from .replies import with_places
from .store import Upload

NOT_UPLOADED = Message("web.not_uploaded")


class Manifest(GradioModel):
    """The viewer's manifest as JSON text, and the one of its files that Gradio gives an address.

    `id` is unique to each analysis, because Gradio sends the browser only values that have changed.
    The others lie in the same cache as `picture`, so viewer.js knows their addresses from its. For
    every file and every value that it is shown Gradio walks over all of them several times, in the
    one thread that serves all visitors: that took longer than the model's pass.
    """

    id: str
    picture: FileData
    text: str

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> "Manifest":
        """The manifest of an `Answered`."""
        file = manifest["files"]["picture"]
        return cls(
            id=manifest["pass"]["id"],
            picture=FileData(path=file.address, orig_name=file.name, size=file.size),
            text=json.dumps(with_places(manifest), ensure_ascii=False, allow_nan=False),
        )


class Viewer(gr.HTML):
    """Shows a manifest. What a visitor does in the viewer is not sent to the server.

    The HTML template never changes, so Gradio never replaces what the viewer has drawn.
    """

    data_model = Manifest

    def __init__(self, value: Manifest | None = None, **kwargs: Any) -> None:
        glue = (Path(__file__).parent / "viewer.js").read_text(encoding="utf-8")
        kwargs |= {
            "html_template": '<div class="vv-place"></div><vv-life></vv-life>',
            "js_on_load": glue.replace("__BUNDLE__", viewer.bundle()),
            "apply_default_css": False,
        }
        super().__init__(value, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """Raise at once: Gradio's searches our script for each missing name, in every session."""
        raise AttributeError(name, name=name, obj=self)

    def get_block_name(self) -> str:
        return "html"

    def preprocess(self, payload: Manifest | None) -> Manifest | None:
        return payload

    def postprocess(self, value: Manifest | None) -> Manifest | None:
        return value

    def api_info(self) -> dict[str, Any]:
        return Component.api_info(self)  # gr.HTML's says "string"

    def example_payload(self) -> None:
        return None

    def example_value(self) -> None:
        return None


class PhotoInput(gr.Image):
    """The picture input of the page, which leaves reading the file to `open_photo`.

    Gradio's own would open it first. Bad files would then fail without a sentence, and animation,
    transparency and EXIF rotation would be lost before `open_photo` can note them.
    """

    def get_block_name(self) -> str:
        return "image"

    def preprocess(self, payload: ImageData | None) -> Upload | None:
        """Take only files in the upload folder: Gradio checks only paths with its type mark."""
        if payload is None:
            return None
        path, folder = Path(payload.path or ""), Path(self.GRADIO_CACHE).resolve()
        if not payload.path or not path.resolve().is_relative_to(folder):
            raise gr.Error(in_all(NOT_UPLOADED), print_exception=False)
        return Upload(payload.path, payload.orig_name or path.name)
