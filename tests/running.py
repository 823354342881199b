"""The app in a process of its own, with tiny models made at once; for API and browser tests."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch

from tests.models import spread, tiny
from vitviz.model.config import ViTConfig
from vitviz.model.preprocess import Preprocess
from vitviz.model.vit import ViT
from vitviz.model.weights import save_checkpoint

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 240  # a loaded machine with two cores


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
    script: Path = ROOT / "app.py",
) -> Iterator[tuple[str, subprocess.Popen]]:
    """The same with its process. `script` takes the arguments of app.py."""
    port = free_port()
    command = [sys.executable, str(script), "--port", str(port)]
    for model in models:
        command += ["--model", str(model)]
    env = {
        **os.environ,
        "GRADIO_TEMP_DIR": str(folder / "cache"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONUNBUFFERED": "1",
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


def ended(process: subprocess.Popen) -> None:
    """End an app as a host does."""
    process.terminate()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
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
