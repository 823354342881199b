"""The pages of the project name what there is, their links lead somewhere, their examples run."""

import importlib.util
import inspect
import json
import re
import shlex
import shutil
import tomllib
from importlib.metadata import version
from pathlib import Path, PurePosixPath

import pytest
import yaml

import vitviz
import vitviz.model.menu
from tests.running import BROWSERS, ROOT
from tests.test_house import GROUPS
from vitviz import cli, draw
from vitviz.languages import SUBJECTS, dictionary
from vitviz.probe.intervene.intervention import KINDS
from vitviz.probe.measure.predictions import class_named
from vitviz.train import command
from vitviz.train.dataset import read
from vitviz.train.recipes import RECIPES
from vitviz.web.host.settings import Settings, flag_of, options
from vitviz.web.service.programs import PARAMETERS, Programs

HOUSE = ROOT / "vitviz"
ROOMS = sorted(path.parent.name for path in HOUSE.glob("*/__init__.py"))
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in (
        ROOT / "README.md",
        ROOT / ".github/CONTRIBUTING.md",
        ROOT / ".github/SECURITY.md",
        ROOT / "CHANGELOG.md",
        HOUSE / "research.md",
        HOUSE / "teaching.md",
        HOUSE / "web/examples/README.md",
        HOUSE / "train/digits/README.md",
        ROOT / "weights/README.md",
        *(HOUSE / room / "README.md" for room in ROOMS),
    )
}
README, CONTRIBUTING = PAGES["README.md"], PAGES[".github/CONTRIBUTING.md"]
EXAMPLE = HOUSE / "web/examples/dog.jpg"


def page_of(room: str) -> str:
    return PAGES[f"vitviz/{room}/README.md"]


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def rows(text: str) -> list[list[str]]:
    """The cells of all tables of a page, row by row."""
    lines = (line for line in text.splitlines() if line.startswith("| "))
    return [[cell.strip() for cell in line.strip("|").split(" |")] for line in lines]


# --- what is named --------------------------------------------------------------------------------


def test_the_readme_is_short_and_leads_to_every_room() -> None:
    assert len(README.splitlines()) <= 200
    for room in ROOMS:
        assert f"](vitviz/{room}/README.md" in README


def test_a_page_opens_with_what_its_room_is_for() -> None:
    """In two sentences."""
    for room in ROOMS:
        title, opening, _ = page_of(room).split("\n\n", 2)
        assert title.startswith("# ")
        assert len(re.split(r"(?<=\.)\s", opening)) == 2, opening


def test_every_room_is_on_the_map() -> None:
    assert {"model", "probe", "viewer", "web"} < set(ROOMS)
    for room in ROOMS:
        assert f"[vitviz/{room}/](../vitviz/{room}/README.md)" in CONTRIBUTING
    for path in HOUSE.glob("*.py"):
        if not path.stem.startswith("__"):
            assert f"vitviz/{path.name}" in CONTRIBUTING


@pytest.mark.parametrize("key", vitviz.EXPLAINERS)
def test_every_explainer_is_named(key: str) -> None:
    named = any(f"`{key}`" in first for first, *_ in rows(page_of("probe")))
    assert named, f"add a row for `{key}` to a table of vitviz/probe/README.md"


def test_the_page_says_which_explainers_know_no_target_and_which_begin_at_a_pool() -> None:
    page, all_ = " ".join(page_of("probe").split()), vitviz.EXPLAINERS.values()
    without = [one.key for one in all_ if "class" not in one.needs and not one.baseline]
    *first, last = (f"`{key}`" for key in without)
    assert f"{', '.join(first)} and {last} know no target" in page, (
        "name it in vitviz/probe/README.md"
    )
    at_query = [one.key for one in all_ if "token" in one.needs]
    assert f"`{at_query[0]}` to `{at_query[-1]}` begin at its query" in page
    assert at_query == [*vitviz.EXPLAINERS][: len(at_query)], "put it among those that take a token"


def test_the_table_of_peers_has_what_its_script_measures() -> None:
    script = (ROOT / "tests/bench/peers.py").read_text("utf-8")
    measured = re.findall(r'^ +\("(.+?)", "(transformers|captum|grad-cam|timm)",', script, re.M)
    table = [row for row in rows(page_of("probe")) if re.fullmatch(r"[\d.e-]+", row[-1])]
    told = [(what, library.split()[0]) for what, library, *_ in table if "." in library]
    assert told == measured
    assert len(measured) == 10


def test_the_way_of_a_photo_names_files_that_are_there() -> None:
    way = blocks("", CONTRIBUTING)[0]
    named = re.findall(r"vitviz/[\w./]+", way)
    assert len(named) > 8
    assert [one for one in named if not (ROOT / one).exists()] == []


def test_every_panel_is_named() -> None:
    panels = (HOUSE / "viewer/panels/index.js").read_text("utf-8")
    found = re.findall(r'from "\./(\w+)\.js"', panels)
    assert len(found) > 10
    named = [first for first, *_ in rows(page_of("viewer"))]
    assert [one for one in found if dictionary("en", "viewer")[f"panel_{one}"] not in named] == []


def test_every_key_is_named() -> None:
    """Those that the help of the viewer shows."""
    source = (HOUSE / "viewer/parts/help.js").read_text("utf-8")
    told = re.findall(r"keys\((\"[^)]*\")\)", source)
    keys = {key for names in told for key in re.findall(r'"([^"]+)"', names)} - {"?"}
    assert len(keys) > 15
    assert {key for key in keys if f"`{key}`" not in page_of("viewer")} == set()


def test_every_kind_of_intervention_is_named() -> None:
    missing = [kind for kind in KINDS if f"`{kind}`" not in page_of("probe")]
    assert missing == [], "name it in vitviz/probe/README.md"


def test_every_question_of_a_program_is_named_with_what_it_takes() -> None:
    asks = {name for name in vars(Programs) if not name.startswith("_")} - {"answer"}
    told = {
        first.strip("`/"): takes.strip("`")
        for first, takes, *_ in rows(page_of("web"))
        if first.startswith("`/")
    }
    assert told.keys() == asks
    for name, takes in told.items():
        method = getattr(Programs, "answer" if name == "analyze" else name)
        assert takes.split(", ") == [*inspect.signature(method).parameters][1:] or takes == "", name
    assert PARAMETERS.keys() == {
        field for takes in told.values() for field in takes.split(", ")
    } - {""}


def test_the_table_of_settings_has_every_option_and_no_other() -> None:
    named = [first for first, *_ in rows(page_of("web")) if first.startswith("`--")]
    told = {one.strip("`") for first in named for one in first.split(", ")}
    of_model = {"--model", "--arch", "--labels", "--key", "--preprocess", "--without"}
    of_model |= {"--positions-like", "--outputs", "--head-file", "--head-pool", "--dtype"}
    assert told == {flag_of(one.name) for one in options()} | of_model


@pytest.mark.parametrize("room", ["probe", "web"])
def test_the_groups_of_a_room_are_named_in_their_order(room: str) -> None:
    named = re.findall(r"^\| \[(\w+)/\]\(\1/", page_of(room), re.M)
    assert [*named, ""] == [*GROUPS[room]]
    assert sorted(named) == sorted(f.parent.name for f in (HOUSE / room).glob("*/__init__.py"))


def test_every_figure_is_named_with_its_arguments() -> None:
    calls = dict(re.findall(r"^\| `(\w+)\(([^)]*)\)` \|", page_of("draw"), re.M))
    assert calls.keys() == set(draw.__all__)
    for name, given in calls.items():
        takes = [*inspect.signature(getattr(draw, name)).parameters]
        assert given.split(", ") == takes[: len(given.split(", "))], name


def test_every_recipe_and_every_dictionary_is_named() -> None:
    assert [name for name in RECIPES if f"`{name}`" not in page_of("train")] == []
    assert [name for name in SUBJECTS if f"`{name}.json`" not in page_of("languages")] == []


# --- what they lead to ----------------------------------------------------------------------------


def slugs(text: str) -> set[str]:
    """The anchors that a code host makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_files_and_headings(name: str) -> None:
    """To files: where a page lies on a Space, a link to a folder leads nowhere."""
    wrong = []
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", PAGES[name]):
        target, _, anchor = link.partition("#")
        path = ((ROOT / name).parent / target).resolve() if target else ROOT / name
        there = path.is_file() and path.is_relative_to(ROOT)
        if not there or (anchor and anchor not in slugs(path.read_text("utf-8"))):
            wrong.append(link)
    assert wrong == []


@pytest.mark.parametrize("name", PAGES)
def test_files_that_are_named_are_there(name: str) -> None:
    """`vitviz/cli.py`, from the top, the house, the folder of the page, or by the end of a name."""
    ours = {path.relative_to(ROOT).as_posix() for path in HOUSE.rglob("*.*")}
    named = re.findall(r"`([\w./-]+\.(?:py|js|css|md|html|sh))`", PAGES[name])
    places = [ROOT, HOUSE, (ROOT / name).parent]
    wrong = [
        one
        for one in named
        if not any((place / one).is_file() for place in places)
        and not any(path.endswith(f"/{one}") for path in ours)
    ]
    assert wrong == []


# --- what runs ------------------------------------------------------------------------------------


# Those that --help shows.
EXAMPLES = [
    line.strip()
    for text in (cli.LOOK_EPILOG, cli.SURVEY_EPILOG, cli.TEACH_EPILOG)
    for line in text.splitlines()
    if line.startswith("  vitviz ")
]


def commands() -> list[list[str]]:
    """The words of every command in the pages and in --help; what follows a # is for the reader."""
    found = []
    for text in PAGES.values():
        rest = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        shells = [*blocks("bash", text), *re.findall(r"(?<=\n\n)(?: {4}.*\n)+", rest)]
        lines = "".join(shells).replace("\\\n", " ").splitlines()
        lines += re.findall(r"`((?:vitviz|python) [^`\n]+)`", rest)
        lines += EXAMPLES if text is README else []
        parts = [part for line in lines if "curl" not in line for part in line.split(" && ")]
        found += [shlex.split(part, comments=True) for part in parts]
    return [words for words in found if words]


def test_every_command_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its options and values are those of its word; nothing is started."""
    monkeypatch.chdir(ROOT)
    seen, shipped = set(), vitviz.load("photos")
    for words in commands():
        match words:
            case ["vitviz", "WORD", *_] | ["python", "-m", "vitviz"] | ["python", "-c", *_]:
                continue
            case ["vitviz", *rest] | ["python", "-m", "vitviz", *rest]:
                word, rest = cli.parted(rest)
            case ["python", "app.py", *rest]:
                word = "serve"
            case ["torchrun", "--standalone", "--nproc-per-node", "2", "-m", "vitviz.train", *rest]:
                word = "train"
            case ["python", "-m", "vitviz.train", *rest]:
                word = "train"
            case ["python", "-m", module, *rest]:
                word = module
                if not module.startswith(("pip", "pytest")):
                    assert importlib.util.find_spec(module), words
            case _:
                word, rest = words[0], words[1:]
        seen.add(word)
        assert [one for one in rest if one.startswith("tests/") and not Path(one).exists()] == []
        rest = [one for one in rest if one not in ("--help", "...")]
        if word == "look" and rest:
            wanted = cli.look_options().parse_args(rest)
            if wanted.model == "photos":
                class_named(shipped.card, wanted.target, "target")
        elif word == "survey" and rest:
            cli.survey_options().parse_args(rest)
        elif word == "serve":
            Settings.from_args(rest, {})
        elif word == "train":
            command.parser().parse_args(rest)
    assert seen >= {*cli.WORDS, "tests.bench", "pip", "pytest", "node", "bash"}


def test_one_command_starts_the_page_and_one_passes_the_tests() -> None:
    """The second is what a build server calls, and installs the requirements of the first."""
    torch, start, tests = (block.strip() for block in blocks("bash", README)[:3])
    assert "--index-url https://download.pytorch.org/whl/cpu" in torch
    assert README.index("on the disk") < README.index(torch)
    assert start == "python -m pip install -r requirements.txt && python app.py"
    assert (ROOT / ".ci/run").read_text("utf-8").splitlines()[-1] == f'exec {tests} "$@"'
    assert f"- run: {tests}\n" in (ROOT / ".github/workflows/tests.yml").read_text("utf-8")
    script = (ROOT / tests.removeprefix("bash ")).read_text("utf-8")
    assert f"from a bare machine: {tests}\n" in script
    assert f"{' '.join(BROWSERS)}; do" in script
    assert 'Path("requirements.txt")' in script
    assert re.search(r"^venv=\$\{VENV:-(.*)\}$", script, re.MULTILINE)[1] == ".venv-test"
    assert "`.venv-test`" in README[: README.index(f"\n{tests}\n")]


@pytest.mark.parametrize("name", [name for name, text in PAGES.items() if blocks("python", text)])
def test_the_python_examples_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of one page run one after another; those that ask a server: test_web_programs."""
    given = {"photo.jpg": EXAMPLE, "other.jpg": EXAMPLE.with_name("cat.jpg")}
    for file, example in given.items():
        shutil.copy(example, tmp_path / file)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("python", PAGES[name]):
        if "127.0.0.1" not in block:
            exec(compile(block, name, "exec"), names)
    made = {path.name for path in tmp_path.iterdir()} - given.keys()
    expected = {
        "README.md": {"photo.safetensors"},
        "vitviz/probe/README.md": {"photo.safetensors"},
        "vitviz/draw/README.md": {"heads.svg"},
        "vitviz/exercise/README.md": set(),
        "vitviz/many/README.md": {
            *("survey.jsonl", "figure7.svg", "ablation.png", "mine.safetensors"),
        },
        "vitviz/model/README.md": {"best.pth"},
        "vitviz/viewer/README.md": {"photo.html", "both.html"},
        "vitviz/payload/README.md": set(),
        "vitviz/train/README.md": {"things"},
        "vitviz/web/README.md": set(),
    }
    assert made == expected[name]
    if "things" in made:
        parts = (read("things", split, RECIPES["photos"].cut()) for split in ("train", "test"))
        assert [part.targets.tolist() for part in parts] == [[0, 1], [0]]
    if "photo.safetensors" in made:
        again = vitviz.Analysis.load("photo.safetensors")
        assert again.predictions() == names["analysis"].predictions()


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


# --- whose it is ----------------------------------------------------------------------------------

# Read as they are, so that what they are worth is in them: text of this project.
WRITTEN = re.compile(r"\.(cff|css|html|js|md|py[ci]?|ts|txt|typed|wat|yml)")


def brought() -> set[str]:
    """The files of the checkout that somebody else may have made: pictures, weights, tables."""
    files = {
        path.relative_to(ROOT).as_posix()
        for folder in (HOUSE, ROOT / "weights", ROOT / ".github")
        for path in folder.rglob("*.*")
        if path.is_file() and not WRITTEN.fullmatch(path.suffix)
    }
    ours = ("vitviz/languages/", "vitviz/viewer/package.json")
    return {file for file in files if not file.startswith(ours)}


def test_every_file_that_is_not_text_has_a_licence_and_a_source() -> None:
    table = README[README.index("## Licences") :]
    named: dict[str, list[str]] = {}
    for what, files, licence, source in rows(table):
        for pattern in re.findall(r"`([^`]+)`", files):
            assert licence, what
            assert "](" in source, what
            named[pattern] = [file for file in brought() if PurePosixPath(file).match(pattern)]
    assert all(named.values()), named
    found = [file for files in named.values() for file in files]
    assert sorted(found) == sorted(brought())  # each once


def test_every_picture_has_who_made_it_its_terms_and_where_it_is_from() -> None:
    told = {first.strip("`"): rest for first, *rest in rows(PAGES["vitviz/web/examples/README.md"])}
    there = {path.name for path in (HOUSE / "web/examples").iterdir()} - {"README.md"}
    assert told.keys() == there | {"file"}
    assert all(all(cells) and len(cells) == 4 for cells in told.values())
    assert {cells[2] for name, cells in told.items() if name != "file"} == {
        "public domain",
        "CC0 1.0",
        "CC BY-SA 3.0",  # digits of MNIST
    }
    digits = PAGES["vitviz/train/digits/README.md"]
    for path in (HOUSE / "train/digits").glob("*.png"):
        assert f"`{path.name}`" in digits
    assert "CC BY-SA 3.0" in digits


def test_version_and_date_are_the_same_everywhere() -> None:
    """Of the newest release: its head in CHANGELOG.md, the citation, the package."""
    cited = yaml.safe_load((ROOT / ".github/CITATION.cff").read_text("utf-8"))
    unreleased, newest = re.findall(r"^## (.+)$", PAGES["CHANGELOG.md"], re.MULTILINE)[:2]
    assert unreleased == "Unreleased"
    assert newest == f"{vitviz.__version__} ({cited['date-released']})"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert cited["version"] == vitviz.__version__
    assert cited["license"] == project["license"]
    assert [one["name"] for one in cited["authors"]] == [one["name"] for one in project["authors"]]


def test_the_screenshot_is_small_enough_for_a_phone() -> None:
    assert 10_000 < (ROOT / ".github/screenshot.webp").stat().st_size <= 300_000
