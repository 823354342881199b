"""The grammar of the command line: `vitviz WORD ...`, and what may follow each word."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from . import __version__
from .arguments import Arguments, guess, number, print_any_character, whole_number
from .errors import VitvizError, disk_has_room
from .languages import dictionary
from .model.key import read_size
from .model.menu import DEFAULT_MODEL, list_models
from .model.weight_options import add_weight_options, json_value, weight_options
from .stopping import signals_raise
from .whole import is_there

if TYPE_CHECKING:
    from .model.photo import Photo

# Modules that import torch are imported by the word that needs them: --help need not wait for it.

USAGE = "vitviz WORD ...\n       vitviz PHOTO ...    (the same as vitviz look PHOTO ...)"
EPILOG = """\
vitviz WORD --help says what may follow the word. Where the command vitviz is not installed,
python -m vitviz is the same. A photo whose file is named like a word is ./WORD.
"""
LOOK = """\
Run a Vision Transformer once on a photo and write down what happened inside:

  summary.json           model, sizes, shapes, the most probable classes
  analysis.safetensors   every number; read it with vitviz.Analysis.load
  *.png                  figures: patches, attention (of one head, a layer, all layers; as a whole
                         map; of every head as a dot), a pair of query and key if a head is named,
                         rollout, positions, features, predictions and their logit lens; of the
                         model what was measured, and the film of its training
  explain.json           with --explain: how much every token matters, by each explainer
"""
EXAMPLE = re.compile(r"[a-z][a-z-]{0,29}")  # possible name of an example
FIGURES = (
    *("patches", "attention", "heads", "wall", "matrix", "statistics", "rollout", "features"),
    *("pair", "patch", "pooling", "positions", "predictions", "lens", "measured", "explain"),
    "training",
)
LOOK_EPILOG = """\
Without --out every photo has a folder of its own: where two would have the same name (a/dog.jpg and
b/dog.jpg), the second one ends in -2, and the output says so. A folder named with --out is written
to only if it is new, empty, or holds what vitviz wrote for the same photo and model. --force writes
into the folder of that name, whatever it holds, and replaces files of the same names, and nothing
else.

Several photos, or a folder of them, go into folders in one folder, which without --out is called
vitviz-look-MODEL. A table of the answers comes at the end, and on stderr a sentence for each photo
that cannot be read; the exit status is 1 then.

examples:
  vitviz look cat.jpg
  vitviz look *.jpg photos/ --no-figures
  vitviz look cat dog --only attention rollout
  vitviz look cat.jpg --untrained
  vitviz look cat.jpg --layer 5 --head 2 --token 7,7 --format svg --out slides
  vitviz look cat.jpg --explain generic occlusion --target tabby
  vitviz look cat.jpg --explain generic --like dog.jpg
  vitviz look cat.jpg --remove 64,65,76,77 --head-off 5,2
"""
SURVEY = """\
Run a Vision Transformer over many pictures, and write what it does with them:

  MODEL-heads.csv     how far every head looks (mean attention distance, in pixels), with the
                      standard error over the pictures
  MODEL-pictures.csv  the answer to each picture, its probability, and the sentence for a broken one
  MODEL.jsonl         all numbers of each picture; a survey that was stopped goes on from it
  figure7.png         how far every head looks, by layer
"""
SURVEY_EPILOG = """\
The exit status is 1 if some pictures cannot be read; a sentence for each is on stderr.

examples:
  vitviz survey photos/ --twin
  vitviz survey val/ --labels-of-folders --model deit_tiny_patch16_224 --measures entropy attention
"""
TEACH = """\
Teach a Vision Transformer classes of your own: a linear head (logistic regression) on the features
of pictures that lie in a folder for each class. Printed are how many pictures it answers rightly
that were left out of the fit in turn, which classes are confused, and the worst pictures by name.
"""
TEACH_EPILOG = """\
FILE opens wherever a model does: vitviz look --model FILE, vitviz serve, vitviz.load(FILE). The
exit status is 1 if some pictures cannot be read; a sentence for each is on stderr.

examples:
  vitviz teach things/ -o things.safetensors
  vitviz teach things/ --model vit_small_patch14_dinov2 -o things.safetensors --test others/
"""
# Keys of the explainers, read off their sentences, because the list itself needs torch.
SENTENCE = "explainer_"
EXPLAINER_KEYS = [
    key.removeprefix(SENTENCE)
    for key in dictionary("en", "experiments")
    if key.startswith(SENTENCE)
]


def look(argv: Sequence[str]) -> int:
    arguments = look_options().parse_args(argv)
    arguments.photo = _pictures(arguments.photo)
    arguments.like = None if arguments.like is None else _pictures([arguments.like])[0]
    from .look import look

    return look(arguments)


def survey(argv: Sequence[str]) -> int:
    arguments = survey_options().parse_args(argv)
    arguments.pictures = _pictures(arguments.pictures)
    from .surveys import write_survey

    return write_survey(arguments)


def teach(argv: Sequence[str]) -> int:
    arguments = teach_options().parse_args(argv)
    from .teaching import write_taught

    return write_taught(arguments)


def _pictures(photos: Sequence[str]) -> "list[str | Photo]":
    """Replace names of examples (cat, digit, ...) by their files, and - by the picture from a pipe;
    other arguments are files.
    """
    return [
        _piped() if photo == "-" else _example(photo) if EXAMPLE.fullmatch(photo) else photo
        for photo in photos
    ]


def _piped() -> "Photo":
    from .model.photo import open_photo

    if sys.stdin is None:
        raise VitvizError("there is nothing to read: the standard input is closed")
    return open_photo(sys.stdin.buffer, "piped")


def _example(name: str) -> str:
    from .web.store.examples import EXAMPLES

    files = {Path(example.path).stem: example.path for example in EXAMPLES}
    return name if is_there(Path(name)) else files.get(name, name)


def serve(argv: Sequence[str]) -> None:
    from .web.command import serve_page

    serve_page(argv)


def site(argv: Sequence[str]) -> None:
    from .site.command import site

    site(argv)


def train(argv: Sequence[str]) -> int:
    from .train.command import main

    return main([*argv])


def exercise(argv: Sequence[str]) -> int:
    from .exercise.command import exercise

    return exercise(argv)


def summary(argv: Sequence[str]) -> None:
    options = Arguments("vitviz summary", description="Print every layer: shape and parameters.")
    told = "as --model of vitviz look; weights of timm are not downloaded"
    options.add_argument("model", metavar="MODEL", help=told)
    _add_weights(options)
    arguments = options.parse_args(argv)
    from .layers import layer_table

    weights = weight_options(arguments)
    print(layer_table(arguments.model, not arguments.untrained, arguments.image_size, **weights))


def models(argv: Sequence[str]) -> None:
    Arguments("vitviz models", description="Print the names that --model takes.").parse_args(argv)
    print("\n".join(list_models()))


class Word(NamedTuple):
    """One word of vitviz: a line and an example for --help, and a function that takes the arguments
    after the word and returns the exit status, or None for 0.
    """

    help: str
    example: str
    run: Callable[[Sequence[str]], int | None]


WORDS = {
    "look": Word("write numbers and figures of photos", "cat.jpg --explain generic", look),
    "survey": Word("measure a model on many pictures", "photos/ --twin", survey),
    "teach": Word("teach a model classes of your own", "things/ -o things.safetensors", teach),
    "serve": Word("start the page, for a browser", "--port 8080", serve),
    "train": Word("train a model, or measure one", "--recipe mnist --download", train),
    "site": Word("write a page that needs no server", "public", site),
    "exercise": Word("write a ViT with gaps to fill in", "my_vit", exercise),
    "summary": Word("print the layers of a model", "vit_base_patch16_224", summary),
    "models": Word("print the names of models", "", models),
}
# Options from before there were words, which were allowed in any place.
WERE_OPTIONS = {"--summary": "summary", "--list-models": "models"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit status: 0, 1 after the sentence of a
    `VitvizError`, 130 after Ctrl-C. Raises `SystemExit` with 2 after a line about a mistake in the
    arguments.
    """
    print_any_character()
    word, rest = parted([*(sys.argv[1:] if argv is None else argv)])
    try:
        with signals_raise(), disk_has_room():
            status = WORDS[word].run(rest) or 0
            sys.stdout.flush()
    except VitvizError as error:
        _discard_output()
        # The message can quote text of several lines.
        print(f"vitviz {word}:", " ".join(str(error).splitlines()), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130  # the exit status of an interrupted program, 128 + SIGINT
    except BrokenPipeError:  # the reader of the output (head, less) has ended
        _discard_output()
        return 1
    return status


def _discard_output() -> None:
    """Discard output that cannot be written: Python would try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parted(argv: list[str]) -> tuple[str, list[str]]:
    """The word, and the arguments that follow it. A photo or an option needs no word: it is `look`.

    Ends the program with a line for other arguments.
    """
    options = Arguments("vitviz", usage=USAGE, description=table(), epilog=EPILOG)
    options.add_argument("--version", action="version", version=f"vitviz {__version__}")
    if not argv:
        options.error(f"name a photo, or one of the words {', '.join(WORDS)}")
    first = argv[0]
    if first in ("-h", "--help", "--version"):
        options.parse_args(argv)
    if first in WORDS:
        if os.path.isfile(first):  # noqa: PTH113 (Path raises in a folder that may not be entered)
            line = f"vitviz: {first} is a word here; the file of that name is ./{first}"
            print(line, file=sys.stderr)
        return first, argv[1:]
    for place, argument in enumerate(argv):
        option, _, value = argument.partition("=")
        if option in WERE_OPTIONS:
            before = [*argv[:place], *filter(None, [value])]
            return WERE_OPTIONS[option], [*before, *argv[place + 1 :]]
    plain = first.isalpha() and len(first) < 30  # no path, no option
    if plain and not is_there(Path(_example(first))):
        known = f"one of the words {', '.join(WORDS)}{guess(first, WORDS)}"
        options.error(f"{first!r} is neither a file nor {known}")
    return "look", argv


def table() -> str:
    """The words, one line each, with an example."""
    rows = [(name, entry.help, f"vitviz {name} {entry.example}") for name, entry in WORDS.items()]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"  {name:{wide[0]}}  {help:{wide[1]}}  {example}" for name, help, example in rows]
    return "\n".join(["Take a Vision Transformer apart.\n", *map(str.rstrip, lines)])


def look_options() -> Arguments:
    usage = "%(prog)s PHOTO ... [--OPTION VALUE ...]"
    result = Arguments("vitviz look", usage=usage, description=LOOK, epilog=LOOK_EPILOG)
    add = result.add_argument
    add(
        "photo",
        nargs="+",
        metavar="PHOTO",
        help="an image file, a folder of them, the name of an example (cat), or - for a pipe",
    )
    _add_model(result)
    add(
        "--layer",
        type=whole_number,
        metavar="N",
        help="counted from 0, or from the end as -1 (default: the last layer)",
    )
    add(
        "--head",
        type=_head,
        default="mean",
        metavar="N|mean",
        help="counted from 0 (default: %(default)s)",
    )
    add(
        "--token",
        type=_token,
        metavar="N|cls|ROW,COL",
        help="the token whose attention is drawn: its number, cls, or a patch "
        "(default: cls; for a model without one the patch in the middle)",
    )
    add(
        "--explain",
        metavar="KEY",
        nargs="+",
        choices=[*EXPLAINER_KEYS, "all"],
        help=f"why this class: maps of {', '.join(EXPLAINER_KEYS)}, or all; explain.json and a "
        "figure",
    )
    add("--target", metavar="CLASS", help="the class that --explain explains (default: the answer)")
    add(
        "--like",
        metavar="PHOTO",
        help="in place of a class --explain explains the likeness to this picture, in the same "
        "model and unchanged; or to the vector in a file .npy, such as that of a text",
    )
    _add_changes(result)
    _add_files(result)
    return result


def _add_files(options: Arguments) -> None:
    """Add the options for the files that are written."""
    add = options.add_argument_group("what is written").add_argument
    add("--out", type=Path, metavar="FOLDER", help="(default: vitviz-PHOTO-MODEL, in this folder)")
    add("--format", choices=("png", "svg", "pdf"), default="png", help="of the figures")
    add(
        "--only",
        nargs="+",
        choices=FIGURES,
        metavar="NAME",
        help=f"only these figures: {', '.join(FIGURES)}",
    )
    add("--no-figures", action="store_true", help="numbers alone, which is much faster")
    add(
        "--json",
        action="store_true",
        help="print the summary of each photo as one line of JSON, and write nothing",
    )
    add("--html", action="store_true", help="write the viewer too, as one page without a server")
    add(
        "--html-engine",
        action="store_true",
        help="the same, with the model in it: the page takes photos and experiments (at most 25 "
        "million parameters)",
    )
    add("--force", action="store_true", help="write into a folder that is not from vitviz")


def survey_options() -> Arguments:
    usage = "%(prog)s FOLDER ... [--OPTION VALUE ...]"
    result = Arguments("vitviz survey", usage=usage, description=SURVEY, epilog=SURVEY_EPILOG)
    add = result.add_argument
    add(
        "pictures",
        nargs="+",
        metavar="FOLDER",
        help="folders of pictures, single ones, or - for a pipe",
    )
    _add_model(result)
    add("--twin", action="store_true", help="the untrained twin too, in the same figure")
    add(
        "--measures",
        nargs="+",
        default=[],
        metavar="NAME",
        help="besides answers and distances: entropy, norms, prefix, fooled, or the key of an "
        "explainer; of each picture they are in MODEL.jsonl, and vitviz.survey averages them; what "
        "each costs is said first",
    )
    add(
        "--labels-of-folders",
        action="store_true",
        help="the folder that a picture lies in is its class",
    )
    add("--batch-size", type=whole_number, metavar="N", help="pictures in one pass of the model")
    add("--out", type=Path, metavar="FOLDER", help="(default: vitviz-survey-MODEL, in this folder)")
    add("--format", choices=("png", "svg", "pdf"), default="png", help="of the figure")
    add("--no-figures", action="store_true", help="tables alone")
    return result


def teach_options() -> Arguments:
    usage = "%(prog)s FOLDER -o FILE [--OPTION VALUE ...]"
    result = Arguments("vitviz teach", usage=usage, description=TEACH, epilog=TEACH_EPILOG)
    add = result.add_argument
    what = "a folder with a folder of pictures each class, or a set that the page saved"
    add("folder", type=Path, metavar="FOLDER", help=what)
    _add_model(result)
    add("-o", "--out", type=Path, metavar="FILE", required=True, help="a new .safetensors file")
    add(
        "--test",
        type=Path,
        metavar="FOLDER",
        help="pictures to test the head with, in such folders, or a set that the page saved",
    )
    add(
        "--penalty",
        type=_penalty,
        metavar="X|cv",
        help="strength of the L2 penalty; cv: the best of seven for left-out pictures (default: "
        "that of the page)",
    )
    pools = ("token", "avg", "token_avg")
    add(
        "--pool",
        choices=pools,
        help="the features: CLS, the mean of patches, both (default: as the model pools)",
    )
    add(
        "--halves",
        action="store_true",
        help="count also the right answers that stay without the middle of the pictures, and "
        "without the rim: does it read the things, or their ground?",
    )
    add("--batch-size", type=whole_number, metavar="N", help="pictures in one pass of the model")
    add("--json", action="store_true", help="print the figures as one line of JSON")
    add("--force", action="store_true", help="replace FILE if it exists")
    return result


def _penalty(text: str) -> float | str:
    return text if text == "cv" else number(text)


def _add_model(options: Arguments) -> None:
    """Add the options for the model, and for the photos it gets."""
    options.add_argument(
        "--model",
        default=DEFAULT_MODEL,
        metavar="NAME",
        help="a name of `vitviz models`, a checkpoint file, a folder of Hugging Face transformers, "
        "any timm name, or owner/name of the hub (default: %(default)s)",
    )
    _add_weights(options)
    options.add_argument(
        "--invert",
        action="store_true",
        help="exchange light and dark first: for a dark digit on paper, if the model was taught "
        "white on black",
    )
    options.add_argument(
        "--stretch",
        action="store_true",
        help="spread the levels of a dark picture, such as an X-ray, over the whole range: the "
        "lowest becomes black, the highest white",
    )
    options.add_argument(
        "--verbose",
        action="store_true",
        help="say in one line, on stderr, what was read from the files of the model",
    )
    options.add_argument(
        "--device", metavar="NAME", help="such as cpu or cuda:1 (default: a GPU, if there is one)"
    )


def _add_changes(options: Arguments) -> None:
    """Add the options for changes of the pass."""
    change = options.add_argument_group("changes to the pass (patches, layers, heads count from 0)")
    change.add_argument("--remove", type=_numbers, metavar="N,N", help="take these patches out")
    change.add_argument("--keep", type=_numbers, metavar="N,N", help="take all other patches out")
    kinds = ("off", "shuffled", "learned-off", "rotary-off")
    change.add_argument("--positions", choices=kinds, help="change the positions")
    change.add_argument(
        "--shuffle", type=whole_number, metavar="N", help="shuffle the picture in cells of N x N"
    )
    change.add_argument(
        "--head-off",
        type=_layer_and_head,
        metavar="LAYER,HEAD",
        action="append",
        default=[],
        help="may be repeated",
    )
    change.add_argument(
        "--intervene",
        type=json_value,
        metavar="JSON",
        help='any list of changes but a transplant, say \'[{"kind": "even", "rows": "cls"}]\' '
        "(vitviz/probe/intervene/intervention.py); those above come first",
    )


def _add_weights(options: Arguments) -> None:
    """Add the options for a model besides its name."""
    options.add_argument(
        "--untrained",
        action="store_true",
        help="with the random weights that the model's training began with",
    )
    options.add_argument(
        "--image-size",
        type=_size,
        metavar="N|HxW",
        help="pixels of the picture that the model sees, such as 144 or 144x192 (height x width), "
        "in more or fewer patches of the same size (default: the model's own)",
    )
    add_weight_options(options)


def _size(text: str) -> tuple[int, int]:
    try:
        return read_size(text)
    except VitvizError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _head(text: str) -> int | None:
    return None if text == "mean" else _numbers(text, 'a number or "mean" is', (1,))[0]


def _token(text: str) -> str | list[int]:
    expected = 'a number, "cls", or a patch as ROW,COL is'
    return text if text == "cls" else _numbers(text, expected, (1, 2))


def _layer_and_head(text: str) -> list[int]:
    return _numbers(text, "LAYER,HEAD is", (2,))


def _numbers(
    text: str, expected: str = "numbers with commas between are", counts: Sequence[int] = ()
) -> list[int]:
    """Whole numbers with commas between; `counts`: the allowed numbers of them, () for any."""
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or (counts and len(found) not in counts):
        raise argparse.ArgumentTypeError(f"{expected} expected, got {text[:80]!r}")
    return found
