"""Our own Gradio components: the viewer, and inputs that refuse bad values with a sentence."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.components.base import Component
from gradio.data_classes import FileData, GradioModel, ImageData
from gradio_client.utils import is_http_url_like

from .. import viewer
from ..languages import Message
from .error_messages import as_html, in_all
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
            id=manifest["id"],
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
    """A picture input that leaves reading the file to `open_photo`.

    Gradio's own would open it first. Bad files would then fail without a sentence, and animation,
    transparency and EXIF rotation would be lost before `open_photo` can note them.
    """

    not_uploaded = NOT_UPLOADED

    def get_block_name(self) -> str:
        return "image"

    def preprocess(self, payload: ImageData | None) -> Upload | None:
        """Take only files in the upload folder: Gradio checks only paths with its type mark."""
        if payload is None:
            return None
        path, folder = Path(payload.path or ""), Path(self.GRADIO_CACHE).resolve()
        if not payload.path or not path.resolve().is_relative_to(folder):
            raise gr.Error(self.not_uploaded, print_exception=False)
        return Upload(payload.path, payload.orig_name or path.name)

    async def async_move_resource_to_block_cache(
        self, url_or_file_path: str | Path | None
    ) -> str | None:
        """Refuse links: Gradio would download a file of any size for anybody."""
        if url_or_file_path is not None and is_http_url_like(str(url_or_file_path)):
            raise gr.Error(self.not_uploaded, print_exception=False)
        return await super().async_move_resource_to_block_cache(url_or_file_path)


class PagePhotoInput(PhotoInput):
    """The picture input of the page, which refuses in the language of the page."""

    not_uploaded = in_all(NOT_UPLOADED)


class WholeNumber(gr.Number):
    """A whole number of the API. Gradio's own fails without a sentence if it gets a text."""

    def get_block_name(self) -> str:
        return "number"

    def preprocess(self, payload: Any) -> int | None:
        if payload is None:
            return None
        whole = isinstance(payload, int) or (isinstance(payload, float) and payload.is_integer())
        if isinstance(payload, bool) or not whole:
            raise gr.Error(
                as_html(f"{self.label} must be a whole number, got {str(payload)[:40]!r}."),
                print_exception=False,
            )
        return int(payload)

    def api_info(self) -> dict[str, Any]:
        return {"type": "integer"}


class TrueOrFalse(gr.Checkbox):
    """A boolean of the API. Gradio's own accepts any value."""

    def get_block_name(self) -> str:
        return "checkbox"

    def preprocess(self, payload: Any) -> bool:
        if not isinstance(payload, bool | None):
            raise gr.Error(
                as_html(f"{self.label} must be true or false, got {str(payload)[:40]!r}."),
                print_exception=False,
            )
        return bool(payload)
