"""`python -m tests.bench.pictures`: the picture at the top of the README, anew from the page.

Three windows on a site that lies in a folder, opened without a server: patches of a photo are
erased, two models learn side by side in the playground, and a phone has a photo.
"""

import base64
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, Page

from tests.bench.browser import chromium
from tests.running import ROOT
from vitviz.site import write_site

FILE = ROOT / ".github" / "screenshot.webp"
WAIT_MS = 120_000  # a loaded machine with two cores
SIDE = 12  # patches of the shipped photo model, along an edge
FACE = [(row, col if row % 2 else 12 - col) for row in range(3, 9) for col in range(3, 10)]
STEPS = 400  # of 32 digits: most are read rightly by then
GAP = 24  # pixels between the windows
SHEET = """<body style="margin:0; background:#fff"><div style="display:grid; gap:{gap}px;
  padding:{gap}px; grid-template-columns:auto auto; justify-content:center">{windows}</div>"""
WINDOW = """<img src="data:image/png;base64,{data}" style="display:block; {place}
  border:1px solid #d6d3d1; border-radius:10px">"""


def pictures(file: Path = FILE) -> None:
    """Write the picture, and say how large it is."""
    with TemporaryDirectory() as folder, chromium() as page:
        write_site(folder, ["photos"], language="en")
        address = (Path(folder) / "index.html").as_uri()
        windows = [
            _shot(page.context.browser, address + query, size, acted)
            for query, size, acted in (
                ("?model=photos&example=red-panda", (1280, 720), _erased),
                ("?play=standard", (850, 660), _learned),
                ("?model=photos&example=dog&panel=attention&layer=5", (404, 660), _looked),
            )
        ]
        sheet = _sheet(page, windows)
    sheet.save(file, quality=92, method=6)
    print(f"{file}: {sheet.width} x {sheet.height}, {file.stat().st_size / 1000:.0f} kB")


@contextmanager
def _window(browser: Browser, address: str, size: tuple[int, int]) -> Iterator[Page]:
    width, height = size
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="light",
        reduced_motion="reduce",
        has_touch=width < 500,
        is_mobile=width < 500,
    )
    page.set_default_timeout(WAIT_MS)
    page.goto(address)
    yield page
    page.close()


def _shot(
    browser: Browser, address: str, size: tuple[int, int], acted: Callable[[Page], None]
) -> bytes:
    with _window(browser, address, size) as page:
        acted(page)
        return page.screenshot(animations="disabled")


def _erased(page: Page) -> None:
    """Take the face of the red panda out, with the mouse."""
    page.locator(".vv-place[data-state=ready]").wait_for()
    page.locator(".vv-modes .vv-option >> nth=1").click()
    box = page.locator(".vv-stage .vv-picture").bounding_box()
    for at, (row, col) in enumerate(FACE):
        page.mouse.move(
            box["x"] + box["width"] * (col + 0.5) / SIDE,
            box["y"] + box["height"] * (row + 0.5) / SIDE,
            steps=3,
        )
        if at == 0:
            page.mouse.down()
    page.mouse.up()
    page.locator(".vv-finding", has_text=f"{len(FACE)} of").wait_for()
    page.locator(".vv-title:not(.vv-coming)").wait_for()


def _learned(page: Page) -> None:
    """Let a second model learn without positions beside the first, and stop both."""
    page.locator(".vv-play-page[data-state=ready]").wait_for()
    page.locator(".vv-play-player").click()
    page.locator(".vv-play-away").click()
    page.locator(".vv-play-page[data-runs='2']").wait_for()
    page.wait_for_function(
        f"Number(document.querySelector('.vv-play-page').dataset.step) > {STEPS}"
    )
    page.locator(".vv-play-player").click()


def _looked(page: Page) -> None:
    page.locator(".vv-place[data-state=ready]").wait_for()


def _sheet(page: Page, windows: list[bytes]) -> Image.Image:
    places = ["grid-column:1 / 3; justify-self:center;", "", ""]
    html = "".join(
        WINDOW.format(data=base64.b64encode(one).decode(), place=place)
        for one, place in zip(windows, places, strict=True)
    )
    page.set_viewport_size({"width": 1284 + 2 * GAP, "height": 600})
    page.set_content(SHEET.format(gap=GAP, windows=html))
    return Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")


if __name__ == "__main__":
    pictures()
