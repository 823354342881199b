"""Names of classes and groups in other languages, for the checkpoint that answers with them.

`python -m vitviz.train.names weights/photos.safetensors` writes the names that the dictionaries
have today into older checkpoints; the weights keep every bit.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import VitvizError
from ..languages import dictionary, languages
from ..model.checkpoints import rewrite
from ..model.json_values import parse
from ..model.loaded import are_words
from .errors import TrainError

Words = dict[str, dict[str, dict[str, str]]]


def names_of(data: str, labels: Iterable[str], groups: Iterable[str] | None) -> Words:
    """The translations of the classes and groups of a data set: `ModelCard.words`.

    A data set has its names in `vitviz/languages`, in DATA-labels.json and DATA-groups.json. A name
    that is as it is in the data set is left out.
    """
    words: Words = {}
    for language in languages():
        for kind, names in (("labels", labels), ("groups", groups or ())):
            known = dictionary(language, f"{data}-{kind}")
            found = {name: known[name] for name in names if known.get(name, name) != name}
            if found:
                words.setdefault(language, {})[kind] = found
    return words


def read_names(path: Path) -> Words:
    """The same from a file, {"ko": {"labels": {"dog": "개"}}}; {} if it is not there.

    Raises `TrainError` for a file that says something else.
    """
    if not path.is_file():
        return {}
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TrainError(f"{path} is not JSON: {error}") from error
    if not are_words(words):
        raise TrainError(
            f'{path} must map the tag of a language to "labels" and "groups", '
            "and these map each name to what it is in that language"
        )
    return words


def rename(path: Path) -> None:
    """Write the names of today's dictionaries into a checkpoint of a data set that they know.

    Raises `OSError` or `ValueError` for a file that cannot be read or written, or is none of ours.
    """

    def change(meta: dict[str, Any]) -> None:
        details: Mapping[str, str] = meta["details"]
        groups = json.loads(details.get("groups", "[]"))
        words = names_of(parse(details["recipe"])["data"], meta["labels"], dict.fromkeys(groups))
        meta["words"] = meta.get("words", {}) | words

    rewrite(path, change)


def main() -> int:
    """Rename the classes of every checkpoint that is named on the command line."""
    try:
        for name in sys.argv[1:]:
            rename(Path(name))
    except (VitvizError, OSError, ValueError, KeyError, TypeError) as error:
        print(f"{name}: {error!r}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
