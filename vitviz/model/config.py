"""ViTConfig: every choice that makes one Vision Transformer differ from another."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from ..errors import WeightsError
from ..languages import Message
from .json_values import is_number, is_whole, short

NORMS = ("layernorm", "rmsnorm")
ACTIVATIONS = ("gelu", "gelu_tanh", "quick_gelu", "silu")
MLPS = ("mlp", "swiglu", "swiglu_packed")
POOLS = ("token", "avg", "token_avg", "map", "")
FINAL_NORMS = ("before_pool", "after_pool", "none")
ROTARY = ("normalised", "axial", "mixed")
ORDERS = ("yx", "xy")
MOST = 2**16  # bound of every size and count: a damaged file must not exhaust the memory
# Allowed values of each field, here and in the page's engine (vitviz/payload/tables.py). All other
# fields but `rotary` are true or false.
SIDES = ("image_size", "patch_size", "reference")
LEAST = {  # of each count
    "in_chans": 1,
    "num_classes": 0,
    "embed_dim": 1,
    "depth": 1,
    "num_heads": 1,
    "mlp_hidden_dim": 1,
    "reg_tokens": 0,
    "pool_heads": 1,
    "pool_hidden_dim": 1,
}
NUMBERS = {"norm_eps": (1e-30, 1), "temperature": (1, 1e9), "offset": (-MOST, MOST)}
WORDS = {
    "norm": NORMS,
    "activation": ACTIVATIONS,
    "mlp": MLPS,
    "global_pool": POOLS,
    "final_norm": FINAL_NORMS,
    "kind": ROTARY,
    "order": ORDERS,
}


@dataclass(frozen=True, kw_only=True)
class Rotary:
    """How q and k of a patch are turned by its place: rotary positions (arXiv:2104.09864).

    Pair m of the d / 2 pairs of channels, m and m + d / 2, is turned by y w_m, or by x w_m in the
    other half of the pairs; w_m = temperature^(-m / (d / 4)) in both halves.

    kind         "normalised": y and x run from -2 pi to 2 pi across any picture (DINOv3);
                 "axial": they count patches (EVA-02, RoPE-ViT, Perception Encoder);
                 "mixed": they do too, and a pair is turned by y F_y + x F_x, where every block and
                 head has learned its own F (RoPE-ViT, arXiv:2403.13298)
    temperature  base of w_m: the first pairs turn about this many times as fast as the last;
                 "mixed" uses it for the initial F only
    order        the axis of the first half of the pairs, and of the first row of the learned F
    offset       the number of the first row and column
    reference    rows and columns of the grid that the count is stretched to; None: not stretched
    """

    kind: Literal["normalised", "axial", "mixed"]
    temperature: float = 100.0
    order: Literal["yx", "xy"] = "yx"
    offset: float = 0.0
    reference: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name, right in (
            ("kind", self.kind in ROTARY),
            ("temperature", is_number(self.temperature, *NUMBERS["temperature"])),
            ("order", self.order in ORDERS),
            ("offset", is_number(self.offset, *NUMBERS["offset"])),
        ):
            if not right:
                raise WeightsError(
                    f"rotary has no {name} {short(getattr(self, name))}: its kind is one of "
                    f"{', '.join(ROTARY)}, its order {' or '.join(ORDERS)}, the rest are numbers"
                )
        if self.reference is not None:
            object.__setattr__(self, "reference", sides_of("reference", self.reference))

    @classmethod
    def of(cls, value: Any) -> "Rotary | None":
        """The value itself, or the one that JSON describes. Raises `WeightsError`."""
        if value is None or isinstance(value, cls):
            return value
        try:
            return cls(**value)
        except TypeError as error:  # no dictionary, or of other fields
            raise WeightsError(f"rotary must have a kind, got {short(value)}") from error


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """Sizes and switches of a ViT; the defaults are ViT-B/16 (arXiv:2010.11929, table 1).

    Lengths are in pixels, height before width; an int stands for a square. Raises `WeightsError`
    with a sentence when the sizes cannot work together.
    """

    image_size: tuple[int, int] = (224, 224)
    patch_size: tuple[int, int] = (16, 16)
    in_chans: int = 3
    num_classes: int = 1000  # 0: no head, the model answers with pooled features
    embed_dim: int = 768
    depth: int = 12
    num_heads: int = 12
    # Between the two projections of the MLP. None becomes 4 * embed_dim, so it is read as an int.
    mlp_hidden_dim: int = None  # type: ignore[assignment]

    # Tokens in front of the patches, in this order, and where positions are added.
    class_token: bool = True
    dist_token: bool = False  # DeiT's second token with a head of its own (arXiv:2012.12877)
    reg_tokens: int = 0  # registers (arXiv:2309.16588)
    pos_embed: bool = True
    pos_embed_prefix: bool = True  # False: positions for patches only, as DeiT-III and FlexiViT

    # Positions inside attention, in every block; a model can have learned positions as well.
    rotary: Rotary | None = None  # q and k are turned by their place
    relative_bias: bool = False  # a learned number per offset is added to scores (arXiv:2106.08254)

    # Patch embedding.
    patch_bias: bool = True  # CLIP has none
    patch_norm_before: bool = False  # LayerNorm on the flattened patch, as in vit-pytorch
    patch_norm_after: bool = False  # norm on the projected patch, as in vit-pytorch and AIMv2

    # Norms.
    norm: Literal["layernorm", "rmsnorm"] = "layernorm"
    norm_eps: float = (
        1e-6  # the paper's JAX code and timm; CLIP has 1e-5, which is also torch's default
    )
    norm_pre: bool = False  # one more norm before the first block: CLIP
    final_norm: Literal["before_pool", "after_pool", "none"] = "before_pool"

    # Blocks.
    post_norm: bool = False  # norm after attention and MLP, before the sum
    qkv_bias: bool = True
    qk_norm: bool = False  # norm on every q and k (arXiv:2302.05442)
    attn_norm: bool = False  # norm between attention and its projection: BEiT-3
    proj_bias: bool = True
    layer_scale: bool = False  # a gain per channel on each branch (arXiv:2103.17239)
    mlp: Literal["mlp", "swiglu", "swiglu_packed"] = "mlp"
    mlp_norm: bool = False
    activation: Literal["gelu", "gelu_tanh", "quick_gelu", "silu"] = "gelu"

    # From tokens to the answer.
    # "token_avg": CLS and the mean side by side, as DINOv2's classifiers; "": logits per token
    global_pool: Literal["token", "avg", "token_avg", "map", ""] = "token"
    pool_prefix: bool = False  # the mean and "map" include the prefix tokens
    # Heads and hidden width of "map"; None: as in the blocks.
    pool_heads: int = None  # type: ignore[assignment]
    pool_hidden_dim: int = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in ("image_size", "patch_size"):
            object.__setattr__(self, name, sides_of(name, getattr(self, name)))
        for name in ("in_chans", "embed_dim", "depth", "num_heads"):
            self._check_count(name)
        if self.mlp_hidden_dim is None:
            object.__setattr__(self, "mlp_hidden_dim", 4 * self.embed_dim)
        for name, blocks in (("pool_heads", "num_heads"), ("pool_hidden_dim", "mlp_hidden_dim")):
            if getattr(self, name) is None:
                object.__setattr__(self, name, getattr(self, blocks))
        for name in ("mlp_hidden_dim", "pool_heads", "pool_hidden_dim"):
            self._check_count(name)
        object.__setattr__(self, "rotary", Rotary.of(self.rotary))
        for name in ("num_classes", "reg_tokens"):
            self._check_count(name)
        for field in fields(self):
            if field.type is bool and not isinstance(value := getattr(self, field.name), bool):
                raise WeightsError(f"{field.name} must be true or false, got {short(value)}")
        if not is_number(self.norm_eps, *NUMBERS["norm_eps"]):
            raise WeightsError(
                f"norm_eps must be a number from 1e-30 to 1, got {short(self.norm_eps)}"
            )
        for axis, size, patch in zip(
            ("height", "width"), self.image_size, self.patch_size, strict=True
        ):
            if size % patch:
                raise WeightsError(
                    f"image_size: the {axis} {size} is not a multiple of the patch's {patch}"
                )
        for name in ("num_heads", "pool_heads"):
            if self.embed_dim % (heads := getattr(self, name)):
                raise WeightsError(
                    f"embed_dim {self.embed_dim} is not a multiple of {name} {heads}"
                )
        self._check_positions()
        for name in ("norm", "activation", "mlp", "global_pool", "final_norm"):
            if (value := getattr(self, name)) not in (allowed := WORDS[name]):
                raise WeightsError(
                    f"{name} must be one of {', '.join(map(repr, allowed))}, got {short(value)}"
                )
        if self.global_pool in ("token", "token_avg") and not self.class_token:
            raise WeightsError(
                f'global_pool "{self.global_pool}" reads the CLS token, but class_token is off; '
                'use "avg"'
            )
        if self.dist_token and self.global_pool != "token":
            raise WeightsError(
                'dist_token needs global_pool "token": its head reads the distillation token'
            )

    def _check_positions(self) -> None:
        if self.rotary and self.head_dim % 4:
            raise WeightsError(
                f"rotary needs heads of a multiple of 4 channels, half of them for each axis, "
                f"got {self.head_dim}"
            )
        if self.relative_bias and (not self.class_token or self.num_prefix_tokens > 1):
            raise WeightsError("relative_bias is of CLS and the patches: it needs no more, no less")

    def _check_count(self, name: str) -> None:
        value, least = getattr(self, name), LEAST[name]
        if not is_whole(value) or value < least:
            raise WeightsError(
                f"{name} must be a whole number of at least {least}, got {short(value)}"
            )
        if value > MOST:
            raise WeightsError(f"{name} must be at most {MOST}, got {short(value)}")

    @property
    def grid_size(self) -> tuple[int, int]:
        """Patches per column and per row: (rows, cols)."""
        return self.image_size[0] // self.patch_size[0], self.image_size[1] // self.patch_size[1]

    @property
    def num_patches(self) -> int:
        rows, cols = self.grid_size
        return rows * cols

    @property
    def prefix_names(self) -> tuple[str, ...]:
        """Names of the tokens in front of the patches, in the order of the sequence."""
        registers = [f"reg_token {i}" for i in range(1, self.reg_tokens + 1)]
        return (
            ("cls_token",) * self.class_token + ("dist_token",) * self.dist_token + tuple(registers)
        )

    @property
    def num_prefix_tokens(self) -> int:
        return len(self.prefix_names)

    @property
    def num_tokens(self) -> int:
        return self.num_prefix_tokens + self.num_patches

    @property
    def tokens_read(self) -> int | None:
        """Number of leading tokens that the answer is read from; None: all of them."""
        return 1 + self.dist_token if self.global_pool == "token" else None

    @property
    def pooled_dim(self) -> int:
        """Width of the pooled vector that the head reads."""
        return self.embed_dim * (2 if self.global_pool == "token_avg" else 1)

    @property
    def head_dim(self) -> int:
        return self.embed_dim // self.num_heads

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON knows them (sizes become lists)."""
        return _listed(asdict(self))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ViTConfig":
        """The config that `to_dict` wrote. Raises `WeightsError` on a field that is not known."""
        if not isinstance(values, Mapping):
            raise WeightsError(f"a model's config must be a dictionary, got {short(values)}")
        if unknown := sorted(map(str, set(values) - {field.name for field in fields(cls)})):
            raise WeightsError(
                f"the model's config has fields that vitviz does not know: {', '.join(unknown[:5])}"
            )
        return cls(**values)


def check_channels(in_chans: object, name: str, weight: str = "patch_embed.proj.weight") -> None:
    """Raise `WeightsError`, with a way out, for a model of channels that a photo does not have.
    `weight`: the name of its filters in its own file.
    """
    if in_chans in (1, 3) or not isinstance(in_chans, int) or isinstance(in_chans, bool):
        return
    some, which, left = "one of them", "[0]", 1
    if in_chans > 3:
        some = "three of them, such as the red, green and blue of a satellite,"
        which, left = "[3, 2, 1]", 3
    raise WeightsError(
        f"{name} takes pictures of {short(in_chans)} channels, and a photo has 1 (grey) or 3 (RGB)."
        f" With {some} it loads: "
        f'state["{weight}"] = state["{weight}"][:, {which}], and a model with in_chans={left}'
    )


def _listed(value: Any) -> Any:
    """The value with lists in place of tuples, as JSON returns it."""
    if isinstance(value, dict):
        return {name: _listed(item) for name, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def sides_of(name: str, value: Any) -> tuple[int, int]:
    """Height and width in pixels; an int stands for a square. Raises `WeightsError` otherwise."""
    pair = (
        (value, value)
        if is_whole(value)
        else tuple(value)
        if isinstance(value, list | tuple)
        else ()
    )
    if len(pair) != 2 or not all(is_whole(side) and 0 < side <= MOST for side in pair):
        raise WeightsError(Message("models.sides", name=name, most=MOST, value=short(value)))
    return pair
