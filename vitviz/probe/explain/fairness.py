"""Fair tests of maps: how the answer changes when patches are taken out in the map's order.

One curve proves nothing: a random order can look good on one picture. So beside every map stand
random orders, and the centre of the picture.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ...errors import CancelledError, SelectionError
from ...languages import Message
from ..capture.selection import count_of
from ..intervene.chance import Chance
from ..measure.predictions import probabilities_of
from .case import Case
from .explainers import EXPLAINERS, centre_map

STEPS = 12  # between all patches and none
ORDERS = 20  # random orders: ten and their reverses
BAND = (0.05, 0.95)  # the quantiles of the random orders that make the band
GROUPS = 10  # of SaCo
SURE = 0.95  # a map that beats fewer of the random orders is no better than chance

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, kw_only=True)
class Removal:
    """Probabilities of the class while patches are taken out of the sequence, in several orders.

    If the target is a vector or another picture, the curves show the likeness of this picture to
    it instead. Curves and areas then lie between -1 and 1, `target` is None, and `liked` is the
    name of the other picture ("" for a vector).

    removed  (S,)          the share of patches that is gone at each step, from 0
    first    {key: (S,)}   probability of the class, the most important patches gone first
    last     {key: (S,)}   the same, the least important gone first
    random   (orders, S)   the same by random orders; order i + orders / 2 is order i backwards
    saco     {key: float}  {} without groups; see `saco_of`
    """

    target: int | None
    removed: Tensor
    first: Mapping[str, Tensor]
    last: Mapping[str, Tensor]
    random: Tensor
    saco: Mapping[str, float]
    liked: str = ""

    @property
    def kind(self) -> Literal["probability", "likeness"]:
        """Kind of the score in the curves: the probability of the class, or a likeness."""
        return "likeness" if self.target is None else "probability"

    @property
    def score(self) -> Message:
        """Name of the number that falls in the curves: a probability, or the likeness to which."""
        if self.kind == "probability":
            return Message("experiments.fair_probability")
        name = self.liked or Message("experiments.vector_target")
        return Message("experiments.fair_likeness", name=name)

    def band(self) -> tuple[Tensor, Tensor]:
        """The range that holds 90 % of the random orders at each step: low, high. (S,) each"""
        low, high = self.random.quantile(torch.tensor(BAND), dim=0)
        return low, high

    def deletion(self, key: str) -> float:
        """Area under the curve of the most important first, in [0, 1]: small is good."""
        return self._area(self.first[key])

    def insertion(self, key: str) -> float:
        """Area under the curve of the least important first, in [0, 1]: large is good."""
        return self._area(self.last[key])

    def gain(self, key: str) -> float:
        """Insertion minus deletion: 0 for an order that knows nothing."""
        return self.insertion(key) - self.deletion(key)

    def random_gains(self) -> Tensor:
        """The gains of the random orders. (orders,), symmetric around 0"""
        areas = torch.trapezoid(self.random, self.removed, dim=1) / self.removed[-1]
        return areas.roll(len(areas) // 2) - areas

    def beaten(self, key: str) -> int:
        """Number of random orders with a smaller gain than the map."""
        return int((self.random_gains() < self.gain(key)).sum())

    def sentence(self, key: str) -> Message:
        """A sentence about the map, from the figures of this picture alone; of a likeness it says
        which one was measured.
        """
        if self.kind == "likeness":
            told = self._sentence(key)
            return Message("experiments.fair_like", score=self.score, sentence=told)
        return self._sentence(key)

    def _sentence(self, key: str) -> Message:
        name = EXPLAINERS[key].name if key in EXPLAINERS else key
        beaten, orders = self.beaten(key), len(self.random)
        if beaten < SURE * orders:
            return Message("experiments.fair_chance", name=name, beaten=beaten, orders=orders)
        if key == "centre":
            return Message("experiments.fair_centre", beaten=beaten, orders=orders)
        if self.gain(key) > self.gain("centre"):
            return Message("experiments.fair_better", name=name, beaten=beaten, orders=orders)
        return Message("experiments.fair_not_centre", name=name, beaten=beaten, orders=orders)

    def to_dict(self) -> dict[str, Any]:
        """All figures in JSON's types. `score` says what falls: the probability of the class
        `target`, or the likeness to the picture `liked`, "" for a vector.
        """
        low, high = self.band()
        return {
            "score": self.kind,
            "target": self.target,
            "liked": self.liked,
            "removed": self.removed.tolist(),
            "band": [low.tolist(), high.tolist()],
            "orders": len(self.random),
            "maps": {
                key: {
                    "first": self.first[key].tolist(),
                    "last": self.last[key].tolist(),
                    "deletion": self.deletion(key),
                    "insertion": self.insertion(key),
                    "gain": self.gain(key),
                    "beaten": self.beaten(key),
                    "sentence": self.sentence(key),
                }
                | ({"saco": self.saco[key]} if key in self.saco else {})
                for key in self.first
            },
        }

    def _area(self, curve: Tensor) -> float:
        return float(torch.trapezoid(curve, self.removed) / self.removed[-1])


def check_outputs(outputs: str) -> None:
    """Raise `SelectionError` for a model of values: a fair test follows a probability.

    A value has no chance level, and to fall is no worse for it than to rise, so that neither the
    areas nor the order of maps would mean anything.
    """
    if outputs == "value":
        raise SelectionError(Message("experiments.fair_value"))


def removal(
    case: Case,
    maps: Mapping[str, Tensor],
    *,
    temperature: float = 1.0,
    outputs: str = "one_of",
    steps: int = STEPS,
    orders: int = ORDERS,
    groups: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Removal:
    """Take patches out in the order of each map, (N,) or (P,), and of random orders.

    Patches are really taken out of the sequence, after positions were added: to paint them black is
    a change too, and not a removal (Jain et al. 2022, arXiv:2204.08945). At most all of them are
    gone, or all but one where the answer is read from patches. Equal values of a map are ordered at
    random, in all maps alike. The curves are those of Samek et al. 2015, arXiv:1509.06321, and of
    Petsiuk et al. 2018, arXiv:1806.07421. `centre` is always among the maps. With `groups`, two or
    more, `saco` has a figure for each map. `progress(done, all)` counts sequences; when
    `cancelled()` is true, `CancelledError` is raised. `outputs`: what the outputs mean; the
    probability of "any_of" and "score" is the sigmoid of the class. Raises `SelectionError` for
    values (`check_outputs`), for a pass with fewer than two patches, for numbers that make no
    curve, and for a seed that is no whole number from 0 to 2**32 - 1.
    """
    if groups != 0:
        groups = count_of(groups, "groups", least=2)
    plan = plan_of(case, maps, steps=steps, orders=orders, seed=seed)
    total = len(plan.ways) * (len(plan.counts) - 1) + len(plan.names) * groups
    done = 0

    def report(sequences: int) -> None:
        nonlocal done
        done += sequences
        if progress is not None:
            progress(done, total)

    def check() -> None:
        if cancelled is not None and cancelled():
            raise CancelledError(Message("experiments.cancelled"))

    columns = []
    for step in range(len(plan.counts)):
        check()
        columns.append(plan.column(case, step, temperature, outputs))
        report(len(plan.ways) if step else 0)
    saco, whole = {}, columns[0][0]
    for place, key in enumerate(plan.names if groups else ()):
        some = [group for group in plan.ways[place].tensor_split(groups) if len(group)]
        falls = []
        for group in some:
            check()
            kept = torch.cat([other for other in some if other is not group])[None]
            falls.append(float(whole - _probabilities(case, kept, temperature, outputs)[0]))
            report(1)
        values = case.grid.patches(plan.maps[key])[case.patches]
        saco[key] = saco_of([float(values[group].sum()) for group in some], falls)
    return plan.removal(case, columns, saco)


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """The orders of a fair test. `column` computes the steps one at a time.

    maps    {key: (N,) or (P,)}, with the centre
    ways    (W, n) places in `case.patches`: the orders of the maps, most important first; the same
            backwards; the random orders; these backwards
    counts  how many patches are gone at each step, from 0
    """

    maps: Mapping[str, Tensor]
    ways: Tensor
    counts: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.maps)

    def column(
        self, case: Case, step: int, temperature: float = 1.0, outputs: str = "one_of"
    ) -> Tensor:
        """The probability of the class at a step, by each order. (W,)"""
        if step == 0:
            whole = _probability(case, case.trace.logits, temperature, outputs)
            return whole.expand(len(self.ways))
        # The order of the patches that stay does not matter, but a sorted sequence is rounded as in
        # the model's own pass.
        kept = self.ways[:, self.counts[step] :].sort(dim=1).values
        if not kept.shape[1]:  # all orders give the same result
            return _probabilities(case, kept[:1], temperature, outputs).expand(len(kept))
        return _probabilities(case, kept, temperature, outputs)

    def removal(
        self, case: Case, columns: Sequence[Tensor], saco: Mapping[str, float] | None = None
    ) -> "Removal":
        """The result, from the columns of all steps."""
        curves, names = torch.stack(list(columns), dim=1), len(self.names)
        return Removal(
            target=None if case.likeness else case.class_index,
            removed=torch.tensor(self.counts) / len(case.patches),
            first=dict(zip(self.names, curves[:names], strict=True)),
            last=dict(zip(self.names, curves[names : 2 * names], strict=True)),
            random=curves[2 * names :],
            saco=saco or {},
            liked=case.liked,
        )


def plan_of(
    case: Case,
    maps: Mapping[str, Tensor],
    *,
    steps: int = STEPS,
    orders: int = ORDERS,
    seed: int = 0,
) -> Plan:
    """The orders of some maps, and random ones; parameters and errors are those of `removal`."""
    steps, pairs = count_of(steps, "steps"), (count_of(orders, "orders") + 1) // 2
    patches, grid = case.patches, case.grid
    if len(patches) < 2:
        left = "only one is left" if len(patches) else "none is left"
        raise SelectionError(f"a fair test takes patches out, and {left}")
    maps = {"centre": centre_map(grid).flatten(), **maps}
    chance = Chance(seed, "orders")
    ties = chance.permutation(len(patches))  # shared, so that no map depends on the others
    drawn = [chance.permutation(len(patches)) for _ in range(pairs)]
    first = [_order(grid.patches(values)[patches], ties) for values in maps.values()]
    ways = [
        *first,
        *(order.flip(0) for order in first),
        *drawn,
        *(order.flip(0) for order in drawn),
    ]
    reads_patches = case.model.config.global_pool != "token"
    most = len(patches) - reads_patches
    counts = sorted({round(step * most / steps) for step in range(steps + 1)})
    return Plan(maps=maps, ways=torch.stack(ways), counts=tuple(counts))


def passes_of(maps: int, steps: int = STEPS, orders: int = ORDERS) -> int:
    """Approximate number of passes of the whole picture for a test of `maps` maps, the centre
    included: on average half of the patches are gone.
    """
    return (2 * maps + orders) * steps // 2


def _probabilities(case: Case, kept: Tensor, temperature: float, outputs: str) -> Tensor:
    """The probability of the class with only these patches. (B, n) places in `case.patches`"""
    logits = case.logits_with(case.with_patches(case.patches[kept]))
    return _probability(case, logits, temperature, outputs)


def _probability(case: Case, logits: Tensor, temperature: float, outputs: str) -> Tensor:
    """The probability of the class: of "one_of" its share, else its own sigmoid; the likeness to a
    vector as it is. (..., C) -> (...)

    Raises `SelectionError` for values.
    """
    if case.likeness:
        return logits[..., case.class_index]
    check_outputs(outputs)
    found = probabilities_of(logits, outputs, temperature)
    assert found is not None
    return found[..., case.class_index].float()


def saco_of(salience: list[float], falls: list[float]) -> float:
    """SaCo: do more salient groups of patches make the answer fall further? In [-1, 1]

    For each pair of groups, the difference of their saliences counts for the map if the more
    salient group has at least the fall of the other, and against the map otherwise. The sum is
    divided by the sum of all differences; 0 if all are alike. Wu et al. 2024, arXiv:2404.01415,
    algorithm 1.
    """
    signed = total = 0.0
    order = sorted(range(len(salience)), key=lambda i: -salience[i])
    for place, i in enumerate(order):
        for j in order[place + 1 :]:
            difference = salience[i] - salience[j]
            signed += difference if falls[i] >= falls[j] else -difference
            total += difference
    return signed / total if total else 0.0


def _order(values: Tensor, ties: Tensor) -> Tensor:
    """Indices of the values, largest first; equal values in the order of `ties`. (n,) -> (n,)"""
    return ties[values[ties].argsort(descending=True, stable=True)]
