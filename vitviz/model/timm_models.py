"""Load timm's plain ViTs, by name or as an object, into vitviz's own ViT; refuse others."""

import difflib
from collections.abc import Mapping
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
from .labels import Labels, imagenet_labels, own_labels
from .loaded import (
    LoadedModel,
    LoadOptions,
    ModelCard,
    build,
    customized,
    head_of,
)
from .menu import CURATED, WEIGHT_FILES, list_models, terms_of
from .outputs import Outputs
from .parity import first_difference
from .precision import to_precision
from .preprocess import Preprocess, as_preprocess
from .timm_config import config_from_timm, is_interleaved, not_plain
from .untrained import DEFAULT_SEED, drawn_with

HUB_IDS = ("hf-hub:", "hf_hub:")
IDS = (*HUB_IDS, "local-dir:")
FORBIDDEN = 403  # HTTP: logged in, and not allowed


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
    outputs: Outputs | None = None,
    dtype: str | torch.dtype | None = None,
) -> LoadedModel:
    """The same weights in vitviz's own ViT, giving the same logits, on the device of the model,
    which is not changed.

    The model may be wrapped by torch.compile or for several GPUs. A picture of noise goes through
    both models, in float32, to compare them. `labels`, `preprocess`, `outputs` and `dtype`: see
    `load`. Without `labels` the classes get names if the model has some, or if its head is that of
    timm's weights in the hub's cache: any other 1,000 classes need not be ImageNet's. Raises
    `WeightsError` that names the part if the model is not a plain VisionTransformer of timm, or if
    a block computes something else, and for a `dtype` as `load` does.
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
    options = LoadOptions(labels=labels, preprocess=as_preprocess(preprocess), outputs=outputs)
    loaded = customized(loaded, options)
    to_precision(loaded.vit, dtype, loaded.device)
    return loaded


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
        f"a folder with a config.json, a timm name or owner/name of the Hugging Face hub{hint}; "
        "and there is no file or folder of this name here"
    )


def why_not(name: str, pretrained: bool, error: Exception) -> str:
    """The sentence for an error of timm, of the hub's client or of the network."""
    from huggingface_hub import constants
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    model_id, _, revision = name.removeprefix("hf-hub:").removeprefix("hf_hub:").partition("@")
    page = f"{constants.ENDPOINT}/{model_id}"
    if isinstance(error, GatedRepoError):
        denied = getattr(error.response, "status_code", None) == FORBIDDEN
        return Message(f"models.hub_{'denied' if denied else 'gated'}", name=model_id, page=page)
    if isinstance(error, RepositoryNotFoundError):
        return Message("models.hub_not_found", name=model_id)
    if isinstance(error, RevisionNotFoundError):
        return Message("models.hub_no_revision", name=model_id, revision=revision)
    if isinstance(error, LocalEntryNotFoundError | OfflineModeIsEnabled):
        others = tuple(model for model in list_models() if model not in CURATED)
        return Message("models.no_connection", name=name, others=others)
    reason = (str(error) or type(error).__name__).splitlines()[0]
    network_error = HfHubHTTPError.__bases__[0]  # of requests or of httpx, as the version has it
    if isinstance(error, network_error):
        return Message("models.hub_refused", name=name, reason=reason)
    what = f"{name} with its weights" if pretrained else name
    return Message("models.timm_failed", name=what, reason=reason)
