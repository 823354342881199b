"""The site: the viewer, models that run in the page, and the examples, as files in a folder."""

import base64
import copy
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Any

import torch
from tqdm import tqdm

from ..errors import VitvizError, WeightsError
from ..languages import ENGLISH, Message, in_others, languages, say
from ..model.labels import are_digits
from ..model.loaded import LoadedModel
from ..model.menu import CURATED, list_heads, list_models
from ..model.resize import settled
from ..model.weights import load
from ..payload import css, explanations, in_page, pack
from ..payload.bundle import (
    alone,
    alone_css,
    as_file,
    digits,
    playing_file,
    running_file,
    texts_files,
    value_file,
)
from ..probe.analysis import analyze
from ..web.service.questions import QUESTIONS
from ..web.store.examples import DIGITS, EXAMPLES, FOLDER, START, START_LINK, Example
from ..whole import at_home, others_write, partial_folder, write_text

HERE = Path(__file__).resolve().parent
FILES = "files"  # the folder of all that has a hash in its name
LIST = "vitviz-site.json"  # list of the written files; a folder with it may be overwritten
MOST_INLINE_BYTES = 8000  # smaller files are put into the manifest: a request takes longer
# The viewer's requests that a page answers itself, see hosts/site.js.
ANSWERED = {"rollout", "late", "fair", "beside", "operate"}


@dataclass(frozen=True)
class Report:
    """Report on a written site: bytes of all files; a line for the terms of each model and of the
    pictures; and a line for each feature that needs a server.
    """

    size: int
    terms: tuple[str, ...]
    lacks: tuple[str, ...]


def write_site(
    folder: str | Path,
    models: Sequence[str] = (),
    language: str | None = None,
    served: bool = False,
) -> Report:
    """Write the site into a folder that is new, empty, or holds an older site, which is replaced.

    `models`: names for `load`; the first is shown first; by default the shipped models.
    `language`: language of the page until a visitor chooses; by default that of the browser.
    `served`: leave out the scripts with the weights, which only a page that was opened by a double
    click reads.
    Raises `WeightsError` for a model that no page can run, before anything is written, and
    `VitvizError` if the folder holds other files, if another command is writing into it, or if a
    file cannot be written; an older site is still there then.
    """
    if language is not None and language not in languages():
        known = ", ".join(languages())
        raise VitvizError(f"the language must be one of {known}, got {language!r}")
    offered = _offered(models)
    heads = bool(set(list_heads()) & set(offered))
    examples = [
        example
        for example in _examples_of(offered)
        if (example.model in (None, *offered) if example.shown else heads)
    ]
    folder = at_home(folder)
    new = False
    try:
        new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        with partial_folder(folder / LIST) as partial:  # hidden, as .git is
            if others := others_write(folder / LIST, partial):
                wait = f"wait for it, or delete {others[0]} if none does"
                raise VitvizError(f"another command writes a site into {folder}: {wait}")
            old = _claimed(folder)
            report = _written(_Writer(partial), offered, examples, language, served)
            _replaced(folder, partial, old)
    except OSError as error:
        raise VitvizError(f"{folder} cannot be written: {error.strerror or error}") from error
    finally:
        if new:
            with suppress(OSError):  # it holds the site
                folder.rmdir()
    return report


def _examples_of(offered: Mapping[str, LoadedModel]) -> list[Example]:
    """All examples; the digit belongs to the first model of digits where the shipped one is not
    offered.
    """
    if DIGITS in offered:
        return [*EXAMPLES]
    plain = {key: one for key, one in offered.items() if key not in list_heads()}
    of_digits = (
        key for key, one in plain.items() if are_digits(one.card.labels, one.preprocess.channels)
    )
    digits = next(of_digits, DIGITS)
    return [
        example._replace(model=digits) if example.model == DIGITS else example
        for example in EXAMPLES
    ]


def _written(
    writer: "_Writer",
    offered: Mapping[str, LoadedModel],
    examples: Sequence[Example],
    language: str | None,
    served: bool,
) -> Report:
    """Write all files."""
    default = next(iter(offered))
    fitting = _fitting(examples, default)
    first = next((example for example in fitting if example.model == default), fitting[0])
    models: dict[str, dict[str, Any]] = {}
    for key, loaded in tqdm(offered.items(), "models", disable=None):  # None: on a terminal alone
        models[key] = _model(writer, key, loaded, _fitting(examples, key), models, served)
    site = {
        "models": models,
        "examples": {_key(example): _example(writer, example) for example in examples},
        "start": {"model": default, "example": _key(first)},
        "links": True,
        "language": language,
        "languages": {
            name: writer.add(f"vitviz-{name}.js", text.encode())
            for name, text in texts_files().items()
            if name != ENGLISH  # `as_file` has it
        },
        "running": writer.add("vitviz-running.js", running_file().encode()),
        "playing": writer.add("vitviz-play.js", playing_file().encode()),
        "digits": {
            name.partition(".")[0]: writer.add(f"digits-{name}.js", _in_base64(sheet))
            for name, sheet in digits().items()
        },
        "texts": in_page.texts(),
    }
    writer.write("index.html", _page(writer, site).encode())
    terms = (*(f"{key}: {_terms(loaded)}" for key, loaded in offered.items()), _of_pictures())
    lacks = tuple(
        str(Message(f"site.lacks_{question}")) for question in QUESTIONS if question not in ANSWERED
    )
    writer.write("README.md", _readme(terms, lacks, writer.size, served).encode())
    writer.write(LIST, json.dumps([*writer.written, LIST], indent=0).encode())
    return Report(writer.size, terms, lacks)


class _Writer:
    """Writes files into a folder; records their names and total size."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.written, self.size = folder, dict[str, None](), 0

    def write(self, path: str, data: bytes) -> None:
        """Write a file, unless there is one of this path already."""
        if path in self.written:
            return
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(data)
        self.written[path] = None
        self.size += len(data)

    def add(self, name: str, data: bytes) -> str:
        """Write a file with the hash of its content in its name; return its path."""
        stem, _, ending = name.rpartition(".")
        path = f"{FILES}/{stem}-{hashlib.sha256(data).hexdigest()[:16]}.{ending}"
        self.write(path, data)
        return path


def _claimed(folder: Path) -> set[Path]:
    """Check that a folder holds nothing but an older site, and return the files of that site.

    Hidden files may stay. Raises `VitvizError` if there is any other file.
    """
    old: set[Path] = set()
    try:
        if (folder / LIST).is_file():
            named = (folder / str(name) for name in json.loads((folder / LIST).read_text("utf-8")))
            inside = folder.resolve()
            old = {
                file for file in named if file.is_file() and file.resolve().is_relative_to(inside)
            }
        inner = folder / FILES
        entries = [*folder.iterdir(), *(inner.iterdir() if inner.is_dir() else ())]
        held = [one for one in entries if not one.name.startswith(".") and one != inner]
    except (OSError, ValueError, TypeError) as error:
        raise VitvizError(f"the folder {folder} cannot be used: {error}") from error
    if left := [entry.relative_to(folder).as_posix() for entry in held if entry not in old]:
        raise VitvizError(f"{folder} holds {min(left)}, which is of no site; name another folder")
    return old


def _replaced(folder: Path, partial: Path, old: set[Path]) -> None:
    """Replace the old site by the new files; before that, write a list of both."""
    names = [file.relative_to(partial) for file in partial.rglob("*") if file.is_file()]
    both = {*names, *(path.relative_to(folder) for path in old)}
    write_text(folder / LIST, json.dumps([path.as_posix() for path in both]))
    (folder / FILES).mkdir(exist_ok=True)
    # The page last but for the list: an interrupted copy leaves the old page with its files.
    for name in sorted(names, key=lambda name: (name.name == LIST, name.suffix == ".html")):
        (partial / name).replace(folder / name)
    for path in old - {folder / name for name in names}:
        path.unlink(missing_ok=True)


def _offered(models: Sequence[str]) -> dict[str, LoadedModel]:
    """Load the models of the page, by name."""
    offered: dict[str, LoadedModel] = {}
    for name in models or [*(one for one in list_models() if one not in CURATED), *list_heads()]:
        loaded = settled(load(name, device="cpu"))
        in_page.check(loaded.card)
        key = loaded.card.name
        if key in offered:
            raise WeightsError(f"two models of the site are called {key}; rename a file")
        offered[key] = loaded
    return offered


def _fitting(examples: Sequence[Example], key: str) -> list[Example]:
    """The examples of a model: those in the row; for heads of a lesson those of the lesson."""
    return [example for example in examples if example.shown != (key in list_heads())]


def _model(
    writer: _Writer,
    key: str,
    loaded: LoadedModel,
    examples: Sequence[Example],
    others: Mapping[str, dict[str, Any]],
    served: bool,
) -> dict[str, Any]:
    """The entry of a model in the page; writes the files of its weights and its examples.

    `others`: the entries before it. A head on the trunk of one of them needs no weights but its
    own.
    """
    vit = copy.deepcopy(loaded.vit).half().float()  # as the page will have it
    loaded = replace(loaded, vit=vit)
    stem, analyzed, subject = _stem(key), {}, {}
    for example in examples:
        begins = {"model": key, "example": _key(example)} == START_LINK
        wanted = (START["layer"], START["token"]) if begins else None
        payload = pack(analyze(loaded, Path(example.path)), film=True, first=wanted)
        subject = _here(payload.manifest["model"])
        subject["key"]["name"] = key
        sent = {name: value for name, value in payload.manifest.items() if name != "model"}
        sent["pass"]["id"] = f"{key}/{_key(example)}"  # the same site whenever it is written
        sent["files"] = {
            name: {"late": True}
            if in_page.MADE.fullmatch(name)
            else _placed(writer, f"{stem}-{name}.js", payload.files[file["path"]])
            for name, file in sent["files"].items()
        }
        sent |= {"start": START} if begins else {}
        data = value_file(sent).encode()
        analyzed[_key(example)] = writer.add(f"{stem}-{_key(example)}.js", data)
    return {
        **in_page.named(subject),
        "path": writer.add(f"{stem}.js", value_file(subject).encode()),
        "examples": analyzed,
        "weights": _weights(writer, key, loaded, others, served),
        "twin": _twin(writer, key, loaded, examples[0]),
    }


def _weights(
    writer: _Writer,
    key: str,
    loaded: LoadedModel,
    others: Mapping[str, dict[str, Any]],
    served: bool,
) -> dict[str, str]:
    """Paths of the weights of a model; "head": a head in base64, for the trunk that they hold."""
    taught = loaded.card.taught if key in list_heads() else None
    if taught is not None and taught.base in others:
        head = base64.b64encode(in_page.head_of(loaded, taught.base)).decode()
        return {**others[taught.base]["weights"], "head": head}
    weights = in_page.weights_of(loaded, torch.float16)
    path = writer.add(f"{_stem(key)}.safetensors", weights)
    if served:
        return {"path": path}
    return {"path": path, "script": writer.add(f"{_stem(key)}-weights.js", _in_base64(weights))}


def _here(model: dict[str, Any]) -> dict[str, Any]:
    """A manifest's model without features that need a server: other sizes, some explainers."""
    explainers = explanations.without_host(model["explainers"])
    return {**model, "sizes": [], "explainers": explainers}


def _twin(
    writer: _Writer, key: str, loaded: LoadedModel, example: Example
) -> dict[str, str] | None:
    """The untrained twin: how to draw its weights, and a manifest that holds for every picture."""
    if (found := in_page.twin_of(loaded)) is None:
        return None
    (other, drawn), stem = found, f"{_stem(key)}-untrained"
    payload = pack(analyze(other, Path(example.path)))
    manifest = payload.manifest
    manifest["model"] = _here(manifest["model"])
    manifest["model"]["key"]["name"] = key
    manifest["pass"]["id"] = f"{key}/untrained"  # the same site whenever it is written
    manifest["files"] = {
        name: _placed(writer, f"{stem}-{name}.js", payload.files[file["path"]])
        for name, file in manifest["files"].items()
        if not in_page.NOT_OF_TWIN.fullmatch(name)
    }
    return {
        "draws": writer.add(f"{stem}-draws.js", value_file(drawn).encode()),
        "like": writer.add(f"{stem}.js", value_file(manifest).encode()),
    }


def _placed(writer: _Writer, name: str, data: bytes) -> dict[str, Any]:
    """Put a small file of a payload into the manifest; write a larger one beside it."""
    if len(data) <= MOST_INLINE_BYTES:
        return {"data": base64.b64encode(data).decode(), "size": len(data)}
    return {"path": writer.add(name, _in_base64(data)), "size": len(data)}


def _in_base64(data: bytes) -> bytes:
    """Bytes as a script: pages opened as files can fetch nothing else."""
    return value_file(base64.b64encode(data).decode()).encode()


def _example(writer: _Writer, example: Example) -> dict[str, Any]:
    return {
        "names": {ENGLISH: str(example.name), **in_others(example.name)},
        "thumbnail": writer.add(f"{_key(example)}.jpg", example.thumbnail()),
        "photo": writer.add(f"{_key(example)}-photo.js", _in_base64(example.read())),
        "file": Path(example.path).name,
        "model": example.model,
        "shown": example.shown,
    }


def _key(example: Example) -> str:
    return Path(example.path).stem


def _stem(key: str) -> str:
    """The name of a model as the beginning of a file's name."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in key)[:60]


def _page(writer: _Writer, site: dict[str, Any]) -> str:
    """index.html, with preload hints for the files that it shows first."""
    viewer = writer.add("vitviz.js", as_file().encode())
    style = writer.add("vitviz.css", f"{css()}\n{alone_css()}".encode())
    start = site["models"][site["start"]["model"]]
    hints = (viewer, start["path"], start["examples"][site["start"]["example"]])
    title = f"vitviz · {say(Message('site.title'), site['language'] or ENGLISH)}"
    return Template((HERE / "index.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        language=site["language"] or ENGLISH,
        style=style,
        hints="\n".join(f'<link rel="preload" as="script" href="{hint}">' for hint in hints),
        site=json.dumps(site, ensure_ascii=True).replace("<", "\\u003c"),
        viewer=json.dumps(viewer),
        alone=alone(),
    )


def _terms(loaded: LoadedModel) -> str:
    details = loaded.card.details
    terms = details.get("terms") or details.get("license")
    return str(terms or "terms unknown: the owner of the weights says what may be done with them")


def _of_pictures() -> str:
    """The terms of the examples, as their README has them."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    return "example pictures: " + text.partition("\n\n")[2].partition("\n")[0]


def _readme(terms: Sequence[str], lacks: Sequence[str], size: int, served: bool) -> str:
    """README.md of the site, with the head that makes a folder of files a Space."""
    text = Template((HERE / "space.txt").read_text(encoding="utf-8"))
    lists = {"terms": terms, "lacks": lacks}
    items = {name: "\n".join(f"- {line}" for line in lines) for name, lines in lists.items()}
    opened = "" if served else ", or open\n`index.html` by a double click"
    return text.substitute(items, size=f"{size / 1e6:.1f} MB", double_click=opened)
