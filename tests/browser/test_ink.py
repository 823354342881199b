"""A dark digit on paper is noticed, and one click shows it to the model as it was taught digits."""

from pathlib import Path

import pytest

from tests.test_ink import DARK, LIGHT, of_digits
from vitviz import analyze
from vitviz.viewer import page as one_file

NOTICE = {
    "en-US": ("Dark strokes on light: this model was taught", "Invert", "As it was", "exchanged"),
    "ko-KR": (
        "어두운 바탕에 밝은 획만 배웠습니다.",
        "반전하기",
        "원래대로",
        "바꾸었습니다",
    ),
}


@pytest.fixture(scope="module")
def three(folder) -> Path:
    DARK.save(path := folder / "three.png")
    return path


def best(page) -> str:
    """The first class and its probability, as the panel Predictions shows them."""
    row = page.locator(".vv-predictions li").first
    return f"{row.locator('.vv-label').inner_text()} {row.locator('b').inner_text()}"


@pytest.mark.parametrize("locale", NOTICE)
def test_a_dark_digit_is_inverted_and_back(visit, ours, three, locale: str) -> None:
    notice, invert, back, done = NOTICE[locale]
    plain, inverted = (ours(three, "digits", invert=invert) for invert in (False, True))
    said = [
        f"{one.label} {100 * one.probability:.1f}%"
        for one in (plain.predictions(1)[0], inverted.predictions(1)[0])
    ]
    assert said[0] != said[1]
    seen = visit("?model=digits&panel=predictions", locale=locale)
    page = seen.page
    seen.bring(three)
    lines = page.locator(".vv-photo-note")
    assert notice in lines.inner_text()
    assert best(page) == said[0]
    with seen.anew("three.png"):
        lines.get_by_role("button", name=invert).click()
    assert done in lines.inner_text()
    assert notice not in lines.inner_text()
    assert best(page) == said[1]
    if locale == "en-US":  # the twin sees the same picture
        with seen.anew("three.png"):
            page.locator("#vv-untrained input").check()
        assert done in lines.inner_text()
        with seen.anew("three.png"):
            page.locator("#vv-untrained input").uncheck()
        assert best(page) == said[1]
    with seen.anew("three.png"):
        lines.get_by_role("button", name=back).click()
    assert notice in lines.inner_text()
    assert best(page) == said[0]


def test_a_page_without_a_server_notices_but_cannot_invert(open_page) -> None:
    tab = open_page(one_file(analyze(of_digits(), DARK)))
    notice = tab.locator(".vv-photo-note")
    assert notice.inner_text().startswith(NOTICE["en-US"][0])
    assert notice.get_by_role("button").count() == 0
    tab = open_page(one_file(analyze(of_digits(), LIGHT)))
    tab.wait_for_selector('#viewer[data-state="ready"]')
    assert tab.locator(".vv-photo-note").count() == 0
