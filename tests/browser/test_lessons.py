"""Lessons in the page: a pupil guesses, sees the gap, goes on; by pointer, keyboard and touch."""

import pytest
from playwright.sync_api import expect

from tests.bench.walking import SIZES, Walk
from tests.browser.conftest import PHONE, address, tap
from tests.running import ROOT
from vitviz import Analysis, analyze, load
from vitviz.languages import dictionary

PANDA = "red-panda.jpg"
ASK = "?model=photos&example=red-panda&lesson=ask&step={}"
LESSON = ".vv-lesson"


@pytest.fixture(scope="module")
def panda() -> Analysis:
    return analyze(load("photos"), ROOT / "vitviz" / "web" / "examples" / PANDA)


def press(visit, name: str) -> None:
    visit.page.locator(LESSON).get_by_role("button", name=name, exact=True).click()


def boxes(visit, kind: str) -> list[tuple[int, int]]:
    """Row and column of the patches that are framed so."""
    styles = visit.page.locator(f".vv-guess-{kind}").evaluate_all(
        "all => all.map(({ style }) => [style.top, style.left])"
    )
    return [tuple(round(float(one.rstrip("%")) / 100 * 12) for one in place) for place in styles]


def test_a_pupil_guesses_by_keys_and_wrong_and_goes_on_and_a_teacher_opens_the_worksheet(
    visit, panda
) -> None:
    seen = visit(ASK.format(2), wait_for=PANDA)
    page = seen.page
    seen.is_(lesson="ask", step=2, overlay="none", layer=2, head=0)
    # Nothing but the picture, the question and its buttons is shown.
    for left_out in (
        ".vv-line",
        ".vv-steering",
        ".vv-readout",
        ".vv-tabs",
        ".vv-panel",
        ".vv-legend",
    ):
        expect(page.locator(left_out).first).to_be_hidden()
    reveal = page.get_by_role("button", name="Show the answer")
    expect(reveal).to_have_attribute("aria-disabled", "true")
    # By the keyboard alone.
    page.locator(".vv-frame").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.vv-guess-mine').length === 1")
    assert boxes(seen, "mine") == [(4, 4)]
    for _ in range(12):
        if reveal.evaluate("node => node === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    seen.is_(overlay="attention")
    # The focus is where one goes on.
    expect(page.get_by_role("button", name="Next", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    seen.is_(step=3)
    expect(page.locator(".vv-lesson-title")).to_be_focused()
    press(seen, "Back")
    press(seen, "Guess again")
    seen.is_(step=2, overlay="none", layer=2, head=0)
    expect(reveal).to_have_attribute("aria-disabled", "true")
    # By the pointer, and wrong.
    tap(page, 8, 4)  # the nose
    expect(reveal).to_have_attribute("aria-disabled", "false")
    assert boxes(seen, "mine") == [(8, 4)]
    assert boxes(seen, "truth") == []
    reveal.click()

    seen.is_(overlay="attention")
    token = panda.grid.num_prefix_tokens + 4 * 12 + 5
    row = panda.grid.patches(panda.attention(2, 0, token))
    best = divmod(int(row.argmax()), 12)
    assert boxes(seen, "mine") == [(8, 4)]
    assert boxes(seen, "truth") == [best]
    told = page.locator(".vv-lesson-truth[role=status]").inner_text()
    tokens = panda.trace.num_tokens
    assert f"row {best[0]}, col {best[1]}, {float(row.max()) * tokens:.1f} times." in told
    assert "row 8, col 4" in told
    assert "Often said" in told
    expect(page.locator(".vv-legend").first).to_be_visible()
    # After the truth a tap selects again, and the guess stays.
    tap(page, 0, 0)
    assert boxes(seen, "mine") == [(8, 4)]

    press(seen, "Next")
    seen.is_(step=3, overlay="none")
    assert boxes(seen, "mine") == []
    press(seen, "Back")
    seen.is_(step=2, overlay="attention")
    assert boxes(seen, "truth") == [best]
    press(seen, "Guess again")
    seen.is_(overlay="none")
    assert boxes(seen, "mine") == []
    press(seen, "Leave the lesson")
    seen.is_(lesson="")
    expect(page.locator(".vv-tabs")).to_be_visible()
    expect(page.locator(LESSON)).to_be_hidden()
    # A teacher opens the worksheet and its key.
    seen.go(ASK.format(1), PANDA)
    page.locator(".vv-lesson-teacher summary").click()
    key = page.get_by_role("button", name="Answer key").and_(page.locator("[aria-disabled=false]"))
    files = {}
    for name, button in (("key", key), ("sheet", page.get_by_role("button", name="Worksheet"))):
        with page.context.expect_page() as opened:
            button.click()
        files[name] = opened.value
        files[name].wait_for_load_state()
    told = files["key"].locator("body").inner_text()
    token = panda.grid.num_prefix_tokens + 4 * 12 + 5
    best = divmod(int(panda.grid.patches(panda.attention(2, 0, token)).argmax()), 12)
    assert f"Answer: row {best[0]}, col {best[1]}" in told
    asked = files["sheet"].locator("body").inner_text()
    assert "Answer:" not in asked
    assert "From which patch does it take most?" in asked
    # The text and the picture stand side by side, and rows and columns are on its edges.
    for file in files.values():
        words, picture = (file.locator(part).nth(1) for part in (".words", ".sheet"))
        assert (
            words.bounding_box()["x"] + words.bounding_box()["width"] <= picture.bounding_box()["x"]
        )
        assert file.locator(".sheet").first.locator("i").count() == 24


def test_links_lead_to_steps_and_guesses_stay_on_the_device(visit) -> None:
    seen = visit(ASK.format(4) + "&lang=ko&projector=true&overlay=attention", wait_for=PANDA)
    page = seen.page
    seen.is_(lesson="ask", step=4, overlay="none")
    expect(page.locator(".vitviz")).to_have_class("vitviz vv-projector")
    expect(page.locator(".vv-lesson-where")).to_have_text("8단계 중 4단계")
    page.locator(f"{LESSON} input[type=number]").fill("12.5")
    press(seen, "답 보기")
    expect(page.locator(".vv-lesson-gap")).to_contain_text("나: 12.5")
    # The link says nothing that tells the answer.
    page.wait_for_function("() => !location.search.includes('overlay')")
    page.goto(address(page).replace("step=4", "step=5"))
    seen.ready(PANDA)
    seen.is_(step=5)
    expect(page.locator(".vv-lesson-gap")).to_be_hidden()
    page.go_back()
    seen.ready(PANDA)
    seen.is_(step=4, overlay="attention")
    expect(page.locator(".vv-lesson-gap")).to_contain_text("나: 12.5")
    # A line of code is chosen for the gap.
    seen.go("?model=photos&example=red-panda&lesson=gather&step=5&lang=ko", PANDA)
    assert "\n    joined = ...\n" in page.locator(".vv-lesson-lines").inner_text()
    ours = dictionary("ko", "lessons")
    page.get_by_role("radio", name=ours["gather_line_option_heads_not_moved"]).check()
    page.get_by_role("button", name=dictionary("ko", "viewer")["lessonReveal"]).click()
    expect(page.locator(".vv-lesson-right")).to_have_text(ours["gather_line_option_right"])
    expect(page.locator(".vv-lesson-why")).to_have_text(ours["gather_line_why"])


def test_the_list_comes_when_it_is_opened_and_leads_to_lessons_of_other_models(visit) -> None:
    seen = visit("?model=photos", wait_for=PANDA)
    page = seen.page
    texts = "**/vitviz-lessons-*"
    assert not [one for one in seen.requests if "vitviz-lessons" in one]
    page.route(texts, lambda route: route.abort())
    page.get_by_role("button", name="Guided lessons").first.click()
    page.get_by_role("alert").filter(has_text="The texts of this language could not").wait_for()
    expect(page.locator(".vv-lesson-list")).to_have_count(0)
    page.unroute(texts)
    page.get_by_role("button", name="Guided lessons").first.click()
    expect(page.locator(".vv-lesson-list")).to_contain_text(dictionary("en", "lessons")["gather"])
    seen.forgive("ERR_FAILED")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator("#vv-lessons").click()
    listed = page.locator(".vv-lesson-list > ol > li")
    titles = [text for key, text in dictionary("en", "lessons").items() if "_" not in key]
    expect(listed.locator("a")).to_have_text(titles)  # they come as a file of their own
    assert "minutes" in listed.first.inner_text()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator("#vv-lessons").click()
    page.get_by_role("link", name="Where am I?").click()
    seen.ready(PANDA)
    seen.is_(lesson="where", step=0)
    for step in range(1, 5):
        press(seen, "Next" if step == 2 else "Skip")
        seen.is_(step=step)
    press(seen, "Skip")  # to the model of digits
    seen.ready("digit.png")
    seen.is_(lesson="where", step=5)
    press(seen, "Back")
    seen.ready(PANDA)
    seen.is_(lesson="where", step=4)
    # A link that names only the lesson finds its picture.
    seen.go("?lesson=school&step=3", "digit.png")
    seen.is_(lesson="school", step=3)


def test_a_number_that_cannot_be_is_refused_and_a_share_is_understood(visit) -> None:
    link = "?model=photos&example=goldfish&lesson=black&step=3"
    seen = visit(link, wait_for="goldfish.jpg", viewport={"width": 1366, "height": 650})
    page = seen.page
    field = page.locator(f"{LESSON} input[type=number]")
    reveal = page.get_by_role("button", name="Show the answer")
    field.fill("120")
    expect(page.locator(LESSON)).to_contain_text("A number from 0.0% to 100.0%")
    expect(reveal).to_have_attribute("aria-disabled", "true")
    field.fill("0.437")
    press(seen, "I mean 43.7%")
    expect(field).to_have_value("43.7")
    expect(reveal).to_have_attribute("aria-disabled", "false")
    reveal.click()
    expect(page.locator(".vv-lesson-gap")).to_contain_text("You: 43.7%")
    following = page.get_by_role("button", name="Next", exact=True)
    expect(following).to_be_in_viewport()
    reason = page.locator(".vv-lesson-because input")
    reason.press_sequentially("by dark paint, dim too")  # each letter a key of the viewer
    expect(reason).to_have_value("by dark paint, dim too")
    following.click()
    press(seen, "Back")
    expect(reason).to_have_value("by dark paint, dim too")
    # The same choice can be made again.
    seen.go("?model=photos&example=red-panda&lesson=shuffle&step=2", PANDA)
    same = page.get_by_role("radio", name="Yes, the same")
    for _ in range(2):
        expect(same).not_to_be_checked()
        same.check()
        page.get_by_role("button", name="Show the answer").click()
        expect(page.locator(".vv-lesson-gap")).to_be_visible()
        press(seen, "Guess again")


def on_screen(page, *parts: str) -> None:
    """Wait until these parts of the lesson lie between the edges of the window."""
    page.wait_for_function(
        """(parts) => parts.every((part) => {
            const { top, bottom } = document.querySelector(part).getBoundingClientRect();
            return bottom > top && top >= -1 && bottom <= innerHeight + 1;
        })""",
        arg=[f"{LESSON} .vv-lesson-{part}" for part in parts],
    )


def test_a_lesson_on_a_phone_closes_with_what_was_found_and_leads_on(visit) -> None:
    link = "?model=photos&example=dog&lesson=cut&step=6"
    seen = visit(link, wait_for="dog.jpg", **PHONE)
    page = seen.page
    number = page.locator(f"{LESSON} input[type=number]")
    on_screen(page, "question", "answer", "buttons")  # nobody has scrolled
    number.fill("145")
    press(seen, "Show the answer")
    on_screen(page, "gap", "why", "buttons")
    press(seen, "Next")
    press(seen, "Next")  # the same question of another model, whose picture comes
    seen.ready("digit.png")
    seen.is_(lesson="cut", step=8)
    number.fill("48")
    press(seen, "Show the answer")
    gap = "Far off. You: 48 It is: 16"
    expect(page.locator(".vv-lesson-gap")).to_have_text(gap)
    press(seen, "Next")
    expect(page.locator(".vv-lesson-where")).to_have_text("What you found")
    expect(page.locator(".vv-lesson-text")).to_contain_text("A photo becomes a table")
    found = page.locator(".vv-lesson-found li p")
    expect(found).to_have_text(
        [
            "How many tokens enter the first block of this model?",
            "Right. You: 145 It is: 145",
            "How many numbers is one patch of this model?",
            gap,
        ]
    )
    page.wait_for_function("() => new URLSearchParams(location.search).get('step') === '9'")
    page.reload()
    seen.ready("digit.png")
    expect(found).to_have_count(4)
    press(seen, "All lessons")
    page.locator("dialog.vv-lesson-list").wait_for()
    page.keyboard.press("Escape")
    press(seen, "Next lesson: Where am I?")
    seen.ready(PANDA)
    seen.is_(lesson="where", step=0)
    expect(page.locator(".vv-lesson-where")).to_have_text("Do you still know?")
    number.fill("144")
    press(seen, "Show the answer")
    expect(page.locator(".vv-lesson-gap")).to_have_text("Right. You: 144 It is: 144")
    press(seen, "Next")
    seen.is_(lesson="where", step=1)
    # Patches are chosen with a finger.
    seen.go(ASK.format(3), PANDA)
    places = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)]
    for row, col in places:
        tap(page, row, col, touch=True)
    expect(page.locator(".vv-guess-mine")).to_have_count(len(places))
    assert boxes(seen, "mine") == places
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    press(seen, "Show the answer")
    seen.is_(overlay="attention")
    both = len(boxes(seen, "both"))
    assert both + len(boxes(seen, "mine")) == len(places)
    expect(page.locator(".vv-lesson-gap")).to_contain_text(f"You share {both}.")


@pytest.mark.parametrize("step", [3, 5])
def test_what_is_told_late_ends_above_the_buttons_of_a_phone(visit, step) -> None:
    """The probability that a sentence names comes after a pass, and the sentence with it."""
    link = f"?model=photos&example=red-panda&lesson=hide&step={step}"
    page = visit(link, wait_for=PANDA, **PHONE).page
    page.locator(f"{LESSON} input[type=number]").fill("50")
    page.get_by_role("button", name="Show the answer").click()
    expect(page.locator(f"{LESSON} .vv-lesson-truth")).to_contain_text("looks at most it was")
    page.wait_for_function(
        """(parts) => {
            const [truth, buttons] = parts.map((part) =>
                document.querySelector(part).getBoundingClientRect());
            return truth.top > 0 && truth.bottom <= buttons.top;
        }""",
        arg=[f"{LESSON} .vv-lesson-truth", f"{LESSON} > .vv-lesson-buttons"],
    )


# Steps that have every kind of evidence among them, and what their evidence is; all other steps:
# python -m tests.bench.walking.
SEEN = {
    "laptop": [
        ("cut", 1, 2),
        ("ask", 6, 6),
        ("number", 2, 3),
        ("gather", 4, 6),
        ("transplant", 3, 3),
        ("transplant", 5, 5),
        ("unknown", 2, 2),
    ],
    "phone": [("when", 4, 5), ("block", 3, 4), ("cut", 7, 7)],
    "projector": [("gather", 4, 5)],  # after an answer a long step
}
KINDS = "answers bars code curve maps numbers pair panel photo row stage"


@pytest.mark.parametrize(
    ("size", "kinds"),
    [("laptop", KINDS), ("phone", "code curve numbers pair panel"), ("projector", "bars code")],
)
def test_what_a_step_asks_and_tells_of_is_in_sight(visit, size, kinds) -> None:
    page = visit("?model=photos", wait_for=PANDA, **SIZES[size]).page
    walk = Walk(page, page.url.split("/?")[0], "en", size, thorough=False)
    for lesson, first, last in SEEN[size]:
        walk.lesson(lesson, first, last)
    assert walk.faults == []
    assert walk.kinds == set(kinds.split())
