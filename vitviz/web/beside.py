"""What can be put beside an analysis: the twin of its model, another picture, another model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..languages import in_others
from .examples import Example
from .models import Menu
from .replies import Shown


class Choice(NamedTuple):
    """One of them.

    key    its name in links and questions
    kind   "untrained" or "trained" (the twin), "example", "model": what differs
    name   of the picture or the model, in English
    shown  what it is
    """

    key: str
    kind: str
    name: str
    shown: Shown

    def to_dict(self) -> dict[str, Any]:
        """For the viewer's manifest: `names` are the name in other languages."""
        name = self.name
        return {"key": self.key, "kind": self.kind, "name": str(name), "names": in_others(name)}


def choices(shown: Shown, examples: Sequence[Example], menu: Menu) -> Iterator[Choice]:
    """All that can stand beside what is shown; each differs from it in one thing."""
    now = shown._replace(preview=None)
    kind = "trained" if shown.untrained else "untrained"
    yield Choice("untrained", kind, "", now._replace(untrained=not shown.untrained))
    for example in examples:
        if shown.photo != example.upload:
            key = f"example-{Path(example.path).stem}"
            yield Choice(key, "example", example.name, now._replace(photo=example.upload))
    for title, model in menu.choices:
        if model != shown.model:
            yield Choice(f"model-{model}", "model", title, now._replace(model=model))
