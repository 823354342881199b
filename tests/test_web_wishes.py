"""Wishes of pages: what becomes of answers, in whatever order they are ready."""

import pytest

from vitviz.web import limits
from vitviz.web.wishes import Delivery, Wishes


@pytest.fixture
def wishes():
    return Wishes()


def test_an_answer_is_shown_and_remembered(wishes):
    with wishes.wish("a") as wish:
        assert wishes.deliver(wish, "one") is Delivery.SHOWN
    with wishes.wish("a") as later:
        assert wishes.failed(later, "old") == "one"


def test_a_slow_answer_never_replaces_a_newer_one(wishes):
    with wishes.wish("a") as slow:
        with wishes.wish("a") as fast:
            assert wishes.deliver(fast, "fast") is Delivery.SHOWN
        assert wishes.deliver(slow, "slow") is Delivery.DROPPED
        assert wishes.failed(slow, "old") is None
    with wishes.wish("a") as later:
        assert wishes.failed(later, "old") == "fast"


def test_an_answer_leaves_the_controls_to_what_was_asked_for_since(wishes):
    with wishes.wish("a") as first, wishes.wish("a") as second:
        assert wishes.deliver(first, "first") is Delivery.BESIDE
        assert wishes.failed(second, "old") == "first"


def test_what_failed_takes_nothing_away_from_those_before_it(wishes):
    with wishes.wish("a") as first:
        with wishes.wish("a") as second:
            assert wishes.failed(second, "old") == "old"
        assert wishes.deliver(first, "first") is Delivery.RESTORED


def test_a_failure_is_silent_while_something_later_is_under_way(wishes):
    with wishes.wish("a") as first, wishes.wish("a"):
        assert wishes.failed(first, "old") is None


def test_whatever_is_raised_a_wish_ends_with_its_block(wishes):
    with wishes.wish("a") as first:
        with pytest.raises(ZeroDivisionError), wishes.wish("a"):
            raise ZeroDivisionError
        assert wishes.deliver(first, "first") is Delivery.RESTORED


@pytest.mark.parametrize("page", ["b", None])
def test_pages_are_strangers(wishes, page):
    with wishes.wish(page) as wish, wishes.wish("a") as other:
        wishes.deliver(other, "other")
        assert wishes.failed(wish, "old") == "old"
        assert wishes.deliver(wish, "mine") is Delivery.SHOWN


def test_a_page_that_was_forgotten_is_answered(wishes, monkeypatch):
    monkeypatch.setattr(limits, "PAGES_KNOWN", 2)
    with wishes.wish("a") as first:
        for page in "bcd":
            with wishes.wish(page):
                pass
        assert wishes.deliver(first, "first") is Delivery.SHOWN
    assert len(wishes._pages) == 2
