"""Load state dicts of vit-pytorch (lucidrains): rename its parameters, read sizes off their shapes.

https://github.com/lucidrains/vit-pytorch/blob/main/vit_pytorch/vit.py, and its older versions.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from einops import rearrange
from torch import Tensor

from ..errors import WeightsError
from ..languages import Message
from .config import ViTConfig, sides_of
from .loaded import LoadedModel, ModelCard, build, head_of, holds_numbers
from .preprocess import Preprocess

HEAD_DIM = 64  # the default of its `dim_head`, which weights do not tell
# Its names and ours; "fn." stands in versions before 1.2, whose blocks were wrapped in PreNorm.
_NAMES = [
    (re.compile(theirs), ours)
    for theirs, ours in (
        (r"pos_embedding", "pos_embed"),
        (r"transformer\.norm\.(\w+)", r"norm.\1"),
        (r"transformer\.layers\.(\d+)\.0\.norm\.(\w+)", r"blocks.\1.norm1.\2"),
        (r"transformer\.layers\.(\d+)\.0\.(?:fn\.)?to_qkv\.weight", r"blocks.\1.attn.qkv.weight"),
        (r"transformer\.layers\.(\d+)\.0\.(?:fn\.)?to_out\.0\.(\w+)", r"blocks.\1.attn.proj.\2"),
        (r"transformer\.layers\.(\d+)\.1\.(?:norm|net\.0)\.(\w+)", r"blocks.\1.norm2.\2"),
        (r"transformer\.layers\.(\d+)\.1\.net\.1\.(\w+)", r"blocks.\1.mlp.fc1.\2"),
        (r"transformer\.layers\.(\d+)\.1\.net\.4\.(\w+)", r"blocks.\1.mlp.fc2.\2"),
        (r"transformer\.layers\.(\d+)\.1\.fn\.net\.0\.(\w+)", r"blocks.\1.mlp.fc1.\2"),
        (r"transformer\.layers\.(\d+)\.1\.fn\.net\.3\.(\w+)", r"blocks.\1.mlp.fc2.\2"),
        (r"mlp_head\.0\.(\w+)", r"norm.\1"),  # there on CLS only; a norm treats each token alone
        (r"mlp_head\.(?:1\.)?(weight|bias)", r"head.\1"),
    )
]


def from_vit_pytorch(
    state: Mapping[str, Tensor], path: Path, name: str, image_size: int | tuple[int, int] | None
) -> LoadedModel:
    """A ViT of vit-pytorch. Heads of 64 channels, pooling by CLS and pictures from -1 to 1 are
    assumed, and said so. `image_size` is the size of the training, if it has as many patches; a
    square is assumed otherwise.

    Raises `WeightsError`, whose sentence names `path`, for any other set of parameters.
    """
    try:
        ours = _renamed(state)
        config = _config(ours, image_size)
        ours = _as_convolution(ours, config)
    except WeightsError as error:
        raise WeightsError(f"{path.name}, of vit-pytorch, cannot be loaded: {error}") from error
    except (KeyError, IndexError, ValueError, RuntimeError) as error:
        raise WeightsError(
            f"{path.name} looks like a ViT of vit-pytorch, but is damaged or lacks {error}"
        ) from error
    half = (0.5,) * config.in_chans
    assumed = (
        Message("models.assumed_vit_pytorch", heads=config.num_heads, width=HEAD_DIM),
        Message("models.assumed_pixels", mean=half, std=half, arch="vit-pytorch"),
    )
    card = ModelCard(
        name=name,
        source=Message("models.of_vit_pytorch", file=path.name),
        config=config,
        head=head_of(None, config),
        assumed=assumed,
    )
    made = Preprocess(size=config.image_size, channels=config.in_chans, mean=half, std=half)
    return build(ours, card, made)


def _renamed(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for theirs, value in state.items():
        if not holds_numbers(value):
            raise WeightsError(f"{theirs} holds values that are not finite, or lacks some")
        fits = ((rule.fullmatch(theirs), ours) for rule, ours in _NAMES)
        new = next((match.expand(ours) for match, ours in fits if match), theirs)
        if new in found:
            raise WeightsError(f"it has two parameters of the meaning of {theirs}")
        found[new] = value
    if found["cls_token"].ndim < 3:  # newer versions: it and `pos_embed` have no batch axis
        found["cls_token"] = found["cls_token"].reshape(1, 1, -1)
    if found["pos_embed"].ndim == 2:
        found["pos_embed"] = found["pos_embed"][None]
    return _with_patch_embed(found)


def _with_patch_embed(found: dict[str, Tensor]) -> dict[str, Tensor]:
    """Name the parts of `to_patch_embedding`: a projection, in newer versions between two norms."""
    parts = sorted({key.split(".")[1] for key in found if key.startswith("to_patch_embedding.")})
    names = {1: ("proj",), 3: ("norm_before", "proj", "norm")}.get(len(parts))
    if names is None:
        raise WeightsError(f"its to_patch_embedding has {len(parts)} layers")
    for part, name in zip(parts, names, strict=True):
        for kind in ("weight", "bias"):
            found[f"patch_embed.{name}.{kind}"] = found.pop(f"to_patch_embedding.{part}.{kind}")
    return found


def _config(state: Mapping[str, Tensor], image_size: int | tuple[int, int] | None) -> ViTConfig:
    """The sizes of weights under our names."""
    dim, length = state["patch_embed.proj.weight"].shape
    inner = len(state["blocks.0.attn.qkv.weight"]) // 3
    if inner != dim or dim % HEAD_DIM:
        raise WeightsError(
            f"its heads have {inner} channels in all and its tokens {dim}; vitviz computes heads "
            f"of {HEAD_DIM} channels that share those of a token"
        )
    chans = next((c for c in (3, 1) if math.isqrt(length // c) ** 2 * c == length), 0)
    if not chans or not length:
        raise WeightsError(
            f"its patches hold {length} numbers, which are no square of pixels in colour (3 "
            "numbers each) or grey (1)"
        )
    patch = math.isqrt(length // chans)
    patches = state["pos_embed"].shape[1] - 1
    side = math.isqrt(max(0, patches))
    square = side * patch, side * patch
    size = square if image_size is None else sides_of("image_size", image_size)
    rows, cols = size[0] // patch, size[1] // patch
    if rows * cols != patches or (rows * patch, cols * patch) != size:
        size = square
    if size == square and side * side != patches:
        raise WeightsError(
            f"its positions are of {patches} patches of {patch} x {patch}, which are no square; "
            "image_size=(height, width) says the size of its training"
        )
    return ViTConfig(
        image_size=size,
        patch_size=(patch, patch),
        in_chans=chans,
        num_classes=len(state["head.weight"]) if "head.weight" in state else 0,
        embed_dim=dim,
        depth=len({key.split(".")[1] for key in state if key.startswith("blocks.")}),
        num_heads=dim // HEAD_DIM,
        mlp_hidden_dim=len(state["blocks.0.mlp.fc1.weight"]),
        norm_eps=1e-5,  # torch's default
        qkv_bias=False,
        patch_norm_before="patch_embed.norm_before.weight" in state,
        patch_norm_after="patch_embed.norm.weight" in state,
    )


def _as_convolution(state: dict[str, Tensor], config: ViTConfig) -> dict[str, Tensor]:
    """The weights with the numbers of a patch ordered by channel, row and column; there a patch is
    flattened by row, column and channel.
    """
    (height, width), chans = config.patch_size, config.in_chans
    order = torch.arange(height * width * chans).view(height, width, chans)
    order = rearrange(order, "h w c -> (c h w)")
    weight = state["patch_embed.proj.weight"][:, order]
    state = state | {"patch_embed.proj.weight": weight.unflatten(1, (chans, height, width))}
    for key in ("patch_embed.norm_before.weight", "patch_embed.norm_before.bias"):
        if key in state:
            state[key] = state[key][order]
    return state
