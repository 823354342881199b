"""Progress: a bar, or lines where there is no terminal; and a run says first what it will do."""

import io

import pytest
import torch

from tests.train.test_run import PICTURES, PLAIN, TEST, log_of
from vitviz.train import progress
from vitviz.train.command import parser
from vitviz.train.filming import MOMENTS
from vitviz.train.loop import train
from vitviz.train.progress import Progress, batches, watched
from vitviz.train.run import Run
from vitviz.train.scores import logits_of


class Clock:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "clock", clock)
    monkeypatch.setattr(progress, "_last", progress.Last())
    return clock


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_a_line_comes_every_half_minute_with_what_is_done_and_left(clock, capsys) -> None:
    with Progress("mnist", 100, "images", done=10) as bar:
        for step in range(9):
            clock.now += 10
            bar.add(10, f"step {step + 1}")
    assert lines(capsys) == [
        "mnist: 40 of 100 images, 1.0 a second, 60 s to go; step 3",
        "mnist: 70 of 100 images, 1.0 a second, 30 s to go; step 6",
        "mnist: 100 of 100 images, 1.0 a second; step 9",
    ]


def test_quick_work_says_nothing(clock, capsys) -> None:
    for _ in range(5):  # also one after the other, with rests in which nothing is in progress
        assert list(watched(range(3), "reading", 3)) == [0, 1, 2]
        clock.now += 100
    assert lines(capsys) == []


def test_many_pieces_of_work_in_a_row_do_not_add_up_to_silence(clock, capsys) -> None:
    with Progress("run", 40, "steps") as bar:
        for _ in range(4):
            for _ in watched(range(2), "measuring", 2):
                clock.now += 10
            bar.add()
    told = lines(capsys)
    assert [line.split(",")[0] for line in told] == [
        f"measuring: {n} of 2 pictures" for n in (1, 2)
    ]


@pytest.mark.parametrize(
    ("seconds", "words"), [(89, "89 s"), (90, "2 min"), (5340, "89 min"), (5400, "1.5 h")]
)
def test_the_time_that_is_left_in_words(seconds, words) -> None:
    assert progress.in_words(seconds) == words


def test_batches_are_counted_in_pictures(clock, capsys) -> None:
    sizes = []
    for batch in batches(torch.zeros(25, 1), 10, "measuring"):
        sizes.append(len(batch))
        clock.now += 31
    assert sizes == [10, 10, 5]
    assert [line.split(",")[0] for line in lines(capsys)] == [
        f"measuring: {n} of 25 pictures" for n in (10, 20, 25)
    ]


def test_another_process_and_quiet_work_say_nothing(clock, capsys, monkeypatch) -> None:
    for _ in watched(range(3), "reading", 3, quiet=True):
        clock.now += 40
    monkeypatch.setenv("RANK", "1")
    for _ in watched(range(3), "reading", 3):
        clock.now += 40
    assert lines(capsys) == []


def test_a_terminal_gets_a_bar(monkeypatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    with Progress("mnist", 100, "images", delay=0.0, leave=True) as bar:
        bar.add(100, "loss 0.5")
    assert "mnist:" in terminal.getvalue()
    assert "100/100" in terminal.getvalue()
    assert "images, " not in terminal.getvalue(), "no line of text"


def test_a_run_says_what_it_will_do_and_how_far_it_is(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    recipe = PLAIN.changed({"epochs": 2, "eval_pictures": 8})
    train(recipe, PICTURES, TEST, tmp_path)
    told = capsys.readouterr()
    assert told.out.splitlines()[0] == (
        "custom: 10 steps of 8 pictures each (2 epochs) on cpu; 8 test pictures are measured after "
        f"each epoch and at 11 moments of the film; the log is {tmp_path / 'log.jsonl'}"
    )
    err = told.err.splitlines()
    assert err[0].startswith("measuring: 8 of 8 pictures")
    steps = [line for line in err if line.startswith("custom: ")]
    assert len(steps) == 10
    assert "; step 1 of 10, loss " in steps[0]
    first = next(line for line in log_of(tmp_path) if line["event"] == "train")
    assert first["step"] == 1, "the first line of numbers does not wait for 50 steps"
    assert first["images_per_s"] > 0
    train(recipe, PICTURES, TEST, tmp_path, resume=True)
    assert capsys.readouterr().out.startswith("custom: all 10 steps ")


def test_a_run_that_is_shorter_than_its_warmup_says_so(tmp_path, capsys) -> None:
    recipe = PLAIN.changed({"epochs": 1, "warmup": 5})
    train(recipe, PICTURES, TEST, tmp_path / "short")
    said = capsys.readouterr().out.splitlines()[0]
    assert "5 steps of 8 pictures each (1 epoch) on" in said
    assert said.endswith("It learns little: the learning rate rises for 5 steps")
    train(recipe.changed({"warmup": 4}), PICTURES, TEST, tmp_path / "longer")
    assert "learns little" not in capsys.readouterr().out


def test_the_help_says_when_the_test_pictures_are_measured() -> None:
    words = " ".join(parser().format_help().split())
    assert (
        f"after each epoch and at each of the film's {MOMENTS} moments, most of which lie" in words
    )


def test_a_resumed_run_logs_its_first_step(tmp_path) -> None:
    train(PLAIN.changed({"epochs": 1, "schedule": "constant"}), PICTURES, TEST, tmp_path)
    longer = PLAIN.changed({"epochs": 2, "schedule": "constant"})
    train(longer, PICTURES, TEST, tmp_path, resume=True)
    assert [line["step"] for line in log_of(tmp_path) if line["event"] == "train"] == [1, 6]


def test_the_images_a_second_of_the_log_are_those_of_the_steps_alone(
    tmp_path, clock, monkeypatch
) -> None:
    """They counted the time in which the film measures test pictures, and were far too few."""

    def slowly(name: str, seconds: float) -> None:
        real = getattr(Run, name)

        def call(self, given):
            clock.now += seconds
            return real(self, given)

        monkeypatch.setattr(Run, name, call)

    slowly("learn", 1)
    slowly("measure", 100)
    monkeypatch.setattr("vitviz.train.loop.time.monotonic", clock)
    train(PLAIN.changed({"epochs": 1.2, "batch_size": 1}), PICTURES, TEST, tmp_path)
    rates = [line["images_per_s"] for line in log_of(tmp_path) if line["event"] == "train"]
    assert rates == [1, 1]  # at steps 1 and 50


def test_measuring_shows_how_far_it_is(clock, capsys) -> None:
    class Vit(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            clock.now += 31
            return x.flatten(1)[:, :2]

    logits_of(Vit(), torch.zeros(5, 1, 4, 4, dtype=torch.uint8), (0.5,), (0.5,), batch_size=3)
    assert [line.split(",")[0] for line in lines(capsys)] == [
        "measuring: 3 of 5 pictures",
        "measuring: 5 of 5 pictures",
    ]
