"""The README names what there is, its links lead somewhere, and its examples run."""

import json
import re
import shutil
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import vitviz
import vitviz.model.menu
from tests.running import ROOT
from vitviz.languages import dictionary

README = (ROOT / "README.md").read_text("utf-8")
PANELS = (ROOT / "vitviz/viewer/panels/index.js").read_text("utf-8")
EXAMPLE = ROOT / "vitviz/web/examples/dog.jpg"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("key", vitviz.EXPLAINERS)
def test_every_explainer_is_named(key: str) -> None:
    assert f"`{key}`" in README


def test_it_says_who_reads_the_list_of_explainers() -> None:
    """Code that reads the list gets a new explainer for free; the README names each such file."""
    lists = {"vitviz/__init__.py", "vitviz/public.py", "vitviz/probe/explain.py"}
    readers = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "vitviz").rglob("*.py")
        if re.search(r"\bEXPLAINERS\b", path.read_text("utf-8"))
    }
    (paragraph,) = re.findall(r"^\*\*A new explainer\*\*.*?^$", README, re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"\]\((vitviz/[\w/]+\.py)\)", paragraph))
    assert readers - lists == named - lists


@pytest.mark.parametrize("panel", re.findall(r'from "\./(\w+)\.js"', PANELS))
def test_every_panel_is_named(panel: str) -> None:
    assert f"| {dictionary('en', 'viewer')[f'panel_{panel}']} |" in README


def test_every_room_is_on_the_map() -> None:
    house = ROOT / "vitviz"
    rooms = [path.name for path in house.iterdir() if (path / "__init__.py").is_file()]
    assert rooms
    for room in [f"vitviz/{name}/" for name in rooms] + ["vitviz/cli.py", "vitviz/look.py"]:
        assert f"[{room}]" in README


def test_links_into_the_repository_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_front_matter_is_what_a_space_needs() -> None:
    lines = re.match(r"---\n(.*?)\n---\n", README, re.DOTALL)[1].splitlines()
    front = dict(line.split(": ", 1) for line in lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert front["sdk"] == "gradio"
    assert front["sdk_version"].split(".")[:2] == version("gradio").split(".")[:2]
    assert (ROOT / front["app_file"]).is_file()
    assert front["license"] == project["license"].lower()
    assert len(front["short_description"]) <= 60
    assert (ROOT / front["thumbnail"]).is_file()
    assert front["header"] in ("mini", "default")
    assert front["suggested_hardware"].startswith("cpu-")
    menu = {f"timm/{name}" for name in vitviz.model.menu.CURATED}
    listed = {key: front[key].strip("[]").split(", ") for key in ("models", "preload_from_hub")}
    assert set(listed["preload_from_hub"]) <= set(listed["models"]) <= menu
    assert "mcp-server" in front["tags"]
    assert (3, 11) <= tuple(map(int, json.loads(front["python_version"]).split("."))) < (3, 14)


def test_the_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(EXAMPLE, tmp_path / "photo.jpg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    local = [block for block in blocks("python") if "127.0.0.1" not in block]
    assert len(local) == 5
    for block in local:
        exec(compile(block, "README.md", "exec"), names)
    again = vitviz.Analysis.load("photo.safetensors")
    assert again.predictions() == names["analysis"].predictions()
    assert {path.name for path in tmp_path.iterdir()} >= {"heads.svg", "photo.html"}


def test_the_screenshot_is_small_enough_for_a_phone() -> None:
    assert 10_000 < (ROOT / ".github/screenshot.webp").stat().st_size <= 300_000
