"""Terms are underlined in every panel, and each opens a card, by pointer, finger and keyboard."""

import pytest

from tests.browser.conftest import open_panel
from tests.models import photo, tiny
from vitviz import analyze
from vitviz.languages import dictionary
from vitviz.payload import page

MARKED = "side => [...document.querySelectorAll(`.vv-${side} .vv-term`)].map(n => n.dataset.term)"
# What somebody must be able to look up there, whatever else is underlined.
WANTED = {
    "Patches": {"patch", "weights", "channel", "filter", "convolution"},
    "Positions": {"patch", "cosine"},
    "Attention": {"token", "layer", "head", "cls", "patch", "prefix_token"},
    "Query · key": {"query", "key", "softmax", "head"},
    "Rollout": {"rollout", "token", "attention", "layer"},
    "Features": {"token", "layer", "variance", "median", "pca"},
    "Predictions": {"block", "classifier", "logit_lens"},
    "Model": {"vision_transformer", "weights", "block"},
}


@pytest.fixture(scope="module")
def html() -> str:
    return page(analyze(tiny("cls"), photo()))


@pytest.fixture
def tab(open_page, html):
    tab = open_page(html)
    tab.locator("[data-state=ready]").wait_for()
    return tab


# Terms whose word goes on behind them, in another line.
TORN = """() => [...document.querySelectorAll(".vv-term")].filter((term) => {
    const after = document.createTreeWalker(term.closest("p, h3, h4, div"), NodeFilter.SHOW_TEXT);
    while (after.nextNode()) {
        if (term.compareDocumentPosition(after.currentNode) !== 4) continue;
        if (!/^\\p{L}/u.test(after.currentNode.data)) return false;
        const letter = document.createRange();
        letter.setStart(after.currentNode, 0);
        letter.setEnd(after.currentNode, 1);
        const end = [...term.getClientRects()].pop();
        return end && letter.getBoundingClientRect().top > end.bottom - 2;
    }
    return false;
}).map((term) => term.parentElement.textContent)"""


def test_panels_underline_terms_whose_cards_open_by_keyboard_and_no_word_is_torn(tab) -> None:
    # The first place of each term is underlined.
    for panel, wanted in WANTED.items():
        tab.get_by_role("tab", name=panel, exact=True).click()
        folded = tab.locator(".vv-right .vv-second:not([open]) > summary:visible")
        while folded.count():
            folded.first.click()
        tab.wait_for_function(
            f"wanted => wanted.every(id => ({MARKED})('right').includes(id))", arg=list(wanted)
        )
        visible = tab.locator(".vv-right .vv-term:visible").evaluate_all(
            "nodes => nodes.map(node => node.dataset.term)"
        )
        assert len(visible) == len(set(visible)), panel
    tab.get_by_role("tab", name="Attention", exact=True).click()
    tab.wait_for_function(
        f"wanted => wanted.every(id => ({MARKED})('left').includes(id))",
        arg=["even_share", "attention"],
    )
    tab.get_by_role("radio", name="range of every head").click()
    tab.wait_for_function(f"() => ({MARKED})('right').includes('half_precision')")
    # No control was broken up, and no text was changed.
    inside = ("button", "a", "label", ".vv-picture")
    assert tab.locator(", ".join(f"{one} .vv-term" for one in inside)).count() == 0
    tab.get_by_role("radio", name="heads of this layer").click()
    # A text that changes is underlined again when the pointer rests.
    saying = tab.locator(".vv-saying")
    saying.locator(".vv-term").first.wait_for()
    before = saying.inner_text()
    tab.locator(".vv-picture").hover(position={"x": 30, "y": 30})
    tab.wait_for_function(
        "before => document.querySelector('.vv-saying').innerText !== before", arg=before
    )
    saying.locator(".vv-term[data-term=even_share]").wait_for()
    assert "the framed patch takes most from" in saying.inner_text()
    # A card opens by keyboard, and gives the focus back.
    for language in ("en", "ko"):
        if language == "ko":
            tab.get_by_role("button", name="한국어").click()
        term = tab.locator(".vv-readout .vv-term[data-term=layer]")
        term.wait_for()
        tab.locator(".vv-frame").press("Home")  # pinned
        tab.locator("[data-pinned=true]").wait_for()
        tab.locator(".vv-readout .vv-term[data-term=layer]").focus()
        tab.keyboard.press("Enter")
        card = tab.get_by_role("dialog")
        said = dictionary(language, "glossary")
        assert card.locator("h3").inner_text() == said["layer_name"]
        assert card.locator("p").inner_text() == said["layer"]
        inside, screen = card.bounding_box(), tab.viewport_size
        assert inside["x"] >= 0
        assert inside["y"] >= 0
        assert inside["x"] + inside["width"] <= screen["width"]
        assert inside["y"] + inside["height"] <= screen["height"]
        tab.keyboard.press("Escape")
        card.wait_for(state="hidden")
        assert tab.evaluate("document.activeElement.dataset.term") == "layer"
        # Escape closed the card and nothing behind it.
        assert tab.locator("[data-pinned=true]").count() == 1
    # No Korean word is torn behind a term.
    tab.locator(".vv-term", has_text="토큰").first.wait_for()
    for width in range(320, 460, 10):
        tab.set_viewport_size({"width": width, "height": 844})
        assert tab.evaluate(TORN) == [], width
    for panel in ("예측", "쿼리 · 키", "롤아웃"):
        open_panel(tab, panel)
        tab.locator(".vv-right .vv-term:visible").first.wait_for()
        for width in range(320, 460, 10):
            tab.set_viewport_size({"width": width, "height": 844})
            assert tab.evaluate(TORN) == [], (panel, width)


def test_a_finger_opens_a_card_and_closes_it_beside(open_page, html) -> None:
    tab = open_page(html, has_touch=True)
    tab.locator("[data-state=ready]").wait_for()
    term = tab.locator(".vv-saying .vv-term[data-term=even_share]")
    term.tap()
    card = tab.get_by_role("dialog")
    assert card.locator("p").inner_text() == dictionary("en", "glossary")["even_share"]
    tab.touchscreen.tap(1150, 20)
    card.wait_for(state="hidden")
