"""Choices for a comparison with an analysis: its model's twin, another picture, another model.

Transplants take their tokens from the same pictures.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ...languages import in_others
from ...model.key import read_size, size_text
from ...model.photo_levels import AS_IT_IS
from ..compute.models import Menu
from ..store.examples import Example
from ..store.store import Upload
from .replies import Shown

# Prefixes of keys: of a visitor's photos, which only an open viewer knows, and of other sizes.
PHOTO = "photo-"
SIZE = "size-"
ITSELF = "itself"  # key of the picture that is shown, whose clean tokens a transplant puts back


class Choice(NamedTuple):
    """An analysis that can be compared with the one that is shown.

    key    its name in links and questions
    kind   what differs: "untrained" or "trained" (the twin), "example", "size", "model"
    name   the name of the picture or the model, in English, or the size; empty for the twin
    shown  the picture and the model to analyze
    """

    key: str
    kind: str
    name: str
    shown: Shown

    def to_dict(self) -> dict[str, Any]:
        """The choice as JSON for the viewer's manifest; "names" has the name in other languages."""
        name = self.name
        return {"key": self.key, "kind": self.kind, "name": str(name), "names": in_others(name)}


def choices(shown: Shown, examples: Sequence[Example], menu: Menu) -> Iterator[Choice]:
    """All choices beside `shown`; each differs from it in one respect."""
    now, ours = shown._replace(preview=None), shown.model
    kind = "trained" if ours.untrained else "untrained"
    twin = replace(ours, untrained=not ours.untrained)
    yield Choice("untrained", kind, "", now._replace(model=twin))
    apart = [example.upload for example in examples if not example.shown]
    for example in examples:
        fits = example.shown or shown.photo in apart
        if fits and shown.photo != example.upload:
            key = f"example-{Path(example.path).stem}"
            other = now._replace(photo=example.upload, look=AS_IT_IS)
            yield Choice(key, "example", example.name, other)
    for title, name in menu.choices:
        if name != ours.name:
            yield Choice(f"model-{name}", "model", title, now._replace(model=ours.named(name)))


def sizes(shown: Shown, model: Mapping[str, Any]) -> Iterator[Choice]:
    """The sizes of a model in its manifest, without that of its picture."""
    now = model["image"]["height"], model["image"]["width"]
    for size in model["sizes"]:
        if tuple(size["image_size"]) != now:
            text = size_text(size["image_size"])
            yield Choice(f"{SIZE}{text}", "size", text, _at_size(shown, text))


def _at_size(shown: Shown, text: str) -> Shown:
    key = replace(shown.model, image_size=read_size(text))
    return shown._replace(model=key, preview=None)


def picked(wanted: Any, shown: Shown, offered: Iterable[Choice]) -> Shown | None:
    """The picture and model to compare with `shown`. `wanted`: the key of a choice, `ITSELF`, or a
    photo that the visitor sent, {"path", "name"}; None for anything else. Models check sizes.

    Paths are not trusted: the store reads only its own files. Raises `WeightsError` for a text that
    is no size.
    """
    match wanted:
        case str(key) if key == ITSELF:
            return shown._replace(preview=None)
        case str(key) if key.startswith(SIZE):
            return _at_size(shown, key.removeprefix(SIZE))
        case str(key):
            return next((choice.shown for choice in offered if choice.key == key), None)
        case {"path": str(path), "name": str(name)}:
            return shown._replace(photo=Upload.sent(path, name), preview=None, look=AS_IT_IS)
    return None
