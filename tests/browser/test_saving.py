"""Saving from a browser: PNG, CSV and figures hold what was on the screen."""

import base64
import csv
import io
import re

import numpy as np
from PIL import Image

from tests.browser.conftest import PHONE, STANDS, open_panel, unfold
from tests.models import photo, tiny
from vitviz import analyze
from vitviz.payload import page

PANELS = ("Patches", "Positions", "Attention", "Query · key", "Rollout", "Features", "Predictions")


def saved(seen_page, button) -> tuple[str, bytes]:
    with seen_page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, download.value.path().read_bytes()


def test_numbers_png_and_figures_of_the_attention(visit, pictures, ours, folder):
    seen, analysis = visit(), ours(pictures["first"])
    page = seen.page
    seen.bring(pictures["first"])
    page.get_by_role("button", name="Save what you see").click()
    stage, panel = page.locator(SAVES).all()
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
    assert page.get_by_label("heads of this layer", exact=True).is_checked()
    page.keyboard.press("Escape")
    assert page.locator(".vv-save[open]").count() == 0
    assert page.locator(".vv-snapshot").count() == 0
    # Every view has its figure and its numbers.
    seen.choose("1")
    for view, name in {
        "all layers and heads": "wall",
        "whole map": "matrix",
        "range of every head": "statistics",
    }.items():
        seen.open_panel("Attention")
        page.get_by_role("radio", name=view).check()
        page.wait_for_function("() => !document.querySelector('.vv-panel .vv-stale:not([hidden])')")
        page.wait_for_function(STANDS)
        if name == "statistics":
            page.locator(".vv-dots").wait_for()
        section, names = opened(seen)
        assert names == [PNG, CSV, *prints()], view
        file, data = saved(page, section.locator("button", has_text="SVG"))
        assert file == f"first-tiny-cls-attention-{name}-layer2-head1-from-token0.svg"
        assert data.startswith(b"<?xml")
        file, data = saved(page, section.locator("button", has_text=CSV))
        assert file == f"first-tiny-cls-attention-{name}-layer2-head1-from-token0.csv"
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
        if name == "wall":
            for layer in range(3):
                shares = [float(row[f"layer_{layer}_head_0"]) for row in rows]
                np.testing.assert_allclose(shares, analysis.attention(layer, 0), atol=1e-4)
        if name == "matrix":
            shares = [float(row["key_3"]) for row in rows]
            expected = analysis.trace.attention(2)[1, :, 3]
            np.testing.assert_allclose(shares, expected, atol=1e-4)
        page.keyboard.press("Escape")


def opened(seen) -> tuple:
    """The dialog's part of the panel that is open, and the names of its buttons."""
    seen.page.get_by_role("button", name="Save what you see").click()
    section = seen.page.locator(SAVES).last
    return section, section.get_by_role("button").all_inner_texts()


SAVES = ".vv-save section:not(.vv-take)"  # all but the page to take home
# What a saved picture is drawn of, on its way.
DRAWN = """() => {
    const { set } = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, "src");
    const note = (value) => { window.drawn = decodeURIComponent(value); };
    Object.defineProperty(HTMLImageElement.prototype, "src", {
        set(value) { note(value); set.call(this, value); },
    });
}"""
PNG, CSV = "PNG, as drawn", "Numbers, CSV"


def prints(*names: str) -> list[str]:
    ends = [f": {name}" for name in names] or [""]
    return [f"Figure for print, {kind}{end}" for end in ends for kind in ("SVG", "PDF")]


def test_every_panel_has_its_figures_and_tables_and_a_failure_is_told(visit, pictures, ours):
    seen, analysis = visit("?model=tiny-cls&head=1&token=6&layer=1"), ours(pictures["first"])
    page = seen.page
    seen.bring(pictures["first"])
    seen.is_(head=1, token=6, layer=1)
    tables, figures = {}, []
    for panel, buttons in {
        "Patches": [CSV, *prints("this patch", "all patches")],
        "Positions": [CSV, *prints("this position", "all positions")],
        "Query · key": [
            f"{CSV}: the two vectors",
            f"{CSV}: the row of scores and shares",
            f"{CSV}: the mix of the values",
            f"{CSV}: the token before and after",
            *prints(),
        ],
        "Predictions": [
            f"{CSV}: classes",
            f"{CSV}: after each layer",
            *prints("classes", "after each layer"),
        ],
        "Training": [CSV, *prints()],
        "Model": [],
    }.items():
        seen.open_panel(panel)
        if panel == "Query · key":  # values come when somebody looks
            page.locator(".vv-mix .vv-strip-bar:visible").first.wait_for()
        if panel == "Training":  # its numbers come when somebody looks
            page.locator(".vv-film-picture").first.wait_for()
        section, names = opened(seen)
        assert names == [PNG, *buttons], panel
        for name in buttons:
            # Buttons are named by their titles, which begin with the panel.
            file, data = saved(page, section.locator("button", has_text=re.compile(f"^{name}$")))
            if name.startswith(CSV):
                tables[file] = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
            else:
                ending, start = ("svg", b"<?xml") if "SVG" in name else ("pdf", b"%PDF")
                assert data.startswith(start), (panel, name)
                assert file.startswith("first-tiny-cls-")
                assert file.endswith(f"-layer1-head1-from-token6.{ending}")
                figures.append(file)
        page.locator(".vv-save[open]").get_by_role("button", name="Close").click()
    assert len(set(figures)) == len(figures)  # none takes another's place
    row = tables["first-tiny-cls-qk-row-layer1-head1-from-token6.csv"]
    shares = [float(line["attention"]) for line in row]
    np.testing.assert_allclose(shares, analysis.attention(1, 1, 6), atol=1e-3)
    assert len(tables["first-tiny-cls-predictions-lens-layer1-head1-from-token6.csv"]) % 3 == 0
    seen.open_panel("Query · key")
    seen.choose("mean")  # opening the panel chooses a head
    section, names = opened(seen)
    assert names == [PNG, CSV]
    _, data = saved(page, section.locator("button", has_text=CSV))
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert [line["head"] for line in rows] == ["0"] * 12 + ["1"] * 12
    page.locator(".vv-save[open]").get_by_role("button", name="Close").click()
    # Lines of a saved picture break as its language wants.
    page.evaluate(DRAWN)
    page.evaluate("document.documentElement.lang = 'ko'")
    page.locator(".vv-tools button", has_text="저장").click()
    saved(page, page.locator(SAVES).last.get_by_role("button", name="PNG"))
    assert ' lang="ko"' in page.evaluate("drawn")
    page.keyboard.press("Escape")
    page.evaluate("document.documentElement.lang = 'en'")
    # A failure is told.
    seen.open_panel("Attention")
    page.route("**/component_server/**", lambda route: route.abort())
    page.get_by_role("button", name="Save what you see").click()
    page.locator(SAVES).last.get_by_role("button", name="SVG").click()
    told = page.locator(".vv-save .vv-note", has_text="could not be saved")
    told.wait_for()
    assert told.inner_text() == "That could not be saved: the server does not answer"
    seen.complaints.clear()


def every_panel_is_saved(tab, scheme: str, panels: tuple[str, ...] = PANELS) -> None:
    for panel in panels:
        tab.get_by_role("tab", name=panel).click()
        tab.get_by_role("button", name="Save what you see").click()
        section = tab.locator(SAVES).last
        assert section.get_by_role("button", name="PDF").count() == 0  # nobody there to draw it
        _, data = saved(tab, section.get_by_role("button", name="PNG"))
        image = Image.open(io.BytesIO(data))
        assert image.convert("RGBA").getextrema()[3] == (255, 255), panel  # no holes at its edges
        image = image.convert("RGB")
        assert (sum(image.getpixel((3, 3))) > 700) == (scheme == "light"), panel
        assert len(image.getcolors(1 << 24)) > 20, panel
        tab.keyboard.press("Escape")


def test_every_panel_of_the_one_file_page_can_be_saved_as_png(open_page):
    html = page(analyze(tiny("cls"), np.zeros((40, 40, 3), np.uint8)))
    tab = open_page(html, color_scheme="light")
    tab.wait_for_selector('#viewer[data-state="ready"]')
    every_panel_is_saved(tab, "light")
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_selector('.vitviz[data-theme="dark"]')
    every_panel_is_saved(tab, "dark", PANELS[2:3])  # all of them in the dark: below
    # A saved menu shows what is chosen in it.
    tab.get_by_role("tab", name="Explanations").click()
    menu = tab.locator(".vv-class-menu select")
    other = menu.locator("option").last.get_attribute("value")
    menu.select_option(other)
    tab.evaluate(DRAWN)
    tab.get_by_role("button", name="Save what you see").click()
    saved(tab, tab.locator(SAVES).last.get_by_role("button", name="PNG"))
    chosen = re.findall(r'<option value="([^"]*)" selected', tab.evaluate("window.drawn"))
    assert chosen == [other]
    tab.keyboard.press("Escape")
    # On a phone it is as wide as the screen.
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.wait_for_selector('.vitviz[data-size="narrow"]')
    shown = tab.locator(".vv-frame").bounding_box()["width"]
    tab.locator(".vv-picture-options > summary").click()
    tab.get_by_role("button", name="Save what you see").click()
    stage = tab.locator(SAVES).first
    _, data = saved(tab, stage.get_by_role("button", name="PNG"))
    width = Image.open(io.BytesIO(data)).width / 2  # drawn twice as sharp
    assert shown <= width <= shown + 40
    # Where one points with a finger.
    tab = open_page(html, color_scheme="dark", has_touch=True, is_mobile=True)
    tab.wait_for_selector('#viewer[data-state="ready"]')
    every_panel_is_saved(tab, "dark")


def test_a_saved_picture_ends_below_its_caption(visit):
    seen = visit(**PHONE)
    page = seen.page
    page.evaluate("document.fonts.ready")
    page.locator(".vv-picture-options > summary").click()
    for panel in PANELS:
        open_panel(page, panel)
        page.get_by_role("button", name="Save what you see").click()
        section = page.locator(SAVES).last
        _, data = saved(page, section.get_by_role("button", name="PNG"))
        pixels = np.asarray(Image.open(io.BytesIO(data)).convert("L")).astype(int)
        rows = np.flatnonzero((pixels < pixels[0, 0] - 60).any(axis=1))  # with words in them
        below = len(pixels) - 1 - rows[-1]
        assert 28 <= below <= 60, (panel, below)  # 14 pixels around, twice as sharp
        page.keyboard.press("Escape")


# Every canvas that is seen in a part of the page: where in it, and the colours of its pixels.
CANVASES = """root => {
    const place = root.getBoundingClientRect();
    const seen = [...root.querySelectorAll("canvas")].filter((one) =>
        one.checkVisibility() && getComputedStyle(one).opacity === "1"
        && !one.matches(".vv-grey")); // it is blended with what lies under it
    const above = root.querySelector(".vv-overlay");
    return seen.filter((one) => !one.matches(".vv-pixels") || !seen.includes(above)).map((one) => {
        const { left, top, width, height } = one.getBoundingClientRect();
        const pixels = one.getContext("2d").getImageData(0, 0, one.width, one.height).data;
        let bytes = "";
        for (const byte of pixels) bytes += String.fromCharCode(byte);
        return { name: one.className + " of " + one.parentElement.className,
            box: [left - place.left, top - place.top, width, height],
            size: [one.height, one.width], pixels: btoa(bytes) };
    });
}"""
AROUND = 14  # pixels between the edge of a saved picture and what it shows
SHARPNESS = 2  # pixels of a saved picture for one of the screen
CLOSE = 6  # of 255: between two colours of a legend that is squeezed


def missing(image: np.ndarray, canvas: dict) -> float:
    """The share of pixels of a canvas whose colours differ between saved picture and page."""
    (left, top, width, height), (rows, cols) = canvas["box"], canvas["size"]
    y = SHARPNESS * (AROUND + top + (np.arange(rows) + 0.5) * height / rows)
    x = SHARPNESS * (AROUND + left + (np.arange(cols) + 0.5) * width / cols)
    colours = np.frombuffer(base64.b64decode(canvas["pixels"]), np.uint8).astype(int)
    colours = colours.reshape(rows, cols, 4)
    opaque = colours[..., 3] == 255
    assert len(np.unique(colours[opaque], axis=0)) > 1, "nothing to compare"
    drawn = image[np.ix_(y.astype(int), x.astype(int))]
    return float((abs(drawn - colours[..., :3])[opaque].max(axis=-1) > CLOSE).mean())


def test_a_saved_picture_has_the_colours_of_every_map_where_the_screen_has_them(open_page):
    tab = open_page(page(analyze(tiny("cls"), photo())))
    tab.wait_for_selector('#viewer[data-state="ready"]')
    tab.locator("summary", has_text="Scale and more").click()
    tab.get_by_role("radio", name="viridis").check()
    tab.get_by_role("slider", name="Opacity").fill("100")
    tab.locator(".vv-picture").click(position={"x": 5, "y": 5})
    canvases_of = {"Patches": 55, "Positions": 5, "Attention": 6, "Rollout": 6, "Features": 9}
    for panel, count in canvases_of.items():
        tab.get_by_role("tab", name=panel).click()
        unfold(tab)
        if panel == "Patches":
            tab.locator(".vv-component").first.wait_for()
        tab.wait_for_function(STANDS)
        parts = [tab.locator(".vv-stage"), tab.locator("[role=tabpanel]:visible")]
        shown = [part.evaluate(CANVASES) for part in parts]
        assert sum(map(len, shown)) == count, panel
        tab.get_by_role("button", name="Save what you see").click()
        for section, canvases in zip(tab.locator(SAVES).all(), shown, strict=True):
            _, data = saved(tab, section.get_by_role("button", name="PNG"))
            image = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
            for canvas in canvases:
                if "vv-whole-photo" in canvas["name"]:
                    continue  # one pixel of noise for one of the screen, half a pixel off
                # A legend has its marks on it; a map has every pixel.
                most = 0.1 if canvas["size"][0] == 1 else 0
                assert missing(image, canvas) <= most, (panel, canvas["name"], canvas["box"])
        tab.keyboard.press("Escape")
