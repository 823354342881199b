"""How a patch becomes a token: the first filters, their responses, and the position added."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ...model.vit import ViT

COUNT = 24  # number of filters (of D) that are kept: enough to see what filters look like


@dataclass(frozen=True, eq=False, slots=True)
class Embedding:
    """The first F numbers of every token on its way into the first block (arXiv:2010.11929, eq. 1).

    filters   (F, C, ph, pw)  the first rows of the matrix E that every patch is multiplied with
    bias      (F,)            the bias of the patch embedding; 0 where the model has none
    content   (N, F)          before positions: the responses of the filters to each patch, and the
                              learned vectors of the prefix tokens
    position  (N, F)          the position embedding; 0 where the model adds none

    `content + position` enters the first block; a model with `norm_pre` normalises it before.
    """

    filters: Tensor
    bias: Tensor
    content: Tensor
    position: Tensor

    @classmethod
    @torch.inference_mode()
    def of(
        cls, vit: ViT, patches: Tensor, count: int = COUNT, positions: Tensor | None = None
    ) -> "Embedding":
        """Keep the first `count` numbers of `patches`, (P, D), the patch embedding of a picture.

        `positions`: replaces the learned position embedding, for an intervention.
        """
        some = slice(0, min(count, vit.config.embed_dim))
        proj = vit.patch_embed.proj
        filters = proj.weight[some]
        content = vit.join(patches[None], None)[0, :, some]
        position = torch.zeros_like(content)
        added = vit.pos_embed if positions is None else positions
        if added is not None:
            position[-added.shape[1] :] = added[0, :, some]
        bias = filters.new_zeros(len(filters)) if proj.bias is None else proj.bias[some]
        return cls(*(part.float().cpu().clone() for part in (filters, bias, content, position)))
