"""A photo of one's own arrives as a photo: bright, under the map of its answer."""

import shutil
from pathlib import Path

import matplotlib
import pytest

from vitviz.web.store.examples import FOLDER

LAYER = ".vv-steering input[type=range]"
KEPT = 0.6  # of its mean brightness
# Photographs that the first view was not chosen for; as uploads the examples are nobody's.
PHOTOGRAPHS = (
    Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg",
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
SETTLED = """() => document.querySelector(".vv-stage .vv-photograph:not([hidden])")
    && document.querySelector(".vv-stage .vv-overlay").getAnimations().length === 0"""
MOTION = "node => getComputedStyle(node).animationName"


@pytest.fixture
def uploads(tmp_path) -> list[Path]:
    """The photographs by names that no example has."""
    return [Path(shutil.copy(one, tmp_path / f"my-{one.name}")) for one in PHOTOGRAPHS]


def test_an_upload_is_bright_under_the_map_of_its_answer(visit, uploads) -> None:
    seen = visit("?model=photos")
    seen.is_(layer=1, head=2)  # chosen for the red panda alone
    for photo in uploads:
        seen.upload(photo)
        seen.ready(photo.name)
        seen.is_(layer=5, head="mean", token=0, pinned="false", panel="attention")
        assert seen.text(".vv-saying").startswith("Bright: where CLS takes most from.")
        assert seen.page.locator(".vv-stage .vv-overlay").evaluate(MOTION) == "vv-arrive"
        seen.page.wait_for_function(SETTLED)
        assert seen.page.evaluate(LEFT) >= KEPT, photo.name


def test_what_a_visitor_has_chosen_stays_for_the_next_photo_and_nothing_moves(
    visit, uploads
) -> None:
    seen = visit("?model=photos", reduced_motion="reduce")
    seen.open_panel("Positions")  # borrows a patch, which nobody has chosen
    seen.upload(uploads[0])
    seen.ready(uploads[0].name)
    seen.is_(panel="positions", layer=5, head="mean")
    assert seen.page.locator(".vv-stage .vv-overlay").evaluate(MOTION) == "none"
    seen.open_panel("Attention")
    seen.is_(token=0)
    seen.page.locator(LAYER).first.fill("3")
    seen.upload(uploads[1])
    seen.ready(uploads[1].name)
    seen.is_(layer=3, head="mean", token=0)
    seen.page.get_by_role("button", name="dog", exact=True).click()
    seen.ready("dog.jpg")
    seen.is_(layer=3)
