"""The study notes that vitviz grew from, as tests: read from top to bottom, run one by one.

The notes follow one picture into a Vision Transformer: it is cut into patches, each patch becomes
a token, a CLS token is put in front, and positions are added. Each step has its example here, with
the sizes that stand in the notes, made with vitviz's own code (`vitviz/model/vit.py`, and
`vitviz/model/patch_embed_three_ways.py` for the ways in which tutorials cut patches).

Letters in shapes: B images, C channels, h and w pixels, P patches, N tokens, D numbers per token.
"""

import pytest
import torch
from einops import rearrange
from torch import Tensor, nn
from torch.testing import assert_close

from tests.models import spread
from vitviz import ViT, ViTConfig
from vitviz.model.patch_embed_three_ways import (
    ConvPatches,
    RearrangePatches,
    UnfoldPatches,
    share_weights,
)
from vitviz.model.vit import PatchEmbed

# The three examples of the notes: (B, C, h, w), then the ViT that takes such pictures. Depth 1,
# since nothing here depends on how many blocks follow.
DIGIT = (
    (1, 1, 28, 28),
    ViTConfig(
        image_size=28, patch_size=4, in_chans=1, embed_dim=16, depth=1, num_heads=4, num_classes=10
    ),
)
SIX_PHOTOS = (6, 3, 96, 96), ViTConfig(image_size=96, patch_size=16, embed_dim=768, depth=1)
PHOTO = (1, 3, 224, 224), ViTConfig(image_size=224, patch_size=16, embed_dim=768, depth=1)


def noise(shape: tuple[int, ...]) -> Tensor:
    """Pixels of no picture in particular, the same in every run."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


# 1. From pixels to tokens.


@pytest.mark.parametrize(
    ("example", "patches", "with_cls"),
    [
        (DIGIT, (1, 49, 16), (1, 50, 16)),  # 28 / 4 = 7 rows and columns: 49 patches
        (SIX_PHOTOS, (6, 36, 768), (6, 37, 768)),  # 96 / 16 = 6: 36 patches of each photo
        (PHOTO, (1, 196, 768), (1, 197, 768)),  # 224 / 16 = 14: 196 patches, "16 x 16 words"
    ],
    ids=["a digit", "six photos", "a photo"],
)
def test_a_picture_becomes_a_row_of_tokens(
    example: tuple, patches: tuple[int, ...], with_cls: tuple[int, ...]
) -> None:
    """Patches are counted by dividing; CLS is one token more, and the blocks keep the shape."""
    shape, config = example
    vit, pixels = ViT(config).eval(), noise(shape)
    assert vit.patch_embed(pixels).shape == patches
    assert vit.embed(pixels).shape == with_cls
    assert vit.forward_features(pixels).shape == with_cls
    assert vit(pixels).shape == (shape[0], config.num_classes)
    assert vit.pos_embed.shape == (1, *with_cls[1:])  # one learned position for each token


def test_a_patch_of_the_digit_is_sixteen_numbers_and_of_the_photo_768() -> None:
    """That the tokens are as long as the patches is a coincidence of these sizes.

    4 * 4 grey pixels are 16 numbers, and 16 * 16 pixels of three colours are 768. The projection is
    a square matrix here, but it may be of any width: D is free.
    """
    for example, values in ((DIGIT, 16), (PHOTO, 768)):
        matrix = ViT(example[1]).patch_embed.proj.weight.flatten(1)
        assert matrix.shape == (values, values)
    wider = ViTConfig(**{**DIGIT[1].to_dict(), "embed_dim": 64})
    assert ViT(wider).embed(noise(DIGIT[0])).shape == (1, 50, 64)


# 2. Three ways to cut patches.


@pytest.mark.parametrize(
    "example", [DIGIT, SIX_PHOTOS, PHOTO], ids=["a digit", "six photos", "a photo"]
)
def test_rearranging_convolving_and_unfolding_give_the_same_tokens(example: tuple) -> None:
    shape, config = example
    pixels = noise(shape)
    conv, rearranged, unfolded = share_weights(
        spread(ConvPatches(config)), RearrangePatches(config), UnfoldPatches(config)
    )
    tokens = conv(pixels)
    assert_close(rearranged(pixels), tokens)
    assert_close(unfolded(pixels), tokens)
    vit = ViT(config)
    vit.patch_embed.proj.load_state_dict(conv[0].state_dict())
    assert_close(vit.patch_embed(pixels), tokens)


# 3. In which order a patch is written down: (p1 p2 c) or (c p1 p2)?

BY_PIXEL = "b c (rows p1) (cols p2) -> b (rows cols) (p1 p2 c)"  # r g b r g b r g b ...
BY_CHANNEL = "b c (rows p1) (cols p2) -> b (rows cols) (c p1 p2)"  # r r r ... g g g ... b b b ...


def by_pixel_from_by_channel(config: ViTConfig) -> Tensor:
    """`order`, such that by_pixel[i] is by_channel[order[i]]. (values in a patch,)"""
    (p1, p2), c = config.patch_size, config.in_chans
    return rearrange(torch.arange(c * p1 * p2), "(c p1 p2) -> (p1 p2 c)", c=c, p1=p1, p2=p2)


def test_the_two_orders_are_one_permutation_of_the_numbers_of_a_patch() -> None:
    shape, config = SIX_PHOTOS
    pixels = noise(shape)
    by_pixel = rearrange(pixels, BY_PIXEL, p1=16, p2=16)
    by_channel = rearrange(pixels, BY_CHANNEL, p1=16, p2=16)
    order = by_pixel_from_by_channel(config)
    assert order[:4].tolist() == [0, 256, 512, 1]  # red, green and blue of one pixel, next pixel
    assert not torch.equal(by_pixel, by_channel)
    assert torch.equal(by_pixel, by_channel[..., order])


def test_the_order_of_a_grey_patch_makes_no_difference() -> None:
    """With one channel both orders are the same: an example with digits cannot tell them apart."""
    order = by_pixel_from_by_channel(DIGIT[1])
    assert torch.equal(order, torch.arange(16))


def test_the_same_permutation_of_the_columns_of_the_matrix_gives_the_same_tokens() -> None:
    """A token is a sum over the numbers of a patch, and a sum does not care about its order.

    So both orders can learn the same. Only weights that were learned with one order must not be
    used with the other: same shapes, no error, wrong tokens.
    """
    shape, config = SIX_PHOTOS
    pixels, order = noise(shape), by_pixel_from_by_channel(config)
    conv, rearranged, unfolded = share_weights(
        spread(ConvPatches(config)), RearrangePatches(config), UnfoldPatches(config)
    )
    matrix = conv[0].weight.flatten(1)  # of a convolution: (c p1 p2)
    assert torch.equal(unfolded.linear.weight, matrix)
    assert torch.equal(rearranged[1].weight, matrix[:, order])
    tokens = rearranged(pixels)
    assert_close(tokens, unfolded(pixels))
    rearranged[1].weight.data.copy_(matrix)  # the order is forgotten
    assert rearranged(pixels).shape == tokens.shape
    assert not torch.allclose(rearranged(pixels), tokens, atol=0.1)


# 4. LayerNorm before and after the projection, as in vit-pytorch.


def vit_pytorch_patches(config: ViTConfig) -> nn.Sequential:
    """The four steps from pixels to tokens as vit-pytorch writes them, the patch as (p1 p2 c)."""
    rearranged, linear = RearrangePatches(config)
    return nn.Sequential(
        rearranged,
        nn.LayerNorm(linear.in_features, eps=config.norm_eps),
        linear,
        nn.LayerNorm(config.embed_dim, eps=config.norm_eps),
    )


@pytest.mark.parametrize("example", [DIGIT, SIX_PHOTOS], ids=["a digit", "six photos"])
def test_both_norms_are_switches_of_the_config(example: tuple) -> None:
    """The first norm has a gain and a bias for each number of a patch: they are sorted too."""
    shape, plain = example
    config = ViTConfig(**{**plain.to_dict(), "patch_norm_before": True, "patch_norm_after": True})
    pixels, order = noise(shape), by_pixel_from_by_channel(config)
    ours, theirs = spread(ViT(config)).patch_embed, vit_pytorch_patches(config)
    _, before, linear, after = theirs
    with torch.no_grad():
        before.weight.copy_(ours.norm_before.weight[order])
        before.bias.copy_(ours.norm_before.bias[order])
        linear.weight.copy_(ours.proj.weight.flatten(1)[:, order])
        linear.bias.copy_(ours.proj.bias)
        after.load_state_dict(ours.norm.state_dict())
    assert_close(ours(pixels), theirs(pixels), atol=1e-4, rtol=1e-4)


def test_what_each_norm_is_for() -> None:
    """Before: brightness and contrast of a patch no longer count. After: tokens of one length."""
    shape, plain = SIX_PHOTOS
    pixels = noise(shape)

    def embed(**switches: bool) -> PatchEmbed:
        torch.manual_seed(0)
        return ViT(ViTConfig(**{**plain.to_dict(), **switches})).patch_embed

    neither, before = embed(), embed(patch_norm_before=True)
    brighter = 2 * pixels + 3
    assert not torch.allclose(neither(brighter), neither(pixels), atol=0.1)
    assert_close(before(brighter), before(pixels), atol=1e-4, rtol=1e-4)
    tokens = embed(patch_norm_after=True)(pixels)
    assert_close(tokens.mean(dim=-1), torch.zeros(6, 36), atol=1e-5, rtol=0)
    assert_close(tokens.std(dim=-1, correction=0), torch.ones(6, 36), atol=1e-4, rtol=0)


# 5. "positional_embeddings[x.shape[0]]": one position for all?
#
# The notes ask about labml's LearnedPositionalEmbeddings(max_len). There x is (seq_len, batch,
# d_model), so x.shape[0] is how many tokens there are, and a table that is asked for
# [x.shape[0]] gives one row: the row of that number, added to every token. A position for each
# token would be the rows up to that number, [:x.shape[0]]. What is lost without the colon?


class RowOfTheLength(nn.Module):
    """One learned row for the whole sequence, chosen by its length. (N, B, D) -> (N, B, D)"""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.positional_embeddings = nn.Parameter(torch.randn(max_len, 1, d_model))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.positional_embeddings[x.shape[0]]


class RowOfEachToken(RowOfTheLength):
    """One learned row for each token: its position. (N, B, D) -> (N, B, D)"""

    def forward(self, x: Tensor) -> Tensor:
        return x + self.positional_embeddings[: x.shape[0]]


def test_one_row_is_added_to_every_token() -> None:
    x = torch.zeros(50, 2, 16)
    added = RowOfTheLength(51, 16)(x)
    assert torch.equal(added, added[:1].expand_as(added))
    added = RowOfEachToken(51, 16)(x)
    assert len({tuple(row.tolist()) for row in added[:, 0]}) == 50


def test_the_table_needs_one_row_more_than_there_are_tokens() -> None:
    """Rows are counted from 0: the row of 50 tokens is the fifty-first."""
    x = torch.zeros(50, 1, 16)
    RowOfTheLength(51, 16)(x)
    with pytest.raises(IndexError, match="index 50 is out of bounds"):
        RowOfTheLength(50, 16)(x)
    RowOfEachToken(50, 16)(x)


def test_only_one_row_of_the_table_ever_learns() -> None:
    """All pictures of one size have the same number of tokens: 50 of 51 rows are dead weight."""
    for kind, learning in ((RowOfTheLength, [50]), (RowOfEachToken, list(range(50)))):
        positions = kind(51, 16)
        positions(torch.zeros(50, 1, 16)).square().sum().backward()
        gradient = positions.positional_embeddings.grad.flatten(1).abs().sum(dim=1)
        assert gradient.nonzero().flatten().tolist() == learning


def digits_with(positions: RowOfTheLength) -> ViT:
    """The ViT of the digits, whose positions are those that this module adds to its 50 tokens."""
    vit = spread(ViT(DIGIT[1])).eval()
    no_tokens = torch.zeros(vit.config.num_tokens, 1, vit.config.embed_dim)
    with torch.no_grad():
        vit.pos_embed.copy_(rearrange(positions(no_tokens), "n one d -> one n d"))
    return vit


def jigsaw(pixels: Tensor, order: Tensor, config: ViTConfig) -> Tensor:
    """The same picture with its patches in another order. (B, C, h, w) -> (B, C, h, w)"""
    (rows, cols), (p1, p2) = config.grid_size, config.patch_size
    patches = rearrange(pixels, "b c (r p1) (k p2) -> b (r k) c p1 p2", p1=p1, p2=p2)
    return rearrange(patches[:, order], "b (r k) c p1 p2 -> b c (r p1) (k p2)", r=rows, k=cols)


@torch.no_grad()
def test_with_one_row_for_all_a_jigsaw_is_as_good_as_the_picture() -> None:
    """Attention is a sum over tokens, and a sum has no order: without positions nothing says
    where a patch was.

    The tokens of the patches come out shuffled as they came in, and CLS, which the answer is read
    from, does not change at all.
    """
    vit, pixels = digits_with(RowOfTheLength(51, 16)), noise(DIGIT[0])
    order = torch.randperm(49, generator=torch.Generator().manual_seed(1))
    shuffled = jigsaw(pixels, order, vit.config)
    assert not torch.allclose(shuffled, pixels)
    assert_close(vit.patch_embed(shuffled), vit.patch_embed(pixels)[:, order])
    tokens, tokens_of_jigsaw = vit.forward_features(pixels), vit.forward_features(shuffled)
    assert_close(tokens_of_jigsaw[:, 1:], tokens[:, 1:][:, order], atol=1e-4, rtol=1e-4)
    assert not torch.allclose(tokens_of_jigsaw[:, 1:], tokens[:, 1:], atol=0.1)
    assert_close(tokens_of_jigsaw[:, 0], tokens[:, 0], atol=1e-4, rtol=1e-4)
    assert_close(vit(shuffled), vit(pixels), atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_with_a_row_for_each_token_the_model_knows_where_a_patch_was() -> None:
    vit, pixels = digits_with(RowOfEachToken(51, 16)), noise(DIGIT[0])
    order = torch.randperm(49, generator=torch.Generator().manual_seed(1))
    shuffled = jigsaw(pixels, order, vit.config)
    tokens, tokens_of_jigsaw = vit.forward_features(pixels), vit.forward_features(shuffled)
    assert not torch.allclose(tokens_of_jigsaw[:, 1:], tokens[:, 1:][:, order], atol=0.1)
    assert not torch.allclose(vit(shuffled), vit(pixels), atol=0.1)
