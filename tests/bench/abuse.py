"""Hostile uploads and values, through every door of an app that runs here.

    python -m tests.bench.abuse --uploads 200 --values 300
    python -m tests.bench.abuse --second     what another visitor waits for meanwhile: second.py

Uploads are pictures cut off, with bytes turned, or claiming to be huge, and what is no picture at
all. Values are good requests, of each endpoint, function of the page, question of the viewer and
tool, in which one or two values were replaced, left out or added: so what is wrong gets further
than the first check. Counts what was answered, refused with a sentence, and anything else: a good
request that is refused, a sentence that apologises, no sentence, a traceback in the log.
"""

import argparse
import io
import json
import random
import struct
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from PIL import Image

from tests.bench.load import MARK, picture_of
from tests.damage import cut_off, damage_json, turn_bytes
from tests.running import running_app

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO", "PPM")
NAMES = (
    "a.png",
    "<img src=x onerror=alert(1)>.png",
    "../../a.png",
    "a" * 300 + ".png",
    "\u202ea.png",
)
APOLOGY = "went wrong on our side"
CHANGES = [
    {"kind": "remove", "patches": [1, 2]},
    {"kind": "head", "layer": 1, "head": 0, "by": "zero"},
    {"kind": "transplant", "patches": "cls", "layer": 3, "from": "example-dog"},
    {"kind": "add", "patches": "cls", "layer": 3, "toward": 7, "factor": 0.5},
]
# Good arguments of programs, by name and in order; a transplant has the name of a picture there.
PROGRAMS: dict[str, dict[str, Any]] = {
    "analyze": {
        "photo": "dog", "model": "photos", "token": 3, "layer": 1, "head": 0, "untrained": False,
        "invert": False,
    },
    "explain": {
        "photo": "dog", "model": "photos", "explainer": "rollout", "target": 3, "token": 0,
        "untrained": False, "rows": True, "image_size": "96x144",
    },
    "intervene": {"photo": "dog", "interventions": CHANGES[:2], "model": "photos"},
    "compare": {
        "photo": "dog", "model": "photos", "other_photo": "cat", "other_model": "mnist",
        "other_untrained": False, "token": 3, "layer": 1, "image_size": "",
    },
    "survey": {"photos": ["dog", "cat"], "model": "photos"},
    "models": {},
}  # fmt: skip
SELECTED = {"token": 3, "layer": 2, "first": 0, "residual": 0.5, "head_fusion": "mean"}
# Good questions of the viewer, without the id of the analysis.
QUESTIONS: dict[str, dict[str, Any]] = {
    "rollout": SELECTED,
    "late": {"name": "features"},
    "fair": {"explainers": ["generic", "centre"], "token": 0, "target": 3},
    "figure": {
        **SELECTED, "kind": "attention", "format": "svg", "partner": 4, "head": 0,
        "direction": "from", "scale": "map", "explainers": ["rollout"], "target": 3,
    },
    "take_home": {"layers": [0, 1], "film": False},
    "beside": {"beside": "size-96"},
    "operate": {"interventions": CHANGES, "layer": 1, "token": 3},
}  # fmt: skip
VOTE = {"do": "vote", "voter": "0123456789abcdef", "question": "abc", "guess": [1, 2]}
Send = Callable[[str], str]  # sends a JSON text; what came of it


def main() -> None:
    """Start the app of this checkout, abuse it, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.abuse", description=__doc__)
    parser.add_argument("--uploads", type=int, default=200)
    parser.add_argument("--values", type=int, default=300, help="for each door")
    parser.add_argument("--second", nargs="?", const="", metavar="WORD", help="see second.py")
    arguments = parser.parse_args()
    if arguments.second is not None:
        from tests.bench.second import second

        second(arguments.second)
        return
    environ = {"VITVIZ_CLASS": "true", "VITVIZ_HOST": "127.0.0.1"}
    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder), environ=environ) as url:
        client = httpx.Client(base_url=url, timeout=120)
        config = client.get("/config").json()
        print("| door | answered | refused with a sentence | else |")
        print("|---|---|---|---|")
        show("uploads", uploads(client, arguments.uploads))
        for door, send, good in doors(client, config):
            show(door, values(send, good, arguments.values))
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


def doors(client: httpx.Client, config: dict[str, Any]) -> Iterator[tuple[str, Send, Any]]:
    """(name, what sends a value, a value that is answered) of every door for values."""
    kinds = {one["id"]: one["type"] for one in config["components"]}
    named = {one["props"].get("elem_id"): one["id"] for one in config["components"]}
    png = picture_of((200, 90, 10))
    path = client.post("/gradio_api/upload", files={"files": ("a.png", png)}).json()[0]
    photo = {"path": path, "orig_name": "a.png", **MARK}
    given = {"image": photo, "dropdown": "photos", "state": None, "checkbox": False, "dataset": 0}
    sent = {
        "photo": {"path": path, "name": "a.png", "first": False},
        "resize": "144",
        "model": "mnist",
        "look": {"inverted": True},
    }
    for one in config["dependencies"]:
        call = partial(direct, client, one["id"])
        if one["backend_fn"] and one["api_visibility"] == "public":
            yield f"/{one['api_name']}", call, [*PROGRAMS[one["api_name"]].values()]
        elif one["backend_fn"] and one["api_visibility"] == "private":
            target, event = one["targets"][0]
            value = [given[kinds[each]] for each in one["inputs"]]
            of_viewer = target == named["vv-viewer"]
            call = partial(call, event=json.dumps(sent.get(event) if of_viewer else None))
            yield f"page, {event} of {kinds.get(target)}", call, value
            if of_viewer and event in sent:
                data = json.dumps(value)
                call = partial(direct, client, one["id"], data)
                yield (
                    f"page, what comes with {event}",
                    lambda text, call=call: call(event=text),
                    sent[event],
                )
            if [named["vv-photo"], "input"] in one["targets"]:
                asked = {"data": value, "fn_index": one["id"], "session_hash": "a"}
                answer = client.post("/gradio_api/run/predict", json=asked).json()["data"][0]
                key = json.loads(answer.get("value", answer)["text"])["pass"]["id"]
    for name, asked in QUESTIONS.items():
        question_of = partial(question, client, named["vv-viewer"], name)
        yield f"viewer, {name}", question_of, {"id": key, "interventions": [], **asked}
    yield "class", partial(question, client, named["vv-viewer"], "room"), VOTE
    for name, value in PROGRAMS.items():
        yield f"tool, {name}", partial(tool, client, name), value


def values(send: Send, good: Any, count: int) -> Counter[str]:
    """Send a good value, and then damaged ones."""
    chance, outcomes = random.Random(0), Counter()
    if (outcome := tried(send, json.dumps(good))) != "answered":
        outcomes[f"good one: {outcome}"] += 1
    for _ in range(count):
        outcomes[tried(send, damage_json(good, chance))] += 1
    return outcomes


def tried(send: Send, text: str) -> str:
    try:
        return send(text)
    except (httpx.HTTPError, ValueError, KeyError) as error:
        return type(error).__name__


def direct(client: httpx.Client, id: int, data: str, event: str = "null") -> str:
    """One call of a function without the queue."""
    answer = client.post(
        "/gradio_api/run/predict",
        **body(f'{{"data": {data}, "event_data": {event}, "fn_index": {id}, "session_hash": "a"}}'),
    )
    return "answered" if answer.status_code == 200 else refusal(answer)


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


def question(client: httpx.Client, viewer: int, name: str, data: str) -> str:
    """One question of the viewer, which is answered outside of the queue."""
    sent = f'{{"data": {data}, "component_id": {viewer}, "fn_name": "{name}", "session_hash": "a"}}'
    answer = client.post("/gradio_api/component_server", **body(sent))
    if answer.status_code != 200:
        return refusal(answer)
    said = answer.json()
    return judged(said["error"]) if isinstance(said, dict) and "error" in said else "answered"


def tool(client: httpx.Client, name: str, data: str) -> str:
    """One call of a tool, without what MCP's own clients would check."""
    call = f'{{"name": "{name}", "arguments": {data}}}'
    sent = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {call}}}'
    headers = {"Accept": "application/json, text/event-stream"}
    answer = client.post("/gradio_api/mcp/", **body(sent, headers))
    if answer.status_code != 200:
        return refusal(answer)
    said = json.loads(answer.text.split("data: ")[-1])
    if "error" in said:
        return judged(said["error"]["message"])
    content = said["result"]["content"][0]["text"]
    return judged(content) if said["result"].get("isError") else "answered"


def body(text: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """A text as the body of a request, with NaN and Infinity, which `httpx` would not send."""
    headers = {"Content-Type": "application/json", **(headers or {})}
    return {"content": text.encode("utf-8", "surrogatepass"), "headers": headers}


def refusal(answer: httpx.Response) -> str:
    """What another status than 200 says: Gradio in JSON, the door in a sentence."""
    try:
        said = answer.json()
        return judged(said.get("error") or said.get("detail"))
    except ValueError:
        return judged("" if answer.status_code == 500 else answer.text)


def judged(sentence: Any) -> str:
    if not isinstance(sentence, str | list) or not sentence:
        return "no sentence"
    return "apology" if APOLOGY in str(sentence) else "refused"


if __name__ == "__main__":
    main()
