"""Begin a run with the weights of another run, resampled if the recipe has other sizes."""

import hashlib
from pathlib import Path

from ..languages import Message
from ..model.loaded import LoadedModel
from ..model.resize import resample
from ..model.vit import ViT
from .errors import TrainError


def begin_with(vit: ViT, loaded: LoadedModel) -> None:
    """Give `vit` the weights of a trained model of the same width, depth and classes.

    If sizes differ, filters and positions are resampled (`model/resize.py`). Raises
    `TrainError` if anything else differs.
    """
    state = resample(loaded.vit.state_dict(), loaded.card.config, vit.config)
    device = next(vit.parameters()).device
    try:
        vit.load_state_dict({name: value.to(device) for name, value in state.items()})
    except RuntimeError as error:
        raise TrainError(
            f"{loaded.card.name} cannot start this run, its weights are of another model: {error}"
        ) from error


def origin(loaded: LoadedModel, path: str) -> str:
    """The first weights of a run, in words: name, training and SHA-256 of the checkpoint."""
    details = loaded.card.details
    facts: list[str] = [
        Message(f"training.origin_{key}", value=details[name])
        for key, name in (("commit", "commit"), ("images", "images seen"), ("time", "wall time"))
        if name in details
    ]
    file = Path(path)
    if file.is_file():
        facts.append(f"SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()[:16]}")
    name = loaded.card.name
    return Message("training.origin", name=name, facts=tuple(facts)) if facts else name
