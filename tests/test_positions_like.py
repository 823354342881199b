"""Positions at another image size: each library's own way, which the card names."""

import json
import shutil
from pathlib import Path

import pytest
import timm
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from timm.layers import resample_abs_pos_embed
from torch import Tensor
from torch.testing import assert_close

from tests.models import spread
from tests.test_transformers_files import FOLDER, WEIGHTS, change
from vitviz import WeightsError, load
from vitviz.cli import summary

SIZES = [(16, 56), (48, 24), (80, 80)]  # of pictures whose positions were learned on 32 x 32, by 8
NAMES = {  # of the positions in the file, and the number of tokens in front of the patches
    "vit-features": ("embeddings.position_embeddings", 1),
    "deit": ("deit.embeddings.position_embeddings", 2),
    "clip-vision": ("vision_model.embeddings.position_embedding.weight", 1),
    "siglip-vision": ("vision_model.embeddings.position_embedding.weight", 0),
    "beit-features": ("embeddings.position_embeddings", 1),
    "dinov2": ("dinov2.embeddings.position_embeddings", 1),
}


def learned(name: str) -> tuple[Tensor, int]:
    """The positions in a file (1, N, D), and the number of prefix tokens."""
    state = load_file(FOLDER / name / WEIGHTS)
    key, prefix = NAMES[name]
    key = key if key in state else key.removeprefix("vision_model.")
    positions = state[key]
    return (positions if positions.ndim == 3 else positions[None]), prefix


def interpolated(positions: Tensor, prefix: int, size: tuple[int, int]) -> Tensor:
    """As `interpolate_pos_encoding` does it: transformers 5.24, models/vit/modeling_vit.py, clip,
    siglip, beit, dinov2 (bicubic, align_corners=False; antialias is False, torch's default).
    """
    side = int((positions.shape[1] - prefix) ** 0.5)
    grid = positions[:, prefix:].reshape(1, side, side, -1).permute(0, 3, 1, 2)
    rows, cols = size[0] // 8, size[1] // 8
    grid = F.interpolate(grid, size=(rows, cols), mode="bicubic", align_corners=False)
    patches = grid.permute(0, 2, 3, 1).reshape(1, rows * cols, -1)
    return torch.cat([positions[:, :prefix], patches], dim=1)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_models_of_transformers_follow_transformers(name: str, size: tuple[int, int]) -> None:
    positions, prefix = learned(name)
    loaded = load(FOLDER / name, image_size=size, device="cpu")
    expected = interpolated(positions, prefix, size)
    assert_close(loaded.vit.pos_embed, expected, atol=2e-6, rtol=0)
    assert loaded.card.details["positions"] == "resampled as transformers does it"
    as_timm = load(FOLDER / name, image_size=size, positions_like="timm", device="cpu")
    expected = resample_abs_pos_embed(
        positions, new_size=[size[0] // 8, size[1] // 8], num_prefix_tokens=prefix
    )
    assert_close(as_timm.vit.pos_embed, expected, atol=2e-6, rtol=0)
    assert as_timm.card.details["positions"] == "resampled as timm does it"


@pytest.mark.parametrize("size", SIZES)
def test_the_bias_of_a_beit_follows_transformers(size: tuple[int, int]) -> None:
    """transformers 5.24, models/beit/modeling_beit.py, BeitRelativePositionBias.forward."""
    state = load_file(FOLDER / "beit" / WEIGHTS)
    name = "beit.encoder.layer.1.attention.attention.relative_position_bias"
    table = state[f"{name}.relative_position_bias_table"]
    old = table[:-3].reshape(1, 7, 7, -1).permute(0, 3, 1, 2)
    sides = [2 * (side // 8) - 1 for side in size]
    new = F.interpolate(old, size=sides, mode="bilinear").permute(0, 2, 3, 1)
    expected = torch.cat([new.reshape(sides[0] * sides[1], -1), table[-3:]])
    loaded = load(FOLDER / "beit", image_size=size, device="cpu")
    got = loaded.vit.state_dict()["blocks.1.attn.score_bias.relative.table"]
    assert_close(got, expected, atol=2e-6, rtol=0)
    assert loaded.card.details["positions"] == "resampled as transformers does it"


@pytest.mark.parametrize("name", ["vit-features", "clip-vision", "siglip-classes", "deit", "beit"])
def test_the_size_of_the_processor_wins_over_that_of_the_config(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(FOLDER / name, folder)
    size = {"height": 48, "width": 48}
    file = folder / "preprocessor_config.json"
    told = json.loads(file.read_text("utf-8"))
    if told.get("do_center_crop"):
        side = told["size"].get("shortest_edge")
        larger = {"shortest_edge": 48} if side else {"height": 48, "width": 48}
        change(file, crop_size=size, size=larger)
    else:
        change(file, size=size)
    loaded = load(folder, device="cpu")
    assert loaded.card.config.image_size == loaded.preprocess.size == (48, 48)
    assert loaded.card.resized_from == (32, 32)
    by_hand = load(FOLDER / name, image_size=48, device="cpu").vit.state_dict()
    assert all(torch.equal(value, by_hand[key]) for key, value in loaded.vit.state_dict().items())
    own = load(folder, image_size=32, device="cpu")  # that of the training, asked for
    assert own.card.config.image_size == own.preprocess.size == (32, 32)


def test_dinov2_of_its_authors_follows_transformers(tmp_path: Path) -> None:
    model = spread(timm.create_model("vit_small_patch14_dinov2", img_size=70, depth=1))
    state = model.state_dict() | {"mask_token": torch.zeros(1, 384)}
    config = {"architecture": "vit_small_patch14_dinov2", "model_args": {"depth": 1}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    torch.save(state, tmp_path / "x.pth")
    loaded = load(tmp_path / "x.pth", image_size=42, device="cpu")
    grid = state["pos_embed"][:, 1:].reshape(1, 5, 5, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=(3, 3), mode="bicubic", align_corners=False)
    expected = grid.permute(0, 2, 3, 1).reshape(1, 9, -1)
    assert_close(loaded.vit.pos_embed[:, 1:], expected, atol=2e-6, rtol=0)
    assert loaded.card.details["positions"] == "resampled as transformers does it"
    del state["mask_token"]
    torch.save(state, tmp_path / "x.pth")  # timm's own layout
    loaded = load(tmp_path / "x.pth", image_size=42, device="cpu")
    assert loaded.card.details["positions"] == "resampled as timm does it"


def test_the_way_can_be_chosen_for_any_model(capsys: pytest.CaptureFixture) -> None:
    plain, other = (
        load("mnist", image_size=40, positions_like=like, device="cpu")
        for like in (None, "transformers")
    )
    assert plain.card.details["positions"] == "resampled as timm does it"
    smaller = [
        load("mnist", image_size=16, positions_like=like, device="cpu").vit.pos_embed
        for like in (None, "transformers")
    ]
    assert other.card.details["positions"] == "resampled as transformers does it"
    assert not torch.allclose(*smaller, atol=1e-4)  # one is smoothed
    with pytest.raises(WeightsError, match="positions_like must be timm or transformers"):
        load("mnist", positions_like="dino")
    summary(["mnist", "--image-size=40", "--positions-like=transformers"])
    assert "mnist" in capsys.readouterr().out
