"""Check whether a filled-in ViT is the one of vitviz: each gap on its own, then the whole.

Each gap gets the input that vitviz's own model has at that place, with the shipped weights, and its
output is compared with that model's. So a mistake in one gap is not blamed on another. If the
output is that of a common mistake, the report names it.
"""

import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import VitvizError
from ..languages import Message, language_of, say
from ..model.vit import ViT
from ..model.weights import load
from ..probe.analysis import Analysis, analyze
from ..probe.measure.numbers import digits
from ..probe.measure.predictions import most_probable, probabilities_of
from ..web.store.examples import EXAMPLES
from .gaps import GAPS, LAYER

# Digits have one channel, photos three; no sizes of theirs are equal.
PICTURES = {"mnist": "digit.png", "photos": "red-panda.jpg"}
RIGHT = Message("exercise.right")
TOLERANCE = 1e-5  # of the largest number that is compared
CAUGHT = (Exception, SystemExit)  # whatever a student's code can raise, exit() too


class Right(NamedTuple):
    """The input of a gap, and the output of vitviz for it."""

    given: tuple[Tensor, ...]
    expected: tuple[Tensor, ...]


@dataclass(frozen=True)
class Report:
    """The result of `check`. `str` gives its lines in its language.

    sentences  for each gap: right, still open, or what is wrong with it
    whole      about the model; if it is right, its answers to two pictures
    right      whether all gaps and the whole model are right
    """

    sentences: Mapping[str, Message]
    whole: Message
    right: bool
    language: str = "en"

    def __str__(self) -> str:
        names = [say(Message(f"exercise.name_{gap}"), self.language) for gap in self.sentences]
        texts = [say(sentence, self.language) for sentence in self.sentences.values()]
        lines = [
            f"{place}. {name}: {sentence}"
            for place, (name, sentence) in enumerate(zip(names, texts, strict=True), 1)
        ]
        return "\n".join([*lines, "", say(self.whole, self.language)])


def check(vit: Callable[..., nn.Module], language: str = "en") -> Report:
    """Compare a filled-in class `ViT` with vitviz's, with the weights of both shipped models.

    vit       has the parts and parameters of the exercise; it is called with image_size,
              patch_size, channels, classes, dim, depth and heads
    language  of the report: a tag (BCP 47)

    Errors of the student's code are part of the report. Raises `VitvizError` if the shipped weights
    do not fit into the class.
    """
    language = language_of(language)
    sentences: dict[str, Message] = {}
    wholes = []
    for name, picture in PICTURES.items():
        loaded = load(name, device="cpu")
        path = next(example.path for example in EXAMPLES if example.path.endswith(picture))
        analysis = analyze(loaded, path)
        model = _filled(loaded.vit, vit)
        for gap, right in right_parts(loaded.vit, _two(analysis)).items():
            if sentences.get(gap, RIGHT) == RIGHT:  # the first mistake is reported
                sentences[gap] = _of_gap(gap, model, right, loaded.vit)
        wholes.append(_of_whole(model, loaded.vit, analysis, language))
    sentences = {gap: sentences[gap] for gap in GAPS}
    done = sum(sentence == RIGHT for sentence in sentences.values())
    wrong = [
        whole_sentence for whole_sentence in wholes if whole_sentence.key != "exercise.answers"
    ]
    if done < len(GAPS):
        whole = Message("exercise.to_do", done=done, of=len(GAPS))
    elif wrong:  # something outside of the gaps was changed
        whole = Message("exercise.not_whole", what=wrong[0])
    else:
        whole = Message("exercise.done", digit=wholes[0], photo=wholes[1])
    return Report(sentences, whole, whole.key == "exercise.done", language)


def vit_of(names: Mapping[str, Any], path: str | Path) -> type:
    """The class `ViT` among the names of a file that was run. Raises `VitvizError` if it has
    none.
    """
    vit = names.get("ViT")
    if not isinstance(vit, type):
        raise VitvizError(f"{path} has no class ViT")
    return vit


def run_file(path: str | Path) -> dict[str, Any]:
    """Run somebody's file; returns its names. Raises `VitvizError` if it cannot be run."""
    try:
        return runpy.run_path(str(path))
    except OSError as error:
        if Path(str(error.filename)).resolve() != Path(path).resolve():  # of the student's code
            raise VitvizError(f"{path} stops with {in_one_line(error)}") from error
        raise VitvizError(f"{path} cannot be read: {error.strerror}") from error
    except CAUGHT as error:
        raise VitvizError(f"{path} stops with {in_one_line(error)}") from error


def _filled(ours: ViT, vit: Callable[..., nn.Module]) -> Any:
    """The student's model with the weights of ours."""
    config = ours.config
    weights = ours.state_dict()  # the exercise knows the filters as rows of a matrix
    weights["patch_embed.proj.weight"] = weights["patch_embed.proj.weight"].flatten(1)
    try:
        model = vit(
            image_size=config.image_size[0],
            patch_size=config.patch_size[0],
            channels=config.in_chans,
            classes=config.num_classes,
            dim=config.embed_dim,
            depth=config.depth,
            heads=config.num_heads,
        )
        model.load_state_dict(weights)
    except CAUGHT as error:
        raise VitvizError(Message("exercise.no_fit", error=in_one_line(error))) from error
    return model.eval()


def _two(analysis: Analysis) -> Tensor:
    """The picture and its mirror image: code for one picture alone is wrong. (2, C, h, w)"""
    return torch.stack([analysis.pixels, analysis.pixels.flip(-1)])


@torch.inference_mode()
def right_parts(vit: ViT, pixels: Tensor) -> dict[str, Right]:
    """Input and output of vitviz's model at the place of each gap, for pixels (B, C, h, w)."""
    heard: dict[str, tuple[Tensor, ...]] = {}
    attn, side = vit.blocks[LAYER].attn, vit.config.patch_size[0]
    hooks = [
        attn.qkv.register_forward_hook(lambda _module, _given, out: heard.update(numbers=(out,))),
        attn.tap.register_forward_hook(lambda _module, _given, out: heard.update(qkv=out[:3])),
        attn.proj.register_forward_pre_hook(lambda _module, given: heard.update(joined=given)),
    ]
    patches, states = vit.patch_embed(pixels), [vit.embed(pixels)]
    for block in vit.blocks:
        states.append(block(states[-1]))
    for hook in hooks:
        hook.remove()
    q, k, v = heard["qkv"]
    logits = vit.forward_head(vit.norm(states[-1]))
    labels = logits.argsort(-1)[:, -2]  # not the most probable ones, whose loss is small
    losses = -logits.log_softmax(-1).gather(1, labels[:, None])
    shares = torch.softmax(q @ k.mT * attn.scale, dim=-1)
    return {
        # torch cuts squares too, and in the same order.
        "cut": Right((pixels,), (F.unfold(pixels, side, stride=side).mT,)),
        "split": Right(heard["numbers"], (q, k, v)),
        "shares": Right((q, k), (shares,)),
        "join": Right((shares, v), heard["joined"]),
        "block": Right((states[LAYER],), (states[LAYER + 1],)),
        "tokens": Right((patches,), (states[0],)),
        "answer": Right((states[-1],), (logits,)),
        "loss": Right((logits, labels), (losses.mean(),)),
        # The weight after each step: 0.1 * 2, then 0.2 + 0.1 * 1.6; the 0 says that it moved.
        "step": Right((), (torch.tensor([0.2, 0.36, 0.0]),)),
    }


@torch.inference_mode()
def _of_gap(gap: str, model: Any, right: Right, ours: ViT) -> Message:
    """The sentence about a gap. A block is compared with vitviz's attention inside."""
    block = model.blocks[LAYER]
    theirs, block.attn = block.attn, ours.blocks[LAYER].attn if gap == "block" else block.attn
    try:
        made = GAPS[gap].call(model, *(tensor.clone() for tensor in right.given))
        parts = tuple(made) if isinstance(made, tuple | list) else (made,)
        wrong = _no_numbers(parts, right.expected)
        return wrong or _of_numbers(gap, model, parts, right)
    except CAUGHT as error:
        return Message("exercise.stops", error=in_one_line(error))
    finally:
        block.attn = theirs


def _no_numbers(parts: Sequence[Any], expected: Sequence[Tensor]) -> Message | None:
    """The reason why the output cannot be compared with the expected one; None if it can."""
    if any(part is ... for part in parts):
        return Message("exercise.open")
    if len(parts) != len(expected) or not all(isinstance(part, Tensor) for part in parts):
        got = ", ".join(type(part).__name__ for part in parts)
        return Message("exercise.no_tensor", got=got, count=len(expected))
    for part, right in zip(parts, expected, strict=True):
        if part.shape != right.shape:
            got, wanted = str(tuple(part.shape)), str(tuple(right.shape))
            return Message("exercise.shape", got=got, wanted=wanted)
    return None


def _of_numbers(gap: str, model: Any, parts: Sequence[Tensor], right: Right) -> Message:
    apart = _apart(parts, right.expected)
    if apart <= TOLERANCE:
        return RIGHT
    for key, mistake in GAPS[gap].mistakes.items():
        made = mistake(model, *right.given)
        if _apart(parts, made if isinstance(made, tuple) else (made,)) <= TOLERANCE:
            return Message(f"exercise.mistake_{key}")
    return Message("exercise.differs", apart=f"{apart:.2g}")


@torch.inference_mode()
def _of_whole(model: Any, ours: ViT, analysis: Analysis, language: str) -> Message:
    """The answer of the student's model to the picture, or a sentence that says why it differs."""
    pixels = _two(analysis)
    try:
        logits, expected = model(pixels), ours(pixels)
        if wrong := _no_numbers((logits,), (expected,)):
            return wrong
    except CAUGHT as error:
        return Message("exercise.stops", error=in_one_line(error))
    apart = _apart((logits,), (expected,))
    if not apart <= TOLERANCE:
        return Message("exercise.differs", apart=f"{apart:.2g}")
    card = analysis.card
    place = int(most_probable(logits[0], 1, card.outputs))
    answer = card.labels[place] if card.labels else ""
    answer = card.words.get(language, {}).get("labels", {}).get(answer, answer)
    shares = probabilities_of(logits[0], card.outputs, card.temperature)
    if shares is None:
        number = digits(float(logits[0, place]))
    else:
        number = f"{100 * float(shares[place]):.1f}%"
    return Message("exercise.answers", answer=answer, number=number, apart=f"{apart:.0e}")


def _apart(parts: Sequence[Tensor], expected: Sequence[Tensor]) -> float:
    """The largest difference as a share of the largest number: infinite if shapes differ, nan if a
    number is nan.
    """
    if any(a.shape != b.shape for a, b in zip(parts, expected, strict=True)):
        return float("inf")
    gaps = [(a - b).abs().max() for a, b in zip(parts, expected, strict=True)]
    largest = torch.stack([tensor.abs().max() for tensor in expected]).max()
    return float(torch.stack(gaps).max() / largest)  # nan too, which Python's max can pass over


def in_one_line(error: BaseException) -> str:
    """An error of the student's code, in one line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:200]}"
