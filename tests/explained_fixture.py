"""Explanations and fair tests for the page's engine, by Python. See `viewer_fixture`."""

from typing import Any

from tests.engine_fixture import CONFIGS, drawn
from tests.gradients_fixture import MORE
from tests.models import photo
from tests.operated_fixture import CASES
from vitviz import LoadedModel, analyze
from vitviz.errors import SelectionError
from vitviz.probe.explain.explainers import EXPLAINERS
from vitviz.probe.explain.explanation import explained

# Models with classes, which Python explains.
NAMES = tuple(name for name, one in CONFIGS.items() if one.num_classes and one.global_pool)
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
        for one in fair["maps"].values():
            del one["sentence"]
    return {
        "interventions": interventions,
        "target": target,
        "token": token,
        "values": values,
        "costs": costs,
        "temperature": loaded.card.temperature,
        "fair": fair,
    }


def small(name: str) -> list[dict[str, Any]]:
    """Those of a small model, intact and with interventions."""
    loaded = drawn(name)
    cases = [[], *([CASES[name], MORE[0]] if name in CASES else [])]
    last = loaded.card.config.num_tokens - 2
    return [
        explanations(loaded, photo(), one, at % 3, token=last if at == 1 else 0)
        for at, one in enumerate(cases)
    ]
