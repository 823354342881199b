"""Saving from a browser: PNG, CSV and figures hold what was on the screen."""

import csv
import io

import numpy as np
import pytest
from PIL import Image

from tests.models import tiny
from vitviz import analyze
from vitviz.viewer import page

PANELS = ("Patches", "Positions", "Attention", "Query · key", "Rollout", "Features", "Predictions")


def saved(seen_page, button) -> tuple[str, bytes]:
    with seen_page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, download.value.path().read_bytes()


def test_numbers_png_and_figures_of_the_attention(visit, pictures, ours, folder):
    seen, analysis = visit(), ours(pictures["first"])
    page = seen.page
    seen.upload(pictures["first"])
    seen.ready("first.png")
    page.get_by_role("button", name="Save what you see").click()
    stage, panel = page.locator(".vv-save section").all()
    name, data = saved(page, panel.get_by_role("button", name="CSV"))
    assert name == "first-tiny-cls-attention-layer2-mean-from-token0.csv"
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    np.testing.assert_allclose(
        [float(row["head_1"]) for row in rows], analysis.attention(2, 1), atol=1e-4
    )
    assert (rows[0]["kind"], rows[6]["row"], rows[6]["col"]) == ("cls_token", "1", "1")
    _, data = saved(page, stage.get_by_role("button", name="CSV"))
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    np.testing.assert_allclose(
        [float(row["attention"]) for row in rows], analysis.attention(2), atol=1e-4
    )
    for button, start in ((stage, b"<?xml"), (panel, b"<?xml")):
        name, data = saved(page, button.get_by_role("button", name="SVG"))
        assert name.endswith(".svg")
        assert data.startswith(start)
    assert saved(page, panel.get_by_role("button", name="PDF"))[1].startswith(b"%PDF")
    for section in (stage, panel):
        name, data = saved(page, section.get_by_role("button", name="PNG"))
        image = Image.open(io.BytesIO(data)).convert("RGB")
        assert name.endswith(".png")
        assert image.width > 600  # twice as many pixels as on the screen
        colours = image.getcolors(1 << 24)
        assert len(colours) > 50  # a map was drawn, and text
    page.keyboard.press("Escape")
    assert page.locator(".vv-save[open]").count() == 0
    assert page.locator(".vv-snapshot").count() == 0


def test_a_failure_is_told(visit):
    seen = visit()
    page = seen.page
    page.route("**/component_server/**", lambda route: route.abort())
    page.get_by_role("button", name="Save what you see").click()
    page.locator(".vv-save section").last.get_by_role("button", name="SVG").click()
    page.locator(".vv-save .vv-note", has_text="could not be saved").wait_for()
    seen.complaints[:] = []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_panel_of_the_one_file_page_can_be_saved_as_png(open_page, scheme):
    tab = open_page(
        page(analyze(tiny("cls"), np.zeros((40, 40, 3), np.uint8))), color_scheme=scheme
    )
    tab.wait_for_selector('#viewer[data-state="ready"]')
    for panel in PANELS:
        tab.get_by_role("tab", name=panel).click()
        tab.get_by_role("button", name="Save what you see").click()
        section = tab.locator(".vv-save section").last
        assert section.get_by_role("button", name="PDF").count() == 0  # nobody there to draw it
        _, data = saved(tab, section.get_by_role("button", name="PNG"))
        image = Image.open(io.BytesIO(data)).convert("RGB")
        assert (sum(image.getpixel((3, 3))) > 700) == (scheme == "light"), panel
        assert len(image.getcolors(1 << 24)) > 20, panel
        tab.keyboard.press("Escape")


def test_the_picture_saved_on_a_phone_is_as_wide_as_the_screen(open_page):
    tab = open_page(page(analyze(tiny("cls"), np.zeros((40, 40, 3), np.uint8))))
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.wait_for_selector('.vitviz[data-size="narrow"]')
    shown = tab.locator(".vv-frame").bounding_box()["width"]
    tab.get_by_role("button", name="Save what you see").click()
    stage = tab.locator(".vv-save section").first
    _, data = saved(tab, stage.get_by_role("button", name="PNG"))
    width = Image.open(io.BytesIO(data)).width / 2  # drawn twice as sharp
    assert shown <= width <= shown + 40
