"""The page says what the outputs of a model mean: several classes, one score, or values."""

from dataclasses import replace

import pytest
import timm

import vitviz
from tests.browser.conftest import plain
from tests.models import photo, spread, tiny
from vitviz import Analysis, analyze
from vitviz.languages import dictionary
from vitviz.payload import page


def looked(outputs: str) -> Analysis:
    loaded = tiny("cls")
    return analyze(replace(loaded, card=replace(loaded.card, outputs=outputs)), photo())


def test_several_classes_are_told_with_their_own_probabilities(open_page) -> None:
    analysis, texts = looked("any_of"), dictionary("en", "viewer")
    tab = open_page(page(analysis))
    headline = analysis.answer_text()
    assert plain(tab.locator("h2").first.text_content()) == plain(headline)
    tab.get_by_role("tab", name=texts["panel_predictions"]).click()
    panel = tab.locator(".vv-panel:visible")
    assert panel.get_by_role("heading", name=texts["outputs_any_of"]).count() == 1
    assert texts["outputsNote_any_of"] in panel.text_content()
    found = analysis.predictions(7)
    rows = panel.locator(".vv-predictions li")
    shares = rows.locator("b").all_text_contents()
    assert shares == [f"{100 * one.probability:.1f}%" for one in found]
    widths = rows.locator(".vv-fill").evaluate_all("all => all.map((one) => one.style.width)")
    ours = [100 * one.probability for one in found]
    assert [float(width.rstrip("%")) for width in widths] == pytest.approx(ours, abs=1e-2)
    assert sum(ours) > 200  # no softmax


def test_values_have_no_percentage_no_lens_and_no_fair_test(open_page) -> None:
    analysis, texts = looked("value"), dictionary("en", "viewer")
    tab = open_page(page(analysis))
    assert plain(tab.locator("h2").first.text_content()) == plain(analysis.answer_text())
    assert tab.locator(".vv-says").text_content() == texts["outputsWhy_value"]
    assert tab.locator(".vv-rivals li").count() == 0
    tab.get_by_role("tab", name="Predictions").click()
    panel = tab.locator(".vv-panel:visible")
    values = panel.locator(".vv-predictions b").all_text_contents()
    assert values == [one.number_text for one in analysis.predictions(7)]
    assert panel.locator(".vv-predictions .vv-fill").count() == 0
    tab.get_by_text(texts["lensValue"]).wait_for()
    tab.get_by_role("tab", name=texts["panel_explain"]).click()
    tab.get_by_text(texts["fairValue"]).wait_for(state="attached")


def test_a_score_says_in_the_panel_of_the_model_that_it_is_assumed(open_page) -> None:
    model = spread(timm.create_model("test_vit", num_classes=1).eval())
    analysis = analyze(vitviz.from_timm(model, labels=["hotdog"]), photo())
    for locale, word in (("en-US", "the file does not say"), ("ko-KR", "적혀")):
        texts, tab = dictionary(locale[:2], "viewer"), open_page(page(analysis), locale=locale)
        assert plain(tab.locator("h2").first.text_content()) == plain(analysis.answer_text())
        assert tab.locator(".vv-says").text_content() == texts["outputsWhy_score"]
        tab.get_by_role("tab", name=texts["panel_model"], exact=True).click()
        facts = tab.locator(".vv-panel:visible .vv-card-facts")
        facts.filter(has_text=texts["cardAssumed"]).filter(has_text=word).first.wait_for()
        facts.filter(has_text=texts["cardOutputs"] + texts["outputs_score"]).first.wait_for()
