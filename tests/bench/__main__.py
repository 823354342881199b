"""`python -m tests.bench`: what looking inside costs, how fast viewer and app are, and what holds.

Prints Markdown. Ratios are taken pair by pair, one run of each kind after the other in changing
order, so that a busy machine slows both sides alike; times alone say little on such a machine.
"""

import argparse
import os
import platform
import subprocess
import sys

import torch


def main() -> None:
    """Run the parts that are named, all of them by default."""
    in_browser = ("viewer", "large", "paint", "start", "arrive")
    parts = (
        "analysis",
        "many",
        "engine",
        "learn",
        *in_browser,
        "here",
        "living",
        "playing",
        "classroom",
        "faults",
    )
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("part", nargs="*", help=", ".join(parts))
    parser.add_argument("--rounds", type=int, default=15, help="pairs per ratio (default: 15)")
    arguments = parser.parse_args()
    chosen = arguments.part or parts
    if unknown := set(chosen) - set(parts):
        parser.error(f"unknown part {', '.join(unknown)}; there are {', '.join(parts)}")
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"torch {torch.__version__}, load {os.getloadavg()[0]:.1f}\n"
    )
    if "analysis" in chosen:
        # The number of threads can be set once per process, reliably only before the first product.
        for threads in (1, 2):
            command = [sys.executable, "-m", "tests.bench.analysis", str(threads)]
            environ = {**os.environ, "OMP_NUM_THREADS": str(threads)}
            subprocess.run([*command, str(arguments.rounds)], env=environ, check=True)
    if "many" in chosen:
        command = [sys.executable, "-m", "tests.bench.many", str(arguments.rounds)]
        subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "2"}, check=True)
    if "engine" in chosen:
        from tests.bench.engine import engine

        engine(arguments.rounds)
    if "learn" in chosen:
        from tests.bench.learn import learn

        learn()
    if "playing" in chosen:
        from tests.bench.playing import playing

        playing()
    if "classroom" in chosen:
        from tests.bench.classroom import classroom

        classroom()
    if to_open := [part for part in in_browser if part in chosen]:
        from tests.bench import browser

        for part in to_open:
            getattr(browser, part)()
    if "here" in chosen:
        from tests.bench.here import here

        here()
    if "living" in chosen:
        from tests.bench.here import living

        living()
    if "faults" in chosen:
        from tests.bench.faults import FAULTS, faults

        sys.exit(faults([*FAULTS]))


main()
