"""Learning curves: the valid lines of any log are drawn, or an error says why not."""

import json

import pytest

from vitviz.train.command import main
from vitviz.train.errors import TrainError
from vitviz.train.plot import curves, plot, read_log


def start(step=0, steps=300, **more):
    return {"event": "start", "step": step, "steps": steps, **more}


def train(step, loss=1.0, **more):
    return {"event": "train", "step": step, "loss": loss, "lr": 1.0, "images_per_s": 50.0, **more}


def epoch(step, top1=0.5, event="epoch", **more):
    return {"event": event, "step": step, "top1": top1, "top5": 0.9, "nll": 2.0, **more}


WHOLE = [start(), train(50, 3.0), train(100, 2.5), epoch(100, 0.2), train(150, 2.0), epoch(200)]


def write(folder, lines, end="\n"):
    folder.mkdir(exist_ok=True)
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (folder / "log.jsonl").write_text(text + end, encoding="utf-8")
    return folder


def points(figure, panel, label):
    ax = figure.axes[panel]
    line = next(line for line in ax.lines if line.get_label() == label)
    return list(zip(line.get_xdata(), line.get_ydata(), strict=True))


def test_every_curve_has_the_numbers_of_the_log():
    figure = curves([*WHOLE, epoch(300, 0.6, event="end")], "tiny")
    loss = "as trained (augmented, softened targets)"
    assert points(figure, 0, loss) == [(50, 3.0), (100, 2.5), (150, 2.0)]
    assert points(figure, 0, "on test pictures (nll)") == [(100, 2.0), (200, 2.0), (300, 2.0)]
    assert points(figure, 1, "top-1") == [(100, 0.2), (200, 0.5), (300, 0.6)]
    assert points(figure, 1, "top-5") == [(100, 0.9), (200, 0.9), (300, 0.9)]
    assert points(figure, 2, "learning rate") == [(50, 1.0), (100, 1.0), (150, 1.0)]
    assert points(figure, 3, "images per second") == [(50, 50.0), (100, 50.0), (150, 50.0)]
    title = figure.get_suptitle()
    assert title == "tiny   step 300 of 300   top-1 60.0%, top-5 90.0%"


def test_steps_that_were_taken_again_count_once(tmp_path):
    lost = [train(250, 9.0), epoch(250, 0.01)]
    lines = read_log(write(tmp_path / "run", [*WHOLE, *lost, start(200), train(250, 1.5)]))
    assert [line["step"] for line in lines] == [0, 50, 100, 100, 150, 200, 200, 250]
    assert [line["loss"] for line in lines if "loss" in line] == [3.0, 2.5, 2.0, 1.5]
    dashed = [line for line in curves(lines).axes[0].lines if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == [200]


def test_a_finished_run_that_became_longer_has_one_end(tmp_path):
    lines = [*WHOLE, epoch(300, 0.6, event="end"), start(300, 600), epoch(600, 0.7, event="end")]
    kept = read_log(write(tmp_path / "run", lines))
    assert [line["step"] for line in kept if line["event"] == "end"] == [600]


@pytest.mark.parametrize(
    "rest", ['{"event": "train", "step": 2', "[1, 2]", '{"step": 9}', '{"event": "train"}', "", "1"]
)
def test_half_a_line_is_passed_over(tmp_path, rest):
    whole = read_log(write(tmp_path / "run", WHOLE))
    assert read_log(write(tmp_path / "run", [*WHOLE, rest], end="")) == whole
    # A resumed run appends to the same file.
    more = read_log(write(tmp_path / "run", [*WHOLE, rest, start(200), train(250)]))
    assert [line["step"] for line in more[-2:]] == [200, 250]


def test_one_number_and_missing_numbers_can_be_drawn():
    figure = curves([start(), {"event": "train", "step": 50, "loss": 3.0, "lr": None}])
    assert figure.axes[0].lines[0].get_marker() == "o"
    texts = ["".join(text.get_text() for text in ax.texts) for ax in figure.axes]
    assert texts == ["", *["not in the log yet"] * 3]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "nothing to draw yet"),
        ([start()], "nothing to draw yet"),
        (["half of"], "nothing to draw yet"),
    ],
)
def test_an_empty_log_is_told(tmp_path, lines, message):
    with pytest.raises(TrainError, match=message):
        read_log(write(tmp_path / "run", lines))


def test_a_folder_without_a_run_is_told(tmp_path, capsys):
    assert main(["--plot", str(tmp_path / "nowhere")]) == 1
    assert "there is no run in" in capsys.readouterr().err
    file = tmp_path / "file"
    file.write_text("")
    assert main(["--plot", str(file)]) == 1
    assert "there is no run in" in capsys.readouterr().err
    (tmp_path / "log.jsonl").mkdir()
    assert main(["--plot", str(tmp_path)]) == 1
    assert "cannot be read" in capsys.readouterr().err


def test_the_command_writes_both_files_and_names_them(tmp_path, capsys):
    folder = write(tmp_path / "run", WHOLE)
    assert main(["--plot", str(folder)]) == 0
    png, svg = folder / "curves.png", folder / "curves.svg"
    assert capsys.readouterr().out.split() == [str(png), str(svg)]
    assert png.read_bytes()[1:4] == b"PNG"
    assert "</svg>" in svg.read_text("utf-8")


def test_curves_that_cannot_be_written_are_told(tmp_path):
    folder = write(tmp_path / "run", WHOLE)
    (folder / "curves.png").mkdir()
    with pytest.raises(TrainError, match=r"curves\.png could not be written"):
        plot(folder)
