"""The spotlight: the photo itself, as bright as its values say, on screen and in a saved PNG."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import follow
from tests.models import tiny
from tests.running import until
from tests.test_photograph import smooth
from vitviz import Analysis, analyze
from vitviz.payload import page

DIMMEST = 0.2
LUMINANCE = np.array([0.3, 0.59, 0.11])
LOOK = "#panel=attention&layer=1&head=1&token=6&colours=spotlight"
SHOWN = ".vv-stage .vv-photograph:not([hidden])"


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyze(tiny("cls"), smooth(300, 420))


def look(open_page, html: str, hash_: str = LOOK):
    tab = open_page(html)
    return follow(tab, tab.url + hash_)


def lit(analysis: Analysis, colours: np.ndarray) -> np.ndarray:
    """The colours that patches must have under the light of their values. (rows, cols, 3)"""
    grid = analysis.grid
    values = grid.to_map(analysis.attention(1, 1, 6)).numpy()
    end = max(values.max(), 3 / analysis.trace.num_tokens)  # of the scale
    root = np.sqrt(values / end)[..., None]
    grey = colours @ LUMINANCE[:, None]
    return (grey + root * (colours - grey)) * (DIMMEST + (1 - DIMMEST) * root)


def of_patches(pixels: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """The median colour of the middle of each patch. (rows, cols, 3)"""
    height, width = pixels.shape[0] / rows, pixels.shape[1] / cols
    return np.array(
        [
            [
                np.median(
                    pixels[
                        int((row + 0.3) * height) : int((row + 0.7) * height),
                        int((col + 0.3) * width) : int((col + 0.7) * width),
                    ],
                    axis=(0, 1),
                )
                for col in range(cols)
            ]
            for row in range(rows)
        ]
    )


def as_array(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float)


def test_every_patch_of_the_photo_is_as_bright_as_its_value(open_page, analysis):
    tab = look(open_page, page(analysis))
    tab.locator(SHOWN).wait_for()
    crop = as_array(analysis.photograph.crop)
    assert tab.locator(SHOWN).evaluate("c => [c.height, c.width]") == list(crop.shape[:2])
    rows, cols = analysis.grid.rows, analysis.grid.cols
    wanted = lit(analysis, of_patches(crop, rows, cols))
    tab.mouse.move(2, 2)
    seen = of_patches(as_array(tab.locator(".vv-stage .vv-picture").screenshot()), rows, cols)
    np.testing.assert_allclose(seen, wanted, atol=6)
    legend = tab.locator(".vv-stage .vv-legend").inner_text()
    assert "Brightness: 20% and grey at the left end of the scale" in legend
    height, width = analysis.grid.image_size
    assert f"the model saw {height} \N{MULTIPLICATION SIGN} {width} pixels" in legend
    # A saved picture shows it.
    tab.mouse.move(2, 2)
    on_screen = as_array(tab.locator(".vv-stage").screenshot())
    tab.get_by_role("button", name="Save what you see").click()
    with tab.expect_download() as download:
        tab.locator(".vv-save section").first.get_by_role("button", name="PNG").click()
    image = Image.open(download.value.path()).convert("RGB")
    scale = image.width / (on_screen.shape[1] + 28)  # 14 pixels of margin on both sides
    part = (14, 14, 14 + on_screen.shape[1], 14 + on_screen.shape[0])
    saved = image.crop([round(edge * scale) for edge in part])
    saved = np.asarray(saved.resize(on_screen.shape[1::-1], Image.Resampling.BOX), dtype=float)
    box = tab.locator(".vv-stage .vv-picture").bounding_box()
    stage = tab.locator(".vv-stage").bounding_box()
    top, left = int(box["y"] - stage["y"]) + 4, int(box["x"] - stage["x"]) + 4
    bottom, right = top + int(box["height"]) - 8, left + int(box["width"]) - 8
    near = np.abs(saved - on_screen)[top:bottom, left:right]
    assert np.median(near) < 4
    tab.keyboard.press("Escape")
    # The part that the model saw is framed on the whole photo.
    tab.get_by_role("tab", name="Patches").click()
    figure = tab.locator(".vv-panel .vv-framing")
    figure.wait_for()
    _, _, height, width = analysis.photograph.frame
    assert f"{100 * height * width:.1f}% of the photo" in figure.inner_text()
    whole = figure.locator("canvas").bounding_box()
    frame = figure.locator(".vv-crop-frame").bounding_box()
    assert frame["width"] / whole["width"] == pytest.approx(300 / 420, abs=0.02)
    assert (frame["x"] - whole["x"]) / whole["width"] == pytest.approx(60 / 420, abs=0.02)
    assert frame["height"] == pytest.approx(whole["height"], abs=1)
    # The switch shows what the model saw, and is remembered.
    tab.get_by_role("tab", name="Attention").click()
    tab.get_by_role("radio", name="spotlight").check()
    tab.locator(SHOWN).wait_for()
    tab.get_by_role("radio", name="as the model sees it").check()
    tab.locator(SHOWN).wait_for(state="detached")
    assert "for your eye" not in tab.locator(".vv-stage .vv-legend").inner_text()
    tab.wait_for_function("location.hash.includes('sight=model')")
    # Nothing of it is in the address. The new page may read before the last choice is written.
    plain = tab.url.partition("#")[0]
    model = tab.get_by_role("radio", name="as the model sees it")
    until(lambda: follow(tab, plain) and model.is_visible() and model.is_checked())
    assert tab.get_by_role("radio", name="spotlight").is_checked()
    tab.get_by_role("radio", name="photograph", exact=True).check()
    tab.locator(SHOWN).wait_for()
    # Colours lie over what the model saw.
    tab.get_by_role("radio", name="viridis").check()
    tab.locator(SHOWN).wait_for(state="detached")
    assert tab.get_by_role("radio", name="photograph", exact=True).count() == 0


def test_an_older_analysis_has_no_switch_and_it_falls_on_both_of_a_comparison(open_page, analysis):
    tab = look(open_page, page(replace(analysis, photograph=None)))
    assert tab.get_by_role("radio", name="spotlight").is_checked()
    assert tab.get_by_role("radio", name="photograph", exact=True).count() == 0
    rows, cols = analysis.grid.rows, analysis.grid.cols
    pixels = analysis.picture.numpy().astype(float).repeat(8, 0).repeat(8, 1)
    wanted = of_patches(pixels, rows, cols)
    tab.mouse.move(2, 2)
    seen = of_patches(as_array(tab.locator(".vv-stage .vv-picture").screenshot()), rows, cols)
    np.testing.assert_allclose(seen, lit(analysis, wanted), atol=14)
    # Without a map the picture has its own colours again.
    tab.get_by_role("radio", name="photo only").check()
    tab.mouse.move(2, 2)
    expect(tab.locator(".vv-stage .vv-grey").first).to_be_hidden()
    seen = of_patches(as_array(tab.locator(".vv-stage .vv-picture").screenshot()), rows, cols)
    np.testing.assert_allclose(seen, wanted, atol=14)
    tab.get_by_role("tab", name="Patches").click()
    assert not tab.get_by_text("What the model saw of the photo").count()
    # It falls on both pictures of a comparison, and on their difference.
    html = page(analysis, beside=analyze(tiny("registers"), smooth(300, 420)))
    tab = look(open_page, html, LOOK + "&beside=other")
    tab.wait_for_function("document.querySelectorAll('.vv-photograph:not([hidden])').length === 3")
