"""A dark picture says so; one press spreads its levels, and another, or Back, takes that back."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import speak
from tests.browser.test_site import address, site, title, visiting  # noqa: F401 - fixtures
from tests.test_levels import deep_png
from vitviz import Analysis, analyze, load
from vitviz.web.store.examples import FOLDER

SAID = {
    "en": ("it is dark to the model", "Stretch the levels", "As it was", "stretched over the"),
    "ko": ("모델에게는 어둡습니다", "밝기 펴기", "원래대로", "전체 범위(0~255)로 늘렸습니다"),
}


@pytest.fixture(scope="module")
def greys() -> np.ndarray:
    return np.asarray(Image.open(FOLDER / "cat.jpg").convert("L"))


def told(page, done: bool, levels: str, switch=speak) -> None:
    """The note and its button in both languages, of which the last is English."""
    for language in ("ko", "en"):
        dark, stretch, back, stretched = SAID[language]
        switch(page, language)
        line = page.locator(".vv-photo-note", has_text=stretched if done else dark)
        line.get_by_role("button", name=back if done else stretch).wait_for()
        assert levels in line.inner_text()
        assert page.locator(".vv-photo-note", has_text=dark if done else stretched).count() == 0


def on_site(page, language: str) -> None:
    """Switch the language of a page without a server."""
    name = {"ko": "한국어", "en": "English"}[language]
    if page.locator("html").get_attribute("lang") != language:  # Back can bring another one
        page.locator(".vv-tools button", has_text=name).click()
    page.locator(f"html[lang={language}]").wait_for()


def answer(analysis: Analysis) -> str:
    first = analysis.groups(1)[0]
    return f"{first.name} {100 * first.probability:.1f}%"


def best(page) -> str:
    row = page.locator(".vv-predictions li").first
    label = row.locator(".vv-label").inner_text().removeprefix("a ")
    return f"{label} {row.locator('b').inner_text()}"


def back_takes_stretching_back(seen, name: str) -> None:
    page = seen.page
    line = page.locator(".vv-photo-note", has_text="dark to the model")
    line.wait_for()
    plain = best(page)
    with seen.anew(name):
        line.get_by_role("button").click()
    stretched = page.locator(".vv-photo-note", has_text="stretched over")
    stretched.wait_for()
    bright = best(page)
    assert bright != plain
    page.go_back()
    line.wait_for()
    assert best(page) == plain
    page.go_forward()
    stretched.wait_for()
    assert best(page) == bright
    page.reload()
    stretched.wait_for()
    assert best(page) == bright


def test_an_x_ray_of_12_bits_is_stretched_by_the_server_one_of_8_by_the_page_and_back(
    visit, tmp_path, greys
) -> None:
    """Browsers round 16 bits in another way, so the page leaves such a file to the server."""
    path = tmp_path / "x-ray.png"
    path.write_bytes(deep_png(greys.astype(np.uint16) * 16))
    plain, bright = (
        answer(analyze(load("photos"), path, stretch=stretch)) for stretch in (False, True)
    )
    assert plain != bright
    seen = visit("?model=photos&panel=predictions")
    page = seen.page
    seen.send(path)
    told(page, False, f"{16 * int(greys.max())}")
    assert best(page) == plain
    with seen.anew("x-ray.png"):
        page.get_by_role("button", name=SAID["en"][1]).click()
    told(page, True, f"{16 * int(greys.max())}")
    expect(page).to_have_url(re.compile("stretch=1"))
    assert best(page) == bright
    with seen.anew("x-ray.png"):  # another model sees the same picture
        page.locator("#vv-untrained input").check()
    told(page, True, f"{16 * int(greys.max())}")
    with seen.anew("x-ray.png"):
        page.locator("#vv-untrained input").uncheck()
    with seen.anew("x-ray.png"):
        page.get_by_role("button", name=SAID["en"][2]).click()
    told(page, False, f"{16 * int(greys.max())}")
    expect(page).not_to_have_url(re.compile("stretch=1"))
    assert best(page) == plain
    back_takes_stretching_back(seen, "x-ray.png")
    Image.fromarray(greys // 4).save(path := tmp_path / "x-ray of 8 bits.png")
    seen.bring(path)  # it stays in the page
    back_takes_stretching_back(seen, path.name)


def test_a_site_stretches_only_a_dark_photo_itself_and_back_takes_it_back(
    browser,
    address,  # noqa: F811
    tmp_path: Path,
    greys,
) -> None:
    Image.fromarray((20 + greys // 4).astype(np.uint8)).save(path := tmp_path / "night.png")
    wide = greys // 4
    wide[:9] = 255
    pictures = {"wide": wide, "black": np.zeros_like(greys), "grey": np.full_like(greys, 90)}
    with visiting(browser, address, locale="en-US") as page:
        page.goto(f"{address}?model=photos&panel=predictions")
        title(page)
        # A picture of the whole range, or of one level, is offered nothing.
        for name, values in pictures.items():
            Image.fromarray(values).save(tmp_path / f"{name}.png")
            page.locator("input[type=file]").first.set_input_files(tmp_path / f"{name}.png")
            page.locator(".vv-names", has_text=f"{name}.png").wait_for()
            assert page.get_by_role("button", name=SAID["en"][1]).count() == 0
        page.locator("input[type=file]").first.set_input_files(path)
        page.locator(".vv-names", has_text="night.png").wait_for()
        told(page, False, "255", on_site)
        plain = best(page)
        page.get_by_role("button", name=SAID["en"][1]).click()
        told(page, True, "20", on_site)
        bright = best(page)
        assert (plain, bright) == tuple(
            answer(analyze(load("photos"), path, stretch=stretch)) for stretch in (False, True)
        )
        expect(page).to_have_url(re.compile("stretch=1"))
        page.go_back()
        told(page, False, "255", on_site)
        assert best(page) == plain
        page.go_forward()
        told(page, True, "20", on_site)
        assert best(page) == bright
        page.get_by_role("button", name=SAID["en"][2]).click()
        told(page, False, "255", on_site)
        assert best(page) == plain
