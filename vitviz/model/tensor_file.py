""".safetensors files of ours: checkpoints, films and analyses, written whole or not at all."""

import errno
import json
import re
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from ..whole import at_home, writes_whole


def write_tensors(
    path: str | Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> None:
    """Write the file, whole or not at all. A pipe or a device stays what it is, and gets the bytes.
    Raises `OSError` if it cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
    with writes_whole(path) as partial:
        if partial.exists():  # no plain file, and safetensors would put one in its place
            partial.write_bytes(tensors_to_bytes(whole, metadata))
            return
        partial.touch()
        mode = partial.stat().st_mode  # as the umask has it; safetensors lets only the owner read
        try:
            save_file(whole, partial, metadata=dict(metadata))
        except SafetensorError as error:  # a full disk, for example
            raise _of_system(str(error), path) from error
        partial.chmod(mode)


def _of_system(text: str, path: str | Path) -> OSError:
    """The error of the system that safetensors tells of in a text; `EIO` where it tells of none."""
    if found := re.search(r"([^:]+) \(os error (\d+)\)", text):
        number = int(found[2])
        return OSError(number, found[1].strip(), str(path), number)  # the last for Windows alone
    return OSError(errno.EIO, text, str(path))


def read_metadata(path: str | Path) -> dict[str, str]:
    """The metadata of a file without its tensors. Raises as `read_tensors` does."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(at_home(path), framework="pt") as file:
            return dict(file.metadata() or {})
    except SafetensorError as error:
        raise ValueError(str(error)) from error


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a file. Raises `OSError`, `ValueError` for a damaged one."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(at_home(path), framework="pt") as file:
            names = file.keys()
            return {name: file.get_tensor(name) for name in names}, dict(file.metadata() or {})
    except SafetensorError as error:
        raise ValueError(str(error)) from error


def tensors_to_bytes(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """The file that `write_tensors` would write."""
    from safetensors.torch import save

    whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
    return save(whole, dict(metadata))


def tensors_from_bytes(data: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata from the bytes of a file. Raises `ValueError` for damaged bytes."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = load(data)
    except (SafetensorError, KeyError) as error:  # KeyError: a dtype that torch lacks
        raise ValueError(str(error)) from error
    end = 8 + int.from_bytes(data[:8], "little")  # the header, which `load` checked but dropped
    return tensors, json.loads(data[8:end]).get("__metadata__") or {}
