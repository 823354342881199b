"""Pass: one forward pass of a picture through a model, with interventions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..errors import CaptureError
from ..languages import Message
from ..model.loaded import LoadedModel
from .capture.recorder import capture, listening
from .capture.trace import Trace, is_sound
from .intervene.surgery import Surgery
from .measure.embedding import Embedding
from .measure.lens import has_lens, logit_lens


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Pass:
    """One forward pass: its interventions and its results.

    surgery    the checked interventions; empty for the intact model
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


def forward(
    loaded: LoadedModel,
    picture: Tensor,
    surgery: Surgery,
    *,
    values: bool,
    pixels: Tensor | None = None,
) -> Pass:
    """Run a model once on a picture, (h, w, C) uint8, with the interventions of a surgery.

    `pixels`: (C, h, w), exact normalised pixels, used in place of the picture's rounded levels
    except where an intervention changes the picture. `values`: the trace keeps v. Raises
    `CaptureError` if the model computes numbers that are not finite.
    """
    given = None if pixels is None else [pixels]
    (pass_,) = forwards(loaded, [picture], surgery, values=values, pixels=given)
    return sound(pass_, loaded)


def sound(pass_: Pass, loaded: LoadedModel) -> Pass:
    """Return the pass. Raises `CaptureError` if it holds numbers that are not finite."""
    trace = pass_.trace
    v = [] if trace.v is None else [trace.v]
    if not all(map(is_sound, (trace.q, trace.k, trace.tokens, trace.logits, *v))):
        raise CaptureError(Message("models.without_bounds", name=loaded.card.name))
    return pass_


def forwards(
    loaded: LoadedModel,
    pictures: Sequence[Tensor],
    surgery: Surgery,
    *,
    values: bool,
    pixels: Sequence[Tensor] | None = None,
) -> Iterator[Pass]:
    """Run a model on a batch of pictures; yield a pass for each, not checked yet (`sound`).

    `pixels`: of each picture, see `forward`. Each pass of several has its own memory, so that
    keeping one does not keep the others.
    """
    before = pictures
    pictures = [surgery.picture(picture, loaded) for picture in pictures]
    entered = torch.cat([loaded.preprocess.pixels(picture) for picture in pictures])
    if pixels is not None:
        pairs = zip(pictures, before, strict=True)
        same = torch.stack([(now == once).permute(2, 0, 1) for now, once in pairs])
        entered = torch.where(same, torch.stack(tuple(pixels)), entered)
    embedded: list[Tensor] = []
    with (
        torch.inference_mode(),
        listening() as listen,
        surgery.applied(loaded.vit),
        capture(loaded.vit, values=values) as recorder,
    ):
        listen(
            loaded.vit.patch_embed.register_forward_hook,
            lambda _module, _args, out: embedded.append(out),
        )
        logits = loaded.vit(entered.to(loaded.device))
    pos_embed = loaded.vit.pos_embed
    placed = None if pos_embed is None else surgery.positions(pos_embed)
    has_answer = loaded.card.head == "classes" and has_lens(loaded.vit)
    for place, heard in enumerate(recorder.traces(logits)):
        trace = surgery.traced(heard if len(pictures) == 1 else heard.copy())
        lens = None
        if has_answer:
            with surgery.applied(loaded.vit):
                lens = logit_lens(loaded.vit, trace.tokens)
        yield Pass(
            surgery=surgery,
            picture=pictures[place],
            pixels=entered[place].clone(),
            trace=trace,
            embedding=Embedding.of(loaded.vit, embedded[0][place], positions=placed),
            lens=lens,
        )


def trace_with_values(loaded: LoadedModel, pass_: Pass, target: int | None) -> Trace:
    """Run the pass again for a trace with v, and with g if there is a target class."""
    surgery = pass_.surgery
    grad = torch.no_grad if target is None else torch.enable_grad
    with (
        grad(),
        surgery.applied(loaded.vit),
        capture(loaded.vit, values=True, target=target) as recorder,
    ):
        trace = recorder.trace(loaded.vit(pass_.pixels[None].to(loaded.device)))
    trace = surgery.traced(trace)
    if trace.g is None:
        return trace
    gradients = [
        surgery.heads_off(layer, gradient[None])[0] for layer, gradient in enumerate(trace.g)
    ]
    return replace(trace, g=torch.stack(gradients))
