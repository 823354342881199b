"""Pictures that show none of the classes: some are trained on, some are kept out for the test."""

from dataclasses import dataclass

import torch
from torch import Tensor

from .dataset import Pictures
from .errors import TrainError


@dataclass(frozen=True, eq=False)
class Others:
    """Pictures of other things. The model trains on `taught`, and never sees a class of `unseen`.

    The two share no label; `unseen` holds test pictures.
    """

    taught: Pictures
    unseen: Pictures


def split_others(train: Pictures, test: Pictures, unseen: int, seed: int) -> Others:
    """Keep `unseen` classes, drawn by the seed, out of training. Raises `TrainError` if that leaves
    none on one side.
    """
    if train.labels != test.labels:
        raise TrainError(f"{train.name} names other classes in its training and its test part")
    if not 0 < unseen < len(train.labels):
        raise TrainError(
            f"unseen must leave some of the {len(train.labels)} classes of {train.name} to train "
            f"on and some to test with, got {unseen}"
        )
    order = torch.randperm(len(train.labels), generator=torch.Generator().manual_seed(seed))
    kept_out, taught = order[:unseen].sort().values, order[unseen:].sort().values
    return Others(taught=only(train, taught), unseen=only(test, kept_out))


def only(pictures: Pictures, classes: Tensor) -> Pictures:
    """The pictures of these classes, which are then numbered anew, in the order given."""
    new = torch.full((len(pictures.labels),), -1)
    new[classes] = torch.arange(len(classes))
    chosen = (new[pictures.targets] >= 0).nonzero().view(-1)
    some = pictures.take(chosen)
    return Pictures(
        name=some.name,
        images=some.images,
        targets=new[some.targets],
        labels=tuple(pictures.labels[i] for i in classes.tolist()),
    )


def auroc(known: Tensor, unknown: Tensor) -> float:
    """The chance that a known picture scores higher than an unknown one; ties count half.

    (n,), (m,) -> from 0 to 1, 0.5 for a coin. It is the area under the curve of
    hits against false alarms.
    """
    ranks = torch.cat([known, unknown]).double()
    _, inverse, counts = ranks.unique(return_inverse=True, return_counts=True)
    mean_rank = counts.cumsum(0) - (counts - 1) / 2  # ties share their mean rank, from 1
    above = mean_rank[inverse[: len(known)]].sum() - len(known) * (len(known) + 1) / 2
    return (above / (len(known) * len(unknown))).item()
