"""The camera's living picture: answered in the page, frame after frame, and never sent."""

import base64
from dataclasses import replace
from functools import cache

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.test_site import shares_of
from tests.models import photo, tiny
from vitviz import analyze, load
from vitviz.payload import page as one_file
from vitviz.web.store.examples import FOLDER

# What is wanted of the browser and of the model, and the picture that is kept.
WATCH = """
    window.seen = { tracks: [], wishes: [], kept: null };
    const ask = navigator.mediaDevices?.getUserMedia;
    if (ask) navigator.mediaDevices.getUserMedia = async (wanted) => {
        const stream = await ask.call(navigator.mediaDevices, wanted);
        seen.tracks.push(...stream.getTracks());
        return stream;
    };
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (question, ...rest) {
        if (question.wish) seen.wishes = [...seen.wishes.slice(-9), question.wish.interventions];
        return post.call(this, question, ...rest);
    };
    const write = HTMLCanvasElement.prototype.toBlob;
    HTMLCanvasElement.prototype.toBlob = function (done, type, ...rest) {
        if (!type) seen.kept = this.toDataURL("image/png");
        return write.call(this, done, type, ...rest);
    };
"""
LIVE = "document.querySelector('.vv-living')?.dataset.frames"
TRACKS = "seen.tracks.map(({ kind, readyState }) => kind + ' ' + readyState)"


@cache
def dog() -> str:
    return one_file(analyze(load("photos"), FOLDER / "dog.jpg"), engine=True)


@pytest.fixture
def filming(open_page):
    """Open the page of one file, and its camera."""

    def opened(script: str = WATCH, html: str | None = None, **options):
        shown = html or dog()
        tab = open_page(f"<script>{script}</script>" + shown, locale="en-US", **options)
        tab.locator("[data-state=ready]").wait_for()
        tab.get_by_role("button", name="Camera", exact=True).click()
        tab.locator(".vv-living").wait_for()
        return tab

    return opened


def answers(tab, more: int = 3) -> int:
    """Wait until so many more frames are answered; how many are by then."""
    begun = int(tab.evaluate(LIVE) or 0)
    return tab.wait_for_function(f"Number({LIVE}) >= {begun + more} && {LIVE}").json_value()


AWAY = """MediaStreamTrack.prototype.getSettings = () => ({ facingMode: "environment" });"""
LEFT = "getComputedStyle(document.querySelector('.vv-living .vv-pixels').parentNode).transform"


def test_frames_are_a_mirror_of_who_looks_and_the_one_that_is_kept_is_an_ordinary_photo(
    filming, tmp_path
) -> None:
    """A mirror for the eye alone: a photo that is kept has left on the left."""
    tab = filming()
    living = tab.locator(".vv-living")
    place = living.locator(".vv-picture")
    for at, facing in enumerate(("matrix(-1, 0, 0, 1, 0, 0)", "none")):
        if at:  # the camera looks away from the person
            tab.evaluate(AWAY + "seen.kept = null")
            tab.get_by_role("button", name="Camera", exact=True).click()
        answers(tab)
        assert tab.evaluate(TRACKS) == [*at * ["video ended"], "video live"]  # no sound
        assert tab.evaluate(LEFT) == facing
        living.get_by_role("button", name="Stop").click()
        assert tab.evaluate(TRACKS) == [*at * ["video ended"], "video ended"]
        living.get_by_text("The camera is off.").wait_for()
        word = living.locator(".vv-drawing-word").inner_text()  # of the last frame, which stays
        note = place.locator("p").evaluate("(node) => getComputedStyle(node).transform")
        assert note == facing  # its text is turned twice
        drawn = place.locator(".vv-pixels").evaluate("(node) => node.toDataURL('image/png')")
        living.get_by_role("button", name="Keep this picture").click()
        tab.wait_for_function("seen.kept")
        assert tab.evaluate("seen.kept") == drawn
        tab.locator(".vv-names", has_text="webcam.png").wait_for()
        assert living.count() == 0
        if at == 0:
            is_an_ordinary_photo(tab, word, tmp_path / "webcam.png")


def is_an_ordinary_photo(tab, word: str, kept) -> None:
    """The page shows what the camera kept, with the shares of Python."""
    assert word.lower() in tab.locator(".vv-title h2").inner_text().lower()
    kept.write_bytes(base64.b64decode(tab.evaluate("seen.kept").partition(",")[2]))
    assert len(Image.open(kept).convert("RGB").getcolors(2**20)) > 1  # a picture, and not black
    found = shares_of(tab)
    exact = analyze(load("photos"), kept).predictions(len(found))
    shares = [one.probability for one in sorted(exact, key=lambda one: one.index)]
    assert found == pytest.approx(shares, abs=1e-5)


COFFEE = """
    const picture = new Image();
    picture.src = "%s";
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [480, 480];
    const paint = () => {
        canvas.getContext("2d").drawImage(picture, 0, 0, 480, 480);
        requestAnimationFrame(paint);
    };
    paint();
    navigator.mediaDevices.getUserMedia = async () => canvas.captureStream();
"""


# A green field with a red edge, an eighth of it wide.
EDGED = """
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [480, 480];
    const paint = () => {
        const pen = canvas.getContext("2d");
        for (const [colour, ...box] of [["red", 0, 0, 480, 480], ["green", 60, 60, 360, 360]]) {
            pen.fillStyle = colour;
            pen.fillRect(...box);
        }
        requestAnimationFrame(paint);
    };
    paint();
    navigator.mediaDevices.getUserMedia = async () => canvas.captureStream();
"""


def test_under_the_patches_lies_the_part_of_a_frame_that_the_model_sees(filming) -> None:
    loaded = tiny("cls")
    middle = replace(loaded, preprocess=replace(loaded.preprocess, crop_pct=0.5))
    tab = filming(EDGED, html=one_file(analyze(middle, photo()), engine=True))
    answers(tab)
    reddest = """(node) => node.getContext("2d").getImageData(0, 0, node.width, node.height).data
        .reduce((most, value, at) => at % 4 === 0 ? Math.max(most, value) : most, 0)"""
    assert tab.locator(".vv-living .vv-pixels").evaluate(reddest) < 40


SHADES = """(node) => new Set(
    node.getContext("2d").getImageData(0, 0, node.width, node.height).data).size"""


def test_what_it_names_is_ticked_off_and_a_wrong_answer_is_kept_until_it_is_taken_away(
    filming,
) -> None:
    coffee = base64.b64encode((FOLDER / "coffee.jpg").read_bytes()).decode()
    tab = filming(COFFEE % f"data:image/jpeg;base64,{coffee}")
    hand = tab.locator(".vv-at-hand")
    named = hand.locator("li[data-found]")
    assert hand.get_by_text("It has named 1 of the 11 things at hand that it knows:").text_content()
    assert named.all_inner_texts() == ["espresso"]
    assert "espresso" in tab.locator(".vv-drawing-word").inner_text()
    # A visitor marks the answer to an espresso as wrong: the page believes them.
    found = tab.locator(".vv-mistaken li button")
    assert found.count() == 0
    tab.get_by_role("button", name="That is wrong").click()
    assert "espresso" in found.inner_text()
    kept = found.locator("canvas")
    assert kept.evaluate(SHADES) > 20  # a picture, not one colour
    # It is turned as the picture of the camera is, which is a mirror for who sits before it.
    turned = [
        place.evaluate("node => getComputedStyle(node).transform")
        for place in (kept, tab.locator(".vv-living .vv-picture"))
    ]
    assert turned == ["matrix(-1, 0, 0, 1, 0, 0)"] * 2
    tab.get_by_text("Taken for something else: 1.").wait_for()
    found.click()
    tab.get_by_text("Find what it takes for something else").wait_for()
    # With patches out the answer is not the one to the picture.
    tab.locator(".vv-living .vv-picture").click(position={"x": 20, "y": 20})
    wrong = tab.get_by_role("button", name="That is wrong")
    expect(wrong).to_have_attribute("aria-disabled", "true")


def test_patches_are_taken_out_of_the_living_picture(filming) -> None:
    tab = filming()
    answers(tab)
    picture, living = tab.locator(".vv-living .vv-picture"), tab.locator(".vv-living")
    box = picture.bounding_box()
    # The third column from the left is on the right: people see themselves as in a mirror.
    picture.click(position={"x": box["width"] * 9.5 / 12, "y": box["height"] * 1.5 / 12})
    tab.wait_for_function("seen.wishes.at(-1)?.[0]?.patches.join() === '14'")
    assert tab.evaluate("seen.wishes.at(-1)[0].kind") == "remove"
    # By the keyboard, away from the right edge and down. An answer may be told right after it.
    tab.evaluate("""() => {
        const place = document.querySelector(".vv-living .vv-heard");
        seen.heard = [];
        new MutationObserver(() => seen.heard.push(place.textContent))
            .observe(place, { childList: true, characterData: true, subtree: true });
    }""")
    for key in ("ArrowLeft", "ArrowDown", "Enter"):
        picture.press(key)
    tab.wait_for_function("seen.wishes.at(-1)?.[0]?.patches.join() === '13,14'")
    tab.wait_for_function("seen.heard.includes('row 1, col 1: taken out')")
    picture.press("Enter")
    tab.wait_for_function("seen.wishes.at(-1)?.[0]?.patches.join() === '14'")
    living.get_by_role("button", name="Put all patches back").click()
    tab.wait_for_function("seen.wishes.at(-1)?.length === 0")
    answers(tab)
    # The page's own controls are those that they were, in another language too.
    assert tab.get_by_role("group", name="Head").get_by_role("radio", checked=True).count() == 1
    tab.get_by_role("button", name="한국어").click()
    living.get_by_role("button", name="이 장면 쓰기").wait_for()
    answers(tab)
    assert tab.evaluate(TRACKS) == ["video live"]


BROKEN = """
    const sent = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (question, ...rest) {
        if (window.broken && question.wish) this.dispatchEvent(new ErrorEvent("error"));
        else sent.call(this, question, ...rest);
    };
"""


def test_the_camera_is_off_when_nobody_looks_and_when_the_engine_stops_which_is_said(
    filming,
) -> None:
    tab = filming(WATCH + BROKEN)
    answers(tab)
    living, off = tab.locator(".vv-living"), ["video ended"]
    tab.evaluate(
        """Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
        document.dispatchEvent(new Event("visibilitychange"))"""
    )
    tab.get_by_text("because nobody saw this page").wait_for()
    assert tab.evaluate(TRACKS) == off
    tab.evaluate("delete document.hidden")
    living.get_by_role("button", name="Start").click()
    camera = tab.get_by_role("button", name="Camera", exact=True)
    for at, leave in enumerate(
        (
            living.get_by_role("button", name="Close").click,
            lambda: tab.keyboard.press("Escape"),
            camera.click,
            tab.get_by_role("button", name="dog.jpg").click,
            lambda: tab.evaluate("window.dispatchEvent(new Event('pagehide'))"),
        ),
        1,
    ):
        answers(tab)
        assert tab.evaluate(TRACKS) == [*off * at, "video live"]
        leave()
        tab.wait_for_function(f"{TRACKS}.join() === '{','.join(off * (at + 1))}'")
        stays = at == 5  # a page that is left can come back as it was
        for part in (living, tab.locator(".vv-writing")):  # with the next drawing
            expect(part).to_have_count(int(stays))
        if at < 3:  # the keyboard is back where the camera was opened
            expect(camera).to_be_focused()
        if not stays:
            camera.click()
            living.wait_for()
    # A button that goes when it is pressed leaves the keyboard on the picture: it was on the page
    # then, far from the camera.
    living.get_by_role("button", name="Start").click()
    answers(tab)
    for pressed, other in (("Stop", "Start"), ("Start", "Stop")):
        living.get_by_role("button", name=pressed).press("Enter")
        living.get_by_role("button", name=other).wait_for()
        tab.wait_for_function("document.activeElement.matches('.vv-living .vv-picture')")
        assert tab.evaluate(TRACKS)[-1] == f"video {'ended' if pressed == 'Stop' else 'live'}"
    answers(tab)
    tab.evaluate("window.broken = true")
    living.get_by_text("The model in this page has stopped").wait_for()
    assert tab.evaluate(TRACKS)[-1] == "video ended"
    assert living.get_by_role("button", name="Start", exact=True).is_hidden()
    tab.complaints[:] = [one for one in tab.complaints if "stopped twice" not in one]


REFUSED = (
    "navigator.mediaDevices.getUserMedia = async () => {{ throw new DOMException('', '{}'); }}"
)


def test_where_there_is_no_camera_a_sentence_says_why(filming) -> None:
    tab = filming(REFUSED.format("NotAllowedError"))
    living = tab.locator(".vv-living")
    for script, said in (
        ("0", "This page may not use the camera."),
        (REFUSED.format("NotFoundError"), "There is no camera here."),
        (REFUSED.format("NotReadableError"), "The camera does not answer"),
        ("delete Navigator.prototype.mediaDevices", "Browsers give the camera only to pages"),
    ):
        tab.evaluate(f"{script}; 0")
        if script != "0":
            living.get_by_role("button", name="Start").click()
        living.get_by_text(said).wait_for()
        assert living.get_by_role("button", name="Start").is_visible()
        assert living.get_by_role("button", name="Stop").count() == 0
