"""Convert weights of other layouts to that of vitviz's ViT, which then needs no switch for them.

Names are timm's. Tensors that need no change are passed on, not copied.
"""

from collections.abc import Mapping

import torch
from einops import rearrange
from torch import Tensor

from .config import ViTConfig


def folded(
    state: Mapping[str, Tensor], config: ViTConfig, *, interleaved: bool = False
) -> dict[str, Tensor]:
    """A state dict in the layout of `ViT(config)`.

    Separate matrices of q, k and v become one; k and v of grouped heads are repeated. A missing
    bias of q, k or v becomes 0. `gamma_1` and `gamma_2` become LayerScale, 1 where they are
    missing. A score bias that all blocks share is added to the bias of each block. Learned
    frequencies go to their block. `interleaved`: the model turns channels 2m and 2m + 1 together
    instead of m and m + d / 2; the rows of q and k are reordered to match, which leaves q k^T
    unchanged.
    """
    state = dict(state)
    shared = state.pop("rel_pos_bias.relative_position_bias_table", None)
    freqs = state.pop("rope.freqs", None)
    for layer in range(config.depth):
        block = f"blocks.{layer}."
        attn = f"{block}attn."
        _join(state, attn, config)
        if interleaved:
            _apart(state, attn, config)
        _scales(state, block, config)
        tables = [shared, state.pop(f"{attn}relative_position_bias_table", None)]
        if there := [table for table in tables if table is not None]:
            state[f"{attn}score_bias.relative.table"] = sum(there[1:], there[0])
        if freqs is not None:
            state[f"{attn}angles.freqs"] = freqs[:, layer]
    return state


def _join(state: dict[str, Tensor], attn: str, config: ViTConfig) -> None:
    """Join q, k and v into one matrix and one bias."""
    if f"{attn}q_proj.weight" in state:
        parts = [_repeated(state.pop(f"{attn}{part}_proj.weight"), config) for part in "qkv"]
        state[f"{attn}qkv.weight"] = torch.cat(parts)
    found = [
        state.pop(f"{attn}{part}_proj.bias", state.pop(f"{attn}{part}_bias", None))
        for part in "qkv"
    ]
    if config.qkv_bias and f"{attn}qkv.bias" not in state:
        none = state[f"{attn}qkv.weight"].new_zeros(config.embed_dim)
        biases = [none if bias is None else _repeated(bias, config) for bias in found]
        state[f"{attn}qkv.bias"] = torch.cat(biases)


def _repeated(rows: Tensor, config: ViTConfig) -> Tensor:
    """The rows of k or v for every head; grouped heads share theirs (arXiv:2305.13245)."""
    heads = rearrange(rows, "(h d) ... -> h d ...", d=config.head_dim)
    times = config.num_heads // len(heads)
    return rearrange(heads.repeat_interleave(times, 0), "h d ... -> (h d) ...")


def _apart(state: dict[str, Tensor], attn: str, config: ViTConfig) -> None:
    """Reorder the rows 0, 1, 2, 3, ... of each head of q and k to 0, 2, 4, ..., 1, 3, 5, ..."""
    for name in (f"{attn}qkv.weight", f"{attn}qkv.bias"):
        if name in state:
            q, k, v = state[name].chunk(3)
            pairs = "(h m two) ... -> (h two m) ..."
            q, k = (rearrange(rows, pairs, h=config.num_heads, two=2) for rows in (q, k))
            state[name] = torch.cat([q, k, v])
    for name in (f"{attn}{part}_norm.{kind}" for part in "qk" for kind in ("weight", "bias")):
        if name in state:
            state[name] = rearrange(state[name], "(m two) -> (two m)", two=2)


def _scales(state: dict[str, Tensor], block: str, config: ViTConfig) -> None:
    for place in (1, 2):
        gamma = state.pop(f"{block}gamma_{place}", None)
        if config.layer_scale and f"{block}ls{place}.gamma" not in state:
            ones = torch.ones_like(state[f"{block}norm1.weight"])
            state[f"{block}ls{place}.gamma"] = ones if gamma is None else gamma
