"""A linear head on a model without classes, such as DINO, MAE or CLIP's tower for pictures."""

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from ..errors import WeightsError
from ..languages import Message
from ..whole import at_home
from .config import ViTConfig
from .json_values import short
from .labels import Labels, listed, names_of
from .loaded import LoadedModel, as_precise, build, check_loaded, holds_numbers, with_outputs
from .resize import MEASURED
from .state_dicts import read_any

Pool = Literal["token", "avg", "token_avg"]  # CLS, the mean of the patches, both side by side
POOLS = get_args(Pool)
DISTILLED = ("dist_token", "head_dist.weight", "head_dist.bias")


def with_head(
    loaded: LoadedModel,
    weight: Any,
    bias: Any = None,
    labels: Labels = None,
    pool: Pool | None = None,
    *,
    outputs: str | None = None,
) -> LoadedModel:
    """The model with a linear head of your own: logits = weight @ pooled + bias.

    weight   (C, D), or (C, 2 D) for "token_avg": a tensor, an array or nested lists, such as
             `coef_` of scikit-learn's LogisticRegression
    bias     (C,); None: zeros
    labels   the names of the C classes, a file of them or "imagenet"; None: "class 0", "class 1",
             ... One row with two names is a head of two classes as scikit-learn has it:
             its logit is that of the second class minus that of the first
    pool     the vector that the head reads, after the model's last norm: "token" (CLS), "avg" (the
             mean of the patches, without prefix tokens) or "token_avg" (CLS, then the mean, side by
             side, as DINOv2's linear heads); None: as the model itself pools, or "token_avg" where
             the weight is twice as wide
    outputs  what the outputs mean, as in `load`

    `vitviz.features` gives the vectors that the head reads, to train it. A head that the model has
    is replaced; the other weights are shared, not copied. Facts that were measured with another
    head, temperature included, are dropped.
    Raises `WeightsError`, whose sentence says which shape came and which are allowed.
    """
    check_loaded(loaded)
    weight, bias = _numbers("weight", weight), None if bias is None else _numbers("bias", bias)
    dim = loaded.card.config.embed_dim
    if pool is None and weight.shape[1:] == (2 * dim,):
        pool = "token_avg"
    labels = listed(labels)
    if weight.shape[:1] == (1,) and isinstance(labels, list | tuple | Mapping) and len(labels) == 2:
        weight = torch.cat([-weight, weight]) / 2
        bias = torch.cat([-bias, bias]) / 2 if bias is not None and bias.shape == (1,) else bias
    plain = without_head(loaded, pool)
    config = plain.card.config
    if not config.global_pool:
        raise WeightsError(
            f"{loaded.card.name} does not pool its tokens; pool must be one of {', '.join(POOLS)}"
        )
    width = config.pooled_dim
    if weight.ndim != 2 or weight.shape[1] != width or not len(weight):
        raise WeightsError(_misfit(weight, plain, loaded))
    if bias is None:
        bias = torch.zeros(len(weight))
    if bias.shape != weight.shape[:1]:
        raise WeightsError(
            f"the bias of a head must have shape ({len(weight)},), one number for each row of its "
            f"weight, got {tuple(bias.shape)}"
        )
    names = names_of(labels, len(weight)) or tuple(f"class {at}" for at in range(len(weight)))
    card = replace(
        plain.card,
        config=replace(config, num_classes=len(weight)),
        source=Message("models.with_head", source=loaded.card.source),
        labels=names,
        head="classes",
        outputs="",
    )
    head = {"head.weight": weight.to(loaded.device), "head.bias": bias.to(loaded.device)}
    state = plain.vit.state_dict() | head
    made = build(state, with_outputs(card, outputs), loaded.preprocess)
    return replace(as_precise(made, loaded), resampling=loaded.resampling)


def without_head(loaded: LoadedModel, pool: str | None = None) -> LoadedModel:
    """The same model without its head: it answers with pooled features. Its weights are shared.

    `pool`: one of `POOLS`; None: as the model pools. A distillation token, which only its own head
    reads, becomes a register. Raises `WeightsError` for another pool, or one that the model has no
    tokens or no norm for.
    """
    config, state = loaded.card.config, loaded.vit.state_dict()
    if pool is not None and pool not in POOLS:
        raise WeightsError(f"pool must be one of {', '.join(POOLS)}, got {short(pool)}")
    try:
        config = _pooling(replace(config, num_classes=0), pool)
    except WeightsError as error:
        raise WeightsError(f"{loaded.card.name}: {error}") from error
    if loaded.card.config.dist_token:
        registers = [state[name] for name in ("dist_token", "reg_token") if name in state]
        state["reg_token"] = torch.cat(registers, dim=1)
    if config.global_pool != "map":
        state = {name: value for name, value in state.items() if not name.startswith("attn_pool.")}
    dropped = (*DISTILLED, "head.weight", "head.bias")
    state = {name: value for name, value in state.items() if name not in dropped}
    kept = {
        name: text
        for name, text in loaded.card.details.items()
        if name not in (*MEASURED, "groups")
    }
    card = replace(
        loaded.card,
        config=config,
        labels=None,
        head="none",
        outputs="",
        temperature=1.0,
        details=kept,
        words={},
        assumed=_without_score(loaded.card.assumed),
    )
    made = build(state, card, loaded.preprocess)
    return replace(as_precise(made, loaded), resampling=loaded.resampling)


def _pooling(config: ViTConfig, pool: str | None) -> ViTConfig:
    """The config with this pool, and without a distillation token."""
    if config.dist_token:
        config = replace(config, dist_token=False, reg_tokens=config.reg_tokens + 1)
    if pool is None:
        return config
    width = replace(config, global_pool=pool).pooled_dim  # type: ignore[arg-type]
    if config.final_norm == "after_pool" and width != config.pooled_dim:
        raise WeightsError(
            f"its last norm comes after pooling and is {config.pooled_dim} wide, and "
            f'pool="{pool}" makes {width} numbers'
        )
    return replace(config, global_pool=pool, pool_prefix=False)  # type: ignore[arg-type]


def _misfit(weight: Tensor, plain: LoadedModel, loaded: LoadedModel) -> str:
    """The sentence about a weight that does not fit."""
    config, old = plain.card.config, loaded.card.config
    dim = config.embed_dim
    both = f' or (classes, {2 * dim}) with pool="token_avg"' if config.pooled_dim == dim else ""
    text = (
        f"the weight of a head on {loaded.card.name} must have shape (classes, "
        f"{config.pooled_dim}){both}, got {tuple(weight.shape)}"
    )
    if weight.ndim == 2 and weight.shape[1] == old.num_classes:
        text += (
            f"; {old.num_classes} is the width of its outputs, which weight @ "
            "loaded.vit.head.weight reads"
        )
    elif weight.ndim == 2 and len(weight) == config.pooled_dim:
        text += "; is it turned? weight.T fits"
    return text


def _without_score(assumed: tuple[str, ...]) -> tuple[str, ...]:
    """Sentences about what was assumed, without that about the one output of a former head."""
    return tuple(text for text in assumed if getattr(text, "key", "") != "models.assumed_score")


def _numbers(name: str, value: Any) -> Tensor:
    """A weight or bias in float32. Raises `WeightsError` for a value that is no array of finite
    numbers.
    """
    try:
        numbers = torch.as_tensor(value).detach().cpu()
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise WeightsError(
            f"the {name} of a head must be an array of numbers, got {type(value).__name__}"
        ) from error
    if not holds_numbers(numbers):
        raise WeightsError(f"the {name} of a head holds values that are not finite, or lacks some")
    return numbers.float()


def read_head(path: str | Path) -> tuple[Tensor, Tensor | None]:
    """The weight and bias in a file: a state dict of one linear layer (.safetensors, .pth, .pt), as
    of `torch.nn.Linear`, or arrays `weight` and `bias` (.npz).

    The layer may have any name before `weight` and `bias`, such as `head.weight`.
    Raises `WeightsError` for a file that cannot be read, or that holds anything else.
    """
    file = at_home(path)
    try:
        is_file = file.is_file()
    except OSError as error:  # its name is too long, or its folder may not be entered
        raise WeightsError(f"{file} cannot be read: {error.strerror}") from error
    if not is_file:
        raise WeightsError(f"there is no file {file} with a head")
    state: Mapping[str, Any] = _arrays(file) if file.suffix == ".npz" else read_any(file)
    kinds = {name: name.rpartition(".")[2] for name in state}
    if sorted(kinds.values()) not in (["weight"], ["bias", "weight"]):
        raise WeightsError(
            f"{file.name} must hold the weight, and the bias if there is one, of one linear layer; "
            f"it holds {short(sorted(state))}"
        )
    found = {kind: state[name] for name, kind in kinds.items()}
    return found["weight"], found.get("bias")


def _arrays(file: Path) -> dict[str, Any]:
    try:
        with np.load(file, allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except (OSError, ValueError, EOFError, TypeError, MemoryError) as error:
        raise WeightsError(f"{file.name} cannot be read: {short(str(error))}") from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise WeightsError(f"{file.name} is damaged or cut off: {short(str(error))}") from error


def with_head_of(
    loaded: LoadedModel, path: str | Path, labels: Labels, pool: str | None, outputs: str | None
) -> LoadedModel:
    """`with_head` with the weight and bias in a file. Raises as `read_head` and `with_head` do."""
    weight, bias = read_head(path)
    return with_head(loaded, weight, bias, labels, pool, outputs=outputs)  # type: ignore[arg-type]
