"""What a class gets on paper: worksheets that tell no answer, and keys, as Chromium prints them."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import is_too_wide, speak
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
HOMES["red-panda"] = tuple(one for one in LESSONS if one not in sum(HOMES.values(), ()))
MODELS = {"digit": "mnist", "eight-square": "red-square"}
SIZE = {"width": 672, "height": 900}  # 178 mm wide
# A paper stays in the page that made it; that it opens in a tab is seen in tests below. What else
# the page makes of a blob (the worker of its engine) is made.
CAUGHT = """window.papers = [];
const made = URL.createObjectURL.bind(URL);
URL.createObjectURL = (blob) => {
    if (!blob.type.startsWith("text/html")) return made(blob);
    window.papers.push(blob.text());
    return "#";
};
HTMLAnchorElement.prototype.click = () => {};"""
# As Back does where another lesson was open at this picture.
LESSON = """(lesson) => {
    const { vitviz, ...rest } = history.state;
    const selection = { ...vitviz.selection, lesson, step: 1 };
    history.replaceState({ ...rest, vitviz: { ...vitviz, selection } }, "");
    dispatchEvent(new PopStateEvent("popstate"));
}"""


def paper(page, place: int):
    """The worksheet (0) or its key (1), in a tab of its own."""
    button = page.locator(".vv-lesson-teacher .vv-lesson-buttons button").nth(place)
    expect(button).to_have_attribute("aria-disabled", "false")
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


def test_no_worksheet_tells_an_answer_and_no_key_is_longer(visit) -> None:
    """All lessons, each on the picture that it was written for."""
    seen = visit(before=lambda page: page.add_init_script(CAUGHT))
    page = seen.page
    tabs = [page.context.new_page() for _ in range(2)]
    for tab in tabs:
        tab.set_viewport_size(SIZE)
    for example, lessons in HOMES.items():
        model = MODELS.get(example, "photos")
        seen.go(f"?model={model}&example={example}&lesson={lessons[0]}&step=1", example)
        for language in languages():
            page.evaluate("language => { document.documentElement.lang = language; }", language)
            teacher = page.locator(".vv-lesson-teacher")
            expect(teacher).to_contain_text(dictionary(language, "viewer")["lessonSheet"])
            teacher.evaluate("node => { node.open = true; }")
            for lesson in lessons:
                page.evaluate(LESSON, lesson)
                seen.is_(lesson=lesson)
                no_answer_is_told(page, lesson, language, tabs)


def printed(page, place: int, tab):
    """The worksheet (0) or its key (1), in a tab that was open already."""
    button = page.locator(".vv-lesson-teacher .vv-lesson-buttons button").nth(place)
    expect(button).to_have_attribute("aria-disabled", "false")
    button.click()
    text = page.evaluate("papers.pop()")
    assert text.lower().count("<!doctype") == 1
    tab.set_content(text)
    return tab


def no_answer_is_told(page, lesson: str, language: str, tabs: list) -> None:
    texts, title = dictionary(language, "viewer"), dictionary(language, "lessons")[lesson]
    sheet, key = (printed(page, place, tab) for place, tab in enumerate(tabs))
    for tab in tabs:
        assert title in tab.locator("h1").inner_text()
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
    for tab in tabs:
        assert not is_too_wide(tab), (lesson, language)
    assert sheet.locator("img").count() >= 1, lesson
    assert sheet.locator(".last section + .score").count() == 1, lesson
    assert sheet.locator(".last .question").count() == 1 or lesson == "taken", lesson
    expect(sheet.locator(".who span")).to_have_text(
        [texts["sheetName"], texts["sheetClass"], texts["sheetDate"]]
    )
    asked = sheet.locator("p.question").count()
    expect(sheet.locator(".because")).to_have_count(asked)
    assert sheet.locator(".score tr").count() - 1 >= asked


def test_a_plan_leads_to_its_steps_and_is_one_sheet_of_paper(visit) -> None:
    """On paper the words of a language decide; the way to a step is that of any of them."""
    seen = visit("?model=photos&example=dog", wait_for="dog.jpg")
    for language in languages():
        seen.page.keyboard.press("Escape")
        speak(seen.page, language)
        a_plan_is_printed(seen.page, language)
    a_plan_leads(seen, language)


def plan_of(page, language: str):
    """The plan of 45 minutes, unfolded in the list of lessons."""
    texts = dictionary(language, "plans")
    page.locator(".vv-lesson-list summary").get_by_text(texts["title"], exact=True).click()
    page.locator(".vv-plans summary").get_by_text(texts["name_lesson"], exact=True).click()
    return page.locator(".vv-plans details[open]").first


def a_plan_is_printed(page, language: str) -> None:
    texts, lessons = dictionary(language, "plans"), dictionary(language, "lessons")
    page.evaluate("document.dispatchEvent(new Event('vitviz-lessons'))")
    plan = plan_of(page, language)
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
    longest = page.locator(".vv-plans details[open]").nth(1)
    with page.context.expect_page() as opened:
        longest.get_by_role("button", name=texts["paper"]).click()
    opened.value.wait_for_load_state()
    assert pages(opened.value) == 1
    opened.value.close()


def a_plan_leads(seen, language: str) -> None:
    page, texts = seen.page, dictionary(language, "plans")
    matter = dictionary(language, "lessons")["matter"]
    page.locator(".vv-plans details[open]").first.get_by_role("link", name=matter).click()
    seen.ready("bison.jpg")
    seen.is_(lesson="matter", step=1)
    page.locator("#vv-lessons").click()
    page.get_by_text(dictionary(language, "viewer")["lessonTeacherLinks"], exact=True).click()
    links = page.locator(".vv-handout > li", has_text=matter)
    expect(links).to_contain_text(texts["serves_matter"])
    plan_of(page, language).get_by_role("link", name=texts["does_things"]).click()
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
