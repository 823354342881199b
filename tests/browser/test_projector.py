"""Projector mode: what a class sees without scrolling, and what a teacher does to the picture."""

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from tests.browser.conftest import WALL, address, tabs_of
from tests.models import photo, tiny
from vitviz import analyze
from vitviz.payload import page as one_file

SEEN = ".vv-title h2, .vv-layer, .vv-where .vv-options, .vv-gallery .vv-head"


def test_a_wall_of_720_lines_shows_picture_layer_head_and_maps_and_its_tabs_scroll(visit):
    seen = visit("?model=photos&projector=true&layer=1&head=2&token=66", **WALL)
    page = seen.page
    picture = page.locator(".vv-stage .vv-picture").bounding_box()
    assert picture["height"] >= 540
    assert picture["y"] + picture["height"] <= 720
    assert not page.locator("#vv-upload").is_visible()
    for part in page.locator(SEEN).all():
        box = part.bounding_box()
        assert box["y"] + box["height"] <= 720
        assert box["x"] + box["width"] <= 1280
    heads = [node.bounding_box()["y"] for node in page.locator(".vv-gallery .vv-head").all()]
    assert len(heads) == 7
    assert len(set(heads)) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    letters = "node => parseFloat(getComputedStyle(node).fontSize)"
    assert page.locator(".vv-title h2").evaluate(letters) >= 36
    # A row of tabs that goes on says so, and scrolls when its mark is pressed.
    row, last = page.get_by_role("tablist"), page.get_by_role("tab", name="Model", exact=True)
    edge = row.bounding_box()["x"] + row.bounding_box()["width"]
    assert last.bounding_box()["x"] > edge
    left = "node => node.scrollWidth - node.clientWidth - node.scrollLeft"
    expect(row).to_have_class(re.compile("vv-goes-on"))
    wide = row.evaluate("node => node.scrollWidth")
    while (before := row.evaluate(left)) > 2:
        page.mouse.click(edge - 6, row.bounding_box()["y"] + 12)
        page.wait_for_function(
            f"before => ({left})(document.querySelector('.vv-tabs')) < before", arg=before
        )
    expect(row).not_to_have_class(re.compile("vv-goes-on"))
    # The tabs stay where they are when the mark goes: a press at that moment missed its tab.
    assert row.evaluate("node => node.scrollWidth") == wide
    box = last.bounding_box()
    assert box["x"] + box["width"] <= edge + 1
    assert page.get_by_role("tab", selected=True).inner_text() == "Attention"  # nothing was chosen
    tops = set()
    for tab in tabs_of(page):  # which stay under the pointer
        tab.click()
        tops.add(page.get_by_role("tablist").bounding_box()["y"])
    assert len(tops) == 1
    seen.open_panel("Attention")
    page.locator(".vv-gallery .vv-head").first.wait_for()
    rulers = page.locator(".vv-rulers span").all_inner_texts()
    assert rulers == [str(at) for at in range(12)] * 2
    # The number of a row stands at the middle of the row.
    middle = page.locator(".vv-ruler-left").nth(5).bounding_box()
    selected = page.locator(".vv-selected.vv-box").first.bounding_box()
    off = middle["y"] + middle["height"] / 2 - selected["y"] - selected["height"] / 2
    assert abs(off) < 2
    page.get_by_role("button", name="Projector").click()
    page.locator("#vv-upload").wait_for()
    assert not page.locator(".vv-rulers").is_visible()
    page.wait_for_function("() => !new URLSearchParams(location.search).has('projector')")


def test_the_tools_of_a_teacher_and_rows_that_are_counted_from_1(open_page):
    tab = open_page(one_file(analyze(tiny("cls"), photo())))
    place = tab.locator("#viewer")
    place.and_(tab.locator("[data-state=ready]")).wait_for()
    picture, cover = tab.locator(".vv-stage .vv-picture"), tab.locator(".vv-cover")
    tab.keyboard.press("v")  # the keys are those of the mode
    tab.locator(".vv-frame").focus()
    tab.keyboard.press("v")
    assert not cover.is_visible()
    tab.get_by_role("button", name="Projector").click()
    tab.wait_for_url("**/*.html#*projector=true*")

    # Frozen: neither pointing nor a click changes anything, and the keyboard still does.
    tab.keyboard.press("ArrowRight")
    tab.locator(".vv-frame").focus()
    tab.keyboard.press("ArrowRight")
    token = place.get_attribute("data-token")
    under = tab.locator(".vv-stage .vv-under").inner_text()
    tab.keyboard.press("f")
    freeze = tab.get_by_role("button", name="Freeze")
    assert freeze.get_attribute("aria-pressed") == "true"
    box = picture.bounding_box()
    tab.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.9)
    tab.mouse.click(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.9)
    assert place.get_attribute("data-token") == token
    assert tab.locator(".vv-stage .vv-under").inner_text() == under
    tab.locator(".vv-frame").focus()
    tab.keyboard.press("ArrowDown")
    assert int(place.get_attribute("data-token")) == int(token) + 4

    # The pen draws, also on a frozen picture, and chooses nothing.
    token = place.get_attribute("data-token")
    tab.keyboard.press("w")
    tab.mouse.move(box["x"] + 50, box["y"] + 50)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 90, box["y"] + 70, steps=4)
    tab.mouse.up()
    lines = tab.locator(".vv-pen polyline")
    assert lines.count() == 1
    assert len(lines.get_attribute("points").split()) == 6
    assert place.get_attribute("data-token") == token
    tab.get_by_role("button", name="Clear").click()
    assert lines.count() == 0

    # Covered, until it is shown again; when the mode is left, all is as it was.
    tab.get_by_role("button", name="Cover").click()
    assert cover.is_visible()
    assert cover.bounding_box() == picture.bounding_box()
    # Another language makes the board anew, and uncovers nothing.
    for language, words in (("ko", "프로젝터"), ("en", "Projector")):
        tab.evaluate("language => { document.documentElement.lang = language; }", language)
        tab.get_by_role("button", name=words).wait_for()
        assert cover.is_visible()
        assert tab.locator(".vv-projecting [aria-pressed=true]").count() == 3
    tab.get_by_role("button", name="Projector").click()
    assert not cover.is_visible()
    tab.mouse.click(box["x"] + 5, tab.locator(".vv-stage .vv-picture").bounding_box()["y"] + 5)
    tab.locator("#viewer[data-token='1']").wait_for()
    # Rows and columns are counted from 1 where that is wanted.
    tab.keyboard.press("Escape")
    tab.locator("summary", has_text="Scale and more").click()
    tab.get_by_label("row and column numbers").check()
    assert tab.locator(".vv-rulers span").all_inner_texts() == list("01230123")
    tab.locator(".vv-frame").focus()
    tab.keyboard.press("ArrowRight")
    title = tab.locator(".vv-token-title")
    assert title.inner_text() == "Patch in row 0, col 0"
    tab.get_by_label("count from 1").check()
    assert title.inner_text() == "Patch in row 1, col 1"
    assert tab.locator(".vv-rulers span").all_inner_texts() == list("12341234")
    tab.wait_for_url("**/*.html#*fromOne=true*")


def test_a_link_brings_back_the_moment_the_language_and_the_compared_pair(visit):
    # Panels about the model have no read-out, and the film says what is large.
    seen = visit("?panel=training&moment=0")
    page = seen.page
    assert page.locator(".vv-stage-note").inner_text() == "This large picture: after training"
    for panel in ("Training", "Predictions", "Model"):
        seen.open_panel(panel)
        assert not page.locator(".vv-readout").is_visible()
    assert not page.locator(".vv-stage-note").is_visible()
    seen.open_panel("Attention")
    assert page.locator(".vv-readout").is_visible()
    # A link brings back the language and the compared pair.
    seen.go("?lang=ko&colours=viridis&opacity=0.3&grid=false&token=3&with=9", "red-panda.jpg")
    page.get_by_role("button", name="내 사진", exact=True).wait_for()  # Gradio's own texts too
    page.get_by_role("tab", name="어텐션").wait_for()
    assert not page.locator(".vv-lines").first.is_visible()
    assert page.locator(".vv-overlay").first.evaluate("node => node.style.opacity") == "0.3"
    assert page.locator(".vv-compare-common").is_visible()
    page.keyboard.press("]")
    page.keyboard.press("[")
    page.wait_for_function("() => new URLSearchParams(location.search).get('with') === '9'")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address(page)).query).items()}
    assert {**asked, **{"lang": "ko", "opacity": "0.3", "grid": "false", "token": "3"}} == asked


def test_a_sentence_that_is_all_a_panel_says_is_there_in_projector_mode(open_page):
    tab = open_page(one_file(analyze(tiny("registers"), photo())))
    tab.set_viewport_size(WALL["viewport"])
    tab.locator("#viewer[data-state=ready]").wait_for()
    tab.get_by_role("button", name="Projector").first.click()
    for panel in ("Predictions", "Training", "Many pictures", "Model"):
        tab.get_by_role("tab", name=panel, exact=True).click()
        said = tab.locator(".vv-panel:visible .vv-text:visible").first
        expect(said).to_contain_text(re.compile(r"\w+ \w+"))
