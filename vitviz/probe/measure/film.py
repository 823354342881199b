"""Film: learned positions, CLS attention and answers at about 20 moments of a training."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...errors import WeightsError
from ...model.json_values import are_texts, is_number, is_whole, parse, short
from ...model.tensor_file import read_metadata, read_tensors, tensors_from_bytes, write_tensors
from ...model.vit import ViT
from ..capture.grid import PatchGrid
from ..capture.recorder import capture
from .positions import Positions, similarity

FORMAT = "vitviz_film"
VERSION = 1
MOST = 1e15  # bound of every number in the facts of a moment
TENSORS = ("pixels", "positions", "attention", "probabilities")


@dataclass(frozen=True, eq=False)
class Film:
    """Attention, positions and answers at moments of a training, always for the same pictures.

    pixels         uint8 (pictures, h, w, C)   the pictures, before normalisation
    positions      float16 (moments, P, P)     cosine similarity of the patches' learned positions,
                   or None: the model learns none
    attention      float16 (moments, pictures, L, H, N)   of CLS to all tokens; rows sum to about 1
    probabilities  float16 (moments, pictures, classes)
    facts          "recipe", "began_with" (the weights of the first moment, in words; empty for
                   random ones), "rows", "cols", "num_prefix_tokens", "labels", "pictures" (each
                   with its "name") and "moments": {"step", "epoch", "images", "seconds", "loss",
                   "top1", "top5"} for each moment; loss is None before the first step
    """

    pixels: Tensor
    attention: Tensor
    probabilities: Tensor
    facts: Mapping[str, Any]
    positions: Tensor | None = None

    def __len__(self) -> int:
        return len(self.facts["moments"])

    def save(self, path: str | Path) -> None:
        """Write the film completely or not at all. Raises `OSError` if it cannot be written."""
        text = json.dumps({"version": VERSION, **self.facts}, allow_nan=False)
        tensors = {name: tensor for name in TENSORS if (tensor := getattr(self, name)) is not None}
        write_tensors(path, tensors, {FORMAT: text})

    @classmethod
    def read(cls, path: str | Path) -> "Film":
        """Read what `save` wrote. Raises `WeightsError` for a missing file, or no whole film."""
        try:
            return cls._of(*read_tensors(path))
        except FileNotFoundError as error:
            raise WeightsError(f"there is no film {path}") from error
        except (OSError, KeyError, ValueError) as error:
            raise WeightsError(f"{path} is not a film of a training: {error}") from error

    @classmethod
    def from_bytes(cls, data: bytes) -> "Film":
        """Read a film from the bytes of its file. Raises `WeightsError` as `read` does."""
        try:
            return cls._of(*tensors_from_bytes(data))
        except (KeyError, ValueError) as error:
            raise WeightsError(f"this file is not a film of a training: {error}") from error

    @classmethod
    def _of(cls, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> "Film":
        """The film of these parts of a file. Raises `KeyError`, `ValueError` if they do not fit."""
        facts = _facts(metadata[FORMAT])
        _check_tensors(tensors, facts)
        del facts["version"]
        return cls(facts=facts, **{name: tensors[name] for name in TENSORS if name in tensors})


def facts_of(path: str | Path) -> dict[str, Any]:
    """The facts of a film, without reading its tensors; {} if it is no film of this version."""
    try:
        return _facts(read_metadata(path)[FORMAT])
    except (OSError, KeyError, ValueError):
        return {}


def _facts(text: str) -> dict[str, Any]:
    """The facts in a film's metadata. Raises `ValueError` if one is missing or of a wrong type."""
    facts = parse(text)
    if not isinstance(facts, dict) or facts.get("version") != VERSION:
        raise ValueError("it was not written by this version of vitviz")

    def each(name: str) -> list[dict[str, Any]]:
        rows = facts.get(name)
        if isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
            return rows
        return [{}]

    for name, right in (
        ("recipe", isinstance(facts.get("recipe"), str)),
        ("began_with", isinstance(facts.get("began_with", ""), str)),
        ("rows", is_whole(facts.get("rows"))),
        ("cols", is_whole(facts.get("cols"))),
        ("num_prefix_tokens", is_whole(facts.get("num_prefix_tokens"))),
        ("labels", are_texts(facts.get("labels"))),
        ("pictures", all(isinstance(picture.get("name"), str) for picture in each("pictures"))),
        ("moments", all(map(_is_moment, each("moments")))),
    ):
        if not right:
            raise ValueError(f"its {name} cannot be {short(facts.get(name))}")
    return facts


def _is_moment(facts: dict[str, Any]) -> bool:
    """Whether these are the facts of a moment; only the loss may be None."""
    counts = all(is_number(facts.get(name), 0, MOST) for name in ("step", "epoch", "images"))
    loss = facts.get("loss") is None or is_number(facts["loss"], -MOST, MOST)
    shares = all(is_number(facts.get(name), 0, 1) for name in ("top1", "top5"))
    return counts and is_number(facts.get("seconds"), 0, MOST) and loss and shares


def _check_tensors(tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Raise `ValueError` for tensors whose shapes do not fit the facts."""
    moments, pictures = len(facts["moments"]), len(facts["pictures"])
    patches = facts["rows"] * facts["cols"]
    tokens = facts["num_prefix_tokens"] + patches
    shapes = {
        "pixels": (pictures, None, None, None),
        "positions": (moments, patches, patches),
        "attention": (moments, pictures, None, None, tokens),
        "probabilities": (moments, pictures, len(facts["labels"])),
    }
    for name, shape in shapes.items():
        if name == "positions" and name not in tensors:
            continue
        tensor = tensors[name]
        sides = zip(tensor.shape, shape, strict=False)
        fits = tensor.ndim == len(shape) and all(b in (a, None) and a for a, b in sides)
        if not fits or tensor.dtype != (torch.uint8 if name == "pixels" else torch.float16):
            raise ValueError(f"its {name} have shape {tuple(tensor.shape)} of {tensor.dtype}")
        if not torch.isfinite(tensor).all():
            raise ValueError(f"its {name} are not all finite")
    if tensors["pixels"].shape[-1] not in (1, 3):
        raise ValueError(f"its pictures have {tensors['pixels'].shape[-1]} channels")


@torch.no_grad()
def look(vit: ViT, pixels: Sequence[Tensor]) -> dict[str, Tensor]:
    """Make one moment of a film: {"positions" (P, P), "attention" (pictures, L, H, N),
    "probabilities" (pictures, classes)}, all float16, on the CPU; positions only of a model that
    learns them.

    `pixels` are normalised pictures, (C, h, w) each. The model needs a CLS token.
    """
    was_training, vit_device = vit.training, next(vit.parameters()).device
    vit.eval()
    attention, probabilities = [], []
    try:
        for picture in pixels:
            with capture(vit) as recorder:
                logits = vit(picture[None].to(vit_device))
            trace = recorder.trace(logits)
            layers = [trace.attention_from(layer, 0) for layer in range(trace.depth)]
            attention.append(torch.stack(layers))
            probabilities.append(trace.logits.softmax(dim=-1))
    finally:
        vit.train(was_training)
    frame = {
        "attention": torch.stack(attention).half(),
        "probabilities": torch.stack(probabilities).half(),
    }
    if vit.pos_embed is not None:
        patches = Positions.of(vit.pos_embed, vit.config).patches
        frame["positions"] = similarity(patches).half()
    return frame


def grid_facts(vit: ViT) -> dict[str, int]:
    """The part of a film's facts that follows from the model."""
    grid = PatchGrid.of(vit.config)
    return {
        "rows": grid.rows,
        "cols": grid.cols,
        "num_prefix_tokens": grid.num_prefix_tokens,
    }
