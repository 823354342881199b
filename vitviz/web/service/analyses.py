"""The analyses of a running app: how they are ordered, stored, and found again by their ids."""

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ImageError, SelectionError, VitvizError
from ...languages import Message
from ...probe.analysis import Analysis
from ...probe.intervene.intervention import read as read_interventions
from ..compute.engine import Engine
from ..compute.models import Menu
from ..compute.orders import OperateOrder, Order, Refusal, Result, Selection
from ..host import limits
from ..host.watch import Watch
from ..store.examples import EXAMPLES, START, START_LINK
from ..store.store import ExpiredError, Store, Upload
from .beside import PHOTO, Choice, choices, picked, sizes
from .replies import Shown, Stored

SAVED = "analysis.safetensors"  # name of an analysis that no visitor downloads


class Asked(NamedTuple):
    """The pass that a viewer asks about: an intact analysis by its id, and what is changed in it.

    The two say all about it, wherever it was made. `changes`: interventions in JSON, "" for none.
    """

    id: str
    changes: str = ""

    @classmethod
    def of(cls, question: Mapping[str, Any]) -> "Asked":
        """The pass of a question. Raises `SelectionError` for one without an id."""
        key, changes = question.get("id"), question.get("interventions", [])
        if not isinstance(key, str):
            raise SelectionError("the id of an analysis and what is selected are needed")
        return cls(key, "" if changes == [] else json.dumps(changes, sort_keys=True))

    @property
    def key(self) -> str:
        """A short name for it: thousands of edges can be cut in one pass."""
        return f"{self.id}/{hashlib.sha256(self.changes.encode()).hexdigest()}"

    @property
    def interventions(self) -> Any:
        return json.loads(self.changes) if self.changes else []


class Kept(NamedTuple):
    """An analysis that was delivered.

    shown     what it shows
    analysis  the address of the saved analysis
    film      the address of the film of its model
    """

    shown: Shown
    analysis: str
    film: str | None = None


class Made(NamedTuple):
    """An analysis whose files are in the store, but which is not delivered to a page yet."""

    manifest: Mapping[str, Any]
    saved: str
    preview: str | None

    def kept(self, shown: Shown) -> Kept:
        """What is known of it once it is delivered and shows this."""
        film = self.manifest["files"].get("film")
        return Kept(shown, self.saved, film.address if film else None)


class Analyses:
    """Makes analyses, and knows those that were delivered, by the ids of their manifests."""

    def __init__(
        self, engine: Engine, menu: Menu, store: Store, watch: Watch | None = None
    ) -> None:
        """`watch`: counts and logs the analyses."""
        self.menu = menu
        self.examples = [e for e in EXAMPLES if e.model is None or e.model in menu]
        self._engine, self._store = engine, store
        self._watch = watch or Watch()
        self._kept: OrderedDict[str, Kept] = OrderedDict()  # by the id of a manifest
        self._operated: OrderedDict[str, str] = OrderedDict()  # addresses, by `Asked.key`

    def make(
        self, wanted: Shown, first: tuple[int, int] | None = None, door: str | None = "page"
    ) -> Made | Refusal:
        """Analyze a picture and put the files for a page into the store.

        `first`: the layer and the token that the page shows first, as far as is known. `door`: who
        asks, for the log; None: nobody, so it is not counted.
        """
        try:
            link = self._link(wanted)
            if first is None and link == START_LINK:
                first = START["layer"], START["token"]
            result = self.order(wanted, first=first, door=door)
            if result.refused:
                return result.refused
            example = next((one for one in self.examples if one.upload == wanted.photo), None)
            # The picture input holds it, and nobody sees it there: of an example a small one.
            small = (result.preview, "preview.png") if result.preview else None
            small = (example.thumbnail(), example.upload.name) if example else small
            files, saved, preview = self._placed(result, small)
            model = _with_sizes_here(result.manifest["model"])
            manifest = {**result.manifest, "model": model, "files": files, "link": link}
            beside = [*self.choices(wanted), *sizes(wanted, model)]
            manifest["beside"] = [one.to_dict() for one in beside]
            if example is None:
                manifest["upload"] = wanted.picture._asdict()
            else:  # for a photo that stays in the browser, beside which this can stand
                key = f"example-{Path(example.path).stem}"
                manifest["itself"] = Choice(key, "example", example.name, wanted).to_dict()
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
        door: str | None = "page",
        first: tuple[int, int] | None = None,
    ) -> Result:
        """Let the engine analyze a picture. Raises `VitvizError` if the disk is full or the picture
        was deleted. `door`: who asks, for the log.
        """
        self._store.check_room()
        order = Order(
            photo=self.read(wanted.picture),
            name=wanted.picture.name,
            model=wanted.model,
            selection=selection,
            invert=wanted.inverted,
            interventions=self._with_donors(wanted, interventions),
            first=first,
        )
        return self.watched(order, len(order.photo), door)

    def watched(self, order: Order | OperateOrder, photo_bytes: int, door: str | None) -> Result:
        """Let the engine fulfil an order, which is counted and logged if anybody waits for it."""
        began = time.monotonic()
        result = self._engine.run(order)
        if door is None:
            return result
        refused = getattr(result.refused.text, "key", "other") if result.refused else ""
        self._watch.analysis(
            door=door,
            model=order.model if order.model.name in self.menu else order.model.named("unknown"),
            outcome=refused or "answered",
            photo_bytes=photo_bytes,
            sent_bytes=sum(map(len, result.files.values())),
            seconds={**result.seconds, "all": time.monotonic() - began},
        )
        return result

    def _placed(
        self, result: Result, small: tuple[bytes, str] | None
    ) -> tuple[dict[str, Stored | Mapping[str, Any]], str, str | None]:
        """Put the files of a page into the store: those of the payload as "files" of the manifest,
        and the addresses of the saved analysis and of the preview `small`. All of them or none.
        """
        named = {path: (data, Path(path).name) for path, data in result.files.items()}
        rest = [(result.saved, result.saved_name)]
        rest += [small] if small else []
        addresses = self._store.put_all([*named.values(), *rest])
        stored = {
            path: Stored(address, len(data))
            for (path, (data, _)), address in zip(named.items(), addresses, strict=False)
        }
        files = {
            name: stored[file["path"]] if "path" in file else file
            for name, file in result.manifest["files"].items()
        }
        saved, *preview = addresses[len(named) :]
        return files, saved, next(iter(preview), None)

    def read(self, upload: Upload) -> bytes:
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
        address = wanted.picture.address
        ours = address in [example.path for example in self.examples]
        key = wanted.model
        link = {"model": key.name} | ({"example": Path(address).stem} if ours else {})
        link |= {"untrained": "1"} if key.untrained else {}
        link |= {"size": key.size} if key.size else {}
        return link | ({"invert": "1"} if wanted.inverted else {})

    def choices(self, shown: Shown) -> Iterator[Choice]:
        """What can stand beside an analysis (`beside.choices`)."""
        return choices(shown, self.examples, self.menu)

    def remember(self, manifest: Mapping[str, Any], kept: Kept) -> None:
        """Let viewers ask about an analysis that is delivered."""
        limits.keep(self._kept, manifest["pass"]["id"], kept, limits.ANALYSES_KNOWN)

    def is_whole(self, made: Made) -> bool:
        """Whether all files of a page are still in the store."""
        files = made.manifest["files"].values()
        return all(one.address in self._store for one in files if isinstance(one, Stored))

    def known(self, key: str) -> Kept:
        """The analysis with this manifest id. Raises `ExpiredError` if it is forgotten."""
        try:
            self._kept.move_to_end(key)  # strokes of many visitors come after the one they change
            return self._kept[key]
        except KeyError as error:
            raise ExpiredError from error

    def get(self, asked: Asked) -> Analysis:
        """The analysis of a pass. Raises as `saved` does."""
        return Analysis.from_bytes(self.saved(asked))

    def saved(self, asked: Asked) -> bytes:
        """The saved analysis of a pass; it is made when somebody first asks about the pass, and
        again when it was deleted. Raises `VitvizError` if that is refused, and `ExpiredError` if
        nobody knows the id or the photo was deleted too.
        """
        known = self.known(asked.id)
        address = self._operated.get(asked.key) if asked.changes else known.analysis
        try:
            if address is not None:
                return self._store.get(address)
        except ExpiredError:
            pass  # what it was made of may still be there
        if not asked.changes:
            saved = self._made_again(known.shown)
            self._kept[asked.id] = known._replace(analysis=self._store.put(saved, SAVED))
            return saved
        result = self._engine.run(self.operation(asked, wanted="saved"))
        if result.refused:
            raise VitvizError(result.refused.text)
        address = self._store.put(result.saved, SAVED)
        limits.keep(self._operated, asked.key, address, limits.ANALYSES_KNOWN)
        return result.saved

    def operation(self, asked: Asked, **options: Any) -> OperateOrder:
        """The order for a pass: the intact analysis, and what is changed in it."""
        known = self.known(asked.id)
        return OperateOrder(
            saved=self.saved(Asked(asked.id)),
            model=known.shown.model,
            interventions=self._with_donors(known.shown, asked.interventions),
            **options,
        )

    def _made_again(self, shown: Shown) -> bytes:
        """The saved analysis of a picture, made anew. Raises `VitvizError` if it is refused."""
        result = self.order(shown, Selection())
        if result.refused:
            raise VitvizError(result.refused.text)
        return result.saved

    def _with_donors(self, shown: Shown, interventions: Any) -> Any:
        """The interventions, but a transplant "from" a picture that can stand beside holds the
        tokens of that picture.

        What is no list of objects stays as it is, for `analyze` to refuse.
        """
        if not isinstance(interventions, list):
            return interventions
        donors: dict[Shown, Analysis] = {}

        def with_donor(one: Any) -> Any:
            match one:
                case {"from": wanted}:
                    examples = (each for each in self.choices(shown) if each.kind == "example")
                    donor = picked(wanted, shown, examples)
                    if donor is None:
                        if isinstance(wanted, str) and wanted.startswith(PHOTO):
                            raise SelectionError(Message("web.donor_gone"))
                        return one
                    if donor not in donors:
                        if len(donors) == limits.DONORS:
                            raise SelectionError(Message("web.many_donors", most=len(donors)))
                        donors[donor] = Analysis.from_bytes(self._made_again(donor))
                    return read_interventions([{**one, "from": donors[donor]}])[0]
            return one

        return [with_donor(one) for one in interventions]


def _with_sizes_here(model: Mapping[str, Any]) -> dict[str, Any]:
    """The model of a manifest with those of its sizes that this app computes."""
    small = [one for one in model["sizes"] if one["tokens"] <= limits.SIZE_TOKENS]
    return {**model, "sizes": small}
