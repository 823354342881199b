"""Read ViTs of Hugging Face transformers from their files, without the library."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import WeightsError
from ..languages import Message
from .config import Rotary, ViTConfig, check_channels, sides_of
from .fold import folded
from .json_values import is_number, parse, short
from .labels import Labels, names_of
from .loaded import (
    LoadedModel,
    LoadOptions,
    ModelCard,
    Resampling,
    build,
    check_depth,
    head_of,
    holds_numbers,
    misfits,
    with_outputs,
)
from .outputs import outputs_in
from .precision import to_precision
from .preprocess import Preprocess, as_preprocess
from .resize import resized
from .state_dicts import check_no_adapter, read_any, unwrapped
from .transformers_pixels import preprocess_of, switch
from .untrained import twin

MOST_JSON = 2**24  # bytes of a config or an index; the largest models have 1 MB
CONFIG, INDEX, ADAPTER_CONFIG = "config.json", ".index.json", "adapter_config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
# Names of the same weights in fewer bits.
VARIANTS = tuple(
    f"{stem}.{kind}.{suffix}"
    for stem, suffix in (("model", "safetensors"), ("pytorch_model", "bin"))
    for kind in ("fp16", "bf16", "fp32", "non_ema")
)
Find = Callable[[str], Path | None]  # the path of a file of a model; None: it has none


@dataclass(frozen=True)
class Family:
    """Defaults of one family of models, which transformers' config.json leaves out."""

    patch_size: int
    norm_eps: float
    processor: str  # that prepares its pictures, a key of `transformers_pixels.PROCESSORS`
    activation: str = "gelu"
    always: Mapping[str, Any] = field(default_factory=dict)  # fields of `ViTConfig`
    classifier: Mapping[str, Any] = field(default_factory=dict)  # more of them, with classes
    antialias: bool = False  # whether positions are smoothed that are resampled to a coarser grid
    any_size: bool = False  # whether a given preprocessing may make pictures of another size
    biases: str = "qkv"  # those of q, k and v that have a bias
    # Makes more fields of `ViTConfig` from config.json.
    read_fields: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda hf_config: {}


def _of_dinov3(hf_config: Mapping[str, Any]) -> dict[str, Any]:
    proj, mlp = (switch(hf_config, key) for key in ("proj_bias", "mlp_bias"))
    if proj != mlp:
        raise WeightsError(f"its proj_bias is {proj} and its mlp_bias {mlp}; both must be alike")
    theta = _value(hf_config, "rope_theta", 100.0)
    return {
        "rotary": Rotary(kind="normalised", temperature=theta),
        "proj_bias": proj,
        "mlp": "swiglu" if switch(hf_config, "use_gated_mlp", False) else "mlp",
    }


def _of_beit(hf_config: Mapping[str, Any]) -> dict[str, Any]:
    if len(set(sides_of("image_size", _value(hf_config, "image_size", 224)))) > 1:
        # transformers reads the table of such a picture with rows and columns exchanged.
        raise WeightsError("its image_size must be a square")
    mean = switch(hf_config, "use_mean_pooling")
    scale = _value(hf_config, "layer_scale_init_value", 0.1)
    if not is_number(scale, 0, 1e9):
        raise WeightsError(f"layer_scale_init_value must be a number, got {short(scale)}")
    return {
        "global_pool": "avg" if mean else "token",
        "final_norm": "after_pool" if mean else "before_pool",
        "pos_embed": switch(hf_config, "use_absolute_position_embeddings", False),
        "relative_bias": any(switch(hf_config, key, False) for key in _TABLES),
        "layer_scale": scale > 0,
    }


# Switches of config.json for a score bias, and timm's name of its table.
_TABLES = {
    "use_relative_position_bias": "attn.relative_position_bias_table",
    "use_shared_relative_position_bias": "rel_pos_bias.relative_position_bias_table",
}
_DINO = {"layer_scale": True}
_DINO_REGISTERS = {"layer_scale": True, "pos_embed_prefix": False}
_DINOV3 = {"layer_scale": True, "pos_embed": False}
_CLIP = {"norm_pre": True, "patch_bias": False}
_SIGLIP = {"class_token": False, "global_pool": "map"}
_BOTH = {"global_pool": "token_avg"}
_MEAN = {"global_pool": "avg"}
FAMILIES = {
    "vit": Family(16, 1e-12, "ViT"),
    "deit": Family(16, 1e-12, "DeiT"),
    "dinov2": Family(14, 1e-6, "DINOv2", "gelu", _DINO, _BOTH, any_size=True),
    "dinov2_with_registers": Family(
        16, 1e-6, "DINOv2", "gelu", _DINO_REGISTERS, _BOTH, antialias=True, any_size=True
    ),
    "clip_vision_model": Family(
        32, 1e-5, "CLIP", "quick_gelu", _CLIP, _MEAN | {"final_norm": "none"}
    ),
    "siglip_vision_model": Family(16, 1e-6, "Siglip", "gelu_pytorch_tanh", _SIGLIP, _MEAN),
    "dinov3_vit": Family(
        16, 1e-5, "DINOv3ViT", "gelu", _DINOV3, any_size=True, biases="qv", read_fields=_of_dinov3
    ),
    "beit": Family(16, 1e-12, "Beit", biases="qv", read_fields=_of_beit),
}
TOWERS = {"clip": "clip_vision_model", "siglip": "siglip_vision_model"}  # with a tower for texts
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "quick_gelu": "quick_gelu",
    "silu": "silu",
}
# Parameter names of transformers (old versions and version 5) and ours; the first match counts.
# "-" drops a parameter that no answer depends on. The second part is for names within a block.
_RULES, _RULES_OF_BLOCKS = (
    [(re.compile(theirs), ours) for theirs, ours in map(str.split, rules.strip().splitlines())]
    for rules in (
        r"""
        pooler\.layernorm\.(\w+)                                      fc_norm.\1
        (encoder\.relative_position_bias|shared_position_bias)\.(\w+_table)  rel_pos_bias.\2
        .*relative_position_index                                     -
        (text_model|pooler|decoder)\..*|text_projection\.weight|logit_(scale|bias)     -
        embeddings\.(mask_token|position_ids)                         -
        embeddings\.(cls_token|class_embedding)                       cls_token
        embeddings\.distillation_token                                dist_token
        embeddings\.register_tokens                                   reg_token
        embeddings\.position_embeddings?(\.weight)?                   pos_embed
        embeddings\.patch_embedding(s(?:\.projection)?)?\.(\w+)            patch_embed.proj.\2
        pre_layrnorm\.(\w+)                                           norm_pre.\1
        (post_layernorm|layernorm|norm)\.(\w+)                        norm.\2
        head\.probe                                                   attn_pool.latent
        head\.attention\.in_proj_(\w+)                                attn_pool.qkv.\1
        head\.attention\.out_proj\.(\w+)                              attn_pool.proj.\1
        head\.layernorm\.(\w+)                                        attn_pool.norm.\1
        head\.(mlp\.fc[12]\.\w+)                                      attn_pool.\1
        ((cls_)?classifier|visual_projection)\.(\w+)                  head.\3
        distillation_classifier\.(\w+)                                head_dist.\1
        """,
        r"""
        (norm1|layer_norm1|layernorm_before)\.(\w+)                   norm1.\2
        (norm2|layer_norm2|layernorm_after)\.(\w+)                    norm2.\2
        (attention\.){1,2}([qkv])(uery|ey|alue|_proj)\.(\w+)          attn.\2_proj.\4
        self_attn\.([qkv])_proj\.(\w+)                                attn.\1_proj.\2
        (attention\.output\.dense|attention\.o_proj|self_attn\.out_proj)\.(\w+)  attn.proj.\2
        layer_scale([12])\.lambda1                                    ls\1.gamma
        lambda_([12])                                                 ls\1.gamma
        (?:attention\.attention\.)?relative_position_bias\.(\w+_table)  attn.\1
        .*relative_position_index                                     -
        (intermediate\.dense|mlp\.fc1|mlp\.weights_in)\.(\w+)         mlp.fc1.\2
        (output\.dense|mlp\.fc2|mlp\.weights_out|mlp\.down_proj)\.(\w+)  mlp.fc2.\2
        mlp\.gate_proj\.(\w+)                                         mlp.fc1_g.\1
        mlp\.up_proj\.(\w+)                                           mlp.fc1_x.\1
        """,
    )
)
BLOCK = re.compile(r"(?:encoder\.)?layers?\.(\d{1,5})\.(.+)")
PREFIX = re.compile(r"^(vit|deit|beit|dinov2|dinov2_with_registers|vision_model|model)\.")


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises `WeightsError` for a file that holds anything else."""
    try:
        if path.stat().st_size > MOST_JSON:
            raise ValueError(f"it has more than {MOST_JSON} bytes")
        value = parse(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsError(f"{path.name} cannot be read: {short(str(error))}") from error
    if not isinstance(value, dict):
        raise WeightsError(f"{path.name} must hold a JSON object, got {short(value)}")
    return value


def load_transformers(
    find: Find, name: str, options: LoadOptions, weights: Path | None = None
) -> LoadedModel:
    """Load the model whose files `find` returns: config.json, weights, preprocessor_config.json.

    `weights` is the selected weights file; None: the one that transformers would take. Labels and
    preprocessing of the options replace those of the files. As in transformers, the model takes
    pictures of the size that the preprocessing in its files makes, not of the size of its config.

    Raises `WeightsError` that says which file, value or parameter is not understood.
    """

    def state() -> dict[str, Tensor]:
        file = weights.name if weights else "it"
        return unwrapped(read_weights(find, weights), file, options.key, options.without)

    return _assembled(
        _Parts(
            config=lambda: read_object(_needed(find, CONFIG)),
            state=state,
            processor=lambda: _processor(find),
        ),
        name,
        options,
    )


@dataclass(frozen=True)
class _Parts:
    """Readers of the parts of a model; each may raise `WeightsError`.

    config     config.json as a dictionary
    state      the state dict
    processor  the settings of its image processor; None: there are none
    """

    config: Callable[[], dict[str, Any]]
    state: Callable[[], dict[str, Tensor]]
    processor: Callable[[], Mapping[str, Any] | None]


def from_transformers(
    model: Any,
    processor: Any = None,
    *,
    name: str | None = None,
    labels: Labels = None,
    preprocess: Preprocess | Mapping[str, Any] | None = None,
    outputs: str | None = None,
    image_size: int | tuple[int, int] | None = None,
    dtype: str | torch.dtype | None = None,
) -> LoadedModel:
    """A model object of Hugging Face transformers in vitviz's own ViT, on the device of the model.

    It is equal to `load` of the folder that `model.save_pretrained` and
    `processor.save_pretrained` would write. The weights are copied: the model is not changed, and
    later training of it changes nothing here.

    processor  its image processor, or a processor with `image_processor`; None: the default of its
               family, which is said to be assumed

    The other parameters are those of `load`. Raises `WeightsError` for another object, and as
    `load` does.
    """
    config = getattr(model, "config", None)
    if not (callable(getattr(model, "state_dict", None)) and hasattr(config, "to_dict")):
        raise WeightsError(
            "from_transformers takes a model object of Hugging Face transformers, got "
            f"{type(model).__name__}"
        )
    settings = getattr(processor, "image_processor", processor)
    if settings is not None and not hasattr(settings, "to_dict"):
        raise WeightsError(
            f"processor must be an image processor of transformers, got {type(processor).__name__}"
        )
    name = name or getattr(config, "_name_or_path", "") or type(model).__name__
    held = {key: value.detach().cpu().clone() for key, value in model.state_dict().items()}
    parts = _Parts(
        config=lambda: _as_json(config),
        state=lambda: unwrapped(held, str(name), None),
        processor=lambda: None if settings is None else _as_json(settings),
    )
    loaded = _assembled(
        parts,
        str(name),
        LoadOptions(
            labels=labels,
            preprocess=as_preprocess(preprocess),
            outputs=outputs,
            image_size=image_size,
        ),
    )
    loaded.vit.to(device := next(iter(model.state_dict().values())).device)
    to_precision(loaded.vit, dtype, device)
    return loaded


def _as_json(described: Any) -> dict[str, Any]:
    """The dictionary of `to_dict` as transformers writes it to a JSON file: its keys are texts."""
    return parse(json.dumps(described.to_dict(), default=str))


def _assembled(parts: _Parts, name: str, options: LoadOptions) -> LoadedModel:
    """The model of its parts. Raises as `load_transformers` does."""
    try:
        hf_config = parts.config()
        kind = str(hf_config.get("model_type"))
        if kind in TOWERS:
            vision = hf_config.get("vision_config")
            if not isinstance(vision, dict):
                raise WeightsError(f"vision_config must be a JSON object, got {short(vision)}")
            hf_config = vision | {key: hf_config.get(key) for key in ("id2label", "problem_type")}
        family = FAMILIES.get(TOWERS.get(kind, kind))
        if family is None:
            known = ", ".join([*FAMILIES, *TOWERS])
            raise WeightsError(
                f"its model_type is {short(kind)}, and of transformers' models those of "
                f"{known} can be read"
            )
        check_channels(_value(hf_config, "num_channels", 3), "the model")
        size = sides_of("image_size", _value(hf_config, "image_size", 224))
        state = parts.state()
        classifier = any(key.startswith(("classifier.", "cls_classifier.")) for key in state)
        state = renamed(state)
        config = _config(hf_config, family, size, state, classifier)
        state = _folded(state, config, hf_config, family)
        names = names_of(options.labels, config.num_classes)
        if names is None and classifier and hf_config.get("id2label") is not None:
            names = _id2label(hf_config["id2label"], config.num_classes)
        outputs = options.outputs
        if classifier and outputs is None:
            outputs = outputs_in(hf_config, config.num_classes)
        shown, assumed = options.preprocess, ()  # type: Any, tuple[str, ...]
        if shown is None:
            shown, assumed = _preprocess(parts.processor(), family, config.in_chans, size)
    except WeightsError as error:
        raise WeightsError(f"{name} cannot be loaded: {error}") from error
    source = Message("models.of_transformers", name=name)
    head = head_of(names, config)
    card = ModelCard(
        name=name, source=source, config=config, labels=names, head=head, assumed=assumed
    )
    card = with_outputs(card, outputs)
    if options.preprocess and not family.any_size:
        loaded = build(state, card, options.preprocess)
    else:
        loaded = build(state, card, replace(shown, size=size))
    like = options.positions_like or "transformers"
    loaded = replace(loaded, resampling=Resampling.of(like, family.antialias))
    loaded = loaded if options.pretrained else twin(loaded)
    if options.image_size is not None:
        return resized(loaded, options.image_size)
    (height, width), (ph, pw) = shown.size, config.patch_size
    size = (height // ph * ph, width // pw * pw)
    return replace(resized(loaded, size), preprocess=shown)


def _needed(find: Find, name: str) -> Path:
    if (path := find(name)) is None:
        raise WeightsError(f"it has no {name}")
    return path


def _value(hf_config: Mapping[str, Any], key: str, default: Any) -> Any:
    """A value of config.json; the default if it is missing or null."""
    value = hf_config.get(key)
    return default if value is None else value


def read_weights(find: Find, chosen: Path | None = None) -> dict[str, Tensor]:
    """All tensors of a model, from one file or from the files that an index lists."""
    if chosen is not None and not re.search(r"-\d+-of-\d+$", chosen.stem):
        return read_any(chosen)
    for name in WEIGHTS:
        if chosen is not None and chosen.suffix != Path(name).suffix:
            continue
        if chosen is None and (path := find(name)) is not None:
            return read_any(path)
        if (index := find(name + INDEX)) is None:
            continue
        listed = read_object(index).get("weight_map")
        if not isinstance(listed, dict) or not listed:
            raise WeightsError(f"{index.name} has no weight_map")
        state: dict[str, Tensor] = {}
        for file in dict.fromkeys(map(str, listed.values())):
            if Path(file).name != file or not file.endswith(Path(name).suffix):
                raise WeightsError(f"{index.name} names {short(file)}, which is no file beside it")
            state |= read_any(_needed(find, file))
        return state
    for name in VARIANTS if chosen is None else ():
        if (path := find(name)) is not None:
            return read_any(path)
    check_is_no_adapter(find, "it")
    raise WeightsError(f"it has none of {', '.join(WEIGHTS)}, nor an index of several files")


def check_is_no_adapter(find: Find, name: str) -> None:
    """Raise `WeightsError` if the files are those of an adapter, such as LoRA's, with the name of
    the model that it adapts. Raises as `find` does.
    """
    if (path := find(ADAPTER_CONFIG)) is not None:
        base = read_object(path).get("base_model_name_or_path")
        check_no_adapter(["lora_A"], name, base if isinstance(base, str) else None)


def renamed(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parameters under our names. Raises `WeightsError` that names an unknown parameter, or one
    whose values are incomplete.
    """
    found: dict[str, Tensor] = {}
    for theirs, value in state.items():
        key = PREFIX.sub("", theirs)
        block = BLOCK.fullmatch(key)
        rules, inner = (_RULES, key) if block is None else (_RULES_OF_BLOCKS, block[2])
        match = next(
            ((fit, ours) for rule, ours in rules if (fit := rule.fullmatch(inner)) is not None),
            None,
        )
        if match is None:
            raise WeightsError(
                f"its parameter {short(theirs)} is not understood; save the plain model, without "
                "adapters, with model.save_pretrained(folder)"
            )
        if match[1] == "-":
            continue
        new = ("" if block is None else f"blocks.{block[1]}.") + match[0].expand(match[1])
        if new in found:
            raise WeightsError(f"it has two parameters of the meaning of {short(theirs)}")
        if not holds_numbers(value):
            raise WeightsError(f"{short(theirs)} holds values that are not finite, or lacks some")
        found[new] = value.float()
    return found


def _config(
    hf_config: Mapping[str, Any],
    family: Family,
    size: tuple[int, int],
    state: dict[str, Tensor],
    classifier: bool,
) -> ViTConfig:
    """The config of weights under our names; changes `state` into the form of our ViT.

    Numbers of classes and registers and the width of the MLP are read off the weights.
    """
    _join(state)
    switches = {
        **family.always,
        **(family.classifier if classifier else {}),
        **family.read_fields(hf_config),
    }
    if switches.get("global_pool") == "map" and "attn_pool.latent" not in state:
        switches["global_pool"] = ""  # a tower without its head
    for key in [*state]:  # parameters that this model's answer does not use
        unused = key.startswith("attn_pool.") and switches.get("global_pool") != "map"
        if unused or (key.startswith("norm.") and switches.get("final_norm") == "none"):
            del state[key]
    if "dist_token" in state and "head_dist.weight" not in state:
        state["reg_token"] = state.pop("dist_token")  # without a head it is a register
    if switches.get("pos_embed_prefix") is False:  # CLS is the only prefix token with a position
        cls, positions = state.get("cls_token"), state.get("pos_embed")
        if cls is not None and positions is not None and cls.shape == positions[:, :1].shape:
            state |= {"cls_token": cls + positions[:, :1], "pos_embed": positions[:, 1:]}
    if "head.weight" in state and "head.bias" not in state:  # CLIP's projection
        state["head.bias"] = torch.zeros(state["head.weight"].shape[:1])
    activation = _value(hf_config, "hidden_act", family.activation)
    if _value(hf_config, "use_swiglu_ffn", False) is True:
        apart = "blocks.0.mlp.fc1_g.weight" in state
        switches["mlp"], activation = "swiglu" if apart else "swiglu_packed", "silu"
    if switches.get("mlp") == "mlp":  # the layer of a plain MLP has the name of a gated one
        state |= {key.replace("fc1_x", "fc1"): state.pop(key) for key in [*state] if "fc1_x" in key}
    if "reg_token" in state and not state["reg_token"].numel():
        del state["reg_token"]
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise WeightsError(
            f"its hidden_act is {short(activation)}; {', '.join(ACTIVATIONS)} are known"
        )
    patch = sides_of("patch_size", _value(hf_config, "patch_size", family.patch_size))
    image = tuple(side // p * p for side, p in zip(size, patch, strict=True))
    return ViTConfig(
        image_size=image,  # type: ignore[arg-type]
        patch_size=patch,
        in_chans=_value(hf_config, "num_channels", 3),
        num_classes=_length(state, "head.weight", 0),
        embed_dim=_value(hf_config, "hidden_size", 768),
        depth=_value(hf_config, "num_hidden_layers", 12),
        num_heads=_value(hf_config, "num_attention_heads", 12),
        mlp_hidden_dim=_length(state, "blocks.0.mlp.fc2.weight", 1),
        dist_token="dist_token" in state,
        reg_tokens=_length(state, "reg_token", 1),
        norm_eps=_value(hf_config, "layer_norm_eps", family.norm_eps),
        qkv_bias=any(_biases(hf_config, family).values()),
        activation=ACTIVATIONS[activation],  # type: ignore[arg-type]
        **switches,
    )


def _length(state: Mapping[str, Tensor], key: str, axis: int) -> int:
    """The size of a parameter along an axis; 0 if the parameter or the axis is missing."""
    shape = state[key].shape if key in state else ()
    return shape[axis] if len(shape) > axis else 0


def _biases(hf_config: Mapping[str, Any], family: Family) -> dict[str, bool]:
    """Whether q, k and v have a bias, by letter."""
    names = {"q": "query_bias", "k": "key_bias", "v": "value_bias"}
    whole = switch(hf_config, "qkv_bias")
    return {part: whole and switch(hf_config, names[part], part in family.biases) for part in names}


def _folded(
    state: dict[str, Tensor], config: ViTConfig, hf_config: Mapping[str, Any], family: Family
) -> dict[str, Tensor]:
    """The weights in our layout. Raises `WeightsError` that names missing parameters: `folded`
    would fill in some of them.
    """
    check_depth(state, config.depth, "it")
    dim, (rows, cols) = config.embed_dim, config.grid_size
    block: dict[str, tuple[int, ...]] = {f"attn.{part}_proj.weight": (dim, dim) for part in "qkv"}
    there = _biases(hf_config, family)
    block |= {f"attn.{part}_proj.bias": (dim,) for part in there if there[part]}
    if config.layer_scale:
        block |= {"ls1.gamma": (dim,), "ls2.gamma": (dim,)}
    tables = [name for key, name in _TABLES.items() if switch(hf_config, key, False)]
    ways = ((2 * rows - 1) * (2 * cols - 1) + 3, config.num_heads)
    block |= {name: ways for name in tables if name.startswith("attn.")}
    wanted = {
        f"blocks.{n}.{key}": shape for n in range(config.depth) for key, shape in block.items()
    }
    wanted |= {name: ways for name in tables if not name.startswith("attn.")}
    joined = re.compile(r".*(\.[qkv]_proj\.|\.ls[12]\.|_bias_table).*")
    found = {key: value for key, value in state.items() if joined.fullmatch(key)}
    shapes = {key: torch.empty(shape, device="meta") for key, shape in wanted.items()}
    if wrong := misfits(shapes, found):
        raise WeightsError(f"its weights do not fit: {wrong}")
    return folded(state, config)


def _join(state: dict[str, Tensor]) -> None:
    """Split the pool's qkv into q and kv, and give CLS and positions the axes that our ViT has."""
    for kind in ("weight", "bias"):
        pool = state.pop(f"attn_pool.qkv.{kind}", None)
        if pool is not None and pool.ndim:
            state[f"attn_pool.q.{kind}"] = pool[: len(pool) // 3]
            state[f"attn_pool.kv.{kind}"] = pool[len(pool) // 3 :]
    for key, dims in (("cls_token", 3), ("pos_embed", 3)):
        if key in state and state[key].ndim < dims:
            state[key] = state[key][(None,) * (dims - state[key].ndim)]


def _id2label(id2label: Any, num_classes: int) -> tuple[str, ...]:
    """The names of the classes. Raises `WeightsError` for a class without one."""
    names = id2label if isinstance(id2label, dict) else {}
    found = [names.get(str(number)) for number in range(num_classes)]
    if len(names) != num_classes or not all(isinstance(name, str) for name in found):
        missing = next(
            (n for n, name in enumerate(found) if not isinstance(name, str)), num_classes
        )
        raise WeightsError(
            f"id2label in {CONFIG} does not name each of its {num_classes} classes (see number "
            f"{missing}); labels=[...] names them"
        )
    return tuple(map(str, found))


def _processor(find: Find) -> Any:
    """The settings in the file of the model's image processor; None if there is no file."""
    if (path := find("preprocessor_config.json")) is not None:
        return read_object(path)
    if (path := find("processor_config.json")) is not None:
        return read_object(path).get("image_processor") or {}
    return None


def _preprocess(
    processor: Any, family: Family, channels: int, size: tuple[int, int]
) -> tuple[Preprocess, tuple[str, ...]]:
    """The preprocessing of the model's own processor; or else the default of its family, for
    pictures of the size of its config unless it takes any size, and the sentence that this is
    assumed.
    """
    if not isinstance(processor, dict | None):
        raise WeightsError(f"image_processor must be a JSON object, got {short(processor)}")
    made = preprocess_of(processor or {}, family.processor, channels)
    if processor is not None:
        return made, ()
    made = made if family.any_size else replace(made, size=size)
    return made, (Message("models.assumed_processor", family=family.processor),)
