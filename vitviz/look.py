"""What `vitviz look` does with a photo: numbers and figures are written into a folder."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from .errors import VitvizError
from .model.key import ModelKey
from .model.weight_options import weight_options
from .model.weights import load_key
from .probe.analysis import Analysis, analyze
from .probe.explain.explainers import EXPLAINERS
from .probe.intervene.intervention import read as read_interventions
from .probe.measure.film import Film
from .probe.measure.measurements import measurements_of

ANALYSIS = "analysis.safetensors"


def look(arguments: argparse.Namespace) -> None:
    """Analyze the photo, write all files, print the predictions and the paths.

    `arguments`: as `cli.look_options` reads them. Raises `VitvizError` for what the photo, the
    model or the disk cannot give; nothing is written before all selections are checked.
    """
    (photo,) = arguments.photo
    key = ModelKey(arguments.model, arguments.untrained, arguments.image_size)
    model = "-".join(filter(None, (_word(key.name), "untrained" * key.untrained, key.size)))
    changes = interventions(arguments)
    model += "-inverted" if arguments.invert else ""
    model += "-changed" if changes else ""
    default = Path(f"vitviz-{_word(photo)}-{model}")
    loaded = load_key(key, **weight_options(arguments))
    analysis = analyze(loaded, Path(photo), invert=arguments.invert, interventions=changes)
    layer = choose_layer(analysis, arguments.layer)
    if arguments.html_engine:
        from .viewer import in_page

        in_page.check(loaded.card)
    head = arguments.head if arguments.head is None else analysis.trace.check_head(arguments.head)
    token = choose_token(analysis, arguments.token)
    explained = choose_explainers(analysis, arguments.explain, arguments.target)
    notes = list(analysis.notes)
    if analysis.dark_ink():
        notes.append(
            f"dark strokes on light, but {analysis.card.name} was taught light strokes on dark only"
            + ("" if analysis.inverted else ": try --invert")
        )
    if arguments.out is None and not arguments.force:
        folder = own_folder(default, analysis)
        if folder != default:
            other = held_by_another(default, analysis)
            notes.append(f"{default} holds {other}: {photo} goes to {folder}")
    else:
        folder = arguments.out or default
        claim(folder, analysis, force=arguments.force)
    for note in notes:
        print(f"note: {note}")
    if analysis.interventions:
        print(analysis.changes())
    for answer in analysis.predictions():
        print(f"{answer.probability:7.1%}  {answer.label}")
    told = analysis.known_or_not()
    if told is not None and (sentence := analysis.not_taught()) is not None:
        print(sentence)
        print(f"(score {told.score:.3g}, below the model's threshold of {told.threshold:.3g})")
    elif (phrase := analysis.answer()) is not None and phrase.sure is False:
        print(f"not sure: the best guess is {phrase.name}, {phrase.probability:.1%}")
    html = arguments.html or arguments.html_engine
    options = (arguments.format, html, explained, arguments.html_engine)
    for path in write(analysis, folder, layer, head, token, *options):
        print(path)


def write(
    analysis: Analysis,
    folder: Path,
    layer: int,
    head: int | None,
    token: int,
    kind: str = "png",
    html: bool = False,
    explained: tuple[list[str], int | None] | None = None,
    engine: bool = False,
) -> list[Path]:
    """Write numbers and figures into a folder that exists; returns the files, in order.

    `explained`: the keys of explainers and the class that they explain. `engine`: the page has the
    model, too.
    """
    from . import draw  # takes a second, for matplotlib; --help need not wait for it

    where = f"layer-{layer}-token-{token}"
    which = f"head-{'mean' if head is None else head}"
    figures: dict[str, Callable[[], Any]] = {
        "patches": lambda: draw.patch_grid(analysis),
        f"attention-{where}-{which}": lambda: draw.attention(analysis, layer, head, token),
        f"heads-{where}": lambda: draw.heads(analysis, layer, token),
        f"wall-token-{token}": lambda: draw.wall(analysis, token),
        f"matrix-layer-{layer}-{which}": lambda: draw.matrix(analysis, layer, head),
        "statistics": lambda: draw.head_statistics(analysis, layer, head),
        f"rollout-token-{token}": lambda: draw.rollout(analysis, token),
        f"features-{where}": lambda: draw.features(analysis, layer, token),
    }
    if head is not None:
        figures[f"pair-{where}-{which}"] = lambda: draw.pair(analysis, layer, head, token)
    if analysis.grid.is_patch(token):
        figures[f"patch-token-{token}"] = lambda: draw.patch(analysis, token)
    if analysis.positions is not None:
        figures["positions"] = lambda: draw.position_similarity(analysis)
    if analysis.card.head == "classes":
        figures["predictions"] = lambda: draw.predictions(analysis)
    if analysis.lens is not None:
        figures["lens"] = lambda: draw.lens(analysis)
    if measurements_of(analysis.card).keys() & {"top1", "top5", "group", "boxes"}:
        figures["measured"] = lambda: draw.measured(analysis.card)
    if explained is not None:
        figures["explain"] = lambda: draw.explain(analysis, explained[0], token, explained[1])
    if analysis.loaded and analysis.loaded.film:
        film = analysis.loaded.film
        figures[f"training-layer-{layer}-{which}"] = lambda: draw.training(
            Film.read(film), analysis.card, layer, head
        )
    paths = [folder / "summary.json", folder / ANALYSIS]
    text = json.dumps(analysis.summary(), ensure_ascii=False, indent=2) + "\n"
    _write_text(paths[0], text)
    analysis.save(paths[1])
    if explained is not None:
        paths.append(folder / "explain.json")
        _write_text(paths[-1], json.dumps(relevance(analysis, token, *explained)) + "\n")
    if html:
        from .viewer import page

        paths.append(folder / "viewer.html")
        _write_text(paths[-1], page(analysis, engine=engine))
    for name, figure in figures.items():
        paths.append(folder / f"{name}.{kind}")
        draw.save(figure(), paths[-1])
    return paths


def relevance(
    analysis: Analysis, token: int, keys: list[str], target: int | None
) -> dict[str, Any]:
    """The values of explainers in JSON's types: of each token, those of patches row by row."""
    case = analysis.case(*keys, target=target)
    return {
        "token": token,
        "target": case.target,
        "values": {key: EXPLAINERS[key](case, token).tolist() for key in keys},
    }


def interventions(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The changes that the options name, in JSON's types. Raises `VitvizError` for those that are
    no interventions.
    """
    changes: list[dict[str, Any]] = []
    for kind in ("remove", "keep"):
        if (patches := getattr(arguments, kind)) is not None:
            changes.append({"kind": kind, "patches": patches})
    if arguments.positions:
        changes.append({"kind": "positions", "by": arguments.positions.replace("-", " ")})
    if arguments.shuffle is not None:
        changes.append({"kind": "shuffle", "cells": arguments.shuffle})
    for layer, head in arguments.head_off:
        changes.append({"kind": "head", "layer": layer, "head": head, "by": "zero"})
    if arguments.intervene is not None:
        changes += [one.to_dict() for one in read_interventions(arguments.intervene)]
    return changes


def own_folder(first: Path, analysis: Analysis) -> Path:
    """A folder for this photo and model alone: `first`, or first-2, first-3, ...

    The folder is the first of these that does not exist yet, or that holds an analysis of the same
    photo and model. Raises `VitvizError` if no folder can be made.
    """
    folder, number = first, 1
    while not _made(folder) and held_by_another(folder, analysis) is not None:
        number += 1
        folder = first.with_name(f"{first.name}-{number}")
    return folder


def _made(folder: Path) -> bool:
    """Make the folder, return False if it exists; of two processes only one gets True."""
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    except OSError as error:
        raise _unusable(folder, error) from error
    return True


def claim(folder: Path, analysis: Analysis, *, force: bool = False) -> None:
    """Make the folder, or check that it is empty or holds an analysis of this photo and model.

    Raises `VitvizError` for a folder that holds something else, unless `force`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if force or not any(folder.iterdir()):
            return
    except OSError as error:
        raise _unusable(folder, error) from error
    if (other := held_by_another(folder, analysis)) is not None:
        advice = "name another folder with --out, or write into it with --force"
        raise VitvizError(f"{folder} holds {other}; {advice}")


def held_by_another(folder: Path, analysis: Analysis) -> str | None:
    """What a folder holds, in words; None if that is an analysis of this photo and model.

    Photos with the same name are told apart by their pixels.
    """
    try:
        before = Analysis.load(folder / ANALYSIS)
    except VitvizError:
        return "no analysis that can be read"
    name, card = before.photo_name, before.card
    by = card.name if card.trained else f"the untrained {card.name}"
    by += f" at {card.key.size} pixels" if card.key.size else ""
    if before.interventions != analysis.interventions:
        return f"the analysis of {name} by {by}, {before.changes() or 'unchanged'}"
    if (name, card.key) != (analysis.photo_name, analysis.card.key):
        return f"the analysis of {name} by {by}"
    if not torch.equal(before.picture, analysis.picture):
        return f"the analysis of another {name} by {by}"
    return None


def _unusable(folder: Path, error: OSError) -> VitvizError:
    return VitvizError(f"the folder {folder} cannot be used: {error.strerror}")


def choose_layer(analysis: Analysis, layer: int | None) -> int:
    """The layer asked for, or the last. Raises `SelectionError` if the model has no such layer."""
    return analysis.trace.check_layer(analysis.trace.depth - 1 if layer is None else layer)


def choose_token(analysis: Analysis, token: str | list[int] | None) -> int:
    """The token that "cls", [number] or [row, col] means; None: CLS, or the patch in the middle.

    Raises `VitvizError` if there is no such token.
    """
    grid, names = analysis.grid, analysis.card.config.prefix_names
    if token is None:
        token = "cls" if "cls_token" in names else [grid.rows // 2, grid.cols // 2]
    if token == "cls":
        if "cls_token" not in names:
            raise VitvizError(f"{analysis.card.name} has no CLS token; name a patch: --token 0,0")
        return names.index("cls_token")
    return grid.token(*token) if len(token) == 2 else grid.check(*token)


def choose_explainers(
    analysis: Analysis, keys: list[str] | None, target: str | None
) -> tuple[list[str], int | None] | None:
    """The explainers asked for, each once, and the class. None if none was asked for.

    Raises `VitvizError` for a class that is not there, before anything is written.
    """
    if not keys:
        if target is not None:
            raise VitvizError("--target names the class of --explain, which is missing")
        return None
    wanted = [*EXPLAINERS] if "all" in keys else [*dict.fromkeys(keys)]
    if target is None:
        return wanted, None
    labels = analysis.card.labels or ()
    if target in labels or not target.isdecimal():
        return wanted, analysis.class_index(target, wanted[0])
    try:
        return wanted, analysis.class_index(int(target), wanted[0])
    except ValueError:  # thousands of digits
        expected = "--target must be the name or the number of a class"
        raise VitvizError(f"{expected}, got {target[:80]!r}") from None


def _word(name: str) -> str:
    """A path or model name as letters, digits and hyphens, for the name of a folder."""
    stem = Path(name).name.removesuffix(Path(name).suffix) or name
    return "".join(letter if letter.isalnum() else "-" for letter in stem).strip("-") or "photo"


def _write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise VitvizError(f"{path} could not be written: {error.strerror}") from error
