"""`vitviz train`: choose a recipe, change what you like, get a file for vitviz."""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from ..arguments import Arguments, number, print_any_character, whole_number
from ..errors import VitvizError, disk_has_room
from ..languages import Message
from ..model.loaded import KNOWN_OR_NOT
from ..model.menu import FILM_SUFFIX
from ..model.weights import save_checkpoint
from ..probe.explain.explainers import EXPLAINERS
from ..whole import at_home, writes_whole
from .checkpoint import check_new
from .comparison import PICTURES
from .dataset import TORCHVISION, Pictures, read
from .errors import TrainError, writing
from .filming import FILM
from .loop import SAVE_EVERY, Stopped, Trained, train
from .measure import evaluate
from .others import Others, split_others
from .precision import bfloat16_is_slow
from .processes import first, how_started
from .recipe import Recipe
from .recipes import RECIPES, TITLES
from .report import measurements, say

USUAL = "mnist"  # recipe
# The fields of a recipe that have an option by their name; the others have options of their own.
OF_RECIPE = {field.name for field in fields(Recipe)} - {"name", "data", "others"}
EPILOG = """\
A run is kept in the folder --out:

  log.jsonl             one JSON object per line: loss, accuracy, learning rate, images per second
  state.pt              weights, optimisers and step, written after every epoch and every
                        --save-every minutes, for --resume
  state-high.pt         the same before the learning rate falls (stable schedule): --resume with
                        other --epochs goes on from it, so a run that is done can become longer
  film.safetensors      about 20 moments of positions and attention
  NAME.safetensors      at the end: the model and all that is known of it; vitviz.load reads it
  NAME.film.safetensors the film beside it, where the app looks for it

Ctrl-C ends a run after the current step and saves it, and so does a closed terminal. A run that was
killed goes on from the last state written; either way it ends as if it had never stopped.

examples:
  python -m vitviz.train --recipe mnist --download
  python -m vitviz.train --recipe photos --data my/pictures --others my/others --epochs 50
  torchrun --standalone --nproc-per-node 2 -m vitviz.train --recipe mnist
  python -m vitviz.train --recipe mnist --resume
  python -m vitviz.train --evaluate runs/mnist/mnist.safetensors --data mnist
  python -m vitviz.train --evaluate photos --data my/pictures --explainers all --out runs/maps
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command. The exit status is 0, 1 after an error with a sentence, 130 after Ctrl-C,
    143 or 129 after a run that SIGTERM or a closed terminal stopped and that is saved.
    """
    print_any_character()
    argv = sys.argv[1:] if argv is None else argv
    args = parser().parse_args(argv)
    try:
        with disk_has_room():
            _do(args)
    except Stopped as stopped:
        if first():
            again = [a for a in argv if a != "--resume"] + ["--resume"] * stopped.resumes
            tell(f"{stopped}. Go on with:\n  {how_started()} -m vitviz.train {shlex.join(again)}")
        return 128 + stopped.number
    except KeyboardInterrupt:
        return 130
    except VitvizError as error:
        tell(str(error))
        return 1
    return 0


def _do(args: argparse.Namespace) -> None:
    if args.out is not None:
        args.out = at_home(args.out)
    if args.evaluate is not None:
        training = OF_RECIPE - {"unseen", "seed"} | {"film", "recipe", "resume", "save_every"}
        _refuse(args, training, "only for a training, not with --evaluate")
        if not args.explainers:
            _refuse(args, {"out", "pictures"}, "only with --explainers, or for a training")
        if not args.others:
            _refuse(args, {"seed", "unseen"}, "only with --others, or for a training")
        if "unseen" not in args:
            _refuse(args, {"seed"}, "only with --unseen, or for a training")
        evaluate(args)
        return
    measuring = {"json", "photographs", "calibrate", "explainers", "pictures"}
    _refuse(args, measuring, "only with --evaluate, of a model that is trained")
    train_and_save(args)


def _refuse(args: argparse.Namespace, names: set[str], why: str) -> None:
    """Raise `TrainError` if any of these options was given: it would be passed over."""
    given = {
        name
        for name, value in vars(args).items()
        if name in OF_RECIPE or not (value is None or value is False or value == [])
    }
    if ignored := sorted(given & names):
        named = ", ".join(f"--{name.replace('_', '-')}" for name in ignored)
        raise TrainError(f"{named}: {why}")


def tell(sentence: str) -> None:
    """Print a message to stderr, apart from the results on stdout."""
    print(f"vitviz train: {sentence}", file=sys.stderr)  # noqa: T201


def parser() -> argparse.ArgumentParser:
    """Every field of a recipe is an option, so that --help is the list of what can be tried."""
    top = Arguments(
        "vitviz train",
        usage="%(prog)s [--recipe NAME] [--data DATA] [--out FOLDER] [--resume] [--FIELD VALUE ...]"
        "\n       %(prog)s --evaluate CHECKPOINT --data DATA [--others DATA] [--json FILE]"
        "\n           [--photographs FOLDER [--calibrate]]"
        "\n       %(prog)s --evaluate CHECKPOINT --data DATA --explainers KEY ... [--pictures N]",
        description="Train a small Vision Transformer, or measure one.",
        epilog=EPILOG,
    )
    _add_run(top)
    _add_measuring(top)
    _add_recipe(top)
    return top


def _add_run(options: Arguments) -> None:
    """Add the options for the input and output of a training."""
    options.add_argument("--recipe", choices=RECIPES, help=f"(default: {USUAL})")
    options.add_argument(
        "--data",
        help=f"digits (4,000 of MNIST, which come along), {', '.join(TORCHVISION)}, "
        "a folder of pictures (train/CLASS/*, val/CLASS/*), or a folder of .npz packs "
        "(default: the recipe's)",
    )
    options.add_argument(
        "--others",
        metavar="DATA",
        help="pictures that show none of the classes, in any form of --data (default: the "
        "recipe's); with --evaluate: measure how well the model tells them from its own",
    )
    options.add_argument(
        "--data-dir", default="data", help="where named data sets are (default: %(default)s)"
    )
    options.add_argument(
        "--download", action="store_true", help="fetch a named data set if it is missing"
    )
    options.add_argument("--out", type=Path, help="folder of the run (default: runs/RECIPE)")
    options.add_argument("--resume", action="store_true", help="go on with the run in --out")
    options.add_argument(
        "--save-every",
        type=number,
        metavar="MINUTES",
        help=f"write the state so often within an epoch (default: {SAVE_EVERY:g})",
    )
    options.add_argument(
        "--film",
        metavar="PICTURE",
        nargs="+",
        type=Path,
        default=[],
        help="pictures on which the film of the training is taken; it carries them with it "
        "(default: three test pictures; with --resume those of the film so far)",
    )


def _add_measuring(options: Arguments) -> None:
    """Add the options for measuring a trained model."""
    options.add_argument(
        "--evaluate",
        metavar="CHECKPOINT",
        help="no training: measure this model on the test pictures of --data",
    )
    options.add_argument(
        "--json", type=Path, metavar="FILE", help="with --evaluate: write all figures here as well"
    )
    options.add_argument(
        "--photographs",
        type=Path,
        metavar="FOLDER",
        help="with --evaluate: measure also how many of these large photographs the model takes "
        'for known; its photographs.json is a list of {"file", "index"}, the number of the class '
        "or null",
    )
    options.add_argument(
        "--calibrate",
        action="store_true",
        help="with --photographs and --others: lower the threshold in CHECKPOINT so that it keeps "
        "95 %% of the known photographs too, find the probability from which an answer is told "
        "plainly, and write all figures into it",
    )
    options.add_argument(
        "--explainers",
        metavar="KEY",
        nargs="+",
        choices=[*EXPLAINERS, "all"],
        help="with --evaluate: fair tests of these explainers, or of all, instead; --out gets "
        "table.md and table.json, and a test that was stopped goes on",
    )
    options.add_argument(
        "--pictures",
        type=whole_number,
        metavar="N",
        help=f"with --explainers: on so many pictures (default: {PICTURES}; 0: all)",
    )


def _add_recipe(options: Arguments) -> None:
    """One option for each field of a recipe; without it, the recipe's own value."""
    group = options.add_argument_group("the recipe, field by field")
    for field in fields(Recipe):
        if field.name not in OF_RECIPE:
            continue
        kinds: dict[Any, Any] = {bool: _yes_or_no, int: whole_number, float: number}
        kind = kinds.get(field.type, field.type)
        group.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=kind,
            choices=field.metadata["choices"] or None,
            help=f"{field.metadata['help']} ({_in_the_recipes(field.name)})",
            default=argparse.SUPPRESS,
            metavar=None if field.metadata["choices"] else _PLACEHOLDER[field.type],
        )


_PLACEHOLDER: dict[Any, str] = {str: "TEXT", int: "N", float: "X", bool: "YES|NO"}


def _in_the_recipes(name: str) -> str:
    """The values of a field in the recipes, in words; one value if all agree."""

    def word(value: object) -> str:
        return ("yes" if value else "no") if isinstance(value, bool) else str(value) or "empty"

    values = {recipe.name: word(getattr(recipe, name)) for recipe in RECIPES.values()}
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{recipe}: {value}" for recipe, value in values.items())


def _yes_or_no(text: str) -> bool:
    if text.lower() not in ("yes", "no", "true", "false"):
        raise argparse.ArgumentTypeError(f"yes or no is expected, got {text!r}")
    return text.lower() in ("yes", "true")


def chosen_recipe(args: argparse.Namespace) -> Recipe:
    """The named recipe, changed by the options of the command line."""
    changes = {name: value for name, value in vars(args).items() if name in OF_RECIPE}
    recipe = RECIPES[args.recipe or USUAL]
    if args.data:
        changes["data"] = Path(args.data).name
        if changes["data"] != recipe.data:  # it shows other things than the recipe's
            changes.setdefault("title", changes["data"])
    if args.others is not None:
        changes["others"] = Path(args.others).name
    return recipe.changed(changes)


def train_and_save(args: argparse.Namespace) -> Path:
    """Train, and write OUT/NAME.safetensors."""
    recipe = chosen_recipe(args)
    folder = args.out or Path("runs") / recipe.name
    if not args.resume:
        check_new(folder)
    data, cut = args.data or recipe.data, recipe.cut()
    where = {"data_dir": args.data_dir, "download": args.download}
    pictures, test = (read(data, split, cut, **where) for split in ("train", "test"))
    others = read_others(args, recipe)
    slow = recipe.precision == "bfloat16" and not torch.cuda.is_available() and bfloat16_is_slow()
    if slow and first():
        tell("this CPU has no fast bfloat16: --precision float32 will be quicker")
    if first():
        parts = [("training", pictures), ("test", test)]
        if others:
            parts += [("training", others.taught), ("test", others.unseen)]
        for part, some in parts:
            if missing := some.missing():
                more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
                tell(f"no {part} picture shows {', '.join(missing[:5])}{more}")
    commit = current_commit()
    trained = train(
        recipe,
        pictures,
        test,
        folder,
        resume=args.resume,
        film=args.film,
        others=others,
        save_every=SAVE_EVERY if args.save_every is None else args.save_every,
    )
    path = folder / f"{recipe.name}.safetensors"
    if not trained.first:
        return path
    save(path, recipe, trained, pictures, test, commit)
    if (folder / FILM).is_file():  # the app looks for it beside the model
        film = path.with_name(f"{recipe.name}{FILM_SUFFIX}")
        with writing(film), writes_whole(film) as partial:
            shutil.copyfile(folder / FILM, partial)
    print(f"{path}: {say(trained.scores)}")  # noqa: T201
    return path


def read_others(args: argparse.Namespace, recipe: Recipe) -> Others | None:
    """The pictures that show none of the classes; None if the recipe names none."""
    data = recipe.others if args.others is None else args.others
    if not data:
        return None
    where = {"data_dir": args.data_dir, "download": args.download}
    train, test = (read(data, split, recipe.cut(), **where) for split in ("train", "test"))
    return split_others(train, test, recipe.unseen, recipe.seed)


def save(
    path: Path, recipe: Recipe, trained: Trained, pictures: Pictures, test: Pictures, commit: str
) -> None:
    """Write the model and the facts about it into the one file that `vitviz.load` reads."""
    details = {"title": TITLES.get(recipe.title, recipe.title)} if recipe.title else {}
    details |= {
        "data": Message(
            "training.data",
            name=pictures.name,
            train=len(pictures),
            test=len(test),
            classes=len(pictures.labels),
        ),
        "recipe": json.dumps(recipe.to_dict()),
        "seed": str(recipe.seed),
        **({"began with": trained.origin} if trained.origin else {}),
        "steps": str(trained.steps),
        "images seen": str(trained.steps * recipe.batch_size),
        **({"others": json.dumps(known_of(trained, trained.others))} if trained.others else {}),
        **({"teacher": json.dumps(trained.teacher)} if trained.teacher else {}),
        "wall time": Message("training.minutes", minutes=f"{trained.seconds / 60:.0f}"),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "torch": torch.__version__,
        "commit": commit,
        "trained": time.strftime("%Y-%m-%d", time.gmtime()),
        "temperature": str(trained.temperature),
        "accuracy": say(trained.scores),
        "evaluation": json.dumps(measurements(trained.report)),
        "terms": pictures.terms,
    }
    if pictures.groups is not None:
        details["groups"] = json.dumps(pictures.groups)
    with writing(path, "the trained state is kept: make room, then write it with --resume"):
        save_checkpoint(
            path,
            trained.vit.state_dict(),
            config=trained.vit.config,
            preprocess=replace(recipe.cut(), mean=trained.mean, std=trained.std),
            labels=pictures.labels,
            details=details,
            words=pictures.words,
        )


def known_of(trained: Trained, others: Others) -> dict[str, Any]:
    """The facts in a checkpoint about pictures of none of its classes: the labels that were trained
    on, those that were kept out, and the least log-sum-exp of the logits of a known picture.
    """
    facts: dict[str, Any] = {
        "data": others.taught.name,
        "taught": list(others.taught.labels),
        "unseen": list(others.unseen.labels),
        "score": KNOWN_OR_NOT,
    }
    return facts if trained.limit is None else facts | {"threshold": trained.limit}


def current_commit() -> str:
    """The commit of the code that trains, with "+" if the code was changed since; "unknown" outside
    a clone.
    """
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(here), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)  # not in the clone of others
        changed = git("status", "--porcelain", "--", ".", "../model")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
