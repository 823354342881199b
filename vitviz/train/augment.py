"""Change a whole batch of pictures at once, so that no two epochs look the same.

Every change of geometry (crop, mirror, rotation, zoom, shift) is one affine map, so all of them
together cost one `grid_sample`; brightness, contrast, saturation and grey are one 3 x 3 matrix on
the colours.
"""

import math

import torch
import torch.nn.functional as F
from einops import einsum, rearrange
from torch import Tensor

from .ink import change_ink
from .recipe import Recipe

LUMA = (0.299, 0.587, 0.114)  # how bright red, green and blue look (ITU-R BT.601)


def augment(pictures: Tensor, recipe: Recipe, maps: Tensor | None = None) -> Tensor:
    """Pictures as the training step sees them. uint8 (B, C, h, w) -> float32 (B, C, h, w) in [0, 1]

    Random numbers come from torch's global generator; the pictures are not changed. `maps` (B, 2,
    3) are used in place of new `affine_maps`.
    """
    x = pictures.float().div_(255)
    moves = recipe.crop < 1 or recipe.flip or recipe.rotate or recipe.zoom or recipe.shift
    if maps is None and moves:
        maps = affine_maps(x, recipe)
    if maps is not None:
        grid = F.affine_grid(maps, list(x.shape), align_corners=False)
        # Beyond the picture its edge is repeated: black would darken the rim of many crops.
        x = F.grid_sample(x, grid, padding_mode="border", align_corners=False)
    if x.shape[1] == 3 and (recipe.colour or recipe.three_augment):
        x = change_colours(x, recipe)
    if x.shape[1] == 1 and (recipe.stroke or recipe.paper or recipe.invert):
        x = change_ink(x, recipe)
    return x


def erase(x: Tensor, chance: float) -> Tensor:
    """Random erasing (arXiv:1708.04896): put noise on a rectangle of some pictures, so that the
    model does not rely on one place. float32 (B, C, h, w) in [0, 1] -> the same, a new tensor

    The rectangle covers 2 to 33 % of the picture, with sides of at most 3.3 to 1. torchvision's and
    timm's RandomErasing go through the pictures one by one, in Python; this takes all at once.
    """
    area = uniform(x, 0.02, 0.33)
    ratio = torch.exp(uniform(x, -math.log(3.3), math.log(3.3)))  # of height against width
    chosen = uniform(x, 0, 1) < chance

    def side(pixels: int, share: Tensor) -> Tensor:
        """Mark the rows or cols that the rectangle covers. (B, pixels) bool"""
        length = (pixels * share.clamp(max=1)).round()
        first = (uniform(x, 0, 1) * (pixels - length + 1)).floor()
        place = torch.arange(pixels, device=x.device)
        return (place >= first[:, None]) & (place < (first + length)[:, None])

    rows = side(x.shape[2], (area * ratio).sqrt())
    cols = side(x.shape[3], (area / ratio).sqrt())
    hidden = chosen[:, None, None] & rows[:, :, None] & cols[:, None]  # (B, h, w)
    return torch.where(hidden[:, None], torch.rand_like(x), x)


def uniform(x: Tensor, low: float, high: float) -> Tensor:
    """One random number for each picture of the batch, from low to high. (B,)"""
    return torch.empty(len(x), device=x.device).uniform_(low, high)


def affine_maps(x: Tensor, recipe: Recipe) -> Tensor:
    """An affine map for each picture, from new to old coordinates, both from -1 to 1. (B, 2, 3)"""
    area = uniform(x, recipe.crop, 1)
    stretch = 1.0 if recipe.crop == 1 else 4 / 3  # of width against height, as in Inception's crop
    ratio = torch.exp(uniform(x, -math.log(stretch), math.log(stretch)))
    width, height = (area * ratio).sqrt().clamp(max=1), (area / ratio).sqrt().clamp(max=1)
    left, top = uniform(x, -1, 1) * (1 - width), uniform(x, -1, 1) * (1 - height)

    pixel = 2 / x.shape[-1]
    left = left + uniform(x, -recipe.shift, recipe.shift) * pixel
    top = top + uniform(x, -recipe.shift, recipe.shift) * pixel

    angle = torch.deg2rad(uniform(x, -recipe.rotate, recipe.rotate))
    size = uniform(x, 1 - recipe.zoom, 1 + recipe.zoom)
    cos, sin = angle.cos() * size, angle.sin() * size
    mirror = torch.where(uniform(x, 0, 1) < 0.5 * recipe.flip, -1.0, 1.0)
    rows = [cos * width * mirror, -sin * height, left, sin * width * mirror, cos * height, top]
    return rearrange(torch.stack(rows), "(two three) b -> b two three", two=2)


def change_colours(x: Tensor, recipe: Recipe) -> Tensor:
    """Jitter the colours of each picture; turn a few grey, solarise or blur them. (B, 3, h, w)"""
    luma = torch.tensor(LUMA, device=x.device)
    identity, grey = torch.eye(3, device=x.device), luma.expand(3, 3)
    kind = uniform(x, 0, 1).div(max(recipe.three_augment, 1e-9)).mul(3).floor()  # 0, 1, 2 or more

    brightness, contrast, saturation = (
        uniform(x, 1 - recipe.colour, 1 + recipe.colour).view(-1, 1, 1) for _ in range(3)
    )
    saturation = torch.where((kind == 0).view(-1, 1, 1), 0.0, saturation)
    colours = brightness * contrast * (saturation * identity + (1 - saturation) * grey)
    mean = brightness.view(-1) * einsum(x.mean((2, 3)), luma, "b c, c -> b")
    offset = (1 - contrast.view(-1)) * mean
    x = torch.baddbmm(offset.view(-1, 1, 1), colours, x.flatten(2)).view_as(x).clamp_(0, 1)

    if len(some := (kind == 1).nonzero().view(-1)):
        x[some] = torch.where(x[some] < 0.5, x[some], 1 - x[some])
    if len(some := (kind == 2).nonzero().view(-1)):
        x[some] = blur(x[some])
    return x


def blur(x: Tensor) -> Tensor:
    """A soft 5 x 5 binomial blur, close to a Gaussian of one pixel. (B, C, h, w)"""
    line = torch.tensor([1, 4, 6, 4, 1], device=x.device) / 16
    channels = x.shape[1]
    x = F.pad(x, (2, 2, 2, 2), mode="reflect")
    x = F.conv2d(x, line.view(1, 1, 5, 1).expand(channels, 1, 5, 1), groups=channels)
    return F.conv2d(x, line.view(1, 1, 1, 5).expand(channels, 1, 1, 5), groups=channels)
