"""Wishes of pages: only the latest counts, and only so many pages are remembered."""

from vitviz.web import limits
from vitviz.web.wishes import Wishes


def test_a_later_wish_of_the_same_page_makes_one_outdated():
    wishes = Wishes()
    first, other = wishes.begin("a"), wishes.begin("b")
    second = wishes.begin("a")
    assert [wishes.outdated(wish) for wish in (first, second, other)] == [True, False, False]
    wishes.withdraw(second)
    assert not wishes.outdated(first)
    third = wishes.begin("a")
    wishes.withdraw(first)  # long outdated: it has nothing to give back
    assert wishes.outdated(first)
    assert not wishes.outdated(third)


def test_who_has_no_page_is_never_outdated():
    wishes = Wishes()
    program, _ = wishes.begin(None), wishes.begin(None)
    assert not wishes.outdated(program)


def test_a_page_that_was_forgotten_is_answered(monkeypatch):
    monkeypatch.setattr(limits, "PAGES_KNOWN", 2)
    wishes = Wishes()
    first = wishes.begin("a")
    for page in "bcd":
        wishes.begin(page)
    assert not wishes.outdated(first)
    assert len(wishes._latest) == 2
