"""The three ways in which tutorials cut and project patches, side by side: they are one operation.

`vit.PatchEmbed` is the one the model uses. These are for reading and comparing: given the same
weights (`share_weights`), all give the same tokens. They differ only in the order in which a
patch is flattened, and so in how the columns of the same matrix are sorted.
"""

import torch
from einops import rearrange
from einops.layers.torch import Rearrange
from torch import Tensor, nn

from .config import ViTConfig


class RearrangePatches(nn.Sequential):
    """Reshape, then one linear layer, as in vit-pytorch. (B, C, h, w) -> (B, P, D)

    A patch is flattened pixel by pixel, the channels of a pixel together: (ph pw c).
    """

    def __init__(self, config: ViTConfig) -> None:
        ph, pw = config.patch_size
        super().__init__(
            Rearrange("b c (rows ph) (cols pw) -> b (rows cols) (ph pw c)", ph=ph, pw=pw),
            nn.Linear(config.in_chans * ph * pw, config.embed_dim, bias=config.patch_bias),
        )


class ConvPatches(nn.Sequential):
    """A convolution whose stride is its kernel, as in timm. (B, C, h, w) -> (B, P, D)

    A filter is placed once on every patch, so a filter is one row of the matrix: (c ph pw).
    """

    def __init__(self, config: ViTConfig) -> None:
        size = config.patch_size
        super().__init__(
            nn.Conv2d(config.in_chans, config.embed_dim, size, stride=size, bias=config.patch_bias),
            Rearrange("b d rows cols -> b (rows cols) d"),
        )


class UnfoldPatches(nn.Module):
    """`Tensor.unfold` slides a window, then one linear layer. (B, C, h, w) -> (B, P, D)

    A patch is flattened channel by channel, as the convolution does it: (c ph pw).
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.patch_size = config.patch_size
        values = config.in_chans * config.patch_size[0] * config.patch_size[1]
        self.linear = nn.Linear(values, config.embed_dim, bias=config.patch_bias)

    def forward(self, pixels: Tensor) -> Tensor:
        ph, pw = self.patch_size
        windows = pixels.unfold(2, ph, ph).unfold(3, pw, pw)
        return self.linear(rearrange(windows, "b c rows cols ph pw -> b (rows cols) (c ph pw)"))


@torch.no_grad()
def share_weights(
    conv: ConvPatches, rearranged: RearrangePatches, unfolded: UnfoldPatches
) -> tuple[ConvPatches, RearrangePatches, UnfoldPatches]:
    """Give the other two the convolution's weights, each in its order. Returns all three."""
    filters = conv.get_parameter("0.weight")
    rearranged.get_parameter("1.weight").copy_(rearrange(filters, "d c ph pw -> d (ph pw c)"))
    unfolded.linear.weight.copy_(rearrange(filters, "d c ph pw -> d (c ph pw)"))
    if unfolded.linear.bias is not None:
        bias = conv.get_parameter("0.bias")
        rearranged.get_parameter("1.bias").copy_(bias)
        unfolded.linear.bias.copy_(bias)
    return conv, rearranged, unfolded
