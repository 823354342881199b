"""The service: answers the requests of pages, viewers and programs. It knows no Gradio."""

import base64
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import load
from torch import Tensor

from ..errors import ImageError, SelectionError, VitvizError
from ..languages import Message
from ..probe.analysis import Analysis
from ..probe.explain import EXPLAINERS
from ..probe.intervention import read as read_interventions
from ..probe.selection import choose
from ..viewer.explanations import explanation_name
from ..viewer.payload import late_file, late_path, needs_model
from . import limits
from .beside import Choice, choices
from .engine import (
    PAGE,
    Engine,
    FairOrder,
    LateOrder,
    OperateOrder,
    Order,
    PageOrder,
    Refusal,
    Result,
    Selection,
)
from .error_messages import APOLOGY, in_each, sentence
from .examples import EXAMPLES, START, START_LINK
from .fair_tests import BusyError, FairTests
from .fair_tests import Wanted as WantedTest
from .figures import Given, Wanted
from .models import Menu
from .page_requests import Delivery, PageRequest, PageRequests
from .replies import Answered, Left, Refused, Reply, Shown, Stored, Unchanged, with_places
from .store import ExpiredError, Store, Upload
from .turns import Turns, computing
from .watch import Watch

log = logging.getLogger("vitviz.web")


class Kept(NamedTuple):
    """An analysis that was delivered.

    shown     what it shows
    analysis  the address of the saved analysis; None for an experiment that was only looked at
    film      the address of the film of its model
    intact, changes  of an experiment: the id of the intact analysis, and the address of the
              interventions in JSON
    """

    shown: Shown
    analysis: str | None
    film: str | None = None
    intact: str = ""
    changes: str = ""


class Made(NamedTuple):
    """An analysis whose files are in the store, but which is not delivered to a page yet."""

    manifest: Mapping[str, Any]
    saved: str
    preview: str | None


class Service:
    """The service of one running app. Each page keeps its own state; files are in the store.

    Methods for the page take its session (`page`) and its state (`shown`), and return a `Reply`,
    which for a bad picture or model is `Refused`. A reply is `Unchanged` if a later request of the
    page was answered already.
    """

    def __init__(
        self, engine: Engine, menu: Menu, store: Store, watch: Watch | None = None
    ) -> None:
        """`watch`: counts and logs the analyses."""
        self.menu = menu
        self._watch = watch or Watch()
        self.examples = [e for e in EXAMPLES if e.model is None or e.model in menu]
        self._engine = engine
        # Questions of viewers bypass Gradio's queue. They have turns of their own, so that many of
        # them do not keep the engine from an analysis.
        self._asking = Turns(limits.COMPUTING, limits.LINE)
        self._drawing = Turns(1, limits.LINE)
        self._tests = FairTests(engine)
        self._operating = Turns(limits.COMPUTING, limits.OPERATING_LINE)
        self._store = store
        self._requests = PageRequests()
        self._kept: OrderedDict[str, Kept] = OrderedDict()  # by the id of a manifest

    def show_photo(
        self,
        upload: Upload | None,
        model: str,
        shown: Shown,
        untrained: bool = False,
        page: str | None = None,
    ) -> Reply:
        """Analyze a picture that was chosen; if it was taken away, the page stays as it is."""
        return Unchanged() if upload is None else self.show(upload, model, shown, untrained, page)

    def show(
        self,
        upload: Upload | None,
        model: str,
        shown: Shown,
        untrained: bool = False,
        page: str | None = None,
    ) -> Reply:
        """Analyze a picture; without one, the picture that is shown.

        `untrained`: use the random weights that the model's training began with.
        """
        if upload is None or upload.address == shown.preview:
            upload = shown.photo
        if upload is None:
            return Unchanged()
        return self._meet(upload, model, shown, untrained, page)

    def invert(
        self,
        _upload: Upload | None,
        _model: str,
        shown: Shown,
        _untrained: bool = False,
        page: str | None = None,
    ) -> Reply:
        """Analyze the picture that is shown with light and dark exchanged; if they are, as it was.

        What the controls of the page say is not asked: the visitor means what is shown.
        """
        if shown.photo is None:
            return Unchanged()
        inverted = not shown.inverted
        return self._meet(shown.photo, shown.model, shown, shown.untrained, page, inverted=inverted)

    def draw(
        self,
        upload: Upload,
        model: str,
        shown: Shown,
        untrained: bool = False,
        page: str | None = None,
        first: bool = True,
    ) -> Reply:
        """Analyze a drawing: the first of a page in the model that the example of a digit is made
        for, later ones in the model that the visitor has chosen since.
        """
        digits = [example.model for example in self.examples if example.model]
        model = digits[0] if first and digits else model
        return self._meet(upload, model, shown, untrained, page, place=True, inverted=False)

    def _meet(
        self,
        upload: Upload,
        model: str,
        shown: Shown,
        untrained: bool,
        page: str | None,
        place: bool = False,
        inverted: bool | None = None,
        first: tuple[int, int] | None = None,
    ) -> Reply:
        """Make an analysis, which can fail or take long, and then deliver it.

        `place`: put the picture into the picture input too, which does not show it yet. `inverted`
        None: the picture that is shown stays inverted if it is; another one is taken as it is.
        """
        with self._requests.begin(page) as request:
            upload = self._ours(upload, shown)
            if inverted is None:
                inverted = shown.inverted and upload == shown.photo
            wanted = Shown(upload, model, None, untrained is True, inverted)
            made = self._make(wanted, first)
            if isinstance(made, Made):
                return self._deliver(request, made, wanted._replace(preview=made.preview), place)
            now = self._requests.failed(request, shown)
            if now is None:
                return Unchanged()
            photo = upload.address if place else Left.AS_IT_IS
            # If another answer came meanwhile, it left the picture input to this request.
            if not place and (made.of_picture or now != shown):
                photo = self._before(now)
            return Refused(made, now, photo)

    def _make(self, wanted: Shown, first: tuple[int, int] | None = None) -> Made | Refusal:
        """Analyze a picture and put the files for a page into the store.

        `first`: the layer and the token that the page shows first, as far as is known.
        """
        try:
            link = self._link(wanted)
            if first is None and link == START_LINK:
                first = START["layer"], START["token"]
            result = self.order(wanted, first=first)
            if result.refused:
                return result.refused
            files, saved, preview = self._placed(result)
            manifest = {**result.manifest, "files": files, "link": link}
            manifest["beside"] = [one.to_dict() for one in self._choices(wanted)]
            if link == START_LINK:
                manifest["start"] = START
            return Made(manifest, saved, preview)
        except VitvizError as error:
            return Refusal.of(error)

    def order(
        self,
        wanted: Shown,
        selection: Selection | None = None,
        interventions: Sequence[Mapping[str, Any]] = (),
        door: str = "page",
        first: tuple[int, int] | None = None,
    ) -> Result:
        """Let the engine analyze a picture. Raises `VitvizError` if the disk is full or the picture
        was deleted. `door`: who asks, for the log.
        """
        self._store.check_room()
        order = Order(
            photo=self._read(wanted.photo),
            name=wanted.photo.name,
            model=wanted.model,
            untrained=wanted.untrained,
            selection=selection,
            invert=wanted.inverted,
            interventions=interventions,
            first=first,
        )
        return self._watched(order, len(order.photo), door)

    def _watched(self, order: Order | OperateOrder, photo_bytes: int, door: str) -> Result:
        """Let the engine fulfil an order, which is counted and logged."""
        began = time.monotonic()
        result = self._engine.run(order)
        refused = result.refused and getattr(result.refused.text, "key", "other")
        self._watch.analysis(
            door=door,
            model=order.model if order.model in self.menu else "unknown",
            untrained=order.untrained,
            outcome=refused or "answered",
            photo_bytes=photo_bytes,
            sent_bytes=sum(map(len, result.files.values())),
            seconds={**result.seconds, "all": time.monotonic() - began},
        )
        return result

    def _placed(self, result: Result) -> tuple[dict[str, Stored | list[Stored]], str, str | None]:
        """Put the files of a page into the store: those of the payload as "files" of the manifest,
        and the addresses of the saved analysis and of the preview. All of them or none.
        """
        named = {path: (data, Path(path).name) for path, data in result.files.items()}
        rest = [(result.saved, result.saved_name)]
        rest += [(result.preview, "preview.png")] if result.preview else []
        addresses = self._store.put_all([*named.values(), *rest])
        stored = {
            path: Stored(address, name, len(data))
            for (path, (data, name)), address in zip(named.items(), addresses, strict=False)
        }
        files = {
            key: [stored[one["path"]] for one in file]
            if isinstance(file, list)
            else stored[file["path"]]
            for key, file in result.manifest["files"].items()
        }
        saved, *preview = addresses[len(named) :]
        return files, saved, next(iter(preview), None)

    def _deliver(self, request: PageRequest, made: Made, now: Shown, place: bool) -> Reply:
        """Answer a page with an analysis, unless a later request was answered already."""
        delivery = self._requests.deliver(request, now)
        if delivery is Delivery.DROPPED:
            return Unchanged()
        self._remember(made.manifest, _kept(made, now))
        photo, controls = Left.AS_IT_IS, delivery is not Delivery.BESIDE
        if controls and (made.preview or place or delivery is Delivery.RESTORED):
            photo = made.preview or now.photo.address
        return Answered(made.manifest, made.saved, now, photo, controls)

    def _before(self, shown: Shown) -> str | None:
        """The address that the picture input showed before the refused picture, if it exists."""
        old = shown.preview or (shown.photo.address if shown.photo else "")
        ours = old in [example.path for example in self.examples]
        return old if ours or old in self._store else None

    def show_example(
        self,
        index: int,
        model: str,
        shown: Shown,
        untrained: bool = False,
        page: str | None = None,
        inverted: bool = False,
        first: tuple[int, int] | None = None,
    ) -> Reply:
        """Analyze an example with the model it is made for.

        An example for any model is analyzed with the chosen one, unless that has examples of its
        own (a model of digits is not shown a dog); then with the default model.
        """
        example = self.examples[choose("the number of an example", index, len(self.examples))]
        special = [example.model for example in self.examples]  # no set: the model can be any JSON
        model = example.model or (self.menu.default if model in special else model)
        return self._meet(
            example.upload,
            model,
            shown,
            untrained,
            page,
            place=True,
            inverted=inverted,
            first=first,
        )

    def open(
        self, model: str, shown: Shown, asked: Mapping[str, str], page: str | None = None
    ) -> Reply:
        """Answer a page that opens with the first example, or with what its address names.

        `?model=mnist&example=digit` picks from the menu and the examples, in any combination, so
        that a link shows what its sender saw. `untrained=1` is the untrained twin, `invert=1`
        exchanges light and dark; the rows that `layer` and `token` name are sent ahead. Other
        parameters and unknown values are ignored.
        """
        untrained, inverted = (asked.get(name) == "1" for name in ("untrained", "invert"))
        first = _place_of(asked)
        names = [Path(example.path).stem for example in self.examples]
        named, wanted = asked.get("model") in self.menu, asked.get("example")
        model = asked["model"] if named else model
        if wanted not in names:
            made_for = [example.model for example in self.examples]
            index = made_for.index(model) if model in made_for else 0
        elif named:
            upload = self.examples[names.index(wanted)].upload
            return self._meet(
                upload, model, shown, untrained, page, place=True, inverted=inverted, first=first
            )
        else:
            index = names.index(wanted)
        return self.show_example(index, model, shown, untrained, page, inverted, first)

    def rollout(self, question: Any) -> dict[str, Any]:
        """Compute a rollout of too many tokens for the browser: {"values"} or {"error"}."""
        return self._reply(question, self._rollout)

    def late(self, question: Any) -> dict[str, Any]:
        """Make a file of the payload on request: {"data": in base64} or {"error"}."""
        return self._reply(question, self._late)

    def fair(self, question: Any) -> dict[str, Any]:
        """Do a step of a fair test: {"done", "all"}, {"result"} at the end, or {"error"}; with
        "busy", asking again later helps.
        """
        return self._reply(question, self._fair)

    def figure(self, question: Any) -> dict[str, Any]:
        """Draw what the viewer shows as a figure for print: {"data": in base64} or {"error"}."""
        return self._reply(question, self._figure)

    def page(self, question: Any) -> dict[str, Any]:
        """Make the page to take home: {"path", "size"} of one HTML file, or {"error"}.

        What a teacher or pupil has written comes into it in the browser, and is not asked for here.
        """
        return self._reply(question, self._page)

    def beside(self, question: Any) -> dict[str, Any]:
        """Analyze what a viewer compares with: {"manifest"}, files by address, or {"error"}."""
        return self._reply(question, self._beside)

    def operate(self, question: Any) -> dict[str, Any]:
        """Analyze what a viewer shows with interventions: {"manifest"}, or {"error"}.

        Its few files come with it, in base64; what it has in common with the intact analysis, or is
        asked for later, is left out (`pack`).
        """
        return self._reply(question, self._operate)

    def _reply(self, question: Any, answer: Callable[[str, Any], dict[str, Any]]) -> dict[str, Any]:
        """Answer a viewer, outside of Gradio's queue. The question can be any JSON."""
        try:
            match question:
                case {"id": str(key)}:
                    return answer(key, question)
            raise SelectionError("the id of an analysis and what is selected are needed")
        except VitvizError as error:
            return _refusal(error.message)
        except Exception:  # as in `guard`: the visitor gets an apology, the log the traceback
            log.exception("a viewer's question failed")
            return _refusal(APOLOGY)

    def _rollout(self, key: str, question: Any) -> dict[str, Any]:
        match question:
            case {
                "token": int(token),
                "layer": int(layer),
                "first": int(first),
                "residual": int() | float() as residual,
                "head_fusion": str(fusion),
            }:
                options = {"first": first, "residual": residual, "head_fusion": fusion}
            case _:
                raise SelectionError("id, token, layer, first, residual, head_fusion are needed")
        with computing(self._asking):
            values = self._analysis(key).rollout(token, layer, **options)
        return {"values": values.tolist()}

    def _late(self, key: str, question: Any) -> dict[str, Any]:
        match question:
            case {"name": str(name)}:
                with computing(self._asking):
                    data = self._late_file(key, name)
                return {"data": base64.b64encode(data).decode()}
        raise SelectionError("id and name are needed")

    def _fair(self, key: str, question: Any) -> dict[str, Any]:
        wanted, kept = WantedTest.of(question), self._known(key)

        def order(**step: Any) -> FairOrder:
            model = {"model": kept.shown.model, "untrained": kept.shown.untrained}
            return FairOrder(saved=self._saved(key), **model, **step)

        try:
            return dict(self._tests.advance(key, wanted, order))
        except BusyError as error:
            return {**_refusal(error.message), "busy": True}

    def _late_file(self, key: str, name: str) -> bytes:
        """Only the engine has the models; a file that needs none is made here."""
        shown, saved = self._known(key).shown, self._saved(key)
        if not needs_model(name):
            return late_file(Analysis.from_bytes(saved), name)
        order = LateOrder(name=name, saved=saved, model=shown.model, untrained=shown.untrained)
        result = self._engine.run(order)
        if result.refused:
            raise VitvizError(result.refused.text)
        return result.files[late_path(name)]

    def _figure(self, key: str, question: Any) -> dict[str, Any]:
        wanted, kept = Wanted.of(question), self._known(key)
        maps = {one: self._explained(key, one, wanted) for one in wanted.explainers}
        many = VitvizError(Message("web.many_figures"))
        # One at a time: matplotlib has settings that are global to the process.
        with self._drawing.take(limits.DRAWING_WAIT_SECONDS, many):
            film = self._store.get(kept.film) if kept.film else None
            other = self._analysis(wanted.other) if wanted.other else None
            given = Given(film=film, maps=maps, other=other)
            data = wanted.drawn(self._analysis(key), given)
        return {"data": base64.b64encode(data).decode()}

    def _explained(self, key: str, explainer: str, wanted: Wanted) -> Tensor:
        """The values of an explainer, as a viewer gets them."""
        target = wanted.target if "class" in EXPLAINERS[explainer].needs else None
        with computing(self._asking):
            data = self._late_file(key, explanation_name(explainer, wanted.token, target))
        return load(data)["values"]

    def _page(self, key: str, question: Any) -> dict[str, Any]:
        kept = self._known(key)
        depth = self._analysis(key).trace.depth
        match question:
            case {"layers": [*layers], "film": bool(film)} if layers and all(
                type(one) is int and 0 <= one < depth for one in layers
            ):
                chosen = sorted(set(layers))
            case _:
                raise SelectionError("layers of the analysis are needed, and whether with the film")
        order = PageOrder(
            saved=self._saved(key),
            model=kept.shown.model,
            untrained=kept.shown.untrained,
            layers=chosen,
            film=film,
        )
        result = self._engine.run(order)
        if result.refused:
            raise VitvizError(result.refused.text)
        self._store.check_room()
        data = result.files[PAGE]
        return {"path": self._store.put(data, PAGE), "size": len(data)}

    def _beside(self, key: str, question: Any) -> dict[str, Any]:
        found = {choice.key: choice.shown for choice in self._choices(self._known(key).shown)}
        match question:
            case {"beside": str(wanted)} if wanted in found:
                shown = found[wanted]
            case _:
                raise SelectionError(Message("web.not_beside"))
        return self._second(self._make(shown), shown)

    def _operate(self, key: str, question: Any) -> dict[str, Any]:
        kept = self._known(key)
        first = None
        match question:
            case {"layer": int(layer), "token": int(token)}:
                first = layer, token
        # A line of its own: in a class many visitors brush at the same moment, and each pass is
        # short. What is made here waits for no other turn that they could take from each other.
        with computing(self._operating):
            self._store.check_room()
            changes = question.get("interventions")
            result = self._watched(self._operation(key, changes, first=first), 0, "page")
            if result.refused:
                return _refusal(result.refused.text)
            changes = self._store.put(json.dumps(changes).encode(), "changes.json")
        self._remember(result.manifest, Kept(kept.shown, None, intact=key, changes=changes))

        def sent(file: Mapping[str, Any]) -> dict[str, Any]:
            data = result.files.get(file["path"])
            return {**file, **({} if data is None else {"data": base64.b64encode(data).decode()})}

        files = {
            name: [sent(one) for one in file] if isinstance(file, list) else sent(file)
            for name, file in result.manifest["files"].items()
        }
        return {"manifest": {**result.manifest, "files": files}}

    def _operation(self, key: str, changes: Any, **options: Any) -> OperateOrder:
        """The order to operate the intact analysis with this manifest id, with changes in JSON."""
        kept = self._known(key)
        try:
            saved = self._saved(key)
        except ExpiredError:  # its photo may still be there
            saved = self._made_again(kept.shown)
        return OperateOrder(
            saved=saved,
            model=kept.shown.model,
            untrained=kept.shown.untrained,
            interventions=self._with_donors(kept.shown, changes),
            **options,
        )

    def _made_again(self, shown: Shown) -> bytes:
        """The saved analysis of a picture, made anew. Raises `VitvizError` if it is refused."""
        result = self.order(shown, Selection())
        if result.refused:
            raise VitvizError(result.refused.text)
        return result.saved

    def _with_donors(self, shown: Shown, interventions: Any) -> Any:
        """The interventions, but a transplant "from" an example holds the tokens of that picture.

        What is no list of objects stays as it is, for `analyze` to refuse.
        """
        if not isinstance(interventions, list):
            return interventions
        pictures: dict[str, Shown] = {}
        if any(isinstance(one, dict) and "from" in one for one in interventions):
            choices = self._choices(shown)
            pictures = {one.key: one.shown for one in choices if one.kind == "example"}
        donors: dict[str, Analysis] = {}

        def with_donor(one: Any) -> Any:
            match one:
                case {"kind": "transplant", "from": str(key)} if key in pictures:
                    if key not in donors:
                        donors[key] = Analysis.from_bytes(self._made_again(pictures[key]))
                    return read_interventions([{**one, "from": donors[key]}])[0]
            return one

        return [with_donor(one) for one in interventions]

    def _second(self, made: Made | Refusal, shown: Shown) -> dict[str, Any]:
        """The manifest of what stands beside another analysis, with the addresses of its files."""
        if isinstance(made, Refusal):
            return _refusal(made.text)
        self._remember(made.manifest, _kept(made, shown))
        return {"manifest": with_places(made.manifest)}

    def _known(self, key: str) -> Kept:
        """The analysis with this manifest id. Raises `ExpiredError` if it is forgotten."""
        try:
            self._kept.move_to_end(key)  # strokes of many visitors come after the one they change
            return self._kept[key]
        except KeyError as error:
            raise ExpiredError from error

    def _analysis(self, key: str) -> Analysis:
        """The analysis with this manifest id. Raises `ExpiredError` if it was deleted."""
        return Analysis.from_bytes(self._saved(key))

    def _saved(self, key: str) -> bytes:
        """The saved analysis with this manifest id; that of an experiment is made when somebody
        first asks about it. Raises `ExpiredError` if it was deleted.
        """
        kept = self._known(key)
        if kept.analysis is None:
            changes = json.loads(self._store.get(kept.changes))
            result = self._engine.run(self._operation(kept.intact, changes, wanted="saved"))
            if result.refused:
                raise VitvizError(result.refused.text)
            kept = kept._replace(analysis=self._store.put(result.saved, result.saved_name))
            self._kept[key] = kept
        return self._store.get(kept.analysis)

    def _read(self, upload: Upload) -> bytes:
        """The bytes of an example or of a file in the store. Raises `ImageError`."""
        for example in self.examples:
            if upload.address == example.path:
                return example.read()
        try:
            return self._store.get(upload.address)
        except ExpiredError as error:
            raise ImageError(Message("web.deleted", name=repr(upload.name[:80]))) from error

    def _link(self, wanted: Shown) -> dict[str, str]:
        """The parameters with which `open` shows this again. Only examples have a name in links."""
        address = wanted.photo.address
        ours = address in [example.path for example in self.examples]
        link = {"model": wanted.model} | ({"example": Path(address).stem} if ours else {})
        link |= {"untrained": "1"} if wanted.untrained else {}
        return link | ({"invert": "1"} if wanted.inverted and ours else {})

    def _ours(self, upload: Upload, shown: Shown) -> Upload:
        """The example that an upload is a copy of, whose path never expires; else the upload.

        A page sends an example back as a copy with another address. The copy is recognised by its
        contents or, after it was deleted, by its name if the page shows that example.
        """
        for example in self.examples:
            own = example.upload
            if own.name != upload.name:
                continue
            try:
                same = self._read(upload) == example.read()
            except ImageError:
                same = own == shown.photo
            if same:
                return own
        return upload

    def _choices(self, shown: Shown) -> Iterator[Choice]:
        return choices(shown, self.examples, self.menu)

    def _remember(self, manifest: Mapping[str, Any], kept: Kept) -> None:
        self._kept[manifest["id"]] = kept
        while len(self._kept) > limits.ANALYSES_KNOWN:
            self._kept.popitem(last=False)


def _kept(made: Made, shown: Shown) -> Kept:
    film = made.manifest["files"].get("film")
    return Kept(shown, made.saved, film.address if film else None)


def _place_of(asked: Mapping[str, str]) -> tuple[int, int] | None:
    """The layer and the token of a link; None if it does not name both."""
    named = [asked.get(name, "") for name in ("layer", "token")]
    if not all(text.isascii() and text.isdecimal() and len(text) < 6 for text in named):
        return None
    return int(named[0]), int(named[1])


def _refusal(text: str) -> dict[str, Any]:
    """A message in all languages; the viewer picks its own, which the server does not know."""
    return {"error": sentence(text), "errors": in_each(text)}
