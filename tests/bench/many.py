"""What many pictures cost: a survey in multiples of plain passes, ablations, and memory."""

import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from tests.bench.analysis import paired, ratio
from tests.models import photo, tiny
from vitviz import ablate, analyze_many, load, survey
from vitviz.many.analyses import size_of
from vitviz.many.pictures import pictures_of
from vitviz.probe.analysis import picture_of

SIZE = 288  # of the shorter side of the photographs, as JPEG files


def photographs(folder: Path, count: int) -> None:
    """So many files, no two of them alike."""
    for at in range(count):
        array = np.roll(photo(SIZE, SIZE * 4 // 3), 7 * at, axis=1)
        Image.fromarray(array).save(folder / f"{at:04}.jpg", quality=90)


def many(rounds: int, pictures: Path | None = None) -> None:
    """Prints the table; `pictures` is a folder to take in place of made ones."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder)
        if pictures is None:
            photographs(own, 300)
        files = [one.name for one in pictures_of(pictures or own)][:300]
        print(f"### {len(files)} pictures, {torch.get_num_threads()} threads, {rounds} pairs\n")
        print("| what | ratio to plain passes, processor | clock | seconds |")
        print("|---|---|---|---|")
        loaded = load("photos", device="cpu")
        opened = (one.open()[0] for one in pictures_of(files))
        seen = [picture_of(loaded, one) for one in opened]
        pixels = torch.cat([loaded.preprocess.pixels(one) for one in seen])
        together = size_of(None, loaded)
        arrays = [one.numpy() for one in seen]  # as large as the model sees them: nothing to decode

        def plain() -> None:
            with torch.inference_mode():
                for batch in pixels.split(together):
                    loaded.vit(batch)

        def quiet(source: object) -> None:
            survey(loaded, source, progress=False)

        found = paired(
            plain,
            {
                "survey, pictures in memory": lambda: quiet(arrays),
                "survey, JPEG files": lambda: quiet(files),
                "analyze_many, JPEG files": lambda: [
                    None for _ in analyze_many(loaded, files, progress=False)
                ],
            },
            rounds,
        )
        for name, pairs in found.items():
            seconds = sorted(ours.clock for _, ours in pairs)[len(pairs) // 2]
            work = ratio([ours.processor / base.processor for base, ours in pairs])
            told = ratio([ours.clock / base.clock for base, ours in pairs])
            print(f"| {name} | {work} | {told} | {seconds:.2f} |", flush=True)
        began = time.perf_counter()
        lost = ablate(loaded, files[:200], progress=False)
        print(f"\n{lost}: {time.perf_counter() - began:.0f} s\n")
    print("| pictures | megabytes at most, analyze_many | survey with a file | ablate |")
    print("|---|---|---|---|")
    for count in (100, 1000):
        command = [sys.executable, "-m", "tests.bench.many", "memory", str(count)]
        cells = [
            json.loads(subprocess.run([*command, what], capture_output=True, check=True).stdout)
            for what in ("analyses", "survey", "ablate")
        ]
        print(f"| {count} | {' | '.join(map(str, cells))} |", flush=True)


def memory(count: int, what: str) -> int:
    """Megabytes that this process had at most, after so many pictures in a small model."""
    loaded, file = tiny("cls"), io.BytesIO()
    Image.fromarray(photo(SIZE, SIZE)).save(file, "PNG")
    pictures = (file.getvalue() for _ in range(count))
    if what == "analyses":
        for _ in analyze_many(loaded, pictures, progress=False):
            pass
    elif what == "survey":
        with tempfile.TemporaryDirectory() as folder:
            survey(loaded, pictures, file=Path(folder) / "survey.jsonl", progress=False)
    else:
        ablate(loaded, pictures, progress=False)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    if sys.argv[1] == "memory":
        print(memory(int(sys.argv[2]), sys.argv[3]))
    else:
        torch.set_num_threads(2)
        many(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
