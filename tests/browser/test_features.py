"""The features panel in a browser: files are fetched when it opens; its numbers are Python's."""

import re

import pytest

from tests.browser.conftest import ASKED, middle, plain
from tests.browser.test_panels import PANEL, check_mix
from vitviz.probe.measure import features

CANVASES = (
    ".vv-stage canvas.vv-overlay, .vv-panel:not([hidden]) .vv-thirds figure:first-child canvas"
)
PIXELS = """((...both) => {
    const read = (one) => one.getContext('2d').getImageData(0, 0, one.width, one.height).data;
    return read(both[0]).join() === read(both[1]).join();
})"""


def test_features_and_values_are_fetched_when_looked_at_and_are_those_of_python(
    visit, pictures, ours
):
    seen, analysis = visit(), ours(pictures["first"])
    page, grid = seen.page, analysis.grid
    seen.bring(pictures["first"])
    asked = lambda part: [url for url in seen.requests if part in url]  # noqa: E731
    page.wait_for_function(ASKED)
    before = len(asked("component_server"))
    assert before <= 2  # the lines of two pictures; all else when somebody looks for it
    seen.open_panel("Features")
    seen.is_(panel="features", overlay="features")
    # The same colours lie over the big picture, until the similarity is wanted there.
    page.locator(".vv-saying", has_text="Squares of one colour").wait_for()
    page.wait_for_function(f"{PIXELS}(...document.querySelectorAll('{CANVASES}'))")
    page.get_by_role("radio", name="likeness to the framed square").check()
    page.locator(".vv-saying", has_text="Bright: patches").wait_for()
    assert not page.evaluate(f"{PIXELS}(...document.querySelectorAll('{CANVASES}'))")
    page.wait_for_function("() => document.querySelectorAll('.vv-tile-value')[0].textContent")
    layer = analysis.trace.depth - 1
    tokens = features.tokens_after(analysis.trace, layer)
    similar, norms = features.similarity(tokens, 0), features.norms(tokens)
    median = float(grid.patches(norms).quantile(0.5))
    requests = len(seen.requests)
    page.mouse.click(*middle(page, grid, 1, 3))
    alike = features.similarity(tokens, grid.token(1, 3))
    for row, col in ((0, 0), (1, 3), (3, 2)):
        page.mouse.move(*middle(page, grid, row, col))
        token = grid.token(row, col)
        line = page.locator(".vv-panel:not([hidden]) .vv-under", has_text=f"row {row}, col {col}")
        value, norm, times = (
            float(n) for n in re.findall(r"(-?\d+\.\d+)", plain(line.inner_text()))
        )
        assert value == pytest.approx(float(alike[token]), abs=1e-3)
        assert norm == pytest.approx(float(norms[token]), rel=0.006)
        assert times == pytest.approx(float(norms[token]) / median, abs=0.06)
    page.keyboard.press("Escape")
    page.mouse.move(2, 2)
    assert [url for url in seen.requests[requests:] if "heartbeat" not in url] == []
    tile = float(seen.text(".vv-tile-value"))
    assert tile == pytest.approx(1, abs=1e-3)
    best = page.locator(".vv-partner b").first.inner_text()
    strongest = float(similar[1:].max())
    assert float(plain(best)) == pytest.approx(strongest, rel=0.01)
    share = features.principal(grid.patches(tokens.T).T).explained
    assert f"{100 * float(share[0]):.1f}%" in seen.text(".vv-thirds .vv-note")
    assert len(asked("component_server")) == before + 2  # PCA of all layers, tokens of this one
    with page.expect_response("**/component_server**"):
        page.get_by_role("button", name="Layer 0,").click()
    seen.is_(layer=0)
    assert len(asked("component_server")) == before + 3
    # The app sends the values of a layer when they are looked at.
    seen.open_panel("Attention")
    page.locator(".vv-layer input").nth(layer).check()
    seen.choose("1")
    seen.open_panel("Query · key")
    page.locator(f"{PANEL} .vv-mix .vv-strips").first.wait_for()
    assert len(asked("component_server")) == before + 4
    check_mix(seen, analysis, layer, 1, 0)


def test_lost_features_say_so_and_can_be_tried_again(visit):
    seen = visit()
    page = seen.page
    page.route("**/component_server**", lambda route: route.fulfill(status=500))
    seen.open_panel("Features")
    page.locator(".vv-waiting", has_text="could not be fetched").wait_for()
    page.unroute("**/component_server**")
    page.locator(".vv-waiting").get_by_role("button", name="Try again").click()
    page.locator(".vv-saying", has_text="Squares of one colour").wait_for()
    assert "NaN" not in seen.text(".vv-panel:not([hidden])")
    seen.forgive("500")
