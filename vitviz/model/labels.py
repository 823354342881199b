"""Class names of models that are not ours: ImageNet's, or those that a model brought along."""

from collections.abc import Mapping
from typing import Any


def imagenet_labels(num_classes: int) -> tuple[str, ...] | None:
    """Class names of ImageNet-1k, 12k, 21k or 22k in timm's order, told apart by their size."""
    from timm.data import ImageNetInfo, infer_imagenet_subset

    subset = infer_imagenet_subset({"num_classes": num_classes})
    return tuple(ImageNetInfo(subset).label_descriptions()) if subset else None


def own_labels(cfg: Mapping[str, Any], num_classes: int) -> tuple[str, ...] | None:
    """Class names that a model brought along in its `config.json`, as on the hub."""
    names = cfg.get("label_names")
    if not isinstance(names, list | tuple) or len(names) != num_classes or not num_classes:
        return None
    texts = cfg.get("label_descriptions")
    texts = texts if isinstance(texts, Mapping) else {}
    return tuple(str(texts.get(name, name)) for name in names)
