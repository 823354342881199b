"""Every plain ViT of timm gives the same features and logits in vitviz's own model."""

import functools
import sys
from pathlib import Path

import pytest
import timm
import torch
import torchvision
from timm.layers import LayerScale, SwiGLUPacked
from timm.models import get_arch_name, model_entrypoint
from torch import nn
from torch.ao.quantization import quantize_dynamic

from tests.models import spread
from vitviz import WeightsError, analyze, from_timm, load
from vitviz.model.fold import folded
from vitviz.model.hub import answers
from vitviz.model.timm_config import REFUSED, config_from_timm, is_interleaved

# One small name of each rotary family, by what its angles go by: coordinates across the picture
# (without and with biases and SwiGLU, classified from CLS, narrow), patches that are counted in
# order xy, frequencies learned per block and head, and both with learned positions besides; an
# interleaved count of a reference grid, the same with q, k and v apart, with a norm inside; a count
# from 1, with map pooling and without any norm at the end; no CLS token, no biases; k and v in
# groups, norms on q and k, LayerScale on attention alone.
ROTARY = [
    "vit_small_patch16_dinov3",
    "vit_small_plus_patch16_dinov3_qkvb",
    "vit_small_patch16_lingbot",
    "vit_tiny_patch16_dinov3_qkvb",
    "vit_small_patch16_rope_224",
    "vit_small_patch16_rope_mixed_224",
    "vit_small_patch16_rope_ape_224",
    "vit_small_patch16_rope_mixed_ape_224",
    "eva02_tiny_patch14_224",
    "eva02_base_patch14_224",
    "eva02_base_patch16_clip_224",
    "vit_pe_core_tiny_patch16_384",
    "vit_pe_spatial_tiny_patch16_512",
    "vit_medium_patch16_rope_reg1_gap_256",
    "vit_mediumd_patch16_rope_reg1_gap_256",
    "vit_base_patch16_sapiens2",
]
BIASED = ["beit_base_patch16_224", "beitv2_base_patch16_224"]

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
    *ROTARY,
    *BIASED,
]

MAX_PARAMETERS = 1.3e9  # twice in float32 with room to work in 16 GB


def cut(name: str) -> dict:
    """What a model is made with, to have two blocks; some have too few parameters to be cut."""
    if name.startswith("test"):
        return {}
    if "sapiens2" not in name:
        return {"depth": 2}
    heads = {"base": 12, "large": 16, "huge": 16, "giant": 24, "5b": 32}[name.split("_")[1]]
    return {"depth": 2, "num_kv_heads": (heads, heads // 2)}


def undrawn(name: str, **options: object) -> nn.Module:
    """A model without storage, whose weights timm does not draw where it can be told so."""
    rest = [*timm.list_models(module="eva"), *timm.list_models(module="beit")]
    if name not in rest:
        options["weight_init"] = "skip"
    with torch.device("meta"):
        return timm.create_model(name, **options)


@functools.lru_cache
def plain_names() -> tuple[str, ...]:
    """timm's names of plain ViTs; found by timm's classes, not by vitviz's opinion."""
    names = []
    for module in ("vision_transformer", "deit", "eva", "beit"):
        for name in timm.list_models(module=module):
            model = undrawn(name, **cut(name))
            block = type(model.blocks[0]).__name__
            attention = type(getattr(model.blocks[0], "attn", None)).__name__
            if (
                type(model).__name__
                in ("VisionTransformer", "VisionTransformerDistilled", "Eva", "Beit")
                and type(model.patch_embed).__name__ == "PatchEmbed"
                and block in ("Block", "ResPostBlock", "EvaBlock", "EvaBlockPostNorm")
                and attention in ("Attention", "EvaAttention", "AttentionRope")
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


@pytest.mark.parametrize("name", FAMILIES)
def test_families_equal_timm(name: str) -> None:
    assert largest_difference(timm.create_model(name, **cut(name)), 1.0) < 1e-5


def wide(name: str) -> nn.Module:
    """For pictures of 5 x 9 patches: a row is no column, and a grid is not one of the training."""
    height, width = undrawn(name, **cut(name)).patch_embed.patch_size
    return timm.create_model(name, img_size=(5 * height, 9 * width), **cut(name))


@pytest.mark.parametrize("name", FAMILIES)
def test_families_equal_timm_on_a_wide_picture_small_enough_for_eps_to_count(name: str) -> None:
    assert largest_difference(wide(name), 1e-3) < 1e-5


@pytest.mark.parametrize("name", [*ROTARY, *BIASED])
def test_positions_inside_attention_equal_timm_on_a_wide_picture(name: str) -> None:
    assert largest_difference(wide(name), 1.0) < 1e-5


def test_every_plain_name_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    """Same parameters, same shapes, no weights needed: 242 names in timm 1.0.31."""
    from vitviz import ViT

    # Weights without storage need not be drawn either: that takes most of the time.
    monkeypatch.setattr(ViT, "reset_parameters", lambda _: None)
    for draw in [name for name in vars(nn.init) if name.endswith("_") and name[0] != "_"]:
        monkeypatch.setattr(nn.init, draw, lambda tensor, *_, **__: tensor)
    for module in ("eva", "beit"):
        monkeypatch.setattr(f"timm.models.{module}.trunc_normal_", lambda *_, **__: None)
    assert len(plain_names()) >= 240
    for name in plain_names():
        theirs = undrawn(name)
        with torch.device("meta"):
            ours = ViT(config := config_from_timm(theirs, name))
        read = folded(theirs.state_dict(), config, interleaved=is_interleaved(theirs))
        shapes = [{key: v.shape for key, v in state.items()} for state in (ours.state_dict(), read)]
        assert shapes[0] == shapes[1], name


@pytest.mark.slow
def test_full_size_equals_timm() -> None:
    """Every plain name that fits in memory, at full size; prints how many, and the worst."""
    differences = {}
    for name in plain_names():
        model = undrawn(name)
        if sum(parameter.numel() for parameter in model.parameters()) > MAX_PARAMETERS:
            continue
        differences[name] = largest_difference(model.to_empty(device="cpu"), 1.0)
        assert differences[name] < 1e-4, name
    worst = max(differences, key=differences.get)
    counts = f"{len(differences)} of {len(plain_names())} names"
    sys.stdout.write(f"{counts}; largest {differences[worst]:.1e} ({worst})\n")


@pytest.mark.slow
def test_positions_inside_attention_equal_timm_in_every_model() -> None:
    """Every rotary or biased name, of two blocks where it is too large; prints the worst."""
    differences = {}
    inside = [*timm.list_models(module="eva"), *timm.list_models(module="beit")]
    for name in inside:
        model = undrawn(name)
        if sum(parameter.numel() for parameter in model.parameters()) > MAX_PARAMETERS:
            model = timm.create_model(name, **cut(name))
        else:
            model = timm.create_model(name)
        differences[name] = largest_difference(model, 1.0)
        sys.stdout.write(f"{name} {differences[name]:.1e}\n")
        sys.stdout.flush()
        assert differences[name] < 1e-4, name
    worst = max(differences, key=differences.get)
    sys.stdout.write(f"{len(inside)} names; largest {differences[worst]:.1e} ({worst})\n")


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
        ("vit_small_patch16_18x2_224", r"blocks\.0 runs several attentions side by side"),
        ("vit_dwee_patch16_reg1_gap_256", r"blocks\.0\.attn subtracts one attention map"),
        ("vit_tiny_r_s16_p8_224", "patch_embed makes patches with a convolutional network"),
        ("resnet18", "it is a ResNet, which vitviz does not take apart$"),
        (
            "hiera_tiny_224",
            r"it pools its windows between stages \(Hiera\), .* vit_base_patch16_224.mae loads",
        ),
        (
            "swin_tiny_patch4_window7_224",
            r"looks within windows .* \(Swin\), .* beit_base_patch16_224 loads",
        ),
        (
            "naflexvit_base_patch16_gap",
            r"changing sizes \(NaFlex\), .* vit_base_patch16_siglip_256 loads",
        ),
    ],
)
def test_what_is_not_plain_is_refused_by_name(name: str, switch: str) -> None:
    assert model_entrypoint(get_arch_name(name)) is not None
    with pytest.raises(WeightsError, match=switch):
        load(name, pretrained=False)


def test_what_would_load_instead_does() -> None:
    for name in filter(None, (instead for _does, instead in REFUSED.values())):
        with torch.device("meta"):
            config_from_timm(timm.create_model(name.partition(".")[0]), name)


def test_converting_leaves_the_timm_model_alone() -> None:
    theirs = spread(timm.create_model("test_vit"))
    loaded = from_timm(theirs)
    before = theirs.head.weight.clone()
    loaded.vit.head.weight.add_(1)
    assert torch.equal(theirs.head.weight, before)
    assert not any(parameter.requires_grad for parameter in loaded.vit.parameters())
    assert not loaded.vit.training


def small_timm(**options) -> nn.Module:
    """Six blocks, 3 heads of 64 channels, 4 patches."""
    sizes = {"img_size": 32, "depth": 6, "num_classes": 7} | options
    return spread(timm.create_model("vit_tiny_patch16_224", **sizes).eval())


def put(changes: dict):
    """A change of a model: what is put where, by path."""

    def change(model: nn.Module) -> None:
        for path, value in changes.items():
            parent, _, last = path.rpartition(".")
            setattr(model.get_submodule(parent), last, value)

    return change


class VisionTransformer(timm.models.VisionTransformer):
    """One of the same name, with another answer."""

    def forward_head(self, *args, **kwargs):
        return super().forward_head(*args, **kwargs).softmax(-1)


SIX_HEADS = {"num_heads": 6, "head_dim": 32, "scale": 32**-0.5}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (put({"blocks.5.mlp.act": nn.ReLU()}), r"its blocks\.5\.mlp\.act is ReLU"),
        (
            put({"blocks.5.mlp.act": nn.SiLU()}),
            "its block 5 has activation 'silu' and its block 0 'g",
        ),
        (put({"blocks.5.mlp.act": nn.GELU("tanh")}), "its block 5 has activation 'gelu_tanh' and"),
        (put({"blocks.5.attn.num_heads": 6}), r"its blocks\.5\.attn has 6 heads of 64 channels"),
        (
            put({f"blocks.5.attn.{key}": one for key, one in SIX_HEADS.items()}),
            "its block 5 has num_heads 6 and its block 0 3",
        ),
        (put({"blocks.4.attn.scale": 0.25}), r"its blocks\.4\.attn has .* and a scale of 0\.25"),
        (put({"blocks.5.ls1": LayerScale(192, 0.5)}), "its block 5 has layer_scale True"),
        (put({"blocks.3.norm2.eps": 1e-2}), r"its blocks\.3\.norm2 is another norm"),
        (put({"head_drop": nn.Softmax(-1)}), "its head_drop is Softmax"),
        (put({"patch_embed.proj.dilation": (1, 2)}), r"fails on a picture of \(32, 32\): The size"),
        (put({"blocks.2.forward": lambda x: x}), r"its blocks\.2 has a method forward of its own"),
        (lambda m: m.blocks[5].register_forward_hook(print), r"its blocks\.5 has a forward hook"),
        (lambda m: m.register_forward_pre_hook(print), "it has a forward hook"),
        (put({"__class__": VisionTransformer}), "it is a tests.test_parity.VisionTransformer"),
    ],
)
def test_a_model_that_is_not_the_same_all_through_is_refused(change, sentence) -> None:
    """Only the first block was read, and another model than the given one came back."""
    model = small_timm()
    from_timm(model)
    change(model)
    with pytest.raises(WeightsError, match=sentence):
        from_timm(model)


def test_the_check_finds_the_block_where_nothing_on_the_parts_tells() -> None:
    model = small_timm(depth=3, mlp_layer=SwiGLUPacked)
    assert from_timm(model).card.config.mlp == "swiglu_packed"
    model.blocks[2].mlp.gate_last = True
    with pytest.raises(WeightsError, match="its block 2 computes something else"):
        from_timm(model)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_check_leaves_the_model_and_torch_as_they_were(dtype: torch.dtype) -> None:
    model = small_timm(drop_rate=0.5, proj_drop_rate=0.5, attn_drop_rate=0.5, drop_path_rate=0.5)
    model.to(dtype).train()
    model.blocks[1].eval()
    model.set_grad_checkpointing()
    modes = [part.training for part in model.modules()]
    weights = {key: (id(value), value.clone()) for key, value in model.named_parameters()}
    random = torch.get_rng_state()
    loaded = from_timm(model)
    assert [part.training for part in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), random)
    for key, value in model.named_parameters():
        assert id(value) == weights[key][0]
        assert torch.equal(value, weights[key][1])
        assert (value.grad, value.requires_grad, value.dtype) == (None, True, dtype)
    for vit in (model, loaded.vit):
        assert not any(part._forward_hooks or part._forward_pre_hooks for part in vit.modules())
    assert {value.dtype for value in loaded.vit.parameters()} == {torch.float32}


@pytest.mark.parametrize("wrap", [torch.compile, nn.DataParallel])
def test_wrappers_are_taken_off(wrap) -> None:
    model = small_timm(depth=1)
    assert torch.equal(from_timm(wrap(model)).vit.head.weight, model.head.weight)
    put({"blocks.0.mlp.act": nn.ReLU()})(model)
    with pytest.raises(WeightsError, match=r"its blocks\.0\.mlp\.act is ReLU"):
        from_timm(wrap(nn.DataParallel(model)))


class Lora(nn.Module):
    """A layer with a small matrix beside it, as fine-tuning with LoRA puts around `attn.qkv`."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.linear = linear

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


def with_lora() -> nn.Module:
    model = small_timm()
    put({"blocks.1.attn.qkv": Lora(model.blocks[1].attn.qkv)})(model)
    return model


@pytest.mark.filterwarnings("ignore:.*quantiz")
@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (with_lora, r"its blocks\.1\.attn\.qkv is tests\.test_parity\.Lora"),
        (lambda: quantize_dynamic(small_timm()), r"attn\.qkv is torch.ao.nn.quantized.dynamic"),
        (torchvision.models.vit_b_32, r"it is a torchvision\.models\..*\.VisionTransformer"),
        (lambda: nn.Sequential(small_timm()), "it is a Sequential"),
        (lambda: "vit_tiny_patch16_224", "it is a builtins.str"),
        (lambda: small_timm().state_dict(), "it is a collections.OrderedDict"),
    ],
)
def test_what_is_no_timm_model_is_refused_in_a_sentence(model, sentence: str) -> None:
    """Some ended in an AttributeError."""
    with pytest.raises(WeightsError, match=sentence):
        from_timm(model())
