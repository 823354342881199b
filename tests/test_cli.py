"""The command line writes what Python would give, and answers mistakes with one sentence."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import vitviz
from tests.models import photo, tiny
from tests.running import ROOT, save_tiny
from tests.viewer_fixture import film
from vitviz import Analysis, analyze, cli, look
from vitviz.layers import layer_table
from vitviz.probe.measure.numbers import percent


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("model"), "cls")


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    Image.fromarray(photo()).save(path := tmp_path / "cat.png")
    return path


def call(capsys: pytest.CaptureFixture, *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    try:
        code = cli.main([str(argument) for argument in arguments])
    except SystemExit as stop:  # argparse
        code = stop.code
    return code, *capsys.readouterr()


def refused(capsys: pytest.CaptureFixture, *arguments: object) -> str:
    """The sentence on stderr of a call that is refused."""
    return _line(capsys, 1, *arguments)


def misused(capsys: pytest.CaptureFixture, *arguments: object) -> str:
    """The line on stderr of a call that is not understood."""
    return _line(capsys, 2, *arguments)


def _line(capsys: pytest.CaptureFixture, status: int, *arguments: object) -> str:
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (status, "")
    assert err.startswith("vitviz look: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.usefixtures("undrawn")
def test_it_says_when_it_is_not_sure(capsys, tmp_path, picture) -> None:
    path = save_tiny(tmp_path, "cls", stem="flat", temperature="50")
    best = analyze(vitviz.load(path), picture).predictions(1)[0]
    code, out, _ = call(capsys, picture, "--model", path, "--out", tmp_path / "out")
    assert code == 0
    assert f"not sure: the best guess is {best.label}, {best.probability:.1%}\n" in out


def test_a_photo_becomes_numbers_and_figures(capsys, tmp_path, model, picture) -> None:
    out_folder = tmp_path / "out"
    code, out, err = call(capsys, picture, "--model", model, "--out", out_folder)
    assert (code, err) == (0, "")
    names = sorted(path.name for path in out_folder.iterdir())
    assert names == [
        "analysis.safetensors",
        "attention-layer-2-token-0-head-mean.png",
        "features-layer-2-token-0.png",
        "heads-layer-2-token-0.png",
        "lens.png",
        "matrix-layer-2-head-mean.png",
        "patches.png",
        "positions.png",
        "predictions.png",
        "rollout-token-0.png",
        "statistics.png",
        "summary.json",
        "wall-token-0.png",
    ]
    expected = analyze(vitviz.load(model), picture)
    saved = Analysis.load(out_folder / "analysis.safetensors")
    assert torch.equal(saved.trace.q, expected.trace.q)
    assert torch.equal(saved.picture, expected.picture)
    summary = json.loads((out_folder / "summary.json").read_text("utf-8"))
    assert summary == json.loads(json.dumps(expected.summary()))
    best = expected.predictions()[0]
    assert f"{best.probability:.1%}  {best.label}" in out
    assert all(str(out_folder / name) in out for name in names)


@pytest.mark.usefixtures("undrawn")
def test_the_untrained_twin_has_a_folder_of_its_own(
    capsys, tmp_path, monkeypatch, model, picture
) -> None:
    monkeypatch.chdir(tmp_path)
    code, *_ = call(capsys, picture, "--model", model, "--untrained")
    assert code == 0
    folder = tmp_path / "vitviz-cat-tiny-cls-untrained"
    expected = analyze(vitviz.load(model, pretrained=False), picture)
    saved = Analysis.load(folder / "analysis.safetensors")
    assert not saved.card.trained
    assert torch.equal(saved.trace.logits, expected.trace.logits)
    said = refused(capsys, picture, "--model", model, "--out", folder)
    assert "holds the analysis of cat.png by the untrained tiny-cls; name another" in said
    assert call(capsys, picture, "--model", model, "--untrained", "--out", folder)[0] == 0


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("given", "size"), [("40x24", (40, 24)), ("48", (48, 48))])
def test_another_size_has_a_folder_of_its_own(
    capsys, tmp_path, monkeypatch, model, picture, given, size
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(capsys, picture, "--model", model, "--image-size", given)[0] == 0
    folder = tmp_path / f"vitviz-cat-tiny-cls-{given}"
    expected = analyze(vitviz.load(model, image_size=size), picture)
    saved = Analysis.load(folder / "analysis.safetensors")
    assert torch.equal(saved.trace.logits, expected.trace.logits)
    said = refused(capsys, picture, "--model", model, "--out", folder)
    assert f"holds the analysis of cat.png by tiny-cls at {given} pixels; name another" in said


def test_a_size_that_cannot_be_is_refused(capsys, picture, model) -> None:
    for size, says in (
        ("large", "an image size must be pixels such as 144"),
        ("", "an image size must be pixels such as 144"),
        ("32x0", "image_size must be one or two whole numbers"),
    ):
        assert says in misused(capsys, picture, "--model", model, "--image-size", size)
    said = refused(capsys, picture, "--model", model, "--image-size", "33")
    assert "the height 33 is not a multiple of the patch's 8" in said


def test_the_layer_table_is_that_of_the_size(capsys) -> None:
    _, out, _ = call(capsys, "--summary", "photos", "--image-size", "144")
    assert "(1, 577, 192)" in out


@pytest.mark.usefixtures("undrawn")
def test_layer_head_token_and_format_are_followed(capsys, tmp_path, model, picture) -> None:
    options = ["--layer", 0, "--head", 1, "--token", "2,3", "--format", "svg"]
    code, _, _ = call(capsys, picture, "--model", model, *options, "--out", tmp_path / "o")
    assert code == 0
    names = {path.name for path in (tmp_path / "o").glob("*.svg")}
    token = 1 + 2 * 4 + 3
    assert f"attention-layer-0-token-{token}-head-1.svg" in names
    assert f"heads-layer-0-token-{token}.svg" in names
    assert f"rollout-token-{token}.svg" in names
    assert f"wall-token-{token}.svg" in names
    assert "matrix-layer-0-head-1.svg" in names
    assert f"pair-layer-0-token-{token}-head-1.svg" in names
    assert f"patch-token-{token}.svg" in names


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("told", "drawn"), [('{"top1": 0.5}', True), ('{"nll": 1.5}', False)])
def test_what_is_known_of_the_model_is_drawn_too(capsys, tmp_path, picture, told, drawn) -> None:
    path = save_tiny(tmp_path, "cls", stem="told", evaluation=told)
    film(tmp_path / "told.film.safetensors")
    out = tmp_path / "o"
    assert call(capsys, picture, "--model", path, "--head", 1, "--out", out)[0] == 0
    assert (out / "measured.png").is_file() is drawn
    assert (out / "training-layer-2-head-1.png").is_file()


@pytest.mark.usefixtures("undrawn")
def test_html_writes_the_viewer(capsys, tmp_path, model, picture) -> None:
    code, _, _ = call(capsys, picture, "--model", model, "--out", tmp_path / "o", "--html")
    assert code == 0
    text = (tmp_path / "o" / "viewer.html").read_text("utf-8")
    assert text.lower().startswith("<!doctype html>")
    manifest = json.loads(re.search(r'id="manifest">(.*?)</script>', text)[1])
    assert (manifest["photo"]["name"], manifest["model"]["name"]) == (picture.name, model.stem)


@pytest.mark.usefixtures("undrawn")
def test_a_model_without_classes_or_cls(capsys, tmp_path, picture) -> None:
    for name, middle in (("registers", 0), ("no_cls", 1 * 5 + 2)):
        model, out = save_tiny(tmp_path, name), tmp_path / name
        code, _, _ = call(capsys, picture, "--model", model, "--out", out)
        assert code == 0
        assert (out / f"rollout-token-{middle}.png").is_file()
        assert (out / "predictions.png").is_file() is (name == "no_cls")
    assert "has no CLS token" in refused(capsys, picture, "--model", model, "--token", "cls")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--layer", "3"], "layer must be a whole number from 0 to 2, got 3"),
        (["--layer", "-4"], "layer must be a whole number from 0 to 2, got -4"),
        (["--head", "2"], "head must be a whole number from 0 to 1, got 2"),
        (["--token", "17"], "token must be a whole number from 0 to 16, got 17"),
        (["--token", "4,0"], "the grid has rows 0 to 3 and cols 0 to 3, got (4, 0)"),
    ],
)
def test_a_wrong_selection_is_refused_before_anything_is_written(
    capsys, tmp_path, monkeypatch, model, picture, options, sentence
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.rglob("*"))
    assert sentence in refused(capsys, picture, "--model", model, *options)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("undrawn")
def test_several_photos_end_with_a_table_and_a_sentence_for_each_that_is_broken(
    capsys, tmp_path, model, picture
) -> None:
    photos = tmp_path / "photos"
    (photos / "more").mkdir(parents=True)
    for at, name in enumerate(["dog.png", "fox.png", "more/dog.png"]):
        Image.fromarray(photo(40 + at, 60)).save(photos / name)
    for at in range(2):
        (photos / f"bad{at}.jpg").write_bytes(b"no photo")
    out = tmp_path / "out"
    arguments = [picture, photos, "--model", model, "--out", out, "--only", "rollout", "lens"]
    code, told, err = call(capsys, *arguments)
    assert code == 1
    folders = [Path(line.split()[0]).name for line in told.splitlines()]
    assert folders == ["cat", "dog", "fox", "dog-2"]
    assert [line.split(" ")[0] for line in err.splitlines()] == ["'bad0.jpg'", "'bad1.jpg'"]
    best = analyze(vitviz.load(model), picture).answer()
    assert f"{best.probability:.1%}  {best.name}" in told.splitlines()[0]
    names = sorted(path.name for path in (out / "dog-2").iterdir())
    assert names == ["analysis.safetensors", "lens.png", "rollout-token-0.png", "summary.json"]
    ours, alone = Analysis.load(out / "fox" / "analysis.safetensors"), photos / "fox.png"
    torch.testing.assert_close(
        ours.trace.logits, analyze(vitviz.load(model), alone).trace.logits, rtol=1e-5, atol=1e-5
    )
    assert call(capsys, *arguments)[1].split() == told.split()  # the same folders
    again = call(capsys, *arguments, "--force")[1]  # two photos of one name shared a folder then
    assert [Path(line.split()[0]).name for line in again.splitlines()] == folders


def test_numbers_alone_are_written_or_printed(
    capsys, tmp_path, monkeypatch, model, picture
) -> None:
    monkeypatch.chdir(tmp_path)
    here = ["--model", model, "--layer", "-1"]
    code, out, err = call(capsys, picture, *here, "--json", "--explain", "rollout")
    assert (code, err) == (0, "")
    analysis = analyze(vitviz.load(model), picture)
    told = json.loads(out)
    assert told.pop("explained")["values"]["rollout"] == pytest.approx(analysis.rollout().tolist())
    assert told == json.loads(json.dumps(analysis.summary()))
    code, out, _ = call(capsys, picture, picture, *here, "--json")
    assert [json.loads(line)["photo"]["name"] for line in out.splitlines()] == ["cat.png"] * 2
    assert [path.name for path in tmp_path.iterdir() if "vitviz" in path.name] == []
    assert call(capsys, picture, *here, "--no-figures", "--out", "numbers")[0] == 0
    names = sorted(path.name for path in Path("numbers").iterdir())
    assert names == ["analysis.safetensors", "summary.json"]
    assert "cannot be used" in refused(capsys, picture, *here, "--device", "no-such-device")


def test_examples_have_names(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = call(capsys, "look", "red-panda", "--model", "photos", "--json")
    assert code == 0
    assert json.loads(out)["photo"]["name"] == "red-panda.jpg"
    assert cli.parted(["cat", "--json"]) == ("look", ["cat", "--json"])  # not only with a hyphen
    Path("cat").write_bytes(b"no photo")  # a file comes first
    assert "'cat' is not a picture" in refused(capsys, "look", "cat")


def test_a_word_is_a_word_in_a_folder_that_may_not_be_entered(monkeypatch) -> None:
    def refuses(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.stat", refuses)
    assert cli.parted(["serve", "--port", "80"]) == ("serve", ["--port", "80"])


def test_a_picture_comes_through_a_pipe(capsys, monkeypatch, tmp_path, model, picture) -> None:
    monkeypatch.chdir(tmp_path)
    of_file = json.loads(call(capsys, picture, "--model", model, "--json")[1])
    for words in (["-"], ["-", picture]):
        piped = io.TextIOWrapper(io.BytesIO(picture.read_bytes()))
        monkeypatch.setattr("sys.stdin", piped)
        code, out, _ = call(capsys, *words, "--model", model, "--json")
        told = json.loads(out.splitlines()[0])
        assert (code, told["photo"]["name"]) == (0, "piped")
        # To float rounding: of torch 2.8 the last bit can be another one.
        assert [one["label"] for one in told["predictions"]] == [
            one["label"] for one in of_file["predictions"]
        ]
        assert [one["logit"] for one in told["predictions"]] == pytest.approx(
            [one["logit"] for one in of_file["predictions"]], rel=1e-6, abs=1e-6
        )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "'piped' is empty" in refused(capsys, "-", "--model", model)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(picture.read_bytes())))
    code, out, _ = call(capsys, "survey", "-", "--model", model, "--no-figures")
    assert (code, out.splitlines()[0].split(",")[0]) == (0, "tiny-cls: 1 pictures")


def test_every_figure_can_be_asked_for_alone(tmp_path, picture) -> None:
    asked = cli.look_options().parse_args([str(picture), "--head", "1", "--token", "1,1"])
    named = set()
    for loaded in (tiny("cls"), tiny("map"), vitviz.load("mnist")):
        analysis = analyze(loaded, picture)
        wanted = look.Wanted.of(analysis, asked)
        explained = look.relevance(analysis, wanted.token, ["rollout"], None)
        named |= {name.split("-")[0] for name in look.figures_of(analysis, wanted, explained)}
    assert named <= {*cli.FIGURES}
    assert {*cli.FIGURES} - named <= {"training"}


def test_explainers_run_once_for_numbers_and_figure(capsys, tmp_path, model, picture, monkeypatch):
    runs = []
    case = Analysis.case
    monkeypatch.setattr(
        Analysis, "case", lambda self, *keys, **more: runs.append(keys) or case(self, *keys, **more)
    )
    out = tmp_path / "out"
    words = [picture, "--model", model, "--explain", "generic", "occlusion", "--target", "class 2"]
    assert call(capsys, *words, "--only", "explain", "--out", out)[0] == 0
    assert runs == [("generic", "occlusion")]
    alone = vitviz.draw.explain(Analysis.load(out / "analysis.safetensors"), ["generic", "occlusion"], target=2, loaded=vitviz.load(model))  # fmt: skip # noqa: E501
    vitviz.draw.save(alone, tmp_path / "alone.png")
    drawn = [np.array(Image.open(path)) for path in (out / "explain.png", tmp_path / "alone.png")]
    assert np.array_equal(*drawn)


def test_a_survey_is_written_and_goes_on(capsys, tmp_path, model, picture) -> None:
    out = tmp_path / "out"
    (tmp_path / "bad.jpg").write_bytes(b"no photo")
    arguments = ["survey", tmp_path, "--model", model, "--twin", "--measures", "norms"]
    code, told, err = call(capsys, *arguments, "--out", out)
    assert code == 1
    assert "a picture costs about as much as" in err.splitlines()[0]
    assert err.splitlines()[-1].startswith("'bad.jpg'")
    names = sorted(path.name for path in out.iterdir())
    first, twin = "tiny-cls", "tiny-cls-untrained"
    files = [
        f"{one}{end}" for one in (first, twin) for end in ("-heads.csv", "-pictures.csv", ".jsonl")
    ]
    assert names == sorted([*files, "figure7.png"])
    assert told.startswith(f"{first}: 1 pictures, 1 broken, mean confidence")
    heads = vitviz.survey(vitviz.load(model), [picture], progress=False)
    assert (out / f"{first}-heads.csv").read_text().splitlines()[1].split(",")[:2] == ["0", "0"]
    found = float((out / f"{first}-heads.csv").read_text().splitlines()[1].split(",")[2])
    assert found == pytest.approx(float(heads.mean()[0, 0]), rel=1e-5)
    before = (out / f"{first}.jsonl").read_text()
    assert call(capsys, *arguments, "--out", out)[0] == 1
    assert (out / f"{first}.jsonl").read_text().startswith(before)
    assert call(capsys, "survey", picture, "--model", model, "--out", out, "--no-figures")[0] == 1


def test_mistakes_are_answered_in_one_sentence(capsys, tmp_path, model, picture) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"not a photo")
    refused(capsys, tmp_path / "bad.jpg", "--model", model)
    refused(capsys, tmp_path / "missing.jpg", "--model", model)
    (tmp_path / "empty").mkdir()
    refused(capsys, tmp_path / "empty", "--model", model)
    refused(capsys, picture, "--model", "no-such-model")
    refused(capsys, picture, "--model", tmp_path / "missing.safetensors")
    assert "Not a directory" in refused(
        capsys, picture, "--model", model, "--out", picture / "below"
    )


@pytest.mark.usefixtures("undrawn")
def test_a_folder_of_someone_else_is_left_alone(capsys, tmp_path, model, picture) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "summary.json").write_text('{"my": "own"}')
    (theirs / "diary.txt").write_text("dear")
    arguments = [picture, "--model", model, "--out", theirs]
    assert "holds no analysis that can be read; name another" in refused(capsys, *arguments)
    assert (theirs / "summary.json").read_text() == '{"my": "own"}'
    assert call(capsys, *arguments, "--force")[0] == 0
    assert (theirs / "diary.txt").read_text() == "dear"


@pytest.mark.usefixtures("undrawn")
def test_the_own_folder_is_written_again_for_the_same_photo_only(
    capsys, tmp_path, model, picture
) -> None:
    arguments = ["--model", model, "--out", tmp_path / "o"]
    assert call(capsys, picture, *arguments)[0] == 0
    assert call(capsys, picture, *arguments, "--layer", 0)[0] == 0
    other = picture.rename(tmp_path / "dog.png")
    assert "holds the analysis of cat.png" in refused(capsys, other, *arguments)


@pytest.mark.usefixtures("undrawn")
def test_without_out_the_folder_is_named_after_photo_and_model(
    capsys, tmp_path, monkeypatch, model, picture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(capsys, picture, "--model", model)[0] == 0
    assert (tmp_path / "vitviz-cat-tiny-cls" / "summary.json").is_file()


def save_at(path: Path, height: int) -> Path:
    """A picture of its own for each height."""
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(photo(height)).save(path)
    return path


def pixels_in(folder: Path) -> torch.Tensor:
    return Analysis.load(folder / "analysis.safetensors").picture


@pytest.mark.usefixtures("undrawn")
def test_photos_of_one_name_have_folders_of_their_own(capsys, tmp_path, monkeypatch, model) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["a/dog.jpg", "b/dog.jpg", "dog.png", "c/dog.JPG", "dog!.jpg"]
    photos = [save_at(Path(name), 60 + i) for i, name in enumerate(names)]
    first = "vitviz-dog-tiny-cls"
    folders = [first, *(f"{first}-{number}" for number in range(2, 6))]
    said = []
    for picture in [*photos, photos[0], photos[3]]:  # two are run a second time
        code, out, err = call(capsys, picture, "--model", model)
        assert (code, err) == (0, "")
        said.append(out)
    assert sorted(path.name for path in tmp_path.glob("vitviz-*")) == folders
    for picture, folder, out in zip(photos, folders, said, strict=False):
        expected = analyze(vitviz.load(model), picture).picture
        assert torch.equal(pixels_in(Path(folder)), expected)
        assert str(Path(folder) / "summary.json") in out
    assert said[5:] == [said[0], said[3]]
    assert "note:" not in said[0]
    held = f"note: {first} holds the analysis of"
    assert f"{held} another dog.jpg by tiny-cls: b/dog.jpg goes to {first}-2\n" in said[1]
    assert f"{held} dog.jpg by tiny-cls: dog.png goes to {first}-3\n" in said[2]


@pytest.mark.usefixtures("undrawn")
def test_a_folder_that_was_named_is_not_written_for_another_photo_of_the_same_name(
    capsys, tmp_path, model
) -> None:
    arguments = ["--model", model, "--out", tmp_path / "o"]
    first, second = save_at(tmp_path / "a/dog.jpg", 60), save_at(tmp_path / "b/dog.jpg", 61)
    assert call(capsys, first, *arguments)[0] == 0
    before = pixels_in(tmp_path / "o")
    assert "holds the analysis of another dog.jpg by tiny-cls" in refused(
        capsys, second, *arguments
    )
    assert torch.equal(pixels_in(tmp_path / "o"), before)
    assert call(capsys, second, *arguments, "--force")[0] == 0
    assert not torch.equal(pixels_in(tmp_path / "o"), before)


@pytest.mark.usefixtures("undrawn")
def test_models_of_one_name_do_not_write_over_each_other(capsys, tmp_path, picture) -> None:
    """The file of a run is often called best.safetensors, and only its name was compared."""
    runs = [tmp_path / run for run in "abc"]
    for run in runs:
        run.mkdir()
    first, labelled = (
        save_tiny(run, "cls", labels, stem="best")
        for run, labels in zip(runs, (None, tuple("1234567")), strict=False)
    )
    other = vitviz.load(first)
    with torch.no_grad():
        other.vit.blocks[1].mlp.fc1.weight.add_(0.01)  # of a later epoch
    vitviz.save(other, runs[2] / "best.safetensors")
    out = ["--out", tmp_path / "o"]
    assert call(capsys, picture, "--model", first, *out)[0] == 0
    for model in (labelled, runs[2] / "best.safetensors"):
        assert "holds the analysis of cat.png by another best" in refused(
            capsys, picture, "--model", model, *out
        )
    assert call(capsys, picture, "--model", first, *out)[0] == 0


@pytest.mark.usefixtures("undrawn")
def test_the_home_in_a_path_is_the_same_wherever_it_is_read(
    capsys, tmp_path, monkeypatch, model, picture
) -> None:
    """--out=~/slides was checked beside, and written into the home."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    assert call(capsys, picture, "--model", model, "--out=~/slides")[0] == 0
    other = save_at(tmp_path / "a/dog.jpg", 61)
    assert "holds the analysis of cat.png" in refused(
        capsys, other, "--model", model, "--out=~/slides"
    )
    words = ("survey", picture, "--model", model, "--out=~/tables", "--no-figures")
    assert call(capsys, *words)[0] == 0
    assert (home / "tables" / "tiny-cls-heads.csv").is_file()
    assert not (tmp_path / "~").exists()


@pytest.mark.usefixtures("undrawn")
def test_what_cannot_be_is_refused_before_anything_is_written(
    capsys, tmp_path, monkeypatch, model, picture
) -> None:
    monkeypatch.chdir(tmp_path)
    before = {*tmp_path.iterdir()}
    (tmp_path / "bare").mkdir()
    bare = save_tiny(tmp_path / "bare", "registers")  # it names no classes
    for words, said in (
        (["--model", bare, "--explain", "generic"], "classes"),
        (["--model", model, "--only", "pair"], "there is no figure pair of this model"),
        (["--model", model, "--only", "explain", "wall"], "there is no figure explain of"),
        (["--model", model, "--explain", "rollout", "--target", "class 2"], "no target changes"),
        (["--model", model, "--head-off", "1,0", "--html-engine"], "leave out --html-engine"),
    ):
        assert said in refused(capsys, picture, *words)
    assert {*tmp_path.iterdir()} - before == {tmp_path / "bare"}


def test_output_that_is_closed_is_no_traceback(capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert "the standard input is closed" in refused(capsys, "-")
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("sys.stderr", None)
    assert [cli.main(["models"]), cli.main(["look", "missing.png"])] == [0, 1]
    sys.stdout.close()
    sys.stderr.close()


@pytest.mark.usefixtures("undrawn")
def test_an_untrained_model_has_no_answer_anywhere(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no answer: it is untrained)" in repr(
        analyze(vitviz.load("mnist", pretrained=False), photo())
    )
    paths = [save_at(tmp_path / f"{name}/cat.png", 60) for name in "ab"]
    code, out, _ = call(capsys, *paths, "--model", "mnist", "--untrained", "--no-figures")
    assert code == 0
    assert out.count("no answer: it is untrained") == 2


def test_two_numbers_are_told_apart() -> None:
    assert look._apart(11.9, 12.4) == ["11.9", "12.4"]
    assert look._apart(11.912, 11.934) == ["11.91", "11.93"]
    assert look._apart(2.0, 2.0) == ["2", "2"]


@pytest.mark.usefixtures("undrawn")
def test_a_folder_in_the_way_is_walked_past(capsys, tmp_path, monkeypatch, model, picture) -> None:
    monkeypatch.chdir(tmp_path)
    Path("vitviz-cat-tiny-cls").write_text("a file")
    Path("vitviz-cat-tiny-cls-2").mkdir()
    Path("vitviz-cat-tiny-cls-2/diary.txt").write_text("dear")
    assert call(capsys, picture, "--model", model)[0] == 0
    assert Path("vitviz-cat-tiny-cls-3/summary.json").is_file()
    assert [path.name for path in Path("vitviz-cat-tiny-cls-2").iterdir()] == ["diary.txt"]


def test_list_models_prints_what_load_takes(capsys) -> None:
    code, out, _ = call(capsys, "--list-models")
    assert code == 0
    assert out.split() == vitviz.list_models()


def test_the_layer_table_adds_up(capsys) -> None:
    code, out, _ = call(capsys, "--summary", "vit_tiny_patch16_224")
    assert code == 0
    rows = {line.split()[0]: line.split() for line in out.splitlines() if "  " in line}
    count = {name: int(row[-1].replace(",", "")) for name, row in rows.items() if name != "name"}
    assert count["all"] == 5_717_416
    assert count["patch_embed.proj"] == 147_648
    assert "(1, 196, 192)" in out
    parts = [name for name in count if name not in ("all",) and not name.startswith("blocks.0.")]
    assert sum(count[name] for name in parts) == count["all"]
    inside = sum(number for name, number in count.items() if name.startswith("blocks.0."))
    assert inside == count["blocks.0"]


@pytest.mark.parametrize("name", ["no_cls", "distilled", "registers", "grey"])
def test_the_layer_table_adds_up_for_every_kind(tmp_path, name: str) -> None:
    table = layer_table(str(save_tiny(tmp_path, name)))
    rows = [line.split() for line in table.splitlines() if line.startswith(("blocks", "all"))]
    assert int(rows[-1][-1].replace(",", "")) == tiny(name).card.num_parameters
    assert sum(row[0].count(".") == 1 for row in rows) == tiny(name).card.config.depth


def test_the_layer_table_says_which_weights_it_speaks_of(tmp_path) -> None:
    path = save_tiny(tmp_path, "cls", seed="7")
    name = "vit_tiny_patch16_224"

    def title(*arguments: object) -> str:
        return layer_table(*arguments).splitlines()[0]

    assert title("photos") == "photos: photos.safetensors, trained with vitviz"
    assert title(str(path)) == "tiny-cls: tiny-cls.safetensors, trained with vitviz"
    assert title(name) == f"{name}: timm's architecture, weights not loaded"
    twin = "untrained: random weights with which training began (seed 7)"
    assert title(str(path), False) == f"tiny-cls: {twin}"
    assert title(name, False).startswith(f"{name}: untrained: timm's architecture, random weights")


def test_summary_and_untrained_go_together(capsys) -> None:
    assert call(capsys, "--summary", "mnist")[1].startswith("mnist: mnist.safetensors, trained")
    untrained = call(capsys, "--summary", "mnist", "--untrained")[1]
    assert untrained.startswith("mnist: untrained: random weights")


def test_the_module_runs_and_a_closed_pipe_is_no_traceback() -> None:
    command = [sys.executable, "-m", "vitviz", "--list-models"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


def test_changes_and_explainers_are_written_and_told(capsys, tmp_path, model, picture) -> None:
    out_folder = tmp_path / "out"
    options = ["--remove", "3,4", "--head-off", "1,0", "--shuffle", "2"]
    options += ["--positions", "learned-off"]
    steered = {"kind": "add", "patches": "cls", "layer": 1, "toward": "class 2", "factor": -1.5}
    listed = [{"kind": "even", "rows": "cls", "layers": [0]}, steered]
    options += ["--intervene", json.dumps(listed)]
    options += ["--explain", "generic", "centre", "--target", "class 2", "--out", out_folder]
    code, out, err = call(capsys, picture, "--model", model, *options)
    assert (code, err) == (0, "")
    changes = [
        {"kind": "remove", "patches": [3, 4]},
        {"kind": "positions", "by": "learned off"},
        {"kind": "shuffle", "cells": 2},
        {"kind": "head", "layer": 1, "head": 0},
        *listed,
    ]
    expected = analyze(vitviz.load(model), picture, interventions=changes)
    saved = Analysis.load(out_folder / "analysis.safetensors")
    assert saved.interventions == expected.interventions
    assert torch.equal(saved.trace.logits, expected.trace.logits)
    assert expected.changes() in out
    told = json.loads((out_folder / "explain.json").read_text("utf-8"))
    assert told["target"] == 2
    assert told["values"]["generic"] == expected.explain("generic", 0, 2).tolist()
    assert list(told["values"]) == ["generic", "centre"]
    assert (out_folder / "explain.png").is_file()
    assert "holds the analysis of cat.png by tiny-cls, changed: patches 3, 4" in refused(
        capsys, picture, "--model", model, "--out", out_folder
    )


def test_integrated_gradients_that_do_not_add_up_say_so(
    capsys, tmp_path, model, picture, monkeypatch
) -> None:
    options = ["--explain", "integrated_gradients", "generic", "--target", "class 2"]
    options += ["--no-figures", "--out", tmp_path / "out", "--model", model]
    monkeypatch.setattr("vitviz.probe.explain.perturb.CONVERGED", -1.0)
    code, _, err = call(capsys, picture, *options)
    gaps = json.loads((tmp_path / "out" / "explain.json").read_text("utf-8"))["gaps"]
    analysis = analyze(vitviz.load(model), picture)
    values = analysis.explain("integrated_gradients", target=2)
    assert gaps == {"integrated_gradients": pytest.approx(analysis.gap(values, 2))}
    expected = f"add up to {percent(gaps['integrated_gradients'])} more or less than the score"
    assert code == 0
    assert err.startswith("note: the patches of integrated gradients")
    assert expected in err
    monkeypatch.undo()
    assert gaps["integrated_gradients"] < 0.05
    assert call(capsys, picture, *options)[2] == ""


@pytest.mark.parametrize("kind", ["picture", "vector"])
def test_the_likeness_to_a_picture_or_a_vector_is_that_of_python(
    capsys, tmp_path, model, picture, kind
) -> None:
    loaded = vitviz.load(model)
    analysis = analyze(loaded, picture, interventions=[{"kind": "remove", "patches": [3]}])
    Image.fromarray(photo()[::-1].copy()).save(tmp_path / "dog.png")
    like = target = tmp_path / "dog.png"
    if kind == "vector":
        target = np.linspace(-1, 2, 24)
        np.save(like := tmp_path / "text.npy", target)
    else:
        target = analyze(loaded, like)
    words = [picture, "--model", model, "--remove", 3, "--like", like, "--explain", "all"]
    code, out, err = call(capsys, *words, "--only", "explain", "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    name = "dog.png" if kind == "picture" else "the vector"
    assert f"likeness to {name}: {analysis.likeness(target):.3f}\n" in out
    told = json.loads((tmp_path / "out" / "explain.json").read_text("utf-8"))
    assert (told["target"], told["like"]) == (None, "dog.png" if kind == "picture" else None)
    assert told["likeness"] == pytest.approx(analysis.likeness(target), abs=1e-5)
    for key, values in told["values"].items():
        assert values == pytest.approx(analysis.explain(key, target=target).tolist(), abs=1e-5)
    assert told["values"].keys() == vitviz.EXPLAINERS.keys()
    names = [*told["values"]]
    figure = vitviz.draw.explain(analysis, names, target=target)
    vitviz.draw.save(figure, tmp_path / "alone.png")
    drawn = [np.array(Image.open(path)) for path in (tmp_path / "out" / "explain.png", tmp_path / "alone.png")]  # fmt: skip # noqa: E501
    assert np.array_equal(*drawn)
    code, out, _ = call(capsys, *words, "--json")
    assert json.loads(out)["explained"] == told


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--like", "cat"], "--like names the picture of --explain, which is missing"),
        (
            ["--like", "cat", "--explain", "generic", "--target", "1"],
            "explains a class, --target, or a likeness, --like; not both",
        ),
        (
            ["--like", "cat", "--explain", "rollout", "centre"],
            "no target changes a map of rollout, centre; maps of a likeness: attention_gradient,",
        ),
        (["--like", "none.png", "--explain", "generic"], "none.png"),
        (["--like", "none.npy", "--explain", "generic"], "none.npy is no vector that can be read"),
        (["--like", "cut.npy", "--explain", "generic"], "cut.npy is no vector that can be read"),
        (["--like", "wide.npy", "--explain", "generic"], "must have shape (24,), as the features"),
        (
            ["--like", "flat.npy", "--explain", "generic"],
            "one axis, (width,), got (2, 3)",
        ),
    ],
)
def test_a_likeness_that_cannot_be_is_refused(
    capsys, monkeypatch, tmp_path, model, picture, options, sentence
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("wide.npy", np.ones(25))
    np.save("flat.npy", np.ones((2, 3)))
    Path("cut.npy").write_bytes(b"PK\3\4 an archive that was cut off")
    assert sentence in refused(capsys, picture, "--model", model, *options)
    assert not [*tmp_path.glob("vitviz-*")]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--remove", "99"], "remove: patches count from 0 to 15"),
        (["--intervene", "{}"], "interventions are a list of objects"),
        (["--target", "class 1"], "--target names the class of --explain"),
        (["--explain", "generic", "--target", "cat"], "has no class 'cat'"),
    ],
)
def test_changes_that_cannot_be_are_refused(capsys, model, picture, options, sentence) -> None:
    assert sentence in refused(capsys, picture, "--model", model, *options)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--layer", "x"], "--layer: a whole number is expected, got 'x'"),
        (["--layer", "1.5"], "--layer: a whole number is expected, got '1.5'"),
        (["--head", "all"], "--head: a number or \"mean\" is expected, got 'all'"),
        (["--head", "1,2"], "--head: a number or \"mean\" is expected, got '1,2'"),
        (["--token", "here"], "\"cls\", or a patch as ROW,COL is expected, got 'here'"),
        (["--token", "1,2,3"], "ROW,COL is expected, got '1,2,3'"),
        (["--remove", "3;4"], "--remove: numbers with commas between are expected, got '3;4'"),
        (["--head-off", "1"], "--head-off: LAYER,HEAD is expected, got '1'"),
        (["--shuffle", "x"], "--shuffle: a whole number is expected, got 'x'"),
        (["--intervene", "{"], "--intervene: JSON is expected: Expecting"),
        (["--explain", "no\nsuch"], "--explain: invalid choice: 'no\\nsuch' (choose from"),
        (["--format", "bmp"], "--format: invalid choice: 'bmp' (choose from"),
        (["--out"], "--out: expected one argument"),
        (["--layer=--"], "--layer=--: -- is no value of an option"),
        (["--lyer", "3"], "there is no option --lyer (did you mean --layer or --only?)"),
        (["--zzzzzz=1"], "there is no option --zzzzzz;"),
        (["--html", "second.jpg"], "'second.jpg' is one word too many"),
    ],
)
def test_a_mistake_in_the_arguments_is_one_line(capsys, options, line) -> None:
    for word in (["look"], []):  # nothing is loaded before the arguments are understood
        said = misused(capsys, *word, "no-such.jpg", "--model", "no-such", *options)
        assert line in said
        assert said.endswith("; --help shows what is allowed\n")
