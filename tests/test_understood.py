"""The sentences about what was read from the files of a model, and what was assumed."""

import logging
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.models import tiny
from tests.test_layouts import LAYOUTS, theirs, write_config
from tests.test_transformers_files import FOLDER
from vitviz import Analysis, ModelCard, WeightsError, analyze, cli, load
from vitviz.languages import say
from vitviz.model.preprocess import Preprocess
from vitviz.model.untrained import twin

ARCH = "test_vit"


def test_what_was_read_is_said_by_name_and_in_one_line() -> None:
    loaded = load(FOLDER / "dinov2", device="cpu")
    understood = loaded.understood()
    assert understood == {
        "architecture": "2 layers of 2 heads, 16 wide, patches of 8 x 8 pixels",
        "outputs": "3 classes",
        "size": "24 x 24 pixels, 10 tokens",
        "positions": "learned, resampled from 40 x 40 pixels as transformers does it",
        "pixels": "the middle 80 % of the short side, bicubic; "
        "mean 0.4815, 0.4578, 0.4082, deviation 0.2686, 0.2613, 0.2758",
        "classes": "cat, dog, 아홀로틀",
    }
    line = str(loaded)
    assert line.startswith("dinov2: architecture: 2 layers")
    assert "\n" not in line
    assert all(text in line for text in understood.values())
    assert say(understood["outputs"], "ko") == "클래스 3개"


@pytest.mark.parametrize(
    ("name", "positions", "outputs"),
    [
        ("dinov3", "rotary", "16 features, no head"),
        ("beit", "a relative bias", "3 classes"),
        ("clip", "learned", "12 numbers without names"),
    ],
)
def test_positions_and_outputs_of_other_kinds(name: str, positions: str, outputs: str) -> None:
    understood = load(FOLDER / name, image_size=32, device="cpu").understood()
    assert understood["positions"].startswith(positions)
    assert understood["outputs"] == outputs
    assert load("mnist-none", device="cpu").understood()["positions"] == "none"


def test_what_a_state_dict_does_not_say_is_assumed_aloud(tmp_path: Path, caplog) -> None:
    torch.save(theirs().state_dict(), tmp_path / "x.pth")
    with caplog.at_level(logging.WARNING, "vitviz.load"):
        loaded = load(tmp_path / "x.pth", arch=ARCH, device="cpu")
    heads, activation, pool, pixels = loaded.card.assumed
    assert heads == "2 heads, as in test_vit; the file does not say"
    assert activation.startswith("the activation gelu and an epsilon of 1e-06")
    assert pool == "an answer read from CLS, as in test_vit; the file does not say"
    assert pixels.startswith("pictures with a mean of 0.5, 0.5, 0.5")
    assert [record.getMessage() for record in caplog.records] == [
        f"x: assumed: {heads}; {activation}; {pool}; {pixels}"
    ]
    assert heads in str(loaded)
    assert say(heads, "ko") == "test_vit처럼 헤드 2개 (파일에는 적혀 있지 않음)"
    own = load(tmp_path / "x.pth", arch=ARCH, device="cpu", preprocess=loaded.preprocess)
    assert own.card.assumed == (heads, activation, pool)  # the pixels were given


def test_what_is_assumed_of_a_file_stands_in_the_log_once(tmp_path: Path, caplog) -> None:
    torch.save(theirs().state_dict(), tmp_path / "x.pth")
    shutil.copy(tmp_path / "x.pth", tmp_path / "y.pth")
    ways = (
        {},
        {"pretrained": False},
        {"image_size": 32},
        {"preprocess": Preprocess(size=(160, 160))},
    )
    for name in ("x", "y"):
        for way in ways * 2:
            loaded = load(tmp_path / f"{name}.pth", arch=ARCH, device="cpu", **way)
            assert loaded.card.assumed  # the card goes on telling it
    assert [text.split(":")[0] for text in caplog.messages] == ["x", "y"]


def test_a_sentence_that_is_new_of_a_file_is_said_alone(tmp_path: Path, caplog) -> None:
    torch.save(theirs().state_dict(), tmp_path / "x.pth")
    own = Preprocess(size=(160, 160))
    first = load(tmp_path / "x.pth", arch=ARCH, device="cpu", preprocess=own).card.assumed
    then = load(tmp_path / "x.pth", arch=ARCH, device="cpu").card.assumed
    (new,) = set(then) - set(first)
    assert caplog.messages == [f"x: assumed: {'; '.join(first)}", f"x: assumed: {new}"]


def test_files_that_say_all_leave_nothing_to_assume(caplog) -> None:
    for source in ("mnist", FOLDER / "vit", FOLDER / "siglip"):
        assert load(source, device="cpu").card.assumed == ()
    assert not caplog.records


@pytest.mark.parametrize(
    ("name", "assumed", "left_out"),
    [
        ("a head of dropout and a layer", "before its layer head.1", ()),
        ("DINOv2 of its authors", "", ("mask_token",)),
        ("CLIP of OpenAI or open_clip", "", ("text_projection", "logit_scale", "transformer")),
        ("vit-pytorch (lucidrains)", "2 heads of 64 channels", ()),
    ],
)
def test_other_layouts_say_it_too(name: str, assumed: str, left_out: tuple, tmp_path) -> None:
    source, options, _ = LAYOUTS[name](tmp_path)
    if isinstance(arch := options.pop("arch", None), tuple):
        write_config(tmp_path, *arch)
    elif arch:
        options["arch"] = arch
    loaded = load(source, device="cpu", **options)
    assert any(assumed in sentence for sentence in loaded.card.assumed) or not assumed
    assert loaded.card.left_out == left_out


def test_assumptions_last_in_a_saved_analysis_and_are_checked(tmp_path: Path) -> None:
    plain = tiny("cls")
    card = replace(plain.card, assumed=("2 heads",), left_out=("decoder",))
    analysis = analyze(replace(plain, card=card), torch.zeros(3, 32, 32))
    analysis.save(tmp_path / "x.safetensors")
    again = Analysis.load(tmp_path / "x.safetensors").card
    assert (again.assumed, again.left_out) == (("2 heads",), ("decoder",))
    told = card.to_dict()
    del told["assumed"], told["left_out"]
    assert ModelCard.from_dict(told).assumed == ()  # as in older files
    for wrong in ([1], [None]):
        with pytest.raises(WeightsError, match="assumed of a model must be a list of texts"):
            ModelCard.from_dict(told | {"assumed": wrong})
    assert twin(replace(plain, card=card)).card.assumed == ("2 heads",)


def test_the_command_line_says_it_when_asked(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vitviz.look.write", lambda *_: [])
    picture = str(FOLDER / "picture.png")
    assert cli.main(["look", picture, "--model", "mnist", "--verbose"]) == 0
    said = capsys.readouterr()
    assert "mnist: architecture: " in said.err
    assert "architecture" not in said.out
    assert cli.main(["look", picture, "--model", "mnist"]) == 0
    assert "architecture" not in capsys.readouterr().err
