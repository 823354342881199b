"""Many pictures: sheet, order and figures are what `vitviz.survey` says of the same files."""

import csv
import io
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import drop
from tests.browser.test_links import address_says
from vitviz import analyze, load, survey
from vitviz.web.store.examples import FOLDER

NAMES = ["cat.jpg", "coffee.jpg", "dog.jpg", "goldfish.jpg"]
TILES = ".vv-sheet-tile"
ORDER = (
    "[...document.querySelectorAll('.vv-sheet-tile .vv-note')].map((one) => one.textContent).join()"
)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    (tmp_path / "broken.jpg").write_bytes(b"no picture")
    return [Path(shutil.copy(FOLDER / name, tmp_path)) for name in NAMES] + [
        tmp_path / "broken.jpg"
    ]


def saved(page, name: str) -> list[dict[str, str]]:
    """A table of the panel, as it is downloaded."""
    page.locator("button", has_text="Save").first.click()
    with page.expect_download() as coming:
        page.locator(".vv-save-items button", has_text=name).first.click()
    page.keyboard.press("Escape")
    return [*csv.DictReader(io.StringIO(Path(coming.value.path()).read_text(encoding="utf-8-sig")))]


def test_many_pictures_are_told_as_python_tells_them(visit, files) -> None:
    seen = visit("?model=photos&example=red-panda&panel=many", fresh=True)
    page = seen.page
    page.locator(".vv-many-tools input").set_input_files(files)
    expect(page.locator(TILES)).to_have_count(4)
    expect(page.locator("ul.vv-note:visible li")).to_contain_text("'broken.jpg' is not a picture")
    whole = survey(load("photos"), files, progress=False)
    said = {Path(one.picture).name: one for one in whole.pictures}
    told = saved(page, "answers to the pictures")
    assert [*told[0]] == whole.pictures_to_csv().splitlines()[0].split(",")
    assert [one["picture"] for one in told] == [*NAMES, "broken.jpg"]
    # The page opens fewer kinds of files, and names these.
    sentences = (told.pop()["sentence"], whole.broken[0].sentence)
    assert len({one.partition(" Allowed ")[0] for one in sentences}) == 1
    for one in told:
        python = said[one["picture"]]
        assert one["answer"] == python.answer
        assert one["known"] == str(python.known)
        assert float(one["probability"]) == pytest.approx(python.probability, abs=1e-3)
    rows, expected = saved(page, "distances of the heads"), whole.table()
    assert [[row["layer"], row["head"]] for row in rows] == [
        [str(row["layer"]), str(row["head"])] for row in expected
    ]
    for row, python in zip(rows, expected, strict=True):
        for part in ("distance", "distance_error"):
            assert float(row[part]) == pytest.approx(python[part], abs=0.02)
    far = whole.mean()
    found, told = page.locator(".vv-found:visible"), re.compile(r"look (.+) to (.+) pixels far")
    expect(found).to_contain_text(told)
    near_and_far = [float(one) for one in told.search(found.inner_text()).groups()]
    assert near_and_far == pytest.approx([float(far.min()), float(far.max())], abs=0.08)
    # Sorted by how sure, and back in the order in which they came.
    page.get_by_role("radio", name="how sure").check()
    sure = {
        one.name: analyze(load("photos"), one).answer().probability
        for one in files
        if one.name in NAMES
    }
    by = sorted(NAMES, key=lambda name: -sure[name])
    assert page.evaluate(ORDER) == ",".join(by)
    page.get_by_role("radio", name="order").check()
    assert page.evaluate(ORDER) == ",".join(NAMES)
    # One of them becomes the photo of the page, and the sheet stays.
    page.locator(".vv-sheet-tile").nth(3).click()
    seen.ready("goldfish.jpg")
    expect(page.locator(TILES)).to_have_count(4)
    assert not [one for one in seen.requests if "/upload" in one and "progress" not in one]
    # Another model sees the same photos.
    seen.choose_model("Handwritten digits")
    seen.ready("goldfish.jpg · Handwritten digits")
    expect(page.locator(TILES)).to_have_count(4)
    page.get_by_role("button", name="Take all away").click()
    expect(page.locator(TILES)).to_have_count(0)


def test_the_examples_stand_on_the_sheet_and_beside_the_photo(visit, files) -> None:
    seen = visit("?model=photos&example=cat&panel=many&lang=ko", "cat.jpg", fresh=True)
    page = seen.page
    page.locator(".vv-many-tools .vv-button").nth(1).click()
    count = 1 + page.locator(".vv-beside-choice option[value^='example-']").count()
    assert count >= 6
    expect(page.locator(TILES)).to_have_count(count)
    assert "고양이" in page.locator(".vv-sheet-tile").first.inner_text()
    sheet = page.locator(".vv-takes-photos:visible:has(.vv-sheet)")
    drop(sheet, files[1].read_bytes(), "dropped.jpg")
    expect(page.locator(TILES)).to_have_count(count + 1)
    # Beside the sheet, too: only what falls on the picture is the photo of the page.
    drop(page.locator("body"), files[2].read_bytes(), "beside.jpg")
    expect(page.locator(TILES)).to_have_count(count + 2)
    drop(page.locator("body"), files[3].read_bytes(), "pasted.jpg", pasted=True)
    expect(page.locator(TILES)).to_have_count(count + 3)
    assert "cat.jpg" in seen.text(".vv-names")
    page.locator(".vv-sheet-tile").nth(1).click()
    beside = page.locator(".vv-beside-choice option[value^='example-']").first
    address_says(page, beside=beside.get_attribute("value"))
    # The first one is the photo of the page, which stands alone then.
    itself = page.locator(".vv-sheet-tile").first
    assert itself.get_attribute("title").endswith("페이지의 사진")
    itself.click()
    address_says(page, beside=None)
    # A head is chosen in the chart, and marked there.
    dot = page.locator("figure:visible circle.vv-dot").first
    dot.click(force=True)
    address_says(page, layer=0)
    chosen = page.locator("figure:visible circle.vv-dot-chosen")
    expect(chosen).to_have_attribute("cx", dot.get_attribute("cx"))
