"""Compare where a model looks with boxes that people drew around the objects."""

import torch
from torch import Tensor

from ..model.config import ViTConfig
from ..model.vit import ViT
from ..probe.capture.grid import PatchGrid
from ..probe.capture.recorder import capture
from ..probe.explain.case import Case
from ..probe.explain.explainers import EXPLAINERS, Explainer, centre_map, fitting
from .dataset import Pictures
from .progress import batches
from .scores import normalise

LARGEST_BOX = 0.6  # share of the picture; a larger box can hardly be missed


def attention_in_boxes(
    vit: ViT,
    pictures: Pictures,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    *,
    batch_size: int = 25,  # with a graph for the gradients
) -> dict[str, dict[str, float]]:
    """Does the CLS token look at the object? {map: {"energy", "pointing"}}

    Measured on the pictures that `small_boxes` selects; {} if there are none. energy is the share
    of a map's mass inside the box, divided by the share of the picture that the box covers,
    averaged over pictures: 1 is no better than chance. pointing is how often the largest patch of
    the map lies in the box (by more than half). The first three maps are the `baselines`, which
    need no model. The other maps are those of the `measured` explainers for the class that the
    model answers; only their positive values count. Each of these maps also has "ahead": how many
    standard errors its pointing lies above that of "centre", compared picture by picture.
    """
    selected = small_boxes(pictures)
    if pictures.boxes is None or len(selected) == 0:
        return {}
    grid = PatchGrid.of(vit.config)
    device = next(vit.parameters()).device
    explainers = measured(vit.config)
    maps: dict[str, list[Tensor]] = {explainer.key: [] for explainer in explainers}
    for batch in batches(pictures.images[selected], batch_size, "maps in boxes"):
        pixels = normalise(batch.to(device).float() / 255, mean, std)
        with torch.enable_grad(), capture(vit, target="answer") as recorder:
            traces = recorder.traces(vit(pixels))
        for picture, trace in zip(pixels.cpu(), traces, strict=True):
            case = Case(trace=trace, grid=grid, pixels=picture, vit=vit, target=trace.target)
            for explainer in explainers:
                maps[explainer.key].append(grid.to_map(explainer(case)).relu())
    guesses, inside = baselines(grid, len(selected)), box_cover(grid, pictures.boxes[selected])
    result = {name: hits(values, inside) for name, values in guesses.items()}
    centre = points(guesses["centre"], inside)
    for name, tensors in maps.items():
        values = torch.stack(tensors)
        ahead = standard_errors(points(values, inside) - centre)
        result[name] = hits(values, inside) | {"ahead": ahead}
    return result


def measured(config: ViTConfig) -> list[Explainer]:
    """The explainers that a model of this config has and that are cheap enough for every picture:
    they need at most one pass.
    """
    return [
        explainer
        for explainer in map(EXPLAINERS.__getitem__, fitting(config))
        if "passes" not in explainer.needs and not explainer.baseline
    ]


def small_boxes(pictures: Pictures) -> Tensor:
    """Indices of the pictures whose box covers less than `LARGEST_BOX` of the picture."""
    if pictures.boxes is None:
        return torch.empty(0, dtype=torch.long)
    left, top, right, bottom = pictures.boxes.unbind(1)
    share = (right - left) * (bottom - top) / pictures.images[0, 0].numel()
    return ((share > 0) & (share < LARGEST_BOX)).nonzero().view(-1)


def baselines(grid: PatchGrid, n: int) -> dict[str, Tensor]:
    """Maps for n pictures that no model made. {name: (n, rows, cols)}

    "uniform" is the same everywhere; "random" is noise, the same noise in every call; "centre" is a
    Gaussian in the middle with a quarter of the side as its standard deviation, since
    photographers put things in the middle.
    """
    noise = torch.rand(n, grid.rows, grid.cols, generator=torch.Generator().manual_seed(0))
    return {
        "uniform": torch.ones(n, grid.rows, grid.cols),
        "random": noise,
        "centre": centre_map(grid).expand(n, -1, -1),
    }


def box_cover(grid: PatchGrid, boxes: Tensor) -> Tensor:
    """The share of every patch that a box covers. (n, 4) left, top, right, bottom edge in pixels
    -> (n, rows, cols)
    """

    def cover(count: int, size: int, first: Tensor, last: Tensor) -> Tensor:
        start = torch.arange(count) * size
        low = torch.maximum(first[:, None], start)
        high = torch.minimum(last[:, None], start + size)
        return (high - low).clamp(min=0) / size

    left, top, right, bottom = boxes.float().unbind(1)
    rows = cover(grid.rows, grid.patch_size[0], top, bottom)
    cols = cover(grid.cols, grid.patch_size[1], left, right)
    return rows[:, :, None] * cols[:, None]


def hits(maps: Tensor, inside: Tensor) -> dict[str, float]:
    """Energy and pointing of maps. (n, rows, cols) maps, covered shares of patches -> {"energy",
    "pointing"}
    """
    flat, box = maps.flatten(1).double(), inside.flatten(1).double()
    flat = torch.where(flat.sum(1, keepdim=True) > 0, flat, 1)  # a map of zeros tells nothing apart
    energy = (flat * box).sum(1) / flat.sum(1) / box.mean(1)
    return {"energy": energy.mean().item(), "pointing": points(maps, inside).mean().item()}


def points(maps: Tensor, inside: Tensor) -> Tensor:
    """1 where the largest patch lies in the box, else 0; a share where several are the largest.
    (n, rows, cols) twice -> (n,)
    """
    flat, box = maps.flatten(1).double(), inside.flatten(1).double()
    largest = (flat == flat.amax(1, keepdim=True)).double()
    return (largest * (box > 0.5)).sum(1) / largest.sum(1)


def standard_errors(differences: Tensor) -> float:
    """The mean of differences in units of its standard error; 0 if there is none, of one picture or
    of equal differences. (n,) -> a number
    """
    error = differences.std().item() / len(differences) ** 0.5 if len(differences) > 1 else 0.0
    return differences.mean().item() / error if error else 0.0
