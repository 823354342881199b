""".safetensors files of ours: checkpoints, films and analyses, written whole or not at all."""

import glob
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from torch import Tensor

PARTIAL = ".partial"


def write_tensors(
    path: str | Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> None:
    """Write into a hidden folder beside `path`, of this writer alone, and move the file to `path`.

    Of several writers the last one stays. Raises `OSError` if the file cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    path = Path(path)
    whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
    _forget_killed(path)
    names = {"prefix": f".{path.name}.{os.getpid()}.", "suffix": PARTIAL}
    with TemporaryDirectory(**names, dir=path.parent, ignore_cleanup_errors=True) as folder:
        partial = Path(folder, path.name)
        partial.touch()
        mode = partial.stat().st_mode  # as the umask has it; safetensors lets only the owner read
        try:
            save_file(whole, partial, metadata=dict(metadata))
        except SafetensorError as error:  # a full disk, for example
            raise OSError(str(error)) from error
        partial.chmod(mode)
        partial.replace(path)


def _forget_killed(path: Path) -> None:
    """Delete what writers of this file left behind that were killed."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*{PARTIAL}"):
        found = re.fullmatch(r"(\d{1,9})\.\w+", left.name[len(path.name) + 2 : -len(PARTIAL)])
        if found and not _runs(int(found[1])):
            shutil.rmtree(left, ignore_errors=True)


def _runs(process: int) -> bool:
    """Whether a process runs on this machine; on Windows, which cannot be asked, all do."""
    try:
        if os.name != "nt":
            os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's
        return True
    return True


def read_metadata(path: str | Path) -> dict[str, str]:
    """The metadata of a file without its tensors. Raises as `read_tensors` does."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            return dict(file.metadata() or {})
    except SafetensorError as error:
        raise ValueError(str(error)) from error


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a file. Raises `OSError`, `ValueError` for a damaged one."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
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
    """What `read_tensors` reads, from the bytes of a file. Raises `ValueError` for damaged ones."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = load(data)
    except (SafetensorError, KeyError) as error:  # KeyError: a dtype that torch lacks
        raise ValueError(str(error)) from error
    end = 8 + int.from_bytes(data[:8], "little")  # the header, which `load` checked but dropped
    return tensors, json.loads(data[8:end]).get("__metadata__") or {}
