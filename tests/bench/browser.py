"""How fast the viewer draws, and how long the app takes to start, in Chromium."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.models import photo, spread
from tests.running import running_app, save_tiny
from vitviz import analyze, load
from vitviz.viewer import page as one_file

SWITCHES = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
MOVES = 200
# One walk over the picture per panel: `event` is the time inside the viewer's handler, in which it
# draws everything; `frame` runs until the browser has come round to the next frame after it.
WALK = """async (moves) => {
  const picture = document.querySelector(".vv-picture");
  const times = { event: [], frame: [] };
  for (let i = 0; i < moves; i++) {
    const box = picture.getBoundingClientRect();
    const clientX = box.left + box.width * ((i * 0.377) % 1);
    const clientY = box.top + box.height * ((i * 0.611) % 1);
    const under = document.elementFromPoint(clientX, clientY);
    const move = new PointerEvent("pointermove",
      { bubbles: true, clientX, clientY, pointerId: 1, pointerType: "mouse" });
    const began = performance.now();
    under.dispatchEvent(move);
    times.event.push(performance.now() - began);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    times.frame.push(performance.now() - began);
  }
  return times;
}"""


def viewer() -> None:
    """Pointer moves over a 12 x 12 x 197 analysis in the one-file page, with each panel open."""
    loaded = load("vit_base_patch16_224", pretrained=False)
    spread(loaded.vit)
    with tempfile.TemporaryDirectory() as folder, chromium() as page:
        path = Path(folder) / "page.html"
        path.write_text(one_file(analyze(loaded, photo(300, 300))), "utf-8")
        page.goto(path.as_uri())
        page.locator("[data-state=ready]").wait_for(timeout=120_000)
        page.wait_for_timeout(3000)  # layers are unpacked, work for idle moments is done
        print(f"### Repainting 12 layers, 12 heads, 197 tokens: {MOVES} moves of the pointer\n")
        print(
            "| open panel | drawing, ms: p50 | p95 | longest | to the next frame, ms: p50 | p95 |"
        )
        print("|---|---|---|---|---|---|")
        for tab in page.locator("[role=tab]").all():
            tab.click()
            page.locator(".vv-picture").scroll_into_view_if_needed()
            page.wait_for_timeout(2000)
            times = {kind: sorted(values) for kind, values in page.evaluate(WALK, MOVES).items()}
            numbers = [
                *(at(times["event"], share) for share in (0.5, 0.95, 1)),
                *(at(times["frame"], share) for share in (0.5, 0.95)),
            ]
            cells = " | ".join(f"{number:.1f}" for number in numbers)
            print(f"| {tab.inner_text()} | {cells} |", flush=True)
    print(flush=True)


def start(times: int = 3) -> None:
    """From `python app.py` to an answer, and from there to a drawn page in a fresh browser."""
    print(f"### Start of the app, seconds, best of {times}\n")
    print("| from | to | s |")
    print("|---|---|---|")
    answers, paints, ready = [], [], []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as name, chromium() as page:
            folder = Path(name)
            began = time.perf_counter()
            with running_app(folder, save_tiny(folder, "cls")) as url:
                answers.append(time.perf_counter() - began)
                began = time.perf_counter()
                page.goto(url)
                page.locator("[data-state=ready]").first.wait_for(timeout=120_000)
                ready.append(time.perf_counter() - began)
                first = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
                paints.append(page.evaluate(first) / 1000)
    print(f"| `python app.py` | it answers | {min(answers):.1f} |")
    print(f"| opening the page | first paint | {min(paints):.1f} |")
    print(f"| opening the page | the first analysis is drawn | {min(ready):.1f} |\n", flush=True)


def at(ordered: list[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@contextmanager
def chromium() -> Iterator[Page]:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not path:
        sys.exit("no Chromium on this machine; name one in the variable CHROMIUM")
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path, args=SWITCHES)
        try:
            yield browser.new_page(viewport={"width": 1400, "height": 1000})
        finally:
            browser.close()
