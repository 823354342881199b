"""Short answers: the main facts of an analysis in some hundred bytes, in JSON's types."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ...model.key import ModelKey
from ..host import limits


def facts_of(summary: Mapping[str, Any], key: ModelKey) -> dict[str, Any]:
    """The main facts of an analysis, in some hundred bytes; of the model the name that it has on
    the menu, where two files of one name differ.
    """
    photo, known, answer = summary["photo"], summary["known_or_not"], summary["answer"]
    facts = {
        "model": key.name,
        "trained": summary["model"]["trained"],
        "photo": str(photo["name"])[:80],
        "grid": {"rows": summary["grid"][0], "columns": summary["grid"][1]},
        "special_tokens": summary["prefix_tokens"],
        "layers": summary["depth"],
        "heads": summary["num_heads"],
        "predictions": [_prediction(prediction) for prediction in summary["predictions"]],
    }
    if summary["model"]["outputs"] != "one_of":
        facts["outputs"] = summary["model"]["outputs"]
    if answer is not None:
        names = ("kind", "name", "sure", "known", "level", "classes")
        facts["answer"] = {name: answer[name] for name in names}
        facts["answer"] |= {"name": answer["name"][:80], "text": answer["text"][:300]}
        facts["answer"] |= _number(answer["probability"], answer["number"])
    if known is not None and not known["known"]:
        facts["not_taught"] = known["sentence"]
    notes = [*map(str, photo["notes"]), *(["dark strokes on light"] if photo["dark_ink"] else [])]
    return facts | ({"notes": notes} if notes else {})


def _prediction(prediction: Mapping[str, Any]) -> dict[str, Any]:
    number = _number(prediction["probability"], prediction["logit"])
    return {"class": prediction["index"], "label": prediction["label"][:80], **number}


def _number(probability: float | None, value: float) -> dict[str, float | None]:
    """The probability; of a model of values None, and the value."""
    if probability is None:
        return {"probability": None, "value": short(value)}
    return {"probability": short(probability)}


def strongest(
    values: Sequence[float], summary: Mapping[str, Any], sign: int = 1
) -> list[dict[str, Any]]:
    """The tokens with the largest values above 0, by their place in the picture."""
    names, columns = summary["prefix_tokens"], summary["grid"][1]
    tokens = sorted(range(len(values)), key=lambda token: -values[token])[: limits.TOP_TOKENS]

    def place(token: int) -> dict[str, Any]:
        if token < len(names):
            return {"name": names[token]}
        row, column = divmod(token - len(names), columns)
        return {"row": row, "column": column}

    return [
        {"token": token, **place(token), "value": sign * short(values[token])}
        for token in tokens
        if values[token] > 0
    ]


def row_of(answer: Any) -> dict[str, Any]:
    """An answer of a comparison: its label, and its probability in both analyses."""
    row = asdict(answer)
    shares = {key: row[key] and short(row[key]) for key in ("first", "second")}
    return {"label": row["label"][:80], **shares}


def shortened(values: Iterable[float]) -> list[float]:
    return [short(value) for value in values]


def shortest(value: float) -> float:
    """Three significant digits, for numbers in long rows."""
    return float(f"{value:.3g}")


def short(value: float) -> float:
    """Four significant digits, as many as a language model needs."""
    return float(f"{value:.4g}")
