"""Another image size: the grid grows, the weights follow, old measurements are dropped."""

from dataclasses import replace
from itertools import product

import pytest
import timm
import torch
from timm.layers import resample_abs_pos_embed, resample_patch_embed
from timm.models import save_for_hf
from timm.models.beit import Attention as BeitAttention
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from tests.models import TINY, photo, spread, tiny
from tests.running import save_tiny
from tests.test_parity import BIASED, ROTARY, cut
from vitviz import ViT, WeightsError, analyze, from_timm, load
from vitviz.model.resize import (
    MEASURED,
    multiplications,
    resample,
    resized,
    settled,
    sizes_of,
)
from vitviz.model.untrained import draw
from vitviz.payload import in_page
from vitviz.site import site

OTHER_SIZES = [(1, 1), (2, 3), (5, 2)]  # additional patches: (rows, cols)


OF_TIMM = pytest.mark.filterwarnings(  # by its own interpolator of the bias
    "ignore:.*non-contiguous:UserWarning", "ignore:Using a non-tuple sequence:UserWarning"
)


@OF_TIMM
def test_positions_are_resampled_as_timm_does_it(subtests: pytest.Subtests) -> None:
    for name, more in product(TINY, OTHER_SIZES):
        with subtests.test(name=name, more=more):
            compare_resampled(name, more)


def compare_resampled(name: str, more: tuple[int, int]) -> None:
    old, state = TINY[name], tiny(name).vit.state_dict()
    sides = zip(old.image_size, old.patch_size, more, strict=True)
    new = replace(old, image_size=tuple(side + count * patch for side, patch, count in sides))
    for before, after in ((old, new), (new, old)):
        expected, own = None, state
        if before.pos_embed:
            expected = resample_abs_pos_embed(
                state["pos_embed"],
                new_size=list(after.grid_size),
                old_size=list(before.grid_size),
                num_prefix_tokens=before.num_prefix_tokens if before.pos_embed_prefix else 0,
            )
        state = resample(state, before, after)
        assert_close(state.get("pos_embed"), expected)
        if before.relative_bias:
            table = "blocks.1.attn.score_bias.relative.table"
            attention = BeitAttention(16, num_heads=2, window_size=before.grid_size)
            attention.relative_position_bias_table.data = own[table]
            attention.set_window_size(after.grid_size)
            assert_close(state[table], attention.relative_position_bias_table.data)
        with torch.device("meta"):
            shapes = {key: value.shape for key, value in ViT(after).state_dict().items()}
        assert {key: value.shape for key, value in state.items()} == shapes


@pytest.mark.parametrize("patch", [(4, 4), (8, 16), (16, 12), (3, 5)])
def test_filters_are_resampled_as_timm_does_it(patch: tuple[int, int]) -> None:
    old, state = TINY["cls"], tiny("cls").vit.state_dict()
    rows, cols = old.grid_size
    new = replace(old, patch_size=patch, image_size=(rows * patch[0], cols * patch[1]))
    ours = resample(state, old, new)
    expected = resample_patch_embed(state["patch_embed.proj.weight"], list(patch))
    assert_close(ours["patch_embed.proj.weight"], expected, atol=1e-5, rtol=1e-4)
    assert torch.equal(ours["pos_embed"], state["pos_embed"])  # the grid is the same


@pytest.mark.parametrize("name", TINY)
def test_the_models_own_size_changes_nothing(name: str) -> None:
    loaded, config = tiny(name), TINY[name]
    assert resized(loaded, config.image_size) is loaded
    assert resized(loaded, [*config.image_size]) is loaded  # as JSON has it: its temperature stays
    before = loaded.vit.state_dict()
    after = resample(before, config, config)
    assert list(after) == list(before)
    assert all(after[key] is before[key] for key in before)


def test_a_name_of_timm_at_another_size_answers_as_timm_at_that_size(tmp_path) -> None:
    theirs = spread(timm.create_model("test_vit").eval())
    save_for_hf(theirs, tmp_path, safe_serialization=True)
    name = f"local-dir:{tmp_path}"
    expected = timm.create_model(name, pretrained=True, img_size=(96, 224)).eval()
    loaded = load(name, image_size=(96, 224), device="cpu")
    pixels = torch.randn(1, 3, 96, 224, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert_close(loaded.vit(pixels), expected(pixels), atol=1e-5, rtol=1e-5)
    assert loaded.preprocess.size == (96, 224)


@OF_TIMM
@pytest.mark.parametrize("name", [*ROTARY, *BIASED])
def test_positions_inside_attention_answer_as_in_timm_at_another_size(name: str) -> None:
    theirs = spread(timm.create_model(name, **cut(name)).eval())
    height, width = theirs.patch_embed.patch_size
    size = 3 * height, 7 * width
    loaded = resized(from_timm(theirs), size)
    theirs.set_input_size(img_size=size)
    pixels = torch.randn(1, 3, *size, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        expected = theirs(pixels)
        assert_close(loaded.vit(pixels), expected, atol=1e-5 * float(expected.abs().max()), rtol=0)


def test_a_checkpoint_of_ours_sees_more_of_the_same_patches() -> None:
    loaded = load("photos", image_size=144, device="cpu")
    own = load("photos", device="cpu")
    config = loaded.card.config
    assert (config.image_size, config.patch_size, config.grid_size) == (
        (144, 144),
        (6, 6),
        (24, 24),
    )
    assert loaded.preprocess.size == (144, 144)
    assert loaded.card.resized_from == (72, 72)
    assert loaded.card.details["resized from"] == "72 x 72 pixels"
    assert loaded.card.num_parameters == own.card.num_parameters + (24 * 24 - 12 * 12) * 192
    for key, value in own.vit.state_dict().items():
        assert key == "pos_embed" or torch.equal(loaded.vit.state_dict()[key], value)
    analysis = analyze(loaded, photo())
    assert analysis.grid.rows == 24
    assert analysis.trace.num_tokens == 577


def test_what_was_measured_at_another_size_is_not_claimed() -> None:
    own, loaded = load("photos", device="cpu").card, load("photos", image_size=(72, 96)).card
    assert set(MEASURED) - {"taught"} < set(own.details)  # of heads by `vitviz.teach` alone
    assert not set(MEASURED) & set(loaded.details)
    assert set(own.details) - set(MEASURED) < set(loaded.details)
    assert (own.temperature != 1, loaded.temperature) == (True, 1)
    assert type(loaded).from_dict(loaded.to_dict()) == loaded


def test_torchvisions_checkpoint_can_be_resized(tmp_path) -> None:
    from torchvision.models import VisionTransformer

    theirs = VisionTransformer(
        image_size=64, patch_size=32, num_layers=1, num_heads=12, hidden_dim=768, mlp_dim=8
    )
    torch.save(theirs.state_dict(), tmp_path / "x.pth")
    loaded = load(tmp_path / "x.pth", image_size=(96, 64), device="cpu")
    assert loaded.card.config.grid_size == (3, 2)
    assert loaded.preprocess.size == (96, 64)


def test_the_twin_is_drawn_at_its_own_size_and_resampled_like_the_model() -> None:
    twin = load("mnist", pretrained=False, image_size=(28, 36), device="cpu")
    drawn = load("mnist", pretrained=False, device="cpu")
    for key, value in drawn.vit.state_dict().items():
        assert key == "pos_embed" or torch.equal(twin.vit.state_dict()[key], value)
    assert twin.vit.pos_embed.shape == (1, 1 + 7 * 9, 128)
    analysis = analyze(load("mnist", image_size=(28, 36), device="cpu"), photo())
    before = analysis.untrained_positions()
    assert torch.equal(before.patches, twin.vit.pos_embed[0, 1:])
    anew = draw(twin.card.config, seed=0)["pos_embed"][0, 1:]
    assert not torch.allclose(before.patches, anew, atol=1e-3)


@pytest.mark.parametrize(
    ("size", "sentence"),
    [
        (100, "the height 100 is not a multiple of the patch's 8"),
        ((32, 33), "the width 33 is not a multiple of the patch's 8"),
        (8000, "size must be .* from 1 to 4096 pixels"),
        (0, "image_size must be one or two whole numbers"),
        (-8, "image_size must be one or two whole numbers"),
        ((32, 32, 32), "image_size must be one or two whole numbers"),
        ("32", "image_size must be one or two whole numbers"),
        (True, "image_size must be one or two whole numbers"),
        (32.0, "image_size must be one or two whole numbers"),
    ],
)
def test_sizes_that_cannot_be_are_refused_with_a_sentence(tmp_path, size, sentence) -> None:
    path = save_tiny(tmp_path, "cls")
    with pytest.raises(WeightsError, match=sentence):
        load(path, image_size=size)


def test_the_sizes_of_a_model_and_their_work_by_hand() -> None:
    """D = 24, 3 blocks, MLPs of 96: 6,912 multiplications a token, 48 a pair, 72 a pixel."""
    sizes = sizes_of(TINY["cls"])
    assert [(one.image_size, one.tokens) for one in sizes] == [
        ((16, 16), 5),
        ((32, 32), 17),
        ((32, 40), 21),
        ((40, 32), 21),
        ((48, 48), 37),
        ((64, 64), 65),
    ]
    own = 3 * (17 * 6912 + 17 * 17 * 48) + 32 * 32 * 72
    double = 3 * (65 * 6912 + 65 * 65 * 48) + 64 * 64 * 72
    assert [one.times for one in sizes[1::4]] == [1, double / own]


@pytest.mark.parametrize("name", ["cls", "no_cls", "distilled"])
def test_the_work_is_what_torch_counts(name: str) -> None:
    loaded, config = tiny(name), TINY[name]
    # Not every version of torch counts its fused attention on a CPU.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        loaded.vit.forward_features(torch.zeros(1, config.in_chans, *config.image_size))
    assert counter.get_total_flops() == 2 * multiplications(config)  # and as many additions


def test_a_small_grid_has_no_size_below_two_patches_nor_one_twice() -> None:
    tiny_grid = replace(TINY["cls"], image_size=(16, 16))
    assert [one.image_size for one in sizes_of(tiny_grid)] == [
        (16, 16),
        (16, 24),
        (24, 16),
        (24, 24),
        (32, 32),
    ]


def test_a_resized_model_is_written_at_its_size_for_a_page(tmp_path) -> None:
    """As every DINOv2 of transformers: 40 pixels in its config, 24 in its processor."""
    loaded = load("tests/transformers_files/dinov2", device="cpu")
    with pytest.raises(WeightsError, match="another size"):
        in_page.check(loaded.card)
    small = settled(loaded)
    in_page.check(small.card)
    (tmp_path / "page.safetensors").write_bytes(in_page.weights_of(small))
    again = load(tmp_path / "page.safetensors", device="cpu")
    assert again.card.config.image_size == again.preprocess.size == (24, 24)
    assert again.card.key.image_size is None
    assert again.card.details["resized from"] == "40 x 40 pixels"
    pixels = torch.randn(1, 3, 24, 24, generator=torch.Generator().manual_seed(0))
    assert_close(again.vit(pixels), loaded.vit(pixels))


def test_a_site_offers_a_model_whose_processor_has_another_size() -> None:
    (offered,) = site._offered(["tests/transformers_files/dinov2"]).values()
    assert offered.card.config.image_size == (24, 24)
