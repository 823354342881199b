"""The self-check in the page: before, a lesson, after, what has changed; and the class."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, WALL, is_too_wide
from tests.browser.test_accessibility import faults
from vitviz.languages import dictionary

PANDA = "red-panda.jpg"
LIST, CHECK = ".vv-lesson-list", ".vv-check"
ITEMS = ("pixels", "pair", "batch", "percent", "cls", "late", "bright", "grow")
# The right ones in the shipped photo model: answers by form, then reasons; see tests/test_check.py.
ANSWERS = {
    "a": ("small", "anew", "alone", "any", "learned", "stays", "open", "sixteen"),
    "b": ("either", "anew", "same", "rest", "cls", "stays", "open", "nine"),
}
REASONS = ("small", "own", "apart", "shared", "learned", "read", "others", "pairs")
NUMBERS = {"small": "108", "either": "108", "sixteen": "16", "nine": "9"}
DARK = {**WALL, "color_scheme": "dark"}


class Pupil:
    """Answers in one language, and knows which form of a question is asked."""

    def __init__(self, seen, language: str) -> None:
        self.seen, self.page = seen, seen.page
        self.texts = dictionary(language, "check")
        self.viewer = dictionary(language, "viewer")

    def open_list(self) -> None:
        self.page.evaluate("document.dispatchEvent(new Event('vitviz-lessons'))")
        self.page.locator(f"{LIST} .vv-check-line").wait_for()

    def press(self, place: str, text: str) -> None:
        # Its name begins with what is written on it.
        self.page.locator(place).get_by_role("button").get_by_text(text, exact=True).click()

    def begin(self, round_: str) -> None:
        self.open_list()
        self.page.locator(LIST).get_by_text(self.texts[round_], exact=True).click()
        self.page.locator(CHECK).wait_for()

    def form(self, at: int) -> str:
        """With any numbers in its text."""
        asked = self.page.locator(f"{CHECK} .vv-lesson-question").inner_text()
        texts = {one: self.texts[f"{ITEMS[at]}_{one}_question"] for one in "ab"}
        patterns = {
            one: re.sub(r"\\{\w+\\}", r"\\S+", re.escape(text)) for one, text in texts.items()
        }
        (form,) = (one for one, pattern in patterns.items() if re.fullmatch(pattern, asked))
        return form

    def choose(self, part: int, text: str) -> None:
        group = self.page.locator(f"{CHECK} fieldset").nth(part)
        group.get_by_role("radio", name=text, exact=True).check()

    def answer(self, at: int, right: bool) -> None:
        """Right, or the first reason that is not; sure in any case."""
        where = self.texts["progress"].format(at=at + 1, count=8)
        expect(self.page.locator(f"{CHECK} .vv-lesson-where")).to_have_text(where)
        form = self.form(at)
        name, item = ANSWERS[form][at], ITEMS[at]
        number = NUMBERS.get(name, "")
        self.choose(0, self.texts[f"{item}_option_{name}"].format(value=number))
        reasons = [key for key in self.texts if key.startswith(f"{item}_{form}_reason_")]
        wrong = next(key for key in reasons if not key.endswith(f"_{REASONS[at]}"))
        self.choose(1, self.texts[f"{item}_{form}_reason_{REASONS[at]}" if right else wrong])
        self.choose(2, self.texts["level_sure"])

    def next(self):
        return self.page.locator(f"{CHECK} .vv-main")

    def go_on(self) -> None:
        button = self.next()
        expect(button).to_have_attribute("aria-disabled", "false")
        expect(button).to_be_in_viewport(ratio=1)  # without scrolling
        button.click()


@pytest.mark.parametrize(
    ("language", "options", "query"), [("en", PHONE, ""), ("ko", DARK, "&projector=true")]
)
def test_before_lesson_after_and_what_has_changed(visit, language, options, query) -> None:
    start = f"?model=photos&example=red-panda&lang={language}{query}"
    seen = visit(start, wait_for=PANDA, **options)
    pupil = Pupil(seen, language)
    page, texts = seen.page, pupil.texts
    pupil.open_list()
    after = page.locator(LIST).get_by_text(texts["after"], exact=True)
    expect(after).to_have_attribute("aria-disabled", "true")
    assert faults(page) == []
    page.keyboard.press("Escape")

    pupil.begin("before")
    for at in range(3):
        pupil.answer(at, right=at == 0)
        pupil.go_on()
    form = pupil.form(3)
    assert faults(page) == []
    # What is missing is shown by who asks for more.
    pupil.choose(1, texts[f"percent_{form}_reason_right"])
    pupil.next().click(force=True)  # pale, but it helps
    expect(page.locator(f"{CHECK} fieldset").nth(0).locator("input").first).to_be_focused()
    if language == "en":
        a_reload_loses_nothing(pupil)
    for at in range(3, 8):
        pupil.answer(at, right=False)
        pupil.go_on()
    expect(page.locator(f"{CHECK} [role=status]")).to_have_text(texts["kept"])
    # Nothing is told that would teach.
    assert page.locator(f"{CHECK} .vv-check-body").inner_text().strip() == texts["kept"]
    page.keyboard.press("Escape")
    expect(page.locator(CHECK)).to_have_count(0)

    # A lesson in between, from the list.
    pupil.open_list()
    page.locator(f"{LIST} ol a").first.click()
    seen.ready("dog.jpg")
    seen.is_(lesson="cut", step=1)
    pupil.begin("after")
    for at in range(8):
        pupil.answer(at, right=at != 7)
        pupil.go_on()
    counts = {"before": 1, "after": 7, "sureBefore": 7, "sureAfter": 1, "count": 8, "untaught": 2}
    told = texts["result"].format(**counts, controlBefore=0, controlAfter=1)
    expect(page.locator(f"{CHECK} [role=status]")).to_have_text(told)
    items = page.locator(f"{CHECK} li")
    expect(items).to_have_count(8)
    expect(items.nth(7)).to_contain_text(texts["untaught"])
    last = "b" if form == "a" else "a"
    expect(items.nth(7)).to_contain_text(texts[f"grow_{last}_reason_pairs"])
    assert faults(page) == []
    code = page.locator(f"{CHECK} .vv-lesson-code").inner_text()
    items.nth(1).get_by_role("button").click()
    seen.ready(PANDA)
    seen.is_(lesson="ask", step=0)
    class_of_one(pupil, code)
    if language == "en":
        begin_anew(pupil)


def a_reload_loses_nothing(pupil: Pupil) -> None:
    """In the middle, not even half an answer."""
    page = pupil.page
    page.reload()
    pupil.seen.ready(PANDA)
    pupil.begin("before")
    expect(page.locator(f"{CHECK} fieldset").nth(1).locator("input:checked")).to_have_count(1)
    pupil.press(CHECK, pupil.viewer["lessonBack"])
    expect(page.locator(f"{CHECK} input:checked")).to_have_count(3)
    pupil.go_on()


def class_of_one(pupil: Pupil, code: str) -> None:
    page, texts = pupil.page, pupil.texts
    pupil.open_list()
    page.locator(LIST).get_by_text(texts["class"], exact=True).click()
    asked = pupil.viewer["pollCodes"].format(count=22)
    expect(page.locator(".vv-check-class")).to_contain_text(asked)
    slip = code[:-1] + ("7" if code[-1] != "7" else "8")
    field = page.locator(".vv-check-class textarea")
    field.fill(f"{code}\n{slip} {code.lower()}")
    place = page.locator(".vv-check-class")
    expect(place).to_contain_text(texts["classCount"].format(count=2))
    expect(place.locator(".vv-poll-wrong")).to_have_text(pupil.viewer["pollSlip"].format(code=slip))
    expect(place).to_contain_text(texts["classCause"])
    rows = [row.locator("td").all_inner_texts() for row in place.locator("tbody tr").all()]
    assert rows == [
        ["2 → 2", "0 → 0"],
        *[["0 → 2", "2 → 0"]] * 6,
        ["0 → 0", "2 → 2"],
        ["2 → 14", "14 → 2"],
    ]
    assert not is_too_wide(page)
    assert faults(page) == []
    with page.expect_download() as saving:
        pupil.press(".vv-check-class", texts["csv"])
    with Path(saving.value.path()).open(encoding="utf-8-sig", newline="") as file:
        first, second = csv.DictReader(file)
    assert first == second
    assert first["code"] == code
    assert (first["before_right"], first["after_right"], first["after_sure_wrong"]) == (
        "1",
        "7",
        "1",
    )
    parts = ("answer", "sure", "answer_right", "reason_right")
    assert [first[f"before_pair_{part}"] for part in parts] == ["anew", "2", "1", "0"]
    assert first["before_pair_reason"] in ("alike", "taken")


def begin_anew(pupil: Pupil) -> None:
    page, texts = pupil.page, pupil.texts
    line = page.locator(f"{LIST} .vv-check-line")
    kept = "() => JSON.parse(localStorage.getItem('vitviz-guesses'))['check/kept2'] !== undefined"
    for answer, left in (("againNo", True), ("againYes", False)):
        pupil.press(f"{LIST} .vv-check-line", texts["again"])
        expect(line.get_by_role("alert")).to_contain_text(texts["againAsk"])
        pupil.press(f"{LIST} .vv-check-line", texts[answer])
        expect(line.get_by_role("alert")).to_be_hidden()
        assert page.evaluate(kept) is left
    expect(line.get_by_text(texts["again"], exact=True)).to_be_hidden()
    pupil_line = line.get_by_text(texts["after"], exact=True)
    expect(pupil_line).to_have_attribute("aria-disabled", "true")


def test_the_self_check_by_keyboard_alone(visit) -> None:
    seen = visit("?model=mnist&example=digit", wait_for="digit.png")
    pupil = Pupil(seen, "en")
    page = seen.page
    pupil.begin("before")
    for at in range(2):
        expect(page.locator(f"{CHECK} h3")).to_be_focused()
        where = page.locator(f"{CHECK} .vv-lesson-where")
        expect(where).to_have_text(f"{at + 1} of 8")
        for _ in range(20):  # Space chooses the first of each group
            page.keyboard.press("Tab")
            held = page.evaluate("() => document.activeElement.type")
            if held == "radio":
                page.keyboard.press("Space")
            elif page.evaluate("() => document.activeElement.matches('.vv-main')"):
                break
        page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.locator(CHECK)).to_have_count(0)
    pupil.begin("before")
    expect(page.locator(f"{CHECK} .vv-lesson-where")).to_have_text("3 of 8")
    assert pupil.form(2) in "ab"
