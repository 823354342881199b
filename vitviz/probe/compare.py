"""Compare two analyses side by side on the same selection, and compute what differs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from ..errors import SelectionError
from .analysis import Analysis
from .capture.grid import PatchGrid
from .capture.selection import count_of
from .measure import features


@dataclass(frozen=True, eq=False, slots=True)
class Maps:
    """The same map of two analyses; both have one shape if the grids are equal."""

    first: Tensor
    second: Tensor

    @property
    def difference(self) -> Tensor:
        """First minus second, value by value. Raises `SelectionError` where the grids differ."""
        if self.first.shape != self.second.shape:
            raise SelectionError(
                f"the first map has {self.first.numel()} values, the second {self.second.numel()}:"
                " only maps of equal grids have a difference"
            )
        return self.first - self.second

    @property
    def common(self) -> float:
        """The overlap of both: the sum of the smaller values, in [0, 1] if each sums to 1.

        Raises `SelectionError` where the grids differ.
        """
        self.difference  # noqa: B018 - raises where the grids differ
        return float(torch.minimum(self.first, self.second).sum())


@dataclass(frozen=True, slots=True)
class Answers:
    """A class in both models: its label and probabilities, of values the values; None in a model
    without the class.
    """

    label: str
    first: float | None
    second: float | None


@dataclass(frozen=True, eq=False, slots=True)
class Comparison:
    """Two analyses on the same selection: layers and heads by number, patches by their place.

    A selection refers to the first. A patch of the first is carried over to the patch of the second
    that covers its middle; a prefix token keeps its number.
    """

    first: Analysis
    second: Analysis

    _repr_html_: ClassVar[Callable[["Comparison"], str]]  # for a notebook; `public.py` puts it in

    @property
    def same_grid(self) -> bool:
        """Whether both have the same number of rows, columns and prefix tokens."""
        return _sizes(self.first.grid) == _sizes(self.second.grid)

    def carried(self, token: int) -> int:
        """The token of the second analysis at the place of a token of the first.

        Raises `SelectionError` where the first has no such token, or the second no such prefix
        token.
        """
        ours, theirs = self.first.grid, self.second.grid
        token = ours.check(token)
        if ours.is_patch(token):
            row, col = ours.row_col(token)
            return theirs.token(
                (2 * row + 1) * theirs.rows // (2 * ours.rows),
                (2 * col + 1) * theirs.cols // (2 * ours.cols),
            )
        if token >= theirs.num_prefix_tokens:
            raise SelectionError(
                f"the second model has {theirs.num_prefix_tokens} prefix tokens, no token {token}"
            )
        return token

    def attention(
        self,
        layer: int,
        head: int | None = None,
        token: int = 0,
        direction: Literal["from", "to"] = "from",
    ) -> Maps:
        """`Analysis.attention` of both. (N,) and (M,)"""
        return self._both(token, lambda of, own: of.attention(layer, head, own, direction))

    def rollout(self, token: int = 0, layer: int | None = None, **options: Any) -> Maps:
        """`Analysis.rollout` of both, with the same options. (N,) and (M,)

        `layer` None: the last layer of each.
        """
        return self._both(token, lambda of, own: of.rollout(own, layer, **options))

    def position_similarity(self, token: int) -> Maps:
        """`Analysis.position_similarity` of both. (rows, cols) each"""
        return self._both(token, lambda of, own: of.position_similarity(own))

    def feature_similarity(self, layer: int, token: int = 0) -> Maps:
        """Cosine similarity of a token with all, after a layer, in both. (N,) and (M,)"""

        def similarity(of: Analysis, own: int) -> Tensor:
            return features.similarity(features.tokens_after(of.trace, layer), own)

        return self._both(token, similarity)

    def answers(self, k: int = 5) -> tuple[Answers, ...]:
        """The k most probable classes of either, the first's in front; classes are matched by name.

        Raises `SelectionError` where one of the models names no classes.
        """
        count = count_of(k)
        known = []
        for which, of in (("first", self.first), ("second", self.second)):
            every = of.predictions(max(1, len(of.card.labels or ())))
            if not every:
                raise SelectionError(f"the {which} model, {of.card.name}, names no classes")
            known.append(every)
        labels = dict.fromkeys(prediction.label for every in known for prediction in every[:count])
        # Several classes can have one name: the most probable, first in the order, is kept.
        first, second = (
            {prediction.label: prediction.number for prediction in every[::-1]} for every in known
        )
        return tuple(Answers(label, first.get(label), second.get(label)) for label in labels)

    def _both(self, token: int, make: Callable[[Analysis, int], Tensor]) -> Maps:
        first = make(self.first, token)
        try:
            return Maps(first, make(self.second, self.carried(token)))
        except SelectionError as error:
            raise SelectionError(f"in the second analysis: {error}") from error


def compare(first: Analysis, second: Analysis) -> Comparison:
    """Two analyses side by side: a trained model and its twin, two photos, two models.

    Raises `SelectionError` for an argument that is no analysis. A part that one of the two lacks
    raises only when it is used.
    """
    for which, analysis in (("first", first), ("second", second)):
        if not isinstance(analysis, Analysis):
            raise SelectionError(f"the {which} must be an Analysis, got {type(analysis).__name__}")
    return Comparison(first, second)


def _sizes(grid: PatchGrid) -> tuple[int, int, int]:
    return grid.rows, grid.cols, grid.num_prefix_tokens
