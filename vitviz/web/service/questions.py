"""Questions of a viewer about its analysis, computed on request outside of Gradio's queue."""

import base64
from collections.abc import Mapping
from typing import Any

from safetensors.torch import load
from torch import Tensor

from ...errors import SelectionError, VitvizError
from ...languages import Message
from ...payload.explanations import LIKE, explanation_name
from ...payload.payload import POOLING, late_file, late_path, needs_model
from ...probe.analysis import Analysis
from ...probe.explain.explainers import EXPLAINERS
from ..compute.engine import Engine
from ..compute.executor import PAGE
from ..compute.jobs import FairJob, LateJob, PageJob, Refusal
from ..compute.turns import Turns, computing
from ..host import limits
from ..host.error_messages import in_each, sentence
from ..store.store import Store
from .analyses import Analyses, PassRef
from .beside import picked
from .fair_tests import BusyError, FairTests, WantedTest
from .figures import Given, WantedFigure, check_numbers
from .replies import with_places

# The methods of `Questions`, as a viewer names them.
QUESTIONS = ("rollout", "late", "fair", "figure", "take_home", "beside", "operate")


class Questions:
    """The questions of all viewers of one running app.

    Every method takes a reference to the pass and the question, any JSON object, and raises
    `VitvizError` for a question that cannot be answered.
    """

    def __init__(self, engine: Engine, analyses: Analyses, store: Store) -> None:
        self._engine, self._analyses, self._store = engine, analyses, store
        # Questions bypass Gradio's queue and have turns of their own, so that many questions do not
        # block the engine. Nobody waits for the engine with such a turn, which may take long: a
        # pass with interventions is made, or made again, by `Analyses.saved`, before the turn.
        self._asking = Turns(limits.COMPUTING, limits.COMPUTING_LINE)
        self._drawing = Turns(1, limits.LINE)
        self._taking_home = Turns(limits.PAGES_MADE, limits.OPERATING_LINE)
        self._tests = FairTests(engine)
        # Separate turns for heavy work (True), which keeps its turn while it waits in the engine
        # for other heavy work.
        self._operating = {
            heavy: Turns(limits.COMPUTING, limits.OPERATING_LINE) for heavy in (False, True)
        }

    def rollout(self, ref: PassRef, question: Any) -> dict[str, Any]:
        """Compute a rollout of too many tokens for the browser: {"values"}."""
        match question:
            case {
                "token": int(token),
                "layer": int(layer),
                "first": int(first),
                "residual": int() | float() as residual,
                "head_fusion": str(fusion),
            }:
                fused: Any = fusion  # `rollout` refuses unknown values
            case _:
                raise SelectionError("id, token, layer, first, residual, head_fusion are needed")
        saved = self._analyses.saved(ref)
        with computing(self._asking):
            analysis = Analysis.from_bytes(saved)
            check_numbers(analysis, token=token, layer=layer, first=first)
            values = analysis.rollout(
                token, layer, first=first, residual=residual, head_fusion=fused
            )
        return {"values": values.tolist()}

    def late(self, ref: PassRef, question: Any) -> dict[str, Any]:
        """Make a file of the payload on request: {"data": in base64}."""
        match question:
            case {"name": str(name)}:
                other = question.get("other")
                data = self._late_file(ref, name, other if isinstance(other, dict) else None)
                return {"data": base64.b64encode(data).decode()}
        raise SelectionError("id and name are needed")

    def fair(self, ref: PassRef, question: Any) -> dict[str, Any]:
        """Do a step of a fair test: {"done", "all"}, {"result"} at the end; or "busy": the viewer
        should retry later.
        """
        wanted, known = WantedTest.of(question), self._analyses.known(ref.id)

        def job_of(other: dict[str, Any] | None, **step: Any) -> FairJob:
            beside = self._analyses.saved(PassRef.of(other)) if other else b""
            saved = self._analyses.saved(ref)
            return FairJob(saved=saved, model=known.shown.model, other=beside, **step)

        try:
            return dict(self._tests.advance(ref.key, wanted, job_of))
        except BusyError as error:
            return {**refused(error.message), "busy": True}

    def _late_file(self, ref: PassRef, name: str, other: Mapping[str, Any] | None = None) -> bytes:
        """The bytes of a late file. The engine makes files that need a model, without a turn of
        ours, since they can wait long for one of its own. `other`: the pass that it compares with.
        """
        shown, saved = self._analyses.known(ref.id).shown, self._analyses.saved(ref)
        with computing(self._asking):
            analysis = Analysis.from_bytes(saved)
            if not needs_model(name, analysis.card.config):
                return late_file(analysis, name)
        beside = self._analyses.saved(PassRef.of(other)) if other else b""
        job = LateJob(name=name, saved=saved, model=shown.model, other=beside)
        result = self._engine.run(job)
        if result.refused:
            raise VitvizError(result.refused.text)
        return result.files[late_path(name)]

    def figure(self, ref: PassRef, question: Any) -> dict[str, Any]:
        """Draw the viewer's panel as a figure for print: {"data": in base64}."""
        wanted, known = WantedFigure.of(question), self._analyses.known(ref.id)
        maps = {key: self._explained(ref, key, wanted) for key in wanted.explainers}
        pool = self._pool(ref) if wanted.kind == POOLING else None
        many = VitvizError(Message("web.many_figures"))
        saved = self._analyses.saved(ref)
        beside = self._analyses.saved(PassRef.of(wanted.other)) if wanted.other else None
        # One figure at a time: matplotlib's settings are global to the process.
        with self._drawing.take(limits.DRAWING_WAIT_SECONDS, many):
            film = self._store.get(known.film) if wanted.kind == "training" and known.film else None
            other = Analysis.from_bytes(beside) if beside else None
            given = Given(film=film, maps=maps, other=other, pool=pool)
            data = wanted.drawn(Analysis.from_bytes(saved), given)
        return {"data": base64.b64encode(data).decode()}

    def _pool(self, ref: PassRef) -> Tensor:
        """Attention of the pool's query, (heads, N), rounded as for a viewer."""
        return load(self._late_file(ref, POOLING))["shares"]

    def _explained(self, ref: PassRef, explainer: str, wanted: WantedFigure) -> Tensor:
        """The values of an explainer, rounded as for a viewer."""
        target = wanted.target if "class" in EXPLAINERS[explainer].needs else None
        name = explanation_name(explainer, wanted.token, target)
        data = self._late_file(ref, name, wanted.other if target == LIKE else None)
        return load(data)["values"]

    def take_home(self, ref: PassRef, question: Any) -> dict[str, Any]:
        """Make the page to take home: {"path", "size"} of one HTML file.

        The browser adds what a teacher or pupil has written; it is not sent here.
        """
        with computing(self._taking_home):
            data = self._page(ref, question)
            return {"path": self._store.put(data, PAGE), "size": len(data)}

    def _page(self, ref: PassRef, question: Any) -> bytes:
        """The HTML of a page to take home."""
        known, saved = self._analyses.known(ref.id), self._analyses.saved(ref)
        engine = question.get("engine") is True
        if engine and not self._analyses.lends(known.shown.model):
            raise VitvizError(Message("web.not_here"))
        depth = Analysis.from_bytes(saved).trace.depth
        match question:
            case {"layers": [*layers], "film": bool(film)} if layers and all(
                type(layer) is int and 0 <= layer < depth for layer in layers
            ):
                chosen = sorted(set(layers))
            case _:
                raise SelectionError("layers of the analysis are needed, and whether with the film")
        job = PageJob(
            saved=saved,
            model=known.shown.model,
            layers=chosen,
            film=film,
            engine=engine,
        )
        result = self._engine.run(job)
        if result.refused:
            raise VitvizError(result.refused.text)
        self._store.check_room()
        return result.files[PAGE]

    def beside(self, ref: PassRef, question: Any) -> dict[str, Any]:
        """Make the analysis that a viewer compares with: {"manifest"}, files by address."""
        now = self._analyses.known(ref.id).shown
        shown = picked(question.get("beside"), now, self._analyses.choices(now))
        if shown is None:
            raise SelectionError(Message("web.not_beside"))
        made = self._analyses.make(shown)
        if isinstance(made, Refusal):
            return refused(made.text)
        self._analyses.remember(made.manifest, made.kept(shown))
        return {"manifest": with_places(made.manifest)}

    def operate(self, ref: PassRef, question: Any) -> dict[str, Any]:
        """Repeat the pass that a viewer shows with interventions: {"pass", "files"}.

        Its few files are in base64; files that it shares with the intact analysis or that are late
        are left out (`pack`).
        """
        first = None
        match question:
            case {"layer": int(layer), "token": int(token)}:
                first = layer, token
        # A queue of its own: a class brushes at the same moment, and each pass is short.
        heavy = self._analyses.known(ref.id).heavy or ref.fools
        with computing(self._operating[heavy]):
            self._store.check_room()
            job = self._analyses.operation(ref, first=first)
            result = self._analyses.watched(job, 0, "page")
        if result.refused:
            return refused(result.refused.text)
        files = {
            name: {**file, "data": base64.b64encode(result.files[file["path"]]).decode()}
            if "path" in file
            else file
            for name, file in result.manifest["files"].items()
        }
        return {"pass": result.manifest["pass"], "files": files}


def refused(text: str) -> dict[str, Any]:
    """A refusal in all languages: only the viewer knows which one it shows."""
    return {"error": sentence(text), "errors": in_each(text)}
