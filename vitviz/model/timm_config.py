"""The architecture of a timm model as a `ViTConfig`; every part that is not plain is refused."""

from typing import Any

from torch import nn

from ..errors import WeightsError
from .config import ViTConfig

# timm's classes that vitviz's ViT has, and how `ViTConfig` calls them.
MODELS = ("VisionTransformer", "VisionTransformerDistilled")
BLOCKS = ("Block", "ResPostBlock")
NORMS = {"LayerNorm": "layernorm", "RmsNorm": "rmsnorm", "RMSNorm": "rmsnorm"}
MLPS = {"Mlp": "mlp", "SwiGLU": "swiglu", "GluMlp": "swiglu_packed"}
ACTIVATIONS = {
    "GELU": "gelu",
    "GELUTanh": "gelu_tanh",
    "QuickGELU": "quick_gelu",
    "SiLU": "silu",
}
# Every part of a plain ViT by its name in timm, and the classes that it may have.
PARTS = {
    "": MODELS,
    "patch_embed": ("PatchEmbed",),
    "blocks": ("Sequential",),
    "attn": ("Attention",),
    "attn_pool": ("AttentionPoolLatent",),
    "mlp": MLPS,
    "act": ACTIVATIONS,
    "proj": ("Linear", "Conv2d"),
    **dict.fromkeys(("qkv", "q", "kv", "fc1", "fc1_g", "fc1_x", "fc2"), ("Linear",)),
    **dict.fromkeys(("head", "head_dist"), ("Linear", "Identity")),
    **dict.fromkeys(("norm1", "norm2"), NORMS),
    **dict.fromkeys(("norm", "norm_pre", "fc_norm", "q_norm", "k_norm"), (*NORMS, "Identity")),
    **dict.fromkeys(("ls1", "ls2"), ("LayerScale", "Identity")),
    **dict.fromkeys(  # these act in training only
        (
            *("pos_drop", "patch_drop", "attn_drop", "proj_drop", "drop1", "drop2"),
            *("drop_path1", "drop_path2", "head_drop"),
        ),
        ("Dropout", "DropPath", "PatchDropout", "Identity"),
    ),
}


def config_from_timm(model: Any, name: str) -> ViTConfig:
    """Read the architecture off a timm model; what vitviz's ViT does not have is refused."""
    _check_parts(model, name)
    first, *others = map(_config_of_block, model.blocks)
    for index, block in enumerate(others, start=1):
        for key, value in block.items():
            if value != first[key]:
                raise not_plain(
                    name, f"its block {index} has {key} {value!r} and its block 0 {first[key]!r}"
                )
    for path, module in model.named_modules():
        norm = NORMS.get(_kind(module))
        if norm and (norm, module.eps) != (first["norm"], first["norm_eps"]):
            raise not_plain(name, f"its {path} is another norm than its blocks.0.norm1")
    pool = model.global_pool
    if pool not in ("token", "avg", "map", ""):
        raise not_plain(name, f'its pooling is "{pool}"')
    if getattr(model.patch_embed, "dynamic_img_pad", False):
        raise not_plain(name, "its patch embedding pads")
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
        class_token=model.cls_token is not None,
        dist_token=_kind(model) == "VisionTransformerDistilled",
        reg_tokens=0 if model.reg_token is None else model.reg_token.shape[1],
        pos_embed=model.pos_embed is not None,
        pos_embed_prefix=not model.no_embed_class,
        patch_bias=model.patch_embed.proj.bias is not None,
        patch_norm_after=_is_there(model.patch_embed.norm),
        norm_pre=_is_there(model.norm_pre),
        final_norm="before_pool"
        if _is_there(model.norm)
        else "after_pool"
        if _is_there(model.fc_norm)
        else "none",
        global_pool=pool,
        pool_prefix=model.pool_include_prefix,
        **first,
    )


def _config_of_block(block: Any) -> dict[str, Any]:
    """The fields of `ViTConfig` that a block tells. All blocks must tell the same."""
    attn, mlp = block.attn, block.mlp
    tanh = getattr(mlp.act, "approximate", "none") == "tanh"  # of torch's own GELU
    return {
        "num_heads": attn.num_heads,
        "mlp_hidden_dim": mlp.fc2.in_features,
        "norm": NORMS[_kind(block.norm1)],
        "norm_eps": block.norm1.eps,
        "post_norm": _kind(block) == "ResPostBlock",
        "qkv_bias": attn.qkv.bias is not None,
        "qk_norm": _is_there(attn.q_norm),
        "attn_norm": _is_there(attn.norm),
        "proj_bias": attn.proj.bias is not None,
        "layer_scale": hasattr(block, "ls1") and _is_there(block.ls1),
        "mlp": MLPS[_kind(mlp)],
        "mlp_norm": _is_there(mlp.norm),
        "activation": "gelu_tanh" if tanh else ACTIVATIONS[_kind(mlp.act)],
    }


def _check_parts(model: nn.Module, name: str) -> None:
    """Raise `WeightsError` for a part that a plain ViT does not have, or that was changed."""
    if _kind(model) not in MODELS:
        raise not_plain(name, f"it is a {_kind(model)}")
    for path, part in model.named_modules(remove_duplicate=False):
        key, where = path.rpartition(".")[2], f"its {path}" if path else "it"
        allowed = BLOCKS if key.isdigit() else PARTS.get(key, ())
        if _kind(part) not in allowed:
            raise not_plain(name, f"{where} is {_kind(part)}")
        if part._forward_hooks or part._forward_pre_hooks:
            raise not_plain(name, f"{where} has a forward hook")
        for own in vars(part):
            if callable(getattr(type(part), own, None)):
                raise not_plain(name, f"{where} has a method {own} of its own")
        if key in ("attn", "attn_pool"):
            heads, dim, scale = part.num_heads, part.head_dim, part.scale
            if heads * dim != model.embed_dim or scale != dim**-0.5:
                which = f"{heads} heads of {dim} channels and a scale of {scale:.4g}"
                raise not_plain(name, f"{where} has {which}")


def _kind(part: Any) -> str:
    """The class of a part: its name if it is timm's or torch's, and else also where it is from."""
    cls = type(part)
    known = cls.__module__.startswith(("timm.", "torch.nn.modules."))
    return cls.__name__ if known else f"{cls.__module__}.{cls.__qualname__}"


def _is_there(module: nn.Module) -> bool:
    return not isinstance(module, nn.Identity)


def not_plain(name: str, why: str) -> WeightsError:
    return WeightsError(
        f"{name} is not a plain Vision Transformer: {why}, which vitviz does not take apart"
    )
