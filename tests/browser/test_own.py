"""A visitor's own things: a trained model is taught them in the page, and Python answers alike."""

import re
from pathlib import Path

import pytest
import torch
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import address_says, drop
from tests.browser.test_accessibility import RUN, faults, needs_axe
from tests.models import photo, squares
from vitviz import Analysis, LoadedModel, analyze, halves, load, teach
from vitviz.languages import say
from vitviz.many.linear import folds_of, left_out
from vitviz.payload import page as one_file
from vitviz.train.shortcut import pictures_of
from vitviz.web.store.examples import FOLDER

ROW = ".vv-own .vv-signs-kind"
RESULT = ".vv-own-result"


@pytest.fixture(scope="module")
def things(tmp_path_factory) -> dict[str, list[Path]]:
    """Six pictures each of a cup and a dog: squares of the examples."""
    folder = tmp_path_factory.mktemp("things")
    found = {}
    for name in ("coffee", "dog"):
        for at, square in enumerate(squares(FOLDER / f"{name}.jpg", 6)):
            path = folder / f"{name}-{at}.png"
            square.resize((160, 160)).save(path)
            found.setdefault(name, []).append(path)
    return found


def opened(visit, query: str = "?teach", **options):
    seen = visit(query, wait_for="", **options)
    seen.page.locator(".vv-own-columns").wait_for()
    return seen


def give(page, at: int, files: list[Path], count: int) -> None:
    """Choose files for a thing, and wait until it has so many pictures."""
    row = page.locator(ROW).nth(at)
    row.locator("input[type=file]").set_input_files(files)
    row.locator(f".vv-signs-drawing:nth-child({count})").wait_for()


def call(page, at: int, name: str) -> None:
    field = page.locator(f"{ROW} .vv-signs-name").nth(at)
    field.fill(name)
    field.press("Tab")


def fields(path: Path) -> torch.Tensor:
    """A photo as the model sees it, and its mirror image, as 12 x 12 means. (2, 432)"""
    seen = analyze(load("photos"), path).picture.permute(2, 0, 1).float()
    both = torch.stack([seen, seen.flip(-1)])
    return torch.nn.functional.adaptive_avg_pool2d(both, 12).flatten(1) / 255


def the_training_is_what_counts(page, things: dict[str, list[Path]]) -> None:
    """The same head on an untrained model, and on pixels, is as good as in Python."""
    page.get_by_role("button", name="Is it the training?").click()
    page.get_by_text("Guessing would be right about once in 2").wait_for()
    found = page.locator(RESULT).get_by_role("listitem").all_inner_texts()[-3:]
    given = {"cup": things["coffee"], "dog": things["dog"]}
    plain = teach(load("photos", pretrained=False), given, progress=False).card.taught
    seen = torch.stack([fields(path) for path in (*things["coffee"], *things["dog"])])
    y = torch.tensor([0] * 6 + [1] * 6)
    folds = torch.tensor(folds_of(y.tolist(), range(12)))
    answers = left_out(*seen.unbind(1), y, folds, 2)
    right = int((answers.argmax(1) == y).sum())
    assert found[2] == f"as 12 \u00d7 12 fields of colour\n{right} of 12"
    assert found[0] == "read by the trained model\n12 of 12"
    assert found[1] == f"by the same model before its training\n{plain.right} of {plain.of}"


def the_menu_names_it(page) -> None:
    """A model that was taught in the page covers that of the server on the menu."""
    menu = page.locator("#vv-model")
    drawn = "(node) => getComputedStyle(node, '::after').content"
    assert menu.evaluate(drawn) == '"cup, dog"'
    assert menu.locator("input").evaluate("(node) => getComputedStyle(node).color").endswith(" 0)")
    assert menu.locator("input").get_attribute("aria-description") == "cup, dog"


def the_pictures_taught_with_are_its_examples(seen, made: LoadedModel, things) -> None:
    """One press shows another of them, whole, in the model that was opened."""
    page = seen.page
    row = page.get_by_role("group", name="Taught with")
    names = [f"{label} {at}" for label in ("cup", "dog") for at in range(1, 7)]
    found = row.get_by_role("button").evaluate_all("all => all.map((one) => one.title)")
    assert found == names
    row.get_by_role("button", name="dog 3").click()
    seen.ready("dog-3.png")
    answer = analyze(made, things["dog"][2]).answer_text()
    assert seen.text(".vv-title h2").lower() == answer.lower()
    row.get_by_role("button", name="cup 1").click()
    seen.ready("cup-1.png")


def test_two_things_are_taught_opened_saved_and_python_answers_alike(
    visit, things, tmp_path
) -> None:
    seen = opened(visit)
    page = seen.page
    address_says(page, teach="", play=None)
    page.get_by_text("Nothing leaves this page").wait_for()
    page.get_by_text("It learns as soon as two things have a picture.").wait_for()
    call(page, 0, "cup")
    give(page, 0, things["coffee"], 6)
    give(page, 1, things["dog"][:1], 1)
    call(page, 1, "dog")
    page.get_by_text("Nobody can say yet how well it knows dog").wait_for()
    give(page, 1, things["dog"][1:], 6)
    page.locator(RESULT).get_by_text("12 of 12").wait_for()
    assert page.locator(f"{RESULT} li").all_inner_texts() == ["cup\n6 of 6", "dog\n6 of 6"]
    page.get_by_text("None of these pictures was taken for another thing.").wait_for()
    the_training_is_what_counts(page, things)
    # A picture that it has not learned is answered, by the model that is saved.
    trial = tmp_path / "trial.png"
    with Image.open(FOLDER / "coffee.jpg") as photo:
        photo.resize((200, 150)).save(trial)
    page.locator(".vv-own-side > * > input[accept^=image]").set_input_files(trial)
    page.wait_for_function("document.querySelector('.vv-own-word').textContent !== ''")
    with page.expect_download() as coming:
        page.get_by_role("button", name="Save the model").click()
    assert coming.value.suggested_filename == "own-cup-dog.safetensors"
    file = tmp_path / "mine.safetensors"
    coming.value.save_as(file)
    mine = load(file)
    assert mine.card.labels == ("cup", "dog")
    taught = mine.card.taught
    assert (taught.base, taught.pictures, taught.confusions) == ("photos", (6, 6), ((6, 0), (0, 6)))
    theirs = teach(load("photos"), {"cup": things["coffee"], "dog": things["dog"]}, progress=False)
    assert taught.confusions == theirs.card.taught.confusions
    assert mine.card.details["accuracy"] == theirs.card.details["accuracy"]
    assert say(mine.card.details["accuracy"], "ko") == say(theirs.card.details["accuracy"], "ko")
    assert mine.card.threshold == pytest.approx(theirs.card.threshold, abs=1e-4)
    expected = analyze(theirs, trial).predictions()[0]
    ours = analyze(mine, trial)
    best = ours.predictions()[0]
    assert best.label == expected.label
    assert best.probability == pytest.approx(expected.probability, abs=1e-4)
    known = ours.known_or_not()
    word = best.label if known.known else "None of these"
    assert page.locator(".vv-own-word").inner_text() == word
    said = page.locator(".vv-signs-answers .vv-best").inner_text()
    assert said.split() == [best.label, best.number_text]
    page.get_by_role("button", name="Open in all panels").click()
    seen.ready("cup-dog.png")
    address_says(page, teach=None)
    the_menu_names_it(page)
    with page.expect_download() as coming:
        page.locator("button", has_text="Save").first.click()
        page.locator(".vv-save-items button", has_text="safetensors").first.click()
    page.keyboard.press("Escape")
    theirs = Analysis.load(coming.value.path())
    assert torch.equal(theirs.picture, ours.picture)
    shares = [one.trace.logits.double().softmax(0) for one in (theirs, ours)]
    assert (shares[0] - shares[1]).abs().max() < 1e-4
    for panel in ("Predictions", "Patches", "Explanations", "Experiment", "Model"):
        seen.open_panel(panel)
        seen.is_(state="ready")
    the_pictures_taught_with_are_its_examples(seen, mine, things)
    # Another photo is for the same model.
    seen.bring(FOLDER / "bison.jpg")
    assert page.locator(".vv-names").inner_text().endswith("cup, dog")
    # What was taught is still there, and its trunk too.
    page.get_by_role("button", name="Playground").click()
    assert page.locator(f"{ROW} .vv-signs-drawing").count() == 12
    page.get_by_role("radio", name="handwritten digits").check(force=True)
    page.locator(".vv-play-page[data-state=ready]").wait_for()
    address_says(page, teach=None, play="standard")


# Resolves when so many pictures of own things are kept in the browser.
KEPT = """async (count) => {
    const kept = () => new Promise((done, fail) => {
        const request = indexedDB.open("vitviz");
        request.onerror = fail;
        request.onsuccess = () => {
            const all = request.result.transaction("photos").objectStore("photos").getAll();
            all.onsuccess = () => {
                const own = all.result.filter(({ kind }) => kind === "own");
                const things = own.flatMap(({ things }) => things);
                request.result.close();
                done(things.flatMap(({ pictures }) => pictures).length);
            };
        };
    });
    while ((await kept()) !== count) await new Promise((goOn) => setTimeout(goOn, 50));
}"""
# Keeps the database busy until the page goes: nothing is stored meanwhile.
BUSY = """() => new Promise((done, fail) => {
    const request = indexedDB.open("vitviz");
    request.onerror = fail;
    request.onsuccess = () => {
        const all = request.result.transaction("photos", "readwrite").objectStore("photos");
        const goOn = () => (all.count().onsuccess = goOn);
        goOn();
        done();
    };
})"""


def test_a_reload_brings_things_back_until_they_are_forgotten(visit, things) -> None:
    seen = opened(visit)
    page, thumbnails = seen.page, seen.page.locator(f"{ROW} .vv-signs-drawing")
    call(page, 0, "cup")
    give(page, 0, things["coffee"][:2], 2)
    give(page, 1, things["dog"][:2], 2)
    page.get_by_text("Its card: what it is for").click()
    page.get_by_label("Where do the pictures come from?").fill("from my desk")
    page.evaluate(KEPT, 4)
    page.evaluate(BUSY)
    page.locator(f"{ROW} .vv-signs-name").nth(1).press_sequentially("dog")  # and stays there
    page.reload()  # at once
    page.locator(".vv-own-counts li").nth(1).wait_for()  # learned anew
    expect(thumbnails).to_have_count(4)
    names = page.locator(f"{ROW} .vv-signs-name").all()
    assert [name.input_value() for name in names] == ["cup", "dog"]
    assert page.get_by_label("Where do the pictures").input_value() == "from my desk"
    other = page.context.new_page()
    other.goto(page.url)
    other.locator(".vv-own-columns").wait_for()
    assert other.locator(f"{ROW} .vv-signs-drawing").count() == 0, "of this tab alone"
    other.close()
    forget = page.get_by_role("button", name="Forget all")
    forget.click()
    expect(thumbnails).to_have_count(0)
    page.locator(".vv-own").get_by_role("button", name="Undo").click()
    expect(thumbnails).to_have_count(4)
    # The same picture is of one thing.
    page.locator(ROW).nth(1).locator("input[type=file]").set_input_files(things["coffee"][0])
    page.get_by_text("This picture is one of cup already").wait_for()
    expect(thumbnails).to_have_count(4)
    forget.click()
    page.evaluate(KEPT, 0)
    page.reload()
    page.locator(".vv-own-columns").wait_for()
    expect(thumbnails).to_have_count(0)


def test_what_cannot_be_learned_is_said_and_what_was_taken_away_comes_back(
    visit, things, pictures, tmp_path
) -> None:
    page = opened(visit, "?model=photos&example=dog&teach").page
    call(page, 0, "cup")
    call(page, 1, " cup ")
    give(page, 0, [pictures["text"], *things["coffee"][:3], pictures["empty"]], 3)
    message = page.locator(".vv-own-side > .vv-play-note")
    message.get_by_text("So it is with 1 more files.").wait_for()
    assert "not a <b>photo.jpg" in message.inner_text()
    labels = page.locator(ROW).evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert labels == ["cup", "cup 2"]
    # Pasted and dropped pictures go to the thing on which they fall.
    bytes_ = things["dog"][0].read_bytes()
    second = page.locator(ROW).nth(1)
    drop(second, bytes_, "a.png")
    second.locator(".vv-signs-drawing:nth-child(1)").wait_for()
    second.locator(".vv-signs-name").focus()
    drop(second.locator("button").last, bytes_, "b.png", pasted=True)
    second.locator(".vv-signs-drawing:nth-child(2)").wait_for()
    second.get_by_role("button", name=re.compile("^From the page")).click()
    second.locator(".vv-signs-drawing:nth-child(3)").wait_for()
    page.locator(RESULT).get_by_text(re.compile(r"^\d of 6$")).first.wait_for()
    undo = page.get_by_role("button", name="Undo the last change")
    second.locator(".vv-signs-drawing").nth(1).click()
    page.locator(RESULT).get_by_text(re.compile(r"^\d of 5$")).first.wait_for()
    page.get_by_role("button", name="Take away cup with its pictures").click()
    page.get_by_text("It learns as soon as two things have a picture.").wait_for()
    undo.click()
    page.locator(RESULT).get_by_text(re.compile(r"^\d of 5$")).first.wait_for()
    # At most 100 pictures, said before and after.
    page.get_by_text("5 of at most 100 pictures.").wait_for()
    small = tmp_path / "small.png"
    Image.new("RGB", (8, 8), "red").save(small)
    give(page, 1, [small] * 97, 97)
    page.get_by_text("There is room for 100 pictures in all: 2 more were not taken.").wait_for()
    page.get_by_text("100 of at most 100 pictures.").wait_for()
    undo.click()  # what came together goes together
    page.get_by_text("5 of at most 100 pictures.").wait_for()


def test_a_burst_of_the_camera_is_one_group_and_the_camera_goes_off(visit) -> None:
    page = opened(visit).page
    page.get_by_role("button", name=re.compile("^Camera: ")).click()
    holds = page.get_by_role("button", name=re.compile("^Hold to take"))
    holds.nth(1).wait_for()
    for at in (0, 1):
        row = page.locator(ROW).nth(at)
        holds.nth(at).hover()  # waits until it stands still
        page.mouse.down()
        row.locator(".vv-signs-drawing:nth-child(3)").wait_for()
        page.mouse.up()
    # One go of each: it answers, and says nothing of how good it is.
    page.get_by_text("Nobody can say yet how well it knows Thing 1, Thing 2").wait_for()
    page.wait_for_function("document.querySelector('.vv-own-word').textContent !== ''")
    for at in (0, 1):
        row = page.locator(ROW).nth(at)
        before = row.locator(".vv-signs-drawing").count()
        holds.nth(at).focus()
        page.keyboard.down("Space")
        row.locator(f".vv-signs-drawing:nth-child({before + 2})").wait_for()
        page.keyboard.up("Space")
    page.wait_for_function(
        """() => {
            const count = document.querySelectorAll(".vv-own .vv-signs-drawing").length;
            const big = document.querySelector(".vv-own .vv-play-big");
            return big.textContent.endsWith(" of " + count);
        }"""
    )
    live = "document.querySelector('.vv-own-view video')?.srcObject?.active ?? false"
    assert page.evaluate(live)
    page.keyboard.press("Escape")
    page.wait_for_function("!document.querySelector('.vv-own-view video')")


def test_a_picture_that_it_does_not_know_leads_there(visit, tmp_path) -> None:
    pattern = tmp_path / "pattern.png"
    Image.fromarray(photo()).save(pattern)
    assert analyze(load("photos"), pattern).answer().level == "maybe"
    seen = visit("?model=photos&example=dog", first=True, wait_for="dog.jpg")
    page = seen.page
    teach_it = page.get_by_role("button", name=re.compile("^Teach it yours"))
    assert teach_it.count() == 0 or teach_it.is_hidden()
    seen.bring(pattern)
    assert page.locator(".vv-dare:not([hidden])").first.inner_text().startswith("Teach it yours")
    teach_it.click()
    page.locator(".vv-own-columns").wait_for()
    address_says(page, teach="")
    # The picture is there to be tried, and to be taught.
    page.locator(".vv-own-view canvas").wait_for()
    page.locator(ROW).first.get_by_text("From the page").click()
    page.locator(f"{ROW} .vv-signs-drawing").wait_for()


@needs_axe
def test_the_page_of_one_file_has_it_and_axe_finds_no_fault(open_page, things) -> None:
    html = one_file(analyze(load("photos"), things["dog"][0]), engine=True)
    run = RUN.replace(".vitviz", ".vv-play")
    for locale, scheme, only, name, own in (
        ("en-US", "light", None, "Playground", "your own things"),
        ("ko-KR", "dark", None, "직접 학습시키기", "내 물건"),
    ):
        page = open_page(html, locale=locale, color_scheme=scheme)
        page.get_by_role("button", name=name, exact=True).click()
        page.locator(".vv-play-page").wait_for()  # the choice is made anew when the digits come
        page.get_by_role("radio", name=own).check(force=True)
        give(page, 0, things["coffee"][:3], 3)
        page.locator(f"{ROW} button").nth(2).click()  # from the page
        give(page, 1, things["dog"][1:3], 2)
        page.locator(f"{RESULT} li").nth(1).wait_for()
        page.wait_for_function("location.hash.includes('teach=')")
        assert faults(page, only, run) == [], (locale, scheme)
        page.locator(f"{RESULT} .vv-play-player").click()
        page.wait_for_function("!document.querySelector('.vv-play').open")
        page.wait_for_function("document.querySelector('.vv-names').textContent.includes(', ')")


def test_it_says_that_a_thing_is_known_by_a_square_in_the_corner(visit, tmp_path) -> None:
    loaded = load("photos")
    sets = pictures_of(loaded, "every 3")
    page = opened(visit).page
    for row, (name, some) in enumerate(sets.items()):
        files = [tmp_path / f"{name}-{at}.png" for at in range(len(some))]
        for file, picture in zip(files, some, strict=True):
            Image.fromarray(picture).save(file)
        call(page, row, name)
        give(page, row, files, len(files))
    page.locator(RESULT).get_by_text("20 of 20").wait_for()
    page.get_by_role("button", name="Does it cheat?").click()
    page.get_by_text("nobody tells the model where the thing lies").wait_for()
    said = page.locator(".vv-own-halves > div").all_inner_texts()
    for found, text in zip(halves(loaded, sets, progress=False), said, strict=True):
        sides = {"middle": found.without_middle, "rim": found.without_rim}
        for side, right in sides.items():
            assert f"without the {side}, {right} of 10 are still {found.label}" in text
        assert f"{found.label}: it needs the {found.reads} more than" in text
    assert page.locator(".vv-own-halves canvas").count() == 4
    seen = page.locator(".vv-own-halves").first.bounding_box()
    assert seen is not None
    assert seen["y"] < page.viewport_size["height"]
    # What is taught anew hides counts that are of an earlier head.
    page.locator(f"{ROW} .vv-signs-drawing").first.click()
    page.locator(RESULT).get_by_text("19 of 19").wait_for()
    expect(page.locator(".vv-own-halves")).to_be_hidden()
    # Asked for again in another language while it computes.
    page.get_by_role("button", name="Does it cheat?").click()
    korean = page.get_by_role("button", name="한국어", include_hidden=True)
    korean.dispatch_event("click")  # it lies behind the dialog
    page.get_by_role("button", name="꼼수를 쓸까요?").click()
    expect(page.locator(".vv-own-halves canvas")).to_have_count(4)


def the_card_is_printed(page, made: LoadedModel) -> None:
    """The sheet has what was written as text, the counts of the file, and lines for the rest."""
    with page.context.expect_page() as coming:
        page.get_by_role("button", name="Print the card").click()
    sheet = coming.value
    sheet.get_by_role("heading", name="A model of cup, 강아지, None of these").wait_for()
    taught, text = made.card.taught, sheet.locator("body").inner_text()
    assert f"{taught.right} of {taught.of} right" in text
    for at, label in enumerate(("cup", "강아지", "None of these")):
        row = taught.confusions[at]
        assert f"{label}: {row[at]} of {sum(row)}" in text
    assert "<b>medicine</b>" in text
    assert sheet.locator("b").count() == 0
    assert sheet.locator(".line").count() == 3, "nothing was written on where pictures come from"
    sheet.close()


def test_a_set_is_saved_goes_on_in_another_tab_and_python_learns_the_same(
    visit, things, tmp_path
) -> None:
    seen = opened(visit)
    page = seen.page
    none = [tmp_path / f"plain-{at}.png" for at in range(4)]
    for at, path in enumerate(none):
        Image.new("RGB", (90, 90), (60 * at, 90, 200 - 50 * at)).save(path)
    thumbnails = page.locator(f"{ROW} .vv-signs-drawing")
    save = page.get_by_role("button", name="Save the set")
    assert save.get_attribute("aria-disabled") == "true"
    call(page, 0, "cup")
    call(page, 1, "강아지")
    give(page, 0, things["coffee"], 6)
    give(page, 1, things["dog"][:5], 5)
    page.get_by_role("button", name="+ none of these").click()
    give(page, 2, none, 4)
    page.locator(RESULT).get_by_text(re.compile(r"^\d+ of 15$")).first.wait_for()
    page.locator(".vv-own-side > * > input[accept^=image]").set_input_files(none[0])
    expect(page.locator(".vv-own-word")).to_have_text("None of these")
    page.get_by_text("Its card: what it is for").click()
    page.get_by_label("What is it for?").fill("to tell my things")
    page.get_by_label("What should it not be used for?").fill(" <b>medicine</b>")
    files = {}
    for button, name in ((save, "set"), (page.get_by_role("button", name="Save the model"), "own")):
        with page.expect_download() as coming:
            button.click()
        assert coming.value.suggested_filename == f"{name}-cup-강아지.safetensors"
        coming.value.save_as(tmp_path / f"{name}.safetensors")
        files[name] = tmp_path / f"{name}.safetensors"
    theirs, ours = load(files["own"]), teach(load("photos"), files["set"], progress=False)
    assert ours.card.labels == theirs.card.labels == ("cup", "강아지", "none of these")
    assert (ours.card.none, ours.card.words) == (theirs.card.none, theirs.card.words)
    for name in ("weight", "bias"):
        away = getattr(ours.vit.head, name) - getattr(theirs.vit.head, name)
        assert away.abs().max() < 1e-4
    assert ours.card.taught.confusions == theirs.card.taught.confusions
    assert ours.card.threshold == pytest.approx(theirs.card.threshold, abs=1e-4)
    assert ours.card.details["not_for"] == theirs.card.details["not_for"] == "<b>medicine</b>"
    assert "; purpose: to tell my things" in str(theirs)
    the_card_is_printed(page, ours)
    # Dropped on the page, it takes the place of what is there, and Undo brings that back.
    page.get_by_role("button", name="Take away 강아지").click()
    page.get_by_role("button", name="Take away None of these").click()
    expect(thumbnails).to_have_count(6)
    drop(page.locator(".vv-own-try"), files["set"].read_bytes(), "set.safetensors")
    page.get_by_text("set.safetensors is open: pictures: 15.").wait_for()
    expect(thumbnails).to_have_count(15)
    page.locator(RESULT).get_by_text(re.compile(r"^\d+ of 15$")).first.wait_for()
    undo = page.locator(".vv-own").get_by_role("button", name="Undo")
    undo.click()
    expect(thumbnails).to_have_count(6)
    undo.click()
    expect(thumbnails).to_have_count(15)
    # A model is no set: the things stay.
    page.locator(".vv-own-side input[accept='.safetensors']").set_input_files(files["own"])
    assert page.get_by_label("What is it for?").input_value() == "to tell my things"
    page.get_by_text("own.safetensors is not a set that was saved here.").wait_for()
    expect(thumbnails).to_have_count(15)
    # What is none of them is told so in the panels, as in Python.
    shown = analyze(theirs, none[0])
    assert shown.answer().level == "none"
    assert shown.predictions()[0].label == "none of these"
    page.get_by_role("button", name="Open in all panels").click()
    seen.ready("cup-강아지.png")
    assert theirs.card.details["title"] == ours.card.details["title"] == "cup, 강아지"
    assert "Not one of my 2 things" in page.locator("body").inner_text()
