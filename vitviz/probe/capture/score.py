"""The score of a query and a key: how well they fit, before the softmax makes a share of it."""

import torch
from torch import Tensor


def scores(
    q: Tensor, k: Tensor, scale: float, bias: Tensor | None = None, cut: Tensor | None = None
) -> Tensor:
    """scale q k^T + bias, -inf where an edge is cut. (..., n, d), (..., m, d) -> (..., n, m)

    arXiv:2010.11929, equation 6. `bias` is added to the scores, None: nothing; `cut` is True where
    the query could not attend to the key. Both must broadcast to (..., n, m).
    """
    score = (q * scale) @ k.mT
    if bias is not None:
        score = score + bias
    return score if cut is None else score.masked_fill_(cut, -torch.inf)
