"""Parse the arguments of a command line: mistakes are answered in one line, and output takes any
character.
"""

import argparse
import io
import os
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn


def print_any_character() -> None:
    """Let this process print "?" for characters that the encoding of stdout lacks, instead of an
    error: output to files on Windows, and on some servers, has a small encoding, but file names can
    have any character. Python handles stderr itself. Output to a closed stream (`>&-`, `2>&-`) is
    discarded.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (until the end)
            setattr(sys, name, nowhere)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


class Arguments(argparse.ArgumentParser):
    """An `ArgumentParser` that shows its texts as they are written. After a mistake it says in one
    line what was wrong and what is allowed, and ends the program with exit status 2.
    """

    def __init__(self, prog: str, **options: Any) -> None:
        raw = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, formatter_class=raw, **options)

    def parse_args(  # type: ignore[override]  # a namespace of another class has no use here
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        args = [*(sys.argv[1:] if args is None else args)]
        for argument in args:  # some versions of argparse take the value of --port=-- for no value
            if argument.startswith("--") and argument.endswith("=--"):
                self.error(f"{argument}: -- is no value of an option")
        found, rest = self.parse_known_args(args, namespace)
        if rest and rest[0].startswith("-"):
            option = rest[0].partition("=")[0]
            close = guess(option, self._option_string_actions)  # private, and in every version
            self.error(f"there is no option {option}{close}")
        if rest:
            self.error(f"{rest[0]!r} is one word too many")
        return found

    def error(self, message: str) -> NoReturn:
        line = " ".join(message.removeprefix("argument ").splitlines())
        self.exit(2, f"{self.prog}: {line}; --help shows what is allowed\n")


def guess(word: str, words: Iterable[str]) -> str:
    """The end of a message about an unknown word: similar words that may have been meant."""
    close = get_close_matches(word.lower(), words, n=2)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def whole_number(text: str) -> int:
    """The type of an option. Raises `ArgumentTypeError` for any other text."""
    return _read(int, text, "a whole number")


def number(text: str) -> float:
    """The type of an option. Raises `ArgumentTypeError` for any other text."""
    return _read(float, text, "a number")


def _read(kind: type, text: str, expected: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{expected} is expected, got {text[:80]!r}") from None
