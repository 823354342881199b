"""Fooling: move the values of a picture a little, until the intact model answers another class.

Sign steps along a gradient (Goodfellow et al. 2015, arXiv:1412.6572; Madry et al. 2018,
arXiv:1706.06083), of the margin: the logit of the wanted class minus the largest other one (Carlini
and Wagner 2017, arXiv:1608.04644, their f6). Every step is whole levels of 255, so that a picture
saved with 8 bits is the very one that fooled the model. vitviz/viewer/engine/fooling.js does the
same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ...errors import SelectionError
from ...languages import Message
from ...model.loaded import LoadedModel, ModelCard
from ..measure.predictions import probabilities_of
from .chance import Chance
from .intervention import Intervention, Perturb

LEAD = 0.05  # of probability, by which the new answer has to lead all other classes


@dataclass(frozen=True, eq=False, slots=True)
class Fooling:
    """picture: uint8 (h, w, C), the changed one; steps: how many were taken."""

    picture: Tensor
    steps: int


def fool(loaded: LoadedModel, picture: Tensor, change: Perturb) -> Fooling:
    """The picture after a `Perturb`, and the steps that it took. uint8 (h, w, C)

    Each step moves each value by a quarter of `epsilon`, rounded up, along the sign of the gradient
    of the margin, and back into `epsilon` levels around the photo and into 0 to 255. It ends when
    the new answer leads by `LEAD`, or after `steps`. The model is the intact one, whatever else an
    experiment changes. Raises `SelectionError` for a model whose classes do not exclude each other.
    """
    check_classes(loaded.card)
    start, epsilon = picture.int(), change.epsilon
    lowest, highest = (start - epsilon).clamp(min=0), (start + epsilon).clamp(max=255)
    if change.target == "random":
        signs = 2 * Chance(change.seed, "signs").below([2] * start.numel()).view_as(start) - 1
        return Fooling((start + epsilon * signs).clamp(lowest, highest).to(torch.uint8), 0)
    now, answer, taken = start, None, 0
    while epsilon:
        pixels = loaded.preprocess.pixels(now.to(torch.uint8)).to(loaded.device).requires_grad_()
        with torch.inference_mode(False), torch.enable_grad():
            logits = loaded.vit(pixels)[0]
            answer = int(logits.argmax()) if answer is None else answer
            margin = margin_of(logits, answer, change.target)
            (gradient,) = torch.autograd.grad(margin, pixels)
        found = logits.detach().cpu()
        if taken == change.steps or leads(found, answer, change, loaded.card.temperature):
            break
        step = gradient[0].sign().permute(1, 2, 0).int().cpu() * -(-epsilon // 4)
        now, taken = (now + step).clamp(lowest, highest), taken + 1
    return Fooling(now.to(torch.uint8), taken)


def passes_of(interventions: Sequence[Intervention]) -> int:
    """The most passes that all `Perturb`s take, a backward pass counted as two: one, and three for
    each step (the gradient after the last step is not counted); 0 for random signs.
    """
    changes = (change for change in interventions if isinstance(change, Perturb))
    return sum(1 + 3 * change.steps for change in changes if change.target != "random")


def check_classes(card: ModelCard) -> None:
    """Raise `SelectionError` unless the classes have names and exclude each other."""
    if card.head != "classes" or card.outputs != "one_of":
        raise SelectionError(Message("experiments.fool_classes"))


def margin_of(logits: Tensor, answer: int, target: int | str) -> Tensor:
    """How far the wanted class is ahead: the target ahead of the largest other logit, or, without a
    target, the largest other logit ahead of the answer. (C,) -> ()
    """
    one = answer if isinstance(target, str) else target
    others = torch.arange(len(logits), device=logits.device) != one
    margin = logits[one] - logits[others].max()
    return -margin if isinstance(target, str) else margin


def leads(logits: Tensor, answer: int, change: Perturb, temperature: float) -> bool:
    """Whether a new answer, or the target, leads all other classes by `LEAD`. (C,) logits"""
    probabilities = probabilities_of(logits, "one_of", temperature)
    assert probabilities is not None
    (first, second), (best, _) = probabilities.topk(2)
    wanted = int(best) != answer if isinstance(change.target, str) else int(best) == change.target
    return wanted and float(first - second) >= LEAD
