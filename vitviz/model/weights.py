"""Where weights come from: a file, a timm name, the hub, torchvision -> LoadedModel."""

import difflib
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ..errors import WeightsError
from .config import ViTConfig
from .preprocess import Preprocess
from .untrained import (
    DEFAULT_SEED,
    KEPT_DETAILS,
    draw,
    drawn_with,
    first_seed,
    starts_with_zero_head,
)
from .vit import ViT

WEIGHTS_DIR = Path(__file__).resolve().parents[2] / "weights"
DEFAULT_MODEL = "photos"
FORMAT = "vitviz"  # the key of our JSON in a checkpoint's safetensors metadata
FILM_SUFFIX = ".film.safetensors"  # of the film of a training, beside its checkpoint
CHECKPOINT_SUFFIXES = (".safetensors", ".pth", ".pt", ".bin")


@dataclass(frozen=True)
class Curated:
    """One line of the menu of timm models: what it is, and the image size that suits two cores."""

    title: str
    image_size: int | None = None  # None: the size the model was trained with


CURATED = {
    "deit_tiny_patch16_224.fb_in1k": Curated("DeiT tiny 16"),
    "deit_small_patch16_224.fb_in1k": Curated("DeiT small 16"),
    "vit_tiny_patch16_224.augreg_in21k_ft_in1k": Curated("ViT tiny 16, AugReg"),
    "vit_base_patch16_224.augreg2_in21k_ft_in1k": Curated("ViT base 16, AugReg"),
    "vit_small_patch16_224.dino": Curated("DINO small 16, self-supervised"),
    "vit_small_patch14_dinov2.lvd142m": Curated("DINOv2 small 14, self-supervised", 224),
    "vit_small_patch14_reg4_dinov2.lvd142m": Curated("DINOv2 small 14 with registers", 224),
    "vit_base_patch16_clip_224.openai": Curated("CLIP base 16"),
    "vit_base_patch16_siglip_224.webli": Curated("SigLIP base 16"),
}


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """What is known about a model: where it is from, what it is, what its outputs mean.

    `head` says what the outputs are: "classes" (labels exist), "embedding" (features, no class
    names), "none" (there is no head). `details` are facts in words: data set, accuracy, terms,
    ... `temperature` divides the logits before the softmax, so that shown probabilities are
    calibrated (arXiv:1706.04599); 1 where nothing was fitted. `trained` is False for random
    weights.
    """

    name: str
    source: str
    config: ViTConfig
    labels: tuple[str, ...] | None = None
    num_parameters: int = 0
    head: Literal["classes", "embedding", "none"] = "none"
    temperature: float = 1.0
    details: Mapping[str, str] = field(default_factory=dict)
    trained: bool = True

    def __post_init__(self) -> None:
        if self.labels is not None and len(self.labels) != self.config.num_classes:
            raise WeightsError(
                f"{self.name} has {len(self.labels)} labels for {self.config.num_classes} classes"
            )

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "source": self.source,
            "config": self.config.to_dict(),
            "labels": None if self.labels is None else list(self.labels),
            "num_parameters": self.num_parameters,
            "head": self.head,
            "temperature": self.temperature,
            "details": dict(self.details),
            "trained": self.trained,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ModelCard":
        values = dict(values)
        labels = values.pop("labels")
        config = ViTConfig.from_dict(values.pop("config"))
        return cls(config=config, labels=None if labels is None else tuple(labels), **values)


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model ready to look into: in eval mode, its weights frozen.

    `film` is the file with moments of its training, where one lies beside the checkpoint.
    """

    vit: ViT
    card: ModelCard
    preprocess: Preprocess
    film: Path | None = None

    @property
    def device(self) -> torch.device:
        return next(self.vit.parameters()).device


def list_models() -> list[str]:
    """Names that `load` takes: the shipped models first, then the curated timm models."""
    files = WEIGHTS_DIR.glob("*.safetensors")
    shipped = sorted(path.stem for path in files if not path.name.endswith(FILM_SUFFIX))
    shipped.sort(key=lambda name: name != DEFAULT_MODEL)
    return [*shipped, *CURATED]


def load(
    source: str | Path = DEFAULT_MODEL,
    *,
    pretrained: bool = True,
    image_size: int | tuple[int, int] | None = None,
    device: str | torch.device | None = None,
) -> LoadedModel:
    """A model by name or path, in eval mode, frozen, on the GPU if there is one.

    `source` is a shipped model ("photos", "mnist"); a checkpoint file made by vitviz, or one of
    torchvision's ViTs; any timm name; or `hf-hub:owner/name` and `local-dir:folder`, as timm reads
    them. `pretrained=False` gives the untrained twin, always the same one: of a vitviz checkpoint
    exactly the random weights that its training began with (drawn for its own config, where that
    grew out of an earlier run's), of others weights of a fixed seed; nothing is downloaded, and
    torch's random state is not touched. `image_size` (pixels) asks timm to interpolate the position
    embedding to another size.
    Raises `WeightsError`, whose sentence says what is missing, damaged or not supported.
    """
    name = str(source)
    if name in list_models() and name not in CURATED:
        loaded = _load_checkpoint(WEIGHTS_DIR / f"{name}.safetensors", name)
    elif isinstance(source, Path) or name.endswith(CHECKPOINT_SUFFIXES):
        loaded = _load_checkpoint(Path(source), Path(source).stem)
    else:
        loaded = _load_timm(name, pretrained, image_size)
    if not pretrained and loaded.card.trained:
        loaded = _untrained(loaded)
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        loaded.vit.to(device)
    except (RuntimeError, AssertionError) as error:  # torch's own types for "not here"
        reason = str(error).splitlines()[0]
        raise WeightsError(f"the device {str(device)!r} cannot be used: {reason}") from error
    return loaded


def save_checkpoint(
    path: str | Path,
    state_dict: Mapping[str, Tensor],
    *,
    config: ViTConfig,
    preprocess: Preprocess,
    labels: tuple[str, ...] | None,
    details: Mapping[str, str],
    dtype: torch.dtype = torch.float16,
) -> None:
    """Write the file that `load` reads: weights, and in its metadata all it takes to use them.

    A "temperature" in `details` is applied to the shown probabilities. Nothing is left behind if
    writing fails half-way: the file is written beside its place and then moved there.
    """
    from safetensors.torch import save_file

    path = Path(path)
    text = json.dumps(
        {
            "config": config.to_dict(),
            "preprocess": preprocess.to_dict(),
            "labels": None if labels is None else list(labels),
            "details": dict(details),
        }
    )
    tensors = {
        name: tensor.detach().to("cpu", dtype).contiguous() for name, tensor in state_dict.items()
    }
    partial = path.with_name(f".{path.name}.partial")
    try:
        save_file(tensors, partial, metadata={FORMAT: text})
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def from_timm(
    model: nn.Module, name: str | None = None, source: str = "a timm model object"
) -> LoadedModel:
    """The same weights in vitviz's own ViT, giving the same logits. The timm model is not changed.

    Raises `WeightsError` that names the switch if the model is not one of timm's plain
    VisionTransformers.
    """
    from timm.data import resolve_model_data_config

    cfg = getattr(model, "pretrained_cfg", None) or {}
    name = name or cfg.get("architecture") or type(model).__name__
    config = _config_from_timm(model, name)
    data_config = dict(resolve_model_data_config(model))
    data_config["input_size"] = (config.in_chans, *model.patch_embed.img_size)
    labels = _own_labels(cfg, config.num_classes) or _imagenet_labels(config.num_classes)
    details = {
        key: str(cfg[key])
        for key in ("tag", "hf_hub_id", "license", "origin_url", "paper_name")
        if cfg.get(key)
    }
    card = ModelCard(
        name=name,
        source=source,
        config=config,
        labels=labels,
        head="classes" if labels else "embedding" if config.num_classes else "none",
        details=details,
    )
    state = {key: value.detach().clone().float() for key, value in model.state_dict().items()}
    return _build(state, card, Preprocess.from_timm(data_config))


def _build(state: Mapping[str, Tensor], card: ModelCard, preprocess: Preprocess) -> LoadedModel:
    """Put weights into a ViT; every parameter must be there, with its shape, and nothing else."""
    with torch.device(
        "meta"
    ):  # the weights below take the place of these: nothing is drawn or held twice
        vit = ViT(card.config)
    expected = {key: tuple(value.shape) for key, value in vit.state_dict().items()}
    found = {key: tuple(value.shape) for key, value in state.items()}
    if expected != found:
        wrong = [
            *(f"{key} is missing" for key in expected if key not in found),
            *(f"{key} is not expected" for key in found if key not in expected),
            *(
                f"{key} has shape {found[key]} instead of {expected[key]}"
                for key in expected
                if key in found and found[key] != expected[key]
            ),
        ]
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise WeightsError(f"the weights of {card.name} do not fit: {'; '.join(wrong[:5])}{more}")
    if bad := [key for key, value in state.items() if not torch.isfinite(value).all()]:
        raise WeightsError(
            f"the weights of {card.name} are damaged: {bad[0]} holds values that are not finite"
        )
    vit.load_state_dict(state, strict=True, assign=True)
    vit.eval().requires_grad_(False)
    num_parameters = sum(parameter.numel() for parameter in vit.parameters())
    return LoadedModel(vit, replace(card, num_parameters=num_parameters), preprocess)


def _untrained(loaded: LoadedModel) -> LoadedModel:
    """The same model with the weights that its training began with."""
    card, details = loaded.card, loaded.card.details
    seed = first_seed(details)
    state = draw(
        card.config,
        DEFAULT_SEED if seed is None else seed,
        zero_head=starts_with_zero_head(details),
    )
    how = f"with which training began (seed {seed})" if seed is not None else "of a fixed seed"
    twin = replace(
        card,
        source=f"untrained: random weights {how}",
        temperature=1.0,
        details={key: details[key] for key in KEPT_DETAILS if key in details},
        trained=False,
    )
    return replace(_build(state, twin, loaded.preprocess), film=loaded.film)


# --- files
# -----------------------------------------------------------------------------------------


def _load_checkpoint(path: Path, name: str) -> LoadedModel:
    if not path.is_file():
        raise WeightsError(f"there is no checkpoint file {path}")
    state, metadata = (
        _read_safetensors(path) if path.suffix == ".safetensors" else (_read_pickle(path), {})
    )
    if FORMAT in metadata:
        return _from_own(state, metadata[FORMAT], path, name)
    if "conv_proj.weight" in state:
        return _from_torchvision(state, path, name)
    raise WeightsError(
        f"{path.name} holds {len(state)} tensors but does not say which model they belong to; "
        "vitviz reads its own .safetensors files and torchvision's ViT checkpoints "
        "(for a timm checkpoint: load it with timm, then vitviz.from_timm(model))"
    )


def _read_safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()
            return {name: file.get_tensor(name) for name in names}, dict(file.metadata() or {})
    except (SafetensorError, OSError, ValueError) as error:
        raise WeightsError(f"{path.name} is not a whole .safetensors file: {error}") from error


def _read_pickle(path: Path) -> dict[str, Tensor]:
    """A state dict from torch's format. Only tensors: a pickle can hold code that runs."""
    import pickle

    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        raise WeightsError(
            f"{path.name} cannot be read as plain weights: it is damaged, or a pickle that needs "
            "more than tensors. Such a file could run code and is not opened; "
            "save its state_dict as .safetensors instead"
        ) from error
    for key in ("state_dict", "model"):  # as many training scripts wrap it
        if isinstance(state, dict) and isinstance(state.get(key), dict):
            state = state[key]
    if not isinstance(state, dict) or not all(
        isinstance(value, Tensor) for value in state.values()
    ):
        raise WeightsError(f"{path.name} does not hold a state_dict of tensors")
    return state


def _from_own(state: dict[str, Tensor], text: str, path: Path, name: str) -> LoadedModel:
    try:
        meta = json.loads(text)
        config = ViTConfig.from_dict(meta["config"])
        preprocess = Preprocess.from_dict(meta["preprocess"])
        labels = None if meta["labels"] is None else tuple(map(str, meta["labels"]))
        details = {str(key): str(value) for key, value in meta["details"].items()}
        temperature = float(details.get("temperature", 1))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WeightsError(f"the description inside {path.name} is damaged: {error!r}") from error
    if not 0 < temperature < float("inf"):
        raise WeightsError(
            f"the temperature in {path.name} must be a positive number, got {temperature}"
        )
    card = ModelCard(
        name=name,
        source=f"{path.name}, trained with vitviz",
        config=config,
        labels=labels,
        head="classes" if labels else "embedding" if config.num_classes else "none",
        temperature=temperature,
        details=details,
    )
    loaded = _build({key: value.float() for key, value in state.items()}, card, preprocess)
    film = path.with_name(path.name.removesuffix(".safetensors") + FILM_SUFFIX)
    return replace(loaded, film=film) if film.is_file() else loaded


def _from_torchvision(state: dict[str, Tensor], path: Path, name: str) -> LoadedModel:
    """torchvision's `vit_b_16` and its sisters: the same model under other names.

    Names: https://github.com/pytorch/vision/blob/main/torchvision/models/vision_transformer.py
    """
    names = {
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
    renamed = {}
    for key, value in state.items():
        new = key.replace("encoder.layers.encoder_layer_", "blocks.")
        for theirs, ours in names.items():
            new = new.replace(theirs, ours)
        renamed[new] = value.float()
    try:
        dim, in_chans, ph, pw = renamed["patch_embed.proj.weight"].shape
        num_patches = renamed["pos_embed"].shape[1] - 1
        num_classes = len(renamed["head.weight"]) if "head.weight" in renamed else 0
        hidden = len(renamed["blocks.0.mlp.fc1.weight"])
    except (KeyError, ValueError) as error:
        raise WeightsError(f"{path.name} looks like torchvision's ViT but lacks {error}") from error
    heads = {768: 12, 1024: 16, 1280: 16}.get(
        dim
    )  # not in the file; torchvision has these three widths
    side = round(num_patches**0.5)
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
    labels = _imagenet_labels(num_classes)
    card = ModelCard(
        name=name,
        source=f"{path.name}, a torchvision checkpoint",
        config=config,
        labels=labels,
        head="classes" if labels else "embedding" if num_classes else "none",
    )
    plain = (
        side * ph == 224
    )  # torchvision's own transforms: 256 then 224 bilinear; SWAG weights resize only
    preprocess = Preprocess(
        size=config.image_size,
        channels=in_chans,
        mean=(0.485, 0.456, 0.406),
        std=(0.229, 0.224, 0.225),
        crop_pct=224 / 256 if plain else 1.0,
        interpolation="bilinear" if plain else "bicubic",
    )
    return _build(renamed, card, preprocess)


# --- timm
# ------------------------------------------------------------------------------------------


def _load_timm(
    name: str, pretrained: bool, image_size: int | tuple[int, int] | None
) -> LoadedModel:
    import timm

    is_id = name.startswith(("hf-hub:", "hf_hub:", "local-dir:"))
    if not is_id and not timm.is_model(name.partition(".")[0]):
        raise WeightsError(_unknown_model(name))
    extra = {} if image_size is None else {"img_size": image_size}
    try:
        if pretrained:
            if not is_id:  # refuse what is not plain before anything is downloaded
                with torch.device("meta"):
                    _config_from_timm(timm.create_model(name, pretrained=False), name)
            with _hub():
                model = timm.create_model(name, pretrained=True, **extra)
        else:
            with drawn_with(DEFAULT_SEED):
                model = timm.create_model(name, pretrained=False, **extra)
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, AssertionError) as error:
        raise WeightsError(_why_not(name, pretrained, error)) from error
    if pretrained:
        return from_timm(model, name, "timm, pretrained")
    twin = from_timm(model, name, "untrained: timm's architecture, random weights of a fixed seed")
    return replace(twin, card=replace(twin.card, details={}, trained=False))


def _unknown_model(name: str) -> str:
    import timm

    known = [*list_models(), *timm.list_models("*vit*")]
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return (
        f'"{name}" is not a shipped model, a file that ends in {", ".join(CHECKPOINT_SUFFIXES)}, '
        f"a timm name or an hf-hub:/local-dir: id{hint}"
    )


def _why_not(name: str, pretrained: bool, error: Exception) -> str:
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    if isinstance(error, LocalEntryNotFoundError | OfflineModeIsEnabled):
        shipped = [model for model in list_models() if model not in CURATED]
        return (
            f"the weights of {name} are not on this machine and there is no connection to the "
            "Hugging Face hub to download them; "
            f"{' and '.join(shipped) or 'the shipped models'} work without a network"
        )
    if isinstance(error, HfHubHTTPError):
        return f"the Hugging Face hub did not give the weights of {name}: {error}".splitlines()[0]
    what = f"{name} with its weights" if pretrained else name
    return f"timm could not build {what}: {error}".splitlines()[0]


_hub_lock = threading.Lock()


@contextmanager
def _hub() -> Iterator[None]:
    """Ask the hub only if it answers: its client retries for most of a minute."""
    from huggingface_hub import constants

    with _hub_lock:
        before = constants.HF_HUB_OFFLINE
        constants.HF_HUB_OFFLINE = before or not _answers(constants.ENDPOINT)
        try:
            yield
        finally:
            constants.HF_HUB_OFFLINE = before


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=3).close()
    except urllib.error.HTTPError:  # an error page is an answer too
        return True
    except OSError:
        return False
    return True


def _imagenet_labels(num_classes: int) -> tuple[str, ...] | None:
    """Class names of ImageNet-1k, 12k, 21k or 22k in timm's order, told apart by their size."""
    from timm.data import ImageNetInfo, infer_imagenet_subset

    subset = infer_imagenet_subset({"num_classes": num_classes})
    return tuple(ImageNetInfo(subset).label_descriptions()) if subset else None


def _own_labels(cfg: Mapping[str, Any], num_classes: int) -> tuple[str, ...] | None:
    """Class names that a model brought along in its `config.json`, as on the hub."""
    names = cfg.get("label_names")
    if not isinstance(names, list | tuple) or len(names) != num_classes or not num_classes:
        return None
    texts = cfg.get("label_descriptions")
    texts = texts if isinstance(texts, Mapping) else {}
    return tuple(str(texts.get(name, name)) for name in names)


def _config_from_timm(model: nn.Module, name: str) -> ViTConfig:
    """Read the architecture off a timm model; what vitviz's ViT does not have is refused."""
    kind = type(model).__name__
    if kind not in ("VisionTransformer", "VisionTransformerDistilled"):
        raise _refusal(name, f"it is a {kind}")
    block = model.blocks[0]
    attn, mlp = getattr(block, "attn", None), getattr(block, "mlp", None)
    mlp_kinds = {"Mlp": "mlp", "SwiGLU": "swiglu", "GluMlp": "swiglu_packed"}
    activations = {
        "GELU": "gelu",
        "GELUTanh": "gelu_tanh",
        "QuickGELU": "quick_gelu",
        "SiLU": "silu",
    }
    norm_kinds = {"LayerNorm": "layernorm", "RmsNorm": "rmsnorm", "RMSNorm": "rmsnorm"}

    def expect(what: str, module: Any, allowed: Any) -> None:
        if type(module).__name__ not in allowed:
            raise _refusal(name, f"its {what} is {type(module).__name__}")

    expect("patch embedding", model.patch_embed, ("PatchEmbed",))
    expect("block", block, ("Block", "ResPostBlock"))
    expect("attention", attn, ("Attention",))
    expect("MLP", mlp, mlp_kinds)
    expect("activation", mlp.act, activations)
    expect("norm", block.norm1, norm_kinds)
    norms = {(type(m).__name__, m.eps) for m in model.modules() if type(m).__name__ in norm_kinds}
    pool = model.global_pool
    if model.attn_pool is not None:
        expect("pooling", model.attn_pool, ("AttentionPoolLatent",))
    for what, wrong in (
        ("norms differ from each other", len(norms) != 1),
        ("attention is gated", getattr(attn, "gate", None) is not None),
        ("attention is wider than embed_dim", attn.qkv.out_features != 3 * model.embed_dim),
        (f'pooling is "{pool}"', pool not in ("token", "avg", "map", "")),
        (
            "patch embedding pads",
            getattr(model.patch_embed, "dynamic_img_pad", False),
        ),
    ):
        if wrong:
            raise _refusal(name, f"its {what}")

    def is_identity(module: nn.Module) -> bool:
        return isinstance(module, nn.Identity)

    distilled = kind == "VisionTransformerDistilled"
    patch = model.patch_embed.patch_size
    # Where the patch does not divide the image, timm's convolution never sees the last rows and
    # columns.
    image = tuple(side // p * p for side, p in zip(model.patch_embed.img_size, patch, strict=True))
    return ViTConfig(
        image_size=image,
        patch_size=tuple(patch),
        in_chans=model.patch_embed.proj.in_channels,
        num_classes=model.num_classes,
        embed_dim=model.embed_dim,
        depth=len(model.blocks),
        num_heads=attn.num_heads,
        mlp_hidden_dim=mlp.fc2.in_features,
        class_token=model.cls_token is not None,
        dist_token=distilled,
        reg_tokens=0 if model.reg_token is None else model.reg_token.shape[1],
        pos_embed=model.pos_embed is not None,
        pos_embed_prefix=not model.no_embed_class,
        patch_bias=model.patch_embed.proj.bias is not None,
        patch_norm_after=not is_identity(model.patch_embed.norm),
        norm=norm_kinds[type(block.norm1).__name__],
        norm_eps=block.norm1.eps,
        norm_pre=not is_identity(model.norm_pre),
        final_norm="before_pool"
        if not is_identity(model.norm)
        else "after_pool"
        if not is_identity(model.fc_norm)
        else "none",
        post_norm=type(block).__name__ == "ResPostBlock",
        qkv_bias=attn.qkv.bias is not None,
        qk_norm=not is_identity(attn.q_norm),
        attn_norm=not is_identity(attn.norm),
        proj_bias=attn.proj.bias is not None,
        layer_scale=hasattr(block, "ls1") and not is_identity(block.ls1),
        mlp=mlp_kinds[type(mlp).__name__],
        mlp_norm=not is_identity(mlp.norm),
        activation=activations[type(mlp.act).__name__],
        global_pool=pool,
        pool_prefix=model.pool_include_prefix,
    )


def _refusal(name: str, why: str) -> WeightsError:
    return WeightsError(
        f"{name} is not a plain Vision Transformer: {why}, which vitviz does not take apart"
    )
