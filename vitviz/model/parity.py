"""Parity: whether a model that came from elsewhere and ours compute the same, block by block."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import WeightsError
from .products import fast_products
from .vit import ViT

TOLERANCE = 1e-4  # of the largest value; float32 rounding of ViT-H is a hundred times below it
MOST_PATCHES = 16  # that go through the blocks: they show what a block does as well as all would


@torch.inference_mode()
def first_difference(theirs: nn.Module, ours: ViT, size: tuple[int, int]) -> str | None:
    """Where a timm model and ours part: "embedding", "block 5" or "answer"; None: nowhere.

    One picture of noise, always the same, goes through both; of its patches a few, evenly spread,
    go beyond the embedding, so that a large model costs little more than a look at its weights.
    `size` is the picture's (height, width) in timm, which leaves a margin where patches do not fill
    it.

    What runs is a copy of `theirs` made of our weights: the model itself stays as it is, no weights
    are stored twice, and one in half precision or on a GPU, where products are rounded coarsely, is
    held to float32 on the CPU. Raises `WeightsError` if it cannot compute such a picture.
    """
    device = next(ours.parameters()).device
    weights = ours.cpu().state_dict()
    memo = {id(old): weights[name] for name, old in theirs.named_parameters()}
    same_weights = copy.deepcopy(theirs, memo).eval()

    prefix, patches = ours.config.num_prefix_tokens, ours.config.num_patches
    kept = [*range(prefix), *range(prefix, prefix + patches, -(-patches // MOST_PATCHES))]
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(1, ours.config.in_chans, *size, generator=generator, device="cpu")
    height, width = ours.config.image_size
    with fast_products():
        found = _stages(ours, pixels[..., :height, :width], kept)
        try:
            expected = _stages_of_timm(same_weights, pixels, kept)
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise WeightsError(f"the given model fails on a picture of {size}: {reason}") from error
    ours.to(device)
    for where, values in expected.items():
        difference = (found[where] - values).abs().max()
        if not difference <= TOLERANCE * values.abs().max():  # nor is nan
            return where
    return None


def _stages(vit: ViT, pixels: Tensor, kept: list[int]) -> dict[str, Tensor]:
    """What enters the first block of the tokens that are kept, what leaves each, and the answer."""
    x = vit.norm_pre(vit.embed(pixels)[:, kept])
    stages = {"embedding": x}
    for index, block in enumerate(vit.blocks):
        stages[f"block {index}"] = x = block(x)
    return stages | {"answer": vit.forward_head(vit.norm(x))}


def _stages_of_timm(model: Any, pixels: Tensor, kept: list[int]) -> dict[str, Tensor]:
    """The same of a timm model, which is left with hooks."""
    stages: dict[str, Tensor] = {}

    def keep(part: nn.Module, where: str) -> None:
        part.register_forward_hook(lambda _part, _inputs, out: stages.update({where: out}))

    model.patch_drop.register_forward_hook(lambda _part, _inputs, tokens: tokens[:, kept])
    keep(model.norm_pre, "embedding")
    for index, block in enumerate(model.blocks):
        keep(block, f"block {index}")
    return stages | {"answer": model(pixels)}
