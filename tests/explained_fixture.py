"""Explanations and fair tests for the page's engine, by Python. See `viewer_fixture`."""

from typing import Any

from tests.engine_fixture import CONFIGS, TOGETHER, drawn
from tests.gradients_fixture import MORE
from tests.models import photo
from vitviz import LoadedModel, analyze
from vitviz.errors import SelectionError
from vitviz.probe.explain.explainers import EXPLAINERS
from vitviz.probe.explain.explanation import explained
from vitviz.probe.explain.likeness import own_vector

# Models that Python explains: those that pool.
NAMES = tuple(name for name, one in CONFIGS.items() if one.global_pool)
TESTED = ("generic", "random")


def explanations(
    loaded: LoadedModel,
    picture: Any,
    interventions: list[Any],
    target: int,
    token: int = 0,
    *,
    most: float = float("inf"),
) -> dict[str, Any]:
    """The values of all explainers that the model can have and that take at most so many passes,
    and a fair test of some if `most` is no bound.
    """
    analysis = analyze(loaded, picture, interventions=interventions)
    values, costs = {}, {}
    keys = [key for key, one in EXPLAINERS.items() if one.passes(analysis.grid) <= most]
    for key in keys:
        try:
            made = explained(analysis, key, token, target)
        except SelectionError:  # a norm between attention and projection
            continue
        values[key] = made.values.tolist()
        costs[key] = [made.forward, made.backward, made.gap or 0]
    fair = None
    if len(keys) == len(EXPLAINERS):
        fair = analysis.fair_test(*TESTED, token=token, target=target).to_dict()
        fair = without_texts(fair)
    return {
        "interventions": interventions,
        "target": target,
        "token": token,
        "values": values,
        "costs": costs,
        "temperature": loaded.card.temperature,
        "fair": fair,
    }


def without_texts(fair: dict[str, Any]) -> dict[str, Any]:
    """A fair test without the texts that pages make themselves."""
    del fair["score"], fair["liked"]
    for one in fair["maps"].values():
        del one["sentence"]
    return fair


def likenesses(loaded: LoadedModel, interventions: list[Any], token: int) -> dict[str, Any]:
    """The values of the explainers that know a class, for the likeness to the other picture of the
    engine's fixture, and a fair test of some.
    """
    analysis = analyze(loaded, photo(), interventions=interventions)
    beside = analyze(loaded, photo()[::-1, ::-1].copy())
    other = own_vector(loaded, beside.trace.tokens[-1], beside.pass_.surgery)
    keys = [key for key, one in EXPLAINERS.items() if "class" in one.needs] + ["centre", "random"]
    fair = analysis.fair_test(*TESTED, token=token, target=other).to_dict()
    fair = without_texts(fair)
    made = {key: explained(analysis, key, token, other) for key in keys}
    return {
        "interventions": interventions,
        "target": -1,
        "likeness": analysis.likeness(other),
        "token": token,
        "values": {key: one.values.tolist() for key, one in made.items()},
        "costs": {key: [one.forward, one.backward, one.gap or 0] for key, one in made.items()},
        "fair": fair,
    }


def small(name: str) -> list[dict[str, Any]]:
    """Explanations of a small model, intact and with interventions; a model without classes has
    those of a likeness alone.
    """
    loaded = drawn(name)
    together = TOGETHER.get(name)
    cases = [[], *([together, MORE[0]] if together else [])]
    last = loaded.card.config.num_tokens - 2
    classes = cases if loaded.card.config.num_classes else []
    return [
        explanations(loaded, photo(), one, at % 3, token=last if at == 1 else 0)
        for at, one in enumerate(classes)
    ] + [likenesses(loaded, one, last if one else 0) for one in cases if one is not together]
