"""Load timm's plain ViTs, by name or as an object, into vitviz's own ViT; refuse others."""

import difflib
import math
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import WeightsError
from ..languages import Message
from . import hub
from .checkpoints import CHECKPOINT_SUFFIXES
from .config import MOST
from .fold import folded
from .labels import Labels, imagenet_labels, own_labels
from .loaded import (
    LoadedModel,
    LoadOptions,
    ModelCard,
    build,
    customized,
    head_of,
    holds_numbers,
    misfits,
)
from .menu import CURATED, WEIGHT_FILES, list_models, terms_of
from .parity import first_difference
from .preprocess import Preprocess, as_preprocess
from .timm_config import config_from_timm, is_interleaved, not_plain
from .untrained import DEFAULT_SEED, drawn_with

HUB_IDS = ("hf-hub:", "hf_hub:")
IDS = (*HUB_IDS, "local-dir:")
SIZES = {  # of timm's plain ViTs, by width and depth
    (192, 12): "tiny",
    (384, 12): "small",
    (768, 12): "base",
    (1024, 24): "large",
    (1280, 32): "huge",
}


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
        raise WeightsError(why_not(name, pretrained, error)) from error
    source = Message("models.pretrained") if pretrained else Message("models.untrained_timm")
    loaded = from_timm(model, name, source)
    published = name.removeprefix("hf-hub:").removeprefix("hf_hub:").startswith("timm/")
    if loaded.card.labels is None and (published or not name.startswith(IDS)):
        labels = imagenet_labels(loaded.card.config.num_classes)  # timm's own, which are ImageNet's
        head = head_of(labels, loaded.card.config)
        loaded = replace(loaded, card=replace(loaded.card, labels=labels, head=head))
    if pretrained:
        return loaded
    return replace(loaded, card=replace(loaded.card, details={}, trained=False))


def load_state(
    state: Mapping[str, Tensor], arch: str, name: str, source: str, file: str
) -> LoadedModel:
    """Load weights under timm's names into the architecture `arch`: a name of timm, or a
    `local-dir:` with a config.json. Classes and image size are read off the weights.

    Raises `WeightsError` that names the parameters that do not fit.
    """
    import timm

    if not arch.startswith(IDS) and not timm.is_model(arch.partition(".")[0]):
        raise WeightsError(
            f'arch must be a name of timm, such as {guess_arch(state)}, got "{arch}"'
        )
    if bad := [key for key, value in state.items() if not holds_numbers(value)]:
        raise WeightsError(
            f"the weights in {file} are damaged: {bad[0]} holds values that are not finite, or "
            "lacks some"
        )
    head, positions = state.get("head.weight"), state.get("pos_embed")
    options: dict[str, Any] = {"num_classes": 0 if head is None or not head.ndim else len(head)}
    if options["num_classes"] > MOST:
        raise WeightsError(f"{file} has more than {MOST} classes")
    if "fc_norm.weight" in state:
        options["global_pool"] = "avg"
    try:
        with torch.device("meta"):
            plain: Any = timm.create_model(arch, pretrained=False)
        if positions is not None and positions.ndim == 3 and plain.pos_embed is not None:
            count = positions.shape[1] - plain.pos_embed.shape[1] + plain.patch_embed.num_patches
            side, patch = math.isqrt(max(0, count)), plain.patch_embed.patch_size
            if side * side == count and count != plain.patch_embed.num_patches:
                options["img_size"] = (side * patch[0], side * patch[1])
        model: Any = timm.create_model(arch, pretrained=False, **options)
    except Exception as error:  # timm raises many types
        raise WeightsError(why_not(arch, False, error)) from error
    if wrong := misfits(model.state_dict(), state):
        raise WeightsError(
            f'{file} does not fit arch="{arch}": {wrong}. By its sizes it may be '
            f'"{guess_arch(state)}"'
        )
    model.load_state_dict(state)
    loaded = from_timm(model, name, source)
    kept = {} if arch.startswith(IDS) else {"architecture": arch}  # the tag describes other weights
    return replace(loaded, card=replace(loaded.card, details=kept))


def _create(name: str, pretrained: bool) -> Any:
    """Create the timm model; read its files from the cache if the hub does not answer.

    Otherwise the hub's client would retry for most of a minute. Its offline mode is a switch of the
    whole process, and another thread may be downloading.
    """
    import timm

    on_hub = name.startswith(HUB_IDS)
    cfg: dict[str, Any] = {}
    if pretrained and not name.startswith(IDS):  # refuse before any download
        with torch.device("meta"):
            plain: Any = timm.create_model(name, pretrained=False)
        config_from_timm(plain, name)
        cfg = plain.pretrained_cfg
    model_id = name.partition(":")[2] if on_hub else cfg.get("hf_hub_id")
    if not model_id or hub.is_there():
        return timm.create_model(name, pretrained=pretrained)
    if on_hub:
        file = hub.cached(model_id, *(WEIGHT_FILES if pretrained else ("config.json",)))
        model: Any = timm.create_model(f"local-dir:{file.parent}", pretrained=pretrained)
        model.pretrained_cfg["hf_hub_id"] = model_id
        return model
    file = hub.cached(model_id, *filter(None, [cfg.get("hf_hub_filename")]), *WEIGHT_FILES)
    # `custom_load` belongs to the original file, from which timm's own was once converted.
    overlay = {"file": str(file), "custom_load": False}
    return timm.create_model(name, pretrained=True, pretrained_cfg_overlay=overlay)


def from_timm(
    model: Any,
    name: str | None = None,
    source: str = "a timm model object",
    *,
    labels: Labels = None,
    preprocess: Preprocess | Mapping[str, Any] | None = None,
) -> LoadedModel:
    """The same weights in vitviz's own ViT, giving the same logits. The timm model is not changed.

    The model may be wrapped by torch.compile or for several GPUs. A picture of noise goes through
    both models to compare them. `labels` and `preprocess`: see `load`. Without `labels` the classes
    get names if the model has some, or if its head is that of timm's weights in the hub's cache:
    any other 1,000 classes need not be ImageNet's. Raises `WeightsError` that names the part if the
    model is not a plain VisionTransformer of timm, or if a block computes something else.
    """
    from timm.data import resolve_model_data_config

    model = _unwrapped(model)
    cfg = getattr(model, "pretrained_cfg", None) or {}
    name = name or cfg.get("architecture") or type(model).__name__
    config = config_from_timm(model, name)
    data_config = dict(resolve_model_data_config(model))
    data_config["input_size"] = (config.in_chans, *model.patch_embed.img_size)
    names = own_labels(cfg, config.num_classes)
    if names is None and labels is None and _has_published_head(model, cfg):
        names = imagenet_labels(config.num_classes)
    details = {
        key: str(cfg[key])
        for key in ("tag", "hf_hub_id", "license", "origin_url", "paper_name")
        if cfg.get(key)
    }
    if terms := terms_of(cfg.get("license")):
        details["terms"] = terms
    if name in CURATED:
        details["worth"] = CURATED[name].worth
    card = ModelCard(
        name=name,
        source=source,
        config=config,
        labels=names,
        head=head_of(names, config),
        details=details,
    )
    state = {key: value.detach().clone().float() for key, value in model.state_dict().items()}
    ours = folded(state, config, interleaved=is_interleaved(model))
    loaded = build(ours, card, Preprocess.from_timm(data_config))
    if where := first_difference(model, state, loaded.vit, model.patch_embed.img_size):
        raise not_plain(name, f"its {where} computes something else than plain ones do")
    return customized(loaded, LoadOptions(labels=labels, preprocess=as_preprocess(preprocess)))


def _has_published_head(model: Any, cfg: Mapping[str, Any]) -> bool:
    """Whether the model's classifier is, to the bit, that of timm's weights of its tag.

    A model has the tag even without the weights. If they were loaded, they are in the hub's cache.
    """
    from huggingface_hub.errors import LocalEntryNotFoundError
    from safetensors import SafetensorError, safe_open

    try:
        file = hub.cached(str(cfg.get("hf_hub_id")), WEIGHT_FILES[0])
        with safe_open(file, framework="pt") as held:
            published = held.get_tensor("head.weight")
    except (LocalEntryNotFoundError, SafetensorError, OSError, ValueError):
        return False
    own = getattr(model.head, "weight", None)
    return own is not None and torch.equal(own.detach().cpu(), published)


def guess_arch(state: Mapping[str, Tensor]) -> str:
    """The name of timm's plain ViT of the width, depth and patch of these weights, for a hint."""
    filters = state["patch_embed.proj.weight"]
    depth = len({key.split(".")[1] for key in state if key.startswith("blocks.")})
    size = SIZES.get((len(filters) if filters.ndim == 4 else 0, depth))
    return f"vit_{size}_patch{filters.shape[-1]}_224" if size else "vit_base_patch16_224"


def terms_of_timm(name: str) -> Message | None:
    """The restrictions on using timm's weights of this name, known before they are downloaded.

    None for a licence without such terms, and for names that are not timm's.
    """
    if ":" in name or "/" in name:
        return None
    from timm.models import get_pretrained_cfg, is_model  # slow to import

    if not is_model(name.partition(".")[0]):
        return None
    cfg = get_pretrained_cfg(name, allow_unregistered=True)
    return terms_of(getattr(cfg, "license", None))


def _unwrapped(model: nn.Module) -> Any:
    """The model inside a wrapper of torch.compile, DataParallel or DistributedDataParallel."""
    if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
        return _unwrapped(model.module)
    inner = getattr(model, "_orig_mod", None)  # torch.compile's; its class is slow to import
    return model if inner is None else _unwrapped(inner)


def _unknown_model(name: str) -> str:
    import timm

    known = [*list_models(), *timm.list_models("*vit*")]
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return (
        f'"{name}" is not a shipped model, a file that ends in {", ".join(CHECKPOINT_SUFFIXES)}, '
        f"a folder with a config.json, a timm name or owner/name of the Hugging Face hub{hint}"
    )


def why_not(name: str, pretrained: bool, error: Exception) -> str:
    """The sentence for an error of timm, of the hub's client or of the network."""
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    if isinstance(error, LocalEntryNotFoundError | OfflineModeIsEnabled):
        others = tuple(model for model in list_models() if model not in CURATED)
        return Message("models.no_connection", name=name, others=others)
    reason = (str(error) or type(error).__name__).splitlines()[0]
    network_error = HfHubHTTPError.__bases__[0]  # of requests or of httpx, as the version has it
    if isinstance(error, network_error):
        return Message("models.hub_refused", name=name, reason=reason)
    what = f"{name} with its weights" if pretrained else name
    return Message("models.timm_failed", name=what, reason=reason)
