"""A page that computes itself: what visitors wait for, and what it costs them and the server."""

import base64
import os
import tempfile
from pathlib import Path
from statistics import median

from playwright.sync_api import Page

from tests.bench.browser import chromium
from tests.running import app_process
from vitviz import analyze, load
from vitviz.payload import page as one_file
from vitviz.web.store.examples import FOLDER

PHOTOS = ("dog.jpg", "cat.jpg", "bison.jpg")
READY = ".vv-place[data-state=ready]"
SQUARES = {"photos": 12, "mnist": 7}  # patches a side
# From a drop on the page to its answer, ms.
DROP = """([text, name]) => new Promise((done) => {
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([bytes], name));
  const began = performance.now();
  const watch = new MutationObserver(() => {
    if (!document.querySelector(".vv-names")?.textContent.startsWith(name)) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  });
  watch.observe(document, { subtree: true, childList: true, characterData: true });
  document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, dataTransfer }));
})"""
# From a move of the pen to the next square until the headline has the answer, and until it is on
# the screen, ms; and the longest that the page did not come round to a frame meanwhile.
STROKE = """() => void (window.took = new Promise((done) => {
  let [began, last, longest] = [0, 0, 0];
  const frame = (now) => {
    longest = Math.max(longest, now - last);
    last = now;
    if (began) requestAnimationFrame(frame);
  };
  window.addEventListener("pointermove", () => {
    began = last = performance.now();
    requestAnimationFrame(frame);
  }, { capture: true, once: true });
  const watch = new MutationObserver(() => {
    if (!began || document.querySelector(".vv-title").classList.contains("vv-coming")) return;
    watch.disconnect();
    const wrote = performance.now() - began;
    requestAnimationFrame(() => setTimeout(() => {
      done([wrote, performance.now() - began, longest]);
      began = 0;
    }));
  });
  const everything = { subtree: true, childList: true, characterData: true, attributes: true };
  watch.observe(document.querySelector(".vv-title"), everything);
}))"""

# How long each question to the engine waits for its answer, ms.
PASSES = """window.passes = [];
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (question, ...rest) {
    const began = performance.now();
    if (question.wish) this.addEventListener("message",
      () => passes.push(performance.now() - began), { once: true });
    return post.call(this, question, ...rest);
  };"""
FILM = """(seconds) => new Promise((done) => {
  const frames = () => Number(document.querySelector(".vv-living").dataset.frames);
  const [before, began] = [frames(), performance.now()];
  passes.length = 0;
  setTimeout(() => done([(frames() - before) / (performance.now() - began) * 1000,
    passes.sort((a, b) => a - b)[passes.length >> 1]]), 1000 * seconds);
})"""


def living(seconds: int = 10) -> None:
    """The camera's living picture in the page of one file: its rate, and a frame in passes."""
    print("### The living picture\n")
    print("| model | pictures a second | a pass, ms: p50 | a picture, in passes |")
    print("|---|---|---|---|")
    flags = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
    for model, photo in (("photos", "dog.jpg"), ("mnist", "digit.png")):
        with tempfile.TemporaryDirectory() as folder, chromium(*flags) as page:
            path = Path(folder) / "page.html"
            html = one_file(analyze(load(model), FOLDER / photo), engine=True)
            path.write_text(f"<script>{PASSES}</script>{html}", "utf-8")
            page.goto(path.as_uri())
            page.get_by_role("button", name="Camera", exact=True).click(timeout=120_000)
            page.locator(".vv-living[data-frames]").wait_for(timeout=120_000)
            rate, passed = page.evaluate(FILM, seconds)
            print(f"| {model} | {rate:.1f} | {passed:.1f} | {1000 / rate / passed:.2f} |")
    print(flush=True)


def here(visitors: int = 16) -> None:
    """In the app, with both kinds of shipped models; then what so many visitors cost the server."""
    print("### Computed in the page\n")
    print("| model | from a dropped photo to its answer, ms: p50, longest | from a stroke", end="")
    print(" to the headline | to the screen | longest without a frame, ms", end="")
    print(" | memory of the tab, MB |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name, app_process(Path(name)) as (url, process):
        for model in ("photos", "mnist"):
            with chromium() as page:
                _open(page, f"{url}/?model={model}")
                drops = [_drop(page, PHOTOS[at % 3], f"{at}.jpg") for at in range(8)][1:]
                words, screens, frames = zip(*_strokes(page, model), strict=True)
                times = (drops, words, screens)
                cells = " | ".join(f"{median(ms):.0f}, {max(ms):.0f}" for ms in times)
                print(
                    f"| {model} | {cells} | {max(frames):.0f} | {_memory(page):.0f} |", flush=True
                )
        print(f"\n### What each of {visitors} visitors costs the server\n")
        print("| what they do | processor, ms | requests after the page is ready |\n|---|---|---|")
        for what in ("open the page", "drop a photo and take patches out, too"):
            before, asked = _processor(process.pid), 0
            for _ in range(visitors):
                with chromium() as page:
                    _open(page, f"{url}/?model=photos")
                    seen: list[str] = []
                    page.on("request", lambda one, seen=seen: seen.append(one.url))
                    if what != "open the page":
                        _drop(page, PHOTOS[0], "mine.jpg")
                        _strokes(page, "photos")
                    asked += len([one for one in seen if one.startswith(url)])
            spent = 1000 * (_processor(process.pid) - before) / visitors
            print(f"| {what} | {spent:.0f} | {asked / visitors:.1f} |", flush=True)
    print(flush=True)


def _open(page: Page, url: str) -> None:
    page.goto(url)
    page.locator(READY).wait_for(timeout=120_000)


def _drop(page: Page, photo: str, name: str) -> float:
    data = base64.b64encode((FOLDER / photo).read_bytes()).decode()
    took = page.evaluate(DROP, [data, name])
    page.locator(READY).wait_for(timeout=120_000)
    return took


def _strokes(page: Page, model: str) -> list[tuple[float, ...]]:
    """A stroke over one square after the other, each of which asks the model anew."""
    page.locator(".vv-modes .vv-option >> nth=1").click()
    box = page.locator(".vv-picture").first.bounding_box()
    assert box
    side = SQUARES[model]
    ways = [range(side), reversed(range(side))]
    squares = [(col, row) for row in (2, 3) for col in ways[row % 2]]
    places = [
        (
            box["x"] + box["width"] * (col + 0.5) / side,
            box["y"] + box["height"] * (row + 0.5) / side,
        )
        for col, row in squares
    ]
    page.mouse.move(*places[0])
    page.mouse.down()
    found = []
    for place in places[1:12]:
        page.evaluate(STROKE)
        page.mouse.move(*place)
        found.append(tuple(page.evaluate("() => window.took")))
    page.mouse.up()
    return found[1:]  # the first one brings the panel


def _memory(page: Page) -> float:
    """The memory that the processes of this tab share with nobody, MB."""
    cdp = page.context.browser.new_browser_cdp_session()
    found = cdp.send("SystemInfo.getProcessInfo")["processInfo"]
    return max(_private(one["id"]) for one in found if one["type"] == "renderer") / 1000


def _private(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def _processor(pid: int) -> float:
    """Seconds that a process has taken of a processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
