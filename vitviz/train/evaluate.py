"""How good is a model: how often it is right, whether it knows when, and where it looks."""

import torch
import torch.nn.functional as F
from einops import reduce
from torch import Tensor

from ..model.vit import ViT
from ..probe.explain import EXPLAINERS
from ..probe.grid import PatchGrid
from ..probe.trace import capture
from .dataset import Pictures
from .precision import precision


def normalise(x: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """What enters the model. float32 (B, C, h, w) in [0, 1] -> (B, C, h, w)"""
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
    batch_size: int = 250,
) -> Tensor:
    """What the model says to every picture. uint8 (n, C, h, w) -> float32 (n, num_classes), on the
    CPU
    """
    device = next(vit.parameters()).device
    was_training = vit.training
    vit.eval()
    with precision(numbers, device):
        parts = [
            vit(normalise(batch.to(device).float() / 255, mean, std)).float().cpu()
            for batch in images.split(batch_size)
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
    calibration error over 15 bins of equal width (arXiv:1706.04599): how far the shown confidence
    is from the share that is right.
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
        names = sorted(set(groups))
        member = torch.tensor([names.index(group) for group in groups])
        summed = torch.zeros(len(logits), len(names)).index_add_(1, member, probabilities)
        result["group"] = (summed.argmax(1) == member[targets]).double().mean().item()
    return result


def calibration_error(probabilities: Tensor, targets: Tensor, bins: int = 15) -> float:
    """Mean distance of confidence from accuracy, by bins. (n, K), (n,) -> a share in [0, 1]"""
    confidence, answer = probabilities.max(dim=-1)
    gap = ((answer == targets).double() - confidence.double()) / len(targets)
    which = (confidence * bins).long().clamp(max=bins - 1)
    return torch.zeros(bins, dtype=torch.double).index_add_(0, which, gap).abs().sum().item()


def fit_temperature(logits: Tensor, targets: Tensor) -> float:
    """The number that, dividing the logits, makes the probabilities fit best (smallest nll), from
    0.2 to 5.

    The ranking of the classes does not change. Fit it on pictures that were neither trained on nor
    are tested on.
    """
    temperatures = torch.logspace(-1, 1, 401, base=5)
    losses = torch.stack([F.cross_entropy(logits / t, targets) for t in temperatures])
    return round(temperatures[losses.argmin()].item(), 3)


def attention_in_boxes(
    vit: ViT,
    pictures: Pictures,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    largest: float = 0.6,
) -> dict[str, dict[str, float]]:
    """Does the CLS token look at the object? {map: {"energy", "pointing"}}

    Asked of the pictures whose box covers less than `largest` of them. energy is the share of a
    map's mass inside the box, divided by the share of the picture that the box covers, averaged
    over pictures: 1 is no better than chance. pointing is how often the largest patch of the map
    lies in the box (by more than half). Two maps that need no model stand beside those of
    `EXPLAINERS`: "uniform" looks everywhere alike; "centre" is a Gaussian in the middle with a
    quarter of the side as its standard deviation, since photographers put things in the middle.
    """
    grid = PatchGrid.of(vit.config)
    inside = torch.stack([box_cover(grid, box) for box in pictures.boxes])  # (n, rows, cols)
    share = inside.mean((1, 2))
    asked = ((share > 0) & (share < largest)).nonzero().view(-1)
    maps: dict[str, list[Tensor]] = {name: [] for name in EXPLAINERS}
    for image in pictures.images[asked]:
        with torch.no_grad(), capture(vit) as recorder:
            logits = vit(normalise(image[None].float() / 255, mean, std))
        trace = recorder.trace(logits)
        for name, explain in EXPLAINERS.items():
            maps[name].append(grid.to_map(explain(trace, 0)))
    known = {"uniform": torch.ones(grid.rows, grid.cols), "centre": centre_map(grid)}
    stacks = {name: one.expand(len(asked), -1, -1) for name, one in known.items()}
    stacks |= {name: torch.stack(values) for name, values in maps.items()}
    return {name: hits(values, inside[asked]) for name, values in stacks.items()}


def centre_map(grid: PatchGrid) -> Tensor:
    """A Gaussian in the middle of the picture. (rows, cols)"""
    rows, cols = (
        torch.exp(-(((torch.arange(n) + 0.5) / n - 0.5) ** 2) / (2 * 0.25**2))
        for n in (grid.rows, grid.cols)
    )
    return rows[:, None] * cols


def box_cover(grid: PatchGrid, box: Tensor) -> Tensor:
    """The share of every patch that a box (left, top, right, bottom, all inside) covers. (4,) ->
    (rows, cols)
    """
    left, top, right, bottom = box.tolist()
    mask = torch.zeros(grid.image_size)
    mask[top : bottom + 1, left : right + 1] = 1
    ph, pw = grid.patch_size
    return reduce(mask, "(rows ph) (cols pw) -> rows cols", "mean", ph=ph, pw=pw)


def hits(maps: Tensor, inside: Tensor) -> dict[str, float]:
    """(n, rows, cols) maps and covered shares -> {"energy", "pointing"}; equal largest patches
    share the point.
    """
    maps, inside = maps.flatten(1).double(), inside.flatten(1).double()
    energy = (maps * inside).sum(1) / maps.sum(1) / inside.mean(1)
    largest = (maps == maps.amax(1, keepdim=True)).double()
    pointing = (largest * (inside > 0.5)).sum(1) / largest.sum(1)
    return {"energy": energy.mean().item(), "pointing": pointing.mean().item()}
