"""The bundle: all ES modules of the viewer as one text that defines nothing global.

Indentation, comments and empty lines are left out.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..languages import ENGLISH, dictionary, languages
from .explanations import of_digits

VIEWER = Path(__file__).resolve().parents[1] / "viewer"
# Modules that the bundle replaces: most of them read files, which a browser cannot.
STRINGS = VIEWER / "text" / "strings.js"
SNIPPETS = VIEWER / "text" / "snippets.js"
PHOTO = VIEWER / "text" / "phototexts.js"
PLAY = VIEWER / "play" / "playtexts.js"
PLAY_STYLE = VIEWER / "play" / "playstyle.js"
EXPLAINERS = VIEWER / "play" / "explainers.js"  # has an empty list
# A worker made from a blob cannot import: the worker.js beside each of these becomes one text.
WORKERS = tuple(VIEWER / room / "workertext.js" for room in ("engine", "learn"))
STYLES = (
    "viewer.css",
    "panels.css",
    "drawings.css",
    "beside.css",
    "explain.css",
    "lessons.css",
    "teaching.css",
    "experiment.css",
    "first.css",
)
DIGITS = VIEWER.parent / "train" / "digits"  # sheets, to train with
LEFT = "document.currentScript.viewer"  # property of a script element that load.js reads
# Keys of texts on interventions (see strings.js) and on results of fair tests.
CHANGES = r"^(did|in)_|_patch(es)?$|^fair_"
# Keys of texts of the viewer that come with those of lessons: the list of lessons, the gap between
# guess and truth, the sentences and figures of a step, worksheets and keys, a lesson of one's own.
IN_LESSONS = re.compile(
    r"lesson(sIntro|Minutes|Gap_\w+|Right|Close|Far|Wrong|TeacherLinks|TeacherHelp|StepLink"
    r"|Blank|Answer|OnPage|sKept|sSent|NoOther|Elsewhere|Waiting|Failed|Cannot|Found|Recall|Own"
    r"|Range|Meant|MeantTitle|Painted|Is|Your?|Model|Block|Step|Following|Skip|Done"
    r"|Moved|PutBack|Layer\w+)|key(Tells|Elsewhere)|sheet[A-Z]\w+"
    r"|polls?(?!Title|Code$)[A-Z]\w+|room[A-Z]\w+|evidence\w+"
    r"|own(Help|Added|Photo|Way\w*|Lacks_\w+|TryTitle|Up|Down|Remove|Start|Saved|Opened|Take|Clear\w*)"
    r"|own_\w+|own(Title|Add|Link|Open|(Long|No|Many|Large|Broken)[A-Z]\w+)"
    r"|call(Lost|Brought(Start)?|ed\w+)"
)
# Keys of texts of the viewer that the playground shares: the drawing field, several files.
SHARED = re.compile(r"draw(Field|Help|Undo|Clear|Width|Ink|Pen)|photoOnly$")

OF_HEADS = ("left_out", "none_of_these")  # keys in models.json of texts about a taught head

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";[ \t]*\n', re.MULTILINE)
_EXPORT = re.compile(
    r"^export (async function\*?|function\*?|const|class) +([A-Za-z_$][\w$]*)", re.MULTILINE
)
_COMMENT = re.compile(r"^[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)[ \t]*\n", re.MULTILINE | re.DOTALL)
# A type within a line, or a comment behind one; without quotes, so that it is no part of a string.
_BESIDE = re.compile(r"/\*\* ?@type (?:(?!\*/).)*\*/ ?|[ \t]+// [^'\"`\n]*$", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_BLANK = re.compile(r"\n\n+")
# Comments behind a declaration of a style, and line ends beside a brace, semicolon or comma. Other
# line ends stand for the space between two words.
_NEEDLESS = re.compile(r"[ \t]*/\*.*?\*/|(?<=[{};,])\n|\n(?=[{}])")
_LEFT_OVER = re.compile(r"^[ \t]*(import|export)\b.*", re.MULTILINE)


@cache
def bundle() -> str:
    """The viewer as one expression, for a classic script: `const viewer = <bundle>`."""
    return join(VIEWER / "main.js", "vitviz.js")


def as_file() -> str:
    """The viewer as a file of its own, for `load` of load.js. It has only English texts; `learn` of
    latetexts.js adds other languages.
    """
    return f"{LEFT} = {join(VIEWER / 'main.js', 'vitviz.js', (ENGLISH,))}"


def gradio_file(language: str) -> str:
    """The viewer and its host in Gradio's page as one file for `load`, with the texts of a
    language.
    """
    return f"{LEFT} = {join(VIEWER / 'gradioapp.js', 'vitviz.js', (language,))}"


def gradio_head() -> str:
    """A script for the head of Gradio's page, before everything else: `window.vitviz`."""
    return f"window.vitviz = {_joined(VIEWER / 'hosts/gradiohead.js', {})}.createHead();"


def texts_files() -> dict[str, str]:
    """Files for `load` with texts, by the names that latetexts.js requests: one per language, and
    one per language with its lessons.
    """
    texts = {
        language: {name: _whole(texts_of, language) for name, texts_of in TEXTS.items()}
        for language in languages()
    }
    lessons = {
        f"lessons-{language}": {"STRINGS": _whole(_lessons, language)} for language in languages()
    }
    return {name: value_file(value) for name, value in (texts | lessons).items()}


def running_file() -> str:
    """The engine as a file of its own for `load`: `running` of localengine.js."""
    return f"{LEFT} = {join(VIEWER / 'localengine.js', 'vitviz-running.js', ())}"


def playing() -> str:
    """The playground as an expression with the exports of play/playground.js."""
    return join(VIEWER / "play" / "playground.js", "vitviz-play.js", ())


def playing_file() -> str:
    """The playground as a file of its own, for `load`."""
    return f"{LEFT} = {playing()}"


def digits() -> dict[str, bytes]:
    """The sheets of digits that the playground trains with, by the names of their files."""
    return {f"{part}.png": (DIGITS / f"{part}.png").read_bytes() for part in ("train", "test")}


def alone() -> str:
    """The host of a page without a server, as an expression with the exports of hosts/site.js."""
    return join(VIEWER / "hosts/site.js", "vitviz-alone.js", ())


def alone_css() -> str:
    """The style of the elements that `alone` adds above the viewer."""
    return (VIEWER / "style" / "alone.css").read_text(encoding="utf-8")


def value_file(value: object) -> str:
    """Any JSON as a file for `load`, which pages opened from files can read, too."""
    return f"{LEFT} = {_json(value)};\n"


def _json(value: object) -> str:
    """JSON without spaces, with letters of all languages as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@cache
def load() -> str:
    """`load` of load.js as an expression, for a page that fetches that file."""
    return f"{_joined(VIEWER / 'hosts/load.js', {})}.load"


def join(entry: Path, name: str, spoken: Collection[str] | None = None) -> str:
    """A module and all its imports as one expression, whose value has the module's exports.

    Every module becomes a function with its own scope, so equal names in two modules cannot
    clash; a module runs after those that it imports. The syntax is limited to
    `import {a, b as c} from "./x.js";` and `export` before function, async function, const, class.
    Raises ValueError for anything else, and for modules that import each other in a circle.
    `name`: the file name for debuggers; `spoken`: languages of the texts, by default all.
    """
    made = {
        STRINGS: _strings(spoken),
        SNIPPETS: _snippets(),
        PHOTO: _by_language("PHOTO", _photo),
        PLAY: _by_language("TEXTS", _play),
        PLAY_STYLE: f"export const STYLE = {_json(_style('play.css'))};\n",
        EXPLAINERS: f"export const EXPLAINERS = {_json(of_digits())};\n",
    } | {path: _worker(path) for path in WORKERS}
    return f"{_joined(entry, made)}\n//# sourceURL={name}\n"


def _joined(entry: Path, made: Mapping[Path, str]) -> str:
    """The expression of `join`; `made`: sources that replace modules of the tree."""
    order: list[Path] = []
    _visit(entry.resolve(), order, (), made)
    names = {path: f"m{i}" for i, path in enumerate(order)}
    body = "\n".join(_wrap(path, names, made) for path in order)
    if "</script" in body.lower() or "<!--" in body:
        raise ValueError("the modules must not contain the end of a script element")
    return f'(() => {{\n"use strict";\n{body}\nreturn {names[order[-1]]};\n}})()'


@cache
def language_of() -> str:
    """`languageOf` of the viewer as an expression, for the other scripts of a page."""
    made = {STRINGS: _strings(())}
    return f"{_joined(VIEWER / 'text' / 'language.js', made)}.languageOf"


@cache
def css() -> str:
    """The style of the viewer, without backslash, backtick or ${, so that it fits in templates."""
    return "\n".join(map(_style, STYLES))


def _style(name: str) -> str:
    style = without_comments((VIEWER / "style" / name).read_text(encoding="utf-8"))
    return _NEEDLESS.sub("", style)


def without_comments(text: str) -> str:
    """A script or style without indentation, comments and empty lines."""
    return _BLANK.sub("\n", _INDENT.sub("", _BESIDE.sub("", _COMMENT.sub("", text))))


@cache
def _imported(by: Path, target: str) -> Path:
    """The file that a module names in an import."""
    return (by.parent / target).resolve()


def _visit(
    path: Path, order: list[Path], above: tuple[Path, ...], made: Mapping[Path, str]
) -> None:
    if path in above:
        circle = " -> ".join(p.name for p in (*above[above.index(path) :], path))
        raise ValueError(f"modules import each other in a circle: {circle}")
    if path in order:
        return
    source = "" if path in made else path.read_text(encoding="utf-8")
    for _, target in _IMPORT.findall(source):
        _visit(_imported(path, target), order, (*above, path), made)
    order.append(path)


@cache
def served(path: Path) -> str:
    """JavaScript of a function that returns the exports of the serving.js beside one of `WORKERS`.

    A bundle contains the function once. The page calls it where it may have no worker; otherwise
    the script of the worker is made from its text.
    """
    return _run_on(f"() => {_joined(path.with_name('serving.js'), {})}")


@cache
def _worker(path: Path) -> str:
    """The module in place of one of `WORKERS`. Its worker is a classic script."""
    serving = path.with_name("serving.js")
    names = [name for _, name in _EXPORT.findall(serving.read_text(encoding="utf-8"))]
    asks = {serving: "".join(f"export const {name} = made.{name};\n" for name in names)}
    text = _json(_joined(path.with_name("worker.js"), asks))
    return (
        f"const make = {served(path)};\n"
        "export const serving = (...of) => make().serving(...of);\n"
        f'export const WORKER = "const made = (" + make + ")();\\n" + {text};\n'
    )


def _by_language(name: str, texts_of: Callable[[str], dict[str, str]]) -> str:
    """A module with texts in all languages."""
    texts = {language: texts_of(language) for language in languages()}
    return f"export const {name} = {_json(texts)};\n"


def _photo(language: str) -> dict[str, str]:
    """Texts about photos, the camera, many photos and experiments."""
    experiments = dictionary(language, "experiments").items()
    texts = dictionary(language, "photo") | dictionary(language, "camera")
    texts |= dictionary(language, "many")
    return texts | {f"experiment.{key}": text for key, text in experiments}


def _play(language: str) -> dict[str, str]:
    """Texts of the playground."""
    viewer = dictionary(language, "viewer").items()
    ours = dictionary(language, "play") | dictionary(language, "own")
    ours |= {key: text for key, text in dictionary(language, "models").items() if key in OF_HEADS}
    return ours | {key: text for key, text in viewer if SHARED.match(key)}


def _strings(spoken: Collection[str] | None = None) -> str:
    """The module that replaces `STRINGS`: the names of all languages, and the texts of those in
    `spoken`; None: all texts of all languages, including lessons.
    """
    lessons = spoken is None
    spoken = languages() if spoken is None else spoken
    texts: dict[str, dict[str, Any]] = {
        name: {
            language: _whole(texts_of, language) if language in spoken else {}
            for language in languages()
        }
        for name, texts_of in TEXTS.items()
    }
    if lessons:
        for language in spoken:
            texts["STRINGS"][language] |= _whole(_lessons, language)
    return "".join(f"export const {name} = {_json(value)};\n" for name, value in texts.items())


def _snippets() -> str:
    """The module that replaces `SNIPPETS`."""
    texts = {
        kind: (VIEWER / "snippets" / f"with_{kind}.py").read_text(encoding="utf-8")
        for kind in ("vitviz", "torch")
    }
    return f"export const SNIPPETS = {_json(texts)};\n"


def _glossary(language: str) -> dict[str, str]:
    return dictionary(language, "glossary")


def _texts(language: str) -> dict[str, str]:
    """Texts of a language in `STRINGS`: those of the viewer, less `IN_LESSONS`, and some on
    experiments.
    """
    experiments = dictionary(language, "experiments").items()
    changes = {f"experiment.{key}": text for key, text in experiments if re.search(CHANGES, key)}
    ours = dictionary(language, "viewer").items()
    return {key: text for key, text in ours if not IN_LESSONS.fullmatch(key)} | changes


def _lessons(language: str) -> dict[str, str]:
    """Texts of lessons, their plans, and the self-check before and after them; and `IN_LESSONS`."""
    prefixes = {"lessons": "lesson.", "plans": "plan.", "check": "check."}
    ours = dictionary(language, "viewer").items()
    return {key: text for key, text in ours if IN_LESSONS.fullmatch(key)} | {
        prefix + key: text
        for subject, prefix in prefixes.items()
        for key, text in dictionary(language, subject).items()
    }


def _whole(texts_of: Callable[[str], dict[str, str]], language: str) -> dict[str, str]:
    """The texts of a language; in English what it lacks, as a page may have no other language."""
    return texts_of(ENGLISH) | texts_of(language)


TEXTS = {"STRINGS": _texts, "GLOSSARY": _glossary}


def _wrap(path: Path, names: dict[Path, str], made: Mapping[Path, str]) -> str:
    source = made[path] if path in made else path.read_text(encoding="utf-8")
    source = without_comments(source)

    def bind(match: re.Match[str]) -> str:
        renamed = re.sub(r"\s+as\s+", ": ", " ".join(match[1].split()))
        return f"const {{{renamed}}} = {names[_imported(path, match[2])]};\n"

    source = _IMPORT.sub(bind, source)
    exported = [name for _, name in _EXPORT.findall(source)]
    source = _EXPORT.sub(r"\1 \2", source)
    if odd := _LEFT_OVER.search(source):
        raise ValueError(f"{path.name}: the bundle does not understand {odd[0].strip()!r}")
    return (
        f"const {names[path]} = (() => {{\n{_run_on(source.strip())}\n"
        f"return {{ {', '.join(exported)} }};\n}})();"
    )


def _run_on(source: str) -> str:
    """Join the lines of a script after an opening bracket, comma or semicolon, and before a closing
    bracket. Other line ends stay: they may end a statement, or a comment that begins with //.
    """
    parts = source.split("\n")
    for at, (before, line) in enumerate(pairwise(parts[:]), 1):
        ends = before.endswith(tuple("{([,;")) or line.startswith(tuple(")]}"))
        parts[at] = line if ends and " // " not in before else "\n" + line
    return "".join(parts)
