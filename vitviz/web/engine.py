"""The engine: turns an `Order` (a photo for a model) into a `Result` for a page or a program.

Nothing here depends on visitors, pages or disks, and orders and results can be pickled. So `fulfil`
can also run in another process or on another machine, behind another `Engine`.
"""

import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import torch
from PIL import Image

from ..errors import VitvizError
from ..languages import Message
from ..model.photo import open_photo
from ..probe import fairness
from ..probe.analysis import Analysis, analyze
from ..probe.explain import EXPLAINERS, chosen
from ..viewer import page
from ..viewer.explanations import passes_of
from ..viewer.payload import late_file, late_path, pack
from . import limits
from .cores import Cores
from .error_messages import in_each
from .files import file_name
from .models import Models
from .orders import (
    AnyOrder,
    FairOrder,
    LateOrder,
    OperateOrder,
    Order,
    PageOrder,
    Refusal,
    Result,
    Selection,
)
from .turns import Turns, computing

UNSEEN = (".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".jp2", ".j2k", ".jpx")  # not shown by browsers
PAGE = "page.html"


class Engine(Protocol):
    """Fulfils orders: in this process, in another one, or on another machine."""

    def run(self, order: AnyOrder) -> Result:
        """Fulfil an order. Raises for faults of the machine; bad pictures or models are refused.

        A late file or a page is the only one in `files` of its result.
        """

    def close(self) -> None:
        """Give back what is held outside of this process, when the app ends."""


class Local:
    """Fulfils orders in the caller's thread; `limits.COMPUTING` of them compute at a time."""

    def __init__(self, models: Models, threads: int | None = None) -> None:
        """`threads`: of each forward pass, see `Cores`."""
        self.models = models
        self._computing = Turns(limits.COMPUTING, limits.LINE)
        self._cores = Cores(threads)

    def run(self, order: AnyOrder) -> Result:
        return fulfil_any(order, self.models, self._turn)

    def close(self) -> None:
        """Nothing: threads end with the process."""

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with computing(self._computing), self._cores.share():
            yield


def fulfil_any(
    order: AnyOrder,
    models: Models,
    turn: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Result:
    """Fulfil an order of any kind: the one function that other processes and machines need."""
    kinds = {
        Order: fulfil,
        OperateOrder: fulfil_operate,
        LateOrder: fulfil_late,
        FairOrder: fulfil_fair,
        PageOrder: fulfil_page,
    }
    return kinds[type(order)](order, models, turn)


def fulfil(
    order: Order,
    models: Models,
    turn: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Result:
    """Open the photo, load the model, run it, and pack the result.

    `turn` is entered for the forward pass only, to bound how many run at a time.
    """
    stages = _Stages()
    try:
        with stages("open"):
            photo = open_photo(order.photo, order.name)
        with stages("load"):
            loaded = models.get(order.model)
        with stages("wait"), turn(), stages("pass"):
            analysis = analyze(
                loaded, photo, invert=order.invert, interventions=order.interventions
            )
            # With the analysis, because it runs the model too, for some explainers many times.
            relevance = _relevance(order.selection, analysis) if order.selection else {}
        with stages("pack"):
            if order.selection is None:
                result = _for_page(order, analysis)
            else:
                result = _for_program(order.selection, analysis, relevance)
        return replace(result, seconds=stages.seconds)
    except VitvizError as error:
        return Result(refused=Refusal.of(error), seconds=stages.seconds)


def fulfil_operate(
    order: OperateOrder,
    models: Models,
    turn: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Result:
    """Read the analysis and its model, run it with the interventions, and pack what is new.

    The photo is not opened again, because that can take longer than the pass.
    """
    stages = _Stages()
    try:
        with stages("open"):
            held = _held(order, models)
        with stages("wait"), turn(), stages("pass"):
            analysis = held.operate(order.interventions)
        with stages("pack"):
            if order.wanted == "saved":
                result = Result(saved=analysis.to_bytes(), saved_name=_saved_name(analysis))
            else:
                payload = pack(analysis, whole=False, beside=True, first=order.first)
                result = Result(manifest=payload.manifest, files=payload.files)
        return replace(result, seconds=stages.seconds)
    except VitvizError as error:
        return Result(refused=Refusal.of(error), seconds=stages.seconds)


class _Stages:
    """Seconds of each stage; of a stage within another, only the inner one counts."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        inner, began = sum(self.seconds.values()), time.perf_counter()
        try:
            yield
        finally:
            inner = sum(self.seconds.values()) - inner
            self.seconds[name] = time.perf_counter() - began - inner


def fulfil_late(
    order: LateOrder,
    models: Models,
    turn: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Result:
    """Read the analysis, load its model, and make the file.

    `turn` is entered where the model has to run: for an explanation.
    """
    try:
        held = _held(order, models)
        passes = passes_of(held, order.name)
        _check_work(held, passes, limits.EXPLAINING_WORK)
        with turn() if passes else nullcontext():
            return Result(files={late_path(order.name): late_file(held, order.name)})
    except VitvizError as error:
        return Result(refused=Refusal.of(error))


def fulfil_fair(
    order: FairOrder,
    models: Models,
    turn: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Result:
    """Compute the next map, or when all are there the next column; with the last, the result."""
    try:
        held = _held(order, models)
        keys, began = list(dict.fromkeys(order.keys)), time.perf_counter()
        passes = fairness.passes_of(len(keys) + 1)
        passes += sum(chosen(key).passes(held.grid) for key in keys)
        _check_work(held, passes, limits.TESTING_WORK)
        maps, columns = dict(order.maps), [*order.columns]
        target = held.class_index(order.target, "fair_test")
        with turn():
            if missing := [key for key in keys if key not in maps]:
                maps[missing[0]] = held.explain(missing[0], order.token, target).tolist()
                return _step(maps, columns, len(keys) + fairness.STEPS, began)
            case = replace(held.case("centre"), vit=held.loaded.vit, target=target)
            plan = fairness.plan_of(case, {key: torch.tensor(maps[key]) for key in keys})
            for step in (0, 1) if not columns else (len(columns),):
                columns.append(plan.column(case, step, held.card.temperature).tolist())
        result = _step(maps, columns, len(keys) + len(plan.counts) - 1, began)
        if len(columns) < len(plan.counts):
            return result
        found = plan.removal(case, [torch.tensor(column) for column in columns])
        return replace(result, summary={**result.summary, "result": _told(found)})
    except VitvizError as error:
        return Result(refused=Refusal.of(error))


def _step(
    maps: Mapping[str, Any], columns: Sequence[Sequence[float]], steps: int, began: float
) -> Result:
    done = len(maps) + max(0, len(columns) - 1)
    summary = {"maps": maps, "columns": columns, "done": done, "all": steps}
    return Result(summary=summary, seconds={"pass": time.perf_counter() - began})


def _told(found: fairness.Removal) -> dict[str, Any]:
    """A fair test in JSON's types, its sentences in every language."""
    told = found.to_dict()
    for key, figures in told["maps"].items():
        figures["sentence"] = in_each(found.sentence(key))
    return told


def fulfil_page(
    order: PageOrder,
    models: Models,
    turn: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Result:
    """Make the page, with a turn of its own: some explanations in it run the model."""
    try:
        held = _held(order, models)
        chosen_layers = held.trace.depth if order.layers is None else len(order.layers)
        if chosen_layers * _page_bytes_of_layer(held) > limits.PAGE_BYTES:
            most = round(limits.PAGE_BYTES / 1e6)
            raise VitvizError(Message("web.page_large", most=most))
        with turn():
            text = page(held, film=order.film, layers=order.layers)
        return Result(files={PAGE: text.encode()})
    except VitvizError as error:
        return Result(refused=Refusal.of(error))


def _page_bytes_of_layer(analysis: Analysis) -> float:
    """About how long a layer is in a page: q, k and tokens in half precision, in base64."""
    config = analysis.card.config
    return 4 / 3 * 6 * analysis.trace.num_tokens * config.embed_dim


def _held(order: OperateOrder | LateOrder | FairOrder | PageOrder, models: Models) -> Analysis:
    """The analysis of an order, with its model."""
    analysis = Analysis.from_bytes(order.saved)
    return replace(analysis, loaded=models.get(order.model))


def _check_work(analysis: Analysis, passes: int, most: float) -> None:
    """Raise `VitvizError` where so many passes of this model are too much for a shared machine."""
    if 2.0 * passes * analysis.card.num_parameters * analysis.grid.num_tokens > most:
        raise VitvizError(Message("web.too_much", passes=passes, name=analysis.card.name))


def _for_page(order: Order, analysis: Analysis) -> Result:
    payload = pack(analysis, film=True, whole=False, first=order.first)
    unseen = Path(order.name).suffix.lower() in UNSEEN
    return Result(
        saved=analysis.to_bytes(),
        saved_name=_saved_name(analysis),
        manifest=payload.manifest,
        files=payload.files,
        preview=_preview(analysis) if unseen else None,
    )


def _relevance(selection: Selection, analysis: Analysis) -> dict[str, Any]:
    """The values of the explainer that was asked for; {} if none was."""
    if not selection.explainer:
        return {}
    target = None if selection.target == -1 else selection.target
    values = analysis.explain(selection.explainer, selection.token, target)
    of_class = "class" in EXPLAINERS[selection.explainer].needs
    return {
        "relevance": {
            "explainer": selection.explainer,
            "target": analysis.class_index(target) if of_class else None,
            "values": values.tolist(),
        }
    }


def _for_program(selection: Selection, analysis: Analysis, relevance: Mapping[str, Any]) -> Result:
    token, layer, head = selection[:3]
    layer = analysis.trace.depth - 1 if layer == -1 else layer
    head = None if head == -1 else head
    attention, rollout = analysis.attention(layer, head, token), analysis.rollout(token, layer)
    summary = analysis.summary(limits.TOP_CLASSES)
    summary["selection"] = {
        "token": token,
        "layer": layer,
        "head": "mean" if head is None else head,
        "attention": attention.tolist(),
        "rollout": rollout.tolist(),
        **relevance,
    }
    return Result(saved=analysis.to_bytes(), saved_name=_saved_name(analysis), summary=summary)


def _saved_name(analysis: Analysis) -> str:
    card = analysis.card
    untrained = "" if card.trained else "untrained"
    inverted = "inverted" if analysis.inverted else ""
    changed = "changed" if analysis.interventions else ""
    name = file_name(analysis.photo_name, card.name, card.key.size, untrained, inverted, changed)
    return f"{name}.safetensors"


def _preview(analysis: Analysis) -> bytes:
    """The model's input as PNG."""
    seen = Image.fromarray(analysis.picture.squeeze(-1).numpy())
    seen.save(buffer := io.BytesIO(), "PNG")
    return buffer.getvalue()
