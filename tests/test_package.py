"""What `pip install` gives is whole: the wheel is built, unpacked, and used far from here."""

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import vitviz
from tests.running import ROOT
from vitviz.cli import WORDS
from vitviz.payload.bundle import bundle, css

# All that a build may need: what else lies in a checkout (tests, runs, environments) is not copied.
SOURCE = ("vitviz", "weights", "pyproject.toml", "README.md", "LICENSE", "requirements.txt")
MADE_BY_RUNNING = shutil.ignore_patterns("__pycache__", "*.pyi", ".DS_Store")

BUILD_SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"

USE = """
import json, sys
from pathlib import Path

place, photo, out = map(Path, sys.argv[1:])
sys.path.insert(0, str(place))
import torch
import vitviz
from vitviz.model.weights import WEIGHTS_DIR
from vitviz.viewer import page
from vitviz.payload.bundle import bundle, css
from vitviz.web import build_app

assert Path(vitviz.__file__).is_relative_to(place), vitviz.__file__
analyses = {}
for name in ("photos", "mnist"):
    loaded = vitviz.load(name)
    torch.save(loaded.vit.state_dict(), out / f"{name}.pt")
    analyses[name] = vitviz.analyze(loaded, photo)
demo, _ = build_app()
told = {
    "models": vitviz.list_models(),
    "weights": sorted(path.name for path in WEIGHTS_DIR.iterdir()),
    "film": loaded.film.name,
    "answers": {name: [one.label for one in a.predictions()] for name, a in analyses.items()},
    "viewer": bundle() + css(),
    "page": len(page(analyses["photos"])),
    "app": "vv-place" in json.dumps(demo.get_config_file(), default=str),
}
(out / "told.json").write_text(json.dumps(told), encoding="utf-8")
"""


def run(*command: object, cwd: Path) -> str:
    """The output of a command that must succeed; on a failure the test shows its output."""
    environ = {**os.environ, "HF_HUB_OFFLINE": "1", "PIP_NO_INDEX": "1"}
    environ["PIP_CACHE_DIR"] = str(cwd / "pip")
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def files_in_wheel(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def make_wheel(source: Path, folder: Path) -> Path:
    """What `pip wheel` makes of a folder or an sdist, with the setuptools of the tests."""
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", folder / "wheel"]
    run(sys.executable, "-m", "pip", "wheel", source, *options, cwd=folder)
    (wheel,) = (folder / "wheel").glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is built, because setuptools writes beside it."""
    folder = tmp_path_factory.mktemp("source") / "vitviz-checkout"
    folder.mkdir()
    for name in SOURCE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=MADE_BY_RUNNING)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def expected(source: Path) -> set[str]:
    """What a wheel must hold: all of the package but the pages of its rooms, which lead to tests
    and other things of a checkout, and the weights as a folder inside it.
    """
    pages = {path.relative_to(source).as_posix() for path in source.glob("vitviz/*/README.md")}
    package = {f"vitviz/{name}" for name in files_below(source / "vitviz")} - pages
    return package | {f"vitviz/weights/{name}" for name in files_below(source / "weights")}


@pytest.fixture(scope="module")
def wheel(source: Path, expected: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_wheel(source, tmp_path_factory.mktemp("built"))


def test_the_wheel_holds_the_whole_package_and_the_weights(wheel: Path, expected: set[str]) -> None:
    assert files_in_wheel(wheel) == expected
    assert {"vitviz/weights/photos.safetensors", "vitviz/weights/README.md"} < expected
    names = zipfile.ZipFile(wheel)
    (entries,) = (name for name in names.namelist() if name.endswith("entry_points.txt"))
    assert "vitviz = vitviz.cli:main" in names.read(entries).decode()


def test_the_source_distribution_builds_the_same_wheel(
    source: Path, expected: set[str], tmp_path: Path
) -> None:
    run(sys.executable, "-c", BUILD_SDIST, tmp_path, cwd=source)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {"weights/photos.film.safetensors", "requirements.txt", "LICENSE"} < held
    assert files_in_wheel(make_wheel(sdist, tmp_path)) == expected


def test_an_installed_vitviz_is_what_the_checkout_is(wheel: Path, tmp_path: Path) -> None:
    place, out = tmp_path / "site-packages", tmp_path / "out"
    out.mkdir()
    zipfile.ZipFile(wheel).extractall(place)
    photo = place / "vitviz/web/examples/dog.jpg"
    run(sys.executable, "-I", "-c", USE, place, photo, out, cwd=tmp_path)
    told = json.loads((out / "told.json").read_text("utf-8"))
    assert told["models"] == vitviz.list_models()
    assert set(told["weights"]) == files_below(ROOT / "weights")
    assert told["film"] == "mnist.film.safetensors"
    assert told["viewer"] == bundle() + css()
    assert told["page"] > len(told["viewer"])
    assert told["app"]
    for name in ("photos", "mnist"):
        loaded = vitviz.load(name)
        analysis = vitviz.analyze(loaded, ROOT / "vitviz/web/examples/dog.jpg")
        assert told["answers"][name] == [one.label for one in analysis.predictions()]
        state = torch.load(out / f"{name}.pt", weights_only=True)
        ours = {key: value.cpu() for key, value in loaded.vit.state_dict().items()}
        assert state.keys() == ours.keys()
        assert all(torch.equal(state[key].cpu(), ours[key]) for key in ours)


def test_the_command_of_an_installed_vitviz_runs(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    start = "import sys; sys.path.insert(0, sys.argv.pop(1)); from vitviz.cli import main; main()"
    said = run(sys.executable, "-I", "-c", start, tmp_path, "models", cwd=tmp_path)
    assert said.split() == vitviz.list_models()
    for word in WORDS:  # serve does not need the app.py of a checkout
        said = run(sys.executable, "-I", "-c", start, tmp_path, word, "--help", cwd=tmp_path)
        assert said.startswith(f"usage: vitviz {word} ")


# Newest versions with a hole that a request or a photo reaches: requirements.txt, pyproject.toml.
HOLES = {
    "gradio": "6.15.2",  # GHSA-j36p-7w88-g82j
    "h11": "0.15.0",
    "mcp": "1.28.0",
    "pillow": "12.2.0",  # PYSEC-2026-2253 to 2257
    "python-multipart": "0.0.30",
    "starlette": "1.3.0",
}


def test_no_version_with_a_known_hole_is_taken() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    lines += [*itertools.chain(*extras["optional-dependencies"].values())]
    required = [Requirement(line.partition("#")[0]) for line in lines if line.partition("#")[0]]
    assert HOLES.keys() <= {one.name for one in required}
    for one in required:
        assert HOLES.get(one.name, "0.0.dev0") not in one.specifier, one
        if not one.name.startswith(("ray", "efficientnet-")):  # not installed by tests
            assert version(one.name) in one.specifier, one


# --- the workflows of a build server ---

WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())
# A tag can be moved to other code, a commit cannot. The comment is for readers and dependabot.
PINNED = re.compile(r"(?:- )?uses: (actions/[a-z-]+@[0-9a-f]{40}) # v\d+\.\d+\.\d+")


def jobs_of(workflow: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load(workflow.read_text("utf-8"))["jobs"].values())


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_files_of_the_checkout_and_may_only_read(workflow: Path) -> None:
    told = yaml.safe_load(workflow.read_text("utf-8"))
    assert told["permissions"] == {"contents": "read"}
    assert told["concurrency"]["cancel-in-progress"] is True
    running = [step for job in jobs_of(workflow) for step in job["steps"] if "run" in step]
    assert running
    for step in running:
        for command in step["run"].splitlines():
            shell, script, *_ = shlex.split(command)
            assert shell == "bash", command
            head = (ROOT / script).read_text("utf-8")
            for name in step.get("env", {}):
                assert f"#   {name}=..." in head, f"{script} says what this variable is for"


def test_workflows_run_actions_by_their_commit_and_one_commit_of_each() -> None:
    lines = [line.strip() for path in WORKFLOWS for line in path.read_text("utf-8").splitlines()]
    used = [line for line in lines if "uses:" in line]
    assert [line for line in used if not PINNED.fullmatch(line)] == []
    commits = {PINNED.fullmatch(line)[1] for line in used}
    assert len(commits) == len({one.partition("@")[0] for one in commits}) == 3
    for moving in ("uses: actions/checkout@v5", "uses: actions/checkout@93cb6ef # v5.0.1"):
        assert not PINNED.fullmatch(moving)


def test_what_is_updated_by_itself_is_what_a_checkout_has() -> None:
    told = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text("utf-8"))
    files = {"pip": "requirements.txt", "npm": "package-lock.json", "github-actions": ".github"}
    updates = {one["package-ecosystem"]: one["directory"] for one in told["updates"]}
    assert updates.keys() == files.keys()
    for kind, folder in updates.items():
        assert (ROOT / folder.strip("/") / files[kind]).exists()


def test_the_workflows_cover_the_pythons_and_the_oldest_torch() -> None:
    rows = [
        row
        for workflow in WORKFLOWS
        for job in jobs_of(workflow)
        for row in job.get("strategy", {"matrix": {"include": []}})["matrix"]["include"]
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    allowed = list(SpecifierSet(project["requires-python"]).filter(f"3.{n}" for n in range(30)))
    tested = [row["python"] for row in rows]
    assert set(tested) <= set(allowed)
    newest = [row["python"] for row in rows if "constraints" not in row]
    assert newest == [allowed[0], allowed[-1]]
    required = (ROOT / "requirements.txt").read_text("utf-8")
    floors = dict(re.findall(r"^(torch|torchvision)>=([\d.]+)", required, flags=re.MULTILINE))
    (held,) = {row["constraints"] for row in rows if "constraints" in row}
    assert held == " ".join(f"{name}=={floor}.*" for name, floor in floors.items())
