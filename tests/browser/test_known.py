"""The page says in each language when a picture is none of the model's classes."""

import json
import re
from dataclasses import replace

import pytest

from tests.models import photo, tiny
from vitviz import Analysis, analyze
from vitviz.languages import dictionary
from vitviz.model.loaded import KNOWN_OR_NOT
from vitviz.payload import page

OTHERS = {
    "pictures": 1500,
    "classes": ["apple", "pear", "plum"],
    "scores": {"known or not": {"auroc": 0.82, "refused": 0.31}},
    "chosen": {"threshold": 3, "kept": 0.948, "refused": 0.33},
}
PHOTOGRAPHS = {"known": 52, "strangers": 263, "kept": 0.981, "left_out": 0.962, "refused": 0.205}
SAID = {
    "en-US": {
        "none": "Not one of my 7 things",
        "guess": "if it had to choose: {name}",
        "line": "{none}; {guess}",
        "score": "Score {score}, threshold {threshold}: this picture counts as none of",
        "keeps": "keep at least 95% of the pictures",
        "catches": "never shown, it catches 33.0% and lets 67.0% through. "
        "Of 52 large photographs of its classes it keeps 98.1%",
        "tabs": ("Predictions", "Model"),
    },
    "ko-KR": {
        "none": "배운 7가지에 없는 것입니다",
        "guess": "굳이 고르자면: {name}",
        "line": "{none}. {guess}",
        "score": "점수 {score}, 임계값 {threshold}: 모델의 클래스가 아니라고",
        "keeps": "그림의 95% 이상이 통과",
        "catches": "사물 3가지의 그림 1,500장 가운데 33.0%를 거절하고 67.0%는 잘못 받아들입니다. "
        "큰 사진으로 재면",
        "tabs": ("예측", "모델"),
    },
}


def spaced(text: str) -> str:
    """The text with plain spaces, and without the quotes of a name."""
    return re.sub(r"\s", " ", re.sub("[“”]", "", text))


@pytest.fixture(scope="module")
def two() -> tuple[Analysis, Analysis]:
    """One picture below the threshold of the model, and one above it."""
    loaded = tiny("cls")
    low, high = sorted(
        (analyze(loaded, picture) for picture in (photo(), photo(90, 50))),
        key=lambda one: float(one.trace.logits.logsumexp(0)),
    )
    threshold = sum(float(one.trace.logits.logsumexp(0)) for one in (low, high)) / 2
    details = {
        "others": json.dumps({"score": KNOWN_OR_NOT, "threshold": threshold}),
        "evaluation": json.dumps({"others": OTHERS, "photographs": PHOTOGRAPHS}),
        "certain": "0",
    }
    return tuple(replace(one, card=replace(one.card, details=details)) for one in (low, high))


def test_a_picture_of_no_class_is_told_in_every_place_and_language(open_page, two) -> None:
    unknown, known = two
    html = page(unknown, beside=known)
    for locale in SAID:
        said, answer, told = SAID[locale], unknown.answer(), unknown.known_or_not()
        none, guess = said["none"], said["guess"].format(name=answer.name)
        line = said["line"].format(none=none, guess=guess)
        tab = open_page(html, locale=locale)
        tab.wait_for_selector('#viewer[data-beside="other"]')
        sides = tab.locator(".vv-beside figcaption span").all_inner_texts()
        best = known.answer()
        told_known = f"{best.name}, {100 * best.probability:.1f}%"
        assert [spaced(text) for text in sides[:2]] == [line, told_known]
        assert spaced(tab.locator("h2").first.text_content()) == none
        assert tab.locator(".vv-says").text_content() == guess
        assert tab.locator(".vv-rivals li").count() == 0  # with their percentages
        tab.get_by_role("tab", name=said["tabs"][0]).click()
        panels = tab.locator(".vv-panel:visible > [role=group]")
        refused, answered = panels.locator(".vv-found").all_text_contents()
        assert refused == dictionary(locale[:2], "viewer")["notTaughtWhy"]
        assert best.name in answered
        first, second = (spaced(text) for text in panels.locator(".vv-known").all_inner_texts())
        score = said["score"].format(score=f"{told.score:.2f}", threshold=f"{told.threshold:.2f}")
        assert score in first
        assert score.split(":")[1] not in second
        for text in (first, second):
            assert said["keeps"] in text
            assert said["catches"] in text
        tab.get_by_role("tab", name=said["tabs"][1]).click()
        table = tab.locator(".vv-card-part", has_text="AUROC").first.locator("td.vv-shape")
        shares = [float(text.strip().rstrip("%")) for text in table.all_inner_texts()]
        assert shares == [82.0, 31.0, 94.8, 33.0, 67.0, 98.1, 20.5]


def test_a_model_that_cannot_tell_says_nothing_of_it(open_page) -> None:
    tab = open_page(page(analyze(tiny("cls"), photo())))
    tab.get_by_role("tab", name="Predictions").click()
    assert "class " in tab.locator(".vv-panel:visible .vv-found").text_content()
    assert tab.locator(".vv-known").count() == 0
    tab.get_by_role("tab", name="Model").click()
    assert tab.get_by_text("AUROC").count() == 0
