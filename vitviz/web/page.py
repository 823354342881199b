"""The page and the public endpoint: what is on them, and what answers when it is used."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import gradio as gr
from gradio.i18n import I18nData
from PIL import Image
from starlette.middleware import Middleware

from .. import viewer
from ..korean import in_korean
from . import limits
from .cache import Cache
from .components import PagePhotoInput, PhotoInput, TrueOrFalse, Viewer, WholeNumber
from .door import Door, Gate
from .examples import FOLDER
from .guard import guard
from .languages import LANGUAGE_OF
from .models import Models
from .service import Service, Shown
from .settings import Settings
from .texts import TEXTS, bilingual
from .theme import PAGE_CSS, theme

# Says in words what the pictures on the buttons show, in the language of the page. They appear
# some time after it.
NAME_EXAMPLES = """() => {
  const names = __NAMES__;
  const name = (tries) => {
    const images = document.querySelectorAll("#vv-examples img");
    const language = __LANGUAGE_OF__(document.documentElement.lang) === "ko" ? 1 : 0;
    images.forEach((image, i) => { image.alt = names[i][language]; });
    if (images.length < names.length && tries > 0) setTimeout(name, 100, tries - 1);
  };
  name(100);
  const page = document.documentElement;
  new MutationObserver(() => name(100)).observe(page, {attributeFilter: ["lang"]});
}"""


class App(gr.Blocks):
    """Gradio's blocks; a request that leaves out the last inputs gets their defaults.

    Gradio's clients fill them in. Whoever writes a request by hand, or wrote it before there was
    another input, does not.
    """

    gate: Gate

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        inputs.extend(block.value for block in block_fn.inputs[len(inputs) :])


def build(settings: Settings) -> tuple[App, dict[str, Any]]:
    """Lay out the app and wire it; with it come the arguments for its `launch`."""
    Image.core.set_block_size(limits.PILLOW_BLOCK_BYTES)
    cache = Cache()  # before there is a component: each keeps the name of Gradio's folder
    service = Service(Models(settings.models), cache)
    texts, titles = bilingual(title for title, _ in service.models.choices)
    with App(title="vitviz", analytics_enabled=False) as demo:
        _build_page(demo, service, titles)
        _build_endpoint(service)
    demo.gate = Gate(cache)
    cache.sweep_for_ever()
    demo.queue(max_size=limits.QUEUE_SIZE, default_concurrency_limit=limits.WORKERS)
    return demo, {
        "server_name": settings.host,
        "server_port": settings.port,
        "share": settings.share,
        "theme": theme(),
        "css": f"{PAGE_CSS}\n{viewer.css()}",
        "i18n": texts,
        "run_history": False,  # would keep pictures and dead links in the browser
        "footer_links": ["api", "settings"],
        "app_kwargs": {"middleware": [Middleware(Door, gate=demo.gate)]},
        "state_session_capacity": limits.SESSIONS_KNOWN,
        "max_file_size": limits.UPLOAD_BYTES,
        "allowed_paths": [str(FOLDER)],  # works from any working directory
        "enable_monitoring": False,
        "pwa": False,
    }


def _build_page(demo: gr.Blocks, service: Service, titles: Mapping[str, I18nData]) -> None:
    models, examples = service.models, service.examples
    menu = [(titles.get(title, title), key) for title, key in models.choices]
    names = [(example.name, in_korean(example.name)) for example in examples]
    gr.Markdown(TEXTS("vv_header"), elem_classes="vv-header")
    with gr.Row(equal_height=False, elem_classes="vv-room"):
        with gr.Column(scale=1, min_width=280):
            photo = PagePhotoInput(
                label=TEXTS("vv_photo"),
                sources=["upload", "webcam", "clipboard"],
                height=260,
                buttons=[],
                elem_id="vv-photo",
            )
            model = gr.Dropdown(
                menu, value=models.default, label=TEXTS("vv_model"), elem_id="vv-model"
            )
            untrained = gr.Checkbox(
                False, label=TEXTS("vv_untrained"), container=False, elem_id="vv-untrained"
            )
            go = gr.Button(TEXTS("vv_analyze"), variant="primary", elem_id="vv-analyze")
            progress = gr.HTML("", elem_id="vv-progress")
            thumbnails = gr.Dataset(
                components=[photo],
                samples=[[example.path] for example in examples],
                type="index",
                layout="gallery",
                label=TEXTS("vv_examples"),
                elem_id="vv-examples",
            )
            for sample, example in zip(thumbnails.samples, examples, strict=True):
                # Not the copy in the cache, which would be swept.
                sample[0]["url"] = sample[0]["url"].replace(sample[0]["path"], example.path)
                sample[0]["path"] = example.path
        with gr.Column(scale=4, min_width=320):
            view = Viewer(elem_id="vv-viewer", server_functions=_server_functions(service))
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
    shown = gr.State(Shown(None, models.default))

    once = {
        "outputs": [view, photo, model, shown, download, untrained],
        "show_progress_on": progress,
        "api_visibility": "private",
        "concurrency_limit": limits.WORKERS,
        "concurrency_id": "analyze",
    }
    latest = {**once, "trigger_mode": "always_last"}
    chosen = [photo, model, shown, untrained]
    answer = partial(guard, page=True)
    photo.input(answer(service.show_photo), chosen, **latest)
    model.select(answer(service.show), chosen, **latest)  # its "input" is sent twice
    untrained.input(answer(service.show), chosen, **latest)
    go.click(answer(service.show), chosen, **once)
    view.submit(answer(service.show), chosen, **once)  # what has expired, once more
    thumbnails.click(answer(service.show_example), [thumbnails, model, shown, untrained], **latest)
    demo.load(answer(service.open), [model, shown], **once)
    naming = NAME_EXAMPLES.replace("__LANGUAGE_OF__", LANGUAGE_OF)
    demo.load(None, js=naming.replace("__NAMES__", json.dumps(names)))


def _build_endpoint(service: Service) -> None:
    """`/analyze`, with inputs and outputs of its own: a program wants other things than a page."""
    models = service.models
    with gr.Group(visible=False):
        inputs = [
            PhotoInput(label="photo"),
            gr.Dropdown(models.choices, value=models.default, label="model"),
            WholeNumber(0, label="token"),
            WholeNumber(-1, label="layer"),
            WholeNumber(-1, label="head"),
            TrueOrFalse(False, label="untrained"),
        ]
        outputs = [gr.JSON(label="summary"), gr.File(label="analysis")]
        gr.Button().click(
            guard(service.answer),
            inputs,
            outputs,
            api_name="analyze",
            api_description=service.answer.__doc__,
            concurrency_limit=limits.WORKERS,
            concurrency_id="analyze",
        )


def _server_functions(service: Service) -> list[Any]:
    """What viewer.js asks by name. Functions: gradio puts a mark on them, and methods take none."""

    def rollout(question: Any) -> dict[str, Any]:
        return service.rollout(question)

    def late(question: Any) -> dict[str, Any]:
        return service.late(question)

    def figure(question: Any) -> dict[str, Any]:
        return service.figure(question)

    return [rollout, late, figure]
