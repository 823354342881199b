"""Load torchvision's ViTs: rename their parameters, read the config off their shapes."""

import hashlib
import math
import re
from pathlib import Path
from typing import Any

from torch import Tensor

from ..errors import WeightsError
from ..languages import Message
from .config import ViTConfig, check_channels
from .labels import imagenet_labels
from .loaded import LoadedModel, ModelCard, build, head_of
from .preprocess import IMAGENET_MEAN, IMAGENET_STD, Preprocess, per_channel

# torchvision's ViTs by width, height and width of a patch.
ARCHITECTURES = {
    (768, 16, 16): "vit_b_16",
    (768, 32, 32): "vit_b_32",
    (1024, 16, 16): "vit_l_16",
    (1024, 32, 32): "vit_l_32",
    (1280, 14, 14): "vit_h_14",
}
# Parameter names of torchvision and of vitviz:
# https://github.com/pytorch/vision/blob/main/torchvision/models/vision_transformer.py
NAMES = {
    "class_token": "cls_token",
    "conv_proj": "patch_embed.proj",
    "encoder.pos_embedding": "pos_embed",
    "encoder.ln": "norm",
    "heads.head": "head",
    "ln_1": "norm1",
    "ln_2": "norm2",
    "self_attention.in_proj_": "attn.qkv.",
    "self_attention.out_proj": "attn.proj",
    "mlp.0": "mlp.fc1",
    "mlp.3": "mlp.fc2",
    "mlp.linear_1": "mlp.fc1",  # before torchvision 0.12
    "mlp.linear_2": "mlp.fc2",
}


def from_torchvision(state: dict[str, Tensor], path: Path, name: str) -> LoadedModel:
    """torchvision's `vit_b_16` and its sisters: the same architecture, other parameter names.

    Raises `WeightsError`, whose sentence names `path`, for any other set of parameters.
    """
    renamed = _renamed(state)
    try:
        dim, in_chans, ph, pw = renamed["patch_embed.proj.weight"].shape
        num_patches = renamed["pos_embed"].shape[1] - 1
        num_classes = len(renamed["head.weight"]) if "head.weight" in renamed else 0
        hidden = len(renamed["blocks.0.mlp.fc1.weight"])
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise WeightsError(
            f"{path.name} looks like torchvision's ViT, but is damaged or lacks {error}"
        ) from error
    check_channels(in_chans, path.name, "conv_proj.weight")
    # The file does not hold the number of heads; torchvision has these three widths.
    heads = {768: 12, 1024: 16, 1280: 16}.get(dim)
    side = math.isqrt(max(0, num_patches))
    if heads is None or side * side != num_patches:
        raise WeightsError(
            f"{path.name} is not one of torchvision's ViTs: width {dim}, {num_patches} patches"
        )
    depth = len({key.split(".")[1] for key in renamed if key.startswith("blocks.")})
    config = ViTConfig(
        image_size=(side * ph, side * pw),
        patch_size=(ph, pw),
        in_chans=in_chans,
        num_classes=num_classes,
        embed_dim=dim,
        depth=depth,
        num_heads=heads,
        mlp_hidden_dim=hidden,
    )
    entry, is_its_own = _entry(config, path)
    # Any other 1,000 classes need not be ImageNet's.
    labels = imagenet_labels(num_classes) if is_its_own else None
    made = _preprocess(config, entry)
    theirs = "torchvision"
    assumed = (
        Message("models.assumed_heads", heads=heads, arch=theirs),
        Message("models.assumed_pixels", mean=made.mean, std=made.std, arch=theirs),
    )
    card = ModelCard(
        name=name,
        source=Message("models.of_torchvision", file=path.name),
        config=config,
        labels=labels,
        head=head_of(labels, config),
        assumed=() if is_its_own else assumed,
    )
    return build(renamed, card, made)


def _renamed(state: dict[str, Tensor]) -> dict[str, Tensor]:
    renamed = {}
    for key, value in state.items():
        new = key.replace("encoder.layers.encoder_layer_", "blocks.")
        for theirs, ours in NAMES.items():
            new = new.replace(theirs, ours)
        new = re.sub(r"^heads\.(\d+\.)?(weight|bias)$", r"head.\2", new)  # a head of one's own
        if new in renamed:
            raise WeightsError(f"its head has several layers ({key} is one more), vitviz knows one")
        renamed[new] = value
    return renamed


def _entry(config: ViTConfig, path: Path) -> tuple[Any, bool]:
    """torchvision's entry for weights of these sizes (None if there is none), and whether the file,
    by its name or its bytes, is the file of that entry.
    """
    from torchvision.models import get_model_weights  # takes a second

    architecture = ARCHITECTURES.get((config.embed_dim, *config.patch_size))
    height, width = config.image_size
    entries = [
        entry
        for entry in (get_model_weights(architecture) if architecture else ())
        if [*entry.transforms().crop_size] == [height] == [width]
    ]
    if not entries or config.num_classes != len(entries[0].meta["categories"]):
        return (entries or [None])[0], False
    names = path.stem.split("-")
    own = [entry for entry in entries if digest_of(entry) in names]
    if not own:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        own = [entry for entry in entries if digest_of(entry) == digest[:8]]
    # Other weights were probably trained further from the first entry.
    return (own or entries)[0], bool(own)


def _preprocess(config: ViTConfig, entry: Any) -> Preprocess:
    """torchvision's transforms for these weights; for other sizes a resize without a crop. A grey
    model gets the averages of ImageNet's means and deviations.
    """
    made = entry.transforms() if entry else None
    return Preprocess(
        size=config.image_size,
        channels=config.in_chans,
        mean=per_channel(IMAGENET_MEAN, config.in_chans),
        std=per_channel(IMAGENET_STD, config.in_chans),
        crop_pct=config.image_size[0] / made.resize_size[0] if made else 1.0,
        interpolation=made.interpolation.value if made else "bicubic",
    )


def digest_of(entry: Any) -> str:
    """The digest in the name of torchvision's weights file: the beginning of its sha256."""
    return entry.url.removesuffix(".pth").rpartition("-")[2]
