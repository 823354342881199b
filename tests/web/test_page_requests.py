"""Answers that are ready in another order than they were asked for: which ones a page shows."""

import pytest

from vitviz.web.host import limits
from vitviz.web.service.page_requests import Delivery, PageRequests


@pytest.fixture
def requests():
    return PageRequests()


def test_an_answer_is_shown_and_remembered(requests):
    with requests.begin("a") as request:
        assert requests.deliver(request, "one") is Delivery.SHOWN
    with requests.begin("a") as later:
        assert requests.failed(later, "old") == "one"


def test_a_slow_answer_never_replaces_a_newer_one(requests):
    with requests.begin("a") as slow:
        with requests.begin("a") as fast:
            assert requests.deliver(fast, "fast") is Delivery.SHOWN
        assert requests.deliver(slow, "slow") is Delivery.DROPPED
        assert requests.failed(slow, "old") is None
    with requests.begin("a") as later:
        assert requests.failed(later, "old") == "fast"


def test_an_answer_leaves_the_controls_to_what_was_asked_for_since(requests):
    with requests.begin("a") as first, requests.begin("a") as second:
        assert requests.deliver(first, "first") is Delivery.BESIDE
        assert requests.failed(second, "old") == "first"


def test_what_failed_takes_nothing_away_from_those_before_it(requests):
    with requests.begin("a") as first:
        with requests.begin("a") as second:
            assert requests.failed(second, "old") == "old"
        assert requests.deliver(first, "first") is Delivery.RESTORED


def test_a_failure_is_silent_while_something_later_is_under_way(requests):
    with requests.begin("a") as first, requests.begin("a"):
        assert requests.failed(first, "old") is None


def test_whatever_is_raised_a_request_ends_with_its_block(requests):
    with requests.begin("a") as first:
        with pytest.raises(ZeroDivisionError), requests.begin("a"):
            raise ZeroDivisionError
        assert requests.deliver(first, "first") is Delivery.RESTORED


@pytest.mark.parametrize("page", ["b", None])
def test_pages_are_strangers(requests, page):
    with requests.begin(page) as request, requests.begin("a") as other:
        requests.deliver(other, "other")
        assert requests.failed(request, "old") == "old"
        assert requests.deliver(request, "mine") is Delivery.SHOWN


def test_a_page_that_was_forgotten_is_answered(requests, monkeypatch):
    monkeypatch.setattr(limits, "PAGES_KNOWN", 2)
    with requests.begin("a") as first:
        for page in "bcd":
            with requests.begin(page):
                pass
        assert requests.deliver(first, "first") is Delivery.SHOWN
    assert len(requests._pages) == 2
