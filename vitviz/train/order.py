"""The order of the pictures: seed and step alone decide which pictures a step sees."""

import torch
from torch import Tensor

from .dataset import Pictures
from .errors import TrainError
from .recipe import Recipe


class Sampler:
    """The order of n pictures, `size` in each step; an epoch leaves out the remainder."""

    def __init__(self, n: int, size: int, seed: int) -> None:
        """Raises `TrainError` if there are fewer pictures than one step needs."""
        self.n, self.size, self.seed = n, size, seed
        self.steps = n // size if size else 0  # of one epoch
        if size and not self.steps:
            raise TrainError(
                f"{n} pictures do not fill one batch of {size}; use a smaller batch_size"
            )
        self.epoch, self.order = -1, torch.empty(0)

    def at(self, step: int) -> Tensor:
        """Indices of the pictures of a step. (size,)"""
        if not self.size:
            return torch.empty(0, dtype=torch.long)
        epoch, place = divmod(step, self.steps)
        if epoch != self.epoch:
            self.epoch, self.order = epoch, shuffled(self.n, self.seed, epoch)
        return self.order[place * self.size : (place + 1) * self.size]


def shuffled(n: int, seed: int, epoch: int) -> Tensor:
    """The order of n pictures in one epoch. Seed and epoch alone decide it, so a resumed run has
    the same.
    """
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed * 1_000_003 + epoch))


def hold_out(pictures: Pictures, recipe: Recipe) -> tuple[Pictures | None, Pictures]:
    """Keep a random share of the training pictures back: (held out or None, trained on)."""
    n = round(recipe.holdout * len(pictures))
    if n == 0:
        return None, pictures
    order = torch.randperm(len(pictures), generator=torch.Generator().manual_seed(recipe.seed))
    return pictures.take(order[:n]), pictures.take(order[n:])
