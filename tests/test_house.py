"""The arrows of the house: rooms import only to their left; few files import slow packages."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import vitviz

HOUSE = Path(__file__).resolve().parents[1] / "vitviz"
# The rooms from left to right; rooms with the same number may not import each other.
ROOMS = {
    "arguments": 0,
    "errors": 0,
    "languages": 0,
    "model": 1,
    "probe": 2,
    "train": 3,
    "draw": 3,
    "viewer": 3,
    "notebook": 4,
    "public": 5,
    "": 6,
}
# "" is vitviz/__init__.py, which hands out the public names.
ROOMS |= {"web": 7, "look": 7, "layers": 7, "cli": 8, "__main__": 9}
# Answers are computed without Gradio; these files show them on the page.
GRADIO = tuple(
    f"web/{name}.py"
    for name in (
        *("page", "blocks", "components", "endpoints", "guard", "serving", "texts", "theme"),
        "zero_gpu",
    )
)
# Which files may import a package that is slow, or that only one room should know.
GUESTS = {
    "gradio": GRADIO,
    "gradio_client": GRADIO,
    "timm": ("model/timm_models.py", "model/labels.py", "train/"),
    # draw/ draws analyses, train/plot.py logs; the two rooms may not import each other.
    "matplotlib": ("draw/", "train/plot.py"),
}
STRANGERS = {"draw/": ("torch", "torchvision"), "viewer/": ("torchvision",)}


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


def room(name: str) -> str:
    """The room of a file ("probe/grid.py") or of a module below vitviz ("probe.grid.PatchGrid")."""
    first = name.replace("/", ".").removesuffix(".py").split(".")[0]
    return first if first in ROOMS else ""


def wrongs(source: str, file: str) -> list[str]:
    """What a file imports and should not, in words."""
    found = []
    for name in sorted(imports(source, file)):
        top, _, rest = name.partition(".")
        if top == "vitviz":
            here, there = room(file), room(rest)
            if here != there and ROOMS[there] >= ROOMS[here]:
                found.append(f"{file} imports {name}, which is not to its left")
        elif top in GUESTS and not file.startswith(GUESTS[top]):
            found.append(f"{file} imports {top}, which only {' and '.join(GUESTS[top])} may")
        for who, unwanted in STRANGERS.items():
            if file.startswith(who) and top in unwanted:
                found.append(f"{file} imports {top}")
    return found


FILES = sorted(str(path.relative_to(HOUSE)) for path in HOUSE.rglob("*.py"))


def opens_with_a_sentence(source: str) -> bool:
    text = ast.get_docstring(ast.parse(source)) or ""
    return text.split("\n\n")[0].endswith((".", ":"))


def test_imports_point_only_to_the_left() -> None:
    assert {"cli.py", "model/vit.py", "web/page.py"} < set(FILES)
    found = [wrong for file in FILES for wrong in wrongs((HOUSE / file).read_text("utf-8"), file)]
    assert not found, "\n".join(found)


def test_a_file_opens_with_a_sentence() -> None:
    found = [file for file in FILES if not opens_with_a_sentence((HOUSE / file).read_text("utf-8"))]
    assert not found, "these do not say their idea in their first sentence:\n" + "\n".join(found)


def test_the_rule_itself() -> None:
    misjudged = []
    for file, line, wrong in [
        ("probe/grid.py", "from .. import web", True),
        ("probe/grid.py", "from ..model.config import ViTConfig", False),
        ("probe/grid.py", "from .trace import Trace", False),
        ("model/vit.py", "import vitviz.probe.trace", True),
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
        ("probe/trace.py", "import timm", True),
        ("model/timm_models.py", "def later():\n    import timm", False),
        ("model/weights.py", "def later():\n    import timm", True),
        ("viewer/page.py", "from gradio import HTML", True),
        ("web/page.py", "import gradio as gr", False),
        ("web/service.py", "import gradio as gr", True),
        ("web/engine.py", "def later():\n    from gradio.utils import get_upload_folder", True),
        ("web/app.py", "import matplotlib.pyplot", True),
        ("cli.py", "import matplotlib", True),
        ("train/plot.py", "from matplotlib.figure import Figure", False),
        ("train/plot.py", "from ..draw import save", True),
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
    script = "import vitviz; vitviz.probe.features.tokens_after; vitviz.model.menu.CURATED"
    script += "; from vitviz import *; assert load is vitviz.load"
    subprocess.run([sys.executable, "-c", script], cwd=HOUSE.parent, check=True)
    with pytest.raises(AttributeError, match="module 'vitviz' has no attribute 'lode'"):
        vitviz.lode  # noqa: B018
