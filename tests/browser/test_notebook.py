"""The viewer in a notebook's cell: Python's numbers, files to save, no way out of its frame."""

from dataclasses import replace

import pytest

from tests.browser.conftest import PATIENCE_MS
from tests.models import photo, tiny
from vitviz import analyze

START = "<!doctype html><meta charset=utf-8><body>"
HOSTILE = '"><img src=x onerror="window.top.broken = window.broken = 1">'


def test_a_cell_shows_the_numbers_of_python_and_runs_no_name(open_page):
    analysis = analyze(tiny("cls"), photo())
    card = replace(analysis.card, labels=(HOSTILE,) * 7)
    analysis = replace(analysis, photo_name=HOSTILE, card=card)
    tab = open_page(f"{START}<pre>In [1]:</pre>{analysis._repr_html_()}</body>")
    cell = tab.frame_locator("iframe")
    cell.locator("#viewer[data-state=ready]").wait_for()
    assert not tab.get_by_text("Trust Notebook").is_visible()
    picture = cell.locator(".vv-picture")
    box, token = picture.bounding_box(), analysis.grid.token(1, 2)
    tab.mouse.click(box["x"] + 0.625 * box["width"], box["y"] + 0.375 * box["height"])
    cell.locator(f"#viewer[data-token='{token}'][data-pinned=true]").wait_for()
    shown = float(cell.locator(".vv-tile-value").inner_text())
    assert shown == pytest.approx(float(analysis.attention(2, None, token)[0]), rel=0.006)
    cell.get_by_role("tab", name="Predictions").click()
    assert cell.locator(".vv-predictions .vv-label").first.inner_text() == HOSTILE
    (frame,) = tab.frames[1:]
    assert [one.evaluate("window.broken") for one in (tab.main_frame, frame)] == [None, None]
    assert frame.evaluate("origin") == "null"  # it cannot read the notebook that it stands in
    cell.get_by_role("button", name="Save what you see").click()
    with tab.expect_download() as download:
        cell.locator(".vv-save section").first.get_by_role("button", name="PNG").click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")


def test_a_cell_follows_the_theme_of_its_notebook(browser, tmp_path):
    """It had that of the system: white in a dark JupyterLab."""
    cell = tmp_path / "cell.html"
    cell.write_text(f"{START}{analyze(tiny('cls'), photo())._repr_html_()}", encoding="utf-8")
    context = browser.new_context(color_scheme="null")  # else a frame has what is emulated
    context.set_default_timeout(PATIENCE_MS)
    try:
        tab = context.new_page()
        tab.goto(cell.as_uri())
        frame = tab.locator("iframe")
        page = tab.frame_locator("iframe").locator("html")
        page.locator("#viewer[data-state=ready]").wait_for()
        for place, name, theme, scheme in (
            ("body", "data-jp-theme-light", "false", "dark"),  # JupyterLab
            ("body", "data-jp-theme-light", "true", "light"),
            ("body", "class", "vscode-dark", "dark"),
            ("body", "class", "vscode-light", "light"),
            ("body", "class", "vscode-high-contrast", "dark"),
            ("body", "class", "vscode-high-contrast vscode-high-contrast-light", "light"),
            ("html", "theme", "dark", "dark"),  # Colab
            ("html", "theme", "light", "light"),
        ):
            tab.locator(place).evaluate(
                "(one, [to, as]) => one.setAttribute(to, as)", [name, theme]
            )
            shown = "html.dark" if scheme == "dark" else "html:not(.dark)"
            tab.frame_locator("iframe").locator(shown).wait_for()
            assert frame.evaluate("(one) => getComputedStyle(one).colorScheme") == scheme
            tab.locator(place).evaluate("(one, to) => one.removeAttribute(to)", name)
    finally:
        context.close()


def test_a_notebook_that_is_not_trusted_shows_a_picture_and_says_why(open_page):
    html = analyze(tiny("cls"), photo())._repr_html_()
    assert html.count("<iframe") == html.count("</style>") == 1
    left = html.partition("</style>")[2].partition("<iframe")[0]  # as a sanitizer leaves it
    for rest in (left, html.partition("<iframe")[0]):  # with and without our style
        tab = open_page(f"{START}{rest}</body>")
        assert tab.get_by_text("Trust Notebook").is_visible()
        picture = tab.locator("figure img")
        assert picture.is_visible()
        assert picture.evaluate("img => img.decode().then(() => img.naturalWidth)") > 0
