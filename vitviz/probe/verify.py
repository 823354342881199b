"""Verify a trace: it belongs to a model, and its attention is what blocks and pool really use."""

import torch
from einops import rearrange
from torch import Tensor

from ..model.loaded import LoadedModel
from .capture.recorder import capture, listening
from .forward import Pass
from .measure.inside import pool_of


@torch.inference_mode()
def verify(pass_: Pass, loaded: LoadedModel) -> float:
    """The largest difference between the outputs of the blocks and those computed from the trace;
    see `Analysis.verify`.
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


@torch.inference_mode()
def is_of(pass_: Pass, loaded: LoadedModel) -> bool:
    """Whether these weights made a pass. Only its two ends are compared: the output of the first
    block, and the output of the head.
    """
    vit, tokens = loaded.vit, pass_.trace.tokens.to(loaded.device)
    with pass_.surgery.applied(vit):
        after = vit.blocks[0](tokens[:1], None)[0]
        logits = vit.forward_head(vit.norm(tokens[-1:]))[0]
    pairs = ((after, tokens[1]), (logits, pass_.trace.logits.to(logits)))
    # Float rounding leaves 1e-5, a GPU in half precision 1e-3; other weights about 1.
    return all(bool((a - b).abs().max() <= 0.01 * (1 + b.abs().max())) for a, b in pairs)
