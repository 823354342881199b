"""Short answers: the main facts of an analysis in some hundred bytes, in JSON's types."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..host import limits


def facts_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The main facts of an analysis, in some hundred bytes."""
    photo, known, answer = summary["photo"], summary["known_or_not"], summary["answer"]
    facts = {
        "model": summary["model"]["name"],
        "trained": summary["model"]["trained"],
        "photo": str(photo["name"])[:80],
        "grid": {"rows": summary["grid"][0], "columns": summary["grid"][1]},
        "special_tokens": summary["prefix_tokens"],
        "layers": summary["depth"],
        "heads": summary["num_heads"],
        "predictions": [
            {
                "class": prediction["index"],
                "label": prediction["label"][:80],
                "probability": short(prediction["probability"]),
            }
            for prediction in summary["predictions"]
        ],
    }
    if answer is not None:
        facts["answer"] = answer | {"name": answer["name"][:80]}
        facts["answer"]["probability"] = short(answer["probability"])
    if known is not None and not known["known"]:
        facts["not_taught"] = known["sentence"]
    notes = [*map(str, photo["notes"]), *(["dark strokes on light"] if photo["dark_ink"] else [])]
    return facts | ({"notes": notes} if notes else {})


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
