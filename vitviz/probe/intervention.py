"""Intervention: a change to a forward pass, as a frozen value that goes to JSON and back.

    {"kind": "remove",     "patches": [40, 41]}
    {"kind": "keep",       "patches": [40, 41]}
    {"kind": "replace",    "patches": [40], "by": "black" | "mean" | "blur" | "noise", "seed": 0}
    {"kind": "shuffle",    "cells": 4, "seed": 0}
    {"kind": "swap",       "patches": [3, 77]}
    {"kind": "positions",  "by": "off" | "shuffled", "seed": 0}
    {"kind": "head",       "layer": 2, "head": 3, "by": "zero" | "mean"}
    {"kind": "branch",     "layer": 2, "branch": "attention" | "mlp"}
    {"kind": "cut",        "edges": "patches to prefix" | "prefix to patches" | "patches to others"
                           | [[query, key], ...], "layers": [0, 1] | "all", "heads": [0] | "all"}
    {"kind": "even",       "rows": "cls" | "patches" | "all", "layers": [0, 1] | "all"}
    {"kind": "scramble",   "rows": "patches", "layers": [5] | "all", "seed": 0}
    {"kind": "transplant", "tokens": "cls" | "all" | [40, 41], "layer": 3, "from": an analysis}

Patches, layers and heads count from 0, patches row by row without prefix tokens; queries and keys
are tokens. "seed", "layers" and "heads" may be left out: 0, "all" and "all". A seed is a whole
number from 0 to 2**31 - 1 (in a link to 999999999), with which `chance.py` draws. `surgery.py`
applies a list of them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from torch import Tensor

from ..errors import SelectionError
from ..languages import Message
from ..model.config import ViTConfig
from ..model.json_values import short
from .selection import whole

if TYPE_CHECKING:
    from .analysis import Analysis

MOST = 64  # interventions in one pass
MOST_EDGES = 4096  # edges that one of them names one by one
LARGEST = 2**31 - 1  # of every number: more than any model has of anything
NAMED = 6  # so many patches are named in a caption; of more, their number

Some = tuple[int, ...] | Literal["all"]


@dataclass(frozen=True)
class Intervention:
    """What all kinds have in common. Raises `SelectionError` for values of a wrong form."""

    kind: ClassVar[str]
    example: ClassVar[str]  # in JSON, for whoever wrote another form

    def to_dict(self) -> dict[str, Any]:
        """The same in JSON's types, which `read` takes."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {"kind": self.kind, **json.loads(json.dumps(found))}

    def sentence(self) -> Message:
        """What it does, in few words, for a caption."""
        raise NotImplementedError

    def check(self, config: ViTConfig) -> None:
        """Raise `SelectionError` if a model of this form has not what the intervention names."""
        raise NotImplementedError

    def malformed(self) -> SelectionError:
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return _malformed(type(self), {"kind": self.kind, **given})

    def _set(self, name: str, value: Any, good: bool = True) -> None:
        if not good:
            raise self.malformed()
        object.__setattr__(self, name, value)

    def _number(self, *names: str) -> None:
        for name in names:
            number = whole(getattr(self, name))
            good = number is not None and abs(number) <= LARGEST
            self._set(name, number, good and (name != "seed" or number >= 0))

    def _choice(self, name: str, *allowed: str) -> None:
        value = getattr(self, name)
        self._set(name, value, isinstance(value, str) and value in allowed)

    def _numbers(self, name: str, *words: str) -> None:
        """A tuple of different numbers, at least one; or one of the words."""
        value = getattr(self, name)
        if isinstance(value, str):
            return self._choice(name, *words)
        if not isinstance(value, Iterable) or isinstance(value, Mapping):
            raise self.malformed()
        numbers = tuple(whole(one) for one in value)
        self._set(name, numbers, None not in numbers)
        if not numbers:
            raise SelectionError(Message("experiments.empty", kind=self.kind, what=name))
        if len(set(numbers)) < len(numbers):
            twice = next(one for one in numbers if numbers.count(one) > 1)
            raise SelectionError(
                Message("experiments.twice", kind=self.kind, what=name, number=twice)
            )
        return None

    def _in_range(self, what: str, values: int | Some, count: int) -> None:
        for value in () if values == "all" else (values,) if isinstance(values, int) else values:
            if not 0 <= value < count:
                raise SelectionError(
                    Message(
                        "experiments.out_of_range",
                        kind=self.kind,
                        what=what,
                        last=count - 1,
                        value=value,
                    )
                )

    def _needs_prefix(self, config: ViTConfig, name: str = "") -> None:
        names = config.prefix_names
        if not names or (name and name not in names):
            raise SelectionError(Message("experiments.no_prefix", kind=self.kind))


@dataclass(frozen=True)
class _Patches(Intervention):
    patches: tuple[int, ...]

    def __post_init__(self) -> None:
        self._numbers("patches")

    def check(self, config: ViTConfig) -> None:
        self._in_range("patches", self.patches, config.num_patches)


@dataclass(frozen=True)
class Remove(_Patches):
    """Patches taken out: nobody looks at them, they look at nobody, and pooling skips them."""

    kind = "remove"
    example = '{"kind": "remove", "patches": [40, 41]}'

    def sentence(self) -> Message:
        return Message("experiments.did_remove", patches=_named(self.patches))


@dataclass(frozen=True)
class Keep(_Patches):
    """All other patches taken out."""

    kind = "keep"
    example = '{"kind": "keep", "patches": [40, 41]}'

    def sentence(self) -> Message:
        return Message("experiments.did_keep", patches=_named(self.patches))


@dataclass(frozen=True)
class Replace(_Patches):
    """The pixels of patches replaced: black, the picture's mean colour, blurred, or noise."""

    by: Literal["black", "mean", "blur", "noise"]
    seed: int = 0

    kind = "replace"
    example = '{"kind": "replace", "patches": [40], "by": "black"}'

    def __post_init__(self) -> None:
        super().__post_init__()
        self._choice("by", "black", "mean", "blur", "noise")
        self._number("seed")

    def sentence(self) -> Message:
        return Message(f"experiments.did_replace_{self.by}", patches=_named(self.patches))


@dataclass(frozen=True)
class Shuffle(Intervention):
    """The picture cut into cells of `cells` x `cells` patches, and these shuffled."""

    cells: int
    seed: int = 0

    kind = "shuffle"
    example = '{"kind": "shuffle", "cells": 4, "seed": 0}'

    def __post_init__(self) -> None:
        self._number("cells", "seed")

    def check(self, config: ViTConfig) -> None:
        rows, cols = config.grid_size
        fits = self.cells > 0 and not rows % self.cells and not cols % self.cells
        if not fits or (rows, cols) == (self.cells, self.cells):
            raise SelectionError(
                Message("experiments.cells", cells=self.cells, rows=rows, cols=cols)
            )

    def sentence(self) -> Message:
        return Message("experiments.did_shuffle", cells=self.cells)


@dataclass(frozen=True)
class Swap(_Patches):
    """The pixels of two patches, each in the place of the other."""

    kind = "swap"
    example = '{"kind": "swap", "patches": [3, 77]}'

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.patches) != 2:
            raise self.malformed()

    def sentence(self) -> Message:
        return Message("experiments.did_swap", one=self.patches[0], other=self.patches[1])


@dataclass(frozen=True)
class Positions(Intervention):
    """No learned positions ("off", of prefix tokens neither), or those of the patches shuffled."""

    by: Literal["off", "shuffled"]
    seed: int = 0

    kind = "positions"
    example = '{"kind": "positions", "by": "off"}'

    def __post_init__(self) -> None:
        self._choice("by", "off", "shuffled")
        self._number("seed")

    def check(self, config: ViTConfig) -> None:
        if not config.pos_embed:
            raise SelectionError(Message("experiments.no_positions"))

    def sentence(self) -> Message:
        return Message(f"experiments.did_positions_{self.by}")


@dataclass(frozen=True)
class Head(Intervention):
    """What a head gathers set to zero, or for every token to the mean over the tokens."""

    layer: int
    head: int
    by: Literal["zero", "mean"] = "zero"

    kind = "head"
    example = '{"kind": "head", "layer": 2, "head": 3, "by": "zero"}'

    def __post_init__(self) -> None:
        self._number("layer", "head")
        self._choice("by", "zero", "mean")

    def check(self, config: ViTConfig) -> None:
        self._in_range("layer", self.layer, config.depth)
        self._in_range("head", self.head, config.num_heads)

    def sentence(self) -> Message:
        return Message(f"experiments.did_head_{self.by}", layer=self.layer, head=self.head)


@dataclass(frozen=True)
class Branch(Intervention):
    """What the attention or the MLP of a block adds to the tokens left out."""

    layer: int
    branch: Literal["attention", "mlp"]

    kind = "branch"
    example = '{"kind": "branch", "layer": 2, "branch": "mlp"}'

    def __post_init__(self) -> None:
        self._number("layer")
        self._choice("branch", "attention", "mlp")

    def check(self, config: ViTConfig) -> None:
        self._in_range("layer", self.layer, config.depth)

    def sentence(self) -> Message:
        return Message(f"experiments.did_branch_{self.branch}", layer=self.layer)


@dataclass(frozen=True)
class Cut(Intervention):
    """Edges of attention cut: a query can no longer look at a key; its row still sums to 1.

    "patches to prefix": patches cannot look at prefix tokens; "prefix to patches": prefix tokens
    cannot look at patches; "patches to others": a patch cannot look at another patch.
    """

    edges: (
        tuple[tuple[int, int], ...]
        | Literal["patches to prefix", "prefix to patches", "patches to others"]
    )
    layers: Some = "all"
    heads: Some = "all"

    kind = "cut"
    example = '{"kind": "cut", "edges": "patches to prefix", "layers": [0, 1], "heads": "all"}'

    def __post_init__(self) -> None:
        if isinstance(self.edges, str):
            self._choice("edges", "patches to prefix", "prefix to patches", "patches to others")
        else:
            self._set("edges", self._pairs())
        self._numbers("layers", "all")
        self._numbers("heads", "all")

    def _pairs(self) -> tuple[tuple[int, int], ...]:
        if not isinstance(self.edges, list | tuple):
            raise self.malformed()
        if not self.edges:
            raise SelectionError(Message("experiments.empty", kind=self.kind, what="edges"))
        if len(self.edges) > MOST_EDGES:
            raise SelectionError(
                Message("experiments.many_edges", most=MOST_EDGES, count=len(self.edges))
            )
        pairs = []
        for edge in self.edges:
            pair = tuple(map(whole, edge)) if isinstance(edge, list | tuple) else ()
            if len(pair) != 2 or None in pair:
                raise self.malformed()
            pairs.append(pair)
        return tuple(pairs)

    def check(self, config: ViTConfig) -> None:
        self._in_range("layers", self.layers, config.depth)
        self._in_range("heads", self.heads, config.num_heads)
        if isinstance(self.edges, str):
            if "prefix" in self.edges:
                self._needs_prefix(config)
        else:
            for edge in self.edges:
                self._in_range("edges", edge, config.num_tokens)

    def sentence(self) -> Message:
        where = _where(self.layers, self.heads)
        if isinstance(self.edges, str):
            return Message(f"experiments.did_cut_{self.edges.replace(' ', '_')}", where=where)
        if len(self.edges) == 1:
            query, key = self.edges[0]
            return Message("experiments.did_cut_edge", where=where, query=query, key=key)
        return Message("experiments.did_cut_edges", where=where, count=len(self.edges))


@dataclass(frozen=True)
class Even(Intervention):
    """Tokens look at all tokens alike: rows of the attention map made even (q set to 0)."""

    rows: Literal["cls", "patches", "all"]
    layers: Some = "all"

    kind = "even"
    example = '{"kind": "even", "rows": "cls", "layers": [5]}'

    def __post_init__(self) -> None:
        self._choice("rows", "cls", "patches", "all")
        self._numbers("layers", "all")

    def check(self, config: ViTConfig) -> None:
        self._in_range("layers", self.layers, config.depth)
        if self.rows == "cls":
            self._needs_prefix(config, "cls_token")

    def sentence(self) -> Message:
        return Message(f"experiments.did_even_{self.rows}", where=_where(self.layers))


@dataclass(frozen=True)
class Scramble(Intervention):
    """Each patch looks where another patch would have looked: rows of the map shuffled."""

    rows: Literal["patches"] = "patches"
    layers: Some = "all"
    seed: int = 0

    kind = "scramble"
    example = '{"kind": "scramble", "rows": "patches", "layers": [5], "seed": 0}'

    def __post_init__(self) -> None:
        self._choice("rows", "patches")
        self._numbers("layers", "all")
        self._number("seed")

    def check(self, config: ViTConfig) -> None:
        self._in_range("layers", self.layers, config.depth)

    def sentence(self) -> Message:
        return Message("experiments.did_scramble", where=_where(self.layers))


@dataclass(frozen=True, eq=False)
class Donor:
    """The tokens of another analysis, before a layer: all of them, (N, D), and whose they are."""

    name: str
    tokens: Tensor

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
    """Tokens of another analysis put in before block `layer`; before the head at layer L."""

    tokens: tuple[int, ...] | Literal["cls", "all"]
    layer: int
    donor: Donor = field(repr=False)

    kind = "transplant"
    example = '{"kind": "transplant", "tokens": "cls", "layer": 3, "from": an analysis}'

    def __post_init__(self) -> None:
        self._numbers("tokens", "cls", "all")
        self._number("layer")
        if not isinstance(self.donor, Donor):
            self._set("donor", self._taken_from(self.donor))

    def _taken_from(self, donor: "Analysis") -> Donor:
        trace = getattr(donor, "trace", None)
        if trace is None:
            raise SelectionError(Message("experiments.needs_donor"))
        self._in_range("layer", self.layer, trace.depth + 1)
        name = f"{donor.photo_name or 'a photo'}, {donor.card.name}"
        return Donor(name, trace.tokens[self.layer])

    def to_dict(self) -> dict[str, Any]:
        tokens = self.tokens if isinstance(self.tokens, str) else list(self.tokens)
        return {
            "kind": self.kind, "tokens": tokens, "layer": self.layer, "from": self.donor.name
        }  # fmt: skip

    def check(self, config: ViTConfig) -> None:
        self._in_range("layer", self.layer, config.depth + 1)
        if self.tokens == "cls":
            self._needs_prefix(config, "cls_token")
        elif self.tokens != "all":
            self._in_range("tokens", self.tokens, config.num_patches)
        theirs, ours = tuple(self.donor.tokens.shape), (config.num_tokens, config.embed_dim)
        # CLS is the first token of both, so that the number of patches does not matter.
        if theirs[1:] != ours[1:] or (self.tokens != "cls" and theirs != ours):
            raise SelectionError(
                Message("experiments.donor_shape", theirs=_by(theirs), ours=_by(ours))
            )

    def sentence(self) -> Message:
        named = isinstance(self.tokens, tuple)
        return Message(
            f"experiments.did_transplant_{'patches' if named else self.tokens}",
            layer=self.layer,
            donor=self.donor.name,
            **({"patches": _named(self.tokens)} if named else {}),
        )


KINDS: dict[str, type[Intervention]] = {
    one.kind: one
    for one in (
        Remove, Keep, Replace, Shuffle, Swap, Positions, Head, Branch, Cut, Even, Scramble,
        Transplant,
    )
}  # fmt: skip


def read(values: Any, donors: Mapping[str, Any] | None = None) -> tuple[Intervention, ...]:
    """A list of interventions, as values or in JSON's types. Raises `SelectionError`.

    `donors` are the analyses that a transplant names as "from" where that is a text.
    """
    if isinstance(values, Intervention | Mapping) or not isinstance(values, list | tuple):
        raise SelectionError(Message("experiments.no_list", value=short(values)))
    if len(values) > MOST:
        raise SelectionError(Message("experiments.many", most=MOST, count=len(values)))
    return tuple(_read(one, donors or {}) for one in values)


def _read(value: Any, donors: Mapping[str, Any]) -> Intervention:
    if isinstance(value, Intervention):
        return value
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise SelectionError(Message("experiments.no_kind", kinds=tuple(KINDS), value=short(value)))
    made, given = KINDS[kind], {name: one for name, one in value.items() if name != "kind"}
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
