"""The service without a page, with small models; for tests of what it answers."""

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from tests.models import photo
from tests.running import save_tiny
from vitviz.web.compute.engine import Local
from vitviz.web.compute.models import Models
from vitviz.web.service.service import Service
from vitviz.web.store.cache import Cache
from vitviz.web.store.store import Upload


def models_of(folder: Path, *names: str) -> Models:
    return Models([str(save_tiny(folder, name)) for name in names])


def desk_of(models: Models, folder: Path) -> Service:
    return Service(Local(models), models, Cache(folder / "cache"))


def encoded(pixels: np.ndarray | None = None, kind: str = "PNG") -> bytes:
    """The photo of all tests, or these pixels, as a file."""
    Image.fromarray(photo() if pixels is None else pixels).save(data := BytesIO(), kind)
    return data.getvalue()


def uploaded(desk: Service, name: str = "my dog.png", data: bytes | None = None) -> Upload:
    return Upload(desk._store.put(encoded() if data is None else data, name), name)
