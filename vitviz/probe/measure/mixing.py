"""Mixing: the change that attention makes to a token, by head, and what the MLP sums up of it."""

from dataclasses import dataclass

import torch
from einops import einsum, rearrange
from torch import Tensor, nn

from ...model.vit import Block, Mlp, ViT
from ..capture.trace import Trace


@dataclass(frozen=True, eq=False, slots=True)
class Mixing:
    """How the attention of one layer changes the tokens: a sum with one term for each head.

        after[t] = before[t] + rest[t] + sum over h of gain[t] * out[h] @ (attention[h, t] @ v[h])

    `after` is what the MLP of the block gets (arXiv:2010.11929, equation 2).

    before  (N, D)       the tokens as they enter the block
    normed  (N, D)       input of q, k and v: `before` after the block's norm
    v       (H, N, d)    the values
    out     (H, D, d)    the columns of `proj` that belong to each head, with layer scale and the
                         gains of a norm before or after it folded in
    rest    (1 or N, D)  the part that does not depend on the heads: biases
    gain    (N,)         1, unless a norm stands before or after `proj`: such a norm divides all
                         heads of a token by the same length
    """

    before: Tensor
    normed: Tensor
    v: Tensor
    out: Tensor
    rest: Tensor
    gain: Tensor


@dataclass(frozen=True, eq=False, slots=True)
class Mix:
    """The change of one token by one head, and by all heads.

    attention  (N,)    the shares of the query, sum to 1
    v          (N, d)  the values of every token in this head
    mixed      (d,)    attention @ v: the output of this head
    parts      (H, D)  the change of the token by each head, through `proj`; `added` is this head's
    rest       (D,)    the change by biases
    change     (D,)    the whole change: the sum of `parts`, plus `rest`
    before     (D,)    the token as it enters the block
    after      (D,)    before + change, before the MLP
    normed     (D,)    `before` after the block's norm, from which q, k and v of the token are made
    share      how much of the change is this head's: the part of `added` along `change`, divided by
               the length of `change`. Over all heads and `rest` the shares sum to 1; a share is
               negative where a head works against the others. nan without any change
    cosine     of `added` and `change`, in [-1, 1]
    """

    attention: Tensor
    v: Tensor
    mixed: Tensor
    parts: Tensor
    added: Tensor
    rest: Tensor
    change: Tensor
    before: Tensor
    after: Tensor
    normed: Tensor
    share: float
    cosine: float


@torch.inference_mode()
def mixing(trace: Trace, vit: ViT, layer: int) -> Mixing:
    """The changes that the attention of a layer makes to the tokens of a trace. On the CPU.

    `vit` is the model that left the trace. If the trace kept its values they are taken; else they
    are computed from its tokens. Raises `SelectionError` for a layer that the trace does not have.
    """
    layer = trace.check_layer(layer)
    block, tokens = vit.blocks[layer], trace.tokens[layer]
    before = tokens.to(block.attn.qkv.weight)
    normed = before if block.post_norm else block.norm1(before)
    if trace.v is None:
        v = rearrange(block.attn.qkv(normed), "n (p h d) -> p h n d", p=3, h=trace.num_heads)[2]
    else:
        v = trace.v[layer].to(before)
    out, rest, gain = _linear(block, trace, layer, v)
    out = rearrange(out, "dim (h d) -> h dim d", h=trace.num_heads)
    parts = (normed, v, out, rest, gain)
    return Mixing(tokens, *(part.float().cpu() for part in parts))


def mix(trace: Trace, mixing: Mixing, layer: int, head: int, token: int) -> Mix:
    """The change of `token` by `head`, from the mixing of this layer.

    Raises `SelectionError` for a layer, head or token that the trace does not have.
    """
    head, token = trace.check_head(head), trace.check_token(token)
    attention = trace.attention_from(layer, token)
    mixed = einsum(attention, mixing.v, "h n, h n d -> h d")
    parts = mixing.gain[token] * einsum(mixing.out, mixed, "h dim d, h d -> h dim")
    rest = mixing.rest[token if len(mixing.rest) > 1 else 0]
    change = parts.sum(dim=0) + rest
    added, before = parts[head], mixing.before[token]
    along = added @ change
    return Mix(
        attention=attention[head],
        v=mixing.v[head],
        mixed=mixed[head],
        parts=parts,
        added=added,
        rest=rest,
        change=change,
        before=before,
        after=before + change,
        normed=mixing.normed[token],
        share=float(along / change.square().sum()),
        cosine=float(torch.cosine_similarity(added, change, dim=0)),
    )


@torch.inference_mode()
def hidden_sums(trace: Trace, found: Mixing, vit: ViT, layer: int) -> Tensor:
    """The sum of each hidden unit of a layer's MLP at each token, before its activation.

    (N, hidden), fc1(norm2(after)) of the layer's `Mixing`; of a gated MLP those of the gate. On the
    CPU. Raises `SelectionError` for a layer that the trace does not have.
    """
    block = vit.blocks[layer]
    mixed = trace.attention(layer) @ found.v
    parts = einsum(found.out, mixed, "h dim d, h n d -> n dim")
    after = (found.before + found.gain[:, None] * parts + found.rest).to(block.attn.proj.weight)
    x = after if block.post_norm else block.norm2(after)
    if isinstance(block.mlp, Mlp):
        sums = block.mlp.fc1(x)
    else:
        sums = block.mlp.fc1(x).chunk(2, dim=-1)[0] if block.mlp.packed else block.mlp.fc1_g(x)
    return sums.float().cpu()


def _linear(block: Block, trace: Trace, layer: int, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The linear map after the heads, as matrix, rest and gain. (D, D), (1 or N, D), (N,)

    A norm is linear once the length that it divides by is known. That is one number for each token,
    so the parts of the heads of a token stay separate.
    """
    attn = block.attn
    out, gain = attn.proj.weight, v.new_ones(v.shape[1])
    rest = v.new_zeros(1, len(out)) if attn.proj.bias is None else attn.proj.bias[None]
    inner = None if isinstance(attn.norm, nn.Identity) else attn.norm
    if inner or block.post_norm:
        mixed = rearrange(trace.attention(layer).to(v) @ v, "h n d -> n (h d)")
    if inner:
        gain = _gain(inner, mixed)
        if (bias := getattr(inner, "bias", None)) is not None:
            rest = rest + out @ bias
        out = _centred(inner, out * inner.weight, dim=1)
    if block.post_norm:
        last = block.norm1
        divided = _gain(last, attn.proj(attn.norm(mixed)))
        rest = divided[:, None] * _centred(last, rest, dim=1) * last.weight
        if (bias := getattr(last, "bias", None)) is not None:
            rest = rest + bias
        out, gain = _centred(last, out, dim=0) * last.weight[:, None], gain * divided
    elif not isinstance(block.ls1, nn.Identity):
        out, rest = out * block.ls1.gamma[:, None], rest * block.ls1.gamma
    return out, rest, gain


def _gain(norm: nn.LayerNorm | nn.RMSNorm, x: Tensor) -> Tensor:
    """The factor by which a norm scales each row. (N, D) -> (N,)"""
    centred = _centred(norm, x, dim=1)
    eps = torch.finfo(x.dtype).eps if norm.eps is None else norm.eps  # as RMSNorm itself does
    return (centred.square().mean(dim=1) + eps).rsqrt()


def _centred(norm: nn.Module, x: Tensor, dim: int) -> Tensor:
    """The values without their mean, as LayerNorm makes them; RMSNorm leaves them as they are."""
    return x - x.mean(dim=dim, keepdim=True) if isinstance(norm, nn.LayerNorm) else x
