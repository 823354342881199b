"""Begin a run with the weights of another, cut into finer patches if the recipe says so."""

import hashlib
from pathlib import Path

from ..model.loaded import LoadedModel
from ..model.vit import ViT
from .errors import TrainError


def begin_with(vit: ViT, loaded: LoadedModel) -> None:
    """Give `vit` the weights of a trained model of the same width, depth and classes.

    Where sizes differ, the filters of the patch embedding are resampled so that a patch and the
    same patch shown larger or smaller give about the same token (FlexiViT, arXiv:2212.08013,
    section 3.4), and the position embedding is interpolated as a picture (arXiv:2010.11929,
    section 3.2); timm has both. Raises `TrainError` if anything else differs.
    """
    from timm.layers import resample_abs_pos_embed, resample_patch_embed

    state = {name: value.detach().clone() for name, value in loaded.vit.state_dict().items()}
    state["patch_embed.proj.weight"] = resample_patch_embed(
        state["patch_embed.proj.weight"], list(vit.config.patch_size)
    )
    if vit.pos_embed is not None and "pos_embed" in state:
        prefix = vit.config.num_prefix_tokens if vit.config.pos_embed_prefix else 0
        state["pos_embed"] = resample_abs_pos_embed(
            state["pos_embed"],
            new_size=list(vit.config.grid_size),
            old_size=list(loaded.vit.config.grid_size),
            num_prefix_tokens=prefix,
        )
    device = next(vit.parameters()).device
    try:
        vit.load_state_dict({name: value.to(device) for name, value in state.items()})
    except RuntimeError as error:
        raise TrainError(
            f"{loaded.card.name} cannot start this run, its weights are of another model: {error}"
        ) from error


def origin(loaded: LoadedModel, path: str) -> str:
    """Where a run began, in words: the file and what its metadata says of it."""
    details = loaded.card.details
    told = [
        f"{name} {details[name]}"
        for name in ("commit", "images seen", "wall time")
        if name in details
    ]
    file = Path(path)
    if file.is_file():
        told.append(f"SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()[:16]}")
    return f"{loaded.card.name}: {', '.join(told)}" if told else loaded.card.name
