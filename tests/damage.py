"""Damaged files: some bytes changed, the end cut off, or a value of another type."""

import copy
import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

# Wrong values for any field.
WRONG = (
    None, True, False, -1, 0, 1, 2.5, 10**6, 10**9, 10**30, -(10**400), 1e-300, 1e300,
    float("nan"), float("inf"), "", "x", "7", "[", "[" * 3000, '{"seed": 1e999}', "9" * 5000,
    "NaN", "1e999",
    [], [None], [1], ["x", 2], [[[[]]]], {}, {"x": None}, {"seed": 10**30}, {"1": 2},
)  # fmt: skip
WRONG_TENSORS: tuple[Callable[[torch.Tensor], Any], ...] = (
    lambda t: None,
    lambda t: 7,
    lambda t: {"weight": t},
    lambda t: t[:0],
    lambda t: t.flatten()[0],
    lambda t: t.flatten(),
    lambda t: t[None],
    lambda t: t.repeat_interleave(2, 0),
    lambda t: torch.zeros(1).expand(10**12, *t.shape[1:]),
    lambda t: t.to(torch.complex64),
    lambda t: t > 0,
    lambda t: t.to_sparse(),
    lambda t: torch.full_like(t, float("nan")),
    lambda t: torch.full_like(t, 3e38),
    lambda t: t.to(torch.float64) * 1e200,
    lambda t: t.to(torch.int8),
    lambda t: t.to("meta"),
)


def turn_bytes(whole: bytes, chance: random.Random, deep: int) -> bytes:
    """The file with some bytes changed, mostly near its ends, where headers are."""
    damaged = bytearray(whole)
    for _ in range(chance.choice([1, 1, 2, 8])):
        near = chance.choice([deep, deep, len(whole)])
        at = min(chance.randrange(min(near, len(whole))), len(whole) - 1)
        damaged[at if chance.random() < 0.7 else -1 - at] = chance.randrange(256)
    return bytes(damaged)


def cut_off(whole: bytes, chance: random.Random) -> bytes:
    return whole[: chance.randrange(len(whole))]


def damage_json(value: Any, chance: random.Random) -> str:
    """JSON with one or two values replaced, left out or added, anywhere in it."""
    value = {"all": copy.deepcopy(value)}
    for _ in range(chance.choice([1, 1, 1, 2])):
        holder, key = chance.choice(list(_places(value)))
        wrong = copy.deepcopy(chance.choice(WRONG))  # it may get a wrong value itself
        match chance.randrange(8):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[chance.choice(["", "x", "depth", "seed"])] = wrong
            case _:
                holder[key] = wrong
        if "all" not in value or not value["all"]:
            break
    text = json.dumps(value.get("all"))
    return chance.choice([text] * 20 + [text[: len(text) // 2], "[" * 100_000, "", "\x00", "7"])


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every field of a JSON value, as the object or list that holds it and its key."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in list(inner):
        yield value, key
        if isinstance(one, dict | list):
            yield from _places(one)


def damage_metadata(path: Path, key: str, chance: random.Random) -> None:
    """Replace the JSON in the metadata of a .safetensors file."""
    tensors, metadata = _read(path)
    save_file(tensors, path, {key: damage_json(json.loads(metadata[key]), chance)})


def damage_tensor(path: Path, chance: random.Random) -> None:
    """Replace one tensor of a .safetensors file, or leave it out."""
    tensors, metadata = _read(path)
    name = chance.choice(sorted(tensors))
    wrong = chance.choice([*WRONG_TENSORS, None])
    whole = tensors.pop(name).float()
    found = wrong(whole) if wrong else None
    # Values that the format cannot hold are left out.
    if isinstance(found, torch.Tensor) and found.numel() < 10**7 and not found.is_meta:
        tensors[name] = found.to_dense().contiguous()
    save_file(tensors, path, metadata)


def damage_pickle(whole: bytes, chance: random.Random) -> bytes:
    """Replace one tensor of a pickled state dict by something else, or its name."""
    state = torch.load(io.BytesIO(whole), weights_only=True)
    name = chance.choice(sorted(state))
    wrong = chance.choice([*WRONG_TENSORS, None, None])
    if wrong:
        state[name] = wrong(state[name].float())
    else:
        state[chance.choice([7, "", "encoder.layers.", None, "blocks.9999999", name])] = state.pop(
            name
        )
    into = io.BytesIO()
    torch.save(chance.choice([state, state, {"state_dict": state}, [state], {"model": 3}]), into)
    return into.getvalue()


def _read(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata())  # noqa: SIM118
