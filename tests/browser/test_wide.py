"""A model of a thousand things runs in the page, once its weights are on the host's disk."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LAPTOP, Held, numbers, open_panel
from tests.browser.test_here import HERE, own, sent
from tests.models import save_in_cache
from tests.running import running_app
from vitviz import Analysis, analyze, load
from vitviz.model.menu import WIDE
from vitviz.payload.in_page import LEAST_CHANGE

__all__ = ["own"]  # a fixture


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    save_in_cache(folder := tmp_path_factory.mktemp("hub"), WIDE)
    return folder


@pytest.fixture(scope="module")
def url(cache, tmp_path_factory) -> Iterator[str]:
    environ = {"HF_HUB_CACHE": str(cache)}
    with running_app(tmp_path_factory.mktemp("wide"), environ=environ) as url:
        yield url


def test_a_photo_is_shown_to_a_model_of_a_thousand_things_and_never_leaves_the_page(
    visit, own, cache, monkeypatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    seen = visit()
    page = seen.page
    open_panel(page, "First look")
    dare = page.locator(".vv-dare", has_text="Ask a model that knows 1,000 things")
    expect(dare).to_contain_text("11 MB, once")
    seen.bring(own)
    expect(dare).to_contain_text("your photo stays in this page")
    expect(dare).to_have_attribute("aria-busy", "false")
    page.set_viewport_size(LAPTOP["viewport"])
    dares = page.locator(".vv-dare:visible").all()
    assert len(dares) == 5
    assert len({one.bounding_box()["y"] for one in dares}) == 1  # one row
    known = page.locator(".vv-why summary").bounding_box()
    assert known["y"] + known["height"] <= 768
    asked = Held()
    page.route("**/queue/join*", asked.hold)
    with page.expect_request("**/gradio_api/weights?*"):
        dare.click()
        expect(dare).to_have_attribute("aria-busy", "true")
        expect(page.locator(".vv-says")).to_contain_text("is on its way")
        asked.go()
    seen.ready(f"my photo.jpg · {WIDE}")
    page.get_by_text(HERE).wait_for()
    expect(dare).to_be_hidden()
    page.get_by_role("button", name="All panels").click()
    assert_is_python_s(seen, analyze(load(WIDE, device="cpu"), own))

    # In another size the photo is analyzed here, too, by weights for that size.
    seen.open_panel("Patches")
    size = page.locator(".vv-sizes .vv-pair button[aria-pressed=false]").first
    side = int(numbers(size.get_attribute("title"))[0])
    with page.expect_request(f"**/gradio_api/weights?*size={side}x{side}"):
        size.click()
    expect(page.locator(".vv-sizes button[aria-pressed=true]")).to_have_attribute(
        "title", re.compile(f"^{side} . {side} ")
    )
    seen.open_panel("Model")
    page.get_by_text(HERE).wait_for()
    rounded = page.locator("dt", has_text="Weights in half precision changed answers")
    expect(rounded.locator("+ dd")).to_have_text(str(LEAST_CHANGE))
    small = load(WIDE, image_size=side, device="cpu")
    assert_is_python_s(seen, analyze(small, own))
    assert sent(seen) == []


def assert_is_python_s(seen, wanted: Analysis) -> None:
    """The saved analysis of the page is that of Python, but for weights in half precision."""
    seen.page.locator("button", has_text="Save").first.click()
    with seen.page.expect_download() as coming:
        seen.page.locator(".vv-save-items button", has_text="safetensors").first.click()
    seen.page.keyboard.press("Escape")
    found = Analysis.load(coming.value.path())
    assert found.card.key == wanted.card.key
    there, here = (one.trace.logits.softmax(-1) for one in (wanted, found))
    assert (there - here).abs().max() < 2 * LEAST_CHANGE
    there, here = (one.attention(11, 1, 0) for one in (wanted, found))
    assert (there - here).abs().max() < 0.02 * there.max()
