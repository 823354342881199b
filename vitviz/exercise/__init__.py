"""The exercise: a Vision Transformer with nine gaps, and a check that it is the one of vitviz.

my_vit.py     the solution: all gaps filled in
writing.py    writes the file and the notebook with gaps, in a language
gaps.py       calls the code at each gap, and has common mistakes
checking.py   checks each gap on its own, then the whole, with the shipped weights
opening.py    opens a ViT of the exercise that somebody trained
training.py   trains one with the digits that come along, and opens it before and after
command.py    `vitviz exercise`
"""

from importlib import import_module
from typing import Any

from .writing import write_exercise

__all__ = ["DIGIT", "Report", "check", "open_vit", "train_with_digits", "write_exercise"]

# Modules of the names that need torch: imported at first use, for writing the exercise needs none.
_ROOMS = {
    "DIGIT": "training",
    "Report": "checking",
    "check": "checking",
    "open_vit": "opening",
    "train_with_digits": "training",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_ROOMS[name]}", __name__), name)
