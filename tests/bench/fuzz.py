"""Damaged analyses, films and checkpoints without end: python -m tests.bench.fuzz --minutes 10

`--page 200` gives so many damaged checkpoints of digits to the playground of the page in Chromium.

Each case is a file with bytes turned, the end cut off, a tensor or a field of another type. It must
be refused in a sentence, or be whole enough for everything that a page reads; any other exception
ends the run with the number of the case, which `tests/test_damaged.py` makes again.
"""

import argparse
import contextlib
import io
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from tests.bench.browser import chromium
from tests.running import running_app
from tests.test_damaged import FILES, damaged
from vitviz.model.checkpoints import FORMAT
from vitviz.model.menu import WEIGHTS_DIR

# What came of the file NAME: "" while it is read.
OUTCOME = """name => {
    const run = document.querySelector('.vv-play-run[aria-pressed=true] span').textContent;
    const said = document.querySelector('.vv-play-page .vv-play-note').textContent;
    return run === name ? 'used' : said.startsWith('This file is no model') ? 'refused' : '';
}"""


def main() -> None:
    """Try kinds of files in turn until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--first", type=int, help="number of the first case (default: by chance)")
    parser.add_argument("--page", type=int, metavar="N", help="so many files, in the page")
    arguments = parser.parse_args()
    case = random.randrange(10**9) if arguments.first is None else arguments.first
    if arguments.page:
        in_page(range(case, case + arguments.page))
        return
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


def in_page(cases: range) -> None:
    """Give each file to the page, which must use it, or refuse it in a sentence within a minute."""
    whole, tried, complaints = (WEIGHTS_DIR / "mnist.safetensors").read_bytes(), Counter(), []
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder)) as url,
        chromium() as page,
    ):
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda one: one.type == "error" and complaints.append(one.text))
        page.goto(f"{url}?play=standard")
        page.locator(".vv-play-page[data-state=ready]").wait_for(timeout=90_000)
        for case in cases:
            damaged(path := Path(folder, f"case-{case}.safetensors"), whole, FORMAT, case)
            page.locator("input[accept='.safetensors']").set_input_files(path)
            waits = page.wait_for_function(OUTCOME, arg=path.stem, timeout=60_000)
            tried[waits.json_value()] += 1
            if complaints:
                sys.exit(f"case {case}: {complaints}")
    print(f"in the page {tried['used']} used, {tried['refused']} refused, nothing in the console")


if __name__ == "__main__":
    main()
