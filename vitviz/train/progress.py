"""Progress of long work: a bar on a terminal, elsewhere a line of text every half a minute."""

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self, TypeVar

from torch import Tensor
from tqdm import tqdm

from .processes import first

EVERY = 30.0  # seconds between two lines
DELAY = 1.0  # seconds before a bar is drawn
clock = time.monotonic

T = TypeVar("T")


@dataclass
class Last:
    """Clock times shared by all `Progress`, so that many short pieces in a row print lines too."""

    line: float = 0.0  # time of the last printed line, or the start of the first piece
    change: float = float("-inf")  # time of the last start or `add` of any piece


_last = Last()


class Progress:
    """Progress of one piece of work, on stderr: on a terminal a bar, elsewhere lines of text.

    title, unit  the work, and what is counted, a plural
    total, done  the number of these, and how many were done before
    quiet        show nothing; only the first of several processes shows anything
    leave        leave the bar on the terminal at the end
    delay        seconds before the bar is drawn
    """

    def __init__(
        self,
        title: str,
        total: int,
        unit: str = "pictures",
        *,
        done: int = 0,
        quiet: bool = False,
        leave: bool = False,
        delay: float = DELAY,
    ) -> None:
        self.title, self.total, self.unit, self.done = title, total, unit, done
        terminal, quiet = sys.stderr.isatty(), quiet or not first()
        self.lines = not quiet and not terminal
        self.began, self.before = clock(), done
        if self.began - _last.change > EVERY:
            _last.line = self.began
        _last.change = self.began
        self.bar = tqdm(
            desc=title,
            total=total,
            initial=done,
            unit=f" {unit}",
            unit_scale=total > 99_999,
            leave=leave,
            delay=delay,
            disable=quiet or not terminal,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def add(self, count: int = 1, note: str = "") -> None:
        """So many more are done; `note` stands behind the numbers."""
        self.done += count
        if note:
            self.bar.set_postfix_str(note, refresh=False)
        self.bar.update(count)
        now = _last.change = clock()
        if self.lines and now - _last.line >= EVERY:
            _last.line = now
            print(self.line(now, note), file=sys.stderr)  # noqa: T201

    def line(self, now: float, note: str = "") -> str:
        """The progress in words at a time of `clock`."""
        words = f"{self.title}: {self.done:,} of {self.total:,} {self.unit}"
        rate = (self.done - self.before) / max(now - self.began, 1e-9)
        words += f", {rate:,.{0 if rate >= 10 else 1}f} a second"
        if rate and self.done < self.total:
            words += f", {in_words((self.total - self.done) / rate)} to go"
        return f"{words}; {note}" if note else words


def in_words(seconds: float) -> str:
    """A duration with its unit: s, min or h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def watched(
    items: Iterable[T], title: str, total: int, *, done: int = 0, quiet: bool = False
) -> Iterator[T]:
    """The items, one for each picture, with the `Progress` of the work that takes them."""
    with Progress(title, total, done=done, quiet=quiet) as progress:
        for item in items:
            yield item
            progress.add()


def batches(images: Tensor, size: int, title: str) -> Iterator[Tensor]:
    """Pictures (n, ...) in batches of at most `size`, with the `Progress` in pictures."""
    with Progress(title, len(images)) as progress:
        for batch in images.split(size):
            yield batch
            progress.add(len(batch))


def tell(sentence: str) -> None:
    """Print a line above the bars, at once also into a file."""
    tqdm.write(sentence)
    sys.stdout.flush()
