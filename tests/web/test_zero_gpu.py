"""ZeroGPU: large models borrow a GPU, small ones stay, and without a GPU the CPU answers."""

import importlib
import sys
from types import ModuleType

import gradio as gr
import httpx
import pytest

from tests.desks import encoded, models_of
from vitviz.model.key import ModelKey
from vitviz.web.compute.jobs import Job
from vitviz.web.page import zero_gpu


@pytest.fixture
def spaces(monkeypatch):
    """A stand-in for the package; `calls` counts what ran on the GPU, `error` is raised instead."""
    module = ModuleType("spaces")
    module.calls, module.error, module.durations = [], None, []

    def on_gpu(duration):
        module.durations.append(duration)

        def decorate(function):
            def borrowed(job):
                if module.error:
                    raise module.error
                module.calls.append(job.model.name)
                return function(job)

            return borrowed

        return decorate

    module.GPU = on_gpu
    monkeypatch.setitem(sys.modules, "spaces", module)
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    importlib.reload(zero_gpu)
    monkeypatch.setattr(zero_gpu, "DEVICE", "cpu")
    yield module
    monkeypatch.delenv("SPACES_ZERO_GPU")
    importlib.reload(zero_gpu)


@pytest.fixture
def models(tmp_path):
    return models_of(tmp_path, "cls", "registers")


def job(model):
    return Job(photo=encoded(), name="a.png", model=ModelKey(model))


def test_large_models_borrow_the_gpu_and_small_ones_do_not(spaces, models, monkeypatch):
    sizes = {
        key: models.get(ModelKey(key)).card.num_parameters for key in ("tiny-cls", "tiny-registers")
    }
    small, large = sorted(sizes, key=sizes.get)
    assert sizes[small] < sizes[large]
    monkeypatch.setattr(zero_gpu, "LARGE", sizes[large])
    engine = zero_gpu.ZeroGpu(models)
    assert spaces.durations == [zero_gpu.SECONDS]
    assert [engine.run(job(one)).refused for one in (small, large)] == [None, None]
    assert spaces.calls == [large]
    assert "no model" in engine.run(job("nonsense")).refused.text


@pytest.mark.parametrize(
    "error",
    [
        gr.Error("quota exceeded"),
        RuntimeError("GPU task aborted"),
        httpx.ConnectError("connection refused"),
    ],
)
def test_without_a_gpu_the_cpu_answers(spaces, models, monkeypatch, error):
    monkeypatch.setattr(zero_gpu, "LARGE", 0)
    spaces.error = error
    assert zero_gpu.ZeroGpu(models).run(job("tiny-cls")).saved
    assert spaces.calls == []


@pytest.mark.parametrize(
    ("package", "says"),
    [
        ("assert False, 'its address must be set'", "its address must be set"),
        ("raise ImportError('it is not here')", "it is not here"),
    ],
)
def test_where_nothing_lends_a_gpu_the_cpu_answers(package, says, monkeypatch, tmp_path, caplog):
    """The address that a Space tells, or the package, was missing: the app did not start."""
    (tmp_path / "spaces.py").write_text(package)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    try:
        importlib.reload(zero_gpu)
        assert not zero_gpu.is_here()
    finally:
        monkeypatch.delenv("SPACES_ZERO_GPU")
        importlib.reload(zero_gpu)
    (told,) = caplog.messages
    assert told == f"SPACES_ZERO_GPU: no GPU can be borrowed, the CPU answers: {says}"


def test_elsewhere_nothing_is_imported_or_wrapped(monkeypatch):
    monkeypatch.setitem(sys.modules, "spaces", None)  # an import would fail

    def function(job):
        return job

    assert not zero_gpu.is_here()
    assert zero_gpu.gpu(function) is function
