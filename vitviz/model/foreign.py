"""Recognise files that hold no weights for torch by their first bytes, and say what to do."""

import zipfile
from pathlib import Path

from ..errors import WeightsError

SAVE = 'torch.save(model.state_dict(), "weights.pth")'
CODE = "Such a file could run code and is not opened"
TORCH = (".safetensors", ".bin", ".pth", ".pt", ".ckpt", ".tar")
HEAD = 4096  # bytes that are looked at
_EXPORT = f"{CODE}; where it was made, {SAVE} writes one that opens"
_FLAX = (
    "weights of Flax; transformers before version 5 reads them with from_flax=True, and "
    "save_pretrained(folder) writes a folder that opens"
)
_TENSORFLOW = (
    "weights of TensorFlow; transformers before version 5 reads them with from_tf=True, and "
    "save_pretrained(folder) writes a folder that opens"
)
_H5 = (
    "an HDF5 file (.h5), as Keras and TensorFlow write it; transformers "
    "before version 5 reads its own with from_tf=True, and save_pretrained(folder) writes a folder "
    "that opens"
)
# First bytes of a file, and its kind.
STARTS = {
    b"version https://git-lfs": "a pointer of Git LFS, a few lines of text in place of the "
    "weights; git lfs pull, or the download button of the hub, fetches them",
    b"\x89HDF\r\n\x1a\n": _H5,
    b"GGUF": "a GGUF file of llama.cpp, whose numbers are quantized; take the model that it was "
    "made of",
    b"\x93NUMPY": "one array of numpy (.npy), not a state_dict",
    b"PAR1": "a table (Parquet), not weights",
    b"\x1f\x8b": "a compressed archive (gzip); unpack it first",
    b"7z\xbc\xaf\x27\x1c": "a compressed archive (7z); unpack it first",
    b"Rar!": "a compressed archive (RAR); unpack it first",
    b"%PDF": "a PDF document, not weights",
    b"\x89PNG": "a picture (PNG), not weights",
    b"\xff\xd8\xff": "a picture (JPEG), not weights",
}
# Suffixes of formats whose first bytes say little.
SUFFIXES = {
    ".h5": _H5,
    ".onnx": f"an ONNX model, a program without the names of its weights; {SAVE} of the model that "
    "it was made of writes a file that opens",
    ".pb": _TENSORFLOW,
    ".tflite": _TENSORFLOW,
    ".index": _TENSORFLOW,
    ".keras": _TENSORFLOW,
    ".msgpack": _FLAX,
    ".mlmodel": "a Core ML model; take the model that it was made of",
    ".engine": "an engine of TensorRT; take the model that it was made of",
    ".json": "a text in JSON, not weights; name the folder that it lies in",
}


def what_it_is(path: Path) -> str | None:
    """The kind of a file that is no state dict of torch, and a way out, as the end of a sentence
    that begins with its name; None for a file that may be one.

    Raises `OSError` for a file that cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(HEAD)
    if not head:
        return "empty (0 bytes)"
    text = head.lstrip().lower()
    if text.startswith((b"<!doctype html", b"<html")):
        return "a web page in place of the weights; the download needs a login, or another address"
    for start, kind in STARTS.items():
        if head.startswith(start):
            return kind
    if zipfile.is_zipfile(path):
        return _of_archive(path)
    if head.startswith(b"PK\x03\x04"):
        return (
            "cut off: it begins as torch.save writes it, and its end is missing. Download it again"
        )
    if "flax" in path.name.lower() and path.suffix != ".safetensors":
        return _FLAX
    if path.name.startswith(("tf_model.", "model.ckpt-")) or ".data-0000" in path.name:
        return _TENSORFLOW
    if head[:1] == b"\x08" and any(word in head for word in (b"pytorch", b"onnx", b"keras")):
        return SUFFIXES[".onnx"]  # field 1 of ONNX, its version; then the name of the producer
    return SUFFIXES.get(path.suffix.lower())


def files_in(folder: Path) -> list[Path]:
    """The files in a folder, sorted. Raises `WeightsError` for a folder that cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise WeightsError(f"the folder {folder} cannot be read: {error.strerror}") from error


def check_has_weights(folder: Path) -> None:
    """Raise `WeightsError` for a folder whose only weights are of another library, by name, and for
    one that cannot be read.
    """
    files = files_in(folder)
    if any(path.suffix in TORCH for path in files):
        return
    for path in files:
        try:
            kind = None if path.suffix == ".json" else what_it_is(path)
        except OSError as error:
            raise WeightsError(f"{path} cannot be read: {error.strerror}") from error
        if kind is not None:
            raise WeightsError(f"{path.name}, the weights in {folder.name}, is {kind}")


def _of_archive(path: Path) -> str | None:
    """The kind of a ZIP archive that is no state dict; torch.save writes such archives, too."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile, RuntimeError, NotImplementedError):
        return None  # torch says why
    inner = {name.partition("/")[2] for name in names}
    if names and all(name.endswith(".npy") for name in names):
        return (
            "an archive of numpy arrays (.npz), as Google's ViTs in JAX; timm.create_model(name, "
            'pretrained_cfg_overlay={"file": "FILE.npz", "custom_load": True}, pretrained=True) '
            "reads those, and vitviz.from_timm(model) takes the model"
        )
    if "constants.pkl" in inner and any(name.startswith("code/") for name in inner):
        return (
            f"a TorchScript program. {CODE}; if you trust it, from torch import jit; "
            'torch.save(jit.load("FILE").state_dict(), "weights.pth") writes one that opens'
        )
    if "archive_format" in inner:
        return f"an exported program (PT2). {_EXPORT}"
    if "data.pkl" not in inner:
        holds = names[0] if names else "nothing"
        return f"a ZIP archive of other files ({holds[:80]}, ...); unpack it first"
    return None
