"""How soon the page answers the pointer while a model learns in the playground."""

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page

from tests.bench.browser import chromium
from tests.running import running_app

MOVES, BAR = 300, 16  # ms

# From the moment of a move until the page hears of it.
LISTEN = """() => {
    window.took = [];
    window.long = [];
    new PerformanceObserver(list => long.push(...list.getEntries().map(one => one.duration)))
        .observe({ type: 'longtask' });
    addEventListener('pointermove', event => {
        const { timeStamp } = event;
        took.push(performance.now() - timeStamp);
    }, true);
}"""


def playing() -> None:
    """A row for one run and for two side by side: how long a move of the pointer waits."""
    print("| what learns | waits, ms, p50 / p95 / most | tasks over 50 ms | load |")
    print("|---|---|---|---|")
    with TemporaryDirectory() as folder, running_app(Path(folder)) as url:
        for runs in (1, 2):
            with chromium() as page:
                print(pointed(page, url, runs), flush=True)
    print()


def pointed(page: Page, url: str, runs: int) -> str:
    """The row of one or two runs."""
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{url}?play=standard")
    page.locator(".vv-play-page[data-state=ready]").wait_for(timeout=90_000)
    page.evaluate(LISTEN)
    page.locator(".vv-play-player").click()
    if runs == 2:
        page.locator(".vv-play-away").click()
    page.wait_for_function("Number(document.querySelector('.vv-play-page').dataset.step) > 60")
    page.locator(".vv-play-inside").scroll_into_view_if_needed()
    for at in range(MOVES):
        page.mouse.move(100 + 3 * (at % 300), 200 + at % 50)
        time.sleep(0.01)
    took, long = sorted(page.evaluate("took")), page.evaluate("long")
    return (
        f"| {runs} | {took[len(took) // 2]:.1f} / {took[int(0.95 * len(took))]:.1f} "
        f"/ {took[-1]:.1f} (bar {BAR}) | {len(long)}, longest {max(long, default=0):.0f} "
        f"| {os.getloadavg()[0]:.1f} |"
    )
