"""A teacher makes an own lesson from three views, polls the class, and takes the page home."""

import json
from pathlib import Path
from statistics import mean

from playwright.sync_api import expect

from tests.browser.conftest import tap
from tests.running import ROOT
from vitviz import analyze, load
from vitviz.probe.intervene.chance import Chance

PANDA = "red-panda.jpg"
LIST = ".vv-lesson-list"
VIEWS = (
    "?model=photos&example=red-panda&panel=attention&layer=1&head=2&token=54",
    "?model=photos&example=dog&panel=predictions",
    "?model=mnist&example=digit&panel=attention&layer=0&head=1&token=20",
)


def press(page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def open_own(page) -> None:
    page.locator("#vv-lessons").click()
    page.locator(LIST).get_by_text("My own lesson", exact=True).click()


def status(page):
    return page.locator(f"{LIST} .vv-own-lesson [role=status]")


def test_an_own_lesson_from_three_views(visit, tmp_path) -> None:
    seen = visit(VIEWS[0], wait_for=PANDA)
    page = seen.page
    for at, (view, photo) in enumerate(zip(VIEWS, (PANDA, "dog.jpg", "digit.png"), strict=True)):
        if at:
            seen.go(view, photo)
        open_own(page)
        press(page, "Add this view to my lesson")
        expect(status(page)).to_have_text(f"Added as step {at + 1}.")
    steps = page.locator(".vv-own-steps > li")
    page.get_by_label("Title").fill("First <i>look</i>")
    first = steps.nth(0)
    first.get_by_label("Question").fill("Where does the forehead look?")
    first.get_by_label("How the class answers").select_option("patch")
    first.get_by_label("What is told after the guess").fill("Fur looks at fur.")
    second = steps.nth(1)
    second.get_by_label("What the step says").fill("Three dogs.")
    second.get_by_label("Question").fill("What is it?")
    second.get_by_label("How the class answers").select_option("choose")
    right = second.get_by_label("What is right")
    right.fill("a cat\na dog")
    right.blur()
    expect(second.locator(".vv-own-lacks")).to_contain_text("the class answers in words")
    right.fill("a cat\n* a <b>dog")
    right.blur()
    expect(second.locator(".vv-own-lacks")).to_be_empty()
    steps.nth(2).get_by_role("button", name="Move up").click()
    expect(steps.nth(1)).to_contain_text("digit")
    steps.nth(0).get_by_role("button", name="Try").click()
    seen.ready(PANDA)
    seen.is_(lesson="own", step=1)
    open_own(page)
    with page.expect_download() as saving:
        press(page, "Save as a file")
    file = Path(saving.value.path())
    assert saving.value.suggested_filename == "First-i-look-i-.json"
    told = json.loads(file.read_text("utf-8"))
    assert [step["view"]["example"] for step in told["steps"]] == ["red-panda", "digit", "dog"]
    press(page, "Copy the link to this lesson")
    link = page.get_by_label("Copy the link to this lesson").last.input_value()

    # Cleared and opened again; what is no lesson is refused in a sentence.
    press(page, "Clear the lesson")
    expect(steps).to_have_count(0)
    bad = tmp_path / "bad.json"
    bad.write_text('{"steps": 3}')
    for path, answer in ((bad, "This is not a lesson of vitviz"), (file, "Opened. Steps: 3")):
        page.locator(f"{LIST} input[type=file]").set_input_files(path)
        expect(status(page)).to_contain_text(answer)
    expect(steps).to_have_count(3)

    # A pupil with only the link: another device, everything fixed, nothing of it is HTML.
    pupil = visit(link.split("/", 3)[3], wait_for=PANDA, locale="ko-KR")
    tab = pupil.page
    pupil.is_(lesson="own", step=1, overlay="none", layer=1, head=2, token=54)
    expect(tab.locator(".vv-lesson-title")).to_have_text("First <i>look</i>")
    expect(tab.locator("html")).to_have_attribute("lang", "en")  # the link says so
    tap(tab, 10, 10)
    press(tab, "Show the answer")
    pupil.is_(overlay="attention")
    expect(tab.locator(".vv-lesson-truth")).to_contain_text("Fur looks at fur.")
    press(tab, "Next")
    pupil.ready("digit.png")
    pupil.is_(lesson="own", step=2, layer=0, head=1)
    press(tab, "Next")
    pupil.ready("dog.jpg")
    expect(tab.locator(".vv-lesson-text")).to_have_text("Three dogs.")
    tab.get_by_role("radio", name="a <b>dog").check()
    press(tab, "Show the answer")
    expect(tab.locator(".vv-lesson-gap")).to_contain_text("Right. You: a <b>dog")

    damaged = visit(link.split("/", 3)[3][:-9], wait_for=PANDA)
    expect(damaged.page.get_by_role("alert")).to_contain_text("perhaps the link was cut off")


def test_a_class_is_polled_with_codes_and_a_pupil_takes_the_page_home_and_goes_on_offline(
    visit, open_page
) -> None:
    ask = "?model=photos&example=red-panda&lesson=ask&step="
    pupil = visit(ask + "2", wait_for=PANDA)
    page = pupil.page
    codes = []
    for row, col in ((8, 4), (8, 4), (1, 5), (4, 6)):
        tap(page, row, col)
        if not codes:
            page.get_by_text("Code for the class").click()
        codes.append(page.locator(".vv-lesson-code").inner_text())
        tap(page, row, col)  # the same patch is still the guess
    assert len(set(codes)) == 3

    page.locator(".vv-lesson-teacher summary").click()
    key = page.get_by_role("button", name="Answer key")
    expect(key).to_have_attribute("aria-disabled", "false")  # what it needs has been fetched
    before = len(pupil.requests)
    page.get_by_role("button", name="Poll the class").click()
    poll = page.locator(".vv-poll")
    poll.get_by_label("Codes").fill("\n".join([*codes, codes[0][:-1] + "?", "AAAA-AAA"]))
    expect(poll.get_by_role("status")).to_have_text("Guesses: 4.")
    expect(poll.locator(".vv-poll-wrong li")).to_have_count(2)
    boxes = poll.locator(".vv-poll-box")
    assert [boxes.nth(row * 12 + col).inner_text() for row, col in ((8, 4), (1, 5), (4, 6))] == [
        "2",
        "1",
        "1",
    ]
    expect(poll.locator("figure")).to_have_count(1)
    press(poll, "Show the answer")
    expect(poll.locator("figure")).to_have_count(2)
    expect(poll.locator("figure").nth(1).locator(".vv-guess-truth")).to_have_count(1)
    assert [url for url in pupil.requests[before:] if "heartbeat" not in url] == []
    page.keyboard.press("Escape")
    expect(poll).to_have_count(0)

    # A pupil takes the page home.
    tap(page, 8, 4)
    press(page, "Show the answer")
    pupil.is_(overlay="attention")
    gap = page.locator(".vv-lesson-gap").inner_text()
    page.locator(".vv-tools").get_by_text("Save", exact=True).click()
    take = page.locator(".vv-take")
    take.get_by_label("A note at the top").fill("Until Monday: steps 3 to 6.\n</script><b>x")
    # The layer in view cannot be left out, and is on the list all the same.
    expect(take.locator(".vv-take-layers label:visible")).to_have_text([*"012345"])
    shown = page.locator(".vv-layer input:checked").get_attribute("value")
    expect(take.locator(".vv-take-layers label", has=page.locator(":disabled"))).to_have_text(shown)
    promised = float(take.get_by_text("The page will have about").inner_text().split()[-2])
    with page.expect_download() as saving:
        press(take, "Make the page")
    html = Path(saving.value.path()).read_text("utf-8")
    assert saving.value.suggested_filename == "red-panda-photos.html"
    assert abs(promised - len(html.encode()) / 1e6) < 0.25 * promised

    home = open_page(html)
    home.wait_for_selector('#viewer[data-state="ready"]')
    expect(home.locator(".vv-taken-note")).to_have_text(
        "Until Monday: steps 3 to 6.</script><b>x", use_inner_text=False
    )
    # It goes on where it was, with the guess and its gap.
    expect(home.locator(".vv-lesson-where")).to_have_text("Step 2 of 8")
    expect(home.locator(".vv-lesson-gap")).to_have_text(gap)
    press(home, "Next")
    expect(home.locator(".vv-lesson-where")).to_have_text("Step 3 of 8")
    sheet = home.frame_locator(".vv-taken-sheet")
    expect(sheet.locator("h1")).to_have_text("Ask a patch, ask its heads")


def test_what_comes_of_experiments_goes_along(visit, open_page) -> None:
    loaded, photo = load("photos"), ROOT / "vitviz" / "web" / "examples" / "goldfish.jpg"
    fish = analyze(loaded, photo)
    best = int(fish.trace.logits.argmax())

    def left_without(patches: list[int]) -> float:
        removed = {"kind": "remove", "patches": sorted(patches)}
        without = analyze(loaded, photo, interventions=[removed])
        probabilities = without.predictions(len(without.card.labels))
        return next(one.probability for one in probabilities if one.index == best)

    shares = {}
    for key in ("attention", "centre"):
        values = fish.grid.patches(fish.explain(key))
        shares[key] = left_without(values.argsort(descending=True, stable=True)[:29].tolist())
    lots = [Chance(seed, "orders").permutation(144)[:29] for seed in range(1, 6)]
    shares["random"] = mean(left_without([int(one) for one in lot]) for lot in lots)

    seen = visit("?model=photos&example=goldfish&lesson=hide&step=2", wait_for="goldfish.jpg")
    page = seen.page
    seen.is_(beside="experiment")  # its map has come after the page
    gap = page.locator(".vv-lesson-gap")

    def guess(tab) -> None:
        tab.locator(".vv-lesson input[type=number]").fill("40")
        press(tab, "Show the answer")

    guess(page)
    expect(gap).to_contain_text(f"The model: {shares['attention']:.1%}")
    press(page, "Next")
    seen.is_(step=3, beside="experiment")
    guess(page)
    expect(gap).to_contain_text(f"The model: {shares['random']:.1%}")
    expect(page.locator(".vv-lesson-why")).to_contain_text(f"{shares['attention']:.1%}")

    page.locator(".vv-tools").get_by_text("Save", exact=True).click()
    with page.expect_download() as saving:
        press(page.locator(".vv-take"), "Make the page")
    home = open_page(Path(saving.value.path()).read_text("utf-8"))
    home.wait_for_selector('#viewer[data-state="ready"]')
    expect(home.locator(".vv-lesson-gap")).to_contain_text(f"{shares['random']:.1%}")
    press(home, "Next")
    guess(home)
    expect(home.locator(".vv-lesson-gap")).to_contain_text(f"The model: {shares['centre']:.1%}")
    # The worksheet has the steps with experiments; the last one is about another photo.
    sheet = home.frame_locator(".vv-taken-sheet")
    expect(sheet.locator(".question")).to_have_count(4)
    expect(sheet.locator(".gone")).to_have_count(4 * 29)
