"""The precision of the matrix products of a step, and whether bfloat16 is faster here."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from ..probe.capture.score import scores


class ExplicitAttention(TorchFunctionMode):
    """Attention by its formula, instead of torch's fused version, in bfloat16 on a CPU.

    The backward pass of the fused attention is six times slower on a CPU in bfloat16 than in
    float32 (torch 2.15, 65 tokens). The formula keeps the maps until the backward pass, which for
    so few tokens is cheap: a whole step takes 0.84 of its time with fused attention in float32.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not F.scaled_dot_product_attention:
            return func(*args, **(kwargs or {}))
        q, k, v = (x.bfloat16() for x in args)
        options = kwargs or {}
        scale, bias = options.get("scale") or q.shape[-1] ** -0.5, options.get("attn_mask")
        with torch.autocast("cpu", enabled=False):
            bias = None if bias is None else bias.bfloat16()
            return scores(q, k, scale, bias).softmax(-1) @ v


@contextmanager
def precision(name: str, device: torch.device) -> Iterator[None]:
    """Compute matrix products in "float32" or "bfloat16"; the weights stay in float32."""
    with ExitStack() as stack:
        if name == "bfloat16":
            stack.enter_context(torch.autocast(device.type, torch.bfloat16))
            if device.type == "cpu":
                stack.enter_context(ExplicitAttention())
        yield


def bfloat16_is_slow() -> bool:
    """Whether this CPU only emulates bfloat16. A short time measurement decides: names of CPU
    features differ between makers, and torch has no stable function that tells.
    """

    def seconds(dtype: torch.dtype) -> float:
        x, weight = torch.ones(1024, 256, dtype=dtype), torch.ones(256, 256, dtype=dtype)
        times = []
        for _ in range(5):
            began = time.perf_counter()
            F.linear(x, weight)
            times.append(time.perf_counter() - began)
        return min(times)

    return seconds(torch.bfloat16) > seconds(torch.float32)
