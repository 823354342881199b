"""ZeroGPU of Hugging Face: large models borrow a GPU for the time of one order.

Such a Space shows no GPU until a function that `spaces.GPU` has decorated is called; the call is
made in a fork of this process, and counts against the visitor's daily quota. Small models would
wait longer for the GPU than they compute, so they stay on the CPU.
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
from ..compute.fulfilment import fulfil
from ..compute.models import Models
from ..compute.orders import AnyOrder, Refusal, Result

LARGE = 20_000_000  # parameters: below it, the CPU answers sooner
SECONDS = 20  # that one order may take: who asks for less is served sooner
DEVICE = "cuda"

log = logging.getLogger("vitviz.web")


def _lender() -> ModuleType | None:
    """The package `spaces` on a ZeroGPU Space; it has to come before anything asks CUDA.

    None elsewhere, and where the package, or what the Space should tell it, is missing.
    """
    if os.environ.get("SPACES_ZERO_GPU", "").lower() not in ("1", "t", "true"):
        return None
    try:
        return importlib.import_module("spaces")
    except (ImportError, AssertionError) as error:  # it asserts that it knows an address
        log.warning("SPACES_ZERO_GPU: no GPU can be borrowed, the CPU answers: %s", error)
        return None


_spaces = _lender()


def is_here() -> bool:
    """Whether GPUs are lent here."""
    return _spaces is not None


def gpu(function: Callable[..., Result]) -> Callable[..., Result]:
    """`spaces.GPU` of a function where GPUs are lent; elsewhere the function itself."""
    return function if _spaces is None else _spaces.GPU(duration=SECONDS)(function)


@gpu
def with_gpu(order: AnyOrder) -> Result:
    """Fulfil an order on the GPU. Called in a fork, which has the models of its parent."""
    return fulfil(order, _OnGpu(_models))


_models: Models  # of `ZeroGpu`, which puts it here before it borrows a GPU


class _OnGpu:
    """Models as orders ask for them, moved to the GPU of this fork."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def get(self, key: ModelKey) -> LoadedModel:
        loaded = self._models.get(key)
        return replace(loaded, vit=loaded.vit.to(DEVICE))

    def named(self, text: str) -> str:
        return self._models.named(text)


class ZeroGpu(Local):
    """Fulfils orders for large models on a borrowed GPU, all others here."""

    def __init__(self, models: Models, threads: int | None = None) -> None:
        global _models  # the fork finds it, and nothing has to be sent
        super().__init__(models, threads)
        _models = models

    def run(self, order: AnyOrder) -> Result:
        try:
            loaded = self.models.get(order.model)  # before the fork, once for all
        except VitvizError as error:
            return Result(refused=Refusal.of(error, self.models.named))
        if loaded.card.num_parameters >= LARGE:
            try:
                return with_gpu(order)
            # no quota left, no GPU free, it failed, or who lends it is not reached
            except (gr.Error, RuntimeError, httpx.HTTPError) as error:
                log.warning("no GPU for this order, the CPU takes it: %s", error)
        return super().run(order)
