"""Walks through every step of every lesson as a pupil does, and says what is not on the screen.

`python -m tests.bench.walking [--out FOLDER] [--lessons cut ask] [--languages en] [--sizes phone]`:
each question is guessed wrong, read, and guessed right. What is asked, the evidence, the way on,
and after the guess what was found and why have to lie on the screen without scrolling. Prints a
line for each that does not, and leaves a contact sheet of each walk in FOLDER.
"""

import argparse
import io
import itertools
import json
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from tests.bench.browser import chromium
from tests.running import running_app
from vitviz.languages import dictionary, languages

SIZES: dict[str, dict[str, Any]] = {
    "laptop": {"viewport": {"width": 1366, "height": 650}},
    "projector": {"viewport": {"width": 1280, "height": 720}},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}
LESSON = ".vv-lesson:not([hidden])"
PATIENCE_MS = 60_000
MINUS = "\u2212"
# What a step stands in the page as, once everything that it tells has come.
SETTLED = """([lesson, step]) => {
    const bar = document.querySelector('.vv-lesson:not([hidden])');
    const place = document.querySelector('[data-state]');
    const says = bar?.querySelector('.vv-lesson-text')?.textContent;
    const notes = [...bar?.querySelectorAll(':scope > p.vv-note') ?? []];
    return place?.dataset.state === 'ready'
        && place.dataset.lesson === lesson && place.dataset.step === step
        && says && !says.includes('…')
        && !notes.some((one) => !one.hidden && one.textContent.includes('…'));
}"""
BOXES = """(selectors) => Object.fromEntries(selectors.map((selector) => {
    const node = [...document.querySelectorAll(selector)].find((one) => one.checkVisibility());
    const box = node?.getBoundingClientRect();
    return [selector, box ? [box.top, box.bottom, innerHeight] : null];
}))"""
# What the evidence of a step is, where it lies, and between which edges it can be seen: under the
# picture, which stays on a phone, and above the buttons.
EVIDENCE = """() => {
    const seen = (selector) =>
        [...document.querySelectorAll(selector)].find((one) => one.checkVisibility());
    const box = (selector) => seen(selector)?.getBoundingClientRect();
    const bar = '.vv-lesson:not([hidden])';
    const kind = document.querySelector(`${bar} .vv-lesson-figure`)?.dataset.figure;
    const places = {stage: '.vv-frame', panel: '.vv-panel', photo: `${bar} .vv-framing`,
        code: `${bar} .vv-lesson-lines`};
    if (kind === 'code' && seen(`${bar} .vv-lesson-right`)) places.code = `${bar} .vv-lesson-right`;
    const found = box(places[kind] ?? `${bar} .vv-lesson-figure`);
    if (!kind || !found) return [kind, null];
    const [frame, buttons] = [box('.vv-frame'), box(`${bar} > .vv-lesson-buttons`)];
    const above = kind !== 'stage' && frame.left < found.right && found.left < frame.right;
    const bottom = kind === 'panel' ? found.top + Math.min(100, found.height) : found.bottom;
    const within = kind === 'stage' || kind === 'panel' ? innerHeight : buttons.top;
    return [kind, [found.top, bottom], [above ? frame.bottom : 0, within]];
}"""
# Cards of the evidence whose words reach into the next card, or out of the bar.
TIGHT = """() => {
    const bar = document.querySelector('.vv-lesson:not([hidden])');
    const cards = [...bar.querySelectorAll('.vv-lesson-figure .vv-figure-card')]
        .filter((one) => one.checkVisibility());
    const left = (part) => part.getBoundingClientRect().left;
    const end = (part) => left(part) + Math.max(part.offsetWidth, part.scrollWidth);
    return cards.filter((card, at) => {
        const next = cards[at + 1];
        const beside = next && left(next) > left(card);
        const room = beside ? left(next) : bar.getBoundingClientRect().right;
        return [...card.children].some((part) => end(part) > room + 1);
    }).map((card) => card.innerText);
}"""
# Nothing in the bar has changed or moved for longer than the page waits before it underlines terms,
# which can move a line, and for some frames, in which it scrolls.
RESTS = """(wait) => {
    const bar = document.querySelector('.vv-lesson:not([hidden])');
    const boxes = [bar, ...bar.children].map((one) => one.getBoundingClientRect());
    const now = bar.innerHTML + JSON.stringify(boxes.map(({ top, height }) => [top, height]));
    const known = window.rests?.wait === wait && window.rests.now === now;
    if (!known) window.rests = { wait, now, since: performance.now(), frames: 0 };
    window.rests.frames += 1;
    return window.rests.frames > 3 && performance.now() - window.rests.since > 400;
}"""
DRAWN = """() => {
    const figure = document.querySelector('.vv-lesson:not([hidden]) .vv-lesson-figure');
    return figure.hidden || figure.ariaBusy === 'false';
}"""


class Walk:
    """One walk through a lesson in a language and a size, with its faults and pictures."""

    def __init__(
        self, page: Any, url: str, language: str, size: str, thorough: bool = True
    ) -> None:
        self.page, self.url, self.language, self.size = page, url, language, size
        self.thorough = thorough  # else no pictures, and each question is guessed once
        self.kinds: set[str] = set()  # of evidence
        self.texts = dictionary(language, "viewer")
        self.faults: list[str] = []
        self.waits = itertools.count()  # numbers that tell them apart
        self.shots: list[tuple[str, Image.Image]] = []

    def lesson(self, name: str, first: int, last: int | None = None) -> None:
        """From its first step to the last one, or to the card at its end."""
        more = "&projector=true" if self.size == "projector" else ""
        self.page.goto(f"{self.url}/?lesson={name}&step={first}&lang={self.language}{more}")
        step = first
        while True:
            self.page.wait_for_function(SETTLED, arg=[name, str(step)], timeout=PATIENCE_MS)
            self.rest()
            where = f"{name} {step}"
            closed = (
                self.page.locator(f"{LESSON} .vv-lesson-where").inner_text()
                == (self.texts["lessonFound"])
            )
            self.look(where, "asked", [".vv-lesson-text"])
            if closed:
                return
            if self.page.locator(f"{LESSON} .vv-lesson-question").is_visible():
                self.question(where)
            if step == last:
                return
            self.press("lessonNext" if self.is_there("lessonNext") else "lessonSkip")
            step += 1

    def question(self, where: str) -> None:
        self.on_screen(where, "asked", [".vv-lesson-question", ".vv-lesson-answer"])
        if not self.guess(None):
            self.faults.append(f"{where}: cannot be guessed here")
            return
        self.press("lessonReveal")
        for part in ("gap", "why"):
            self.page.locator(f"{LESSON} .vv-lesson-{part}").wait_for(timeout=PATIENCE_MS)
        self.rest()
        self.look(where, "told", [".vv-lesson-gap", ".vv-lesson-why"])
        if not self.thorough:
            return
        right = self.truth()
        self.press("lessonAgain")
        if right is not None and self.guess(right):
            self.press("lessonReveal")
            gap = self.page.locator(f"{LESSON} .vv-lesson-gap")
            gap.wait_for(timeout=PATIENCE_MS)
            said = gap.inner_text()
            first, *_ = self.texts["lessonGap_same"].split("{")
            fits = [first.strip(), self.texts["lessonRight"], self.texts["lessonClose"]]
            if not any(one in said for one in fits):
                self.faults.append(f"{where}: the right guess gets “{said}”")

    def guess(self, right: Any) -> bool:
        """Guess what is right, or else something that hardly is. False if no guess is possible."""
        answer = self.page.locator(f"{LESSON} .vv-lesson-answer")
        options = answer.locator("input[type=radio]")
        number = answer.locator("input[type=number]")
        if options.count():
            options.nth(0 if right is None else right).check(force=True)
        elif number.count():
            low = float(number.get_attribute("min"))
            number.fill(str(low) if right is None else str(right))
        else:
            return self.paint()
        return True

    def paint(self) -> bool:
        frame = self.page.locator(".vv-frame").first
        frame.scroll_into_view_if_needed()
        reveal = self.button("lessonReveal")
        box = frame.bounding_box()
        for at in range(12):
            if reveal.get_attribute("aria-disabled") == "false":
                return True
            x, y = box["x"] + box["width"] * (0.06 + 0.08 * at), box["y"] + box["height"] * 0.04
            touch = self.page.touchscreen.tap if self.size == "phone" else self.page.mouse.click
            touch(x, y)
        return reveal.get_attribute("aria-disabled") == "false"

    def truth(self) -> Any:
        """The right guess as the page has told it: the place of an option, or a number."""
        answer = self.page.locator(f"{LESSON} .vv-lesson-answer")
        if answer.locator("input[type=radio]").count():
            return answer.locator("label").evaluate_all(
                "labels => labels.findIndex((one) => one.classList.contains('vv-lesson-right'))"
            )
        gap = self.page.locator(f"{LESSON} .vv-lesson-gap").inner_text()
        found = re.findall(MINUS + r"?[\d,]+(?:\.\d+)?", gap)
        if not answer.locator("input[type=number]").count() or not found:
            return None
        return float(found[-1].replace(",", "").replace(MINUS, "-"))

    def rest(self) -> None:
        """Wait until the page rests, from now on."""
        self.page.wait_for_function(RESTS, arg=next(self.waits), timeout=PATIENCE_MS)

    def look(self, where: str, when: str, wanted: list[str]) -> None:
        self.on_screen(where, when, wanted)
        self.evidence(where, when)
        if not self.thorough:
            return
        shot = Image.open(io.BytesIO(self.page.screenshot()))
        self.shots.append((f"{where} {when}", shot.convert("RGB")))

    def evidence(self, where: str, when: str) -> None:
        """Whether the evidence of the step is in sight; the card at the end has none."""
        self.page.wait_for_function(DRAWN, timeout=PATIENCE_MS)
        kind, box, *edges = self.page.evaluate(EVIDENCE)
        if not kind:
            return
        self.kinds.add(kind)
        for words in self.page.evaluate(TIGHT):
            self.faults.append(f"{where} {when}: no room for “{words}”")
        if box is None:
            if when == "told" or kind in ("stage", "panel", "photo", "code"):
                self.faults.append(f"{where} {when}: its {kind} is not shown")
        elif box[0] < edges[0][0] - 1 or box[1] > edges[0][1] + 1:
            spans = " of ".join(f"{one:.0f} to {other:.0f}" for one, other in (box, edges[0]))
            self.faults.append(f"{where} {when}: its {kind} at {spans}")

    def on_screen(self, where: str, when: str, wanted: list[str]) -> None:
        on = f"{LESSON} > .vv-lesson-buttons .vv-main"
        found = self.page.evaluate(BOXES, [*(f"{LESSON} {one}" for one in wanted), on])
        for selector, box in found.items():
            name = selector.split(".vv-lesson-")[-1]
            if box is None:
                if selector != on:
                    self.faults.append(f"{where} {when}: {name} is not shown")
            elif box[0] < -1 or box[1] > box[2] + 1:
                self.faults.append(
                    f"{where} {when}: {name} at {box[0]:.0f} to {box[1]:.0f} of {box[2]:.0f}"
                )

    def button(self, key: str) -> Any:
        return self.page.locator(LESSON).get_by_role("button", name=self.texts[key], exact=True)

    def is_there(self, key: str) -> bool:
        return bool(self.button(key).is_visible())

    def press(self, key: str) -> None:
        self.button(key).click()

    def sheet(self, place: Path) -> None:
        """All pictures in one, so that somebody looks at them."""
        width, columns = (240, 8) if self.size == "phone" else (480, 4)
        small = [
            (name, one.resize((width, one.height * width // one.width))) for name, one in self.shots
        ]
        height = max(one.height for _, one in small) + 16
        rows = -(-len(small) // columns)
        sheet = Image.new("RGB", (columns * (width + 6), rows * (height + 6)), "white")
        draw = ImageDraw.Draw(sheet)
        for at, (name, one) in enumerate(small):
            x, y = at % columns * (width + 6), at // columns * (height + 6)
            draw.text((x, y), name, fill="black")
            sheet.paste(one, (x, y + 14))
        sheet.save(place)


def main() -> None:
    lessons = [key for key in dictionary("en", "lessons") if "_" not in key]
    parser = argparse.ArgumentParser(prog="python -m tests.bench.walking", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/walk"))
    parser.add_argument("--lessons", nargs="+", choices=lessons, default=lessons)
    parser.add_argument("--languages", nargs="+", choices=languages(), default=languages())
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    faults = 0
    every = itertools.product(asked.languages, asked.sizes, asked.lessons)
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder)) as url,
        chromium() as first,
    ):
        for language, size, lesson in every:
            context = first.context.browser.new_context(**SIZES[size])
            walk = Walk(context.new_page(), url, language, size)
            begun = time.monotonic()
            try:
                walk.lesson(lesson, 0 if lesson != lessons[0] else 1)
            finally:
                walk.sheet(asked.out / f"{lesson}-{language}-{size}.png")
                for fault in walk.faults:
                    print(f"{language} {size} {fault}", flush=True)
            context.close()
            faults += len(walk.faults)
            seconds = time.monotonic() - begun
            print(f"{language} {size} {lesson}: {seconds:.0f} s", file=sys.stderr)
    print(json.dumps({"faults": faults}))


if __name__ == "__main__":
    main()
