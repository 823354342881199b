"""Several visitors at once: each gets exactly the arrays of their own picture."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import torch
from gradio_client import Client, handle_file
from PIL import Image

import vitviz
from tests.desks import desk_of, uploaded
from tests.models import photo
from tests.running import save_tiny
from vitviz.model.key import ModelKey
from vitviz.web.compute import executor
from vitviz.web.compute.models import Models
from vitviz.web.host import limits
from vitviz.web.service.replies import Shown

ROUNDS = 25
ARRAYS = ("q", "k", "tokens", "logits")


@pytest.fixture(scope="module")
def model(folder):
    return save_tiny(folder, "cls")


@pytest.fixture(scope="module")
def pictures(folder):
    """Two pictures that are clearly different."""
    paths = [folder / "plain.png", folder / "inverse.png"]
    for path, pixels in zip(paths, (photo(), 255 - np.roll(photo(), 31, axis=1)), strict=True):
        Image.fromarray(pixels).save(path)
    return paths


@pytest.fixture(scope="module")
def alone(model, pictures):
    """The trace of each picture, analyzed alone."""
    loaded = vitviz.load(model)
    return [vitviz.analyze(loaded, path).trace for path in pictures]


def same(trace, expected):
    for name in ARRAYS:
        torch.testing.assert_close(getattr(trace, name), getattr(expected, name))


def test_two_analyses_at_once_hear_nothing_of_each_other(
    model, folder, pictures, alone, monkeypatch
):
    monkeypatch.setattr(limits, "COMPUTING", 2)
    models = Models([str(model)])
    desk = desk_of(models, folder)
    # The threads wait for each other in every block, so that the hooks of both are on the model.
    loaded = models.get(ModelKey("tiny-cls"))
    meeting = Barrier(2, timeout=20)

    def meet(*_):
        meeting.wait()

    hooks = [block.register_forward_pre_hook(meet) for block in loaded.vit.blocks]
    analyze, heard = executor.analyze, {}

    def listening(loaded, photo, **options):
        analysis = analyze(loaded, photo, **options)
        heard[photo.name] = analysis.trace
        return analysis

    monkeypatch.setattr(executor, "analyze", listening)
    uploads = [uploaded(desk, path.name, path.read_bytes()) for path in pictures]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(ROUNDS):
            asked = [
                pool.submit(
                    desk.show, upload, ModelKey("tiny-cls"), Shown(None, ModelKey("tiny-cls"))
                )
                for upload in uploads
            ]
            for upload, answer, expected in zip(uploads, asked, alone, strict=True):
                reply = answer.result(60)
                assert reply.manifest["photo"]["name"] == upload.name
                same(heard[upload.name], expected)
                same(vitviz.Analysis.from_bytes(desk._store.get(reply.saved)).trace, expected)
    for hook in hooks:
        hook.remove()


def test_visitors_of_the_running_app_get_their_own(url, app_models, folder, pictures):
    """With the same picture or model as another, at the same moment."""
    jobs = [(path, name) for name in ("cls", "grey") for path in pictures]
    start = Barrier(len(jobs), timeout=60)

    def visit(at):
        path, name = jobs[at]
        expected = vitviz.analyze(vitviz.load(app_models[name]), path).trace
        client = Client(url, verbose=False, download_files=str(folder / f"downloads-{at}"))
        for _ in range(4):
            start.wait()
            asked = handle_file(path), f"tiny-{name}"
            summary, file = client.predict(*asked, api_name="/analyze")
            assert summary["photo"]["name"] == path.name
            analysis = vitviz.Analysis.load(file)
            same(analysis.trace, expected)
            got = summary["selection"]["attention"]
            np.testing.assert_allclose(got, analysis.attention(2), rtol=1e-4, atol=1e-6)

    with ThreadPoolExecutor(len(jobs)) as pool:
        assert list(pool.map(visit, range(len(jobs)))) == [None] * len(jobs)
