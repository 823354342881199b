"""Read a state dict from any file, without running code, and unwrap it."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import WeightsError
from .json_values import short
from .tensor_file import read_tensors

# Every ViT has one of these parameters once; what precedes it in the name is the wrapper's prefix.
ANCHORS = ("patch_embed.proj.weight", "conv_proj.weight")
MOST_ENTRIES = 10**6  # of a file; optimizers have some thousand


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and metadata of a .safetensors file. Raises `WeightsError` for a damaged one."""
    try:
        return read_tensors(path)
    except (OSError, ValueError) as error:
        raise WeightsError(f"{path.name} is not a whole .safetensors file: {error}") from error


def read_any(path: Path) -> dict[str, Tensor]:
    """All tensors of a file by name; those in nested objects are named "outer/inner".

    Raises `WeightsError` for a file that is damaged, or that torch would have to run code for.
    """
    if path.suffix == ".safetensors":
        return read_safetensors(path)[0]
    # timm and many scripts keep the arguments of their training beside the weights.
    torch.serialization.add_safe_globals([argparse.Namespace])
    try:
        held = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # reading a damaged pickle can fail in any way
        raise WeightsError(
            f"{path.name} cannot be read as plain weights: it is damaged, or a pickle that needs "
            "more than tensors. Such a file could run code and is not opened; "
            "save its state_dict as .safetensors instead"
        ) from error
    found: dict[str, Tensor] = {}
    for count, (name, value) in enumerate(_entries(held)):
        if count >= MOST_ENTRIES:
            raise WeightsError(f"{path.name} holds more than {MOST_ENTRIES} entries")
        if isinstance(value, Tensor):
            found[name] = value
    if not found:
        raise WeightsError(f"{path.name} does not hold a state_dict of tensors")
    return found


def _entries(held: Any, front: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(held, Mapping) and depth < 4:
        for key, value in held.items():
            if isinstance(key, str):
                yield front + key, value
                yield from _entries(value, f"{front}{key}/", depth + 1)


def unwrapped(state: Mapping[str, Tensor], file: str, key: str | None = None) -> dict[str, Tensor]:
    """The parameters of the ViT in a file, without the prefix of their names, such as "module.", or
    "state_dict/model." of Lightning.

    `key` selects a model by the beginning of its names; all else is ignored then. Raises
    `WeightsError` that names the choices if there are several models, or other tensors beside it.
    """
    fronts = sorted(
        {
            name.removesuffix(anchor)
            for anchor in ANCHORS
            for name in state
            if f".{name.replace('/', '.')}".endswith(f".{anchor}")
        }
    )
    if key is not None:
        wanted = f"{_plain(key)}."
        if not (fronts := [front for front in fronts if f"{_plain(front)}.".startswith(wanted)]):
            raise WeightsError(f"{file} holds no Vision Transformer under the key {short(key)}")
    if not fronts:
        raise WeightsError(
            f"{file} holds {len(state)} tensors, from {short(next(iter(state), ''))} on, and none "
            f"is named {' or '.join(ANCHORS)}, as in timm's and torchvision's ViTs; for a model of "
            "Hugging Face transformers name the folder with its config.json"
        )
    if len(fronts) > 1:
        names = " or ".join(f'key="{_plain(front)}"' for front in fronts[:4])
        raise WeightsError(f"{file} holds {len(fronts)} Vision Transformers: choose with {names}")
    (front,) = fronts
    held = front[: front.rfind("/") + 1]  # the object of the file that holds them
    beside = [name for name in state if name.startswith(held) and not name.startswith(front)]
    if key is None and beside:
        raise WeightsError(
            f"{file} holds {short(beside[0])} beside the Vision Transformer, and what it is for "
            f'is not known; key="{_plain(front)}" leaves it out'
        )
    return {
        name.removeprefix(front): tensor for name, tensor in state.items() if name.startswith(front)
    }


def _plain(front: str) -> str:
    """A prefix of names as a key: "state_dict.model" for "state_dict/model."."""
    return front.rstrip("./").replace("/", ".")
