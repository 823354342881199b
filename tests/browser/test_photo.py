"""A photo of one's own arrives as a photo: lit where its answer comes from, and recognisable."""

import shutil
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import speak
from tests.browser.test_spotlight import DIMMEST
from tests.photographs import PHOTOGRAPHS as OF_PACKAGES
from vitviz import analyze, load
from vitviz.web.store.examples import FOLDER, START

LAYER = ".vv-layer input"
KEPT = 0.3  # of its mean brightness
SEEN = 0.25  # by which a square with three even shares is brighter than one with none
# Photographs that the first view was not chosen for; as uploads the examples are nobody's.
SAMPLES = Path(matplotlib.get_data_path()) / "sample_data"
PHOTOGRAPHS = (
    SAMPLES / "grace_hopper.jpg",
    *(FOLDER / name for name in ("bison.jpg", "cat.jpg", "goldfish.jpg")),
)
# How much of the mean brightness of the photograph is left under the map that lies over it.
LEFT = """() => {
    const find = (name) => document.querySelector(`.vv-stage ${name}:not([hidden])`);
    const [photo, map] = [find(".vv-photograph"), find(".vv-overlay")];
    const canvas = Object.assign(document.createElement("canvas"),
        { width: photo.width, height: photo.height });
    const context = canvas.getContext("2d");
    const light = () => context.getImageData(0, 0, canvas.width, canvas.height).data
        .reduce((sum, byte, at) => sum + (at % 4 === 3 ? 0 : byte), 0);
    context.drawImage(photo, 0, 0);
    const before = light();
    context.imageSmoothingEnabled = false;
    context.globalAlpha = Number(getComputedStyle(map).opacity);
    context.drawImage(map, 0, 0, canvas.width, canvas.height);
    return light() / before;
}"""
# The brightness that the map leaves each square.
LIGHT = """() => {
    const map = document.querySelector(".vv-stage .vv-overlay");
    const { data } = map.getContext("2d").getImageData(0, 0, map.width, map.height);
    return [...data].filter((_, at) => at % 4 === 3).map((alpha) => 1 - alpha / 255);
}"""
SETTLED = """() => document.querySelector(".vv-stage .vv-photograph:not([hidden])")
    && document.querySelector(".vv-stage .vv-overlay").getAnimations().length === 0"""
MOTION = "node => getComputedStyle(node).animationName"


@pytest.fixture
def uploads(tmp_path) -> list[Path]:
    """The photographs by names that no example has."""
    return [Path(shutil.copy(one, tmp_path / f"my-{one.name}")) for one in PHOTOGRAPHS]


MOST_UNREAD = 2  # of all, with every package installed


def is_readable(page, photo: Path) -> bool:
    """Whether the photograph is recognised under the map, and squares with much attention stand out
    from those with none.
    """
    page.wait_for_function(SETTLED)
    light = np.array(page.evaluate(LIGHT))
    analysis = analyze(load("photos"), photo)
    shares = analysis.grid.to_map(analysis.attention(5, None, 0)).numpy().ravel()
    strong = light[shares >= 3 / analysis.trace.num_tokens]
    assert light.max() == 1
    assert len(strong) > 0
    # As dark as its share says: where attention is nearly even, no square is dark.
    least = DIMMEST + (1 - DIMMEST) * (shares.min() / shares.max()) ** 0.5
    dark = light.min() - least < 0.02
    return page.evaluate(LEFT) >= KEPT and dark and strong.min() >= DIMMEST + SEEN


def test_an_upload_is_lit_where_its_answer_comes_from_and_a_refusal_has_no_percentage(
    visit, uploads, tmp_path
) -> None:
    seen = visit("?model=photos")
    seen.is_(layer=START["layer"], head=START["head"])  # chosen for the red panda alone
    for photo in uploads:
        seen.bring(photo)
        seen.is_(layer=5, head="mean", token=0, pinned="false", panel="attention")
        assert seen.text(".vv-saying").startswith("Bright: where CLS takes most from.")
        assert seen.page.locator(".vv-stage .vv-overlay").evaluate(MOTION) == "vv-arrive"
        assert is_readable(seen.page, photo), photo.name
    # Photographs that nobody tuned to.
    here = [path for path in (one.path() for one in OF_PACKAGES) if path]
    assert here  # matplotlib and gradio are always installed
    unread = []
    for path in here:
        photo = Path(shutil.copy(path, tmp_path / f"my-{path.name}"))
        seen.page.locator("#vv-photo input[type=file]").set_input_files(photo)
        seen.ready(photo.name)
        if not is_readable(seen.page, photo):
            unread.append(photo.name)
    assert len(unread) <= MOST_UNREAD, unread
    # A refusal has no percentage: in headline, title, drawing and experiment.
    logo = tmp_path / "logo2.png"
    with Image.open(SAMPLES / logo.name) as wide:
        wide.convert("RGB").resize((256, 256)).save(logo)
    answer = analyze(load("photos"), logo).answer()
    assert answer.level == "none"
    seen.upload(logo)
    seen.ready("logo2")
    none, guess = "Not one of my 100 things", f"if it had to choose: {answer.name}"
    assert seen.text(".vv-title h2") == none
    assert seen.text(".vv-says") == guess
    assert "%" not in seen.text(".vv-title")
    assert seen.page.title().startswith(f"{none} · logo2")
    seen.open_panel("Predictions")
    assert seen.text(".vv-panel:visible .vv-found").startswith("This picture scores below")
    seen.page.locator(".vv-lens polyline").first.wait_for(state="attached")
    assert "%" not in seen.text(".vv-lens")  # ranks are left
    assert not seen.page.locator(".vv-lens fieldset").is_visible()
    for told in (seen.page.locator(LAYER), seen.page.locator(".vv-lens .vv-plot-name")):
        labels = [one.get_attribute("aria-label") for one in told.all()]
        assert len(labels) >= 6
        assert "%" not in "".join(labels)
    seen.open_panel("Explanations")
    classes = seen.page.get_by_label("What is explained").locator("option").all_inner_texts()
    assert classes[0] == f"what comes nearest: {answer.name}"
    assert "%" not in "".join(classes)
    seen.open_panel("Experiment")
    seen.page.get_by_role("button", name="the most attended").first.click()
    seen.page.locator("[data-beside=experiment]").wait_for()
    before, after = seen.text(".vv-before-after").split(" · After: ")
    assert before == f"Before: {none}; {guess}"
    assert after
    assert "%" not in seen.text(".vv-both-bar.vv-side-0 b")
    for page in (seen.page, visit("?model=photos&panel=nowhere&example=cat", "cat.jpg").page):
        lists = page.locator(".vv-answers").first
        page.get_by_role("tab", name="Predictions").click()
        assert ("%" in lists.inner_text()) is (page is not seen.page)
    page.get_by_text("This link names what is not here: nowhere.").wait_for()


def test_what_a_visitor_has_chosen_stays_for_the_next_photo_and_nothing_moves(
    visit, uploads
) -> None:
    seen = visit("?model=photos", reduced_motion="reduce")
    seen.open_panel("Positions")  # borrows a patch, which nobody has chosen
    seen.bring(uploads[0])
    seen.is_(panel="positions", layer=5, head="mean")
    assert seen.page.locator(".vv-stage .vv-overlay").evaluate(MOTION) == "none"
    seen.open_panel("Attention")
    seen.is_(token=0)
    seen.page.locator(LAYER).nth(3).check()
    seen.bring(uploads[1])
    seen.is_(layer=3, head="mean", token=0)
    seen.page.get_by_role("button", name="dog", exact=True).click()
    seen.ready("dog.jpg")
    seen.is_(layer=3)


SAID = {
    "en": (
        "saw the middle {share}% of the photo",
        "The model looked at a grey copy, and knows digits only",
    ),
    "ko": (
        "사진의 가운데 {share}%만 보았습니다",
        "모델은 회색으로 바꾼 사진을 보았고, 숫자만 압니다",
    ),
}


def test_what_was_cut_away_is_told_and_leads_to_the_frame(visit, tmp_path) -> None:
    wide = tmp_path / "wide.png"
    Image.open(FOLDER / "cat.jpg").resize((600, 300)).save(wide)
    seen = visit("?model=photos")
    assert seen.page.locator(".vv-cut").count() == 0  # all but a square of it was seen
    seen.bring(wide)
    button = seen.page.locator(".vv-title .vv-cut")
    for language, (cut, _) in SAID.items():
        speak(seen.page, language)
        expect(button).to_have_text(cut.format(share=50))
    seen.page.keyboard.press("Escape")
    button.focus()
    seen.page.keyboard.press("Enter")
    seen.is_(panel="patches")
    frame = seen.page.locator(".vv-panel .vv-crop-frame")
    frame.wait_for()
    seen.page.wait_for_function(
        """() => {
            const framing = document.querySelector(".vv-panel .vv-framing");
            const { top, bottom } = framing.getBoundingClientRect();
            return top >= 0 && bottom <= innerHeight;
        }"""
    )
    assert "50.0%" in seen.text(".vv-panel .vv-framing")
    # In the model of digits it is in grey, too.
    seen.go("?model=mnist&example=cat", "cat.jpg")
    for language, (_, grey) in SAID.items():
        speak(seen.page, language)
        assert grey in seen.page.locator(".vv-photo-note").all_inner_texts()
    seen.go("?model=mnist&example=digit", "digit.png")
    assert seen.page.locator(".vv-photo-note").count() == 0


# How far the parts of the title reach beyond it, which of them are shorter than their text, and how
# wide the narrowest is that can be seen.
TITLE = """() => {
    const { right } = document.querySelector(".vv-title").getBoundingClientRect();
    const parts = [".vv-cut", ".vv-names", ".vv-names-line p + p"].map((part) =>
        document.querySelector(part)).filter((node) => node.checkVisibility());
    return {
        beyond: Math.max(...parts.map((node) => node.getBoundingClientRect().right - right)),
        cut: parts.filter((node) => node.scrollWidth > node.clientWidth + 1)
            .map((node) => [node.className, node.title.startsWith(node.textContent)]),
        least: Math.min(...parts
            .filter((node) => node.checkVisibility({ visibilityProperty: true }))
            .map((node) => node.getBoundingClientRect().width)),
    };
}"""


def test_names_that_are_cut_off_are_told_whole_and_nothing_widens_the_page(visit) -> None:
    """Half a window, a laptop, and a phone with text of 200 %."""
    page = visit("?model=photos&example=dog&panel=attention", wait_for="dog.jpg").page
    for width in (940, 1000, 1060, 1100, 1300, 1366):
        page.set_viewport_size({"width": width, "height": 700})
        page.wait_for_function("width => innerWidth === width", arg=width)
        page.wait_for_function(f"() => ({TITLE})().beyond <= 1")
        cut = page.evaluate(TITLE)["cut"]
        assert all(told for _, told in cut), (width, cut)
        assert (["vv-names", True] in cut) == (width < 1200), (width, cut)
    # A letter of a name looked like a bracket, and for want of a pixel a sentence ended in dots.
    cut = page.locator(".vv-cut")
    for text, widths in (("Chihuahua", (1280, 1366)), ("Chihuahua " * 3, (1100, 1366))):
        page.evaluate("(to) => document.querySelector('.vv-rivals span').textContent = to", text)
        for width in widths:
            page.set_viewport_size({"width": width, "height": 700})
            page.wait_for_function("width => innerWidth === width", arg=width)
            assert page.evaluate(TITLE)["least"] > 50, (text, width)
    assert cut.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".vitviz[data-size=narrow]").wait_for()
    page.add_style_tag(content=".vitviz { font-size: 32px !important }")
    sides = page.evaluate(
        """() => {
            const range = document.createRange();
            range.selectNodeContents(document.querySelector(".vv-cut"));
            const { left, right } = range.getBoundingClientRect();
            return [left, right];
        }"""
    )
    assert sides[0] >= 0
    assert sides[1] <= 390
