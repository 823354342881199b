"""Intervention: a change to a forward pass, as a frozen value that goes to JSON and back.

    {"kind": "remove",     "patches": [40, 41]}
    {"kind": "keep",       "patches": [40, 41]}
    {"kind": "replace",    "patches": [40], "by": "black" | "mean" | "blur" | "noise", "seed": 0}
    {"kind": "shuffle",    "cells": 4, "seed": 0}
    {"kind": "swap",       "patches": [3, 77]}
    {"kind": "perturb",    "target": "away" | "random" | 7, "epsilon": 4, "steps": 8, "seed": 0}
    {"kind": "positions",  "by": "off" | "shuffled" | "learned off" | "rotary off", "seed": 0}
    {"kind": "head",       "layer": 2, "head": 3, "by": "zero" | "mean"}
    {"kind": "branch",     "layer": 2, "branch": "attention" | "mlp"}
    {"kind": "cut",        "edges": "patches to prefix" | "prefix to patches" | "patches to others"
                           | [[query, key], ...], "layers": [0, 1] | "all", "heads": [0] | "all"}
    {"kind": "even",       "rows": "cls" | "patches" | "all", "layers": [0, 1] | "all"}
    {"kind": "scramble",   "rows": "patches", "layers": [5] | "all", "seed": 0}
    {"kind": "transplant", "patches": [40, 41] | "cls" | "all", "layer": 3, "from": an analysis}
    {"kind": "add",        "patches": [40, 41] | "cls" | "all", "layer": 3, "toward": 7 | "tabby",
                           "factor": 0.5}

Patches, layers and heads count from 0, patches row by row without prefix tokens; queries and keys
are tokens. "seed", "layers" and "heads" may be left out: 0, "all" and "all". Every field of
`perturb` may be left out: target "away", epsilon 4, steps 8, seed 0. A seed is a whole number from
0 to 2**31 - 1 (in a link to 999999999), with which `chance.py` draws. The class of `add` is its
number or its name; the factor is from -100 to 100. Each kind describes itself
here; the page reads the same table (vitviz/payload/tables.py writes it), and `surgery.py` applies a
list of them.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from torch import Tensor

from ...errors import SelectionError
from ...languages import Message
from ...model.config import ViTConfig
from ...model.json_values import short
from ...model.loaded import ModelCard
from ..measure.predictions import class_named
from .forms import Form, FormError, class_of, factor, number, numbers, pairs, picture, word

if TYPE_CHECKING:
    from ..analysis import Analysis

MOST = 64  # interventions in one pass
MOST_LEVELS = 8  # of 255, that `perturb` may move a value
MOST_FOOLING_STEPS = 32
MOST_FACTOR = 100  # of `add`, up or down
NAMED = 6  # so many patches are named in a caption; of more, their number

Some = tuple[int, ...] | Literal["all"]


@dataclass(frozen=True)
class Intervention:
    """Base class of all kinds. Raises `SelectionError` for values of a wrong form.

    kind      name of the kind
    touches   the part of the pass that it changes: "pixels", "tokens", "edges" or "heads"
    example   JSON shown in the message about a wrong form
    told_by   the field whose value ends the text key of its sentence; "": the kind alone
    same      two interventions with equal values of these fields contradict each other, or with
              `again` are applied one after the other; on a page the newer replaces the older.
              None: any two go together
    again     whether a list may hold two with the `same` fields
    joins     whether a page merges consecutive strokes of this kind
    """

    kind: ClassVar[str]
    touches: ClassVar[Literal["pixels", "tokens", "edges", "heads"]]
    example: ClassVar[str]
    told_by: ClassVar[str] = ""
    same: ClassVar[tuple[str, ...] | None] = None
    again: ClassVar[bool] = False
    joins: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, form in self.forms().items():
            try:
                value = form.read(getattr(self, name), kind=self.kind, name=name)
            except FormError as error:
                raise self.malformed() from error
            object.__setattr__(self, name, value)

    @classmethod
    def forms(cls) -> dict[str, Form]:
        """The form of each field, in order."""
        return {item.name: item.metadata["form"] for item in fields(cls)}

    @classmethod
    def described(cls) -> dict[str, Any]:
        """Everything about the kind that a page needs, in JSON's types.

        "default" of a field is null where it must not be left out.
        """
        names = ("touches", "example", "told_by", "same", "again", "joins")
        forms = {
            _outside(item.name): item.metadata["form"].to_dict()
            | {"default": None if item.default is MISSING else item.default}
            for item in fields(cls)
        }
        return {name: getattr(cls, name) for name in names} | {"fields": forms}

    def to_dict(self) -> dict[str, Any]:
        """The same in JSON's types, which `read` takes."""
        values = {name: getattr(self, name) for name in self.forms()}
        return {"kind": self.kind, **json.loads(json.dumps(values))}

    def sentence(self) -> Message:
        """A caption that describes the intervention."""
        end = f"_{_key_end(self.told_by, getattr(self, self.told_by))}" if self.told_by else ""
        return Message(f"experiments.did_{self.kind}{end}", **self._values())

    def _values(self) -> dict[str, Any]:
        """The values for the sentence; `where` describes the layers and heads."""
        values: dict[str, Any] = {}
        for name, form in self.forms().items():
            value = getattr(self, name)
            if name == "patches":
                values[name] = value if isinstance(value, str) else _named(value)
            elif name == "layers":
                values["where"] = _where(value, getattr(self, "heads", "all"))
            elif form.shape == "pairs":
                if not isinstance(value, str):
                    values |= {"query": value[0][0], "key": value[0][1], "count": len(value)}
            else:
                values[_outside(name)] = value
        return values

    def check(self, config: ViTConfig) -> None:
        """Raise `SelectionError` if the intervention names something that the model lacks."""
        for name, form in self.forms().items():
            if (end := form.end(config)) is not None:
                self._check_range(name, form.numbers(getattr(self, name)), end)
        for name, form in self.forms().items():
            need = form.need(getattr(self, name))
            if need is not None and not need.met(config):
                raise SelectionError(Message(f"experiments.{need.error}", kind=self.kind))

    def known(self, card: ModelCard) -> "Intervention":
        """The intervention in the words of a model: the name of a class becomes its number.

        Raises `SelectionError` for a class that the model does not have.
        """
        return self

    def malformed(self) -> SelectionError:
        given = {name: getattr(self, name) for name in self.forms()}
        return _malformed(type(self), {"kind": self.kind, **given})

    def numbers(self, of: str) -> tuple[int, ...]:
        """All numbers of one kind in its fields: "patches", "tokens", "layers" or "heads"."""
        forms = self.forms().items()
        return tuple(
            n for name, form in forms if form.of == of for n in form.numbers(getattr(self, name))
        )

    def _check_range(self, what: str, values: tuple[int, ...], end: int) -> None:
        for value in values:
            if not 0 <= value < end:
                raise SelectionError(
                    Message(
                        "experiments.out_of_range",
                        kind=self.kind,
                        what=what,
                        last=end - 1,
                        value=value,
                    )
                )


@dataclass(frozen=True)
class Remove(Intervention):
    """Take patches out: no other token attends to them, nor they to others; pooling skips them."""

    patches: tuple[int, ...] = numbers("patches")

    kind, touches, joins = "remove", "tokens", True
    example = '{"kind": "remove", "patches": [40, 41]}'


@dataclass(frozen=True)
class Keep(Intervention):
    """Take all other patches out."""

    patches: tuple[int, ...] = numbers("patches")

    kind, touches, joins = "keep", "tokens", True
    example = '{"kind": "keep", "patches": [40, 41]}'


@dataclass(frozen=True)
class Replace(Intervention):
    """Replace the pixels of patches: black, the picture's mean colour, blurred, or noise."""

    patches: tuple[int, ...] = numbers("patches")
    by: Literal["black", "mean", "blur", "noise"] = word("black", "mean", "blur", "noise")
    seed: int = number("seeds", default=0)

    kind, touches, told_by, joins = "replace", "pixels", "by", True
    example = '{"kind": "replace", "patches": [40], "by": "black"}'


@dataclass(frozen=True)
class Shuffle(Intervention):
    """Shuffle the picture in cells of `cells` x `cells` patches."""

    cells: int = number("cells")
    seed: int = number("seeds", default=0)

    kind, touches, same, again = "shuffle", "pixels", (), True
    example = '{"kind": "shuffle", "cells": 4, "seed": 0}'

    def check(self, config: ViTConfig) -> None:
        rows, cols = config.grid_size
        fits = self.cells > 0 and not rows % self.cells and not cols % self.cells
        if not fits or (rows, cols) == (self.cells, self.cells):
            raise SelectionError(
                Message("experiments.cells", cells=self.cells, rows=rows, cols=cols)
            )


@dataclass(frozen=True)
class Swap(Intervention):
    """Exchange the pixels of two patches."""

    patches: tuple[int, ...] = numbers("patches", count=2)

    kind, touches = "swap", "pixels"
    example = '{"kind": "swap", "patches": [3, 77]}'


@dataclass(frozen=True)
class Perturb(Intervention):
    """Move each value of the picture by at most `epsilon` of 255, so that the intact model answers
    another class; `fooling.py` says how.

    target   the class that it is to answer, or "away": any but its answer; "random": no class, but
             random signs of the size `epsilon`, to compare with
    epsilon  levels, 0 to 8
    steps    most steps, 1 to 32
    seed     of the random signs
    """

    target: int | Literal["away", "random"] = number("classes", "away", "random", default="away")
    epsilon: int = number("levels", default=4)
    steps: int = number("steps", default=8)
    seed: int = number("seeds", default=0)

    kind, touches, told_by, same = "perturb", "pixels", "target", ()
    example = '{"kind": "perturb", "target": "away", "epsilon": 4, "steps": 8}'

    def check(self, config: ViTConfig) -> None:
        if not config.num_classes or not config.global_pool:
            raise SelectionError(Message("experiments.fool_classes"))
        super().check(config)
        for name, least, most in (("epsilon", 0, MOST_LEVELS), ("steps", 1, MOST_FOOLING_STEPS)):
            if not least <= (value := getattr(self, name)) <= most:
                raise SelectionError(
                    Message(
                        "experiments.fool_range", what=name, least=least, most=most, value=value
                    )
                )


@dataclass(frozen=True)
class ChangePositions(Intervention):
    """Switch positions off ("off", also for prefix tokens), or shuffle those of the patches.

    This concerns all kinds of positions that a model has: learned ones are not added, rotary ones
    turn nothing, a relative bias adds nothing to the scores. Shuffled, a patch gets all of them
    from one other place. "learned off" and "rotary off" switch off one kind.
    """

    by: Literal["off", "shuffled", "learned off", "rotary off"] = word(
        "off", "shuffled", "learned off", "rotary off",
        needs={
            "off": "positions", "shuffled": "positions",
            "learned off": "learned positions", "rotary off": "rotary positions",
        },
    )  # fmt: skip
    seed: int = number("seeds", default=0)

    kind, touches, told_by, same = "positions", "tokens", "by", ()
    example = '{"kind": "positions", "by": "off"}'


@dataclass(frozen=True)
class Head(Intervention):
    """Set the output of a head to zero, or for every token to the mean over the tokens."""

    layer: int = number("layers")
    head: int = number("heads")
    by: Literal["zero", "mean"] = word("zero", "mean", default="zero")

    kind, touches, told_by, same = "head", "heads", "by", ("layer", "head")
    example = '{"kind": "head", "layer": 2, "head": 3, "by": "zero"}'


@dataclass(frozen=True)
class Branch(Intervention):
    """Leave out the attention or the MLP of a block, so that it adds nothing to the tokens."""

    layer: int = number("layers")
    branch: Literal["attention", "mlp"] = word("attention", "mlp")

    kind, touches, told_by, same = "branch", "heads", "branch", ("layer", "branch")
    example = '{"kind": "branch", "layer": 2, "branch": "mlp"}'


@dataclass(frozen=True)
class Cut(Intervention):
    """Cut edges of attention: a query can no longer look at a key; its row still sums to 1.

    "patches to prefix": patches cannot look at prefix tokens; "prefix to patches": prefix tokens
    cannot look at patches; "patches to others": a patch cannot look at another patch.
    """

    edges: (
        tuple[tuple[int, int], ...]
        | Literal["patches to prefix", "prefix to patches", "patches to others"]
    ) = pairs(
        "tokens", "patches to prefix", "prefix to patches", "patches to others",
        needs={"patches to prefix": "prefix", "prefix to patches": "prefix"},
    )  # fmt: skip
    layers: Some = numbers("layers", "all", default="all")
    heads: Some = numbers("heads", "all", default="all")

    kind, touches, told_by = "cut", "edges", "edges"
    example = '{"kind": "cut", "edges": "patches to prefix", "layers": [0, 1], "heads": "all"}'


@dataclass(frozen=True)
class Even(Intervention):
    """Make rows of the attention map even (q set to 0): tokens look at all tokens alike."""

    rows: Literal["cls", "patches", "all"] = word("cls", "patches", "all", needs={"cls": "cls"})
    layers: Some = numbers("layers", "all", default="all")

    kind, touches, told_by = "even", "edges", "rows"
    example = '{"kind": "even", "rows": "cls", "layers": [5]}'


@dataclass(frozen=True)
class Scramble(Intervention):
    """Shuffle rows of the map: each patch looks where another patch would have looked."""

    rows: Literal["patches"] = word("patches", default="patches")
    layers: Some = numbers("layers", "all", default="all")
    seed: int = number("seeds", default=0)

    kind, touches = "scramble", "edges"
    example = '{"kind": "scramble", "rows": "patches", "layers": [5], "seed": 0}'


DONOR_SIDE = 72  # pixels of the picture of a donor, at most


@dataclass(frozen=True, eq=False)
class Donor:
    """All tokens of another analysis before a layer, (N, D), and the name of that analysis.

    `picture`: its picture with fewer pixels, for the eye; None if read from a file.
    """

    name: str
    tokens: Tensor
    picture: Tensor | None = None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Donor)
            and self.name == other.name
            and self.tokens.shape == other.tokens.shape
            and bool((self.tokens == other.tokens).all())
        )

    def __hash__(self) -> int:
        return hash((self.name, self.tokens.shape))


@dataclass(frozen=True)
class Transplant(Intervention):
    """Put in tokens of another analysis before block `layer`; before the head if it is L.

    The tokens of some patches, of CLS alone, or all of them with CLS.
    """

    patches: tuple[int, ...] | Literal["cls", "all"] = numbers(
        "patches", "cls", "all", needs={"cls": "cls"}
    )
    layer: int = number("layers", past=1)
    donor: Donor = picture()

    kind, touches, told_by = "transplant", "tokens", "patches"
    example = '{"kind": "transplant", "patches": "cls", "layer": 3, "from": an analysis}'

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.donor, Donor):
            object.__setattr__(self, "donor", self._taken_from(self.donor))

    def _taken_from(self, donor: "Analysis") -> Donor:
        trace = getattr(donor, "trace", None)
        if trace is None:
            raise SelectionError(Message("experiments.needs_donor"))
        self._check_range("layer", (self.layer,), trace.depth + 1)
        name = f"{donor.photo_name or 'a photo'}, {donor.card.name}"
        seen = getattr(donor, "picture", None)
        step = 1 if seen is None else -(-max(seen.shape[:2]) // DONOR_SIDE)
        small = None if seen is None else seen[::step, ::step].contiguous()
        return Donor(name, trace.tokens[self.layer], small)

    def to_dict(self) -> dict[str, Any]:
        patches = self.patches if isinstance(self.patches, str) else list(self.patches)
        return {
            "kind": self.kind, "patches": patches, "layer": self.layer, "from": self.donor.name
        }  # fmt: skip

    def check(self, config: ViTConfig) -> None:
        super().check(config)
        theirs, ours = tuple(self.donor.tokens.shape), (config.num_tokens, config.embed_dim)
        # CLS is the first token of both, so that the number of patches does not matter.
        if theirs[1:] != ours[1:] or (self.patches != "cls" and theirs != ours):
            raise SelectionError(
                Message("experiments.donor_shape", theirs=_by(theirs), ours=_by(ours))
            )

    def _values(self) -> dict[str, Any]:
        return {**super()._values(), "from": self.donor.name}


@dataclass(frozen=True)
class Add(Intervention):
    """Add the direction of a class to tokens after block `layer`, which steers the model toward it.

    patches  the tokens: some patches, CLS alone, or all of them with CLS
    toward   the class, its number or its name
    factor   -100 to 100: 1 adds as much as a token is long there; below 0 it steers away

    `steering.py` says what the direction of a class is and how long a token.
    """

    patches: tuple[int, ...] | Literal["cls", "all"] = numbers(
        "patches", "cls", "all", needs={"cls": "cls"}
    )
    layer: int = number("layers")
    toward: int | str = class_of()
    factor: float = factor()

    kind, touches, told_by = "add", "tokens", "patches"
    same, again = ("patches", "layer", "toward"), True
    example = '{"kind": "add", "patches": "cls", "layer": 3, "toward": 7, "factor": 0.5}'

    def known(self, card: ModelCard) -> "Add":
        number = class_named(card, self.toward, self.kind)
        assert number is not None
        return replace(self, toward=number)

    def check(self, config: ViTConfig) -> None:
        if not config.num_classes or config.global_pool in ("", "map"):
            raise SelectionError(Message("experiments.add_classes"))
        if isinstance(self.toward, str):
            raise self.malformed()
        super().check(config)
        if abs(self.factor) > MOST_FACTOR:
            raise SelectionError(
                Message("experiments.add_range", most=MOST_FACTOR, value=self.factor)
            )


KINDS: dict[str, type[Intervention]] = {
    kind.kind: kind
    for kind in (
        Remove, Keep, Replace, Shuffle, Swap, Perturb, ChangePositions, Head, Branch, Cut, Even,
        Scramble, Transplant, Add,
    )
}  # fmt: skip


def read(
    values: Any, donors: Mapping[str, Any] | None = None, card: ModelCard | None = None
) -> tuple[Intervention, ...]:
    """A list of interventions, as values or in JSON's types. Raises `SelectionError`.

    `donors` are the analyses that a transplant names as "from" where that is a text; `card` is the
    model whose names of classes become numbers.
    """
    if isinstance(values, Intervention | Mapping) or not isinstance(values, list | tuple):
        raise SelectionError(Message("experiments.no_list", value=short(values)))
    if len(values) > MOST:
        raise SelectionError(Message("experiments.many", most=MOST, count=len(values)))
    read_ = tuple(_read(value, donors or {}) for value in values)
    return read_ if card is None else tuple(one.known(card) for one in read_)


def _read(value: Any, donors: Mapping[str, Any]) -> Intervention:
    if isinstance(value, Intervention):
        return value
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise SelectionError(Message("experiments.no_kind", kinds=tuple(KINDS), value=short(value)))
    made, given = KINDS[kind], {name: item for name, item in value.items() if name != "kind"}
    if made is Transplant and "from" in given:
        donor = given.pop("from")
        given["donor"] = donors.get(donor) if isinstance(donor, str) else donor
    try:
        return made(**given)
    except TypeError as error:  # a field too many or too few
        raise _malformed(made, value) from error


def _malformed(kind: type[Intervention], given: Any) -> SelectionError:
    return SelectionError(
        Message("experiments.malformed", kind=kind.kind, example=kind.example, value=short(given))
    )


def _outside(name: str) -> str:
    """The JSON name of a field: "from" is a keyword of Python."""
    return "from" if name == "donor" else name


def _key_end(name: str, value: Any) -> str:
    """The end of a sentence's text key: the word in a field, or else the name of the field."""
    if isinstance(value, str):
        return value.replace(" ", "_")
    return name[:-1] if name == "edges" and len(value) == 1 else name


def _named(patches: tuple[int, ...]) -> Message:
    if len(patches) == 1:
        return Message("experiments.one_patch", patch=patches[0])
    if len(patches) <= NAMED:
        return Message("experiments.few_patches", patches=patches)
    return Message("experiments.many_patches", count=len(patches))


def _where(layers: Some, heads: Some = "all") -> Message:
    """The layers and heads of a caption."""
    if layers == "all":
        where = Message("experiments.in_all_layers")
    else:
        where = Message("experiments.in_layers", layers=layers)
    if heads == "all":
        return where
    return Message("experiments.in_heads", where=where, heads=heads)


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
