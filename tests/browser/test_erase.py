"""Look or erase: the answer follows the hand, the headline is the changed model's."""

import re

import pytest
import torch

from tests.browser.conftest import DESK, LAPTOP, PHONE, WALL
from tests.browser.test_experiment import PANDA, brush, places
from tests.browser.test_fold import project
from tests.browser.test_photo import SAMPLES
from vitviz import analyze, load

PLACE = ".vv-place"
HEADLINE = ".vv-title h2"
ERASE = ".vv-modes .vv-option >> nth=1"
SIZES = {
    "phone": {"viewport": PHONE["viewport"]},
    "small phone": {"viewport": {"width": 360, "height": 780}},  # the old answer has no room
    "smallest phone": {"viewport": {"width": 320, "height": 780}},  # what says it takes two lines
    "projector": WALL,
    "laptop": LAPTOP,
    "desktop": DESK,
}
# To and fro, so that the stroke leaves no patch out and touches no other.
WAY = [(row, col if row % 2 else 11 - col) for row in (3, 4, 5, 6) for col in range(3, 9)]
# What the stage shows: its canvases, and the words at its foot.
STAGE = """[...document.querySelectorAll('.vv-frame canvas')].map(one => one.toDataURL()).join()
    + document.querySelector('.vv-badges').textContent"""
PIXELS = "document.querySelector('.vv-stage canvas.vv-pixels').toDataURL()"


def said(analysis) -> str:
    return f"”, {100 * analysis.predictions(1)[0].probability:.1f}%"


def settled(page, text: str) -> None:
    """Wait until the headline says this, and the title of the page, which follows it."""
    page.locator(HEADLINE, has_text=text).wait_for()
    page.wait_for_function("text => document.title.includes(text)", arg=text)


def test_the_answer_follows_the_hand_a_stroke_is_one_step_and_modes_say_what_it_does(visit) -> None:
    seen = visit("?model=photos")
    page = seen.page
    intact = page.locator(HEADLINE).inner_text()
    page.locator(ERASE).click()
    way = places(page, *WAY)
    page.mouse.move(*way[0])
    page.mouse.down()
    shares: list[str] = []
    for at, place in enumerate(way, 1):
        page.mouse.move(*place, steps=2)
        if at in (8, 16):  # answered while the hand is still down
            page.locator(f'.vv-title:not(.vv-coming) .vv-says[title*="{at} patches"]').wait_for()
            shares.append(page.locator(".vv-rivals b").first.text_content())
            assert page.locator(".vv-was").is_visible()
    page.mouse.up()
    assert len({*shares}) == 2
    patches = sorted(row * 12 + col for row, col in WAY)
    changed = analyze(load("photos"), PANDA, interventions=[{"kind": "remove", "patches": patches}])
    settled(page, said(changed))
    assert page.locator(".vv-was s").text_content().lower() == intact.lower()
    assert "24 of 144 squares are out" in page.locator(".vv-finding").inner_text()
    # All of the stroke is one step, taken back from anywhere.
    page.keyboard.press("Control+z")
    page.locator(f'{PLACE}[data-beside=""]').wait_for()
    settled(page, said(analyze(load("photos"), PANDA)))
    # x shows the picture before while it is held.
    seen.open_panel("Experiment")
    seen.is_(panel="experiment")
    page.get_by_role("radio", name="black").check()
    intact = page.evaluate(PIXELS)
    brush(page, (5, 5), (5, 8))
    page.wait_for_function(f"intact => {PIXELS} !== intact", arg=intact)
    shown = page.locator(".vv-modes input:checked + span").last
    assert shown.inner_text() == "after"
    # What the answer brings along is drawn, too.
    page.locator(f'{PLACE}[data-beside="experiment"]').wait_for()
    page.locator(".vv-title:not(.vv-coming)").wait_for()
    page.locator(".vv-frame").focus()
    after = page.evaluate(PIXELS)
    page.keyboard.down("x")
    assert shown.inner_text() == "before"
    assert page.evaluate(PIXELS) == intact
    page.keyboard.up("x")
    page.wait_for_function(f"after => {PIXELS} === after", arg=after)
    # The key can come up where the page does not hear it.
    page.keyboard.down("x")
    assert shown.inner_text() == "before"
    page.evaluate("window.dispatchEvent(new FocusEvent('blur'))")
    page.wait_for_function(f"after => {PIXELS} === after", arg=after)
    page.keyboard.up("x")
    page.keyboard.press("Control+z")
    page.locator(f'{PLACE}[data-beside=""]').wait_for()
    # Look and Erase say what a stroke does.
    modes = page.locator(".vv-modes").get_by_role("radio")
    assert modes.nth(1).is_checked()  # the brush of the panel is in use
    hint = page.locator(".vv-left").get_by_text("Point at a patch to see its view")
    assert hint.count() == 0  # a stroke does neither
    page.locator(".vv-modes .vv-option").first.click()
    assert not page.get_by_role("checkbox", name="Strokes on the picture").is_checked()
    brush(page, (5, 5))
    assert page.locator(".vv-done li").count() == 0
    page.keyboard.press("Escape")
    page.mouse.move(2, 2)
    hint.wait_for()
    page.locator(ERASE).click()
    brush(page, (5, 5))
    page.locator(f'{PLACE}[data-beside="experiment"]').wait_for()
    # A new step is seen, also by who looked at the picture before it.
    page.locator(".vv-modes").get_by_role("radio", name="before").check()
    brush(page, (7, 7))
    assert page.locator(".vv-modes").get_by_role("radio", name="after").is_checked()
    page.get_by_role("tab", name="Attention").click()
    overlay = page.locator(".vv-stage canvas.vv-overlay")
    assert overlay.evaluate("node => node.style.opacity") == "0"
    # Who chooses what lies over the picture wants to see it.
    page.locator("[data-control=overlay]").get_by_role("radio", name="rollout").check()
    page.wait_for_function(
        "document.querySelector('.vv-stage canvas.vv-overlay').style.opacity !== '0'"
    )
    assert page.locator(".vv-modes .vv-option input").first.is_checked()


def test_how_few_patches_were_enough_is_kept_on_this_device(visit) -> None:
    seen = visit("?model=photos")
    page = seen.page
    finding = page.locator(".vv-finding")
    for times in (1, 1000):
        if times > 1:  # on a device where every answer takes longer than a second, too
            page.evaluate("localStorage.removeItem('vitviz-records')")
            page.add_init_script(
                "const now = performance.now.bind(performance);"
                f" performance.now = () => {times} * now();"
            )
            seen.go("?model=photos", PANDA.name)
        page.locator(ERASE).click()
        assert "144" not in finding.inner_text()
        brush(page, (0, 0), (0, 2))
        page.locator(".vv-finding", has_text="Fewest left here: 141.").wait_for()
        page.reload()
        page.locator(f'{PLACE}[data-state="ready"]').wait_for()
        page.locator(ERASE).click()
        page.locator(".vv-finding", has_text="Fewest left here: 141.").wait_for()


def test_a_model_without_classes_says_how_far_its_vector_moved(visit, ours) -> None:
    page = visit("?model=tiny-registers").page
    page.locator(ERASE).click()
    brush(page, (0, 0))
    intact = ours(PANDA, "registers")
    erased = ours(PANDA, "registers", interventions=[{"kind": "remove", "patches": [0]}])
    vectors = [one.trace.logits for one in (intact, erased)]
    moved = 1 - torch.nn.functional.cosine_similarity(*vectors, dim=0).item()
    for language, said, nothing in (
        ("en", "moved by 0.0", "names nothing"),
        ("ko", "만큼 움직였습니다", "이름을 말하지 않는"),
    ):
        page.evaluate("language => { document.documentElement.lang = language; }", language)
        settled(page, said)
        number = re.search(r"\d+\.\d+", page.locator(HEADLINE).inner_text())[0]
        assert float(number) == pytest.approx(moved, rel=0.005)
        page.wait_for_function("number => document.title.includes(number)", arg=number)
        finding = page.locator(".vv-finding")
        finding.get_by_text(nothing).wait_for()
        assert "?" not in finding.inner_text()  # there is no answer to keep, and no dare


def test_twin_stranger_and_slow_model_have_their_own_sentences(visit) -> None:
    page = visit("?model=photos").page
    page.locator("#vv-untrained input").check()
    page.locator(".vv-title", has_text="No answer yet").wait_for()
    page.locator(ERASE).click()
    finding = page.locator(".vv-finding")
    finding.get_by_text("has learned nothing yet").wait_for()
    page.locator("#vv-untrained input").uncheck()
    page.locator(".vv-title", has_text="Red panda").wait_for()
    page.locator("#vv-photo input[type=file]").set_input_files(SAMPLES / "logo2.png")
    page.locator(".vv-title", has_text="Not one of my").wait_for()
    finding.get_by_text("has no answer to this picture").wait_for()
    page.get_by_role("button", name="red panda", exact=True).click()
    page.locator(".vv-title", has_text="Red panda").wait_for()
    finding.get_by_text("How few can you leave").wait_for()
    page.evaluate("let at = 0; performance.now = () => Date.now() + (at += 1500)")
    brush(page, (0, 0), (0, 1))
    finding.get_by_text("An answer takes this model").wait_for()


def test_the_new_answer_is_in_sight_where_the_button_was_pressed(visit) -> None:
    seen = visit("?model=photos&panel=experiment", **SIZES["phone"])
    page = seen.page
    for size, screen in SIZES.items():
        page.set_viewport_size(screen["viewport"])
        page.wait_for_function("width => innerWidth === width", arg=screen["viewport"]["width"])
        project(page, size == "projector")
        page.evaluate("scrollTo(0, 0)")
        tools = page.locator(".vv-brush-controls .vv-options").first
        top = "node => node.getBoundingClientRect().top + scrollY"
        before = tools.evaluate(top)
        brush(page, (5, 5))
        page.locator(f'{PLACE}[data-beside="experiment"]').wait_for()
        assert tools.evaluate(top) == pytest.approx(before, abs=4)
        sections = page.locator(".vv-experiment details.vv-facts")
        pictures = [page.evaluate(STAGE)] if size == "phone" else []  # alike in every size
        # Cells are shuffled, then positions; the last part of the model is off.
        for at, nth in ((1, 2), (1, -1), (2, -1)):
            section = sections.nth(at)
            if not section.evaluate("node => node.open"):
                section.locator("summary").click()
            last = page.evaluate("location.search")
            section.locator("button:visible").nth(nth).click()
            page.wait_for_function("last => location.search !== last", arg=last)
            page.wait_for_function(
                "where => !document.querySelector(where).classList.contains('vv-coming')",
                arg=".vv-title",
            )
            box = page.locator(HEADLINE).bounding_box()
            assert 0 <= box["y"] < box["y"] + box["height"] <= page.viewport_size["height"], (
                size,
                at,
            )
            height = page.locator(HEADLINE).evaluate(
                "node => parseFloat(getComputedStyle(node).fontSize)"
            )
            assert height >= 20
            if pictures:
                page.wait_for_function(f"last => {STAGE} !== last", arg=pictures[-1])
                pictures.append(page.evaluate(STAGE))
        assert len({*pictures}) == len(pictures)
        for _ in range(4):
            page.keyboard.press("Control+z")
        page.locator(f'{PLACE}[data-beside=""]').wait_for()
        page.locator(".vv-title:not(.vv-coming)").wait_for()
