"""The analyses of a running app: computed by the engine, stored, and found by id."""

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ImageError, SelectionError, VitvizError
from ...languages import Message
from ...model.key import ModelKey
from ...model.photo_levels import AS_IT_IS
from ...probe.analysis import Analysis
from ...probe.intervene.intervention import read as read_interventions
from ..compute.engine import Engine
from ..compute.jobs import Job, OperateJob, Refusal, Result, Selection
from ..compute.models import Menu
from ..host import limits
from ..host.watch import Watch
from ..store.examples import EXAMPLES, START, START_LINK
from ..store.store import ExpiredError, Store, Upload
from .beside import PHOTO, Choice, choices, picked, sizes
from .replies import Shown, Stored

SAVED = "analysis.safetensors"  # name of an analysis that no visitor downloads


class PassRef(NamedTuple):
    """Reference to a pass: the id of an intact analysis, and the interventions in it.

    Both together identify the pass wherever it was made. `changes`: interventions in JSON, "" for
    none.
    """

    id: str
    changes: str = ""

    @classmethod
    def of(cls, question: Mapping[str, Any]) -> "PassRef":
        """The pass of a question. Raises `SelectionError` for a question without an id."""
        key, changes = question.get("id"), question.get("interventions", [])
        if not isinstance(key, str):
            raise SelectionError("the id of an analysis and what is selected are needed")
        return cls(key, "" if changes == [] else json.dumps(changes, sort_keys=True))

    @property
    def fools(self) -> bool:
        """Whether it fools the model first, which takes many passes."""
        return '"perturb"' in self.changes

    @property
    def key(self) -> str:
        """A short name of the pass: its changes can cut thousands of edges."""
        return f"{self.id}/{hashlib.sha256(self.changes.encode()).hexdigest()}"

    @property
    def interventions(self) -> Any:
        return json.loads(self.changes) if self.changes else []


class Kept(NamedTuple):
    """An analysis that was delivered.

    shown     its picture and model
    analysis  the address of the saved analysis
    film      the address of the film of its model
    heavy     whether a pass of its model is heavy work
    """

    shown: Shown
    analysis: str
    film: str | None = None
    heavy: bool = False


class Made(NamedTuple):
    """An analysis whose files are in the store, but which is not yet delivered to a page."""

    manifest: Mapping[str, Any]
    saved: str
    preview: str | None
    heavy: bool

    def kept(self, shown: Shown) -> Kept:
        """The delivered analysis of `shown`."""
        film = self.manifest["files"].get("film")
        return Kept(shown, self.saved, film.address if film else None, self.heavy)


class Analyses:
    """Makes analyses, and remembers delivered ones by the ids of their manifests."""

    def __init__(
        self,
        engine: Engine,
        menu: Menu,
        store: Store,
        watch: Watch | None = None,
        lent: Collection[str] = (),
    ) -> None:
        """`watch`: counts and logs the analyses; `lent`: names of models that pages may have."""
        self.menu = menu
        self.examples = [e for e in EXAMPLES if e.model is None or e.model in menu]
        self._engine, self._store, self._lent = engine, store, lent
        self._watch = watch or Watch()
        self._kept: OrderedDict[str, Kept] = OrderedDict()  # by the id of a manifest
        self._operated: OrderedDict[str, str] = OrderedDict()  # addresses, by `PassRef.key`

    def lends(self, model: ModelKey) -> bool:
        """Whether pages may have the weights of a model."""
        return model.name in self._lent

    def make(
        self, wanted: Shown, first: tuple[int, int] | None = None, door: str | None = "page"
    ) -> Made | Refusal:
        """Analyze a picture and put the files for a page into the store.

        `first`: the layer and the token that the page shows first, if known. `door`: the source of
        the request, for the log; None: not a visitor's, so it is not counted.
        """
        try:
            link = self._link(wanted)
            if first is None and link == START_LINK:
                first = START["layer"], START["token"]
            result = self.compute(wanted, first=first, door=door)
            if result.refused:
                return result.refused
            example = next((each for each in self.examples if each.upload == wanted.photo), None)
            # The picture input holds the picture unseen, so for an example the thumbnail is enough.
            small = (result.preview, "preview.png") if result.preview else None
            small = (example.thumbnail(), example.upload.name) if example else small
            files, saved, preview = self._placed(result, small)
            model = _with_sizes_here(result.manifest["model"])
            runs = result.in_page and self.lends(wanted.model)
            model["in_page"] = wanted.model.name if runs else None
            manifest = {**result.manifest, "model": model, "files": files, "link": link}
            beside = [*self.choices(wanted), *sizes(wanted, model)]
            manifest["beside"] = [choice.to_dict() for choice in beside]
            if example is None:
                manifest["upload"] = wanted.picture._asdict()
            else:  # to compare it with a photo that stays in the browser
                key = f"example-{Path(example.path).stem}"
                manifest["itself"] = Choice(key, "example", example.name, wanted).to_dict()
            if link == START_LINK:
                manifest["start"] = START
            return Made(manifest, saved, preview, result.heavy)
        except VitvizError as error:
            return Refusal.of(error)

    def compute(
        self,
        wanted: Shown,
        selection: Selection | None = None,
        interventions: Sequence[Mapping[str, Any]] = (),
        door: str | None = "page",
        first: tuple[int, int] | None = None,
        like: Upload | list[float] | None = None,
    ) -> Result:
        """Let the engine analyze a picture. Raises `VitvizError` if the disk is full or the picture
        was deleted. `door`: the source of the request, for the log. `like`: another picture, which
        the same model sees as it is, or a vector, the likeness to which is explained.
        """
        self._store.check_room()
        job = Job(
            photo=self.read(wanted.picture),
            name=wanted.picture.name,
            model=wanted.model,
            selection=selection,
            look=wanted.look,
            interventions=self._with_donors(wanted, interventions, door),
            first=first,
            like=self._like(wanted, like, door),
        )
        return self.watched(job, len(job.photo), door)

    def _like(
        self, wanted: Shown, like: Upload | list[float] | None, door: str | None
    ) -> bytes | list[float]:
        """The saved analysis of another picture; a vector as it is."""
        if not isinstance(like, Upload):
            return like or b""
        other = wanted._replace(photo=like, preview=None, look=AS_IT_IS)
        return self._made_again(other, door)

    def watched(self, job: Job | OperateJob, photo_bytes: int, door: str | None) -> Result:
        """Let the engine execute a job. It is counted and logged unless `door` is None."""
        began = time.monotonic()
        result = self._engine.run(job)
        if door is None:
            return result
        refused = getattr(result.refused.text, "key", "other") if result.refused else ""
        self._watch.analysis(
            door=door,
            model=job.model if job.model.name in self.menu else job.model.named("unknown"),
            outcome=refused or "answered",
            photo_bytes=photo_bytes,
            sent_bytes=sum(map(len, result.files.values())),
            seconds={**result.seconds, "all": time.monotonic() - began},
        )
        return result

    def _placed(
        self, result: Result, small: tuple[bytes, str] | None
    ) -> tuple[dict[str, Stored | Mapping[str, Any]], str, str | None]:
        """Put the files of a page into the store, all or none. Returns the "files" of the manifest,
        and the addresses of the saved analysis and of the preview `small`.
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
        """The parameters of a link that reopens this. Links name examples only, no uploads."""
        address = wanted.picture.address
        ours = address in [example.path for example in self.examples]
        key = wanted.model
        link = {"model": key.name} | ({"example": Path(address).stem} if ours else {})
        link |= {"untrained": "1"} if key.untrained else {}
        link |= {"size": key.size} if key.size else {}
        return link | wanted.look.link()

    def choices(self, shown: Shown) -> Iterator[Choice]:
        """The choices for a comparison with an analysis (`beside.choices`)."""
        return choices(shown, self.examples, self.menu)

    def remember(self, manifest: Mapping[str, Any], kept: Kept) -> None:
        """Remember a delivered analysis, so that viewers can ask about it."""
        limits.keep(self._kept, manifest["pass"]["id"], kept, limits.ANALYSES_KNOWN)

    def is_whole(self, made: Made) -> bool:
        """Whether all files of a page are still in the store."""
        files = made.manifest["files"].values()
        return all(file.address in self._store for file in files if isinstance(file, Stored))

    def known(self, key: str) -> Kept:
        """The analysis with this manifest id. Raises `ExpiredError` if it is forgotten."""
        try:
            self._kept.move_to_end(key)  # it is still in use, by every stroke of its visitor
            return self._kept[key]
        except KeyError as error:
            raise ExpiredError from error

    def get(self, ref: PassRef) -> Analysis:
        """The analysis of a pass. Raises as `saved` does."""
        return Analysis.from_bytes(self.saved(ref))

    def saved(self, ref: PassRef) -> bytes:
        """The saved analysis of a pass. It is made at the first question about the pass, and again
        after it was deleted. Raises `VitvizError` if that is refused or the disk is full, and
        `ExpiredError` if the id is forgotten or the photo was deleted, too.
        """
        known = self.known(ref.id)
        address = self._operated.get(ref.key) if ref.changes else known.analysis
        try:
            if address is not None:
                return self._store.get(address)
        except ExpiredError:
            pass  # it can be made again from its photo, if that still exists
        if not ref.changes:
            try:
                saved = self._made_again(known.shown)
            except ImageError as error:  # its photo was deleted, too: the page sends it again
                raise ExpiredError from error
            self._kept[ref.id] = known._replace(analysis=self._store.put(saved, SAVED))
            return saved
        self._store.check_room()
        result = self._engine.run(self.operation(ref, wanted="saved"))
        if result.refused:
            raise VitvizError(result.refused.text)
        address = self._store.put(result.saved, SAVED)
        limits.keep(self._operated, ref.key, address, limits.ANALYSES_KNOWN)
        return result.saved

    def operation(self, ref: PassRef, **options: Any) -> OperateJob:
        """The job for a pass: the intact analysis and the interventions."""
        known = self.known(ref.id)
        return OperateJob(
            saved=self.saved(PassRef(ref.id)),
            model=known.shown.model,
            interventions=self._with_donors(known.shown, ref.interventions),
            **options,
        )

    def _made_again(self, shown: Shown, door: str | None = "page") -> bytes:
        """Make the saved analysis of a picture again. Raises `VitvizError` if it is refused."""
        result = self.compute(shown, Selection(), door=door)
        if result.refused:
            raise VitvizError(result.refused.text)
        return result.saved

    def _with_donors(self, shown: Shown, interventions: Any, door: str | None = "page") -> Any:
        """The interventions, with the donor's analysis in each transplant "from" a picture that
        can be compared.

        Anything but a list of objects is returned as it is, for `analyze` to refuse.
        """
        if not isinstance(interventions, list):
            return interventions
        donors: dict[Shown, Analysis] = {}

        def with_donor(item: Any) -> Any:
            match item:
                case {"from": wanted}:
                    examples = (each for each in self.choices(shown) if each.kind == "example")
                    donor = picked(wanted, shown, examples)
                    if donor is None:
                        if isinstance(wanted, str) and wanted.startswith(PHOTO):
                            raise SelectionError(Message("web.donor_gone"))
                        return item
                    if donor not in donors:
                        if len(donors) == limits.DONORS:
                            raise SelectionError(Message("web.many_donors", most=len(donors)))
                        donors[donor] = Analysis.from_bytes(self._made_again(donor, door))
                    return read_interventions([{**item, "from": donors[donor]}])[0]
            return item

        return [with_donor(item) for item in interventions]


def _with_sizes_here(model: Mapping[str, Any]) -> dict[str, Any]:
    """The model of a manifest, with only the sizes that this app computes."""
    small = [size for size in model["sizes"] if size["tokens"] <= limits.SIZE_TOKENS]
    return {**model, "sizes": small}
