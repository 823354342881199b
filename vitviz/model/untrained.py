"""The untrained twin: a model with the random weights that its training began with."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from ..languages import Message
from .config import ViTConfig
from .json_values import parse
from .loaded import LoadedModel, build
from .vit import ViT

DEFAULT_SEED = 0  # of the twin of a model whose seed is not known

# Details that hold for the twin too: title, meaning of its answers, origin of its weights; not the
# results and the data of the training.
KEPT_DETAILS = ("title", "groups", "recipe", "seed")


def twin(loaded: LoadedModel) -> LoadedModel:
    """The same model with the weights that its training began with."""
    details = loaded.card.details
    seed = first_seed(details)
    state = draw(loaded.card.config, **start_of(details))
    given = loaded.card.source
    file = given.values.get("file") if isinstance(given, Message) else None
    values = {"file": file or loaded.card.name}  # what `load` takes
    source = Message("models.untrained", **values)
    if seed is not None:
        source = Message("models.untrained_seed", seed=seed, **values)
    card = replace(
        loaded.card,
        source=source,
        temperature=1.0,
        details={key: details[key] for key in KEPT_DETAILS if key in details},
        trained=False,
    )
    made = build(state, card, loaded.preprocess)
    return replace(made, film=loaded.film, resampling=loaded.resampling)


class _OwnGenerator(TorchFunctionMode):
    """Passes one generator to all functions that draw random numbers in this thread."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator

    def __torch_function__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name.endswith(("uniform_", "normal_")) or name in ("rand", "randn"):
            kwargs["generator"] = self.generator
        return func(*args, **kwargs)


@contextmanager
def drawn_with(seed: int) -> Iterator[None]:
    """Draw new weights in this block as after `torch.manual_seed(seed)`, without changing torch's
    global generator: an app loads models in several threads, which share it.
    """
    with _OwnGenerator(torch.Generator().manual_seed(seed)):
        yield


def draw(
    config: ViTConfig, seed: int, *, zero_head: bool = False, wide_start: bool = False
) -> dict[str, Tensor]:
    """The weights with which a training run of this seed begins, as a state dict."""
    with drawn_with(seed):
        vit = ViT(config)
    begin(vit, zero_head=zero_head, wide_start=wide_start)
    return vit.state_dict()


class _Heard(TorchDispatchMode):
    """Records every draw of torch in order: memory address, count, distribution, its two
    parameters, and the first number drawn.
    """

    def __init__(self) -> None:
        super().__init__()
        self.draws: list[tuple[int, int, str, list[float], float]] = []

    def __torch_dispatch__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if (way := func.__name__.partition("_.")[0]) in ("normal", "uniform"):
            drawn, *by = args
            first = float(drawn.flatten()[0])
            self.draws.append((drawn.data_ptr(), drawn.numel(), way, by, first))
        return result


LEAST_DRAWN = 16  # torch draws fewer normal numbers than these by another method


def draws(loaded: LoadedModel) -> dict[str, Any] | None:
    """Instructions, in JSON's types, to draw the weights of `twin(loaded)` without torch; None if
    that is not possible. maths/draws.js of the viewer follows them.

    seed: seed of torch's generator. shapes: shape of every weight. same: weights that hold one
    constant, with its value. steps, in order: either `skip`, a number of 32-bit words, or a weight
    `name` with its distribution `way`, its parameters `by` ("normal": mean and deviation;
    "uniform": least and most) and a `factor` to multiply with.
    """
    start, heard = start_of(loaded.card.details), _Heard()
    with heard:
        state = draw(loaded.card.config, **start)
    names = {weight.data_ptr(): name for name, weight in state.items()}
    last = {place: at for at, (place, *_) in enumerate(heard.draws)}
    same = {
        name: float(weight.flatten()[0])
        for name, weight in state.items()
        if weight.min() == weight.max()
    }
    steps: list[dict[str, Any]] = []
    for at, (place, count, way, by, first) in enumerate(heard.draws):
        if way == "normal" and count < LEAST_DRAWN:
            return None
        name = names.get(place)
        if name and name not in same and last[place] == at and state[name].numel() == count:
            factor = float(state[name].flatten()[0]) / first
            steps.append({"name": name, "way": way, "by": by, "factor": factor})
        else:
            again = LEAST_DRAWN if way == "normal" and count % LEAST_DRAWN else 0
            steps.append({"skip": count + again})
    if {*same, *(step.get("name") for step in steps)} < state.keys():
        return None
    shapes = {name: list(weight.shape) for name, weight in state.items()}
    return {"seed": start["seed"], "shapes": shapes, "same": same, "steps": steps}


@torch.no_grad()
def begin(vit: ViT, *, zero_head: bool, wide_start: bool) -> None:
    """Change new weights into those that a recipe begins with.

    `wide_start`: the same draws, but matrices with deviation 1 / sqrt(fan in), as in "Efficient
    BackProp" (LeCun et al. 1998, section 4.6), and CLS, registers and positions with deviation .5.
    .02 suits a width of many hundreds; sums of 48 numbers would be nearly 0 with it.
    """
    if wide_start:
        for name, module in vit.named_modules():
            if isinstance(module, nn.Linear) and not name.startswith("patch_embed"):
                module.weight.mul_(module.in_features**-0.5 / 0.02)
        for parameter in (vit.cls_token, vit.dist_token, vit.reg_token, vit.pos_embed):
            if parameter is not None:
                parameter.mul_(0.5 / 0.02)
    if zero_head and vit.config.num_classes:
        nn.init.zeros_(vit.get_parameter("head.weight"))


def first_seed(details: Mapping[str, str]) -> int | None:
    """The seed that a checkpoint's training began with; None if the file does not say.

    A run can begin with the weights of an earlier run (`start_from` in its recipe). "seed" is the
    seed of the first run of that chain, whose random weights are the twin's.
    """
    for text in (details.get("seed"), recipe_of(details).get("seed")):
        try:
            return int("" if text is None else text)
        except (TypeError, ValueError, OverflowError):
            continue
    return None


def start_of(details: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of `draw` for the first weights of a checkpoint. `zero_head`: the classifier began
    at zero, so that its first answers are uniform.
    """
    recipe, seed = recipe_of(details), first_seed(details)
    return {
        "seed": DEFAULT_SEED if seed is None else seed,
        "zero_head": recipe.get("zero_head") is True,
        "wide_start": recipe.get("wide_start") is True,
    }


def recipe_of(details: Mapping[str, str]) -> Mapping[str, Any]:
    """The recipe in a checkpoint's details; {} if there is none."""
    try:
        recipe = parse(details.get("recipe", "{}"))
    except ValueError:
        return {}
    return recipe if isinstance(recipe, dict) else {}
