"""The Gradio page and the public endpoint: their components, and the functions behind them."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from anyio import CapacityLimiter, to_thread
from gradio.data_classes import FileData
from PIL import Image
from starlette.middleware import Middleware

from ...errors import VitvizError
from ...languages import ENGLISH, dictionary, languages, say
from ...model.key import ModelKey, read_size
from ...model.menu import WIDE_MEGABYTES
from ...model.photo_levels import AS_IT_IS, Look
from ...payload.bundle import gradio_head, language_of, without_comments
from ..compute.engine import Engine, Local
from ..compute.models import Menu, Models
from ..compute.replicas import Replicas
from ..host import limits
from ..host.error_messages import in_all
from ..host.memory import return_memory
from ..host.settings import Settings
from ..host.watch import Watch
from ..service.classroom import Classroom
from ..service.programs import Programs
from ..service.questions import QUESTIONS
from ..service.replies import Answered, Left, Refused, Reply, Shown, Unchanged
from ..service.service import Service
from ..store.cache import Cache
from ..store.examples import FOLDER, Example
from ..store.store import Upload
from . import endpoints, zero_gpu
from .aliases import Aliased, Aliases
from .components import Manifest, Viewer
from .door import Door, Gate
from .entrance import Entrance
from .first import BEGIN, First
from .gradio_inside import (
    NOT_UPLOADED,
    App,
    I18nData,
    PhotoInput,
    hints,
    leave_in_place,
    outermost,
    sent_with,
    upload_folder,
)
from .guard import guard
from .routes import RULES, TOOL_RULES, own_rules
from .sending import (
    OUR_FILES,
    WEIGHTS,
    Assets,
    KeptFile,
    Light,
    thumbnail_file,
    weights_file,
    weights_route,
)
from .texts import TEXTS, translated
from .theme import page_style, theme
from .uploads import upload_routes
from .zero_gpu import ZeroGpu

PAGE_JS, ROOM_JS, CLOCKS_JS = (
    without_comments((Path(__file__).parent / name).read_text(encoding="utf-8"))
    for name in ("page.js", "room.js", "clocks.js")
)

# Tells the viewer that a request of the page is over, even if it was refused or changed nothing.
OVER = "() => { document.dispatchEvent(new Event('vitviz-over')); }"
# Replacements of the picture input in a request (viewer/hosts/gradiophotos.js): the photo of the
# browser's history, or the photo of the input, uploaded again if the server has forgotten it.
FROM_HISTORY = "async (photo, ...others) => [await vitviz.photos.fromHistory(), ...others]"
ALIVE = "async (photo, ...others) => [await vitviz.photos.alive(photo), ...others]"
# The photo that stays in the browser is not shown any more.
LEFT = "(...all) => { vitviz.photos.leave(); return all; }"


def build(settings: Settings) -> tuple[App, dict[str, Any]]:
    """Build the app, and the arguments for its `launch`."""
    settings.apply()
    engine, menu = _engine_of(settings)  # may fail, so it comes before the cache's folder
    with ExitStack() as unless_built:  # after a signal, too
        unless_built.callback(engine.close)
        Image.core.set_block_size(limits.PILLOW_BLOCK_BYTES)
        return_memory()
        cache = Cache(upload_folder())
        unless_built.callback(cache.delete)
        built = _built(settings, engine, menu, cache)
        unless_built.pop_all()
    return built


def _built(
    settings: Settings, engine: Engine, menu: Menu, cache: Cache
) -> tuple[App, dict[str, Any]]:
    """`build`, from its parts."""
    # Gradio takes this folder from the environment only; a component reads it when it is created.
    os.environ["GRADIO_TEMP_DIR"] = str(cache.folder)
    watch = Watch()
    service = Service(engine, menu, cache, watch, _lent(settings, menu))
    first = First(service.opening)
    weights = {key: weights_file(path) for key, path in _shipped(settings, menu).items()}
    classroom = Classroom(settings.teachers_word()) if settings.class_ else None
    texts, titles = translated(title for title, _ in service.menu.choices)
    with App(title="vitviz", analytics_enabled=False, fill_width=True) as demo:
        _build_page(demo, service, titles, _in_page(settings, service, weights, classroom))
        if settings.tools():
            endpoints.add_tools(Programs(service.analyses, cache, "mcp"))
        endpoints.add(Programs(service.analyses, cache))
    demo.gate, demo.engine, demo.classroom = Gate(cache), engine, classroom
    demo.origins = settings.origins()
    style = KeptFile("vitviz-style", page_style().encode(), "css", "text/css")

    def warm() -> None:
        saved = service.warm()
        if saved and settings.login is None:  # with a login the document asks for a password
            first.make(saved, service.example)

    demo.warm = warm
    public = [
        *watch.routes(lambda: demo.gate.closing, cache.check_disk),
        *(file.route() for file in (*OUR_FILES, style, *weights.values())),
        *(thumbnail_file(example).route() for example in service.examples),
    ]
    cache.sweep_for_ever()
    most = limits.QUEUE_SIZE * limits.FIRST_QUEUE
    demo.queue(max_size=most, default_concurrency_limit=limits.FIRST_WORKERS)
    return demo, {
        "server_name": settings.address(),
        "server_port": settings.port,
        "share": False if classroom else settings.share,
        "quiet": classroom is not None,  # otherwise it prints 0.0.0.0, which nobody can open
        "theme": theme(),
        "head": f"<script>{gradio_head()}{BEGIN}{ROOM_JS if classroom else ''}</script>",
        "i18n": texts,
        "run_history": False,  # it would keep pictures and dead links in the browser
        "footer_links": ["api"],
        "app_kwargs": {
            "middleware": _middleware(demo, first, style),
            "routes": [*public, weights_route(service.weights), *upload_routes(cache)],
            "lifespan": outermost(_entrance(settings, demo, [route.path for route in public])),
        },
        "root_path": settings.root_path,
        "auth": settings.visitors(),
        "ssr_mode": False,  # Node would answer in place of our routes, without style and rules
        "mcp_server": settings.tools(),
        "state_session_capacity": limits.SESSIONS_KNOWN,
        "max_file_size": limits.UPLOAD_BYTES,
        "allowed_paths": [str(FOLDER)],  # works from any working directory
        "enable_monitoring": False,
        "pwa": False,
    }


def _shipped(settings: Settings, menu: Menu) -> dict[str, Path]:
    """The files of weights that pages fetch as they are, by model: not of one with options of the
    host, whose head or preprocessing is another.
    """
    files = menu.shipped if settings.in_page != "nothing" else {}
    return {key: path for key, path in files.items() if key not in settings.weights}


def _lent(settings: Settings, menu: Menu) -> frozenset[str]:
    """The names of the models whose weights pages may have."""
    if settings.in_page == "nothing":
        return frozenset()
    return menu.lent(keep_own=settings.keep_weights is True)


def _middleware(demo: App, first: First, style: KeptFile) -> list[Middleware]:
    """The middleware between Gradio's own and its routes."""
    aliases = Aliases({"cache": demo.gate.cache.folder, "examples": FOLDER})
    # Gradio adds the `head` of an app when its scripts have run; this has to come before them.
    early = f'<script>{CLOCKS_JS}</script><link rel="stylesheet" href="{style.path}">'.encode()
    early += hints(demo)
    return [
        Middleware(Door, gate=demo.gate),
        Middleware(Light, first=first, hints=early, aliases=aliases),
        Middleware(Aliased, aliases=aliases),
    ]


def _entrance(settings: Settings, demo: App, public: Sequence[str]) -> Callable[[Any], Entrance]:
    """The outermost middleware, around what keeps Gradio's files. `public`: our own paths that need
    no login.
    """
    tools = TOOL_RULES if settings.tools() else ()
    rules, root = (*own_rules(public), *RULES, *tools), settings.root().path.rstrip("/")
    return lambda app: Entrance(Assets(app), rules=rules, origins=demo.origins, root=root)


def _in_page(
    settings: Settings,
    service: Service,
    weights: Mapping[str, KeptFile],
    classroom: Classroom | None,
) -> dict[str, Any]:
    """Arguments for the component: the functions that it can call by name, addresses of the weights
    of shipped models, where those of others are, whether photos are analyzed in the page, the
    models of digits and of a thousand things, and whether the page can have the former.
    """
    wide = service.menu.wide
    digits, lent = service.digits.model if service.digits else None, _lent(settings, service.menu)
    # The page says that the photo stays there, and how much has to come.
    offers = settings.in_page == "photos" and wide in lent
    return {
        "server_functions": _server_functions(service, classroom),
        "weights": {key: file.path for key, file in weights.items()},
        "lent": WEIGHTS,
        "wide": {"name": wide, "megabytes": WIDE_MEGABYTES} if offers else None,
        "photos": settings.in_page == "photos",
        "digits": digits,
        "digits_here": digits in weights or digits in lent,
    }


def _engine_of(settings: Settings) -> tuple[Engine, Menu]:
    """The engine of the settings, and the menu of its models."""
    if (settings.engine or "local") != "local":
        # Check all models here: an error stops the start with a sentence, but would not in a
        # replica.
        Models(settings.models, settings.default_model, "cpu", settings.weights)
        menu = Menu(settings.models, settings.default_model)
        return Replicas(settings), menu
    device = "cpu" if zero_gpu.is_here() else settings.device
    models = Models(settings.models, settings.default_model, device, settings.weights)
    local = ZeroGpu if zero_gpu.is_here() else Local
    return local(models, settings.threads), models


def _build_page(
    demo: gr.Blocks,
    service: Service,
    titles: Mapping[str, I18nData],
    in_page: Mapping[str, Any],
) -> None:
    examples, default = service.examples, service.menu.default
    choices = [(titles.get(title, title), key) for title, key in service.menu.choices]
    photo = PhotoInput(
        label=TEXTS("vv_photo"),
        sources=["upload", "webcam"],
        height=300,
        buttons=[],
        elem_id="vv-photo",
        render=False,
    )
    thumbnails, model, untrained, progress = _toolbar(examples, photo, choices, default)
    photo.render()
    view = Viewer(elem_id="vv-viewer", **in_page)
    download = _foot(here=in_page["photos"])
    shown = gr.State(Shown(None, ModelKey(default)))

    once: dict[str, Any] = {
        "outputs": [view, photo, model, shown, download, untrained],
        "show_progress_on": progress,
        "api_visibility": "private",
        "postprocess": False,  # otherwise Gradio takes a thread for each, and checks files twice
        "concurrency_limit": limits.FIRST_WORKERS,
        "concurrency_id": "analyze",
    }
    latest = {**once, "trigger_mode": "always_last"}
    chosen = [photo, model, shown, untrained]
    show, show_photo, show_example, look, draw, resize, ask_model, open_ = _page_functions(service)
    photo.input(show_photo, chosen, **latest, js=LEFT)
    model.select(show, chosen, **latest, js=ALIVE)  # its "input" is sent twice
    untrained.input(show, chosen, **latest, js=ALIVE)
    view.again(show, chosen, **once, js=ALIVE)
    view.reopen(open_, [photo, model, shown], **latest, js=FROM_HISTORY).then(None, js=OVER)
    view.look(look, chosen, **once, js=ALIVE)
    # "always_last" would send the data of an earlier event; the service drops outdated answers.
    view.photo(draw, chosen[1:], **once, trigger_mode="multiple").then(None, js=OVER)
    for event, ask in ((view.resize, resize), (view.model, ask_model)):
        event(ask, chosen, **once, trigger_mode="multiple", js=ALIVE).then(None, js=OVER)
    thumbnails.click(show_example, [thumbnails, model, shown, untrained], **latest, js=LEFT)
    demo.load(open_, [photo, model, shown], **once, show_progress="hidden", js=FROM_HISTORY)
    demo.load(None, js=_script(examples))


def _foot(*, here: bool) -> gr.DownloadButton:
    """The row below the viewer, with the download. `here`: photos stay in the page."""
    with gr.Row(elem_classes="vv-page-foot"):
        download = gr.DownloadButton(
            TEXTS("vv_download"),  # type: ignore[arg-type]  # Gradio translates it, as in others
            interactive=False,
            size="sm",
            scale=0,
            min_width=280,
            elem_id="vv-download",
        )
        privacy = TEXTS("vv_privacy_here") if here else TEXTS("vv_privacy")
        gr.Markdown(privacy, elem_classes="vv-small")
        # Visible while the browser keeps a photo (viewer/hosts/tabphotos.js).
        gr.Markdown(TEXTS("vv_kept"), elem_classes=["vv-small", "vv-keeps"])
        gr.Button(
            TEXTS("vv_forget"), size="sm", scale=0, elem_id="vv-forget", elem_classes="vv-keeps"
        )
    return download


def _toolbar(
    examples: Sequence[Example], photo: PhotoInput, choices: list[Any], default: str
) -> tuple[gr.Dataset, gr.Dropdown, gr.Checkbox, gr.HTML]:
    """The controls above the viewer. Returns the examples, model, untrained and progress."""
    with gr.Row(equal_height=False, elem_classes="vv-toolbar"):
        gr.Markdown(TEXTS("vv_header"), elem_classes="vv-header")
        # page.js connects these buttons to the picture input, which is visible only for the camera.
        gr.Button(TEXTS("vv_photo"), variant="primary", elem_id="vv-upload", scale=0)
        gr.Button(TEXTS("vv_camera"), elem_id="vv-camera", elem_classes="vv-icon", scale=0)
        gr.Button(TEXTS("vv_paste"), elem_id="vv-paste", elem_classes="vv-icon", scale=0)
        gr.Button(TEXTS("vv_draw"), elem_id="vv-draw", elem_classes="vv-icon", scale=0)
        thumbnails = _thumbnails(examples, photo)
        gr.Button(TEXTS("vv_lessons"), elem_id="vv-lessons", scale=0)
        gr.Button(TEXTS("vv_play"), elem_id="vv-play", scale=0)
        model = gr.Dropdown(
            choices,
            value=default,
            label=TEXTS("vv_model"),
            elem_id="vv-model",
            container=False,
            min_width=150,
        )
        untrained = gr.Checkbox(
            False,
            label=TEXTS("vv_untrained"),
            container=False,
            elem_id="vv-untrained",
            scale=0,
            min_width=100,
        )
        progress = gr.HTML("", elem_id="vv-progress")
        gr.HTML("", elem_id="vv-said")  # page.js shows errors here
    return thumbnails, model, untrained, progress


def _thumbnails(examples: Sequence[Example], photo: PhotoInput) -> gr.Dataset:
    """The examples as thumbnails. They refer to the original files, since the cache is swept."""
    shown = [example for example in examples if example.shown]
    thumbnails = gr.Dataset(
        components=[photo],
        samples=[[example.path] for example in shown],
        type="index",
        layout="gallery",
        label=TEXTS("vv_examples"),
        elem_id="vv-examples",
        min_width=0,
    )
    small = [f"/{thumbnail_file(example).path}" for example in shown]
    leave_in_place(thumbnails, [example.path for example in shown], small)
    return thumbnails


def _script(examples: Sequence[Example]) -> str:
    """page.js with its texts in all languages."""
    spoken = languages()
    parts = {
        "TEXTS": {
            language: dictionary(ENGLISH, "page") | dictionary(language, "page")
            for language in spoken
        },
        "NAMES": [
            {language: say(example.name, language) for language in spoken}
            for example in examples
            if example.shown
        ],
    }
    script = PAGE_JS.replace("__LANGUAGE_OF__", language_of())
    for name, values in parts.items():
        script = script.replace(f"__{name}__", json.dumps(values))
    return script


def _page_functions(service: Service) -> list[Callable[..., tuple[Any, ...]]]:
    """The functions that answer the page: `show`, its variants for a photo and an example, then
    `look`, `draw`, `resize`, `ask_model` and `open`.

    Gradio passes the request to functions with a `gr.Request` parameter, and the data of the
    viewer's event to functions with a `gr.EventData` parameter.
    """

    def answer(ask: Callable[..., Reply]) -> Callable[..., tuple[Any, ...]]:
        def answered(
            what: Any, model: str, shown: Shown, untrained: bool, request: gr.Request | None = None
        ) -> tuple[Any, ...]:
            return places(ask(what, key_of(model, untrained, shown), shown, _session(request)))

        return guard(answered, page=True)

    def drawn(
        model: str,
        shown: Shown,
        untrained: bool,
        event: gr.EventData,
        request: gr.Request | None = None,
    ) -> tuple[Any, ...]:
        given, key = given_of(sent_with(event)), key_of(model, untrained, shown)
        if given.size is not None:
            key = replace(key, image_size=read_size(given.size))
        upload, first, look, _ = given
        return places(service.draw(upload, key, shown, _session(request), first, look))

    def sending(ask: Callable[..., Reply]) -> Callable[..., tuple[Any, ...]]:
        """A function that gets the data of the viewer's event before the rest."""

        def sent(
            what: Any,
            model: str,
            shown: Shown,
            untrained: bool,
            event: gr.EventData,
            request: gr.Request | None = None,
        ) -> tuple[Any, ...]:
            key = key_of(model, untrained, shown)
            return places(ask(sent_with(event), what, key, shown, _session(request)))

        return guard(sent, page=True)

    def opened(
        kept: Upload | None, model: str, shown: Shown, request: gr.Request | None = None
    ) -> tuple[Any, ...]:
        link, key = request.query_params if request else {}, shown.model.named(model)
        return places(service.open(key, shown, link, _session(request), kept))

    asks: tuple[Callable[..., Reply], ...]
    asks = (service.show, service.show_photo, service.show_example)
    look, resize, ask_model = map(sending, _sent_with_data(service))
    draw, open_ = (guard(function, page=True) for function in (drawn, opened))
    return [*map(answer, asks), look, draw, resize, ask_model, open_]


def _sent_with_data(service: Service) -> tuple[Callable[..., Reply], ...]:
    """`look`, `resize` and `ask_model`, which get the data of an event, the photo, the model of the
    controls, what is shown, and the session.
    """

    def look(sent: Any, _what: Any, _key: ModelKey, shown: Shown, page: str | None) -> Reply:
        return service.look(Look.of_page(sent if isinstance(sent, Mapping) else {}), shown, page)

    def resize(sent: Any, what: Any, key: ModelKey, shown: Shown, page: str | None) -> Reply:
        return service.show(what, replace(key, image_size=read_size(str(sent))), shown, page)

    def ask_model(sent: Any, what: Any, _key: ModelKey, shown: Shown, page: str | None) -> Reply:
        return service.show(what, ModelKey(str(sent)), shown, page)

    return look, resize, ask_model


def key_of(name: str, untrained: bool, shown: Shown) -> ModelKey:
    """The model of the controls; if it is the shown model, it keeps its size."""
    return replace(shown.model.named(name), untrained=untrained is True)


class Given(NamedTuple):
    """A photo from the viewer; None: a drawing that stays in the browser.

    first     whether it is the first drawing of the page
    look      how its levels are read
    size      of the model's pictures; None: as shown
    """

    upload: Upload | None
    first: bool
    look: Look = AS_IT_IS
    size: str | None = None


def given_of(sent: Any) -> Given:
    """Check the data of the viewer's event.

    The address is not trusted: the store reads only its own files.
    """
    match sent:
        case {"path": str(path), "name": str(name), "first": bool(first)}:
            size = sent.get("size")
            size = None if size is None else str(size)
            return Given(Upload.sent(path, name), first, Look.of_page(sent), size)
        case {"first": True, **others} if not others:
            return Given(None, True)
    raise VitvizError(NOT_UPLOADED)


def _session(request: gr.Request | None) -> str | None:
    return getattr(request, "session_hash", None)


def places(reply: Reply) -> tuple[Any, ...]:
    """A reply as Gradio's outputs: viewer, photo, model, shown, download and untrained."""
    match reply:
        case Unchanged():
            return (gr.skip(),) * 6
        case Refused(refusal, now, photo):
            gr.Warning(in_all(refusal.text))
            view = gr.skip() if now.photo else {}  # nothing is shown or expected
            return view, _photo(photo), now.model.name, now, gr.skip(), now.model.untrained
        case Answered(manifest, saved, now, photo, controls):
            key = now.model
            model, untrained = (key.name, key.untrained) if controls else (gr.skip(), gr.skip())
            download = gr.update(value=_file(saved), interactive=True)
            view = Manifest.of(manifest).model_dump()
            return view, _photo(photo), model, now, download, untrained


def _photo(address: str | Left | None) -> dict[str, Any] | None:
    if address is Left.AS_IT_IS:
        return gr.skip()
    return None if address is None else _file(address)


def _file(address: str) -> dict[str, Any]:
    return FileData(path=address, orig_name=Path(address).name).model_dump()


def _server_functions(service: Service, classroom: Classroom | None) -> list[Callable[[Any], Any]]:
    """The functions that the viewer calls by name; separate, because Gradio sets attributes."""

    def asking(name: str) -> Callable[[Any], dict[str, Any]]:
        def ask(question: Any) -> dict[str, Any]:
            return service.ask(name, question)

        ask.__name__ = name
        return ask

    # A class that brushes must not occupy Gradio's few threads: they answer all other requests.
    brushing = CapacityLimiter(limits.COMPUTING + limits.OPERATING_LINE + 1)

    async def operate(question: Any) -> dict[str, Any]:
        return await to_thread.run_sync(service.ask, "operate", question, limiter=brushing)

    async def room(question: Any) -> dict[str, Any]:
        assert classroom
        return classroom.ask(question)  # in memory: no thread needed

    rooms = [room] if classroom else []
    return [*(asking(name) for name in QUESTIONS if name != "operate"), operate, *rooms]
