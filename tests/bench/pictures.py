"""`python -m tests.bench.pictures`: the picture at the top of the README, anew from the page.

A window and three phones, on a site that lies in a folder, opened without a server: patches of a
photo are erased; a photo is looked at, the model is taught two things of one's own, and two models
learn beside each other in the playground.
"""

import base64
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, FilePayload, Page

from tests.bench.browser import chromium
from tests.models import squares
from tests.running import ROOT
from vitviz.site import write_site
from vitviz.web.store.examples import FOLDER

FILE = ROOT / ".github" / "screenshot.webp"
WAIT_MS = 120_000  # a loaded machine with two cores
SIDE = 12  # patches of the shipped photo model, along an edge
FACE = [(row, col if row % 2 else 12 - col) for row in range(3, 9) for col in range(3, 10)]
STEPS = 400  # of 32 digits: most are read rightly by then
SQUARES = 8  # pictures of each thing of one's own
GAP = 24  # pixels between the windows
WIDTH = 1282  # of the window with its border, and of three phones with theirs and two gaps
SHEET = """<body style="margin:0; background:#fff"><div style="display:flex; flex-wrap:wrap;
  justify-content:space-between; gap:{gap}px; padding:{gap}px; width:{width}px">{windows}</div>"""
WINDOW = """<img src="data:image/png;base64,{data}"
  style="border:1px solid #d6d3d1; border-radius:10px">"""


def pictures(file: Path = FILE) -> None:
    """Write the picture, and say how large it is."""
    with TemporaryDirectory() as folder, chromium() as page:
        write_site(folder, ["photos"], language="en")
        address = (Path(folder) / "index.html").as_uri()
        windows = [
            _shot(page.context.browser, address + query, size, acted)
            for query, size, acted in (
                ("?model=photos&example=red-panda", (1280, 640), _erased),
                ("?model=photos&example=dog&panel=attention&layer=5", (409, 760), _looked),
                ("?teach", (409, 760), _taught),
                ("?play=standard", (409, 760), _learned),
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
    page.locator(".vv-found", has_text=f"of {SIDE**2 - len(FACE)} squares").wait_for()
    page.locator(".vv-line:not(.vv-coming)").wait_for()


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


def _taught(page: Page) -> None:
    """Teach two things, each with squares of one example."""
    page.locator(".vv-own-columns").wait_for()
    for at, (name, example) in enumerate((("fish", "goldfish"), ("coffee", "coffee"))):
        row = page.locator(".vv-own .vv-signs-kind").nth(at)
        row.locator(".vv-signs-name").fill(name)
        row.locator("input[type=file]").set_input_files(_squares(example))
        row.locator(f".vv-signs-drawing:nth-child({SQUARES})").wait_for()
    page.locator(".vv-own-result", has_text=f"of {2 * SQUARES}").wait_for()
    page.locator(".vv-own .vv-signs-kind").first.scroll_into_view_if_needed()


def _squares(example: str) -> list[FilePayload]:
    """Pictures of the thing on an example photo."""
    files: list[FilePayload] = []
    for at, square in enumerate(squares(FOLDER / f"{example}.jpg", SQUARES)):
        square.save(data := io.BytesIO(), "PNG")
        name = f"{example}-{at}.png"
        files.append({"name": name, "mimeType": "image/png", "buffer": data.getvalue()})
    return files


def _looked(page: Page) -> None:
    page.locator(".vv-place[data-state=ready]").wait_for()


def _sheet(page: Page, windows: list[bytes]) -> Image.Image:
    html = "".join(WINDOW.format(data=base64.b64encode(one).decode()) for one in windows)
    page.set_viewport_size({"width": WIDTH + 2 * GAP, "height": 600})
    page.set_content(SHEET.format(gap=GAP, width=WIDTH, windows=html))
    return Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")


if __name__ == "__main__":
    pictures()
