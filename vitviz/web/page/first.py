"""First: what a page that asks for nothing shows, in its document before scripts run.

Picture and answer stand there at once, and the viewer draws from the manifest beside them while
Gradio's queue is not asked yet. They are the model's own. The app computes them when it starts, and
so has its model at hand when the first visitor comes.
"""

import base64
import html
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from PIL import Image

from ...languages import ENGLISH, Message, languages, say
from ...probe.analysis import Analysis
from ...probe.measure.predictions import percent
from ..service.replies import with_places
from ..store.examples import Example

SIDE = 288  # pixels: a blurred picture for a second, an eighth of the bytes of the sharp one
CSS, SCRIPT = (
    (Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("first.css", "first.js")
)


class First:
    """What stands in the document, by language; nothing before it is made."""

    def __init__(self, opening: Callable[[], Mapping[str, Any] | None] = lambda: None) -> None:
        """`opening`: the manifest that the page will show, and None while there is none."""
        self._opening = opening
        self._by_language: dict[str, bytes] = {}

    def html(self, language: str) -> bytes:
        made = self._by_language.get(language, b"")
        manifest = self._opening() if made else None
        return made + _brought(manifest) if manifest else made

    def make(self, saved: bytes, example: Example) -> None:
        """Take the analysis of an example. Nothing stands there for a model whose picture is no
        sharper than what it saw.
        """
        analysis = Analysis.from_bytes(saved)
        if analysis.photograph is None or analysis.photograph.crop is None:
            return
        picture, said = _data(analysis.photograph.crop), said_of(analysis)
        script = SCRIPT.replace("__SAID__", json.dumps(said).replace("<", "\\u003c"))
        for one in languages():
            self._by_language[one] = (
                f'<div class="vv-first"><style>{CSS}</style>'
                f'<p lang="{one}">{html.escape(said.get(one, ""))}</p>'
                f'<img src="{picture}" alt="{html.escape(say(example.name, one))}"></div>'
                f"<script>{script}</script>\n"
            ).encode()


def said_of(analysis: Analysis) -> dict[str, str]:
    """The answer as the headline of the viewer says it, by language; {} where that is no answer."""
    answer, words = analysis.answer(), analysis.card.words
    if answer is None or answer.sure is False or answer.known is False:
        return {}
    kind = "groups" if answer.kind == "group" else "labels"
    english = words.get(ENGLISH, {}).get(kind, {}) if kind == "groups" else {}
    said = {}
    for one in languages():
        names = {**english, **words.get(one, {}).get(kind, {})}
        name = names.get(answer.name, answer.name)
        told = Message("viewer.answer", name=name, share=percent(answer.probability))
        said[one] = say(told, one)
    return said


def _brought(manifest: Mapping[str, Any]) -> bytes:
    """A manifest for viewer.js, unless a photo or a lesson of the visitor's own comes back; its
    files that are drawn first are asked for at once.
    """
    placed = with_places(manifest)
    hints = "".join(
        f'<link rel="preload" as="fetch" href="gradio_api/file={quote(file["path"])}" crossorigin>'
        for file in map(placed["files"].get, ("first", "photograph"))
        if file
    )
    value = json.dumps(placed, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return f"{hints}<script>if (!vitvizOwn) window.vitvizFirst = {value};</script>\n".encode()


def _data(photograph: bytes) -> str:
    """A photograph as a small picture in an address."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(photograph)) as picture:
        picture.thumbnail((SIDE, SIDE))
        picture.convert("RGB").save(small, "JPEG", quality=60)
    return f"data:image/jpeg;base64,{base64.b64encode(small.getvalue()).decode()}"
