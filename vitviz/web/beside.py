"""The comparisons offered for an analysis: its model's twin, another picture, another model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..languages import in_others
from .examples import Example
from .models import Menu
from .replies import Shown


class Choice(NamedTuple):
    """One analysis that can stand beside the one that is shown.

    key    its name in links and questions
    kind   what differs: "untrained" or "trained" (the twin), "example", "model"
    name   the name of the picture or the model, in English; empty for the twin
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
    """All choices for what is shown; each differs from it in one thing."""
    now = shown._replace(preview=None)
    kind = "trained" if shown.untrained else "untrained"
    yield Choice("untrained", kind, "", now._replace(untrained=not shown.untrained))
    for example in examples:
        if shown.photo != example.upload:
            key = f"example-{Path(example.path).stem}"
            other = now._replace(photo=example.upload, inverted=False)
            yield Choice(key, "example", example.name, other)
    for title, model in menu.choices:
        if model != shown.model:
            yield Choice(f"model-{model}", "model", title, now._replace(model=model))
