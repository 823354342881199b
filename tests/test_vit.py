"""The model against torch's attention, known sizes, and its own symmetries."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.models import TINY, spread, tiny
from vitviz import ImageError, ViT, ViTConfig, WeightsError
from vitviz.model.patch_embed_three_ways import (
    ConvPatches,
    RearrangePatches,
    UnfoldPatches,
    share_weights,
)
from vitviz.model.vit import Attention, Tokens, drop_patches

SIZES = {  # google-research/vision_transformer and timm count the same
    "Ti/16": (192, 12, 3, 5_717_416),
    "S/16": (384, 12, 6, 22_050_664),
    "B/16": (768, 12, 12, 86_567_656),
    "L/16": (1024, 24, 16, 304_326_632),
}


@pytest.mark.parametrize("name", SIZES)
def test_parameter_counts_are_those_of_the_paper(name: str) -> None:
    dim, depth, heads, count = SIZES[name]
    with torch.device("meta"):
        vit = ViT(ViTConfig(embed_dim=dim, depth=depth, num_heads=heads))
    assert sum(parameter.numel() for parameter in vit.parameters()) == count


@pytest.mark.parametrize("name", ["cls", "distilled"])
def test_attention_equals_torch_multihead_attention(name: str) -> None:
    config = TINY[name]
    ours = spread(Attention(config))
    theirs = nn.MultiheadAttention(config.embed_dim, config.num_heads, batch_first=True)
    theirs.load_state_dict(
        {
            "in_proj_weight": ours.qkv.weight,
            "in_proj_bias": ours.qkv.bias,
            "out_proj.weight": ours.proj.weight,
            "out_proj.bias": ours.proj.bias,
        }
    )
    x = torch.randn(2, 9, config.embed_dim, generator=torch.Generator().manual_seed(1))
    assert_close(ours(x), theirs(x, x, x, need_weights=False)[0])


def test_patches_that_are_not_square_are_cut_alike_in_three_ways() -> None:
    """Square ones: test_notes.py."""
    config = ViTConfig(image_size=(24, 40), patch_size=(8, 4), embed_dim=12, num_heads=4, depth=1)
    pixels = torch.randn(2, 3, 24, 40, generator=torch.Generator().manual_seed(0))
    conv, rearranged, unfolded = share_weights(
        spread(ConvPatches(config)), RearrangePatches(config), UnfoldPatches(config)
    )
    tokens = conv(pixels)
    assert tokens.shape == (2, 30, 12)
    assert_close(rearranged(pixels), tokens)
    assert_close(unfolded(pixels), tokens)
    vit = ViT(config)
    vit.patch_embed.proj.load_state_dict(conv[0].state_dict())
    assert_close(vit.patch_embed(pixels), tokens)


@pytest.mark.parametrize("name", TINY)
def test_every_tiny_model_answers_with_its_classes(name: str) -> None:
    loaded, config = tiny(name), TINY[name]
    pixels = torch.randn(
        2, config.in_chans, *config.image_size, generator=torch.Generator().manual_seed(0)
    )
    each = () if config.global_pool else (config.num_tokens,)
    assert loaded.vit(pixels).shape == (2, *each, config.num_classes or config.pooled_dim)
    assert loaded.vit.forward_features(pixels).shape == (2, config.num_tokens, config.embed_dim)
    assert config.num_tokens == len(config.prefix_names) + config.num_patches


def test_a_classifier_of_cls_and_mean_reads_them_side_by_side() -> None:
    """Worked by hand: CLS [1, 2], a register [9, 9], patches [3, 5] and [5, 9], mean [4, 7]."""
    config = ViTConfig(
        image_size=(4, 8), patch_size=4, embed_dim=2, depth=1, num_heads=1, num_classes=1,
        reg_tokens=1, global_pool="token_avg",
    )  # fmt: skip
    vit = ViT(config)
    tokens = torch.tensor([[[1.0, 2.0], [9.0, 9.0], [3.0, 5.0], [5.0, 9.0]]])
    assert vit.pool(tokens).tolist() == [[1, 2, 4, 7]]
    vit.head.weight.data, vit.head.bias.data = torch.tensor([[1.0, 10, 100, 1000]]), torch.ones(1)
    assert vit.forward_head(tokens).tolist() == [[1 + 20 + 400 + 7000 + 1]]
    assert replace(config, num_classes=0).pooled_dim == 4


def permute_patches(vit: ViT, pixels: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Tokens when the patches enter in another order while the positions stay put."""
    original = vit.patch_embed.forward
    vit.patch_embed.forward = lambda pixels: original(pixels)[:, order]
    try:
        return vit.forward_features(pixels)
    finally:
        del vit.patch_embed.forward


def test_only_positions_know_the_order_of_patches() -> None:
    """Without positions permuted patches come out permuted, and CLS is the same; with them not."""
    with_positions = tiny("cls").vit
    without = ViT(ViTConfig(**{**TINY["cls"].to_dict(), "pos_embed": False})).eval()
    without.load_state_dict(
        {k: v for k, v in with_positions.state_dict().items() if k != "pos_embed"}
    )
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(1, 3, 32, 32, generator=generator)
    order = torch.randperm(16, generator=generator)
    plain, permuted = without.forward_features(pixels), permute_patches(without, pixels, order)
    assert_close(without.forward_head(permuted), without.forward_head(plain), atol=1e-5, rtol=1e-5)
    assert_close(permuted[:, 1:], plain[:, 1:][:, order], atol=1e-5, rtol=1e-5)
    assert not torch.allclose(permuted[:, 1:], plain[:, 1:], atol=1e-2)
    moved = permute_patches(with_positions, pixels, order)
    assert not torch.allclose(with_positions.forward_head(moved), with_positions(pixels), atol=1e-2)


def test_only_the_cls_row_of_the_last_block_matters() -> None:
    vit = tiny("cls").vit
    pixels = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    logits = vit(pixels)

    def scramble(rows: slice) -> torch.Tensor:
        def hook(_module: nn.Module, _args: object, out: torch.Tensor) -> torch.Tensor:
            out = out.clone()
            out[:, rows] = 3.0
            return out

        handle = vit.blocks[-1].attn.register_forward_hook(hook)
        try:
            return vit(pixels)
        finally:
            handle.remove()

    assert torch.equal(scramble(slice(1, None)), logits)
    assert not torch.allclose(scramble(slice(0, 1)), logits)


@pytest.mark.parametrize("post_norm", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_an_answer_computes_only_what_the_head_reads(name: str, post_norm: bool) -> None:
    config = replace(TINY[name], post_norm=post_norm)
    vit, heard = spread(ViT(config)).eval().double(), []
    pixels = torch.rand(2, config.in_chans, *config.image_size, dtype=torch.float64)
    embedded = vit.norm_pre(vit.embed(pixels))
    vit.blocks[-1].mlp.register_forward_pre_hook(lambda _module, args: heard.append(args[0]))
    answer = vit.forward_head(vit.encode(embedded, None, config.tokens_read))
    assert_close(answer, vit(pixels), atol=1e-11, rtol=1e-11)
    read = {"cls": 1, "distilled": 2, "registers": 1, "rotary": 1, "grey": 1}.get(
        name, config.num_tokens
    )
    assert [one.shape[1] for one in heard] == [read, config.num_tokens]


def test_gradient_of_a_logit_after_the_last_attention_is_zero_for_patches() -> None:
    """Why maps made from gradients of the last layer's patch tokens are blank with CLS pooling."""
    vit = tiny("cls").vit
    kept = []

    def hook(_module: nn.Module, _args: object, out: torch.Tensor) -> torch.Tensor:
        kept.append(out.detach().requires_grad_())
        return kept[-1]

    handle = vit.blocks[-1].attn.register_forward_hook(hook)
    try:
        logits = vit(torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0)))
    finally:
        handle.remove()
    (gradient,) = torch.autograd.grad(logits[0, 2], kept[0])
    assert torch.equal(gradient[:, 1:], torch.zeros_like(gradient[:, 1:]))
    assert gradient[:, 0].abs().max() > 0


def test_patch_dropout_keeps_prefix_tokens_and_a_share_of_patches() -> None:
    x = torch.arange(22.0).view(1, 11, 2).repeat(3, 1, 1)
    kept, places = drop_patches(Tokens(x), num_prefix_tokens=1, keep=0.5)
    assert kept.shape == (3, 6, 2)
    assert torch.equal(kept[:, 0], x[:, 0])
    assert torch.equal(kept[:, :, 0].long() // 2, places)
    for image in kept[:, 1:, 0].long() // 2:
        assert len(set(image.tolist())) == 5
        assert 0 not in image
    vit = ViT(TINY["cls"], drop_path=0.9, patch_keep=0.5)
    pixels = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    vit.eval()
    assert torch.equal(vit(pixels), vit(pixels))  # both act in training only


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"image_size": 225}, "height 225 is not a multiple of the patch's 16"),
        ({"image_size": (224, 230)}, "width 230 is not a multiple"),
        ({"embed_dim": 100}, "embed_dim 100 is not a multiple of num_heads 12"),
        ({"depth": 0}, "depth must be a whole number of at least 1, got 0"),
        ({"num_heads": 2.5}, "num_heads must be a whole number"),
        ({"reg_tokens": -1}, "reg_tokens must be a whole number of at least 0"),
        ({"image_size": (1, 2, 3)}, "image_size must be one or two whole numbers"),
        ({"class_token": False}, 'use "avg"'),
        ({"class_token": False, "global_pool": "token_avg"}, '"token_avg" reads the CLS token'),
        ({"activation": "tanh"}, "activation must be one of"),
        ({"dist_token": True, "global_pool": "avg"}, "dist_token needs global_pool"),
    ],
)
def test_impossible_sizes_are_refused_with_a_sentence(wrong: dict, sentence: str) -> None:
    with pytest.raises(WeightsError, match=sentence.replace("(", r"\(")):
        ViTConfig(**wrong)


def test_config_survives_json() -> None:
    for config in TINY.values():
        assert ViTConfig.from_dict(config.to_dict()) == config
    with pytest.raises(WeightsError, match="does not know: colour"):
        ViTConfig.from_dict({"colour": 1})


def test_pixels_of_another_size_are_refused() -> None:
    with pytest.raises(ImageError, match=r"\(B, 3, 32, 32\), got \(1, 3, 40, 32\)"):
        tiny("cls").vit(torch.zeros(1, 3, 40, 32))


def test_a_model_is_loaded_without_the_compiler_of_torch() -> None:
    """Its import takes seconds: of every command, and of the first visitor of an app."""
    script = "import sys, vitviz; vitviz.load('photos'); sys.exit('torch._dynamo' in sys.modules)"
    root = Path(__file__).resolve().parents[1]
    assert subprocess.run([sys.executable, "-c", script], cwd=root, check=False).returncode == 0
