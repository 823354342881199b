"""Heads that Python taught, for the page. See `viewer_fixture`."""

from typing import Any

import torch
from torch import Tensor

from vitviz.many.linear import PENALTY, confusions_of, fit, folds_of, left_out, threshold_of
from vitviz.probe.intervene.chance import Chance

WIDTH = 6
# By name: the groups of each class, in the order of arrival. A class of "bursts" has one group, and
# the groups of another come mixed; "few" has fewer folds than ten.
CASES = {
    "each its own": [list(range(14)), list(range(20, 32))],
    "bursts": [[0, 0, 1, 1, 1, 2, 2], [7] * 5, [3, 4, 3, 5, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15]],
    "few": [[0, 1, 2], [3, 4], [5, 6, 7, 7], [8, 9]],
}


def pictures(name: str) -> tuple[Tensor, Tensor, list[int], list[int]]:
    """Features of pictures and of their mirror images, (n, WIDTH) each, labels and groups.

    The second column is the same for all; the last is a hundred times as wide as the others. The
    classes overlap. The pictures of different classes come in turns.
    """
    kinds = CASES[name]
    rows = [
        (place, label, group)
        for label, groups in enumerate(kinds)
        for place, group in enumerate(groups)
    ]
    rows.sort()
    labels, groups = [label for _, label, _ in rows], [group for _, _, group in rows]
    drawn = Chance(len(rows), "noise").uniforms(2 * len(rows) * WIDTH).double()
    values = drawn.view(2, len(rows), WIDTH) + 0.7 * torch.eye(WIDTH)[labels]
    values[..., 1], values[..., -1] = 0.5, 100 * values[..., -1]
    first, mirrored = (values * 1e4).round() / 1e4
    return first, mirrored, labels, groups


def taught(name: str) -> dict[str, Any]:
    """A set of pictures, the head, its answers to left-out pictures (None: in no fold)."""
    x, mirrored, labels, groups = pictures(name)
    y, classes, folds = torch.tensor(labels), len(CASES[name]), folds_of(labels, groups)
    head = fit(torch.cat([x, mirrored]), y.repeat(2), classes)
    answers = left_out(x, mirrored, y, torch.tensor(folds), classes, start=head)
    counted = torch.tensor(folds) >= 0
    confusions = confusions_of(answers[counted], y[counted])
    return {
        "penalty": PENALTY,
        "classes": classes,
        "vectors": x.tolist(),
        "mirrored": mirrored.tolist(),
        "labels": labels,
        "groups": groups,
        "weight": head.weight.tolist(),
        "bias": head.bias.tolist(),
        "folds": folds,
        "left_out": [
            row.tolist() if fold >= 0 else None for row, fold in zip(answers, folds, strict=True)
        ],
        "right": int(confusions.trace()),
        "of": int(confusions.sum()),
        "confusions": confusions.tolist(),
        "threshold": threshold_of(answers[counted]),
    }


def table() -> dict[str, Any]:
    return {name: taught(name) for name in CASES}
