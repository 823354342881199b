"""Visitors at once, on the page and through the API; every answer is checked against its photo.

    python -m tests.bench.load                       starts the app of this checkout
    python -m tests.bench.load --url http://...      asks an app that runs, on this machine
    python -m tests.bench.load --door page --visitors 16 --requests 160
    python -m tests.bench.load --door experiments --visitors 40      see experiments.py
    python -m tests.bench.load --visitors 40 --one-address           a school behind one router

Each visitor uploads pictures of one colour that no other picture has, and looks whether the answer
shows it. Prints Markdown: answers per second, seconds at p50, p95 and p99, and how many answers
were wrong (of another picture), refused (with a sentence) or lost (no answer at all).
"""

import argparse
import asyncio
import io
import ipaddress
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from PIL import Image
from safetensors.torch import load

import vitviz

MARK = {"meta": {"_type": "gradio.FileData"}}
PATIENCE = 180  # seconds for one answer


@dataclass
class Tally:
    """What became of the requests of all visitors."""

    seconds: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    sentences: Counter[str] = field(default_factory=Counter)

    def row(self, door: str, visitors: int, wall: float) -> str:
        """A row of the table."""
        points = [f"{point:.2f}" for point in percentiles(self.seconds)]
        counts = [str(self.outcomes[one]) for one in ("answered", "wrong", "refused", "lost")]
        rate = f"{self.outcomes['answered'] / wall:.2f}"
        return " | ".join(["", door, str(visitors), rate, *points, *counts, ""]).strip()


NUMBERS = itertools.count()


def own_address() -> str | None:
    """Another address of this machine each time; the app bounds what comes from one. None where
    the system has one alone: Linux listens on all of 127.0.0.0/8.
    """
    first = ipaddress.ip_address("127.0.1.0")
    return str(first + next(NUMBERS)) if sys.platform == "linux" else None


class RefusedError(Exception):
    """The app refused with a sentence."""


class Visitor:
    """One client with connections and an address of its own, unless one is given."""

    def __init__(
        self,
        url: str,
        model: str,
        config: dict[str, Any],
        client: httpx.AsyncClient | None = None,
    ) -> None:
        transport = httpx.AsyncHTTPTransport(local_address=own_address())
        self._client = client or httpx.AsyncClient(
            base_url=url, timeout=PATIENCE, transport=transport
        )
        self._model = model
        named = {one["props"].get("elem_id"): one["id"] for one in config["components"]}
        photo, self._viewer = named["vv-photo"], named["vv-viewer"]
        self._show = next(
            one["id"] for one in config["dependencies"] if [photo, "input"] in one["targets"]
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def page(self, png: bytes, name: str) -> tuple[int, ...]:
        """Show a picture on a page of its own; the colour of the middle of what is shown."""
        found = await self.open(png, name)
        place = json.loads(found["text"])["files"]["picture"]["path"]
        fetched = await self._client.get(f"/gradio_api/file={place}")
        _check(fetched)
        return _middle(load(fetched.content)["pixels"])

    async def open(self, png: bytes, name: str) -> dict[str, Any]:
        """What a page gets for a picture: "text" is the manifest in JSON."""
        session, said = await self.join(png, name), ""
        async for message in self.messages(session):
            said = message.get("log", said)  # the sentence of a refused picture or full disk
            if message.get("msg") == "process_completed":
                break
        if not message["success"]:
            raise RefusedError(str(message["output"].get("error")))
        found = message["output"]["data"][0]
        found = found.get("value", found)
        if "text" not in found:
            raise RefusedError(said)
        return found

    async def join(self, png: bytes, name: str) -> str:
        """Upload a picture and wait in the queue with it, on a page of its own: its session."""
        session = f"{random.getrandbits(64):x}"
        upload = await self._upload(png, name)
        body = {"data": [upload, self._model, None, False], "fn_index": self._show}
        joined = await self._client.post(
            "/gradio_api/queue/join", json=body | {"session_hash": session}
        )
        _check(joined)
        return session

    async def messages(self, session: str) -> AsyncIterator[dict[str, Any]]:
        """What a page hears from the queue."""
        address = f"/gradio_api/queue/data?session_hash={session}"
        async with self._client.stream("GET", address) as events:
            async for line in events.aiter_lines():
                if line.startswith("data:"):
                    yield json.loads(line[5:])

    async def question(self, name: str, /, **asked: Any) -> dict[str, Any]:
        """The answer to a question of the viewer."""
        body = {"data": asked, "component_id": self._viewer, "fn_name": name, "session_hash": "x"}
        answer = await self._client.post("/gradio_api/component_server/", json=body)
        _check(answer)
        if "error" in answer.json():
            raise RefusedError(answer.json()["error"])
        return answer.json()

    async def api(self, png: bytes, name: str) -> tuple[int, ...]:
        """Ask `/analyze`; the colour of the middle of the analysis, whose name is checked too."""
        upload = await self._upload(png, name)
        call = "/gradio_api/call/analyze"
        joined = await self._client.post(call, json={"data": [upload, self._model]})
        _check(joined)
        answer = await self._client.get(f"{call}/{joined.json()['event_id']}")
        *_, event, data = (line for line in answer.text.splitlines() if line)
        if "complete" not in event:
            raise RefusedError(data)
        summary, file = json.loads(data.removeprefix("data:"))
        if summary["photo"]["name"] != name:
            return ()
        fetched = await self._client.get(file["url"])
        _check(fetched)
        return _middle(vitviz.Analysis.from_bytes(fetched.content).picture)

    async def _upload(self, png: bytes, name: str) -> dict[str, Any]:
        answer = await self._client.post("/gradio_api/upload", files={"files": (name, png)})
        _check(answer)
        return {"path": answer.json()[0], "orig_name": name, **MARK}


def percentiles(seconds: list[float]) -> list[float]:
    """p50, p95 and p99; 0 for none."""
    if len(seconds) < 2:
        return [*seconds, *[0.0] * 3][:3]
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return [cuts[49], cuts[94], cuts[98]]


def _check(answer: httpx.Response) -> None:
    if answer.status_code != 200:
        raise RefusedError(answer.text[:300])


def _middle(picture: Any) -> tuple[int, ...]:
    height, width = picture.shape[:2]
    return tuple(picture[height // 2, width // 2].tolist())


def colours() -> Iterator[tuple[int, int, int]]:
    """Colours that differ by 8 of 255 in at least one channel, in an order without a pattern."""
    every = [
        (r, g, b) for r in range(4, 256, 8) for g in range(4, 256, 8) for b in range(4, 256, 8)
    ]
    random.Random(0).shuffle(every)
    yield from every


def picture_of(colour: tuple[int, ...]) -> bytes:
    """A picture of one colour, as PNG."""
    Image.new("RGB", (96, 80), colour).save(data := io.BytesIO(), "PNG")
    return data.getvalue()


async def visit(
    ask: Callable[[bytes, str], Awaitable[tuple[int, ...]]],
    colour: tuple[int, ...],
    tally: Tally,
    grey: bool = False,
) -> None:
    """Ask once and note what came. `grey`: the model has one channel, which shows the luminance."""
    began = time.perf_counter()
    try:
        seen = await ask(picture_of(colour), "photo-{}-{}-{}.png".format(*colour))
    except RefusedError as error:
        tally.outcomes["refused"] += 1
        tally.sentences[str(error)[:200]] += 1
        return
    except (httpx.HTTPError, ValueError, KeyError) as error:
        tally.outcomes["lost"] += 1
        tally.sentences[repr(error)[:200]] += 1
        return
    tally.seconds.append(time.perf_counter() - began)
    if grey:  # as Pillow makes it (ITU-R 601-2)
        colour = (round(sum(a * b for a, b in zip(colour, (0.299, 0.587, 0.114), strict=True))),)
    same = len(seen) == len(colour) and all(
        abs(a - b) < 4 for a, b in zip(seen, colour, strict=True)
    )
    tally.outcomes["answered" if same else "wrong"] += 1


async def load_of(
    url: str, door: str, visitors: int, requests: int, model: str, *, one_address: bool = False
) -> tuple[Tally, float]:
    """So many requests by so many visitors at once, each of whom asks again when answered."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        config = (await client.get("/config")).json()
    tally, waiting, left = Tally(), colours(), iter(range(requests))

    async def one() -> None:
        client = httpx.AsyncClient(base_url=url, timeout=PATIENCE) if one_address else None
        visitor = Visitor(url, model, config, client)
        for _ in left:  # shared: whoever is free takes the next
            await visit(getattr(visitor, door), next(waiting), tally)
        await visitor.close()

    warm = Visitor(url, model, config)
    await visit(getattr(warm, door), (1, 2, 3), Tally())
    await warm.close()
    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(visitors)))
    return tally, time.perf_counter() - began


def main() -> None:
    """Measure the doors and numbers of visitors that are named."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.load", description=__doc__)
    parser.add_argument("--url", help="an app on this machine (default: start one)")
    parser.add_argument("--door", choices=("page", "api", "experiments"), action="append")
    parser.add_argument("--visitors", type=int, action="append")
    parser.add_argument("--requests", type=int, default=0, help="of all (default: 64 + 2 each)")
    parser.add_argument("--model", default="photos")
    parser.add_argument("--one-address", action="store_true", help="of all, but for experiments")
    arguments = parser.parse_args()
    if arguments.url:
        measure(arguments.url, arguments)
        return
    from tests.running import running_app

    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder)) as url:
        measure(url, arguments)


def measure(url: str, arguments: argparse.Namespace) -> None:
    """Print the table, and the sentences of what was not answered."""
    print("| door | visitors | per s | p50 s | p95 s | p99 s | right | wrong | refused | lost |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    sentences: Counter[str] = Counter()
    apart = None
    for door in arguments.door or ("page", "api"):
        for visitors in arguments.visitors or (1, 4, 16, 64):
            requests = arguments.requests or 64 + 2 * visitors
            if door == "experiments":
                from tests.bench.experiments import experiments

                strokes = max(1, arguments.requests // visitors or 5)
                work = experiments(url, visitors, strokes, arguments.model)
                tally, wall, apart = asyncio.run(work)
            else:
                one = arguments.one_address
                work = load_of(url, door, visitors, requests, arguments.model, one_address=one)
                tally, wall = asyncio.run(work)
            sentences += tally.sentences
            print(tally.row(door, visitors, wall), flush=True)
    if apart is not None:
        print(f"\nany two answers of experiments differ by at least {apart:.1e}")
    for sentence, count in sentences.most_common(5):
        print(f"\n{count} x {sentence}")


if __name__ == "__main__":
    main()
