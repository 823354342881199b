"""MEASURES: the measures of a survey, with their cost in forward passes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import SelectionError
from ..model.loaded import LoadedModel
from ..probe.analysis import Analysis
from ..probe.capture.grid import PatchGrid
from ..probe.capture.recorder import listening
from ..probe.capture.score import scores
from ..probe.capture.trace import CACHED
from ..probe.explain.explainers import EXPLAINERS
from ..probe.measure.heads import distances

ANSWER, DISTANCE, FOOLED = "answer", "distance", "fooled"
QUICK = (ANSWER, DISTANCE)  # measures that need no trace


@dataclass(frozen=True, slots=True)
class Measure:
    """One or more numbers that describe a picture.

    sentence  meaning and shape of the numbers
    of        computes the numbers from an analysis
    price     cost in forward passes besides the pass itself, on two cores
    of_heads  whether there is one number for each head, (layers, heads)
    """

    sentence: str
    of: Callable[[Analysis], Tensor]
    price: float
    of_heads: bool = False


def _prefix(analysis: Analysis) -> Tensor:
    """The share of the attention of patches that goes to prefix tokens. (L, H)"""
    first = analysis.grid.num_prefix_tokens
    layers = range(analysis.trace.depth)
    maps = (analysis.trace.attention(layer) for layer in layers)
    return torch.stack(
        [attention[:, first:, :first].sum(dim=-1).mean(dim=-1) for attention in maps]
    )


def _norms(analysis: Analysis) -> Tensor:
    """The mean length of the patch tokens, after embedding and after each block. (L + 1,)"""
    return analysis.trace.tokens[:, analysis.grid.num_prefix_tokens :].norm(dim=-1).mean(dim=-1)


def _fooled(analysis: Analysis) -> Tensor:
    """Whether at most 4 levels turn the answer; then whether clean patches, put back before each
    block, bring it back. 0 or 1 each, all 0 for a picture whose answer does not turn. (1 + L,)
    """
    fooled = analysis.fool()
    if not fooled.turned:
        return torch.zeros(1 + analysis.trace.depth)
    return torch.cat([torch.ones(1), fooled.restored("patches").returns.float()])


def _explained(key: str) -> Measure:
    explainer = EXPLAINERS[key]

    def of(analysis: Analysis) -> Tensor:
        # Seen from CLS; a map of the patch in the corner would say nothing.
        config = analysis.card.config
        if "token" in explainer.within(config).needs and not config.class_token:
            raise SelectionError(f"{analysis.card.name} has no CLS token, from which {key} is seen")
        # The values of `Analysis.explain`, without its warning for each picture.
        return analysis.grid.to_map(explainer(analysis.case(key)))

    return Measure(f"the map of the explainer {key}, (rows, cols)", of, 1.0)


MEASURES = {
    ANSWER: Measure("the class and its probability", lambda analysis: analysis.trace.logits, 0),
    DISTANCE: Measure(
        "mean attention distance of each head, in pixels, (layers, heads)",
        lambda analysis: analysis.head_statistics().distance,
        0.3,
        of_heads=True,
    ),
    "entropy": Measure(
        "entropy of each head, in nats, (layers, heads)",
        lambda analysis: analysis.head_statistics().entropy,
        1.0,
        of_heads=True,
    ),
    "prefix": Measure(
        "share of the attention of patches that goes to prefix tokens, (layers, heads)",
        _prefix,
        1.0,
        of_heads=True,
    ),
    "norms": Measure("mean length of the patch tokens, (layers + 1)", _norms, 0.0),
    FOOLED: Measure(
        "whether a change of at most 4 levels turns the answer, and before which layers clean "
        "patches bring it back, (1 + layers)",
        _fooled,
        33.0,  # eight steps of three passes, two more, and one for each of some six blocks
    ),
    **{key: _explained(key) for key in EXPLAINERS},
}
KEEPING = 1.0  # forward passes that an analysis costs besides its own, which all but `QUICK` need


def chosen(measures: Sequence[str]) -> tuple[str, ...]:
    """The measures by name, without duplicates. Raises `SelectionError` for an unknown name."""
    names = (measures,) if isinstance(measures, str) else tuple(dict.fromkeys(measures))
    for name in names:
        if name not in MEASURES:
            known = ", ".join(MEASURES)
            raise SelectionError(f"there is no measure {name!r:.40}; there are {known}")
    return names


def price(measures: Sequence[str], loaded: LoadedModel) -> str:
    """Cost of the measures, in a sentence; "" for answers and distances, which cost little."""
    grid = PatchGrid.of(loaded.card.config)
    costs = {}
    for name in chosen(measures):
        if name not in QUICK:
            passes = EXPLAINERS[name].passes(grid) if name in EXPLAINERS else 0
            costs[name] = MEASURES[name].price + passes
    if not costs:
        return ""
    parts = ", ".join(f"{name} {cost:.0f}" for name, cost in costs.items())
    total = 1 + KEEPING + sum(costs.values())
    return (
        f"a picture costs about as much as {total:.0f} forward passes in place of 1, because of "
        f"the measures beyond answers and distances: {parts}"
    )


def quick(loaded: LoadedModel, pictures: Sequence[Tensor], far: bool) -> tuple[Tensor, Tensor]:
    """Logits (B, C) of pictures, uint8 (h, w, C) each, and, if `far`, the distances (B, L, H).

    Distances are those of `head_statistics`, computed where q and k are in the processor's cache:
    no trace is kept, and no map.
    """
    vit, config = loaded.vit, loaded.card.config
    away = distances(PatchGrid.of(config)).flatten().to(loaded.device)
    first, heard = config.num_prefix_tokens, {}

    def hear(layer: int) -> Callable[..., None]:
        attn = vit.blocks[layer].attn

        def hear_tap(_module: object, _args: object, qkv: tuple[Tensor, ...]) -> None:
            q, k = (part[:, :, first:].float() for part in qkv[:2])
            bias = attn.score_bias(None, None)
            bias = None if bias is None else bias[..., first:, first:]
            size = q.shape[1] * q.shape[2] ** 2 if loaded.device.type == "cpu" else 1
            together = max(1, 2 * CACHED // size)
            # The softmax over patches alone is attention between patches, rescaled to sum to 1.
            heard[layer] = (
                torch.cat(
                    [
                        scores(*some, attn.scale, bias=bias).softmax(dim=-1).flatten(2) @ away
                        for some in zip(q.split(together), k.split(together), strict=True)
                    ]
                )
                / q.shape[2]
            )

        return hear_tap

    pixels = torch.cat([loaded.preprocess.pixels(picture) for picture in pictures])
    with torch.inference_mode(), listening() as listen:
        for layer in range(config.depth if far else 0):
            listen(vit.blocks[layer].attn.tap.register_forward_hook, hear(layer))
        logits = vit(pixels.to(loaded.device)).float().cpu()
    layers = [heard[layer].cpu() for layer in sorted(heard)]
    return logits, torch.stack(layers, dim=1) if far else logits.new_zeros(len(logits), 0)
