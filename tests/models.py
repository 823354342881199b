"""Small models with weights that hide no bug, and a photo, for all tests."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn

from vitviz.model.config import Rotary, ViTConfig
from vitviz.model.loaded import head_of
from vitviz.model.preprocess import Preprocess
from vitviz.model.vit import ViT
from vitviz.model.weights import LoadedModel, ModelCard
from vitviz.probe.analysis import Analysis

# All that could hide a bug varies: prefix tokens 0, 1, 2, 3 and 5, all ways to pool and none, grids
# and patches that are not square, one channel, another number of layers than of heads.
TINY = {
    "cls": ViTConfig(
        image_size=32, patch_size=8, embed_dim=24, depth=3, num_heads=2, num_classes=7,
    ),
    "no_cls": ViTConfig(
        image_size=(24, 40), patch_size=8, embed_dim=24, depth=2, num_heads=3, num_classes=5,
        class_token=False, global_pool="avg", final_norm="after_pool",
    ),
    "distilled": ViTConfig(
        image_size=(32, 16), patch_size=(8, 4), embed_dim=32, depth=3, num_heads=4, num_classes=6,
        dist_token=True,
    ),
    "registers": ViTConfig(
        image_size=(16, 24), patch_size=4, embed_dim=32, depth=5, num_heads=2, num_classes=0,
        reg_tokens=4, pos_embed_prefix=False, layer_scale=True, qk_norm=True, mlp="swiglu",
    ),
    "token_avg": ViTConfig(
        image_size=(24, 32), patch_size=8, embed_dim=24, depth=2, num_heads=3, num_classes=5,
        reg_tokens=1, global_pool="token_avg",
    ),
    "map": ViTConfig(
        image_size=(24, 32), patch_size=8, embed_dim=24, depth=2, num_heads=3, num_classes=4,
        reg_tokens=2, global_pool="map", pool_prefix=True,
    ),
    "no_pool": ViTConfig(
        image_size=(16, 24), patch_size=8, embed_dim=16, depth=3, num_heads=2, num_classes=5,
        global_pool="",
    ),
    "rotary": ViTConfig(
        image_size=(24, 32), patch_size=8, embed_dim=24, depth=2, num_heads=3, num_classes=5,
        reg_tokens=1, pos_embed_prefix=False, rotary=Rotary(kind="mixed", order="xy"),
    ),
    "relative": ViTConfig(
        image_size=(32, 24), patch_size=8, embed_dim=16, depth=3, num_heads=2, num_classes=4,
        pos_embed=False, relative_bias=True, global_pool="avg", final_norm="after_pool",
    ),
    "grey": ViTConfig(
        image_size=28, patch_size=7, in_chans=1, embed_dim=16, depth=3, num_heads=4,
        num_classes=10,
    ),
}  # fmt: skip


@torch.no_grad()
def spread(module: nn.Module, seed: int = 0, small: float = 1.0) -> nn.Module:
    """Random parameters without zeros or ones that could hide a wrong path.

    `small` damps the embedding.

    Matrices keep the variance of what they multiply, gains lie around 1, everything else around 0.
    """
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in sorted(module.named_parameters()):
        noise = torch.randn(parameter.shape, generator=generator)
        if parameter.ndim >= 2 and name.endswith("weight"):
            parameter.copy_(noise / parameter[0].numel() ** 0.5)
        elif name.endswith(("weight", "gamma")):
            parameter.copy_(1 + 0.3 * noise)
        else:
            parameter.copy_(0.5 * noise)
        if name.startswith(
            ("patch_embed.proj", "cls_token", "dist_token", "reg_token", "pos_embed")
        ):
            parameter.mul_(small)
    return module


SHARED: list[nn.Module] = []  # all that `tiny` has built


@lru_cache
def tiny(name: str) -> LoadedModel:
    """One of `TINY`, with random weights and made-up labels; shared, so it is only to be read."""
    config = TINY[name]
    vit = spread(ViT(config)).eval().requires_grad_(False)
    SHARED.append(vit)
    labels = tuple(f"class {i}" for i in range(config.num_classes)) or None
    channels = config.in_chans
    return LoadedModel(
        vit,
        ModelCard(
            name=f"tiny {name}",
            source="random weights",
            config=config,
            labels=labels,
            num_parameters=sum(p.numel() for p in vit.parameters()),
            head=head_of(labels, config),
        ),
        Preprocess(
            size=config.image_size,
            channels=channels,
            mean=(0.5,) * channels,
            std=(0.25,) * channels,
        ),
    )


def squares(path: Path, count: int) -> Iterator[Image.Image]:
    """Squares of a photo, each another one: pictures of one thing."""
    with Image.open(path) as whole:
        side = min(whole.size) * 3 // 4
        for at in range(count):
            left, top = (at * 29) % (whole.width - side), (at * 17) % (whole.height - side)
            yield whole.convert("RGB").crop((left, top, left + side, top + side))


def photo(height: int = 60, width: int = 80) -> np.ndarray:
    """A picture with an edge, a slope and noise. (height, width, 3) uint8"""
    noise = np.random.default_rng(0).integers(0, 60, (height, width, 3))
    slope = np.linspace(0, 150, width)[None, :, None]
    edge = np.where(np.arange(height) > height // 2, 40, 0)[:, None, None]
    return (noise + slope + edge).astype(np.uint8)


def with_pass(analysis: Analysis, **parts: Any) -> Analysis:
    """The analysis with other parts of its pass, such as its trace."""
    return replace(analysis, pass_=replace(analysis.pass_, **parts))


def as_sent(analysis: Analysis) -> Analysis:
    """The analysis with q and k as a page gets them, in half precision."""
    trace = analysis.trace
    sent = [trace.rounded(layer) for layer in range(trace.depth)]
    parts = {name: torch.stack([getattr(one, name).float() for one in sent]) for name in "qk"}
    return with_pass(analysis, trace=replace(trace, **parts))


def save_in_cache(folder: Path, tag: str) -> Any:
    """A timm model of this name with random weights, laid out in `folder` as the hub's client does
    after a download. Returns timm's model.
    """
    import timm
    from timm.models import save_for_hf

    theirs = spread(timm.create_model(tag).eval())
    repository = folder / f"models--timm--{tag}"
    save_for_hf(theirs, repository / "snapshots" / "0123abcd", safe_serialization=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0123abcd")
    return theirs
