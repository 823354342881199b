"""timm's plain ViTs as vitviz's own ViT, by name or as an object; others are refused."""

import difflib
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from ..errors import WeightsError
from ..languages import Message
from . import hub
from .checkpoints import CHECKPOINT_SUFFIXES
from .config import ViTConfig
from .labels import imagenet_labels, own_labels
from .loaded import LoadedModel, ModelCard, build, head_of
from .menu import CURATED, list_models
from .preprocess import Preprocess
from .untrained import DEFAULT_SEED, drawn_with

HUB_IDS = ("hf-hub:", "hf_hub:")
IDS = (*HUB_IDS, "local-dir:")
HUB_FILES = ("model.safetensors", "pytorch_model.bin")  # in the order in which timm looks for them


def load_timm(name: str, pretrained: bool) -> LoadedModel:
    """Load a model by a name that timm knows, or by an hf-hub: or local-dir: id.

    Raises `WeightsError` for an unknown name, for weights that can neither be downloaded nor found
    in the cache, and for a model that is not a plain Vision Transformer.
    """
    import timm

    if not name.startswith(IDS) and not timm.is_model(name.partition(".")[0]):
        raise WeightsError(_unknown_model(name))
    try:
        with nullcontext() if pretrained else drawn_with(DEFAULT_SEED):
            model = _create(name, pretrained)
    except WeightsError:
        raise
    except Exception as error:  # timm, the hub's client and the network raise many types
        raise WeightsError(_why_not(name, pretrained, error)) from error
    if pretrained:
        return from_timm(model, name, Message("models.pretrained"))
    twin = from_timm(model, name, Message("models.untrained_timm"))
    return replace(twin, card=replace(twin.card, details={}, trained=False))


def _create(name: str, pretrained: bool) -> nn.Module:
    """The timm model; what comes from the hub is read from the cache if the hub does not answer.

    Without that, the hub's client would retry for most of a minute. Its offline mode is a switch of
    the whole process, in which another thread may be downloading.
    """
    import timm

    on_hub, cfg = name.startswith(HUB_IDS), {}
    if pretrained and not name.startswith(IDS):  # refuse before any download
        with torch.device("meta"):
            plain = timm.create_model(name, pretrained=False)
        config_from_timm(plain, name)
        cfg = plain.pretrained_cfg
    model_id = name.partition(":")[2] if on_hub else cfg.get("hf_hub_id")
    if not model_id or hub.is_there():
        return timm.create_model(name, pretrained=pretrained)
    if on_hub:
        file = hub.cached(model_id, *(HUB_FILES if pretrained else ("config.json",)))
        model = timm.create_model(f"local-dir:{file.parent}", pretrained=pretrained)
        model.pretrained_cfg["hf_hub_id"] = model_id
        return model
    file = hub.cached(model_id, *filter(None, [cfg.get("hf_hub_filename")]), *HUB_FILES)
    # `custom_load` belongs to the original file, from which timm's own was once converted.
    overlay = {"file": str(file), "custom_load": False}
    return timm.create_model(name, pretrained=True, pretrained_cfg_overlay=overlay)


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
    config = config_from_timm(model, name)
    data_config = dict(resolve_model_data_config(model))
    data_config["input_size"] = (config.in_chans, *model.patch_embed.img_size)
    labels = own_labels(cfg, config.num_classes) or imagenet_labels(config.num_classes)
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
        head=head_of(labels, config),
        details=details,
    )
    state = {key: value.detach().clone().float() for key, value in model.state_dict().items()}
    return build(state, card, Preprocess.from_timm(data_config))


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
        others = " and ".join(shipped) or "the shipped models"
        return Message("models.no_connection", name=name, others=others)
    reason = (str(error) or type(error).__name__).splitlines()[0]
    network_error = HfHubHTTPError.__bases__[0]  # of requests or of httpx, as the version has it
    if isinstance(error, network_error):
        return Message("models.hub_refused", name=name, reason=reason)
    what = f"{name} with its weights" if pretrained else name
    return Message("models.timm_failed", name=what, reason=reason)


def config_from_timm(model: nn.Module, name: str) -> ViTConfig:
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
