"""Pass: one forward pass of a picture through a model, as interventions change it."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..errors import CaptureError
from ..languages import Message
from ..model.loaded import LoadedModel
from ..model.products import fast_products
from .capture.recorder import capture, listening
from .capture.trace import Trace, is_sound
from .intervene.surgery import Surgery
from .measure.embedding import Embedding
from .measure.lens import has_lens, logit_lens


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Pass:
    """What is changed in one forward pass, and what the pass leaves behind.

    surgery    the interventions, checked; none of them for the intact model
    picture    (h, w, C) uint8    the photo as the model saw it: resized, cropped, then changed
    pixels     (C, h, w) float32  the same, normalised: what entered the model
    trace      the queries, keys and tokens of all layers, and the logits; see `Trace`
    embedding  the first numbers of each token before the first block; older files lack it (None)
    lens       (L, C) the logits after each block (`lens.py`); None if the model names no classes
    """

    surgery: Surgery
    picture: Tensor
    pixels: Tensor
    trace: Trace
    embedding: Embedding | None = None
    lens: Tensor | None = None


def forward(loaded: LoadedModel, picture: Tensor, surgery: Surgery, *, values: bool) -> Pass:
    """Run a model once on a picture, (h, w, C) uint8, as a surgery changes both.

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
    trace = surgery.traced(recorder.trace(logits))
    heard = (trace.q, trace.k, trace.tokens, logits, *([] if trace.v is None else [trace.v]))
    if not all(map(is_sound, heard)):
        raise CaptureError(Message("models.without_bounds", name=loaded.card.name))
    lens = None
    if loaded.card.head == "classes" and has_lens(loaded.vit):
        with surgery.applied(loaded.vit):
            lens = logit_lens(loaded.vit, trace.tokens)
    pos_embed = loaded.vit.pos_embed
    placed = None if pos_embed is None else surgery.positions(pos_embed)
    return Pass(
        surgery=surgery,
        picture=picture,
        pixels=pixels[0].contiguous(),
        trace=trace,
        embedding=Embedding.of(loaded.vit, embedded[0][0], positions=placed),
        lens=lens,
    )


def trace_with_values(loaded: LoadedModel, pass_: Pass, target: int | None) -> Trace:
    """The trace of the same pass once more, with v; and with g if there is a target class."""
    surgery = pass_.surgery
    grad = torch.no_grad if target is None else torch.enable_grad
    with (
        grad(),
        fast_products(),
        surgery.applied(loaded.vit),
        capture(loaded.vit, values=True, target=target) as recorder,
    ):
        trace = recorder.trace(loaded.vit(pass_.pixels[None].to(loaded.device)))
    trace = surgery.traced(trace)
    if trace.g is None:
        return trace
    gradients = [surgery.heads_off(layer, one[None])[0] for layer, one in enumerate(trace.g)]
    return replace(trace, g=torch.stack(gradients))
