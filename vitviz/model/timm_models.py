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
from .fold import folded
from .labels import imagenet_labels, own_labels
from .loaded import LoadedModel, ModelCard, build, head_of
from .menu import CURATED, list_models
from .parity import first_difference
from .preprocess import Preprocess
from .timm_config import config_from_timm, is_interleaved, not_plain
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


def _create(name: str, pretrained: bool) -> Any:
    """The timm model; what comes from the hub is read from the cache if the hub does not answer.

    Without that, the hub's client would retry for most of a minute. Its offline mode is a switch of
    the whole process, in which another thread may be downloading.
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
        file = hub.cached(model_id, *(HUB_FILES if pretrained else ("config.json",)))
        model: Any = timm.create_model(f"local-dir:{file.parent}", pretrained=pretrained)
        model.pretrained_cfg["hf_hub_id"] = model_id
        return model
    file = hub.cached(model_id, *filter(None, [cfg.get("hf_hub_filename")]), *HUB_FILES)
    # `custom_load` belongs to the original file, from which timm's own was once converted.
    overlay = {"file": str(file), "custom_load": False}
    return timm.create_model(name, pretrained=True, pretrained_cfg_overlay=overlay)


def from_timm(
    model: Any, name: str | None = None, source: str = "a timm model object"
) -> LoadedModel:
    """The same weights in vitviz's own ViT, giving the same logits. The timm model is not changed.

    It may be wrapped by torch.compile or for several GPUs. One picture of noise goes through both
    models. Raises `WeightsError` that names the part if the model
    is not one of timm's plain VisionTransformers, or one of its blocks computes something else.
    """
    from timm.data import resolve_model_data_config

    model = _unwrapped(model)
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
    ours = folded(state, config, interleaved=is_interleaved(model))
    loaded = build(ours, card, Preprocess.from_timm(data_config))
    if where := first_difference(model, state, loaded.vit, model.patch_embed.img_size):
        raise not_plain(name, f"its {where} computes something else than plain ones do")
    return loaded


def _unwrapped(model: nn.Module) -> Any:
    """The model inside what torch.compile, DataParallel and DistributedDataParallel make of it."""
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
