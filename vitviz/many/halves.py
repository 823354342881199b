"""halves: whether a taught head reads the middle of its pictures, or the rim."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..model.config import ViTConfig
from ..model.head import Pool
from ..model.loaded import LoadedModel
from ..model.photo_levels import Look
from .linear import heads_left_out
from .teach import NONE, Penalty, answered, check_penalty, rows_of


@dataclass(frozen=True, slots=True)
class Halves:
    """How many right answers to the pictures of one class stay right without half of the patches.

    label           the name of the class
    right           number of pictures answered rightly by a head that was fitted without them
    without_middle  number of these that are still answered rightly without the middle
    without_rim     the same without the rim
    """

    label: str
    right: int
    without_middle: int
    without_rim: int

    @property
    def reads(self) -> str:
        """The half whose removal makes more right answers wrong, "middle" or "rim"; "both" if the
        numbers differ by less than two pictures, or by less than a quarter of `right`; "nothing" if
        no answer is right.
        """
        if not self.right:
            return "nothing"
        apart = self.without_rim - self.without_middle
        if abs(apart) < 2 or 4 * abs(apart) < self.right:
            return "both"
        return "middle" if apart > 0 else "rim"


def halves(
    loaded: LoadedModel,
    pictures: Any,
    penalty: Penalty = None,
    *,
    pool: Pool | None = None,
    batch_size: int | None = None,
    invert: bool = False,
    stretch: bool = False,
    progress: bool = True,
) -> tuple[Halves, ...]:
    """Take the middle, then the rim, out of pictures that a head has not learned from, and count
    the answers that stay right: a test of whether a head reads the things or their ground.

    The parameters are those of `teach`, and so are the heads: each picture is answered by one that
    was fitted without its fold. The middle and the rim are half of the patches each (`sides`), and
    a half is taken out as the intervention "remove" does, before the first block. Where things lie
    is not known: the test finds a hint in the rim only where the things are in the middle.
    The result has one entry for each class but `NONE`, in their order. Raises as `teach` does.
    """
    check_penalty(penalty)
    middle, rim = sides(loaded.card.config)
    look = Look(invert, stretch)
    parts = [_without(loaded.card.config, side) for side in (middle, rim)]
    labels, rows, folds = rows_of(loaded, pictures, pool, batch_size, look, progress, parts)
    chosen, head, answers = answered(rows, folds, len(labels), penalty, progress)
    right = answers.argmax(1) == rows.y
    right &= ~answers[:, 0].isnan()
    still = torch.zeros(2, len(rows.y), dtype=torch.bool)
    for out, other in heads_left_out(
        rows.x, rows.mirrored, rows.y, folds, len(labels), chosen, head
    ):
        for part, kept in zip(rows.parts, still, strict=True):
            kept[out] = (other.probabilities(part[out]).argmax(1) == rows.y[out]) & right[out]
    counts = torch.stack([right, *still]).long()
    return tuple(
        Halves(label, *(int(count) for count in counts[:, rows.y == at].sum(1)))
        for at, label in enumerate(labels)
        if label != NONE
    )


def sides(config: ViTConfig) -> tuple[list[int], list[int]]:
    """The patches of the middle and those of the rim, half of all each.

    Patches are sorted by their distance from the centre: the larger of the vertical and the
    horizontal one, as shares of the grid; then the Euclidean one; then their number. With an odd
    number of patches the one between both halves belongs to neither.
    """
    rows, cols = config.grid_size

    def distance(patch: int) -> tuple[int, int, int]:
        row, col = divmod(patch, cols)
        down, right = abs(2 * row + 1 - rows) * cols, abs(2 * col + 1 - cols) * rows
        return max(down, right), down**2 + right**2, patch

    order = sorted(range(rows * cols), key=distance)
    half = len(order) // 2
    return sorted(order[:half]), sorted(order[len(order) - half :])


def _without(config: ViTConfig, patches: list[int]) -> Tensor:
    """The tokens that are left without some patches, (n,)."""
    stays = torch.ones(config.num_tokens, dtype=torch.bool)
    stays[config.num_prefix_tokens + torch.tensor(patches, dtype=torch.long)] = False
    return stays.nonzero()[:, 0]
