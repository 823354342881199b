"""A dark digit on paper is noticed, and one click shows it to the model as it was taught digits."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import speak
from tests.test_ink import DARK, LIGHT, of_digits
from vitviz import analyze
from vitviz.payload import page as one_file

NOTICE = {
    "en": ("Dark strokes on light: this model was taught", "Invert", "As it was", "exchanged"),
    "ko": (
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


def test_a_dark_digit_is_inverted_and_back(visit, ours, three) -> None:
    plain, inverted = (ours(three, "digits", invert=invert) for invert in (False, True))
    said = [
        f"{one.label} {100 * one.probability:.1f}%"
        for one in (plain.predictions(1)[0], inverted.predictions(1)[0])
    ]
    assert said[0] != said[1]
    seen = visit("?model=digits&panel=predictions")
    page = seen.page
    seen.bring(three)
    lines = page.locator(".vv-photo-note")

    def told(done: bool) -> None:
        """In both languages, of which the last is English."""
        for language in ("ko", "en"):
            notice, invert, back, inverted = NOTICE[language]
            speak(page, language)
            expect(lines).to_contain_text(inverted if done else notice)
            assert (notice in lines.inner_text()) is not done
            lines.get_by_role("button", name=back if done else invert).wait_for()
        assert best(page) == said[done]

    told(False)
    with seen.anew("three.png"):
        lines.get_by_role("button", name=NOTICE["en"][1]).click()
    told(True)
    for how in ("check", "uncheck"):  # the twin sees the same picture
        with seen.anew("three.png"):
            getattr(page.locator("#vv-untrained input"), how)()
        assert NOTICE["en"][3] in lines.inner_text()
    assert best(page) == said[1]
    with seen.anew("three.png"):
        lines.get_by_role("button", name=NOTICE["en"][2]).click()
    told(False)


def test_a_page_without_a_server_notices_but_cannot_invert(open_page) -> None:
    tab = open_page(one_file(analyze(of_digits(), DARK)))
    notice = tab.locator(".vv-photo-note")
    assert notice.inner_text().startswith(NOTICE["en"][0])
    assert notice.get_by_role("button").count() == 0
    tab = open_page(one_file(analyze(of_digits(), LIGHT)))
    tab.wait_for_selector('#viewer[data-state="ready"]')
    assert tab.locator(".vv-photo-note").count() == 0
