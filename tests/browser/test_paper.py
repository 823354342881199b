"""What a class gets on paper: worksheets that tell no answer, and keys, as Chromium prints them."""

import re

import pytest
from playwright.sync_api import expect

from vitviz.languages import dictionary, languages

LESSONS = [key for key in dictionary("en", "lessons") if "_" not in key]
HOMES = {
    "dog": ("cut", "when"),
    "bison": ("matter",),
    "coffee": ("shuffle",),
    "goldfish": ("black", "hide", "transplant"),
    "digit": ("school", "taken", "unknown"),
    "eight-square": ("cheats",),
}
MODELS = {"school": "mnist", "taken": "mnist", "cheats": "red-square"}


def home(lesson: str) -> tuple[str, str]:
    """Model and picture that a lesson was written for."""
    example = next((one for one, lessons in HOMES.items() if lesson in lessons), "red-panda")
    return MODELS.get(lesson, "photos"), example


def paper(page, place: int):
    """The worksheet (0) or its key (1), in a tab of its own."""
    button = page.locator(".vv-lesson-teacher .vv-lesson-buttons button").nth(place)
    expect(button).to_have_attribute("aria-disabled", "false", timeout=60_000)
    with page.context.expect_page() as opened:
        button.click()
    opened.value.wait_for_load_state()
    return opened.value


def pages(file) -> int:
    """Of A4 paper."""
    return len(re.findall(rb"/Type\s*/Page\b", file.pdf(prefer_css_page_size=True)))


def stands_in(answer: str, text: str) -> bool:
    """Whether a number or words stand there by themselves: 144 is not in 1,440, nor 1 in 0.1."""
    return bool(re.search(rf"(?<![\w.,\u2212]){re.escape(answer)}(?![\w,]|\.\d)", text))


@pytest.mark.parametrize(
    "example", ["dog", "bison", "goldfish", "digit", "red-panda", "eight-square"]
)
def test_no_worksheet_tells_an_answer_and_no_key_is_longer(visit, example) -> None:
    """Pages of the lessons that were written for one picture."""
    lessons = [one for one in LESSONS if home(one)[1] == example]
    link = "?model={}&example={}&lesson={}&step=1&key=true"
    seen = visit(link.format(*home(lessons[0]), lessons[0]), wait_for=example)
    for lesson in lessons:
        model, _ = home(lesson)
        if lesson != lessons[0]:
            seen.go(link.format(model, example, lesson), example)
        no_answer_is_told(seen.page, lesson)


def no_answer_is_told(page, lesson: str) -> None:
    for language in languages():
        texts = dictionary(language, "viewer")
        page.evaluate("language => { document.documentElement.lang = language; }", language)
        expect(page.locator(".vv-lesson-teacher")).to_contain_text(texts["lessonSheet"])
        key, sheet = (paper(page, place) for place in (1, 0))
        start = texts["lessonAnswer"].split("{")[0]
        answers = [
            one.removeprefix(start).strip()
            for one in key.locator("p.question").all_inner_texts()
            if one.startswith(start)
        ]
        # What a pupil can tick is no answer that is told.
        told = "\n".join(sheet.locator("p:not(.option), pre").all_inner_texts())
        assert [one for one in answers if stands_in(one, told)] == [], (lesson, language)
        assert len(answers) >= 1 or lesson in ("taken",), lesson
        if lesson == "matter":  # worked out in the page, and the intact answer by its host
            assert dictionary(language, "lessons")["matter_patches_option_same"] in answers
        assert pages(key) <= pages(sheet) <= 3, (lesson, language)
        # Every step is in the key, nothing is wider than the paper, and a sheet has a picture.
        assert key.locator("section > h2").all_inner_texts() == [
            *sheet.locator("section > h2").all_inner_texts()
        ]
        wide = "() => document.documentElement.scrollWidth <= innerWidth"
        for tab in (sheet, key):
            tab.set_viewport_size({"width": 672, "height": 900})  # 178 mm
            assert tab.evaluate(wide), (lesson, language)
        assert sheet.locator("img").count() >= 1, lesson
        assert sheet.locator(".last section + .score").count() == 1, lesson
        assert sheet.locator(".last .question").count() == 1 or lesson == "taken", lesson
        expect(sheet.locator(".who span")).to_have_text(
            [texts["sheetName"], texts["sheetClass"], texts["sheetDate"]]
        )
        asked = sheet.locator("p.question").count()
        expect(sheet.locator(".because")).to_have_count(asked)
        assert sheet.locator(".score tr").count() - 1 >= asked
        for tab in (key, sheet):
            tab.close()


def test_a_plan_leads_to_its_steps_and_is_one_sheet_of_paper(visit) -> None:
    link = "?model=photos&example=dog&lang="
    first, *others = languages()
    seen = visit(link + first, wait_for="dog.jpg")
    a_plan_is_printed(seen, first)
    for language in others:
        seen.go(link + language, "dog.jpg")
        a_plan_is_printed(seen, language)


def a_plan_is_printed(seen, language: str) -> None:
    texts, lessons = dictionary(language, "plans"), dictionary(language, "lessons")
    page = seen.page
    page.locator("#vv-lessons").click()
    page.locator(".vv-lesson-list summary").get_by_text(texts["title"], exact=True).click()
    page.locator(".vv-plans summary").get_by_text(texts["name_lesson"], exact=True).click()
    plan = page.locator(".vv-plans details[open]").first
    rows = [
        ["0:00", "7", texts["does_things"]],
        ["0:07", "4", texts["does_before"]],
        ["0:11", "4", lessons["cut"]],
        ["0:15", "9", lessons["ask"]],
        ["0:24", "10", lessons["matter"]],
        ["0:34", "6", lessons["unknown"]],
        ["0:40", "5", texts["does_after"]],
        ["", "45", texts["sum"]],
    ]
    with page.context.expect_page() as opened:
        plan.get_by_role("button", name=texts["paper"]).click()
    sheet = opened.value
    sheet.wait_for_load_state()
    for place in (plan, sheet):
        shown = place.locator("tbody tr").all()
        assert [row.locator("td").all_inner_texts()[:3] for row in shown] == rows
        expect(place.locator("p").last).to_contain_text(texts["serves_cut"])
    assert pages(sheet) == 1
    sheet.close()
    page.locator(".vv-plans summary").get_by_text(texts["name_double"], exact=True).click()
    with page.context.expect_page() as opened:
        page.locator(".vv-plans details[open]").nth(1).get_by_role(
            "button", name=texts["paper"]
        ).click()
    opened.value.wait_for_load_state()
    assert pages(opened.value) == 1  # the longest one
    opened.value.close()
    plan.get_by_role("link", name=lessons["matter"]).click()
    seen.ready("bison.jpg")
    seen.is_(lesson="matter", step=1)
    page.locator("#vv-lessons").click()
    page.get_by_text(dictionary(language, "viewer")["lessonTeacherLinks"], exact=True).click()
    links = page.locator(".vv-handout > li", has_text=lessons["matter"])
    expect(links).to_contain_text(texts["serves_matter"])
    page.locator(".vv-lesson-list summary").get_by_text(texts["title"], exact=True).click()
    page.locator(".vv-plans summary").get_by_text(texts["name_lesson"], exact=True).click()
    plan.get_by_role("link", name=texts["does_things"]).click()
    page.locator(".vv-own-columns").wait_for()
    expect(page.locator("html")).to_have_attribute("lang", language)


def test_a_step_that_asks_for_a_number_leaves_a_line_where_others_name_it(visit) -> None:
    link = "?model=photos&example=red-panda&lesson=number&step=1&key=true"
    seen = visit(link)
    sheet = paper(seen.page, 0)
    rows = [row.locator("td").all_inner_texts()[1:] for row in sheet.locator(".numbers tr").all()]
    query, key = (
        [float(text.replace("\u2212", "-")) for row in rows[at::3] for text in row] for at in (0, 1)
    )
    told = float(re.search(r"Here that makes (\S+)\.", sheet.inner_text("section"))[1])
    assert sum(q * k for q, k in zip(query, key, strict=True)) == pytest.approx(told, abs=0.02)
    assert all(text == "" for row in rows[2::3] for text in row)
    third = sheet.locator("section").nth(2)
    expect(third).to_contain_text("here e to the ________ (step 2) is")
    # What turns out in steps 2 to 4 is told by step 5 of another lesson, which is done on the page.
    seen.go(link.replace("red-panda", "goldfish").replace("number", "transplant"), "goldfish")
    sheet = paper(seen.page, 0)
    expect(sheet.locator("section").nth(4)).to_contain_text("do it on the page")
    # A number is found only where it stands by itself.
    assert stands_in("144", "makes 144.")
    assert stands_in("7.3%", "its share 7.3%. Suppose")
    assert not any(stands_in("144", text) for text in ("1,440", "0.144", "144.5", "144,000"))


def test_a_long_name_without_a_blank_stays_on_the_paper(visit) -> None:
    """As a model from a file can have, whose title steps and the head of the sheet name."""
    seen = visit("?model=photos&example=red-panda&lesson=ask&step=1&key=true")
    fill = """name => document.querySelectorAll("h1, .about, .words p").forEach((part) => {
      part.textContent = name;
    })"""
    narrow = """() => [document.documentElement, ...document.querySelectorAll(".words")].every(
      (part) => part.scrollWidth <= part.clientWidth)"""
    for place in (0, 1):
        tab = paper(seen.page, place)
        tab.set_viewport_size({"width": 672, "height": 900})  # 178 mm
        assert tab.evaluate(narrow)
        tab.evaluate(fill, "my_vit_" + 53 * "W")
        assert tab.evaluate(narrow), place
        tab.close()
