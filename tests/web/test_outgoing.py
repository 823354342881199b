"""Outgoing: whatever a stranger asks, the app calls no other address and leaves no file behind."""

import contextlib
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.running import ROOT, app_process, save_tiny

# app.py, which notes each name that is looked up and each address that is connected to.
WATCHED = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
log = open("called.txt", "a", buffering=1)
HOST = {{"socket.getaddrinfo": lambda args: args[0], "socket.gethostbyname": lambda args: args[0],
        "socket.connect": lambda args: args[1][0] if isinstance(args[1], tuple) else "a file"}}
sys.addaudithook(lambda event, args: event in HOST and log.write(f"{{HOST[event](args)}}\\n"))
from vitviz import cli
sys.exit(cli.main(["serve", *sys.argv[1:]]))
"""
LINK = "http://photos.example.com/a.png"
MARK = {"meta": {"_type": "gradio.FileData"}}
FILES = [
    LINK,
    {"path": LINK, **MARK},
    {"url": LINK, **MARK},
    {"path": "a.png", "url": LINK, **MARK},
]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("watched")


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[httpx.Client]:
    (place / "tmp").mkdir()
    (place / "watched.py").write_text(WATCHED)
    environ = {"TMPDIR": str(place / "tmp"), "HF_HUB_OFFLINE": "0"}
    model = save_tiny(place, "cls")
    with (
        app_process(place, model, environ=environ, program=[place / "watched.py"]) as (url, _),
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        yield client


def called(place: Path) -> set[str]:
    """The hosts that the app called, beside this machine."""
    hosts = set((place / "called.txt").read_text().split("\n")) - {""}
    return hosts - {"127.0.0.1", "::1", "localhost", "0.0.0.0", "None", "a file", "192.0.2.1"}


def ask(client: httpx.Client, name: str, data: list[object]) -> None:
    """Ask a question, and wait for its answer."""
    answer = client.post(f"/gradio_api/call/{name}", json={"data": data})
    if answer.status_code == 200:
        client.get(f"/gradio_api/call/{name}/{answer.json()['event_id']}")


def test_it_calls_no_address_that_somebody_names(client, place):
    before = called(place)
    for prefix, link in itertools.product(
        ("file=", "file/", "proxy=", "file=/vitviz/cache/../"), (LINK, "https://a.hf.space/b")
    ):
        client.get(f"/gradio_api/{prefix}{link}")
    for file in FILES:
        for name in ("analyze", "explain", "compare"):
            ask(client, name, [file, "tiny-cls"])
        ask(client, "analyze", [file, "hf-hub:somebody/something"])
        ask(client, "survey", [[file, LINK]])
        call = {"name": "analyze", "arguments": {"photo": file}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        accept = {"accept": "application/json, text/event-stream"}
        with contextlib.suppress(httpx.ReadTimeout):
            client.post("/gradio_api/mcp/", json=body, headers=accept)
        event = {"data": [file, "tiny-cls", None, False], "session_hash": "x", "trigger_id": 1}
        for function in range(8):
            client.post("/gradio_api/queue/join", json={**event, "fn_index": function})
        questions = {"component_id": 1, "session_hash": "x", "fn_name": "figure", "data": file}
        client.post("/gradio_api/component_server", json=questions)
    headers = {"x-forwarded-host": "photos.example.com", "x-gradio-server": LINK, "referer": LINK}
    for path in ("/", "/config", "/?example=http://photos.example.com/a.png", "/gradio_api/info"):
        client.get(path, headers=headers)
    client.get("/gradio_api/queue/data?session_hash=x")
    assert called(place) == before
    assert before <= {"huggingface.co"}  # whether the hub can be reached, when the app starts
    assert "Traceback" not in (place / "app.log").read_text()


def test_no_file_stays_outside_the_cache(client, place):
    before = set((place / "tmp").rglob("*"))
    parts = [("files", (f"{at}.png", b"x" * 2_000_000)) for at in range(5)]
    for path in ("upload", "process_recording", "component_server"):
        client.post(f"/gradio_api/{path}", files=parts)
        client.post(f"/gradio_api/{path}", files={"video": ("a.mp4", b"x")}, data={"a": "b"})
    client.post("/gradio_api/upload", files=parts[:1])
    client.get("/gradio_api/deep_link?session_hash=x")
    for name in ("vibe-edit", "run-history/connect", "stream/x"):
        client.post(f"/gradio_api/{name}", content=json.dumps({"prompt": "x"}))
    assert set((place / "tmp").rglob("*")) == before
