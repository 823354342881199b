"""Faults of a host, one after the other, and what they do to visitors.

    python -m tests.bench faults
    python -m tests.bench.faults --only full-disk

Starts the app of this checkout with folders of its own, lets visitors in, and injects: SIGTERM, a
visitor who leaves the queue, uploads that break off, a cache folder that somebody deletes, kill -9,
a full disk, and where Ray is installed a replica that is killed. Each answer is checked as in
`load.py`. Prints Markdown: what a visitor sees, how many answers were right, wrong or lost, and
how many files of pictures were left at the end. The exit code is 1 if a fault is not held.
"""

import argparse
import asyncio
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import httpx

from tests.bench.load import RefusedError, Tally, Visitor, colours, picture_of, visit
from tests.running import (
    app_process,
    begun,
    pictures,
    refuses,
    save_long,
    save_tiny,
    slow_script,
    until,
    upload_breaks_off,
)
from vitviz.web.host import limits

MODEL = "tiny-cls"
PATIENCE = 300  # seconds for what a busy machine does at last
ANSWER = "the answer"
NO_ROOM = "no room"
CROWD = 7
DISK_MB = 6


@dataclass
class Row:
    """What came of a fault. `left` None: files are allowed, because the app goes on."""

    fault: str
    seen: str
    tally: Counter[str] = field(default_factory=Counter)
    left: int | None = None
    broken: str = ""  # what else was not as it should be
    missing: str = ""  # why it was not tried

    @property
    def held(self) -> bool:
        """Whether no answer was wrong or lost, no picture was left, and nothing else was broken."""
        lost = self.tally["wrong"] + self.tally["lost"]
        return not (lost or self.left or self.broken)

    def __str__(self) -> str:
        """The row of the table."""
        if self.missing:
            return f"| {self.fault} | {self.missing} | | | | | |"
        counts = [str(self.tally[one]) for one in ("answered", "wrong", "lost")]
        left = "" if self.left is None else str(self.left)
        held = "yes" if self.held else f"no {self.broken}".strip()
        return " | ".join([f"| {self.fault}", self.seen, *counts, left, held]) + " |"


def main(argv: list[str] | None = None) -> int:
    """Inject the faults that are named, and print the table. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.faults", description=__doc__)
    parser.add_argument("--only", choices=[*FAULTS], action="append")
    return faults(parser.parse_args(argv).only or [*FAULTS])


def faults(names: list[str]) -> int:
    print("| fault | what a visitor sees | right | wrong | lost | pictures left | held |")
    print("|---|---|---|---|---|---|---|")
    held = True
    for name in names:
        for row in rows_of(name):
            print(row, flush=True)
            held = held and row.held
    return 0 if held else 1


def rows_of(name: str) -> Iterator[Row]:
    """The rows of a scenario; one that fails to end has a row that is not held."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield from FAULTS[name](Path(folder))
        except (OSError, RuntimeError, RefusedError, httpx.HTTPError) as error:
            lines = [line for line in str(error).splitlines() if line.strip()] or [""]
            yield Row(name, "", broken=f"{type(error).__name__}: {lines[-1]}")


def leaving(folder: Path) -> Iterator[Row]:
    """A visitor leaves the queue; later the app gets SIGTERM while three compute."""
    save_tiny(folder, "cls")
    model = folder / f"{MODEL}.safetensors"
    app = app_process(folder, model, environ={"VITVIZ_PASSES": "3"}, program=[slow_script(folder)])
    with app as (url, process), ThreadPoolExecutor(1) as pool, let_go_at_last(folder):
        crowd = pool.submit(let_in, url, CROWD)  # three compute, the others wait for a turn
        until(lambda: begun(folder) == 3, PATIENCE)
        left = asyncio.run(leave(url))
        until(lambda: is_forgotten(url, left), PATIENCE)
        (folder / "go").touch()
        gone = Row(
            "a visitor leaves while waiting in the queue",
            "nothing; nothing is computed for them, and the others are answered",
            crowd.result(PATIENCE).outcomes,
        )
        most = CROWD + limits.WORKERS - 1
        until(lambda: begun(folder) >= most, PATIENCE)
        if begun(folder) != most:
            gone.broken = f"{begun(folder)} analyses where {most} had left the queue for a worker"

        for file in [*folder.glob("begun-*"), folder / "go"]:
            file.unlink()
        crowd = pool.submit(let_in, url, 3)
        until(lambda: begun(folder) == 3, PATIENCE)
        process.terminate()
        until(lambda: refuses(url), PATIENCE)
        later = let_in(url, 1, config_of(url))
        (folder / "go").touch()
        ended = Row(
            "SIGTERM while three compute",
            f"{ANSWER}; who comes later: “{sentence(later)}”",
            crowd.result(PATIENCE).outcomes,
        )
        if (code := process.wait(PATIENCE)) != -signal.SIGTERM:
            ended.broken = f"exit code {code}"
        if later.outcomes["refused"] != 1:
            ended.broken = f"who came later was {dict(later.outcomes)}"
        gone.left = ended.left = len(pictures(folder))
    yield gone
    yield ended


def breaking(folder: Path) -> Iterator[Row]:
    """Uploads break off, the cache folder is deleted, and at last the app is killed."""
    model = save_tiny(folder, "cls")
    with app_process(folder, model) as (url, process):
        before_them = set(pictures(folder))
        for _ in range(5):
            upload_breaks_off(url)
        left = len(set(pictures(folder)) - before_them)
        others = let_in(url, 2).outcomes
        yield Row("five uploads break off", f"the others: {ANSWER}", others, left)

        before = asyncio.run(opened(url))
        for cache in (folder / "cache").glob("vitviz-*"):
            shutil.rmtree(cache)
        said = asyncio.run(asked_again(url, before))
        yield Row(
            "the cache folder is deleted while it runs",
            f"{ANSWER}; of a picture from before: “{said}”",
            let_in(url, 2).outcomes,
        )

        before = asyncio.run(opened(url))
        process.kill()
        process.wait()
    left = pictures(folder)
    for cache in (folder / "cache").glob("vitviz-*"):
        os.utime(cache, (0, 0))  # a folder that is seconds old may not be locked yet
    with app_process(folder, model) as (url, _):
        gone = lambda: not any(path.exists() for path in left)  # noqa: E731
        until(gone, PATIENCE)
        said = asyncio.run(asked_again(url, before))
        yield Row(
            f"kill -9 and a new start ({len(left)} files lay there)",
            f"{ANSWER}; of a picture from before: “{said}”",
            let_in(url, 2).outcomes,
            sum(path.exists() for path in left),
            "" if left else "there was nothing to delete",
        )


def full_disk(folder: Path) -> Iterator[Row]:
    """The disk of the cache fills up."""
    model = save_long(folder)
    with small_disk(folder / "cache") as (kind, environ):
        with app_process(folder, model, environ=environ) as (url, _):
            tally = Tally()
            for _ in range(10):
                let_in(url, 4, model=model.stem, tally=tally)
        said, outcomes = sentence(tally), tally.outcomes
        row = Row(f"a disk of {DISK_MB} MB fills up ({kind})", "", outcomes, len(pictures(folder)))
    row.seen = f"{ANSWER}; {outcomes['refused']} times: “{said}”"
    others = [one for one in tally.sentences if NO_ROOM not in one]
    if others or not outcomes["refused"] or not outcomes["answered"]:
        row.broken = f"{dict(outcomes)} {others[:1]}"
    yield row


@contextmanager
def small_disk(place: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    """A folder on a small disk, how it is one, and the settings that an app needs for it."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "vitviz-bench", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        try:
            yield "a tmpfs", {"VITVIZ_DISK_RESERVE_MB": "0"}
        finally:
            subprocess.run(["umount", str(place)], check=True)
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as shared:  # few others write to it
        place.rmdir()
        place.symlink_to(shared)
        reserve = shutil.disk_usage(shared).free // 10**6 - DISK_MB
        yield "all but a reserve", {"VITVIZ_DISK_RESERVE_MB": str(reserve)}


def replica(folder: Path) -> Iterator[Row]:
    """A replica of Ray is killed under four visitors."""
    fault = "kill -9 of a Ray replica under four visitors"
    if find_spec("ray") is None:
        yield Row(fault, "", missing="not installed here")
        return
    model = save_tiny(folder, "cls")
    with app_process(folder, model, environ={"VITVIZ_ENGINE": "ray"}) as (url, _):
        let_in(url, 1)
        with ThreadPoolExecutor(1) as pool:
            tally = Tally()
            crowd = pool.submit(let_in, url, 4, times=10, tally=tally)
            until(lambda: tally.outcomes["answered"] >= 4, PATIENCE)
            killed = replicas_of(folder)
            for pid in killed[:1]:
                os.kill(pid, signal.SIGKILL)
            crowd.result(PATIENCE)
    yield Row(fault, ANSWER, tally.outcomes, len(pictures(folder)), "" if killed else "none found")


def replicas_of(folder: Path) -> list[int]:
    """The processes of our own cluster that compute: those with our folder in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            named = (process / "cmdline").read_bytes().startswith(b"ray::ServeReplica")
            if named and os.fsencode(folder) in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:  # of another user, or ended meanwhile
            continue
    return found


FAULTS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "leaving": leaving,
    "breaking": breaking,
    "full-disk": full_disk,
    "replica": replica,
}


@contextmanager
def let_go_at_last(folder: Path) -> Iterator[None]:
    """Lets all that wait for `go` end with the block, so that a failure in it can end the bench."""
    try:
        yield
    finally:
        (folder / "go").touch()


def config_of(url: str) -> dict:
    return httpx.get(f"{url}/config", timeout=PATIENCE).json()


def let_in(
    url: str,
    visitors: int,
    config: dict | None = None,
    *,
    model: str = MODEL,
    times: int = 1,
    tally: Tally | None = None,
) -> Tally:
    """So many visitors at once, page and API in turn; each asks `times` times."""
    tally = Tally() if tally is None else tally
    config, unseen = config or config_of(url), COLOURS

    async def one(index: int) -> None:
        visitor = Visitor(url, model, config)
        for _ in range(times):
            await visit((visitor.page, visitor.api)[index % 2], next(unseen), tally)
        await visitor.close()

    async def all_of_them() -> None:
        await asyncio.gather(*(one(index) for index in range(visitors)))

    asyncio.run(all_of_them())
    return tally


COLOURS = colours()


async def leave(url: str) -> str:
    """Join the queue from `limits.WORKERS` pages, and leave when the last one has heard its place.
    That page has to wait, as an address may occupy all workers but one. Returns its session.
    """
    visitor = Visitor(url, MODEL, config_of(url))
    for _ in range(limits.WORKERS):
        session = await visitor.join(picture_of(next(COLOURS)), "gone.png")
    async for message in visitor.messages(session):
        if message["msg"] == "estimation":
            break
    await visitor.close()
    return session


def is_forgotten(url: str, session: str) -> bool:
    """Whether the queue has heard that a page left, and waits with nothing for it."""
    address = f"{url}/gradio_api/queue/data?session_hash={session}"
    with httpx.stream("GET", address, timeout=PATIENCE) as events:
        return events.status_code != 200 or "not_found" in next(events.iter_lines())


async def opened(url: str) -> str:
    """The id of an analysis that a page shows."""
    visitor = Visitor(url, MODEL, config_of(url))
    found = await visitor.open(picture_of(next(COLOURS)), "before.png")
    await visitor.close()
    return json.loads(found["text"])["pass"]["id"]


async def asked_again(url: str, key: str) -> str:
    """What a page is told that asks about its analysis."""
    visitor = Visitor(url, MODEL, config_of(url))
    try:
        await visitor.question("late", id=key, name="features")
    except RefusedError as error:
        return english(str(error))
    finally:
        await visitor.close()
    raise RuntimeError("an analysis that is gone was answered")


def sentence(tally: Tally) -> str:
    """The sentence that most of the refused were told."""
    return english(next((one for one, _ in tally.sentences.most_common(1)), ""))


def english(said: str) -> str:
    """The English sentence in what a page gets, in all languages, or a program, in JSON."""
    for pattern in (r'class="vv-en">(.*?)</span>', r'"error": "(.*?)"'):
        if found := re.search(pattern, said):
            return html.unescape(found[1])
    return html.unescape(said)


if __name__ == "__main__":
    sys.exit(main())
