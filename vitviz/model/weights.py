"""`load`: turn a name, a file, a folder, a timm name or a hub id into a model."""

import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ..errors import WeightsError
from ..languages import Message
from ..whole import at_home, is_there
from . import hub
from .checkpoints import CHECKPOINT_SUFFIXES, load_own, save_checkpoint
from .foreign import check_has_weights, files_in
from .head import Pool, with_head_of
from .json_values import short
from .key import ModelKey
from .labels import Labels
from .loaded import Library, LoadedModel, LoadOptions, ModelCard, Resampling, customized
from .menu import (
    CURATED,
    DEFAULT_MODEL,
    FILM_SUFFIX,
    WEIGHTS_DIR,
    list_models,
    name_of,
    shipped_file,
)
from .outputs import Outputs, outputs_in
from .precision import to_precision
from .preprocess import Preprocess, as_preprocess
from .resize import resized
from .state_dicts import read_any, unwrapped
from .timm_files import OWN_SIZES, guess_arch, load_state
from .timm_models import HUB_IDS, from_timm, load_timm, why_not
from .torchvision_models import from_torchvision
from .transformers_files import (
    ADAPTER_CONFIG,
    CONFIG,
    WEIGHTS,
    Find,
    check_is_no_adapter,
    from_transformers,
    load_transformers,
    read_object,
    read_weights,
)
from .untrained import twin
from .vit_pytorch_files import from_vit_pytorch

__all__ = [
    "CURATED",
    "DEFAULT_MODEL",
    "LOCAL",
    "WEIGHTS_DIR",
    "LoadedModel",
    "ModelCard",
    "from_timm",
    "from_transformers",
    "is_file",
    "list_models",
    "load",
    "load_key",
    "save_checkpoint",
]


HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?", re.ASCII)
log = logging.getLogger("vitviz.load")
_said: set[tuple[str, str]] = set()  # a source and a sentence about it, each in the log already
LOCAL = "local-dir:"
TIMM_WRAPPER = "timm_wrapper"  # the model_type of a timm model that transformers has saved
MARKS = (CONFIG, ADAPTER_CONFIG)  # a folder with one of these files is one of a model


def load(
    source: str | Path = DEFAULT_MODEL,
    *,
    arch: str | None = None,
    labels: Labels = None,
    preprocess: Preprocess | Mapping[str, Any] | None = None,
    key: str | None = None,
    without: str | Sequence[str] | None = None,
    positions_like: Library | None = None,
    outputs: Outputs | None = None,
    head_file: str | Path | None = None,
    head_pool: Pool | None = None,
    pretrained: bool = True,
    image_size: int | tuple[int, int] | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
) -> LoadedModel:
    """A model by name or path, in eval mode, frozen, on the GPU if there is one.

    `source` is a shipped model ("photos", "mnist"); a checkpoint file made by vitviz, one of
    torchvision's ViTs, or with `arch` a state dict of timm's; a folder of Hugging Face transformers
    or a file in it; any timm name; or `owner/name` of the Hugging Face hub, `hf-hub:owner/name` and
    `local-dir:folder`.

    `arch` is timm's name of the architecture, such as "vit_small_patch16_224", for a file that does
    not say; `key` is the beginning of the parameter names, for a file that holds several models;
    `without` are beginnings of the names of parts to leave out, such as "decoder".
    `labels` are the names of the classes, a file of them or "imagenet"; `preprocess` is a
    `Preprocess` or its fields. Both replace those of the model. `outputs` says what the outputs
    mean: "one_of" (one class is true), "any_of" (several can be), "score" (one logit, whose sigmoid
    is a probability) or "value" (numbers, as of a regression); the default is what the files say,
    else a score of one output and one class of several.

    `head_file` holds the weight and bias of a linear head of your own (`read_head`), which reads
    what `head_pool` says; `labels` and `outputs` are then those of this head (`with_head`).

    `pretrained=False` gives the untrained twin, always the same one. The twin of a vitviz
    checkpoint has exactly the random weights that its training began with; where the training went
    on from a run of another config, they are drawn for the checkpoint's own config. The twin of any
    other model has weights of a fixed seed. Nothing is downloaded, but for the weights of a model
    of transformers, which tell its sizes. Torch's random state is not touched.

    `image_size` (pixels, height before width) is the size of the input pictures. The patch size
    stays; positions are resampled to the new grid as the library does it that the model comes from,
    or the one of `positions_like`, "timm" or "transformers" (`Resampling`). Positions of the twin
    are drawn at the model's own size and resampled too, so the twin shows what resampling alone
    does to them.

    `dtype` "half" or "bfloat16" keeps the weights and computes in 16 bits, on a GPU alone; numbers
    of a trace are float32 all the same, with the few digits that such a pass has. Gradients of
    "half" may underflow to 0; "bfloat16" has the range of float32, and three digits.

    What the files do not say is assumed, and logged as a warning, once for each source:
    `card.assumed`; `print(loaded)` says in one line what was understood.

    Raises `WeightsError`, whose sentence says what is missing, damaged or not supported.
    """
    if not isinstance(source, str | os.PathLike):
        raise WeightsError(
            f"load takes a name or a path, got {type(source).__name__}; vitviz.from_timm(model) "
            "and vitviz.from_transformers(model) take a model object"
        )
    if head_pool is not None and head_file is None:
        raise WeightsError("head_pool is of a head_file, and none is given")
    of_head = head_file is not None
    options = LoadOptions(
        arch=arch,
        key=key,
        labels=None if of_head else labels,
        preprocess=as_preprocess(preprocess),
        pretrained=pretrained,
        image_size=image_size,
        positions_like=positions_like,
        outputs=None if of_head else outputs,
        without=_parts(without),
    )
    loaded = _opened(source, options)
    if positions_like is not None and positions_like != loaded.resampling.like:
        loaded = replace(loaded, resampling=Resampling.of(positions_like))
    if head_file is not None:
        loaded = with_head_of(loaded, head_file, labels, head_pool, outputs)
    if not pretrained and (loaded.card.trained or of_head):
        loaded = twin(loaded)
    if image_size is not None:
        loaded = resized(loaded, image_size)
    _say_assumed(str(source), loaded.card)
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        to_precision(loaded.vit, dtype, device)
        with torch.inference_mode(False):
            loaded.vit.to(device)
    except (RuntimeError, AssertionError) as error:  # torch's own types for "not here"
        reason = str(error).splitlines()[0]
        raise WeightsError(f"the device {str(device)!r} cannot be used: {reason}") from error
    return loaded


def _parts(without: str | Sequence[str] | None) -> tuple[str, ...]:
    """The beginnings of names that are left out. An empty one would be that of every name."""
    parts = without.split(",") if isinstance(without, str) else without or ()
    return tuple(part for part in parts if part)


def _say_assumed(source: str, card: ModelCard) -> None:
    """Log what was assumed of a source, but no sentence again: a server loads its twin and sizes,
    and a notebook the same file in every run of a cell.
    """
    new = [text for text in card.assumed if (source, text) not in _said]
    if new:
        log.warning("%s: assumed: %s", card.name, "; ".join(new))
        _said.update((source, text) for text in new)


def load_key(
    key: ModelKey, /, *, device: str | torch.device | None = None, **options: Any
) -> LoadedModel:
    """Load the model of a key; `options` are those of `load`."""
    size = key.image_size
    return load(key.name, pretrained=not key.untrained, image_size=size, device=device, **options)


def is_file(source: str) -> bool:
    """Whether `load` reads the model of this name from the disk, not from timm or the hub."""
    if source in CURATED or shipped_file(source):
        return source not in CURATED
    return _path_of(source) is not None


def _path_of(source: str) -> Path | None:
    """The file or folder that a source names; None if it is a name of timm or of the hub."""
    try:
        path = Path(source.removeprefix(LOCAL)).expanduser()
    except RuntimeError:  # a home that is not known
        return None
    if source.endswith(CHECKPOINT_SUFFIXES):
        return path
    if is_there(path, Path.is_dir):
        try:
            files = [file.name for file in path.iterdir()]
        except OSError:  # `load` says why
            return path
        return (
            path
            if any(name in MARKS or name.endswith(CHECKPOINT_SUFFIXES) for name in files)
            else None
        )
    return path if path.suffix and is_there(path, Path.is_file) else None


def _opened(source: str | Path, options: LoadOptions) -> LoadedModel:
    """Find the model of a source and load it with its options, at its own size."""
    name = str(source)
    shipped = shipped_file(name)
    path = None if shipped else _path_of(name)
    if path is None and isinstance(source, Path):
        path = at_home(source)
    loaded = None
    if shipped:
        loaded = load_own(shipped, name)
    elif path is not None and is_there(path, Path.is_dir):
        return _of_folder(path, options)
    elif path is not None:
        if not is_there(path, Path.is_file):
            raise WeightsError(f"there is no checkpoint file {path}")
        if (loaded := load_own(path, name_of(path))) is None:
            return _of_others(path, options)
    if loaded:
        return _of_vitviz(loaded, name, options)
    of_hub = name.startswith(HUB_IDS) or HUB_ID.fullmatch(name)
    if options.arch or ((options.key or options.without) and not of_hub):
        raise _no_bare_weights(name)
    if of_hub:
        return _of_hub(name, options)
    return customized(load_timm(name, options.pretrained), options)


def _of_vitviz(loaded: LoadedModel, name: str, options: LoadOptions) -> LoadedModel:
    if options.arch or options.key or options.without:
        raise _no_bare_weights(name)
    return customized(loaded, options)


def _no_bare_weights(name: str) -> WeightsError:
    return WeightsError(
        f"arch, key and without are of a file that holds weights alone, and {short(name)} is none"
    )


def _of_folder(folder: Path, options: LoadOptions, weights: Path | None = None) -> LoadedModel:
    """The model in a folder, which its config.json describes, or in the only file of weights."""
    config = read_object(folder / CONFIG) if is_there(folder / CONFIG, Path.is_file) else {}

    def find(file: str) -> Path | None:
        return path if is_there(path := folder / file, Path.is_file) else None  # links are followed

    if weights is None and "model_type" not in config:
        check_is_no_adapter(find, str(folder))
    name = name_of(weights or folder)
    if weights is None:
        check_has_weights(folder)
    if options.arch is None and _of_transformers(config):
        return load_transformers(find, name, options, weights)
    if options.arch is None and "architecture" in config:
        weights = weights or _only_weights(folder)
        return _of_timm_folder(folder, find, name, options, weights)
    files = _weights_in(folder)
    if len(files) == 1:
        loaded = load_own(files[0], name)
        return _of_vitviz(loaded, name, options) if loaded else _of_others(files[0], options)
    such = f", such as {files[0].name}" if files else ""
    raise WeightsError(
        f"the folder {folder} has no {CONFIG} of transformers or of timm; name a file in it{such}"
    )


def _weights_in(folder: Path) -> list[Path]:
    """The files in a folder that may hold the weights of a model; a film is none."""
    files = [path for path in files_in(folder) if path.name.endswith(CHECKPOINT_SUFFIXES)]
    return [path for path in files if not path.name.endswith(FILM_SUFFIX)]


def _only_weights(folder: Path) -> Path | None:
    """The only file of weights in a folder; None if there are none or several, or if it has a
    standard name (`WEIGHTS`), which `read_weights` finds by itself.
    """
    files = _weights_in(folder)
    return files[0] if len(files) == 1 and files[0].name not in WEIGHTS else None


def _of_transformers(config: Mapping[str, Any]) -> bool:
    return "model_type" in config and config["model_type"] != TIMM_WRAPPER


def _of_timm_folder(
    folder: Path, find: Find, name: str, options: LoadOptions, weights: Path | None = None
) -> LoadedModel:
    """A model of timm whose config.json lies in a folder: one of timm, or of transformers around
    timm (`TIMM_WRAPPER`).
    """
    config = read_object(folder / CONFIG)
    if not options.pretrained and "model_type" not in config:
        return _meaning(load_timm(f"{LOCAL}{folder}", pretrained=False), config, options)
    try:
        state = read_weights(find, weights)
    except WeightsError as error:
        raise WeightsError(f"{name} cannot be loaded: {error}") from error
    file = name if weights is None else weights.name
    state = unwrapped(state, file, options.key, options.without)
    source = Message("models.of_timm_file", file=file)
    if weights is None:
        source = Message("models.pretrained")
    loaded = load_state(state, config, name, source, file, options.image_size)
    return _meaning(loaded, config, options)


def _meaning(loaded: LoadedModel, config: Mapping[str, Any], options: LoadOptions) -> LoadedModel:
    """`customized`, with the meaning of outputs that a config.json states if the options do not."""
    stated = options.outputs or outputs_in(config, loaded.card.config.num_classes)
    return customized(loaded, replace(options, outputs=stated))


def _of_others(path: Path, options: LoadOptions) -> LoadedModel:
    """The model in a file that vitviz did not write."""
    beside = path.with_name(CONFIG)
    config = read_object(beside) if options.arch is None and beside.is_file() else {}

    def find(file: str) -> Path | None:
        return found if (found := path.with_name(file)).is_file() else None

    if path.name.startswith("adapter_model."):
        check_is_no_adapter(find, path.name)
    if _of_transformers(config):
        return load_transformers(find, name_of(path), options, path)
    if "architecture" in config:
        return _of_timm_folder(path.parent, find, name_of(path), options, path)
    state = unwrapped(read_any(path), path.name, options.key, options.without)
    if "conv_proj.weight" in state:
        return customized(from_torchvision(state, path, name_of(path)), options)
    if any(name.startswith("to_patch_embedding.") for name in state):
        return customized(from_vit_pytorch(state, path, name_of(path), options.image_size), options)
    if any("embeddings.patch_embedding" in name for name in state):
        raise WeightsError(
            f"{path.name} holds weights under the names of Hugging Face transformers, whose sizes "
            f"are in a {CONFIG}: put that of its model beside it, or name the folder of both"
        )
    if options.arch is None:
        hint = guess_arch(state)
        way = (
            f'load it with arch="{hint}", timm\'s name of its architecture (--arch on the command '
            f"line), or put the {CONFIG} of its model beside it"
        )
        if hint is not None and "_clip_" in hint:
            quick = hint.replace("_clip_", "_clip_quickgelu_")
            way += f". The weights of OpenAI itself are of {quick}, which has another activation"
        if hint is None:
            way = f"load it with arch=NAME, timm's name of its architecture; if it is {OWN_SIZES}"
        raise WeightsError(
            f"{path.name} holds {len(state)} tensors but does not say which model they belong to: "
            f"{way}"
        )
    source = Message("models.of_timm_file", file=path.name)
    arch, name = options.arch, name_of(path)
    return customized(load_state(state, arch, name, source, path.name, options.image_size), options)


def _of_hub(name: str, options: LoadOptions) -> LoadedModel:
    """A model of the Hugging Face hub, in transformers' format or timm's."""
    model_id = name.partition(":")[2] if name.startswith(HUB_IDS) else name
    config: dict[str, Any] = {}
    if not model_id.startswith("timm/"):
        try:
            files = hub.Repository(model_id)
            path = files.find(CONFIG)
            if path is None:
                check_is_no_adapter(files.find, model_id)
                raise WeightsError(Message("models.hub_no_config", name=model_id))
            config = read_object(path)
            if "model_type" in config and not files.online:
                hub.cached(model_id, *WEIGHTS, *(f"{name}.index.json" for name in WEIGHTS))
            if _of_transformers(config):
                return load_transformers(files.find, model_id, options)
            if "model_type" in config:
                return _of_timm_folder(path.parent, files.find, model_id, options)
            if "architecture" not in config:
                raise WeightsError(Message("models.hub_other_config", name=model_id))
        except WeightsError:
            raise
        except Exception as error:  # the hub's client and the network raise many types
            raise WeightsError(why_not(name, options.pretrained, error)) from error
    if options.key or options.without:
        raise WeightsError(
            f"key and without are of a file that holds weights alone, and {short(name)} is none"
        )
    return _meaning(load_timm(f"{HUB_IDS[0]}{model_id}", options.pretrained), config, options)
