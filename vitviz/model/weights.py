"""`load`: turn a name, a file, a folder, a timm name or a hub id into a model."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from ..errors import WeightsError
from ..languages import Message
from . import hub
from .checkpoints import CHECKPOINT_SUFFIXES, load_own, save_checkpoint
from .json_values import short
from .key import ModelKey
from .labels import Labels
from .loaded import LoadedModel, LoadOptions, ModelCard, customized
from .menu import CURATED, DEFAULT_MODEL, WEIGHTS_DIR, list_models, name_of
from .preprocess import Preprocess, as_preprocess
from .resize import resized
from .state_dicts import read_any, unwrapped
from .timm_models import HUB_IDS, from_timm, guess_arch, load_state, load_timm, why_not
from .torchvision_models import from_torchvision
from .transformers_files import CONFIG, WEIGHTS, load_transformers, read_object
from .untrained import twin

__all__ = [
    "CURATED",
    "DEFAULT_MODEL",
    "LOCAL",
    "WEIGHTS_DIR",
    "LoadedModel",
    "ModelCard",
    "from_timm",
    "is_file",
    "list_models",
    "load",
    "load_key",
    "save_checkpoint",
]


HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?", re.ASCII)
LOCAL = "local-dir:"


def load(
    source: str | Path = DEFAULT_MODEL,
    *,
    arch: str | None = None,
    labels: Labels = None,
    preprocess: Preprocess | Mapping[str, Any] | None = None,
    key: str | None = None,
    pretrained: bool = True,
    image_size: int | tuple[int, int] | None = None,
    device: str | torch.device | None = None,
) -> LoadedModel:
    """A model by name or path, in eval mode, frozen, on the GPU if there is one.

    `source` is a shipped model ("photos", "mnist"); a checkpoint file made by vitviz, one of
    torchvision's ViTs, or with `arch` a state dict of timm's; a folder of Hugging Face transformers
    or a file in it; any timm name; or `owner/name` of the Hugging Face hub, `hf-hub:owner/name` and
    `local-dir:folder`.

    `arch` is timm's name of the architecture, such as "vit_small_patch16_224", for a file that does
    not say; `key` is the beginning of the parameter names, for a file that holds several models.
    `labels` are the names of the classes, or "imagenet"; `preprocess` is a `Preprocess` or its
    fields. Both replace those of the model.

    `pretrained=False` gives the untrained twin, always the same one. The twin of a vitviz
    checkpoint has exactly the random weights that its training began with; where the training went
    on from a run of another config, they are drawn for the checkpoint's own config. The twin of any
    other model has weights of a fixed seed. Nothing is downloaded, but for the weights of a model
    of transformers, which tell its sizes. Torch's random state is not touched.

    `image_size` (pixels, height before width) is the size of the input pictures. The patch size
    stays; positions are resampled to the new grid (`resize.py`). Positions of the twin are drawn at
    the model's own size and resampled too, so the twin shows what resampling alone does to them.

    Raises `WeightsError`, whose sentence says what is missing, damaged or not supported.
    """
    options = LoadOptions(
        arch=arch,
        key=key,
        labels=labels,
        preprocess=as_preprocess(preprocess),
        pretrained=pretrained,
        image_size=image_size,
    )
    loaded = _opened(source, options)
    if not pretrained and loaded.card.trained:
        loaded = twin(loaded)
    if image_size is not None:
        loaded = resized(loaded, image_size)
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        loaded.vit.to(device)
    except (RuntimeError, AssertionError) as error:  # torch's own types for "not here"
        reason = str(error).splitlines()[0]
        raise WeightsError(f"the device {str(device)!r} cannot be used: {reason}") from error
    return loaded


def load_key(
    key: ModelKey, /, *, device: str | torch.device | None = None, **options: Any
) -> LoadedModel:
    """Load the model of a key; `options` are those of `load`."""
    size = key.image_size
    return load(key.name, pretrained=not key.untrained, image_size=size, device=device, **options)


def is_file(source: str) -> bool:
    """Whether `load` reads the model of this name from the disk, not from timm or the hub."""
    if source in list_models() or source.endswith(CHECKPOINT_SUFFIXES):
        return source not in CURATED
    return _is(Path.is_file, Path(source.removeprefix(LOCAL)) / CONFIG)


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    """`kind(path)`, such as `path.is_file()`; False for a name that no disk can hold."""
    try:
        return kind(path)
    except (OSError, ValueError):
        return False


def _opened(source: str | Path, options: LoadOptions) -> LoadedModel:
    """Find the model of a source and load it with its options, at its own size."""
    name = str(source)
    path = Path(name.removeprefix(LOCAL))
    shipped = name in list_models() and name not in CURATED
    on_disk = not shipped and (isinstance(source, Path) or is_file(name))
    is_folder = on_disk and _is(Path.is_dir, path)
    loaded = None
    if shipped:
        loaded = load_own(WEIGHTS_DIR / f"{name}.safetensors", name)
    elif on_disk and not is_folder:
        if not _is(Path.is_file, path):
            raise WeightsError(f"there is no checkpoint file {path}")
        if (loaded := load_own(path, name_of(path))) is None:
            return _of_others(path, options)
    if options.arch or options.key:
        raise WeightsError(
            f"arch and key are of a file that holds weights alone, and {short(name)} is none"
        )
    if loaded:
        return customized(loaded, options)
    if is_folder:
        return _of_folder(path, options)
    if name.startswith(HUB_IDS) or HUB_ID.fullmatch(name):
        return _of_hub(name, options)
    return customized(load_timm(name, options.pretrained), options)


def _of_folder(folder: Path, options: LoadOptions, weights: Path | None = None) -> LoadedModel:
    """The model in a folder with a config.json, in transformers' format or timm's."""
    config = read_object(folder / CONFIG) if (folder / CONFIG).is_file() else {}

    def find(file: str) -> Path | None:
        return path if (path := folder / file).is_file() else None  # links are followed

    if "model_type" in config:
        return load_transformers(find, name_of(weights or folder), options, weights)
    if "architecture" in config:
        return customized(load_timm(f"{LOCAL}{folder}", options.pretrained), options)
    raise WeightsError(
        f"the folder {folder} has no {CONFIG} of transformers or of timm; name a file in it"
    )


def _of_others(path: Path, options: LoadOptions) -> LoadedModel:
    """The model in a file that vitviz did not write."""
    beside = path.with_name(CONFIG)
    config = read_object(beside) if options.arch is None and beside.is_file() else {}
    if "model_type" in config:
        return _of_folder(path.parent, options, path)
    state = unwrapped(read_any(path), path.name, options.key)
    if "conv_proj.weight" in state:
        return customized(from_torchvision(state, path, name_of(path)), options)
    arch = f"{LOCAL}{path.parent}" if "architecture" in config else options.arch
    if arch is None:
        raise WeightsError(
            f"{path.name} holds {len(state)} tensors but does not say which model they belong to: "
            f'load it with arch="{guess_arch(state)}", timm\'s name of its architecture '
            f"(--arch on the command line), or put the {CONFIG} of its model beside it"
        )
    source = Message("models.of_timm_file", file=path.name)
    return customized(load_state(state, arch, name_of(path), source, path.name), options)


def _of_hub(name: str, options: LoadOptions) -> LoadedModel:
    """A model of the Hugging Face hub, in transformers' format or timm's."""
    model_id = name.partition(":")[2] if name.startswith(HUB_IDS) else name
    if not model_id.startswith("timm/"):
        try:
            files = hub.Repository(model_id)
            config = files.find(CONFIG)
            if config is not None and "model_type" in read_object(config):
                if not files.online:
                    hub.cached(model_id, *WEIGHTS, *(f"{name}.index.json" for name in WEIGHTS))
                return load_transformers(files.find, model_id, options)
        except WeightsError:
            raise
        except Exception as error:  # the hub's client and the network raise many types
            raise WeightsError(why_not(name, options.pretrained, error)) from error
    return customized(load_timm(f"{HUB_IDS[0]}{model_id}", options.pretrained), options)
