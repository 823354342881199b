"""Fool it, in the page: the picture of Python, noise, where it takes over, undo and links."""

import base64
import io
import os
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import LAPTOP, PHONE, is_too_wide, speak
from vitviz import analyze, load
from vitviz.web.store.examples import FOLDER

PANDA = FOLDER / "red-panda.jpg"
FOOL = ".vv-experiment details:has(.vv-fool)"
PICTURES = "nodes => nodes.map((node) => node.toDataURL('image/png'))"


@pytest.fixture(scope="module")
def fooled():
    return analyze(load("photos"), PANDA).fool()


def shown(page) -> list[np.ndarray]:
    """The three pictures, as their canvases hold them."""
    urls = page.locator(".vv-fool canvas").evaluate_all(PICTURES)
    files = [io.BytesIO(base64.b64decode(url.split(",")[1])) for url in urls]
    return [np.asarray(Image.open(file).convert("RGB")) for file in files]


def leads_from(analysis) -> int:
    """The first layer from which on the lens has the answer first."""
    leads = (analysis.lens.argmax(dim=-1) == analysis.lens[-1].argmax()).tolist()
    return len(leads) - (leads[::-1].index(False) if False in leads else len(leads))


def fool(page, level: int) -> None:
    page.locator(f"{FOOL} summary").click()
    page.locator(f"{FOOL} input[type=range]").fill(str(level))


def test_the_page_fools_the_model_as_python_does_by_a_link_at_home_and_toward_a_target(
    visit, open_page, fooled
) -> None:
    seen = visit("?model=photos&panel=experiment")
    page = seen.page
    fool(page, 4)
    said, noise = page.locator(f"{FOOL} .vv-reading").first, page.locator(f"{FOOL} .vv-note").nth(1)
    before, after = "red panda", fooled.analysis.predictions(1)[0].label  # it has a shorter name
    expect(said).to_contain_text(f"is now {after} instead of {before}")
    photo, change, picture = shown(page)
    assert np.array_equal(photo, fooled.clean.picture.numpy())
    mine = fooled.analysis.picture.numpy()
    assert (picture == mine).mean() >= 0.99
    moved = picture.astype(int) - photo
    assert np.array_equal(change, np.clip(128 + 16 * moved, 0, 255))
    expect(said).to_contain_text(f"more than {abs(moved).max()} of 255")
    assert not fooled.control_turned
    expect(noise).to_have_text(f"Random noise of ±4: still {before}.")
    # Where does it take over?
    page.get_by_role("button", name="Where does it take over?").click()
    found = page.locator(f"{FOOL} .vv-reading").nth(1)
    patches, cls = (fooled.restored(part).returns.tolist() for part in ("patches", "cls"))
    last = patches.index(False) - 1 if False in patches else len(patches) - 1
    expect(found).to_contain_text(f"Clean patches bring {before} back up to layer {last}")
    since = len(cls) - cls[::-1].index(False)
    expect(found).to_contain_text(
        f"layer {since} on" if since < len(cls) else "does not bring it back"
    )
    lens = page.locator(f"{FOOL} .vv-reading").nth(2)
    clean, changed = (leads_from(one) for one in (fooled.clean, fooled.analysis))
    expect(lens).to_contain_text(f"the photo is {before} from layer {clean} on")
    expect(lens).to_contain_text(f"{after} from layer {changed} on")
    for at in (0, 1):
        expect(page.locator(f"{FOOL} .vv-linechart").nth(at)).to_be_visible()
    # Both curves follow the layer, by keys as well.
    plots = page.locator(f"{FOOL} .vv-plot")
    plots.first.press("Home")
    for layer in ("1", "2"):
        plots.first.press("ArrowRight")
        for plot in plots.all():
            expect(plot).to_have_attribute("aria-valuenow", layer)
    # The larger file is Pillow's.
    with page.expect_download() as larger:
        page.get_by_role("button", name="Save it larger").click()
    theirs = Image.fromarray(picture).resize((216, 216), Image.Resampling.BICUBIC)
    saved = Image.open(larger.value.path()).convert("RGB")
    assert np.array_equal(np.asarray(saved), np.asarray(theirs))
    # A link holds it, and undo takes it back.
    expect(page).to_have_url(re.compile("perturb_away_4_8_0"))
    page.get_by_role("button", name="Undo", exact=False).last.click()
    expect(page.locator(".vv-fool")).to_be_hidden()
    again = visit("?model=photos&panel=experiment&experiment=perturb_away_4_8_0&beside=experiment")
    again.page.locator(f"{FOOL} summary").click()
    expect(again.page.locator(f"{FOOL} .vv-reading").first).to_contain_text(f"is now {after}")
    # One may be the server's picture, the other that of the page.
    assert (shown(again.page)[2] == picture).mean() >= 0.99
    expect(again.page.get_by_role("button", name="Where does it take over?")).to_be_visible()
    # A page to take home holds it.
    again.page.locator("button", has_text="Save").first.click()
    take = again.page.locator(".vv-take")
    take.get_by_text("With the model").click()
    with again.page.expect_download() as coming:
        take.get_by_role("button", name="Make the page").click()
    home = open_page(Path(coming.value.path()).read_text("utf-8"), locale="en-US")
    home.locator(f"{FOOL} summary").click()
    expect(home.locator(f"{FOOL} .vv-reading").first).to_contain_text(f"is now {after}")
    assert (shown(home)[2] == mine).mean() >= 0.99
    # A target is chosen, and level 0 is the photo.
    near = fooled.clean.predictions(3)[2]
    page.locator(f"{FOOL} input[type=range]").fill("8")
    page.locator(f"{FOOL} select").select_option(str(near.index))
    expect(said).to_contain_text(f"is now {near.label}")
    expect(page).to_have_url(re.compile(f"perturb_{near.index}_8_8_0"))
    page.locator(f"{FOOL} input[type=range]").fill("0")
    expect(page.locator(".vv-fool")).to_be_hidden()
    expect(page.locator(".vv-done li")).to_have_count(0)


def test_a_class_of_the_same_group_is_named_so(visit) -> None:
    """A dog that becomes another dog."""
    for example, is_same in (("dog", True), ("goldfish", False)):
        link = f"?model=photos&example={example}&panel=experiment&beside=experiment"
        seen = visit(link + "&experiment=perturb_away_4_8_0", wait_for=f"{example}.jpg")
        seen.page.locator(f"{FOOL} summary").click()
        said = seen.page.locator(f"{FOOL} .vv-reading").first
        expect(said).to_contain_text("is now")
        told = re.compile(r"Both are of the same group: (a )?dog\.")
        if is_same:
            expect(said).to_contain_text(told)
        else:
            expect(said).not_to_contain_text("same group")


def test_a_link_puts_the_clean_cls_back(visit, fooled) -> None:
    """As the lesson does: the fooled picture, with the photo's own CLS before the last layer."""
    put = {"kind": "transplant", "patches": "cls", "layer": 5, "from": fooled.clean}
    ours = fooled.clean.operate([*fooled.analysis.interventions, put]).predictions(1)[0]
    assert ours.index == fooled.clean.class_index(None)
    text = "perturb_away_4_8_0*transplant_cls_5_itself"
    seen = visit(f"?model=photos&panel=experiment&experiment={text}&beside=experiment")
    answers = seen.page.locator(".vv-before-after")
    expect(answers).to_contain_text(f"red panda, {int(100 * ours.number)}.")
    expect(seen.page.locator(".vv-done li").last).to_contain_text("the unchanged picture")


@pytest.mark.parametrize("size", ["laptop", "phone"])
def test_it_fits_on_small_screens(visit, size: str) -> None:
    """`SHOTS=FOLDER` keeps a picture of each."""
    seen = visit("?model=photos&panel=experiment", **(LAPTOP if size == "laptop" else PHONE))
    page = seen.page
    fool(page, 4)
    page.locator(".vv-fool").wait_for()
    for language in ("en", "ko"):
        speak(page, language)
        if not page.locator(FOOL).evaluate("node => node.open"):
            page.locator(f"{FOOL} summary").click()
        page.locator(f"{FOOL} .vv-pair button").nth(2).click()
        page.locator(f"{FOOL} .vv-linechart").last.wait_for()
        page.locator(".vv-fool").scroll_into_view_if_needed()
        if folder := os.environ.get("SHOTS"):
            page.screenshot(path=Path(folder) / f"fool-{size}-{language}.png")
            page.locator(FOOL).screenshot(path=Path(folder) / f"fool-{size}-{language}-whole.png")
        assert not is_too_wide(page), language
