"""Jobs and results of an engine, as values that can be pickled."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ...errors import ImageError, VitvizError
from ...model.key import ModelKey
from ...model.photo_levels import AS_IT_IS, Look


class Selection(NamedTuple):
    """The selection of a program. `layer` -1 is the last one, `head` -1 the mean of all.

    `explainer` is a key of `probe/explain/explainers.py`, "" none; `target` the class it
    explains, by number or name, -1 the answer.
    """

    token: int = 0
    layer: int = -1
    head: int = -1
    explainer: str = ""
    target: int | str = -1


@dataclass(frozen=True, kw_only=True)
class Job:
    """A photo for a model.

    photo      the bytes of the file
    name       the visitor's name of the file
    selection  of a program; None for a page, where the visitor selects in the viewer
    look       how the levels of the photo are read
    interventions  changes of the pass, in JSON's types (`probe/intervene/intervention.py`)
    first      the layer and the token that a page shows first (`payload.pack`)
    like       target of the likeness that the explainer explains in place of a class: the saved
               analysis of another picture, or a vector; empty: none

    Add further options of a pass as fields with a default, so that existing jobs keep their
    meaning.
    """

    photo: bytes = field(repr=False)
    name: str
    model: ModelKey
    selection: Selection | None = None
    look: Look = AS_IT_IS
    interventions: Sequence[Mapping[str, Any]] = ()
    first: tuple[int, int] | None = None
    like: bytes | Sequence[float] = field(default=b"", repr=False)


@dataclass(frozen=True, kw_only=True)
class OperateJob:
    """An intact analysis with interventions, for a page that waits at every stroke.

    saved, model          the analysis as `Result.saved`, and the model of its job
    interventions, first  as in `Job`
    wanted  "page": the manifest and files of the result; "saved": its saved analysis, which takes
            longer to write than all the rest and is seldom requested
    """

    saved: bytes = field(repr=False)
    model: ModelKey
    interventions: Sequence[Mapping[str, Any]] = ()
    first: tuple[int, int] | None = None
    wanted: Literal["page", "saved"] = "page"


@dataclass(frozen=True, kw_only=True)
class LateJob:
    """A late file of an analysis (`payload.payload.late_file`) that needs its model.

    saved, model  the analysis as `Result.saved`, and the model of its job
    other         the analysis of another picture, in the same way, that the file compares with
    """

    name: str
    saved: bytes = field(repr=False)
    model: ModelKey
    other: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, kw_only=True)
class FairJob:
    """The next step of a fair test (`probe/explain/fairness.py`).

    saved, model         as in `LateJob`
    keys, token, target  the tested explainers, the token that they explain, and the class
    other                the saved analysis of another picture: the test measures the likeness to it
                         in place of the class; empty: none
    maps, columns        results of earlier steps: the values by explainer, and the probabilities by
                         step
    """

    saved: bytes = field(repr=False)
    model: ModelKey
    keys: Sequence[str]
    token: int = 0
    target: int | None = None
    other: bytes = field(default=b"", repr=False)
    maps: Mapping[str, Sequence[float]] = field(default_factory=dict, repr=False)
    columns: Sequence[Sequence[float]] = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True)
class PageJob:
    """An analysis as one HTML file (`payload.page`).

    saved, model  as in `LateJob`
    layers        layers of the page; None: all
    film, engine  with the film of the training; with the model, for photos and experiments
    """

    saved: bytes = field(repr=False)
    model: ModelKey
    layers: Sequence[int] | None = None
    film: bool = False
    engine: bool = False


@dataclass(frozen=True, kw_only=True)
class WeightsJob:
    """The weights of a model, for the engine of a page (`in_page.small_weights_of`)."""

    model: ModelKey


AnyJob = Job | OperateJob | LateJob | FairJob | PageJob | WeightsJob


class Refusal(NamedTuple):
    """Why a job is refused, in any language; `of_picture`: because of the picture."""

    text: str
    of_picture: bool = False

    @classmethod
    def of(
        cls, error: VitvizError, rephrase: Callable[[str], str] = lambda text: text
    ) -> "Refusal":
        """The refusal for an error: exceptions from another machine can lose their class.

        `rephrase` changes the words of its sentence.
        """
        return cls(rephrase(error.message), isinstance(error, ImageError))


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """The result of a job: either `refused` alone, or the other fields.

    saved     the analysis, for `Analysis.from_bytes`; `saved_name` is the name of its file
    manifest  for a page: the manifest of `payload.Payload`; `files`: bytes by path
    preview   for a page: the model's input as PNG, if browsers cannot show the photo
    summary   for a program: `Analysis.summary`, with the values for its selection as "selection";
              of a `FairJob` the "maps" and "columns" so far, how many steps are "done" of "all",
              and after the last one the "result"
    heavy     whether a pass of the model is heavy work
    in_page   for a page: whether its engine could run the model
    seconds   of each stage: "open" the photo, "load" the model, "wait" for a turn, "pass" of the
              model, "pack" for the page or program
    """

    refused: Refusal | None = None
    saved: bytes = field(default=b"", repr=False)
    saved_name: str = ""
    manifest: Mapping[str, Any] = field(default_factory=dict, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    preview: bytes | None = field(default=None, repr=False)
    summary: Mapping[str, Any] = field(default_factory=dict, repr=False)
    heavy: bool = False
    in_page: bool = False
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
