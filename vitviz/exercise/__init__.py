"""The exercise: a Vision Transformer with seven gaps, and a check that it is the one of vitviz.

my_vit.py     the solution: all gaps filled in
writing.py    writes the file and the notebook with gaps, in a language
gaps.py       calls the code at each gap, and has common mistakes
checking.py   checks each gap on its own, then the whole, with the shipped weights
opening.py    opens a ViT of the exercise that somebody trained
command.py    `vitviz exercise`
"""

from typing import Any

from .writing import write_exercise

__all__ = ["Report", "check", "open_vit", "write_exercise"]


def __getattr__(name: str) -> Any:
    """Import the names that need torch when they are used: writing the exercise needs none."""
    if name in ("Report", "check"):
        from . import checking

        return getattr(checking, name)
    if name == "open_vit":
        from .opening import open_vit

        return open_vit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
