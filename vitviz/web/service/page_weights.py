"""Weights for pages: files of models that the engine of a page runs, made when one is wanted."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Collection
from typing import NamedTuple

from ...errors import VitvizError
from ...languages import Message
from ...model.key import ModelKey
from ..compute.engine import Engine
from ..compute.executor import WEIGHTS
from ..compute.jobs import WeightsJob
from ..compute.turns import Turns
from ..host import limits


class WeightsFile(NamedTuple):
    """A `.safetensors` file, and a tag that changes with its bytes."""

    data: bytes
    tag: str


class PageWeights:
    """The files of the models with the names `lent`. Those that were wanted last stay in memory, at
    most `limits.WEIGHTS_BYTES`.
    """

    def __init__(self, engine: Engine, lent: Collection[str]) -> None:
        self._engine, self._lent = engine, lent
        self._kept: OrderedDict[ModelKey, WeightsFile] = OrderedDict()
        self._lock = threading.Lock()
        self._making = Turns(1, limits.OPERATING_LINE)

    def get(self, key: ModelKey) -> WeightsFile:
        """The file of a model. Raises `VitvizError` for a model that is not lent or that the engine
        of a page does not run, or if too many others wait.
        """
        if key.name not in self._lent:
            raise VitvizError(Message("web.not_here"))
        if (kept := self._of(key)) is not None:
            return kept
        busy = VitvizError(Message("web.busy"))
        with self._making.take(limits.LOADING_WAIT_SECONDS, busy):
            if (kept := self._of(key)) is not None:  # another request has made it
                return kept
            result = self._engine.run(WeightsJob(model=key))
            if result.refused:
                raise VitvizError(result.refused.text)
            data = result.files[WEIGHTS]
            file = WeightsFile(data, f'"{hashlib.sha256(data).hexdigest()[:32]}"')
            self._keep(key, file)
            return file

    def _of(self, key: ModelKey) -> WeightsFile | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: ModelKey, file: WeightsFile) -> None:
        with self._lock:
            self._kept[key] = file
            while sum(len(one.data) for one in self._kept.values()) > limits.WEIGHTS_BYTES:
                if len(self._kept) == 1:
                    return  # at most one file is larger than the limit
                self._kept.popitem(last=False)
