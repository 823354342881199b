"""The command `vitviz look`: write numbers and figures of each photo into a folder."""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .errors import VitvizError
from .many.analyses import analyze_many
from .many.pictures import BrokenPicture, is_folder
from .model.key import ModelKey
from .model.loaded import LoadedModel
from .model.resize import settled
from .model.weight_options import weight_options
from .model.weights import load_key
from .probe.analysis import Analysis, Target, analyze
from .probe.capture.selection import choose
from .probe.explain.explainers import EXPLAINERS, check_knows_target, fitting, gap_sentence
from .probe.intervene.intervention import read as read_interventions
from .probe.measure.film import Film
from .probe.measure.measurements import measurements_of
from .probe.measure.numbers import percent
from .whole import at_home, write_text

ANALYSIS = "analysis.safetensors"


def look(arguments: argparse.Namespace) -> int:
    """Analyze the photos, write all files, print the predictions and the paths. Returns the exit
    status: 1 if some of several photos were broken.

    `arguments`: those of `cli.look_options`. Raises `VitvizError` if a single photo, the model or
    the disk cannot be used; nothing is written before all selections are checked.
    """
    if arguments.out is not None:
        arguments.out = at_home(arguments.out)
    key = ModelKey(arguments.model, arguments.untrained, arguments.image_size)
    changes = interventions(arguments)
    loaded = load_key(key, device=arguments.device, **weight_options(arguments))
    if arguments.verbose:
        print(loaded, file=sys.stderr)
    if arguments.html_engine:
        loaded = _for_page(loaded, changes)
    arguments.like = liked(loaded, arguments)
    first = arguments.photo[0]
    if len(arguments.photo) > 1 or (isinstance(first, str) and is_folder(first)):
        return _look_at_many(loaded, changes, arguments)
    analysis = analyze(
        loaded, first, invert=arguments.invert, stretch=arguments.stretch, interventions=changes
    )
    wanted = Wanted.of(analysis, arguments)
    if arguments.json:
        print(wanted.as_json(analysis))
        return 0
    notes, name = notes_of(analysis), word(analysis.photo_name)
    if arguments.out is None and not arguments.force:
        default = Path(f"vitviz-{name}-{_with(arguments)}")
        folder = own_folder(default, analysis)
        if folder != default:
            other = held_by_another(default, analysis)
            given = first if isinstance(first, str) else name
            notes.append(f"{default} holds {other}: {given} goes to {folder}")
    else:
        folder = arguments.out or Path(f"vitviz-{name}-{_with(arguments)}")
        claim(folder, analysis, force=arguments.force)
    for note in notes:
        print(f"note: {note}")
    if analysis.interventions:
        print(analysis.changes())
    for answer in analysis.predictions():
        print(f"{answer.number_text:>7}  {answer.label}")
    if arguments.like is not None:
        like = arguments.like
        name = like.photo_name if isinstance(like, Analysis) else "the vector"
        print(f"likeness to {name}: {analysis.likeness(like):.3f}")
    verdict = analysis.known_or_not()
    if verdict is not None and (sentence := analysis.not_taught()) is not None:
        print(sentence)
        if verdict.score < verdict.threshold:  # otherwise the answer is the class "none of these"
            score, threshold = _apart(verdict.score, verdict.threshold)
            print(f"(score {score}, below the model's threshold of {threshold})")
    elif (phrase := analysis.answer()) is not None and phrase.sure is False:
        print(f"not sure: the best guess is {phrase.name}, {percent(phrase.number)}")
    elif phrase is not None and (phrase.level == "maybe" or phrase.outputs == "any_of"):
        print(analysis.answer_text())
    for path in write(analysis, folder, wanted):
        print(path)
    return 0


def _for_page(loaded: LoadedModel, changes: list[dict[str, Any]]) -> LoadedModel:
    """The model as a page carries it. Raises `VitvizError` for one that no page can run, and for a
    changed pass, since the page experiments on the intact one.
    """
    from .payload import in_page

    if changes:
        raise VitvizError(
            "a page with the model in it experiments on the intact pass: leave out --html-engine, "
            "or the changes"
        )
    loaded = settled(loaded)
    in_page.check(loaded.card)
    return loaded


def _look_at_many(
    loaded: LoadedModel, changes: list[dict[str, Any]], arguments: argparse.Namespace
) -> int:
    """`look` for several photos: a folder for each inside one folder, and a table of answers."""
    parent = arguments.out or Path(f"vitviz-look-{_with(arguments)}")
    rows: list[tuple[str, str, str]] = []
    broken, noted = [], []
    for result in analyze_many(
        loaded,
        arguments.photo,
        invert=arguments.invert,
        stretch=arguments.stretch,
        interventions=changes,
    ):
        if isinstance(result, BrokenPicture):
            broken.append(result)
            continue
        wanted = Wanted.of(result, arguments)
        noted += [f"note: {result.photo_name}: {note}" for note in notes_of(result)]
        if arguments.json:
            print(wanted.as_json(result))
            continue
        try:
            parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(parent, error) from error
        folder = parent / word(result.photo_name)
        if arguments.force and str(folder) not in (row[0] for row in rows):  # two of one name
            claim(folder, result, force=True)
        else:
            folder = own_folder(folder, result)
        write(result, folder, wanted)
        rows.append((str(folder), *_in_words(result)))
    wide = max((len(row[0]) for row in rows), default=0)
    for name, share, answer in rows:
        print(f"{name:{wide}}  {share:>6}  {answer}".rstrip())
    for line in [*noted, *(picture.sentence for picture in broken)]:
        print(" ".join(line.splitlines()), file=sys.stderr)
    return 1 if broken else 0


def _apart(*values: float) -> list[str]:
    """Numbers with three digits, or as many as tell them apart."""
    for digits in range(3, 10):
        texts = [f"{value:.{digits}g}" for value in values]
        if len({*texts}) == len(texts):
            break
    return texts


def _in_words(analysis: Analysis) -> tuple[str, str]:
    """The probability of the answer, or its value, and the answer; empty for a model that names no
    classes.
    """
    answer = analysis.answer()
    if answer is None:
        return "", ""
    if not analysis.card.trained:
        return "", "no answer: it is untrained"
    doubt = " (not sure)" * (answer.sure is False)
    doubt = " (none of the classes)" if answer.known is False else doubt
    if answer.outputs in ("any_of", "value"):
        return "", analysis.answer_text()
    return percent(answer.number), answer.name + doubt


def notes_of(analysis: Analysis) -> list[str]:
    """Notes on changes of the photo that its owner may not expect."""
    notes = [str(note) for note in analysis.notes]
    if analysis.dark_ink():
        notes.append(
            f"dark strokes on light, but {analysis.card.name} was taught light strokes on dark only"
            + ("" if analysis.inverted else ": try --invert")
        )
    if analysis.is_dark():
        notes.append("its levels can be spread: try --stretch")
    return notes


def _with(arguments: argparse.Namespace) -> str:
    """The model and the kind of changes, for the name of a folder."""
    key = ModelKey(arguments.model, arguments.untrained, arguments.image_size)
    model = "-".join(filter(None, (word(key.name), "untrained" * key.untrained, key.size)))
    model += "-stretched" * arguments.stretch
    return model + "-inverted" * arguments.invert + "-changed" * bool(interventions(arguments))


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Selection of the files and figures to write for one analysis.

    explained  the keys of explainers and the class, or the likeness, that they explain
    only       figures to write, by the first words of their names (`FIGURES`); None: all
    html       whether to write the viewer too; engine: with the model in it
    """

    layer: int
    head: int | None
    token: int
    kind: str = "png"
    html: bool = False
    engine: bool = False
    explained: tuple[list[str], Target] | None = None
    only: frozenset[str] | None = None

    @classmethod
    def of(cls, analysis: Analysis, arguments: argparse.Namespace) -> "Wanted":
        """The selection of the arguments. Raises `VitvizError` if this analysis lacks something."""
        head = (
            None
            if arguments.head is None
            else choose("head", arguments.head, analysis.trace.num_heads)
        )
        only = None if arguments.only is None else frozenset(arguments.only)
        wanted = cls(
            layer=choose_layer(analysis, arguments.layer),
            head=head,
            token=choose_token(analysis, arguments.token),
            kind=arguments.format,
            html=arguments.html or arguments.html_engine,
            engine=arguments.html_engine,
            explained=choose_explainers(
                analysis, arguments.explain, arguments.target, arguments.like
            ),
            only=frozenset() if arguments.no_figures else only,
        )
        if only and not (arguments.json or arguments.no_figures):
            there = {name.split("-")[0] for name in figures_of(analysis, wanted, wanted.explained)}
            if missing := sorted(only - there):
                raise VitvizError(
                    f"there is no figure {', '.join(missing)} of this model and these options; "
                    f"there are {', '.join(sorted(there))}"
                )
        return wanted

    def as_json(self, analysis: Analysis) -> str:
        """The summary in one line."""
        summary = analysis.summary()
        if self.explained is not None:
            summary["explained"] = relevance(analysis, self.token, *self.explained)
        # If stdout lacks characters, JSON escapes them.
        return json.dumps(summary, ensure_ascii=str(sys.stdout.encoding).lower() != "utf-8")


def write(analysis: Analysis, folder: Path, wanted: Wanted) -> list[Path]:
    """Write numbers and figures into a folder that exists; returns the files, in order."""
    paths = [folder / "summary.json", folder / ANALYSIS]
    analysis.save(paths[1])  # first, so that `held_by_another` knows the folder if this ends early
    text = json.dumps(analysis.summary(), ensure_ascii=False, indent=2) + "\n"
    write_file(paths[0], text)
    values = None
    if wanted.explained is not None:
        paths.append(folder / "explain.json")
        values = relevance(analysis, wanted.token, *wanted.explained)
        write_file(paths[-1], json.dumps(values) + "\n")
    if wanted.html:
        from .payload import page

        paths.append(folder / "viewer.html")
        write_file(paths[-1], page(analysis, engine=wanted.engine))
    if wanted.only == frozenset():
        return paths
    from . import draw  # takes a second, for matplotlib; --help need not wait for it

    for name, figure in figures_of(analysis, wanted, values).items():
        if wanted.only is None or name.split("-")[0] in wanted.only:
            paths.append(folder / f"{name}.{wanted.kind}")
            draw.save(figure(), paths[-1])
    return paths


def figures_of(
    analysis: Analysis, wanted: Wanted, explained: Any = None
) -> dict[str, Callable[[], Any]]:
    """Functions that draw the figures of an analysis, by the names of their files. `explained`:
    what `relevance` returned, None without explainers; for the names alone any other value.
    """
    from . import draw

    layer, head, token = wanted.layer, wanted.head, wanted.token
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
    if analysis.loaded and analysis.card.config.global_pool == "map":
        figures["pooling"] = lambda: draw.pooling(analysis)
    if analysis.lens_lines(1):
        figures["lens"] = lambda: draw.lens(analysis)
    if measurements_of(analysis.card).keys() & {"top1", "top5", "group", "boxes"}:
        figures["measured"] = lambda: draw.measured(analysis.card)
    if explained is not None:
        figures["explain"] = lambda: draw.explained(
            analysis,
            explained["values"],
            token,
            explained["target"],
            likeness=(explained["like"] or "a vector") if "like" in explained else "",
        )
    if analysis.loaded and analysis.loaded.film:
        film = analysis.loaded.film
        figures[f"training-layer-{layer}-{which}"] = lambda: draw.training(
            Film.read(film), analysis.card, layer, head
        )
    return figures


def relevance(analysis: Analysis, token: int, keys: list[str], target: Target) -> dict[str, Any]:
    """The values of explainers for each token in JSON's types; patches row by row. For a likeness
    also its number, and the name of the picture (None for a vector).
    """
    case = analysis.case(*keys, target=target)
    values = {key: EXPLAINERS[key](case, token) for key in keys}
    alike = {"likeness": analysis.likeness(target)} if case.likeness else {}
    gaps = {key: gap(case, values[key]) for key in keys if (gap := EXPLAINERS[key].gap)}
    for key in gaps:
        if sentence := gap_sentence(EXPLAINERS[key], case, values[key]):
            print(f"note: {sentence}", file=sys.stderr)
    return {
        "token": token,
        "target": None if case.likeness else case.target,
        **({"like": case.liked or None, **alike} if case.likeness else {}),
        "values": {key: numbers.tolist() for key, numbers in values.items()},
        **({"gaps": gaps} if gaps else {}),
    }


def interventions(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The interventions of the options, in JSON's types. Raises `VitvizError` if one is invalid."""
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
        changes += [change.to_dict() for change in read_interventions(arguments.intervene)]
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
    """A description of a folder's content; None if that is an analysis of this photo and model.

    Photos with the same name are distinguished by their pixels, models by their weights and by
    what their answers mean.
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
    means = [(one.config, one.labels, one.outputs) for one in (card, analysis.card)]
    if means[0] != means[1] or not _same_pass(before, analysis):
        return f"the analysis of {name} by another {by}"
    return None


def _same_pass(before: Analysis, now: Analysis) -> bool:
    """Whether two passes of one picture come from the same weights: their last tokens and outputs
    are equal, but for float rounding.
    """
    half = now.loaded is not None and next(now.loaded.vit.parameters()).dtype != torch.float32
    near = 0.05 if half else 1e-3
    pairs = ((one.trace.tokens[-1], one.trace.logits) for one in (before, now))
    return all(
        torch.allclose(ours.cpu().float(), theirs.cpu().float(), rtol=near, atol=near)
        for ours, theirs in zip(*pairs, strict=True)
    )


def _unusable(folder: Path, error: OSError) -> VitvizError:
    return VitvizError(f"the folder {folder} cannot be used: {error.strerror}")


def choose_layer(analysis: Analysis, layer: int | None) -> int:
    """The selected layer, or the last; -1 is the last, -2 the one before.

    Raises `SelectionError` if the model has no such layer.
    """
    depth = analysis.trace.depth
    layer = depth - 1 if layer is None else layer
    return analysis.trace.check_layer(layer)


def choose_token(analysis: Analysis, token: str | list[int] | None) -> int:
    """The token for "cls", [number] or [row, col]; None: CLS, or the patch in the middle.

    Raises `VitvizError` if there is no such token.
    """
    grid, names = analysis.grid, analysis.card.config.prefix_names
    if token is None:
        token = "cls" if "cls_token" in names else [grid.rows // 2, grid.cols // 2]
    if token == "cls":
        if "cls_token" not in names:
            raise VitvizError(f"{analysis.card.name} has no CLS token; name a patch: --token 0,0")
        return names.index("cls_token")
    if len(token) == 2:
        return grid.token(*token)
    return choose("token", int(token[0]), grid.num_tokens)


def liked(loaded: LoadedModel, arguments: argparse.Namespace) -> Target:
    """The picture of --like in this model, or the vector in its file; None without the option.

    Raises `VitvizError` if it cannot be read, and where nothing explains the likeness to it.
    """
    like, keys = arguments.like, arguments.explain
    if like is None:
        return None
    if not keys:
        raise VitvizError("--like names the picture of --explain, which is missing")
    if arguments.target is not None:
        raise VitvizError("--explain explains a class, --target, or a likeness, --like; not both")
    if "all" not in keys:
        check_knows_target(*keys)
    if not isinstance(like, str) or not like.endswith(".npy"):
        return analyze(loaded, like)
    try:
        with Path(like).open("rb") as file:
            return np.lib.format.read_array(file, allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise VitvizError(f"{like} is no vector that can be read: {error}") from error


def choose_explainers(
    analysis: Analysis, keys: list[str] | None, target: str | None, like: Target = None
) -> tuple[list[str], Target] | None:
    """The selected explainers, without duplicates, and the class, or `like` in its place. None if
    none is selected.

    Raises `VitvizError` for an unknown class, and for a vector that does not fit, before anything
    is written.
    """
    if not keys:
        if target is not None:
            raise VitvizError("--target names the class of --explain, which is missing")
        return None
    wanted = [*(fitting(analysis.card.config) if "all" in keys else dict.fromkeys(keys))]
    if like is not None:
        analysis.likeness(like)
        return wanted, like
    if target is None:
        of_class = [key for key in wanted if "class" in EXPLAINERS[key].needs]
        if of_class:
            analysis.class_index(None, of_class[0])
        return wanted, None
    check_knows_target(*wanted)
    labels = analysis.card.labels or ()
    if target in labels or not target.isdecimal():
        return wanted, analysis.class_index(target, wanted[0])
    try:
        return wanted, analysis.class_index(int(target), wanted[0])
    except ValueError:  # thousands of digits
        expected = "--target must be the name or the number of a class"
        raise VitvizError(f"{expected}, got {target[:80]!r}") from None


def word(name: str) -> str:
    """A path or model name as letters, digits and hyphens, for the name of a folder."""
    stem = Path(name).name.removesuffix(Path(name).suffix) or name
    return "".join(letter if letter.isalnum() else "-" for letter in stem).strip("-") or "photo"


def write_file(path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise VitvizError(f"{path} could not be written: {error.strerror}") from error
