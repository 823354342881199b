"""Class names of models from elsewhere: given by the user, stored with the model, or ImageNet's."""

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from ..errors import WeightsError
from ..whole import at_home
from .json_values import are_texts, is_whole, parse, short

IMAGENET = "imagenet"
# Names of classes in their order, names by number, numbers by name (as `class_to_idx` of data sets
# of torchvision), a file of them, or IMAGENET; None: the user gives none.
Labels = Sequence[str] | Mapping[Any, Any] | os.PathLike[str] | None


def names_of(labels: Labels, num_classes: int) -> tuple[str, ...] | None:
    """The class names that a user gives. Raises `WeightsError` unless there is one per class, in an
    order that is known: a set has none.
    """
    if labels is None:
        return None
    if not num_classes:
        raise WeightsError(
            "labels are given, and this model has no classes to name: vitviz.with_head, or "
            "head_file (--head-file), gives it a linear head"
        )
    if isinstance(labels, str) and labels == IMAGENET:
        names = imagenet_labels(num_classes)
        if names is None:
            raise WeightsError(f"no data set of {IMAGENET} has {num_classes} classes")
        return names
    labels = listed(labels)
    if isinstance(labels, Set):
        raise WeightsError(
            f"labels are a {type(labels).__name__}, which has no order: which name is of class 0? "
            "Give a list"
        )
    if isinstance(labels, Mapping):
        return _by_number(labels, num_classes)
    texts = [*labels] if isinstance(labels, Iterable) else []
    if not all(isinstance(text, str) for text in texts) or len(texts) != num_classes:
        raise WeightsError(
            f'labels must be {num_classes} names, one for each class, or "{IMAGENET}"; '
            f"got {len(texts)}: {short(labels)}"
        )
    return tuple(texts)


def listed(labels: Labels) -> Any:
    """Read the names in a file, and make those of an array a list; others stay as they are.

    Raises as `labels_in` does.
    """
    if isinstance(labels, str | os.PathLike) and labels != IMAGENET:
        return labels_in(labels)
    tolist = getattr(labels, "tolist", None)  # of numpy, of pandas
    return tolist() if tolist else labels


def labels_in(file: str | os.PathLike[str]) -> Any:
    """The names in a file, one a line, or the list or object of a JSON file (.json).

    Raises `WeightsError` if it cannot be read, or its JSON is neither.
    """
    path = at_home(file)
    try:
        whole = path.read_text("utf-8-sig")
        if path.suffix.lower() != ".json":
            return [name.strip() for name in whole.splitlines() if name.strip()]
        if isinstance(value := parse(whole), list | dict):
            return value
        reason = "its JSON is no list and no object"
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except ValueError:
        reason = "it is no text" if path.suffix.lower() != ".json" else "it is no JSON"
    raise WeightsError(
        f"{str(file)[:80]} cannot be read: {reason}; labels are names, a file of them or the word "
        f'"{IMAGENET}"'
    )


def _by_number(labels: Mapping[Any, Any], num_classes: int) -> tuple[str, ...]:
    """Names in the order of their numbers, from a mapping in either direction."""
    by_name = all(isinstance(name, str) and is_whole(at) for name, at in labels.items())
    pairs = ((at, name) for name, at in labels.items()) if by_name else labels.items()
    found = {int(at) if str(at).isdecimal() else at: name for at, name in pairs}
    names = [found.get(number) for number in range(num_classes)]
    if len(labels) != num_classes or not are_texts(names):
        missing = next((at for at, name in enumerate(names) if not isinstance(name, str)), None)
        end = f"; class {missing} has none" if missing is not None else ""
        raise WeightsError(
            f"labels must name each of {num_classes} classes once, from 0 to {num_classes - 1}, as "
            f'{{"cat": 0}} or {{0: "cat"}}; got {len(labels)}: {short(dict(labels))}{end}'
        )
    return tuple(map(str, names))


def are_digits(labels: Sequence[str] | None, channels: int) -> bool:
    """Guess whether the classes are handwritten digits: all names are digits, and pictures are
    grey. Classes of colour pictures are excluded, because digits can be grades there, from 0 to 4.
    """
    return channels == 1 and bool(labels) and set(labels or ()) <= set("0123456789")


def imagenet_labels(num_classes: int) -> tuple[str, ...] | None:
    """Class names of ImageNet-1k, 12k, 21k or 22k in timm's order, chosen by their number."""
    from timm.data import ImageNetInfo, infer_imagenet_subset

    subset = infer_imagenet_subset({"num_classes": num_classes})
    return tuple(ImageNetInfo(subset).label_descriptions()) if subset else None


def own_labels(cfg: Mapping[str, Any], num_classes: int) -> tuple[str, ...] | None:
    """Class names that a model stores in its `config.json`, as on the hub."""
    names = cfg.get("label_names")
    if not isinstance(names, list | tuple) or len(names) != num_classes or not num_classes:
        return None
    texts = cfg.get("label_descriptions")
    texts = texts if isinstance(texts, Mapping) else {}
    return tuple(str(texts.get(name, name)) for name in names)
