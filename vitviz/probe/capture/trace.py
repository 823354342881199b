"""Trace: the tensors recorded in one forward pass of one image, and the attention they give."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ...errors import CaptureError
from ...languages import Message
from .bias import Bias
from .cuts import Cuts
from .score import scores
from .selection import counted

LARGEST = 1e15  # bound of a sound model's values; float32 ends at 3.4e38

# How many numbers of an attention map are worked on at a time: half a megabyte, which fits into the
# processor's cache. Maps of up to 362 tokens fit whole; at 1,370 tokens this saves a third of the
# time.
CACHED = 2**17


@dataclass(frozen=True, eq=False, slots=True)
class RoundedLayer:
    """One layer as a viewer gets it: q and k in half precision, and the log-sum-exp of each row.

    `attention[h, i, j] = exp(scale * q[h, i] . k[h, j] - lse[h, i])`, and 0 where an edge is cut
    (`Trace.cuts`); a model with a bias adds it to the exponent (`Trace.bias`). `lse` (log-sum-exp
    of the scores) is computed from the rounded values, so that rows sum to 1 in the browser too.
    """

    q: Tensor  # (H, N, d) float16
    k: Tensor  # (H, N, d) float16
    lse: Tensor  # (H, N) float32


@dataclass(frozen=True, eq=False, slots=True)
class Trace:
    """The tensors recorded in one forward pass of one image: on the CPU, no batch axis, read-only.

    q, k     (L, H, N, d)   as attention really uses them: after q/k norm and rotary positions,
                            before scaling
    tokens   (L + 1, N, D)  the residual stream: after embedding, and after each block
    logits   (C,)           the model's answer; features where the model has no head; (N, C) where
                            it does not pool and answers for each token
    scale    factor of q k^T before the softmax, 1 / sqrt(d)
    v        (L, H, N, d)   the values that the attention mixes; None unless they were asked for
    g        (L, H, N, d)   d logits[target] / d (attention v): how much the logit of the class
                            `target` rises with what each head gathered; None without a target
    target   the class whose gradient `g` is; None without one
    cuts     edges of attention that an intervention cut; the maps are 0 there. None: none
    bias     what the model adds to its scores, as the pass had it; None: nothing

    The attention maps are not kept: a map costs N^2 numbers per head, q and k cost N. A map is a
    function of q and k and is computed on demand.
    """

    q: Tensor
    k: Tensor
    tokens: Tensor
    logits: Tensor
    scale: float
    v: Tensor | None = None
    g: Tensor | None = None
    target: int | None = None
    cuts: Cuts | None = None
    bias: Bias | None = None

    @property
    def depth(self) -> int:
        return self.q.shape[0]

    @property
    def num_heads(self) -> int:
        return self.q.shape[1]

    @property
    def num_tokens(self) -> int:
        return self.q.shape[2]

    @property
    def head_dim(self) -> int:
        return self.q.shape[3]

    def copy(self) -> "Trace":
        """A copy with its own memory, for a trace that shares its memory with others."""
        parts = {name: getattr(self, name) for name in ("q", "k", "tokens", "logits", "v", "g")}
        return replace(
            self, **{name: part.clone() for name, part in parts.items() if part is not None}
        )

    def attention(self, layer: int) -> Tensor:
        """softmax(scale q k^T + bias) of a layer. (H, N, N), [head, query, key], rows sum to 1

        arXiv:2010.11929, equation 6.
        """
        layer = self.check_layer(layer)
        return self.scores(layer, slice(None)).softmax(dim=-1)

    def attention_of(self, layer: int, head: int) -> Tensor:
        """The map of one head alone, [query, key], rows sum to 1. (N, N)"""
        layer, head = self.check_layer(layer), self.check_head(head)
        return self.scores(layer, slice(head, head + 1)).softmax(dim=-1)[0]

    def attention_from(self, layer: int, token: int) -> Tensor:
        """The attention of `token`: its row in every head. (H, N), each row sums to 1"""
        layer, token = self.check_layer(layer), self.check_token(token)
        row = slice(token, token + 1)
        return self.scores(layer, slice(None), row).softmax(dim=-1).squeeze(1)

    def attention_to(self, layer: int, token: int) -> Tensor:
        """The attention to `token`: its column in every head. (H, N); columns do not sum to 1"""
        layer, token = self.check_layer(layer), self.check_token(token)
        return self.attention(layer)[..., token].clone()  # alone, without the maps around it

    def scores(self, layer: int, heads: slice, rows: slice = slice(None)) -> Tensor:
        """The scores of some heads and queries, -inf where an edge is cut. (heads, rows, N)"""
        return self._scorer(layer)(heads, rows)

    def score_blocks(self, layer: int) -> Iterator[tuple[slice, slice, Tensor]]:
        """The scores of a layer in blocks that fit into the processor's cache: slices of heads and
        queries, and their scores. (heads, rows, N)
        """
        score = self._scorer(layer)
        return ((heads, rows, score(heads, rows)) for heads, rows in self._blocks())

    def _scorer(
        self, layer: int, q: Tensor | None = None, k: Tensor | None = None
    ) -> Callable[[slice, slice], Tensor]:
        """A function for the scores of some heads and queries of a layer. The mask of its cuts is
        made once. q, k (H, N, d): in place of those of the trace.
        """
        q, k = self.q[layer] if q is None else q, self.k[layer] if k is None else k
        cuts = self.cuts.mask(layer) if self.cuts else None

        def score(heads: slice, rows: slice) -> Tensor:
            cut = None if cuts is None else cuts[heads if len(cuts) > 1 else slice(None), rows]
            bias = self.bias.scores(layer, heads, rows) if self.bias else None
            return scores(q[heads, rows], k[heads], self.scale, bias=bias, cut=cut)

        return score

    def attention_gradient(self, layer: int) -> Tensor:
        """d logits[target] / d attention of a layer: g v^T. (H, N, N), [head, query, key]

        The output of a head is attention times values, so the gradient of one attention value is
        the dot product of the gradient at the query, g, with the value of the key, v. No map takes
        part in the backward pass. Raises `CaptureError` for a trace without gradients.
        """
        layer = self.check_layer(layer)
        g, v = self._gradients()
        return g[layer] @ v[layer].transpose(-2, -1)

    def attention_gradient_from(self, layer: int, token: int) -> Tensor:
        """The row of `token` in `attention_gradient`, in every head. (H, N)"""
        layer, token = self.check_layer(layer), self.check_token(token)
        g, v = self._gradients()
        return torch.einsum("hd,hnd->hn", g[layer, :, token], v[layer])

    def _gradients(self) -> tuple[Tensor, Tensor]:
        if self.g is None or self.v is None:
            raise CaptureError("this trace holds no gradients; capture(vit, target=...) keeps them")
        return self.g, self.v

    def rounded(self, layer: int) -> RoundedLayer:
        """The layer in half precision, as browsers get it.

        Raises `CaptureError` if half precision cannot hold a value.
        """
        layer = self.check_layer(layer)
        q, k, q_rounded, k_rounded = self._halved(layer)
        lse = torch.empty(q.shape[:2])
        score = self._scorer(layer, q_rounded, k_rounded)
        for heads, rows in self._blocks():
            scores = score(heads, rows)
            # log_softmax is score - lse in every entry, and faster than logsumexp. The entry is the
            # first of each row, or the largest where edges are cut: a cut one is -inf in both.
            shares = scores.log_softmax(dim=-1)
            if self.cuts:
                lse[heads, rows] = scores.amax(dim=-1) - shares.amax(dim=-1)
            else:
                lse[heads, rows] = scores[..., 0] - shares[..., 0]
        return RoundedLayer(q, k, lse)

    def rounded_from(self, layer: int, token: int) -> Tensor:
        """The attention of `token` as computed from `rounded`. (H, N); raises the same errors."""
        layer, token = self.check_layer(layer), self.check_token(token)
        _, _, q, k = self._halved(layer)
        rows = self._scorer(layer, q, k)(slice(None), slice(token, token + 1))
        return rows.softmax(dim=-1).squeeze(1)

    def _halved(self, layer: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """q and k of a layer in half precision, and these again in float32. (H, N, d) each"""
        q, k = self.q[layer].half(), self.k[layer].half()
        rounded = q.float(), k.float()
        if not all(map(is_sound, rounded)):  # too large for half precision becomes infinite
            raise CaptureError(Message("models.half_precision", layer=layer))
        return q, k, *rounded

    def rounding_error(self, layer: int) -> float:
        """The largest difference between an attention value of `rounded` and the exact one.

        Raises `CaptureError` as `rounded` does.
        """
        layer = self.check_layer(layer)
        error, (_, _, q, k) = 0.0, self._halved(layer)
        shown_score = self._scorer(layer, q, k)
        for heads, rows, score in self.score_blocks(layer):
            shown = shown_score(heads, rows).softmax(dim=-1)
            exact = score.softmax(dim=-1)
            low, high = shown.sub_(exact).aminmax()
            error = max(error, -float(low), float(high))
        return error

    def _blocks(self) -> Iterator[tuple[slice, slice]]:
        """Slices (heads, rows) of a layer's maps, small enough for the processor's cache."""
        # Small maps go together, since a call costs as much as some of them; of large ones there is
        # one for each thread.
        together = max(torch.get_num_threads(), CACHED // self.num_tokens**2)
        height = min(self.num_tokens, max(1, CACHED // self.num_tokens))
        for head in range(0, self.num_heads, together):
            for row in range(0, self.num_tokens, height):
                yield slice(head, head + together), slice(row, row + height)

    def check_layer(self, layer: int) -> int:
        """The layer as an int, -1 being the last, if the model has it; else `SelectionError`."""
        return counted("layer", layer, self.depth)

    def check_head(self, head: int) -> int:
        """The head as an int, -1 being the last, if a layer has it; else `SelectionError`."""
        return counted("head", head, self.num_heads)

    def check_token(self, token: int) -> int:
        """The token as an int, -1 being the last, if there is one; else `SelectionError`."""
        return counted("token", token, self.num_tokens)


def is_sound(values: Tensor) -> bool:
    """Whether all values are finite, and small enough that products of two of them are too."""
    if values.numel() == 0:
        return True
    low, high = values.float().aminmax()
    return bool(low > -LARGEST) and bool(high < LARGEST)
