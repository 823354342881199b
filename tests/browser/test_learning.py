"""Journeys about learning: trained against untrained, what a model answers, how it came about."""

from vitviz import analyze, load


def test_the_untrained_twin_is_one_switch_away(visit, models, pictures):
    seen = visit()
    page = seen.page
    assert page.locator(".vv-untrained").count() == 0
    seen.upload(pictures["first"])
    seen.ready("first.png")
    page.get_by_label("Untrained").check()
    page.locator(".vv-untrained").wait_for()
    assert "Random weights" in seen.text(".vv-untrained")
    seen.open_panel("Predictions")
    want = analyze(load(models["cls"], pretrained=False), pictures["first"]).predictions(1)[0]
    assert seen.text(".vv-predictions b") == percent(want.probability)
    page.get_by_label("Untrained").uncheck()
    page.locator(".vv-untrained").wait_for(state="detached")


def test_the_answer_and_what_every_layer_would_say(visit, pictures, ours):
    seen = visit()
    page = seen.page
    seen.upload(pictures["first"])
    seen.ready("first.png")
    analysis = ours(pictures["first"])
    best = analysis.predictions(1)[0]
    seen.open_panel("Predictions")
    assert seen.text(".vv-answer-text").endswith(percent(best.probability))
    seen.choose("nothing")
    plot = page.get_by_role("slider", name="Layer on the chart")
    plot.focus()
    page.keyboard.press("Home")
    seen.is_(layer=0)
    first = next(line for line in analysis.lens_lines() if line.ranks[0] == 1)
    said = plot.get_attribute("aria-valuetext")
    assert said.startswith(
        f"After block 0 it would say {first.label}, {percent(first.probabilities[0])}."
    )
    page.keyboard.press("ArrowRight")
    seen.is_(layer=1)
    page.get_by_role("radio", name="rank among all classes").check()
    lines = analysis.lens_lines()
    assert page.locator(".vv-plot-name").count() == len(lines)
    page.locator(".vv-plot-name").first.focus()
    assert page.locator("polyline.vv-lit").count() == 1
    assert page.locator(".vv-plot-name").first.inner_text() == best.label


def test_the_card_tells_what_is_known(visit):
    seen = visit("?model=photos")
    seen.open_panel("Model")
    text = seen.text("[role=tabpanel]:visible")
    for words in ("People, horses, airplanes", "everyday100: 50000 training", "All 100 classes"):
        assert words in text
    seen.page.get_by_text("All 100 classes").click()
    assert "Labrador retriever" in seen.text("[role=tabpanel]:visible")


def percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"
