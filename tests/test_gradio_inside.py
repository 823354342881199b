"""What the page leans on of Gradio's inside is there, and stands in one file."""

import ast
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.web.test_blocks import told
from vitviz.web.page import gradio_inside

WEB = Path(__file__).resolve().parents[1] / "vitviz" / "web"
INSIDE = "page/gradio_inside.py"
# What Gradio's guides and reference speak of, beside the package itself.
DOCUMENTED = ("gradio.data_classes", "gradio.themes.utils.colors", "gradio.themes.utils.fonts")
# Of a named tuple and a dataclass; Python documents them.
OF_PYTHON = ("_asdict", "_replace", "_fields")
# What gradio_inside.py takes for granted beside its imports, as a path from something of Gradio's.
BLOCKS = [
    "default_config.config_for_block",
    "default_config.__copy__",
    "fns",
    "get_api_info",
    "allowed_paths",
    "mcp_server_obj",
    "postprocess_data",
    "preprocess_data",
    "process_api",
    "temp_file_sets",
    "validate_inputs",
    "_queue.__len__",
    "_queue.active_jobs",
    "_queue.event_analytics",
    "_queue.event_queue_per_concurrency_id",
    "_queue.get_active_worker_count",
    "_queue.get_events",
    "_queue.pending_event_ids_session",
    "_queue.pending_messages_per_session",
    "_queue.pending_messages_per_session.max_size",
    "_queue.push",
]


def imports(file: str) -> list[tuple[str, str]]:
    """(module, name) of what a file of the web app imports of Gradio."""
    nodes = ast.walk(ast.parse((WEB / file).read_text("utf-8")))
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    pairs = [(node.module or "", alias.name) for node in froms for alias in node.names]
    return [pair for pair in pairs if pair[0].split(".")[0] in ("gradio", "gradio_client")]


def missing(thing: object, paths: list[str]) -> list[str]:
    """The paths of attributes that a thing does not have."""
    found = []
    for path in paths:
        at = thing
        for name in path.split("."):
            if not hasattr(at, name):
                found.append(f"{name_of(thing)}.{path}")
                break
            at = getattr(at, name)
    return found


def name_of(thing: object) -> str:
    return thing.__name__ if isinstance(thing, ModuleType) else type(thing).__name__


def lean(source: str) -> list[str]:
    """What of a source leans on the inside of something else, in words."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and not node.level:
            module = node.module or ""
            inner = module.startswith(("gradio.", "gradio_client")) and module not in DOCUMENTED
            found += [f"imports from {module}"] if inner else []
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            found += [f"imports {name}" for name in names if name.startswith("gradio.")]
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not own and not node.attr.startswith("__") and node.attr not in OF_PYTHON:
                found.append(f"uses {node.attr}, a name of something else's inside")
    return found


# Runs in a process of its own, because Gradio leaves event loops and sockets open.
ABSENT = """
import importlib, json
import gradio as gr
from gradio.components.html import HTML
from tests.test_gradio_inside import BLOCKS, INSIDE, WEB, imports, missing
from vitviz.web.page.gradio_inside import hints

imported = imports(INSIDE)
absent = [f"{m}.{n}" for m, n in imported if missing(importlib.import_module(m), [n])]
with gr.Blocks(analytics_enabled=False) as demo:
    photo = gr.Image()
    shown = gr.Dataset(components=[photo], samples=[[str(WEB / "examples" / "dog.jpg")]])
    gr.Button().click(lambda seen: seen, photo, photo)
demo.queue()
absent += missing(demo, BLOCKS)
absent += missing(demo.fns[0], ["inputs", "api_visibility"])
absent += missing(photo, ["GRADIO_CACHE", "get_block_name"])
absent += missing(gr.EventData(None, {}), ["_data"])
absent += missing(gr.Error("said"), ["message", "print_exception"])
absent += [] if "__getattr__" in vars(HTML) else ["gr.HTML.__getattr__"]
absent += [] if hints(demo).count(b"<link") > 30 else ["list of what its page asks for"]
absent += [] if {"url", "path"} <= {*shown.samples[0][0]} else ["files in gr.Dataset.samples"]
print(json.dumps([gr.__version__, len(imported), absent]))
"""


def test_the_inside_that_the_page_leans_on_is_in_this_gradio(tmp_path):
    version, imported, absent = told(tmp_path, ABSENT)
    assert imported > 5
    says = f"Gradio {version} has no {', '.join(absent)}: look into {INSIDE} who needs it"
    assert not absent, says


def test_what_the_page_will_ask_for_is_hinted_in_its_order(tmp_path, monkeypatch):
    """A bundle written by hand: the page needs `one`, its blocks `two`, an image `three`."""
    needs = "__vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=[%s])))=>i.map(i=>d[i]);"
    load = "v(()=>import(`./%s`)%s,__vite__mapDeps([%s]),import.meta.url)"
    files = {
        "index-a.js": needs % '"./Index-b.js","./core-c.js","./one.css"'
        + load % ("Index-b.js", "", "0,1,2") + load % ("core-c.js", "", "1"),
        "Index-b.js": needs % '"./Blocks-d.js","./two.js","./core-c.js"'
        + load % ("Login-e.js", "", "1") + load % ("Blocks-d.js", "", "0,1,2"),
        "core-c.js": needs % '"./audio.js","./image.js","./three.css"'
        + "{audio:{component:()=>" + load % ("audio.js", "", "0")
        + "},image:{example:()=>" + load % ("audio.js", "", "0")
        + ",base:()=>" + load % ("image.js", ".then(e=>e.n)", "1,2") + "}}",
    }  # fmt: skip
    assets = tmp_path / "templates" / "frontend" / "assets"
    assets.mkdir(parents=True)
    for name, text in files.items():
        (assets / name).write_text(text)
    (assets.parent / "index.html").write_text('<script src="./assets/index-a.js"></script>')
    monkeypatch.setattr(gradio_inside.gr, "__file__", str(tmp_path / "__init__.py"))
    image = SimpleNamespace(get_block_name=lambda: "image")
    told = gradio_inside.hints(SimpleNamespace(blocks={1: image})).decode()
    asked = ["Index-b.js", "core-c.js", "one.css", "Blocks-d.js", "two.js", "image.js", "three.css"]
    assert re.findall('href="assets/([^"]+)"', told) == asked
    assert re.findall("modulepreload|style", told) == [
        {"js": "modulepreload", "css": "style"}[name.rpartition(".")[2]] for name in asked
    ]
    (assets / "index-a.js").write_text("another bundler's")
    assert gradio_inside.hints(SimpleNamespace(blocks={1: image})) == b""


def test_a_name_that_is_gone_is_told():
    gone = SimpleNamespace(_queue=SimpleNamespace(push=print))
    assert missing(gone, ["_queue.push"]) == []
    assert missing(gone, ["_queue.pop", "fns"]) == [
        "SimpleNamespace._queue.pop",
        "SimpleNamespace.fns",
    ]


def test_no_other_file_leans_on_the_inside():
    files = sorted(str(path.relative_to(WEB)) for path in WEB.rglob("*.py"))
    assert INSIDE in files
    assert lean((WEB / INSIDE).read_text("utf-8"))
    found = [
        f"{file} {wrong}"
        for file in files
        if file != INSIDE
        for wrong in lean((WEB / file).read_text("utf-8"))
    ]
    assert not found, f"only {INSIDE} may, and says why:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("line", "leans"),
    [
        ("from gradio.route_utils import Request", True),
        ("import gradio.blocks", True),
        ("from gradio_client.utils import traverse", True),
        ("demo._queue.push()", True),
        ("import gradio as gr", False),
        ("from gradio.data_classes import FileData", False),
        ("self._queue.get()", False),
        ("shown._replace(preview=None)", False),
    ],
)
def test_the_rule_itself(line, leans):
    assert bool(lean(line)) is leans
