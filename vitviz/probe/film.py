"""Film: how position embedding and CLS attention came about, in about 20 moments of a training."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import WeightsError
from ..model.tensor_file import read_metadata, read_tensors, write_tensors
from ..model.vit import ViT
from .grid import PatchGrid
from .positions import Positions, similarity
from .trace import capture

FORMAT = "vitviz_film"
VERSION = 1
TENSORS = ("pixels", "positions", "attention", "probabilities")


@dataclass(frozen=True, eq=False)
class Film:
    """What a model looked like at some moments of its training, always on the same pictures.

    pixels         uint8 (pictures, h, w, C)   what the model was shown, before normalisation
    positions      float16 (moments, P, P)     cosine similarity of the patches' position embeddings
    attention      float16 (moments, pictures, L, H, N)   of CLS to all tokens; rows sum to about 1
    probabilities  float16 (moments, pictures, classes)
    facts          "recipe", "began_with" (the weights of the first moment, in words; empty for
                   random ones), "rows", "cols", "num_prefix_tokens", "labels", "pictures" (each
                   with its "name") and "moments": {"step", "epoch", "images", "seconds", "loss",
                   "top1", "top5"} of each; loss is None before the first step
    """

    pixels: Tensor
    positions: Tensor
    attention: Tensor
    probabilities: Tensor
    facts: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.facts["moments"])

    def save(self, path: str | Path) -> None:
        """Write the film at once or not at all. Raises `OSError` if it cannot be written."""
        text = json.dumps({"version": VERSION, **self.facts}, allow_nan=False)
        write_tensors(path, {name: getattr(self, name) for name in TENSORS}, {FORMAT: text})

    @classmethod
    def read(cls, path: str | Path) -> "Film":
        """What `save` wrote. Raises `WeightsError` if there is no film, or a damaged one."""
        try:
            tensors, metadata = read_tensors(path)
            facts = json.loads(metadata[FORMAT])
            tensors = {name: tensors[name] for name in TENSORS}
        except FileNotFoundError as error:
            raise WeightsError(f"there is no film {path}") from error
        except (OSError, KeyError, ValueError) as error:
            raise WeightsError(f"{path} is not a film of a training: {error}") from error
        if facts.pop("version", None) != VERSION:
            raise WeightsError(f"{path} was not written by this version of vitviz")
        film = cls(**tensors, facts=facts)
        lengths = {len(film), *map(len, (film.positions, film.attention, film.probabilities))}
        if len(lengths) != 1:
            raise WeightsError(f"{path} is damaged: its parts have {sorted(lengths)} moments")
        return film


def facts_of(path: str | Path) -> dict[str, Any]:
    """The facts of a film without its tensors; {} for a file that is none, or an older one."""
    try:
        facts = json.loads(read_metadata(path)[FORMAT])
    except (OSError, KeyError, ValueError):
        return {}
    return facts if isinstance(facts, dict) and facts.get("version") == VERSION else {}


@torch.no_grad()
def look(vit: ViT, pixels: Sequence[Tensor]) -> dict[str, Tensor]:
    """One moment of a film: {"positions" (P, P), "attention" (pictures, L, H, N), "probabilities"
    (pictures, classes)}, all float16, on the CPU

    `pixels` are normalised pictures, (C, h, w) each. The model needs a CLS token and positions.
    """
    was_training, vit_device = vit.training, next(vit.parameters()).device
    vit.eval()
    attention, probabilities = [], []
    for picture in pixels:
        with capture(vit) as recorder:
            logits = vit(picture[None].to(vit_device))
        trace = recorder.trace(logits)
        layers = [trace.attention_from(layer, 0) for layer in range(trace.depth)]
        attention.append(torch.stack(layers))
        probabilities.append(trace.logits.softmax(dim=-1))
    vit.train(was_training)
    patches = Positions.of(vit.pos_embed, vit.config).patches
    return {
        "positions": similarity(patches).half(),
        "attention": torch.stack(attention).half(),
        "probabilities": torch.stack(probabilities).half(),
    }


def grid_facts(vit: ViT) -> dict[str, int]:
    """The part of a film's facts that follows from the model."""
    grid = PatchGrid.of(vit.config)
    return {
        "rows": grid.rows,
        "cols": grid.cols,
        "num_prefix_tokens": grid.num_prefix_tokens,
    }
