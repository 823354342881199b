"""A taught head is the minimum that other solvers find, and left-out answers are a plain loop."""

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from tests import teach_fixture
from tests.viewer_fixture import compare_committed
from vitviz.many import linear
from vitviz.many.linear import PENALTY, Linear, fit, folds_of, left_out, threshold_of


def rows(n: int = 40, width: int = 7, classes: int = 3) -> tuple[Tensor, Tensor]:
    """Overlapping classes, columns of very different scales."""
    draw = torch.Generator().manual_seed(n)
    y = torch.arange(n) % classes
    x = torch.randn(n, width, generator=draw).double() + torch.eye(max(width, classes))[y, :width]
    return x * 10.0 ** torch.arange(-2, width - 2), y


def standardized(x: Tensor) -> Tensor:
    array = x.numpy()
    return torch.from_numpy((array - array.mean(0)) / array.std(0))


def logits(head: Linear, x: Tensor) -> Tensor:
    return x.double() @ head.weight.T + head.bias


def test_the_head_is_the_minimum_that_torch_finds() -> None:
    """By automatic differentiation of the definition, with an optimiser of torch."""
    x, y = rows()
    z = standardized(x)
    w, b = (torch.zeros(s, dtype=torch.float64, requires_grad=True) for s in ((3, 7), (3,)))
    options = {"tolerance_grad": 1e-10, "tolerance_change": 1e-14, "max_iter": 2000}
    optimizer = torch.optim.LBFGS([w, b], line_search_fn="strong_wolfe", **options)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = cross_entropy(z @ w.T + b, y) + 0.1 / 2 * w.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    head = fit(x, y, 3, 0.1)
    assert_close(logits(head, x), (z @ w.T + b).detach(), atol=1e-4, rtol=0)
    assert_close(head.weight * x.std(0, correction=0), w.detach(), atol=1e-4, rtol=0)


def test_the_head_is_that_of_scikit_learn() -> None:
    models = pytest.importorskip("sklearn.linear_model")
    x, y = rows(60)
    z = standardized(x).numpy()
    theirs = models.LogisticRegression(C=1 / (PENALTY * len(x)), tol=1e-10, max_iter=10_000)
    theirs.fit(z, y.numpy())
    ours = fit(x, y, 3)
    assert_close(
        ours.probabilities(x), torch.from_numpy(theirs.predict_proba(z)), atol=1e-4, rtol=0
    )


def test_a_head_that_is_worked_out_by_hand() -> None:
    """Two pictures at -1 and 1: z = x, and by symmetry W = (-w, w) with b = 0.

    The gradient is zero where sigmoid(-2 w) = penalty w: with penalty = sigmoid(-2), w is 1.
    """
    head = fit(torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1]), 2, 1 / (1 + np.exp(2)))
    assert_close(head.weight, torch.tensor([[-1.0], [1.0]]).double(), atol=1e-5, rtol=0)
    assert_close(head.bias, torch.zeros(2).double(), atol=1e-5, rtol=0)
    share = head.probabilities(torch.tensor([[1.0]]))[0, 1]
    assert float(share) == pytest.approx(1 / (1 + np.exp(-2)), abs=1e-5)


def test_order_copies_scales_and_a_start_change_nothing() -> None:
    x, y = rows()
    expected = logits(fit(x, y, 3), x)
    order = torch.tensor([2, 0, 1])
    assert_close(logits(fit(x, order[y], 3), x)[:, order], expected, atol=2e-5, rtol=0)
    assert_close(logits(fit(x.repeat(2, 1), y.repeat(2), 3), x), expected, atol=2e-5, rtol=0)
    turned = torch.tensor([3, 1, 0, 2, 6, 5, 4])
    scaled = x[:, turned] * torch.tensor([1e3, -1, 2, 1e-2, 5, 1, 1]) + 7
    assert_close(logits(fit(scaled, y, 3), scaled), expected, atol=2e-5, rtol=0)
    wide = torch.cat([x, torch.full((len(x), 2), 3.25)], dim=1)
    assert_close(logits(fit(wide, y, 3), wide), expected, atol=2e-5, rtol=0)
    other = Linear(torch.randn(3, 7).double() / 100, torch.randn(3).double())
    started = fit(x, y, 3, start=other)
    assert_close(logits(started, x), expected, atol=2e-5, rtol=0)
    assert float((started.bias + started.weight @ x.mean(0)).sum()) == pytest.approx(0, abs=1e-9)


def test_the_gradient_is_zero_for_many_classes_and_few_rows() -> None:
    """200 numbers a picture, 30 pictures of 15 classes: all are fitted."""
    x, y = rows(30, 4, 15)
    x = torch.cat([x] + [x.roll(at, 0) * x for at in range(1, 50)], dim=1)
    head = fit(x, y, 15, 0.001)
    z = (x - x.mean(0)) / x.std(0, correction=0)
    w = head.weight * x.std(0, correction=0)
    wrong = (logits(head, x).softmax(1) - torch.eye(15)[y]) / len(x)
    assert float((wrong.T @ z + 0.001 * w).abs().max()) < 2e-6
    assert torch.equal(logits(head, x).argmax(1), y)


def test_a_class_of_which_no_picture_was_left_out_has_none_to_look_at() -> None:
    """Its picture was that of another class; the two that are confused were told as one."""
    answers = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]]).double()
    assert linear.worst_pair(answers, torch.tensor([1, 1, 2])) == ((0, 0),)
    assert linear.worst_pair(answers, torch.tensor([1, 0, 2])) == ((1, 1), (0, 0))
    assert linear.worst_pair(answers, torch.tensor([0, 1, 2])) == ()


def test_groups_are_dealt_to_folds_in_turn() -> None:
    assert folds_of([0] * 12 + [1] * 2, range(14)) == [*range(10), 0, 1, 0, 1]
    assert folds_of([0, 1, 0, 1, 0, 1], [5, 9, 5, 9, 4, 8]) == [0, 0, 0, 0, 1, 1]
    assert folds_of([0, 0, 0, 1, 1], [0, 1, 2, 7, 7]) == [0, 1, 2, -1, -1]
    assert folds_of([0, 0, 1], [3, 3, 3]) == [-1, -1, -1]
    # one group of two classes, as of a burst that shows both
    assert folds_of([0, 1, 0, 1], [1, 1, 2, 2]) == [0, 0, 1, 1]


@pytest.mark.parametrize("name", teach_fixture.CASES)
def test_left_out_answers_are_those_of_a_plain_loop(name: str) -> None:
    x, mirrored, labels, groups = teach_fixture.pictures(name)
    y, folds = torch.tensor(labels), folds_of(labels, groups)
    classes = len(teach_fixture.CASES[name])
    found = left_out(x, mirrored, y, torch.tensor(folds), classes, start=fit(x, y, classes))
    for place, fold in enumerate(folds):
        if fold < 0:
            assert found[place].isnan().all()
            continue
        rest = [other for other in range(len(folds)) if folds[other] != fold]
        head = fit(torch.cat([x[rest], mirrored[rest]]), y[rest + rest], classes)
        assert_close(found[place], head.probabilities(x[[place]])[0], atol=1e-5, rtol=0)
    apart = [groups[i] == groups[j] and labels[i] == labels[j] and folds[i] != folds[j]
             for i, j in itertools.combinations(range(len(folds)), 2)]  # fmt: skip
    assert not any(apart)


def test_the_threshold_keeps_nineteen_of_twenty() -> None:
    for n in (1, 19, 20, 39, 40, 100, 1000):
        most = 0.5 + torch.randperm(n, generator=torch.Generator().manual_seed(n)).double() / n / 2
        threshold = threshold_of(torch.stack([most, 1 - most], dim=1))
        assert int((most < threshold).sum()) == int(np.floor(0.05 * n)) == n // 20
    assert threshold_of(torch.empty(0, 2)) is None


def test_confusions_are_counted() -> None:
    answers = torch.tensor([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.2, 0.7, 0.1], [0.5, 0.4, 0.1]])
    table = linear.confusions_of(answers, torch.tensor([0, 0, 1, 1]))
    assert table.tolist() == [[1, 0, 1], [1, 1, 0], [0, 0, 0]]


def test_the_page_is_held_to_what_python_computes() -> None:
    compare_committed("teach", lambda _: teach_fixture.table(), ["teach"])
