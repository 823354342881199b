"""The engine: a photo goes in as bytes, and what a page or a program gets for it comes out.

Nothing in here knows of visitors, pages or disks, and all that goes in or comes out can be pickled:
so the work can be done elsewhere, behind another `Engine`, by the same `fulfil`.
"""

import io
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from PIL import Image

from ..errors import ImageError, VitvizError
from ..model.photo import open_photo
from ..probe.analysis import Analysis, analyze
from ..viewer.payload import pack
from . import limits
from .files import file_name
from .models import Models
from .turns import Turns, computing

UNSEEN = (".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".jp2", ".j2k", ".jpx")  # browsers cannot show


class Selection(NamedTuple):
    """What a program looks at. `layer` -1 is the last one, `head` -1 the mean of all."""

    token: int = 0
    layer: int = -1
    head: int = -1


@dataclass(frozen=True, kw_only=True)
class Order:
    """A photo for a model; `name` is its file's, as the visitor calls it.

    selection  what a program asks about; None for a page, where the visitor selects in the viewer

    Whatever else may once be asked of a pass, such as an intervention in it, is a field with a
    default, so that orders of today stay what they are.
    """

    photo: bytes = field(repr=False)
    name: str
    model: str
    untrained: bool = False
    selection: Selection | None = None


class Refusal(NamedTuple):
    """Why there is no answer, in any language; `of_picture`: another picture may help."""

    text: str
    of_picture: bool = False

    @classmethod
    def of(cls, error: VitvizError) -> "Refusal":
        """An error as a value: many lose their class on the way from another machine."""
        return cls(error.message, isinstance(error, ImageError))


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """What came of an order: `refused` alone, or the others.

    saved     the analysis, for `Analysis.from_bytes`, and the name of its file
    manifest  for a page: what its viewer draws, see `viewer.payload.Payload`; files by their path
    preview   for a page: what the model saw as PNG, where no browser shows such a photo
    summary   for a program: `Analysis.summary`, and under "selection" what was asked about
    """

    refused: Refusal | None = None
    saved: bytes = field(default=b"", repr=False)
    saved_name: str = ""
    manifest: Mapping[str, Any] = field(default_factory=dict, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    preview: bytes | None = field(default=None, repr=False)
    summary: Mapping[str, Any] = field(default_factory=dict, repr=False)


class Engine(Protocol):
    """Whoever fulfils orders: this process, another one, another machine."""

    def run(self, order: Order) -> Result:
        """Fulfil an order. What is raised is a fault of the machine, not of picture or model."""


class Local:
    """Fulfils orders here, in the thread of whoever gives them; so many compute at a time."""

    def __init__(self, models: Models) -> None:
        self.models = models
        self._computing = Turns(limits.COMPUTING, limits.LINE)

    def run(self, order: Order) -> Result:
        return fulfil(order, self.models, partial(computing, self._computing))


def fulfil(
    order: Order,
    models: Models,
    turn: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Result:
    """Open the photo, load the model, run it, and write down what was found.

    `turn` is entered for the pass through the model, where only so many may be at a time.
    """
    try:
        photo = open_photo(order.photo, order.name)
        loaded = models.get(order.model, order.untrained)
        with turn():
            analysis = analyze(loaded, photo)
        if order.selection is None:
            return _for_page(order, analysis)
        return _for_program(order.selection, analysis)
    except VitvizError as error:
        return Result(refused=Refusal.of(error))


def _for_page(order: Order, analysis: Analysis) -> Result:
    payload = pack(analysis, film=True, whole=False)
    unseen = Path(order.name).suffix.lower() in UNSEEN
    return Result(
        saved=analysis.to_bytes(),
        saved_name=_saved_name(analysis),
        manifest=payload.manifest,
        files=payload.files,
        preview=_preview(analysis) if unseen else None,
    )


def _for_program(selection: Selection, analysis: Analysis) -> Result:
    token, layer, head = selection
    layer = analysis.trace.depth - 1 if layer == -1 else layer
    head = None if head == -1 else head
    attention, rollout = analysis.attention(layer, head, token), analysis.rollout(token, layer)
    summary = analysis.summary(limits.TOP_CLASSES)
    summary["selection"] = {
        "token": token,
        "layer": layer,
        "head": "mean" if head is None else head,
        "attention": attention.tolist(),
        "rollout": rollout.tolist(),
    }
    return Result(saved=analysis.to_bytes(), saved_name=_saved_name(analysis), summary=summary)


def _saved_name(analysis: Analysis) -> str:
    untrained = "" if analysis.card.trained else "untrained"
    return f"{file_name(analysis.photo_name, analysis.card.name, untrained)}.safetensors"


def _preview(analysis: Analysis) -> bytes:
    """What the model saw as PNG."""
    seen = Image.fromarray(analysis.picture.squeeze(-1).numpy())
    seen.save(buffer := io.BytesIO(), "PNG")
    return buffer.getvalue()
