"""The bundle: all ES modules of the viewer as one text that defines nothing global."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from ..languages import dictionary, languages

HERE = Path(__file__).resolve().parent
STRINGS = HERE / "text" / "strings.js"  # reads a folder, which a browser cannot
STYLES = (
    "viewer.css",
    "panels.css",
    "drawings.css",
    "beside.css",
    "explain.css",
    "lessons.css",
    "teaching.css",
    "experiment.css",
)
CHANGES = r"^(did|in)_|_patch(es)?$"  # texts that say what an intervention does, see strings.js

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";[ \t]*\n', re.MULTILINE)
_EXPORT = re.compile(
    r"^export (async function\*?|function\*?|const|class) +([A-Za-z_$][\w$]*)", re.MULTILINE
)
_COMMENT = re.compile(r"^[ \t]*/\*\*.*?\*/[ \t]*\n", re.MULTILINE | re.DOTALL)
_LEFT_OVER = re.compile(r"^[ \t]*(import|export)\b.*", re.MULTILINE)


@cache
def bundle() -> str:
    """The viewer as one expression, for a classic script: `const viewer = <bundle>`."""
    return join(HERE / "main.js", "vitviz.js")


def as_file() -> str:
    """The viewer as a file of its own, for `load` of load.js."""
    return f"document.currentScript.viewer = {bundle()}"


@cache
def load() -> str:
    """`load` of load.js as an expression, for a page that fetches that file."""
    return f"{_joined(HERE / 'load.js', '')}.load"


def join(entry: Path, name: str) -> str:
    """A module and all its imports as one expression, whose value is what the module exports.

    Every module becomes a function with its own scope, so equal names in two modules cannot
    clash; a module runs after those that it imports. The syntax is limited to
    `import {a, b as c} from "./x.js";` and `export` before function, async function, const, class.
    Raises ValueError for anything else, and for modules that import each other in a circle.
    `name` is what a debugger shows as the file.
    """
    return f"{_joined(entry, _strings())}\n//# sourceURL={name}\n"


def _joined(entry: Path, strings: str) -> str:
    """The expression of `join`; `strings` is the module in the place of `STRINGS`."""
    order: list[Path] = []
    _visit(entry.resolve(), order, ())
    names = {path: f"module_{i}" for i, path in enumerate(order)}
    body = "\n".join(_wrap(path, names, strings) for path in order)
    if "</script" in body.lower() or "<!--" in body:
        raise ValueError("the modules must not contain the end of a script element")
    return f'(() => {{\n"use strict";\n{body}\nreturn {names[order[-1]]};\n}})()'


@cache
def language_of() -> str:
    """`languageOf` of the viewer as an expression, for the other scripts of a page."""
    return f"{_joined(HERE / 'text' / 'language.js', _strings(empty=True))}.languageOf"


@cache
def css() -> str:
    """The style of the viewer, without backslash, backtick or ${, so that it fits in templates."""
    return "\n".join((HERE / "style" / name).read_text(encoding="utf-8") for name in STYLES)


def _visit(path: Path, order: list[Path], above: tuple[Path, ...]) -> None:
    if path in above:
        circle = " -> ".join(p.name for p in (*above[above.index(path) :], path))
        raise ValueError(f"modules import each other in a circle: {circle}")
    if path in order:
        return
    source = "" if path == STRINGS else path.read_text(encoding="utf-8")
    for _, target in _IMPORT.findall(source):
        _visit((path.parent / target).resolve(), order, (*above, path))
    order.append(path)


def _strings(*, empty: bool = False) -> str:
    """The module that replaces `STRINGS`: it contains the texts, or only their languages."""
    texts: dict[str, dict[str, Any]] = {
        name: {one: {} if empty else said(one) for one in languages()}
        for name, said in (("STRINGS", _texts), ("GLOSSARY", _glossary))
    }
    if not empty:
        texts["SNIPPETS"] = {
            kind: (HERE / "snippets" / f"with_{kind}.py").read_text(encoding="utf-8")
            for kind in ("vitviz", "torch")
        }
    return "".join(
        f"export const {name} = {json.dumps(said, ensure_ascii=False)};\n"
        for name, said in texts.items()
    )


def _glossary(language: str) -> dict[str, str]:
    return dictionary(language, "glossary")


def _texts(language: str) -> dict[str, str]:
    """What `STRINGS` has of a language: its texts for the viewer, and others with a prefix."""
    others = (("lesson", "lessons", ""), ("experiment", "experiments", CHANGES))
    return dictionary(language, "viewer") | {
        f"{prefix}.{key}": text
        for prefix, subject, named in others
        for key, text in dictionary(language, subject).items()
        if re.search(named, key)
    }


def _wrap(path: Path, names: dict[Path, str], strings: str) -> str:
    source = strings if path == STRINGS else path.read_text(encoding="utf-8")
    source = _COMMENT.sub("", source)

    def bind(match: re.Match[str]) -> str:
        renamed = re.sub(r"\s+as\s+", ": ", " ".join(match[1].split()))
        return f"const {{{renamed}}} = {names[(path.parent / match[2]).resolve()]};\n"

    source = _IMPORT.sub(bind, source)
    exported = [name for _, name in _EXPORT.findall(source)]
    source = _EXPORT.sub(r"\1 \2", source)
    if odd := _LEFT_OVER.search(source):
        raise ValueError(f"{path.name}: the bundle does not understand {odd[0].strip()!r}")
    return (
        f"const {names[path]} = (() => {{ // {path.name}\n{source.strip()}\n"
        f"return {{ {', '.join(exported)} }};\n}})();"
    )
