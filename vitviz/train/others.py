"""Pictures that show none of the classes: some are trained on, some are kept out for the test."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..probe.measure.predictions import KEPT, known_or_not
from .dataset import Pictures
from .errors import TrainError

# Scores of how surely a picture shows one of the classes, of logits / temperature. (n, K) -> (n,)
SCORES: dict[str, Callable[[Tensor], Tensor]] = {
    "known or not": known_or_not,
    "largest probability": lambda logits: logits.softmax(1).amax(1),
    "largest logit": lambda logits: logits.amax(1),
    "largest logit less the mean": lambda logits: logits.amax(1) - logits.mean(1),
}


@dataclass(frozen=True, eq=False)
class Others:
    """Pictures of none of the classes. The model trains on `taught`, and never sees `unseen`.

    The two have no label in common; `unseen` are test pictures.
    """

    taught: Pictures
    unseen: Pictures


def split_others(train: Pictures, test: Pictures, unseen: int, seed: int) -> Others:
    """Keep `unseen` classes, drawn by the seed, out of training. Raises `TrainError` if that leaves
    none on one side.
    """
    if train.labels != test.labels:
        raise TrainError(f"{train.name} names other classes in its training and its test part")
    kept_out, taught = drawn(train, unseen, seed)
    return Others(taught=only(train, taught, "training"), unseen=only(test, kept_out))


def drawn(pictures: Pictures, unseen: int, seed: int) -> tuple[Tensor, Tensor]:
    """Draw `unseen` classes by the seed. Returns the sorted indices of these classes and of the
    remaining ones. Raises `TrainError` if either is empty.
    """
    count = len(pictures.labels)
    if not 0 < unseen < count:
        raise TrainError(
            f"unseen must leave some of the {count} classes of {pictures.name} to train on and "
            f"some to test with, got {unseen}"
        )
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    return order[:unseen].sort().values, order[unseen:].sort().values


def only(pictures: Pictures, classes: Tensor, part: str = "test") -> Pictures:
    """The pictures of these classes, renumbered 0, 1, ... in the given order.

    Raises `TrainError` if there are none, which names the `part` of the data set.
    """
    new = torch.full((len(pictures.labels),), -1)
    new[classes] = torch.arange(len(classes))
    chosen = (new[pictures.targets] >= 0).nonzero().view(-1)
    if not len(chosen):
        names = ", ".join(pictures.labels[i] for i in classes[:5].tolist())
        raise TrainError(f"no {part} picture of {pictures.name} shows {names}")
    some = pictures.take(chosen)
    return Pictures(
        name=some.name,
        images=some.images,
        targets=new[some.targets],
        labels=tuple(pictures.labels[i] for i in classes.tolist()),
    )


def auroc(known: Tensor, unknown: Tensor) -> float:
    """The chance that a known picture scores higher than an unknown one; ties count half.

    (n,), (m,) -> a number in [0, 1], 0.5 by chance: the area under the ROC curve.
    """
    ranks = torch.cat([known, unknown]).double()
    _, inverse, counts = ranks.unique(return_inverse=True, return_counts=True)
    mean_rank = counts.cumsum(0) - (counts - 1) / 2  # counted from 1; ties get their mean rank
    above = mean_rank[inverse[: len(known)]].sum() - len(known) * (len(known) + 1) / 2
    return (above / (len(known) * len(unknown))).item()


def threshold(known: Tensor) -> float:
    """The highest threshold that a further known picture, drawn as these were, reaches with a
    chance of at least `KEPT`. (n,) -> a number

    All n + 1 ranks of a further picture are equally likely, so its score lies below the k-th
    smallest with a chance of k / (n + 1) (split conformal prediction, Vovk et al. 2005). With fewer
    than 19 pictures no threshold guarantees `KEPT`; the smallest score is returned.
    """
    rank = int(round((1 - KEPT) * (len(known) + 1), 9))
    return known.double().sort().values[max(rank, 1) - 1].item()


def compare(known: Tensor, unknown: Tensor, temperature: float) -> dict[str, dict[str, float]]:
    """How well each of `SCORES` separates known from unknown pictures, by their logits.
    (n, K), (m, K) -> {score: {"auroc", "refused"}}

    refused is the share of unknown pictures below the threshold that keeps `KEPT` of these known
    pictures, so that all scores keep equally many. "known or not" takes the logits without
    temperature: training has fixed their level.
    """
    result = {}
    for name, score in SCORES.items():
        t = 1.0 if score is known_or_not else temperature
        ours, theirs = score(known / t), score(unknown / t)
        refused = (theirs < threshold(ours)).double().mean().item()
        result[name] = {"auroc": auroc(ours, theirs), "refused": refused}
    return result


def at_threshold(known: Tensor, unknown: Tensor, limit: float) -> dict[str, float]:
    """Effect of a threshold of "known or not". (n, K), (m, K) -> {"threshold", "kept", "refused"}:
    the shares of known pictures at or above it, and of unknown ones below it.
    """
    kept = (known_or_not(known) >= limit).double().mean().item()
    refused = (known_or_not(unknown) < limit).double().mean().item()
    return {"threshold": limit, "kept": kept, "refused": refused}


def in_words(found: dict[str, Any]) -> list[str]:
    """The part "others" of a report, in sentences."""
    lines = [
        f"told from {found['pictures']} pictures of {len(found['classes'])} kinds of things that "
        f"it was never shown (AUROC, and refused where {KEPT:.0%} of the known are kept):"
    ]
    lines += [
        f"  {name}: {figures['auroc']:.3f}, {figures['refused']:.1%}"
        for name, figures in found["scores"].items()
    ]
    if "chosen" in found:
        chosen = found["chosen"]
        lines.append(
            f"  with its own threshold, {chosen['threshold']:.3g} of known or not, it keeps "
            f"{chosen['kept']:.1%} of the known and refuses {chosen['refused']:.1%} of the others"
        )
    return lines
