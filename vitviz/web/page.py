"""The page and the API: what is on it, and what happens when something on it is used."""

import io
import json
import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from PIL import Image

from .. import viewer
from ..errors import ImageError, VitvizError
from ..model.photo import open_photo
from ..probe.analysis import Analysis, analyze
from ..viewer.payload import pack
from . import limits
from .answers import as_html, guard, sentence
from .components import Manifest, PhotoInput, Upload, Viewer, WholeNumber
from .files import file_name, save_atomic
from .models import Models
from .settings import Settings
from .texts import TEXTS
from .theme import PAGE_CSS, theme

EXAMPLES_DIR = Path(__file__).parent / "examples"
# (file, model it is meant for; None: the one that is chosen)
EXAMPLES = (
    ("dog.jpg", None),
    ("cat.jpg", None),
    ("red-panda.jpg", None),
    ("bison.jpg", None),
    ("goldfish.jpg", None),
    ("coffee.jpg", None),
    ("digit.png", "mnist"),
)
UNSEEN = (".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".jp2", ".j2k", ".jpx")  # browsers cannot show

# The pictures appear some time after the page has loaded.
NAME_EXAMPLES = """() => {
  const names = %s;
  const name = (tries) => {
    const images = document.querySelectorAll("#vv-examples img");
    images.forEach((image, i) => { image.alt = names[i]; });
    if (images.length < names.length && tries > 0) setTimeout(name, 100, tries - 1);
  };
  name(100);
}"""


class Shown(NamedTuple):
    """What a visitor's page shows at the moment; where it goes on after something failed."""

    photo: Upload | None
    model: str
    preview: str | None = None  # the picture input shows this file in place of the photo


def build_app(settings: Settings | None = None) -> tuple[gr.Blocks, dict[str, Any]]:
    """The app, and the arguments for its `launch`.

    Raises `WeightsError` if a model that the host named cannot be loaded.
    """
    settings = settings or Settings()
    demo = App(Models(settings.models)).build()
    demo.queue(max_size=limits.QUEUE_SIZE, default_concurrency_limit=limits.WORKERS)
    return demo, {
        "server_name": settings.host,
        "server_port": settings.port,
        "share": settings.share,
        "theme": theme(),
        "css": f"{PAGE_CSS}\n{viewer.css()}",
        "i18n": TEXTS,
        "run_history": False,  # would keep pictures and dead links in the browser
        "footer_links": ["api", "settings"],
        "max_file_size": limits.UPLOAD_BYTES,
        "allowed_paths": [str(EXAMPLES_DIR)],  # works from any working directory
        "enable_monitoring": False,
        "pwa": False,
    }


class App:
    """One running app: its models, and the functions behind its page; nothing of a visitor."""

    def __init__(self, models: Models) -> None:
        self.models = models
        self._computing = threading.Semaphore(limits.COMPUTING)
        self._examples = [
            (str(EXAMPLES_DIR / name), model)
            for name, model in EXAMPLES
            if model is None or model in models
        ]
        self._cache = ""  # Gradio's cache folder, known once there is a component

    def build(self) -> gr.Blocks:
        """Lay out the page and wire it."""
        sweep = (limits.CACHE_SWEEP_SECONDS, limits.CACHE_AGE_SECONDS)
        with gr.Blocks(title="vitviz", analytics_enabled=False, delete_cache=sweep) as demo:
            gr.Markdown(TEXTS("vv_header"), elem_classes="vv-header")
            with gr.Row(equal_height=False):
                with gr.Column(scale=1, min_width=280, elem_classes="vv-side"):
                    photo = PhotoInput(
                        label=TEXTS("vv_photo"),
                        sources=["upload", "webcam", "clipboard"],
                        height=260,
                        buttons=[],
                        elem_id="vv-photo",
                    )
                    model = gr.Dropdown(
                        self.models.choices,
                        value=self.models.default,
                        label=TEXTS("vv_model"),
                        elem_id="vv-model",
                    )
                    go = gr.Button(TEXTS("vv_analyze"), variant="primary", elem_id="vv-analyze")
                    status = gr.HTML("", elem_id="vv-status")
                    examples = gr.Dataset(
                        components=[photo],  # of the page: its samples outlive `delete_cache`
                        samples=[[path] for path, _ in self._examples],
                        type="index",
                        layout="gallery",
                        label=TEXTS("vv_examples"),
                        elem_id="vv-examples",
                    )
                with gr.Column(scale=4, min_width=320):
                    view = Viewer(elem_id="vv-viewer")
                    with gr.Row(elem_classes="vv-foot"):
                        download = gr.DownloadButton(
                            TEXTS("vv_download"),
                            interactive=False,
                            size="sm",
                            scale=0,
                            min_width=280,
                            elem_id="vv-download",
                        )
                        gr.Markdown(TEXTS("vv_privacy"), elem_classes="vv-small")
            state = gr.State(Shown(None, self.models.default))
            self._cache = view.GRADIO_CACHE

            chosen, outputs = [photo, model, state], [view, photo, model, state, download]
            options = {
                "outputs": outputs,
                "show_progress_on": status,
                "api_visibility": "private",
                "concurrency_limit": limits.WORKERS,
                "concurrency_id": "analyze",
            }
            latest = {**options, "trigger_mode": "always_last"}
            photo.input(guard(self.show_photo), chosen, **latest)
            model.select(guard(self.show), chosen, **latest)  # its "input" is sent twice
            go.click(guard(self.show), chosen, **options)
            examples.click(guard(self.show_example), [examples, model, state], **latest)
            demo.load(guard(self.open), [model, state], **options)
            demo.load(None, js=self._name_examples())
            self._build_api()
        return demo

    def _name_examples(self) -> str:
        """JavaScript that names the pictures on the buttons; Gradio leaves their text empty."""
        names = [Path(path).stem.replace("-", " ") for path, _ in self._examples]
        return NAME_EXAMPLES % json.dumps(names)

    def _build_api(self) -> None:
        """The public endpoint, with inputs and outputs of its own: a program wants no page."""
        with gr.Group(visible=False):
            inputs = [
                PhotoInput(label="photo"),
                gr.Dropdown(self.models.choices, value=self.models.default, label="model"),
                WholeNumber(0, label="token"),
                WholeNumber(-1, label="layer"),
                WholeNumber(-1, label="head"),
            ]
            outputs = [gr.JSON(label="summary"), gr.File(label="analysis")]
            gr.Button().click(
                guard(self.answer),
                inputs,
                outputs,
                api_name="analyze",
                api_description=self.answer.__doc__,
                concurrency_limit=limits.WORKERS,
                concurrency_id="analyze",
            )

    # --- what a page asks for; every answer fills the same outputs ---

    def show_photo(self, upload: Upload | None, model: str, state: Shown) -> tuple[Any, ...]:
        """A picture was chosen, or taken away: then the page stays as it is."""
        return gr.skip() if upload is None else self.show(upload, model, state)

    def show(self, upload: Upload | None, model: str, state: Shown) -> tuple[Any, ...]:
        """Analyze a picture, the one on the page if none is chosen.

        On a bad picture or model the page says why and goes on with what it shows.
        """
        if upload is None or upload.path == state.preview:
            upload = state.photo
        if upload is None:
            return gr.skip()
        try:
            analysis = self._analyze(upload, model)
        except VitvizError as error:
            gr.Warning(as_html(sentence(error)))
            old = state.preview or (state.photo.path if state.photo else None)
            photo = old if isinstance(error, ImageError) else gr.skip()
            return gr.skip(), photo, state.model, state, gr.skip()
        preview = self._preview(upload, analysis)
        return (
            Manifest.place(pack(analysis), self._cache),
            preview or gr.skip(),
            model,
            Shown(upload, model, preview),
            gr.update(value=self._save(analysis), interactive=True),
        )

    def show_example(self, index: int, model: str, state: Shown) -> tuple[Any, ...]:
        """Analyze one of our pictures, with the model it was made for if there is one."""
        path, meant_for = self._examples[index]
        view, _, *others = self.show(Upload(path, Path(path).name), meant_for or model, state)
        return view, path, *others

    def open(self, model: str, state: Shown, request: gr.Request | None = None) -> tuple[Any, ...]:
        """A page is opened: show the first example, or what its address asks for.

        `?model=mnist&example=digit` picks from the menu and from the examples; anything else is
        ignored.
        """
        asked = request.query_params if request else {}
        names = [Path(path).stem for path, _ in self._examples]
        index = names.index(asked["example"]) if asked.get("example") in names else 0
        model = asked["model"] if asked.get("model") in self.models else model
        return self.show_example(index, model, state)

    def _preview(self, upload: Upload, analysis: Analysis) -> str | None:
        """What the model saw as PNG, for the picture input, if no browser shows the upload."""
        if Path(upload.name).suffix.lower() not in UNSEEN:
            return None
        seen = Image.fromarray(analysis.picture.squeeze(-1).numpy())
        seen.save(buffer := io.BytesIO(), "PNG")
        return save_atomic(buffer.getvalue(), "preview.png", self._cache)

    # --- what a program asks for ---

    def answer(
        self, photo: Upload | None, model: str, token: int, layer: int, head: int
    ) -> tuple[dict[str, Any], str]:
        """Analyze a picture: a JSON object, and a .safetensors file for `vitviz.Analysis.load`.

        The object holds what the model answered, the shape of every step, and under "selection" the
        attention from one token (0 is the first) in one layer (-1: the last) and head (-1: mean of
        all), and its rollout.
        """
        if photo is None:
            raise ImageError("a picture is needed, none came")
        analysis = self._analyze(photo, model)
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

    # --- what both share ---

    def _analyze(self, upload: Upload, model: str) -> Analysis:
        photo = open_photo(upload.path, upload.name)
        loaded = self.models.get(model)
        with self._computing:
            return analyze(loaded, photo)

    def _save(self, analysis: Analysis) -> str:
        """The analysis as a file in the cache, for whoever asked."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "analysis.safetensors"
            analysis.save(path)
            name = file_name(analysis.photo_name, analysis.card.name)
            return save_atomic(path.read_bytes(), f"{name}.safetensors", self._cache)
