"""Case: the input of an explainer: a picture, a model, and the class to explain."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ...errors import CaptureError
from ...model.preprocess import Preprocess
from ...model.vit import Places, Tokens, ViT
from ..capture.grid import PatchGrid
from ..capture.recorder import listening
from ..capture.trace import Trace
from ..intervene.surgery import Surgery
from ..measure.inside import Pool, pool_of

# Tokens that go through the model at a time. With fewer, calls cost more than products; more do not
# fit into the caches. A graph for a backward pass takes some ten times as much memory per token.
TOGETHER = 2**12
TOGETHER_WITH_GRAPH = 2**11


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """The input of one explanation.

    trace   the pass of the picture; with v where an explainer needs "values", with v and g where it
            needs "gradients"
    vit     the model; None for explainers that need the trace alone
    pixels  (C, h, w), what entered the model
    target  the class that is explained; None for explainers that know no class
    other   another class, to explain the difference of both logits, target minus other
    likeness  whether the only output of `vit` is the likeness to a vector (likeness.py)
    liked   name of the picture that the vector is of; "" for any other vector
    preprocess  converts pictures to pixels, for baselines; None for explainers without a baseline
    surgery the interventions of the pass; None: none
    seed    seed of the random map. It is 0 for every picture that a page shows: a seed made of
            pixels would change with the rounding of another image decoder
    """

    trace: Trace
    grid: PatchGrid
    pixels: Tensor
    vit: ViT | None = None
    target: int | None = None
    other: int | None = None
    preprocess: Preprocess | None = None
    surgery: Surgery | None = None
    seed: int = 0
    likeness: bool = False
    liked: str = ""

    @property
    def model(self) -> ViT:
        """`vit`, if there is one. Raises `CaptureError` for a case without a model."""
        if self.vit is None:
            raise CaptureError("this case has no model; Case(vit=...) gives it one")
        return self.vit

    @property
    def class_index(self) -> int:
        """`target`, if there is one. Raises `CaptureError` for a case without a class."""
        if self.target is None:
            raise CaptureError("this case has no class; Case(target=...) names one")
        return self.target

    def score(self, logits: Tensor) -> Tensor:
        """The explained score: the logit of `target`, minus that of `other`. (..., C) -> (...)

        Raises `CaptureError` for a case without a class.
        """
        score = logits[..., self.class_index]
        return score if self.other is None else score - logits[..., self.other]

    @property
    def patches(self) -> Tensor:
        """The patches that no intervention took out. (n,) indices of patches"""
        return torch.arange(self.grid.num_patches) if self.surgery is None else self.surgery.present

    @cached_property
    def pool(self) -> Pool | None:
        """The attention pool that gathers the answer; None in models without one."""
        gathers = self.vit is not None and self.vit.attn_pool is not None
        return pool_of(self.model, self.trace) if gathers else None

    @cached_property
    def pool_gradient(self) -> Tensor:
        """d score / d shares of `pool`, by a backward pass through the head alone. (H, N)

        Raises `CaptureError` where there is no pool.
        """
        heard: list[Tensor] = []

        def hear(_module: object, args: tuple[Tensor]) -> tuple[Tensor]:
            heard.append(args[0].detach().clone().requires_grad_())  # of no inference mode
            return (heard[0],)

        vit = self.model
        if vit.attn_pool is None or self.pool is None:
            raise CaptureError("this model has no query that pools its tokens")
        with torch.enable_grad(), self.operated(), listening() as listen:
            listen(vit.attn_pool.proj.register_forward_pre_hook, hear)
            tokens = self.trace.tokens[-1:].to(vit.attn_pool.latent.device)
            (wanted,) = torch.autograd.grad(
                self.score(vit.forward_head(vit.norm(tokens))[0]), heard
            )
        heads, _, dim = self.pool.values.shape
        wanted = wanted.float().cpu().view(heads, dim)
        return torch.einsum("hd,hnd->hn", wanted, self.pool.values)

    def operated(self) -> AbstractContextManager[None]:
        """Apply the interventions to passes in this block, as `Surgery.applied` does."""
        return self.surgery.applied(self.model) if self.surgery else nullcontext()

    def answer(self, x: Tensor, places: Places = None) -> Tensor:
        """The logits of tokens that enter the first block, in `operated`. (B, n, D) -> (B, C)

        Without interventions the last block computes only the tokens that the head reads: CLS alone
        in most models. That saves a seventh of the work of six blocks.
        """
        operated = self.surgery and self.surgery.interventions
        n_queries = None if operated else self.model.config.tokens_read
        return self.model.forward_head(self.model.encode(x, places, n_queries))

    @torch.inference_mode()
    def logits_with(self, kept: Tensor) -> Tensor:
        """The logits when only some tokens are in the sequence. (B, n) token indices -> (B, C)

        The other tokens are really taken out, after positions were added: a ViT can do without
        them, and they cost nothing then. Prefix tokens must be listed to stay.
        """
        device = next(self.model.parameters()).device
        whole = Tokens(self.trace.tokens[:1].to(device))
        batches = kept.to(device).split(max(1, TOGETHER // max(1, kept.shape[1])))
        with self.operated():
            return torch.cat([self.answer(*whole.take(some)).float().cpu() for some in batches])

    def logits_with_patches(self, kept: list[Tensor]) -> Tensor:
        """The logits with only these patches, and all prefix tokens. Indices of patches -> (B, C)

        Sequences of one length go through the model together.
        """
        logits: dict[int, Tensor] = {}
        for length in sorted({len(patches) for patches in kept}):
            places = [place for place, patches in enumerate(kept) if len(patches) == length]
            batch = self.logits_with(self.with_patches(torch.stack([kept[i] for i in places])))
            logits |= dict(zip(places, batch, strict=True))
        return torch.stack([logits[place] for place in range(len(kept))])

    def with_patches(self, patches: Tensor) -> Tensor:
        """Token indices of the prefix tokens and these patches. (B, n) -> (B, prefix + n)"""
        prefix = torch.arange(self.grid.num_prefix_tokens).expand(len(patches), -1)
        return torch.cat([prefix, patches + self.grid.num_prefix_tokens], dim=1)

    def batches(self, count: int) -> Iterator[slice]:
        """Slices of `count` whole pictures that fit into the model together, with their graph."""
        together = max(1, TOGETHER_WITH_GRAPH // self.grid.num_tokens)
        for start in range(0, count, together):
            yield slice(start, min(start + together, count))
