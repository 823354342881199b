"""Threads of a forward pass: all cores for one alone, one for each under load."""

from contextlib import ExitStack

import pytest
import torch

from vitviz.web.compute import engine
from vitviz.web.compute.engine import Cores
from vitviz.web.host import limits


@pytest.fixture
def set_to(monkeypatch):
    seen = []
    monkeypatch.setattr(limits, "usable_cores", lambda: 8)
    monkeypatch.setattr(engine.torch, "get_num_threads", lambda: 6)
    monkeypatch.setattr(engine.torch, "set_num_threads", seen.append)
    return seen


def test_passes_at_the_same_time_share_the_cores(set_to):
    shared = Cores()
    with ExitStack() as passes:
        for _ in range(8):
            passes.enter_context(shared.share())
        assert set_to == [6, 3, 2, 1, 1, 1, 1, 1]  # of the six that OMP_NUM_THREADS allows
    assert set_to[8:] == [1, 1, 1, 1, 2, 3, 6, 6]
    with pytest.raises(ValueError, match="a failure"), shared.share():
        raise ValueError("a failure")
    with shared.share():
        assert set_to[-3:] == [6, 6, 6]


def test_a_host_can_fix_the_number(set_to):
    shared = Cores(2)
    with shared.share(), shared.share():
        assert set_to == [2, 2]


def test_a_pass_has_its_share_and_afterwards_torch_has_what_it_had():
    before = torch.get_num_threads()
    with Cores(before + 1).share():
        assert torch.get_num_threads() == before + 1
    torch.set_num_threads(before)
    with Cores().share():
        assert torch.get_num_threads() == min(before, limits.usable_cores())
    torch.set_num_threads(before)
