"""Mutants: one small fault at a time is put into the numbers of vitviz, and a test has to notice.

    python -m tests.mutants --seed 1 --count 60

draws a function of vitviz/probe, or of maths, engine and learn in vitviz/viewer, and then one fault
in it (a sign, a bound, an index, an operator, a constant, an operand left out), so often as asked,
puts each alone into a copy of the tree, and runs the tests of that room there until one fails. What
no test notices is printed: it lacks an example worked by hand, or changes nothing that anybody can
see. The latter are named in equivalent_mutants.json, each with its reason. One mutant takes seconds
to minutes, so this is no part of the ordinary tests. It needs Node, and what `npm ci` installs in
tests/js.
"""

import argparse
import ast
import compileall
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "vitviz/probe"
JAVASCRIPT = tuple(f"vitviz/viewer/{room}" for room in ("maths", "engine", "learn"))
NOT_COPIED = (".git", ".venv*", ".*_cache", ".gradio", "__pycache__", "node_modules", "runs", "out")
SECONDS = 3600  # of one run of tests, on a machine that has other work
# Tests that import these are tests of another room.
OTHER_ROOMS = tuple(f"vitviz.{one}" for one in ("cli", "draw", "train", "viewer", "web"))
ROOM = ("vitviz.probe", "vitviz.Analysis")

SWAPS = {
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">"},
    **{"==": "!=", "!=": "==", "===": "!==", "!==": "==="},
    **{"is": "is not", "is not": "is", "in": "not in", "not in": "in"},
    **{"and": "or", "or": "and", "&&": "||", "||": "&&", "??": "||"},
    **{"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*"},
    **{"&": "|", "|": "&", "<<": ">>", ">>": "<<"},
    **{"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|="},
}
Span = tuple[int, int]  # of characters of a file
Edit = tuple[Span, str]  # what is replaced, and by what


@dataclass(frozen=True)
class Mutant:
    """One fault: in `file`, the characters of `span` become `new`."""

    file: str
    function: str
    number: int  # of the line
    line: str
    becomes: str
    span: Span
    new: str

    KEY = ("file", "function", "line", "becomes")  # stays when other lines of the file change

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(getattr(self, part) for part in self.KEY)

    def __str__(self) -> str:
        place = f"{self.file}:{self.number} {self.function}"
        return f"{place}\n      - {self.line}\n      + {self.becomes}"


# --- the edits of an expression, in both languages ------------------------------------------------


def swap(text: str, operands: list[Span]) -> Iterator[Edit]:
    """Another operator between each two operands, which may stand in brackets."""
    for left, right in pairwise(operands):
        between = re.fullmatch(r"[\s()]*(.*?)[\s()]*", text[left[1] : right[0]], re.DOTALL)
        if between[1] in SWAPS:
            start, end = (left[1] + at for at in between.span(1))
            yield (start, end), SWAPS[between[1]]


def drop(text: str, whole: Span, operands: list[Span], operator: str) -> Iterator[Edit]:
    """Each operand of `and` and `or` left out."""
    for out in operands:
        kept = [f"({text[slice(*one)]})" for one in operands if one != out]
        yield whole, f" {operator} ".join(kept)


def sign(start: int, operator: str) -> Edit:
    """Without the `not` or the minus in front."""
    return (start, start + len(operator)), ""


def number(span: Span, value: object) -> Iterator[Edit]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield span, str(value + 1)


# --- Python ---------------------------------------------------------------------------------------


def python_functions(text: str) -> Iterator[tuple[str, list[Edit]]]:
    """The name and the edits of every function and method of a file."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:at])) for at in range(len(lines) + 1)]

    def place(line: int, column: int) -> int:  # `ast` counts bytes
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def span(node: ast.AST) -> Span:
        first = place(node.lineno, node.col_offset)
        return first, place(node.end_lineno, node.end_col_offset)

    def edits(node: ast.AST) -> Iterator[Edit]:
        match node:
            case ast.Compare():
                yield from swap(text, [span(node.left), *map(span, node.comparators)])
            case ast.BinOp():
                yield from swap(text, [span(node.left), span(node.right)])
            case ast.AugAssign():
                yield from swap(text, [span(node.target), span(node.value)])
            case ast.BoolOp():
                operands = [span(one) for one in node.values]
                yield from swap(text, operands)
                operator = "and" if isinstance(node.op, ast.And) else "or"
                yield from drop(text, span(node), operands, operator)
            case ast.UnaryOp():
                yield sign(span(node)[0], "not" if isinstance(node.op, ast.Not) else "-")
            case ast.Constant(value=bool()):
                yield span(node), str(not node.value)
            case ast.Constant():
                yield from number(span(node), node.value)
            case ast.Subscript(slice=ast.Name() as index):
                yield span(index), f"{index.id} + 1"
            case ast.Call(func=ast.Name(id="range"), args=[*_, last]):
                yield span(last), f"({text[slice(*span(last))]}) - 1"

    def below(node: ast.AST) -> Iterator[Edit]:
        yield from edits(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                # Python 3.11 does not know where the parts of an f-string are.
                if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                    yield from below(child)

    def functions(node: ast.AST, within: str) -> Iterator[tuple[str, list[Edit]]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                yield within + child.name, list(below(child))
            elif isinstance(child, ast.ClassDef):
                yield from functions(child, f"{within}{child.name}.")

    yield from functions(ast.parse(text), "")


# --- JavaScript -----------------------------------------------------------------------------------


def javascript_functions(text: str, tree: dict[str, Any]) -> Iterator[tuple[str, list[Edit]]]:
    """The name and the edits of everything at the top of a file that is or holds a function."""

    def span(node: dict[str, Any]) -> Span:
        return tuple(node["range"])

    def edits(node: dict[str, Any]) -> Iterator[Edit]:
        match node:
            case {"left": left, "right": right, "operator": operator} if operator != "in":
                yield from swap(text, [span(left), span(right)])
                if node["type"] == "LogicalExpression":
                    yield from drop(text, span(node), [span(left), span(right)], operator)
            case {"type": "UnaryExpression", "operator": "!" | "-" as operator}:
                yield sign(span(node)[0], operator)
            case {"type": "Literal", "value": bool() as value}:
                yield span(node), str(not value).lower()
            case {"type": "Literal", "value": value}:
                yield from number(span(node), value)
            case {"type": "MemberExpression", "computed": True, "property": index}:
                if index["type"] == "Identifier":
                    yield span(index), f"{index['name']} + 1"

    def below(node: Any) -> Iterator[Edit]:
        if isinstance(node, list):
            for one in node:
                yield from below(one)
        elif isinstance(node, dict):
            yield from edits(node)
            for value in node.values():
                yield from below(value)

    for statement in tree["body"]:
        made = statement.get("declaration") or statement
        if "Function" in json.dumps(made):
            (declared,) = made.get("declarations", [made])
            name = (declared.get("id") or {}).get("name", "as it is loaded")  # what a worker hears
            yield name, list(below(made))


# --- drawing --------------------------------------------------------------------------------------


def python_texts(root: Path) -> dict[Path, str]:
    """The files of the instruments, group by group."""
    return {path: path.read_text("utf-8") for path in sorted((root / PYTHON).rglob("*.py"))}


def functions_of(root: Path) -> dict[tuple[str, str], list[Mutant]]:
    """The mutants of each function, by its file and name."""
    scripts = sorted(path for room in JAVASCRIPT for path in (root / room).glob("*.js"))
    command = ["node", "tests/js/syntax.js", *map(str, scripts)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stderr}\nThe JavaScript cannot be read; run `npm ci` in tests/js first.")
    found: dict[tuple[str, str], list[Mutant]] = {}
    trees = dict(zip(scripts, json.loads(done.stdout), strict=True))
    texts = python_texts(root) | {path: path.read_text("utf-8") for path in scripts}
    for path, text in texts.items():
        file = str(path.relative_to(root))
        assert text.isascii() or max(text) < "\U00010000"  # JavaScript counts in UTF-16
        tree = trees.get(path)
        parts = javascript_functions(text, tree) if tree else python_functions(text)
        for name, edits in parts:
            mutants = [mutant(file, name, text, edit) for edit in edits]
            found[file, name] = list(dict.fromkeys(mutants))
    return {place: mutants for place, mutants in found.items() if mutants}


def mutant(file: str, function: str, text: str, edit: Edit) -> Mutant:
    (start, end), new = edit
    first, last = text.rindex("\n", 0, start) + 1, text.index("\n", end)
    line, becomes = text[first:last], text[first:start] + new + text[end:last]
    line, becomes = (" ".join(part.split()) for part in (line, becomes))
    return Mutant(file, function, text.count("\n", 0, start) + 1, line, becomes, (start, end), new)


def draw(functions: dict[tuple[str, str], list[Mutant]], seed: int, count: int) -> list[Mutant]:
    """First a function and then a mutant of it, so that long functions do not take all of them."""
    chance, places, drawn = random.Random(seed), list(functions), []
    while len(drawn) < count:
        one = chance.choice(functions[chance.choice(places)])
        if one not in drawn:
            drawn.append(one)
    return drawn


# --- running --------------------------------------------------------------------------------------


def imports(path: Path) -> set[str]:
    """All that a file imports when it is imported, in full."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{one.name}" for one in node.names}
            found.add(node.module)
    return found


def stages(root: Path, file: str) -> list[list[str]]:
    """Test files for the mutants of a file, in two stages.

    First the files named after it, and those of its room that import it; then the other tests of
    the room, and tests of other rooms that import it, except those in tests/train. Of JavaScript
    first the tests that contain its path, then all others.
    """
    stem = Path(file).stem
    if file.endswith(".js"):
        texts = {path: path.read_text("utf-8") for path in sorted(root.glob("tests/js/*.test.js"))}
        first = [
            path for path, text in texts.items() if file.removeprefix("vitviz/viewer/") in text
        ]
        rest = list(texts)
    else:
        folders = ("tests", "tests/web", "tests/train")
        files = (path for folder in folders for path in sorted((root / folder).glob("test_*.py")))
        tests = {path: imports(path) for path in files}
        room = {
            path: names
            for path, names in tests.items()
            if any(name.startswith(ROOM) for name in names)
            and not any(name.startswith(OTHER_ROOMS) for name in names)
        }
        module = file.removesuffix(".py").replace("/", ".")
        naming = [path for path, names in tests.items() if module in names]
        first = [path for path in tests if path.stem.startswith(f"test_{stem}")]
        first += [path for path in naming if path in room]
        rest = [*room, *(path for path in naming if "train" not in path.parts)]
    rest = [path for path in rest if path not in first]
    return [
        [str(path.relative_to(root)) for path in dict.fromkeys(part)]
        for part in (first, rest)
        if part
    ]


def passes(root: Path, tests: list[str], seconds: float | None = None) -> bool:
    """Whether all tests pass; the first one that does not ends the run."""
    if tests[0].endswith(".js"):
        command = ["node", "--test", *tests]
    else:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    # Python would take a changed file for the one that it has compiled, were it to write these.
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        command, cwd=root, env=environ, capture_output=True, timeout=seconds, check=False
    )
    return run.returncode == 0


def fate(root: Path, one: Mutant) -> str:
    """What becomes of a mutant: "caught", "hangs" (which somebody notices too) or "SURVIVES"."""
    path = root / one.file
    text = path.read_text("utf-8")
    path.write_text(text[: one.span[0]] + one.new + text[one.span[1] :], "utf-8")
    try:
        survives = all(passes(root, tests, SECONDS) for tests in stages(root, one.file))
        return "SURVIVES" if survives else "caught"
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        path.write_text(text, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--only", type=int, nargs="*", help="the numbers of these mutants alone")
    chosen = parser.parse_args()
    functions = functions_of(ROOT)
    named = json.loads(Path(__file__).with_name("equivalent_mutants.json").read_text("utf-8"))
    reasons = {tuple(one[part] for part in Mutant.KEY): one["reason"] for one in named}
    for key in reasons.keys() - {one.key for mutants in functions.values() for one in mutants}:
        print("equivalent_mutants.json names what is not there:", *key)
    drawn = dict(enumerate(draw(functions, chosen.seed, chosen.count), 1))
    drawn = {at: one for at, one in drawn.items() if not chosen.only or at in chosen.only}
    fates: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "vitviz")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_COPIED))
        compileall.compile_dir(copy, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        files = {one.file for one in drawn.values() if one.key not in reasons}
        needed = {test for file in files for part in stages(copy, file) for test in part}
        for kind in (".py", ".js"):
            tests = sorted(test for test in needed if test.endswith(kind))
            if tests and not passes(copy, tests):
                sys.exit(f"without any mutant some of these fail: {' '.join(tests)}")
        for at, one in drawn.items():
            reason = reasons.get(one.key)
            fates[at] = "equivalent" if reason else fate(copy, one)
            print(f"{at:3} {fates[at]:10} {one}", flush=True)
            if reason:
                print(f"      {reason}")
    print(*(f"{count} {word}" for word, count in Counter(fates.values()).items()), sep=", ")
    survivors = [str(at) for at, word in fates.items() if word == "SURVIVES"]
    sys.exit(f"to run the survivors again: --only {' '.join(survivors)}" if survivors else 0)


if __name__ == "__main__":
    main()
