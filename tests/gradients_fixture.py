"""Gradients of small models for the page's engine, by torch. See `viewer_fixture`.

Of a long list the fixture has some numbers, evenly spaced, and the L2 norm of the whole list.
"""

from typing import Any

import torch
from torch import Tensor

from tests.engine_fixture import TOGETHER, drawn
from tests.models import photo
from vitviz import LoadedModel, analyze
from vitviz.probe.capture.recorder import listening
from vitviz.probe.forward import trace_with_values

SAMPLES = 24
# Besides those of `operated_fixture`: heads set to their mean while tokens are gone, and tokens of
# others.
MORE: list[list[dict[str, Any]]] = [
    [
        {"kind": "remove", "patches": [0, 3]},
        {"kind": "head", "layer": 0, "head": 0, "by": "mean"},
        {"kind": "head", "layer": 1, "head": 1, "by": "mean"},
        {"kind": "scramble", "rows": "patches", "layers": "all", "seed": 5},
    ],
    [{"kind": "transplant", "patches": [1, 2], "layer": 1, "from": "other"}],
    [{"kind": "transplant", "patches": [1, 2], "layer": 0, "from": "other"}],
]


def some(values: Tensor) -> dict[str, Any]:
    """{"length", "some"} of many numbers: the root of the sum of their squares, and a few."""
    flat = values.detach().flatten()
    step = max(1, len(flat) // SAMPLES)
    return {"length": float(flat.double().norm()), "some": flat[::step].tolist()}


def gradients(
    loaded: LoadedModel, picture: Any, interventions: list[Any], target: int, *, weights: bool
) -> dict[str, Any]:
    """How the logit `target` rises with attention, tokens, pixels, and with all weights."""
    analysis = analyze(loaded, picture, interventions=interventions)
    vit, surgery = loaded.vit, analysis.pass_.surgery
    tokens: list[Tensor] = []

    def hear(_module: object, _args: object, out: Tensor) -> None:
        out.retain_grad()
        tokens.append(out)

    pixels = analysis.pixels[None].clone().requires_grad_()
    vit.requires_grad_(weights)
    with torch.enable_grad(), surgery.applied(vit), listening() as listen:
        listen(vit.norm_pre.register_forward_hook, hear)
        for block in vit.blocks:
            listen(block.register_forward_hook, hear)
        vit(pixels).flatten()[target].backward()
    found = {
        "interventions": [
            one | ({"from": "other"} if "from" in one else {}) for one in interventions
        ],
        "target": target,
        "tokens": [some(one.grad) for one in tokens if one.grad is not None],
        "pixels": some(pixels.grad if pixels.grad is not None else torch.zeros(1)),
    }
    if loaded.card.config.global_pool:
        trace = trace_with_values(loaded, analysis.pass_, target)
        found["attention"] = [some(trace.attention_gradient(i)) for i in range(trace.depth)]
    if weights:
        named = sorted(vit.named_parameters())
        found["weights"] = {key: some(one.grad) for key, one in named if one.grad is not None}
        vit.requires_grad_(False).zero_grad()
    return found


def small(name: str) -> list[dict[str, Any]]:
    """Gradients of a small model, intact and with interventions."""
    loaded = drawn(name)
    other = analyze(loaded, photo()[::-1, ::-1].copy())
    cases = [[], *([TOGETHER[name], *MORE] if name in TOGETHER else [])]
    made = []
    for at, interventions in enumerate(cases):
        values = [one | ({"from": other} if "from" in one else {}) for one in interventions]
        made.append(gradients(loaded, photo(), values, at % 3, weights=not values))
    return made
