"""Steer toward a class, in the page: Python's answer, undo, links, keys, touch."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LAPTOP, PHONE, is_too_wide, speak
from tests.browser.test_accessibility import faults
from vitviz import analyze, load
from vitviz.web.store.examples import FOLDER

PANDA = FOLDER / "red-panda.jpg"
STEER = ".vv-experiment details:has-text('Steer toward a class')"
FACTOR, LAYER = f"{STEER} input[max='4']", f"{STEER} input[max='5']"


@pytest.fixture(scope="module")
def panda():
    return analyze(load("photos"), PANDA)


def steered(panda, **fields):
    toward = panda.predictions(2)[1].index
    add = {"kind": "add", "patches": "cls", "layer": 3, "toward": toward, "factor": 2, **fields}
    return panda.operate([add])


def is_answered(page, analysis) -> None:
    """The page says the answer of an analysis: in its sentence, and as a bar."""
    best = analysis.predictions(1)[0]
    expect(page.locator(".vv-before-after")).to_contain_text(f"{100 * best.probability:.1f}%")
    expect(
        page.locator(".vv-experiment .vv-both-answers li").filter(has_text=best.label)
    ).to_contain_text(f"{100 * best.probability:.1f}%")


def test_a_class_is_steered_toward_undone_and_in_the_link(visit, panda) -> None:
    before, near = panda.predictions(2)
    seen = visit("?model=photos&panel=experiment", **LAPTOP)
    page = seen.page
    page.locator(f"{STEER} summary").click()
    factor, layer = page.locator(FACTOR), page.locator(LAYER)
    expect(page.get_by_label("Toward")).to_have_value(str(near.index))  # the runner-up
    expect(factor).to_have_attribute("aria-valuetext", "nothing")
    factor.fill("2")
    twice = steered(panda)
    assert twice.predictions(1)[0].index == near.index != before.index
    is_answered(page, twice)
    done = page.locator(".vv-done li")
    named = re.compile(f"^2 times the direction of class {near.label} added to CLS")
    expect(done).to_have_text([named])
    expect(page).to_have_url(re.compile(f"experiment=add_cls_3_{near.index}_2"))
    page.wait_for_function("() => !document.querySelector('.vv-coming')")  # which is pale
    assert faults(page) == []
    # Each control changes the one entry: by keys, another layer, all tokens, another class.
    factor.focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(rf"add_cls_3_{near.index}_1\.75"))
    layer.fill("2")
    is_answered(page, steered(panda, layer=2, factor=1.75))
    page.locator(f"{STEER} label", has_text="all tokens").click()
    is_answered(page, steered(panda, layer=2, factor=1.75, patches="all"))
    page.get_by_label("Toward").select_option("10")
    is_answered(page, steered(panda, layer=2, factor=1.75, patches="all", toward=10))
    expect(page).to_have_url(re.compile(r"experiment=add_all_2_10_1\.75"))
    expect(done).to_have_count(1)
    # Away from its own answer.
    page.get_by_label("Toward").select_option(str(before.index))
    factor.fill("-1")
    away = steered(panda, layer=2, factor=-1, patches="all", toward=before.index)
    assert away.predictions(1)[0].index != before.index
    is_answered(page, away)
    # Undo, step by step, brings all of it back.
    undo = page.get_by_role("button", name="Undo", exact=False).last
    for _ in range(7):
        undo.click()
    expect(done).to_have_count(0)
    expect(factor).to_have_attribute("aria-valuetext", "nothing")
    expect(page.locator('.vv-place[data-beside="experiment"]')).to_have_count(0)
    # A link opens it, and its controls show it; a factor of 0 takes it out.
    link = f"?model=photos&panel=experiment&experiment=add_cls_3_{near.index}_2&beside=experiment"
    again = visit(link).page
    is_answered(again, twice)
    again.locator(f"{STEER} summary").click()
    expect(again.locator(FACTOR)).to_have_attribute("aria-valuetext", "\u00d7 2")
    expect(again.locator(LAYER)).to_have_value("3")
    again.locator(FACTOR).fill("0")
    expect(again.locator(".vv-done li")).to_have_count(0)


def test_it_is_steered_by_touch_on_a_small_screen(visit) -> None:
    """The button of a long entry stays in sight, too."""
    page = visit("?model=photos&panel=experiment", **PHONE).page
    steer = page.locator(".vv-experiment details:has(input[min='-4'])")
    steer.locator("summary").tap()
    factor = steer.locator("input[min='-4']")
    factor.scroll_into_view_if_needed()
    box = factor.bounding_box()
    assert box["height"] >= 24
    page.touchscreen.tap(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2)
    expect(page).to_have_url(re.compile(r"experiment=add_cls_3_\d+_[23]"))
    page.locator('.vv-place[data-beside="experiment"]').wait_for()
    for language in ("en", "ko"):
        speak(page, language)
        expect(page.locator(".vv-done li")).to_have_count(1)
        entries, button = (
            page.locator(".vv-done" + part).bounding_box() for part in ("", " .vv-button")
        )
        assert button["x"] + button["width"] <= entries["x"] + entries["width"] + 1, language
        assert not is_too_wide(page), language
