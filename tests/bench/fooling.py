"""Fooling, measured over validation pictures that a model answers rightly.

    python -m tests.bench.fooling DATA/everyday100 --pictures 100

Says how many are turned by at most each number of levels, how many random signs turn, how many are
still turned when their PNG is read, and when the PNG is several times as large and scaled down by
the model; and in how many clean tokens bring the answer back, by block. The pictures are the first
of each class in turn; those that the model answers wrongly are passed over.
"""

import argparse
import io
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from PIL import Image

from vitviz import Analysis, LoadedModel, analyze, load
from vitviz.train.dataset import read

LEVELS = (1, 2, 4)
TIMES = (3, 8)


def right(loaded: LoadedModel, folder: Path, count: int) -> Iterator[Analysis]:
    """Pictures that the model answers rightly, a class after the other."""
    found = read(folder, "test", loaded.preprocess)
    labels = found.targets
    places = [(labels == one).nonzero()[:, 0].tolist() for one in labels.unique().tolist()]
    order = [of[at] for at in range(max(map(len, places))) for of in places if at < len(of)]
    for place in order:
        if count == 0:
            return
        analysis = analyze(loaded, found.images[place].permute(1, 2, 0).numpy())
        if analysis.class_index(None) == int(labels[place]):
            count -= 1
            yield analysis


def read_again(loaded: LoadedModel, picture: np.ndarray, times: int) -> int:
    """The answer to a picture that was enlarged, saved as PNG and read."""
    file, image = io.BytesIO(), Image.fromarray(picture)
    size = (times * image.width, times * image.height)
    image.resize(size, Image.Resampling.BICUBIC).save(file, "PNG")
    return analyze(loaded, file.getvalue()).class_index(None)


def measure(loaded: LoadedModel, folder: Path, count: int) -> None:
    turned: dict[Any, int] = {}
    seconds, steps, number = [], [], 0

    def add(what: Any, holds: bool) -> None:
        turned[what] = turned.get(what, 0) + bool(holds)

    for clean in right(loaded, folder, count):
        number += 1
        before = clean.class_index(None)
        for levels in LEVELS:
            began = time.perf_counter()
            fooled = clean.fool(epsilon=levels)
            seconds.append(time.perf_counter() - began)
            add(f"turned, at most {levels}", fooled.turned)
            add(f"turned by random signs of {levels}", fooled.control_turned)
        if not fooled.turned:
            continue
        steps.append(fooled.steps)
        picture, after = fooled.analysis.picture.numpy(), fooled.analysis.class_index(None)
        add("the PNG read again: the same answer", read_again(loaded, picture, 1) == after)
        for times in TIMES:
            again = read_again(loaded, picture, times)
            add(f"{times} times as large, read again: the same answer", again == after)
            add(f"{times} times as large, read again: wrong", again != before)
        for part in ("patches", "cls"):
            for layer, back in enumerate(fooled.restored(part).returns.tolist()):
                add(f"back with clean {part} before layer {layer}", back)
    print(f"{number} pictures, {len(steps)} turned by at most {LEVELS[-1]}")
    for what, times in turned.items():
        print(f"{what}: {times}")
    print(f"steps: {median(steps)} in the middle; fool: {median(seconds):.2f} s in the middle")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fooling", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="photos")
    parser.add_argument("--pictures", type=int, default=100)
    asked = parser.parse_args()
    measure(load(asked.model), asked.folder, asked.pictures)
