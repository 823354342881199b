"""LoadedModel and its ModelCard, which `load` returns; `build` puts weights into a ViT."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from ..errors import WeightsError
from ..languages import Message
from .config import ViTConfig
from .json_values import are_texts, is_number, is_whole, parse, short
from .key import ModelKey
from .labels import Labels, names_of
from .outputs import by_number, check_outputs
from .precision import bring_to, converts, precision_of
from .preprocess import Preprocess
from .taught import WRITTEN, Taught, read_taught
from .vit import ViT

HeadKind = Literal["classes", "embedding", "tokens", "none"]
HEADS = get_args(HeadKind)
Library = Literal["timm", "transformers"]
LIBRARIES = get_args(Library)
# Names of the scores that a checkpoint's threshold can be for: `probe.predictions.known_or_not` of
# models that were trained to tell, and the largest of the softmax's probabilities of taught heads.
KNOWN_OR_NOT = "logsumexp of the logits"
LARGEST = "largest probability"
KNOWN_BY = {KNOWN_OR_NOT: (-1e4, 1e4), LARGEST: (0, 1)}  # bounds of their thresholds
SHOWN_NAMES = 5  # of the classes, in one line
ALIGNED_BYTES = 64  # torch's own tensors begin at multiples of it


def head_of(labels: tuple[str, ...] | None, config: ViTConfig) -> HeadKind:
    """The kind of a model's outputs, for `ModelCard.head`."""
    if not config.num_classes:
        return "none"
    if not config.global_pool:
        return "tokens"
    return "classes" if labels else "embedding"


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """Facts about a model: its origin, its architecture, the meaning of its outputs.

    `head` says what the outputs are: "classes" (labels exist), "embedding" (features, no class
    names), "tokens" (`global_pool` "": the head answers for every token, (N, C), not for the
    picture as a whole), "none" (there is no head). `outputs` is their meaning, one of
    `outputs.OUTPUTS`; if left out, `by_number` guesses it, and for a single output `assumed` gets a
    sentence about the guess.
    `details` are facts in words: data set, accuracy, terms, ... `words` are the names of classes
    and groups in other languages, as far as the checkpoint brings them: {"ko": {"labels":
    {"goldfish": "금붕어"}, "groups": {"dog": "개"}}}.
    `temperature` divides the logits before the softmax or the sigmoid, so that shown probabilities
    are calibrated (arXiv:1706.04599); 1 if it was not fitted. `trained` is False for random
    weights.
    `resized_from` is the image size of the training if positions were resampled to another size.
    `assumed` are sentences about what the files do not say and was assumed, `left_out` the parts of
    the files that the model has no place for.
    """

    name: str
    source: str
    config: ViTConfig
    labels: tuple[str, ...] | None = None
    num_parameters: int = 0
    head: HeadKind = "none"
    outputs: str = ""
    temperature: float = 1.0
    details: Mapping[str, str] = field(default_factory=dict)
    trained: bool = True
    resized_from: tuple[int, int] | None = None
    words: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise `WeightsError` for a field of a wrong type or range, as in a damaged file."""
        count = self.config.num_classes
        if self.outputs == "":
            object.__setattr__(self, "outputs", by_number(count))
            if count == 1 and self.config.global_pool and are_texts(self.assumed):
                assumed = (*self.assumed, Message("models.assumed_score"))
                object.__setattr__(self, "assumed", assumed)
        check_outputs(self.outputs, count)
        details = isinstance(self.details, Mapping)
        for name, kind, right in (
            ("name", "a text", isinstance(self.name, str)),
            ("source", "a text", isinstance(self.source, str)),
            ("labels", "a list of texts", self.labels is None or are_texts(self.labels)),
            ("details", "texts", details and are_texts([*self.details, *self.details.values()])),
            ("head", f"one of {', '.join(HEADS)}", self.head in HEADS),
            ("trained", "true or false", isinstance(self.trained, bool)),
            ("num_parameters", "a whole number", is_whole(self.num_parameters)),
            ("words", "texts by language and kind", are_words(self.words)),
            ("assumed", "a list of texts", are_texts(self.assumed)),
            ("left_out", "a list of texts", are_texts(self.left_out)),
            ("temperature", "from 0.001 to 1000", is_number(self.temperature, 1e-3, 1e3)),
        ):
            if not right:
                value = short(getattr(self, name))
                raise WeightsError(f"the {name} of a model must be {kind}, got {value}")
        if self.resized_from is not None:
            replace(self.config, image_size=self.resized_from)  # raises for a wrong size
        _ = self.threshold, self.certain, self.taught  # raise for a wrong one
        if self.head == "classes" and head_of(self.labels, self.config) != "classes":
            raise WeightsError(
                f"{self.name} has no labels for classes, or no answer to the picture"
            )
        if self.labels is not None and len(self.labels) != self.config.num_classes:
            raise WeightsError(
                f"{self.name} has {len(self.labels)} labels for {self.config.num_classes} classes"
            )

    @property
    def key(self) -> ModelKey:
        """The key of this model, with its image size if that is not the size of its training."""
        size = None if self.resized_from is None else self.config.image_size
        return ModelKey(self.name, not self.trained, size)

    @property
    def threshold(self) -> float | None:
        """The least score with which a picture counts as one of the classes, from "others" in
        `details`; None for a model without one. `Analysis.known_or_not` uses the threshold.

        Raises `WeightsError` if "others" is damaged, or its threshold is for another score.
        """
        others = self._others()
        if "threshold" not in others:  # no pictures were held out to set it with
            return None
        threshold, score = others["threshold"], others.get("score")
        bounds = KNOWN_BY.get(score) if isinstance(score, str) else None
        if bounds is None or not is_number(threshold, *bounds):
            allowed = (
                f"from {low:g} to {high:g} for the {by}" for by, (low, high) in KNOWN_BY.items()
            )
            raise WeightsError(
                f"the threshold of a model must be a number {', or '.join(allowed)}, got "
                f"{short(threshold)} for {short(score)}"
            )
        return float(threshold)

    @property
    def known_by(self) -> str:
        """The score that `threshold` is for, one of `KNOWN_BY`; `KNOWN_OR_NOT` without one."""
        return KNOWN_OR_NOT if self.threshold is None else self._others()["score"]

    def _others(self) -> Mapping[str, Any]:
        """The "others" in `details`, {} if there are none. Raises `WeightsError` if damaged."""
        if "others" not in self.details:
            return {}
        try:
            others = parse(self.details["others"])
        except ValueError as error:
            raise WeightsError(f"the others of a model must be JSON: {error}") from error
        if not isinstance(others, Mapping):
            raise WeightsError(f"the others of a model must be a JSON object, got {short(others)}")
        return others

    @property
    def taught(self) -> Taught | None:
        """The facts of a head that `vitviz.teach` fitted, "taught" in `details`; None for another.

        Raises `WeightsError` if it is damaged, or of another number of classes.
        """
        text = self.details.get("taught")
        return None if text is None else read_taught(text, self.config.num_classes)

    @property
    def none(self) -> int | None:
        """The class that a taught head answers for pictures that show none of its things."""
        return None if self.taught is None else self.taught.none

    @property
    def certain(self) -> float | None:
        """The smallest probability of an answer that is stated without "maybe", in [0, 1], from
        "certain" in `details`; None if it was not measured (`predictions.TRUE` applies then).

        Raises `WeightsError` if "certain" is no such number.
        """
        if "certain" not in self.details:
            return None
        try:
            certain = parse(self.details["certain"])
        except ValueError:
            certain = None
        if not is_number(certain, 0, 1):
            raise WeightsError(
                "the certain of a model must be a probability from 0 to 1, "
                f"got {short(self.details['certain'])}"
            )
        return float(certain)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "source": self.source,
            "config": self.config.to_dict(),
            "labels": None if self.labels is None else list(self.labels),
            "num_parameters": self.num_parameters,
            "head": self.head,
            "outputs": self.outputs,
            "temperature": self.temperature,
            "details": dict(self.details),
            "trained": self.trained,
            "resized_from": None if self.resized_from is None else list(self.resized_from),
            "words": {
                language: {kind: dict(names) for kind, names in kinds.items()}
                for language, kinds in self.words.items()
            },
            "assumed": list(self.assumed),
            "left_out": list(self.left_out),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ModelCard":
        values = dict(values)
        labels = values.pop("labels")
        config = ViTConfig.from_dict(values.pop("config"))
        resized_from = values.pop("resized_from", None)  # older files do not have these three
        assumed, left_out = (tuple(values.pop(name, ())) for name in ("assumed", "left_out"))
        return cls(
            config=config,
            labels=None if labels is None else tuple(labels),
            resized_from=None if resized_from is None else tuple(resized_from),
            assumed=assumed,
            left_out=left_out,
            **values,
        )


def are_words(words: object) -> bool:
    """Whether a value fits `ModelCard.words`: {language: {kind: {name: translation}}}."""
    if not isinstance(words, Mapping) or not are_texts([*words]):
        return False
    if not all(isinstance(kinds, Mapping) for kinds in words.values()):
        return False
    kinds = [names for kinds in words.values() for names in kinds.values()]
    return all(
        isinstance(names, Mapping) and are_texts([*names, *names.values()]) for names in kinds
    )


@dataclass(frozen=True)
class Resampling:
    """The method of resampling positions to another grid: that of the library `like`.

    "timm": bicubic, and smoothed (`antialias`) where the grid becomes coarser; a relative bias with
    growing steps (BEiT). "transformers": bicubic, not smoothed in most families; a relative bias
    bilinear.
    """

    like: Library = "timm"
    antialias: bool = True

    @classmethod
    def of(cls, like: str, antialias: bool = False) -> "Resampling":
        """The way of a library; `antialias`: of transformers, for this family. Raises
        `WeightsError` for another library.
        """
        if like not in LIBRARIES:
            raise WeightsError(
                f"positions_like must be {' or '.join(LIBRARIES)}, got {short(like)}"
            )
        return cls() if like == "timm" else cls("transformers", antialias)


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model ready to look into: in eval mode, its weights frozen.

    `film` is the file with moments of its training, if it lies beside the checkpoint. `resampling`
    says how positions would be brought to another image size.
    """

    vit: ViT
    card: ModelCard
    preprocess: Preprocess
    film: Path | None = None
    resampling: Resampling = Resampling()

    def __repr__(self) -> str:
        """One line, so that a notebook cell that ends with a model does not print its weights."""
        config, trained = self.card.config, "" if self.card.trained else ", random weights"
        return (
            f"LoadedModel({self.card.name}: {self.card.num_parameters:,} parameters, "
            f"{config.image_size[0]} x {config.image_size[1]} pixels in "
            f"{config.grid_size[0]} x {config.grid_size[1]} patches, {config.depth} layers of "
            f"{config.num_heads} heads, {config.num_classes} outputs{trained})"
        )

    def __str__(self) -> str:
        """`understood` in one line."""
        parts = (f"{name.replace('_', ' ')}: {text}" for name, text in self.understood().items())
        return f"{self.card.name}: {'; '.join(parts)}"

    def understood(self) -> dict[str, Message]:
        """Sentences for the user about what vitviz read from the files, by name: architecture,
        outputs, size, positions and pixels; `classes` if they have names, what the author of a
        taught head wrote on its card, `assumed` and `left_out` if there is something.
        """
        card, config, made = self.card, self.card.config, self.preprocess
        count, names = config.num_classes, card.labels or ()
        patch = "{} x {}".format(*config.patch_size)
        size = "{} x {}".format(*config.image_size)
        kinds = {"learned": config.pos_embed, "rotary": config.rotary, "bias": config.relative_bias}
        found = tuple(
            Message(f"models.kind_{kind}") for kind, is_there in kinds.items() if is_there
        )
        positions = Message("models.positions", kinds=found or (Message("models.kind_none"),))
        if card.resized_from and (config.pos_embed or config.relative_bias):
            before = "{} x {}".format(*card.resized_from)
            like = self.resampling.like
            positions = Message("models.resampled", kinds=found, before=before, library=like)
        known = card.head == "classes" and card.outputs != "one_of"
        meaning = card.outputs if known else card.head
        shown = {
            "architecture": Message(
                "models.architecture",
                layers=config.depth,
                heads=config.num_heads,
                width=config.embed_dim,
                patch=patch,
            ),
            "outputs": Message(f"models.outputs_{meaning}", count=f"{count or config.embed_dim:,}"),
            "size": Message("models.pixels", size=size, tokens=config.num_tokens),
            "positions": positions,
            "pixels": _pixels(made),
        }
        if names:
            more = ("...",) if len(names) > SHOWN_NAMES else ()
            listed = (*names[:SHOWN_NAMES], *more)
            shown["classes"] = Message("models.listed", names=listed)
        for name in WRITTEN:
            if text := " ".join(card.details.get(name, "").split()):
                plain = "".join(filter(str.isprintable, text))  # it may go to a terminal
                shown[name] = Message("models.listed", names=(plain,))
        for name in ("assumed", "left_out"):
            if items := getattr(card, name):
                shown[name] = Message("models.listed", names=items)
        return shown

    @property
    def num_bytes(self) -> int:
        """Size of the parameters and buffers in bytes, each counted once."""
        return sum(tensor.nbytes for tensor in (*self.vit.parameters(), *self.vit.buffers()))

    @property
    def device(self) -> torch.device:
        return next(self.vit.parameters()).device


def _pixels(made: Preprocess) -> Message:
    """How a photo becomes pixels: what is cut out of it, and the numbers that normalise it."""
    return Message(
        "models.made",
        crop=Message(f"models.crop_{made.crop_mode}", share=f"{100 * made.crop_pct:.4g} %"),
        interpolation=made.interpolation,
        mean=_rounded(made.mean),
        std=_rounded(made.std),
    )


def _rounded(values: tuple[float, ...]) -> tuple[str, ...]:
    return tuple(f"{value:.4g}" for value in values)


def as_precise(made: LoadedModel, loaded: LoadedModel) -> LoadedModel:
    """Convert `made`, a model built from `loaded`, to the weight precision of `loaded`."""
    if kind := precision_of(loaded.vit):
        bring_to(made.vit, kind)
    return made


def check_loaded(loaded: object) -> None:
    """Raise `WeightsError` for a value that is no `LoadedModel`, such as the name of a model."""
    if not isinstance(loaded, LoadedModel):
        raise WeightsError(
            "a model is what vitviz.load(name), vitviz.from_timm(model) or "
            f"vitviz.from_transformers(model) returns, got {type(loaded).__name__}"
        )


def check_runs(loaded: object) -> None:
    """Raise `WeightsError` for a value that is no `LoadedModel`, and for a model whose weights were
    converted from float32, the type of pixels and results. Models under `torch.autocast` or from
    `load(dtype=)` pass, because they convert their inputs themselves.
    """
    check_loaded(loaded)
    assert isinstance(loaded, LoadedModel)
    kinds = {weight.dtype for weight in loaded.vit.parameters() if weight.is_floating_point()}
    other = next((kind for kind in kinds if kind != torch.float32), None)
    converted = torch.is_autocast_enabled(loaded.device.type) or converts(loaded.vit)
    if other is not None and not converted:
        raise WeightsError(
            f"weights of {loaded.card.name} are {other}, and vitviz computes in float32: "
            "loaded.vit.float() makes float32 of them"
        )


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """Options of `vitviz.load` besides the source."""

    arch: str | None = None
    key: str | None = None
    labels: Labels = None
    preprocess: Preprocess | None = None
    pretrained: bool = True
    image_size: int | tuple[int, int] | None = None
    without: tuple[str, ...] = ()
    positions_like: str | None = None
    outputs: str | None = None


def customized(loaded: LoadedModel, options: LoadOptions) -> LoadedModel:
    """The model with the labels, the preprocessing and the meaning of outputs of the options in
    place of its own.

    Raises `WeightsError` if they do not fit the model.
    """
    card = loaded.card
    if options.labels is not None:
        names = names_of(options.labels, card.config.num_classes)
        details = {key: text for key, text in card.details.items() if key != "groups"}
        head = head_of(names, card.config)
        card = replace(card, labels=names, head=head, words={}, details=details)
    card = with_outputs(card, options.outputs)
    if options.preprocess is not None:
        check_size(card, options.preprocess)
        card = replace(card, assumed=tuple(text for text in card.assumed if not _is_pixels(text)))
    return replace(loaded, card=card, preprocess=options.preprocess or loaded.preprocess)


def with_outputs(card: ModelCard, outputs: str | None) -> ModelCard:
    """The card with this meaning of the outputs; None: with its own.

    Outputs without names that are no vector are named by their numbers. Raises `WeightsError` as
    `check_outputs` does, and for a model without a head for the picture.
    """
    count = card.config.num_classes
    if outputs is not None:
        check_outputs(outputs, count)
        if head_of(("",), card.config) != "classes":
            raise WeightsError(f"{card.name} has no head whose outputs could mean {outputs}")
        score = "models.assumed_score"
        assumed = tuple(text for text in card.assumed if getattr(text, "key", "") != score)
        card = replace(card, outputs=outputs, assumed=assumed)
    if card.head == "embedding" and card.outputs != "one_of":
        names = tuple(f"output {number}" for number in range(count))
        card = replace(card, labels=names, head="classes")
    return card


def _is_pixels(sentence: str) -> bool:
    """Whether an assumption is about how pictures are made."""
    return getattr(sentence, "key", "") in ("models.assumed_pixels", "models.assumed_processor")


def _is_ours(value: Tensor) -> bool:
    """Whether a tensor can become a parameter without a copy. Tensors of a memory-mapped file begin
    at any byte, and on some processors the last digits of matrix products depend on the alignment;
    a model that is loaded twice must give the same answers.
    """
    return not value.is_inference() and value.data_ptr() % ALIGNED_BYTES == 0


@torch.inference_mode(False)  # a model that is loaded in inference mode can be explained, too
def build(state: Mapping[str, Tensor], card: ModelCard, preprocess: Preprocess) -> LoadedModel:
    """Put weights into a ViT. They must be exactly its parameters, with the same shapes.

    Raises `WeightsError` that names the parameters that do not fit, or that are not finite.
    """
    check_depth(state, card.config.depth, card.name)
    check_size(card, preprocess)
    with torch.device("meta"):  # no memory, no random draws: `state` replaces all parameters
        vit = ViT(card.config)
    if wrong := misfits(vit.state_dict(), state):
        raise WeightsError(f"the weights of {card.name} do not fit: {wrong}")
    if bad := [key for key, value in state.items() if not holds_numbers(value)]:
        raise WeightsError(
            f"the weights of {card.name} are damaged: {bad[0]} holds values that are not finite, "
            "or lacks some"
        )
    own = {key: value if _is_ours(value) else value.clone() for key, value in state.items()}
    whole = {key: value.float() for key, value in own.items()}
    vit.load_state_dict(whole, strict=True, assign=True)
    vit.eval().requires_grad_(False)
    num_parameters = sum(parameter.numel() for parameter in vit.parameters())
    return LoadedModel(vit, replace(card, num_parameters=num_parameters), preprocess)


def check_depth(state: Mapping[str, Tensor], depth: int, name: str) -> None:
    """Raise `WeightsError` if the weights have another number of blocks than the config.

    This cheap check comes first, so that a config of a million blocks is refused before it is
    built.
    """
    found = len({key.split(".")[1] for key in state if key.startswith("blocks.")})
    if found != depth:
        raise WeightsError(
            f"the weights of {name} do not fit: they are of {found} blocks, its config says {depth}"
        )


def misfits(wanted: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> str:
    """Name the first parameters that are missing, unexpected or of another shape; "" if none is."""
    expected = {key: tuple(value.shape) for key, value in wanted.items()}
    found = {key: tuple(value.shape) for key, value in given.items()}
    wrong = [
        *(f"{key} is missing" for key in expected if key not in found),
        *(f"{key} is not expected" for key in found if key not in expected),
        *(
            f"{key} has shape {found[key]} instead of {expected[key]}"
            for key in expected
            if key in found and found[key] != expected[key]
        ),
    ]
    return "; ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")


def check_size(card: ModelCard, preprocess: Preprocess) -> None:
    """Raise `WeightsError` unless preprocessing makes pictures of the model's size and channels.

    They may be larger by a margin narrower than a patch.
    """
    config = card.config
    margins = zip(preprocess.size, config.image_size, config.patch_size, strict=True)
    fits = all(0 <= made - taken < patch for made, taken, patch in margins)
    if not fits or preprocess.channels != config.in_chans:
        raise WeightsError(
            f"the preprocessing of {card.name} makes pictures of {preprocess.size} and "
            f"{preprocess.channels} channels, but its config says {config.image_size} "
            f"and {config.in_chans}"
        )


def holds_numbers(tensor: Tensor) -> bool:
    """Whether all numbers of a tensor are stored, and finite."""
    dense = tensor.layout == torch.strided and not (
        tensor.is_meta or tensor.is_complex() or tensor.is_quantized or tensor.is_nested
    )
    if not dense or tensor.numel() * tensor.itemsize > tensor.untyped_storage().nbytes():
        return False
    return bool(torch.isfinite(tensor.float()).all())
