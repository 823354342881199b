"""Runs that are killed, starved of disk space or damaged: they go on, or say what is wrong."""

import os
import random
import signal
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from tests.running import ROOT
from tests.train.test_run import PICTURES, SMALL, TEST, TINY, log_of, pack  # noqa: F401 (a fixture)
from vitviz.probe.measure.film import Film
from vitviz.train import checkpoint
from vitviz.train.command import main
from vitviz.train.errors import TrainError
from vitviz.train.loop import Log, Stopped, train

# Random changes that do not depend on the length of the run.
MORE = ["--precision", "float32", "--schedule", "constant", "--ema", "0.9"]
MORE += ["--erase", "0.5", "--unmixed-share", "0", "--patch-keep", "0.5"]
MORE += ["--all-patches-share", "0"]
WHOLE: dict[str, torch.Tensor] = {}  # the weights of the uninterrupted run

# How a process dies in the second epoch: in the middle of a write.
DIES_WRITING = {
    "state": """
        import torch
        def save(state, file, real=torch.save):
            if state["step"] < 10:
                return real(state, file)
            file.write(b"half of a state")
            file.flush()
            die()
        torch.save = save
    """,
    "film": """
        import re, safetensors.torch
        def save_file(tensors, path, metadata, real=safetensors.torch.save_file):
            if not re.search('"step": ([6-9]|10),', metadata.get("vitviz_film", "")):
                return real(tensors, path, metadata)
            path.write_bytes(b"half of a film")
            die()
        safetensors.torch.save_file = save_file
    """,
    "log": """
        from vitviz.train.loop import Log
        def write(self, real=Log.write, **facts):
            if facts["step"] < 10:
                return real(self, **facts)
            with self.path.open("a") as file:
                file.write('{"event": "epo')
            die()
        Log.write = write
    """,
}
DIES = """
import os, signal, sys
def die():
    os.kill(os.getpid(), signal.SIGKILL)
{}
from vitviz.train.command import main
sys.exit(main(sys.argv[1:]))
"""


def start(*words: str, script: str = "", limit: int | None = None) -> subprocess.CompletedProcess:
    """The command in a process of its own; no file of it may grow beyond `limit` kB."""
    how = ["-c", script] if script else ["-m", "vitviz.train"]
    shell = ["bash", "-c", f'ulimit -f {limit or "unlimited"}; exec "$@"', "bash"]
    return subprocess.run(
        [*shell, sys.executable, *how, *words],
        cwd=ROOT,
        # As many threads as here: sums are rounded differently with more or fewer.
        env=os.environ
        | {"OMP_NUM_THREADS": str(torch.get_num_threads()), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def words(pack, tmp_path, monkeypatch):  # noqa: F811
    """The command for a run of four epochs of five steps, into tmp_path / name."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return lambda name: ["--data", str(pack), "--out", str(tmp_path / name), *SMALL, *MORE]


@pytest.fixture
def is_whole(words, tmp_path):
    """A check that a run ended with the weights of the uninterrupted run."""

    def check(name: str) -> None:
        if not WHOLE:
            assert main(words("whole")) == 0
            WHOLE.update(load_file(tmp_path / "whole" / "mnist.safetensors"))
        ours = load_file(tmp_path / name / "mnist.safetensors")
        for key, value in WHOLE.items():
            assert torch.equal(ours[key], value), key

    return check


@pytest.mark.parametrize("file", DIES_WRITING)
def test_a_run_killed_in_the_middle_of_writing_goes_on(words, is_whole, tmp_path, file):
    body = "\n".join(line[8:] for line in DIES_WRITING[file].splitlines())
    killed = start(*words("killed"), script=DIES.format(body))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    folder = tmp_path / "killed"
    assert checkpoint.read_state(folder)["step"] == 5
    assert main([*words("killed"), "--resume"]) == 0
    is_whole("killed")
    log_lines = (folder / "log.jsonl").read_text("utf-8").splitlines()
    assert sum(line.startswith('{"event": "start"') for line in log_lines) == 2
    moments = [moment["step"] for moment in Film.read(folder / "film.safetensors").facts["moments"]]
    assert moments == sorted(set(moments))
    assert moments[-1] == 20
    left = {path.name for path in folder.iterdir()}
    model = {"mnist.safetensors", "mnist.film.safetensors"}
    assert left == {"log.jsonl", "state.pt", "film.safetensors"} | model


def test_a_full_disk_is_told_and_the_last_state_kept(words, is_whole, tmp_path, capsys):
    folder = tmp_path / "full"
    assert main([*words("full"), "--epochs", "1"]) == 0
    before = (folder / "state.pt").read_bytes()
    limit = len(before) // 1024 - 8
    full = start(*words("full"), "--resume", limit=limit)
    assert full.returncode == 1, full.stderr
    assert "state.pt could not be written: File too large; the state before it is kept" in (
        full.stderr
    )
    assert "Traceback" not in full.stderr
    assert (folder / "state.pt").read_bytes() == before
    assert not [*folder.glob(".*")]
    assert main([*words("full"), "--resume"]) == 0
    is_whole("full")


@pytest.mark.parametrize("file", ["log.jsonl", "film.safetensors", "mnist.safetensors"])
def test_any_file_that_cannot_be_written_is_named(words, tmp_path, capsys, file):
    (tmp_path / "out" / file).mkdir(parents=True)
    assert main(words("out")) == 1
    assert f"{file} could not be written: " in capsys.readouterr().err
    # Where only the model could not be written, the state of the training is kept.
    assert (tmp_path / "out" / "state.pt").exists() == (file == "mnist.safetensors")
    (tmp_path / "out" / file).rmdir()
    if file == "mnist.safetensors":
        assert main([*words("out"), "--resume"]) == 0


def test_a_file_where_the_folder_should_be_is_told(words, tmp_path, capsys):
    (tmp_path / "out").write_text("")
    assert main(words("out")) == 1
    assert "out could not be written: File exists" in capsys.readouterr().err
    assert main(words("out/deeper")) == 1
    assert "could not be written: Not a directory" in capsys.readouterr().err


def test_a_signal_in_the_middle_of_saving_waits_until_it_is_saved(tmp_path, monkeypatch):
    real, pids = torch.save, [os.getpid()]

    def save(state, file):
        if pids:
            os.kill(pids.pop(), signal.SIGTERM)
        real(state, file)

    monkeypatch.setattr(torch, "save", save)
    with pytest.raises(Stopped, match="stopped after step 5 of 15"):
        train(TINY, PICTURES, TEST, tmp_path)
    assert checkpoint.read_state(tmp_path)["step"] == 5


def test_ctrl_c_while_a_trained_model_is_measured_ends_that(words, is_whole, monkeypatch, capsys):
    """It was heard after the last step, and nothing came of it."""

    def pressed(*_given):
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr("vitviz.train.loop.finish", pressed)
        assert main(words("measured")) == 130
    assert "stopped while the model was measured" in (said := capsys.readouterr().err)
    assert said.rstrip().endswith("--resume")
    assert main([*words("measured"), "--resume"]) == 0
    is_whole("measured")


def test_no_damage_to_a_state_passes_unseen(tmp_path):
    train(TINY.changed({"epochs": 1}), PICTURES, TEST, tmp_path)
    path = tmp_path / "state.pt"
    good, state = path.read_bytes(), checkpoint.read_state(tmp_path)
    dice = random.Random(0)
    seen = 0
    for cut_short in [True] * 20 + [False] * 60:
        damaged = bytearray(good)
        if cut_short:
            del damaged[dice.randrange(len(good)) :]
        else:
            damaged[dice.randrange(len(good))] ^= 1 << dice.randrange(8)
        path.write_bytes(damaged)
        try:
            read = checkpoint.read_state(tmp_path)
        except TrainError:
            seen += 1
            continue
        # A flipped bit may lie in the padding between the parts, where it changes nothing.
        for part in ("vit", "ema"):
            for name, value in state[part].items():
                assert torch.equal(value, read[part][name])
        assert read["step"] == state["step"]
    assert seen > 40


@pytest.mark.parametrize("lost", ["vit", "step", "version"])
def test_a_state_of_another_program_is_refused(tmp_path, lost):
    train(TINY.changed({"epochs": 1}), PICTURES, TEST, tmp_path)
    state = checkpoint.read_state(tmp_path)
    del state[lost]
    torch.save(state, tmp_path / "state.pt")
    with pytest.raises(TrainError, match="was not written by this version of vitviz"):
        train(TINY, PICTURES, TEST, tmp_path, resume=True)


def test_a_log_that_was_cut_off_gets_a_new_line_first(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"event": "train", "st')
    Log(path, append=True).write(event="start", step=3)
    assert path.read_text().splitlines()[1] == '{"event": "start", "step": 3}'
    Log(path, append=True)
    assert len(path.read_text().splitlines()) == 2  # no line break is added after whole lines
    Log(path, append=False).write(event="start", step=0)
    assert [line["step"] for line in log_of(tmp_path)] == [0]
