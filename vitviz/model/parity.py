"""Parity: whether a model that came from elsewhere and ours compute the same, block by block."""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import WeightsError
from .products import fast_products
from .vit import ViT

TOLERANCE = 1e-4  # of the largest value; float32 rounding of ViT-H is a hundred times below it
MOST_PATCHES = 16  # that go through the blocks: they show what a block does as well as all would


@torch.inference_mode()
def first_difference(
    theirs: nn.Module, state: Mapping[str, Tensor], ours: ViT, size: tuple[int, int]
) -> str | None:
    """Where a timm model and ours part: "embedding", "block 5" or "answer"; None: nowhere.

    One picture of noise, always the same, goes through both; of its patches a few, evenly spread,
    go beyond the embedding, so that a large model costs little more than a look at its weights.
    `size` is the picture's (height, width) in timm, which leaves a margin where patches do not fill
    it.

    What runs is a copy of `theirs` made of `state`, its own weights in float32: the model itself
    stays as it is, what ours took over unchanged is not stored twice, and one in half precision or
    on a GPU, where products are rounded coarsely, is held to float32 on the CPU. Raises
    `WeightsError` if it cannot compute such a picture.
    """
    device = next(ours.parameters()).device
    memo = {
        id(old): nn.Parameter(state[name].cpu(), requires_grad=False)
        for name, old in theirs.named_parameters()
    }
    same_weights = copy.deepcopy(theirs, memo).eval().cpu()
    if any(buffer.dtype.itemsize < 4 for buffer in same_weights.buffers()):
        for part in same_weights.modules():  # angles that were rounded with the weights
            if again := getattr(part.float(), "init_non_persistent_buffers", None):
                again()
    ours.cpu()

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
    x, places = vit.norm_pre(vit.embed(pixels)[:, kept]), torch.tensor([kept])
    stages = {"embedding": x}
    for index, block in enumerate(vit.blocks):
        stages[f"block {index}"] = x = block(x, places)
    return stages | {"answer": vit.forward_head(vit.norm(x))}


def _stages_of_timm(model: Any, pixels: Tensor, kept: list[int]) -> dict[str, Tensor]:
    """The same of a timm model, which is left with hooks."""
    stages: dict[str, Tensor] = {}

    def keep(part: nn.Module, where: str) -> None:
        part.register_forward_hook(lambda _part, _inputs, out: stages.update({where: out}))

    def drop(_part: nn.Module, args: tuple[Tensor, ...], kwargs: dict[str, Any]) -> Any:
        """What enters a block of the tokens that are kept, and the angles that go with them."""
        kwargs = dict(kwargs)
        if kwargs.get("rope") is not None:
            prefix = model.num_prefix_tokens
            patches = [token - prefix for token in kept[prefix:]]
            kwargs["rope"] = kwargs["rope"][..., patches, :]
        if kwargs.get("shared_rel_pos_bias") is not None:
            kwargs["shared_rel_pos_bias"] = kwargs["shared_rel_pos_bias"][:, kept][:, :, kept]
        return args, kwargs

    def embedded(_part: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        stages["embedding"] = args[0][:, kept]
        return stages["embedding"], *args[1:]

    for index, block in enumerate(model.blocks):
        block.register_forward_pre_hook(drop, with_kwargs=True)
        if not index:
            block.register_forward_pre_hook(embedded)
        if getattr(block.attn, "relative_position_index", None) is not None:
            attn = block.attn  # of a window of as many patches, in one column
            attn.relative_position_index = attn.relative_position_index[kept][:, kept]
            attn.window_size = (len(kept) - 1, 1)
        keep(block, f"block {index}")
    return stages | {"answer": model(pixels)}
