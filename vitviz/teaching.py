"""The command `vitviz teach`: a head for the classes of a folder, its figures, and a model file."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from .errors import VitvizError
from .many.features import features
from .many.halves import halves
from .many.linear import confusions_of
from .many.picture_set import is_set
from .many.pictures import BrokenPicture
from .many.teach import as_seen, classes_in, teach_all
from .model.checkpoints import save
from .model.key import ModelKey
from .model.loaded import LoadedModel
from .model.photo_levels import Look
from .model.weight_options import weight_options
from .model.weights import load_key
from .whole import at_home

MOST_COLUMNS = 12  # classes of a table that is printed
MOST_NAMED = 5  # pictures that are printed by name
ALONE = "one picture, or pictures of one group (copies, or one go of the camera)"


def write_taught(arguments: argparse.Namespace) -> int:
    """Teach a head, write the model, print its figures. Returns the exit status: 1 if some of the
    pictures were broken.

    `arguments`: those of `cli.teach_options`. Raises `VitvizError` if the model, the pictures or
    the file cannot be used.
    """
    path = at_home(arguments.out)
    _check_file(path, arguments.force)
    classes = classes_in(arguments.folder)
    if arguments.test is not None:
        _check_test(arguments.test, classes)
    key = ModelKey(arguments.model, arguments.untrained, arguments.image_size)
    loaded = load_key(key, device=arguments.device, **weight_options(arguments))
    if arguments.verbose:
        print(loaded, file=sys.stderr)
    if is_set(arguments.test):
        as_seen(loaded, arguments.test)  # raises for pictures of another size
    look, size = Look(arguments.invert, arguments.stretch), arguments.batch_size
    made, broken = teach_all(
        loaded, arguments.folder, arguments.penalty, arguments.pool, size, look, True
    )
    save(made, path)  # whatever comes of the tests, the head is not lost
    told = facts_of(made)
    if arguments.halves:
        told["halves"] = _halves(loaded, arguments, size, look)
    tested: Sequence[BrokenPicture] = ()
    if arguments.test is not None:
        told["test"], tested = _test(made, arguments.test, size, look)
    told["file"] = str(path)
    print(json.dumps(told) if arguments.json else "\n".join(in_words(told)))
    for picture in (*broken, *tested):
        print(" ".join(picture.sentence.splitlines()), file=sys.stderr)
    return 1 if broken or tested else 0


def _check_file(path: Path, force: bool) -> None:
    """Raise `VitvizError` for a file that cannot be written, before anything is computed."""
    if path.suffix != ".safetensors":
        raise VitvizError(f"the file of a model must end in .safetensors, got {path.name!r}")
    try:
        exists, is_file, has_folder = path.exists(), path.is_file(), path.parent.is_dir()
    except OSError as error:  # its name is too long, or its folder may not be entered
        raise VitvizError(f"{path} cannot be written: {error.strerror}") from error
    if exists and not (force and is_file):
        raise VitvizError(f"{path} exists; --force replaces it, or -o names another file")
    if not has_folder:
        raise VitvizError(f"there is no folder {path.parent} to write {path.name} into")
    if not os.access(path.parent, os.W_OK):
        raise VitvizError(f"{path} cannot be written: the folder {path.parent} may not be changed")


def _check_test(folder: Path, classes: Sequence[str] | Any) -> None:
    """Raise `VitvizError` for a class of the test that is not taught."""
    strange = [name for name in classes_in(folder, fewest=1) if name not in classes]
    if strange:
        raise VitvizError(
            f"{folder} has the class {strange[0]!r}, which {', '.join(map(repr, classes))} lack"
        )


def facts_of(made: LoadedModel) -> dict[str, Any]:
    """The figures of a taught head, in JSON's types."""
    taught, card = made.card.taught, made.card
    assert taught is not None
    return {
        "classes": list(card.labels or ()),
        **json.loads(taught.to_json()),
        "threshold": card.threshold,
    }


def _halves(
    loaded: LoadedModel, arguments: argparse.Namespace, size: int | None, look: Look
) -> list[dict[str, Any]]:
    """The counts of `halves`, and the half that each class reads, in JSON's types."""
    found = halves(
        loaded,
        arguments.folder,
        arguments.penalty,
        pool=arguments.pool,
        batch_size=size,
        invert=look.invert,
        stretch=look.stretch,
    )
    return [asdict(each) | {"reads": each.reads} for each in found]


def _test(
    made: LoadedModel, folder: Path, size: int | None, look: Look
) -> tuple[dict[str, Any], Sequence[BrokenPicture]]:
    """The answers to the pictures of another folder, or of a set: counts, and confusions as in
    `Taught`.
    """
    labels = list(made.card.labels or ())
    given = [(name, one) for name, some in classes_in(folder, fewest=1).items() for one in some]
    found = features(
        as_seen(made, folder) if is_set(folder) else made,
        [one for _, one in given],
        batch_size=size,
        invert=look.invert,
        stretch=look.stretch,
        labels=[name for name, _ in given],
    )
    state, x = made.vit.state_dict(), torch.from_numpy(found.values)
    weight, bias = (state[f"head.{name}"].cpu().float() for name in ("weight", "bias"))
    logits = x @ weight.T + bias
    y = torch.tensor([labels.index(str(name)) for name in found.labels], dtype=torch.long)
    table = confusions_of(logits, y)
    facts = {"right": int(table.trace()), "of": len(y), "confusions": table.tolist()}
    return facts, found.broken


def in_words(told: dict[str, Any]) -> list[str]:
    """The lines that are printed."""
    classes, counts = told["classes"], told["pictures"]
    lines = [f"{name}: {count:,} pictures" for name, count in zip(classes, counts, strict=True)]
    lines = lines if len(classes) <= MOST_COLUMNS else [f"{len(classes):,} classes"]
    lines.append(f"penalty {told['penalty']:g}")
    if told["of"]:
        lines += [f"left out: {told['right']:,} of {told['of']:,} right", *_table(told, classes)]
        lines += _confused(told, classes)
        if told["threshold"] is not None:
            lines.append(f"none of these below a probability of {told['threshold']:.3f}")
    else:
        lines.append(f"no picture was left out: every class has {ALONE}")
    alone = [
        name
        for name, row, count in zip(classes, told["confusions"], counts, strict=True)
        if not sum(row) and told["of"]
    ]
    lines += [f"not left out: {', '.join(alone)}, with {ALONE}"] if alone else []
    lines += [
        f"{one['label']}: {one['without_middle']:,} of {one['right']:,} right answers stay without "
        f"the middle, {one['without_rim']:,} without the rim"
        for one in told.get("halves", ())
    ]
    if test := told.get("test"):
        lines += [f"test: {test['right']:,} of {test['of']:,} right", *_table(test, classes)]
    return [*lines, told["file"]]


def _table(counted: dict[str, Any], classes: Sequence[str]) -> list[str]:
    """The confusions: a row for each class, a column for each answer."""
    if len(classes) > MOST_COLUMNS:
        return []
    rows = [["", *classes]]
    rows += [
        [name, *map(str, row)] for name, row in zip(classes, counted["confusions"], strict=True)
    ]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [
                f"  {row[0]:{wide[0]}}",
                *(f"{c:>{w}}" for c, w in zip(row[1:], wide[1:], strict=True)),
            ]
        )
        for row in rows
    ]


def _confused(told: dict[str, Any], classes: Sequence[str]) -> list[str]:
    """The most confused classes, their two pictures, and other wrong answers."""
    if not told["pair"]:
        return []
    i, j = sorted(told["pair"][0][each] for each in ("label", "answer"))
    table = told["confusions"]
    count = table[i][j] + table[j][i]
    lines = [f"most confused: {classes[i]} and {classes[j]}, {count:,} times; their pictures:"]
    shown = len(told["pair"])  # a class of one picture has none that was left out
    listed = [*told["pair"], *told["confused"][:MOST_NAMED]]
    said = [
        f"  {each['picture']}: {classes[each['answer']]} {each['probability']:.1%}, "
        f"is {classes[each['label']]}"
        for each in listed
    ]
    return [*lines, *said[:shown], "wrong answers, the most probable first:", *said[shown:]]
