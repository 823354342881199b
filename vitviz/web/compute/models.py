"""The menu of models, and the loaded ones: the most recently used, within a limit in bytes."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from ...errors import WeightsError
from ...languages import Message, from_file
from ...model.checkpoints import FORMAT
from ...model.config import ViTConfig
from ...model.json_values import are_texts, parse
from ...model.key import ModelKey
from ...model.labels import are_digits
from ...model.menu import WIDE, is_here, list_heads, name_of, out_of_reach, shipped_file
from ...model.preprocess import MAX_SIDE
from ...model.tensor_file import read_metadata
from ...model.timm_models import terms_of_timm
from ...model.weights import (
    CURATED,
    LOCAL,
    WEIGHTS_DIR,
    LoadedModel,
    is_file,
    list_models,
    load_key,
)
from ...whole import at_home
from ..host import limits
from .turns import Turns

log = logging.getLogger("vitviz.web")


class Menu:
    """The models on the menu: their keys, sources and titles. It loads no weights.

    Visitors choose a key; only the host names files.
    """

    def __init__(self, added: Sequence[str] = (), default: str | None = None) -> None:
        """`added`: the host's own models; `default`: the key of the first model.

        Raises `WeightsError` if there is no model at all, or no model with the key `default`.
        """
        self._sources: dict[str, str] = {}
        self._own = frozenset(added)
        self._on_disk: set[str] = set()  # the keys of the host's files and folders
        for source in added:
            name = _name_of(source)
            key, count = name, 2
            while key in self._sources:
                key, count = f"{name} ({count})", count + 1
            self._sources[key] = source
            if _is_on_disk(source):
                self._on_disk.add(key)
        for name in (*list_models(), *list_heads()):
            self._sources.setdefault(name, name)
        if not self._sources:
            raise WeightsError("there is no model to offer: name one with --model")
        self.default = default or next(iter(self._sources))
        if self.default not in self:
            raise WeightsError(
                Message("web.no_model", name=repr(self.default), names=", ".join(self._sources))
            )

    def lent(self, keep_own: bool = False) -> frozenset[str]:
        """The keys of the models whose weights pages may have; `keep_own`: not the host's own."""
        return frozenset(
            key for key, source in self._sources.items() if not (keep_own and source in self._own)
        )

    @property
    def wide(self) -> str | None:
        """The key of `WIDE`, a small model of 1,000 classes, if its weights are on this disk."""
        return WIDE if WIDE in self and is_here(WIDE) else None

    @property
    def choices(self) -> list[tuple[str, str]]:
        """(title, key) of each model: the host's first, then the shipped ones, then timm's.

        Titles of models that need a network say so while there is none.
        """
        return [
            (Message("models.needs_network", title=title) if key in self._absent else title, key)
            for key, title in self._titles.items()
        ]

    @cached_property
    def _absent(self) -> frozenset[str]:
        return out_of_reach()

    @cached_property
    def _titles(self) -> dict[str, str]:
        titles = {key: self._title(key) for key in self._sources}
        for key, title in titles.items():
            if self._sources[key] != key and [*titles.values()].count(title) > 1:
                titles[key] = Message("models.of_file", title=title, file=key)
        return titles

    def named(self, text: str) -> str:
        """A sentence with the titles of the menu in place of models' names."""
        if not isinstance(text, Message):
            return text

        titles = self._titles

        def called(value: Any, quoted: bool = False) -> Any:
            if isinstance(value, tuple):  # titles have commas of their own
                return tuple(called(item, True) for item in value)
            title = titles.get(value) if isinstance(value, str) else None
            return Message("models.quoted", title=title) if title and quoted else title or value

        return text.with_values(called)

    @property
    def shipped(self) -> dict[str, Path]:
        """The files of the models that are shipped with vitviz, by key."""
        files = {key: WEIGHTS_DIR / f"{key}.safetensors" for key in self._sources}
        return {
            key: file for key, file in files.items() if self._sources[key] == key and file.is_file()
        }

    @cached_property
    def of_digits(self) -> frozenset[str]:
        """The keys of the checkpoints of vitviz whose classes are digits."""
        files = {key: self._file(key) for key in self._sources}
        return frozenset(key for key, file in files.items() if file and _tells_digits(file))

    def _file(self, key: str) -> Path | None:
        """The file of a host's or shipped model; None if it has none."""
        own = Path(self._sources[key])
        return own if own.is_file() else shipped_file(key)

    def _title(self, key: str) -> str:
        if key in CURATED:
            return Message("models.of_timm", title=CURATED[key].title)
        if (file := self._file(key)) is not None:
            return read_title(file) or key
        # The terms are shown before anything is downloaded; the model's page has them in full.
        terms = terms_of_timm(self._sources[key])
        return Message("models.with_terms", name=key, terms=terms) if terms else key

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._sources


class ModelSource(Protocol):
    """A source of models by key: `Models`, or a wrapper of them."""

    def get(self, key: ModelKey) -> LoadedModel: ...

    def named(self, text: str) -> str: ...


class Models(Menu):
    """The menu with its loaded models, in the process of the engine.

    A model is loaded once for all requests that wait for it. Requests for other models do not wait
    meanwhile, but those for its twin and its other sizes do, so that requests for many sizes at
    once do not fill the memory.
    """

    def __init__(
        self,
        added: Sequence[str] = (),
        default: str | None = None,
        device: str | None = None,
        weights: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Load the host's own models at once, so that a mistyped name fails at the start.

        `device`: torch's name of the device. `weights`: further arguments of `load` for some of
        `added`. Raises `WeightsError` if a model cannot be loaded, or the device cannot be used.
        """
        super().__init__(added, default)
        self._device, self._options = device, weights or {}
        self._loaded: OrderedDict[ModelKey, LoadedModel] = OrderedDict()
        self._lock = threading.Lock()
        self._loading = {name: Turns(1, limits.COMPUTING_LINE) for name in self._sources}
        self._configs: dict[str, ViTConfig] = {}  # of models loaded before, in their own size
        self._starting = True  # the host may read paths, visitors may not
        # Any model shows whether the device can be used.
        for name in list(self._sources)[: len(added)] or [self.default] * (device is not None):
            self.get(ModelKey(name))
        self._starting = False

    def get(self, key: ModelKey) -> LoadedModel:
        """The model of a key on the menu; with its own size it is the same model as without a size.

        Raises `WeightsError` if it cannot be loaded, has no such size or is not on the menu, or if
        another request is still loading from the same weights after `LOADING_WAIT_SECONDS`.
        """
        if key.name not in self:
            raise WeightsError(
                Message("web.no_model", name=repr(key.name[:80]), names=", ".join(self._sources))
            )
        if key.image_size is not None:
            key = self._checked(key)
        if (loaded := self._kept(key)) is not None:
            return loaded
        waiting = WeightsError(Message("web.loading", name=key.name))
        with self._loading[key.name].take(limits.LOADING_WAIT_SECONDS, waiting):
            if (loaded := self._kept(key)) is not None:  # another request has loaded it
                return loaded
            loaded = self._load(key)
            self._keep(key, loaded)
            return loaded

    def _kept(self, key: ModelKey) -> LoadedModel | None:
        """The model of a key if it is in memory, and mark it as the most recently used."""
        with self._lock:
            if key in self._loaded:
                self._loaded.move_to_end(key)
            return self._loaded.get(key)

    def _keep(self, key: ModelKey, loaded: LoadedModel) -> None:
        """Keep a model, and drop the least recently used ones until all fit the limit."""
        with self._lock:
            held = sum(model.num_bytes for model in (loaded, *self._loaded.values()))
            self._loaded[key] = loaded
            while held > limits.MODELS_BYTES and len(self._loaded) > 1:
                held -= self._loaded.popitem(last=False)[1].num_bytes

    def _checked(self, key: ModelKey) -> ModelKey:
        """The key of a size, without the size if it is the model's own.

        The size of its patches is known after the model was loaded in its own size. Raises
        `WeightsError` for a size that is not whole patches, or has more than `limits.SIZE_TOKENS`
        tokens.
        """
        if key.name not in self._configs:
            self.get(replace(key, image_size=None))
        own = self._configs[key.name]
        if key.image_size is None or key.image_size == own.image_size:
            return replace(key, image_size=None)
        height, width = key.image_size
        down, across = own.patch_size
        tokens = own.num_prefix_tokens + (height // down) * (width // across)
        whole = height % down == 0 and width % across == 0
        if not whole or tokens > limits.SIZE_TOKENS or max(key.image_size) > MAX_SIDE:
            raise WeightsError(
                Message(
                    "web.image_size",
                    name=key.name,
                    patch=f"{down} x {across}",
                    most=limits.SIZE_TOKENS,
                    side=MAX_SIDE,
                    size=f"{height} x {width}",
                )
            )
        return key

    def _load(self, key: ModelKey) -> LoadedModel:
        """Load a model. Errors about a file of the host do not contain its path, in any form."""
        source, name = self._sources[key.name], key.name
        side = CURATED[name].image_size if name in CURATED else None
        size = key.image_size or (None if side is None else (side, side))
        options = self._options.get(source, {})
        try:
            wanted = replace(key, name=source, image_size=size)
            loaded = load_key(wanted, device=self._device, **options)
        except WeightsError as error:
            gone = not is_file(source) or _tells_place(error.message, source, options)
            if self._starting or name not in self._on_disk or not gone:
                raise
            log.exception("%s cannot be loaded", source)
            raise WeightsError(Message("web.model_gone", name=name)) from error
        if key.image_size is None:
            self._configs[name] = loaded.card.config
        return loaded


def _name_of(source: str) -> str:
    """The name of a host's model on the menu, without its path."""
    return name_of(Path(source.removeprefix(LOCAL))) if _is_on_disk(source) else source


def _is_on_disk(source: str) -> bool:
    """Whether a host's model is a file or a folder, and neither a shipped one nor of a network."""
    if source in (*list_models(), *list_heads()):
        return False
    return is_file(source) or source.startswith(LOCAL)


def _tells_place(text: str, source: str, options: Mapping[str, Any]) -> bool:
    """Whether a sentence names the file of a model, or one among the arguments of `load`; some
    sentences cut a path behind 80 letters.
    """
    more = (value for value in options.values() if isinstance(value, str | Path))
    given = (source.removeprefix(LOCAL), *more)
    paths = {form for one in given for form in (Path(one), at_home(one))}
    return any(len(path.parts) > 1 and str(path)[:80] in text for path in paths)


def read_title(path: Path) -> str | None:
    """The title in the metadata of one of our checkpoints; None if it has none."""
    try:
        parsed = parse(read_metadata(path)[FORMAT])
        return from_file(str(parsed["details"]["title"]), parsed.get("messages")) or None
    except (OSError, KeyError, TypeError, ValueError):
        return None


def _tells_digits(path: Path) -> bool:
    """Whether the classes of one of our checkpoints are digits; False for any other file."""
    try:
        told = parse(read_metadata(path)[FORMAT])
        labels = told["labels"]
        return are_texts(labels) and are_digits(labels, told["preprocess"]["channels"])
    except (OSError, KeyError, TypeError, ValueError):
        return False
