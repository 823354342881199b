"""How well heads tell kinds of things that the trunk `photos` never learned, by penalty.

`python -m tests.bench.teaching others100_val.npz classes.json` prints the tables that stand in
vitviz/many/README.md; with `--page` the engine and the learner of the page are measured. The
files: jpeg, offsets and labels of 50 pictures each of 100 kinds, and the
names of the kinds; heads are for the 30 of them that training kept out.
"""

import argparse
import io
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

import vitviz
from tests.node import JS, NODE
from tests.running import ROOT
from vitviz.many.linear import PENALTY, fit
from vitviz.many.teach import CHOICES
from vitviz.model.head import without_head

SIZES = ((2, 10), (2, 20), (3, 10), (5, 10), (5, 20))
DRAWS, TESTED = 30, 20
TRUNKS = ("trained", "untrained", "pixels 12 x 12")


def vectors(pictures: list[Image.Image]) -> dict[str, tuple[Tensor, Tensor]]:
    """Vectors of the pictures and of their mirror images, (n, D) each, by trunk."""
    loaded = vitviz.load("photos")
    made = [loaded.preprocess.picture(vitviz.open_photo(one)) for one in pictures]
    pixels = torch.cat([loaded.preprocess.pixels(one) for one in made])
    twin = vitviz.load("photos", pretrained=False)
    trunks = {
        "trained": without_head(loaded).vit,
        "untrained": without_head(twin).vit,
        "pixels 12 x 12": lambda batch: torch.nn.functional.avg_pool2d(batch, 6).flatten(1),
    }
    found = {}
    with torch.inference_mode():
        for name, trunk in trunks.items():
            both = (pixels, pixels.flip(-1))
            first, mirrored = (torch.cat([*map(trunk, one.split(32))]) for one in both)
            found[name] = first.double(), mirrored.double()
    return found


def drawn(y: np.ndarray, size: tuple[int, int]) -> list[tuple[list[int], list[int]]]:
    """The pictures that are taught and those that test the head, by kind, in each draw."""
    kinds, count = size
    draws = []
    for draw in range(DRAWS):
        generator = np.random.default_rng(draw)
        train: list[int] = []
        test: list[int] = []
        for kind in generator.permutation(int(y.max()) + 1)[:kinds]:
            order = generator.permutation(np.flatnonzero(y == kind))
            train += order[:count].tolist()
            test += order[count : count + TESTED].tolist()
        draws.append((train, test))
    return draws


def in_the_page(pictures: list[Image.Image], y: np.ndarray) -> None:
    """Print the same by the engine and the learner of the page, in Node on one thread."""
    loaded = vitviz.load("photos")
    made = [loaded.preprocess.picture(vitviz.open_photo(one)).numpy() for one in pictures]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pictures").write_bytes(np.stack(made).tobytes())
        draws = {f"{size[0]} x {size[1]}": drawn(y, size) for size in SIZES}
        wanted = {"tested": TESTED, "draws": draws}
        (folder / "draws.json").write_text(json.dumps(wanted), encoding="utf-8")
        script, weights = JS / "teach_bench.js", ROOT / "weights/photos.safetensors"
        command = [NODE or "node", script, weights, folder]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for row, rights in json.loads(found)["rights"].items():
        print(f"| {row} | {100 * np.mean(rights):.1f} ± {100 * np.std(rights, ddof=1):.1f} |")
    print({key: value for key, value in json.loads(found).items() if key != "rights"})


def accuracies(
    x: Tensor, mirrored: Tensor, y: np.ndarray, size: tuple[int, int], penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    """Share of right answers and mean log loss of test pictures, (DRAWS,) each."""
    kinds, count = size
    rights, losses = [], []
    for train, test in drawn(y, size):
        labels = torch.arange(kinds).repeat_interleave(count)
        rows = torch.cat([x[train], mirrored[train]])
        shares = fit(rows, labels.repeat(2), kinds, penalty).probabilities(x[test])
        truth = torch.arange(kinds).repeat_interleave(TESTED)
        rights.append(float((shares.argmax(1) == truth).double().mean()))
        losses.append(-float(shares.gather(1, truth[:, None]).log().mean()))
    return np.array(rights), np.array(losses)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.teaching", description=__doc__)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("classes", type=Path)
    parser.add_argument("--page", action="store_true", help="by the engine of the page")
    arguments = parser.parse_args()
    data: Any = np.load(arguments.pictures, allow_pickle=False)
    names = [kind["name"] for kind in json.loads(arguments.classes.read_text("utf-8"))]
    evaluation = json.loads(vitviz.load("photos").card.details["evaluation"])
    pictures, y = [], []
    for at, name in enumerate(evaluation["others"]["classes"]):
        for place in np.flatnonzero(data["labels"] == names.index(name)):
            start, end = data["offsets"][place : place + 2]
            jpeg = io.BytesIO(data["jpeg"][start:end].tobytes())
            pictures.append(Image.open(jpeg).convert("RGB"))
            y.append(at)
    if arguments.page:
        in_the_page(pictures, np.array(y))
        return
    found = vectors(pictures)
    for size in SIZES:
        cells = []
        for name in TRUNKS:
            rights, _ = accuracies(*found[name], np.array(y), size, PENALTY)
            cells.append(f"{100 * rights.mean():.1f} ± {100 * rights.std(ddof=1):.1f}")
        print(f"| {size[0]} x {size[1]} |", " | ".join(cells), "|", flush=True)
    for penalty in CHOICES:
        cells = []
        for size in ((5, 10), (2, 20)):
            rights, losses = accuracies(*found["trained"], np.array(y), size, penalty)
            cells += [f"{100 * rights.mean():.1f}", f"{losses.mean():.3f}"]
        print(f"| {penalty:g} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
