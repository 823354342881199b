"""The line: the model from photo to answer, which chooses the layer."""

from dataclasses import replace

from tests.browser.conftest import ASKED, LAPTOP, WALL
from tests.browser.test_experiment import PANDA, brush
from tests.browser.test_fold import keeps_its_place, project, stands_in_sight
from tests.models import TINY, photo, spread, tiny
from vitviz import Analysis, ViT, analyze, load
from vitviz.languages import dictionary
from vitviz.payload import page as one_file

LAYER = ".vv-layer input"
WOULD = ".vv-would"
SAID = "[...document.querySelectorAll('.vv-layer input')].map(one => one.ariaLabel).join()"
NAMES = dictionary("en", "everyday100-labels")


def names(page) -> list[str]:
    return [node.get_attribute("aria-label") for node in page.locator(LAYER).all()]


def expected(analysis: Analysis) -> list[str]:
    """What each layer is called, by the logit lens of Python."""
    lines, last = analysis.lens_lines(), analysis.trace.depth - 1
    found = []
    for layer in range(last + 1):
        [first] = [line for line in lines if line.ranks[layer] == 1]
        share = f"{100 * first.probabilities[layer]:.1f}%"
        name = NAMES.get(first.label, first.label)
        found.append(f"Layer {layer} (0 to {last}): would answer {name}, {share}")
    return found


def lit(page) -> list[str]:
    """The parts of the line that are lit: words, or numbers of layers."""
    return [text.split("\n")[0] for text in page.locator(".vv-line .vv-lit").all_inner_texts()]


def test_the_line_chooses_the_layer_lights_what_a_panel_shows_and_is_of_the_changed_model(visit):
    seen = visit("?model=photos", **LAPTOP)
    page = seen.page
    keeps_its_place(page)
    stands_in_sight(page, LAPTOP, 42)
    analysis = analyze(load("photos"), PANDA)
    assert names(page) == expected(analysis)
    leads = analysis.lens.argmax(dim=-1)
    assert page.locator(".vv-final").count() == int((leads == leads[-1]).sum())
    page.locator(".vv-layer").nth(4).click()
    seen.is_(layer=4)
    assert page.get_by_role("radio", name="Layer 4 (0 to 5)").is_checked()
    page.wait_for_function("new URLSearchParams(location.search).get('layer') === '4'")
    assert "in layer 4," in page.locator(".vv-panel:visible .vv-intro").first.inner_text()
    page.keyboard.press("ArrowRight")
    seen.is_(layer=5)
    page.keyboard.press("[")
    seen.is_(layer=4)
    assert page.locator(f"{LAYER}:checked").get_attribute("value") == "4"
    # Each panel lights its part.
    page.locator(".vv-layer").nth(2).click()
    seen.is_(layer=2)
    parts = {
        "Patches": ["144 patches"], "Positions": ["+ position"], "Attention": ["2"],
        "Query · key": ["2"], "Rollout": ["0", "1", "2"], "Explanations": ["answer"],
        "Features": ["2"], "Predictions": ["answer"], "Experiment": [], "Training": ["2"],
        "Model": [],
    }  # fmt: skip
    for panel, wanted in parts.items():
        seen.open_panel(panel)
        assert lit(page) == wanted, panel
    # Each part leads to the panel that explains it; so does a layer where none is to be seen.
    for part, panel in (
        ("photo", "patches"),
        ("+ position", "positions"),
        ("answer", "predictions"),
    ):
        page.locator(".vv-station", has_text=part).click()
        seen.is_(panel=panel)
    page.locator(".vv-layer").nth(3).click()
    seen.is_(panel="predictions", layer=3)
    page.locator(".vv-station", has_text="144 patches").click()
    page.locator(".vv-layer").nth(4).click()
    seen.is_(panel="attention", overlay="attention", layer=4)
    # An experiment lights what it touches, and the line is of the changed model.
    seen.open_panel("Experiment")
    brush(page, (5, 5), (5, 8))
    patches = [5 * 12 + col for col in range(5, 9)]
    changes = [{"kind": "remove", "patches": patches}]
    changed = expected(analyze(load("photos"), PANDA, interventions=changes))
    assert changed != expected(analyze(load("photos"), PANDA))
    page.wait_for_function(
        f"said => !document.querySelector('.vv-line.vv-coming') && {SAID} === said",
        arg=",".join(changed),
    )
    assert lit(page) == ["144 patches"]
    # For a wall it is higher.
    page.set_viewport_size(WALL["viewport"])
    project(page, True)
    page.evaluate("scrollTo(0, 0)")
    stands_in_sight(page, WALL, 50)


def test_a_model_of_forty_layers_scrolls_in_its_own_line_and_one_without_classes(open_page):
    config = replace(TINY["cls"], depth=40)
    loaded = replace(
        tiny("cls"), vit=spread(ViT(config)).eval(), card=replace(tiny("cls").card, config=config)
    )
    tab = open_page(one_file(analyze(loaded, photo())))
    for width in (1366, 390):
        tab.set_viewport_size({"width": width, "height": 844})
        tab.locator("#viewer[data-state=ready]").wait_for()
        tab.wait_for_function(ASKED)
        for layer in (0, 39, 20):
            tab.locator(LAYER).nth(layer).check()
            tab.locator(f"#viewer[data-layer='{layer}']").wait_for()
            area = tab.locator(".vv-layer").nth(layer).bounding_box()
            assert area["x"] >= 0
            assert area["x"] + area["width"] <= width
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    # Without classes no layer answers.
    tab = open_page(one_file(analyze(tiny("registers"), photo())))
    tab.locator("#viewer[data-state=ready]").wait_for()
    assert names(tab) == [f"Layer {layer} (0 to 4)" for layer in range(5)]
    assert tab.locator(".vv-station").all_inner_texts()[-1] == "a vector"
    assert tab.locator(WOULD).all_inner_texts() == [""] * 5
