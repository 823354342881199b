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
    assert seen.text(".vv-predictions b") == f"{want.probability:.1%}".replace("%", "\u00a0%")
    page.get_by_label("Untrained").uncheck()
    page.locator(".vv-untrained").wait_for(state="detached")
