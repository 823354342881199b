"""Several processes train the model that one process would have trained."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.running import ROOT
from tests.train.test_others import CPU
from tests.train.test_run import PICTURES, PLAIN, SMALL, TEST, log_of, pack  # noqa: F401 (a fixture)
from tests.train.test_teacher import TAUGHT, Colours
from vitviz.probe.measure.film import Film
from vitviz.train import teacher
from vitviz.train.checkpoint import read_state
from vitviz.train.command import main
from vitviz.train.errors import TrainError
from vitviz.train.others import Others
from vitviz.train.processes import Processes
from vitviz.train.run import Run

LONG = ["--epochs", "2", "--schedule", "constant", "--clip", "0.5", "--optimizer", "muon"]
LONG += ["--precision", "float32"]


TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
SETTINGS = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
HERE = {"cwd": ROOT, "env": os.environ | SETTINGS}


# The command, which leaves no thread of the group to abort the process at its end.
LEAVES = """
import sys
from pathlib import Path
from vitviz.train.command import main
status = main(sys.argv[1:])
tasks = Path("/proc/self/task")  # only Linux tells its threads
names = [(task / "comm").read_text("utf-8") for task in tasks.iterdir()] if tasks.exists() else []
assert not any("gloo" in name for name in names), names
sys.exit(status)
"""


def two_processes(script: str, folder: Path, *words: str) -> subprocess.CompletedProcess:
    """A script, started twice by torchrun."""
    (folder / "script.py").write_text(script)
    run = [*TORCHRUN, str(folder / "script.py"), *words]
    return subprocess.run(run, **HERE, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def trained(pack, tmp_path, monkeypatch):  # noqa: F811
    """Run the command in two processes, or in this one, and read the weights it wrote."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    def run(name: str, *more: str, size: int = 2) -> dict[str, torch.Tensor]:
        words = ["--data", str(pack), "--out", str(tmp_path / name), *SMALL, *LONG, *more]
        if size == 1:
            assert main(words) == 0
        else:
            done = two_processes(LEAVES, tmp_path, *words)
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


def test_a_batch_that_cannot_be_shared_out_is_refused():
    with pytest.raises(TrainError, match=r"batch_size must make a multiple of the 3 .*, got 8"):
        Run(PLAIN, PICTURES, torch.device("cpu"), Processes(rank=1, size=3))
    odd = PLAIN.changed({"others_share": 0.125})
    with pytest.raises(TrainError, match=r"others_share must make a multiple of the 2 .*, got 1"):
        Run(odd, PICTURES, torch.device("cpu"), Processes(rank=1, size=2), Others(TEST, TEST))


NOT_A_NUMBER = """
import os, sys
from vitviz.train.command import main
from vitviz.train.run import Run
def learn(self, batch, real=Run.learn):
    if self.step == 7 and self.processes.rank == 1:
        right = self.learner.forward
        self.learner.forward = lambda x: (a := right(x))._replace(logits=a.logits * float("nan"))
    return real(self, batch)
Run.learn = learn
sys.exit(main(sys.argv[1:]))
"""


LABELS = """
import sys
from pathlib import Path
import torch
from tests.train.test_run import PICTURES, TEST
from tests.train.test_teacher import TAUGHT, Colours
from vitviz.train import teacher
from vitviz.train.processes import processes
teacher.pretrained = lambda name: Colours()
with processes() as us:
    folder = Path(sys.argv[1]) / str(us.rank)
    folder.mkdir()
    made = teacher.soft_labels(TAUGHT, [PICTURES], TEST, folder, torch.device("cpu"), us)
    torch.save([made.scores, made.basis, made.bias], folder / "made.pt")
    assert (folder / teacher.FILE).exists() == us.first
"""


def test_two_processes_make_the_labels_of_one_teacher(tmp_path, monkeypatch):
    done = two_processes(LABELS, tmp_path, str(tmp_path))
    assert done.returncode == 0, done.stderr
    monkeypatch.setattr(teacher, "pretrained", lambda name: Colours())
    one = teacher.soft_labels(TAUGHT, [PICTURES], TEST, tmp_path, CPU, Processes())
    for rank in ("0", "1"):
        scores, basis, bias = torch.load(tmp_path / rank / "made.pt")
        assert torch.equal(scores, one.scores)
        torch.testing.assert_close(basis, one.basis)
        torch.testing.assert_close(bias, one.bias)


def test_a_loss_that_is_not_a_number_in_one_process_stops_both(pack, tmp_path):  # noqa: F811
    words = ["--data", str(pack), "--out", str(tmp_path / "run"), *SMALL, *LONG]
    done = two_processes(NOT_A_NUMBER, tmp_path, *words)
    assert done.returncode != 0
    assert done.stderr.count("the loss is nan") == 2, done.stderr  # both processes print it
    assert "the state of step 5 is kept" in done.stderr
    state = read_state(tmp_path / "run")
    assert state["step"] == 5
    assert all(torch.isfinite(value).all() for value in state["vit"].values())


def test_two_processes_that_are_stopped_are_saved_and_go_on_as_if_never_stopped(
    trained,
    pack,  # noqa: F811
    tmp_path,
):
    folder = tmp_path / "parts"
    more = ["--zoom", "0.2", "--patch-keep", "0.5", "--dropout", "0.1", "--ema", "0.9"]
    more += ["--all-patches-share", "0", "--mixup", "0.4", "--unmixed-share", "0"]
    words = ["--data", str(pack), "--out", str(folder), *SMALL, *LONG, *more, "--epochs", "9999"]
    with subprocess.Popen(
        [*TORCHRUN, "-m", "vitviz.train", *words],
        **HERE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        while process.poll() is None and not has_an_epoch(folder / "log.jsonl"):
            time.sleep(0.05)
        # A terminal sends Ctrl-C to all processes, and torchrun then sends it to its own once more.
        os.killpg(process.pid, signal.SIGINT)
        told = process.communicate(timeout=300)[1]
    assert told.count("stopped after step") == 1, told
    assert "torchrun --standalone --nproc-per-node 2 -m vitviz.train --data" in told
    step = read_state(folder)["step"]
    assert step >= 5
    epochs = step // 5 + 1
    parts = trained("parts", *more, "--epochs", str(epochs), "--resume")
    assert log_of(folder)[-1]["step"] == 5 * epochs
    whole = trained("whole", *more, "--epochs", str(epochs))
    for name in whole:
        assert torch.equal(whole[name], parts[name]), name
    steps = [moment["step"] for moment in Film.read(folder / "film.safetensors").facts["moments"]]
    assert (steps[0], steps[-1]) == (0, 5 * epochs)
    assert steps == sorted(set(steps))


def has_an_epoch(log: Path) -> bool:
    return log.exists() and '"event": "epoch"' in log.read_text("utf-8")
