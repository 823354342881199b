"""The words of the command line: each is listed, helps, starts what it says, and is guessed."""

import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from PIL import Image

import vitviz
from tests.models import photo
from tests.running import ROOT, save_tiny
from vitviz import cli, look
from vitviz.site import Report
from vitviz.train import command


def said(capsys: pytest.CaptureFixture, *arguments: str) -> tuple[int, str, str]:
    """Exit status, stdout, stderr."""
    try:
        status = cli.main(arguments)
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


@pytest.fixture
def asked(monkeypatch) -> list[tuple[str, list[str]]]:
    """Words and their arguments, noted in place of what they do."""
    notes = []
    for name, word in cli.WORDS.items():
        noted = word._replace(run=lambda rest, name=name: notes.append((name, [*rest])))
        monkeypatch.setitem(cli.WORDS, name, noted)
    return notes


def test_help_has_a_line_and_an_example_of_every_word(capsys) -> None:
    status, out, err = said(capsys, "--help")
    assert (status, err) == (0, "")
    for name, word in cli.WORDS.items():
        (line,) = (line for line in out.splitlines() if line.startswith(f"  {name} "))
        assert word.help in line
        assert line.endswith(f"vitviz {name} {word.example}".rstrip())
    assert all(len(line) <= 100 for line in out.splitlines())
    assert said(capsys, "-h")[1] == out
    assert said(capsys, "--version")[:2] == (0, f"vitviz {vitviz.__version__}\n")


@pytest.mark.parametrize("name", cli.WORDS)
def test_every_word_has_help_under_its_own_name(capsys, name) -> None:
    status, out, err = said(capsys, name, "--help")
    assert (status, err) == (0, "")
    assert out.startswith(f"usage: vitviz {name} ")
    assert "app.py" not in out


@pytest.mark.parametrize("name", cli.WORDS)
def test_a_mistake_after_a_word_is_one_line_under_its_name(capsys, name) -> None:
    needs = {key: ["x"] for key in ("exercise", "look", "site", "summary", "survey")}
    needs["teach"] = ["x", "-o", "y.safetensors"]
    status, out, err = said(capsys, name, *needs.get(name, ()), "--no-such-option")
    assert (status, out) == (2, "")
    no_option = "there is no option --no-such-option"
    assert err == f"vitviz {name}: {no_option}; --help shows what is allowed\n"
    err = said(capsys, name, "x", "--no-such-option", "y")[2]
    assert err.startswith(f"vitviz {name}: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", cli.WORDS)
def test_the_example_of_every_word_is_understood(name, monkeypatch) -> None:
    """Each is run as far as its arguments are read."""
    monkeypatch.setattr("vitviz.look.look", lambda asked: None)
    monkeypatch.setattr("vitviz.surveys.write_survey", lambda asked: None)
    monkeypatch.setattr("vitviz.teaching.write_taught", lambda asked: 0)
    monkeypatch.setattr("vitviz.layers.layer_table", lambda *_, **__: "")
    monkeypatch.setattr("vitviz.train.command.train_and_save", lambda asked: None)
    monkeypatch.setattr("vitviz.exercise.command.write_exercise", lambda *_: ("a", "b"))
    monkeypatch.setattr("vitviz.site.command.write_site", lambda *_: Report(0, (), ()))
    monkeypatch.setattr("vitviz.web.command.build_app", lambda asked: (None, None))
    monkeypatch.setattr("vitviz.web.command.serve", lambda *_: None)
    assert cli.main([name, *cli.WORDS[name].example.split()]) == 0


@pytest.mark.parametrize(
    "arguments", ["--help", "look --help", "serve --help", "exercise --help", "models", "lokk"]
)
def test_what_only_reads_arguments_imports_nothing_slow(arguments: str) -> None:
    slow = ["torch", "gradio", "timm", "matplotlib", "torchvision", "safetensors"]
    script = f"""
import sys
from vitviz.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print([name for name in {slow} if name in sys.modules], file=sys.stderr)
"""
    command = [sys.executable, "-c", script, *arguments.split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_explainers_of_the_help_are_those_that_there_are() -> None:
    assert [*vitviz.EXPLAINERS] == cli.EXPLAINER_KEYS


@pytest.mark.parametrize(
    ("arguments", "word", "rest"),
    [
        ("look cat.jpg", "look", "cat.jpg"),
        ("look serve", "look", "serve"),
        ("cat.jpg --html", "look", "cat.jpg --html"),
        ("--html cat.jpg", "look", "--html cat.jpg"),
        ("a/cat", "look", "a/cat"),
        ("./serve", "look", "./serve"),
        ("no-such.jpg", "look", "no-such.jpg"),
        ("-- look", "look", "-- look"),
        ("serve --port 80", "serve", "--port 80"),
        ("train --recipe mnist", "train", "--recipe mnist"),
        ("summary mnist --untrained", "summary", "mnist --untrained"),
        ("--summary mnist --untrained", "summary", "mnist --untrained"),
        ("--untrained --summary=mnist", "summary", "--untrained mnist"),
        ("--list-models", "models", ""),
        ("models", "models", ""),
    ],
)
def test_a_first_word_that_is_none_is_a_photo(capsys, asked, arguments, word, rest) -> None:
    assert said(capsys, *arguments.split()) == (0, "", "")
    assert asked == [(word, rest.split())]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            "lokk photo.jpg",
            "'lokk' is neither a file nor one of the words look, survey, teach, serve, train",
        ),
        ("lokk photo.jpg", "(did you mean look?)"),
        ("Serve", "(did you mean serve or survey?)"),
        ("hog", "'hog' is neither a file nor one of the words"),
        ("", "name a photo, or one of the words look, survey, teach, serve, train"),
    ],
)
def test_an_unknown_word_is_told_in_one_line(capsys, asked, arguments, line) -> None:
    status, out, err = said(capsys, *arguments.split())
    assert (status, out) == (2, "")
    assert err.startswith("vitviz: ")
    assert line in err
    assert err.count("\n") == 1
    assert asked == []


def test_a_photo_can_be_named_as_anything(capsys, asked, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("lokk", "serve"):
        Image.fromarray(photo()).save(tmp_path / name, "png")
    assert said(capsys, "lokk") == (0, "", "")
    assert said(capsys, "./serve") == (0, "", "")
    status, _, err = said(capsys, "serve", "--port", "80")
    assert (status, err) == (0, "vitviz: serve is a word here; the file of that name is ./serve\n")
    (tmp_path / "train").mkdir()  # as folders of pictures have it
    assert said(capsys, "train") == (0, "", "")
    assert asked == [
        ("look", ["lokk"]),
        ("look", ["./serve"]),
        ("serve", ["--port", "80"]),
        ("train", []),
    ]


def test_a_photo_without_a_word_is_looked_at(capsys, tmp_path) -> None:
    model, picture = save_tiny(tmp_path, "cls"), tmp_path / "cat.png"
    Image.fromarray(photo()).save(picture)
    for number, word in enumerate(([], ["look"])):
        out = tmp_path / str(number)
        asked = [str(picture), "--model", str(model), "--out", str(out)]
        assert said(capsys, *word, *asked)[0] == 0
    first, second = ((tmp_path / n / look.ANALYSIS).read_bytes() for n in "01")
    assert first == second


def test_train_answers_as_its_module_does(capsys) -> None:
    missing = ["--evaluate", "photos"]
    status, out, err = said(capsys, "train", *missing)
    assert (status, out) == (1, "")
    assert err.startswith("vitviz train: --evaluate needs --data")
    command = [sys.executable, "-m", "vitviz.train", *missing]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, out, err)


def test_what_a_word_cannot_do_is_one_sentence(capsys) -> None:
    for name, arguments in (
        ("look", ["no-such.jpg", "--model", "mnist"]),
        ("serve", ["--model", "no-such.safetensors"]),
        ("summary", ["resnet50"]),
    ):
        status, out, err = said(capsys, name, *arguments)
        begun = "vitviz starts: its address comes in some seconds\n" if name == "serve" else ""
        assert (status, out) == (1, begun)
        assert err.startswith(f"vitviz {name}: ")
        assert err.count("\n") == 1


ENDED = [("SIGTERM", -15), ("SIGHUP", -1), ("SIGINT", 130)]
STOPPED = """
import signal, sys
from vitviz import cli

def work(rest):
    try:
        signal.raise_signal(getattr(signal, rest[0]))
    finally:
        print("closed", flush=True)

cli.WORDS["models"] = cli.Word("", "", work)
sys.exit(cli.main(["models", sys.argv[1]]))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
@pytest.mark.parametrize(("name", "status"), ENDED)
def test_a_word_that_is_told_to_end_closes_what_it_has_open(name: str, status: int) -> None:
    """SIGTERM, or a closed terminal, ended it there: pictures and half a site stayed."""
    command = [sys.executable, "-c", STOPPED, name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (status, "closed\n", "")


SWALLOWS = """
import os, signal, threading
try:
    os.kill(os.getpid(), signal.NAME)
    for one in threading.enumerate():
        if isinstance(one, threading.Timer):
            one.join()  # the signal comes once more, and has to wait again
    told = "imported"
except BaseException:
    told = "half imported"
"""
UNTIL_ENDED = """
    try:
        while True:
            time.sleep(0.01)
    finally:
        print("closed", flush=True)

cli.WORDS["models"] = cli.Word("", "", work)
sys.exit(cli.main(["models"]))
"""
STOPPED_IMPORT = """
import sys, time
from vitviz import cli

def work(rest):
    from swallows import told
    print(told, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
@pytest.mark.parametrize(("name", "status"), ENDED)
def test_an_import_is_finished_before_a_word_is_told_to_end(tmp_path, name, status) -> None:
    """torch swallowed it, went on without the half of numpy, and ended in a traceback."""
    (tmp_path / "swallows.py").write_text(SWALLOWS.replace("NAME", name))
    command = [sys.executable, "-c", STOPPED_IMPORT + UNTIL_ENDED]
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (status, "imported\nclosed\n", "")


STOPPED_FINALIZER = """
import signal, sys, time
from vitviz import cli

class Late:
    def __del__(self):
        signal.raise_signal(getattr(signal, sys.argv[1]))

def work(rest):
    Late()
    print("goes on", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
@pytest.mark.parametrize(("name", "status"), ENDED)
def test_a_signal_that_a_finalizer_swallows_ends_a_word_all_the_same(name, status) -> None:
    """An app that was told to end while it collected garbage, within half a second of its start,
    went on for ever."""
    command = [sys.executable, "-c", STOPPED_FINALIZER + UNTIL_ENDED, name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (status, "goes on\nclosed\n", "")


NO_ROOM = """
import sys, tempfile
tempfile._candidate_tempdir_list = lambda: ["/here", "/there"]
from vitviz.cli import main
sys.exit(main(sys.argv[1:]))
"""
NO_FOLDER = (
    "No usable temporary directory found in ['/here', '/there']: the disk may be full; TMPDIR names"
    " another\n"
)


def test_the_page_says_that_no_folder_takes_temporary_files(tmp_path) -> None:
    """Gradio looks for one while it is imported."""
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, "serve"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (1, f"vitviz serve: {NO_FOLDER}")


@pytest.mark.parametrize(
    ("raised", "sentence"),
    [
        (FileNotFoundError(errno.ENOENT, "in torch"), NO_FOLDER),
        (OSError("in matplotlib"), NO_FOLDER),
        (OSError(errno.ENOSPC, "No space", "a/b"), "the disk is full: No space (a/b)\n"),
        (OSError(errno.ENOSPC, "No space", "a", None, "b"), "the disk is full: No space (b)\n"),
    ],
)
@pytest.mark.parametrize("word", ["train", "look"])
def test_a_word_says_that_the_disk_is_full_wherever_that_is_found(
    capsys, monkeypatch, raised, sentence, word
) -> None:
    def full(*_: object) -> None:
        raise raised

    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/here", "/there"])
    monkeypatch.setattr(look, "look", full)
    monkeypatch.setattr(command, "train_and_save", full)
    status, out, err = said(capsys, *{"train": ["train"], "look": ["look", "x.png"]}[word])
    assert (status, out, err) == (1, "", f"vitviz {word}: {sentence}")


def test_what_else_goes_wrong_with_a_file_is_no_full_disk(monkeypatch) -> None:
    def lost(*_: object) -> None:
        raise FileNotFoundError("a bug")

    monkeypatch.setattr(look, "look", lost)
    with pytest.raises(FileNotFoundError, match="a bug"):
        cli.main(["look", "x.png"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a file of Linux")
@pytest.mark.parametrize("asked", ["models", "summary mnist"])
def test_output_that_the_disk_has_no_room_for_ends_in_a_sentence(asked) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "vitviz", *asked.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            timeout=120,
        )
    assert done.returncode == 1, done.stderr
    word = asked.partition(" ")[0]
    assert done.stderr == f"vitviz {word}: the disk is full: No space left on device\n"


def in_encoding(encoding: str, *asked: str, folder: Path = ROOT) -> tuple[int, bytes, bytes]:
    """Exit status, stdout, stderr of Python where both are in this encoding, strictly."""
    environ = {**os.environ, "PYTHONIOENCODING": f"{encoding}:strict", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *asked], capture_output=True, cwd=folder, env=environ, timeout=240
    )
    return done.returncode, done.stdout, done.stderr


# As Gradio does where the package mcp is installed.
PRINTS = """
import sys
from vitviz import cli
from vitviz.train import command
def told(_):
    print("\U0001f528 \uace0\uc591\uc774")
cli.WORDS["models"] = cli.WORDS["models"]._replace(run=told)
command.train_and_save = told
sys.exit(cli.main(sys.argv[1:]) if sys.argv[1] == "models" else command.main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("encoding", "said"), [("cp949", "? 고양이"), ("ascii", "? ???")])
@pytest.mark.parametrize("asked", [["models"], ["--recipe", "mnist"]])
def test_output_takes_any_character_in_any_encoding(encoding, said, asked) -> None:
    status, out, err = in_encoding(encoding, "-c", PRINTS, *asked)
    assert (status, out.split(), err) == (0, said.encode(encoding).split(), b"")


def test_json_keeps_every_character_in_any_encoding(tmp_path) -> None:
    Image.fromarray(photo()).save(tmp_path / "고양이\U0001f408.png")
    path = save_tiny(tmp_path, "cls")
    for encoding in ("ascii", "utf-8"):
        asked = ("-m", "vitviz", "look", "고양이\U0001f408.png", "--model", str(path), "--json")
        status, out, err = in_encoding(encoding, *asked, folder=tmp_path)
        assert (status, err) == (0, b"")
        assert json.loads(out.decode(encoding))["photo"]["name"] == "고양이\U0001f408.png"
    assert "고양이" in out.decode()  # to be read where it can be
