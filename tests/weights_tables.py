"""`python -m tests.weights_tables`: the tables of weights/README.md from the files, anew.

Only numbers are written; which columns there are, and what is said around them, is for people.
"""

import json
import re
from collections.abc import Mapping, Sequence

from vitviz.model.loaded import LoadedModel
from vitviz.model.menu import WEIGHTS_DIR
from vitviz.model.weights import load
from vitviz.probe.measure.measurements import FAIR_FIGURES, fair_tests_of

README = WEIGHTS_DIR / "README.md"
MODELS = ("photos", "mnist", "mnist-rotary", "mnist-none")
MAPS = {
    "the same everywhere": "uniform",
    "noise": "random",
    "a Gaussian in the middle (no model)": "centre",
    "attention of the last layer, mean of the heads": "attention",
    "rollout": "rollout",
    "attention, each share times the norm of what it brings": "attention_norm",
    "attention times gradient": "attention_gradient",
    "generic relevance (Chefer et al.)": "generic",
    "rollout of attention times gradient": "gradient_rollout",
    "grad-CAM": "grad_cam",
}
SCORES = {"log-sum-exp of the logits": "known or not"}  # the others have their own names

Rows = Mapping[str, Sequence[str]]  # the cells behind the first one, by the first one


def evaluation(loaded: LoadedModel) -> dict:
    return json.loads(loaded.card.details["evaluation"])


def share(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f} %"


def summary(text: str, loaded: LoadedModel, name: str) -> str:
    """The row of a model in the first table, with as many digits as it has."""
    (row,) = re.findall(rf"^\| `{name}\.safetensors` \|.*$", text, re.MULTILINE)
    figures, size = evaluation(loaded), (WEIGHTS_DIR / f"{name}.safetensors").stat().st_size
    cells = row.split(" | ")
    digits = len(cells[3].removesuffix(" %").partition(".")[2])
    cells[2] = re.sub(r"[\d.]+ M$", f"{loaded.card.num_parameters / 1e6:.2f} M", cells[2])
    cells[3:5] = share(figures["top1"], digits), share(figures["top5"], digits)
    minutes = loaded.card.details["wall time"]
    cells[5] = f"{json.loads(loaded.card.details['recipe'])['epochs']:g}"
    cells[6] = re.sub(r"\d+ min(?= \()", minutes, cells[6])
    cells[7] = re.sub(r"[\d.]+ MB", f"{size / 1e6:.1f} MB", cells[7])
    return text.replace(row, " | ".join(cells))


def boxes(loaded: LoadedModel) -> Rows:
    found = evaluation(loaded)["boxes"]
    return {
        said: (f"{found[key]['energy']:.2f}", share(found[key]["pointing"]))
        for said, key in MAPS.items()
    }


def scores(loaded: LoadedModel) -> Rows:
    found = evaluation(loaded)["others"]["scores"]
    said = {key: name for name, key in SCORES.items()}
    return {
        said.get(key, key): (share(one["auroc"]), share(one["refused"]))
        for key, one in found.items()
    }


def at_threshold(loaded: LoadedModel) -> Rows:
    figures = evaluation(loaded)
    others, photographs = figures["others"], figures["photographs"]
    chosen, count = others["chosen"], len(others["classes"])
    left_out = f"{share(photographs['left_out'])} if each has no part in the threshold"
    return {
        "validation pictures of 64 x 64 pixels": (
            *(f"{figures['pictures']:,}", share(chosen["kept"])),
            *(f"{others['pictures']:,} ({count} kinds)", share(chosen["refused"])),
        ),
        "photographs as people bring them": (
            *(f"{photographs['known']}", f"{share(photographs['kept'])}; {left_out}"),
            *(f"{photographs['strangers']} (one of each kind)", share(photographs["refused"])),
        ),
    }


def fair_tests(loaded: LoadedModel) -> Rows:
    """A row for each map, largest gain first."""
    found = fair_tests_of(loaded.card)["explainers"]
    rows = {}
    for key in sorted(found, key=lambda key: -found[key]["gain"]["mean"]):
        cells = []
        for figure in FAIR_FIGURES:
            mean, half = found[key][figure]["mean"], found[key][figure]["half"]
            sign, digits = "+" if figure == "over_centre" else "", 1 if figure == "beaten" else 3
            none = key == "centre" and figure == "over_centre"
            cells.append("" if none else f"{mean:{sign}.{digits}f} ± {half:.{digits}f}")
        rows[key] = cells
    return rows


def filled(text: str, section: str, header: str, rows: Rows) -> str:
    """The page with one table filled; the largest of a column is bold where one was."""
    start = text.index(header, text.index(f"\n## {section}\n"))
    end = text.index("\n\n", start)
    first, line, *old = text[start:end].split("\n")
    said = [row.strip("| ").split(" | ")[0] for row in old]
    assert sorted(said) == sorted(rows), f"{section}, {header}: its rows are not those of the file"
    made = {name: [*rows[name]] for name in (rows if header.startswith("| map | gain") else said)}
    for column in range(first.count(" | ")):
        if any("**" in row.split(" | ")[column + 1] for row in old):
            best = max(made, key=lambda name: float(made[name][column].split()[0]))
            made[best][column] = f"**{made[best][column]}**"
    lines = [first, line, *(f"| {' | '.join([name, *cells])} |" for name, cells in made.items())]
    return text[:start] + "\n".join(lines) + text[end:]


def anew(text: str) -> str:
    """The page with the numbers of the files."""
    models = {name: load(name) for name in MODELS}
    for name, loaded in models.items():
        text = summary(text, loaded, name)
    photos = models["photos"]
    text = filled(text, "photos", "| score | AUROC |", scores(photos))
    text = filled(text, "photos", "| | of its classes | kept |", at_threshold(photos))
    text = filled(text, "photos", "| map | share in the box", boxes(photos))
    for name in ("photos", "mnist"):
        text = filled(text, name, "| map | gain |", fair_tests(models[name]))
    return text


if __name__ == "__main__":
    README.write_text(anew(README.read_text("utf-8")), "utf-8")
