"""The first screen: what stands on it, that it stays there, and that nothing jumps at the start."""

import json
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ASKED, DESK, LAPTOP, PHONE, WALL, Held, open_panel, speak
from tests.browser.test_experiment import brush
from tests.models import photo, tiny
from vitviz import Analysis, analyze
from vitviz.model.loaded import KNOWN_OR_NOT
from vitviz.payload import page as one_file

WIDE = {"viewport": {"width": 1440, "height": 900}}
INVITATION = ".vv-invitation"
TABS = ".vv-tabs"

# The sum of all layout shifts since the page was opened, of which none follows a touch.
WATCH = """window.shifts = [];
const keep = (list) => window.shifts.push(...list.getEntries().map(({ value }) => value));
new PerformanceObserver(keep).observe({ type: "layout-shift", buffered: true });"""
# Nothing lies over the upper edge of an element.
SEEN = """(node) => {
  const { x, y, width } = node.getBoundingClientRect();
  return node.contains(document.elementFromPoint(x + width / 2, y + 1));
}"""
SHIFTED = """async () => {
  const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
  await frame().then(frame);
  return window.shifts.reduce((sum, one) => sum + one, 0);
}"""


def inside(seen, *places: str) -> None:
    """These are on the screen without scrolling."""
    size = seen.page.viewport_size
    for place in places:
        box = seen.page.locator(place).first.bounding_box()
        assert box["y"] >= -1, place
        assert box["y"] + box["height"] <= size["height"], place
        assert box["x"] + box["width"] <= size["width"], place


def top(page, place: str) -> float:
    return page.locator(place).first.evaluate("node => node.getBoundingClientRect().top + scrollY")


# All of these are on the first screen, and the picture as high as it must be.
FIRST = "#vv-upload, #vv-examples button:nth-child(3), #vv-lessons, .vv-title h2, .vv-rivals li"


def has_it_all(page, least: int) -> None:
    size = page.viewport_size
    boxes = [part.bounding_box() for part in page.locator(FIRST).all()]
    assert len(boxes) == 6
    assert all(box["y"] >= 0 and box["y"] + box["height"] <= size["height"] for box in boxes)
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= size["width"] for box in boxes)
    picture = page.locator(".vv-picture").first.bounding_box()
    assert picture["height"] >= least
    assert picture["y"] <= 260
    assert picture["y"] + picture["height"] <= size["height"]
    upload = page.locator("#vv-upload").bounding_box()
    assert min(upload["width"], upload["height"]) >= 44


def project(page, on: bool) -> None:
    button = page.locator(".vv-projector-button")
    if (button.get_attribute("aria-pressed") == "true") != on:
        button.click()
    page.locator(".vitviz.vv-projector").wait_for(state="attached" if on else "detached")


def stands_in_sight(page, size, height: int) -> None:
    """The line of layers."""
    line, width = page.locator(".vv-line"), size["viewport"]["width"]
    box = line.bounding_box()
    assert box["height"] == height
    assert box["x"] + box["width"] <= width
    assert box["y"] + box["height"] <= size["viewport"]["height"]
    # Between the headline and the tabs; on a phone under them, where it does not push them down.
    below = top(page, TABS) > box["y"]
    assert below == (size is not PHONE)
    for layer in page.locator(".vv-layer").all():
        area = layer.bounding_box()
        assert area["height"] >= 40
        assert area["width"] >= 44
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def keeps_its_place(page) -> None:
    """The line, while the answers of its layers come."""
    before = [top(page, place) for place in (".vv-line", TABS, ".vv-picture")]
    page.wait_for_function(ASKED)
    assert [top(page, place) for place in (".vv-line", TABS, ".vv-picture")] == before


def bars_give_way_before_names(page) -> None:
    """They took as much from both, so that a name was cut beside a long bar; in Firefox at 1366."""
    bars = """() => [...document.querySelectorAll(".vv-rivals li")].map((one) => {
        const [name, bar] = one.children;
        return [name.scrollWidth - name.clientWidth, bar.clientWidth];
    })"""
    least = 40  # pixels, and a little
    yielded = 0
    for width in range(1100, 1420, 40):
        page.set_viewport_size({"width": width, "height": 768})
        for cut, bar in page.evaluate(bars):
            assert cut == 0 or bar < least, width
            yielded += bar < 80
    assert yielded, "at one of these widths they had to"


def test_answers_picture_its_sentence_and_the_first_tool_are_on_the_first_screen(visit):
    seen = visit("?model=photos", **LAPTOP)
    page = seen.page
    bars_give_way_before_names(page)
    screens = [
        (language, size, least)
        for language in ("en", "ko")
        for size, least in ((LAPTOP, 500), (WIDE, 500), (WALL, 540), (DESK, 700))
    ]

    def show(language, size) -> None:
        speak(page, language)
        page.set_viewport_size(size["viewport"])
        project(page, size is WALL)
        page.locator(".vv-saying:visible").wait_for()

    for language, size, least in screens:
        show(language, size)
        inside(seen, ".vv-title h2", ".vv-line", TABS, INVITATION, ".vv-where .vv-options")
        inside(seen, ".vv-picture", ".vv-modes .vv-options", ".vv-saying")
        if size is not WALL:
            inside(seen, "#vv-upload", "#vv-model", "#vv-untrained")
            has_it_all(page, least)
        assert page.locator(".vv-picture").bounding_box()["height"] >= least
    for language, size, _ in screens:
        show(language, size)
        seen.open_panel({"en": "Attention", "ko": "어텐션"}[language])
        page.locator(".vv-saying .vv-term").first.click()  # its terms have their cards
        page.locator("dialog.vv-card[open]").wait_for()
        page.keyboard.press("Escape")
        seen.open_panel({"en": "Rollout", "ko": "롤아웃"}[language])  # the longest sentence
        page.locator(".vv-saying", has_text="0").wait_for()
        inside(seen, ".vv-picture", ".vv-saying")


def test_the_invitation_goes_with_the_first_move_and_tabs_stay_for_an_experiment(visit):
    seen = visit("?model=photos", reduced_motion="reduce", **LAPTOP)
    invitation = seen.page.locator(INVITATION)
    assert invitation.inner_text() == "Point at any square: see where it looks"
    seen.open_panel("Model")  # no map of attention lies there
    assert not invitation.is_visible()
    seen.open_panel("Attention")
    box = seen.page.locator(".vv-picture").bounding_box()
    seen.page.mouse.move(box["x"] + 20, box["y"] + 20)
    invitation.wait_for(state="hidden")
    seen.page.mouse.move(2, 2)
    with seen.anew("dog.jpg"):
        seen.page.get_by_role("button", name="dog", exact=True).click()
    assert not invitation.is_visible()
    # Tabs stay where they are for the pair of an experiment.
    page = seen.page
    seen.open_panel("Experiment")
    for size in (LAPTOP, WALL):
        page.set_viewport_size(size["viewport"])
        project(page, size is WALL)
        page.evaluate("scrollTo(0, 0)")
        before = [top(page, place) for place in (TABS, ".vv-picture")]
        brush(page, (5, 5), (5, 8))
        page.locator('.vv-place[data-beside="experiment"]').wait_for()
        page.locator(".vv-was:visible").wait_for()
        assert [top(page, place) for place in (TABS, ".vv-picture")] == before
        assert page.locator(".vv-layer").first.evaluate(
            SEEN
        )  # and the headline hides none of the line
        page.keyboard.press("Control+z")
        page.locator('.vv-place[data-beside=""]').wait_for()


LONG = "a name of a thing that nobody would ever call by that name, except for the one who named it"
STRANGE = {"others": json.dumps({"score": KNOWN_OR_NOT, "threshold": 1e4})}


def test_tabs_and_picture_stay_where_they_are_whatever_the_answer(open_page):
    analysis = analyze(tiny("cls"), photo())

    def told(**card) -> Analysis:
        return replace(analysis, card=replace(analysis.card, **card))

    kinds = {
        "short": analysis,
        "long": told(labels=(LONG,) * len(analysis.card.labels)),
        "refused": told(details=STRANGE),
        "refused, and long": told(details=STRANGE, labels=(LONG,) * len(analysis.card.labels)),
        "untrained": told(trained=False),
    }
    places = {930: {}, 1366: {}}
    for name, one in kinds.items():
        tab = open_page(one_file(one))
        tab.locator("#viewer[data-state=ready]").wait_for()
        for width, seen in places.items():
            tab.set_viewport_size({"width": width, "height": 768})
            tab.wait_for_function("width => innerWidth === width", arg=width)
            seen[name] = (top(tab, TABS), top(tab, ".vv-picture"))
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, name
            title = tab.locator(".vv-title h2")
            assert title.get_attribute("title") == title.text_content()  # where it is cut off
    for width, seen in places.items():
        assert len({*seen.values()}) == 1, (width, seen)
    # On a phone the maps of a panel keep their scale.
    tab.set_viewport_size(PHONE["viewport"])
    tab.locator(".vitviz[data-size=narrow]").wait_for()
    for panel in ("Attention", "Rollout", "Features"):
        open_panel(tab, panel)
        expect(tab.locator(".vv-panel:visible .vv-legend:visible").first).to_be_visible()
        expect(tab.locator(".vv-stage .vv-legend")).to_be_hidden()  # until its options are opened


def test_nothing_jumps_while_the_page_loads(visit):
    for size in (PHONE, LAPTOP, WALL):
        asked = Held()  # until the page has said that it is on its way

        def watched(page, asked=asked) -> None:
            page.add_init_script(WATCH)
            page.route("**/queue/join*", asked.hold)

        query = "?model=photos" + ("&projector=true" if size is WALL else "")
        seen = visit(query, wait_for="", before=watched, **size)
        seen.page.locator(".vv-place .vv-message", has_text="Fetching the analysis …").wait_for()
        asked.go()
        seen.ready("red-panda.jpg")
        seen.page.wait_for_function("document.querySelectorAll('#vv-examples img').length > 0")
        assert seen.page.evaluate(SHIFTED) < 0.05, size


def test_a_phone_shows_answer_picture_sentence_line_and_tabs_and_a_photo_that_comes(
    visit, pictures
):
    seen = visit("?model=photos", **PHONE)
    page = seen.page
    keeps_its_place(page)
    stands_in_sight(page, PHONE, 42)
    options = ".vv-picture-options summary"
    places = [".vv-title h2", ".vv-picture", ".vv-saying", TABS, ".vv-line", options]
    # A finger is invited in its own words.
    assert seen.text(INVITATION) == "Tap any square: see where it looks"
    for language in ("ko", "en"):
        speak(page, language)
        tops = [top(page, place) for place in places]
        assert tops == sorted(tops)
        assert tops[3] <= 650
        inside(seen, *places, INVITATION)
        has_it_all(page, 290)
    page.locator(".vv-picture").first.tap()
    page.locator(INVITATION).wait_for(state="hidden")
    page.locator(".vv-layer").nth(4).tap()
    seen.is_(layer=4)
    assert not page.locator("[data-control=head]").is_visible()
    page.locator(options).first.click()
    page.locator("[data-control=head]").wait_for()
    page.locator(".vv-legend").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".vv-head").last.scroll_into_view_if_needed()
    picture, tabs = (page.locator(place).first.bounding_box() for place in (".vv-frame", TABS))
    assert picture["y"] == pytest.approx(0, abs=1)
    assert tabs["y"] == pytest.approx(picture["height"], abs=1)
    # A photo that comes while one has scrolled down is seen.
    page.locator(".vv-head").last.scroll_into_view_if_needed()
    assert page.evaluate("scrollY") > 300
    page.locator("#vv-photo input[type=file]").set_input_files(pictures["first"])
    seen.ready("first.png")
    page.wait_for_function(
        "Math.abs(document.querySelector('.vv-place').getBoundingClientRect().top) < 1"
    )
    inside(seen, ".vv-title h2", ".vv-picture")
    # The first tool of an experiment stands under its picture.
    seen.go("?model=photos&panel=experiment", "red-panda.jpg")
    inside(seen, ".vv-picture", TABS, ".vv-line", ".vv-brush-controls .vv-option")


def test_a_small_window_a_dark_one_and_forced_colours(visit):
    page = visit("?model=photos", color_scheme="dark", viewport={"width": 560, "height": 800}).page
    # Thumbnails stand in one row: the check box of the twin took their room.
    page.locator("#vv-examples img").first.wait_for()
    for one in page.locator("#vv-examples button").all():
        expect(one).to_be_in_viewport(ratio=1)
    # What the browser draws itself is dark too: its scrollbars were light.
    for place in ("html", ".vitviz", "dialog.vv-save"):
        scheme = page.locator(place).first.evaluate("node => getComputedStyle(node).colorScheme")
        assert scheme == "dark", place
    # The buttons of the strip are seen in forced colours.
    page.emulate_media(forced_colors="active")
    for name in ("camera", "paste", "draw", "upload"):
        icon, ground = page.evaluate(
            """(id) => { const node = document.getElementById(id);
                return [getComputedStyle(node, "::before"), getComputedStyle(node)]
                    .map(({ backgroundColor }) => backgroundColor); }""",
            f"vv-{name}",
        )
        assert icon != ground, name
