"""The end of the app: running requests are answered, and no picture is left behind."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gradio_client import Client, handle_file
from PIL import Image

from tests.models import photo
from tests.running import app_process, begun, pictures, refuses, save_tiny, slow_script, until


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


def test_who_is_inside_is_answered_and_no_picture_is_left(running, folder):
    url, process = running
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(ask, url, folder) for _ in range(3)]
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
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, url, folder)
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
