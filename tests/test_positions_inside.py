"""Positions inside attention: angles and ways by hand, and that each planted mistake is caught."""

from dataclasses import replace
from math import cos, pi, sin

import pytest
import timm
import torch
from torch.testing import assert_close

from tests.models import spread
from tests.test_parity import wide
from vitviz import ViT, WeightsError, from_timm
from vitviz.model import positions, timm_config, timm_models
from vitviz.model.config import Rotary, ViTConfig
from vitviz.model.fold import folded
from vitviz.model.positions import Angles, RelativeBias, turn, way_between


def config_of(rotary: Rotary | dict | None = None, **others) -> ViTConfig:
    """2 x 3 patches, two heads of 8 channels, CLS and a register."""
    sizes = {"image_size": (16, 24), "patch_size": 8, "embed_dim": 16, "num_heads": 2, "depth": 2}
    return ViTConfig(**sizes | {"reg_tokens": 1, "pos_embed": False, "rotary": rotary} | others)


def angles_of(config: ViTConfig, places=None) -> torch.Tensor:
    return Angles(config, config.rotary)(places, torch.device("cpu"))


def test_angles_by_hand() -> None:
    """Patch (1, 2): of 8 channels two pairs turn with the row, two with the column."""
    # Across the picture: y = 2 (1 + .5) / 2 - 1 = .5, x = 2 (2 + .5) / 3 - 1 = 2/3, times 2 pi.
    whole = angles_of(config_of(Rotary(kind="normalised", temperature=100.0)))
    assert whole.shape == (1, 1, 8, 4)
    assert_close(whole[0, 0, 7], 2 * pi * torch.tensor([0.5, 0.05, 2 / 3, 2 / 30]))
    assert not whole[0, 0, :2].any()  # CLS and the register
    # Counted from 1, in the other order, of a picture that was 4 x 6 patches once.
    rotary = Rotary(kind="axial", temperature=10000.0, order="xy", offset=1, reference=(4, 6))
    counted = angles_of(config_of(rotary))[0, 0]
    assert_close(counted[7], torch.tensor([6.0, 0.06, 4.0, 0.04]))
    assert_close(counted[2], torch.tensor([2.0, 0.02, 2.0, 0.02]))
    # The angle goes with the place, not with the place in the sequence.
    some = torch.tensor([[0, 7, 2], [1, 3, 7]])
    taken = angles_of(config_of(rotary), some)
    assert taken.shape == (2, 1, 3, 4)
    assert torch.equal(taken[:, 0], counted[some])


def test_learned_frequencies_by_hand() -> None:
    config = config_of(Rotary(kind="mixed", order="xy"))
    angles = Angles(config, config.rotary)
    angles.freqs.data = torch.arange(16.0).view(2, 2, 4)
    found = angles(None, torch.device("cpu"))
    assert found.shape == (1, 2, 8, 4)
    # Head 1 at row 1, column 2: 2 * (4, 5, 6, 7) + 1 * (12, 13, 14, 15).
    assert_close(found[0, 1, 7], torch.tensor([20.0, 23.0, 26.0, 29.0]))
    vit = ViT(config)
    drawn = [block.attn.angles.freqs for block in vit.blocks]
    assert not torch.equal(*drawn)
    # Both axes of a head are drawn as one pair at a right angle, of the length of the frequency.
    (x, y), slower = drawn[0].unflatten(-1, (2, 2)), torch.tensor([1.0, 0.1])
    assert_close((x**2 + y**2).sqrt(), slower.expand(2, 2, 2))
    assert_close(x[:, 0] * x[:, 1] + y[:, 0] * y[:, 1], torch.zeros(2, 2))


def test_a_turn_by_hand() -> None:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])[None, None, None]
    angles = torch.tensor([pi / 2, 0.3])[None, None, None]
    turned = turn(x, angles.cos(), angles.sin())[0, 0, 0]
    expected = [-3.0, 2 * cos(0.3) - 4 * sin(0.3), 1.0, 2 * sin(0.3) + 4 * cos(0.3)]
    assert_close(turned, torch.tensor(expected))


def test_ways_by_hand() -> None:
    """2 x 3 patches: 3 x 5 ways between them, and three with CLS."""
    bias = RelativeBias(config_of(reg_tokens=0, relative_bias=True))
    assert bias.table.shape == (18, 2)
    tokens = torch.arange(7)
    ways = way_between(tokens[:, None], tokens[None], (2, 3))
    assert ways[0].tolist() == [17, *[15] * 6]
    assert ways[1:, 0].tolist() == [16] * 6
    assert ways[6, 1] == (1 + 1) * 5 + (2 + 2)  # one row further down, two columns further right
    assert ways[1, 6] == 0
    assert ways[1:, 1:].diagonal().tolist() == [7] * 6
    bias.table.data = torch.arange(36.0).view(18, 2)
    places = torch.tensor([[0, 6], [1, 6]])
    assert bias(places)[0].tolist() == [[[34, 30], [32, 14]], [[35, 31], [33, 15]]]
    assert bias(places)[1, 0].tolist() == [[14, 0], [28, 14]]
    assert torch.equal(bias(None)[0, 0], bias.table[ways, 0])


def test_what_folds_by_hand() -> None:
    """Two heads of 4 channels; k and v of one head are asked by both; k has no bias."""
    config = config_of(None, embed_dim=8, depth=1, layer_scale=True, reg_tokens=0)
    ones = torch.ones(8)
    state = {
        "blocks.0.attn.q_proj.weight": torch.arange(8.0)[:, None] * ones,
        "blocks.0.attn.k_proj.weight": torch.arange(10.0, 14)[:, None] * ones,
        "blocks.0.attn.v_proj.weight": torch.arange(20.0, 24)[:, None] * ones,
        "blocks.0.attn.q_proj.bias": torch.arange(8.0),
        "blocks.0.attn.v_proj.bias": torch.arange(20.0, 24),
        "blocks.0.norm1.weight": ones,
        "blocks.0.gamma_1": 3 * ones,
        "rel_pos_bias.relative_position_bias_table": ones,
        "blocks.0.attn.relative_position_bias_table": 2 * ones,
    }
    found = folded(state, config, interleaved=True)
    q, k, v = [0, 2, 1, 3, 4, 6, 5, 7], [10, 12, 11, 13] * 2, [20, 21, 22, 23] * 2
    assert found["blocks.0.attn.qkv.weight"][:, 5].tolist() == [*q, *k, *v]
    assert found["blocks.0.attn.qkv.bias"].tolist() == [*q, *[0] * 8, *v]
    assert found["blocks.0.ls1.gamma"].tolist() == [3] * 8
    assert found["blocks.0.ls2.gamma"].tolist() == [1] * 8
    assert found["blocks.0.attn.score_bias.relative.table"].tolist() == [3] * 8
    assert len(found) == 6


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"rotary": {"kind": "round"}}, "rotary has no kind 'round': its kind is one of normal"),
        ({"rotary": {"kind": "axial", "temperature": 0}}, "rotary has no temperature 0"),
        ({"rotary": {"kind": "axial", "order": "ij"}}, "rotary has no order 'ij'"),
        ({"rotary": {"kind": "axial", "offset": "1"}}, "rotary has no offset '1'"),
        ({"rotary": {"kind": "axial", "reference": [0, 3]}}, "reference must be"),
        ({"rotary": {"base": 100}}, "rotary must have a kind, got"),
        ({"rotary": True}, "rotary must have a kind, got True"),
        ({"rotary": {"kind": "axial"}, "embed_dim": 12}, "a multiple of 4 channels, .* got 6"),
        ({"relative_bias": True}, "relative_bias is of CLS and the patches"),
        ({"relative_bias": True, "class_token": False, "global_pool": "avg"}, "is of CLS and"),
        ({"pool_heads": 3}, "embed_dim 16 is not a multiple of pool_heads 3"),
    ],
)  # fmt: skip
def test_impossible_positions_are_refused_with_a_sentence(wrong: dict, sentence: str) -> None:
    with pytest.raises(WeightsError, match=sentence):
        config_of(**wrong)


def test_a_rotary_config_survives_json() -> None:
    import json

    config = config_of(Rotary(kind="axial", reference=(4, 6), offset=1.0, order="xy"))
    again = ViTConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert hash(again) == hash(config)


# --- planted mistakes -----------------------------------------------------------------------------


def reading(change):
    """Plant another `Rotary` than the model's own."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        own = timm_config._rotary
        monkeypatch.setattr(timm_config, "_rotary", lambda *args: change(own(*args)))

    return plant


def other_order(rotary: Rotary) -> Rotary:
    return replace(rotary, order="yx" if rotary.order == "xy" else "xy")


def half_for_interleaved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timm_models, "is_interleaved", lambda model: False)


def interleaved_for_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timm_models, "is_interleaved", lambda model: True)


def cls_turned_too(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Angles.forward

    def turned(self, places, device):
        angles = own(self, None, device).clone()
        prefix = self.config.num_prefix_tokens
        angles[:, :, :prefix] = angles[:, :, prefix : prefix + 1] + 0.5
        return angles if places is None else angles[0][:, places].transpose(0, 1)

    monkeypatch.setattr(Angles, "forward", turned)


def ways(change):
    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(positions, "way_between", change)

    return plant


def transposed(query, key, grid_size):
    """Between patches alone, so that nothing but the direction is wrong."""
    right, wrong = (way_between(*pair, grid_size) for pair in ((query, key), (key, query)))
    return torch.where((query == 0) | (key == 0), right, wrong)


def exchanged(query, key, grid_size):
    """The way from CLS to a patch and the way from a patch to CLS."""
    way = way_between(query, key, grid_size)
    last = (2 * grid_size[0] - 1) * (2 * grid_size[1] - 1)
    return torch.where(way == last, last + 1, torch.where(way == last + 1, last, way))


def rows_for_columns(query, key, grid_size):
    return way_between(query, key, grid_size[::-1])


@pytest.mark.parametrize(
    ("name", "plant"),
    [
        ("eva02_tiny_patch14_224", half_for_interleaved),
        ("vit_small_patch16_rope_mixed_224", half_for_interleaved),
        ("vit_small_patch16_dinov3", interleaved_for_half),
        ("eva02_tiny_patch14_224", reading(other_order)),
        ("vit_small_patch16_rope_224", reading(other_order)),
        ("vit_small_patch16_rope_mixed_224", reading(other_order)),
        ("vit_pe_core_tiny_patch16_384", reading(other_order)),
        ("vit_pe_core_tiny_patch16_384", reading(lambda one: replace(one, offset=0))),
        ("eva02_tiny_patch14_224", reading(lambda one: replace(one, reference=None))),
        ("vit_medium_patch16_rope_reg1_gap_256", reading(lambda one: replace(one, reference=None))),
        ("vit_small_patch16_lingbot", reading(lambda one: replace(one, kind="axial"))),
        ("eva02_tiny_patch14_224", reading(lambda one: replace(one, temperature=100))),
        ("vit_small_patch16_lingbot", cls_turned_too),
        ("vit_small_patch16_rope_mixed_224", cls_turned_too),
        ("beit_base_patch16_224", ways(transposed)),
        ("beit_base_patch16_224", ways(exchanged)),
        ("beit_base_patch16_224", ways(rows_for_columns)),
    ],
)
def test_planted_mistakes_are_caught(name: str, plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the picture that `from_timm` sends through both models, of 16 of 45 patches."""
    model = spread(wide(name).eval(), seed=1)
    from_timm(model)
    plant(monkeypatch)
    with pytest.raises(WeightsError, match="its block 0 computes something else"):
        from_timm(model)


@pytest.mark.parametrize("name", ["eva02_tiny_patch14_224", "vit_tiny_patch16_dinov3_qkvb"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_angles_of_a_model_in_half_precision_are_whole(name: str, dtype: torch.dtype) -> None:
    model = timm.create_model(name, depth=2).to(dtype)
    assert {one.dtype for one in from_timm(model).vit.parameters()} == {torch.float32}
    assert {one.dtype for one in model.state_dict().values()} == {dtype}
