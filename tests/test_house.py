"""The arrows of the house: rooms import only to their left; few files import slow packages."""

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import vitviz

HOUSE = Path(__file__).resolve().parents[1] / "vitviz"
# The rooms from left to right; rooms with the same number may not import each other.
ROOMS = {
    "arguments": 0,
    "errors": 0,
    "stopping": 0,
    "whole": 0,
    "languages": 0,
    "model": 1,
    "probe": 2,
    "many": 3,
    "train": 4,
    "draw": 4,
    "payload": 4,
    "viewer": 5,
    "notebook": 6,
    "public": 7,
    "": 8,
}
# The groups of a room, in the same order; "" are the files of the room itself.
GROUPS = {
    "probe": ("capture", "measure", "intervene", "explain", ""),
    "web": ("host", "store", "compute", "service", "page", ""),
}
# "" is vitviz/__init__.py, which hands out the public names.
ROOMS |= {"web": 9, "look": 9, "layers": 9, "surveys": 10, "site": 10, "exercise": 10}
ROOMS |= {"teaching": 10, "cli": 11, "__main__": 12}
# Answers are computed without Gradio; these files show them on the page.
GRADIO = ("web/page/",)
# Which files may import a package that is slow, or that only one room should know.
GUESTS = {
    "gradio": GRADIO,
    "gradio_client": GRADIO,
    "timm": ("model/timm_models.py", "model/timm_files.py", "model/labels.py", "train/"),
    "matplotlib": ("draw/",),
}
STRANGERS = {"draw/": ("torch", "torchvision"), "payload/": ("torchvision",)}


def imports(source: str, file: str) -> set[str]:
    """Every module that a file imports, in full: `from .. import web` is `vitviz.web`."""
    found: set[str] = set()
    package = ("vitviz", *Path(file).parent.parts)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *filter(None, [node.module])))
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def of_types(source: str) -> str:
    """What stands below `if TYPE_CHECKING:` at the top of a file."""
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    return "\n".join(
        ast.unparse(line)
        for block in blocks
        if ast.unparse(block.test) == "TYPE_CHECKING"
        for line in block.body
    )


def room(name: str) -> str:
    """The room of a file ("probe/explain/case.py") or of a module ("probe.explain.case.Case")."""
    first = name.replace("/", ".").removesuffix(".py").split(".")[0]
    return first if first in ROOMS else ""


def group(name: str) -> int:
    """The place of a file or module among the groups of its room."""
    first, *parts = name.replace("/", ".").removesuffix(".py").split(".")
    groups = GROUPS.get(first, ("",))
    return groups.index(parts[0] if parts and parts[0] in groups else "")


def wrongs(source: str, file: str) -> list[str]:
    """What a file imports and should not, in words."""
    found = []
    typed = imports(of_types(source), file)  # names in annotations: no dependency of what runs
    for name in sorted(imports(source, file)):
        top, _, rest = name.partition(".")
        if top == "vitviz":
            here, there = room(file), room(rest)
            if here != there and ROOMS[there] >= ROOMS[here]:
                found.append(f"{file} imports {name}, which is not to its left")
            elif here == there and group(rest) > group(file) and name not in typed:
                found.append(f"{file} imports {name}, of a group that is not to its left")
        elif top in GUESTS and not file.startswith(GUESTS[top]):
            found.append(f"{file} imports {top}, which only {' and '.join(GUESTS[top])} may")
        for who, unwanted in STRANGERS.items():
            if file.startswith(who) and top in unwanted:
                found.append(f"{file} imports {top}")
    return found


# Each has a known hole in a torch or torchvision that requirements.txt takes (.github/SECURITY.md).
HOLES = re.compile(
    r"torch\.(export|jit|package|hub)\b|torchvision\.io|unpack_sequence|lstm|linalg\.lu\b|rot90"
    r"|nan_to_num\([^)]*\)\.(long|int)\b|torch\.load\((?!.*weights_only=True)"
)
SNIPPETS = HOUSE / "viewer" / "snippets"  # what visitors copy: texts of the page, not modules
FILES = sorted(
    str(path.relative_to(HOUSE))
    for path in HOUSE.rglob("*.py")
    if not path.is_relative_to(SNIPPETS)
)


def read(file: str) -> str:
    return (HOUSE / file).read_text("utf-8")


def opens_with_a_sentence(source: str) -> bool:
    text = ast.get_docstring(ast.parse(source)) or ""
    return text.split("\n\n")[0].endswith((".", ":"))


def test_imports_point_only_to_the_left() -> None:
    assert {"cli.py", "model/vit.py", "web/page/build.py"} < set(FILES)
    found = [wrong for file in FILES for wrong in wrongs(read(file), file)]
    assert not found, "\n".join(found)


def test_nothing_calls_what_has_a_known_hole() -> None:
    found = [f"{file}: {hole[0]}" for file in FILES if (hole := HOLES.search(read(file)))]
    assert not found, "\n".join(found)
    for line in ("torch.load(path)", "torch.export.load(x)", "x.nan_to_num(0).long()"):
        assert HOLES.search(line)
    for line in ("torch.load(path, weights_only=True)", "x.nan_to_num(0).clamp(0, 1)"):
        assert not HOLES.search(line)


def module(file: str) -> str:
    return ".".join(("vitviz", *Path(file).with_suffix("").parts)).removesuffix(".__init__")


def circles(sources: dict[str, str]) -> list[str]:
    """Modules that import each other in a circle when they are imported, as one line each."""
    modules = {module(file): file for file in sources}
    graph: dict[str, set[str]] = {}
    for name, file in modules.items():
        nodes = ast.parse(sources[file]).body
        top = "\n".join(ast.unparse(n) for n in nodes if isinstance(n, ast.Import | ast.ImportFrom))
        asked = imports(top, file)
        known = {one if one in modules else one.rpartition(".")[0] for one in asked}
        graph[name] = (known & modules.keys()) - {name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" -> ".join(error.args[1])]
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert not circles({file: read(file) for file in FILES})
    both = {"probe/a.py": "from .b import x", "probe/b.py": "import math\nfrom . import a"}
    assert circles(both) in (
        ["vitviz.probe.a -> vitviz.probe.b -> vitviz.probe.a"],
        ["vitviz.probe.b -> vitviz.probe.a -> vitviz.probe.b"],
    )
    assert not circles(both | {"probe/b.py": "def later():\n    from . import a"})


def test_a_file_opens_with_a_sentence() -> None:
    found = [file for file in FILES if not opens_with_a_sentence(read(file))]
    assert not found, "these do not say their idea in their first sentence:\n" + "\n".join(found)


LINES = 60  # of a function, without its docstring


def long_functions(source: str, most: int = LINES) -> list[str]:
    """The functions of more lines than that, which a reader cannot hold in view, as one line each.

    The docstring does not count, because it is what spares a reader the rest.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            told = first.end_lineno - first.lineno + 1 if ast.get_docstring(node) else 0
            lines = node.end_lineno - node.lineno + 1 - told
            found += [f"{node.name} has {lines} lines"] if lines > most else []
    return found


def test_no_function_is_longer_than_a_screen() -> None:
    found = [f"{file}: {wrong}" for file in FILES for wrong in long_functions(read(file))]
    assert not found, "\n".join(found)
    told = 'def f():\n    """One.\n\n    Two.\n    """\n    a = 1\n    return a\n'
    assert not long_functions(told, 3)
    assert long_functions(told, 2) == ["f has 3 lines"]


def test_the_rule_itself() -> None:
    misjudged = []
    for file, line, wrong in [
        ("probe/capture/grid.py", "from ... import web", True),
        ("probe/capture/grid.py", "from ...model.config import ViTConfig", False),
        ("probe/capture/grid.py", "from .trace import Trace", False),
        ("model/vit.py", "import vitviz.probe.capture.trace", True),
        ("model/vit.py", "from .. import load", True),
        ("model/vit.py", "def later():\n    from ..train import data", True),
        ("draw/figure_parts.py", "from ..viewer import page", True),
        ("draw/figure_parts.py", "import torch", True),
        ("cli.py", "def later():\n    from .web import build_app", False),
        ("look.py", "from .web import build_app", True),
        ("web/command.py", "from ..cli import main", True),
        ("cli.py", "from . import draw, load", False),
        ("notebook.py", "def later():\n    from .viewer import page", False),
        ("notebook.py", "from . import load", True),
        ("probe/analysis.py", "from ..notebook import cell", True),
        ("probe/capture/trace.py", "import timm", True),
        ("model/timm_models.py", "def later():\n    import timm", False),
        ("model/weights.py", "def later():\n    import timm", True),
        ("viewer/page.py", "from gradio import HTML", True),
        ("web/page/build.py", "import gradio as gr", False),
        ("probe/measure/heads.py", "from ..capture.trace import Trace", False),
        ("probe/capture/trace.py", "from ..measure import heads", True),
        ("probe/explain/case.py", "from ..intervene.surgery import Surgery", False),
        ("probe/explain/case.py", "from ..analysis import Analysis", True),
        ("probe/analysis.py", "from .explain import fairness", False),
        ("web/store/cache.py", "def later():\n    from ..service import replies", True),
        ("web/page/build.py", "from ..host import limits", False),
        ("web/service/service.py", "import gradio as gr", True),
        (
            "web/compute/engine.py",
            "def later():\n    from gradio.utils import get_upload_folder",
            True,
        ),
        ("web/app.py", "import matplotlib.pyplot", True),
        ("cli.py", "import matplotlib", True),
        ("draw/maps.py", "from matplotlib.figure import Figure", False),
        ("train/run.py", "from ..draw import save", True),
    ]:
        if bool(wrongs(line, file)) is not wrong:
            misjudged.append(f"{file}: {line}")
    assert not misjudged, "\n".join(misjudged)


@pytest.mark.parametrize(("asked", "allowed"), [("vitviz", []), ("vitviz.load", ["torch"])])
def test_vitviz_imports_nothing_slow_and_torch_when_it_is_asked(asked: str, allowed: list) -> None:
    slow = ["torch", "gradio", "timm", "matplotlib", "torchvision", "pandas", "safetensors"]
    script = f"import sys, vitviz; {asked}; print([name for name in {slow} if name in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=HOUSE.parent, check=True
    )
    assert result.stdout.strip() == repr(allowed)


def test_every_public_name_is_there_however_it_is_asked_for() -> None:
    assert {*vitviz.__all__, "__version__", "model", "probe"} <= {*dir(vitviz)}
    script = "import vitviz; vitviz.probe.measure.features.tokens_after; vitviz.model.menu.CURATED"
    script += "; from vitviz import *; assert load is vitviz.load"
    subprocess.run([sys.executable, "-c", script], cwd=HOUSE.parent, check=True)
    with pytest.raises(AttributeError, match="module 'vitviz' has no attribute 'lode'"):
        vitviz.lode  # noqa: B018
