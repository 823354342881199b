"""Figures for print: the kinds that a viewer can ask for, and the function that draws each."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torch import Tensor

from ...errors import SelectionError, VitvizError, WeightsError
from ...languages import Message
from ...payload.explanations import LIKE
from ...probe.analysis import Analysis
from ...probe.capture.selection import choose
from ...probe.explain.explainers import EXPLAINERS, chosen
from ...probe.measure.film import Film
from ..store.cache import refusal_of


@dataclass(frozen=True, kw_only=True)
class Given:
    """Data of some figures besides the analysis.

    film   of the model's training
    maps   the values of explainers, by key
    other  the analysis to compare with
    pool   attention of the pool's query
    """

    film: bytes | None = None
    maps: Mapping[str, Tensor] = field(default_factory=dict)
    other: Analysis | None = None
    pool: Tensor | None = None


@dataclass(frozen=True, kw_only=True)
class WantedFigure:
    """A requested figure, and the viewer's selection. `draw` checks the numbers.

    explainers, target  the explainers to draw, and the class; None for no class; `LIKE`: the
               likeness to `other`
    other      the pass to compare with, as a question; None: no comparison
    spotlight  whether the photo itself is dimmed
    """

    kind: str
    format: str
    token: int
    partner: int  # the other token of a pair: the key where `direction` is "from"
    layer: int
    head: int | None
    direction: str
    first: int
    residual: float
    head_fusion: str
    scale: str
    explainers: tuple[str, ...] = ()
    target: int | str | None = None
    other: Mapping[str, Any] | None = None
    spotlight: bool = False

    @classmethod
    def of(cls, question: Any) -> "WantedFigure":
        """Check a question, which can be any JSON. Raises `SelectionError`."""
        match question:
            case {
                "kind": str(kind),
                "format": "svg" | "pdf",
                "token": int(),
                "partner": int(),
                "layer": int(),
                "head": int(head),
                "direction": "from" | "to",
                "first": int(),
                "residual": int() | float(),
                "head_fusion": str(),
                "scale": "heads" | "map",
            } if kind in FIGURES:
                named = {
                    item.name: question[item.name]
                    for item in fields(cls)
                    if item.default is MISSING
                }
                return cls(**named | {"head": None if head == -1 else head}, **_more(question))
        raise SelectionError(
            f"a figure is one of {', '.join(FIGURES)} as svg or pdf, with what is selected"
        )

    def drawn(self, analysis: Analysis, given: Given) -> bytes:
        """Draw the figure as the bytes of a file.

        Raises `VitvizError` if the analysis or its model lacks what the figure shows.
        """
        head = 0 if self.head is None else self.head
        numbers = {"token": self.token, "layer": self.layer, "first": self.first, "head": head}
        check_numbers(
            analysis, **numbers | ({"partner": self.partner} if self.kind == "pair" else {})
        )
        from ... import draw  # matplotlib takes a second to import, and few visitors need it

        try:
            with TemporaryDirectory() as folder:
                path = Path(folder) / f"figure.{self.format}"
                draw.save(FIGURES[self.kind](draw, analysis, self, given), path)
                return path.read_bytes()
        except (OSError, VitvizError) as error:  # whose sentence names a folder of the host
            if refusal := refusal_of(error.__cause__ or error):
                raise refusal from error
            raise


def check_numbers(analysis: Analysis, **numbers: int) -> None:
    """Raise `SelectionError` for a number that counts from the end, as only Python's do."""
    trace = analysis.trace
    counts = {"layer": trace.depth, "first": trace.depth, "head": trace.num_heads}
    for name, number in numbers.items():
        if number < 0:
            what = {"first": "layer", "partner": "token"}.get(name, name)
            choose(what, number, counts.get(name, trace.num_tokens))


def _more(question: Mapping[str, Any]) -> dict[str, Any]:
    """Options of some figures. Raises `SelectionError` for an unknown explainer."""
    more: dict[str, Any] = {}
    match question:
        case {"explainers": [*keys]}:
            keys = [chosen(key).key for key in keys[: len(EXPLAINERS)]]
            more["explainers"] = tuple(dict.fromkeys(keys))
    match question:
        case {"target": int(target)} if target != -1:
            more["target"] = target
        case {"target": "like", "other": {}}:
            more["target"] = LIKE
        case {"target": "like"}:
            raise SelectionError(Message("web.not_beside"))
    match question:
        case {"other": {**other}}:
            more["other"] = other
    return more | {"spotlight": question.get("spotlight") is True}


def _heads(draw: Any, analysis: Analysis, wanted: WantedFigure, _given: Given) -> Any:
    scale = "shared" if wanted.scale == "heads" else "own"
    return draw.heads(analysis, wanted.layer, wanted.token, direction=wanted.direction, scale=scale)


def _wall(draw: Any, analysis: Analysis, wanted: WantedFigure, _given: Given) -> Any:
    scale = "layer" if wanted.scale == "heads" else "own"
    return draw.wall(analysis, wanted.token, direction=wanted.direction, scale=scale)


def _pair(draw: Any, analysis: Analysis, wanted: WantedFigure, _given: Given) -> Any:
    ends = (wanted.token, wanted.partner)
    query, key = ends if wanted.direction == "from" else ends[::-1]
    return draw.pair(analysis, wanted.layer, wanted.head, query, key)


def _rollout(draw: Any, analysis: Analysis, wanted: WantedFigure, _given: Given) -> Any:
    options = {"head_fusion": wanted.head_fusion, "residual": wanted.residual}
    return draw.rollout(analysis, wanted.token, first=wanted.first, **options)


def _training(draw: Any, analysis: Analysis, wanted: WantedFigure, given: Given) -> Any:
    if given.film is None:
        raise SelectionError(Message("web.no_film"))
    try:
        read = Film.from_bytes(given.film)
    except WeightsError as error:
        raise VitvizError(Message("web.film_gone")) from error
    return draw.training(read, analysis.card, wanted.layer, wanted.head)


def _attention(draw: Any, analysis: Analysis, wanted: WantedFigure, _given: Given) -> Any:
    options = {"direction": wanted.direction, "spotlight": wanted.spotlight}
    return draw.attention(analysis, wanted.layer, wanted.head, wanted.token, **options)


def _explanations(draw: Any, analysis: Analysis, wanted: WantedFigure, given: Given) -> Any:
    if not given.maps:
        raise SelectionError(Message("web.no_explainers"))
    named = {"spotlight": wanted.spotlight}
    if wanted.target == LIKE:
        assert given.other is not None
        name = given.other.photo_name or "the picture beside"
        return draw.explained(analysis, given.maps, wanted.token, likeness=name, **named)
    return draw.explained(analysis, given.maps, wanted.token, wanted.target, **named)


def _answers(draw: Any, analysis: Analysis, _wanted: WantedFigure, given: Given) -> Any:
    if given.other is None:
        raise SelectionError(Message("web.not_beside"))
    return draw.answers(analysis, given.other)


# (vitviz.draw, analysis, wanted, given) -> a matplotlib Figure
FIGURES: dict[str, Callable[[Any, Analysis, WantedFigure, Given], Any]] = {
    "attention": _attention,
    "explanation": _explanations,
    "explanations": _explanations,
    "answers": _answers,
    "heads": _heads,
    "wall": _wall,
    "pooling": lambda d, a, _, given: d.pooling(a, given.pool),
    "matrix": lambda d, a, w, _: d.matrix(a, w.layer, w.head),
    "statistics": lambda d, a, w, _: d.head_statistics(a, w.layer, w.head),
    "pair": _pair,
    "rollout": _rollout,
    "positions": lambda d, a, w, _: d.position_similarity(a, w.token),
    "mosaic": lambda d, a, *_: d.position_similarity(a),
    "features": lambda d, a, w, _: d.features(a, w.layer, w.token),
    "patches": lambda d, a, *_: d.patch_grid(a),
    "patch": lambda d, a, w, _: d.patch(a, w.token),
    "predictions": lambda d, a, *_: d.predictions(a),
    "lens": lambda d, a, *_: d.lens(a),
    "training": _training,
    "measured": lambda d, a, *_: d.measured(a.card),
}
