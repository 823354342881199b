"""Explainers that change the picture and ask the model again: occlusion, integrated gradients."""

import numpy as np
import torch
from einops import reduce
from torch import Tensor

from ...errors import CaptureError, SelectionError
from ..capture.grid import PatchGrid
from ..capture.selection import count_of
from ..intervene.chance import Chance
from .case import Case

WINDOWS = (1, 3)  # sides of the windows that occlusion takes out, in patches
STEPS = 32  # of integrated gradients, everywhere
MOST_STEPS = 512  # of steps="auto"
ROUNDING = 1e-5  # a difference up to this is rounding, or up to this share of a logit above 1
CONVERGED = 0.05  # the largest gap of a map of integrated gradients that adds up


def windows_of(grid: PatchGrid) -> int:
    """Number of windows that occlusion takes out, one after another."""
    return sum(
        (grid.rows - min(side, grid.rows) + 1) * (grid.cols - min(side, grid.cols) + 1)
        for side in WINDOWS
    )


def occlusion(case: Case, _token: int) -> Tensor:
    """How far the logit of the class falls without each patch. (N,), signed; prefix tokens get 0

    A window of patches is taken out of the sequence, at each place that the grid has for it, and
    its patches share the fall of the logit evenly. A patch gets the mean over the windows it lies
    in, and the mean over windows of 1 and of 3 patches a side (fewer where the grid is narrower; no
    window holds the whole picture).
    After Zeiler & Fergus 2013, arXiv:1311.2901, section 4.2, but with nothing put in place of what
    is gone.
    """
    grid, whole = case.grid, case.score(case.trace.logits)
    places = torch.arange(grid.num_patches).view(grid.rows, grid.cols)
    there = torch.zeros(grid.num_patches, dtype=torch.bool)
    there[case.patches] = True
    means = []
    for side in WINDOWS:
        height, width = min(side, grid.rows), min(side, grid.cols)
        window = places.unfold(0, height, 1).unfold(1, width, 1).reshape(-1, height * width)
        gone = torch.zeros(len(window), grid.num_patches).bool().scatter_(1, window, True) & there
        gone = gone[gone.any(dim=1) & (gone.sum(dim=1) < there.sum())]
        if not len(gone):
            continue
        kept = [(there & ~window_gone).nonzero().view(-1) for window_gone in gone]
        fall = whole - case.score(case.logits_with_patches(kept))
        shared = gone * (fall / gone.sum(dim=1))[:, None]
        means.append(shared.sum(dim=0) / gone.sum(dim=0).clamp(min=1))
    values = torch.zeros(grid.num_tokens)
    if means:
        values[grid.num_prefix_tokens :] = torch.stack(means).mean(dim=0)
    return values


def integrated_gradients(
    case: Case,
    _token: int | None,
    *,
    baseline: str | Tensor | np.ndarray = "mean",
    steps: int | str = STEPS,
) -> Tensor:
    """Gradients of the pixels along a straight path to the picture. (N,), signed; prefix get 0

    (x - x0) times the mean gradient of the logit at `steps` places between x0 and x; summed over
    the pixels of each patch. All patches together give the logit of x minus that of x0, with enough
    steps: `gap` is how far they are from it.
    Sundararajan et al. 2017, arXiv:1703.01365, equation 3, by the midpoint rule.

    baseline  x0: "mean", a picture of this one's mean colour; "black"; "noise", which the seed of
              the case decides; or pixels as they enter the model, (C, h, w), of torch or numpy
    steps     "auto": 32, and twice as many until `gap` is at most 5 %, or at 512

    Raises `SelectionError` for other values.
    """
    if steps != "auto":
        return _integrated(case, baseline, count_of(steps, "steps"))  # type: ignore[arg-type]
    count = STEPS
    values = _integrated(case, baseline, count)
    while gap(case, values, baseline=baseline) > CONVERGED and count < MOST_STEPS:
        count *= 2
        values = _integrated(case, baseline, count)
    return values


@torch.inference_mode()
def gap(
    case: Case,
    values: Tensor,
    *,
    baseline: str | Tensor | np.ndarray = "mean",
    steps: int | str = "auto",
) -> float:
    """How far the sum of a map of integrated gradients is from what it should be, as a share of it.

    |sum of the values - rise| / |rise|, where the rise is the logit of the picture minus that of
    the baseline (completeness, arXiv:1703.01365, proposition 1); 0 if they differ by rounding
    alone, as for a picture of one colour.
    """
    vit = case.model
    start = _baseline(case, baseline).to(next(vit.parameters()))
    with case.operated():
        low = case.answer(vit.norm_pre(vit.embed(start[None])))[0].float().cpu()
    score = float(case.score(case.trace.logits))
    rise = score - float(case.score(low))
    apart = abs(float(values.sum()) - rise)
    if apart <= ROUNDING * max(1.0, abs(score)):
        return 0.0
    return apart / abs(rise) if rise else float("inf")


def _integrated(case: Case, baseline: str | Tensor | np.ndarray, steps: int) -> Tensor:
    """`integrated_gradients` with a number of steps."""
    vit, grid = case.model, case.grid
    device = next(vit.parameters()).device
    pixels = case.pixels.to(device)
    start = _baseline(case, baseline).to(pixels)
    places = (torch.arange(steps, device=device) + 0.5) / steps
    total = torch.zeros_like(pixels)
    for some in case.batches(steps):
        way = torch.lerp(start, pixels, places[some].view(-1, 1, 1, 1)).requires_grad_()
        with torch.enable_grad(), case.operated():
            score = case.score(case.answer(vit.norm_pre(vit.embed(way)))).sum()
            (gradient,) = torch.autograd.grad(score, way)
        total += gradient.sum(dim=0)
    parts = (pixels - start) * total / steps
    ph, pw = grid.patch_size
    values = torch.zeros(grid.num_tokens)
    values[grid.num_prefix_tokens :] = (
        reduce(parts, "c (rows ph) (cols pw) -> (rows cols)", "sum", ph=ph, pw=pw).float().cpu()
    )
    return values


def _baseline(case: Case, baseline: str | Tensor | np.ndarray) -> Tensor:
    """The pixels that the path starts from. (C, h, w)"""
    shape = case.pixels.shape
    if isinstance(baseline, np.ndarray):
        try:
            baseline = torch.from_numpy(baseline.astype(np.float32))
        except (TypeError, ValueError, OverflowError) as error:
            raise SelectionError("a baseline must hold numbers") from error
    if isinstance(baseline, Tensor):
        if baseline.shape != shape:
            raise SelectionError(
                f"a baseline must be pixels of shape {tuple(shape)}, got {tuple(baseline.shape)}"
            )
        return baseline
    if baseline == "mean":
        return case.pixels.mean(dim=(1, 2), keepdim=True).expand_as(case.pixels)
    if baseline not in ("black", "noise"):
        raise SelectionError(
            f'baseline must be "mean", "black", "noise" or a tensor, got {baseline!r:.40}'
        )
    if case.preprocess is None:
        raise CaptureError(
            "this case knows no black; Case(preprocess=...) tells how pixels are made"
        )
    channels, height, width = shape
    picture = torch.zeros(height, width, channels, dtype=torch.uint8)
    if baseline == "noise":
        drawn = Chance(case.seed, "noise").below([256] * picture.numel())
        picture = drawn.to(torch.uint8).view_as(picture)
    return case.preprocess.pixels(picture)[0]
