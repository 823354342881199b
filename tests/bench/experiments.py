"""Visitors in the middle of experiments: each has opened an own photo, and changes patches of it.

    python -m tests.bench.load --door experiments --visitors 40

Each stroke of a brush is a question of the viewer. Its answer must have the probabilities of a
direct computation in this process, with the photo of this visitor and this stroke; they are
compared when all are there, so that the computation takes no time from the server.
"""

import asyncio
import base64
import json
import time
from typing import Any

import httpx
import numpy as np
import torch
from safetensors.torch import load

import vitviz
from tests.bench.classroom import photo_of
from tests.bench.load import RefusedError, Tally, Visitor
from vitviz import Analysis

SAME = 1e-4  # of a probability: the same computation, in other batches of threads
SIZE = (320, 240)  # of the photos, which are not opened again at a stroke


def stroke(at: int, patches: int) -> dict[str, Any]:
    """A change of the pass that differs from those before and after: one or two patches of so many
    are taken out, or painted black.
    """
    brushed = sorted({at % patches, at // 3 % patches})
    if at % 2:
        return {"kind": "replace", "patches": brushed, "by": "black"}
    return {"kind": "remove", "patches": brushed}


async def experiments(
    url: str, visitors: int, strokes: int, model: str
) -> tuple[Tally, float, float]:
    """So many visitors, each with so many strokes one after the other.

    Returns what became of them, the seconds that all of them took, and by how much any two of the
    computed answers differ at least: less than `SAME` would leave a mix-up unseen.
    """
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        config = (await client.get("/config")).json()
    loaded, tally = vitviz.load(model), Tally()
    patches = loaded.card.config.num_patches
    photos = [photo_of(at, SIZE) for at in range(visitors)]
    changes = [
        [stroke(at * strokes + one, patches) for one in range(strokes)] for at in range(visitors)
    ]
    answers: dict[tuple[int, int], dict[str, Any]] = {}
    guests = [Visitor(url, model, config) for _ in photos]

    async def opened(at: int) -> str:
        found = await guests[at].open(photos[at], f"{at}.jpg")
        return json.loads(found["text"])["pass"]["id"]

    async def brushes(at: int, key: str) -> None:
        for one, change in enumerate(changes[at]):
            began = time.perf_counter()
            try:
                reply = await guests[at].question("operate", id=key, interventions=[change])
            except RefusedError as error:
                tally.outcomes["refused"] += 1
                tally.sentences[str(error)] += 1
            except (httpx.HTTPError, ValueError) as error:
                tally.outcomes["lost"] += 1
                tally.sentences[repr(error)[:200]] += 1
            else:
                tally.seconds.append(time.perf_counter() - began)
                answers[at, one] = reply

    keys = await asyncio.gather(*(opened(at) for at in range(visitors)))
    began = time.perf_counter()
    await asyncio.gather(*(brushes(at, key) for at, key in enumerate(keys)))
    lasted = time.perf_counter() - began
    await asyncio.gather(*(guest.close() for guest in guests))

    expected = {}
    for at, photo in enumerate(photos):
        ours = vitviz.analyze(loaded, vitviz.open_photo(photo, f"{at}.jpg"))
        for one, change in enumerate(changes[at]):
            expected[at, one] = shown(ours.operate([change]))
    for place, found in answers.items():
        right = is_answer(found, expected[place], changes[place[0]][place[1]])
        tally.outcomes["answered" if right else "wrong"] += 1
    return tally, lasted, told_apart([*expected.values()])


def shown(analysis: Analysis) -> np.ndarray:
    """The probabilities that a pass has."""
    return probabilities(analysis.trace.logits)


def probabilities(logits: torch.Tensor) -> np.ndarray:
    """Of all classes; without the temperature, which they need not be calibrated for."""
    return logits.softmax(dim=-1).numpy()


def is_answer(found: dict[str, Any], expected: np.ndarray, change: dict[str, Any]) -> bool:
    """Whether a reply is that to this change, and has the probabilities that were computed."""
    theirs = probabilities(load(base64.b64decode(found["files"]["first"]["data"]))["logits"])
    changed = {key: found["pass"]["changes"][0].get(key) for key in change}
    same = theirs.shape == expected.shape and np.abs(theirs - expected).max() < SAME
    return bool(same) and changed == change


def told_apart(expected: list[np.ndarray]) -> float:
    """By how much any two answers differ at least, in the probability that differs most."""
    rows = np.stack(expected)
    apart = np.abs(rows[:, None] - rows[None]).max(axis=-1)
    apart[np.diag_indices(len(rows))] = np.inf
    return float(apart.min())
