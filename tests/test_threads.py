"""One model, several threads: everyone gets the numbers of their own picture."""

import threading

import pytest
import torch

from tests.models import photo, tiny
from tests.running import at_once
from vitviz import Trace, analyze, capture

PICTURES = 8
ROUNDS = 10


def pixels(number: int) -> torch.Tensor:
    config = tiny("cls").card.config
    generator = torch.Generator().manual_seed(number)
    return torch.randn(1, config.in_chans, *config.image_size, generator=generator)


def trace_of(number: int) -> Trace:
    vit = tiny("cls").vit
    with torch.no_grad(), capture(vit) as recorder:
        logits = vit(pixels(number))
    return recorder.trace(logits)


def test_threads_that_share_a_model_do_not_hear_each_other() -> None:
    """Eight threads, started together, ten times over: each trace is its own picture's."""
    alone = [trace_of(number) for number in range(PICTURES)]
    together = threading.Barrier(PICTURES)
    heard: dict[tuple[int, int], Trace] = {}

    def work(number: int) -> None:
        for turn in range(ROUNDS):
            together.wait()
            heard[turn, number] = trace_of(number)

    at_once(*(lambda number=number: work(number) for number in range(PICTURES)))
    assert len(heard) == PICTURES * ROUNDS
    for (_, number), trace in heard.items():
        for name in ("q", "k", "tokens", "logits"):
            assert torch.equal(getattr(trace, name), getattr(alone[number], name)), (name, number)


def test_a_pass_of_another_thread_is_not_heard() -> None:
    """Another thread runs the model to its end between this thread's pass and its trace."""
    vit, alone = tiny("cls").vit, trace_of(0)
    with torch.no_grad(), capture(vit) as recorder:
        logits = vit(pixels(0))
        at_once(lambda: vit(pixels(1)))
    trace = recorder.trace(logits)
    assert torch.equal(trace.q, alone.q)
    assert torch.equal(trace.tokens, alone.tokens)


def test_the_hooks_of_one_thread_outlive_those_of_another() -> None:
    """One thread stops listening, or fails, while another is in the middle of its pass."""
    vit, alone = tiny("cls").vit, trace_of(0)

    def fail() -> None:
        with pytest.raises(RuntimeError, match="on purpose"), capture(vit):
            raise RuntimeError("on purpose")

    me = threading.get_ident()

    def disturb(*_: object) -> None:
        if threading.get_ident() == me:
            at_once(lambda: trace_of(1), fail)

    with torch.no_grad(), capture(vit) as recorder:
        handle = vit.blocks[1].register_forward_pre_hook(disturb)
        try:
            logits = vit(pixels(0))
        finally:
            handle.remove()
    assert torch.equal(recorder.trace(logits).k, alone.k)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in vit.modules())


def test_a_trace_is_verified_against_its_own_pass() -> None:
    """Another thread runs the model, to its end, in the middle of the pass of `verify`."""
    loaded = tiny("cls")
    analysis, me = analyze(loaded, photo()), threading.get_ident()

    def disturb(*_: object) -> None:
        if threading.get_ident() == me:
            at_once(lambda: loaded.vit(pixels(1)))

    handle = loaded.vit.blocks[-1].register_forward_hook(disturb)
    try:
        assert analysis.verify() < 1e-5
    finally:
        handle.remove()
