"""In the page: the models that its engine runs, and their parts in a page without a server."""

import copy
import math
import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import interpolate

from ..errors import WeightsError
from ..languages import ENGLISH, dictionary, languages
from ..model.checkpoints import describe, save_head, write_model
from ..model.config import ViTConfig
from ..model.loaded import LoadedModel, ModelCard
from ..model.untrained import draws, twin
from ..probe.measure.predictions import probabilities_of

MOST_PARAMETERS = 25_000_000
MOST_TOKENS = 1400
MOST_KEPT = 2**26  # numbers that are kept of a pass
LEAST_CHANGE = 1e-3  # of an answer: half precision that changes more is not used
PAGE_TEXTS = (
    "examples",
    "model",
    "photo",
    "draw",
    "play",
    "only",
    "nothing_pasted",
    "kept",
    "forget",
)  # shared with the app
# Names of the payload's files that a page makes from its own pass, as in `filesOf` of
# data/localpayload.js.
MADE = re.compile(r"(layer|tokens|mixing)-\d+|statistics|features|embedding|lens|pooling")
# Names of the files that the page makes for an untrained twin, or that the twin does not need.
NOT_OF_TWIN = re.compile(MADE.pattern + "|first|picture|photograph|whole|untrained")
# The explainers that the engine computes, by their keys in probe/explain/explainers.py.
EXPLAINERS = (
    "attention",
    "rollout",
    "attention_norm",
    "attention_gradient",
    "generic",
    "gradient_rollout",
    "grad_cam",
    "occlusion",
    "integrated_gradients",
    "centre",
    "random",
)
# Supported values of a config's switches, for switches that the engine does not fully support.
SUPPORTED: dict[str, tuple[object, ...]] = {
    "patch_norm_before": (False,),
    "patch_norm_after": (False,),
}


def unknown_switches(config: ViTConfig) -> list[str]:
    """Switches of a config that the page's engine does not support; [] for a model that it runs."""
    return [name for name, values in SUPPORTED.items() if getattr(config, name) not in values]


def check(card: ModelCard) -> None:
    """Raise `WeightsError`, with the reason, for a model that no page without a server runs."""
    check_engine(card)
    if not card.trained:
        raise WeightsError(f"{card.name} is not trained; a page without a server has no twins")
    if card.resized_from:
        raise WeightsError(f"{card.name} has another size here; a page runs it at its own alone")


def check_engine(card: ModelCard) -> None:
    """Raise `WeightsError`, with the reason, for a model that the engine of a page cannot run."""
    config = card.config
    kept = 4 * (config.depth + 1) * config.num_tokens * config.embed_dim
    for count, most, of in (
        (card.num_parameters, MOST_PARAMETERS, "parameters"),
        (config.num_tokens, MOST_TOKENS, "tokens"),
        (kept, MOST_KEPT, "numbers in a pass"),
    ):
        if count > most:
            raise WeightsError(
                f"{card.name} has {count:,} {of}; a page runs models of at most {most:,}"
            )
    if unknown := unknown_switches(config):
        raise WeightsError(
            f"{card.name} has what the engine of a page does not know ({', '.join(unknown)}): "
            "only Python and a server run it"
        )


def runs(card: ModelCard) -> bool:
    """Whether the engine of a page can run this trained model."""
    try:
        check_engine(card)
    except WeightsError:
        return False
    return card.trained


def weights_of(loaded: LoadedModel, dtype: torch.dtype | None = None) -> bytes:
    """The model as a `.safetensors` file for the page's engine. `dtype`: of its numbers; None: half
    precision if that is lossless, else single.
    """
    if dtype is None:
        state = loaded.vit.state_dict()
        half = all(torch.equal(part.half().float(), part.float()) for part in state.values())
        dtype = torch.float16 if half else torch.float32
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        write_model(path, loaded, dtype)
        return path.read_bytes()


def head_of(loaded: LoadedModel, base: str) -> bytes:
    """The linear head of a model as a `.safetensors` file, for a page that has the weights of
    `base`, a shipped model with the same trunk.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "head.safetensors"
        save_head(path, loaded, base)
        return path.read_bytes()


def small_weights_of(loaded: LoadedModel) -> bytes:
    """`weights_of`, also in half precision where that changes the answers to test pictures by less
    than `LEAST_CHANGE`. The file says so then: "rounded" in its details.
    """
    if (change := _change_by_half(loaded)) >= LEAST_CHANGE:
        return weights_of(loaded)
    if change > 0:
        details = {**loaded.card.details, "rounded": str(LEAST_CHANGE)}
        loaded = replace(loaded, card=replace(loaded.card, details=details))
    return weights_of(loaded, torch.float16)


def _change_by_half(loaded: LoadedModel) -> float:
    """The largest change of an answer to a test picture by weights in half precision; inf if they
    are too large for it.

    The answer is probabilities; of a model without them its features or values, whose change is
    measured as a share of their length. Test pictures are seeded noise of coarse and fine squares.
    """
    rounded = {name: part.half().float() for name, part in loaded.vit.state_dict().items()}
    if not all(part.isfinite().all() for part in rounded.values()):
        return math.inf
    vit = copy.deepcopy(loaded.vit)
    vit.load_state_dict(rounded)
    card, random = loaded.card, torch.Generator().manual_seed(0)
    squares = [
        torch.randn(2, card.config.in_chans, side, side, generator=random) for side in (3, 8, 32)
    ]
    pictures = torch.cat([interpolate(each, card.config.image_size) for each in squares])
    device = next(vit.parameters()).device
    with torch.no_grad():
        intact, changed = (model(pictures.to(device)) for model in (loaded.vit, vit))
    likely, instead = (
        probabilities_of(logits, card.outputs, card.temperature) for logits in (intact, changed)
    )
    if card.config.num_classes == 0 or likely is None or instead is None:
        return float(((changed - intact).norm(dim=-1) / intact.norm(dim=-1)).max())
    return float((instead - likely).abs().max())


def twin_of(loaded: LoadedModel) -> tuple[LoadedModel, dict[str, Any]] | None:
    """The untrained twin of a model, and the description from which a page draws its weights
    (localengine.js); None if the page would draw other weights.
    """
    steps = draws(loaded)
    if steps is None:
        return None
    other = twin(loaded)
    card = other.card
    text = describe(
        card.config, other.preprocess, card.labels, card.details, card.words, card.outputs
    )
    return other, {**steps, "vitviz": text}


def named(subject: Mapping[str, Any]) -> dict[str, Any]:
    """Facts on a model for hosts/site.js before it loads more, from the "model" of a manifest."""
    texts = {language: kinds.get("texts", {}) for language, kinds in subject["words"].items()}
    title = subject["title"]
    names = {language: known[title] for language, known in texts.items() if title in known}
    return {"title": title, "names": names, "channels": subject["image"]["channels"]}


def texts() -> dict[str, dict[str, str]]:
    """The texts of hosts/site.js, by language."""
    result = {}
    for language in languages():
        site = dictionary(ENGLISH, "site") | dictionary(language, "site")
        page = dictionary(ENGLISH, "page") | dictionary(language, "page")
        result[language] = {key: page[key] for key in PAGE_TEXTS}
        result[language] |= {
            key: text for key, text in site.items() if not key.startswith(("lacks_", "shown"))
        }
    return result
