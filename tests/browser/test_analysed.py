"""A photo that never left the page: its manifest, files and numbers are those of Python."""

import base64
import io
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.torch import load as tensors_of
from torch.testing import assert_close

from tests.browser.test_pixels import bad_files
from tests.test_photo import encode, noise
from vitviz import Analysis, analyze, load, save
from vitviz.errors import ImageError
from vitviz.languages import say
from vitviz.model.menu import WEIGHTS_DIR
from vitviz.model.photo import open_photo
from vitviz.model.photo_levels import Look
from vitviz.payload import pack
from vitviz.payload.bundle import VIEWER, join
from vitviz.web.store.examples import EXAMPLES, FOLDER

ANALYSE = """async ([name, text, template, look, first]) => {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    const { engine, known } = await model;
    try {
        const made = await running.analysed({ file: new Blob([bytes]), name,
            template: JSON.parse(template), engine, known, ...look, ...(first ? { first } : {}) });
        if (!made) return null;
        const coded = (buffer) => {
            const bytes = new Uint8Array(buffer);
            let said = "";  // letter by letter it takes longer than the pass
            for (let at = 0; at < bytes.length; at += 8192) {
                said += String.fromCharCode(...bytes.subarray(at, at + 8192));
            }
            return btoa(said);
        };
        const { save, files, ...manifest } = made;
        const sent = {};
        for (const one of ["first", "picture", "photograph", "whole"]) {
            if (files[one]) sent[one] = coded(await files[one].make());
        }
        return { manifest: { ...manifest, files }, sent, saved: coded(save()) };
    } catch (error) {
        if (!error.told) throw error;
        return running.said(error.told);
    }
}"""


@cache
def template(name: str) -> str:
    """The manifest of an example that a page has already."""
    manifest = pack(analyze(load(name), EXAMPLES[1].path), whole=False).manifest
    assert manifest["photo"]["name"] == "dog.jpg"
    itself = {"key": "example-dog", "kind": "example", "name": "dog", "names": {}}
    more = {"link": {"model": name, "example": "dog"}, "beside": [], "itself": itself, "start": {}}
    return json.dumps({**manifest, **more})


@pytest.fixture
def page_of(open_page):
    def opened(name: str, before: str = "", folder: Path = WEIGHTS_DIR):
        tab = open_page("<!doctype html><meta charset=utf-8><title>analysed</title>")
        tab.evaluate(before or "0")
        weights = base64.b64encode((folder / f"{name}.safetensors").read_bytes()).decode()
        tab.evaluate(
            f"window.running = {join(VIEWER / 'localengine.js', 'running.js', ())}.running; 0"
        )
        tab.evaluate(
            """(text) => { window.model = running.started(
                Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer); }""",
            weights,
        )

        def analysed(data: bytes, called: str, look: dict | None = None, first: dict | None = None):
            coded = base64.b64encode(data).decode()
            return tab.evaluate(ANALYSE, [called, coded, template(name), look or {}, first])

        analysed.tab = tab
        return analysed

    return opened


@cache
def photos() -> dict[str, bytes]:
    shot = Image.open(FOLDER / "cat.jpg").convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = 6
    clear = shot.resize((90, 70)).convert("RGBA")
    clear.putalpha(Image.fromarray(np.uint8(255 * (np.indices((70, 90)).sum(0) % 40 > 9))))
    frames = [shot.resize((60, 50)).rotate(turn) for turn in (0, 20, 40)]
    moving = {"save_all": True, "append_images": frames[1:]}
    dark = Image.fromarray(
        np.uint8(255 - np.asarray(Image.open(FOLDER / "digit.png").convert("L")))
    )
    return {
        **{path.name: path.read_bytes() for path in sorted(FOLDER.glob("*.*g"))},
        "dark ink.png": encode(dark, "PNG"),
        "clear.png": encode(clear, "PNG"),
        "turned.jpg": encode(shot.resize((300, 200)), "JPEG", exif=exif.tobytes()),
        "wide.png": encode(shot.resize((700, 160)), "PNG"),
        "tall.bmp": encode(shot.resize((160, 701)), "BMP"),
        "one pixel.png": encode(Image.fromarray(noise(1, 1, 3)), "PNG"),
        "of the model's size.png": encode(shot.resize((192, 144)), "PNG"),
        "moving.gif": encode(frames[0], "GIF", **moving),
        "moving.png": encode(frames[0], "PNG", **moving),
        "moving.webp": encode(frames[0], "WEBP", lossless=True, **moving),
        "still.gif": encode(frames[0], "GIF"),
        "dark.png": encode(shot.resize((300, 200)).point(lambda level: 20 + level // 4), "PNG"),
        "inks.jpg": encode(shot.resize((90, 60)).convert("CMYK"), "JPEG", quality=95),
        "a 'quoted' " + "long " * 20 + "name\u2028 .png": encode(frames[1], "PNG"),
        "large.jpg": encode(shot.resize((4000, 3000)), "JPEG", quality=60),
    }  # fmt: skip


LOOKS = [
    ("dark ink.png", Look(invert=True)),
    ("dark.png", Look(stretch=True)),
    ("dark.png", Look(invert=True)),
    ("dark.png", Look(invert=True, stretch=True)),
    ("cat.jpg", Look(stretch=True)),
]


def shown(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), float)


def are_alike(found, ours: Analysis) -> None:
    wanted = pack(ours, whole=False).manifest
    manifest, about = found["manifest"], ours.photo_name
    assert manifest["photo"] == wanted["photo"], about
    assert manifest["model"] == wanted["model"]
    assert manifest["version"] == wanted["version"]
    assert {**wanted["pass"], "here": True, "id": ""} == {**manifest["pass"], "id": ""}
    assert manifest["pass"]["id"].startswith("here-")
    assert set(manifest["files"]) == set(wanted["files"]), about
    assert manifest["beside"] == [json.loads(template("mnist"))["itself"]]
    sent = {name: base64.b64decode(data) for name, data in found["sent"].items()}
    assert_close(tensors_of(sent["picture"])["pixels"], ours.picture, rtol=0, atol=0, msg=about)
    logits = tensors_of(sent["first"])["logits"]
    most = 1e-4 * float(ours.trace.logits.abs().max())
    assert_close(logits, ours.trace.logits, rtol=0, atol=most, msg=about)
    for name, data in (("photograph", "crop"), ("whole", "whole")):
        exact = ours.photograph and getattr(ours.photograph, data)
        assert (exact is not None) == (name in sent), (about, name)
        if exact:
            one, other = shown(sent[name]), shown(exact)
            assert one.shape == other.shape, about
            # For the eye alone; Python's has few bytes.
            assert np.abs(one - other).mean() < 12, (about, name)


def is_read_again(data: bytes, ours: Analysis) -> None:
    saved = Analysis.from_bytes(data)
    for name in ("photo_name", "notes", "inverted", "stretched", "preprocess", "grid"):
        assert getattr(saved, name) == getattr(ours, name), name
    assert [say(one, "ko") for one in saved.notes] == [say(one, "ko") for one in ours.notes]
    assert (saved.photograph is None) == (ours.photograph is None)
    if ours.photograph:
        assert saved.photograph.frame == pytest.approx(ours.photograph.frame, abs=1e-9)
        assert (saved.photograph.whole is None) == (ours.photograph.whole is None)
    assert [one.label for one in saved.predictions(3)] == [one.label for one in ours.predictions(3)]


@pytest.mark.parametrize("name", ["photos", "mnist"])
def test_a_manifest_made_in_the_page_is_that_of_python(page_of, name: str) -> None:
    analysed, loaded = page_of(name), load(name)
    for called, data in photos().items():
        found, ours = analysed(data, called), analyze(loaded, open_photo(data, called))
        are_alike(found, ours)
        is_read_again(base64.b64decode(found["saved"]), ours)
    for called, look in LOOKS:
        data, (invert, stretch) = photos()[called], look
        sent = {"inverted": invert, "stretched": stretch}
        found = analysed(data, called, sent)
        ours = analyze(loaded, open_photo(data, called, stretch=stretch), invert=invert)
        are_alike(found, ours)
        is_read_again(base64.b64decode(found["saved"]), ours)
        assert found["manifest"]["link"] == {"model": name, **look.link()}
    first = analysed(data, called, first={"layer": 1, "token": 5})["manifest"]["pass"]["first"]
    assert first == {"layer": 1, "token": 5, "direction": "from"}


def test_a_margin_that_fills_no_patch_is_cut_away_as_in_python(page_of, tmp_path: Path) -> None:
    """SigLIP at 384 with patches of 14 has one: the page refused every photo in such a model."""
    loaded = load("photos")
    (height, width), (high, wide) = loaded.card.config.image_size, loaded.card.config.patch_size
    size = (height + high - 1, width + wide // 2)
    larger = replace(loaded.preprocess, size=size, crop_pct=0.97)
    loaded = replace(loaded, preprocess=larger)
    save(loaded, tmp_path / "photos.safetensors")
    analysed = page_of("photos", folder=tmp_path)
    for called in ("cat.jpg", "wide.png", "tall.bmp", "of the model's size.png"):
        data = photos()[called]
        found, ours = analysed(data, called), analyze(loaded, open_photo(data, called))
        are_alike(found, ours)
        is_read_again(base64.b64decode(found["saved"]), ours)


def test_a_photo_does_not_take_the_place_of_another(page_of) -> None:
    """An older photo, opened later, threw out the newest, which was then sent to the host."""
    tab, data = page_of("photos").tab, encode(Image.fromarray(noise(5, 7, 3)), "PNG")
    asked = ["one.png", base64.b64encode(data).decode(), template("photos"), False, None]
    its_id = f"async () => (await ({ANALYSE})(asked)).manifest.pass.id"
    made = tab.evaluate(f"asked => Promise.all([...Array(12)].map({its_id}))", asked)
    assert len({*made}) == 12


def test_no_pixel_of_a_photo_is_read_on_the_thread_of_the_page(page_of) -> None:
    """Where a worker can draw it does; else the page does it, and finds the same."""
    for old in (False, True):
        reads = """window.reads = 0;
            for (const { prototype } of [OffscreenCanvas, HTMLCanvasElement]) {
                const { getContext } = prototype;
                prototype.getContext = function (...asked) {
                    window.reads += 1;
                    return getContext.apply(this, asked);
                };
            }"""
        analysed = page_of(
            "photos", f"() => {{ {reads} {'delete window.OffscreenCanvas;' if old else ''} }}"
        )
        data = photos()["wide.png"]
        are_alike(analysed(data, "wide.png"), analyze(load("photos"), open_photo(data, "wide.png")))
        assert analysed.tab.evaluate("window.reads > 0") == old


def test_what_is_no_picture_is_refused_in_the_words_of_python(page_of) -> None:
    analysed = page_of("mnist")
    for called, data in bad_files().items():
        with pytest.raises(ImageError) as refused:
            open_photo(data, called)
        said = {one: say(refused.value.message, one) for one in ("en", "ko")}
        assert analysed(data, called) == said
    assert analysed(encode(Image.fromarray(noise(5, 7, 3)), "TIFF"), "scan.tiff") is None
