"""Many analyses with models in turn: memory and disk of the app at the start, and at the end.

    python -m tests.bench.endurance --requests 1000

The cache is bounded to 100 MB here, so that the bound is met. Memory is that of the app after the
first hundred answers, and at the end, both after it was left alone for some seconds.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.bench.load import Tally, Visitor, colours, visit
from tests.running import app_process

MODELS = ("photos", "mnist")
BOUND_MB = 100


def main() -> None:
    """Start the app of this checkout, ask, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.endurance", description=__doc__)
    parser.add_argument("--requests", type=int, default=1000)
    requests = parser.parse_args().requests
    environ = {"VITVIZ_CACHE_MB": str(BOUND_MB)}
    with (
        tempfile.TemporaryDirectory() as folder,
        app_process(Path(folder), environ=environ) as (url, process),
    ):
        print("| answers | right | wrong | refused | lost | memory MB | disk MB |")
        print("|---|---|---|---|---|---|---|")
        ask(url, process.pid, Path(folder) / "cache", requests)


def ask(url: str, pid: int, cache: Path, requests: int) -> None:
    """Ask page and API, photos and digits, in turn, by two visitors at once."""
    config = httpx.get(f"{url}/config", timeout=60).json()
    tally, seen = Tally(), colours()
    first = memory = 0.0
    for done in (100, *range(200, requests + 1, 100)):
        asyncio.run(hundred(url, config, tally, seen))
        memory, disk = memory_of(pid), disk_of(cache)
        first = first or memory
        counts = [str(tally.outcomes[one]) for one in ("answered", "wrong", "refused", "lost")]
        print("|", done, "|", " | ".join(counts), "|", f"{memory:.0f} | {disk:.0f} |", flush=True)
    print(
        f"\nmemory at the end: {100 * (memory / first - 1):+.1f} % of that after the first hundred"
    )
    for sentence, count in tally.sentences.most_common(5):
        print(f"\n{count} x {sentence}")


async def hundred(
    url: str, config: dict[str, Any], tally: Tally, seen: Iterator[tuple[int, int, int]]
) -> None:
    """A hundred analyses: fifty of each model, half of them on the page."""
    visitors = [Visitor(url, model, config) for model in MODELS]

    async def one(visitor: Visitor, index: int) -> None:
        for _ in range(25):
            for ask in (visitor.page, visitor.api):
                await visit(ask, next(seen), tally, grey=MODELS[index] == "mnist")

    await asyncio.gather(*(one(visitor, index) for index, visitor in enumerate(visitors)))
    for visitor in visitors:
        await visitor.close()


def memory_of(pid: int) -> float:
    """Resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1000


def disk_of(folder: Path) -> float:
    """Bytes of all files of a folder, in MB."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


if __name__ == "__main__":
    main()
