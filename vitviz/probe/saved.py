"""Saved analyses: all of an `Analysis` in one .safetensors file, checked when it is read."""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..errors import VitvizError
from ..languages import from_file, to_file
from ..model.checkpoints import check_seed
from ..model.json_values import are_texts, is_number, parse, short
from ..model.loaded import ModelCard, check_size
from ..model.photograph import Photograph
from ..model.preprocess import Preprocess
from ..model.tensor_file import read_tensors, tensors_from_bytes, tensors_to_bytes, write_tensors
from .capture.bias import Bias
from .capture.grid import PatchGrid
from .capture.trace import Trace, is_sound
from .forward import Pass
from .intervene import intervention
from .intervene.intervention import Donor, Transplant
from .intervene.surgery import Surgery
from .measure.embedding import Embedding
from .measure.positions import Positions

if TYPE_CHECKING:
    from .analysis import Analysis

FORMAT = "vitviz analysis"  # the key of our JSON in the metadata of a saved analysis
VERSION = 1
OPERATED = 2  # with interventions: an older vitviz must not show it as the intact model
TRACE = ("q", "k", "tokens", "logits")
EMBEDDING = ("filters", "bias", "content", "position")
PHOTOGRAPH = ("crop", "whole")
Parts = tuple[dict[str, torch.Tensor], dict[str, str]]  # tensors and metadata of a file


def write(analysis: "Analysis", path: str | Path) -> None:
    """Write everything to one file. Raises `VitvizError` if it cannot be written."""
    tensors, metadata = _parts(analysis)
    try:
        write_tensors(path, tensors, metadata)
    except OSError as error:
        raise VitvizError(f"the analysis could not be written to {path}: {error}") from error


def to_bytes(analysis: "Analysis") -> bytes:
    """The bytes of the file that `write` would write."""
    return tensors_to_bytes(*_parts(analysis))


def _parts(analysis: "Analysis") -> Parts:
    """The tensors and the metadata of the file."""
    tensors = {"picture": analysis.picture, "pixels": analysis.pixels}
    tensors |= {name: getattr(analysis.trace, name) for name in TRACE}
    if analysis.trace.v is not None:
        tensors["v"] = analysis.trace.v
    if analysis.trace.bias is not None:
        tensors["bias"] = analysis.trace.bias.tables
    if analysis.positions is not None:
        tensors["positions.patches"] = analysis.positions.patches
        tensors["positions.prefix"] = analysis.positions.prefix
    if analysis.embedding is not None:
        for name in EMBEDDING:
            tensors[f"embedding.{name}"] = getattr(analysis.embedding, name)
    if analysis.lens is not None:
        tensors["lens"] = analysis.lens
    photograph = analysis.photograph
    for name in PHOTOGRAPH if photograph else ():
        if (data := getattr(photograph, name)) is not None:
            tensors[f"photograph.{name}"] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    for place, change in enumerate(analysis.interventions):
        if isinstance(change, Transplant):
            # Two can share the memory of one analysis, and shared memory cannot be saved.
            tensors[f"donor.{place}"] = change.donor.tokens.clone()
    card = analysis.card
    text = {
        "version": OPERATED if analysis.interventions else VERSION,
        "card": card.to_dict(),
        "preprocess": analysis.preprocess.to_dict(),
        "grid": asdict(analysis.grid),
        "scale": analysis.trace.scale,
        "photo_name": analysis.photo_name,
        "notes": list(analysis.notes),
        "inverted": analysis.inverted,
        "frame": list(photograph.frame) if photograph else None,
        "messages": to_file(
            [card.source, *card.details.values(), *card.assumed, *card.left_out, *analysis.notes]
        ),
    }
    if analysis.interventions:
        text["interventions"] = [change.to_dict() for change in analysis.interventions]
    return tensors, {FORMAT: json.dumps(text)}


def read(kind: "type[Analysis]", path: str | Path) -> "Analysis":
    """Read an analysis of this class from a file. Raises `VitvizError` if it is incomplete."""
    return _checked(kind, str(path), lambda: read_tensors(path))


def from_bytes(kind: "type[Analysis]", data: bytes) -> "Analysis":
    """Read an analysis from the bytes of a file. Raises `VitvizError` as `read` does."""
    return _checked(kind, "this file", lambda: tensors_from_bytes(data))


def _checked(kind: "type[Analysis]", name: str, parts: Callable[[], Parts]) -> "Analysis":
    """Make the analysis of the parts of a file, which error messages call `name`."""
    try:
        return _analysis(kind, *parts())
    except VitvizError as error:
        raise VitvizError(f"{name} cannot be read: {error}") from error
    except (OSError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise VitvizError(f"{name} is not an analysis saved by vitviz: {short(error)}") from error


def _analysis(
    kind: "type[Analysis]", tensors: dict[str, torch.Tensor], metadata: dict[str, str]
) -> "Analysis":
    text = parse(metadata[FORMAT])
    if text["version"] not in (VERSION, OPERATED):
        raise VitvizError(
            f"it is an analysis of version {short(text['version'])}; "
            f"this vitviz reads versions {VERSION} and {OPERATED}"
        )
    messages = text.get("messages")  # older files have none
    card = ModelCard.from_dict(text["card"])
    details = {name: from_file(words, messages) for name, words in card.details.items()}
    assumed, left_out = (
        tuple(from_file(sentence, messages) for sentence in sentences)
        for sentences in (card.assumed, card.left_out)
    )
    source = from_file(card.source, messages)
    card = replace(card, source=source, details=details, assumed=assumed, left_out=left_out)
    check_seed(card.details)
    preprocess = Preprocess.from_dict(text["preprocess"])
    check_size(card, preprocess)
    grid = {key: tuple(v) if isinstance(v, list) else v for key, v in text["grid"].items()}
    if grid != asdict(PatchGrid.of(card.config)):
        raise VitvizError(f"its grid {short(grid)} is not that of its model")
    for name, right in (
        ("scale", is_number(text["scale"], 1e-6, 1e6)),
        ("photo_name", isinstance(text["photo_name"], str)),
        ("notes", are_texts(text["notes"])),
        ("inverted", isinstance(text.get("inverted", False), bool)),  # older files do not have it
    ):
        if not right:
            raise VitvizError(f"its {name} is {short(text[name])}")
    _check_tensors(tensors, card)
    surgery = Surgery(_interventions(text.get("interventions", []), tensors), card.config)
    positions = embedding = None
    if "positions.patches" in tensors:
        positions = Positions(tensors["positions.prefix"], tensors["positions.patches"])
    if "embedding.filters" in tensors:
        embedding = Embedding(*(tensors[f"embedding.{name}"] for name in EMBEDDING))
    bias = Bias(tensors["bias"], card.config.grid_size) if "bias" in tensors else None
    q, k, tokens, logits = (tensors[name] for name in TRACE)
    trace = Trace(q, k, tokens, logits, text["scale"], v=tensors.get("v"), bias=bias)
    return kind(
        card=card,
        preprocess=preprocess,
        positions=positions,
        photo_name=text["photo_name"],
        notes=tuple(from_file(note, messages) for note in text["notes"]),
        inverted=text.get("inverted", False),
        photograph=_photograph(tensors, text.get("frame")),
        pass_=Pass(
            surgery=surgery,
            picture=tensors["picture"],
            pixels=tensors["pixels"],
            trace=surgery.traced(trace),
            embedding=embedding,
            lens=tensors.get("lens"),
        ),
    )


def _photograph(tensors: dict[str, torch.Tensor], frame: Any) -> Photograph | None:
    files = [tensors.get(f"photograph.{name}") for name in PHOTOGRAPH]
    if all(file is None for file in files):
        return None
    crop, whole = (None if file is None else file.numpy().tobytes() for file in files)
    return Photograph.read(crop, whole, frame)


def _interventions(
    parsed: Any, tensors: dict[str, torch.Tensor]
) -> tuple[intervention.Intervention, ...]:
    """The interventions of a file, with the tensors of those that take tokens from elsewhere."""
    if not isinstance(parsed, list):
        raise VitvizError(f"its interventions are {short(parsed)}")
    values = []
    for place, item in enumerate(parsed):
        if isinstance(item, dict) and item.get("kind") == Transplant.kind:
            item = {**item, "from": Donor(str(item["from"]), tensors[f"donor.{place}"])}
        values.append(item)
    return intervention.read(values)


def _check_tensors(tensors: dict[str, torch.Tensor], card: ModelCard) -> None:
    """Raise `VitvizError` for a tensor of a wrong name, shape or type, or with huge values."""
    config = card.config
    n, p, d = config.num_tokens, config.num_patches, config.embed_dim
    heads = (config.depth, config.num_heads, n, config.head_dim)
    count = min(len(tensors.get("embedding.bias", ())), d)
    each = () if config.global_pool else (n,)
    prefix = config.num_prefix_tokens if config.pos_embed_prefix else 0
    shapes = {
        "picture": (*config.image_size, config.in_chans),
        "pixels": (config.in_chans, *config.image_size),
        "q": heads,
        "k": heads,
        "v": heads,
        "tokens": (config.depth + 1, n, d),
        "logits": (*each, config.num_classes or config.pooled_dim),
        "positions.patches": (p, d),
        "positions.prefix": (prefix, d),
        "embedding.filters": (count, config.in_chans, *config.patch_size),
        "embedding.bias": (count,),
        "embedding.content": (n, count),
        "embedding.position": (n, count),
        "lens": (config.depth, config.num_classes),
    }
    if config.relative_bias:
        rows, cols = config.grid_size
        ways = (2 * rows - 1) * (2 * cols - 1) + 3
        shapes["bias"] = (config.depth, ways, config.num_heads)
    for name in PHOTOGRAPH:  # files, of any length
        key = f"photograph.{name}"
        shapes[key] = (tensors[key].numel(),) if key in tensors else ()
    donors = [name for name in tensors if re.fullmatch(r"donor\.\d{1,3}", name)]
    shapes |= {name: (len(tensors[name]), d) for name in donors if tensors[name].ndim}
    for name, tensor in tensors.items():
        kind = torch.uint8 if name.startswith(("picture", "photograph.")) else torch.float32
        if tuple(tensor.shape) != shapes.get(name) or tensor.dtype != kind:
            raise VitvizError(f"its {name} has shape {tuple(tensor.shape)} of {tensor.dtype}")
        if not is_sound(tensor):
            raise VitvizError(f"its {name} holds values without bounds")
    if "lens" in tensors and card.head != "classes":
        raise VitvizError("its model names no classes, but it has a lens")
