"""A vector as target: the explained score is how like it the features of the picture are."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...errors import SelectionError
from ...model.head import without_head
from ...model.loaded import LoadedModel, as_precise, build
from ...model.vit import ViT
from ..intervene.surgery import Surgery


class Likeness(nn.Module):
    """The cosine of each vector with one fixed vector, as the only output. (..., D) -> (..., 1)"""

    vector: Tensor

    def __init__(self, vector: Tensor, instead_of: ViT, projection: nn.Module) -> None:
        """`instead_of`: the model with its head, which steering reads the classes from.
        `projection`: what comes before the cosine, such as that head, or nothing (`nn.Identity`).
        """
        super().__init__()
        self.instead_of = (instead_of,)  # in a tuple it is no part of this module
        self.projection = projection
        self.register_buffer("vector", vector)

    def forward(self, x: Tensor) -> Tensor:
        return F.cosine_similarity(self.projection(x), self.vector, dim=-1)[..., None]


def vector_of(target: Any) -> Tensor | None:
    """The vector that a target is, (D,) float32; None for a class or a pair of classes.

    Raises `SelectionError` for an array that is no vector of finite numbers, or zero.
    """
    if not isinstance(target, list | Tensor | np.ndarray):
        return None
    if not isinstance(target, list) and target.ndim == 0:
        return None  # the number of a class
    try:
        vector = torch.as_tensor(target).detach().float().cpu().clone()
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise SelectionError("a vector as target must hold numbers") from error
    if vector.ndim != 1:
        raise SelectionError(
            f"a vector as target must have one axis, (width,), got {tuple(vector.shape)}"
        )
    if not vector.isfinite().all() or not vector.any():
        raise SelectionError("a vector as target must hold finite numbers, not all of them 0")
    return vector


def likened(loaded: LoadedModel, vector: Tensor) -> LoadedModel:
    """The model with `Likeness` to a vector as its only output; its weights are shared.

    The vector is as wide as the pooled features (behind the last norm), or as the outputs of a
    model without class names, such as CLIP's projection. Where both widths are equal, it is
    compared with these outputs. Raises `SelectionError` for another width.
    """
    config = loaded.card.config
    projects = _projects(loaded)
    widths = [config.num_classes] * projects
    if config.global_pool:
        widths.append(config.pooled_dim)
    if len(vector) not in widths:
        allowed = " or ".join(f"({width},)" for width in dict.fromkeys(widths))
        raise SelectionError(
            f"a vector as target must have shape {allowed}, as the features of "
            f"{loaded.card.name}, got ({len(vector)},)"
            if widths
            else f"{loaded.card.name} does not pool its tokens: no vector is like its answer"
        )
    model, projection = without_head(loaded), nn.Identity()
    if projects and len(vector) == config.num_classes:
        model = as_precise(build(loaded.vit.state_dict(), loaded.card, loaded.preprocess), loaded)
        projection = model.vit.head  # type: ignore[assignment]
    likeness = Likeness(vector.to(loaded.device), loaded.vit, projection)
    model.vit.head = likeness.eval()  # type: ignore[assignment]
    model.vit.blocks = loaded.vit.blocks  # whoever counts the passes of the model hears these, too
    return replace(model, resampling=loaded.resampling)


def _projects(loaded: LoadedModel) -> bool:
    """Whether vectors can be compared with a model's outputs: those of one head without classes."""
    return loaded.card.head == "embedding" and not loaded.card.config.dist_token


@torch.inference_mode()
def own_vector(loaded: LoadedModel, tokens: Tensor, surgery: Surgery) -> Tensor:
    """The vector of a pass, to be the target of another one: its outputs where the model names no
    classes, such as CLIP's, else its pooled features. Its last tokens (N, D) -> (width,)

    Raises `SelectionError` for a model that does not pool.
    """
    if not loaded.card.config.global_pool:
        raise SelectionError(f"{loaded.card.name} does not pool its tokens: nothing is like them")
    if _projects(loaded):
        return likeness_in(tokens, surgery, loaded)
    vit = loaded.vit
    with surgery.applied(vit):
        x = vit.norm(tokens[None].to(loaded.device))
        return vit.fc_norm(vit.pool(x))[0].float().cpu()


@torch.inference_mode()
def likeness_in(tokens: Tensor, surgery: Surgery, model: LoadedModel) -> Tensor:
    """The outputs of a model for the last tokens, (N, D), of a pass with these interventions: the
    likeness, (1,), if `likened` made the model; for any other model its answer, (C,)
    """
    with surgery.applied(model.vit):
        x = model.vit.norm(tokens[None].to(model.device))
        return model.vit.forward_head(x)[0].float().cpu()
