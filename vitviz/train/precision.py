"""The precision of the matrix products of a step, and whether bfloat16 is faster here."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode


class Float32Attention(TorchFunctionMode):
    """Keep attention itself in float32 while autocast rounds the linear layers.

    On a CPU the backward pass of torch's fused attention is six times slower in bfloat16 than in
    float32 (torch 2.15, 65 tokens); the linear layers are four times faster.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.scaled_dot_product_attention:
            with torch.autocast("cpu", enabled=False):
                return func(*(x.float() for x in args), **(kwargs or {}))
        return func(*args, **(kwargs or {}))


@contextmanager
def precision(name: str, device: torch.device) -> Iterator[None]:
    """Compute matrix products in "float32" or "bfloat16"; weights and sums stay in float32 either
    way.
    """
    with ExitStack() as stack:
        if name == "bfloat16":
            stack.enter_context(torch.autocast(device.type, torch.bfloat16))
            if device.type == "cpu":
                stack.enter_context(Float32Attention())
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
