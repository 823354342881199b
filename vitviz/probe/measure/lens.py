"""The logit lens: the model's answer if it ended after an earlier block."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ...errors import SelectionError
from ...model.vit import ViT
from .predictions import most_probable, probabilities_of


@dataclass(frozen=True, slots=True)
class Line:
    """One class through the layers: its probability, and its rank among all (1: first)."""

    index: int
    label: str
    probabilities: tuple[float, ...]
    ranks: tuple[int, ...]


def has_lens(vit: ViT) -> bool:
    """Whether the model pools its tokens and has a classifier, as the lens requires."""
    return vit.config.num_classes > 0 and vit.config.global_pool != ""


@torch.no_grad()
def logit_lens(vit: ViT, tokens: Tensor) -> Tensor:
    """The logits that the model's own head gives to the tokens after each block. (L, classes)

    `tokens` is the residual stream of a trace, (L + 1, N, D). Each layer's tokens go through the
    final norm, the model's own pooling and the head, as the last layer's do: with pooling "token"
    that is the CLS token alone, with "avg" the mean of the patches, with "token_avg" both, with
    "map" the attention pool, and DeiT's two heads are averaged. The last row is the model's answer.

    The head was trained for the last layer only. An early layer whose logits name no class may hold
    the answer all the same, in directions that this head does not read. For language models:
    nostalgebraist 2020, "interpreting GPT: the logit lens"; for ViTs: Vilas et al. 2023,
    arXiv:2310.18969.

    Raises `SelectionError` for a model without a classifier or without pooling.
    """
    if not has_lens(vit):
        raise SelectionError("this model has no classifier that could read its layers")
    device = next(vit.parameters()).device
    return vit.forward_head(vit.norm(tokens[1:].to(device))).float().cpu()


def lines(
    logits: Tensor,
    labels: tuple[str, ...],
    temperature: float = 1.0,
    k: int = 5,
    outputs: str = "one_of",
) -> tuple[Line, ...]:
    """The classes worth following: the last layer's first k, then the first of any other layer.

    `logits` (L, C). The temperature, fitted for the last layer, is applied to all. `outputs`: what
    they mean; of values there are no lines.
    """
    probabilities = probabilities_of(logits, outputs, temperature)
    if probabilities is None:
        return ()
    final, firsts = most_probable(logits[-1], k), most_probable(logits, 1)[:, 0]
    followed = dict.fromkeys([*final.tolist(), *firsts.tolist()])
    return tuple(
        Line(
            index,
            labels[index],
            tuple(probabilities[:, index].tolist()),
            tuple((1 + (logits > logits[:, index, None]).sum(dim=-1)).tolist()),
        )
        for index in followed
    )
