"""Explanation: the values of one explainer, and what they cost here."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

from ..model.loaded import LoadedModel
from ..model.vit import ViT
from .explain import chosen
from .trace import listening

if TYPE_CHECKING:
    from .analysis import Analysis


@dataclass(frozen=True, eq=False, kw_only=True)
class Explanation:
    """What `Analysis.explain` gives, with its cost on this machine.

    values    (N,)
    target    the class that is explained; None for an explainer that knows no class
    forward   forward passes of the whole picture; a block over fewer tokens counts for less
    backward  backward passes, in the same way
    seconds   wall time
    """

    key: str
    token: int
    target: int | None
    values: Tensor
    forward: float
    backward: float
    seconds: float


class _Count:
    """Passes since `_counting` began."""

    def __init__(self) -> None:
        self.forward = self.backward = 0.0


def explained(
    analysis: "Analysis",
    key: str,
    token: int = 0,
    target: int | str | None = None,
    *,
    loaded: LoadedModel | None = None,
) -> Explanation:
    """The same values as `Analysis.explain`, with what they cost. Raises as that does."""
    explainer = chosen(key)
    model = loaded or analysis.loaded
    vit = model.vit if model and explainer.runs_the_model else None
    with _counting(vit, analysis.grid.num_tokens) as count:
        began = time.perf_counter()
        case = analysis.case(key, target=target, loaded=loaded)
        values = explainer(case, token)
        seconds = time.perf_counter() - began
    return Explanation(
        key=key,
        token=token,
        target=case.target,
        values=values,
        forward=count.forward,
        backward=count.backward,
        seconds=seconds,
    )


@contextmanager
def _counting(vit: ViT | None, num_tokens: int) -> Iterator[_Count]:
    """Count what this thread does with the model; nothing where there is none."""
    count = _Count()
    with listening() as listen:
        for block in vit.blocks if vit else ():
            listen(block.register_forward_hook, _counter(count, 1 / (num_tokens * len(vit.blocks))))
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
