"""A class votes: what pupils guess appears on the teacher's page by itself."""

import csv
import re
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import TimeoutError, expect

from tests.browser.conftest import ALL_PANELS, LEFT, PATIENCE_MS, stop_time, tap
from tests.running import running_app, until

PANDA = "red-panda.jpg"
ASK = "model=photos&example=red-panda&lesson=ask&step="
SENT = "Your guess was sent to the class."
ABOVE = """([one, other]) =>
    one.getBoundingClientRect().bottom <= other.getBoundingClientRect().top"""
AGAIN = "Send this guess again"
WAITS = SENT + " The answer opens when your teacher shows it."
WORD = re.compile(r"teacher=(\S+)")


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """The address of an app with a class, and its teacher's word."""
    folder = tmp_path_factory.mktemp("class")
    log = folder / "app.log"
    with running_app(folder, environ={"VITVIZ_CLASS": "true"}) as url:
        until(lambda: WORD.search(log.read_text()))
        yield url, WORD.search(log.read_text())[1]


@pytest.fixture
def sit(browser, room):
    """Open the page as somebody of the class, with a browser of their own."""
    contexts, complaints, asked = [], [], []

    def open_page(query: str, width: int = 1280, height: int = 900):
        size = {"width": width, "height": height}
        context = browser.new_context(viewport=size, locale="en-US")
        context.add_init_script(ALL_PANELS)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(90_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: is_look(request) or asked.append(request.url))
        page.goto(f"{room[0]}/?{query}")
        page.locator(".vv-lesson-where").wait_for()
        page.locator(".vv-names", has_text=PANDA).wait_for(state="attached")
        return page

    open_page.asked = asked
    yield open_page
    for context in contexts:
        context.close()
    assert [said for said in complaints if not LEFT.search(said)] == []


def is_look(request) -> bool:
    """Whether a page asks where the class is, which it does as long as it is seen."""
    return '"do":"called"' in (request.post_data or "")


def press(page, name: str) -> None:
    page.get_by_role("button", name=name).click()


def begin_anew(page) -> None:
    """Empty the class. Its question turns back after five seconds, which a busy machine exceeds."""
    for _ in range(9):
        press(page, "New class")
        with suppress(TimeoutError):
            page.get_by_role("button", name="Forget all guesses?").click(timeout=4_000)
            return
    raise AssertionError("the class was not emptied")


def test_guesses_of_two_pupils_appear_on_the_teachers_page(sit, room) -> None:
    word = room[1]
    teacher = sit(f"{ASK}2&teacher={word}")
    pupils = [sit(f"{ASK}2") for _ in range(2)]
    # The teacher's word is nowhere but in this tab.
    assert word not in teacher.url
    assert teacher.evaluate("sessionStorage.getItem('vitviz-teacher')") == word
    assert [url for url in sit.asked if word in url] == [f"{room[0]}/?{ASK}2&teacher={word}"]
    assert word not in teacher.content()
    told = [page.locator(".vv-ballot-said") for page in pupils]

    teacher.locator(".vv-lesson-teacher summary").click()
    press(teacher, "Poll the class")
    poll = teacher.locator(".vv-poll")
    expect(poll.get_by_role("status")).to_have_text("Guesses: 0.")
    expect(poll).to_contain_text("The vote is open")
    expect(poll.locator(".vv-poll-qr")).to_be_visible()
    boxes = poll.locator(".vv-poll-box")

    tap(pupils[0], 8, 4)
    expect(told[0]).to_have_text(WAITS)
    answer = pupils[0].get_by_role("button", name="Show the answer")
    expect(answer).to_have_attribute("aria-disabled", "true")
    answer.click(force=True)
    expect(pupils[0].locator(".vv-lesson-gap")).to_be_hidden()
    expect(poll.get_by_role("status")).to_have_text("Guesses: 1.")
    # A reload waits as before.
    pupils[0].reload()
    expect(told[0]).to_have_text(WAITS)
    expect(answer).to_have_attribute("aria-disabled", "true")
    tap(pupils[1], 8, 4)
    expect(boxes.nth(8 * 12 + 4)).to_have_text("2")
    tap(pupils[1], 1, 5)  # another thought replaces the first
    expect(boxes.nth(12 + 5)).to_have_text("1")
    expect(boxes.nth(8 * 12 + 4)).to_have_text("1")
    press(poll, "Show the answer")
    expect(poll.locator(".vv-poll-score")).to_contain_text("of 2 right.")

    expect(poll).to_contain_text("The vote is closed")
    expect(told[0]).to_have_text("Your teacher has opened the answer.")
    expect(answer).to_have_attribute("aria-disabled", "false")
    tap(pupils[0], 3, 3)
    expect(told[0]).to_contain_text("The vote on this question is closed")
    expect(boxes.nth(3 * 12 + 3)).to_have_text("")
    press(poll, "Open the vote")
    expect(told[0]).to_have_text(WAITS)  # the page tried again
    expect(boxes.nth(3 * 12 + 3)).to_have_text("1")
    # Who has seen the answer keeps the guess of before; a second tab is the same pupil.
    press(poll, "Close the vote")
    press(pupils[1], "Show the answer")
    press(pupils[1], "Guess again")
    tap(pupils[1], 0, 0)
    expect(told[1]).to_contain_text("You have seen the answer")
    second = pupils[0].context.new_page()
    second.set_default_timeout(PATIENCE_MS)
    second.goto(pupils[0].url)
    second.locator(".vv-lesson-where").wait_for()
    numbers = [tab.evaluate("localStorage.getItem('vitviz-voter')") for tab in (pupils[0], second)]
    assert numbers[0] == numbers[1] != pupils[1].evaluate("localStorage.getItem('vitviz-voter')")
    second.close()
    expect(poll.get_by_role("status")).to_have_text("Guesses: 2.")
    expect(boxes.first).to_have_text("")
    # The list of the hour has it, and saves it.
    poll.locator("summary", has_text="Polls until now: 1").click()
    expect(poll.locator("tbody td").nth(1)).to_have_text("2")
    expect(poll.locator("tbody td").nth(2)).to_contain_text("of 2 right.")
    with teacher.expect_download() as saving:
        press(poll, "All polls as a table (CSV)")
    with Path(saving.value.path()).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["step"], row["picture"], row["votes"]) for row in rows] == [("2", PANDA, "1")] * 2
    assert {row["guess"] for row in rows} == {"row 3, col 3", "row 1, col 5"}
    press(poll, "Open the vote")
    press(poll, "Empty")
    expect(poll.get_by_role("status")).to_have_text("Guesses: 0.")
    tap(pupils[0], 2, 2)
    expect(poll.get_by_role("status")).to_have_text("Guesses: 1.")
    press(poll, "New class")
    expect(poll.get_by_role("status")).to_have_text("Guesses: 1.")
    begin_anew(poll)
    expect(poll.get_by_role("status")).to_have_text("Guesses: 0.")
    expect(poll.get_by_text("Polls until now")).to_be_hidden()

    # A dialog that is closed asks no more.
    teacher.keyboard.press("Escape")
    expect(poll).to_have_count(0)
    looks = []  # of the teacher alone: pupils ask until they hear that no vote is shown
    teacher.on("request", lambda one: "tally" in (one.post_data or "") and looks.append(one.url))
    stop_time(teacher)
    press(teacher, "Poll the class")
    expect(poll).to_contain_text("The vote is open")
    with teacher.expect_request(lambda request: "tally" in (request.post_data or "")):
        teacher.clock.run_for(1000)
    teacher.keyboard.press("Escape")
    expect(poll).to_have_count(0)  # until it hears of that it may ask once more
    before = len(looks)
    teacher.clock.run_for(30_000)
    assert looks[before:] == []
    # Nor does one that goes with its board.
    press(teacher, "Poll the class")
    expect(poll).to_contain_text("The vote is open")
    teacher.evaluate("document.documentElement.lang = 'ko'")
    expect(poll).to_have_count(0)
    with teacher.expect_response(lambda reply: "tally" in (reply.request.post_data or "")):
        teacher.clock.run_for(1000)
    teacher.clock.run_for(1000)
    before = len(looks)
    teacher.clock.run_for(30_000)
    assert looks[before:] == []


def test_no_guess_of_before_is_counted_by_itself_in_an_emptied_vote_or_another_class(
    sit, room
) -> None:
    teacher, pupil = sit(f"{ASK}2&teacher={room[1]}"), sit(f"{ASK}2")
    teacher.locator(".vv-lesson-teacher summary").click()
    press(teacher, "Poll the class")
    poll = teacher.locator(".vv-poll")
    count = poll.get_by_role("status")
    expect(count).to_have_text("Guesses: 0.")
    said, resend = pupil.locator(".vv-ballot-said"), pupil.get_by_role("button", name=AGAIN)
    tap(pupil, 8, 4)
    expect(count).to_have_text("Guesses: 1.")
    expect(said).to_have_text(WAITS)
    phone = sit(f"{ASK}2", width=390, height=844)
    tap(phone, 8, 4)
    expect(count).to_have_text("Guesses: 2.")
    press(poll, "Empty")
    # On a phone the button stands above those of the lesson.
    again = phone.get_by_role("button", name=AGAIN)
    expect(again).to_be_visible()
    buttons = phone.locator(".vv-lesson > .vv-lesson-buttons")
    phone.wait_for_function(ABOVE, arg=[again.element_handle(), buttons.element_handle()])
    phone.context.close()
    expect(said).to_contain_text("Your teacher has emptied this vote or begun with a new class")
    expect(count).to_have_text("Guesses: 0.")
    expect(pupil.get_by_role("button", name="Show the answer")).to_have_attribute(
        "aria-disabled", "true"
    )
    second = pupil.context.new_page()  # another tab, or a reload, sends nothing either
    second.set_default_timeout(PATIENCE_MS)
    second.goto(pupil.url)
    both = second.locator(".vv-ballot-said")
    expect(both).to_contain_text("this guess is not counted")
    expect(count).to_have_text("Guesses: 0.")
    resend.click()
    expect(said).to_have_text(WAITS)
    expect(count).to_have_text("Guesses: 1.")
    expect(both).to_have_text(WAITS)
    second.close()
    # Another class begins while this pupil hears nothing.
    pupil.context.set_offline(True)
    expect(said).to_contain_text("The class cannot be reached now.")
    begin_anew(poll)
    expect(count).to_have_text("Guesses: 0.")
    pupil.context.set_offline(False)
    expect(said).to_contain_text("this guess is not counted")
    expect(count).to_have_text("Guesses: 0.")
    tap(pupil, 3, 3)  # another guess will do
    expect(count).to_have_text("Guesses: 1.")
    expect(resend).to_be_hidden()
    # A vote that was closed before: its pupils wait no more, and learn of it all the same.
    press(poll, "Close the vote")
    expect(said).to_have_text("Your teacher has opened the answer.")
    press(poll, "Empty")
    expect(resend).to_be_visible()
    press(poll, "Open the vote")
    expect(count).to_have_text("Guesses: 0.")
    resend.click()
    expect(count).to_have_text("Guesses: 1.")
    press(poll, "Empty")


def test_the_teacher_brings_all_to_a_step(sit, room) -> None:
    teacher, pupil = sit(f"{ASK}3&teacher={room[1]}"), sit(f"{ASK}2")
    bring = teacher.get_by_role("button", name="Bring all to this step")
    banner = pupil.locator(".vv-called")
    expect(pupil.get_by_role("button", name="Bring all to this step")).to_be_hidden()
    tap(pupil, 8, 4)
    guessed = pupil.locator(".vv-lesson-answer").inner_text()
    bring.click()
    expect(teacher.locator(".vv-calling")).to_contain_text(
        "say: step 3 of “Ask a patch, ask its heads”."
    )
    # The banner comes by itself, lies in the window, and changes nothing else.
    expect(banner).to_contain_text("Your teacher is at step 3 of “Ask a patch, ask its heads”.")
    box = banner.bounding_box()
    assert 450 < box["y"] <= 900 - box["height"]
    assert "step=2" in pupil.url
    assert pupil.locator(".vv-lesson-answer").inner_text() == guessed
    # Who reloads or comes late learns it too; a pupil may stay.
    pupil.reload()
    expect(banner).to_contain_text("step 3")
    late = sit("model=photos&example=red-panda&lesson=cut&step=1")
    expect(late.locator(".vv-called")).to_contain_text("step 3")
    press(late, "Stay here")
    expect(late.locator(".vv-called")).to_be_hidden()
    press(pupil, "Go there")
    expect(pupil.locator(".vv-lesson-where")).to_have_text("Step 3 of 8")
    expect(banner).to_be_hidden()
    expect(pupil.locator(".vv-lesson-title")).to_be_focused()
    # Another step calls all again, also into another picture; who is there already is not called.
    press(teacher, "Skip")
    expect(teacher.locator(".vv-lesson-where")).to_have_text("Step 4 of 8")
    press(pupil, "Skip")
    bring.click()
    expect(late.locator(".vv-called")).to_contain_text("step 4")
    expect(banner).to_be_hidden()
    press(late, "Go there")
    expect(late.locator(".vv-lesson-where")).to_have_text("Step 4 of 8")
    # A new class is called nowhere.
    pupil.evaluate("localStorage.clear()")
    teacher.locator(".vv-lesson-teacher summary").first.click()
    press(teacher, "Poll the class")
    begin_anew(teacher)
    teacher.keyboard.press("Escape")
    expect(teacher.locator(".vv-calling")).not_to_contain_text("Pages of the class")
    fresh = sit(f"{ASK}2")
    with fresh.expect_response(lambda reply: is_look(reply.request)) as looked:
        pass
    assert looked.value.json()["call"] is None
    expect(fresh.locator(".vv-called")).to_be_hidden()


def test_without_the_app_the_code_stands_in_and_an_old_guess_is_not_sent(sit, room) -> None:
    page = sit(f"{ASK}2")
    said = page.locator(".vv-ballot-said")
    page.context.set_offline(True)
    tap(page, 8, 4)
    expect(said).to_contain_text("The class cannot be reached now.")
    expect(page.locator("summary", has_text="Code for the class")).to_be_visible()
    page.context.set_offline(False)
    expect(said).to_have_text(SENT)
    page.reload()
    expect(page.locator(".vv-lesson-code")).to_have_text(re.compile("^[0-9A-Z]{3}$"))
    expect(said).to_be_hidden()
    page.locator(".vv-lesson-teacher summary").click()
    press(page, "Poll the class")  # a pupil polls with codes alone
    expect(page.locator(".vv-poll-room")).to_have_count(0)
    with closing(httpx.Client(base_url=room[0])) as client:
        config = client.get("/config").json()
        viewer = next(
            c["id"] for c in config["components"] if c["props"].get("elem_id") == "vv-viewer"
        )
        sent = {"component_id": viewer, "fn_name": "room", "session_hash": "x"}
        data = {"do": "tally", "question": "abc", "teacher": "guessed"}
        answer = client.post("/gradio_api/component_server/", json={**sent, "data": data})
        assert answer.json()["error"].startswith("Only the teacher's page")
