"""The menu of models a visitor may choose from, and the few of them that are kept in memory."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from ..errors import WeightsError
from ..languages import Message, from_file
from ..model.checkpoints import FORMAT
from ..model.json_values import parse
from ..model.tensor_file import read_metadata
from ..model.weights import CURATED, WEIGHTS_DIR, LoadedModel, list_models, load
from . import limits
from .turns import Turns


class Menu:
    """What a visitor may choose: keys, and what stands behind them. Nothing is loaded.

    Visitors see keys and titles; only the host names files.
    """

    def __init__(self, added: Sequence[str] = ()) -> None:
        """`added` are the host's own. Raises `WeightsError` if there is no model at all."""
        self._sources: dict[str, str] = {}
        for source in added:
            name = Path(source).stem if Path(source).is_file() else source
            key, count = name, 2
            while key in self._sources:
                key, count = f"{name} ({count})", count + 1
            self._sources[key] = source
        for name in list_models():
            self._sources.setdefault(name, name)
        if not self._sources:
            raise WeightsError("there is no model to offer: name one with --model")

    @property
    def choices(self) -> list[tuple[str, str]]:
        """(what the menu shows, key), the host's models first, then shipped ones, then timm's."""
        return [(self._title(key), key) for key in self._sources]

    def _title(self, key: str) -> str:
        if key in CURATED:
            return Message("models.of_timm", title=CURATED[key].title)
        own, shipped = Path(self._sources[key]), WEIGHTS_DIR / f"{key}.safetensors"
        return read_title(own if own.is_file() else shipped) or key

    @property
    def default(self) -> str:
        return next(iter(self._sources))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._sources


class Models(Menu):
    """Keys of the menu -> loaded models; they stand where the engine computes.

    Loading is done once for all who wait for the same model, and does not hold up those who use
    another one.
    """

    def __init__(self, added: Sequence[str] = ()) -> None:
        """The host's own are loaded now: a typing error ends the start, not a visit.

        Raises `WeightsError` if one of them cannot be loaded.
        """
        super().__init__(added)
        self._loaded: OrderedDict[tuple[str, bool], LoadedModel] = OrderedDict()
        self._lock = threading.Lock()
        self._loading: dict[tuple[str, bool], Turns] = {}
        for key in list(self._sources)[: len(added)]:
            self.get(key)

    def get(self, key: str, untrained: bool = False) -> LoadedModel:
        """The model behind a key, or its untrained twin.

        Raises `WeightsError`, also for what is not on the menu, and for what somebody else has been
        waiting for too long.
        """
        if key not in self:
            raise WeightsError(
                Message("web.no_model", name=repr(str(key)[:80]), names=tuple(self._sources))
            )
        wanted = key, untrained
        with self._lock:
            if wanted in self._loaded:
                self._loaded.move_to_end(wanted)
                return self._loaded[wanted]
            loading = self._loading.setdefault(wanted, Turns(1, limits.LINE))
        waiting = WeightsError(Message("web.loading", name=key))
        with loading.take(limits.LOADING_WAIT_SECONDS, waiting):
            with self._lock:
                if wanted in self._loaded:  # another visitor was faster
                    return self._loaded[wanted]
            size = CURATED[key].image_size if key in CURATED else None
            loaded = load(self._sources[key], pretrained=not untrained, image_size=size)
            with self._lock:
                self._loaded[wanted] = loaded
                while len(self._loaded) > limits.MODELS_KEPT:
                    self._loaded.popitem(last=False)
            return loaded


def read_title(path: Path) -> str | None:
    """What a checkpoint of ours is called, from its metadata alone; None if it does not say."""
    try:
        told = parse(read_metadata(path)[FORMAT])
        return from_file(str(told["details"]["title"]), told.get("messages")) or None
    except (OSError, KeyError, TypeError, ValueError):
        return None
