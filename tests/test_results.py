"""What follows from logits, by hand; the page is held to the same examples."""

import json

import pytest

from tests.results_fixture import EXAMPLES, examples
from tests.viewer_fixture import FOLDER

TABLE = json.loads(json.dumps(examples()))


@pytest.mark.parametrize("one", TABLE["results"], ids=list(EXAMPLES))
def test_results_are_those_worked_out_by_hand(one: dict) -> None:
    by_hand, found, answer = one["by_hand"], one["predictions"], one["answer"]
    order, shares = ([entry[name] for entry in found] for name in ("index", "probability"))
    assert order == by_hand.get("order", order)
    assert shares == pytest.approx(by_hand.get("shares", shares), abs=1e-7)
    assert [group["name"] for group in one["groups"]] == by_hand.get("groups", [])
    said = answer and [answer[name] for name in ("kind", "name", "sure", "known")]
    assert said == by_hand.get("answer")
    for name in ("level", "classes"):
        if name in by_hand:
            assert answer[name] == by_hand[name]
    if "text" in by_hand:
        assert one["texts"]["en"] == by_hand["text"]
    if "known" in by_hand:
        told = one["known_or_not"]
        assert [told["score"], told["known"]] == [
            pytest.approx(by_hand["known"][0]),
            answer["known"],
        ]
    assert (one["known_or_not"] is None) == (one["classes"]["threshold"] is None)


@pytest.mark.parametrize(
    "one", TABLE["lenses"], ids=[f"{one['name']}, {one['outputs']}" for one in TABLE["lenses"]]
)
def test_lines_of_the_lens_are_those_worked_out_by_hand(one: dict) -> None:
    assert [[line["index"], line["ranks"]] for line in one["lines"]] == one["by_hand"]


def test_the_page_is_tested_with_these_examples() -> None:
    """Stale: `python -m tests.viewer_fixture` writes them anew."""
    written = json.loads((FOLDER / "results" / "examples.json").read_text("utf-8"))
    assert [one["name"] for one in written["results"]] == list(EXAMPLES)
    for mine, theirs in zip(TABLE["results"], written["results"], strict=True):
        for name in ("classes", "labels", "logits", "by_hand"):
            assert theirs[name] == mine[name], mine["name"]
