"""Where weights come from: `load` turns a name, a file, a timm name or a hub id into a model."""

from pathlib import Path

import torch

from ..errors import WeightsError
from .checkpoints import CHECKPOINT_SUFFIXES, load_checkpoint, save_checkpoint
from .key import ModelKey
from .loaded import LoadedModel, ModelCard
from .menu import CURATED, DEFAULT_MODEL, WEIGHTS_DIR, list_models
from .resize import resized
from .timm_models import from_timm, load_timm
from .untrained import twin

__all__ = [
    "CURATED",
    "DEFAULT_MODEL",
    "WEIGHTS_DIR",
    "LoadedModel",
    "ModelCard",
    "from_timm",
    "list_models",
    "load",
    "load_key",
    "save_checkpoint",
]


def load(
    source: str | Path = DEFAULT_MODEL,
    *,
    pretrained: bool = True,
    image_size: int | tuple[int, int] | None = None,
    device: str | torch.device | None = None,
) -> LoadedModel:
    """A model by name or path, in eval mode, frozen, on the GPU if there is one.

    `source` is a shipped model ("photos", "mnist"); a checkpoint file made by vitviz, or one of
    torchvision's ViTs; any timm name; or `hf-hub:owner/name` and `local-dir:folder`, as timm reads
    them.

    `pretrained=False` gives the untrained twin, always the same one. The twin of a vitviz
    checkpoint has exactly the random weights that its training began with; where the training went
    on from a run of another config, they are drawn for the checkpoint's own config. The twin of any
    other model has weights of a fixed seed. Nothing is downloaded, and torch's random state is not
    touched.

    `image_size` (pixels, height before width) is the size of the pictures that the model is to see,
    in patches of the size it has: positions are resampled to the new grid (`resize.py`). Those of
    the twin are drawn at the model's own size and resampled too, so the twin shows what resampling
    alone does to positions.

    Raises `WeightsError`, whose sentence says what is missing, damaged or not supported.
    """
    name = str(source)
    if name in list_models() and name not in CURATED:
        loaded = load_checkpoint(WEIGHTS_DIR / f"{name}.safetensors", name)
    elif isinstance(source, Path) or name.endswith(CHECKPOINT_SUFFIXES):
        loaded = load_checkpoint(Path(source), Path(source).stem)
    else:
        loaded = load_timm(name, pretrained)
    if not pretrained and loaded.card.trained:
        loaded = twin(loaded)
    if image_size is not None:
        loaded = resized(loaded, image_size)
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        loaded.vit.to(device)
    except (RuntimeError, AssertionError) as error:  # torch's own types for "not here"
        reason = str(error).splitlines()[0]
        raise WeightsError(f"the device {str(device)!r} cannot be used: {reason}") from error
    return loaded


def load_key(key: ModelKey, *, device: str | torch.device | None = None) -> LoadedModel:
    """The model of a key, as `load` gives it."""
    return load(key.name, pretrained=not key.untrained, image_size=key.image_size, device=device)
