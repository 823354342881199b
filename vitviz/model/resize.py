"""Weights for another image size or patch size: positions and filters are resampled.

Rotary positions are no weights: the model computes the angles of its grid (`positions.py`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from ..languages import Message
from .config import ViTConfig, sides_of
from .loaded import LoadedModel, Resampling, build

TIMM = Resampling()
# Details that were measured at the image size of the training, and do not hold at another.
MEASURED = ("accuracy", "evaluation", "temperature", "others", "certain", "explainers", "taught")

# Heights and widths that the menu offers, as shares of those of the training.
SHARES = ((1 / 2, 1 / 2), (1, 1), (3 / 2, 3 / 2), (2, 2), (1, 4 / 3), (4 / 3, 1))


class Size(NamedTuple):
    """An image size that a model can take, and its cost.

    image_size  (height, width) in pixels, whole patches
    tokens      number of tokens at this size, prefix tokens included
    times       multiplications of a pass, relative to those at the size of the training
    """

    image_size: tuple[int, int]
    tokens: int
    times: float


def sizes_of(config: ViTConfig) -> list[Size]:
    """Image sizes from half to double that of the training, which is included; also wide and tall.

    Each is rounded to whole patches, at least 2 x 2, without duplicates.
    """
    (rows, ph), (cols, pw) = zip(config.grid_size, config.patch_size, strict=True)
    wanted = {
        (max(2, round(rows * down)) * ph, max(2, round(cols * across)) * pw)
        for down, across in SHARES
    }
    own, sizes = multiplications(config), []
    for image_size in sorted(wanted, key=lambda size: (size[0] * size[1], size)):
        config_at_size = replace(config, image_size=image_size)
        sizes.append(
            Size(
                config_at_size.image_size,
                config_at_size.num_tokens,
                multiplications(config_at_size) / own,
            )
        )
    return sizes


def multiplications(config: ViTConfig) -> int:
    """Multiplications of one pass up to the last block, norms and the like left out.

    In each block, 4 D^2 and those of the MLP for each token, and 2 D for each pair of tokens (the
    score and the mixing); and those of the patch embedding.
    """
    tokens, dim = config.num_tokens, config.embed_dim
    mlp = (2 if config.mlp == "mlp" else 3) * dim * config.mlp_hidden_dim
    blocks = config.depth * (tokens * (4 * dim * dim + mlp) + 2 * tokens * tokens * dim)
    height, width = config.image_size
    return blocks + config.in_chans * height * width * dim


def resized(loaded: LoadedModel, image_size: int | tuple[int, int]) -> LoadedModel:
    """The same model for pictures of another size: (height, width) in pixels, an int for a square.

    The patches stay as large as they are, so there are more of them, or fewer; the position
    embedding is resampled to the new grid as the library of the model does it (`Resampling`), and
    the card says whose way that is. Measured facts, temperature and threshold included, are
    dropped: nobody measured them at this size. The model's own size changes nothing.
    Raises `WeightsError` for a size that is not a multiple of the patch, or too large.
    """
    old = loaded.card.config
    wanted = sides_of("image_size", image_size)
    if wanted in (old.image_size, loaded.preprocess.size):
        return loaded
    new = replace(old, image_size=wanted)
    preprocess = replace(loaded.preprocess, size=new.image_size)
    details = {key: text for key, text in loaded.card.details.items() if key not in MEASURED}
    details["resized from"] = "{} x {} pixels".format(*old.image_size)
    if old.pos_embed or old.relative_bias:
        details["positions"] = Message("models.positions_like", library=loaded.resampling.like)
    card = replace(
        loaded.card, config=new, resized_from=old.image_size, temperature=1.0, details=details
    )
    state = resample(loaded.vit.state_dict(), old, new, loaded.resampling)
    made = build(state, card, preprocess)
    return replace(made, film=loaded.film, resampling=loaded.resampling)


def settled(loaded: LoadedModel) -> LoadedModel:
    """The same model, whose present size counts as its own: for files that hold the resampled
    positions, such as the pages of a site. A detail still says the size of its training.
    """
    return replace(loaded, card=replace(loaded.card, resized_from=None))


def resample(
    state: Mapping[str, Tensor], old: ViTConfig, new: ViTConfig, way: Resampling = TIMM
) -> dict[str, Tensor]:
    """The weights of one model for another that differs in image size or patch size only."""
    state = dict(state)
    weight = "patch_embed.proj.weight"
    state[weight] = resample_filters(state[weight], new.patch_size)
    if "pos_embed" in state:
        state["pos_embed"] = resample_positions(state["pos_embed"], old, new, way)
    for name in state:
        if name.endswith(".relative.table"):
            state[name] = resample_bias(state[name], old, new, way)
    return state


def resample_positions(
    pos_embed: Tensor, old: ViTConfig, new: ViTConfig, way: Resampling = TIMM
) -> Tensor:
    """Positions of the patches, interpolated as a picture with D colours. (1, N or P, D)

    arXiv:2010.11929, section 3.2. Bicubic and smoothed where the grid becomes coarser, as timm's
    `resample_abs_pos_embed` does it; prefix tokens have no place and keep their rows. Without
    `antialias` nothing is smoothed, as `interpolate_pos_encoding` of transformers does it.
    """
    if old.grid_size == new.grid_size:
        return pos_embed
    count = old.num_prefix_tokens if old.pos_embed_prefix else 0
    rows, cols = old.grid_size
    grid = rearrange(pos_embed[:, count:], "1 (rows cols) d -> 1 d rows cols", rows=rows, cols=cols)
    grid = F.interpolate(grid, size=new.grid_size, mode="bicubic", antialias=way.antialias)
    return torch.cat([pos_embed[:, :count], rearrange(grid, "1 d rows cols -> 1 (rows cols) d")], 1)


def resample_bias(table: Tensor, old: ViTConfig, new: ViTConfig, way: Resampling = TIMM) -> Tensor:
    """The numbers of a relative bias for the ways of another grid. (ways, H) -> (ways, H)

    As BEiT and timm's `resize_rel_pos_bias_table` do it, or bilinear, as `BeitRelativePositionBias`
    of transformers does it. The three of CLS stay.
    """
    if old.grid_size == new.grid_size:
        return table
    if way.like == "transformers":
        height, width = (2 * count - 1 for count in old.grid_size)
        ways = rearrange(table[:-3], "(h w) heads -> 1 heads h w", h=height, w=width)
        size = [2 * count - 1 for count in new.grid_size]
        ways = F.interpolate(ways, size=size, mode="bilinear")
        return torch.cat([rearrange(ways, "1 heads h w -> (h w) heads"), table[-3:]])
    down, right = (
        _ways_between(*counts).to(table)
        for counts in zip(old.grid_size, new.grid_size, strict=True)
    )
    ways = rearrange(table[:-3], "(down right) h -> h down right", down=down.shape[1])
    grid = rearrange(down @ ways @ right.mT, "h down right -> (down right) h")
    return torch.cat([grid, table[-3:]])


def _ways_between(old: int, new: int) -> Tensor:
    """A matrix from the numbers of ways along one axis to those of another length.

    (2 new - 1, 2 old - 1). The old ways are spaced by 1, q, q^2, ..., such that the longest old way
    is as long as the longest new way. Numbers in between are interpolated, so near patches keep
    theirs.
    """
    low, high = 1.01, 1.5
    while high - low > 1e-6:
        q = (low + high) / 2
        low, high = (low, q) if (q ** (old - 1) - 1) / (q - 1) > new - 1 else (q, high)
    lengths = (q ** torch.arange(old - 1)).cumsum(0)
    known = torch.cat([-lengths.flip(0), torch.zeros(1), lengths])
    wanted = torch.arange(1 - new, new).float()
    after = torch.bucketize(wanted, known).clamp(max=len(known) - 1)
    before = (after - 1).clamp(min=0)
    share = ((wanted - known[before]) / (known[after] - known[before])).nan_to_num(0).clamp(0, 1)
    mix = torch.zeros(len(wanted), len(known))
    mix.scatter_add_(1, before[:, None], 1 - share[:, None])
    return mix.scatter_add_(1, after[:, None], share[:, None])


def resample_filters(weight: Tensor, patch_size: tuple[int, int]) -> Tensor:
    """Filters for patches of another size. (D, C, ph, pw) -> (D, C, *patch_size)

    A patch and the same patch resized shall give about the same token. For that, the filters are
    multiplied with the pseudoinverse of the matrix that resizes patches (FlexiViT,
    arXiv:2212.08013, section 3.4), as timm's `resample_patch_embed` does it.
    """
    height, width = weight.shape[-2:]
    if (height, width) == tuple(patch_size):
        return weight
    single = torch.eye(height * width, device=weight.device).view(-1, 1, height, width)
    shown = F.interpolate(single, size=patch_size, mode="bicubic", antialias=True)
    larger = rearrange(shown, "old 1 h w -> (h w) old")
    filters = rearrange(weight, "d c h w -> d c (h w)") @ torch.linalg.pinv(larger)
    return filters.unflatten(-1, patch_size)
