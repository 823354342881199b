"""Whether the attention of a trace is what the blocks of its model, and its pool, really use."""

import torch
from einops import rearrange
from torch import Tensor

from ..model.loaded import LoadedModel
from .capture.recorder import capture, listening
from .forward import Pass
from .measure.inside import pool_of


@torch.inference_mode()
def verify(pass_: Pass, loaded: LoadedModel) -> float:
    """The largest difference between what the blocks compute and what follows from the trace; see
    `Analysis.verify`.
    """
    outputs: dict[int, Tensor] = {}
    pooled: list[Tensor] = []
    surgery, pool = pass_.surgery, loaded.vit.attn_pool
    with (
        listening() as listen,
        surgery.applied(loaded.vit),
        capture(loaded.vit) as recorder,
    ):
        for layer, block in enumerate(loaded.vit.blocks):
            listen(
                block.attn.register_forward_hook,
                lambda _module, _args, out, layer=layer: outputs.update({layer: out}),
            )
        if pool is not None:
            listen(pool.proj.register_forward_hook, lambda _module, _args, out: pooled.append(out))
        loaded.vit(pass_.pixels[None].to(loaded.device))
    apart = []
    for layer, block in enumerate(loaded.vit.blocks):
        values = recorder.qkv[layer][2]  # (1, H, N, d)
        mixed = pass_.trace.attention(layer).to(values) @ values
        mixed = rearrange(surgery.heads_off(layer, mixed), "1 h n d -> n (h d)")
        ours = block.attn.proj(block.attn.norm(mixed))
        apart.append((ours - outputs[layer][0]).abs().max())
    if pool is not None:
        ours = pool.proj(pool_of(loaded.vit, pass_.trace).gathered.to(pooled[0]))
        apart.append((ours - pooled[0][0]).abs().max())
    return float(torch.stack(apart).max())  # nan too, which Python's max can pass over
