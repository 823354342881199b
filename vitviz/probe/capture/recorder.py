"""Recorder: listens to a forward pass with hooks, and makes the `Trace` of it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal

import torch
from torch import Tensor

from ...errors import CaptureError, SelectionError
from ...model.vit import ViT
from .bias import Bias
from .selection import choose
from .trace import Trace

ANSWER: Final = "answer"  # as a target: for each image the class with its largest logit
Target = int | Sequence[int] | Literal["answer"] | None


class Recorder:
    """Collects what the hooks of `capture` hear; makes the `trace` after the forward pass."""

    def __init__(self, vit: ViT, values: bool = False, target: Target = None) -> None:
        self.values = values or target is not None
        self.target = target
        self.depth = len(vit.blocks)
        self.scale = vit.blocks[0].attn.scale
        self.bias = Bias.of(vit)
        self.qkv: dict[int, tuple[Tensor, Tensor, Tensor]] = {}
        self.mixed: dict[int, Tensor] = {}  # output of the heads, (B, H, N, d); with a target
        self.tokens: dict[int, Tensor] = {}  # 0: after embedding; layer + 1: after that block

    def trace(self, logits: Tensor) -> Trace:
        """The trace of the image that went through. `logits` is what the model returned, (1, C).

        Raises `CaptureError` if a layer was not heard, or if more than one image went through.
        """
        traces = self.traces(logits)
        if len(traces) != 1:
            raise CaptureError(f"a trace is of one image, got a batch of {len(traces)}")
        return traces[0]

    def traces(self, logits: Tensor) -> list[Trace]:
        """One trace for each image of the batch that went through. (B, C) logits -> B traces

        All are views of the same memory: while one of them is kept, all of it is.
        Raises `CaptureError` if a layer was not heard, or if the logits are of another batch.
        """
        layers = range(self.depth)
        silent = [
            layer for layer in layers if layer not in self.qkv or layer + 1 not in self.tokens
        ]
        if silent:
            raise CaptureError(
                f"nothing was heard from layer {', '.join(map(str, silent))}; "
                "did the model run, and in the thread that listens?"
            )
        if len(logits) != len(self.tokens[0]):
            raise CaptureError(
                f"a batch of {len(self.tokens[0])} images was heard, got logits of {len(logits)}"
            )

        def every_layer(part: int) -> Tensor:
            return torch.stack([self.qkv[layer][part] for layer in layers], dim=1).float().cpu()

        q, k = every_layer(0), every_layer(1)
        v = every_layer(2) if self.values else [None] * len(logits)
        tokens = torch.stack([self.tokens[i] for i in range(self.depth + 1)], dim=1).float().cpu()
        targets: Sequence[int | None] = [None] * len(logits)
        gradients: Sequence[None] | Tensor = [None] * len(logits)
        if self.target is not None:
            targets, by_layer = self.gradients(logits)
            gradients = torch.stack(by_layer, dim=1).float().cpu()
        logits = logits.detach().float().cpu()
        return [
            Trace(
                q=q[i],
                k=k[i],
                tokens=tokens[i],
                logits=logits[i],
                scale=self.scale,
                v=v[i],
                g=gradients[i],
                target=targets[i],
                bias=self.bias,
            )
            for i in range(len(logits))
        ]

    def gradients(self, logits: Tensor) -> tuple[list[int], list[Tensor]]:
        """The class of each image, and d logits[class] / d mixed of each layer: L x (B, H, N, d).

        One backward pass for the whole batch: images do not depend on each other, so the gradient
        of the sum of their logits is that of each. Raises `SelectionError` for a class that the
        model does not have, and for more or fewer classes than images; `CaptureError` for logits
        without a graph.
        """
        if logits.ndim != 2:
            raise SelectionError("a model that does not pool has no logit of a class")
        targets = self._targets(logits)
        if not logits.requires_grad:
            raise CaptureError(
                "gradients need a pass outside of torch.no_grad() and inference_mode"
            )
        chosen = logits[torch.arange(len(logits)), targets].sum()
        order = [self.mixed[layer] for layer in range(self.depth)]
        return targets, list(torch.autograd.grad(chosen, order))

    def _targets(self, logits: Tensor) -> list[int]:
        """The class of each image. (B, C) -> B"""
        wanted: Any = self.target
        if hasattr(wanted, "tolist"):  # an array or a number of numpy or torch
            wanted = wanted.tolist()
        if wanted is None or (isinstance(wanted, str) and wanted == ANSWER):
            wanted = logits.argmax(dim=1).tolist()
        classes = wanted if isinstance(wanted, list | tuple) else [wanted] * len(logits)
        if len(classes) != len(logits):
            raise SelectionError(
                f"a batch of {len(logits)} images needs {len(logits)} targets, got {len(classes)}"
            )
        return [choose("target", target, logits.shape[1]) for target in classes]


# torch numbers hooks with a global counter, which it reads and then increments. Two threads at once
# could get the same number, and the second hook would replace the first.
_registering = threading.Lock()


@contextmanager
def listening() -> Iterator[Callable[..., None]]:
    """Register hooks that react to this thread alone; remove them at the end, also after an error.

        with listening() as listen:
            listen(module.register_forward_hook, hook)
            module(x)

    Hooks belong to a module, and an app runs one model for many visitors at once: a hook that heard
    every thread would mix their pictures. The result of a hook replaces the value it was given,
    unless it is None.
    """
    listener = threading.get_ident()
    handles = []

    def listen(register: Callable[..., Any], hook: Callable[..., Any]) -> None:
        def hear(*args: object) -> Any:
            return hook(*args) if threading.get_ident() == listener else None

        with _registering:
            handles.append(register(hear))

    try:
        yield listen
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def capture(vit: ViT, *, values: bool = False, target: Target = None) -> Iterator[Recorder]:
    """Listen to a model while it runs; the model computes what it always computes.

    `values`: the trace keeps v too, which is half as much again as q and k.
    `target`: a class, a list or array of one for each image of a batch, or "answer", the class the
    model answers. The trace then keeps v, and g of one backward pass, which it makes itself
    (`Trace.g`).

        with capture(vit) as recorder:
            logits = vit(pixels)
        trace = recorder.trace(logits)

    Each hook knows its layer, so the order of calls does not matter. The model must run in the
    thread that listens; what other threads do with it meanwhile is not heard.
    """
    recorder = Recorder(vit, values, target)

    def listen_to(layer: int) -> None:
        block = vit.blocks[layer]

        def hear_block_input(_module: object, args: tuple[Tensor, ...]) -> None:
            recorder.tokens[0] = args[0].detach()

        def hear_tap(_module: object, _args: object, qkv: tuple[Tensor, Tensor, Tensor]) -> None:
            q, k, v = qkv
            recorder.qkv[layer] = q.detach(), k.detach(), v.detach()

        def hear_mixed(_module: object, _args: object, mixed: Tensor) -> None:
            # The graph begins here: nothing before the first layer's attention needs a gradient.
            if torch.is_grad_enabled() and not mixed.requires_grad:
                mixed.requires_grad_()
            recorder.mixed[layer] = mixed

        def hear_block(_module: object, _args: object, out: Tensor) -> None:
            recorder.tokens[layer + 1] = out.detach()

        if layer == 0:
            listen(block.register_forward_pre_hook, hear_block_input)
        listen(block.attn.tap.register_forward_hook, hear_tap)
        if target is not None:
            listen(block.attn.mixed.register_forward_hook, hear_mixed)
        listen(block.register_forward_hook, hear_block)

    with listening() as listen:
        for layer in range(recorder.depth):
            listen_to(layer)
        yield recorder
