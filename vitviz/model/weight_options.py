"""Command-line options for weights, which `load` takes too."""

import argparse
from typing import Any

from ..errors import WeightsError
from .json_values import parse
from .labels import IMAGENET, labels_in
from .outputs import OUTPUTS

# The same names as in head.py and precision.py, repeated because those modules import torch.
POOLS = ("token", "avg", "token_avg")
PRECISIONS = ("half", "bfloat16")


def add_weight_options(options: Any, action: str | type[argparse.Action] = "store") -> None:
    """Add the options to a parser or a group of it; `action`: argparse's action for each value."""
    add = options.add_argument
    add(
        "--arch",
        metavar="NAME",
        action=action,
        help="timm's name of the architecture of a file that holds weights alone, such as "
        "vit_small_patch16_224",
    )
    add(
        "--labels",
        type=_labels,
        metavar="FILE",
        action=action,
        help="the names of the classes, one a line, or in JSON, as a list or by number (.json); or "
        "the word imagenet",
    )
    add(
        "--key",
        metavar="TEXT",
        action=action,
        help="which of several models in a file, such as state_dict_ema",
    )
    add(
        "--without",
        metavar="PART,PART",
        action=action,
        help="parts of a file to leave out, by the beginnings of their names, such as decoder",
    )
    add(
        "--positions-like",
        choices=("timm", "transformers"),
        action=action,
        help="whose way positions are brought to another image size (default: that of the library "
        "that the model comes from)",
    )
    add(
        "--outputs",
        choices=OUTPUTS,
        action=action,
        help="what the outputs mean: one class is true, several can be, one score, or values "
        "(default: what the files say)",
    )
    _add_head_options(add, action)
    add(
        "--dtype",
        choices=PRECISIONS,
        action=action,
        help="the type of weights and products, on a GPU alone; results are float32 (default: "
        "float32)",
    )
    add(
        "--preprocess",
        type=json_value,
        metavar="JSON",
        action=action,
        help='how its pictures are made, such as \'{"size": [224, 224], "mean": [0.5, 0.5, 0.5]}\'',
    )


def _add_head_options(add: Any, action: str | type[argparse.Action]) -> None:
    add(
        "--head-file",
        metavar="FILE",
        action=action,
        help="the weight and bias of a linear head of your own, for a model without classes: a "
        "state dict of one layer (.safetensors, .pth), or arrays (.npz)",
    )
    add(
        "--head-pool",
        choices=POOLS,
        action=action,
        help="what this head reads: CLS (token), the mean of the patches (avg), or both side by "
        "side (default: as the model pools, or by the width of its weight)",
    )


def weight_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options as keyword arguments of `load`; None for those that were not given."""
    names = ("arch", "labels", "key", "without", "positions_like", "outputs", "preprocess")
    further = ("head_file", "head_pool", "dtype")
    return {name: getattr(arguments, name) for name in (*names, *further)}


def _labels(text: str) -> Any:
    """The names in a file, or the word "imagenet"."""
    try:
        return text if text == IMAGENET else labels_in(text)
    except WeightsError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def json_value(text: str) -> Any:
    """The type of an option. Raises `ArgumentTypeError` for a text that is not JSON."""
    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"JSON is expected: {error}") from None
