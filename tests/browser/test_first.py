"""The first look: what a visitor sees before anything was pressed, and what each press does."""

import re

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import (
    ASKED,
    DESK,
    LAPTOP,
    PHONE,
    WALL,
    address,
    address_says,
    follow,
    is_too_wide,
    tap,
)
from vitviz import analyze, load
from vitviz.payload import page as one_file
from vitviz.web.store.examples import FOLDER

ABOUT = {"en": "Vision Transformer", "ko": "비전 트랜스포머"}
# Controls, words and stops of the Tab key; a group of radio buttons is one control.
SEEN = """() => {
    const inWindow = (node) => {
        const { top, bottom, left, right } = node.getBoundingClientRect();
        return bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
    };
    const isSeen = (node) => node.checkVisibility({ visibilityProperty: true }) && inWindow(node);
    const all = [...document.querySelectorAll("button, input, a, select, summary, [tabindex='0']")];
    const one = (node) => node.type === "radio" ? node.name : node;
    const controls = new Set(all.filter(isSeen).map(one));
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const words = [], sizes = new Set();
    while (texts.nextNode()) {
        const { parentElement: node, textContent } = texts.currentNode;
        const { width, height } = node.getBoundingClientRect();
        if (isSeen(node) && width > 2 && height > 2 && getComputedStyle(node).fontSize !== "0px"
            && !node.closest("script, style")) {
            const found = textContent.split(/\\s+/).filter((word) => /[\\p{L}\\d]/u.test(word));
            words.push(...found);
            if (found.length > 0) sizes.add(getComputedStyle(node).fontSize);
        }
    }
    const stops = all.filter((node) => node.tabIndex >= 0 && !node.disabled
        && node.checkVisibility({ visibilityProperty: true })
        && !(node.type === "radio" && !node.checked));
    return {
        controls: controls.size, words: words.length, stops: stops.length, text: words.join(" "),
        sizes: [...sizes],
    };
}"""
LIGHT = """(nodes) => nodes.map((node) => {
    const { data } = node.getContext("2d").getImageData(0, 0, node.width, node.height);
    return data.filter((_, at) => at % 4 === 3).join(" ");
})"""


def box(page, selector: str) -> dict[str, float]:
    return page.locator(selector).first.bounding_box()


@pytest.mark.parametrize("sizes", [(PHONE,), (LAPTOP, DESK)], ids=["phone", "wide"])
def test_it_says_what_it_is_and_what_can_be_done_in_few_words(visit, sizes):
    for language in ABOUT:
        seen = visit(f"?model=photos&lang={language}", first=True, **sizes[0])
        page = seen.page
        page.wait_for_function("!document.querySelector('.vv-layer-picture.vv-stale')")
        page.wait_for_function(ASKED)
        for size in sizes:
            page.set_viewport_size(size["viewport"])
            page.wait_for_function("width => innerWidth === width", arg=size["viewport"]["width"])
            says_few_words(page, language, 200 if size is PHONE else 110)


def says_few_words(page, language: str, most_top: int) -> None:
    found = page.evaluate(SEEN)
    assert ABOUT[language] in found["text"]
    assert found["controls"] <= 20
    assert found["words"] <= 130
    assert found["stops"] <= 35
    assert len(found["sizes"]) <= 6, found["sizes"]
    assert not is_too_wide(page)
    picture = box(page, ".vv-picture")
    assert picture["y"] <= most_top
    verbs = page.locator(".vv-modes .vv-option:visible").all()
    assert len(verbs) == 2
    for verb in verbs:
        place = verb.bounding_box()
        assert place["height"] >= 44
        assert place["y"] >= picture["y"] + picture["height"]
        assert place["y"] + place["height"] <= page.viewport_size["height"]
    assert page.locator("[role=tab]:visible").count() == 0


def test_question_layers_and_squares_follow_the_pointer_and_each_dare_can_be_taken_back(visit):
    seen = visit("?model=photos", first=True, **LAPTOP)
    page = seen.page
    page.wait_for_function("!document.querySelector('.vv-layer-picture.vv-stale')")
    name, share = re.match("“(.+)”, (\\S+)", page.title()).groups()
    assert seen.text(".vv-title h2") == f"Why does it say “{name}”?"
    assert seen.text(".vv-says").startswith(f"{share} sure · knows ")
    page.wait_for_function(ASKED)
    assert page.locator(".vv-would").last.text_content() == name
    layers = page.locator(".vv-layer-picture .vv-shade")
    before, sentence = layers.evaluate_all(LIGHT), seen.text(".vv-why .vv-found")
    assert len(set(before)) == 6, "each layer looks elsewhere"
    machine = box(page, ".vv-dares")["y"]
    picture = box(page, ".vv-picture")
    page.mouse.move(picture["x"] + 20, picture["y"] + 20)
    page.wait_for_function(
        "before => document.querySelector('.vv-why .vv-found').textContent !== before", arg=sentence
    )
    assert all(now != then for now, then in zip(layers.evaluate_all(LIGHT), before, strict=True))
    assert box(page, ".vv-dares")["y"] == machine, "nothing moves while one points"
    assert page.locator(".vv-squares li:visible").count() == 4
    page.mouse.move(2, 2)
    # Each dare does what it says, and can be taken back.
    dare = page.locator(".vv-dare")
    shown = '() => document.querySelector(".vv-layer-picture .vv-pixels").toDataURL()'
    intact = page.evaluate(shown)
    dare.filter(has_text="Shuffle it").click()
    page.wait_for_function(
        "document.querySelector('.vv-was').checkVisibility()"
        " && document.querySelector('.vv-title').className === 'vv-title'"
    )
    assert "after: picture shuffled" in seen.text(".vv-says")
    assert box(page, ".vv-picture") == picture, "the picture stays where it is"
    page.wait_for_function("!document.querySelector('.vv-layer-picture.vv-stale')")
    assert page.evaluate(shown) != intact, "each layer shows the picture that it saw"
    # While one points, the picture is as it was, and the shuffled one stands beside it.
    beside = page.locator(".vv-beside")
    expect(beside).to_be_hidden()
    page.get_by_role("radio", name="Point").check()
    expect(beside).to_be_visible()
    undo = page.locator(".vv-undo")
    undo.click()
    page.locator(".vv-was").wait_for(state="hidden")
    assert page.evaluate(shown) == intact
    dare.filter(has_text="Erase it").click()
    page.mouse.move(picture["x"] + 130, picture["y"] + 130)
    page.mouse.down()
    page.mouse.move(picture["x"] + 330, picture["y"] + 140, steps=6)
    page.mouse.up()
    page.locator(".vv-was").wait_for()
    assert "squares are out" in seen.text(".vv-finding")
    undo.click()
    page.locator(".vv-was").wait_for(state="hidden")
    dare.filter(has_text="Before training").click()
    page.locator('[data-beside="untrained"]').wait_for()
    assert page.locator(".vv-side-name:visible").count() == 0, "one panel, and two pictures"
    undo.click()
    page.locator('[data-beside=""]').wait_for()
    page.get_by_role("radio", name="layer 4", exact=False).check()
    seen.is_(layer=4, panel="why")
    address_says(page, panel="why", layer=4)


def test_an_answer_that_is_often_wrong_is_a_maybe_and_grey(visit):
    answer = analyze(load("photos"), FOLDER / "digit.png").answer()
    assert answer.level == "maybe"
    seen = visit("?model=photos&example=digit", "digit.png", first=True, **LAPTOP)
    page = seen.page
    assert seen.text(".vv-title h2") == f"Maybe {answer.name}"
    assert seen.text(".vv-says").startswith(f"{100 * answer.probability:.1f}% sure · knows ")
    grey, ink = (
        page.locator(of).first.evaluate("one => getComputedStyle(one).color")
        for of in (".vv-title h2", ".vv-dares b")
    )
    assert grey != ink
    seen.go("?model=photos&example=digit&panel=predictions&lang=ko", "digit.png")
    assert seen.text(".vv-title h2").startswith("어쩌면 프레첼, ")


def test_on_a_phone_camera_and_pencil_get_its_width_and_a_dare_scrolls_to_what_it_changes(visit):
    """The first look has no columns there that could be measured."""
    page = visit("?model=photos", first=True, **PHONE).page
    pad = page.locator(".vv-drawing:visible")
    for name in ("Camera", "Draw"):
        page.get_by_role("button", name=name).first.tap()
        page.wait_for_function("document.querySelector('.vitviz.vv-writing')")
        page.wait_for_function(
            """() => document.querySelector(".vv-drawing:not([hidden])")
                .getBoundingClientRect().width > 330"""
        )
        field = pad.locator(".vv-picture, .vv-drawing-field").first.bounding_box()
        assert field["width"] >= 270
        assert pad.bounding_box()["y"] + pad.bounding_box()["height"] > field["y"] + field["height"]
        page.keyboard.press("Escape")
        pad.wait_for(state="hidden")
    for dare, place in (("Erase it", ".vv-title h2"), ("Before training", ".vv-beside h3")):
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.locator(".vv-dare").filter(has_text=dare).tap()
        page.wait_for_function(
            """place => {
                const [frame, seen] = [".vv-frame", place].map((one) =>
                    document.querySelector(one).getBoundingClientRect());
                return frame.bottom <= seen.top && seen.bottom < innerHeight;
            }""",
            arg=place,
        )


def test_all_panels_are_one_press_away_and_remembered(visit):
    seen = visit("?model=photos", first=True, **LAPTOP)
    page = seen.page
    page.get_by_role("button", name="All panels").click()
    seen.is_(panel="attention")
    address_says(page, panel="attention")
    assert page.locator("[role=tab]:visible").count() == 13
    assert page.locator("#vv-model").is_visible()
    page.goto(page.url.partition("?")[0] + "?model=photos")
    seen.ready("red-panda.jpg")
    seen.is_(panel="attention")
    page.get_by_role("tab", name="First look").click()
    seen.is_(panel="why")
    address_says(page, panel="why")
    assert not page.locator("#vv-model").is_visible()
    page.goto(page.url.partition("?")[0] + "?model=photos")
    seen.ready("red-panda.jpg")
    seen.is_(panel="why")


# Where they end once the page is drawn in another size.
EDGES = """async (all) => {
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
    await frame().then(frame);
    return all.map((one) => one.getBoundingClientRect().right);
}"""


def test_on_a_phone_shares_are_whole_and_all_panels_a_grid_which_closes_when_one_is_chosen(visit):
    seen = visit("?model=photos", first=True, **PHONE)
    page, shown = seen.page, seen.page.locator("[role=tab]:visible")
    tap(page, 4, 5, touch=True)  # takes most from itself: shares of two figures
    shares = page.locator(".vv-squares li")
    for width, height in ((320, 740), (360, 740), (667, 375), (780, 360), (390, 740)):
        page.set_viewport_size({"width": width, "height": height})
        expect(shares.first).to_contain_text(re.compile(r"\d\d\.\d%"))
        edges = shares.evaluate_all(EDGES)
        assert max(edges) <= width - 10, (width, edges)
    page.set_viewport_size(PHONE["viewport"])
    page.get_by_role("button", name="All panels").tap()
    seen.is_(panel="attention")
    assert shown.count() == 13
    page.locator(".vv-tabs").scroll_into_view_if_needed()
    boxes = [tab.bounding_box() for tab in shown.all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    assert min(box["height"] for box in boxes) >= 40
    assert page.locator(".vv-tab-group-name:visible").all_inner_texts() == ["See", "Why", "Try"]
    page.get_by_role("tab", name="Rollout").tap()
    seen.is_(panel="rollout")
    assert shown.all_inner_texts() == ["Rollout"]
    assert shown.get_attribute("aria-expanded") == "false"
    shown.tap()
    expect(shown).to_have_count(13)
    page.locator(".vv-picture").first.tap()
    page.wait_for_function("!document.querySelector('.vv-tabs.vv-unfolded')")
    shown.press("ArrowRight")
    seen.is_(panel="qk")
    assert page.evaluate("document.activeElement.textContent") == "Query · key"


def test_half_a_low_screen_is_not_empty(visit):
    """A laptop at 200 %, a phone on its side."""
    for width, height in ((683, 384), (844, 390)):
        page = visit(first=True, viewport={"width": width, "height": height}).page
        picture, question, layers = (
            box(page, place) for place in (".vv-picture", ".vv-title h2", ".vv-layers")
        )
        for beside in (question, layers):
            assert picture["x"] + picture["width"] <= beside["x"]
            assert beside["y"] < height - 80
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_names_of_the_next_answers_are_whole_beside_the_buttons(open_page):
    """In a page of one file on a tablet they were "b..." and "b.": one line held both."""
    html = one_file(analyze(load("photos"), FOLDER / "red-panda.jpg"))
    tab = open_page(html, first=True, viewport={"width": 1024, "height": 768}, locale="en-US")
    cut = """() => [...document.querySelectorAll(".vv-rivals li > *")].filter((one) =>
        one.scrollWidth > one.clientWidth || one.getBoundingClientRect().right
            > one.closest(".vv-title").getBoundingClientRect().right + 1)
        .map((one) => one.textContent)"""
    # Panels have a row of buttons more, and at 912 pixels, a cell of a notebook, the same fault.
    for panel, widths in (("why", range(960, 1420, 60)), ("attention", range(900, 1060, 20))):
        follow(tab, f"{tab.url.partition('#')[0]}#panel={panel}")
        for width in widths:
            tab.set_viewport_size({"width": width, "height": 768})
            assert tab.evaluate(cut) == [], (panel, width)


def test_links_lessons_and_the_wall_begin_as_before(visit):
    seen = visit("?model=photos&layer=3", first=True)
    seen.is_(panel="attention", layer=3)
    seen.go("?model=photos&panel=positions", "red-panda.jpg")
    seen.is_(panel="positions")
    wall = visit("?model=photos&projector=true", first=True, **WALL)
    wall.is_(panel="attention")
    other = visit("?model=photos&example=dog", "dog.jpg", first=True)
    other.is_(panel="why")
    assert other.text(".vv-title h2") != wall.text(".vv-title h2")


# Every place in the window that a part is drawn at from now on, until `stood()` names them.
WHERE_IT_STOOD = """(selector) => {
    const part = document.querySelector(selector);
    const places = new Set();
    const look = () => {
        places.add(part.getBoundingClientRect().y);
        requestAnimationFrame(look);
    };
    look();
    window.stood = () => { look(); return [...places]; };
}"""


def test_an_own_photo_has_the_names_it_can_get_its_squares_erased_and_why_it_is_not_sure(
    visit, tmp_path
):
    seen = visit("?model=photos", first=True, **LAPTOP)
    page = seen.page
    assert page.locator(".vv-why details").count() == 0
    page.locator("input[type=file]").first.set_input_files(FOLDER / "bison.jpg")
    seen.ready("bison.jpg")
    names = page.locator(".vv-why details")
    assert "100 kinds of things" in names.locator("summary").inner_text()
    names.locator("summary").click()
    assert names.get_by_text("red panda").is_visible()
    assert page.get_by_role("button", name="Before training").count() == 0
    page.get_by_role("button", name="Erase what counts").click()
    # The same six squares in Python.
    analysis = analyze(load("photos"), FOLDER / "bison.jpg")
    order = analysis.explain("attention_gradient")[1:].argsort(descending=True)  # not CLS
    page.locator(".vv-was").wait_for()
    address_says(page, beside="experiment")
    ranges = re.search(r"experiment=remove_([\d.-]+)", address(page))[1].split(".")
    ends = [[int(end) for end in one.split("-")] for one in ranges]
    erased = [patch for end in ends for patch in range(end[0], end[-1] + 1)]
    assert erased == sorted(order[:6].tolist())
    page.get_by_role("button", name="Undo").click()
    assert "bison" in seen.text(".vv-title h2")
    # Why it is not sure stands there whole, also while squares go.
    page.locator(".vv-was").wait_for(state="hidden")
    page.get_by_role("radio", name="Point").check()
    Image.new("RGB", (1, 1), (200, 30, 30)).save(tmp_path / "red.png")
    seen.bring(tmp_path / "red.png")
    says = page.locator(".vv-says")
    expect(says).to_contain_text("An answer given with so little is wrong most of the time.")
    assert says.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    page.evaluate(WHERE_IT_STOOD, ".vv-line")
    page.get_by_role("button", name="Erase what counts").click()
    expect(says).to_have_text("after: 6 patches taken out")
    page.locator(".vv-was").wait_for()  # the answer has come
    assert len(page.evaluate("stood()")) == 1
