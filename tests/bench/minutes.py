"""How much of the minutes of a plan belongs to the page.

`python -m tests.bench.minutes [lesson]`: goes through the parts of a plan of
`viewer/lessons/plans.js` on a projector, guesses and answers at once, and prints for each part how
many words there are to read, and how long the page was waited for: in all, and the longest time.
The rest of the minutes is the class's.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.browser import chromium
from tests.bench.walking import LESSON, PATIENCE_MS, SETTLED, SIZES, Walk
from tests.node import node
from tests.running import ROOT, running_app
from vitviz.languages import dictionary

PLANS = ROOT / "vitviz" / "viewer" / "lessons" / "plans.js"
CHECK = ".vv-check"
QUESTIONS = 8
READ = "(parts) => parts.flatMap((part) => [...document.querySelectorAll(part)])" + (
    ".filter((one) => one.checkVisibility()).map((one) => one.innerText).join(' ')"
)
START = "/?model=photos&example=dog&projector=true&lang=en"


def plans() -> list[dict[str, Any]]:
    read = f"import('{PLANS.as_uri()}').then(({{ PLANS }}) => console.log(JSON.stringify(PLANS)))"
    found: list[dict[str, Any]] = json.loads(node("-e", read))
    return found


class Clock:
    """A teacher at the wall, whose waiting is timed."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.walk = Walk(page, url, "en", "projector")
        self.waits: list[float] = []
        self.words = 0

    def read(self, *parts: str) -> None:
        self.words += len(self.page.evaluate(READ, list(parts)).split())

    def timed(self, act: Callable[[], Any]) -> None:
        begun = time.perf_counter()
        act()
        self.waits.append(time.perf_counter() - begun)

    def open(self) -> None:
        self.page.goto(self.url + START)
        self.page.wait_for_selector("[data-state=ready]", timeout=PATIENCE_MS)

    def steps(self, lesson: str, steps: list[int] | None) -> None:
        """From the first of these steps, or of all of the lesson, to the last."""
        count = None
        first = steps[0] if steps else 0 if lesson != "cut" else 1
        link = f"/?lesson={lesson}&step={first}&lang=en&projector=true"
        self.timed(lambda: self.arrive(lesson, first, lambda: self.page.goto(self.url + link)))
        at = first
        while True:
            if steps is None or at in steps:
                self.read(
                    *(f"{LESSON} .vv-lesson-{part}" for part in ("text", "question", "answer"))
                )
                self.ask()
            told = self.page.locator(f"{LESSON} .vv-lesson-where").inner_text().split()
            count = int(told[-1]) if told[-1].isdigit() else count
            if at == (steps[-1] if steps else count):
                return
            at += 1
            self.timed(lambda at=at: self.arrive(lesson, at, self.on))  # type: ignore[misc]

    def arrive(self, lesson: str, step: int, go: Callable[[], Any]) -> None:
        go()
        self.page.wait_for_function(SETTLED, arg=[lesson, str(step)], timeout=PATIENCE_MS)

    def on(self) -> None:
        self.walk.press("lessonNext" if self.walk.is_there("lessonNext") else "lessonSkip")

    def ask(self) -> None:
        if not self.page.locator(f"{LESSON} .vv-lesson-question").is_visible():
            return
        assert self.walk.guess(None)

        def reveal() -> None:
            self.walk.press("lessonReveal")
            self.page.locator(f"{LESSON} .vv-lesson-why").wait_for(timeout=PATIENCE_MS)

        self.timed(reveal)
        self.read(f"{LESSON} .vv-lesson-truth")

    def check(self, which: str) -> None:
        texts = dictionary("en", "check")
        self.timed(self.open)

        def begin() -> None:
            self.page.evaluate("document.dispatchEvent(new Event('vitviz-lessons'))")
            self.page.locator(".vv-check-line").get_by_text(texts[which], exact=True).click()
            self.page.locator(f"{CHECK} fieldset").first.wait_for(timeout=PATIENCE_MS)

        self.timed(begin)
        for at in range(QUESTIONS):
            where = self.page.locator(f"{CHECK} .vv-lesson-where")
            assert where.inner_text() == texts["progress"].format(at=at + 1, count=QUESTIONS)
            self.read(f"{CHECK} .vv-check-body")
            for group in self.page.locator(f"{CHECK} fieldset").all():
                group.locator("input[type=radio]").first.check(force=True)
            self.timed(self.page.locator(f"{CHECK} .vv-main").click)
        assert self.page.locator(f"{CHECK} output").first.is_visible() or which == "before"


def minutes(name: str) -> None:
    """What each part of a plan leaves to the class."""
    (plan,) = (one for one in plans() if one["id"] == name)
    texts = dictionary("en", "plans") | {
        f"does_{k}": v for k, v in dictionary("en", "lessons").items()
    }
    print("| part | planned, min | words | the page in all, s | longest wait, s |")
    print("|---|---|---|---|---|")
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder)) as url,
        chromium() as first,
    ):
        page = first.context.browser.new_context(**SIZES["projector"]).new_page()
        clock = Clock(page, url)
        for part in plan["parts"]:
            does, clock.waits, clock.words = part["does"], [], 0
            if does in ("before", "after"):
                clock.check(does)
            elif "_" not in does and does in dictionary("en", "lessons"):
                clock.steps(does, part.get("steps"))
            row = [texts[f"does_{does}"], part["minutes"], clock.words, f"{sum(clock.waits):.1f}"]
            print(
                f"| {' | '.join(map(str, row))} | {max(clock.waits, default=0):.1f} |", flush=True
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.minutes", description=__doc__)
    parser.add_argument("plan", nargs="?", default="lesson", choices=[one["id"] for one in plans()])
    minutes(parser.parse_args().plan)
