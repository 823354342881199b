"""Examples of what follows from logits, for Python and the page alike. See `viewer_fixture`."""

import math
from dataclasses import asdict, fields
from typing import Any

import torch

from vitviz.languages import languages, say
from vitviz.model.config import ViTConfig
from vitviz.model.loaded import LARGEST, ModelCard
from vitviz.model.outputs import OUTPUTS
from vitviz.model.taught import Taught
from vitviz.payload.payload import MOST_CLASSES
from vitviz.probe.measure.lens import lines
from vitviz.probe.measure.phrases import phrase
from vitviz.probe.measure.predictions import Answer, Classes, results_of

LETTERS = ("a", "b", "c", "d")
LN9 = 2.1972246  # the logarithm of 9
MANY = tuple(f"class {index}" for index in range(MOST_CLASSES + 3))

# By name: classes, logits, and what was worked out by hand, the fields that are not [] or None. Of
# equal logits each of n classes has 1/n; logits that differ by log 9 have shares of 9 to 1.
EXAMPLES: dict[str, tuple[Classes, list[float], dict[str, Any]]] = {
    "ties stand in the order of their classes": (
        Classes(LETTERS),
        [1.0, 3.0, 1.0, 3.0],
        {"order": [1, 3, 0, 2], "answer": ["class", "b", None, None]},
    ),
    "one class is certain": (
        Classes(("a",), calibrated=True),
        [-4.0],
        {"order": [0], "shares": [1.0], "answer": ["class", "a", True, None]},
    ),
    "a quarter is sure, at exactly the bound": (
        Classes(LETTERS, calibrated=True, temperature=3.0),
        [7.0] * 4,
        {
            "order": [0, 1, 2, 3],
            "shares": [0.25] * 4,
            "answer": ["class", "a", True, None],
            "level": "maybe",
        },
    ),
    "a fifth is not sure": (
        Classes((*LETTERS, "e"), calibrated=True),
        [0.0] * 5,
        {"order": [0, 1, 2, 3, 4], "shares": [0.2] * 5, "answer": ["class", "a", False, None]},
    ),
    "nine tenths are plain, at exactly the bound": (
        Classes(("a", "b"), calibrated=True, certain=0.9),
        [LN9, 0.0],
        {"shares": [0.9, 0.1], "answer": ["class", "a", True, None], "level": "answer"},
    ),
    "nine tenths are a maybe, below the bound": (
        Classes(("a", "b"), calibrated=True, certain=0.91),
        [LN9, 0.0],
        {"answer": ["class", "a", True, None], "level": "maybe", "text": "Maybe a, 90.0%"},
    ),
    "a maybe of a group counts the group": (
        Classes(LETTERS, groups=("x", "y", "y", "y"), calibrated=True, certain=0.76),
        [0.0] * 4,
        {
            "groups": ["y", "x"],
            "answer": ["group", "y", True, None],
            "level": "maybe",
            "text": "Maybe y, 75.0%",
        },
    ),
    "below a quarter nothing is a maybe": (
        Classes((*LETTERS, "e"), calibrated=True, certain=0.9),
        [0.0] * 5,
        {"answer": ["class", "a", False, None], "level": "not_sure"},
    ),
    "what is refused is no maybe": (
        Classes(("a", "b"), threshold=5.0, calibrated=True, certain=0.91),
        [LN9, 0.0],
        {"answer": ["class", "a", True, False], "level": "none", "known": [math.log(10), False]},
    ),
    "a fifth is a maybe where nobody measured the bound": (
        Classes((*LETTERS, "e")),
        [0.0] * 5,
        {"shares": [0.2] * 5, "answer": ["class", "a", None, None], "level": "maybe"},
    ),
    "half is plain where nobody measured the bound": (
        Classes(("a", "b")),
        [0.0] * 2,
        {"shares": [0.5] * 2, "answer": ["class", "a", None, None], "level": "answer"},
    ),
    "the temperature takes the logarithm of 81 to that of 9": (
        Classes(("a", "b"), calibrated=True, temperature=2.0),
        [2 * LN9, 0.0],
        {"shares": [0.9, 0.1], "answer": ["class", "a", True, None]},
    ),
    "a class that holds its group is named in its place": (
        Classes(LETTERS, groups=("x", "x", "y", "y")),
        [4.0, 4.0 - LN9 - 0.01, -20.0, -20.0],
        {"order": [0, 1, 2, 3], "groups": ["x", "y"], "answer": ["class", "a", None, None]},
    ),
    "a class with a little less does not": (
        Classes(LETTERS, groups=("x", "x", "y", "y")),
        [4.0, 4.0 - LN9 + 0.01, -20.0, -20.0],
        {"order": [0, 1, 2, 3], "groups": ["x", "y"], "answer": ["group", "x", None, None]},
    ),
    "a class that is all of its group at exactly the bound": (
        Classes(("a", "b"), groups=("x", "y"), holds_its_group=1.0),
        [0.0, 0.0],
        {"shares": [0.5, 0.5], "groups": ["x", "y"], "answer": ["class", "a", None, None]},
    ),
    "the best class lies outside of the best group": (
        Classes(LETTERS, groups=("x", "y", "y", "y"), calibrated=True),
        [1.05, 0.0, 0.0, 0.0],  # 0.488 beside three times 0.171, 0.512: more than 0.9 of it
        {"order": [0, 1, 2, 3], "groups": ["y", "x"], "answer": ["group", "y", True, None]},
    ),
    "equal groups stand in the order of their first classes": (
        Classes(LETTERS, groups=("z", "constructor", "constructor", "z")),
        [0.0, 0.0, 0.0, 0.0],
        {"groups": ["z", "constructor"], "answer": ["group", "z", None, None]},
    ),
    "a group is not sure": (
        Classes((*LETTERS, "e"), groups=tuple("vwxyz"), calibrated=True, holds_its_group=1.1),
        [0.0] * 5,
        {"groups": list("vwxyz"), "answer": ["group", "v", False, None]},
    ),
    "a score at exactly the threshold is known": (
        Classes(("a",), threshold=0.5),
        [0.5],
        {"answer": ["class", "a", None, True], "known": [0.5, True]},
    ),
    "a score below the threshold is not, whatever the temperature": (
        Classes(("a", "b"), threshold=0.7, temperature=9.0),
        [0.0, 0.0],  # their log-sum-exp is log 2, 0.693
        {"shares": [0.5, 0.5], "answer": ["class", "a", None, False], "known": [0.6931472, False]},
    ),
    "an unknown picture whose class holds its group": (
        Classes(LETTERS, groups=("x", "x", "y", "y"), threshold=5.0, calibrated=True),
        [4.0, -20.0, -20.0, -20.0],
        {"groups": ["x", "y"], "answer": ["class", "a", True, False], "known": [4.0, False]},
    ),
    "an unknown picture whose group is the answer": (
        Classes(LETTERS, groups=("x", "x", "y", "y"), threshold=5.0),
        [4.0, 4.0, -20.0, -20.0],
        {"groups": ["x", "y"], "answer": ["group", "x", None, False], "known": [4.6931472, False]},
    ),
    "a largest probability at exactly the threshold is known": (
        Classes(LETTERS, threshold=0.25, known_by=LARGEST),
        [-3.0] * 4,
        {"answer": ["class", "a", None, True], "known": [0.25, True]},
    ),
    "a largest probability below it is not, whatever the temperature": (
        Classes(("a", "b"), threshold=0.91, known_by=LARGEST, temperature=0.1),
        [LN9, 0.0],
        {"answer": ["class", "a", None, False], "known": [0.9, False]},
    ),
    "the class of none of the others is no answer, however probable": (
        Classes(("a", "b", "c"), threshold=0.5, known_by=LARGEST, none=2),
        [0.0, 0.0, math.log(18)],
        {"order": [2, 0, 1], "answer": ["class", "a", None, False], "known": [0.9, False]},
    ),
    "beside the class of none of the others a thing is known": (
        Classes(("a", "b", "c"), threshold=0.5, known_by=LARGEST, none=2),
        [0.0, math.log(18), 0.0],
        {"order": [1, 0, 2], "answer": ["class", "b", None, True], "known": [0.9, True]},
    ),
    "large logits do not overflow": (
        Classes(("a", "b"), threshold=-999.0),
        [-1000.0, 1000.0],
        {"order": [1, 0], "shares": [1.0, 0.0], "answer": ["class", "b", None, True]},
    ),
    "of many classes those that are listed have names": (
        Classes(MANY),
        [float(index == 2001) + float(index == 7) for index in range(len(MANY))],
        {"order": [7, 2001, 0, 1, 2], "answer": ["class", "class 7", None, None]},
    ),
    "a model of features names no class": (Classes(()), [], {"order": [], "shares": []}),
    "two of four can be true, and are": (
        Classes(LETTERS, outputs="any_of"),
        [-LN9, 0.0, LN9, -LN9],  # sigmoids 0.1, 0.5, 0.9, 0.1
        {
            "order": [2, 1, 0, 3],
            "shares": [0.9, 0.5, 0.1, 0.1],
            "answer": ["class", "c", None, None],
            "level": "answer",
            "classes": [2, 1],
            "text": "c 90.0%, b 50.0%; several can be true",
        },
    ),
    "none of three that can be true is": (
        Classes(("a", "b", "c"), outputs="any_of", calibrated=True),
        [-LN9, -0.01, -LN9],
        {
            "order": [1, 0, 2],
            "answer": ["class", "b", None, None],
            "level": "none",
            "classes": [],
            "text": "None of 3 reaches 50%; nearest: b 49.8%",
        },
    ),
    "of five that are true three are named, with a temperature": (
        Classes((*LETTERS, "e"), outputs="any_of", temperature=2.0),
        [2 * LN9] * 5,
        {
            "shares": [0.9] * 5,
            "answer": ["class", "a", None, None],
            "level": "answer",
            "classes": [0, 1, 2, 3, 4],
            "text": "a 90.0%, b 90.0%, c 90.0% and 2 more; several can be true",
        },
    ),
    "sigmoids that are 1 in floating point keep the order of their logits": (
        Classes(("a", "b"), outputs="any_of"),
        [60.0, 70.0],
        {
            "order": [1, 0],
            "answer": ["class", "b", None, None],
            "classes": [1, 0],
            "text": "b 100.0%, a 100.0%; several can be true",
        },
    ),
    "a score is the sigmoid of its logit": (
        Classes(("hotdog",), outputs="score"),
        [-LN9],
        {
            "order": [0],
            "shares": [0.1],
            "answer": ["class", "hotdog", None, None],
            "level": "none",
            "classes": [],
            "text": "\u201chotdog\u201d, 10.0%",
        },
    ),
    "a score of a half is true": (
        Classes(("hotdog",), outputs="score"),
        [0.0],
        {
            "shares": [0.5],
            "answer": ["class", "hotdog", None, None],
            "level": "answer",
            "classes": [0],
            "text": "\u201chotdog\u201d, 50.0%",
        },
    ),
    "a small score has two digits": (
        Classes(("hotdog",), outputs="score"),
        [-8.0],
        {"answer": ["class", "hotdog", None, None], "text": "\u201chotdog\u201d, 0.034%"},
    ),
    "a value has no probability": (
        Classes(("age",), outputs="value", temperature=2.0),
        [-1.2282],
        {
            "order": [0],
            "shares": [None],
            "answer": ["class", "age", None, None],
            "level": "answer",
            "classes": [],
            "text": "age \u22121.23",
        },
    ),
    "values stand in their order, and the first three are named": (
        Classes(LETTERS, outputs="value"),
        [0.5, 1234.6, -0.00002, 7.0],
        {
            "order": [0, 1, 2, 3],
            "shares": [None] * 4,
            "answer": ["class", "a", None, None],
            "text": "a 0.500, b 1235, c \u22122.0e-5 and 1 more",
        },
    ),
}

# By name: logits after each block, and by hand: the classes that are followed, and their ranks.
LENSES: dict[str, tuple[list[list[float]], int, list[tuple[int, list[int]]]]] = {
    "the answer, then who leads before": (
        [[0.0, 3, 1, 2], [5, 4, 1, 2], [0, 1, 3, 2]],
        2,
        [(2, [3, 4, 1]), (3, [2, 3, 2]), (1, [1, 2, 3]), (0, [4, 1, 4])],
    ),
    "ties have one rank, and the first class leads": (
        [[1.0, 1, 1, 1], [0, 2, 2, 1]],
        1,
        [(1, [1, 1]), (0, [1, 4])],
    ),
}


def examples() -> dict[str, Any]:
    """What both languages have to reproduce."""
    return {
        "results": [_example(name, *EXAMPLES[name]) for name in EXAMPLES],
        "lenses": [
            {
                "name": name,
                "logits": logits,
                "k": k,
                "labels": LETTERS,
                "temperature": 2.0,
                "outputs": outputs,
                "lines": [
                    _fields(line) for line in lines(torch.tensor(logits), LETTERS, 2.0, k, outputs)
                ],
                "by_hand": [list(one) for one in by_hand],
            }
            for outputs in OUTPUTS[:2]
            for name, (logits, k, by_hand) in LENSES.items()
        ],
    }


def _example(
    name: str, classes: Classes, logits: list[float], by_hand: dict[str, Any]
) -> dict[str, Any]:
    tensor = torch.tensor(logits)
    results = results_of(tensor, classes, 5)
    sent = asdict(classes)
    labels = None
    if len(classes.labels) > MOST_CLASSES:  # as the page gets them
        sent["labels"], labels = None, {one.index: one.label for one in results.predictions}
    return {
        "name": name,
        "classes": sent,
        "labels": labels,
        "logits": tensor.tolist(),
        "predictions": [_fields(one) for one in results.predictions],
        "groups": [_fields(one) for one in results.groups],
        "answer": results.answer and asdict(results.answer),
        "texts": results.answer and _texts(classes, results.answer),
        "known_or_not": results.known_or_not and _fields(results.known_or_not),
        "by_hand": by_hand,
    }


def _texts(classes: Classes, answer: Answer) -> dict[str, str]:
    """The text of the answer in every language, of a model that has these classes."""
    config = ViTConfig(
        image_size=8,
        patch_size=4,
        embed_dim=4,
        depth=1,
        num_heads=1,
        num_classes=len(classes.labels),
    )
    count = len(classes.labels)
    confusions = ((0,) * count,) * count
    taught = Taught("one", (1,) * count, 1.0, confusions, none=classes.none)
    details = {} if classes.none is None else {"taught": taught.to_json()}
    card = ModelCard(name="one", source="", config=config, details=details)
    return {language: say(phrase(answer, card, language), language) for language in languages()}


def _fields(one: Any) -> dict[str, Any]:
    return {field.name: getattr(one, field.name) for field in fields(one)}
