"""What a page or a program asks for, and what it is answered; no layout in here."""

import base64
import filecmp
import io
import logging
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from PIL import Image

from ..errors import ImageError, SelectionError, VitvizError
from ..korean import in_korean
from ..model.photo import open_photo
from ..probe.analysis import Analysis, analyze
from ..viewer.payload import late_file, pack
from . import limits
from .answers import APOLOGY, in_both, sentence
from .cache import Cache
from .components import Manifest, Upload
from .examples import EXAMPLES
from .figures import Wanted
from .files import file_name, save_atomic
from .models import Models
from .turns import Turns
from .wishes import Delivery, Wish, Wishes

log = logging.getLogger("vitviz.web")

UNSEEN = (".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".jp2", ".j2k", ".jpx")  # browsers cannot show


AS_IT_IS = (gr.skip(),) * 6  # the answer that changes nothing on a page


class Shown(NamedTuple):
    """What a visitor's page shows at the moment; where it goes on after something failed."""

    photo: Upload | None
    model: str
    preview: str | None = None  # the picture input shows this file in place of the photo
    untrained: bool = False


class Kept(NamedTuple):
    """Files in the cache of what a page shows: its analysis, and the film of its model."""

    analysis: str
    film: Path | None = None


class Made(NamedTuple):
    """All that a page will show, in the cache but not yet delivered."""

    manifest: Manifest
    saved: str
    preview: str | None


class Service:
    """One running app: its models and its files. What a visitor sees is kept in their own page.

    Methods for the page answer with (manifest, photo, model, shown, download, untrained), where
    `gr.skip()` leaves a place as it is. On a bad picture or model they say why and go on with what
    is shown. An answer is dropped if the answer to something that was asked for later is there.
    """

    def __init__(self, models: Models, cache: Cache) -> None:
        self.models = models
        self.examples = [e for e in EXAMPLES if e.model is None or e.model in models]
        self._computing = Turns(limits.COMPUTING, limits.LINE)
        # Apart, so that many questions, which pass Gradio's queue by, refuse nobody an analysis.
        self._asking = Turns(limits.COMPUTING, limits.LINE)
        self._drawing = Turns(1, limits.LINE)
        self._cache = cache
        self._wishes = Wishes()
        self._kept: OrderedDict[str, Kept] = OrderedDict()  # by the id of a manifest

    def show_photo(
        self,
        upload: Upload | None,
        model: str,
        shown: Shown,
        untrained: bool = False,
        request: gr.Request | None = None,
    ) -> tuple[Any, ...]:
        """A picture was chosen; or taken away, then the page stays as it is."""
        return AS_IT_IS if upload is None else self.show(upload, model, shown, untrained, request)

    def show(
        self,
        upload: Upload | None,
        model: str,
        shown: Shown,
        untrained: bool = False,
        request: gr.Request | None = None,
    ) -> tuple[Any, ...]:
        """Analyze a picture, the one that is shown if none is chosen.

        `untrained`: with the random weights that the model's training began with.
        """
        if upload is None or upload.path == shown.preview:
            upload = shown.photo
        if upload is None:
            return AS_IT_IS
        return self._meet(upload, model, shown, untrained, request)

    def _meet(
        self,
        upload: Upload,
        model: str,
        shown: Shown,
        untrained: bool,
        request: gr.Request | None,
        place: bool = False,
    ) -> tuple[Any, ...]:
        """Make all that a page will show, which can fail or take long, and then deliver it.

        `place`: the picture is not in the picture input yet.
        """
        untrained = untrained is True
        with self._wishes.wish(getattr(request, "session_hash", None)) as wish:
            upload = self._ours(upload, shown)
            try:
                made = self._make(upload, model, untrained)
            except VitvizError as error:
                now = self._wishes.failed(wish, shown)
                if now is None:
                    return AS_IT_IS
                gr.Warning(in_both(sentence(error)))
                photo = upload.path if place else gr.skip()
                # Also if another answer came meanwhile and left the picture input to this wish.
                if not place and (isinstance(error, ImageError) or now != shown):
                    photo = self._before(now)
                return gr.skip(), photo, now.model, now, gr.skip(), now.untrained
            now = Shown(upload, model, made.preview, untrained)
            return self._deliver(wish, made, now, place)

    def _make(self, upload: Upload, model: str, untrained: bool) -> Made:
        """Analyze a picture and write all that a page needs of it into the cache."""
        analysis = self._analyze(upload, model, untrained)
        payload = pack(analysis, film=True, whole=False)
        payload.manifest["link"] = self._link(upload, model, untrained)
        manifest = Manifest.place(payload, self._cache.folder)
        return Made(manifest, self._save(analysis), self._preview(upload, analysis))

    def _deliver(self, wish: Wish, made: Made, now: Shown, place: bool) -> tuple[Any, ...]:
        """The one place where a page gets another analysis, if it is still to be shown."""
        delivery = self._wishes.deliver(wish, now)
        if delivery is Delivery.DROPPED:
            return AS_IT_IS
        film = made.manifest.files.get("film")
        self._remember(made.manifest.id, Kept(made.saved, Path(film.path) if film else None))
        photo, model, untrained = gr.skip(), gr.skip(), gr.skip()
        if delivery is not Delivery.BESIDE:
            model, untrained = now.model, now.untrained
            if made.preview or place or delivery is Delivery.RESTORED:
                photo = made.preview or now.photo.path
        download = gr.update(value=made.saved, interactive=True)
        return made.manifest, photo, model, now, download, untrained

    @staticmethod
    def _before(shown: Shown) -> str | None:
        """What the picture input showed before a picture that cannot be shown."""
        old = shown.preview or (shown.photo.path if shown.photo else "")
        return old if Path(old).is_file() else None

    def show_example(
        self,
        index: int,
        model: str,
        shown: Shown,
        untrained: bool = False,
        request: gr.Request | None = None,
    ) -> tuple[Any, ...]:
        """Analyze one of our pictures, with the model it was made for.

        A picture for any model goes to the chosen one, unless that is made for other examples: a
        dog tells nothing about a model of digits.
        """
        path, meant_for = self.examples[index]
        special = {example.model for example in self.examples}
        model = meant_for or (self.models.default if model in special else model)
        upload = Upload(path, Path(path).name)
        return self._meet(upload, model, shown, untrained, request, place=True)

    def open(self, model: str, shown: Shown, request: gr.Request | None = None) -> tuple[Any, ...]:
        """A page is opened: show the first example, or what its address asks for.

        `?model=mnist&example=digit` picks from the menu and from the examples, in any pair: a link
        shows what was seen. `untrained=1` is the untrained twin; anything else is ignored.
        """
        asked = request.query_params if request else {}
        untrained = asked.get("untrained") == "1"
        paths = {Path(example.path).stem: example.path for example in self.examples}
        named, path = asked.get("model") in self.models, paths.get(asked.get("example"))
        model = asked["model"] if named else model
        if named and path:
            upload = Upload(path, Path(path).name)
            return self._meet(upload, model, shown, untrained, request, place=True)
        if path:
            index = list(paths.values()).index(path)
        else:
            made_for = [example.model for example in self.examples]
            index = made_for.index(model) if model in made_for else 0
        return self.show_example(index, model, shown, untrained, request)

    def rollout(self, question: Any) -> dict[str, Any]:
        """For a viewer that shows too many tokens to compute it itself: {"values"} or {"error"}."""
        return self._reply(question, self._rollout)

    def late(self, question: Any) -> dict[str, Any]:
        """A file that is made when a viewer asks for it: {"data": in base64} or {"error"}."""
        return self._reply(question, self._late)

    def figure(self, question: Any) -> dict[str, Any]:
        """What is looked at as a figure for print: {"data": in base64} or {"error"}."""
        return self._reply(question, self._figure)

    def _reply(self, question: Any, answer: Callable[[str, Any], dict[str, Any]]) -> dict[str, Any]:
        """Answer a viewer, outside of Gradio's queue; anybody can ask anything."""
        try:
            match question:
                case {"id": str(key)}:
                    return answer(key, question)
            raise SelectionError("the id of an analysis and what is selected are needed")
        except VitvizError as error:
            return _refusal(sentence(error))
        except Exception:  # as in `guard`: an answer for the visitor, the traceback for us
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
        with self._turn(self._asking):
            values = Analysis.load(self._known(key).analysis).rollout(token, layer, **options)
        return {"values": values.tolist()}

    def _late(self, key: str, question: Any) -> dict[str, Any]:
        match question:
            case {"name": str(name)}:
                with self._turn(self._asking):
                    data = late_file(Analysis.load(self._known(key).analysis), name)
                return {"data": base64.b64encode(data).decode()}
        raise SelectionError("id and name are needed")

    def _figure(self, key: str, question: Any) -> dict[str, Any]:
        wanted = Wanted.of(question)
        many = VitvizError("many figures are being drawn; try again in a minute")
        # One at a time: matplotlib keeps some settings for the whole process.
        with self._drawing.take(limits.DRAWING_WAIT_SECONDS, many):
            kept = self._known(key)
            data = wanted.drawn(Analysis.load(kept.analysis), kept.film)
        return {"data": base64.b64encode(data).decode()}

    def _known(self, key: str) -> Kept:
        """What was analyzed for a page, while its file is there. Raises `VitvizError`."""
        kept = self._kept.get(key)
        if kept is None or not Path(kept.analysis).is_file():
            raise VitvizError("this analysis has expired; analyze the picture again")
        return kept

    def answer(
        self,
        photo: Upload | None,
        model: str,
        token: int,
        layer: int,
        head: int,
        untrained: bool = False,
    ) -> tuple[dict[str, Any], str]:
        """Analyze a picture: a JSON object, and a .safetensors file for `vitviz.Analysis.load`.

        The object holds what the model answered, the shape of every step, and under "selection" the
        attention from one token (0 is the first) in one layer (-1: the last) and head (-1: mean of
        all), and its rollout. With "untrained" the model has the random weights that its training
        began with.
        """
        if photo is None:
            raise ImageError("a picture is needed, none came")
        analysis = self._analyze(photo, model, untrained)
        token = token or 0
        layer = analysis.trace.depth - 1 if layer in (-1, None) else layer
        head = None if head == -1 else head
        attention, rollout = analysis.attention(layer, head, token), analysis.rollout(token, layer)
        summary = analysis.summary(limits.TOP_CLASSES)
        summary["selection"] = {
            "token": token,
            "layer": layer,
            "head": "mean" if head is None else head,
            "attention": attention.tolist(),
            "rollout": rollout.tolist(),
        }
        return summary, self._save(analysis)

    def _analyze(self, upload: Upload, model: str, untrained: bool = False) -> Analysis:
        self._cache.check_room()
        if not Path(upload.path).is_file():  # its path is nobody's business
            raise ImageError(
                f"{upload.name[:80]!r} was deleted after about an hour; choose it again"
            )
        photo = open_photo(upload.path, upload.name)
        loaded = self.models.get(model, untrained)
        with self._turn(self._computing):
            return analyze(loaded, photo)

    @staticmethod
    def _turn(turns: Turns) -> AbstractContextManager[None]:
        """Computing, when it is one's turn. Raises `VitvizError` if that does not come soon."""
        busy = VitvizError("this server computes for many others; try again in a minute")
        return turns.take(limits.COMPUTING_WAIT_SECONDS, busy)

    def _save(self, analysis: Analysis) -> str:
        """The analysis as a file in the cache, for whoever asked."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "analysis.safetensors"
            analysis.save(path)
            untrained = "" if analysis.card.trained else "untrained"
            name = file_name(analysis.photo_name, analysis.card.name, untrained)
            return save_atomic(path.read_bytes(), f"{name}.safetensors", self._cache.folder)

    def _link(self, upload: Upload, model: str, untrained: bool) -> dict[str, str]:
        """What `open` needs to show this again. Only our own pictures have a name for that."""
        ours = upload.path in [example.path for example in self.examples]
        link = {"model": model} | ({"example": Path(upload.path).stem} if ours else {})
        return link | ({"untrained": "1"} if untrained else {})

    def _ours(self, upload: Upload, shown: Shown) -> Upload:
        """One of our own pictures by its own path, which never expires; any other as it came.

        A page sends an example back as a file of its own: it is known by its contents, and when
        that file is gone, by being what is shown.
        """
        for example in self.examples:
            own = Upload(example.path, Path(example.path).name)
            if own.name != upload.name:
                continue
            here = Path(upload.path).is_file()
            if filecmp.cmp(own.path, upload.path, shallow=False) if here else own == shown.photo:
                return own
        return upload

    def _remember(self, key: str, kept: Kept) -> None:
        self._kept[key] = kept
        while len(self._kept) > limits.ANALYSES_KNOWN:
            self._kept.popitem(last=False)

    def _preview(self, upload: Upload, analysis: Analysis) -> str | None:
        """What the model saw as PNG, for the picture input, if no browser shows the upload."""
        if Path(upload.name).suffix.lower() not in UNSEEN:
            return None
        seen = Image.fromarray(analysis.picture.squeeze(-1).numpy())
        seen.save(buffer := io.BytesIO(), "PNG")
        return save_atomic(buffer.getvalue(), "preview.png", self._cache.folder)


def _refusal(text: str) -> dict[str, str]:
    """A viewer knows its language better than we do: both are sent."""
    return {"error": text, "error_ko": in_korean(text)}
