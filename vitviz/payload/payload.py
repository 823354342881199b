"""The payload: an analysis as a small manifest and binary files, from which a browser draws."""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from ..errors import CaptureError, SelectionError
from ..languages import ENGLISH, Message, dictionary, in_others, languages
from ..model.config import ViTConfig
from ..model.loaded import ModelCard
from ..model.menu import CURATED, shipped_file
from ..model.photo_levels import DARK_NOTE, STRETCHED_NOTE, has_note
from ..model.resize import sizes_of
from ..probe.explain.explainers import rollouts
from ..probe.explain.likeness import own_vector
from ..probe.intervene.intervention import Transplant
from ..probe.measure import features
from ..probe.measure.film import facts_of
from ..probe.measure.ink import taught_light_ink_only, taught_place
from ..probe.measure.measurements import measurements_of
from ..probe.measure.mixing import hidden_sums
from ..probe.measure.positions import unit_rows
from ..probe.measure.predictions import classes_of
from ..probe.measure.turning import turns
from . import explanations

if TYPE_CHECKING:
    from ..probe.analysis import Analysis

VERSION = 2
PICTURE = "picture.safetensors"
FIRST = "first.safetensors"
POSITIONS = "positions.safetensors"
EMBEDDING = "embedding.safetensors"
FILM = "film.safetensors"
ROLLOUT = "rollout.safetensors"
LATER = {"late": True}  # a file that is made when a viewer requests it by name
PHOTOGRAPH, WHOLE = "photograph.jpg", "whole.jpg"
HIDDEN_UNITS = 16  # of each MLP, whose sums a page gets
MIXING = "mixing-"  # followed by the layer
FILTERS = "filters"  # all of them together
POOLING = "pooling"  # attention of the query of a pool
NORMED = "normed"  # PCA behind the last norm of the model
VECTOR = "vector"  # pooled features, of a model that answers with classes
INSIDE = "inside"  # effect of positions inside attention alone
# Limit of the values of all layers in a page of one file: they have 2 MB for the shipped photo
# model, but 25 MB for ViT-B/16, which would more than triple its page.
MOST_MIXING_BYTES = 10_000_000
# A browser computes rollout for at most so many tokens, see relevance.js. Beyond that it asks its
# host, and a page of one file contains the rollout that is shown first.
MOST_TOKENS = 400
MOST_CLASSES = 2000  # with more, only the names of the predictions are sent
SHOWN = 10  # predictions on a page
MOST_WORDS = 300  # characters of a detail; longer ones, like training recipes, are not sent


@dataclass(frozen=True, eq=False)
class Payload:
    """An analysis for the viewer: a manifest and files.

    manifest  JSON-able, text and small numbers only, in four subjects: "model" (true of every
              picture in it), "photo", "pass" (interventions and results) and "files", by name:
              {"path", "size"}, or {"late": true} for a file that is made on request
    files     path -> bytes: the logits (the vector, if classes have no names) and the rows that are
              shown first, the picture, photograph, embedding and film if there are any, a file per
              layer, and in a whole payload the late files; beside the intact analysis only those
              that are shown first
    """

    manifest: dict[str, Any]
    files: Mapping[str, bytes]


def layer_path(layer: int) -> str:
    """Name of the file of one layer."""
    return late_path(layer_name(layer))


def layer_name(layer: int) -> str:
    """Name of the file of one layer."""
    return f"layer-{layer:02d}"


def tokens_name(layer: int) -> str:
    """Name of the late file with the tokens after one layer."""
    return f"tokens-{layer:02d}"


def pack(
    analysis: "Analysis",
    *,
    film: bool = False,
    whole: bool = True,
    beside: bool = False,
    first: tuple[int, int] | None = None,
    layers: Sequence[int] | None = None,
) -> Payload:
    """Pack everything of an analysis that the viewer draws.

    `film`: include the film of the model's training, if one lies beside its checkpoint; it can have
    several megabytes. `whole`: include the late files; a server leaves them out and makes each on
    request, since the first view needs none. For large models even a whole payload lacks the
    values, see `MOST_MIXING_BYTES`. `beside`: pack a pass with interventions for a viewer that
    already shows the intact analysis, and waits after every stroke. The manifest has only
    "version", "pass" and "files"; files that both passes share are left out; layers and embedding
    are late files.
    `first`: the layer and the token that are shown first, whose rows are sent ahead of their layer;
    None, or values that the model does not have: the last layer, from CLS or, without prefix
    tokens, the middle patch.
    `layers`: only these have files; the viewer says of others that they were left out.

    q and k are sent as float16, with the log-sum-exp of each row computed from the rounded values:
    attention[h, i, j] = exp(scale * q[h, i] . k[h, j] - lse[h, i]), so that rows sum to 1 in the
    browser, too. The late file of the statistics has the error of this attention. A model with a
    bias adds it to the exponent, by the offset from i to j: a layer's file has its table, since
    maps would have N^2 numbers. Attention is 0 where an edge is cut, as "changes" and "removed" of
    the pass describe.
    """
    begins = _first(analysis, first)
    files = {FIRST: _serialise(_ahead(analysis, begins, donors=beside))}
    if not beside or analysis.pass_.surgery.changes_pixels:
        files[PICTURE] = _serialise({"pixels": analysis.picture})
    left_out = set(range(analysis.trace.depth)) if layers is not None else set()
    left_out -= {analysis.trace.check_layer(layer) for layer in layers or ()}
    if not beside:
        files |= _photographs(analysis)
        for layer in range(analysis.trace.depth):
            sent = b"" if layer in left_out else _serialise(_layer(analysis, layer))
            files[layer_path(layer)] = sent
        # The browser fetches these files only for the panels Positions and Patches.
        if analysis.positions is not None:
            rows = unit_rows(analysis.positions.patches).half()
            files[POSITIONS] = _serialise({"pos_embed": rows})
        if analysis.embedding is not None:
            files[EMBEDDING] = _serialise(_embedding(analysis))
    recorded = analysis.loaded.film if film and analysis.loaded else None
    if recorded is not None and recorded.is_file():
        files[FILM] = recorded.read_bytes()
    late = _late_files(analysis, ahead=not beside)
    if whole:
        if _mixing_bytes(analysis) > MOST_MIXING_BYTES:
            late = {name: make for name, make in late.items() if not name.startswith(MIXING)}
        for layer in left_out:
            late = {name: make for name, make in late.items() if name not in _of_layer(layer)}
        files |= {late_path(name): _serialise(make(analysis)) for name, make in late.items()}
        if analysis.trace.num_tokens > MOST_TOKENS:
            files[ROLLOUT] = _serialise({"rows": rollouts(analysis.trace, begins["token"])})
        found = explanations.beforehand(analysis, begins["token"])
        files |= {late_path(name): _serialise(made) for name, made in found.items()}
    manifest: dict[str, Any] = {"version": VERSION}
    if not beside:
        # Late files of explanations are not listed: there is one for each token and class.
        explained = explanations.facts(analysis, late=not whole)
        facts = analysis.facts(SHOWN)
        words = _words(analysis, recorded if FILM in files else None)
        manifest["model"] = {**_model(analysis, facts), **explained, "words": words}
        manifest["photo"] = {**facts["photo"], **_photo(analysis)}
        manifest["pass"] = {"id": uuid.uuid4().hex}  # a changed pass is identified by its changes
    manifest["pass"] = {**manifest.get("pass", {}), **_pass(analysis), "first": begins}
    manifest["files"] = {
        path.partition(".")[0]: {"path": path, "size": len(data)} for path, data in files.items()
    }
    manifest["files"] |= {name: LATER for name in late if late_path(name) not in files}
    # The manifest must not change in JSON: tuples become lists here, and NaN raises ValueError.
    return Payload(json.loads(json.dumps(manifest, allow_nan=False)), files)


def _ahead(analysis: "Analysis", begins: Mapping[str, Any], *, donors: bool) -> dict[str, Tensor]:
    """Tensors that are shown first: rows of attention, the answer, and pictures of donors."""
    logits = analysis.trace.logits
    ahead = {"rows": analysis.trace.rounded_from(begins["layer"], begins["token"])}
    if analysis.card.head == "classes":
        ahead["logits"] = logits.float()
    elif logits.ndim == 1:  # the output of a model without classes
        ahead["vector"] = logits.float()
    for place, item in enumerate(analysis.interventions if donors else ()):
        if isinstance(item, Transplant) and item.donor.picture is not None:
            ahead[f"donor.{place}"] = item.donor.picture.clone()  # two can share a photo
    return ahead


def mixing_name(layer: int) -> str:
    """Name of the late file that follows the values of a layer to the tokens."""
    return f"{MIXING}{layer:02d}"


def _of_layer(layer: int) -> tuple[str, str]:
    """Names of the late files of one layer."""
    return tokens_name(layer), mixing_name(layer)


def needs_model(name: str, config: ViTConfig) -> bool:
    """Whether this late file can only be made from an analysis that holds its model."""
    return (
        name in (FILTERS, INSIDE, NORMED, POOLING, VECTOR)
        or name.startswith(MIXING)
        or explanations.runs_the_model(name, config)
    )


def late_path(name: str) -> str:
    """File name of a late file."""
    return f"{name}.safetensors"


def late_file(analysis: "Analysis", name: str, other: "Analysis | None" = None) -> bytes:
    """A late file, which a viewer requests when a visitor first needs it.

    `other`: the analysis of another picture, for explanations of the likeness to it.
    Raises `SelectionError` if this analysis has no late file of this name.
    """
    if explanations.is_explanation(name):
        return _serialise(explanations.explanation(analysis, name, other))
    make = _there(_late_files(analysis, ahead=False).get(name), name)
    return _serialise(make(analysis))


Part = TypeVar("Part")


def _there(part: Part | None, name: str) -> Part:
    """The part from which a late file is made. Raises `SelectionError` if it is None."""
    if part is None:
        raise SelectionError(f"this analysis has no file {name!r}")
    return part


def _late_files(
    analysis: "Analysis", *, ahead: bool
) -> dict[str, Callable[["Analysis"], dict[str, Tensor]]]:
    """Makers of this analysis's late files, by name; `ahead`: layers are sent, thus not late."""
    late = dict(LATE)
    if not ahead:
        for layer in range(analysis.trace.depth):
            late[layer_name(layer)] = partial(_layer, layer=layer)
        if analysis.embedding is not None:
            late["embedding"] = _embedding
    if analysis.positions_seed is None:
        del late["untrained"]
    if analysis.lens is None or analysis.card.outputs == "value":
        del late["lens"]
    for layer in range(analysis.trace.depth):
        late[tokens_name(layer)] = partial(_tokens, layer=layer)
    if analysis.loaded is None:
        del late[FILTERS]
    config = analysis.card.config
    changed = any(item.kind == "positions" for item in analysis.interventions)
    if analysis.loaded is None or changed or not (config.rotary or config.relative_bias):
        del late[INSIDE]
    if analysis.loaded is None or config.global_pool != "map":
        del late[POOLING]
    if analysis.loaded is None or config.final_norm != "before_pool":
        del late[NORMED]
    if analysis.loaded is None or not config.global_pool or analysis.card.head != "classes":
        del late[VECTOR]
    if analysis.loaded is not None and not analysis.changed_behind_the_mix:
        for layer in range(analysis.trace.depth):
            late[mixing_name(layer)] = partial(_mixing, layer=layer)
    return late


def _words(analysis: "Analysis", film: Path | None) -> dict[str, dict[str, dict[str, str]]]:
    """Translations of the English texts of model and film: language -> kind -> English -> the
    translation.

    Kinds are "labels" and "groups" from the checkpoint (some in English, too: "a dog"), and
    "texts": facts about the model, and names of the film's pictures.
    """
    card, facts = analysis.card, facts_of(film) if film else {}
    kept = {language: card.words[language] for language in languages() if language in card.words}
    words = {
        language: {kind: dict(names) for kind, names in kinds.items()}
        for language, kinds in kept.items()
    }
    texts = {str(text): text for text in (card.source, *_details(card).values(), *card.assumed)}
    ours = dictionary(ENGLISH, "pictures")
    names = [picture["name"] for picture in facts.get("pictures", ())]
    texts |= {name: Message(f"pictures.{name}") for name in names if name in ours}
    for english, text in texts.items():
        for language, translation in in_others(text).items():
            words.setdefault(language, {}).setdefault("texts", {})[english] = translation
    for kinds in words.values():
        labels = {name: kinds["labels"][name] for name in names if name in kinds.get("labels", {})}
        kinds["texts"] = labels | kinds.get("texts", {})
    return words


def _details(card: ModelCard) -> dict[str, str]:
    """The details of a model that are short enough to be sent."""
    return {name: words for name, words in card.details.items() if len(words) <= MOST_WORDS}


def _first(analysis: "Analysis", wanted: tuple[int, int] | None) -> dict[str, Any]:
    """The rows of attention that a viewer shows first: layer, token and direction."""
    grid, trace = analysis.grid, analysis.trace
    token = 0 if grid.num_prefix_tokens else grid.token(grid.rows // 2, grid.cols // 2)
    layer = trace.depth - 1
    if wanted and 0 <= wanted[0] < trace.depth and 0 <= wanted[1] < trace.num_tokens:
        layer, token = wanted
    return {"layer": layer, "token": token, "direction": "from"}


def _layer(analysis: "Analysis", layer: int) -> dict[str, Tensor]:
    """One layer, as `Trace.rounded` gives it, with the numbers of its bias if there is one."""
    rounded, bias = analysis.trace.rounded(layer), analysis.trace.bias
    sent = {"q": rounded.q, "k": rounded.k, "lse": rounded.lse}
    if bias is not None:
        sent["bias"] = bias.tables[layer]
        if bias.places is not None:
            sent["bias_places"] = bias.places.float()
        if bias.queries is not None:
            sent["bias_queries"] = bias.queries[layer].float()
    return sent


def _photographs(analysis: "Analysis") -> dict[str, bytes]:
    """The model's part of the photo in full resolution, and the whole photo, if there are any."""
    seen = analysis.photograph
    files = {PHOTOGRAPH: seen.crop, WHOLE: seen.whole} if seen else {}
    return {path: data for path, data in files.items() if data is not None}


def _embedding(analysis: "Analysis") -> dict[str, Tensor]:
    """Filters in half precision, which is enough to draw them; numbers of tokens in float32."""
    embedding = _there(analysis.embedding, "embedding")
    return {
        "filters": embedding.filters.half(),
        "bias": embedding.bias,
        "content": embedding.content,
        "position": embedding.position,
    }


def _filters(analysis: "Analysis") -> dict[str, Tensor]:
    """The principal components of all filters, (n, C, ph, pw), and their shares of the variance."""
    found = analysis.filters()
    return {"components": found.components.half(), "shares": found.shares}


def _mixing(analysis: "Analysis", layer: int) -> dict[str, Tensor]:
    """The way from the values of a layer to the tokens; see `vitviz.probe.measure.mixing.Mixing`.

    Values and matrix have half precision; tokens, sums of many blocks, keep float32, and so do the
    sums of the first hidden units ("hidden").
    """
    found = analysis.mixing(layer)
    half = {"v": found.v.half(), "out": found.out.half()}
    if not all(tensor.isfinite().all() for tensor in half.values()):
        raise CaptureError(Message("models.half_precision", layer=layer))
    norms = features.norms(found.normed)
    rest = {"before": found.before, "norms": norms, "rest": found.rest, "gain": found.gain}
    assert analysis.loaded is not None  # mixing needed it, too
    hidden = hidden_sums(analysis.trace, found, analysis.loaded.vit, layer)
    rest["hidden"] = hidden[:, :HIDDEN_UNITS].contiguous()
    return {**half, **rest}


def _mixing_bytes(analysis: "Analysis") -> int:
    """Approximate size in bytes of the files that `_mixing` makes for all layers."""
    tokens, dim = analysis.trace.num_tokens, analysis.card.config.embed_dim
    return analysis.trace.depth * dim * (2 * dim + 6 * tokens)


def _features(analysis: "Analysis", normed: bool = False) -> dict[str, Tensor]:
    """PCA and norms of every layer; the tokens themselves are in other files. `normed`: PCA of
    the tokens behind the last norm; norms are those of the tokens before it all the same.
    """
    trace, grid = analysis.trace, analysis.grid
    layers = [features.tokens_after(trace, layer) for layer in range(trace.depth)]
    read = [analysis.normed_tokens(layer) for layer in range(trace.depth)] if normed else layers
    found = [features.principal(grid.patches(tokens.T).T) for tokens in read]
    return {
        "scores": torch.stack([layer.scores for layer in found]),
        "explained": torch.stack([layer.explained for layer in found]),
        "range": torch.stack([torch.stack([layer.low, layer.high]) for layer in found]),
        "norms": torch.stack([features.norms(tokens) for tokens in layers]),
    }


def _tokens(analysis: "Analysis", layer: int) -> dict[str, Tensor]:
    """The tokens after one layer, as unit rows. (N, D)"""
    return {"unit": unit_rows(features.tokens_after(analysis.trace, layer)).half()}


def _statistics(analysis: "Analysis") -> dict[str, Tensor]:
    """Entropy and mean attention distance of every head, (L, H) each; and the error of attention
    that a viewer computes from q and k in half precision, (L,).
    """
    found, trace = analysis.head_statistics(), analysis.trace
    error = torch.tensor([trace.rounding_error(layer) for layer in range(trace.depth)])
    return {"entropy": found.entropy, "distance": found.distance, "error": error}


def _untrained(analysis: "Analysis") -> dict[str, Tensor]:
    """The position embedding before training, as unit rows."""
    positions = _there(analysis.untrained_positions(), "untrained")
    return {"pos_embed": unit_rows(positions.patches).half()}


def _lens(analysis: "Analysis") -> dict[str, Tensor]:
    """The logits after each block. (L, C)"""
    return {"logits": _there(analysis.lens, "lens").float()}


def _inside(analysis: "Analysis") -> dict[str, Tensor]:
    """The damping of rotary positions, or the relative bias, by the offset from key to query.

    (layers, heads, 2 rows - 1, 2 cols - 1); a single layer or head if all are the same. With the
    damping, "turns" of `measure/turning.py`, (layers, 3, heads, d / 2).
    """
    rotary = analysis.card.config.rotary
    if rotary is None:
        layers = range(analysis.trace.depth)
        return {"bias": torch.stack([analysis.bias_pictures(layer) for layer in layers]).half()}
    layers = range(analysis.trace.depth if rotary.kind == "mixed" else 1)
    vit = _there(analysis.loaded, INSIDE).vit
    return {
        "rotary": torch.stack([analysis.rotary_damping(layer) for layer in layers]).half(),
        "turns": torch.stack([turns(vit, layer) for layer in layers]),
    }


def _vector(analysis: "Analysis") -> dict[str, Tensor]:
    """Pooled features, to be compared with those of another picture. (W,)"""
    loaded = _there(analysis.loaded, VECTOR)
    return {"vector": own_vector(loaded, analysis.trace.tokens[-1], analysis.pass_.surgery)}


def _pooling(analysis: "Analysis") -> dict[str, Tensor]:
    """Attention of the pool's query in each of its heads. (heads, N)"""
    return {"shares": analysis.pooling_map()}


# The late files of the whole analysis; those of one layer are `_tokens` and `_mixing`.
LATE: dict[str, Callable[["Analysis"], dict[str, Tensor]]] = {
    "features": _features,
    "statistics": _statistics,
    "untrained": _untrained,
    "lens": _lens,
    FILTERS: _filters,
    INSIDE: _inside,
    NORMED: partial(_features, normed=True),
    POOLING: _pooling,
    VECTOR: _vector,
}


def _left_out(card: ModelCard) -> dict[str, int] | None:
    """Counts of a head that was taught: its pictures, those left out, and of these the right ones;
    None for other models.
    """
    if (taught := card.taught) is None:
        return None
    return {"pictures": sum(taught.pictures), "of": taught.of, "right": taught.right}


def _serialise(tensors: Mapping[str, Tensor]) -> bytes:
    from safetensors.torch import save

    return save({name: tensor.contiguous() for name, tensor in tensors.items()})


def _without_none(classes: dict[str, Any]) -> dict[str, Any]:
    """The facts about classes; "none" is one of a model that has such a class."""
    return {name: value for name, value in classes.items() if name != "none" or value is not None}


def _model(analysis: "Analysis", facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts on the model that hold for every picture, without words and explainers."""
    card, grid, config = analysis.card, analysis.grid, analysis.card.config
    trained = replace(config, image_size=card.resized_from or config.image_size)
    classes = classes_of(card)
    labels = classes.labels if len(classes.labels) <= MOST_CLASSES else None
    height, width, channels = analysis.picture.shape
    patch_height, patch_width = grid.patch_size
    return {
        **facts["model"],
        "details": _details(card),
        "assumed": list(card.assumed),
        "taught": _left_out(card),
        "measurements": measurements_of(card),
        **_without_none(asdict(classes)),
        "labels": labels,
        "light_ink_only": taught_light_ink_only(card, analysis.preprocess),
        "taught_place": taught_place(card),
        "key": replace(card.key, name=_loadable(card)).to_dict(),
        "sizes": [size._asdict() for size in sizes_of(trained)],
        "trained_size": list(trained.image_size),
        "title": str(card.details.get("title", card.name)),
        "image": {"height": height, "width": width, "channels": channels},
        "mean": list(analysis.preprocess.mean),
        "std": list(analysis.preprocess.std),
        "grid": {
            "rows": grid.rows,
            "cols": grid.cols,
            "patch_height": patch_height,
            "patch_width": patch_width,
        },
        **{
            name: facts[name]
            for name in (
                *("prefix_tokens", "depth", "num_heads", "head_dim", "embed_dim", "num_tokens"),
                "steps",
            )
        },
        "scale": analysis.trace.scale,
        # Norms between the response of a filter and the token that enters the first block.
        "embedding_norms": _on(config, "patch_norm_before", "patch_norm_after", "norm_pre"),
        # Other parts around the attention of a block.
        "attention_norm": "" if config.post_norm else config.norm,
        "attention_parts": _on(
            config, "qkv_bias", "qk_norm", "attn_norm", "layer_scale", "post_norm"
        ),
        "mlp": {"gated": config.mlp != "mlp", "activation": config.activation},
        # Sources of a patch's position.
        "position_kinds": [
            name
            for name, there in (
                ("learned", config.pos_embed),
                ("rotary", config.rotary),
                ("bias", config.relative_bias),
            )
            if there
        ],
        "num_classes": config.num_classes,
        "pool": config.global_pool,
        "outlier_times": features.OUTLIER_TIMES,
    }


def _on(config: ViTConfig, *switches: str) -> list[str]:
    """The switches that are on."""
    return [name for name in switches if getattr(config, name)]


def _photo(analysis: "Analysis") -> dict[str, Any]:
    """Facts on the photo that `facts` lacks: its frame, and its notes in other languages.

    "frame": top, left, height, width of the model's part, as shares of the photo; null: unknown.
    "levels_note": place in "notes" of the note that the photo is dark or was stretched; null: none.
    """
    levels = (DARK_NOTE, STRETCHED_NOTE)
    places = [at for at, note in enumerate(analysis.notes) if has_note([note], *levels)]
    words: dict[str, dict[str, str]] = {}
    for note in analysis.notes:
        for language, translation in in_others(note).items():
            words.setdefault(language, {})[str(note)] = translation
    place = places[0] if places else None
    return {"frame": _frame(analysis), "levels_note": place, "words": words}


def _pass(analysis: "Analysis") -> dict[str, Any]:
    """Interventions and removed patches (see `cuts.js`); results follow from the logits. "labels":
    those of the predictions, by class, if the labels of all classes are too many to send.
    """
    sent = {
        "changes": [item.to_dict() for item in analysis.interventions],
        "removed": analysis.removed,
    }
    if len(analysis.card.labels or ()) <= MOST_CLASSES:
        return sent
    labels = {row.index: row.label for row in analysis.predictions(SHOWN)}
    labels |= {row.index: row.label for row in analysis.lens_lines()}
    return sent | {"labels": labels}


def _frame(analysis: "Analysis") -> list[float] | None:
    return [round(share, 5) for share in analysis.photograph.frame] if analysis.photograph else None


def _loadable(card: ModelCard) -> str:
    """The argument of `vitviz.load` for this model: its name, or the name of its file."""
    if shipped_file(card.name) or card.name in CURATED or not isinstance(card.source, Message):
        return card.name
    return str(card.source.values.get("file", card.name))
