"""What it costs to keep what a forward pass leaves behind, in multiples of timm's plain pass."""

import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import NamedTuple

import timm
import torch

from tests.models import photo, spread
from vitviz import LoadedModel, analyze, capture, from_timm, load, open_photo
from vitviz.payload import pack


def timms(name: str, **options: object) -> tuple[torch.nn.Module, LoadedModel]:
    """A model of timm with random weights, and the same weights in vitviz."""
    theirs = spread(timm.create_model(name, pretrained=False, **options)).eval()
    return theirs, from_timm(theirs, name)


def shipped() -> tuple[torch.nn.Module, LoadedModel]:
    """The shipped photo model, and its weights in timm's ViT."""
    loaded = load("photos")
    config = loaded.card.config
    theirs = timm.models.VisionTransformer(
        img_size=config.image_size,
        patch_size=config.patch_size,
        embed_dim=config.embed_dim,
        depth=config.depth,
        num_heads=config.num_heads,
        num_classes=config.num_classes,
    ).eval()
    theirs.load_state_dict(loaded.vit.state_dict())
    return theirs, loaded


MODELS: dict[str, Callable[[], tuple[torch.nn.Module, LoadedModel]]] = {
    "ViT-Ti/16": partial(timms, "vit_tiny_patch16_224"),
    "ViT-B/16": partial(timms, "vit_base_patch16_224"),
    "ViT-S/14, 1,370 tokens": partial(timms, "vit_small_patch14_dinov2", img_size=518),
    "the shipped photo model": shipped,
}


class Spent(NamedTuple):
    """Seconds on the clock, and on processors: a busy machine hardly stretches the second."""

    clock: float
    processor: float


def spent(action: Callable[[], object]) -> Spent:
    clock, processor = time.perf_counter(), time.process_time()
    action()
    return Spent(time.perf_counter() - clock, time.process_time() - processor)


def paired(
    base: Callable[[], object], others: dict[str, Callable[[], object]], rounds: int
) -> dict[str, list[tuple[Spent, Spent]]]:
    """(spent by base, by other) for each other, `rounds` times; the order turns every round."""
    for action in (base, *others.values()):
        action()
    pairs: dict[str, list[tuple[Spent, Spent]]] = {name: [] for name in others}
    for turn in range(rounds):
        for name, other in others.items():
            first, second = (base, other) if turn % 2 else (other, base)
            a, b = spent(first), spent(second)
            pairs[name].append((a, b) if turn % 2 else (b, a))
    return pairs


@torch.inference_mode()
def compare(name: str, rounds: int) -> dict[str, list[tuple[Spent, Spent]]]:
    """The rows of the table for one model, on the same weights and pixels."""
    theirs, loaded = MODELS[name]()
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
            "and pack(): all that a page starts with": lambda: pack(
                analyze(loaded, seen), whole=False
            ),
        },
        rounds,
    )


def ratio(values: list[float]) -> str:
    """The median, and the quartiles around it."""
    values = sorted(values)
    quarter = len(values) // 4
    return f"{median(values):.2f} ({values[quarter]:.2f} to {values[-1 - quarter]:.2f})"


def main(threads: int, rounds: int) -> None:
    torch.set_num_threads(threads)
    print(f"### One photo, {threads} thread{'s'[: threads > 1]}, {rounds} pairs\n")
    print(
        "| model | what | ratio to timm's plain pass, processor | clock | ms on the clock | timm |"
    )
    print("|---|---|---|---|---|---|")
    for name in MODELS:
        for what, pairs in compare(name, rounds).items():
            cells = [ratio([ours.processor / theirs.processor for theirs, ours in pairs])]
            cells += [ratio([ours.clock / theirs.clock for theirs, ours in pairs])]
            cells += [f"{1000 * median(pair[i].clock for pair in pairs):.1f}" for i in (1, 0)]
            print(f"| {name} | {what} | {' | '.join(cells)} |", flush=True)
    print(flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
