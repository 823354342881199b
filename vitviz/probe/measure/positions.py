"""Positions: the learned position embedding, and the similarity of patches by it."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from ...model.config import ViTConfig
from ...model.resize import resample_positions
from ...model.untrained import draw


@dataclass(frozen=True, eq=False, slots=True)
class Positions:
    """The learned position embedding of a model, split into prefix tokens and patches.

    prefix   (num_prefix_tokens or 0, D): 0 where positions are added to patches only
    patches  (P, D)
    """

    prefix: Tensor
    patches: Tensor

    @classmethod
    def of(cls, pos_embed: Tensor, config: ViTConfig) -> "Positions":
        """Split a parameter `pos_embed` (1, N or P, D)."""
        rows = pos_embed.detach()[0].float().cpu()
        count = config.num_prefix_tokens if config.pos_embed_prefix else 0
        return cls(rows[:count].clone(), rows[count:].clone())


@lru_cache(maxsize=8)
def untrained_positions(
    config: ViTConfig, resized_from: tuple[int, int] | None = None, **start: Any
) -> Positions:
    """The positions that a training run begins with; `start`: see `draw`. Cached, because drawing
    takes half a second.

    Any two are nearly orthogonal. For a model that was `resized_from` another image size they are
    resampled like the model's own, which makes neighbours similar.
    """
    drawn = replace(config, image_size=resized_from or config.image_size)
    pos_embed = resample_positions(draw(drawn, **start)["pos_embed"], drawn, config)
    return Positions.of(pos_embed, config)


def similarity(embedding: Tensor) -> Tensor:
    """Cosine similarity of every row with every other. (P, D) -> (P, P), in [-1, 1]

    Figure 7 (centre) of arXiv:2010.11929. A row of zeros has similarity 0 with all.
    """
    return (rows := unit_rows(embedding)) @ rows.T


def unit_rows(embedding: Tensor) -> Tensor:
    """Each row scaled to length 1, so that a dot product is a cosine. (P, D) -> (P, D)"""
    return F.normalize(embedding, dim=-1)
