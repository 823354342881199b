"""The end of the app: running requests are answered, and no picture is left behind."""

import os
import signal
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gradio_client import Client, handle_file
from PIL import Image

from tests.models import photo
from tests.running import ROOT, app_process, save_tiny

# app.py with an analysis that creates a file when it begins, and waits for the file "go".
SLOW = f"""
import signal, sys, time, uuid
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
# A shell makes its background processes ignore Ctrl-C, and their children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
import app
from vitviz.web import engine, limits

limits.COMPUTING = 3
analyze = engine.analyze

def slowly(*args, **options):
    Path("begun-" + uuid.uuid4().hex).touch()
    while not Path("go").exists():
        time.sleep(0.01)
    return analyze(*args, **options)

engine.analyze = slowly
app.main()
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    Image.fromarray(photo()).save(tmp_path / "a.png")
    return tmp_path


@pytest.fixture
def running(folder):
    model = save_tiny(folder, "cls")
    with app_process(folder, model, script=folder / "slow.py") as (url, process):
        yield url, process


def until(true):
    give_up = time.monotonic() + 60
    while not true():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def pictures(folder: Path) -> list[Path]:
    return [path for path in (folder / "cache").rglob("*") if path.is_file()]


def ask(url: str, folder: Path) -> tuple[dict, str]:
    client = Client(url, verbose=False, download_files=str(folder / "downloads"))
    return client.predict(handle_file(folder / "a.png"), "tiny-cls", api_name="/analyze")


def test_who_is_inside_is_answered_and_no_picture_is_left(running, folder):
    url, process = running
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(ask, url, folder) for _ in range(3)]
        until(lambda: len(list(folder.glob("begun-*"))) == 3)
        process.terminate()
        until(lambda: refused(url))
        (folder / "go").touch()
        for answer in answers:
            summary, file = answer.result(60)
            assert summary["num_tokens"] == 17
            assert Path(file).stat().st_size > 0  # it could still be fetched
    assert process.wait(60) == -signal.SIGTERM
    assert pictures(folder) == []
    assert list((folder / "cache").glob("vitviz-*")) == []
    assert "Traceback" not in (folder / "app.log").read_text()


def refused(url):
    """Whether new requests are refused."""
    try:
        urllib.request.urlopen(f"{url}/gradio_api/queue/join", b"{}", timeout=10)
    except urllib.error.HTTPError as error:
        return error.code == 503
    return False


def test_a_second_signal_ends_it_at_once_and_the_next_start_sweeps(running, folder):
    url, process = running
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, url, folder)
        until(lambda: list(folder.glob("begun-*")))
        process.terminate()
        until(lambda: refused(url))
        process.terminate()
        assert process.wait(60) == -signal.SIGTERM
        assert answer.exception(60) is not None
    assert pictures(folder)
    left = next((folder / "cache").glob("vitviz-*"))
    os.utime(left, (0, 0))  # older than a folder that is not locked yet
    with app_process(folder, folder / "tiny-cls.safetensors"):
        until(lambda: not left.exists())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nobody_inside_means_no_wait(running, folder, number):
    url, process = running
    (folder / "go").touch()
    ask(url, folder)
    assert pictures(folder)
    process.send_signal(number)
    process.wait(60)
    assert pictures(folder) == []
    assert "Traceback" not in (folder / "app.log").read_text()
