"""Load state dicts in timm's layout, or in one that timm converts, into vitviz's own ViT."""

import math
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import fields, replace
from inspect import signature
from io import StringIO
from typing import Any

import torch
from torch import Tensor

from ..errors import WeightsError
from ..languages import Message
from .config import MOST, sides_of
from .key import size_text
from .loaded import LoadedModel, Resampling, holds_numbers, misfits
from .timm_models import from_timm, why_not

MOST_BLOCKS = 1000  # that a config.json may tell of before the weights are counted

SIZES = {  # of timm's plain ViTs, by width and depth
    (192, 12): "tiny",
    (384, 12): "small",
    (512, 8): "medium",
    (768, 12): "base",
    (1024, 24): "large",
    (1280, 32): "huge",
    (1408, 40): "giant",
}
# Names of timm that weights may be of, with the size and the patch in place; the first that fits.
NAMES = (
    "vit_{size}_patch{patch}_224",
    "vit_{size}_patch{patch}_dinov2",
    "vit_{size}_patch{patch}_reg4_dinov2",
    "vit_{size}_patch{patch}_dinov3",
    "vit_{size}_patch{patch}_dinov3_qkvb",
    "vit_{size}_patch{patch}_clip_224",
    "vit_{size}_patch{patch}_siglip_224",
    "deit_{size}_distilled_patch{patch}_224",
    "deit3_{size}_patch{patch}_224",
    "beit_{size}_patch{patch}_224",
    "eva02_{size}_patch{patch}_224",
    "vit_{size}_patch16_224",
)
FILTERS = re.compile(r"(^|.*\.)(patch_embed\.proj(ection)?|visual\.conv1)\.weight")
POSITIONS = re.compile(r"(visual\.|visual\.trunk\.)?(pos_embed|positional_embedding)")
OWN_KEYS = ("num_classes", "label_names", "label_descriptions")  # of config.json, which win
CLS = re.compile(r"(.*\.)?(cls_token|class_embedding)")
BLOCK = re.compile(r"(?:.*\.)?(?:blocks|resblocks)\.(\d+)\.(?!\d)")  # not blocks.0.3., of a chunk
REGISTERS = ("reg_token", "register_tokens", "storage_tokens")
OWN_SIZES = (
    "of sizes that no name of timm has, a config.json of timm beside the file says all: "
    '{"architecture": NAME, "model_args": {"img_size": 32, "patch_size": 4, ...}}; or '
    "vitviz.from_timm(model) takes the model itself"
)
# Parts that some trainings keep in the file, by the beginning of their names.
PARTS = {
    "decoder": "the decoder of MAE, which paints pixels",
    "mask_token": "which stands for hidden patches in training",
    "head": "a head of several layers, as of MoCo and DINO",
    "fc": "a head of its own",
    "linear": "a head of its own",
    "classifier": "a head of its own",
    "projector": "which training alone needs",
    "predictor": "which training alone needs",
}


Architecture = str | Mapping[str, Any]  # a name of timm, or what timm's config.json holds


def load_state(
    state: Mapping[str, Tensor],
    arch: Architecture,
    name: str,
    source: str,
    file: str,
    image_size: int | tuple[int, int] | None = None,
) -> LoadedModel:
    """Load weights into an architecture. Numbers of classes and registers, patch and image size are
    read off the weights.

    Weights that do not fit are first given to timm's own converter, which knows the layouts of
    DINOv2, DINOv3, CLIP, EVA and others. `image_size` is the size of the training, if it has as
    many patches as the file has positions and no config.json tells another. Raises `WeightsError`
    that names the parameters that do not fit.
    """
    import timm

    named = arch if isinstance(arch, str) else str(arch.get("architecture"))
    if not timm.is_model(named.partition(".")[0]):
        hint = guess_arch(state)
        such = f", such as {hint}" if hint else ""
        where = "arch" if isinstance(arch, str) else "the architecture in its config.json"
        raise WeightsError(f'{where} must be a name of timm{such}, got "{named}"')
    try:
        fitted = _Fitted(state, arch, image_size)
    except WeightsError as error:
        raise WeightsError(f"{file} does not fit {named}: {error}") from error
    except Exception as error:  # timm raises many types
        raise WeightsError(why_not(named, False, error)) from error
    if bad := [key for key, value in fitted.state.items() if not holds_numbers(value)]:
        raise WeightsError(
            f"the weights in {file} are damaged: {bad[0]} holds values that are not finite, or "
            "lacks some"
        )
    if fitted.wrong:
        raise WeightsError(_why_it_does_not_fit(fitted, state, named, file))
    model = fitted.create()
    model.load_state_dict(fitted.state)
    loaded = from_timm(model, name, source)
    described = isinstance(arch, Mapping) and "pretrained_cfg" in arch
    assumed = (
        *(() if described else _assumed(loaded, named, fitted.arguments)),
        *fitted.assumed,
        *loaded.card.assumed,
    )
    card = replace(loaded.card, assumed=assumed, left_out=grouped(fitted.left_out))
    if not described:  # the tag of the architecture describes other weights
        card = replace(card, details={"architecture": named})
    loaded = replace(loaded, card=card)
    if "dinov2" in named and "mask_token" in fitted.left_out:  # the file of its authors
        smooth = loaded.card.config.reg_tokens > 0
        return replace(loaded, resampling=Resampling.of("transformers", smooth))
    return loaded


def _arguments(arch: Architecture) -> tuple[str, dict[str, Any]]:
    """The name and the arguments with which `timm.create_model` makes an architecture.

    A config.json may be timm's, an old one without parts, or one that transformers or a user wrote.
    """
    from timm.models import PretrainedCfg

    if isinstance(arch, str):
        return arch, {}
    known = {field.name for field in fields(PretrainedCfg)}
    parts = [arch, arch.get("pretrained_cfg") or {}, {key: arch.get(key) for key in OWN_KEYS}]
    cfg = {key: value for part in parts for key, value in part.items() if value is not None}
    cfg = {key: value for key, value in cfg.items() if key in known - {"architecture"}}
    described = "pretrained_cfg" in arch or "input_size" in arch
    options = dict(arch.get("model_args") or {})
    return str(arch["architecture"]), {
        "pretrained_cfg" if described else "pretrained_cfg_overlay": cfg,
        **options,
    }


class _Fitted:
    """Weights brought into timm's layout, and the options that make timm's model of their sizes.

    state     the weights under timm's names
    options   arguments of `timm.create_model` besides the name
    wrong     the parameters that do not fit; "" if all do
    left_out  names of tensors of the file that the model has no place for
    """

    def __init__(
        self,
        state: Mapping[str, Tensor],
        arch: Architecture,
        image_size: int | tuple[int, int] | None,
    ) -> None:
        self.arch, self.arguments = _arguments(arch)
        self.assumed: list[str] = []
        self.options: dict[str, Any] = {}
        self._check_sizes(state)
        plain = self.create("meta")
        self._read_sizes(state, plain, image_size)
        self._read_depth(state, plain)
        self.state = _with_one_head(state, self.assumed)
        self._read_parts(plain)
        self.left_out: list[str] = []
        sized = self.create("meta")
        self.wrong = misfits(sized.state_dict(), self.state)
        if self.wrong:
            self.state, self.left_out = _converted(self.state, sized)
            self._read_parts(plain)
            self.wrong = misfits(self.create("meta").state_dict(), self.state)

    def _check_sizes(self, state: Mapping[str, Tensor]) -> None:
        """Raise `WeightsError` for arguments of a config.json that timm would spend all memory on
        before a weight is compared.
        """
        for name, value in self.arguments.items():
            if isinstance(value, int) and value > MOST:
                raise WeightsError(f"{name} is {value}, and at most {MOST} are read")
        told, depth = self.arguments.get("depth"), _depth(state)
        if isinstance(told, int) and told > MOST_BLOCKS and told != depth:
            raise WeightsError(f"its config.json tells of {told} blocks, and it has {depth}")

    def create(self, device: str = "cpu") -> Any:
        """timm's model with the options, and random weights; none on the device "meta"."""
        import timm

        with torch.device(device):
            options = self.arguments | self.options
            return timm.create_model(self.arch, pretrained=False, **options)

    def _read_sizes(
        self, state: Mapping[str, Tensor], plain: Any, image_size: int | tuple[int, int] | None
    ) -> None:
        """Read the patch size off the filters, and the image size off the number of positions,
        unless the size in a config.json fits that number. Raises `WeightsError` for a number of
        positions that neither a square nor `image_size` nor the architecture has.
        """
        filters = next((state[name] for name in state if FILTERS.fullmatch(name)), None)
        patch = tuple(plain.patch_embed.patch_size)
        sizes = () if filters is None or filters.ndim != 4 else tuple(filters.shape)
        shape = sizes[2:]
        if sizes and sizes[1] != plain.patch_embed.proj.in_channels:
            self.options["in_chans"] = sizes[1]
        if len(shape) == 2 and min(shape) > 0 and shape != patch:
            patch = shape
            self.options["patch_size"] = patch if patch[0] != patch[1] else patch[0]
        positions = next((state[name] for name in state if POSITIONS.fullmatch(name)), None)
        if positions is None or positions.ndim < 2 or not hasattr(plain, "pos_embed"):
            self._read_table(state, patch)
            return
        rows = positions.shape[-2]
        prefix = any(CLS.fullmatch(name) for name in state) + ("dist_token" in state)
        extra = _registers(state)
        counts = [rows - prefix - extra]
        if getattr(plain, "no_embed_class", False):
            counts = [rows, *counts, rows - prefix]
        elif extra:
            counts += [rows - prefix, rows]
        told = "img_size" in self.arguments and patch == tuple(plain.patch_embed.patch_size)
        if told and plain.patch_embed.num_patches in counts:
            return
        if (size := _size_of(counts, patch, image_size)) is not None:
            if size != tuple(plain.patch_embed.img_size) or self.options:
                self.options["img_size"] = size
        elif self.options or plain.patch_embed.num_patches not in counts:
            raise WeightsError(_no_square(counts, patch, image_size))

    def _read_depth(self, state: Mapping[str, Tensor], plain: Any) -> None:
        """The number of blocks, if it is another one than that of the architecture."""
        depth = _depth(state)
        if depth and "depth" not in self.arguments and depth != len(plain.blocks):
            self.options["depth"] = depth
            theirs = len(plain.blocks)
            self.assumed.append(
                Message("models.assumed_depth", depth=depth, arch=self.arch, theirs=theirs)
            )

    def _read_table(self, state: Mapping[str, Tensor], patch: tuple[int, ...]) -> None:
        """The image size of a model whose only positions are a relative bias, as BEiT."""
        names = [name for name in state if name.endswith("relative_position_bias_table")]
        if names and state[names[0]].ndim == 2:
            side = (math.isqrt(max(0, len(state[names[0]]) - 3)) + 1) // 2
            if (2 * side - 1) ** 2 + 3 == len(state[names[0]]):
                self.options["img_size"] = (side * patch[0], side * patch[1])

    def _read_parts(self, plain: Any) -> None:
        """Classes, registers, CLS and pooling, as far as the weights show them."""
        state, options = self.state, self.options
        head = state.get("head.weight")
        options["num_classes"] = 0 if head is None or not head.ndim else len(head)
        if options["num_classes"] > MOST:
            raise WeightsError(f"it has more than {MOST} classes")
        if "fc_norm.weight" in state and "global_pool" not in self.arguments:
            options["global_pool"] = "avg"
        without_cls = "blocks.0.norm1.weight" in state and "cls_token" not in state
        if without_cls and plain.cls_token is not None and plain.global_pool == "token":
            options |= {"class_token": False, "global_pool": "avg"}
        registers = _registers(state)
        own = getattr(plain, "reg_token", None)
        if registers != (0 if own is None else own.shape[1]):
            named = "num_reg_tokens" in signature(type(plain).__init__).parameters
            options["num_reg_tokens" if named else "reg_tokens"] = registers
            if _ndim(state, "reg_token") == _ndim(state, "pos_embed") == 3:
                patches = math.prod(self.create("meta").patch_embed.grid_size)
                options["no_embed_class"] = state["pos_embed"].shape[1] == patches


def _registers(state: Mapping[str, Tensor]) -> int:
    return sum(state[key].shape[1] for key in REGISTERS if _ndim(state, key) == 3)


def _ndim(state: Mapping[str, Tensor], key: str) -> int:
    return state[key].ndim if key in state else -1


def _size_of(
    counts: list[int], patch: tuple[int, ...], image_size: int | tuple[int, int] | None
) -> tuple[int, int] | None:
    """The image size in pixels. `counts`: possible numbers of patches, the likeliest first.

    `image_size` if it has `counts[0]` patches, or, where no square has those, any other of
    `counts`; else the size of the first square number in `counts`; None if there is no square.
    """
    squares = []
    for count in counts:
        side = math.isqrt(max(0, count))
        exact = side > 0 and side * side == count
        squares.append((side * patch[0], side * patch[1]) if exact else None)
    if image_size is not None:
        height, width = sides_of("image_size", image_size)
        whole = height % patch[0] == 0 and width % patch[1] == 0
        fitting = counts if squares[0] is None else counts[:1]
        if whole and (height // patch[0]) * (width // patch[1]) in fitting:
            return height, width
    return next(filter(None, squares), None)


def _no_square(
    counts: list[int], patch: tuple[int, ...], image_size: int | tuple[int, int] | None
) -> str:
    """The sentence for positions that no square of patches has."""
    count = counts[-1]
    rows = next((n for n in range(math.isqrt(max(1, count)), 1, -1) if count % n == 0), 0)
    such = ""
    if rows:
        wide, tall = ((rows, count // rows), (count // rows, rows))
        sizes = [size_text((down * patch[0], across * patch[1])) for down, across in (wide, tall)]
        such = f", such as {' or '.join(sizes)}"
    given = "" if image_size is None else f", and {image_size} is not it"
    return (
        f"its positions are of {count} patches of {patch[0]} x {patch[1]}, which are no square"
        f"{given}; image_size=(height, width) says the size of its training{such}"
    )


def _with_one_head(state: Mapping[str, Tensor], assumed: list[str]) -> dict[str, Tensor]:
    """The weights with a head of one layer, such as "head.1.weight", under the plain name.

    A layer without weights before it, such as a dropout, changes nothing; that it is one is
    added to `assumed`.
    """
    layers = {name for name in state if re.fullmatch(r"head\.\d+\.weight", name)}
    beside = {name for name in state if name.startswith("head.")}
    if len(layers) != 1 or not beside <= {
        *layers,
        *(one.replace("weight", "bias") for one in layers),
    }:
        return dict(state)
    (layer,) = layers
    if state[layer].ndim != 2:
        return dict(state)
    assumed.append(Message("models.assumed_head", name=layer.removesuffix(".weight")))
    return {re.sub(r"^head\.\d+\.", "head.", name): value for name, value in state.items()}


def _converted(state: Mapping[str, Tensor], model: Any) -> tuple[dict[str, Tensor], list[str]]:
    """The weights under timm's names, by timm's own `checkpoint_filter_fn` of the model's family,
    and the names of those that it leaves out.

    Raises `WeightsError` for a bias that is left out although it is not 0.
    """
    change = getattr(sys.modules[type(model).__module__], "checkpoint_filter_fn", None)
    if change is None:
        return dict(state), []
    options = (
        {"adapt_layer_scale": True} if "adapt_layer_scale" in signature(change).parameters else {}
    )
    with redirect_stdout(StringIO()):  # it prints what it does not find
        found = dict(change(dict(state), model, **options))
    used = {value.untyped_storage().data_ptr() for value in found.values()}
    left = [
        name
        for name, value in state.items()
        if name not in found and value.untyped_storage().data_ptr() not in used
    ]
    for name in left:
        if name.startswith("pre_logits.") and "head.weight" in state:
            raise WeightsError(
                "it has a layer before its head (pre_logits), which the timm of today lacks: its "
                'answers would be others; without=["pre_logits", "head"] leaves both out '
                "(--without pre_logits,head on the command line)"
            )
        if name.endswith("qkv.bias") and bool(state[name].nan_to_num(0).any()):
            raise WeightsError(
                f"{name} is not 0, and this architecture has no bias there; its sister in timm "
                "whose name ends in _qkvb has one"
            )
    return found, [name for name in left if name not in ("cls_token", "pos_embed")]


def _why_it_does_not_fit(fitted: _Fitted, state: Mapping[str, Tensor], arch: str, file: str) -> str:
    """The sentence: which parts are left over, or else what differs, and a name that fits."""
    wanted = fitted.create("meta").state_dict()
    over = [name for name in fitted.state if name not in wanted]
    whole = {name: value for name, value in fitted.state.items() if name in wanted}
    if over and not misfits(wanted, whole):
        parts = beginnings(over)
        meant = [f"{part} ({PARTS[part]})" if part in PARTS else part for part in parts]
        listed = ", ".join(f'"{part}"' for part in parts)
        return (
            f"{file} holds the weights of {arch}, and {len(over)} tensors more, for which it has "
            f"no place: {', '.join(meant)}; without=[{listed}] leaves them out "
            f"(--without {','.join(parts)} on the command line)"
        )
    hint = guess_arch(state)
    near = (
        f'. By its sizes it may be "{hint}"' if hint and hint != arch else f". If it is {OWN_SIZES}"
    )
    return f'{file} does not fit arch="{arch}": {fitted.wrong}{near}'


def beginnings(names: Iterable[str]) -> list[str]:
    """The parts that tensors belong to, each once: "decoder" for "decoder_embed.weight"."""
    firsts = (re.match(r"mask_token|[^._]+", name) for name in names)
    return [*dict.fromkeys(first[0] for first in firsts if first)]


def grouped(names: Iterable[str]) -> tuple[str, ...]:
    """Names of tensors, those of a part together: "transformer (148 tensors)"."""
    counts: dict[str, int] = {}
    for name in names:
        part = name.partition(".")[0]
        counts[part] = counts.get(part, 0) + 1
    return tuple(
        part if count == 1 else f"{part} ({count} tensors)" for part, count in counts.items()
    )


def _assumed(loaded: LoadedModel, arch: str, told: Mapping[str, Any]) -> list[str]:
    """Sentences about facts that are taken from the architecture, because a state dict does not
    hold them. The pooling is not assumed if `told`, the arguments of a config.json, has it, or if
    the weights show it: by a norm after the pool, a distillation token, or no CLS.
    """
    config, made = loaded.card.config, loaded.preprocess
    either = config.num_classes and config.class_token and not config.dist_token
    either = either and config.final_norm != "after_pool" and "global_pool" not in told
    pools = {
        "token": Message("models.assumed_pool_token", arch=arch),
        "avg": Message("models.assumed_pool_avg", arch=arch),
    }
    return [
        Message("models.assumed_heads", heads=config.num_heads, arch=arch),
        Message(
            "models.assumed_activation",
            activation=config.activation,
            eps=f"{config.norm_eps:g}",
            arch=arch,
        ),
        *([pools[config.global_pool]] if either and config.global_pool in pools else []),
        Message("models.assumed_pixels", mean=made.mean, std=made.std, arch=arch),
    ]


def _depth(state: Mapping[str, Tensor]) -> int:
    """The number of blocks, without those of a decoder; 0 if they have other names, or gaps."""
    layers = (re.match(BLOCK, name) for name in state)
    numbers = {int(layer[1]) for layer in layers if layer and "decoder" not in layer[0]}
    return len(numbers) if numbers == set(range(len(numbers))) else 0


def guess_arch(state: Mapping[str, Tensor]) -> str | None:
    """A name of timm that these weights fit, for a hint; None if none of the usual ones does."""
    import timm

    state = {name: value for name, value in state.items() if not name.startswith("pre_logits.")}
    filters = next((state[name] for name in state if FILTERS.fullmatch(name)), None)
    if filters is None or filters.ndim != 4:
        return None
    size = SIZES.get((len(filters), _depth(state)))
    names = [name.format(size=size, patch=filters.shape[-1]) for name in NAMES] if size else []
    for name in filter(timm.is_model, names):
        try:
            if not _Fitted(state, name, None).wrong:
                return name
        except Exception:  # noqa: BLE001  # timm raises many types; this name is not it
            continue
    return None
