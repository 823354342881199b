"""Turns: a bounded number at a time, a bounded line, and a bounded wait."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from vitviz.errors import VitvizError
from vitviz.web.compute.turns import Turns

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

    def first():
        with turns.take(20, REFUSAL):
            inside.set()
            assert out.wait(20)

    with ThreadPoolExecutor(2) as pool:
        pool.submit(first)
        assert inside.wait(20)
        assert turns._here.acquire(timeout=20)  # the one place in the line is taken
        with pytest.raises(VitvizError, match="come back"), turns.take(20, REFUSAL):
            raise AssertionError("the line was full")
        turns._here.release()
        out.set()
    with turns.take(20, REFUSAL):
        pass


def test_a_place_is_given_back_whatever_happens():
    turns = Turns(1, 0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), turns.take(20, REFUSAL):
            raise ZeroDivisionError
