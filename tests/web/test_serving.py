"""The end of the app: running requests are answered, and no picture is left behind."""

import gc
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest
from gradio_client import Client, handle_file
from PIL import Image

from tests.models import photo
from tests.running import app_process, begun, pictures, refuses, save_tiny, slow_script, until
from tests.web.test_blocks import told
from vitviz import cli
from vitviz.errors import VitvizError
from vitviz.web.host import limits
from vitviz.web.host.settings import Settings
from vitviz.web.page import build
from vitviz.web.page.serving import serve


@pytest.fixture
def folder(tmp_path):
    slow_script(tmp_path)
    Image.fromarray(photo()).save(tmp_path / "a.png")
    return tmp_path


@pytest.fixture
def running(folder):
    model = save_tiny(folder, "cls")
    with app_process(folder, model, program=[folder / "slow.py"]) as (url, process):
        yield url, process


def ask(url: str, folder: Path) -> tuple[dict, str]:
    client = Client(url, verbose=False, download_files=str(folder / "downloads"))
    return client.predict(handle_file(folder / "a.png"), "tiny-cls", api_name="/analyze")


@contextmanager
def asked(url: str, folder: Path, visitors: int) -> Iterator[list[Future]]:
    """Their answers. They wait for the file "go" at most as long as this block."""
    with ThreadPoolExecutor(visitors) as pool:
        try:
            yield [pool.submit(ask, url, folder) for _ in range(visitors)]
        finally:
            (folder / "go").touch()


def test_who_is_inside_is_answered_and_no_picture_is_left(running, folder):
    url, process = running
    with asked(url, folder, 3) as answers:
        until(lambda: begun(folder) == 3)
        process.terminate()
        until(lambda: refuses(url))
        (folder / "go").touch()
        for answer in answers:
            summary, file = answer.result(60)
            assert summary["num_tokens"] == 17
            assert Path(file).stat().st_size > 0  # it could still be fetched
    assert process.wait(60) == -signal.SIGTERM
    assert pictures(folder) == []
    assert list((folder / "cache").glob("vitviz-*")) == []
    assert "Traceback" not in (folder / "app.log").read_text()


def test_a_second_signal_ends_it_at_once_and_the_next_start_sweeps(running, folder):
    url, process = running
    with asked(url, folder, 1) as (answer,):
        until(lambda: begun(folder))
        process.terminate()
        until(lambda: refuses(url))
        process.terminate()
        assert process.wait(60) == -signal.SIGTERM
        assert answer.exception(60) is not None
    assert pictures(folder)
    left = next((folder / "cache").glob("vitviz-*"))
    os.utime(left, (0, 0))  # older than a folder that is not locked yet
    with app_process(folder, folder / "tiny-cls.safetensors"):
        until(lambda: not left.exists())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nobody_inside_means_no_wait(running, folder, number):
    url, process = running
    (folder / "go").touch()
    ask(url, folder)
    assert pictures(folder)
    process.send_signal(number)
    process.wait(60)
    assert pictures(folder) == []
    assert "Traceback" not in (folder / "app.log").read_text()


def test_a_signal_is_heard_whichever_thread_it_reaches(monkeypatch):
    heard, late, ended, main = [], [], threading.Event(), threading.main_thread().ident
    monkeypatch.setattr(limits, "SIGNAL_SECONDS", 0.01)

    def to_another_thread() -> None:
        until(lambda: signal.getsignal(signal.SIGTERM) is not mine)
        until(lambda: sys._current_frames()[main].f_code.co_name == "wait")
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        if not ended.wait(20):
            late.append("woken")
            signal.pthread_kill(main, signal.SIGTERM)

    class Demo(Mock):
        def launch(self, **_options) -> None:
            threading.Thread(target=to_another_thread).start()

        def close(self, **_options) -> None:
            ended.set()

    def mine(number: int, _frame: object) -> None:
        heard.append(number)

    before = signal.signal(signal.SIGTERM, mine)
    try:
        serve(Demo(), {})
    finally:
        signal.signal(signal.SIGTERM, before)
    assert late == []
    assert heard == [signal.SIGTERM]  # as a process ends that was told to


def test_what_the_start_has_made_is_not_searched_for_garbage():
    """Nobody is answered meanwhile: one question of 21,000 lists had all of it searched."""
    before, searched = len(gc.get_objects()), []

    def begun() -> None:
        searched.append(len(gc.get_objects()))
        raise KeyboardInterrupt

    try:
        serve(Mock(), {}, begun)
    finally:
        gc.unfreeze()
    assert searched[0] < before / 10


@pytest.mark.parametrize(
    ("host", "says"), [("127.0.0.1", "in use"), ("192.0.2.1", ""), ("a" * 70 + ".invalid", "")]
)
def test_an_address_that_nothing_can_listen_at_stops_the_start(host, says, capsys):
    """Gradio ended in a traceback for the first, and waited for ever for the second."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.main(["serve", "--host", host, "--port", str(port)]) == 1
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith(f"vitviz serve: the app cannot listen at {host}, port {port}: ")
    assert says in said
    assert said.count("\n") == 1


def test_a_start_that_is_broken_off_while_the_page_is_built_leaves_no_folder(tmp_path, monkeypatch):
    def stopped(*_):
        assert list(tmp_path.iterdir())
        raise KeyboardInterrupt

    engine = Mock()
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    monkeypatch.setattr(build, "_engine_of", lambda _: (engine, None))
    monkeypatch.setattr(build, "_built", stopped)
    with pytest.raises(KeyboardInterrupt):
        build.build(Settings())
    assert list(tmp_path.iterdir()) == []
    engine.close.assert_called_once_with()


def test_a_cache_that_cannot_be_made_leaves_no_engine_open(tmp_path, monkeypatch):
    engine = Mock()
    (tmp_path / "file").touch()
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(build, "_engine_of", lambda _: (engine, None))
    with pytest.raises(VitvizError, match="cannot be used"):
        build.build(Settings())
    engine.close.assert_called_once_with()


def test_a_page_that_is_built_keeps_its_engine_and_its_folder(tmp_path, monkeypatch):
    engine = Mock()
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    monkeypatch.setattr(build, "_engine_of", lambda _: (engine, None))
    monkeypatch.setattr(build, "_built", lambda *given: given[-1])
    cache = build.build(Settings())
    assert cache.folder.is_dir()
    engine.close.assert_not_called()
    cache.delete()


@pytest.mark.parametrize(
    ("error", "raised", "says"),
    [
        (OSError("Cannot find empty port."), VitvizError, "cannot be served: Cannot find empty"),
        (httpx.ConnectError("Connection refused"), VitvizError, "cannot be served: Connection"),
        (ValueError("a fault of ours"), ValueError, "^a fault of ours"),
    ],
)
def test_an_app_that_cannot_be_launched_says_so_and_leaves_nothing(error, raised, says):
    demo = Mock()
    demo.launch.side_effect = error
    with pytest.raises(raised, match=says):
        serve(demo, {})
    assert demo.gate.cache.delete.called
    assert demo.close.called


# Runs in a process of its own, because Gradio leaves event loops and sockets open.
LAUNCHED = """
import json, os, sys
import gradio as gr
import httpx
from vitviz.web.page.gradio_inside import App

gr.networking.url_ok = lambda url: False  # no answer within three seconds
found = []
for host, os.environ["no_proxy"] in json.load(sys.stdin):
    with App(analytics_enabled=False) as demo:
        gr.Markdown("here")
    demo.launch(prevent_thread_lock=True, quiet=True, server_name=host)
    found.append([httpx.get(demo.local_url).status_code, os.environ["no_proxy"]])
    demo.close(verbose=False)
print(json.dumps(found))
"""


def test_gradio_does_not_end_an_app_that_is_slow_or_behind_a_proxy(tmp_path, monkeypatch):
    """Its own questions got no answer: a traceback, or the advice to open a public link."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    asked = [["127.0.0.1", ""], ["0.0.0.0", "a.example"]]
    named = ["localhost,127.0.0.1", "a.example,localhost,0.0.0.0"]
    assert told(tmp_path, LAUNCHED, json.dumps(asked)) == [[200, names] for names in named]


BUSY = """
import json, sys, threading
from concurrent.futures import ThreadPoolExecutor
import gradio as gr
import httpx
from vitviz.web.page.gradio_inside import App

def work():
    begun.release()
    go.wait()

begun, go = threading.Semaphore(0), threading.Event()
with App(analytics_enabled=False) as demo:
    gr.api(work, api_name="work", queue=False)
demo.launch(prevent_thread_lock=True, quiet=True)
with ThreadPoolExecutor(40) as pool:
    url = demo.local_url + "gradio_api/run/work"
    asked = [pool.submit(httpx.post, url, json={"data": []}, timeout=60) for _ in range(40)]
    for _ in asked:
        begun.acquire(timeout=60)
    try:
        print(json.dumps(httpx.get(demo.local_url, timeout=20).status_code))
    finally:
        go.set()
demo.close(verbose=False)
"""


def test_a_document_does_not_wait_for_a_thread_of_those_that_compute(tmp_path):
    assert told(tmp_path, BUSY, "") == 200
