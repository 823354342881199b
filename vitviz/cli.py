"""The command line: `python -m vitviz photo.jpg` writes numbers and figures into a folder."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from . import __version__
from .errors import VitvizError
from .model.checkpoints import CHECKPOINT_SUFFIXES
from .model.json_values import parse
from .model.weights import CURATED, DEFAULT_MODEL, list_models, load
from .probe.analysis import Analysis, analyze
from .probe.explain import EXPLAINERS
from .probe.film import Film
from .probe.intervention import read as read_interventions
from .probe.measurements import measurements_of

DESCRIPTION = """\
Run a Vision Transformer once on a photo and write down what happened inside:

  summary.json           model, sizes, shapes, the most probable classes
  analysis.safetensors   every number; read it with vitviz.Analysis.load
  *.png                  figures: patches, attention (of one head, a layer, all layers; as a whole
                         map; of every head as a dot), a pair of query and key if a head is named,
                         rollout, positions, features, predictions and their logit lens; of the
                         model what was measured, and the film of its training
  explain.json           with --explain: how much every token matters, by each explainer
"""
EPILOG = """\
Without --out every photo has a folder of its own: where two would have the same name (a/dog.jpg and
b/dog.jpg), the second one ends in -2, and the output says so. A folder named with --out is written
to only if it is new, empty, or holds what vitviz wrote for the same photo and model. --force writes
into the folder of that name, whatever it holds, and replaces files of the same names, and nothing
else.

examples:
  python -m vitviz cat.jpg
  python -m vitviz cat.jpg --untrained
  python -m vitviz cat.jpg --layer 5 --head 2 --token 7,7 --format svg --out slides
  python -m vitviz cat.jpg --explain generic occlusion --target "tabby cat"
  python -m vitviz cat.jpg --remove 64,65,76,77 --head-off 5,2
  python -m vitviz --summary vit_base_patch16_224
"""
ANALYSIS = "analysis.safetensors"
EXIT_ERROR = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the arguments say; returns the exit code: 0, or 2 after one sentence on stderr."""
    arguments = parser().parse_args(argv)
    # Some versions of argparse take the value of --layer=-- for no value at all.
    given = [value for name, value in vars(arguments).items() if name != "head_off"]
    if [] in given or [] in arguments.head_off:
        parser().error("-- is no value of an option")
    try:
        if arguments.list_models:
            print("\n".join(list_models()))
        elif arguments.summary is not None:
            print(layer_table(arguments.summary, not arguments.untrained))
        elif arguments.photo is None:
            parser().error("name a photo, or one of --summary, --list-models, --version, --help")
        else:
            run(arguments)
        sys.stdout.flush()
    except VitvizError as error:
        # What it quotes can have more than one line.
        print("vitviz:", " ".join(str(error).splitlines()), file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return 130  # the exit status of an interrupted program, 128 + SIGINT
    except BrokenPipeError:  # the reader of the output (head, less) has ended; discard the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m vitviz",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = result.add_argument
    add("photo", nargs="?", metavar="PHOTO", help="an image file")
    add("--version", action="version", version=f"vitviz {__version__}")
    add("--list-models", action="store_true", help="print the names --model takes, and exit")
    add("--summary", metavar="MODEL", help="print a model's layers, without a download, and exit")
    add(
        "--model",
        default=DEFAULT_MODEL,
        metavar="NAME",
        help="a name of --list-models, a checkpoint file, any timm name, hf-hub:... or "
        "local-dir:... (default: %(default)s)",
    )
    add(
        "--untrained",
        action="store_true",
        help="with the random weights that the model's training began with",
    )
    add(
        "--invert",
        action="store_true",
        help="exchange light and dark first: for a dark digit on paper, if the model was taught "
        "white on black",
    )
    add("--layer", type=int, metavar="N", help="counted from 0 (default: the last layer)")
    add("--head", default="mean", metavar="N|mean", help="counted from 0 (default: %(default)s)")
    add(
        "--token",
        metavar="N|cls|ROW,COL",
        help="the token whose attention is drawn: its number, cls, or a patch "
        "(default: cls; for a model without one the patch in the middle)",
    )
    add(
        "--explain",
        metavar="KEY",
        nargs="+",
        choices=[*EXPLAINERS, "all"],
        help=f"why this class: maps of {', '.join(EXPLAINERS)}, or all; explain.json and a figure",
    )
    add("--target", metavar="CLASS", help="the class that --explain explains (default: the answer)")
    change = result.add_argument_group("changes to the pass (patches, layers, heads count from 0)")
    change.add_argument("--remove", metavar="N,N", help="take these patches out")
    change.add_argument("--keep", metavar="N,N", help="take all other patches out")
    change.add_argument("--positions", choices=("off", "shuffled"), help="change the positions")
    change.add_argument("--shuffle", metavar="N", help="shuffle the picture in cells of N x N")
    change.add_argument(
        "--head-off", metavar="LAYER,HEAD", action="append", default=[], help="may be repeated"
    )
    change.add_argument(
        "--intervene",
        metavar="JSON",
        help='any list of changes, say \'[{"kind": "even", "rows": "cls"}]\' '
        "(vitviz/probe/intervention.py); those above come first",
    )
    add("--out", type=Path, metavar="FOLDER", help="(default: vitviz-PHOTO-MODEL, in this folder)")
    add("--format", choices=("png", "svg", "pdf"), default="png", help="of the figures")
    add("--html", action="store_true", help="write the viewer too, as one page without a server")
    add("--force", action="store_true", help="write into a folder that is not from vitviz")
    return result


def run(arguments: argparse.Namespace) -> None:
    """Analyze the photo, write all files, print the predictions and the paths."""
    model = _word(arguments.model) + ("-untrained" if arguments.untrained else "")
    changes = interventions(arguments)
    model += "-inverted" if arguments.invert else ""
    model += "-changed" if changes else ""
    default = Path(f"vitviz-{_word(arguments.photo)}-{model}")
    loaded = load(arguments.model, pretrained=not arguments.untrained)
    analysis = analyze(
        loaded, Path(arguments.photo), invert=arguments.invert, interventions=changes
    )
    layer = choose_layer(analysis, arguments.layer)
    head = choose_head(analysis, arguments.head)
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
            notes.append(f"{default} holds {other}: {arguments.photo} goes to {folder}")
    else:
        folder = arguments.out or default
        claim(folder, analysis, force=arguments.force)
    for note in notes:
        print(f"note: {note}")
    if analysis.interventions:
        print(analysis.changes())
    for answer in analysis.predictions():
        print(f"{answer.probability:7.1%}  {answer.label}")
    if (sentence := analysis.not_taught()) is not None:
        told = analysis.known_or_not()
        print(sentence)
        print(f"(score {told.score:.3g}, below the model's threshold of {told.threshold:.3g})")
    elif (phrase := analysis.answer()) is not None and phrase.sure is False:
        print(f"not sure: the best guess is {phrase.name}, {phrase.probability:.1%}")
    options = (arguments.format, arguments.html, explained)
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
) -> list[Path]:
    """Write numbers and figures into a folder that exists; returns the files, in order.

    `explained`: the keys of explainers and the class that they explain.
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
        _write_text(paths[-1], page(analysis))
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
    """The changes that the options name, in JSON's types. Raises `VitvizError` for other text."""
    changes: list[dict[str, Any]] = []
    for kind in ("remove", "keep"):
        if (text := getattr(arguments, kind)) is not None:
            changes.append({"kind": kind, "patches": _whole_numbers(text, f"--{kind}")})
    if arguments.positions:
        changes.append({"kind": "positions", "by": arguments.positions})
    if arguments.shuffle is not None:
        side = _number(arguments.shuffle, "--shuffle must be a number of patches")
        changes.append({"kind": "shuffle", "cells": side})
    for text in arguments.head_off:
        expected = "--head-off must be LAYER,HEAD"
        layer, _, head = text.partition(",")
        layer, head = _number(layer, expected), _number(head, expected)
        changes.append({"kind": "head", "layer": layer, "head": head, "by": "zero"})
    if arguments.intervene is not None:
        try:
            more = parse(arguments.intervene)
        except ValueError as error:
            raise VitvizError(f"--intervene must be JSON: {error}") from None
        changes += [one.to_dict() for one in read_interventions(more)]
    return changes


def _whole_numbers(text: str, option: str) -> list[int]:
    expected = f"{option} must be numbers with commas between"
    return [_number(word, expected) for word in text.split(",")]


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
    now = analysis.photo_name, analysis.card.name, analysis.card.trained
    if before.interventions != analysis.interventions:
        return f"the analysis of {name} by {by}, {before.changes() or 'unchanged'}"
    if (name, card.name, card.trained) != now:
        return f"the analysis of {name} by {by}"
    if not torch.equal(before.picture, analysis.picture):
        return f"the analysis of another {name} by {by}"
    return None


def _unusable(folder: Path, error: OSError) -> VitvizError:
    return VitvizError(f"the folder {folder} cannot be used: {error.strerror}")


def choose_layer(analysis: Analysis, layer: int | None) -> int:
    """The layer asked for, or the last. Raises `SelectionError` if the model has no such layer."""
    return analysis.trace.check_layer(analysis.trace.depth - 1 if layer is None else layer)


def choose_head(analysis: Analysis, text: str) -> int | None:
    """A head's number, or None for "mean". Raises `VitvizError` for anything else."""
    if text == "mean":
        return None
    return analysis.trace.check_head(_number(text, '--head must be a number or "mean"'))


def choose_token(analysis: Analysis, text: str | None) -> int:
    """The token that "7", "cls" or "3,4" means. Raises `VitvizError` if there is no such token."""
    grid, names = analysis.grid, analysis.card.config.prefix_names
    if text is None:
        text = "cls" if "cls_token" in names else f"{grid.rows // 2},{grid.cols // 2}"
    if text == "cls":
        if "cls_token" not in names:
            raise VitvizError(f"{analysis.card.name} has no CLS token; name a patch: --token 0,0")
        return names.index("cls_token")
    expected = '--token must be a number, "cls", or a patch as ROW,COL'
    if "," in text:
        row, _, col = text.partition(",")
        return grid.token(_number(row, expected), _number(col, expected))
    return grid.check(_number(text, expected))


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
    named = target in labels or not target.isdecimal()
    expected = "--target must be the name or the number of a class"
    return wanted, analysis.class_index(target if named else _number(target, expected), wanted[0])


def layer_table(model: str, pretrained: bool = True) -> str:
    """The layers of a model: name, module, output shape, parameters; only block 0 with its parts.

    The title says where the weights are from. Those of a file are read; those of a timm model are
    neither downloaded nor loaded, because the table needs its architecture only.
    `pretrained=False`: the untrained twin. Raises `WeightsError` for a model that vitviz cannot
    load.
    """
    shipped = set(list_models()) - set(CURATED)
    is_file = model in shipped or model.endswith(CHECKPOINT_SUFFIXES)
    loaded = load(model, pretrained=pretrained and is_file, device="cpu")
    source = loaded.card.source
    if pretrained and not is_file:
        source = "timm's architecture, weights not loaded"
    vit, config = loaded.vit, loaded.card.config
    shapes: dict[str, str] = {}
    for name, module in vit.named_modules():
        module.register_forward_hook(
            lambda _m, _i, output, name=name: shapes.update(
                {name: str(tuple(output.shape)) if hasattr(output, "shape") else ""}
            )
        )
    vit(torch.zeros(1, config.in_chans, *config.image_size))

    rows = [("name", "module", "output", "parameters")]
    rows += [(name, "", "", f"{p.numel():,}") for name, p in vit.named_parameters(recurse=False)]
    for name, module in vit.named_modules():
        _, _, inside = name.removeprefix("blocks.").partition(".")
        is_block = name.startswith("blocks.") and not inside
        if inside and name.startswith("blocks.") and not name.startswith("blocks.0."):
            continue  # the same as in block 0
        own = sum(p.numel() for p in module.parameters(recurse=is_block))
        if not name or not own:
            continue
        # `patch_embed.proj` is used as a matrix and never called: its parent has the shape.
        shape = shapes.get(name) or shapes[name.rpartition(".")[0]]
        rows.append((name, type(module).__name__, shape, f"{own:,}"))
    total = loaded.card.num_parameters
    rows.append(("all", "ViT", shapes[""], f"{total:,}"))

    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = [
        f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]:{widths[2]}}  {row[3]:>{widths[3]}}"
        for row in rows
    ]
    title = f"{loaded.card.name}: {source}"
    rule = "-" * len(lines[0])
    return "\n".join([title, rule, lines[0], rule, *lines[1:-1], rule, lines[-1]])


def _number(text: str, expected: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise VitvizError(f"{expected}, got {text[:80]!r}") from None


def _word(name: str) -> str:
    """A path or model name as letters, digits and hyphens, for the name of a folder."""
    stem = Path(name).name.removesuffix(Path(name).suffix) or name
    return "".join(letter if letter.isalnum() else "-" for letter in stem).strip("-") or "photo"


def _write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise VitvizError(f"{path} could not be written: {error.strerror}") from error
