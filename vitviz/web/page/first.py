"""First: picture and answer of a page that asks for nothing, in its document before scripts run.

They are the model's own. The app computes them when it starts, and so has its model at hand when
the first visitor comes.
"""

import base64
import html
import io
import json
from pathlib import Path

from PIL import Image

from ...languages import ENGLISH, Message, languages, say
from ...probe.analysis import Analysis
from ...probe.measure.predictions import percent
from ..compute.orders import Result
from ..store.examples import Example

SIDE = 288  # pixels: a blurred picture for a second, an eighth of the bytes of the sharp one
CSS, SCRIPT = (
    (Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("first.css", "first.js")
)


class First:
    """What stands in the document, by language; nothing before it is made."""

    def __init__(self) -> None:
        self._by_language: dict[str, bytes] = {}

    def html(self, language: str) -> bytes:
        return self._by_language.get(language, b"")

    def make(self, result: Result, example: Example) -> None:
        """Take what the engine has made of an example. Nothing stands there for a model that is
        refused, or whose picture is no sharper than what it saw.
        """
        analysis = None if result.refused else Analysis.from_bytes(result.saved)
        if analysis is None or analysis.photograph is None or analysis.photograph.crop is None:
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


def _data(photograph: bytes) -> str:
    """A photograph as a small picture in an address."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(photograph)) as picture:
        picture.thumbnail((SIDE, SIDE))
        picture.convert("RGB").save(small, "JPEG", quality=60)
    return f"data:image/jpeg;base64,{base64.b64encode(small.getvalue()).decode()}"
