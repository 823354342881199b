"""The results of an analysis in JSON's types, for the API and the viewer."""

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from .measure.phrases import not_taught, phrase
from .measure.predictions import Answer, Group, KnownOrNot, Prediction

if TYPE_CHECKING:
    from .analysis import Analysis


def facts(analysis: "Analysis", k: int) -> dict[str, Any]:
    """Model, photo, sizes, shapes, and the k most probable classes and groups; computes no
    attention map.
    """
    trace, grid = analysis.trace, analysis.grid
    card, answer = analysis.card, analysis.answer()
    return {
        "model": {
            "name": card.name,
            "source": card.source,
            "num_parameters": card.num_parameters,
            "head": card.head,
            "outputs": card.outputs,
            "trained": card.trained,
            "details": dict(card.details),
        },
        "photo": {
            "name": analysis.photo_name,
            "notes": list(analysis.notes),
            "inverted": analysis.inverted,
            "stretched": analysis.stretched,
            "dark": analysis.is_dark(),
            "dark_ink": analysis.dark_ink(),
        },
        "interventions": [change.to_dict() for change in analysis.interventions],
        "changes": analysis.changes(),
        "image_size": list(grid.image_size),
        "patch_size": list(grid.patch_size),
        "grid": [grid.rows, grid.cols],
        "prefix_tokens": list(card.config.prefix_names),
        "num_tokens": trace.num_tokens,
        "depth": trace.depth,
        "num_heads": trace.num_heads,
        "head_dim": trace.head_dim,
        "embed_dim": card.config.embed_dim,
        "temperature": card.temperature,
        "predictions": [_fields(prediction) for prediction in analysis.predictions(k)],
        "groups": [_fields(group) for group in analysis.groups(k)],
        "answer": None if answer is None else _answer(answer, analysis),
        "known_or_not": _known_or_not(analysis, answer),
        "steps": [step.to_dict() for step in analysis.steps()],
    }


def _answer(answer: Answer, analysis: "Analysis") -> dict[str, Any]:
    """The fields of the answer, its number, and its text in English."""
    text, parts = str(phrase(answer, analysis.card)), [asdict(part) for part in answer.parts]
    lists = {"classes": [*answer.classes], "parts": parts}
    return _fields(answer) | lists | {"number": answer.number, "text": text}


def _known_or_not(analysis: "Analysis", answer: Answer | None) -> dict[str, Any] | None:
    if (verdict := analysis.known_or_not()) is None:
        return None
    sentence = None if answer is None or verdict.known else str(not_taught(answer, analysis.card))
    return _fields(verdict) | {"sentence": sentence}


def _fields(value: Prediction | Group | Answer | KnownOrNot) -> dict[str, Any]:
    """The fields by name; `dataclasses.asdict` would copy every number of them."""
    return {field.name: getattr(value, field.name) for field in fields(value)}
