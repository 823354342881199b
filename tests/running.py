"""The app in a process of its own, with tiny models made for it; and threads that start at once."""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import torch

from tests.models import spread, tiny
from vitviz.model.config import ViTConfig
from vitviz.model.preprocess import Preprocess
from vitviz.model.vit import ViT
from vitviz.model.weights import save_checkpoint

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 240  # a loaded machine with two cores
BROWSERS = [  # in the order of tests/run.sh
    *("chromium-headless-shell", "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable"),
]

# app.py with an analysis that creates a file when it begins, and waits for the file "go".
SLOW = f"""
import signal, sys, time, uuid
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
# A shell makes its background processes ignore Ctrl-C, and their children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
from vitviz import cli
from vitviz.web.compute import executor
from vitviz.web.host import limits

limits.COMPUTING = 3
analyze = executor.analyze

starting = iter([True])  # the first one is of the app itself

def slowly(*args, **options):
    if next(starting, False):
        return analyze(*args, **options)
    Path("begun-" + uuid.uuid4().hex).touch()
    while not Path("go").exists():
        time.sleep(0.01)
    return analyze(*args, **options)

executor.analyze = slowly
sys.exit(cli.main(["serve", *sys.argv[1:]]))
"""


def chromium() -> str | None:
    """The Chromium that `CHROMIUM` names, or else one of this machine."""
    if wanted := os.environ.get("CHROMIUM"):
        return shutil.which(wanted) or wanted  # one that is not there fails
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def save_tiny(
    folder: Path,
    name: str,
    labels: tuple[str, ...] | None = None,
    stem: str | None = None,
    **details: str,
) -> Path:
    """One of `TINY` as a checkpoint file, exact to the last bit, with what it tells of itself."""
    loaded = tiny(name)
    path = folder / f"{stem or 'tiny-' + name}.safetensors"
    return _save(path, loaded.vit, loaded.preprocess, labels or loaded.card.labels, details)


def save_between(folder: Path) -> Path:
    """A model with a norm between attention and projection, which `attention_norm` does not fit."""
    base = tiny("cls")
    vit = spread(ViT(replace(base.card.config, attn_norm=True))).eval()
    return _save(folder / "between.safetensors", vit, base.preprocess, base.card.labels, {})


def save_patch_norm(folder: Path, switch: str = "patch_norm_before") -> Path:
    """A model with a norm of its patches, which only Python and a server run."""
    base = tiny("cls")
    config = replace(base.card.config, **{switch: True})
    path, vit = folder / f"{switch}.safetensors", spread(ViT(config)).eval()
    return _save(path, vit, base.preprocess, base.card.labels, {})


def save_digits(folder: Path) -> Path:
    """A model of grey pictures, as a training on light strokes on a dark ground would leave it."""
    vit, labels = tiny("grey").vit, tiny("grey").card.labels
    preprocess = Preprocess(size=vit.config.image_size, channels=1, mean=(0.13,), std=(0.31,))
    recipe = {"recipe": '{"data": "mnist", "invert": 0.0}'}
    return _save(folder / "digits.safetensors", vit, preprocess, labels, recipe)


def save_long(folder: Path) -> Path:
    """A model with so many tokens (442) that the viewer asks for a rollout."""
    config = ViTConfig(
        image_size=84, patch_size=4, embed_dim=16, depth=3, num_heads=2, num_classes=2
    )
    vit, path = spread(ViT(config)), folder / "long.safetensors"
    return _save(path, vit, Preprocess(size=config.image_size), ("even", "odd"), {})


def _save(
    path: Path,
    vit: ViT,
    preprocess: Preprocess,
    labels: tuple[str, ...] | None,
    details: dict[str, str],
) -> Path:
    save_checkpoint(
        path,
        vit.state_dict(),
        config=vit.config,
        preprocess=preprocess,
        labels=labels,
        details={"data set": "none: random weights"} | details,
        dtype=torch.float32,
    )
    return path


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextmanager
def running_app(
    folder: Path, *models: Path, environ: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The address of an app that runs until the block ends; its log is `folder`/app.log."""
    with app_process(folder, *models, environ=environ) as (url, _):
        yield url


@contextmanager
def app_process(
    folder: Path,
    *models: Path,
    environ: Mapping[str, str] | None = None,
    port: int | None = None,
    program: Sequence[str | Path] = (ROOT / "app.py",),
) -> Iterator[tuple[str, subprocess.Popen]]:
    """The same with its process. `program`: what Python starts; it takes the options of app.py."""
    port = port or free_port()
    command = [sys.executable, *map(str, program), "--port", str(port)]
    for model in models:
        command += ["--model", str(model)]
    env = {
        **os.environ,
        "GRADIO_TEMP_DIR": str(folder / "cache"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONUNBUFFERED": "1",
        "VITVIZ_KEEP_WEIGHTS": "true",  # most tests of these models are of the server
        **(environ or {}),
    }
    log_path = folder / "app.log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{port}", process, log_path)
        yield f"http://127.0.0.1:{port}", process
    finally:
        ended(process)


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing: what is tested or measured is what is printed."""


class VisitorsServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A visitor who leaves while a file comes is no error; anything else is told."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving_files(folder: Path | str) -> Iterator[str]:
    """The address of a plain web server for the files of a folder, while the block runs."""
    with answering(partial(_Files, directory=folder)) as url:
        yield url


@contextmanager
def answering(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server whose requests a handler answers, while the block runs."""
    server = VisitorsServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def at_once(*works: Callable[[], object]) -> None:
    """Run each in a thread of its own, all at once, and raise what one of them raised."""
    failed: list[BaseException] = []

    def attempt(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 (raised again below, in the thread of the test)
            failed.append(error)

    threads = [threading.Thread(target=attempt, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if failed:
        raise failed[0]


def ended(process: subprocess.Popen) -> None:
    """End an app as a host does. One that does not end fails the test."""
    process.terminate()
    try:
        process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()


def wait_for(url: str, process: subprocess.Popen, log: Path) -> None:
    """Wait until an app answers. Raises `RuntimeError` with its log if it does not."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/gradio_api/startup-events", timeout=30):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"the app did not start:\n{log.read_text()[-3000:]}")


def slow_script(folder: Path) -> Path:
    """An app.py whose analyses wait for a file "go" in `folder`; three compute at a time."""
    (folder / "slow.py").write_text(SLOW)
    return folder / "slow.py"


def begun(folder: Path) -> int:
    """How many analyses of a slow app have begun."""
    return len(list(folder.glob("begun-*")))


def until(true: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something is true. Raises `TimeoutError` if it is not after these seconds."""
    give_up = time.monotonic() + seconds
    while not true():
        if time.monotonic() > give_up:
            raise TimeoutError(f"not so after {seconds:.0f} s")
        time.sleep(0.02)


def pictures(folder: Path) -> list[Path]:
    """The files in the cache of an app that runs, or ran, in `folder`."""
    return [path for path in (folder / "cache").rglob("*") if path.is_file()]


def refuses(url: str) -> bool:
    """Whether an app takes no new request, because it ends."""
    try:
        urllib.request.urlopen(f"{url}/gradio_api/queue/join", b"{}", timeout=10)
    except urllib.error.HTTPError as error:
        return error.code == 503
    except TimeoutError:  # of a busy machine
        return False
    return False


def upload_breaks_off(url: str) -> None:
    """Begin to upload a picture to an app, and leave when a part has been sent."""
    host, port = urllib.parse.urlsplit(url).netloc.split(":")
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n'
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(
            b"POST /gradio_api/upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n"
            b"Content-Type: multipart/form-data; boundary=x\r\n\r\n" + head + b"x" * 2_000_000
        )
