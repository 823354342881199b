"""Hostile uploads and values without sense, through every door of an app that runs here.

    python -m tests.bench.abuse --uploads 200 --values 300

Uploads are pictures cut off, with bytes turned, or claiming to be huge, and what is no picture at
all. Values come from hypothesis: any JSON in place of each input of each endpoint, of the page's
functions, of the viewer's questions and of the tools. Counts what was answered, refused with a
sentence, and anything else: a sentence that apologises, no sentence, a traceback in the log.
"""

import argparse
import io
import json
import random
import struct
import tempfile
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import NonInteractiveExampleWarning
from PIL import Image

from tests.damage import cut_off, turn_bytes
from tests.running import running_app
from tests.values import JSON, tried

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO", "PPM")
NAMES = (
    "a.png",
    "<img src=x onerror=alert(1)>.png",
    "../../a.png",
    "a" * 300 + ".png",
    "\u202ea.png",
)
APOLOGY = "went wrong on our side"


def main() -> None:
    """Start the app of this checkout, abuse it, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.abuse", description=__doc__)
    parser.add_argument("--uploads", type=int, default=200)
    parser.add_argument("--values", type=int, default=300, help="for each door")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NonInteractiveExampleWarning)
    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder)) as url:
        client = httpx.Client(base_url=url, timeout=120)
        config = client.get("/config").json()
        print("| door | answered | refused with a sentence | else |")
        print("|---|---|---|---|")
        show("uploads", uploads(client, arguments.uploads))
        for door, ask, inputs in doors(client, config):
            show(door, values(ask, inputs, arguments.values))
        alive = client.get("/healthz").status_code
        log = Path(folder, "app.log").read_text()
        print(f"\n/healthz afterwards: {alive}; tracebacks in the log: {log.count('Traceback')}")
        if "Traceback" in log:
            print(log[log.index("Traceback") :][:3000])


def show(door: str, counts: Counter[str]) -> None:
    wrong = {key: one for key, one in counts.items() if key not in ("answered", "refused")}
    print(f"| {door} | {counts['answered']} | {counts['refused']} | {wrong or 0} |", flush=True)


def uploads(client: httpx.Client, count: int) -> Counter[str]:
    """Upload what nobody should, and let it be analyzed."""
    chance, outcomes = random.Random(0), Counter()
    for _ in range(count):
        try:
            answer = client.post("/gradio_api/upload", files={"files": (hostile(chance))})
        except httpx.HTTPError as error:
            outcomes[type(error).__name__] += 1
            continue
        if answer.status_code != 200:
            outcomes["refused" if answer.text.strip() else "no sentence"] += 1
            continue
        outcomes[asked(client, "analyze", [{"path": answer.json()[0], **MARK}])] += 1
    return outcomes


MARK = {"meta": {"_type": "gradio.FileData"}}


def hostile(chance: random.Random) -> tuple[str, bytes]:
    """A name and the bytes of a file."""
    size = chance.choice([(1, 1), (40, 30), (1, 3000)])
    picture = Image.new(chance.choice(["RGB", "L", "P"]), size, chance.randrange(256))
    picture.convert("RGB").save(data := io.BytesIO(), chance.choice(FORMATS))
    whole = data.getvalue()
    kinds = (
        lambda: cut_off(whole, chance),
        lambda: turn_bytes(whole, chance, 60),
        lambda: chance.randbytes(chance.randrange(2000)),
        lambda: bomb(chance.choice([(60000, 60000), (2**31 - 1, 1), (0, 5)])),
        lambda: b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        lambda: whole[:8] + whole,
        lambda: b"",
    )
    return chance.choice(NAMES), chance.choice(kinds)()


def bomb(size: tuple[int, int]) -> bytes:
    """A PNG that claims a size which it does not have."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", *size, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(100_000), 9)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", pixels), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def doors(client: httpx.Client, config: dict[str, Any]) -> list[tuple[str, Any, int]]:
    """(name, a function of the inputs, their number) of every door for values."""
    found = []
    for one in config["dependencies"]:
        if one["backend_fn"]:
            public = one["api_visibility"] == "public"
            name = f"/{one['api_name']}" if public else f"page, function {one['id']}"
            found.append(
                (name, lambda data, id=one["id"]: direct(client, id, data), len(one["inputs"]))
            )
    viewer = next(
        one["id"] for one in config["components"] if one["props"].get("elem_id") == "vv-viewer"
    )
    for name in ("rollout", "late", "figure", "beside"):
        found.append(
            (f"viewer, {name}", lambda data, name=name: question(client, viewer, name, data), 1)
        )
    found.append(("tools", lambda data: tool(client, data), 7))
    return found


def values(ask: Any, inputs: int, count: int) -> Counter[str]:
    """Ask with values that hypothesis makes; the most telling ones are no failure of ours."""
    outcomes = Counter()
    good = st.sampled_from(["dog", "photos", 0, -1, False, None, "generic"])
    # Half of the values are good ones, so that what is wrong gets further than the first check.
    every = st.lists(st.one_of(good, JSON, good), min_size=inputs, max_size=inputs)

    @tried(count)
    @given(every)
    def once(data: list[Any]) -> None:
        try:
            outcome = ask(data)
        except (httpx.HTTPError, ValueError, KeyError) as error:
            outcome = type(error).__name__
        outcomes[outcome] += 1

    once()
    return outcomes


def direct(client: httpx.Client, id: int, data: list[Any]) -> str:
    """One call of a function without the queue."""
    answer = client.post(
        "/gradio_api/run/predict", **body({"data": data, "fn_index": id, "session_hash": "abuse"})
    )
    if answer.status_code == 200:
        return "answered"
    said = answer.json()
    return judged(said.get("error") or said.get("detail"))


def asked(client: httpx.Client, name: str, data: list[Any]) -> str:
    """One call of an endpoint through the queue."""
    call = f"/gradio_api/call/{name}"
    joined = client.post(call, json={"data": data})
    if joined.status_code != 200:
        return judged(joined.json().get("detail"))
    text = client.get(f"{call}/{joined.json()['event_id']}").text
    if "event: complete" in text:
        return "answered"
    return judged(json.loads(text.split("data: ")[-1]).get("error"))


def question(client: httpx.Client, viewer: int, name: str, data: list[Any]) -> str:
    """One question of the viewer, which is answered outside of the queue."""
    sent = {"data": data[0], "component_id": viewer, "fn_name": name, "session_hash": "abuse"}
    answer = client.post("/gradio_api/component_server", **body(sent))
    if answer.status_code == 422:  # FastAPI's own words about a body that is none
        return "refused"
    said = answer.json()
    return judged(said["error"]) if isinstance(said, dict) and "error" in said else "answered"


def tool(client: httpx.Client, data: list[Any]) -> str:
    """One call of the tool explain, without what MCP's own clients would check."""
    names = ("photo", "model", "explainer", "target", "token", "untrained", "rows")
    call = {"name": "explain", "arguments": dict(zip(names, data, strict=True))}
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {"Accept": "application/json, text/event-stream"}
    answer = client.post("/gradio_api/mcp/", **body(sent, headers))
    if answer.status_code >= 400:
        return "refused"
    said = json.loads(answer.text.split("data: ")[-1])
    if "error" in said:
        return judged(said["error"]["message"])
    content = said["result"]["content"][0]["text"]
    return judged(content) if said["result"].get("isError") else "answered"


def body(sent: dict[str, Any], headers: dict[str, str] | None = None) -> dict[str, Any]:
    """JSON as Python writes it, with NaN and Infinity, which `httpx` would refuse to send."""
    content = json.dumps(sent).encode("utf-8", "surrogatepass")
    return {"content": content, "headers": {"Content-Type": "application/json", **(headers or {})}}


def judged(sentence: Any) -> str:
    if not isinstance(sentence, str | list) or not sentence:
        return "no sentence"
    return "apology" if APOLOGY in str(sentence) else "refused"


if __name__ == "__main__":
    main()
