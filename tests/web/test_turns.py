"""Turns: a bounded number at a time, a bounded line, and a bounded wait."""

import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.running import until
from vitviz.errors import VitvizError
from vitviz.web.compute.turns import ASKING, Turns

REFUSAL = VitvizError("come back later")


def test_who_waits_too_long_is_refused_and_takes_no_place():
    turns = Turns(1, 5)
    with turns.take(20, REFUSAL):
        for _ in range(10):
            with pytest.raises(VitvizError, match="come back"), turns.take(0.01, REFUSAL):
                raise AssertionError("two at a time")
    with turns.take(0.01, REFUSAL):
        pass


def test_a_line_has_an_end():
    turns, inside, out = Turns(1, 1), threading.Event(), threading.Event()

    def take():
        with turns.take(20, REFUSAL):
            inside.set()
            assert out.wait(20)

    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(take) for _ in range(2)]
        assert inside.wait(20)
        until(lambda: len(turns._waiting) == 1)
        with pytest.raises(VitvizError, match="come back"), turns.take(20, REFUSAL):
            raise AssertionError("the line was full")
        out.set()
        for one in done:
            one.result()
    with turns.take(20, REFUSAL):
        pass


def test_a_free_place_goes_to_the_address_that_has_the_fewest():
    """A visitor waited for every large photo that another one had sent before: 23 s."""
    turns, got, callers = Turns(2, 9), [], "aaaabba"
    ends = [threading.Event() for _ in callers]

    def take(number, address):
        ASKING.set(address)
        with turns.take(20, REFUSAL):
            got.append(f"{address}{number}")
            assert ends[number].wait(20)

    def have(seen, waiting):
        return lambda: (len(got), len(turns._waiting)) == (seen, waiting)

    with ThreadPoolExecutor(len(callers)) as pool:
        done = []
        for number, address in enumerate(callers):
            done.append(pool.submit(contextvars.copy_context().run, take, number, address))
            until(have(min(number + 1, 2), max(number - 1, 0)))
        for number, end in enumerate(ends):
            end.set()
            until(have(min(number + 3, 7), max(4 - number, 0)))
        for one in done:
            one.result()
    # b has one place from the first one that is free, and a has the other
    assert got == ["a0", "a1", "b4", "a2", "a3", "a6", "b5"]
    assert not turns._inside


def test_a_place_is_given_back_whatever_happens():
    turns = Turns(1, 0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), turns.take(20, REFUSAL):
            raise ZeroDivisionError
