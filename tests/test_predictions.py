"""Predictions: a group is a sum of classes, and "not sure" needs calibrated probabilities."""

import json
from dataclasses import replace

import pytest
import torch

from tests.models import photo, tiny, with_pass
from vitviz import Analysis, SelectionError, analyze, load
from vitviz.model.loaded import KNOWN_OR_NOT
from vitviz.probe.measure.predictions import NOT_SURE, class_named, groups_of

WORDS = ("dog", "cat", "dog", "bird", "cat", "fish", "dog")


def with_details(analysis: Analysis, **details: str) -> Analysis:
    temperature = float(details.get("temperature", 1))
    card = replace(analysis.card, details=details, temperature=temperature)
    return replace(analysis, card=card)


@pytest.fixture
def grouped(tiny_analysis: Analysis) -> Analysis:
    return with_details(tiny_analysis, groups=json.dumps(WORDS), temperature="0.5")


def test_a_group_has_the_summed_probability_of_its_classes(grouped: Analysis) -> None:
    probabilities = (grouped.trace.logits / 0.5).softmax(dim=-1)
    groups = grouped.groups(10)
    assert {group.name: group.classes for group in groups} == {
        "dog": (0, 2, 6),
        "cat": (1, 4),
        "bird": (3,),
        "fish": (5,),
    }
    for group in groups:
        want = sum(float(probabilities[i]) for i in group.classes)
        assert group.probability == pytest.approx(want, abs=1e-6)
    assert sum(group.probability for group in groups) == pytest.approx(1, abs=1e-5)
    assert [g.probability for g in groups] == sorted((g.probability for g in groups), reverse=True)
    assert grouped.groups(2) == groups[:2]
    seven = with_details(grouped, groups=json.dumps(list("abcdefg")))
    assert (len(seven.groups()), len(seven.groups(10))) == (5, 7)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "not JSON", '["dog"]', json.dumps([*WORDS, "one too many"]), "null"]
)
def test_groups_that_do_not_fit_are_none(tiny_analysis: Analysis, text: str) -> None:
    analysis = with_details(tiny_analysis, groups=text)
    assert groups_of(analysis.card) is None
    assert analysis.groups() == ()
    assert analysis.answer().kind == "class"


def logits(analysis: Analysis, *probabilities: float) -> Analysis:
    trace = replace(analysis.trace, logits=torch.tensor(probabilities).log())
    return with_pass(analysis, trace=trace)


def test_not_sure_only_where_percentages_mean_something(tiny_analysis: Analysis) -> None:
    low = (0.24, 0.2, 0.2, 0.16, 0.1, 0.06, 0.04)
    calibrated = {"temperature": "1"}
    for details, sure in ((calibrated, False), ({}, None)):
        answer = logits(with_details(tiny_analysis, **details), *low).answer()
        assert (answer.name, answer.sure) == ("class 0", sure)
        assert answer.probability == pytest.approx(0.24)
    # The three classes of dogs have 0.48 together, which is above NOT_SURE.
    analysis = logits(with_details(tiny_analysis, groups=json.dumps(WORDS), **calibrated), *low)
    answer = analysis.answer()
    assert (answer.kind, answer.name, answer.sure) == ("group", "dog", True)
    assert answer.probability == pytest.approx(0.48)
    for shares, said in (
        ((0.994, *[0.001] * 6), '"class 0" 99%'),
        ((0.9964, *[0.0006] * 6), "> 99%"),
    ):
        assert said in repr(logits(tiny_analysis, *shares))
    assert "maybe dog 48%" in repr(analysis)
    high = logits(with_details(tiny_analysis, **calibrated), NOT_SURE + 0.01, *[0.123] * 6)
    assert high.answer().sure is True


def test_a_class_that_holds_nearly_all_of_its_group_is_the_answer(tiny_analysis: Analysis) -> None:
    analysis = with_details(tiny_analysis, groups=json.dumps(WORDS), temperature="1")
    dogs, others = [at for at, word in enumerate(WORDS) if word == "dog"], len(WORDS)
    assert len(dogs) == 3

    def said(*shares: float) -> tuple[str, str, float]:
        """The answer where the dogs have these shares, and the other classes the rest."""
        row = [(1 - sum(shares)) / (others - 3)] * others
        for at, share in zip(dogs, shares, strict=True):
            row[at] = share
        answer = logits(analysis, *row).answer()
        return answer.kind, answer.name, pytest.approx(answer.probability, abs=1e-5)

    assert said(0.73, 0.05, 0.03) == ("class", f"class {dogs[0]}", 0.73)  # 0.73 / 0.81 > 0.9
    assert said(0.72, 0.05, 0.04) == ("group", "dog", 0.81)
    assert said(0.02, 0.02, 0.94) == ("class", f"class {dogs[2]}", 0.94)


def test_a_class_outside_of_the_best_group_is_not_the_answer(tiny_analysis: Analysis) -> None:
    """The bird alone is the best class, with more than 0.9 of what the three dogs have together."""
    threshold = json.dumps({"score": KNOWN_OR_NOT, "threshold": 1.0})
    analysis = with_details(tiny_analysis, groups=json.dumps(WORDS), others=threshold)
    shares = (0.12, 0.14, 0.11, 0.32, 0.14, 0.07, 0.1)  # dogs 0.33, the bird 0.32, cats 0.28
    analysis = logits(analysis, *shares)
    answer = analysis.answer()
    assert (answer.kind, answer.name) == ("group", "dog")
    assert answer.probability == pytest.approx(0.33)
    # Probabilities sum to 1, so the score is log 1 = 0, below the threshold.
    assert analysis.not_taught() == "Not one of my 7 things; if it had to choose: dog"
    known = json.dumps({"score": KNOWN_OR_NOT, "threshold": -1.0})
    assert with_details(analysis, others=known).not_taught() is None
    words = {"en": {"groups": {"dog": "a dog"}, "labels": {"dog": "a class"}}}
    named = replace(analysis, card=replace(analysis.card, words=words))
    assert named.not_taught() == "Not one of my 7 things; if it had to choose: a dog"


def test_a_model_that_answers_for_each_token_sums_no_groups() -> None:
    analysis = analyze(tiny("no_pool"), photo())
    words = json.dumps([label[-1] for label in analysis.card.labels])
    assert with_details(analysis, groups=words).groups() == ()


def test_who_names_no_class_answers_nothing() -> None:
    analysis = analyze(tiny("registers"), photo())
    assert analysis.answer() is analysis.not_taught() is None
    assert analysis.groups() == ()
    assert analysis.summary()["answer"] is None


def test_the_summary_tells_the_answer(grouped: Analysis) -> None:
    summary = json.loads(json.dumps(grouped.summary(2)))
    assert summary["answer"]["kind"] == "group"
    assert [group["name"] for group in summary["groups"]] == [g.name for g in grouped.groups(2)]


def test_a_class_is_named_as_the_page_says_it_in_any_language() -> None:
    card = load("photos").card
    number = card.labels.index("lesser panda")
    for name in ("lesser panda", "red panda", "레서판다", number):
        assert class_named(card, name, "explain") == number
    with pytest.raises(SelectionError, match="has no class 'a red panda'"):
        class_named(card, "a red panda", "explain")
