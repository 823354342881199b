"""The table of explainers: intervals by hand, and a test that was stopped goes on."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.models import tiny
from tests.running import save_between, save_tiny
from vitviz import EXPLAINERS, analyze, load, save
from vitviz.model.loaded import build
from vitviz.model.vit import ViT
from vitviz.model.weights import WEIGHTS_DIR
from vitviz.probe.explain.fairness import removal
from vitviz.train import comparison
from vitviz.train.checkpoint import held
from vitviz.train.command import main
from vitviz.train.comparison import (
    RECORDS,
    compare_explainers,
    file_of,
    interval,
    markdown,
    one_picture,
)
from vitviz.train.dataset import Pictures
from vitviz.train.errors import TrainError

KEYS = ["attention", "generic"]


def pictures(n: int = 4) -> Pictures:
    images = torch.randint(0, 256, (n, 3, 32, 32), generator=torch.Generator().manual_seed(0))
    boxes = torch.tensor([[0.0, 0, 16, 16], [0, 0, 32, 32]]).repeat(n, 1)[:n]
    labels = tiny("cls").card.labels
    return Pictures("some", images.to(torch.uint8), torch.arange(n) % 7, labels, boxes=boxes)


def test_one_picture_has_the_figures_of_its_fair_test() -> None:
    loaded, some = tiny("cls"), pictures()
    row = one_picture(loaded, some, 2, ["centre", *EXPLAINERS])
    assert json.loads(json.dumps(row)) == row
    from vitviz import analyze

    analysis = analyze(loaded, some.images[2].permute(1, 2, 0).contiguous().numpy())
    assert row["target"] == int(analysis.trace.logits.argmax())
    case = replace(analysis.case(), seed=2)
    maps = {"centre": EXPLAINERS["centre"](case)} | {
        key: EXPLAINERS[key](case) for key in EXPLAINERS
    }
    found = removal(case, maps, groups=comparison.GROUPS, seed=2)
    for key, figures in row["maps"].items():
        assert figures["gain"] == pytest.approx(found.gain(key), abs=1e-4)
        assert figures["over_centre"] == pytest.approx(
            found.gain(key) - found.gain("centre"), abs=1e-4
        )
        assert {"energy", "pointing"} < figures.keys()
    assert row["maps"]["centre"]["over_centre"] == 0
    assert "energy" not in one_picture(loaded, some, 1, [*KEYS, "centre"])["maps"]["generic"]


def test_the_interval_of_a_mean_by_hand() -> None:
    found = interval([1.0, 2, 3, 4])
    assert found["mean"] == 2.5
    assert found["half"] == pytest.approx(1.96 * (5 / 3) ** 0.5 / 2)
    assert interval([1.0]) == {"mean": 1.0, "half": 0.0, "pictures": 1}


def test_a_test_that_was_stopped_goes_on(tmp_path, monkeypatch) -> None:
    some, real, asked = pictures(), comparison.one_picture, []

    def stopping(loaded, pictures, number, keys):
        asked.append(number)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return real(loaded, pictures, number, keys)

    monkeypatch.setattr(comparison, "one_picture", stopping)
    with pytest.raises(KeyboardInterrupt):
        compare_explainers(tiny("cls"), "tiny", some, KEYS, tmp_path / "a", quiet=True)
    so_far = json.loads((tmp_path / "a" / "table.json").read_text("utf-8"))
    assert so_far["pictures"] == so_far["table"]["generic"]["gain"]["pictures"] == 2
    with (tmp_path / "a" / RECORDS).open("a") as file:
        file.write('{"picture": 2, "ma')  # a line that was cut off
    again = compare_explainers(tiny("cls"), "tiny", some, KEYS, tmp_path / "a", quiet=True)
    assert asked == [0, 1, 2, 2, 3]
    whole = compare_explainers(tiny("cls"), "tiny", some, KEYS, tmp_path / "b", quiet=True)
    for key, figures in whole["table"].items():
        for figure, value in figures.items():
            assert again["table"][key][figure] == pytest.approx(value)
    assert whole["table"]["generic"]["passes"]["mean"] == 3
    assert whole["table"]["generic"]["energy"]["pictures"] == 2
    assert whole["table"]["generic"]["gain"]["pictures"] == 4
    text = (tmp_path / "b" / "table.md").read_text("utf-8")
    assert text == markdown(whole)
    assert "| map | gain | over centre | deletion |" in text
    means = [one["gain"]["mean"] for one in whole["table"].values()]
    first = text.splitlines()[4].split(" | ")
    assert first[1].startswith(f"{max(means):.3f} ± ")
    with pytest.raises(TrainError, match="holds another test"):
        compare_explainers(tiny("cls"), "tiny", some, ["rollout"], tmp_path / "a", quiet=True)


def test_the_command_writes_the_table(tmp_path, capsys, monkeypatch) -> None:
    path, some = save_tiny(tmp_path, "cls"), pictures()
    monkeypatch.setattr("vitviz.train.measure.read", lambda *_, **__: some)
    options = ["--evaluate", str(path), "--data", "some", "--explainers", "centre", "generic"]
    options += ["--pictures", "2", "--out", str(tmp_path / "out"), "--json", str(tmp_path / "j")]
    assert main(options) == 0
    told = json.loads((tmp_path / "out" / "table.json").read_text("utf-8"))
    assert told == json.loads((tmp_path / "j").read_text("utf-8"))
    assert list(told["table"]) == ["centre", "generic"]
    assert told["pictures"] == 2
    assert len(told["sha256"]) == 64
    assert "tiny-cls.safetensors on 2 pictures of some" in capsys.readouterr().out
    assert load(str(path)).card.labels == some.labels


def test_a_patch_that_does_not_divide_the_picture_is_no_reason_not_to_measure(
    tmp_path, capsys, monkeypatch
) -> None:
    """The model takes 28 pixels of 32, and was given all."""
    config = replace(tiny("cls").card.config, image_size=(28, 28), patch_size=(14, 14))
    card = replace(tiny("cls").card, config=config)
    loaded = build(ViT(config).state_dict(), card, tiny("cls").preprocess)
    save(loaded, path := tmp_path / "margin.safetensors")
    some = pictures()
    monkeypatch.setattr("vitviz.train.measure.read", lambda *_, **__: some)
    words = ["--evaluate", str(path), "--data", "some"]
    assert main([*words, "--json", str(tmp_path / "j")]) == 0
    best = [
        analyze(loaded, image.permute(1, 2, 0).numpy()).predictions(1)[0].index
        for image in some.images
    ]
    right = [one == target for one, target in zip(best, some.targets.tolist(), strict=True)]
    measured = json.loads((tmp_path / "j").read_text("utf-8"))
    assert measured["top1"] == pytest.approx(sum(right) / 4)
    options = ["--explainers", "centre", "--pictures", "1", "--out", str(tmp_path / "out")]
    assert main([*words, *options]) == 0


def test_all_explainers_are_those_that_the_model_has(tmp_path, monkeypatch) -> None:
    path, some = save_between(tmp_path), pictures()
    monkeypatch.setattr("vitviz.train.measure.read", lambda *_, **__: some)
    options = ["--evaluate", str(path), "--data", "some", "--explainers", "all"]
    options += ["--pictures", "1", "--out", str(tmp_path / "out")]
    assert main(options) == 0
    table = json.loads((tmp_path / "out" / "table.json").read_text("utf-8"))["table"]
    assert {*table} == {*EXPLAINERS} - {"attention_norm"}


def test_a_second_comparison_is_kept_out_of_a_folder(tmp_path) -> None:
    """Both wrote their rows into one file: pictures were counted twice, and others left out."""
    pytest.importorskip("fcntl")
    with held(tmp_path), pytest.raises(TrainError, match="another run writes into"):
        compare_explainers(tiny("cls"), "tiny", pictures(), ["rollout"], tmp_path, quiet=True)
    assert not [*tmp_path.iterdir()]


def test_fewer_than_no_pictures_are_refused(tmp_path, monkeypatch, capsys) -> None:
    path, some = save_tiny(tmp_path, "cls"), pictures()
    monkeypatch.setattr("vitviz.train.measure.read", lambda *_, **__: some)
    options = ["--evaluate", str(path), "--data", "some", "--explainers", "centre"]
    assert main([*options, "--pictures", "-3", "--out", str(tmp_path / "out")]) == 1
    assert "--pictures must be 0 (all of them) or more, got -3" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_explainer_that_does_not_fit_is_refused_before_a_folder_is_made(tmp_path) -> None:
    loaded, out = load(str(save_between(tmp_path))), tmp_path / "out"
    with pytest.raises(TrainError, match=r"norm does not fit .*; it has attention, rollout"):
        compare_explainers(loaded, "x", pictures(), ["rollout", "attention_norm"], out, quiet=True)
    assert not out.exists()


def test_the_table_of_a_shipped_model_names_its_file():
    """Without its sha256 the app would not show the table beside the weights."""
    assert file_of("mnist") == WEIGHTS_DIR / "mnist.safetensors"
    assert file_of("no such model") == Path("no such model")
