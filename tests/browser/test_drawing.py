"""A digit is drawn by mouse, by finger and by keys; the model answers when the pen rests."""

import base64
import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import TimeoutError, expect

from tests.browser.conftest import DESK, LAPTOP, PHONE, WALL, Held, speak, time_stands
from tests.browser.test_fold import TABS, inside, project, top
from vitviz import analyze, load

FIELD = ".vv-drawing-field"
ANSWER = ".vv-drawing-word"
SEVEN = ((0.28, 0.25), (0.7, 0.25), (0.58, 0.5), (0.45, 0.8))
SENT = """node => node.querySelector("canvas").toDataURL("image/png")"""


def draw(page, points) -> None:
    page.locator(FIELD).hover()  # waits until it stands still
    box = page.locator(FIELD).bounding_box()
    for at, (right, down) in enumerate(points):
        place = box["x"] + right * box["width"], box["y"] + down * box["height"]
        page.mouse.move(*place, steps=1 if at == 0 else 8)
        if at == 0:
            page.mouse.down()
    page.mouse.up()


def drawn(page) -> Image.Image:
    """The picture in the field, as it is sent."""
    text = page.locator(FIELD).evaluate(SENT)
    return Image.open(io.BytesIO(base64.b64decode(text.split(",")[1]))).convert("RGB")


def said(seen) -> str:
    """What stands on the page, for a test that waited in vain."""
    texts = seen.page.locator(".vv-drawing, .vv-place, #vv-said, .toast-wrap").all_inner_texts()
    return " | ".join([*texts, *seen.complaints, *seen.requests[-8:]])


@contextmanager
def answered(seen) -> Iterator[None]:
    """Wait until what is drawn in the block is answered, however often the pen rests on the way."""
    field = seen.page.locator(".vv-drawing")
    before = field.get_attribute("data-sent")
    yield
    try:
        seen.page.wait_for_function(
            """before => {
                const { sent, shown } = document.querySelector(".vv-drawing").dataset;
                return sent && sent !== before && shown === sent;
            }""",
            arg=before,
        )
    except TimeoutError:
        root = seen.page.locator(".vv-drawing")
        pytest.fail(f"{before}: {root.evaluate('({ dataset }) => ({ ...dataset })')} {said(seen)}")
    seen.ready(field.get_attribute("data-shown"))


def test_a_digit_is_drawn_by_keys_and_mouse_answered_undone_drawn_dark_and_moved(visit) -> None:
    seen = visit(before=time_stands)
    page = seen.page
    page.locator("#vv-draw").click()
    # What is drawn meanwhile is asked after it.
    asked = Held()
    page.route("**/queue/join*", asked.hold)
    with page.expect_request("**/queue/join*"):
        draw(page, SEVEN)
    # The first question waits in the network, and nothing else is asked meanwhile.
    draw(page, ((0.3, 0.55), (0.75, 0.55)))
    assert page.locator(".vv-drawing").get_attribute("data-sent") == ""
    asked.go()
    page.wait_for_function(
        """() => {
            const { sent, shown } = document.querySelector(".vv-drawing").dataset;
            return sent && sent !== "drawing-1.png" && shown === sent;
        }"""
    )
    page.get_by_role("button", name="Clear", exact=True).click()
    page.keyboard.press("Escape")
    expect(page.locator(".vv-drawing")).to_be_hidden()
    # By keys alone.
    page.locator("#vv-draw").focus()
    page.keyboard.press("Enter")
    expect(page.locator(FIELD)).to_be_focused()
    with answered(seen):
        page.keyboard.press("Space")
        for _ in range(16):
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Space")
    expect(page.locator(".vv-drawing-side [role=status]").last).to_contain_text(
        "The pen is lifted: row 22"
    )
    expect(page.locator(ANSWER)).to_contain_text("1")
    ink = np.asarray(drawn(page))[:, :, 0] > 128
    rows, cols = np.nonzero(ink)
    assert rows.max() - rows.min() > 150
    assert cols.max() - cols.min() < 40
    page.get_by_role("button", name="Clear", exact=True).click()
    page.keyboard.press("Escape")
    expect(page.locator(".vv-drawing")).to_be_hidden()
    # By the mouse.
    page.locator("#vv-draw").click()
    expect(page.locator(FIELD)).to_be_focused()
    with answered(seen):
        draw(page, SEVEN)
    # It is the picture of the page, in the model of digits, and its answer is that of Python.
    seen.model_is("Handwritten digits")
    expected = analyze(load("mnist"), drawn(page)).answer()
    assert expected.name == "7"
    said = page.locator(ANSWER).inner_text()
    assert "7" in said
    assert said == seen.text(".vv-title h2")
    with answered(seen):
        page.get_by_role("radio", name="Dark on paper").check(force=True)
    assert np.asarray(drawn(page))[0, 0].min() > 200
    with answered(seen):
        draw(page, ((0.3, 0.55), (0.75, 0.55)))
    with answered(seen):
        page.get_by_role("button", name="Take the last stroke back").click()
    assert seen.text(ANSWER) == seen.text(".vv-title h2")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator(".vv-drawing-answer")).to_contain_text("Draw a digit from 0 to 9")
    page.keyboard.press("Escape")
    expect(page.locator(".vv-drawing")).to_be_hidden()
    expect(page.locator("#vv-draw")).to_be_focused()
    # A digit in the corner is moved to where digits were taught.
    page.locator("#vv-draw").click()
    page.get_by_role("radio", name="White on black").check(force=True)
    move = page.locator(".vv-drawing-side button", has_text="Move it there")
    with answered(seen):
        draw(page, SEVEN)
    assert not move.is_visible()
    page.locator(".vv-drawing-tools button").last.click()
    with answered(seen):
        draw(page, [(0.32 * right, 0.32 * down) for right, down in SEVEN])
    before, corner = page.locator(ANSWER).inner_text(), np.asarray(drawn(page))
    with answered(seen):
        move.click()
    ink = np.argwhere(np.asarray(drawn(page))[:, :, 0] > 128)
    # MNIST: 20 of 28 pixels high; the centre of mass in the middle.
    assert np.ptp(ink[:, 0]) == pytest.approx(280 * 20 / 28, abs=6)
    np.testing.assert_allclose(ink.mean(0), 140, atol=14)
    after = analyze(load("mnist"), drawn(page)).answer()
    assert after.name == "7"
    note = page.locator(".vv-drawing-side [role=status]").first.inner_text()
    assert before in note
    assert page.locator(ANSWER).inner_text() in note
    assert not move.is_visible()
    with answered(seen):
        page.locator(".vv-drawing-tools button").nth(-2).click()  # one step back
    assert np.array_equal(np.asarray(drawn(page)), corner)
    assert move.is_visible()


def test_a_finger_draws_on_a_phone_and_does_not_scroll(visit) -> None:
    seen = visit(locale="ko-KR", **PHONE)
    page = seen.page
    page.locator("#vv-draw").tap()
    expect(page.locator(".vv-drawing h3")).to_have_text("숫자 그리기")
    before = page.evaluate("() => scrollY")
    with answered(seen):
        page.locator(FIELD).tap(position={"x": 140, "y": 140})  # a dot is a stroke too
    assert abs(page.evaluate("() => scrollY") - before) < 5
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_the_field_lies_in_the_place_of_the_picture(visit) -> None:
    seen = visit("?model=mnist&example=digit", "digit", **LAPTOP)
    page = seen.page
    for language, size in product(("en", "ko"), (LAPTOP, WALL, DESK)):
        speak(page, language)
        page.set_viewport_size(size["viewport"])
        project(page, size is WALL)
        page.evaluate("scrollTo(0, 0)")
        places = (".vv-line", TABS, ".vv-right")
        before = [top(page, place) for place in places]
        frame = page.locator(".vv-frame").bounding_box()
        page.evaluate("document.dispatchEvent(new Event('vitviz-draw'))")
        expect(page.locator(FIELD)).to_be_focused()
        expect(page.locator(".vv-picture")).to_be_hidden()
        with answered(seen):
            draw(page, SEVEN)
        assert [top(page, place) for place in places] == before
        pad = page.locator(".vv-drawing").bounding_box()
        assert (pad["x"], pad["y"]) == pytest.approx((frame["x"], frame["y"]), abs=1)
        assert pad["width"] <= frame["width"] + 1
        inside(seen, FIELD, ANSWER, ".vv-drawing-tools")
        page.locator(".vv-drawing .vv-help-head button").click()
        expect(page.locator(".vv-picture")).to_be_visible()
        assert [top(page, place) for place in places] == before
