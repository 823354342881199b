"""One forward pass of a picture through a model, and all of an analysis that follows from it."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..errors import CaptureError
from ..languages import Message
from ..model.loaded import LoadedModel
from ..model.photograph import Photograph
from ..model.products import fast_products
from .embedding import Embedding
from .grid import PatchGrid
from .lens import has_lens, logit_lens
from .positions import Positions
from .surgery import Surgery
from .trace import Trace, capture, is_sound, listening


def forward(
    loaded: LoadedModel,
    picture: Tensor,
    surgery: Surgery,
    *,
    values: bool,
    photograph: Photograph | None,
) -> dict[str, Any]:
    """The fields of an `Analysis`, by name, after a pass of a picture, (h, w, C) uint8, as a
    surgery changes it. Those that are of the photo, like its name, are not among them.

    `values`: the trace keeps v. Raises `CaptureError` if the model computes numbers that are not
    finite.
    """
    picture = surgery.picture(picture)
    pixels = loaded.preprocess.pixels(picture)
    embedded: list[Tensor] = []
    with (
        torch.inference_mode(),
        fast_products(),
        listening() as listen,
        surgery.applied(loaded.vit),
        capture(loaded.vit, values=values) as recorder,
    ):
        listen(
            loaded.vit.patch_embed.register_forward_hook,
            lambda _module, _args, out: embedded.append(out),
        )
        logits = loaded.vit(pixels.to(loaded.device))
    pos_embed = loaded.vit.pos_embed
    trace = replace(recorder.trace(logits), cuts=surgery.cuts)
    heard = (trace.q, trace.k, trace.tokens, logits, *([] if trace.v is None else [trace.v]))
    if not all(map(is_sound, heard)):
        raise CaptureError(Message("models.without_bounds", name=loaded.card.name))
    lens = None
    if loaded.card.head == "classes" and has_lens(loaded.vit):
        with surgery.applied(loaded.vit):
            lens = logit_lens(loaded.vit, trace.tokens)
    if photograph and surgery.changes_pixels:
        photograph = replace(photograph, crop=None)  # it would show the patches as they were
    placed = None if pos_embed is None else surgery.positions(pos_embed)
    return {
        "picture": picture,
        "pixels": pixels[0].contiguous(),
        "grid": PatchGrid.of(surgery.config),
        "trace": trace,
        "positions": None if pos_embed is None else Positions.of(pos_embed, surgery.config),
        "card": loaded.card,
        "preprocess": loaded.preprocess,
        "embedding": Embedding.of(loaded.vit, embedded[0][0], positions=placed),
        "lens": lens,
        "photograph": photograph,
        "interventions": surgery.interventions,
        "loaded": loaded,
    }


def trace_with_values(
    loaded: LoadedModel, pixels: Tensor, surgery: Surgery, target: int | None
) -> Trace:
    """The trace of a pass of pixels, (C, h, w), with v; and with g if there is a target class."""
    grad = torch.no_grad if target is None else torch.enable_grad
    with (
        grad(),
        fast_products(),
        surgery.applied(loaded.vit),
        capture(loaded.vit, values=True, target=target) as recorder,
    ):
        trace = recorder.trace(loaded.vit(pixels[None].to(loaded.device)))
    if trace.g is None:
        return trace
    gradients = [surgery.heads_off(layer, one[None])[0] for layer, one in enumerate(trace.g)]
    return replace(trace, g=torch.stack(gradients))
