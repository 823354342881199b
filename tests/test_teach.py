"""A model is taught classes by their pictures, says how good it is, and is saved and read again."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.testing import assert_close

import vitviz
from tests.models import photo, tiny
from tests.running import save_tiny
from tests.test_from_transformers import FOLDER as TRANSFORMERS
from tests.test_head import BARE, bare
from vitviz import LoadedModel, SelectionError, VitvizError, WeightsError, cli
from vitviz.many.linear import PENALTY, fit, folds_of, left_out
from vitviz.many.picture_set import PictureSet, write_set
from vitviz.many.teach import CHOICES, MOST_CLASSES
from vitviz.model.head import without_head
from vitviz.model.loaded import LARGEST
from vitviz.model.precision import bring_to
from vitviz.payload import pack

Sets = Mapping[str, list[np.ndarray]]


def pictures(channel: int, count: int) -> list[np.ndarray]:
    """Views of the photo, one channel of which is mostly darker: the classes overlap."""
    draw = np.random.default_rng(channel)
    views = [np.roll(photo(40, 44), (7 * at, 5 * at), axis=(0, 1)) for at in range(count)]
    tints = draw.uniform(0.5, 1, (count, 3)) - 0.2 * (np.arange(3) == channel)
    return [(view * tint).astype(np.uint8) for view, tint in zip(views, tints, strict=True)]


SETS = {"cup": pictures(0, 7), "pen": pictures(2, 5), "key": pictures(1, 6)}


def folder_of(folder: Path, sets: Sets = SETS) -> Path:
    """A folder with a folder of PNG for each class."""
    for name, some in sets.items():
        (folder / name).mkdir(parents=True)
        for at, array in enumerate(some):
            Image.fromarray(array).save(folder / name / f"{at}.png")
    return folder


def rows(loaded: LoadedModel, sets: Sets = SETS) -> tuple[Tensor, Tensor, Tensor]:
    """Features of pictures and of mirror images in plain torch, and classes."""
    every = [vitviz.analyze(loaded, one).pixels for some in sets.values() for one in some]
    pixels, vit = torch.stack(every), without_head(loaded).vit
    y = torch.tensor([at for at, some in enumerate(sets.values()) for _ in some])
    return vit(pixels), vit(torch.from_numpy(pixels.numpy()[..., ::-1].copy())), y


def logits(loaded: LoadedModel, picture: Any) -> Tensor:
    return vitviz.analyze(loaded, picture).trace.logits


@pytest.mark.parametrize("name", [*BARE, "with a head"])
def test_the_head_is_fitted_to_pictures_and_mirror_images(name: str) -> None:
    """With every way to pool, and where the model has a head already."""
    loaded = tiny("token_avg") if name == "with a head" else bare(BARE[name])
    x, mirrored, y = rows(loaded)
    head = fit(torch.cat([x, mirrored]), y.repeat(2), 3)
    made = vitviz.teach(loaded, SETS, batch_size=4)
    assert made.card.labels == ("cup", "pen", "key")
    expected = x[0].double() @ head.weight.T + head.bias
    assert_close(logits(made, SETS["cup"][0]), expected.float(), atol=1e-3, rtol=1e-3)


def test_the_card_has_what_a_plain_loop_counts() -> None:
    loaded = tiny("cls")
    x, mirrored, y = rows(loaded)
    made = vitviz.teach(loaded, SETS)
    answers, places = [], {}
    folds = [places.setdefault(c, iter(range(99))).__next__() for c in y.tolist()]
    for at, fold in enumerate(folds):  # 7 folds: no class has ten pictures
        rest = [other for other in range(len(y)) if folds[other] != fold]
        head = fit(torch.cat([x[rest], mirrored[rest]]), y[rest].repeat(2), 3)
        answers.append(head.probabilities(x[at : at + 1])[0])
    shares = torch.stack(answers)
    said = shares.argmax(1)
    taught = made.card.taught
    assert taught is not None
    assert taught.pictures == (7, 5, 6)
    assert (taught.base, taught.penalty) == (loaded.card.name, PENALTY)
    assert (taught.right, taught.of) == (int((said == y).sum()), 18)
    assert 0 < taught.right < 18, "else nothing is confused here"
    for label in range(3):
        counts = said[y == label].bincount(minlength=3).tolist()
        assert list(taught.confusions[label]) == counts
    most = shares.amax(1).sort().values
    assert made.card.threshold == pytest.approx(float(most[0]), abs=1e-4)  # floor(0.05 * 18) is 0
    assert made.card.known_by == LARGEST
    names = [f"picture {at}" for some in SETS.values() for at in range(len(some))]
    wrong = sorted((-float(shares[at].amax()), at) for at in range(18) if said[at] != y[at])
    assert [one.picture for one in taught.confused] == [names[at] for _, at in wrong]
    assert [one.probability for one in taught.confused] == pytest.approx(
        [-share for share, _ in wrong], abs=1e-4
    )
    first, second = taught.pair
    assert (first.answer, second.answer) == (second.label, first.label)
    i, j = first.label, second.label
    table = torch.tensor(taught.confusions)
    assert int(table[i, j] + table[j, i]) == int((table + table.T).triu(1).max())
    assert first.probability == pytest.approx(float(shares[y == i, j].max()), abs=1e-4)
    assert str(made.card.details["accuracy"]).startswith(f"{taught.right} of 18 pictures right")
    assert made.card.details["title"] == "cup, pen, key"


def test_a_taught_model_is_saved_and_read_again(tmp_path: Path) -> None:
    made = vitviz.teach(tiny("registers"), folder_of(tmp_path / "things"), pool="token_avg")
    vitviz.save(made, path := tmp_path / "mine.safetensors")
    again = vitviz.load(path, device="cpu")
    assert again.card.taught == made.card.taught
    assert again.card.taught.pictures == (7, 6, 5)  # cup, key, pen: by name
    assert again.card.threshold == made.card.threshold
    assert again.card.labels == ("cup", "key", "pen")
    assert {one.picture.split("/")[0] for one in again.card.taught.confused} <= {*SETS}
    for one in SETS["pen"]:
        assert torch.equal(logits(again, one), logits(made, one))
    known = vitviz.analyze(again, SETS["pen"][0]).known_or_not()
    share = float(logits(again, SETS["pen"][0]).double().softmax(0).max())
    assert known.score == pytest.approx(share)
    assert known.known == (share >= made.card.threshold)
    model = pack(vitviz.analyze(again, SETS["pen"][0])).manifest["model"]  # the page does the same
    assert (model["known_by"], model["threshold"]) == (LARGEST, made.card.threshold)
    other = vitviz.with_head(again, torch.zeros(2, 64))
    assert (other.card.taught, other.card.threshold) == (None, None)
    with pytest.raises(WeightsError, match=r"must end in \.safetensors, got 'mine.pt'"):
        vitviz.save(made, tmp_path / "mine.pt")
    with pytest.raises(WeightsError, match="cannot be written: No such file"):
        vitviz.save(made, tmp_path / "nowhere" / "mine.safetensors")


@pytest.mark.parametrize("name", ["dinov2", "clip", "siglip"])
def test_models_of_transformers_are_taught(name: str, tmp_path: Path) -> None:
    made = vitviz.teach(vitviz.load(TRANSFORMERS / name, device="cpu"), SETS)
    assert (made.card.taught.pictures, made.card.taught.of) == ((7, 5, 6), 18)
    vitviz.save(made, path := tmp_path / "mine.safetensors")
    again = vitviz.load(path, device="cpu")
    assert_close(logits(again, SETS["key"][0]), logits(made, SETS["key"][0]))


def test_the_order_of_classes_changes_no_answer() -> None:
    turned = {name: SETS[name] for name in ("key", "cup", "pen")}
    first, second = (vitviz.teach(tiny("cls"), some) for some in (SETS, turned))
    for one in SETS["pen"]:
        ours, theirs = logits(first, one), logits(second, one)
        assert_close(theirs, ours[[2, 0, 1]], atol=1e-3, rtol=1e-3)
    assert first.card.taught.right == second.card.taught.right


def test_copies_of_a_picture_are_left_out_together() -> None:
    """Else each would be answered by a head that has seen it."""
    doubled = {name: [*some, *some] for name, some in SETS.items()}
    once, twice = (vitviz.teach(tiny("cls"), some).card.taught for some in (SETS, doubled))
    assert twice.confusions == tuple(tuple(2 * count for count in row) for row in once.confusions)


def test_a_class_of_one_picture_is_taught_and_not_left_out() -> None:
    made = vitviz.teach(tiny("cls"), SETS | {"pen": SETS["pen"][:1]})
    assert made.card.taught.of == 13
    assert made.card.taught.confusions[1] == (0, 0, 0)
    single = vitviz.teach(tiny("cls"), {name: some[:1] for name, some in SETS.items()})
    assert (single.card.taught.of, single.card.threshold) == (0, None)
    assert "accuracy" not in single.card.details
    assert vitviz.analyze(single, SETS["pen"][0]).answer().name == "pen"


def test_the_penalty_can_be_chosen_by_left_out_pictures() -> None:
    loaded = tiny("cls")
    chosen = vitviz.teach(loaded, SETS, "cv")
    x, mirrored, y = rows(loaded)
    folds = torch.tensor(folds_of(y.tolist(), range(len(y))))
    losses = {}
    for penalty in CHOICES:
        shares = left_out(x, mirrored, y, folds, 3, penalty)
        losses[penalty] = -float(shares.gather(1, y[:, None]).log().mean())
    assert chosen.card.taught.penalty == min(losses, key=losses.__getitem__)
    assert vitviz.teach(loaded, SETS, 0.5).card.taught.penalty == 0.5
    alone = {name: some[:1] for name, some in SETS.items()}
    assert vitviz.teach(loaded, alone, "cv").card.taught.penalty == PENALTY


@pytest.mark.parametrize(
    ("sets", "sentence"),
    [
        ({"cup": SETS["cup"]}, r"from 2 to 1,000 classes, and 1 came: 'cup'"),
        ({}, r"from 2 to 1,000 classes, and 0 came"),
        (
            {str(at): SETS["cup"][:1] for at in range(MOST_CLASSES + 1)},
            r"from 2 to 1,000 classes, and 1,001 came",
        ),
        (SETS | {"pen": []}, "the class 'pen' has no pictures"),
        (SETS | {"pen": [b"no picture"]}, "no picture of 'pen' can be used: "),
        (SETS | {"pen": 7}, "the class 'pen' has no pictures: pictures can be a folder"),
        (SETS | {" ": SETS["pen"]}, "must be a text that is not empty, got ' '"),
        (SETS | {7: SETS["pen"]}, "must be a text that is not empty, got 7"),
        (SETS | {"pen ": SETS["pen"]}, "two classes are named 'pen', apart from spaces"),
        (
            SETS | {"key": [*SETS["key"], SETS["cup"][2]]},
            "picture 2 and picture 6 are the same picture to the model, in two classes: "
            "'cup' and 'key'",
        ),
        (SETS["cup"], "classes must be .* got list"),
        ("nowhere", "there is no folder 'nowhere'"),
    ],
    ids=range(12),
)
def test_what_cannot_be_taught_is_refused_in_a_sentence(sets: Any, sentence: str) -> None:
    with pytest.raises(VitvizError, match=sentence):
        vitviz.teach(tiny("cls"), sets)


@pytest.mark.parametrize("penalty", [0, -1, float("nan"), float("inf"), True, "best", [0.1]])
def test_a_penalty_out_of_range_is_refused(penalty: Any) -> None:
    with pytest.raises(
        SelectionError, match=r'penalty must be a number from 1e-06 to 1e\+06 or "cv"'
    ):
        vitviz.teach(tiny("cls"), SETS, penalty)


def test_models_without_pooling_need_to_be_told() -> None:
    with pytest.raises(SelectionError, match="does not pool its tokens"):
        vitviz.teach(tiny("no_pool"), SETS)
    assert vitviz.teach(tiny("no_pool"), SETS, pool="avg").card.taught.of == 18
    with pytest.raises(WeightsError, match=r"a model is what vitviz\.load"):
        vitviz.teach("photos", SETS)  # type: ignore[arg-type]


def test_broken_files_are_named_and_passed_over(tmp_path: Path, capsys) -> None:
    folder = folder_of(tmp_path / "things")
    (folder / "cup" / "broken.jpg").write_bytes(b"no picture")
    (folder / "cup" / "notes.txt").write_text("hello")
    (folder / ".hidden").mkdir()
    made = vitviz.teach(tiny("cls"), folder)
    assert made.card.taught.pictures == (7, 6, 5)
    err = capsys.readouterr().err
    assert "broken.jpg" in err
    assert "notes.txt" in err
    vitviz.teach(tiny("cls"), folder, progress=False)
    assert capsys.readouterr().err == ""
    Image.fromarray(photo()).save(folder / "loose.png")
    with pytest.raises(VitvizError, match=r"'loose.png' lies in .* itself, and in no folder of a"):
        vitviz.teach(tiny("cls"), folder)


# The command line.


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("model"), "cls")


@pytest.fixture
def things(tmp_path: Path) -> Path:
    return folder_of(tmp_path / "things")


def call(capsys: pytest.CaptureFixture, *arguments: object) -> tuple[int, str, str]:
    try:
        code = cli.main(["teach", *map(str, arguments)])
    except SystemExit as stop:  # argparse
        code = int(stop.code or 0)
    return code, *capsys.readouterr()


def test_the_command_writes_what_python_gives(capsys, tmp_path, model, things) -> None:
    path = tmp_path / "mine.safetensors"
    code, out, err = call(capsys, things, "--model", model, "-o", path, "--test", things, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    expected = vitviz.teach(vitviz.load(model, device="cpu"), things)
    assert told["file"] == str(path)
    assert told["classes"] == ["cup", "key", "pen"]
    assert told["threshold"] == expected.card.threshold
    assert {name: told[name] for name in ("right", "of", "pictures", "confusions", "pair")} == {
        name: json.loads(expected.card.taught.to_json())[name]
        for name in ("right", "of", "pictures", "confusions", "pair")
    }
    made = vitviz.load(path, device="cpu")
    assert made.card.taught == expected.card.taught
    said = [
        [vitviz.analyze(made, picture).predictions(1)[0].index for picture in SETS[name]]
        for name in ("cup", "key", "pen")
    ]
    table = [[answers.count(at) for at in range(3)] for answers in said]
    right = sum(table[at][at] for at in range(3))
    assert told["test"] == {"right": right, "of": 18, "confusions": table}
    assert cli.main(["look", str(things / "cup" / "0.png"), "--model", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predictions"][0]["label"] in SETS


def test_the_command_says_counts_confusions_and_the_worst_pictures(
    capsys, tmp_path, model, things
) -> None:
    path = tmp_path / "mine.safetensors"
    (things / "cup" / "broken.png").write_bytes(b"no picture")
    (things / "notes.txt").write_text("hello")
    Image.fromarray(photo(30, 30)).save((things / "one").mkdir() or things / "one" / "a.png")
    options = ("--model", model, "-o", path, "--penalty", "0.1", "--pool", "avg")
    code, out, err = call(capsys, things, *options)
    assert code == 1
    assert "broken.png" in err
    assert "notes.txt" in err
    taught = vitviz.load(path, device="cpu").card.taught
    lines = out.splitlines()
    assert lines[:5] == [
        *("cup: 7 pictures", "key: 6 pictures", "one: 1 pictures", "pen: 5 pictures"),
        "penalty 0.1",
    ]
    assert lines[5] == f"left out: {taught.right} of 18 right"
    assert lines[6].split() == ["cup", "key", "one", "pen"]
    for row, name, counts in zip(lines[7:11], taught_names(path), taught.confusions, strict=True):
        assert row.split() == [name, *map(str, counts)]
    i, j = (one.label for one in taught.pair)
    count = taught.confusions[i][j] + taught.confusions[j][i]
    names = taught_names(path)
    assert lines[11] == f"most confused: {names[i]} and {names[j]}, {count} times; their pictures:"
    for line, one in zip(lines[12:14], taught.pair, strict=True):
        answer, label = names[one.answer], names[one.label]
        assert line == f"  {one.picture}: {answer} {one.probability:.1%}, is {label}"
    assert "not left out: one, with one picture, or pictures of one group" in "\n".join(lines)
    assert lines[-1] == str(path)


def taught_names(path: Path) -> tuple[str, ...]:
    return vitviz.load(path, device="cpu").card.labels


def test_a_file_that_cannot_be_written_is_refused_at_once(capsys, tmp_path, things) -> None:
    """Before the model is loaded: its name is wrong here."""

    def refused(path: object, *more: object) -> str:
        code, out, err = call(capsys, things, "--model", "nothing", "-o", path, *more)
        assert (code, out) == (1, "")
        return err

    there = tmp_path / "there.safetensors"
    there.write_bytes(b"mine")
    assert "there.safetensors exists; --force replaces it" in refused(there)
    assert "must end in .safetensors, got 'mine.pt'" in refused(tmp_path / "mine.pt")
    assert "there is no folder" in refused(tmp_path / "nowhere" / "mine.safetensors")
    assert "cannot be written" in refused(tmp_path / ("x" * 300 + ".safetensors"))
    assert "nothing" in refused(there, "--force")
    assert there.read_bytes() == b"mine"
    (tmp_path / "folder.safetensors").mkdir()
    assert "exists" in refused(tmp_path / "folder.safetensors", "--force")


def test_the_command_refuses_other_folders(capsys, tmp_path, model, things) -> None:
    path = tmp_path / "mine.safetensors"
    test = folder_of(tmp_path / "test", {"cup": SETS["cup"], "lamp": SETS["pen"]})
    code, _, err = call(capsys, things, "--model", model, "-o", path, "--test", test)
    assert code == 1
    assert "has the class 'lamp', which 'cup', 'key', 'pen' lack" in err
    alone = folder_of(tmp_path / "alone", {"lamp": SETS["pen"]})  # a test may have one class
    code, _, err = call(capsys, things, "--model", model, "-o", path, "--test", alone)
    assert code == 1
    assert "has the class 'lamp', which" in err
    code, _, err = call(capsys, things / "cup", "--model", model, "-o", path)
    assert code == 1
    assert "'0.png' lies in " in err
    (tmp_path / "empty").mkdir()
    code, _, err = call(capsys, tmp_path / "empty", "--model", model, "-o", path)
    assert code == 1
    assert "from 2 to 1,000 classes, and 0 came" in err
    code, _, err = call(capsys, things, "--model", model, "-o", path, "--penalty", "much")
    assert code == 2
    assert not path.exists()
    table = [line.split()[0] for line in cli.table().splitlines() if line]
    assert "teach" in table


def test_a_head_is_tested_with_a_set_that_the_page_saved(capsys, tmp_path, model, things) -> None:
    """All of its pictures were called broken, after the head was fitted."""
    loaded, test = vitviz.load(model, device="cpu"), tmp_path / "test.safetensors"
    shown = {name: [vitviz.analyze(loaded, one).picture for one in SETS[name]] for name in SETS}
    groups = tuple(tuple(range(len(some))) for some in shown.values())
    pictures = torch.stack([one for some in shown.values() for one in some])
    write_set(test, PictureSet(tuple(shown), groups, pictures))
    told = []
    for place, each in enumerate((things, test)):
        path = tmp_path / f"{place}.safetensors"
        options = ("--model", model, "-o", path, "--test", each, "--json")
        code, out, err = call(capsys, things, *options)
        assert (code, err) == (0, "")
        told.append(json.loads(out)["test"])
    assert told[0] == told[1]
    assert told[1]["of"] == 18

    other = tmp_path / "other.safetensors"
    write_set(other, PictureSet(tuple(shown), groups, pictures[:, :16]))
    path = tmp_path / "mine.safetensors"
    code, _, err = call(capsys, things, "--model", model, "-o", path, "--test", other)
    assert code == 1
    assert "the pictures in other.safetensors are 16 x 32 x 3" in err
    assert not path.exists(), "it is refused before the head is fitted"


def test_a_head_in_another_precision_is_tested(capsys, tmp_path, things, monkeypatch) -> None:
    """Features are float32, and the head was not."""
    loaded = replace(tiny("cls"), vit=deepcopy(tiny("cls").vit))
    bring_to(loaded.vit, torch.bfloat16)
    monkeypatch.setattr("vitviz.teaching.load_key", lambda *_, **__: loaded)
    path = tmp_path / "mine.safetensors"
    code, out, err = call(capsys, things, "-o", path, "--test", things, "--json")
    assert (code, err) == (0, "")
    made = vitviz.load(path, device="cpu")
    answers = [
        vitviz.analyze(made, one).predictions(1)[0].label == name
        for name, some in SETS.items()
        for one in some
    ]
    assert abs(json.loads(out)["test"]["right"] - sum(answers)) <= 2  # its features are rounded


def test_a_test_that_fails_loses_no_head(capsys, tmp_path, model, things, monkeypatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise VitvizError("the disk is gone")

    for name in ("features", "halves"):
        path = tmp_path / f"{name}.safetensors"
        with monkeypatch.context() as patch:
            patch.setattr(f"vitviz.teaching.{name}", fail)
            options = ("--model", model, "-o", path, "--test", things, "--halves")
            code, _, err = call(capsys, things, *options)
        assert code == 1
        assert "the disk is gone" in err
        assert vitviz.load(path, device="cpu").card.taught.of == 18
