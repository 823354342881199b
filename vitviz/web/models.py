"""The menu of models, and an LRU cache of the loaded ones."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import WeightsError
from ..languages import Message, from_file
from ..model.checkpoints import FORMAT
from ..model.json_values import parse
from ..model.key import ModelKey
from ..model.tensor_file import read_metadata
from ..model.weights import CURATED, WEIGHTS_DIR, LoadedModel, list_models, load_key
from . import limits
from .turns import Turns

LOCAL = "local-dir:"  # of timm: a folder with a model

log = logging.getLogger("vitviz.web")


class Menu:
    """The models on the menu: their keys, sources and titles. It loads no weights.

    Visitors choose a key; only the host names files.
    """

    def __init__(self, added: Sequence[str] = (), default: str | None = None) -> None:
        """`added` are the host's own models; `default` is the key of the one to start with.

        Raises `WeightsError` if there is no model at all, or none of the key `default`.
        """
        self._sources: dict[str, str] = {}
        for source in added:
            name = _name_of(source)
            key, count = name, 2
            while key in self._sources:
                key, count = f"{name} ({count})", count + 1
            self._sources[key] = source
        for name in list_models():
            self._sources.setdefault(name, name)
        if not self._sources:
            raise WeightsError("there is no model to offer: name one with --model")
        self.default = default or next(iter(self._sources))
        if self.default not in self:
            raise WeightsError(
                Message("web.no_model", name=repr(self.default), names=tuple(self._sources))
            )

    @property
    def choices(self) -> list[tuple[str, str]]:
        """(title, key) of each model: the host's first, then the shipped ones, then timm's."""
        return [(self._title(key), key) for key in self._sources]

    def _title(self, key: str) -> str:
        if key in CURATED:
            return Message("models.of_timm", title=CURATED[key].title)
        own, shipped = Path(self._sources[key]), WEIGHTS_DIR / f"{key}.safetensors"
        return read_title(own if own.is_file() else shipped) or key

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._sources


class Models(Menu):
    """The menu with its loaded models, in the process of the engine.

    A model is loaded once for all requests that wait for it, and requests for other models do not
    wait meanwhile.
    """

    def __init__(
        self, added: Sequence[str] = (), default: str | None = None, device: str | None = None
    ) -> None:
        """Load the host's own models at once, so that a mistyped name fails at the start.

        `device`: where they run, as torch names it. Raises `WeightsError` if one of them cannot be
        loaded, or the device cannot be used.
        """
        super().__init__(added, default)
        self._device = device
        self._loaded: OrderedDict[ModelKey, LoadedModel] = OrderedDict()
        self._lock = threading.Lock()
        self._loading: dict[ModelKey, Turns] = {}
        self._starting = True  # the host may read paths, visitors may not
        # Any model shows whether the device can be used.
        for name in list(self._sources)[: len(added)] or [self.default] * (device is not None):
            self.get(ModelKey(name))
        self._starting = False

    def get(self, key: ModelKey) -> LoadedModel:
        """The model of a key, whose name is one of the menu.

        Raises `WeightsError` if it cannot be loaded or is not on the menu, or if another request is
        still loading it after `LOADING_WAIT_SECONDS`.
        """
        if key.name not in self:
            raise WeightsError(
                Message("web.no_model", name=repr(key.name[:80]), names=tuple(self._sources))
            )
        with self._lock:
            if key in self._loaded:
                self._loaded.move_to_end(key)
                return self._loaded[key]
            loading = self._loading.setdefault(key, Turns(1, limits.LINE))
        waiting = WeightsError(Message("web.loading", name=key.name))
        with loading.take(limits.LOADING_WAIT_SECONDS, waiting):
            with self._lock:
                if key in self._loaded:  # another request has loaded it
                    return self._loaded[key]
            loaded = self._load(key)
            with self._lock:
                self._loaded[key] = loaded
                while len(self._loaded) > limits.MODELS_KEPT:
                    self._loaded.popitem(last=False)
            return loaded

    def _load(self, key: ModelKey) -> LoadedModel:
        """Load a model. A sentence about a file of the host's does not name its path."""
        source, name = self._sources[key.name], key.name
        size = key.image_size or (CURATED[name].image_size if name in CURATED else None)
        try:
            return load_key(replace(key, name=source, image_size=size), device=self._device)
        except WeightsError as error:
            if self._starting or source == name or source not in error.message:
                raise
            log.exception("%s cannot be loaded", source)
            raise WeightsError(Message("web.model_gone", name=name)) from error


def _name_of(source: str) -> str:
    """The name of a host's model on the menu, which shows no path."""
    if source.startswith(LOCAL):
        return Path(source.removeprefix(LOCAL)).name
    return Path(source).stem if Path(source).is_file() else source


def read_title(path: Path) -> str | None:
    """The title in the metadata of one of our checkpoints; None if it has none."""
    try:
        told = parse(read_metadata(path)[FORMAT])
        return from_file(str(told["details"]["title"]), told.get("messages")) or None
    except (OSError, KeyError, TypeError, ValueError):
        return None
