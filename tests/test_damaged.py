"""Damaged files are normal input: each is refused in a sentence, or is whole enough to be used."""

import contextlib
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests import damage, viewer_fixture
from tests.models import photo, tiny
from tests.running import save_tiny
from vitviz import Analysis, CaptureError, VitvizError, WeightsError, analyze, draw, load
from vitviz.model import loaded
from vitviz.model.checkpoints import FORMAT
from vitviz.model.loaded import KNOWN_OR_NOT
from vitviz.model.tensor_file import read_tensors, write_tensors
from vitviz.model.vit import ViT
from vitviz.payload import pack
from vitviz.probe import saved
from vitviz.probe.measure import film as films
from vitviz.probe.measure.film import Film, facts_of

# How many cases are tried; a case number always gives the same file.
CASES = {"checkpoint": 120, "torchvision": 25, "film": 60, "analysis": 150}
DETAILS = {
    "title": "T",
    "seed": "3",
    "recipe": json.dumps({"seed": 3, "zero_head": True}),
    "temperature": "0.8",
    "groups": json.dumps(["a", "b", "a", "b", "a", "b", "a"]),
    "others": json.dumps({"score": KNOWN_OR_NOT, "threshold": 1.5}),
    "certain": "0.9",
    "evaluation": json.dumps({"pictures": 9, "top1": 0.5, "boxes": {"x": {"energy": 1}}}),
}


def use(analysis: Analysis) -> None:
    """Read all that a page reads; a value that JSON cannot hold is an error here."""
    json.dumps(analysis.summary(), allow_nan=False)
    pack(analysis, film=True)


def read_checkpoint(path: Path) -> bool:
    try:
        model = load(path, device="cpu")
    except WeightsError:
        return False
    load(path, device="cpu", pretrained=False)
    with contextlib.suppress(CaptureError):  # finite weights can make numbers that are not
        use(analyze(model, photo()))
    return True


def read_film(path: Path) -> bool:
    facts = facts_of(path)
    pack(replace(analyze(tiny("cls"), photo()), loaded=replace(tiny("cls"), film=path)), film=True)
    try:
        film = Film.read(path)
    except WeightsError:
        with pytest.raises(WeightsError, match="this file"):
            Film.from_bytes(path.read_bytes())
        return False
    assert facts == Film.from_bytes(path.read_bytes()).facts | {"version": 1}
    assert facts == film.facts | {"version": 1}
    draw.training(film, tiny("cls").card, layer=0)
    return True


def read_analysis(path: Path) -> bool:
    """Reading from the disk and from memory refuses the same files."""
    try:
        analysis = Analysis.load(path)
    except VitvizError:
        with pytest.raises(VitvizError, match="this file"):
            Analysis.from_bytes(path.read_bytes())
        return False
    assert Analysis.from_bytes(path.read_bytes()).to_bytes() == analysis.to_bytes()
    with contextlib.suppress(VitvizError):
        use(analysis)
    return True


def checkpoint(folder: Path) -> Path:
    return save_tiny(folder, "cls", **DETAILS)


def torchvisions(folder: Path) -> Path:
    from torchvision.models import VisionTransformer

    theirs = VisionTransformer(
        image_size=8, patch_size=4, num_layers=1, num_heads=12, hidden_dim=768, mlp_dim=4
    )
    state = {name: value.half() for name, value in theirs.state_dict().items()}
    torch.save(state, folder / "theirs.pth")
    return folder / "theirs.pth"


def film(folder: Path) -> Path:
    viewer_fixture.film(folder / "x.film.safetensors")
    return folder / "x.film.safetensors"


def analysis(folder: Path) -> Path:
    analyze(tiny("cls"), photo()).save(folder / "a.safetensors")
    return folder / "a.safetensors"


FILES = {
    "checkpoint": (checkpoint, FORMAT, read_checkpoint),
    "torchvision": (torchvisions, None, read_checkpoint),
    "film": (film, films.FORMAT, read_film),
    "analysis": (analysis, saved.FORMAT, read_analysis),
}


def damaged(path: Path, whole: bytes, key: str | None, case: int) -> None:
    """Write a damaged file; the same number gives the same damage."""
    chance = random.Random(case)
    path.write_bytes(whole)
    kind = chance.randrange(8)
    if kind == 0:
        path.write_bytes(damage.cut_off(whole, chance))
    elif kind <= 2:
        path.write_bytes(damage.turn_bytes(whole, chance, 4096))
    elif key is None:
        path.write_bytes(damage.damage_pickle(whole, chance))
    elif kind == 3:
        damage.damage_tensor(path, chance)
    else:
        damage.damage_metadata(path, key, chance)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_refused_in_a_sentence_or_can_be_used(name: str, tmp_path: Path) -> None:
    make, key, read = FILES[name]
    path = make(tmp_path)
    whole = path.read_bytes()
    assert read(path)
    used = []
    for case in range(CASES[name]):
        damaged(path, whole, key, case)
        used.append(read(path))
    assert 0 < sum(used) < len(used)


@pytest.mark.parametrize(
    "wrong",
    [
        {"embed_dim": 10**9, "num_heads": 1},
        {"embed_dim": 65520, "num_heads": 1},
        {"depth": 10**6},
        {"depth": 65536},
        {"reg_tokens": 10**9},
        {"num_classes": 65536},
        {"mlp_hidden_dim": 10**9},
        {"image_size": [4096, 4096], "patch_size": [1, 1]},
        {"image_size": 10**9},
    ],
)
def test_a_config_that_lies_is_refused_before_anything_is_built(wrong, tmp_path, monkeypatch):
    """Sizes are compared on the meta device, which holds no numbers; depth is compared before."""

    def vit(config):
        assert config.depth == 3
        assert torch.zeros(1).is_meta
        return ViT(config)

    monkeypatch.setattr(loaded, "ViT", vit)
    path = checkpoint(tmp_path)
    tensors, metadata = read_tensors(path)
    text = json.loads(metadata[FORMAT])
    text["config"] |= wrong
    write_tensors(path, tensors, {FORMAT: json.dumps(text)})
    with pytest.raises(
        WeightsError, match=r"at most 65536|do not fit|the preprocessing|labels for"
    ):
        load(path)


def test_weights_that_claim_more_than_the_file_holds_are_refused(tmp_path: Path) -> None:
    """A tensor with stride 0 stores one row, but takes terabytes when it is computed with."""
    path = torchvisions(tmp_path)
    state = torch.load(path)
    state["heads.head.weight"] = torch.zeros(1).expand(10**4, 768)
    state["heads.head.bias"] = torch.zeros(10**4)
    torch.save(state, path)
    with pytest.raises(WeightsError, match=r"head.weight holds values .* or lacks some"):
        load(path)
