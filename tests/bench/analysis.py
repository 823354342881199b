"""What it costs to keep what a forward pass leaves behind, in multiples of timm's plain pass."""

import sys
import time
from collections.abc import Callable
from statistics import median

import timm
import torch

from tests.models import photo, spread
from vitviz import analyze, capture, from_timm, open_photo
from vitviz.viewer import pack

MODELS = {"ViT-Ti/16": "vit_tiny_patch16_224", "ViT-B/16": "vit_base_patch16_224"}


def seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def paired(
    base: Callable[[], object], others: dict[str, Callable[[], object]], rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """(time of base, time of other) for each other, `rounds` times; the order turns every round."""
    for action in (base, *others.values()):
        action()
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in others}
    for turn in range(rounds):
        for name, other in others.items():
            first, second = (base, other) if turn % 2 else (other, base)
            a, b = seconds(first), seconds(second)
            pairs[name].append((a, b) if turn % 2 else (b, a))
    return pairs


@torch.inference_mode()
def compare(name: str, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """The rows of the table for one model, on the same weights and pixels."""
    theirs = spread(timm.create_model(MODELS[name], pretrained=False)).eval()
    loaded = from_timm(theirs, MODELS[name])
    seen = open_photo(photo(480, 640))
    pixels = analyze(loaded, seen).pixels[None]
    assert torch.allclose(theirs(pixels), loaded.vit(pixels), rtol=1e-4, atol=1e-4)

    def captured() -> None:
        with capture(loaded.vit) as recorder:
            logits = loaded.vit(pixels)
        recorder.trace(logits)

    return paired(
        lambda: theirs(pixels),
        {
            "vitviz, plain forward pass": lambda: loaded.vit(pixels),
            "vitviz, forward pass and trace": captured,
            "analyze(): resizing too": lambda: analyze(loaded, seen),
            "analyze() and pack(): all the viewer needs": lambda: pack(analyze(loaded, seen)),
        },
        rounds,
    )


def main(threads: int, rounds: int) -> None:
    torch.set_num_threads(threads)
    print(f"### One photo, {threads} thread{'s'[: threads > 1]}, {rounds} pairs\n")
    print("| model | what | ratio to timm's plain pass: median (quartiles) | ms | timm, ms |")
    print("|---|---|---|---|---|")
    for name in MODELS:
        for what, pairs in compare(name, rounds).items():
            ratios = sorted(b / a for a, b in pairs)
            low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
            theirs, ours = (1000 * median(pair[i] for pair in pairs) for i in (0, 1))
            print(
                f"| {name} | {what} | {median(ratios):.2f} ({low:.2f} to {high:.2f}) "
                f"| {ours:.1f} | {theirs:.1f} |",
                flush=True,
            )
    print(flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
