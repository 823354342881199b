"""ZeroGPU of Hugging Face: large models borrow a GPU for the time of one job.

Such a Space has no GPU except in functions decorated by `spaces.GPU`; these run in a fork of this
process, and count against the visitor's daily quota. Small models would wait longer for the GPU
than they compute, so they stay on the CPU.
"""

import importlib
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import gradio as gr
import httpx

from ...errors import VitvizError
from ...model.key import ModelKey
from ...model.weights import LoadedModel
from ..compute.engine import Local
from ..compute.executor import execute
from ..compute.jobs import AnyJob, Refusal, Result, WeightsJob
from ..compute.models import Models

LARGE = 20_000_000  # parameters; with fewer the CPU is faster
SECONDS = 20  # limit of a job; shorter ones get a GPU sooner
DEVICE = "cuda"

log = logging.getLogger("vitviz.web")


def _lender() -> ModuleType | None:
    """The package `spaces` on a ZeroGPU Space; it must be imported before CUDA is used.

    None elsewhere, and if the package or its configuration is missing.
    """
    if os.environ.get("SPACES_ZERO_GPU", "").lower() not in ("1", "t", "true"):
        return None
    try:
        return importlib.import_module("spaces")
    except (ImportError, AssertionError) as error:  # it asserts that an address is configured
        log.warning("SPACES_ZERO_GPU: no GPU can be borrowed, the CPU answers: %s", error)
        return None


_spaces = _lender()


def is_here() -> bool:
    """Whether this process can borrow GPUs."""
    return _spaces is not None


def gpu(function: Callable[..., Result]) -> Callable[..., Result]:
    """Decorate a function by `spaces.GPU` on a ZeroGPU Space; elsewhere return it unchanged."""
    return function if _spaces is None else _spaces.GPU(duration=SECONDS)(function)


@gpu
def with_gpu(job: AnyJob) -> Result:
    """Execute a job on the GPU. It runs in a fork, which inherits the models."""
    return execute(job, _OnGpu(_models))


_models: Models  # set by `ZeroGpu` before it borrows a GPU


class _OnGpu:
    """The models of the process, moved to the GPU of this fork."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def get(self, key: ModelKey) -> LoadedModel:
        loaded = self._models.get(key)
        return replace(loaded, vit=loaded.vit.to(DEVICE))

    def named(self, text: str) -> str:
        return self._models.named(text)


class ZeroGpu(Local):
    """Executes jobs for large models on a borrowed GPU, all others here."""

    def __init__(self, models: Models, threads: int | None = None) -> None:
        global _models  # inherited by the fork, so nothing has to be sent
        super().__init__(models, threads)
        _models = models

    def run(self, job: AnyJob) -> Result:
        try:
            loaded = self.models.get(job.model)  # before the fork, so that it stays loaded
        except VitvizError as error:
            return Result(refused=Refusal.of(error, self.models.named))
        # The few passes that compare weights are not worth a GPU.
        if loaded.card.num_parameters >= LARGE and not isinstance(job, WeightsJob):
            try:
                return with_gpu(job)
            # no quota left, no free GPU, a failure, or no connection to the lender
            except (gr.Error, RuntimeError, httpx.HTTPError) as error:
                log.warning("no GPU for this job, the CPU takes it: %s", error)
        return super().run(job)
