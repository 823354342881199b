"""Every plain ViT of timm gives the same features and logits in vitviz's own model."""

import functools
import sys
from pathlib import Path

import pytest
import timm
import torch
from timm.models import get_arch_name, model_entrypoint
from torch import nn

from tests.models import spread
from vitviz import WeightsError, analyze, from_timm, load
from vitviz.model.hub import answers
from vitviz.model.timm_models import config_from_timm

# The families, by what sets them apart: nothing, distillation token, no class token, registers,
# LayerScale, packed SwiGLU, CLIP's norm and QuickGELU, map pooling, RMSNorm and SwiGLU, norms
# inside, post-norm.
FAMILIES = [
    "vit_tiny_patch16_224",
    "deit_tiny_distilled_patch16_224",
    "vit_medium_patch16_gap_240",
    "vit_wee_patch16_reg1_gap_256",
    "vit_small_patch14_reg4_dinov2",
    "deit3_small_patch16_224",
    "flexivit_small",
    "vit_xsmall_patch16_clip_224",
    "vit_base_patch32_clip_quickgelu_224",
    "vit_base_patch32_siglip_256",
    "beit3_base_patch16_224",
    "vit_base_patch16_rpn_224",
    "test_vit",
    "test_vit2",
    "test_vit3",
    "test_vit4",
]


MAX_PARAMETERS = 1.3e9  # twice in float32 with room to work in 16 GB


@functools.lru_cache
def plain_names() -> tuple[str, ...]:
    """timm's names of plain ViTs; found by timm's classes, not by vitviz's opinion."""
    names = []
    for module in ("vision_transformer", "deit"):
        for name in timm.list_models(module=module):
            with torch.device("meta"):
                model = (
                    timm.create_model(name, depth=1)
                    if "test" not in name
                    else timm.create_model(name)
                )
            block = type(model.blocks[0]).__name__
            attention = type(getattr(model.blocks[0], "attn", None)).__name__
            if (
                type(model).__name__ in ("VisionTransformer", "VisionTransformerDistilled")
                and type(model.patch_embed).__name__ == "PatchEmbed"
                and block in ("Block", "ResPostBlock")
                and attention == "Attention"
            ):
                names.append(name)
    return tuple(names)


@torch.inference_mode()
def largest_difference(theirs: nn.Module, small: float) -> float:
    """Of logits and of features, relative to the largest of timm's values."""
    spread(theirs.eval(), seed=1, small=small)
    ours = from_timm(theirs).vit
    size = theirs.patch_embed.img_size
    generator = torch.Generator().manual_seed(2)
    pixels = torch.randn(1, theirs.patch_embed.proj.in_channels, *size, generator=generator)
    height, width = ours.config.image_size
    mine, reference = (
        ours.forward_features(pixels[..., :height, :width]),
        theirs.forward_features(pixels),
    )
    pairs = [(mine, reference), (ours.forward_head(mine), theirs.forward_head(reference))]
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)


@pytest.mark.parametrize("small", [1.0, 1e-3], ids=["spread", "small enough for eps to count"])
@pytest.mark.parametrize("name", FAMILIES)
def test_families_equal_timm(name: str, small: float) -> None:
    model = timm.create_model(name, **({} if name.startswith("test") else {"depth": 2}))
    assert largest_difference(model, small) < 1e-5


def test_every_plain_name_is_understood() -> None:
    """Same parameters, same shapes, no weights needed: 170 names in timm 1.0.31."""
    from vitviz import ViT

    assert len(plain_names()) >= 170
    for name in plain_names():
        with torch.device("meta"):
            theirs = timm.create_model(name)
            ours = ViT(config_from_timm(theirs, name))
        shapes = [
            {key: v.shape for key, v in model.state_dict().items()} for model in (ours, theirs)
        ]
        assert shapes[0] == shapes[1], name


@pytest.mark.slow
def test_full_size_equals_timm() -> None:
    """Every plain name that fits in memory, at full size; prints how many, and the worst."""
    differences = {}
    for name in plain_names():
        with torch.device("meta"):
            model = timm.create_model(name)
        if sum(parameter.numel() for parameter in model.parameters()) > MAX_PARAMETERS:
            continue
        differences[name] = largest_difference(model.to_empty(device="cpu"), 1.0)
        assert differences[name] < 1e-4, name
    worst = max(differences, key=differences.get)
    counts = f"{len(differences)} of {len(plain_names())} names"
    sys.stdout.write(f"{counts}; largest {differences[worst]:.1e} ({worst})\n")


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "answer"),
    [("deit_tiny_patch16_224.fb_in1k", "cat"), ("vit_small_patch16_224.dino", None)],
)
def test_weights_from_the_hub_answer_as_in_timm(name: str, answer: str | None, monkeypatch) -> None:
    from huggingface_hub import constants

    if not answers(constants.ENDPOINT):
        pytest.skip("the Hugging Face hub does not answer")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    analysis = analyze(load(name), Path(__file__).parents[1] / "vitviz/web/examples/cat.jpg")
    with torch.inference_mode():
        logits = timm.create_model(name, pretrained=True).eval()(analysis.pixels[None])[0]
    torch.testing.assert_close(analysis.trace.logits, logits, atol=1e-4, rtol=1e-4)
    if answer:
        assert answer in analysis.predictions(1)[0].label


@pytest.mark.parametrize(
    ("name", "switch"),
    [
        ("vit_small_patch16_18x2_224", "block is ParallelThingsBlock"),
        ("vit_dwee_patch16_reg1_gap_256", "attention is DiffAttention"),
        ("vit_tiny_r_s16_p8_224", "patch embedding is HybridEmbed"),
        ("eva02_tiny_patch14_224", "it is a Eva"),
        ("beit_base_patch16_224", "it is a Beit"),
        ("resnet18", "it is a ResNet"),
    ],
)
def test_what_is_not_plain_is_refused_by_name(name: str, switch: str) -> None:
    assert model_entrypoint(get_arch_name(name)) is not None
    with pytest.raises(WeightsError, match=switch):
        load(name, pretrained=False)


def test_converting_leaves_the_timm_model_alone() -> None:
    theirs = spread(timm.create_model("test_vit"))
    loaded = from_timm(theirs)
    before = theirs.head.weight.clone()
    loaded.vit.head.weight.add_(1)
    assert torch.equal(theirs.head.weight, before)
    assert not any(parameter.requires_grad for parameter in loaded.vit.parameters())
    assert not loaded.vit.training
