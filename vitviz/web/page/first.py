"""First: the picture and answer of a page without parameters, in its document before scripts run.

They are visible at once, and the viewer draws from the manifest beside them before Gradio's queue
answers. The model really computes them, when the app starts, and so is loaded when the first
visitor comes.
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

from ...languages import Message, languages, say
from ...payload.bundle import without_comments
from ...probe.analysis import Analysis
from ...probe.measure.phrases import named
from ..service.replies import with_places
from ..store.examples import Example

NAMING = ("answer", "maybe")  # levels of an answer that names a class or group
SIDE = 288  # pixels: a blurred picture for a second, an eighth of the bytes of the sharp one
CSS, BEGIN, SCRIPT = (
    without_comments((Path(__file__).parent / name).read_text(encoding="utf-8"))
    for name in ("first.css", "begin.js", "first.js")
)


class First:
    """The part of the document, by language; empty before `make`."""

    def __init__(self, opening: Callable[[], Mapping[str, Any] | None] = lambda: None) -> None:
        """`opening`: the manifest that the page will show; None if there is none yet."""
        self._opening = opening
        self._by_language: dict[str, bytes] = {}

    def html(self, language: str) -> bytes:
        made = self._by_language.get(language, b"")
        manifest = self._opening() if made else None
        return made + _brought(manifest) if manifest else made

    def make(self, saved: bytes, example: Example) -> None:
        """Take the analysis of an example. It is ignored if the photo is not sharper than the
        model's picture.
        """
        analysis = Analysis.from_bytes(saved)
        if analysis.photograph is None or analysis.photograph.crop is None:
            return
        picture, answers = _data(analysis.photograph.crop), said_of(analysis)
        found = analysis.answer()
        grey = " vv-first-maybe" if found and found.level == "maybe" else ""
        texts = {
            language: [answers.get(language, ""), asked_of(analysis, language)]
            for language in languages()
        }
        script = SCRIPT.replace("__SAID__", json.dumps(texts).replace("<", "\\u003c"))
        for language, (answer, question) in texts.items():
            self._by_language[language] = (
                f'<script>{BEGIN}</script><div class="vv-first{grey}"><style>{CSS}</style>'
                f'<p lang="{language}">{html.escape(answer)}</p>'
                f'<p class="vv-asks" lang="{language}">{html.escape(question)}</p>'
                f'<img src="{picture}" alt="{html.escape(say(example.name, language))}"></div>'
                f"<script>{script}</script>\n"
            ).encode()


def said_of(analysis: Analysis) -> dict[str, str]:
    """The answer as in the headline of the viewer, by language; {} if that names no class."""
    answer = analysis.answer()
    if answer is None or answer.level not in NAMING:
        return {}
    return {language: analysis.answer_text(language) for language in languages()}


def asked_of(analysis: Analysis, language: str) -> str:
    """The headline of the first look. For a trained model that picks one class or group: the
    question why it says so, or "maybe" and the name; for other models the answer. "" if `said_of`
    is empty.
    """
    answer = analysis.answer()
    if answer is None or answer.level not in NAMING:
        return ""
    if answer.outputs != "one_of" or not analysis.card.trained:
        return analysis.answer_text(language)
    name = named(answer, analysis.card, language)
    if answer.level == "maybe":
        return say(Message("viewer.whyMaybe", name=name), language)
    return say(Message("viewer.whySays", name=name), language)


def _brought(manifest: Mapping[str, Any]) -> bytes:
    """A manifest for the viewer, unless a photo or a lesson of the visitor's own comes back, with
    hints to load the files that are drawn first.
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
    """A photograph as a small picture in a data: address."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(photograph)) as picture:
        picture.thumbnail((SIDE, SIDE))
        picture.convert("RGB").save(small, "JPEG", quality=60)
    return f"data:image/jpeg;base64,{base64.b64encode(small.getvalue()).decode()}"
