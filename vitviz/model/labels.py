"""Class names of models from elsewhere: given by the user, stored with the model, or ImageNet's."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import WeightsError
from .json_values import short

IMAGENET = "imagenet"
Labels = Sequence[str] | None  # names of classes, or IMAGENET; None: the user gives none


def names_of(labels: Labels, num_classes: int) -> tuple[str, ...] | None:
    """The class names that a user gives. Raises `WeightsError` unless there is one per class."""
    if labels is None:
        return None
    if labels == IMAGENET:
        names = imagenet_labels(num_classes)
        if names is None:
            raise WeightsError(f"no data set of {IMAGENET} has {num_classes} classes")
        return names
    texts = [*labels] if isinstance(labels, Iterable) and not isinstance(labels, str) else []
    if not all(isinstance(text, str) for text in texts) or len(texts) != num_classes:
        raise WeightsError(
            f'labels must be {num_classes} names, one for each class, or "{IMAGENET}"; '
            f"got {len(texts)}: {short(labels)}"
        )
    return tuple(texts)


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
