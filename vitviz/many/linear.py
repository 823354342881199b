"""A linear head on features: logistic regression, and its answers to pictures left out of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from tqdm import tqdm

from ..probe.measure.predictions import KEPT

# Strength of the L2 penalty, in the page too: of 0.001, 0.003, 0.01, ... 1 the one with the least
# log loss of test pictures, of 2 kinds x 20 and 5 kinds x 10 on the shipped trunk (many/README.md).
PENALTY = 0.03
FOLDS = 10  # most groups of pictures that are left out in turn, in the page too
TOLERANCE = 1e-7  # largest absolute entry of the gradient at which a fit ends
LEAST_STD = 1e-6  # a column that varies less is not divided by its standard deviation
HISTORY = 20  # steps that L-BFGS remembers
MOST_STEPS = 2000


@dataclass(frozen=True, eq=False, slots=True)
class Linear:
    """A linear head of C classes on features of width D: logits = weight @ x + bias.

    weight (C, D), bias (C,), both float64
    """

    weight: Tensor
    bias: Tensor

    def probabilities(self, x: Tensor) -> Tensor:
        """(n, D) -> (n, C), the softmax of the logits."""
        return torch.addmm(self.bias, x.double(), self.weight.T).softmax(1)


def fit(
    x: Tensor, y: Tensor, classes: int, penalty: float = PENALTY, start: Linear | None = None
) -> Linear:
    """The head that minimises mean cross-entropy + penalty / 2 * sum(W ** 2) of standardized
    features. x (n, D), y (n,) of 0 ... classes - 1.

    W is the weight that reads z = (x - mean) / std, with the mean and population standard deviation
    of each column (1 where that is below `LEAST_STD`); the bias is not penalised, and its sum is 0.
    The result is folded: it reads x. `C` of scikit-learn's LogisticRegression is 1 / (penalty n),
    and 2 / (penalty n) with two classes, for which it has one weight that is the difference of two.
    The problem is convex; `start` only shortens the way.
    """
    x = x.double()
    mean, std = x.mean(0), x.std(0, correction=0)
    std = torch.where(std < LEAST_STD, 1.0, std)
    rows = torch.cat([(x - mean) / std, x.new_ones(len(x), 1)], dim=1)
    at = x.new_zeros(classes, rows.shape[1])
    if start is not None:
        at[:, :-1], at[:, -1] = start.weight * std, start.bias + start.weight @ mean
    found = _minimum(rows, y, penalty, at)
    weight = found[:, :-1] / std
    bias = found[:, -1] - found[:, -1].mean() - weight @ mean
    return Linear(weight, bias)


def _minimum(rows: Tensor, y: Tensor, penalty: float, at: Tensor) -> Tensor:
    """The minimum of `_loss`, from `at` on. rows (n, D + 1), whose last column is 1 -> (C, D + 1)

    L-BFGS (Nocedal & Wright 2006, algorithm 7.4) needs memory for n C + `HISTORY` C D numbers,
    where Newton's matrix has (C D) ** 2. Its first guess of the inverse curvature is that of the
    model that answers with equal probabilities, which is known: rows^T rows / (n C) + penalty.
    """
    curvature = rows.T @ rows / (len(rows) * len(at))
    curvature.diagonal()[:-1] += penalty
    factor = torch.linalg.cholesky(curvature)
    steps: list[tuple[Tensor, Tensor]] = []
    loss, gradient = _loss(rows, y, penalty, at)
    for _ in range(MOST_STEPS):
        if gradient.abs().max() < TOLERANCE:
            break
        direction = _direction(gradient, steps, factor)
        slope, size = (gradient * direction).sum(), 1.0
        while True:
            there = at + size * direction
            new_loss, new_gradient = _loss(rows, y, penalty, there)
            # rounding of the loss hides the last steps
            if new_loss <= loss + 1e-4 * size * slope + 1e-14 * abs(loss) or size < 1e-10:
                break
            size /= 2
        steps = [*steps[1 - HISTORY :], (there - at, new_gradient - gradient)]
        at, loss, gradient = there, new_loss, new_gradient
    return at


def _loss(rows: Tensor, y: Tensor, penalty: float, at: Tensor) -> tuple[float, Tensor]:
    """The penalised mean cross-entropy and its gradient, (C, D + 1)."""
    log = (rows @ at.T).log_softmax(1)
    own = y[:, None]
    loss = -log.gather(1, own).mean() + penalty / 2 * at[:, :-1].square().sum()
    wrong = log.exp_().scatter_add_(1, own, log.new_full((len(y), 1), -1.0)).div_(len(y))
    gradient = wrong.T @ rows
    gradient[:, :-1] += penalty * at[:, :-1]
    return loss.item(), gradient


def _direction(gradient: Tensor, steps: Sequence[tuple[Tensor, Tensor]], factor: Tensor) -> Tensor:
    """The direction of L-BFGS; `factor`: Cholesky factor of the first guess of the curvature."""
    left, shares = gradient, []
    for step, change in reversed(steps):
        share = (step * left).sum() / (step * change).sum()
        left = left - share * change
        shares.append(share)
    found = torch.cholesky_solve(left.T, factor).T
    if steps:
        step, change = steps[-1]
        guess = torch.cholesky_solve(change.T, factor).T
        found = found * ((step * change).sum() / (change * guess).sum())
    for (step, change), share in zip(steps, reversed(shares), strict=True):
        found = found + step * (share - (change * found).sum() / (step * change).sum())
    return -found


def folds_of(y: Sequence[int], groups: Sequence[int]) -> list[int]:
    """The fold of each picture, counted from 0; -1 for one that cannot be left out.

    The groups of a class are dealt to the folds in turn, in the order of their arrival. There are
    `FOLDS`, or as many as the most groups of a class. The pictures of a class with one group stay
    in the training set of all folds: without them it would have none.
    """
    order: dict[int, dict[int, int]] = {}  # class: {group: its place}
    for label, group in zip(y, groups, strict=True):
        places = order.setdefault(label, {})
        places.setdefault(group, len(places))
    count = min(FOLDS, max(map(len, order.values())))
    return [
        order[label][group] % count if len(order[label]) > 1 else -1
        for label, group in zip(y, groups, strict=True)
    ]


def left_out(
    x: Tensor,
    mirrored: Tensor,
    y: Tensor,
    folds: Tensor,
    classes: int,
    penalty: float = PENALTY,
    start: Linear | None = None,
    progress: bool = False,
) -> Tensor:
    """The probabilities of each picture from a head that was fitted without its fold.

    x (n, D) and mirrored (n, D): features of the pictures and of their mirror images, y (n,), folds
    (n,) as of `folds_of` -> (n, C) float64, nan for pictures of fold -1
    """
    result = x.new_full((len(x), classes), torch.nan, dtype=torch.float64)
    for out, head in heads_left_out(x, mirrored, y, folds, classes, penalty, start, progress):
        result[out] = head.probabilities(x[out])
    return result


def heads_left_out(
    x: Tensor,
    mirrored: Tensor,
    y: Tensor,
    folds: Tensor,
    classes: int,
    penalty: float = PENALTY,
    start: Linear | None = None,
    progress: bool = False,
) -> Iterator[tuple[Tensor, Linear]]:
    """For each fold: which pictures it has, (n,) bool, and the head that was fitted without them.
    The parameters are those of `left_out`.
    """
    disable = None if progress else True  # tqdm's None: a bar on a terminal alone
    for fold in tqdm(range(int(folds.max()) + 1), unit=" folds", leave=False, disable=disable):
        out, rest = folds == fold, folds != fold
        rows = torch.cat([x[rest], mirrored[rest]])
        yield out, fit(rows, y[rest].repeat(2), classes, penalty, start)


def threshold_of(probabilities: Tensor) -> float | None:
    """The threshold that the largest probability of a picture must reach for the picture to count
    as one of the classes; None for n = 0.

    It is entry floor(0.05 n), counted from 0, of the largest probabilities of n left-out pictures,
    (n, C), in ascending order: at most so many of them stay below it.
    """
    if not len(probabilities):
        return None
    most = probabilities.amax(1).sort().values
    return float(most[int(round((1 - KEPT) * len(most), 9))])


def worst_pair(probabilities: Tensor, y: Tensor) -> tuple[tuple[int, int], ...]:
    """The pictures to look at of the two classes i < j that are confused most: that of i with the
    highest probability of j, and that of j with the highest of i. (n, C), (n,) -> the place of
    each, and the other class

    Of equal counts the first pair is taken; empty if no picture has a wrong answer. A class of
    which no picture was left out has none here.
    """
    confusions = confusions_of(probabilities, y)
    both = (confusions + confusions.T).triu(diagonal=1)
    if not both.any():
        return ()
    i, j = divmod(int(both.flatten().argmax()), len(both))
    return tuple(
        (int(probabilities[:, other].where(y == own, -1).argmax()), other)
        for own, other in ((i, j), (j, i))
        if (y == own).any()
    )


def confusions_of(probabilities: Tensor, y: Tensor) -> Tensor:
    """The number of pictures of each class that got each answer. (n, C), (n,) -> (C, C)"""
    classes = probabilities.shape[1]
    pairs = y * classes + probabilities.argmax(1)
    return pairs.bincount(minlength=classes**2).view(classes, classes)
