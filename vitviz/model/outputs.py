"""The meaning of a model's outputs: one class of several, several at once, a score, or values."""

from typing import Any, Literal, get_args

from ..errors import WeightsError
from .json_values import short

# one_of  exactly one class is true: softmax
# any_of  each class is true or not, whatever the others are: a sigmoid each
# score   one logit, whose sigmoid is a probability
# value   numbers that are the answer themselves, as of a regression
Outputs = Literal["one_of", "any_of", "score", "value"]
OUTPUTS: tuple[Outputs, ...] = get_args(Outputs)
# The values of `problem_type` in the config.json of transformers:
# https://huggingface.co/docs/transformers/main_classes/configuration
PROBLEM_TYPES: dict[str, Outputs] = {
    "single_label_classification": "one_of",
    "multi_label_classification": "any_of",
    "regression": "value",
}


def by_number(count: int) -> Outputs:
    """Default meaning of `count` outputs: "score" for a single output, else "one_of"."""
    return "score" if count == 1 else "one_of"


def check_outputs(outputs: object, count: int) -> None:
    """Raise `WeightsError` for a word that is none of `OUTPUTS`, for "one_of" with a single output
    (its softmax is always 1), and for "score" with several outputs.
    """
    if outputs not in OUTPUTS:
        raise WeightsError(f"outputs must be one of {', '.join(OUTPUTS)}, got {short(outputs)}")
    if outputs == "one_of" and count == 1:
        raise WeightsError(
            'outputs="one_of" needs two outputs or more, and this model has one: "score" if its '
            'sigmoid is a probability, "value" if it is a number such as an age'
        )
    if outputs == "score" and count > 1:
        raise WeightsError(
            f'outputs="score" is of a model with one output, and this one has {count}: "any_of" '
            "if each has its own sigmoid"
        )


def outputs_in(config: Any, count: int) -> Outputs | None:
    """The meaning that a config.json of transformers or timm states for `count` outputs, by its
    `problem_type` or that of its `pretrained_cfg`; None if it states none.

    "single_label_classification" of one output states none: it would have to be a softmax of one.
    Raises `WeightsError` for a problem type that transformers does not know.
    """
    within = config.get("pretrained_cfg")
    found = config.get("problem_type")
    if found is None and isinstance(within, dict):
        found = within.get("problem_type")
    if found is None:
        return None
    if not isinstance(found, str) or found not in PROBLEM_TYPES:
        raise WeightsError(
            f"its problem_type is {short(found)}; {', '.join(PROBLEM_TYPES)} are known"
        )
    outputs = PROBLEM_TYPES[found]
    if count == 1 and outputs != "value":
        return "score" if outputs == "any_of" else None
    return outputs
