"""`--evaluate --explainers`: fair tests on many pictures, as a table with intervals."""

import hashlib
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ..model.weights import WEIGHTS_DIR, LoadedModel
from ..probe.capture.grid import PatchGrid
from ..probe.capture.recorder import capture
from ..probe.explain.case import Case
from ..probe.explain.explainers import EXPLAINERS, chosen, fitting
from ..probe.explain.fairness import GROUPS, ORDERS, STEPS, removal
from ..whole import write_text
from .boxes import box_cover, hits, small_boxes
from .checkpoint import held
from .dataset import Pictures
from .errors import TrainError, writing
from .progress import watched
from .scores import normalise

PICTURES = 1000
RECORDS = "pictures.jsonl"  # one line for each picture, from which a table that stopped goes on
NOTE = (
    "Mean over the pictures, with its 95 % interval. Deletion and insertion: area under the "
    "probability of the answered class when the most, or the least, important patches are "
    "taken out of the sequence first; gain: insertion minus deletion, 0 for an order that "
    "knows nothing; over centre: gain minus that of the centre of the picture, picture by "
    "picture. Beaten: of 20 random orders. Energy and pointing: against the boxes of those "
    "pictures that have a small one; 1.00 is no better than chance. Passes: forward "
    "passes by its definition, a backward pass counting as two. A map that is made to win such a "
    "test wins it; on one model and one data set the table ranks no methods."
)
COLUMNS = {
    "gain": "gain",
    "over_centre": "over centre",
    "deletion": "deletion",
    "insertion": "insertion",
    "beaten": "beaten",
    "saco": "SaCo",
    "energy": "energy",
    "pointing": "pointing",
    "passes": "passes",
}


def compare_explainers(
    loaded: LoadedModel,
    checkpoint: str,
    pictures: Pictures,
    keys: Sequence[str],
    folder: Path,
    count: int = PICTURES,
    quiet: bool = False,
) -> dict[str, Any]:
    """Test explainers on `count` pictures, drawn with a fixed seed, for the class answered.

    Writes FOLDER/table.md and table.json; if stopped (Ctrl-C), for the pictures so far, which are a
    random sample too. Every picture's figures are saved in `RECORDS` at once, so that the same call
    resumes where it was stopped. Raises `TrainError` if an explainer does not fit the model, or if
    the folder holds the records of another test or cannot be written.
    """
    there = fitting(loaded.card.config)
    for key in keys:
        if chosen(key).key not in there:
            name = loaded.card.name
            raise TrainError(f"{key} does not fit {name}; it has {', '.join(there)}")
    pictures = pictures.some(count)
    keys = list(dict.fromkeys(["centre", *keys]))
    file = file_of(checkpoint)
    head = {
        "checkpoint": file.name,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "",
        "data": pictures.name,
        "pictures": len(pictures),
        "explainers": keys,
        "steps": STEPS,
        "orders": ORDERS,
    }
    with writing(folder / RECORDS):
        folder.mkdir(parents=True, exist_ok=True)
    with held(folder), writing(folder / RECORDS):
        rows = _records(folder / RECORDS, head)
        with (folder / RECORDS).open("a", encoding="utf-8") as records:
            todo = range(len(rows), len(pictures))
            try:
                for number in watched(
                    todo, "fair tests", len(pictures), done=len(rows), quiet=quiet
                ):
                    rows.append(one_picture(loaded, pictures, number, keys))
                    records.write(json.dumps(rows[-1]) + "\n")
                    records.flush()
            finally:
                result = _write(folder, head, rows) if rows else head
    return result


def _write(folder: Path, head: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Make the result of these rows, and write it as table.json and table.md."""
    date = time.strftime("%Y-%m-%d", time.gmtime())
    result = {**head, "pictures": len(rows), "date": date, "table": table(rows, head["explainers"])}
    write_text(folder / "table.json", json.dumps(result, indent=1) + "\n")
    write_text(folder / "table.md", markdown(result))
    return result


def file_of(checkpoint: str | Path) -> Path:
    """The file of a checkpoint, given as a path or as the name of a shipped model."""
    shipped = WEIGHTS_DIR / f"{checkpoint}.safetensors"
    return shipped if not Path(checkpoint).is_file() and shipped.is_file() else Path(checkpoint)


def _records(path: Path, head: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that an earlier call has left; a line that was cut off is computed again."""
    if not path.exists():
        write_text(path, json.dumps(head) + "\n")
        return []
    lines = path.read_text("utf-8").splitlines()
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    if not rows or rows[0] != head:
        raise TrainError(f"{path} holds another test; name another folder with --out")
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))
    return rows[1:]


def one_picture(
    loaded: LoadedModel, pictures: Pictures, number: int, keys: Sequence[str]
) -> dict[str, Any]:
    """All figures of one picture: {"picture", "target", "maps": {key: {figure: number}}}."""
    vit, cut = loaded.vit, loaded.preprocess
    grid = PatchGrid.of(vit.config)
    image = pictures.images[number : number + 1]
    pixels = normalise(image.to(loaded.device).float() / 255, cut.mean, cut.std)
    with torch.enable_grad(), capture(vit, target="answer") as recorder:
        trace = recorder.trace(vit(pixels))
    case = Case(
        trace=trace,
        grid=grid,
        pixels=pixels[0].cpu(),
        vit=vit,
        target=trace.target,
        seed=number,  # another random map for each picture: a mean over one map is no chance
    )
    maps = {key: EXPLAINERS[key](case) for key in keys}
    found = removal(case, maps, temperature=loaded.card.temperature, groups=GROUPS, seed=number)
    inside = None
    if pictures.boxes is not None and len(small_boxes(pictures.take(torch.tensor([number])))):
        inside = box_cover(grid, pictures.boxes[number : number + 1])
    figures = {}
    for key in keys:
        figures[key] = {
            "gain": found.gain(key),
            "over_centre": found.gain(key) - found.gain("centre"),
            "deletion": found.deletion(key),
            "insertion": found.insertion(key),
            "beaten": found.beaten(key),
            "saco": found.saco[key],
            "passes": EXPLAINERS[key].passes(grid),
        }
        if inside is not None:
            figures[key] |= hits(grid.to_map(maps[key])[None].relu(), inside)
    return {"picture": number, "target": trace.target, "maps": figures}


def table(rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> dict[str, Any]:
    """{key: {figure: {"mean", "half", "pictures"}}}; `half` is half of the 95 % interval."""
    found: dict[str, Any] = {}
    for key in keys:
        found[key] = {}
        for figure in COLUMNS:
            values = [row["maps"][key][figure] for row in rows if figure in row["maps"][key]]
            if values:
                found[key][figure] = interval(values)
    return found


def interval(values: Sequence[float]) -> dict[str, float]:
    """The mean and half of its 95 % interval, by the normal approximation."""
    n = len(values)
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / max(1, n - 1)
    return {"mean": mean, "half": 1.96 * math.sqrt(variance / n), "pictures": n}


def markdown(result: dict[str, Any]) -> str:
    """The table in Markdown, largest gain first, with a note on its columns."""
    rows = sorted(result["table"].items(), key=lambda item: -item[1]["gain"]["mean"])
    there = [figure for figure in COLUMNS if any(figure in figures for _, figures in rows)]
    lines = [
        f"{result['checkpoint']} on {result['pictures']} pictures of {result['data']}",
        "",
        "| map | " + " | ".join(COLUMNS[figure] for figure in there) + " |",
        "|---" * (len(there) + 1) + "|",
    ]
    for key, figures in rows:
        cells = [_cell(figure, figures.get(figure)) for figure in there]
        lines.append(f"| {key} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", NOTE, ""])


def _cell(figure: str, value: dict[str, float] | None) -> str:
    if value is None:
        return ""
    digits = {"beaten": 1, "passes": 0, "energy": 2}.get(figure, 3)
    sign = "+" if figure == "over_centre" else ""
    return f"{value['mean']:{sign}.{digits}f} ± {value['half']:.{digits}f}"
