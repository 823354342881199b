"""Executor: computes the `Result` of each kind of job from its photo or analysis.

Nothing here depends on visitors, pages or disks, and jobs and results can be pickled, so `execute`
can also run in another process or on another machine, behind another `Engine`.
"""

import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from ...errors import VitvizError
from ...languages import Message
from ...model.loaded import ModelCard
from ...payload import in_page, page
from ...payload.explanations import passes_of
from ...payload.payload import late_file, late_path, pack
from ...probe.analysis import Analysis, Target, analyze
from ...probe.capture.grid import PatchGrid
from ...probe.capture.selection import choose
from ...probe.explain import fairness
from ...probe.explain.explainers import check_knows_target, chosen
from ...probe.intervene import fooling, intervention
from ..host import limits
from ..store.files import file_name
from .jobs import (
    AnyJob,
    FairJob,
    Job,
    LateJob,
    OperateJob,
    PageJob,
    Refusal,
    Result,
    Selection,
    WeightsJob,
)
from .models import ModelSource
from .opening import open_upload
from .turns import Turns

UNSEEN = (".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".jp2", ".j2k", ".jpx")  # not shown by browsers
PAGE, WEIGHTS = "page.html", "model.safetensors"
Turn = Callable[[], AbstractContextManager[None]]
_heavy = Turns(lambda: max(1, limits.COMPUTING - 1), limits.COMPUTING_LINE)  # a host sets it later


def execute(job: AnyJob, models: ModelSource, turn: Turn = nullcontext) -> Result:
    """Execute a job of any kind: the only function that other processes and machines need.

    `turn` is entered while the model runs and its result is packed, to limit how many compute at a
    time: packing 1,370 tokens takes as long as their pass. A photo is opened without a turn.
    """
    kinds: dict[type[AnyJob], Callable[..., Result]] = {
        Job: _analyzed,
        OperateJob: _operated,
        LateJob: _late,
        FairJob: _fair,
        PageJob: _page,
        WeightsJob: _weights,
    }
    stages = _Stages()
    try:
        result = kinds[type(job)](job, models, turn, stages)
    except VitvizError as error:
        result = Result(refused=Refusal.of(error, models.named))
    return replace(result, seconds=stages.seconds)


class _Stages:
    """Seconds of each stage; the time of an inner stage does not count for the outer one."""

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


def _analyzed(job: Job, models: ModelSource, turn: Turn, stages: _Stages) -> Result:
    """Open the photo, load the model, run it, and pack the result."""
    with stages("open"):
        photo = open_upload(job.photo, job.name, job.look.stretch)
    with stages("load"):
        loaded = models.get(job.model)
    passes = _fooling(job)
    if job.selection and job.selection.explainer:
        passes += chosen(job.selection.explainer).passes(PatchGrid.of(loaded.card.config))
    if passes:
        _check_work(loaded.card, passes, limits.EXPLAINING_WORK)
    with stages("wait"), _leaving_room(loaded.card, passes + 1), turn():
        with stages("pass"):
            analysis = analyze(
                loaded, photo, invert=job.look.invert, interventions=job.interventions
            )
            # Some explainers run the model, too, even many times.
            relevance = _relevance(job.selection, analysis, job.like)
        with stages("pack"):
            if job.selection is None:
                result = _for_page(job, analysis)
                runs = in_page.runs(loaded.card)
                return replace(result, heavy=_is_heavy(loaded.card, 1), in_page=runs)
            return _for_program(job.selection, analysis, relevance)


def _operated(job: OperateJob, models: ModelSource, turn: Turn, stages: _Stages) -> Result:
    """Read the analysis and its model, run it with the interventions, and pack the changes.

    The photo is not opened again, because that can take longer than the pass.
    """
    with stages("open"):
        held = _held(job, models)
        passes = _fooling(job)
        _check_work(held.card, passes, limits.EXPLAINING_WORK)
    with stages("wait"), _leaving_room(held.card, passes + 1), turn():
        with stages("pass"):
            analysis = held.operate(job.interventions)
        with stages("pack"):
            if job.wanted == "saved":
                return Result(saved=analysis.to_bytes(), saved_name=_saved_name(analysis))
            payload = pack(analysis, whole=False, beside=True, first=job.first)
            return Result(manifest=payload.manifest, files=payload.files)


def _fooling(job: Job | OperateJob) -> int:
    """Passes that its interventions take before the pass itself, to fool the model."""
    return fooling.passes_of(intervention.read(job.interventions))


def _late(job: LateJob, models: ModelSource, turn: Turn, _stages: _Stages) -> Result:
    """Make the file, with a turn, because that runs parts of the model."""
    held = _held(job, models)
    passes = passes_of(held, job.name)
    _check_work(held.card, passes, limits.EXPLAINING_WORK)
    other = Analysis.from_bytes(job.other) if job.other else None
    with _leaving_room(held.card, passes), turn():
        return Result(files={late_path(job.name): late_file(held, job.name, other)})


def _fair(job: FairJob, models: ModelSource, turn: Turn, stages: _Stages) -> Result:
    """Compute the next map, or after all maps the next column; after the last one the result."""
    held, keys = _held(job, models), list(dict.fromkeys(job.keys))
    target: Target = Analysis.from_bytes(job.other) if job.other else None
    if target is None:
        fairness.check_outputs(held.card.outputs)
        target = held.class_index(job.target, "fair_test")
    passes = fairness.passes_of(len(keys) + 1)
    passes += sum(chosen(key).passes(held.grid) for key in keys)
    _check_work(held.card, passes, limits.TESTING_WORK)
    maps, columns = dict(job.maps), [*job.columns]
    with _leaving_room(held.card, passes), turn(), stages("pass"):
        if missing := [key for key in keys if key not in maps]:
            token = choose("token", job.token, held.trace.num_tokens)
            case = held.case(missing[0], target=target)
            maps[missing[0]] = chosen(missing[0])(case, token).tolist()
            return _step(maps, columns, len(keys) + fairness.STEPS)
        case = held.case("centre", target=target)
        if isinstance(target, int):
            case = replace(case, vit=models.get(job.model).vit, target=target)
        plan = fairness.plan_of(case, {key: torch.tensor(maps[key]) for key in keys})
        for step in (0, 1) if not columns else (len(columns),):
            column = plan.column(case, step, held.card.temperature, held.card.outputs)
            columns.append(column.tolist())
        result = _step(maps, columns, len(keys) + len(plan.counts) - 1)
        if len(columns) < len(plan.counts):
            return result
        removal = plan.removal(case, [torch.tensor(column) for column in columns])
        return replace(result, summary={**result.summary, "result": _as_json(removal)})


def _step(maps: Mapping[str, Any], columns: Sequence[Sequence[float]], steps: int) -> Result:
    done = len(maps) + max(0, len(columns) - 1)
    return Result(summary={"maps": maps, "columns": columns, "done": done, "all": steps})


def _as_json(removal: fairness.Removal) -> dict[str, Any]:
    """A fair test in JSON's types, without its texts: pages make their own."""
    values = removal.to_dict()
    del values["score"], values["liked"]
    for figures in values["maps"].values():
        del figures["sentence"]
    return values


def _page(job: PageJob, models: ModelSource, turn: Turn, _stages: _Stages) -> Result:
    """Make the page, with a turn, because some of its explanations run the model."""
    held = _held(job, models)
    layers = held.trace.depth if job.layers is None else len(job.layers)
    if layers * _page_bytes_of_layer(held) > limits.PAGE_BYTES:
        raise VitvizError(Message("web.page_large", most=round(limits.PAGE_BYTES / 1e6)))
    with _leaving_room(held.card, limits.MANY_PASSES), turn():
        text = page(held, film=job.film, layers=job.layers, engine=job.engine)
    return Result(files={PAGE: text.encode()})


def _weights(job: WeightsJob, models: ModelSource, turn: Turn, stages: _Stages) -> Result:
    """Write the weights, with a turn, because they are compared in a few passes."""
    with stages("load"):
        loaded = models.get(job.model)
    in_page.check_engine(loaded.card)
    with stages("wait"), turn(), stages("pack"):
        return Result(files={WEIGHTS: in_page.small_weights_of(loaded)})


def _page_bytes_of_layer(analysis: Analysis) -> float:
    """Approximate size of a layer in a page: q, k and tokens in half precision, in base64."""
    config = analysis.card.config
    return 4 / 3 * 6 * analysis.trace.num_tokens * config.embed_dim


def _held(job: OperateJob | LateJob | FairJob | PageJob, models: ModelSource) -> Analysis:
    """The analysis of a job, with its model."""
    analysis = Analysis.from_bytes(job.saved)
    return replace(analysis, loaded=models.get(job.model))


def _check_work(card: ModelCard, passes: int, most: float) -> None:
    """Raise `VitvizError` if so many passes of this model are too much for a shared machine."""
    if _work(card, passes) > most:
        raise VitvizError(Message("web.too_much", passes=passes, name=card.name))


def _work(card: ModelCard, passes: int) -> float:
    """Operations of so many passes, without those that grow with the square of the tokens."""
    return 2.0 * passes * card.num_parameters * PatchGrid.of(card.config).num_tokens


def _is_heavy(card: ModelCard, passes: int) -> bool:
    return passes >= limits.MANY_PASSES or _work(card, passes) >= limits.HEAVY_WORK


def _leaving_room(card: ModelCard, passes: int) -> AbstractContextManager[None]:
    """A turn for heavy work, which can take a minute. There is one such turn fewer than places of
    `turn` (at least one), so that lighter work finds a place. Raises `VitvizError` if too many
    callers wait for such a turn, or one waits too long. Enter it before `turn`: a waiting caller
    must not hold a turn that lighter work needs.
    """
    if not _is_heavy(card, passes):
        return nullcontext()
    return _heavy.take(limits.COMPUTING_WAIT_SECONDS, VitvizError(Message("web.busy")))


def _for_page(job: Job, analysis: Analysis) -> Result:
    payload = pack(analysis, film=True, whole=False, first=job.first)
    unseen = Path(job.name).suffix.lower() in UNSEEN
    return Result(
        saved=analysis.to_bytes(),
        saved_name=_saved_name(analysis),
        manifest=payload.manifest,
        files=payload.files,
        preview=_preview(analysis) if unseen else None,
    )


def _relevance(
    selection: Selection | None, analysis: Analysis, like: bytes | Sequence[float]
) -> dict[str, Any]:
    """The values of the selected explainer; {} without an explainer."""
    if selection is None or not selection.explainer:
        return {}
    key, index, alike = selection.explainer, None, {}
    target: Target = None if selection.target == -1 else selection.target
    if like:
        target = Analysis.from_bytes(like) if isinstance(like, bytes) else [*like]
        name = target.photo_name if isinstance(target, Analysis) else None
        alike = {"like": name, "likeness": analysis.likeness(target)}
    elif "class" in chosen(key).needs:
        target = index = analysis.class_index(target, key)  # type: ignore[arg-type]
    elif target is not None:
        check_knows_target(key)
    token = choose("token", selection.token, analysis.trace.num_tokens)
    explainer, case = chosen(key), analysis.case(key, target=target)
    values = explainer(case, token)
    gap = {"gap": explainer.gap(case, values)} if explainer.gap else {}
    found = {"explainer": key, "target": index, **alike, **gap, "values": values.tolist()}
    return {"relevance": found}


def _for_program(selection: Selection, analysis: Analysis, relevance: Mapping[str, Any]) -> Result:
    trace = analysis.trace
    token = choose("token", selection.token, trace.num_tokens)
    layer = trace.depth - 1 if selection.layer == -1 else selection.layer
    layer = choose("layer", layer, trace.depth)
    head = None if selection.head == -1 else choose("head", selection.head, trace.num_heads)
    attention, rollout = analysis.attention(layer, head, token), analysis.rollout(token, layer)
    summary = analysis.summary(limits.TOP_CLASSES)
    summary["selection"] = {
        "token": token,
        "layer": layer,
        "head": "mean" if head is None else head,
        "attention": attention.tolist(),
        "rollout": rollout.tolist(),
        **_pooling(analysis),
        **relevance,
    }
    return Result(saved=analysis.to_bytes(), saved_name=_saved_name(analysis), summary=summary)


def _pooling(analysis: Analysis) -> dict[str, Any]:
    """Attention of the pool, averaged over its heads; {} for a model without an attention pool."""
    if analysis.card.config.global_pool != "map":
        return {}
    return {"pooling": analysis.pooling_map().mean(dim=0).tolist()}


def _saved_name(analysis: Analysis) -> str:
    card = analysis.card
    untrained = "" if card.trained else "untrained"
    looks = ["stretched"] * analysis.stretched + ["inverted"] * analysis.inverted
    changed = "changed" if analysis.interventions else ""
    name = file_name(analysis.photo_name, card.name, card.key.size, untrained, *looks, changed)
    return f"{name}.safetensors"


def _preview(analysis: Analysis) -> bytes:
    """The model's input as PNG."""
    seen = Image.fromarray(analysis.picture.squeeze(-1).numpy())
    seen.save(buffer := io.BytesIO(), "PNG")
    return buffer.getvalue()
