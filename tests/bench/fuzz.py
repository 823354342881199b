"""Damaged analyses, films and checkpoints without end: python -m tests.bench.fuzz --minutes 10

Each case is a file with bytes turned, the end cut off, a tensor or a field of another type. It must
be refused in a sentence, or be whole enough for everything that a page reads; any other exception
ends the run with the number of the case, which `tests/test_damaged.py` makes again.
"""

import argparse
import contextlib
import io
import random
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from tests.test_damaged import FILES, damaged


def main() -> None:
    """Try kinds of files in turn until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--first", type=int, help="number of the first case (default: by chance)")
    arguments = parser.parse_args()
    case = random.randrange(10**9) if arguments.first is None else arguments.first
    began, tried = time.monotonic(), Counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # damaged numbers overflow
        made = {}
        for name, (make, key, read) in FILES.items():
            (inside := Path(folder, name)).mkdir()
            path = make(inside)
            made[name] = path, path.read_bytes(), key, read
        while time.monotonic() - began < 60 * arguments.minutes:
            for name, (path, whole, key, read) in made.items():
                damaged(path, whole, key, case)
                try:
                    with contextlib.redirect_stderr(io.StringIO()):
                        read(path)
                except Exception:
                    print(f"{name}: case {case}")
                    raise
                tried[name] += 1
            case += 1
    counts = ", ".join(f"{count} x {name}" for name, count in tried.items())
    print(f"{(time.monotonic() - began) / 60:.1f} minutes, nothing but sentences: {counts}")


if __name__ == "__main__":
    main()
