"""Dark ink is noticed where a model was taught the opposite, and inverting is on the record."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.models import photo, tiny
from tests.node import needs_node, node
from tests.running import save_digits
from tests.train.test_digits import DIGITS, STYLES, drawn
from vitviz import Analysis, VitvizError, analyze, cli, draw, load, look, open_photo
from vitviz.languages import say
from vitviz.model.key import ModelKey
from vitviz.model.loaded import LoadedModel
from vitviz.model.photo_levels import Look
from vitviz.model.tensor_file import read_tensors, write_tensors
from vitviz.payload.bundle import VIEWER
from vitviz.probe import saved
from vitviz.probe.measure.ink import is_dark_on_light, taught_light_ink_only, taught_place
from vitviz.web.compute.executor import execute
from vitviz.web.compute.jobs import Job, Selection
from vitviz.web.compute.models import Models

DARK, LIGHT = (
    drawn("3", **next(style for style in STYLES if style["dark"] is dark)) for dark in (True, False)
)


def of_digits(recipe: str | None = '{"data": "mnist"}', mean: float = 0.13) -> LoadedModel:
    """A tiny model as a training on digits would leave it."""
    ours = tiny("grey")
    details = {} if recipe is None else {"recipe": recipe}
    return replace(
        ours,
        card=replace(ours.card, details=details),
        preprocess=replace(ours.preprocess, mean=(mean,)),
    )


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_digits(tmp_path_factory.mktemp("ink"))


def test_the_ink_of_drawn_digits_is_told(subtests: pytest.Subtests) -> None:
    for label, at in product(sorted(DIGITS), [0, 5, 10, 12, 17, 22]):
        with subtests.test(label=label, at=at):
            digit = open_photo(np.asarray(drawn(label, **STYLES[at])))
            assert is_dark_on_light(of_digits().preprocess.picture(digit)) is STYLES[at]["dark"]


@pytest.mark.parametrize(
    ("rows", "cols", "value", "dark"),
    [(28, 28, 255, False), (28, 28, 0, False), (1, 1, 9, False), (2, 40, 200, False)],
)
def test_a_picture_without_strokes_is_not_dark(rows, cols, value, dark) -> None:
    assert is_dark_on_light(torch.full((rows, cols, 1), value, dtype=torch.uint8)) is dark


def test_the_ground_is_what_the_rim_shows() -> None:
    """A thick stroke covers more of the picture than its ground."""
    thick = torch.full((14, 28, 1), 240, dtype=torch.uint8)
    thick[1:-1, 2:-2] = 30
    assert is_dark_on_light(thick)
    assert not is_dark_on_light(255 - thick)
    faint = torch.where(thick == 30, 240 - int(255 * 0.1), 240).to(torch.uint8)
    assert not is_dark_on_light(faint)


@pytest.mark.parametrize(
    ("recipe", "mean", "only"),
    [
        ('{"data": "mnist"}', 0.13, True),
        ('{"data": "mnist", "invert": 0.0}', 0.13, True),
        ('{"data": "mnist", "invert": 0.5}', 0.13, False),
        ('{"data": "mnist"}', 0.45, False),  # its pictures have no dark ground
        (None, 0.13, False),
        ("not JSON", 0.13, False),
        ("[]", 0.13, False),
        ('{"invert": NaN}', 0.13, False),
        ('{"invert": "0"}', 0.13, False),
        ('{"invert": null}', 0.13, False),
        ('{"invert": [[]]}', 0.13, False),
    ],
)
def test_only_a_model_that_never_saw_dark_ink_is_warned_of(recipe, mean, only) -> None:
    loaded = of_digits(recipe, mean)
    assert taught_light_ink_only(loaded.card, loaded.preprocess) is only
    assert analyze(loaded, np.asarray(DARK)).dark_ink() is only
    assert analyze(loaded, np.asarray(LIGHT)).dark_ink() is False
    untrained = replace(loaded, card=replace(loaded.card, trained=False))
    assert analyze(untrained, np.asarray(DARK)).dark_ink() is False


def test_a_model_of_colours_is_not_warned_of() -> None:
    ours = tiny("cls")
    card = replace(ours.card, details={"recipe": '{"data": "photos"}'})
    for mean in (0.5, 0.13):
        dark = replace(ours, card=card, preprocess=replace(ours.preprocess, mean=(mean,) * 3))
        assert not taught_light_ink_only(dark.card, dark.preprocess)
        for picture in (photo(), 255 - photo()):
            assert analyze(dark, picture).dark_ink() is False


def test_inverting_exchanges_light_and_dark_and_is_noted() -> None:
    loaded, dark = of_digits(), np.asarray(DARK)
    plain, inverted = analyze(loaded, dark), analyze(loaded, dark, invert=True)
    by_hand = analyze(loaded, 255 - dark)
    assert torch.equal(inverted.picture, by_hand.picture)
    assert torch.equal(inverted.trace.logits, by_hand.trace.logits)
    assert not torch.equal(inverted.trace.logits, plain.trace.logits)
    assert (plain.inverted, inverted.inverted, by_hand.inverted) == (False, True, False)
    assert (plain.notes, inverted.notes) == ((), ("light and dark exchanged",))
    assert say(inverted.notes[0], "ko") != inverted.notes[0]
    assert (plain.dark_ink(), inverted.dark_ink()) == (True, False)
    assert " inverted, " in repr(inverted)
    assert " inverted, " not in repr(plain)
    told = json.loads(json.dumps(inverted.summary()))["photo"]
    notes = ["light and dark exchanged"]
    assert told == {
        "name": "array",
        "notes": notes,
        "inverted": True,
        "stretched": False,
        "dark": False,
        "dark_ink": False,
    }
    for one, said in ((plain, "photo: array · "), (inverted, "photo: array (inverted) · ")):
        assert said in draw.predictions(one).get_supxlabel().replace("\n", " ") + " · "


def test_a_photo_has_colours_where_a_share_of_its_pixels_is_seen_as_one() -> None:
    def rows_of(colour: tuple[int, int, int], count: int) -> bool:
        pixels = np.full((64, 64, 3), 120, dtype=np.uint8)
        pixels[:count] = colour
        return open_photo(pixels).has_colours()

    assert rows_of((200, 20, 20), 4)  # 4 of 64 rows are 6.25 %
    assert not rows_of((200, 20, 20), 3)  # 4.7 %
    assert rows_of((141, 120, 100), 64)
    assert not rows_of((140, 120, 100), 64)  # yellowed paper
    assert not open_photo(np.full((64, 64), 7, dtype=np.uint8)).has_colours()


def test_a_colour_photo_in_a_model_of_grey_is_told_as_a_grey_copy() -> None:
    red = np.full((40, 40, 3), (200, 20, 20), dtype=np.uint8)
    digits = of_digits()
    numbered = replace(digits, card=replace(digits.card, labels=tuple("0123456789")))
    told = {
        "other": analyze(digits, red).notes,
        "digits": analyze(numbered, red).notes,
        "grey": analyze(numbered, np.asarray(DARK)).notes,
        "colours": analyze(tiny("cls"), red).notes,
    }
    copy = "the model looked at a grey copy"
    assert told == {
        "other": (copy,),
        "digits": (f"{copy}, and knows digits only",),
        "grey": (),
        "colours": (),
    }
    assert say(told["digits"][0], "ko") == "모델은 회색으로 바꾼 사진을 보았고, 숫자만 압니다"


def test_a_photo_inverted_twice_is_itself() -> None:
    for pixels in (photo(), photo()[..., 0]):
        once = open_photo(pixels, "a.png").invert()
        assert np.array_equal(np.asarray(once.image), 255 - pixels)
        assert (once.inverted, once.name) == (True, "a.png")
        assert open_photo(once, "b.png").inverted
        twice = once.invert()
        assert np.array_equal(np.asarray(twice.image), pixels)
        assert analyze(tiny("cls"), twice).notes == ()


def test_a_saved_analysis_knows_that_it_is_inverted(tmp_path: Path) -> None:
    inverted = analyze(of_digits(), np.asarray(DARK), invert=True)
    again = Analysis.from_bytes(inverted.to_bytes())
    assert again.summary()["photo"] == inverted.summary()["photo"]
    inverted.save(path := tmp_path / "a.safetensors")
    tensors, metadata = read_tensors(path)
    told = json.loads(metadata[saved.FORMAT])
    for value, inverted in ((None, None), (1, None), ("", None), (True, True), (False, False)):
        write_tensors(path, tensors, {saved.FORMAT: json.dumps(told | {"inverted": value})})
        if inverted is None:
            with pytest.raises(VitvizError, match="its inverted is"):
                Analysis.load(path)
        else:
            assert Analysis.load(path).inverted is inverted
    del told["inverted"]  # as older versions write it
    write_tensors(path, tensors, {saved.FORMAT: json.dumps(told)})
    assert Analysis.load(path).inverted is False


@pytest.mark.usefixtures("undrawn")
def test_the_command_line_notices_and_inverts(capsys, tmp_path, monkeypatch, checkpoint) -> None:
    DARK.save(tmp_path / "three.png")
    monkeypatch.chdir(tmp_path)
    call = ["three.png", "--model", str(checkpoint)]
    assert cli.main(call) == 0
    said = capsys.readouterr().out
    assert "was taught light strokes on dark only: try --invert\n" in said
    assert cli.main([*call, "--invert"]) == 0
    said = capsys.readouterr().out
    assert "note: light and dark exchanged\n" in said
    assert "try --invert" not in said
    folders = [tmp_path / f"vitviz-three-digits{end}" for end in ("", "-inverted")]
    plain, inverted = (Analysis.load(folder / look.ANALYSIS) for folder in folders)
    assert (plain.inverted, inverted.inverted) == (False, True)
    expected = analyze(load(checkpoint), tmp_path / "three.png", invert=True)
    assert torch.equal(inverted.trace.logits, expected.trace.logits)


def test_the_engine_inverts_for_pages_and_programs(checkpoint: Path, tmp_path: Path) -> None:
    DARK.save(path := tmp_path / "three.png")
    models, job = (
        Models([str(checkpoint)]),
        Job(photo=path.read_bytes(), name="three.png", model=ModelKey("digits")),
    )
    plain = execute(job, models)
    assert plain.manifest["photo"]["dark_ink"] is True
    assert plain.manifest["model"]["light_ink_only"] is True
    expected = analyze(load(checkpoint), path, invert=True)
    inverted = replace(job, look=Look(invert=True))
    page, program = (execute(replace(inverted, selection=s), models) for s in (None, Selection()))
    facts = json.loads(json.dumps(expected.facts(5)))
    assert program.summary["photo"] == facts["photo"]
    assert facts["photo"].items() <= page.manifest["photo"].items()
    assert page.manifest["photo"]["words"]["ko"]["light and dark exchanged"]
    assert program.summary["predictions"] == expected.facts(5)["predictions"]
    assert page.saved_name == program.saved_name == "three-digits-inverted.safetensors"
    assert Analysis.from_bytes(page.saved).inverted


@pytest.mark.parametrize(
    ("recipe", "least", "most", "off"),
    [
        ({"data": "mnist", "zoom": 0, "shift": 0, "image_size": 28}, 20 / 28, 20 / 28, 0),
        ({"data": "mnist", "zoom": 0.25, "shift": 7, "image_size": 28}, 16 / 28, 20 / 21, 0.25),
        ({"data": "mnist", "zoom": 0.5, "shift": 3, "image_size": 32}, 20 / 42, 1, 3 / 32),
    ],
)
def test_where_digits_lay_is_read_off_the_recipe(recipe, least, most, off) -> None:
    card = of_digits(json.dumps(recipe)).card
    taught = taught_place(card)
    assert taught == pytest.approx({"side": 20 / 28, "least": least, "most": most, "off": off})
    assert taught_place(replace(card, trained=False)) is None


@pytest.mark.parametrize(
    "wrong",
    ['{"data": "photos", "zoom": 0, "shift": 0, "image_size": 28}', '{"data": "mnist"}', None, "{"]
    + [
        json.dumps({"data": "mnist", "zoom": 0, "shift": 0, "image_size": 28} | other)
        for other in ({"zoom": 1}, {"zoom": float("nan")}, {"shift": 28}, {"image_size": "28"})
    ],
)
def test_where_nothing_is_known_of_digits_nothing_is_said(wrong) -> None:
    assert taught_place(of_digits(wrong).card) is None


@needs_node
def test_the_page_finds_dark_ink_as_python_does(tmp_path) -> None:
    chance, pictures = np.random.default_rng(3), [np.asarray(DARK), np.asarray(LIGHT)]
    for height, width in product((28, 9, 21), (28, 12)):
        ground, ink = chance.integers(0, 256, 2)
        picture = np.full((height, width), ground) + chance.integers(-20, 21, (height, width))
        picture[2 : height // 2, 2:-2] = ink
        pictures += [picture, 255 - picture]
    pictures = [np.uint8(np.clip(one, 0, 255))[..., None] for one in pictures]
    found = [is_dark_on_light(torch.from_numpy(one)) for one in pictures]
    assert 3 <= sum(found) <= len(found) - 3
    sent = [[one.ravel().tolist(), *one.shape[:2]] for one in pictures]
    script = f"""import {{ isDarkOnLight }} from "{(VIEWER / "maths" / "ink.js").as_uri()}";
        console.log(JSON.stringify({json.dumps(sent)}.map(([data, height, width]) =>
            isDarkOnLight({{ data: Uint8Array.from(data), height, width, channels: 1 }}))))"""
    (tmp_path / "ink.mjs").write_text(script)
    assert json.loads(node(tmp_path / "ink.mjs")) == found
