"""The panel Explanations: Python's values when looked at, a chosen class, and a fair test."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ASKED, CUT_LABELS, middle, number, plain, unfold
from vitviz import EXPLAINERS, analyze, load
from vitviz.payload import page as page_of
from vitviz.probe.explain.fairness import plan_of
from vitviz.web.store.examples import FOLDER

OPEN = ".vv-panel:not([hidden])"
DRAWN = """count => {
    const maps = [...document.querySelectorAll('.vv-explanation')];
    return maps.length === count && maps.every(node => !node.querySelector('.vv-legend').hidden);
}"""
# The patches that are grey in a canvas of 16 x 16 pixels for each.
GREY = """(canvas, cols) => {
    const context = canvas.getContext('2d');
    const at = (place) => 16 * Math.floor(place) + 1;
    const red = (col, row) => context.getImageData(at(col), at(row), 1, 1).data[0];
    const grey = (patch) => red(patch % cols, patch / cols) === 0x6f;
    return [...Array(canvas.width * canvas.height / 256).keys()].filter(grey);
}"""


def under(page, analysis, key: str, target: int) -> None:
    """The picture and the map of its own show the values of Python."""
    exact, grid = analysis.explain(key, 0, target), analysis.grid
    for row, col in ((0, 0), (1, 3), (3, 2)):
        page.mouse.move(*middle(page, grid, row, col, ".vv-frame .vv-picture"))
        line = page.locator(".vv-stage > .vv-under", has_text=f"row {row}, col {col}").first
        value = number(line.inner_text())
        expected = float(exact[grid.token(row, col)])
        assert value == pytest.approx(expected, rel=0.006, abs=1e-5)
    page.mouse.move(2, 2)


def fair_is(page, fair, keys) -> None:
    """The figures of the test are those of Python."""
    page.locator(".vv-fair summary").first.click()
    rows = page.locator(".vv-fair tbody tr").all_inner_texts()
    assert len(rows) == len(keys) + 1
    for key, row in zip((*keys, "centre"), rows, strict=True):
        found = [float(cell) for cell in re.findall(r"\t(\S?\d\.\d+)", plain(row))]
        figures = (fair.deletion(key), fair.insertion(key), fair.gain(key))
        assert found == pytest.approx(figures, abs=2e-3)
        assert row.endswith(f"{fair.beaten(key)} of 20")


def test_maps_are_made_when_looked_at_for_any_class_and_tested_fairly(visit, pictures, ours):
    seen, analysis = visit(), ours(pictures["first"])
    page, grid = seen.page, analysis.grid
    seen.bring(pictures["first"])
    page.wait_for_function(ASKED)  # what layers would answer was asked for, of two pictures at most
    assert len([url for url in seen.requests if "component_server" in url]) <= 2
    seen.open_panel("Explanations")
    seen.is_(panel="explain", overlay="explain")
    page.wait_for_function(DRAWN, arg=2)
    answer = analysis.class_index(None)

    under(page, analysis, "attention_gradient", answer)
    # Another class, whose hostile name is only text.
    other = next(i for i in range(7) if i != answer)
    page.get_by_label("What is explained").select_option(str(other))
    page.wait_for_function(DRAWN, arg=2)
    under(page, analysis, "attention_gradient", other)
    assert not page.get_by_role("checkbox", name="occlusion").is_visible()  # all of them are folded
    unfold(page)
    page.get_by_role("checkbox", name="generic relevance (Chefer)").check()
    page.wait_for_function(DRAWN, arg=3)
    under(page, analysis, "generic", other)
    assert "s here" in seen.text(".vv-explanation:nth-child(3) .vv-note")

    page.get_by_role("button", name="Test these maps").click()
    page.locator(".vv-fair-found").wait_for()
    assert page.evaluate(CUT_LABELS) == []
    keys = ("attention", "attention_gradient", "generic")
    fair = analysis.fair_test(*keys, target=other)
    fair_is(page, fair, keys)
    # The verdict, and pictures in which the patches vanish in step with the curves.
    assert float(fair.removed[3]) == 0.25
    gains = {key: fair.gain(key) for key in (*keys, "centre")}
    winner = max(keys, key=gains.__getitem__)
    tied = [key for key, gain in gains.items() if max(gains.values()) - gain < 0.01]
    best = "centre" if "centre" in tied else winner
    start = (
        "Nothing here is better than chance"
        if fair.beaten(best) < 0.95 * len(fair.random)
        else "No map orders the squares better than"
        if best == "centre"
        else "\u201c"
        if len(tied) == 1
        else EXPLAINERS[best].name
    )
    verdict = page.locator(".vv-fair-found .vv-found").inner_text()
    assert verdict.startswith(start)
    assert f"{100 * float(fair.first[best][3]):.0f}%" in verdict
    plan = plan_of(analysis.case(target=other), {winner: analysis.explain(winner, 0, other)})
    order = plan.ways[plan.names.index(winner)].tolist()
    for step in (3, 1):
        page.get_by_label("Squares taken out").fill(str(step))
        gone = plan.counts[step]
        for curve, wanted in (("first", order[:gone]), ("last", order[len(order) - gone :])):
            figure = page.locator(".vv-vanishing").nth(("first", "last").index(curve))
            assert figure.locator("canvas.vv-marks").evaluate(GREY, grid.cols) == sorted(wanted)
            left = f"{100 * float(getattr(fair, curve)[winner][step]):.1f}%"
            assert left in figure.inner_text()
    said = page.locator(".vv-fair-sentences li").first.inner_text()
    assert said.lower().rstrip(".") == str(fair.sentence("attention"))
    assert page.locator(".vv-fair svg .vv-fair-line").count() == 8
    link = page.evaluate("location.search")

    # The link brings it back; undo leads to the class before.
    again = visit(link)
    again.is_(panel="explain", overlay="explain")
    again.page.wait_for_function(DRAWN, arg=3)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function(DRAWN, arg=2)
    assert not page.evaluate("'broken' in window")


def test_a_map_with_a_sign_has_colours_of_its_own(visit):
    seen = visit("?panel=predictions&overlay=explain&explainer=attention_gradient")
    drawn = seen.page.get_by_role("group", name="Drawn as")
    seen.is_(panel="predictions", overlay="explain")
    expect(drawn).to_be_hidden()
    seen.open_panel("Attention")  # whose small maps have the colours that are chosen
    seen.choose("explanation")
    seen.is_(panel="attention", overlay="explain")
    expect(drawn).to_be_visible()
    seen.open_panel("Predictions")
    expect(drawn).to_be_hidden()
    seen.choose("attention")
    expect(drawn).to_be_visible()


def test_a_shipped_model_is_explained_and_tested_in_the_page(visit):
    """Nothing of it is asked of the server, of the intact pass and of a changed one."""
    link = "?model=mnist&example=digit&maps=occlusion.generic&explainer=occlusion"
    seen = visit(link, wait_for="digit.png")
    page, asked = seen.page, []
    page.on("request", lambda request: asked.append(request.post_data or ""))
    seen.open_panel("Explanations")
    page.wait_for_function(DRAWN, arg=2)
    loaded, digit = load("mnist"), FOLDER / "digit.png"
    analysis = analyze(loaded, digit)
    answer = analysis.class_index(None)
    under(page, analysis, "occlusion", answer)
    assert page.get_by_text("Computed in this page, on your own device.").is_visible()
    page.get_by_role("button", name="Test these maps").click()
    page.locator(".vv-fair-found").wait_for()
    keys = ("occlusion", "generic")
    fair = analysis.fair_test(*keys, target=answer)
    fair_is(page, fair, keys)
    said = page.locator(".vv-fair-sentences li").first.inner_text()
    assert said.lower().rstrip(".") == str(fair.sentence("occlusion"))
    assert not [body for body in asked if "explain-" in body or '"fair"' in body]
    assert not [url for url in seen.requests if "explain-" in url]


def test_an_untrained_model_is_explained_by_its_own_weights(visit):
    """It was explained by the weights of the trained model, which the page had."""
    link = "?model=mnist&example=digit&untrained=1&panel=explain&maps=occlusion&explainer=occlusion"
    page = visit(link, wait_for="digit.png").page
    page.wait_for_function(DRAWN, arg=1)
    analysis = analyze(load("mnist", pretrained=False), FOLDER / "digit.png")
    under(page, analysis, "occlusion", analysis.class_index(None))


def test_a_page_of_one_file_has_what_was_made_beforehand(open_page, ours, pictures):
    tab = open_page(page_of(ours(pictures["first"])))
    tab.locator("[data-state=ready]").wait_for()
    tab.get_by_role("tab", name="Explanations", exact=True).click()
    tab.wait_for_function(DRAWN, arg=2)
    unfold(tab)
    assert tab.get_by_role("checkbox", name="occlusion").is_disabled()
    assert tab.get_by_role("button", name="Test these maps").count() == 0
    assert "this page has neither" in tab.locator(f"{OPEN} .vv-fair").inner_text()
    tab.get_by_label("What is explained").select_option(index=3)
    tab.locator(".vv-explanation", has_text="Not in this page").first.wait_for()
