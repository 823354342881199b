"""The page: an analysis as one HTML file that needs no server and no network."""

import base64
import html
import json
from collections.abc import Mapping, Sequence
from string import Template
from typing import TYPE_CHECKING, Any

from .bundle import HERE, bundle, css
from .payload import Payload, pack

if TYPE_CHECKING:
    from ..probe.analysis import Analysis


BESIDE = "other"  # the key of the second analysis


def page(
    analysis: "Analysis | Payload",
    *,
    film: bool = False,
    beside: "Analysis | Payload | None" = None,
    layers: Sequence[int] | None = None,
) -> str:
    """A self-contained HTML file with the viewer and all numbers of one analysis.

    It makes no request. Files are base64 in the page, so it is a third larger than the payload
    (ViT-B/16 at 224 pixels: about 10 MB; at 518 pixels 70 MB). `film`: with the film of the model's
    training, if there is one; it makes the page larger. `beside`: another analysis, which stands
    beside the first one; in the page it can be closed and opened again. `layers`: only these are in
    the page, which is smaller then; the last one is shown first, so it should be among them.
    """
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
    template = Template((HERE / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=html.escape(" · ".join(filter(None, (_name(manifest), "vitviz")))),
        css=css(),
        manifest=_json(manifest),
        beside=_json(other),
        files=_json({path: base64.b64encode(data).decode() for path, data in files.items()}),
        viewer=bundle(),
    )


def _name(manifest: Mapping[str, Any]) -> str:
    """The names of picture and model, without those that are empty."""
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
    """JSON that may stand in a script element: no `<`, so no tag can end or begin in it."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")
