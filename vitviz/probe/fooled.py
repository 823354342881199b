"""Fooled: an analysis whose picture was changed to turn the answer, and where inside it turns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from ..errors import SelectionError
from .capture.grid import PatchGrid
from .intervene.intervention import Transplant
from .intervene.surgery import Surgery
from .measure.predictions import most_probable, probabilities_of

if TYPE_CHECKING:
    from .analysis import Analysis


@dataclass(frozen=True, eq=False, slots=True)
class Restored:
    """The answer of a fooled picture with clean tokens put back before each block in turn.

    probability  of the clean answer. (L,) float64 in [0, 1]
    returns      whether the model answers as on the clean picture. (L,) bool
    """

    probability: Tensor
    returns: Tensor


@dataclass(frozen=True, eq=False, kw_only=True)
class Fooled:
    """The result of `Analysis.fool`.

    clean     the analysis of the picture as it was
    analysis  the same with the changed picture, whose intervention is a `Perturb`
    control   the same with random signs of `epsilon` levels at every value
    steps     steps that were taken
    """

    clean: "Analysis"
    analysis: "Analysis"
    control: "Analysis"
    steps: int

    @property
    def turned(self) -> bool:
        """Whether the answer is another class now; with a target, whether it is the target."""
        target = self.analysis.interventions[0].target  # type: ignore[attr-defined]
        before, after = (_class(one.trace.logits) for one in (self.clean, self.analysis))
        return after != before and target in ("away", after)

    @property
    def control_turned(self) -> bool:
        """Whether random signs of the same size turned the answer."""
        return _class(self.control.trace.logits) != _class(self.clean.trace.logits)

    def restored(self, part: Literal["patches", "cls"] = "patches") -> Restored:
        """Put the clean patches, or the clean CLS, back before each block in turn, to locate the
        change: where this brings the answer back, those tokens carry it; see `Restored`.

        Activation patching (Meng et al. 2022, arXiv:2202.05262), with one pass of the model for
        each block. Where the patches are all tokens, putting them back restores the whole pass.
        Raises `SelectionError` for another part, and for CLS of a model without.
        """
        if part not in ("patches", "cls"):
            raise SelectionError(f'part must be "patches" or "cls", got {part!r:.40}')
        loaded, card = self.analysis.loaded, self.clean.card
        assert loaded is not None
        patches = part if part == "cls" else tuple(range(PatchGrid.of(card.config).num_patches))
        pixels, rows = self.analysis.pixels[None].to(loaded.device), []
        for layer in range(card.config.depth):
            clean = Transplant(patches, layer, self.clean)  # type: ignore[arg-type]
            surgery = Surgery((clean,), card.config)
            with torch.inference_mode(), surgery.applied(loaded.vit):
                rows.append(loaded.vit(pixels)[0].float().cpu())
        logits, answer = torch.stack(rows), _class(self.clean.trace.logits)
        probabilities = probabilities_of(logits, card.outputs, card.temperature)
        assert probabilities is not None
        return Restored(probabilities[:, answer], most_probable(logits, 1)[:, 0] == answer)


def _class(logits: Tensor) -> int:
    return int(most_probable(logits, 1))
