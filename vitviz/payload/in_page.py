"""In the page: the models that its engine runs, and their parts in a page without a server."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ..errors import WeightsError
from ..languages import ENGLISH, dictionary, languages
from ..model.checkpoints import describe, write_model
from ..model.config import POOLS, ViTConfig
from ..model.loaded import LoadedModel, ModelCard
from ..model.untrained import draws, twin

MOST_PARAMETERS = 25_000_000
MOST_TOKENS = 1400
MOST_KEPT = 2**26  # numbers that are kept of a pass
PAGE_TEXTS = (
    "examples",
    "model",
    "photo",
    "draw",
    "play",
    "only",
    "nothing_pasted",
)  # shared with the app
# Names of the payload's files that a page makes from its own pass, as in `filesOf` of data/made.js.
MADE = re.compile(r"(layer|tokens|mixing)-\d+|statistics|features|embedding|lens")
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
    "relative_bias": (False,),
    "patch_norm_before": (False,),
    "patch_norm_after": (False,),
    "norm": ("layernorm",),
    "post_norm": (False,),
    "global_pool": tuple(name for name in POOLS if name != "map"),
}


def unknown_switches(config: ViTConfig) -> list[str]:
    """Switches of a config that the page's engine does not support; [] for a model that it runs."""
    return [name for name, values in SUPPORTED.items() if getattr(config, name) not in values]


def check(card: ModelCard) -> None:
    """Raise `WeightsError`, with the reason, for a model that a page cannot run."""
    config = card.config
    kept = 4 * (config.depth + 1) * config.num_tokens * config.embed_dim
    for count, most, of in (
        (card.num_parameters, MOST_PARAMETERS, "parameters"),
        (config.num_tokens, MOST_TOKENS, "tokens"),
        (kept, MOST_KEPT, "numbers in a pass"),
    ):
        if count > most:
            raise WeightsError(
                f"{card.name} has {count:,} {of}; a page without a server runs models of at most "
                f"{most:,}"
            )
    if unknown := unknown_switches(config):
        raise WeightsError(
            f"{card.name} has what the engine of a page does not know ({', '.join(unknown)}): "
            "only Python and a server run it"
        )
    if not card.trained:
        raise WeightsError(f"{card.name} is not trained; a page without a server has no twins")
    if card.resized_from:
        raise WeightsError(f"{card.name} has another size here; a page runs it at its own alone")


def weights_of(loaded: LoadedModel, dtype: torch.dtype | None = None) -> bytes:
    """The model as a `.safetensors` file for the page's engine. `dtype`: of its numbers; None: half
    precision if that is lossless, else single.
    """
    state = loaded.vit.state_dict()
    half = all(torch.equal(part.half().float(), part.float()) for part in state.values())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        write_model(path, loaded, dtype or (torch.float16 if half else torch.float32))
        return path.read_bytes()


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
