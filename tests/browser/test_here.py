"""A photo for a shipped model is analyzed in the page; the server has it only when asked."""

import shutil
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import LAPTOP, PATIENCE_MS, PHONE, Held, comes_to, drop, open_panel
from tests.browser.test_arriving import QUEUE
from tests.browser.test_drawing import SEVEN, answered, draw
from tests.browser.test_experiment import table
from tests.browser.test_links import address_says
from tests.browser.test_returning import KEPT
from tests.photographs import PHOTOGRAPHS
from vitviz import Analysis, analyze, load
from vitviz.web.store.examples import FOLDER

HERE = "your photo stays on your device"
QUESTION = "This needs the server: send this photo to it?"


def sent(seen) -> list[str]:
    """What a page has uploaded."""
    return [one for one in seen.requests if "/upload" in one and "upload_progress" not in one]


@pytest.fixture
def own(tmp_path) -> Path:
    """A photo that nobody tuned to, by a name that no example has."""
    there = [one.path() for one in PHOTOGRAPHS if one.package == "gradio"]
    return Path(shutil.copy(there[0] or FOLDER / "cat.jpg", tmp_path / "my photo.jpg"))


@pytest.fixture
def small(own) -> Path:
    """Another one, with fewer pixels."""
    path = own.with_name("small.png")
    Image.open(own).resize((200, 160)).save(path)
    return path


WEIGHTS = "**/gradio_api/photos-*.safetensors"


def test_a_photo_is_there_before_the_weights_answered_as_in_python_and_not_uploaded(
    visit, own, tmp_path
) -> None:
    Image.new("L", (5000, 5000), 90).save(large := tmp_path / "large.png")
    seen = visit("?model=photos&example=dog&invert=1", "dog.jpg", fresh=True)
    page, weights = seen.page, Held()
    page.route(WEIGHTS, weights.hold)
    note = page.locator(".vv-photo-note", has_text="ight and dark exchanged")
    assert note.is_visible()
    # One that would hold up the page comes with its answer: a PNG of 62 megapixels was decoded
    # twice, and the page stood still meanwhile.
    seen.upload(large)
    coming = page.locator(".vv-incoming-note", has_text="The model is coming: ")
    coming.wait_for()
    looking = page.get_by_text("Looking at your photo …")
    looking.wait_for()
    assert not page.locator(".vv-title h2").is_visible(), "it is the answer to another picture"
    photo = page.locator("img.vv-incoming")
    expect(photo).to_have_count(0)
    # Any other is there before the weights are.
    seen.upload(own)
    page.locator(".vv-stage img.vv-incoming").wait_for()
    coming.wait_for()
    opacity = "name => getComputedStyle(document.querySelector(name)).opacity"
    bright, pale = [".vv-columns", ".vv-left"], [".vv-line", ".vv-right"]
    assert [page.evaluate(opacity, name) for name in bright] == ["1", "1"]
    assert [page.evaluate(opacity, name) for name in pale] == ["0.55", "0.55"], (
        "of the photo before"
    )
    assert not note.is_visible(), "its button would show the photo before in another way"
    page.wait_for_function("document.querySelector('img.vv-incoming').naturalWidth > 0")
    box, frame = photo.bounding_box(), page.locator(".vv-stage .vv-picture").bounding_box()
    assert box == pytest.approx(frame, abs=1)
    weights.go()
    seen.ready("my photo.jpg")
    expect(photo).to_have_count(0)
    # Its answer is that of Python.
    assert page.locator(".vv-here").inner_text().endswith(HERE + ".")
    ours = analyze(load("photos"), own)
    page.locator("button", has_text="Save").first.click()
    with page.expect_download() as coming:
        page.locator(".vv-save-items button", has_text="safetensors").first.click()
    saved = Analysis.load(coming.value.path())
    assert saved.photo_name == "my photo.jpg"
    assert (saved.trace.logits - ours.trace.logits).abs().max() < 1e-3
    page.keyboard.press("Escape")
    # An experiment, a reload and another shipped model are the page's, too.
    seen.open_panel("Experiment")
    page.get_by_role("button", name="the most attended").first.click()
    seen.is_(beside="experiment", state="ready")
    assert page.locator(".vv-computed").inner_text().startswith("Computed in this page")
    address_says(page, panel="experiment", beside="experiment")
    page.reload()
    seen.ready("my photo.jpg")
    seen.is_(beside="experiment", state="ready")
    assert page.locator(".vv-here").is_visible()
    seen.choose_model("Handwritten digits")
    seen.ready("my photo.jpg · ")
    page.wait_for_function("location.search.includes('model=mnist')")
    assert page.locator(".vv-here").is_visible()
    page.go_back()
    page.wait_for_function("location.search.includes('model=photos')")
    seen.ready("my photo.jpg")
    assert sent(seen) == []
    # An example is the server's again.
    page.get_by_role("button", name="dog", exact=True).click()
    seen.ready("dog.jpg")
    assert page.locator(".vv-here").count() == 0


def test_the_weights_come_while_a_photo_is_chosen_and_where_they_do_not_it_goes_as_it_went(
    visit, own
) -> None:
    seen = visit("?model=photos", fresh=True)
    seen.page.route(WEIGHTS, lambda route: route.abort())
    with seen.page.expect_request(WEIGHTS), seen.page.expect_file_chooser() as chooser:
        seen.page.get_by_role("button", name="Your photo").first.click()
    chooser.value.set_files(own)
    seen.ready(own.name)
    assert len(sent(seen)) == 1
    assert seen.page.locator(".vv-here").count() == 0
    seen.complaints.clear()  # of the file that did not come


def test_a_photo_is_not_lost_where_gradio_makes_its_input_anew_meanwhile(visit, own) -> None:
    seen = visit("?model=photos")
    with seen.page.expect_file_chooser() as chooser:
        seen.page.locator("#vv-upload").click()
    seen.page.locator("#vv-photo input[type=file]").evaluate(
        "input => input.replaceWith(input.cloneNode())"
    )
    chooser.value.set_files(own)
    seen.ready(own.name)
    assert sent(seen) == []


def test_the_server_is_asked_before_it_gets_a_photo_and_a_no_stands(visit, own, small) -> None:
    seen = visit("?model=photos")
    page = seen.page
    seen.bring(own)
    page.locator(".vv-layer input").nth(3).check()
    seen.is_(layer=3)
    assert not page.locator(".vv-consent").is_visible()
    asked = len(seen.requests)
    seen.open_panel("Explanations")  # which the page computes
    page.locator(".vv-explanation canvas").first.wait_for()
    assert not page.locator(".vv-consent").is_visible()
    # A figure is offered of what has come.
    expect(page.locator(".vv-explanation", has_text="s here")).to_have_count(2, timeout=PATIENCE_MS)
    page.locator("button", has_text="Save").first.click()
    page.locator(".vv-save-items button", has_text="SVG").first.click()
    page.locator(".vv-consent", has_text=QUESTION).wait_for()
    page.keyboard.press("Escape")
    assert sent(seen) == []
    seen.open_panel("Rollout")
    assert not page.locator(".vv-consent").is_visible()
    seen.open_panel("Explanations")
    assert not [one for one in seen.requests[asked:] if "component_server" in one]
    page.get_by_role("button", name="Send this photo").click()
    page.wait_for_function("!document.querySelector('.vv-here')")
    seen.ready("my photo.jpg")
    seen.is_(panel="explain", layer=3)
    assert len(sent(seen)) == 1
    page.locator(".vv-explanation-body canvas").first.wait_for()
    assert not page.locator(".vv-consent").is_visible()
    page.reload()
    seen.ready("my photo.jpg")
    seen.is_(panel="explain", layer=3)
    assert page.locator(".vv-here").count() == 0
    # A no stands for the photo until it is taken back.
    seen.open_panel("Attention")
    question = page.locator(".vv-consent")
    send, keep = (
        question.get_by_role("button", name=one, exact=True)
        for one in ("Send this photo", "Do not send")
    )
    seen.bring(small)
    before = len(sent(seen))
    for name, says in (("SVG", QUESTION), ("PDF", "the photo was not sent")):  # asked once
        page.locator("button", has_text="Save").first.click()
        page.locator(".vv-save-items button", has_text=name).first.click()
        page.locator(".vv-note", has_text=says).wait_for()
        page.keyboard.press("Escape")
        question.filter(has_text=says).wait_for()
        assert send.is_visible()
        if says == QUESTION:
            keep.focus()
            page.keyboard.press("Enter")
        assert not keep.is_visible()
        assert send.evaluate("one => one === document.activeElement") or says != QUESTION
    seen.choose_model("tiny-cls")  # a new wish, so a new question
    keep.click()
    seen.model_is("Everyday photos, 100 kinds of things")
    seen.ready("small.png")
    assert page.locator(".vv-here").is_visible()
    assert len(sent(seen)) == before
    seen.choose_model("tiny-cls")
    send.click()
    seen.ready("small.png · tiny-cls")
    assert len(sent(seen)) == before + 1


def test_the_question_is_in_sight_wherever_its_cause_was_pressed(visit, own, small) -> None:
    """On a phone it stood a screen below what was pressed."""
    seen = visit("?model=photos&panel=explain", viewport=LAPTOP["viewport"])
    page = seen.page
    for photo, size in ((own, LAPTOP), (small, PHONE)):
        page.set_viewport_size(size["viewport"])
        seen.bring(photo)
        if size is PHONE:
            page.locator("summary", has_text="Head, colours, saving").click()
        else:
            page.evaluate("scrollTo(0, 2000)")
            assert page.evaluate("scrollY") > 100
        page.locator("select", has=page.locator("option[value=untrained]")).select_option(
            "untrained"
        )
        question = page.locator(".vv-consent", has_text=QUESTION)
        question.wait_for()
        for one in question.locator("button").all():
            expect(one).to_be_in_viewport(ratio=1)
            box = one.bounding_box()
            on_top = "([x, y]) => document.elementFromPoint(x, y).textContent"
            middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
            assert page.evaluate(on_top, middle) == one.inner_text()
        at = page.evaluate("scrollY")
        question.get_by_role("button", name="Do not send").click()
        page.locator(".vv-consent", has_text="the photo was not sent").wait_for()
        assert page.evaluate("scrollY") == at
    assert sent(seen) == []


def test_a_file_that_only_python_opens_is_asked_about_before_it_is_sent(
    visit, own, pictures
) -> None:
    """A small model's photos stay on the device, and a TIFF was uploaded without a word."""
    seen = visit("?model=photos", **PHONE)
    page = seen.page
    page.evaluate("scrollTo(0, 0)")
    question = page.locator(".vv-consent", has_text="Only the server can open scan.tiff")
    seen.upload(pictures["scan"])
    keep = question.get_by_role("button", name="Do not send")
    expect(keep).to_be_in_viewport(ratio=1)
    open_panel(page, "Rollout")
    keep.click()
    expect(question).to_be_hidden()
    seen.upload(pictures["scan"])
    question.wait_for()
    seen.bring(own)  # another wish
    expect(question).to_be_hidden()
    assert sent(seen) == []
    seen.send(pictures["scan"])
    expect(question).to_be_hidden()
    assert len(sent(seen)) == 1
    page.reload()
    seen.ready("scan.tiff")


SEVERAL = {
    "en": "Of 3 files only $&.png was opened",
    "ko": "파일 3개 가운데 $&.png만 열었습니다",
}


def several(seen, data: bytes, language: str) -> None:
    """The page says which one is shown; nothing was said of the others."""
    page, said = seen.page, seen.page.locator("#vv-said")
    page.evaluate("language => { document.documentElement.lang = language; }", language)
    drop(page.locator("body"), data, "notes.txt", "$&.png", "b.png")
    seen.ready("$&.png")
    said.filter(has_text=SEVERAL[language]).wait_for()
    drop(page.locator("body"), data, "alone.png")
    seen.ready("alone.png")
    assert not said.is_visible()


def test_photos_stay_however_they_come_and_what_is_none_is_said(
    visit, own, small, pictures
) -> None:
    seen = visit("?model=photos", permissions=["camera"])
    page = seen.page
    seen.bring(own)
    for name, says in (("text", "it is text"), ("empty", "is empty (0 bytes)")):
        seen.upload(pictures[name])
        page.locator("#vv-said").filter(has_text=says).wait_for()
        seen.ready("my photo.jpg")
    # Dropped, pasted and snapped.
    drop(page.locator("body"), small.read_bytes(), "dropped.png")
    seen.ready("dropped.png")
    drop(page.locator("body"), own.read_bytes(), "pasted.jpg", pasted=True)
    seen.ready("pasted.jpg")
    page.locator("#vv-camera").click()
    page.wait_for_function("document.querySelector('.vv-living')?.dataset.frames > 2")
    page.get_by_role("button", name="Keep this picture").click()
    seen.ready("webcam.png")
    assert page.locator(".vv-here").is_visible()
    assert not page.locator("#vv-photo").is_visible()
    assert sent(seen) == []
    # Several at once; in Korean the words of the page are others.
    for language in SEVERAL:
        several(seen, small.read_bytes(), language)
    assert sent(seen) == []
    page.evaluate("document.documentElement.lang = 'en'")
    # Python alone can open this one.
    seen.send(pictures["scan"])
    assert not page.locator("#vv-said").is_visible()
    assert len(sent(seen)) == 1
    assert page.locator(".vv-here").count() == 0
    # Several that are sent.
    page.get_by_role("button", name="dog", exact=True).click()
    seen.ready("dog.jpg")
    seen.choose_model("tiny-cls")
    seen.ready("dog.jpg · tiny-cls")
    for language in SEVERAL:
        several(seen, small.read_bytes(), language)


def test_what_is_no_picture_keeps_no_example_back_and_a_drawn_digit_is_not_uploaded(visit) -> None:
    """Its answer asked for that file in its place: an error, and no example was shown."""
    asked, weights = Held(), Held()
    seen = visit("?model=photos", before=lambda page: page.route(WEIGHTS, weights.hold))
    page = seen.page
    page.route(QUEUE, asked.hold)
    with page.expect_request(QUEUE):
        page.locator("#vv-examples button").nth(1).click()
    drop(page.locator("body"), b"hello", "none.jpg")
    page.wait_for_function("vitviz.photos.shown?.name === 'none.jpg'")
    page.evaluate("""() => {
        let { shown } = vitviz.photos;
        Object.defineProperty(vitviz.photos, "shown", {
            get() { window.answered = true; return shown; },
            set(photo) { shown = photo; },
        });
    }""")
    asked.go()
    page.wait_for_function("window.answered")  # the example is here
    weights.go()
    page.locator("#vv-said").filter(has_text="'none.jpg' is not a picture").wait_for()
    page.locator(".vv-names").filter(has_not_text="red-panda.jpg").wait_for()
    assert page.evaluate("vitviz.photos.shown") is None
    # A drawn digit is answered, kept, and not uploaded.
    page.locator("#vv-draw").click()
    for stroke in (SEVEN, ((0.3, 0.55), (0.75, 0.55))):
        with answered(seen):
            draw(page, stroke)
    seen.model_is("Handwritten digits")
    assert page.locator(".vv-drawing-word").inner_text() != ""
    name = page.locator(".vv-drawing").get_attribute("data-shown")
    comes_to(page, KEPT, [name])
    assert sent(seen) == []


def test_a_page_with_its_model_is_taken_home(visit, open_page, own, tmp_path) -> None:
    seen = visit("?model=photos&example=dog", wait_for="dog.jpg")
    page = seen.page
    page.locator("button", has_text="Save").first.click()
    take = page.locator(".vv-take")
    promised = take.get_by_text("The page will have about")
    without = float(promised.inner_text().split()[-2])
    take.get_by_text("With the model").click()
    with page.expect_download() as coming:
        take.get_by_role("button", name="Make the page").click()
    coming.value.save_as(tmp_path / "home.html")
    text = (tmp_path / "home.html").read_text("utf-8")
    size = float(promised.inner_text().split()[-2])
    assert size > without + 7
    assert len(text.encode()) / 1e6 == pytest.approx(size, rel=0.1)
    home = open_page(text, locale="en-US")
    home.locator(".vv-names", has_text="dog.jpg").wait_for()
    home.locator("input[type=file]").first.set_input_files(own)
    home.locator(".vv-names", has_text="my photo.jpg").wait_for()
    (best,) = analyze(load("photos"), own).predictions(1)
    home.get_by_role("tab", name="Predictions").click()
    rows = table(home, "classes")
    assert (int(rows[0]["class"]), float(rows[0]["probability"])) == (
        best.index,
        pytest.approx(best.probability, abs=1e-5),
    )
