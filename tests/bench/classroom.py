"""A class at work: thirty pupils in lessons at once, each with guesses and an own photo.

Each pupil is a script that asks for what a browser asks for: the page and what it links to, the
answer to each event through Gradio's queue, all files of the analysis, and late files. Guesses and
reveals ask for nothing, so between two requests a pupil only thinks. What a browser draws is not
in here; see `browser.py`.
"""

import asyncio
import io
import json
import random
import re
import tempfile
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image

from tests.running import running_app, until

PUPILS = 30
ARRIVING_SECONDS = 10  # within which all of them open the page
VOTES_SECONDS = 2.0  # from the last guess to the picture of the class
THINKING_SECONDS = (3.0, 9.0)  # over a step
LESSON = "model=photos&example=red-panda&lesson=ask&step=1"
OTHER_PICTURE = "model=mnist&example=digit&lesson=where&step=5"
LINKED = re.compile(r'(?:src|href)="([^"]+\.(?:js|css))"')


def classroom(pupils: int = PUPILS) -> None:
    """What a class waits for, in seconds: median, 95 %, longest."""
    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder)) as url:
        began = time.perf_counter()
        waits = asyncio.run(_class(url, pupils))
        lasted = time.perf_counter() - began
    print(f"### {pupils} pupils at once, {lasted:.0f} s from the first to the last\n")
    print("| a pupil waits for | median, s | 95 %, s | longest, s | failed |")
    print("|---|---|---|---|---|")
    for what in ("the first picture", "a late answer", "a step in another picture", "an own photo"):
        times = sorted(seconds for name, seconds in waits if name == what and seconds is not None)
        failed = sum(name == what and seconds is None for name, seconds in waits)
        row = [np.quantile(times, share) if times else float("nan") for share in (0.5, 0.95, 1)]
        print(f"| {what} | {' | '.join(f'{value:.1f}' for value in row)} | {failed} |", flush=True)
    print(flush=True)
    votes(pupils)


def votes(pupils: int = PUPILS, rounds: int = 5) -> None:
    """How long after the last guess the teacher's page shows the picture of the class, in seconds.

    The teacher's page is a browser, with its dialog open; pupils send what their pages send.
    """
    from tests.bench.browser import chromium

    environ, waits = {"VITVIZ_CLASS": "true"}, []
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder), environ=environ) as url,
        chromium() as page,
        httpx.Client(base_url=url, timeout=60) as client,
        ThreadPoolExecutor(pupils) as pool,
    ):
        log = Path(folder, "app.log")
        until(lambda: "teacher=" in log.read_text())
        word = log.read_text().split("teacher=")[1].split()[0]
        asked: list[dict[str, Any]] = []
        page.on("request", lambda one: asked.append(_sent(one)))
        page.goto(f"{url}/?{LESSON.replace('step=1', 'step=2')}&teacher={word}")
        page.locator(".vv-lesson-teacher summary").click()
        page.get_by_role("button", name="Poll the class").click()
        poll = page.locator(".vv-poll")
        poll.get_by_text("Guesses: 0.").wait_for()
        tally = next(one for one in asked if one.get("data", {}).get("do") == "tally")

        def vote(pupil: int) -> float:
            began = time.perf_counter()
            data = {"do": "vote", "voter": f"{pupil:016x}", "guess": pupil * 4 % 144}
            sent = {**tally, "data": {**data, "question": tally["data"]["question"]}}
            reply = client.post("/gradio_api/component_server/", json=sent).json()
            assert reply["counted"], reply
            return began

        for _ in range(rounds):
            began = max(pool.map(vote, range(pupils)))  # when the last pupil guessed
            poll.get_by_text(f"Guesses: {pupils}.").wait_for()
            waits.append(time.perf_counter() - began)
            poll.get_by_role("button", name="Empty").click()
            poll.get_by_text("Guesses: 0.").wait_for()
            time.sleep(random.random())  # at another moment of the second between two looks
    told = ", ".join(f"{wait:.2f}" for wait in waits)
    print(f"{pupils} guesses at once: the picture of the class stood after {told} s", flush=True)
    assert max(waits) < VOTES_SECONDS, f"{max(waits):.1f} s"


def _sent(request: Any) -> dict[str, Any]:
    """The question of the viewer in a request of a page; {} in any other."""
    return request.post_data_json if "component_server" in request.url else {}


async def _class(url: str, pupils: int) -> list[tuple[str, float | None]]:
    # The server closes a connection that was idle for five seconds; a browser would ask again.
    limits = httpx.Limits(max_connections=None, keepalive_expiry=2)
    async with httpx.AsyncClient(base_url=url, timeout=300, limits=limits) as client:
        config = (await client.get("/config")).json()
        for at, link in enumerate((LESSON, OTHER_PICTURE)):  # the teacher has opened it before
            await _open(client, config, link, f"teacher{at}")
        rows = await asyncio.gather(*(_pupil(client, config, seed) for seed in range(pupils)))
    return [wait for row in rows for wait in row]


async def _pupil(
    client: httpx.AsyncClient, config: dict[str, Any], seed: int
) -> list[tuple[str, float | None]]:
    """One pupil's waits, in seconds; None for an answer that did not come."""
    chance = random.Random(seed)
    waits: list[tuple[str, float | None]] = []

    async def timed(what: str, act: Any) -> Any:
        began = time.perf_counter()
        try:
            found = await act
        except (httpx.HTTPError, RuntimeError) as error:
            print(f"pupil {seed}, {what}: {error!r}"[:400])
            waits.append((what, None))
            return None
        waits.append((what, time.perf_counter() - began))
        return found

    await asyncio.sleep(chance.uniform(0, ARRIVING_SECONDS))
    manifest = await timed("the first picture", _open(client, config, LESSON, f"a{seed}"))
    for _ in range(5):  # guesses, which stay in the browser
        await asyncio.sleep(chance.uniform(*THINKING_SECONDS))
    if manifest:
        question = {"id": manifest["pass"]["id"], "name": "statistics"}
        await timed("a late answer", _ask(client, config, "late", question))
    await asyncio.sleep(chance.uniform(*THINKING_SECONDS))
    await timed("a step in another picture", _open(client, config, OTHER_PICTURE, f"b{seed}"))
    await asyncio.sleep(chance.uniform(*THINKING_SECONDS))
    await timed("an own photo", _own_photo(client, config, f"b{seed}", photo_of(seed)))
    return waits


async def _open(
    client: httpx.AsyncClient, config: dict[str, Any], query: str, session: str
) -> dict[str, Any]:
    """Open the page at a link, until every file of its analysis is here."""
    page = (await client.get(f"/?{query}")).text
    linked = {link.removeprefix(".") for link in LINKED.findall(page) if "://" not in link}
    await asyncio.gather(*(client.get(link) for link in linked))
    event = _event(config, "load")
    model = _component(config, "vv-model")["props"]["value"]
    return await _analysis(client, config, event, [None, model, None], session, query)


async def _own_photo(
    client: httpx.AsyncClient, config: dict[str, Any], session: str, photo: bytes
) -> dict[str, Any]:
    sent = await client.post("/gradio_api/upload", files={"files": ("mine.jpg", photo)})
    file = {"path": sent.json()[0], "orig_name": "mine.jpg", "meta": {"_type": "gradio.FileData"}}
    event = _event(config, "input", _component(config, "vv-photo")["id"])
    return await _analysis(client, config, event, [file, "photos", None, False], session, "")


async def _analysis(
    client: httpx.AsyncClient,
    config: dict[str, Any],
    event: int,
    data: list[Any],
    session: str,
    query: str,
) -> dict[str, Any]:
    """The manifest that an event answers with, when all of its files have been fetched."""
    body = {"data": data, "fn_index": event, "session_hash": session, "trigger_id": None}
    joined = await client.post(f"/gradio_api/queue/join?{query}", json=body)
    joined.raise_for_status()
    async for message in _messages(client, session):
        if message["msg"] != "process_completed":
            continue
        if not message["success"]:
            raise RuntimeError(str(message["output"]))
        found = message["output"]["data"][0]
        manifest, place = json.loads(found["text"]), "/gradio_api/file="
        files = [file for file in manifest["files"].values() if "path" in file]  # others are late
        answers = await asyncio.gather(*(client.get(place + file["path"]) for file in files))
        for answer, file in zip(answers, files, strict=True):
            if answer.status_code != 200 or len(answer.content) != file["size"]:
                raise RuntimeError(f"{answer.status_code} for {file['path']}")
        return manifest
    raise RuntimeError("the queue ended without an answer")


async def _messages(client: httpx.AsyncClient, session: str) -> AsyncIterator[dict[str, Any]]:
    query = {"session_hash": session}
    async with client.stream("GET", "/gradio_api/queue/data", params=query) as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data:"):
                yield json.loads(line[5:])


async def _ask(client: httpx.AsyncClient, config: dict[str, Any], name: str, data: Any) -> None:
    """A question of the viewer, as the viewer asks it."""
    viewer = _component(config, "vv-viewer")["id"]
    body = {"data": data, "component_id": viewer, "fn_name": name, "session_hash": "x"}
    answer = await client.post("/gradio_api/component_server/", json=body)
    if answer.status_code != 200 or "data" not in answer.json():
        raise RuntimeError(answer.text[:200])


def _component(config: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in config["components"] if one["props"].get("elem_id") == name)


def _event(config: dict[str, Any], kind: str, component: int | None = None) -> int:
    for one in config["dependencies"]:
        for target, event in one["targets"]:
            if event == kind and one["backend_fn"] and component in (None, target):
                return one["id"]
    raise RuntimeError(f"no event {kind}")


def photo_of(seed: int, size: tuple[int, int] = (1600, 1200)) -> bytes:
    """A picture of its own for each pupil, as large as a phone's after sharing."""
    smooth = np.random.default_rng(seed).integers(0, 256, (9, 12, 3), dtype=np.uint8)
    picture = Image.fromarray(smooth).resize(size, Image.Resampling.BICUBIC)
    picture.save(buffer := io.BytesIO(), "JPEG", quality=85)
    return buffer.getvalue()
