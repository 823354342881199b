"""A set of pictures in a file is taught as its pictures are, and a damaged file is refused."""

import json
import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

import vitviz
from tests.models import tiny
from tests.test_teach import SETS, rows
from vitviz import VitvizError, WeightsError, cli
from vitviz.many.linear import folds_of, left_out
from vitviz.many.picture_set import FORMAT, PictureSet, read_set, write_set
from vitviz.many.teach import NONE
from vitviz.model.taught import read_taught
from vitviz.model.tensor_file import read_tensors, write_tensors
from vitviz.payload import pack


def seen(loaded: vitviz.LoadedModel) -> PictureSet:
    """The pictures of `SETS` as a model sees them; the first three pens are of one go."""
    all_of_them = [vitviz.analyze(loaded, one).picture for some in SETS.values() for one in some]
    groups = (tuple(range(7)), (7, 7, 7, 8, 9), tuple(range(10, 16)))
    return PictureSet(tuple(SETS), groups, torch.stack(all_of_them))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_set(path := tmp_path / "set.safetensors", seen(tiny("cls")))
    return path


def test_a_set_is_taught_as_its_pictures_are_and_a_group_is_left_out_together(file: Path) -> None:
    loaded = tiny("cls")
    made, plain = vitviz.teach(loaded, file), vitviz.teach(loaded, SETS)
    assert made.card.labels == ("cup", "pen", "key")
    for name in ("weight", "bias"):
        ours, theirs = (getattr(one.vit.head, name) for one in (made, plain))
        assert_close(ours, theirs, atol=1e-6, rtol=1e-6)
    assert (made.card.taught.pictures, made.card.taught.of) == ((7, 5, 6), 18)
    some = read_set(file)
    write_set(file, replace(some, groups=(*some.groups[:2], (10,) * 6)))
    assert vitviz.teach(loaded, file).card.taught.of == 12, "a class of one group stays"
    names = {one.picture for one in made.card.taught.confused}
    assert names <= {f"{name} {at}" for name in SETS for at in range(1, 8)}


def test_pixels_of_a_set_are_not_cropped_once_more(tmp_path: Path) -> None:
    """A model that sees the middle of a photo: the pictures of a set are that middle."""
    loaded = tiny("cls")
    middle = replace(loaded, preprocess=replace(loaded.preprocess, crop_pct=0.5))
    write_set(path := tmp_path / "set.safetensors", seen(middle))
    made, plain = vitviz.teach(middle, path), vitviz.teach(middle, SETS)
    assert_close(made.vit.head.weight, plain.vit.head.weight, atol=1e-6, rtol=1e-6)
    assert made.preprocess == middle.preprocess


def test_none_of_these_is_a_class_whose_answer_is_none(file: Path, tmp_path: Path) -> None:
    some = read_set(file)
    write_set(file, replace(some, names=("cup", NONE, "key")))
    loaded = tiny("cls")
    made, plain = vitviz.teach(loaded, file), vitviz.teach(loaded, SETS)
    assert made.card.taught.none == made.card.none == 1
    assert torch.equal(made.vit.head.weight, vitviz.teach(loaded, file).vit.head.weight)
    assert_close(made.vit.head.weight, plain.vit.head.weight, atol=1e-6, rtol=1e-6)
    vitviz.save(made, path := tmp_path / "mine.safetensors")
    again = vitviz.load(path, device="cpu")
    assert again.card.taught == made.card.taught
    assert again.card.words == {"ko": {"labels": {NONE: "이 가운데 없음"}}}
    found = {True: 0, False: 0}
    for one in (picture for pictures in SETS.values() for picture in pictures):
        analysis = vitviz.analyze(again, one)
        best, known = analysis.predictions()[0], analysis.known_or_not()
        assert known.known == (best.label != NONE and known.score >= made.card.threshold)
        answer = analysis.answer()
        assert answer.name != NONE
        assert (answer.level == "none") == (not known.known)
        if best.label == NONE:
            assert analysis.not_taught().startswith("Not one of my 2 things; if it had to choose: ")
        found[best.label == NONE] += 1
    assert min(found.values()) > 0
    # The threshold keeps the things, not what shows none of them.
    x, mirrored, y = rows(loaded)
    shares = left_out(x, mirrored, y, torch.tensor(folds_of(y.tolist(), range(18))), 3)
    lowest = int(y[shares.amax(1).argmin()])
    given = {NONE if at == lowest else name: SETS[name] for at, name in enumerate(SETS)}
    least = float(shares[y != lowest].amax(1).min())  # floor(0.05 * n) is 0
    assert vitviz.teach(loaded, given).card.threshold == pytest.approx(least, abs=1e-6)
    only = {"cup": SETS["cup"][:1], NONE: SETS["pen"]}
    card = vitviz.teach(loaded, only).card
    assert (card.threshold, card.taught.of, "accuracy" in card.details) == (None, 5, True)
    model = pack(vitviz.analyze(again, SETS["pen"][0])).manifest["model"]
    assert model["none"] == 1
    assert "none" not in pack(vitviz.analyze(plain, SETS["pen"][0])).manifest["model"]


def test_the_card_of_a_set_is_in_the_model_and_is_shown(file: Path, tmp_path: Path) -> None:
    card = {"purpose": "to tell\ncups\x1b[31m <b>", "not_for": "medicine"}
    write_set(file, replace(read_set(file), card=card))
    assert read_set(file).card == card
    made = vitviz.teach(tiny("cls"), file)
    vitviz.save(made, path := tmp_path / "mine.safetensors")
    again = vitviz.load(path, device="cpu")
    assert {name: again.card.details[name] for name in card} == card
    assert "; purpose: to tell cups[31m <b>; not for: medicine" in str(again)
    assert "pictures from" not in str(again)
    for wrong in ({"purpose": "x" * 301}, {"purpose": 1}, {"other": "x"}, [], "x"):
        change(file, card=wrong)
        with pytest.raises(VitvizError, match="is a set of pictures, but it is damaged"):
            read_set(file)


@pytest.mark.parametrize("none", [2, -1, True, "1", 1.5])
def test_a_card_whose_none_is_no_class_is_damaged(none: Any) -> None:
    taught = {"base": "a", "pictures": [1, 1], "penalty": 1, "confusions": [[0, 0], [0, 0]]}
    assert read_taught(json.dumps(taught | {"confused": []}), 2).none is None
    with pytest.raises(WeightsError, match="its none must be one of its classes"):
        read_taught(json.dumps(taught | {"confused": [], "none": none}), 2)


def change(path: Path, **values: Any) -> None:
    """Write the file with another description, or other pictures."""
    tensors, metadata = read_tensors(path)
    told = json.loads(metadata[FORMAT]) | {k: v for k, v in values.items() if k != "pictures"}
    pictures = values.get("pictures", tensors["pictures"])
    write_tensors(path, {"pictures": pictures}, {FORMAT: json.dumps(told)})


THREE = torch.zeros(3, 32, 32, 3, dtype=torch.uint8)


def thing(name: Any, *groups: Any) -> dict[str, Any]:
    return {"name": name, "groups": groups}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"version": 2}, "is a set of pictures, but it is damaged"),
        ({"things": None}, "damaged"),
        ({"things": [{"name": "cup"}]}, "damaged"),
        ({"things": [thing(1, 1, 2, 3)]}, "damaged"),
        ({"things": [thing("cup", 1.5, 2, 3)], "pictures": THREE}, "damaged"),
        ({"things": [thing("cup", True, 2, 3)], "pictures": THREE}, "damaged"),
        ({"pictures": THREE}, "damaged"),
        ({"things": [thing("cup", 1, 2, 3)], "pictures": THREE.float()}, "damaged"),
        ({"things": [thing("a\nb", 1, 2, 3)], "pictures": THREE}, r"cannot be seen: 'a\\nb'"),
        ({"things": [thing(" ", 1, 2, 3)], "pictures": THREE}, "is empty, longer than 40 letters"),
        ({"things": [thing("x" * 41, 1, 2, 3)], "pictures": THREE}, "longer than 40 letters"),
        ({"things": [thing("a", 1), thing("a", 2, 3)], "pictures": THREE}, "the same name"),
        ({"things": [thing("a", 1, 2, 3), thing("b")], "pictures": THREE}, "1 came: 'a'"),
        ({"things": [thing("a", 1, 2), thing("b", 3)], "pictures": THREE}, "in two classes: 'a'"),
        (
            {"things": [thing("a", 1), thing("b", 2, 3)], "pictures": THREE[:, :8]},
            "are 8 x 32 x 3, height x width x colours, and tiny cls sees 32 x 32 x 3",
        ),
    ],
)
def test_a_set_that_does_not_fit_is_refused_in_a_sentence(
    file: Path, values: dict[str, Any], sentence: str
) -> None:
    change(file, **values)
    with pytest.raises(VitvizError, match=sentence):
        vitviz.teach(tiny("cls"), file)


def test_what_is_no_set_is_refused_in_a_sentence(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    cut = tmp_path / "cut.safetensors"
    for length in (0, 3, 60, len(whole) - 1):
        cut.write_bytes(whole[:length])
        with pytest.raises(VitvizError, match=r"is not a whole \.safetensors file"):
            vitviz.teach(tiny("cls"), cut)
    vitviz.save(tiny("cls"), cut)
    with pytest.raises(VitvizError, match=r"cut\.safetensors is not a set of pictures"):
        vitviz.teach(tiny("cls"), cut)
    with pytest.raises(VitvizError, match="there is no file"):
        vitviz.teach(tiny("cls"), tmp_path / "none.safetensors")
    for case in range(60):
        chance = random.Random(case)
        damaged = bytearray(whole)
        for _ in range(4):
            damaged[chance.randrange(900)] = chance.randrange(256)
        cut.write_bytes(damaged)
        with suppress(VitvizError):  # any other error is a bug
            read_set(cut)


def test_the_command_takes_a_set(file: Path, tmp_path: Path, capsys) -> None:
    vitviz.save(tiny("cls"), model := tmp_path / "tiny.safetensors")
    out = tmp_path / "mine.safetensors"
    assert cli.main(["teach", str(file), "--model", str(model), "-o", str(out)]) == 0
    assert "pen: 5 pictures" in capsys.readouterr().out
    assert vitviz.load(out).card.labels == ("cup", "pen", "key")
