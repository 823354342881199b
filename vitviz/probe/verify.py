"""Whether the attention of a trace is what the blocks of its model really use."""

from typing import TYPE_CHECKING

import torch
from einops import rearrange
from torch import Tensor

from ..model.loaded import LoadedModel
from .surgery import Surgery
from .trace import capture, listening

if TYPE_CHECKING:
    from .analysis import Analysis


@torch.inference_mode()
def verify(analysis: "Analysis", loaded: LoadedModel) -> float:
    """The largest difference between what the blocks compute and what follows from the trace; see
    `Analysis.verify`.
    """
    outputs: dict[int, Tensor] = {}
    surgery = Surgery(analysis.interventions, analysis.card.config)
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
        loaded.vit(analysis.pixels[None].to(loaded.device))
    worst = 0.0
    for layer, block in enumerate(loaded.vit.blocks):
        values = recorder.qkv[layer][2]  # (1, H, N, d)
        mixed = analysis.trace.attention(layer).to(values) @ values
        mixed = rearrange(surgery.heads_off(layer, mixed), "1 h n d -> n (h d)")
        ours = block.attn.proj(block.attn.norm(mixed))
        worst = max(worst, float((ours - outputs[layer][0]).abs().max()))
    return worst
