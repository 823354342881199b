"""The service: answers the requests of pages and the questions of their viewers, without Gradio.

The questions of programs are in programs.py, which shares the analyses.
"""

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ...errors import ImageError, VitvizError
from ...model.key import ModelKey, read_size
from ...model.photo_levels import AS_IT_IS, Look
from ...probe.capture.selection import choose
from ..compute.engine import Engine
from ..compute.jobs import Refusal
from ..compute.models import Menu
from ..host.error_messages import APOLOGY
from ..host.watch import Watch
from ..store.examples import DIGITS, Example
from ..store.store import ExpiredError, Store, Upload
from .analyses import Analyses, Made, PassRef
from .page_requests import Delivery, PageRequest, PageRequests
from .page_weights import PageWeights
from .questions import Questions, refused
from .replies import Answered, Left, Refused, Reply, Shown, Unchanged

log = logging.getLogger("vitviz.web")


class Service:
    """The service of one running app. Each page keeps its own state; files are in the store.

    Methods for the page take its session (`page`) and its state (`shown`), and return a `Reply`:
    `Refused` for a bad picture or model, `Unchanged` if a later request of the page was already
    answered.
    """

    def __init__(
        self,
        engine: Engine,
        menu: Menu,
        store: Store,
        watch: Watch | None = None,
        lent: Collection[str] = (),
    ) -> None:
        """`watch`: counts and logs the analyses; `lent`: names of models that pages may have."""
        self.analyses = Analyses(engine, menu, store, watch, lent)
        self.menu, self.examples = menu, self.analyses.examples
        self.weights = PageWeights(engine, lent)
        self._questions = Questions(engine, self.analyses, store)
        self._store = store
        self._requests = PageRequests()
        self._opening: Made | None = None  # the latest analysis that a page opens with

    def show_photo(
        self, upload: Upload | None, key: ModelKey, shown: Shown, page: str | None = None
    ) -> Reply:
        """Analyze a chosen picture; if it was removed, the page stays as it is."""
        return Unchanged() if upload is None else self.show(upload, key, shown, page)

    def show(
        self, upload: Upload | None, key: ModelKey, shown: Shown, page: str | None = None
    ) -> Reply:
        """Analyze a picture; without one, the picture that is shown."""
        known = self._remembered(shown, page)
        if known.photo is None and page is not None:  # its opening was refused, or lost
            known = self._begun()
        if upload is None or upload.address == known.preview:
            upload = known.photo
        if upload is None:
            return Unchanged()
        return self._meet(upload, key, shown, page)

    def look(self, look: Look, shown: Shown, page: str | None = None) -> Reply:
        """Analyze the shown picture with its levels read in another way.

        The controls of the page do not matter: the visitor means the picture that is shown.
        """
        known = self._remembered(shown, page)
        if known.photo is None:
            return Unchanged()
        return self._meet(known.photo, known.model, shown, page, look=look)

    def _remembered(self, shown: Shown, page: str | None) -> Shown:
        """Look up the picture and model of a page whose session Gradio has forgotten.

        Gradio forgets the oldest of many sessions, and one that lost its connection an hour ago.
        """
        return shown if shown.photo is not None else self._requests.last(page) or shown

    @property
    def digits(self) -> Example | None:
        """The example of a digit, which is made for a model; None without that model."""
        return next((example for example in self.examples if example.model), None)

    def draw(
        self,
        upload: Upload | None,
        key: ModelKey,
        shown: Shown,
        page: str | None = None,
        first: bool = True,
        look: Look = AS_IT_IS,
    ) -> Reply:
        """Analyze a drawing: the first of a page in the model of the example of a digit, later
        ones in the chosen model. `upload` None: the drawing stays in the browser, and the example
        is analyzed. Photos that the viewer sends are never `first`.
        """
        if first and self.digits:
            key = key.named(self.digits.model or key.name)
            upload = upload or self.digits.upload
        if upload is None:
            return Unchanged()
        return self._meet(upload, key, shown, page, place=True, look=look)

    def _meet(
        self,
        upload: Upload,
        key: ModelKey,
        shown: Shown,
        page: str | None,
        place: bool = False,
        look: Look | None = None,
        first: tuple[int, int] | None = None,
    ) -> Reply:
        """Make an analysis, which can fail or take long, and then deliver it.

        `place`: also put the picture into the picture input, which does not show it yet. `look`
        None: the shown picture keeps its look; the levels of another are read as they are.
        """
        known = self._remembered(shown, page)
        with self._requests.begin(page) as request:
            upload = self._ours(upload, known)
            if known.photo is not None and upload.address == known.photo.address:
                upload = known.photo  # with the visitor's own name of it
            if look is None:
                look = known.look if upload == known.photo else AS_IT_IS
            wanted = Shown(upload, key, None, look)
            self._requests.note(request, wanted)
            made = self.analyses.make(wanted, first)
            if isinstance(made, Made):
                if first is None and wanted == self._begun():
                    self._opening = made
                # An example is put into the picture input only once: a second time would replace
                # what a visitor has pasted meanwhile.
                place = place or (bool(made.preview) and not self._holds(upload, known))
                return self._deliver(request, made, wanted._replace(preview=made.preview), place)
            now = self._requests.failed(request, shown)
            if now is None:
                return Unchanged()
            photo: str | Left | None = self._ours_at(upload.address) if place else Left.AS_IT_IS
            # Another answer that came meanwhile has left the picture input to this request.
            if not place and (made.of_picture or now != shown):
                photo = self._before(now)
            return Refused(made, now, photo)

    def _deliver(self, request: PageRequest, made: Made, now: Shown, place: bool) -> Reply:
        """Answer a page with an analysis, unless a later request was already answered."""
        delivery = self._requests.deliver(request, now)
        if delivery is Delivery.DROPPED:
            return Unchanged()
        self.analyses.remember(made.manifest, made.kept(now))
        photo: str | Left = Left.AS_IT_IS
        controls = delivery is not Delivery.BESIDE
        if controls and (place or delivery is Delivery.RESTORED):
            photo = made.preview or now.picture.address
        return Answered(made.manifest, made.saved, now, photo, controls)

    def _holds(self, upload: Upload, shown: Shown) -> bool:
        """Whether the picture input already shows this example."""
        ours = upload in [example.upload for example in self.examples]
        return ours and upload == shown.photo and shown.preview is not None

    def _before(self, shown: Shown) -> str | None:
        """The address that the picture input showed before the refused picture, if it exists."""
        return self._ours_at(shown.preview or (shown.photo.address if shown.photo else ""))

    def _ours_at(self, address: str) -> str | None:
        """The address, if there is an example or a file of the store. Whatever goes to the picture
        input is given out, and a page may name any path.
        """
        ours = address in [example.path for example in self.examples]
        return address if ours or address in self._store else None

    def show_example(
        self, index: int, key: ModelKey, shown: Shown, page: str | None = None
    ) -> Reply:
        """Analyze an example with its model."""
        example = self.examples[choose("the number of an example", index, len(self.examples))]
        key = key.named(self._fitting(example, key.name))
        return self._meet(example.upload, key, shown, page, place=True, look=AS_IT_IS)

    def _fitting(self, example: Example, name: str) -> str:
        """The name of the model for an example.

        An example without a model of its own is analyzed with the chosen one, unless that has
        examples of its own (a model of digits is not shown a dog); then with the default model, or
        the first one of photos.
        """
        if example.model is not None:
            return name if self._is_met_by(name, example) else example.model
        special = self.menu.of_digits.union(other.model for other in self.examples if other.model)
        if name not in special:
            return name
        keys = (self.menu.default, *(key for _, key in self.menu.choices))
        return next((key for key in keys if key not in special), name)

    def _is_met_by(self, name: str, example: Example) -> bool:
        """Whether a model of digits without examples of its own takes this one."""
        own = any(other.model == name for other in self.examples)
        return example.model == DIGITS and name in self.menu.of_digits and not own

    def _beginning(self, name: str) -> Example:
        """The example with which a page of this model begins."""
        begins = (one for one in self.examples if one.model == name or self._is_met_by(name, one))
        return next(begins, self.examples[0])

    @property
    def example(self) -> Example:
        """The example that `open` shows for a link without parameters."""
        return self._beginning(self.menu.default)

    def _begun(self) -> Shown:
        fitting = self._fitting(self.example, self.menu.default)
        return Shown(self.example.upload, ModelKey(fitting))

    def warm(self) -> bytes | None:
        """Make the analysis that `open` shows for a link without parameters, before anybody opens a
        page. Returns the saved analysis; None if it is refused. Raises `ExpiredError` if it is gone
        from the disk at once.
        """
        made = self.analyses.make(self._begun(), door=None)
        if isinstance(made, Refusal):
            return None
        self._opening = made
        return self._store.get(made.saved)

    def opening(self) -> Mapping[str, Any] | None:
        """The manifest that `open` will show for a link without parameters, so that a page can have
        it in advance; None if its files were deleted meanwhile.
        """
        made = self._opening
        if made is None or not self.analyses.is_whole(made):
            return None
        self.analyses.remember(made.manifest, made.kept(self._begun()))
        return made.manifest

    def open(
        self,
        key: ModelKey,
        shown: Shown,
        link: Mapping[str, str],
        page: str | None = None,
        kept: Upload | None = None,
    ) -> Reply:
        """Answer a page that opens: with the first example, or as the parameters of `link` say.

        `kept`: the visitor's photo that the page showed at this address; it is ignored if the link
        names an example.

        `?model=mnist&example=digit` picks from the menu and the examples, in any combination, so
        that a link shows what its sender saw. `untrained=1` is the untrained twin, `size=144` or
        `size=144x192` (height, width) the size of its pictures in pixels, which is refused if the
        model cannot have it; `invert=1` exchanges light and dark and `stretch=1` stretches the
        levels; the rows of `layer` and `token` are sent ahead. Other parameters and unknown values
        are ignored.
        """
        untrained, look = link.get("untrained") == "1", Look.of_link(link)
        first, named = _place_of(link), link.get("model") in self.menu
        name = link["model"] if named else key.name
        by_name = {Path(example.path).stem: example for example in self.examples}
        example = by_name.get(link.get("example", ""))
        own = kept if example is None else None
        look = look if own or example else AS_IT_IS
        if own is None and (example is None or not named):
            example = example or self._beginning(name)
            name = self._fitting(example, name)
        try:
            key = ModelKey(name, untrained, read_size(link["size"]) if link.get("size") else None)
        except VitvizError as error:
            return Refused(Refusal.of(error), shown)
        upload = own or (example or self.examples[0]).upload
        return self._meet(upload, key, shown, page, place=True, look=look, first=first)

    def ask(self, name: str, question: Any) -> dict[str, Any]:
        """Answer a viewer's question by the method `name` of `Questions`, or with {"error"}. This
        bypasses Gradio's queue. The name is trusted; the question can be any JSON.
        """
        try:
            question = question if isinstance(question, Mapping) else {}
            return getattr(self._questions, name)(PassRef.of(question), question)
        except ExpiredError as error:
            return {**refused(error.message), "expired": True}
        except VitvizError as error:
            return refused(error.message)
        except Exception:  # as in `guard`: the visitor gets an apology, the log the traceback
            log.exception("a viewer's question failed")
            return refused(APOLOGY)

    def _ours(self, upload: Upload, shown: Shown) -> Upload:
        """The example of which an upload is a copy, whose path never expires; else the upload.

        A page sends an example back as a copy with another address, or as the preview of an earlier
        answer. It is recognised by its contents or, after it was deleted, by its name if the page
        shows that example.
        """
        for example in self.examples:
            own = example.upload
            if own.name != upload.name:
                continue
            try:
                same = self.analyses.read(upload) in (example.read(), example.thumbnail())
            except ImageError:
                same = own == shown.photo
            if same:
                return own
        return upload


def _place_of(link: Mapping[str, str]) -> tuple[int, int] | None:
    """The layer and the token of a link; None if it does not name both."""
    named = [link.get(name, "") for name in ("layer", "token")]
    if not all(text.isascii() and text.isdecimal() and len(text) < 6 for text in named):
        return None
    return int(named[0]), int(named[1])
