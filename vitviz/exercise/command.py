"""The command `vitviz exercise`: a Vision Transformer with nine gaps, to be filled in."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from ..arguments import Arguments
from ..languages import languages, spoken
from .writing import FILE, write_exercise

DESCRIPTION = f"""\
Write a Vision Transformer of some 100 lines with nine gaps, as {FILE} and as a notebook. Fill the
gaps in; with --check it says of each whether it is right, and at the end whether the whole is the
Vision Transformer of vitviz, with the shipped weights. With --train it learns digits, in half a
minute, and is kept as it was before and after, for the page.
"""
EPILOG = f"""\
The exit status of --check is 1 until everything is right; --train checks first.

examples:
  vitviz exercise my_vit
  vitviz exercise --check my_vit/{FILE}
  vitviz exercise --train my_vit/{FILE}
"""


def exercise(argv: Sequence[str]) -> int:
    """Write the exercise, or check or train one that somebody has filled in."""
    options = Arguments("vitviz exercise", description=DESCRIPTION, epilog=EPILOG)
    options.add_argument("path", metavar="PATH", help="the folder to write, or the file to run")
    doing = options.add_mutually_exclusive_group()
    doing.add_argument("--check", action="store_true", help="check the file, which is run")
    doing.add_argument("--train", action="store_true", help="train the ViT of the file with digits")
    choice = f"{' or '.join(languages())} (default: en)"
    options.add_argument("--language", metavar="TAG", default="en", help=choice)
    arguments = options.parse_args(argv)
    if not spoken(arguments.language):
        options.error(f"--language is one of {', '.join(languages())}, got {arguments.language!r}")
    if arguments.check or arguments.train:
        from .checking import check, run_file, vit_of  # imports torch

        names = run_file(arguments.path)
        report = check(vit_of(names, arguments.path), arguments.language)
        print(report)
        if arguments.train and report.right:
            _train(Path(arguments.path), names)
        return 0 if report.right else 1
    file, notebook = write_exercise(arguments.path, arguments.language)
    print(f"fill in the gaps of {file}, and see which are right with")
    print(f"  vitviz exercise --check {file}")
    print(f"or open {notebook} in Jupyter, whose last cells do the same and train it")
    return 0


def _train(path: Path, names: Mapping[str, Any]) -> None:
    from ..model.menu import name_of
    from .training import train_file

    print()
    after, before = train_file(path, names)
    shown = {"model": name_of(after), "example": "digit", "panel": "attention"}
    link = urlencode({**shown, "beside": f"model-{name_of(before)}"}, quote_via=quote)
    print("\nput both on the menu of the page:")
    print(f"  {shlex.join(['vitviz', 'serve', '--model', str(after), '--model', str(before)])}")
    print(f"and see one beside the other, at its address with this behind it:\n  /?{link}")
