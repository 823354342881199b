"""The page: an analysis as one HTML file that needs no server and no network."""

import base64
import html
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from PIL import Image
from torch import Tensor

from ..errors import SelectionError, WeightsError
from ..languages import Message, languages, say
from ..model.loaded import LoadedModel
from . import in_page
from .bundle import VIEWER, WORKERS, alone, alone_css, bundle, css, digits, join, playing, served
from .payload import Payload, pack

if TYPE_CHECKING:
    from ..probe.analysis import Analysis


BESIDE = "other"  # the key of the second analysis
SHOWN = "shown"  # the key of the first among the examples of a page that takes photos


def page(
    analysis: "Analysis | Payload",
    *,
    film: bool = False,
    beside: "Analysis | Payload | None" = None,
    layers: Sequence[int] | None = None,
    engine: bool = False,
) -> str:
    """A self-contained HTML file with the viewer and all numbers of one analysis.

    The page makes no request. Files are in base64, a third larger than the payload (ViT-B/16 at 224
    pixels: about 10 MB; at 518 pixels 70 MB). `film`: includes the film of the model's training, if
    it has one; the page gets larger. `beside`: a second analysis beside the first, which visitors
    can close and open. `layers`: only these are in the page, which gets smaller; the last layer is
    shown first, so it should be among them.

    `engine`: includes the weights and the engine, so that the page takes a visitor's photos, drawn
    digits and experiments: 10 MB more for the shipped photo model. Raises `WeightsError` for a
    model that no page can run (`in_page.check`), or an analysis without its model.
    """
    runs = _runs(analysis) if engine else None
    payload = (
        analysis if isinstance(analysis, Payload) else pack(analysis, film=film, layers=layers)
    )
    manifest, files, other = payload.manifest, dict(payload.files), None
    if beside is not None:
        second = beside if isinstance(beside, Payload) else pack(beside, film=film)
        files |= {f"{BESIDE}/{path}": data for path, data in second.files.items()}
        other = second.manifest | {"files": _below(second.manifest["files"])}
        kind = "untrained" if _is_twin(other, manifest) else "other"
        photo, model = other["photo"]["name"], other["model"]["title"]
        texts = {
            language: kinds.get("texts", {}) for language, kinds in other["model"]["words"].items()
        }
        names = {language: known.get(model, model) for language, known in texts.items()}
        choice = {"key": BESIDE, "kind": kind, "photo": photo, "name": model, "names": names}
        manifest = manifest | {"beside": [choice]}
    template = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=html.escape(" · ".join(filter(None, (_name(manifest), "vitviz")))),
        css=css(),
        manifest=_json(manifest),
        beside=_json(other),
        files=_json({path: base64.b64encode(data).decode() for path, data in files.items()}),
        viewer=bundle(),
        **_alone(analysis, manifest, runs),
    )


def _runs(analysis: "Analysis | Payload") -> LoadedModel:
    """The model of an analysis, for the page. Raises `WeightsError` if no page can run it, and
    `SelectionError` for a changed pass: experiments in the page begin with the intact one.
    """
    if isinstance(analysis, Payload) or analysis.loaded is None:
        raise WeightsError("this analysis is without its model: analyze the photo again")
    in_page.check(analysis.loaded.card)
    if analysis.interventions:
        raise SelectionError(Message("experiments.changed_already"))
    return analysis.loaded


def _alone(
    analysis: "Analysis | Payload", manifest: Mapping[str, Any], model: LoadedModel | None
) -> dict[str, str]:
    """Parts of the template for a page that takes photos; empty for a page that takes none."""
    if model is None or isinstance(analysis, Payload):
        return {"strip": "", "style": "", "engine": "null", "parts": ""}
    key, photo = manifest["model"]["key"]["name"], manifest["photo"]["name"]
    files = {"path": "model", "examples": {SHOWN: SHOWN}}
    weights = {"weights": {"path": "", "script": "weights"}}
    names = {language: photo or say(Message("site.shown"), language) for language in languages()}
    shown: dict[str, Any] = {"names": names, "thumbnail": "", "photo": "picture", "file": photo}
    shown |= {"model": None, "shown": True}
    site = {
        "models": {key: in_page.named(manifest["model"]) | files | weights},
        "examples": {SHOWN: shown},
        "start": {"model": key, "example": SHOWN},
        "language": None,
        "languages": {},
        "running": "running",
        "playing": "playing",
        "digits": {part: f"digits-{part}" for part in ("train", "test")},
        "links": False,
        "texts": in_page.texts(),
    }
    # Both have the engine, which is in the page once.
    engine = served(WORKERS[0])
    running, plays = (
        part.replace(engine, "ENGINE")
        for part in (join(VIEWER / "localengine.js", "vitviz-running.js", ()), playing())
    )
    return {
        "strip": '<header id="strip"></header>',
        "style": alone_css(),
        "engine": f"((ENGINE) => ({{ site: {_json(site)}, alone: {alone()}, "
        f"running: {running}, playing: {plays} }}))({engine})",
        "parts": _part("weights", in_page.weights_of(model))
        + _part("picture", _png(analysis.picture))
        + "".join(_part(f"digits-{name[:-4]}", sheet) for name, sheet in digits().items()),
    }


def _part(name: str, data: bytes) -> str:
    """Bytes as an element of the page, which its script decodes when needed."""
    coded = base64.b64encode(data).decode()
    return f'<script type="text/plain" id="{name}">{coded}</script>\n'


def _png(picture: Tensor) -> bytes:
    """The model's picture, (height, width, channels) uint8, as a PNG file."""
    pixels, file = picture.numpy(), io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(file, "PNG")
    return file.getvalue()


def _name(manifest: Mapping[str, Any]) -> str:
    """The names of picture and model, without empty ones."""
    return " · ".join(filter(None, (manifest["photo"]["name"], manifest["model"]["title"])))


def _is_twin(other: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Whether `other` is the same picture in the same model before its training."""
    ours, theirs = manifest["model"]["key"], other["model"]["key"]
    twin = not ours["untrained"] and theirs == {**ours, "untrained": True}
    return twin and _name(other) == _name(manifest)


def _below(files: Mapping[str, Any]) -> dict[str, Any]:
    """The files of the second manifest, moved into a folder of their own."""
    return {
        name: file | {"path": f"{BESIDE}/{file['path']}"} if "path" in file else file
        for name, file in files.items()
    }


def _json(value: object) -> str:
    """JSON for a script element: it has no `<`, so no tag can begin or end in it."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")
