"""The command `vitviz exercise`: a Vision Transformer with seven gaps, to be filled in."""

from collections.abc import Sequence

from ..arguments import Arguments
from ..languages import languages, spoken
from .writing import FILE, write_exercise

DESCRIPTION = f"""\
Write a Vision Transformer of some 80 lines with seven gaps, as {FILE} and as a notebook. Fill the
gaps in; with --check it says of each whether it is right, and at the end whether the whole is the
Vision Transformer of vitviz, with the shipped weights.
"""
EPILOG = f"""\
The exit status of --check is 1 until everything is right.

examples:
  vitviz exercise my_vit
  vitviz exercise --check my_vit/{FILE}
"""


def exercise(argv: Sequence[str]) -> int:
    """Write the exercise, or check one that somebody has filled in."""
    options = Arguments("vitviz exercise", description=DESCRIPTION, epilog=EPILOG)
    options.add_argument("path", metavar="PATH", help="the folder to write, or the file to check")
    options.add_argument("--check", action="store_true", help="check the file, which is run")
    options.add_argument("--language", metavar="TAG", default="en", help="en or ko (default: en)")
    arguments = options.parse_args(argv)
    if not spoken(arguments.language):
        options.error(f"--language is one of {', '.join(languages())}, got {arguments.language!r}")
    if arguments.check:
        from .checking import check_file  # imports torch

        report = check_file(arguments.path, arguments.language)
        print(report)
        return 0 if report.right else 1
    file, notebook = write_exercise(arguments.path, arguments.language)
    print(f"fill in the gaps of {file}, and see which are right with")
    print(f"  vitviz exercise --check {file}")
    print(f"or open {notebook} in Jupyter, whose last cell does the same")
    return 0
