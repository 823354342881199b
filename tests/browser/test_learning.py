"""Journeys about learning: trained against untrained, what a model answers, and its training."""

import numpy as np
import pytest

from tests.browser.conftest import stop_time, unfold
from vitviz import analyze, load
from vitviz.probe.measure.film import Film
from vitviz.probe.measure.measurements import measurements_of
from vitviz.web.store.examples import EXAMPLES


def test_the_answer_what_every_layer_would_say_and_the_untrained_twin(
    visit, models, pictures, ours
):
    seen = visit()
    page = seen.page
    seen.bring(pictures["first"])
    analysis = ours(pictures["first"])
    best = analysis.predictions(1)[0]
    seen.open_panel("Predictions")
    assert seen.text(".vv-best b") == percent(best.probability)
    assert "All other classes" not in seen.text("[role=tabpanel]:visible")  # there are none
    bars = [bar.bounding_box() for bar in page.locator(".vv-predictions .vv-track").all()]
    assert len({(round(bar["x"], 1), round(bar["width"], 1)) for bar in bars}) == 1
    shares = page.locator(".vv-predictions b").all_inner_texts()
    assert len({len(share.split(".")[1]) for share in shares}) == 1
    seen.choose("photo only")
    plot = page.get_by_role("slider", name="Layer on the chart")
    plot.focus()
    page.keyboard.press("Home")
    seen.is_(layer=0)
    first = next(line for line in analysis.lens_lines() if line.ranks[0] == 1)
    said = plot.get_attribute("aria-valuetext")
    assert said.startswith(
        f"After layer 0 it would say {first.label}, {percent(first.probabilities[0])}."
    )
    page.keyboard.press("ArrowRight")
    seen.is_(layer=1)
    page.get_by_role("radio", name="rank among all classes").check()
    lines = analysis.lens_lines()
    assert page.locator(".vv-plot-name").count() == len(lines)
    page.locator(".vv-plot-name").first.focus()
    assert page.locator("polyline.vv-lit").count() == 1
    assert page.locator(".vv-plot-name").first.inner_text() == best.label
    spoken = [node.get_attribute("aria-label") for node in page.locator(".vv-plot-name").all()]
    assert spoken == [
        f"{line.label}: {percent(line.probabilities[0])} after the first block, "
        f"{percent(line.probabilities[-1])} after the last, rank {line.ranks[-1]}"
        for line in lines
    ]
    # The untrained twin is one switch away.
    assert page.locator(".vv-untrained").count() == 0
    page.get_by_label("Untrained").check()
    page.locator(".vv-untrained").wait_for()
    assert "Random weights" in seen.text(".vv-untrained")
    seen.open_panel("Predictions")
    want = analyze(load(models["cls"], pretrained=False), pictures["first"]).predictions(1)[0]
    assert seen.text(".vv-predictions b") == percent(want.probability)
    page.get_by_label("Untrained").uncheck()
    page.locator(".vv-untrained").wait_for(state="detached")


def test_what_few_look_at_is_made_when_they_look_and_the_card_tells_what_is_known(visit):
    """Head statistics, positions before training and PCA are fetched from the server once each."""
    seen = visit("?model=photos&example=dog", "dog.jpg")
    page = seen.page
    asked = lambda: sum("component_server" in address for address in seen.requests)  # noqa: E731
    told = "[...document.querySelectorAll('.vv-would')].some((one) => one.textContent)"
    page.wait_for_function(told)
    before = asked()  # the line has asked for the answers under its layers
    analysis = analyze(load("photos"), next(e.path for e in EXAMPLES if e.path.endswith("dog.jpg")))
    page.get_by_role("radio", name="range of every head").check()
    dots = page.locator(".vv-chart:visible").first.locator(".vv-dot")
    dots.first.wait_for()
    heights = [float(dot.get_attribute("cy")) for dot in dots.all()]
    expected = analysis.head_statistics().entropy.flatten()
    assert np.corrcoef(heights, expected)[0, 1] == pytest.approx(-1, abs=1e-6)  # 0 is at the top
    seen.open_panel("Positions")
    page.locator("figure:visible polyline.vv-second-line").first.wait_for(state="attached")
    page.wait_for_function(
        "document.querySelector('polyline.vv-second-line').getAttribute('points')"
    )
    seen.open_panel("Features")
    page.locator("[role=tabpanel]:visible canvas").first.wait_for()
    page.locator("[role=tabpanel]:visible .vv-stale").first.wait_for(state="detached")
    assert asked() == before + 4  # statistics, positions before training, PCA, tokens
    for panel in ("Attention", "Positions", "Features"):
        seen.open_panel(panel)
    assert asked() == before + 4
    # The card tells what is known of the model.
    page.get_by_role("button", name="red panda", exact=True).click()
    seen.ready("red-panda.jpg")
    seen.open_panel("Model")
    unfold(seen.page)
    text = seen.text("[role=tabpanel]:visible")
    for words in ("People, horses, airplanes", "everyday100: 50,000 training", "All 100 classes"):
        assert words in text
    loaded = load("photos")
    for map_ in measurements_of(loaded.card)["boxes"].values():
        assert f"\t{map_['energy']:.2f} \u00d7\t{percent(map_['pointing'])}" in text
    seen.open_panel("Predictions")
    rest = 1 - sum(one.probability for one in analyze(loaded, EXAMPLES[0].path).predictions(10))
    assert f"All other classes together: {percent(rest)}" in seen.text("[role=tabpanel]:visible")
    seen.open_panel("Model")
    seen.page.get_by_text("All 100 classes").click()
    assert "Labrador retriever" in seen.text("[role=tabpanel]:visible")
    # Training and model say of how many pictures their figures are.
    seen.open_panel("Training")
    note = "measured on 1,000 of the test pictures. What the finished model gets right of all 5,000"
    seen.page.get_by_text(note).wait_for()
    seen.open_panel("Model")
    seen.page.get_by_text("Measured on 5,000 pictures").wait_for()


def percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def test_the_film_of_a_training_plays(visit, models, pictures):
    seen = visit()
    page = seen.page
    film = Film.read(models["cls"].with_name("tiny-cls.film.safetensors"))
    fetched = [url for url in seen.requests if "film.safetensors" in url]
    assert not fetched
    seen.open_panel("Training")
    page.locator(".vv-film").first.wait_for()
    reading = page.locator(".vv-film .vv-plot-reading")
    assert reading.inner_text().startswith("Epoch 2.5, after 2,560 pictures and 2 min: 60.0")
    named = page.locator(".vv-film-picture ~ ol b")
    best = film.probabilities[1, 0].float().topk(1)
    assert named.first.inner_text() == percent(float(best.values[0]))
    assert page.get_by_text("<b>second</b>").count() == 1
    top = max(3 / 17, float(film.attention[1, 0, 2].float().mean(dim=0)[1:].max()))
    assert f" = {17 * top:.1f} \u00d7 even share" in seen.text(".vv-film-picture ~ .vv-note")
    stop_time(page)
    page.get_by_role("button", name="Play the training").click()
    assert reading.inner_text().startswith("Epoch 0,")
    assert "all classes alike" in seen.text(".vv-film-picture ~ ol")
    page.clock.run_for(600)  # the film rests on a moment as long as that
    assert reading.inner_text().startswith("Epoch 2.5")
    page.clock.run_for(600)
    page.get_by_role("button", name="Play the training").wait_for()  # it has stopped by itself
    page.clock.resume()
    page.get_by_role("slider", name="Moment on the chart").focus()
    page.keyboard.press("Home")
    assert reading.inner_text().startswith("Epoch 0,")
    before = canvas(page)
    assert (
        page.locator(".vv-film").get_by_role("radio", name="mean").count() == 0
    )  # but the stage's
    seen.choose("1")
    seen.is_(head=1)
    assert canvas(page) != before
    # The line chooses the layer here, too, and the film has no slider of its own.
    before = canvas(page)
    page.get_by_text("Where CLS looks in layer 2").wait_for()
    assert page.locator(".vv-film [type=range]").count() == 1  # the moment
    page.locator(".vv-layer").nth(0).click()
    page.get_by_text("Where CLS looks in layer 0").wait_for()
    seen.is_(panel="training", layer=0)
    assert canvas(page) != before
    seen.choose_model("tiny-grey")
    seen.page.get_by_text("There is no film").wait_for()
    # Where motion is unwelcome the film steps.
    page.emulate_media(reduced_motion="reduce")
    seen.go("?model=tiny-cls", "red-panda.jpg")
    seen.open_panel("Training")
    for epoch in ("Epoch 0,", "Epoch 2.5", "Epoch 0,"):
        seen.page.get_by_role("button", name="Next moment").click()
        assert reading.inner_text().startswith(epoch)


def canvas(page) -> str:
    return page.locator(".vv-film-picture .vv-map").first.evaluate("node => node.toDataURL()")
