"""Setup of all tests: few threads, a fixed seed, and loud skips of tests that are off."""

import os

# Before torch is imported: tests are small, and more threads than cores make them slower, as when
# several processes of pytest share the machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gc
import logging
import signal
import urllib.request
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from PIL import Image

from tests.models import SHARED, TINY, photo, tiny
from tests.running import ROOT, app_process, save_tiny
from vitviz import Analysis, LoadedModel, analyze

if TYPE_CHECKING:
    from gradio_client import Client

pytest_plugins = ("tests.failures",)

OFF_BY_DEFAULT = ("network", "browser", "slow")

# A shell makes background jobs ignore SIGINT, and nohup makes its command ignore SIGHUP. Processes
# that tests start would inherit this.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what needs a network, a browser or an hour, and say so, unless `-m` names it."""
    for mark in OFF_BY_DEFAULT:
        if mark in config.option.markexpr:
            continue
        skip = pytest.mark.skip(reason=f"{mark} tests are off; run them with: pytest -m {mark}")
        for item in items:
            if mark in item.keywords:
                item.add_marker(skip)


def pytest_collection_finish() -> None:
    """Exclude imported objects from garbage collection, which took a sixth of the time."""
    gc.collect()
    gc.freeze()


_MODULES: list[list[torch.nn.Module]] = []  # of each of the shared models


@pytest.fixture(autouse=True)
def _hooks_are_removed() -> Iterator[None]:
    """A hook that a test leaves on a model that others share makes another test fail, or pass."""
    yield
    for vit in SHARED[
        len(_MODULES) :
    ]:  # found once: to walk all models takes longer than most tests
        _MODULES.append([*vit.modules()])
    every = chain.from_iterable(_MODULES)
    left = [module for module in every if module._forward_hooks or module._forward_pre_hooks]
    for module in left:
        module._forward_hooks.clear()
        module._forward_pre_hooks.clear()
    assert not left, "the test left hooks on a shared model"


@pytest.fixture(autouse=True)
def _log_is_whole() -> Iterator[None]:
    """Remove the filter that a server puts on the log; it would cut lines of later tests."""
    yield
    for handler in logging.getLogger().handlers:
        handler.filters.clear()


@pytest.fixture(autouse=True)
def _seed() -> None:
    """New weights come from torch's global generator: every test starts it at the same place."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def tiny_vit() -> LoadedModel:
    """A small model with a CLS token, a square grid and seven classes. Only to be read."""
    return tiny("cls")


@pytest.fixture(scope="session", params=TINY)
def any_tiny_vit(request: pytest.FixtureRequest) -> LoadedModel:
    """Each of the small models in turn. Only to be read."""
    return tiny(request.param)


@pytest.fixture(scope="session")
def tiny_analysis(tiny_vit: LoadedModel) -> Analysis:
    """What the small model made of a photo. Only to be read."""
    return analyze(tiny_vit, photo())


@pytest.fixture(scope="session")
def any_tiny_analysis(any_tiny_vit: LoadedModel) -> Analysis:
    """The photo in each of the small models in turn. Only to be read."""
    return analyze(any_tiny_vit, photo())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test file's own."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def picture(folder: Path) -> Path:
    """A photo on disk, whose name has a space."""
    path = folder / "a dog.png"
    Image.fromarray(photo()).save(path)
    return path


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are empty files, for tests of folders and of what is said: a dozen take seconds."""
    monkeypatch.setattr("vitviz.draw.save", lambda figure, path: path.touch())


@pytest.fixture(scope="session")
def app_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the app runs: its log is app.log, and no checkout is there."""
    return tmp_path_factory.mktemp("app")


@pytest.fixture(scope="session")
def app_models(app_folder: Path) -> dict[str, Path]:
    """The models of its host, of which the first is the default."""
    return {name: save_tiny(app_folder, name) for name in ("cls", "registers", "grey")}


@pytest.fixture(scope="session")
def app(app_folder: Path, app_models: dict[str, Path]) -> Iterator[tuple[str, str]]:
    """The address of an app that `vitviz serve` has started, and the first document that it sent.

    For all tests that ask an app what it answers: each app that starts takes seconds.
    """
    how = {"environ": {"PYTHONPATH": str(ROOT)}, "program": ("-m", "vitviz", "serve")}
    with app_process(app_folder, *app_models.values(), **how) as (url, _):
        first = urllib.request.urlopen(url, timeout=60)
        yield url, first.read().decode()
    assert "Traceback" not in (app_folder / "app.log").read_text()


@pytest.fixture(scope="session")
def url(app: tuple[str, str]) -> str:
    return app[0]


@pytest.fixture(scope="module")
def client(url: str, folder: Path) -> "Client":
    """Gradio's client of the app."""
    from gradio_client import Client  # slow to import

    return Client(url, verbose=False, download_files=str(folder / "downloads"))
