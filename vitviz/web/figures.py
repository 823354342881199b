"""Figures for print: which of them a viewer may ask for, and what is drawn for each."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import SelectionError
from ..probe.analysis import Analysis


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a viewer looks at when it asks. Values are checked by what draws them."""

    kind: str
    format: str
    token: int
    layer: int
    head: int | None
    direction: str
    first: int
    residual: float
    head_fusion: str
    scale: str

    @classmethod
    def of(cls, question: Any) -> "Wanted":
        """Read a question, which can be anything. Raises `SelectionError`."""
        match question:
            case {
                "kind": str(kind),
                "format": "svg" | "pdf" as format_,
                "token": int(token),
                "layer": int(layer),
                "head": int(head),
                "direction": str(direction),
                "first": int(first),
                "residual": int() | float() as residual,
                "head_fusion": str(fusion),
                "scale": str(scale),
            } if kind in FIGURES:
                return cls(
                    kind=kind,
                    format=format_,
                    token=token,
                    layer=layer,
                    head=None if head == -1 else head,
                    direction=direction,
                    first=first,
                    residual=residual,
                    head_fusion=fusion,
                    scale=scale,
                )
        raise SelectionError(
            f"a figure is one of {', '.join(FIGURES)} as svg or pdf, with what is selected"
        )

    def drawn(self, analysis: Analysis) -> bytes:
        """The figure as a file. Raises `SelectionError` for what the analysis does not have."""
        from .. import draw  # matplotlib takes a second to import, and few visitors print

        with TemporaryDirectory() as folder:
            path = Path(folder) / f"figure.{self.format}"
            draw.save(FIGURES[self.kind](draw, analysis, self), path)
            return path.read_bytes()


def _rollout(draw: Any, analysis: Analysis, wanted: Wanted) -> Any:
    options = {"head_fusion": wanted.head_fusion, "residual": wanted.residual}
    return draw.rollout(analysis, wanted.token, first=wanted.first, **options)


def _heads(draw: Any, analysis: Analysis, wanted: Wanted) -> Any:
    scale = "shared" if wanted.scale == "heads" else "own"
    return draw.heads(analysis, wanted.layer, wanted.token, direction=wanted.direction, scale=scale)


# (vitviz.draw, analysis, wanted) -> a matplotlib Figure
FIGURES: dict[str, Callable[[Any, Analysis, Wanted], Any]] = {
    "attention": lambda d, a, w: d.attention(a, w.layer, w.head, w.token, direction=w.direction),
    "heads": _heads,
    "rollout": _rollout,
    "positions": lambda d, a, w: d.position_similarity(a, w.token),
    "mosaic": lambda d, a, w: d.position_similarity(a),
    "features": lambda d, a, w: d.features(a, w.layer, w.token),
    "patches": lambda d, a, w: d.patch_grid(a),
    "predictions": lambda d, a, w: d.predictions(a),
}
