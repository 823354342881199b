"""Scores of a model's predictions: accuracy, and calibration of its probabilities."""

import torch
import torch.nn.functional as F
from torch import Tensor

from ..model.vit import ViT
from .precision import precision
from .progress import batches


def normalise(x: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """Input of the model: (x - mean) / std. float32 (B, C, h, w) in [0, 1] -> (B, C, h, w)"""
    mean_, std_ = (torch.tensor(values, device=x.device).view(-1, 1, 1) for values in (mean, std))
    return (x - mean_) / std_


@torch.no_grad()
def logits_of(
    vit: ViT,
    images: Tensor,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    *,
    numbers: str = "float32",
    batch_size: int = 100,
) -> Tensor:
    """Logits of all pictures. uint8 (n, C, h, w) -> float32 (n, num_classes), on the CPU"""
    device = next(vit.parameters()).device
    was_training = vit.training
    vit.eval()
    with precision(numbers, device):
        parts = [
            vit(normalise(batch.to(device).float() / 255, mean, std)).float().cpu()
            for batch in batches(images, batch_size, "measuring")
        ]
    vit.train(was_training)
    return torch.cat(parts)


def score(
    logits: Tensor,
    targets: Tensor,
    groups: tuple[str, ...] | None = None,
    temperature: float = 1.0,
) -> dict[str, float]:
    """Accuracy and calibration. (n, K), (n,) -> {"top1", "top5", "nll", "ece"}, and "group" where
    there are groups

    top1, top5 and group are shares in [0, 1]; group counts the group whose labels have the largest
    summed probability. nll is the mean of -log p(right class) in nats. ece is the expected
    calibration error over 15 bins of equal width (arXiv:1706.04599): how far the confidence is
    from the share of right predictions.
    """
    probabilities = (logits / temperature).softmax(dim=-1)
    best = logits.topk(min(5, logits.shape[-1])).indices  # (n, 5)
    hit = best == targets[:, None]
    result = {
        "top1": hit[:, 0].double().mean().item(),
        "top5": hit.any(dim=1).double().mean().item(),
        "nll": F.cross_entropy(logits / temperature, targets).item(),
        "ece": calibration_error(probabilities, targets),
    }
    if groups is not None:
        counts = confusion(probabilities, targets, groups)[1]
        result["group"] = counts.diagonal().sum().item() / len(targets)
    return result


def confusion(
    probabilities: Tensor, targets: Tensor, groups: tuple[str, ...]
) -> tuple[tuple[str, ...], Tensor]:
    """Confusion matrix of groups. (n, K), (n,), K groups -> G names, int64 (G, G) [true, predicted]

    A picture counts for the group whose labels have the largest summed probability.
    """
    names = tuple(sorted(set(groups)))
    member = torch.tensor([names.index(group) for group in groups])
    summed = torch.zeros(len(targets), len(names)).index_add_(1, member, probabilities)
    pairs = member[targets] * len(names) + summed.argmax(1)
    counts = torch.bincount(pairs, minlength=len(names) ** 2)
    return names, counts.view(len(names), len(names))


def calibration_error(probabilities: Tensor, targets: Tensor, bins: int = 15) -> float:
    """Mean distance of confidence from accuracy, over bins. (n, K), (n,) -> a number in [0, 1]"""
    confidence, answer = probabilities.max(dim=-1)
    gap = ((answer == targets).double() - confidence.double()) / len(targets)
    which = (confidence * bins).long().clamp(max=bins - 1)
    return torch.zeros(bins, dtype=torch.double).index_add_(0, which, gap).abs().sum().item()


def fit_temperature(logits: Tensor, targets: Tensor) -> float:
    """The temperature from 0.1 to 10 that gives the smallest nll when it divides the logits.

    The ranking of the classes does not change. Fit it on pictures that are used neither for
    training nor for the test.
    """
    temperatures = torch.logspace(-1, 1, 573)
    losses = torch.stack([F.cross_entropy(logits / t, targets) for t in temperatures])
    return round(temperatures[losses.argmin()].item(), 3)
