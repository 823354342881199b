"""One attention value taken apart: the query, the key, their product, and the softmax row."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..capture.score import scores
from ..capture.trace import Trace


@dataclass(frozen=True, eq=False, slots=True)
class Pair:
    """The attention of one token to another in one head, and every number behind it.

    q, k       (d,)  the query of the first token, the key of the second
    products   (d,)  q * k, elementwise; `sum` is their sum, q . k
    scores     (N,)  scale * q . k + bias for the key of every token, cut or not; `score` is this
                     pair's, and `bias` what the model adds to it: 0 in a model without
    attention  (N,)  softmax of the scores without cut edges, sums to 1; `share` is its value
    """

    q: Tensor
    k: Tensor
    products: Tensor
    sum: float
    scale: float
    bias: float
    score: float
    scores: Tensor
    attention: Tensor
    share: float


def pair(trace: Trace, layer: int, head: int, query: int, key: int) -> Pair:
    """Take apart attention[layer, head, query, key] (arXiv:2010.11929, equation 6).

    Raises `SelectionError` for a layer, head or token that the trace does not have.
    """
    layer, head = trace.check_layer(layer), trace.check_head(head)
    query, key = trace.check_token(query), trace.check_token(key)
    q, keys = trace.q[layer, head, query], trace.k[layer, head]
    products = q * keys[key]
    row, bias = scores(q[None], keys, trace.scale)[0], torch.zeros(())
    if trace.bias:
        added = trace.bias.scores(layer, slice(head, head + 1), slice(query, query + 1))[0, 0]
        row, bias = row + added, added[key]
    attention = trace.attention_from(layer, query)[head]
    return Pair(
        q=q,
        k=keys[key],
        products=products,
        sum=float(products.sum()),
        scale=trace.scale,
        bias=float(bias),
        score=float(row[key]),
        scores=row,
        attention=attention,
        share=float(attention[key]),
    )
