"""The state of a run on disk, complete enough to resume as if the run had never stopped."""

import os
import pickle
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import torch
from torch import nn

from ..whole import writes_whole
from .errors import TrainError, writing

try:
    import fcntl
except ImportError:  # Windows: see `held`
    fcntl = None  # type: ignore[assignment]  # a checker on Linux knows the module alone

STATE = "state.pt"
HIGH = "state-high.pt"  # the state before the learning rate falls, from which a longer run goes on
VERSION = 2


def save_state(
    folder: Path,
    *,
    vit: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    facts: dict[str, Any],
    name: str = STATE,
) -> None:
    """Write the state atomically: the old file is replaced once the new one is on the disk."""
    state = {
        "version": VERSION,
        "vit": vit.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in optimizers],
        **facts,
    }
    path = folder / name
    kept = "the state before it is kept" if path.exists() else "there is none before it"
    advice = f"{kept}; make room, then go on with --resume"
    with writing(path, advice), writes_whole(path) as partial, partial.open("wb") as file:
        _save(state, file)
        file.flush()
        os.fsync(file.fileno())


def check_new(folder: Path) -> None:
    """Raise `TrainError` if a folder holds a run, or cannot be read."""
    with writing(folder):
        begun = (folder / STATE).exists()
    if begun:
        raise TrainError(
            f"{folder} already holds a run: add --resume to go on, or choose another --out"
        )


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep every other run out of a folder. Raises `TrainError` if one is in there.

    Where the system has no locks (Windows, some folders in a network), nobody is kept out.
    """
    if fcntl is None:
        yield
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # it cannot be listed; whether it can be written in is seen soon
        yield
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TrainError(
                f"another run writes into {folder}: wait for its end, or choose another --out"
            ) from None
        except OSError:
            pass  # there are no locks
        yield
    finally:
        os.close(handle)


def _save(state: dict[str, Any], file: IO[bytes]) -> None:
    """`torch.save`, but a full disk raises its own OSError and not torch's RuntimeError."""
    try:
        torch.save(state, file)
    except RuntimeError as error:
        if isinstance(error.__context__, OSError):
            raise error.__context__ from error
        raise


def read_state(folder: Path, name: str = STATE) -> dict[str, Any]:
    """Read what `save_state` wrote. Raises `TrainError` if it is missing or damaged."""
    path = folder / name
    if not path.is_file():
        raise TrainError(f"there is nothing to resume in {folder}: it has no {name}")
    try:
        with zipfile.ZipFile(path) as parts:  # torch writes checksums, but never checks them
            broken = parts.testzip()
        if broken is not None:
            raise ValueError(f"the checksum of {broken} is wrong")
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (
        RuntimeError,
        EOFError,
        OSError,
        ValueError,
        pickle.UnpicklingError,
        zipfile.BadZipFile,
    ) as error:
        raise TrainError(f"{path} is damaged and cannot be resumed: {error}") from error
    if not isinstance(state, dict) or state.get("version") != VERSION or _NEEDED - set(state):
        raise TrainError(f"{path} was not written by this version of vitviz; start the run anew")
    return state


_NEEDED = {"vit", "optimizers", "recipe", "pictures", "step", "seconds"}


def restore(state: dict[str, Any], vit: nn.Module, optimizers: list[torch.optim.Optimizer]) -> None:
    """Put the weights and both optimisers back where they were."""
    vit.load_state_dict(state["vit"])
    for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
