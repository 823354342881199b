"""Where Gradio itself refuses a request, the visitor reads a sentence of ours."""

import json
import os
import subprocess
import sys

import pytest

from tests.running import ROOT

# Runs in a process of its own, because Gradio leaves event loops and sockets open.
REFUSALS = """
import asyncio, json, sys
from types import SimpleNamespace
import gradio as gr
from gradio.context import LocalContext
from starlette.exceptions import HTTPException
from vitviz.web.page.gradio_inside import App
from vitviz.web.page.gradio_inside import PhotoInput

with App(analytics_enabled=False) as demo:
    gr.Button().click(lambda *_: {}, [gr.JSON(), PhotoInput()], api_name="asked")
    gr.Button().click(lambda *_: {}, [gr.JSON(), PhotoInput()], api_visibility="private")
demo.queue(max_size=0)  # always full

async def push(function, language, session=None):
    body = SimpleNamespace(fn_index=function, session_hash=session)
    request = SimpleNamespace(headers={"accept-language": language}, scope={})
    try:
        return await demo._queue.push(body=body, request=request, username=None)
    except HTTPException as error:
        return error.status_code, error.detail

async def take(function, values):
    try:
        return repr(await demo.preprocess_data(demo.fns[function], values, None))
    except gr.Error as error:
        assert not error.print_exception
        return error.message

async def main():
    LocalContext.blocks.set(demo)  # as the server does
    demo.has_launched = True
    full = [await push(0, "ko-KR"), await push(0, "fr"), await push(1, "fr")]
    bad = [[await take(function, values) for function in (0, 1)] for values in json.load(sys.stdin)]
    names = ("a<gradio-sep>b", "a" * 101, "", "a-B_9")
    odd = [await push(0, "fr", session) for session in names]
    print(json.dumps({"full": full, "bad": bad, "odd": odd}))

asyncio.run(main())
"""
ENGLISH = "This server computes for many others; try again in a minute."
KOREAN = "지금 많은 분이 쓰고 있습니다. 잠시 뒤에 다시 시도해 주세요."
MARK = {"meta": {"_type": "gradio.FileData"}}
BAD = [
    ([0, {"path": "/etc/passwd", **MARK}], "Upload the picture itself"),
    ([0, 5], "has a value that cannot be used here"),
    ([0, {"path": [1]}], "has a value that cannot be used here"),
    ([0, {"path": "a" * 3000, **MARK}], "has a value that cannot be used here"),
    ([0, {"path": "a.png", "meta": 7}], "has a value that cannot be used here"),
    ([0, {"path": "http://127.0.0.1:9/a.png", **MARK}], "Upload the picture itself"),
    (
        [[{"from": {"path": "https://127.0.0.1:9/a.png", **MARK}}], None],
        "Upload the picture itself",
    ),
]


# Hands files to Gradio as the functions of the page do: one of the cache, and others.
GIVEN = """
import asyncio, json
from pathlib import Path
import gradio as gr
from gradio.context import LocalContext
from gradio.utils import get_upload_folder
from vitviz.web.page.gradio_inside import App, PhotoInput

with App(analytics_enabled=False) as demo:
    outputs = [gr.JSON(), PhotoInput()]
    gr.Button().click(lambda: {}, None, outputs, api_visibility="private", postprocess=False)

async def give(path):
    file = {"path": str(path), "orig_name": "a.png", "meta": {"_type": "gradio.FileData"}}
    try:
        data = await demo.postprocess_data(demo.fns[0], [{}, file], None)
    except gr.Error as error:
        assert not error.print_exception
        return error.message
    return Path(data[1]["path"]).read_text()

async def main():
    LocalContext.blocks.set(demo)  # as the server does
    demo.has_launched = True
    demo.allowed_paths = [str(Path("examples").resolve())]
    for folder in (Path("examples"), Path(get_upload_folder())):
        folder.mkdir(exist_ok=True)
        (folder / "a.png").write_text("a picture")
    Path("passwords.txt").write_text("ada:secret")
    paths = ("examples/a.png", f"{get_upload_folder()}/a.png", "passwords.txt", "", "http://a.b/")
    print(json.dumps([await give(path) for path in paths]))

asyncio.run(main())
"""
# Asks ten times, of which the answer to the first is fetched last, and one has a client that left.
KEPT = """
import json
import gradio as gr
from fastapi.testclient import TestClient
from gradio.routes import App as Routes
from vitviz.web.compute.turns import ASKING
from vitviz.web.page.gradio_inside import App

knew = []

def asked(said):
    knew.append(ASKING.get())
    return said, "README.md"

with App(analytics_enabled=False) as demo:
    text, file = gr.Textbox(), gr.File()
    gr.Button().click(asked, text, [text, file], api_name="asked")
app, queue = Routes.create_app(demo), demo._queue
with TestClient(app) as client:
    client.get("/gradio_api/startup-events")

    def put(said):
        address = "/gradio_api/call/asked"
        return address + "/" + client.post(address, json={"data": [said]}).json()["event_id"]

    first = put("the first")
    for number in range(8):
        client.get(put("another"))
    fetched = client.get(first).text
    queue.pending_event_ids_session["who left"] = {"while it was computed"}
    client.get(put("the last"))
    sessions = app.state_holder.session_data.values()
    print(json.dumps({
        "fetched": fetched,
        "knew": knew,
        "waiting": [len(queue.pending_event_ids_session), len(queue.pending_messages_per_session)],
        "statistics": [len(queue.event_analytics), queue.cached_event_analytics_summary],
        "files": sum(map(len, demo.temp_file_sets)),
        "sessions": len(sessions),
        "described": sum(len(list(one.components)) for one in sessions),
    }))
"""


def told(folder, script, given=""):
    """What a script prints, in JSON."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=given,
        capture_output=True,
        text=True,
        env={**os.environ, "GRADIO_TEMP_DIR": str(folder)},
        cwd=ROOT,
        timeout=240,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def refusals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blocks")
    return told(folder, REFUSALS, json.dumps([values for values, _ in BAD]))


def test_a_full_queue_says_so_in_the_language_of_who_asks(refusals):
    korean, english, page = refusals["full"]
    assert korean == [False, KOREAN, "queue_full"]
    assert english == [False, ENGLISH, "queue_full"]
    # Gradio's page says something of its own, in English only, to status 503.
    both = f'<span class="vv-en">{ENGLISH}</span><span class="vv-ko">{KOREAN}</span>'
    assert page == [429, both]


def test_a_session_by_a_name_of_no_client_is_refused(refusals):
    """While a request of session "a<gradio-sep>b" ran, nobody could cancel theirs. Each request of
    session "" was a traceback in the log.
    """
    *odd, good = refusals["odd"]
    assert odd == [[False, "The request has a value that cannot be used here.", "error"]] * 3
    assert good == [False, ENGLISH, "queue_full"]


def test_what_cannot_be_taken_is_refused_with_a_sentence(refusals):
    for (values, says), (program, page) in zip(BAD, refusals["bad"], strict=True):
        assert says in program, values
        assert says in page
        assert "/etc" not in program + page
        assert "주세요" in page or "없는 값" in page
        assert not program.endswith("</span>")


def test_of_who_was_answered_little_is_kept(tmp_path):
    kept = told(tmp_path, KEPT)
    assert "the first" in kept["fetched"]  # others have come and gone since
    assert kept["knew"] == ["testclient"] * 10  # who asked, for `Turns`
    assert kept["waiting"] == [1, 1]  # the last one; it goes when another comes
    assert kept["statistics"] == [1, {"functions": {}}]
    assert kept["files"] == 1
    assert kept["sessions"] == 10  # of which `SESSIONS_KNOWN` bounds the number
    assert kept["described"] == 0


# Fills the queue from two addresses, and says who gets turns, and who is refused.
TURNS = """
import asyncio, json
from types import SimpleNamespace
import gradio as gr
from vitviz.web.host import limits
from vitviz.web.page.gradio_inside import App

limits.QUEUE_SIZE, limits.QUEUE_SHARE = 10, 0.5
with App(analytics_enabled=False) as demo:
    gr.Button().click(lambda: None, api_name="asked")
demo.queue(max_size=limits.QUEUE_SIZE * limits.FIRST_QUEUE)

async def push(address):
    body = SimpleNamespace(fn_index=0, session_hash=None, event_id=None)
    request = SimpleNamespace(headers={}, scope={"client": (address, 1)})
    done, _, state = await demo._queue.push(body=body, request=request, username=None)
    return state

async def main():
    states = [await push(address) for address in "aaaaaaabc" + "b"]
    (line,) = demo._queue.event_queue_per_concurrency_id.values()
    turns = [event.request.scope["client"][0] for event in line.queue]
    limits.WORKERS, limits.FIRST_WORKERS, line.concurrency_limit = 3, 5, 9
    demo._queue.active_jobs = []

    def start():
        started = []
        while found := demo._queue.get_events():
            demo._queue.active_jobs.append(found[0])
            started.append(found[0][0].request.scope["client"][0])
        return started

    first, waiting = start(), len(line.queue)
    for event in demo._queue.active_jobs[0]:
        event.concurrency_id = "another line"
    second = start()
    for address in "def":
        await push(address)
    shown = [states, turns, first, waiting, second, start(), len(line.queue)]
    line.queue.clear()
    limits.FIRST_QUEUE = 1.2
    print(json.dumps([*shown, [await push(address) for address in "aaaaabbbbbccde"]]))
    # Two streams of a session are cut off, one after the other; another session stays.
    sessions = demo._queue.pending_messages_per_session
    sessions["twin"] = sessions["other"] = None
    del sessions["twin"]
    del sessions["twin"]
    assert "twin" not in sessions and "other" in sessions
    sessions["twin"].put_nowait("an estimate for a session that was dropped")
    assert "twin" not in sessions

asyncio.run(main())
"""


# Cancels an event whose thread goes on.
CANCELLED = """
import asyncio, gc, json, threading
import gradio as gr
from vitviz.web.page.gradio_inside import App

began, go = threading.Event(), threading.Event()

def slow():
    began.set()
    go.wait(60)
    raise gr.Error("read by nobody")

with App(analytics_enabled=False) as demo:
    gr.Button().click(slow, api_name="slow")

async def main():
    task = asyncio.create_task(demo.process_api(0, []))
    await asyncio.to_thread(began.wait, 60)
    task.cancel()
    await asyncio.sleep(0.2)
    task.cancel()
    await asyncio.sleep(0.2)
    before = task.done()
    go.set()
    await asyncio.wait([task])
    print(json.dumps([before, task.cancelled()]))
    del task
    gc.collect()

asyncio.run(main())
"""


def test_a_cancelled_event_is_over_when_its_thread_is():
    """Else its worker is free for the next one, while the photo of this one lies in memory."""
    run = [sys.executable, "-c", CANCELLED]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [False, True]
    assert "never retrieved" not in done.stderr


def test_addresses_take_turns_in_the_queue_and_none_fills_it():
    done = subprocess.run(
        [sys.executable, "-c", TURNS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    states, turns, first, waiting, second, third, left, full = json.loads(done.stdout)
    assert states == ["success"] * 5 + ["queue_full"] * 2 + ["success"] * 3
    assert turns == list("abcabaaa")
    # The queue is full at ten, but for two of addresses that have none in it.
    assert full == ["success"] * 11 + ["queue_full", "success", "queue_full"]
    # Three are taken; further ones would be for addresses that have none.
    assert (first, waiting) == (list("abc"), 5)
    # What another line computes takes none of its workers.
    assert second == ["a"]
    # Of five workers the last two are for those who have none.
    assert (third, left) == (list("de"), 5)


def test_gradio_gives_out_files_of_the_cache_and_examples_alone(tmp_path):
    """Its own version copies any file of the working folder into the cache, and fetches links."""
    env = {"PYTHONPATH": str(ROOT), "GRADIO_TEMP_DIR": str(tmp_path / "cache")}
    asked = subprocess.run(
        [sys.executable, "-c", GIVEN], cwd=tmp_path, env={**os.environ, **env},
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    of_cache, *others = json.loads(asked.stdout)
    assert others.pop(0) == of_cache == "a picture"
    assert len(others) == 3
    assert all("Upload the picture itself" in said for said in others)
