"""What loading gives: `LoadedModel` with its `ModelCard`; `build` puts the weights into the ViT."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from ..errors import WeightsError
from .config import ViTConfig
from .preprocess import Preprocess
from .vit import ViT

HeadKind = Literal["classes", "embedding", "tokens", "none"]


def head_of(labels: tuple[str, ...] | None, config: ViTConfig) -> HeadKind:
    """What the outputs of a model are, as `ModelCard.head` says it."""
    if not config.num_classes:
        return "none"
    if not config.global_pool:
        return "tokens"
    return "classes" if labels else "embedding"


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """What is known about a model: where it is from, what it is, what its outputs mean.

    `head` says what the outputs are: "classes" (labels exist), "embedding" (features, no class
    names), "tokens" (`global_pool` "": the head answers for every token, (N, C), and nothing for
    the picture as a whole), "none" (there is no head). `details` are facts in words: data set,
    accuracy, terms, ... `temperature` divides the logits before the softmax, so that shown
    probabilities are calibrated (arXiv:1706.04599); 1 where nothing was fitted. `trained` is False
    for random weights. `resized_from` is the image size of the training where the positions were
    resampled to another.
    """

    name: str
    source: str
    config: ViTConfig
    labels: tuple[str, ...] | None = None
    num_parameters: int = 0
    head: HeadKind = "none"
    temperature: float = 1.0
    details: Mapping[str, str] = field(default_factory=dict)
    trained: bool = True
    resized_from: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.labels is not None and len(self.labels) != self.config.num_classes:
            raise WeightsError(
                f"{self.name} has {len(self.labels)} labels for {self.config.num_classes} classes"
            )

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "source": self.source,
            "config": self.config.to_dict(),
            "labels": None if self.labels is None else list(self.labels),
            "num_parameters": self.num_parameters,
            "head": self.head,
            "temperature": self.temperature,
            "details": dict(self.details),
            "trained": self.trained,
            "resized_from": None if self.resized_from is None else list(self.resized_from),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ModelCard":
        values = dict(values)
        labels = values.pop("labels")
        config = ViTConfig.from_dict(values.pop("config"))
        resized_from = values.pop("resized_from", None)  # what older files do not say
        return cls(
            config=config,
            labels=None if labels is None else tuple(labels),
            resized_from=None if resized_from is None else tuple(resized_from),
            **values,
        )


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model ready to look into: in eval mode, its weights frozen.

    `film` is the file with moments of its training, where one lies beside the checkpoint.
    """

    vit: ViT
    card: ModelCard
    preprocess: Preprocess
    film: Path | None = None

    @property
    def device(self) -> torch.device:
        return next(self.vit.parameters()).device


def build(state: Mapping[str, Tensor], card: ModelCard, preprocess: Preprocess) -> LoadedModel:
    """Put weights into a ViT; every parameter must be there, with its shape, and nothing else.

    Raises `WeightsError` that names the parameters that do not fit, or one that is not finite.
    """
    with torch.device("meta"):  # `state` takes the place of these: nothing is drawn or held twice
        vit = ViT(card.config)
    expected = {key: tuple(value.shape) for key, value in vit.state_dict().items()}
    found = {key: tuple(value.shape) for key, value in state.items()}
    if expected != found:
        wrong = [
            *(f"{key} is missing" for key in expected if key not in found),
            *(f"{key} is not expected" for key in found if key not in expected),
            *(
                f"{key} has shape {found[key]} instead of {expected[key]}"
                for key in expected
                if key in found and found[key] != expected[key]
            ),
        ]
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise WeightsError(f"the weights of {card.name} do not fit: {'; '.join(wrong[:5])}{more}")
    if bad := [key for key, value in state.items() if not torch.isfinite(value).all()]:
        raise WeightsError(
            f"the weights of {card.name} are damaged: {bad[0]} holds values that are not finite"
        )
    vit.load_state_dict(state, strict=True, assign=True)
    vit.eval().requires_grad_(False)
    num_parameters = sum(parameter.numel() for parameter in vit.parameters())
    return LoadedModel(vit, replace(card, num_parameters=num_parameters), preprocess)
