"""All measurements of a finished model, in words and as stored in its file."""

from typing import Any

import torch
from torch import Tensor

from ..model.vit import ViT
from ..probe.capture.grid import PatchGrid
from ..probe.capture.recorder import capture
from ..probe.measure.heads import distances, head_statistics
from .boxes import LARGEST_BOX, attention_in_boxes, small_boxes
from .dataset import Pictures
from .others import at_threshold, compare, in_words
from .photographs import in_words as photographs_in_words
from .progress import batches
from .scores import confusion, logits_of, normalise, score

# The parts of a report that a checkpoint carries.
MEASUREMENTS = (
    *("pictures", "top1", "top5", "group", "nll", "ece"),
    *("boxes", "distance", "others", "photographs"),
)
LOCAL = 0.5  # a head is local if its distance is below this share of that of uniform attention
DISTANCE_PICTURES = 500  # enough that a mean distance is right to a tenth of a pixel


def report(
    vit: ViT,
    test: Pictures,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    temperature: float = 1.0,
    logits: Tensor | None = None,
    unseen: Pictures | None = None,
    limit: float | None = None,
) -> dict[str, Any]:
    """Measure a model on pictures it was not trained on; in JSON's types. `logits`: those of the
    pictures, if already computed. `unseen`: pictures of none of its classes, which it was not
    trained on either; `limit`: the model's threshold of "known or not", if it has one.

    The scores of `scores.score`; "confusion": {"names", "counts"}, counts[true][answer], of groups,
    or of classes where the data has no groups; "boxes" and "box_pictures", where the data has
    boxes and the model a CLS token; "distance": {"pixels", "uniform", "pictures"}, pixels[layer]
    [head] as `probe.heads` has it; "others", with `unseen`: {"pictures", "classes", "scores"}
    as `others.compare` has them, and "chosen", the result of `limit`.
    """
    if logits is None:
        logits = logits_of(vit, test.images, mean, std)
    probabilities = (logits / temperature).softmax(dim=-1)
    names, counts = confusion(probabilities, test.targets, test.groups or test.labels)
    result: dict[str, Any] = {
        "pictures": len(test),
        "temperature": temperature,
        **score(logits, test.targets, test.groups, temperature),
        "confusion": {"names": list(names), "counts": counts.tolist()},
    }
    if vit.config.class_token and len(with_boxes := small_boxes(test)):
        result["boxes"] = attention_in_boxes(vit, test, mean, std)
        result["box_pictures"] = len(with_boxes)
    some = test.some(DISTANCE_PICTURES)
    result["distance"] = {
        "pixels": mean_distances(vit, some, mean, std).tolist(),
        "uniform": distances(PatchGrid.of(vit.config)).mean().item(),
        "pictures": len(some),
    }
    if unseen is not None:
        unknown = logits_of(vit, unseen.images, mean, std)
        result["others"] = {
            "pictures": len(unseen),
            "classes": list(unseen.labels),
            "scores": compare(logits, unknown, temperature),
        }
        if limit is not None:
            result["others"]["chosen"] = at_threshold(logits, unknown, limit)
    return rounded(result)


def measurements(report: dict[str, Any]) -> dict[str, Any]:
    """The part of a report that goes into the file of the model."""
    return {name: report[name] for name in MEASUREMENTS if name in report}


def words(report: dict[str, Any], confusions: int = 5) -> list[str]:
    """A report in sentences, one per line."""
    lines = [say(report)]
    names, counts = report["confusion"]["names"], torch.tensor(report["confusion"]["counts"])
    worst = largest_confusions(counts, confusions)
    lines += [
        f"{names[truth]} taken for {names[answer]}: {n} of {all_of_it} ({n / all_of_it:.0%})"
        for truth, answer, n, all_of_it in worst
    ]
    if "boxes" in report:
        lines.append(
            f"where the CLS token looks, on {report['box_pictures']} pictures whose box covers "
            f"less than {LARGEST_BOX:.0%} of them:"
        )
        lines += [
            f"  {name}: {hit['energy']:.2f} times what chance puts into the object's box, "
            f"largest patch in the box {hit['pointing']:.1%}{say_ahead(hit)}"
            for name, hit in report["boxes"].items()
        ]
    lines += say_distance(report["distance"])
    if "others" in report:
        lines += in_words(report["others"])
    if "photographs" in report:
        lines.append(photographs_in_words(report["photographs"]))
    return lines


def say_ahead(hit: dict[str, float]) -> str:
    """The comparison of a map's pointing with that of the centre, in words."""
    if "ahead" not in hit:
        return ""
    return f" ({hit['ahead']:+.1f} standard errors from the centre)"


def say(scores: dict[str, Any]) -> str:
    """The scores in words."""
    words = f"top-1 {scores['top1']:.2%}, top-5 {scores['top5']:.2%}"
    if "group" in scores:
        words += f", group {scores['group']:.2%}"
    return f"{words}, nll {scores['nll']:.3f}, calibration error {scores['ece']:.3f}"


def say_distance(distance: dict[str, Any]) -> list[str]:
    """The number of local heads and the shortest distance, of all layers and of each, in words."""
    pixels = torch.tensor(distance["pixels"])  # (L, H)
    local = int((pixels < LOCAL * distance["uniform"]).sum())
    layer, head = divmod(int(pixels.argmin()), pixels.shape[1])
    shares = " ".join(f"{share:.2f}" for share in pixels.amin(1) / distance["uniform"])
    return [
        f"{local} of {pixels.numel()} heads look nearby only (less than {LOCAL:g} times the "
        f"{distance['uniform']:.1f} pixels of even attention); the shortest mean distance is "
        f"{pixels.min():.1f} pixels, of layer {layer}, head {head}",
        f"  the nearest of each layer, as a share of even attention: {shares}",
    ]


def largest_confusions(counts: Tensor, n: int) -> list[tuple[int, int, int, int]]:
    """The n pairs with the largest share confused. [(true, predicted, times, pictures of true)]"""
    wrong = counts.clone().fill_diagonal_(0)
    share = wrong / counts.sum(1, keepdim=True).clamp(min=1)
    best = share.flatten().argsort(descending=True, stable=True)[:n].tolist()
    pairs = [divmod(place, len(counts)) for place in best]
    return [(i, j, int(counts[i, j]), int(counts[i].sum())) for i, j in pairs if wrong[i, j]]


@torch.no_grad()
def mean_distances(
    vit: ViT, pictures: Pictures, mean: tuple[float, ...], std: tuple[float, ...]
) -> Tensor:
    """Mean attention distance of each head, averaged over pictures. (L, H), in pixels"""
    grid, device = PatchGrid.of(vit.config), next(vit.parameters()).device
    total = torch.zeros(vit.config.depth, vit.config.num_heads)
    for batch in batches(pictures.images, 50, "how far heads look"):
        with capture(vit) as recorder:
            logits = vit(normalise(batch.to(device).float() / 255, mean, std))
        for trace in recorder.traces(logits):
            total += head_statistics(trace, grid).distance
    return total / len(pictures)


def rounded(value: Any) -> Any:
    """Round floats to five significant digits: enough to read, and to compare two models."""
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
