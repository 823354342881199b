"""Turns: a bounded number at a time, a bounded line, and a bounded wait."""

import contextvars
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.running import until
from vitviz.errors import VitvizError
from vitviz.web.compute import executor, opening
from vitviz.web.compute import turns as turns_module
from vitviz.web.compute.models import Models
from vitviz.web.compute.turns import ASKING, Turns
from vitviz.web.host import limits

REFUSAL = VitvizError("come back later")


class Clock:
    """Stands in for `time`: seconds pass where a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(turns_module, "time", clock)
    return clock


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


def test_who_waits_for_another_turn_is_not_passed_by_those_that_come_again(clock):
    """Each that had left went first: an experiment beside a photo waited for 21 s."""
    turns, got, ends = Turns(1, 9), [], {}

    def take(name):
        ASKING.set(name[0])
        with turns.take(20, REFUSAL):
            got.append(name)
            assert ends[name].wait(20)

    with ThreadPoolExecutor(5) as pool:

        def come(name):
            ends[name] = threading.Event()
            waiting = len(turns._waiting) + bool(got)
            pool.submit(contextvars.copy_context().run, take, name)
            until(lambda: len(turns._waiting) == waiting and got)

        def go(name):
            seen, clock.now = len(got), clock.now + 1
            ends[name].set()
            until(lambda: len(got) > seen)

        for name in ("a1", "a2", "b1", "c1"):
            come(name)
        go("a1")
        go("b1")
        come("b2")
        go("c1")
        go("a2")
        ends["b2"].set()
    assert got == ["a1", "b1", "c1", "a2", "b2"]


def test_short_turns_do_not_wait_for_a_long_one_of_each_other_address(clock):
    """Sixteen addresses that explained photos let a visitor's small photo wait for 11 to 22 s."""
    turns, got = Turns(1, 99), []
    strangers = [f"stranger {number}" for number in range(16)]

    def take(address, seconds):
        ASKING.set(address)
        with turns.take(20, REFUSAL):
            clock.now += seconds

    def wait(address, end):
        ASKING.set(address)
        with turns.take(20, REFUSAL):
            got.append(address)
            assert end.wait(20)

    for address in [*strangers, "visitor"]:
        contextvars.copy_context().run(take, address, 0.1 if address == "visitor" else 1)
    ends = [threading.Event() for _ in range(18)]
    with ThreadPoolExecutor(18) as pool:
        for number, address in enumerate([*strangers, "visitor"]):
            pool.submit(contextvars.copy_context().run, wait, address, ends[number])
            until(lambda number=number: len(got) + len(turns._waiting) == number + 1)
            clock.now += 0 if number else 1  # the first has a place
        clock.now += 0.2  # each has waited as long: two turns of the visitor
        for end in ends:
            end.set()
    assert got == [strangers[0], "visitor", *strangers[1:]]


def test_a_place_is_given_also_where_each_look_finds_another_first(monkeypatch):
    """Two callers, whose ranks had changed between their looks, both waited, and were refused."""
    now = iter(range(0, 10**9, 3))
    monkeypatch.setattr(turns_module, "time", Clock())
    monkeypatch.setattr(turns_module.time, "monotonic", lambda: next(now) ** 1.5)
    turns, got = Turns(1, 99), []

    def take(address):
        ASKING.set(address)
        with turns.take(20, REFUSAL):
            got.append(address)

    with ThreadPoolExecutor(9) as pool:
        asked = [
            pool.submit(contextvars.copy_context().run, take, address)
            for address in [*"aabbbcddefaab"] * 20
        ]
        for one in asked:
            one.result(20)
    assert len(got) == 13 * 20
    assert not turns._waiting
    assert not turns._inside


def test_a_full_line_has_room_for_an_address_that_has_fewer(clock):
    """Nine slow photos of one visitor refused every large photo of others for three minutes."""
    turns, got, refused, end = Turns(1, 3), [], [], threading.Event()

    def take(caller):
        ASKING.set(caller[0])
        try:
            with turns.take(20, REFUSAL):
                got.append(caller)
                assert end.wait(20)
        except VitvizError:
            refused.append(caller)

    with ThreadPoolExecutor(9) as pool:
        done = []
        for number, caller in enumerate(["a0", "a1", "a2", "a3", "a4", "b0", "b1", "b2"]):
            done.append(pool.submit(contextvars.copy_context().run, take, caller))
            until(lambda number=number: len(got + refused) + len(turns._waiting) == number + 1)
        until(lambda: len(refused) == 4)
        clock.now += 1
        end.set()
        for one in done:
            one.result()
    # The line was full for a4 and b2; a3 and a2 were last in it when b0 and b1 came.
    assert sorted(refused) == ["a2", "a3", "a4", "b2"]
    assert got == ["a0", "b0", "a1", "b1"]
    assert not turns._inside
    assert not turns._waiting


def test_the_turns_of_so_many_addresses_are_known(monkeypatch):
    monkeypatch.setattr(limits, "ADDRESSES_KNOWN", 2)
    turns = Turns(1, 1)

    def take(address):
        ASKING.set(address)
        with turns.take(1, REFUSAL):
            pass

    for address in "abc":
        contextvars.copy_context().run(take, address)
    assert list(turns._last) == ["b", "c"]


def test_a_place_is_given_back_whatever_happens():
    turns = Turns(1, 0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), turns.take(20, REFUSAL):
            raise ZeroDivisionError


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_has_free_places_whoever_holds_them_here():
    """A fork lacks the threads that hold places, so it waited for places that nobody gives back."""
    turns = Turns(1, 0)
    with turns.take(0, REFUSAL):
        if not (child := os.fork()):
            status = 1
            try:
                with turns.take(0, REFUSAL):
                    status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        with pytest.raises(VitvizError), turns.take(0, REFUSAL):
            pass


@pytest.mark.parametrize(
    "turns",
    [executor._heavy, opening._large, Models()._loading["photos"]],
    ids=["heavy work", "large photos", "one model"],
)
def test_a_class_on_devices_of_its_own_waits_and_is_not_refused(turns, monkeypatch):
    """The tenth of them was refused at once."""
    monkeypatch.setattr(limits, "COMPUTING", 2)
    waiting, free = 24, threading.Event()

    def work(number):
        ASKING.set(f"10.0.0.{number}")
        with turns.take(60, REFUSAL):
            free.wait(60)
        return number

    with ThreadPoolExecutor(waiting) as pool:
        found = [pool.submit(contextvars.copy_context().run, work, at) for at in range(waiting)]
        places = turns._places()
        until(lambda: len(turns._waiting) == waiting - places)
        free.set()
        assert [one.result() for one in found] == [*range(waiting)]
