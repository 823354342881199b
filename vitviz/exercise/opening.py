"""Open a ViT that somebody wrote in the exercise and trained, so that vitviz can show it."""

from collections.abc import Sequence
from math import isqrt
from typing import Any

import torch
from einops import rearrange

from ..errors import WeightsError
from ..model.config import ViTConfig
from ..model.json_values import short
from ..model.labels import Labels, names_of
from ..model.loaded import LoadedModel, ModelCard, build, head_of
from ..model.preprocess import Preprocess
from .checking import TOLERANCE

PARTS = "patch_embed, cls_token, pos_embed, blocks, norm and head, with the names of the exercise"


def open_vit(
    vit: Any,
    labels: Labels = None,
    *,
    mean: float | Sequence[float] = 0.0,
    std: float | Sequence[float] = 1.0,
    name: str = "my_vit",
) -> LoadedModel:
    """A trained ViT of the exercise, for `vitviz.analyze`, `vitviz.save` and the page.

    vit        an instance of the exercise's class, filled in; it stays as it is
    labels     the names of the classes; None: the model has none, and is shown by its numbers
    mean, std  how its pictures were normalized: (pixels - mean) / std for pixels from 0 to 1, one
               number or one per channel; the defaults are those of torchvision's ToTensor alone

    The weights are copied. Both are run on two random pictures: raises `WeightsError` if the
    logits differ, if parts are missing, or if sizes, labels or numbers do not fit.
    """
    try:
        side, heads = int(vit.patch_embed.side), int(vit.blocks[0].attn.heads)
        eps, state = float(vit.norm.eps), dict(vit.state_dict())
        filters = state["patch_embed.proj.weight"]
        grid = isqrt(state["pos_embed"].shape[1] - 1)
        config = ViTConfig(
            image_size=(grid * side, grid * side),
            patch_size=(side, side),
            in_chans=filters.shape[1] // side**2,
            num_classes=len(state["head.weight"]),
            embed_dim=len(filters),
            depth=len(vit.blocks),
            num_heads=heads,
            norm_eps=eps,
        )
        state["patch_embed.proj.weight"] = rearrange(
            filters, "d (c y x) -> d c y x", y=side, x=side
        )
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise WeightsError(f"a ViT of the exercise has {PARTS}: {short(str(error))}") from error
    names = names_of(labels, config.num_classes)
    preprocess = Preprocess(
        size=config.image_size,
        channels=config.in_chans,
        mean=_per_channel(mean, config.in_chans),
        std=_per_channel(std, config.in_chans),
    )
    card = ModelCard(
        name=name,
        source="written in the exercise",
        config=config,
        labels=names,
        head=head_of(names, config),
    )
    copies = {key: tensor.detach().cpu().clone() for key, tensor in state.items()}
    loaded = build(copies, card, preprocess)
    _check_equal(vit, loaded, name)
    return loaded


def _per_channel(value: float | Sequence[float], channels: int) -> tuple[float, ...]:
    return (float(value),) * channels if isinstance(value, int | float) else tuple(value)


@torch.inference_mode()
def _check_equal(vit: Any, loaded: LoadedModel, name: str) -> None:
    """Raise `WeightsError` if the two answer two random pictures with other logits."""
    config = loaded.card.config
    generator = torch.Generator().manual_seed(0)
    pixels = torch.rand(2, config.in_chans, *config.image_size, generator=generator)
    training = vit.training
    try:
        theirs = vit.eval()(pixels.to(vit.cls_token.device)).cpu().float()
    finally:
        vit.train(training)
    ours = loaded.vit(pixels)
    apart = float((theirs - ours).abs().max()) if theirs.shape == ours.shape else float("inf")
    if not apart <= 10 * TOLERANCE * max(1.0, float(ours.abs().max())):
        raise WeightsError(
            f"{name} is no ViT of the exercise: its logits and those of vitviz's with the same "
            f"weights differ by {apart:.2g}; vitviz.exercise.check says which part is another one"
        )
