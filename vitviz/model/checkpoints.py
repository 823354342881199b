"""Checkpoint files of vitviz: written, and read again."""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import WeightsError
from ..languages import Message, from_file, to_file
from ..whole import at_home, write_text, writes_whole
from .config import ViTConfig
from .json_values import parse, short
from .loaded import LoadedModel, ModelCard, build, check_loaded, head_of
from .menu import FILM_SUFFIX, HEAD_SUFFIX, shipped_file
from .preprocess import Preprocess
from .state_dicts import read_safetensors
from .tensor_file import read_tensors, write_tensors
from .untrained import first_seed

FORMAT = "vitviz"  # the key of our JSON in a checkpoint's safetensors metadata
TESTS_SUFFIX = ".explainers.json"  # fair tests of the explainers, beside the checkpoint
MOST_TESTS_BYTES = 200_000
CHECKPOINT_SUFFIXES = (".safetensors", ".pth", ".pt", ".bin", ".ckpt", ".tar")


def save_checkpoint(
    path: str | Path,
    state_dict: Mapping[str, Tensor],
    *,
    config: ViTConfig,
    preprocess: Preprocess,
    labels: tuple[str, ...] | None,
    details: Mapping[str, str],
    words: Mapping[str, Mapping[str, Mapping[str, str]]] | None = None,
    outputs: str | None = None,
    dtype: torch.dtype = torch.float16,
    **more: Any,
) -> None:
    """Write the file that `load` reads: weights, and in its metadata all it takes to use them.

    A "temperature" in `details` divides the logits before the softmax. `words` and `outputs` are
    those of `ModelCard`, `more` its `assumed`, `left_out`, `resized_from` and `trained`, and
    `no_film` of `describe`. Raises `OSError` if the file cannot be written; no part of it is left
    then.
    """
    text = describe(config, preprocess, labels, details, words, outputs, **more)
    tensors = {name: tensor.detach().to("cpu", dtype) for name, tensor in state_dict.items()}
    write_tensors(path, tensors, {FORMAT: text})


def save(loaded: LoadedModel, path: str | Path) -> None:
    """Write a model as a .safetensors file that `load` opens: weights in float32, architecture,
    preprocessing, classes, details of its card, what was assumed and whether it is trained; the
    film of its training, if there is one, beside it. Files of these names are replaced; the film of
    another model that lies there stays, and is not taken for that of this one.

    Raises `WeightsError` for another ending, or if the file cannot be written.
    """
    check_loaded(loaded)
    file = at_home(path)
    if file.suffix != ".safetensors":
        raise WeightsError(f"the file of a model must end in .safetensors, got {file.name!r}")
    try:
        film = _film_beside(file)
        write_model(file, loaded, torch.float32, no_film=loaded.film is None and film.exists())
        if loaded.film and not (film.exists() and film.samefile(loaded.film)):
            with writes_whole(film) as partial:
                shutil.copyfile(loaded.film, partial)
    except OSError as error:
        raise WeightsError(f"{file} cannot be written: {error.strerror or error}") from error


def write_model(path: Path, loaded: LoadedModel, dtype: torch.dtype, no_film: bool = False) -> None:
    """`save_checkpoint` of a model with all that its card keeps in a file."""
    card = loaded.card
    save_checkpoint(
        path,
        loaded.vit.state_dict(),
        config=card.config,
        preprocess=loaded.preprocess,
        labels=card.labels,
        details=card.details,
        words=card.words,
        outputs=card.outputs,
        dtype=dtype,
        assumed=card.assumed,
        left_out=card.left_out,
        resized_from=card.resized_from,
        trained=card.trained,
        no_film=no_film,
    )


def describe(
    config: ViTConfig,
    preprocess: Preprocess,
    labels: tuple[str, ...] | None,
    details: Mapping[str, str],
    words: Mapping[str, Any] | None,
    outputs: str | None = None,
    assumed: tuple[str, ...] = (),
    left_out: tuple[str, ...] = (),
    resized_from: tuple[int, int] | None = None,
    trained: bool = True,
    no_film: bool = False,
) -> str:
    """The description of a checkpoint's weights, in JSON.

    trained  False for random weights
    no_film  whether a film that lies beside the file is of another model
    """
    more = {
        "assumed": assumed,
        "left_out": left_out,
        "resized_from": resized_from,
        "no_film": no_film,
    }
    return json.dumps(
        {
            "config": config.to_dict(),
            "preprocess": preprocess.to_dict(),
            "labels": None if labels is None else list(labels),
            "details": dict(details),
            "messages": to_file([*details.values(), *assumed, *left_out]),
            "words": dict(words or {}),
            **({} if outputs is None else {"outputs": outputs}),
            **{name: value for name, value in more.items() if value},
            **({} if trained else {"trained": False}),
        }
    )


def rewrite(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Let `change` alter the description in a checkpoint of vitviz. The weights keep every bit, and
    fair tests in the file beside them stay valid.

    Raises `OSError` or `ValueError` for a file that cannot be read or written, `KeyError` for a
    file that vitviz did not write.
    """
    tensors, metadata = read_tensors(path)
    meta = parse(metadata[FORMAT])
    change(meta)
    tests = _fair_tests(path)
    write_tensors(path, tensors, metadata | {FORMAT: json.dumps(meta)})
    for text in tests.values():
        renewed = text.replace(parse(text)["sha256"], _sha256(path))
        write_text(_tests_beside(path), renewed)


def load_own(path: Path, name: str) -> LoadedModel | None:
    """Read a checkpoint of vitviz; `name` becomes the name on the model's card. None for any other
    file.

    Raises `WeightsError` for a file that is damaged.
    """
    if path.suffix != ".safetensors":
        return None
    state, metadata = read_safetensors(path)
    return _from_own(state, metadata[FORMAT], path, name) if FORMAT in metadata else None


def _from_own(state: dict[str, Tensor], text: str, path: Path, name: str) -> LoadedModel:
    try:
        meta = parse(text)
        if "base" in meta:
            state = _trunk_of(meta) | state
        config = ViTConfig.from_dict(meta["config"])
        preprocess = Preprocess.from_dict(meta["preprocess"])
        labels = None if meta["labels"] is None else tuple(meta["labels"])
        messages = meta.get("messages")  # older files have neither these nor words
        details = {key: from_file(str(text), messages) for key, text in meta["details"].items()}
        details |= _fair_tests(path)
        assumed, left_out = (
            tuple(from_file(text, messages) for text in meta.get(name, ()))
            for name in ("assumed", "left_out")
        )
        resized_from = meta.get("resized_from")
        card = ModelCard(
            name=name,
            source=Message("models.of_vitviz", file=path.name),
            config=config,
            labels=labels,
            head=head_of(labels, config),
            temperature=float(details.get("temperature", 1)),
            details=details,
            words=meta.get("words", {}),
            outputs=meta.get("outputs", ""),
            trained=meta.get("trained", True),
            assumed=assumed,
            left_out=left_out,
            resized_from=None if resized_from is None else tuple(resized_from),
        )
        check_seed(details)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise WeightsError(
            f"the description inside {path.name} is damaged: {short(error)}"
        ) from error
    loaded = build(state, card, preprocess)
    film = _film_beside(path)
    return replace(loaded, film=film) if film.is_file() and not meta.get("no_film") else loaded


def save_head(path: Path, loaded: LoadedModel, base: str) -> None:
    """Write only the linear head of a model. `load` takes all other weights from `base`, the name
    of a shipped model that has the same ones.

    Raises `OSError` if the file cannot be written.
    """
    card = loaded.card
    text = describe(
        card.config, loaded.preprocess, card.labels, card.details, card.words, card.outputs
    )
    told = parse(text) | {"base": base, "sha256": _sha256(_of_base(base))}
    state = loaded.vit.state_dict()
    head = {name: state[name].cpu() for name in ("head.weight", "head.bias")}
    write_tensors(path, head, {FORMAT: json.dumps(told)})


def _trunk_of(meta: Mapping[str, Any]) -> dict[str, Tensor]:
    """The weights that a head is written for. Raises `ValueError` if the base is not shipped, or
    has other weights now.
    """
    path = _of_base(str(meta["base"]))
    if _sha256(path) != meta.get("sha256"):
        raise ValueError(f"it was made for other weights of {path.name}")
    return read_safetensors(path)[0]


def _of_base(name: str) -> Path:
    path = shipped_file(name)
    if path is None or path.name.endswith(HEAD_SUFFIX):
        raise ValueError(f"its base must be a shipped model, got {short(name)}")
    return path


def _film_beside(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".safetensors") + FILM_SUFFIX)


def _fair_tests(path: Path) -> dict[str, str]:
    """The table of `--evaluate --explainers` beside a checkpoint, as a detail of its card.

    {} if there is none, or if it was made with other weights: it names the sha256 of its
    checkpoint.
    """
    beside = _tests_beside(path)
    if not beside.is_file() or beside.stat().st_size > MOST_TESTS_BYTES:
        return {}
    text = beside.read_text("utf-8", errors="replace")
    try:
        parsed = parse(text)
    except ValueError:
        return {}
    tested = parsed.get("sha256") if isinstance(parsed, dict) else None
    return {"explainers": text} if tested == _sha256(path) else {}


def _tests_beside(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".safetensors") + TESTS_SUFFIX)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_seed(details: Mapping[str, str]) -> None:
    """Raise `ValueError` for a seed in `details` that torch cannot draw the twin with."""
    seed = first_seed(details)
    if seed is not None and not 0 <= seed < 2**63:
        raise ValueError(f"its seed must be from 0 to 2**63 - 1, got {short(seed)}")
