"""Questions of a viewer about its analysis, past Gradio's queue: what is computed on request."""

import base64
from typing import Any

from safetensors.torch import load
from torch import Tensor

from ...errors import SelectionError, VitvizError
from ...languages import Message
from ...probe.analysis import Analysis
from ...probe.explain.explainers import EXPLAINERS
from ...viewer.explanations import explanation_name
from ...viewer.payload import POOLING, late_file, late_path, needs_model
from ..compute.engine import Engine
from ..compute.fulfilment import PAGE
from ..compute.orders import FairOrder, LateOrder, PageOrder, Refusal
from ..compute.turns import Turns, computing
from ..host import limits
from ..host.error_messages import in_each, sentence
from ..store.store import Store
from .analyses import Analyses, Asked
from .beside import picked
from .fair_tests import BusyError, FairTests, WantedTest
from .figures import Given, WantedFigure
from .replies import with_places

# The methods of `Questions`, as a viewer names them.
QUESTIONS = ("rollout", "late", "fair", "figure", "take_home", "beside", "operate")


class Questions:
    """The questions of all viewers of one running app.

    Every method takes the pass that is asked about and the question, any JSON object, and raises
    `VitvizError` for what cannot be answered.
    """

    def __init__(self, engine: Engine, analyses: Analyses, store: Store) -> None:
        self._engine, self._analyses, self._store = engine, analyses, store
        # They bypass Gradio's queue, so they have turns of their own: many of them do not keep the
        # engine from an analysis.
        self._asking = Turns(limits.COMPUTING, limits.LINE)
        self._drawing = Turns(1, limits.LINE)
        self._tests = FairTests(engine)
        self._operating = Turns(limits.COMPUTING, limits.OPERATING_LINE)

    def rollout(self, asked: Asked, question: Any) -> dict[str, Any]:
        """Compute a rollout of too many tokens for the browser: {"values"}."""
        match question:
            case {
                "token": int(token),
                "layer": int(layer),
                "first": int(first),
                "residual": int() | float() as residual,
                "head_fusion": str(fusion),
            }:
                fused: Any = fusion  # `rollout` refuses what it does not know
            case _:
                raise SelectionError("id, token, layer, first, residual, head_fusion are needed")
        with computing(self._asking):
            values = self._analyses.get(asked).rollout(
                token, layer, first=first, residual=residual, head_fusion=fused
            )
        return {"values": values.tolist()}

    def late(self, asked: Asked, question: Any) -> dict[str, Any]:
        """Make a file of the payload on request: {"data": in base64}."""
        match question:
            case {"name": str(name)}:
                with computing(self._asking):
                    data = self._late_file(asked, name)
                return {"data": base64.b64encode(data).decode()}
        raise SelectionError("id and name are needed")

    def fair(self, asked: Asked, question: Any) -> dict[str, Any]:
        """Do a step of a fair test: {"done", "all"}, {"result"} at the end; with "busy" in place of
        them, asking again later helps.
        """
        wanted, known = WantedTest.of(question), self._analyses.known(asked.id)

        def order(**step: Any) -> FairOrder:
            return FairOrder(saved=self._analyses.saved(asked), model=known.shown.model, **step)

        try:
            return dict(self._tests.advance(asked.key, wanted, order))
        except BusyError as error:
            return {**refused(error.message), "busy": True}

    def _late_file(self, asked: Asked, name: str) -> bytes:
        """Only the engine has the models; a file that needs none is made here."""
        shown, saved = self._analyses.known(asked.id).shown, self._analyses.saved(asked)
        analysis = Analysis.from_bytes(saved)
        if not needs_model(name, analysis.card.config):
            return late_file(analysis, name)
        order = LateOrder(name=name, saved=saved, model=shown.model)
        result = self._engine.run(order)
        if result.refused:
            raise VitvizError(result.refused.text)
        return result.files[late_path(name)]

    def figure(self, asked: Asked, question: Any) -> dict[str, Any]:
        """Draw what the viewer shows as a figure for print: {"data": in base64}."""
        wanted, known = WantedFigure.of(question), self._analyses.known(asked.id)
        maps = {one: self._explained(asked, one, wanted) for one in wanted.explainers}
        pool = self._pool(asked) if wanted.kind == POOLING else None
        many = VitvizError(Message("web.many_figures"))
        # One at a time: matplotlib has settings that are global to the process.
        with self._drawing.take(limits.DRAWING_WAIT_SECONDS, many):
            film = self._store.get(known.film) if wanted.kind == "training" and known.film else None
            other = self._analyses.get(Asked.of(wanted.other)) if wanted.other else None
            given = Given(film=film, maps=maps, other=other, pool=pool)
            data = wanted.drawn(self._analyses.get(asked), given)
        return {"data": base64.b64encode(data).decode()}

    def _pool(self, asked: Asked) -> Tensor:
        """Where the query of the pool looks, as a viewer gets it."""
        with computing(self._asking):
            return load(self._late_file(asked, POOLING))["shares"]

    def _explained(self, asked: Asked, explainer: str, wanted: WantedFigure) -> Tensor:
        """The values of an explainer, as a viewer gets them."""
        target = wanted.target if "class" in EXPLAINERS[explainer].needs else None
        with computing(self._asking):
            data = self._late_file(asked, explanation_name(explainer, wanted.token, target))
        return load(data)["values"]

    def take_home(self, asked: Asked, question: Any) -> dict[str, Any]:
        """Make the page to take home: {"path", "size"} of one HTML file.

        What a teacher or pupil has written comes into it in the browser, and is not asked for here.
        """
        known = self._analyses.known(asked.id)
        depth = self._analyses.get(asked).trace.depth
        match question:
            case {"layers": [*layers], "film": bool(film)} if layers and all(
                type(one) is int and 0 <= one < depth for one in layers
            ):
                chosen = sorted(set(layers))
            case _:
                raise SelectionError("layers of the analysis are needed, and whether with the film")
        order = PageOrder(
            saved=self._analyses.saved(asked),
            model=known.shown.model,
            layers=chosen,
            film=film,
            engine=question.get("engine") is True,
        )
        result = self._engine.run(order)
        if result.refused:
            raise VitvizError(result.refused.text)
        self._store.check_room()
        data = result.files[PAGE]
        return {"path": self._store.put(data, PAGE), "size": len(data)}

    def beside(self, asked: Asked, question: Any) -> dict[str, Any]:
        """Analyze what a viewer compares with: {"manifest"}, files by address."""
        now = self._analyses.known(asked.id).shown
        shown = picked(question.get("beside"), now, self._analyses.choices(now))
        if shown is None:
            raise SelectionError(Message("web.not_beside"))
        made = self._analyses.make(shown)
        if isinstance(made, Refusal):
            return refused(made.text)
        self._analyses.remember(made.manifest, made.kept(shown))
        return {"manifest": with_places(made.manifest)}

    def operate(self, asked: Asked, question: Any) -> dict[str, Any]:
        """Analyze what a viewer shows with interventions: {"pass", "files"}.

        Its few files are in base64; what it has in common with the intact analysis, or is asked for
        later, is left out (`pack`).
        """
        first = None
        match question:
            case {"layer": int(layer), "token": int(token)}:
                first = layer, token
        # A line of its own: in a class many visitors brush at the same moment, and each pass is
        # short. What is made here waits for no other turn that they could take from each other.
        with computing(self._operating):
            self._store.check_room()
            order = self._analyses.operation(asked, first=first)
            result = self._analyses.watched(order, 0, "page")
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
    """A message in all languages; the viewer picks its own, which the server does not know."""
    return {"error": sentence(text), "errors": in_each(text)}
