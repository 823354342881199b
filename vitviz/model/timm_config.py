"""The architecture of a timm model as a `ViTConfig`; every part that vitviz lacks is refused."""

from typing import Any

from torch import nn

from ..errors import WeightsError
from .config import Rotary, ViTConfig, check_channels

# timm's classes that vitviz's ViT can compute, with their names in `ViTConfig`.
MODELS = ("VisionTransformer", "VisionTransformerDistilled", "Eva", "Beit")
BLOCKS = ("Block", "ResPostBlock", "EvaBlock", "EvaBlockPostNorm")
ROTARY = {
    "RotaryEmbeddingDinoV3": "normalised",
    "RotaryEmbeddingCat": "axial",
    "RotaryEmbeddingMixed": "mixed",
}
NORMS = {"LayerNorm": "layernorm", "RmsNorm": "rmsnorm", "RMSNorm": "rmsnorm"}
MLPS = {"Mlp": "mlp", "SwiGLU": "swiglu", "GluMlp": "swiglu_packed"}
ACTIVATIONS = {
    "GELU": "gelu",
    "GELUTanh": "gelu_tanh",
    "QuickGELU": "quick_gelu",
    "SiLU": "silu",
}
IDLE = ("Dropout", "Identity")  # modules that change nothing outside training
_WINDOWS = "looks within windows and merges patches between stages (Swin)"
# Unsupported classes: a description for the error message, and a similar model that loads.
REFUSED = {
    "Hiera": ("pools its windows between stages (Hiera)", "vit_base_patch16_224.mae"),
    "SwinTransformer": (_WINDOWS, "beit_base_patch16_224"),
    "SwinTransformerV2": (_WINDOWS, "beit_base_patch16_224"),
    "NaFlexVit": ("takes pictures of changing sizes (NaFlex)", "vit_base_patch16_siglip_256"),
    "HybridEmbed": ("makes patches with a convolutional network", "vit_tiny_patch16_224"),
    "ParallelThingsBlock": ("runs several attentions side by side", None),
    "DiffAttention": ("subtracts one attention map from another", None),
}
# The name of every part of a plain ViT in timm, and the classes that it may have.
PARTS = {
    "": MODELS,
    "patch_embed": ("PatchEmbed",),
    "blocks": ("Sequential", "ModuleList"),
    "attn": ("Attention", "EvaAttention", "AttentionRope"),
    "rope": ROTARY,
    "rel_pos_bias": ("RelativePositionBias",),
    "attn_pool": ("AttentionPoolLatent",),
    "mlp": MLPS,
    "act": ACTIVATIONS,
    "proj": ("Linear", "Conv2d"),
    **dict.fromkeys(
        ("qkv", "q", "kv", "q_proj", "k_proj", "v_proj", "fc1", "fc1_g", "fc1_x", "fc2"),
        ("Linear",),
    ),
    **dict.fromkeys(("head", "head_dist"), ("Linear", "Identity")),
    **dict.fromkeys(("norm1", "norm2"), NORMS),
    **dict.fromkeys(("norm", "norm_pre", "fc_norm", "q_norm", "k_norm"), (*NORMS, "Identity")),
    **dict.fromkeys(("ls1", "ls2"), ("LayerScale", "Identity")),
    **dict.fromkeys(  # these act in training only
        (
            *("pos_drop", "patch_drop", "attn_drop", "proj_drop", "drop1", "drop2"),
            *("drop_path1", "drop_path2", "head_drop"),
        ),
        ("Dropout", "DropPath", "PatchDropout", "PatchDropoutWithIndices", "Identity"),
    ),
}


def config_from_timm(model: Any, name: str) -> ViTConfig:
    """Read the architecture off a timm model. Raises `WeightsError` for parts that vitviz lacks."""
    _check_parts(model, name)
    check_channels(model.patch_embed.proj.in_channels, name)
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
    # If the patch size does not divide the image size, timm's convolution ignores the last rows and
    # columns.
    image = tuple(side // p * p for side, p in zip(model.patch_embed.img_size, patch, strict=True))
    registers = getattr(model, "reg_token", None)
    return ViTConfig(
        image_size=image,
        patch_size=tuple(patch),
        in_chans=model.patch_embed.proj.in_channels,
        num_classes=model.num_classes,
        embed_dim=model.embed_dim,
        depth=len(model.blocks),
        class_token=model.cls_token is not None,
        dist_token=_kind(model) == "VisionTransformerDistilled",
        reg_tokens=0 if registers is None else registers.shape[1],
        pos_embed=model.pos_embed is not None,
        pos_embed_prefix=not getattr(model, "no_embed_class", False),
        rotary=_rotary(model, name),
        relative_bias=_relative_bias(model),
        patch_bias=model.patch_embed.proj.bias is not None,
        patch_norm_after=_is_there(model.patch_embed.norm),
        norm_pre=_is_there(getattr(model, "norm_pre", None)),
        final_norm="before_pool"
        if _is_there(model.norm)
        else "after_pool"
        if _is_there(model.fc_norm)
        else "none",
        global_pool=pool,
        # timm's Eva gives its attention pool all tokens, and its mean the patches.
        pool_prefix=getattr(model, "pool_include_prefix", pool == "map"),
        **_config_of_pool(getattr(model, "attn_pool", None)),
        **first,
    )


def _rotary(model: Any, name: str) -> Rotary | None:
    rope = getattr(model, "rope", None)
    if rope is None:
        return None
    plain = {"normalize_coords": "separate", "min_period": None, "in_pixels": False}
    for key, value in plain.items():
        if (found := getattr(rope, key, value)) != value:
            raise not_plain(name, f"its rope has {key} {found!r}")
    reference = getattr(rope, "ref_feat_shape", None)
    return Rotary(
        kind=ROTARY[_kind(rope)],  # type: ignore[arg-type]
        temperature=float(rope.temperature),
        order="xy" if rope.grid_indexing == "xy" else "yx",
        offset=float(getattr(rope, "grid_offset", 0)),
        reference=None if reference is None else tuple(reference),
    )


def is_interleaved(model: Any) -> bool:
    """Whether a rotary model turns neighbouring channels together; see `folded`."""
    rope = getattr(model, "rope", None)
    return rope is not None and not model.blocks[0].attn.rotate_half


def _relative_bias(model: Any) -> bool:
    own = getattr(model.blocks[0].attn, "relative_position_bias_table", None)
    return own is not None or getattr(model, "rel_pos_bias", None) is not None


def _config_of_pool(pool: Any) -> dict[str, Any]:
    if pool is None:
        return {}
    return {"pool_heads": pool.num_heads, "pool_hidden_dim": pool.mlp.fc2.in_features}


def _config_of_block(block: Any) -> dict[str, Any]:
    """The fields of `ViTConfig` that a block determines. They must be the same in all blocks."""
    attn, mlp = block.attn, block.mlp
    v = getattr(attn, "v_proj", None)
    tanh = getattr(mlp.act, "approximate", "none") == "tanh"  # of torch's own GELU
    return {
        "num_heads": attn.num_heads,
        "mlp_hidden_dim": mlp.fc2.in_features,
        "norm": NORMS[_kind(block.norm1)],
        "norm_eps": block.norm1.eps,
        "post_norm": _kind(block) in ("ResPostBlock", "EvaBlockPostNorm"),
        "qkv_bias": any(getattr(layer, "bias", None) is not None for layer in (attn.qkv, v))
        or getattr(attn, "v_bias", None) is not None,
        "qk_norm": _is_there(getattr(attn, "q_norm", None)),
        "attn_norm": _is_there(getattr(attn, "norm", None)),
        "proj_bias": attn.proj.bias is not None,
        "layer_scale": _is_there(getattr(block, "ls1", None))
        or getattr(block, "gamma_1", None) is not None,
        "mlp": MLPS[_kind(mlp)],
        "mlp_norm": _is_there(mlp.norm),
        "activation": "gelu_tanh" if tanh else ACTIVATIONS[_kind(mlp.act)],
    }


def _check_parts(model: nn.Module, name: str) -> None:
    """Raise `WeightsError` for a part that a plain ViT does not have, or that was modified."""
    if _kind(model) not in MODELS:
        if inner := _inner(model):
            raise WeightsError(
                f"it is a {_kind(model)} around a {_kind(model.get_submodule(inner))}: "
                f'vitviz.from_timm(model.get_submodule("{inner}")) takes that'
            )
        raise _of_another_kind(name, "it", model)
    if line := _line_that_mends(model):
        raise WeightsError(
            f"the head of {name} is a {_kind(model.head)} of which one layer counts; {line} leaves "
            "that layer, and the same answers"
        )
    for path, part in model.named_modules(remove_duplicate=False):
        key, where = path.rpartition(".")[2], f"its {path}" if path else "it"
        allowed = BLOCKS if key.isdigit() else PARTS.get(key, ())
        if _kind(part) not in allowed:
            raise _of_another_kind(name, where, part)
        if part._forward_hooks or part._forward_pre_hooks:
            raise not_plain(name, f"{where} has a forward hook")
        for own in vars(part):
            if callable(getattr(type(part), own, None)):
                raise not_plain(name, f"{where} has a method {own} of its own")
        if key in ("attn", "attn_pool"):
            heads, scale = part.num_heads, part.scale
            dim = getattr(part, "head_dim", part.proj.in_features // heads)
            if heads * dim != model.embed_dim or scale != dim**-0.5:
                which = f"{heads} heads of {dim} channels and a scale of {scale:.4g}"
                raise not_plain(name, f"{where} has {which}")


def _inner(model: Any) -> str | None:
    """The path of the only plain ViT inside another module; None if there is none, or several."""
    if not isinstance(model, nn.Module):
        return None
    found = [path for path, part in model.named_modules() if path and _kind(part) in MODELS]
    return found[0] if len(found) == 1 else None


def _line_that_mends(model: Any) -> str | None:
    """The line of Python that keeps only the linear layer of a head whose other layers are `IDLE`;
    None for any other head.
    """
    head = getattr(model, "head", None)
    if not isinstance(head, nn.Sequential):
        return None
    layers = [place for place, part in enumerate(head) if _kind(part) not in IDLE]
    single = len(layers) == 1 and isinstance(head[layers[0]], nn.Linear)
    return f"model.head = model.head[{layers[0]}]" if single else None


def _kind(part: Any) -> str:
    """The class name of a part; with its module unless that is timm's or torch's."""
    cls = type(part)
    known = cls.__module__.startswith(("timm.", "torch.nn.modules."))
    return cls.__name__ if known else f"{cls.__module__}.{cls.__qualname__}"


def _of_another_kind(name: str, where: str, part: nn.Module) -> WeightsError:
    """The error for an unsupported part: a known kind in words, otherwise its class name."""
    named = f"is {'a ' if where == 'it' else ''}{_kind(part)}"
    does, instead = REFUSED.get(_kind(part), (named, None))
    return not_plain(name, f"{where} {does}", instead)


def _is_there(module: nn.Module | None) -> bool:
    return module is not None and not isinstance(module, nn.Identity)


def not_plain(name: str, why: str, instead: str | None = None) -> WeightsError:
    near = f"; near to it, {instead} loads" if instead else ""
    return WeightsError(
        f"{name} is not a plain Vision Transformer: {why}, which vitviz does not take apart{near}"
    )
