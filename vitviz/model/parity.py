"""Parity: check that a model from elsewhere and our ViT compute the same, block by block."""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import WeightsError
from .vit import ViT

TOLERANCE = 1e-4  # relative to the largest value; float32 rounding of ViT-H is 100 times smaller
MOST_PATCHES = 16  # sent through the blocks: a few show a difference as well as all


@torch.inference_mode()
def first_difference(
    theirs: nn.Module, state: Mapping[str, Tensor], ours: ViT, size: tuple[int, int]
) -> str | None:
    """First stage at which a timm model and ours differ: "embedding", "block 5" or "answer".

    None if they agree. A fixed picture of noise goes through both models. Only a few of its
    patches, evenly spread, go on to the blocks, so that a large model costs little more than
    reading its weights. `size` is the picture's (height, width) in timm, which includes a margin if
    patches do not fill it.

    A copy of `theirs` with the weights `state`, in float32 on the CPU, is run: the given model is
    not changed, unchanged tensors are not stored twice, and coarse rounding of half precision or of
    a GPU plays no part. Raises `WeightsError` if the model cannot compute such a picture.
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
    """The kept tokens before the first block and after each block, and the answer."""
    x, places = vit.norm_pre(vit.embed(pixels)[:, kept]), torch.tensor([kept])
    stages = {"embedding": x}
    for index, block in enumerate(vit.blocks):
        stages[f"block {index}"] = x = block(x, places)
    return stages | {"answer": vit.forward_head(vit.norm(x))}


def _stages_of_timm(model: Any, pixels: Tensor, kept: list[int]) -> dict[str, Tensor]:
    """The same stages of a timm model. Its hooks are not removed."""
    stages: dict[str, Tensor] = {}

    def keep(part: nn.Module, where: str) -> None:
        part.register_forward_hook(lambda _part, _inputs, out: stages.update({where: out}))

    def drop(_part: nn.Module, args: tuple[Tensor, ...], kwargs: dict[str, Any]) -> Any:
        """Reduce the positions that enter a block to those of the kept tokens."""
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
