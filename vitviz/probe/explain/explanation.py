"""Explanation: the values of an explainer, and their cost on this machine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

from ...model.vit import ViT
from ..capture.recorder import listening
from .explainers import chosen

if TYPE_CHECKING:
    from ..analysis import Analysis, Target


@dataclass(frozen=True, eq=False, kw_only=True)
class Explanation:
    """The values of `Analysis.explain`, with their cost on this machine.

    values    (N,)
    forward   forward passes of the whole picture; a block over fewer tokens counts for less
    backward  backward passes, in the same way
    seconds   wall time
    gap       how far the values are from adding up as they should, as a share of it; None: they
              need not (`Explainer.gap`)
    """

    values: Tensor
    forward: float
    backward: float
    seconds: float
    gap: float | None = None


class _Count:
    """Passes since `_counting` began."""

    def __init__(self) -> None:
        self.forward = self.backward = 0.0


def explained(
    analysis: "Analysis", key: str, token: int = 0, target: "Target" = None
) -> Explanation:
    """The same values as `Analysis.explain`, with their cost. Raises the same errors."""
    explainer = chosen(key)
    runs = explainer.within(analysis.card.config).runs_the_model
    vit = analysis.loaded.vit if analysis.loaded and runs else None
    with _counting(vit, analysis.grid.num_tokens) as count:
        began = time.perf_counter()
        case = analysis.case(key, target=target)
        values = explainer(case, token)
        seconds = time.perf_counter() - began
        forward, backward = count.forward, count.backward
    gap = None if explainer.gap is None else explainer.gap(case, values)  # no cost of the map
    return Explanation(values=values, forward=forward, backward=backward, seconds=seconds, gap=gap)


@contextmanager
def _counting(vit: ViT | None, num_tokens: int) -> Iterator[_Count]:
    """Count the passes of the model in this thread; nothing without a model."""
    count = _Count()
    with listening() as listen:
        blocks = vit.blocks if vit else ()
        for block in blocks:
            listen(block.register_forward_hook, _counter(count, 1 / (num_tokens * len(blocks))))
        yield count


def _counter(count: _Count, share: float) -> Any:
    """A hook that counts a block: `share` of a pass for each token that enters it."""

    def hear(_block: object, args: tuple[Any, ...], out: Tensor) -> None:
        part = share * args[0].shape[0] * args[0].shape[1]
        count.forward += part
        if out.requires_grad:

            def back(_gradient: Tensor) -> None:
                count.backward += part

            out.register_hook(back)

    return hear
