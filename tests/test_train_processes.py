"""Several processes train the model that one process would have trained."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.test_train import PICTURES, PLAIN, SMALL, log_of, pack  # noqa: F401 (a fixture)
from vitviz.probe.film import Film
from vitviz.train.command import main
from vitviz.train.errors import TrainError
from vitviz.train.processes import Processes
from vitviz.train.run import Run

ROOT = Path(__file__).resolve().parents[1]
LONG = ["--epochs", "2", "--schedule", "constant", "--clip", "0.5", "--optimizer", "muon"]
LONG += ["--precision", "float32"]


def two_processes(*words: str) -> subprocess.CompletedProcess:
    """The command of the README, started twice by torchrun."""
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run(
        [*run, "-m", "vitviz.train", *words],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def trained(pack, tmp_path, monkeypatch):  # noqa: F811
    """Run the command in two processes, or in this one, and read the weights it wrote."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    def run(name: str, *more: str, size: int = 2) -> dict[str, torch.Tensor]:
        words = ["--data", str(pack), "--out", str(tmp_path / name), *SMALL, *LONG, *more]
        if size == 1:
            assert main(words) == 0
        else:
            done = two_processes(*words)
            assert done.returncode == 0, done.stderr
            assert done.stdout.count("mnist.safetensors: ") == 1, "only one process speaks"
        return load_file(tmp_path / name / "mnist.safetensors")

    return run


def test_two_processes_train_the_model_of_one(trained, tmp_path):
    plain = ["--zoom", "0"]  # nothing random but weights and order
    one, two = trained("one", *plain, size=1), trained("two", *plain)
    for name in one:
        torch.testing.assert_close(one[name], two[name], atol=2e-3, rtol=0, msg=name)
    ones, twos = log_of(tmp_path / "one"), log_of(tmp_path / "two")
    assert [line["event"] for line in ones] == [line["event"] for line in twos]
    assert ones[-1]["nll"] == pytest.approx(twos[-1]["nll"], abs=1e-3)
    assert twos[0]["processes"] == 2


def test_two_processes_go_on_as_if_never_stopped(trained, tmp_path):
    more = ["--zoom", "0.2", "--patch-keep", "0.5", "--dropout", "0.1"]
    more += ["--all-patches-share", "0"]
    whole = trained("whole", *more)
    trained("parts", *more, "--epochs", "1")
    parts = trained("parts", *more, "--resume")
    for name in whole:
        assert torch.equal(whole[name], parts[name]), name
    film = Film.read(tmp_path / "parts" / "film.safetensors")
    steps = [moment["step"] for moment in film.facts["moments"]]
    assert steps[0] == 0
    assert steps == sorted(set(steps))
    assert steps[-1] == 10


def test_a_batch_that_cannot_be_shared_out_is_refused():
    with pytest.raises(TrainError, match="a multiple of the 3 processes, got 8"):
        Run(PLAIN, PICTURES, torch.device("cpu"), Processes(rank=1, size=3))
