"""Training: a resumed run is the uninterrupted run; whatever stops a run leaves a good state."""

import json
import os
import re
import signal
import subprocess
from dataclasses import fields, replace
from unittest.mock import Mock

import numpy as np
import pandas
import pytest
import torch

from vitviz import load
from vitviz.languages import say
from vitviz.model.config import Rotary
from vitviz.model.vit import ViT
from vitviz.train import checkpoint, command, run
from vitviz.train.command import chosen_recipe, main, parser
from vitviz.train.dataset import Pictures
from vitviz.train.errors import TrainError
from vitviz.train.loop import Stopped, train
from vitviz.train.recipe import Recipe
from vitviz.train.recipes import RECIPES
from vitviz.train.report import MEASUREMENTS
from vitviz.train.scores import logits_of

LABELS = ("light", "dark", "striped")

# All that draws random numbers is on, so that a resumed run has to restore all of it.
TINY = Recipe(
    name="tiny", image_size=8, channels=3, patch_size=4, embed_dim=16, depth=2, num_heads=2,
    epochs=3, batch_size=8, holdout=0.1, optimizer="muon", warmup=2, label_smoothing=0.1,
    patch_keep=0.5, dropout=0.1, drop_path=0.1, crop=0.5, flip=True, rotate=5, zoom=0.1, shift=1,
    colour=0.2, three_augment=0.5, erase=0.5, mixup=0.4, cutmix=1.0, mix_share=0.8, ema=0.9,
)  # fmt: skip

# The same without anything random but the weights and the order.
PLAIN = Recipe(
    **{name: getattr(TINY, name) for name in ("image_size", "channels", "patch_size", "embed_dim")},
    depth=2,
    num_heads=2,
    epochs=20,
    batch_size=8,
    lr=5e-3,
)


def three_kinds(n: int, seed: int = 0) -> Pictures:
    """Light, dark and striped noise: a model can learn it in a few steps."""
    generator = torch.Generator().manual_seed(seed)
    targets = torch.arange(n) % 3
    images = torch.randint(0, 90, (n, 3, 8, 8), generator=generator)
    images[targets == 0] += 160
    images[targets == 2, :, ::2] += 160
    return Pictures("kinds", images.to(torch.uint8), targets, LABELS, ("plain", "plain", "lines"))


PICTURES, TEST = three_kinds(45), three_kinds(12, seed=1)


def stop_after(monkeypatch: pytest.MonkeyPatch, step: int, number: int = signal.SIGINT) -> None:
    """Press Ctrl-C, or send another signal, in the middle of a step."""
    learn = run.Run.learn

    def learn_and_press(self, batch):
        facts = learn(self, batch)
        if self.step == step:
            os.kill(os.getpid(), number)
        return facts

    monkeypatch.setattr(run.Run, "learn", learn_and_press)


def log_of(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("step", [5, 7])  # an epoch has 5 steps: at its end, and inside one
def test_a_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(tmp_path, monkeypatch, step):
    whole = train(TINY, PICTURES, TEST, tmp_path / "whole")
    assert whole.steps == 15
    with monkeypatch.context() as patch:
        stop_after(patch, step)
        with pytest.raises(Stopped, match=f"stopped after step {step} of 15"):
            train(TINY, PICTURES, TEST, tmp_path / "two")
    torch.manual_seed(99)  # random numbers drawn in between must not matter
    parts = train(TINY, PICTURES, TEST, tmp_path / "two", resume=True)
    for (name, ours), theirs in zip(
        whole.vit.state_dict().items(), parts.vit.state_dict().values(), strict=True
    ):
        assert torch.equal(ours, theirs), name
    states = [checkpoint.read_state(tmp_path / name) for name in ("whole", "two")]
    for part in ("vit", "ema"):
        for name, ours in states[0][part].items():
            assert torch.equal(ours, states[1][part][name]), f"{part} {name}"
    assert parts.scores == whole.scores
    assert parts.temperature == whole.temperature


def test_the_seed_decides_weights_and_order():
    one, again, other = (
        run.Run(TINY.changed({"seed": seed}), PICTURES, torch.device("cpu")) for seed in (0, 0, 1)
    )
    for a_run, same in ((again, True), (other, False)):
        assert torch.equal(one.vit.pos_embed, a_run.vit.pos_embed) is same
        batch, first = next(a_run.batches())[0], next(one.batches())[0]
        assert torch.equal(batch, first) is same


def test_training_leaves_the_callers_random_numbers_and_signals_alone(tmp_path):
    random, handler = torch.get_rng_state(), signal.getsignal(signal.SIGINT)
    train(TINY.changed({"epochs": 0.4}), PICTURES, TEST, tmp_path)
    assert torch.equal(random, torch.get_rng_state())
    assert signal.getsignal(signal.SIGINT) is handler


def test_the_running_mean_is_measured_and_kept_and_forgets_the_first_weights(tmp_path):
    recipe = PLAIN.changed({"ema": 0.6, "epochs": 1})
    a_run = run.Run(recipe, PICTURES, torch.device("cpu"))
    before = a_run.vit.head.bias.clone()
    weights = []
    for batch in a_run.batches():
        a_run.learn(batch)
        weights.append(a_run.vit.head.bias.detach().clone())
    # The decay is 0 at step 1, then .41 and .56, and .6 from step 4 on.
    mean = weights[0]
    for step, new in enumerate(weights[1:], start=1):
        memory = min(0.6, 1 - (1 + step) ** -0.75)
        mean = memory * mean + (1 - memory) * new
    assert not torch.equal(before, weights[0])
    torch.testing.assert_close(a_run.shown.head.bias, mean)
    expected = logits_of(a_run.shown, TEST.images, a_run.mean, a_run.std)
    assert torch.equal(a_run.logits(TEST.images), expected)
    assert not torch.equal(logits_of(a_run.vit, TEST.images, a_run.mean, a_run.std), expected)
    trained = train(recipe, PICTURES, TEST, tmp_path)
    torch.testing.assert_close(trained.vit.head.bias, mean.half().float())
    assert run.Run(PLAIN, PICTURES, torch.device("cpu")).ema is None


def test_what_is_measured_is_what_the_file_can_hold(tmp_path):
    trained = train(PLAIN.changed({"epochs": 1}), PICTURES, TEST, tmp_path)
    for name, value in trained.vit.state_dict().items():
        assert torch.equal(value, value.half().float()), name
    exact = checkpoint.read_state(tmp_path)["vit"]["patch_embed.proj.weight"]
    assert not torch.equal(exact, exact.half().float())  # the state to resume from is not rounded


def test_mixing_and_erasing_end_before_the_run_does(tmp_path, monkeypatch):
    seen = {"erase": [], "mix": []}
    for name, steps in seen.items():
        real = getattr(run, name)

        def note(*args, steps=steps, real=real):
            steps.append(True)
            return real(*args)

        monkeypatch.setattr(run, name, note)
    train(TINY.changed({"unmixed_share": 0.4}), PICTURES, TEST, tmp_path / "a")  # 15 steps
    assert {name: len(steps) for name, steps in seen.items()} == {"erase": 9, "mix": 9}
    train(PLAIN.changed({"epochs": 1}), PICTURES, TEST, tmp_path / "b")
    assert len(seen["mix"]) == 9


def test_a_state_from_before_a_field_existed_can_be_resumed(tmp_path):
    recipe = PLAIN.changed({"epochs": 1})
    train(recipe, PICTURES, TEST, tmp_path)
    state = checkpoint.read_state(tmp_path)
    del state["recipe"]["cutmix"], state["recipe"]["ema"]
    torch.save(state, tmp_path / "state.pt")
    assert train(recipe.changed({"epochs": 2}), PICTURES, TEST, tmp_path, resume=True).steps == 10
    del state["recipe"]["lr"]
    torch.save(state, tmp_path / "state.pt")
    with pytest.raises(TrainError, match=r"lr \(was 0.001, now 0.005\)"):
        train(recipe, PICTURES, TEST, tmp_path, resume=True)


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_model_learns(tmp_path, optimizer):
    trained = train(PLAIN.changed({"optimizer": optimizer}), PICTURES, TEST, tmp_path)
    assert trained.scores["top1"] == 1
    assert not trained.vit.training
    assert trained.vit.patch_keep == 1
    losses = [line["nll"] for line in log_of(tmp_path) if line["event"] in ("epoch", "end")]
    assert len(losses) == 20
    assert losses[-1] < 0.5 * losses[0]
    # As the page about training draws it.
    table = pandas.read_json(tmp_path / "log.jsonl", lines=True)
    assert table["nll"].dropna().tolist() == pytest.approx(losses)
    assert (table["loss"].dropna() > 0).all()


def test_bfloat16_learns_too_and_keeps_the_weights_in_float32(tmp_path):
    trained = train(PLAIN.changed({"precision": "bfloat16"}), PICTURES, TEST, tmp_path)
    assert trained.scores["top1"] == 1
    assert {p.dtype for p in trained.vit.parameters()} == {torch.float32}


def test_patches_are_dropped_first_and_all_seen_at_the_end(tmp_path, monkeypatch):
    seen = []
    learn = run.Run.learn

    def note(self, batch):
        facts = learn(self, batch)
        seen.append(facts["patch_keep"])
        return facts

    monkeypatch.setattr(run.Run, "learn", note)
    train(TINY, PICTURES, TEST, tmp_path)
    assert seen == [0.5] * 12 + [1.0] * 3

    seen.clear()
    epoch = log_of(tmp_path)[0]["steps"] / TINY.epochs
    sparse = TINY.changed({"sparse_epochs": 5 / epoch, "sparse_keep": 0.25})
    train(sparse, PICTURES, TEST, tmp_path / "sparse")
    assert seen == [0.25] * 5 + [0.5] * 7 + [1.0] * 3


def test_a_loss_that_is_not_a_number_stops_and_keeps_the_last_good_state(tmp_path, monkeypatch):
    learn = run.Run.learn

    def spoil(self, batch):
        if self.step == 6:
            with torch.no_grad():
                self.vit.head.bias[0] = float("nan")
        return learn(self, batch)

    monkeypatch.setattr(run.Run, "learn", spoil)
    with pytest.raises(TrainError, match=r"the loss is nan .* step 6: .* state of step 5 is kept"):
        train(TINY, PICTURES, TEST, tmp_path)
    state = checkpoint.read_state(tmp_path)
    assert state["step"] == 5
    assert all(torch.isfinite(value).all() for value in state["vit"].values())


def test_an_endless_gradient_stops_before_the_weights_are_spoiled(monkeypatch):
    a_run = run.Run(TINY, PICTURES, torch.device("cpu"))
    before = {name: value.clone() for name, value in a_run.vit.state_dict().items()}
    a_run.vit.head.weight.register_hook(lambda gradient: gradient * float("inf"))
    with pytest.raises(TrainError, match="gradient"):
        a_run.learn(next(a_run.batches()))
    for name, value in a_run.vit.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_a_state_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, 5)
        with pytest.raises(Stopped):
            train(TINY, PICTURES, TEST, tmp_path)
    before = (tmp_path / "state.pt").read_bytes()

    def half(_state, file):
        file.write(b"half of ")
        raise OSError("No space left on device")

    monkeypatch.setattr(torch, "save", half)
    with pytest.raises(TrainError, match=r"state.pt could not be written: No space left .* kept"):
        train(TINY, PICTURES, TEST, tmp_path, resume=True)
    assert (tmp_path / "state.pt").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {
        "film.safetensors",
        "log.jsonl",
        "state.pt",
    }


def test_a_damaged_or_missing_state_is_told_in_a_sentence(tmp_path):
    with pytest.raises(TrainError, match="nothing to resume"):
        train(TINY, PICTURES, TEST, tmp_path, resume=True)
    (tmp_path / "state.pt").write_bytes(b"not a state")
    with pytest.raises(TrainError, match="damaged"):
        train(TINY, PICTURES, TEST, tmp_path, resume=True)


def test_a_run_goes_on_only_as_itself_but_may_become_longer(tmp_path):
    train(TINY.changed({"epochs": 1}), PICTURES, TEST, tmp_path)
    with pytest.raises(TrainError, match=r"lr \(was 0.001, now 0.1\)"):
        train(TINY.changed({"lr": 0.1}), PICTURES, TEST, tmp_path, resume=True)
    with pytest.raises(TrainError, match="number of pictures"):
        train(TINY, three_kinds(60), TEST, tmp_path, resume=True)
    renamed = replace(PICTURES, labels=tuple(f"z{label}" for label in PICTURES.labels))
    with pytest.raises(TrainError, match="the names of the classes"):
        train(TINY, renamed, replace(TEST, labels=renamed.labels), tmp_path, resume=True)
    with pytest.raises(TrainError, match="has done 5 steps already"):
        train(TINY.changed({"epochs": 0.2}), PICTURES, TEST, tmp_path, resume=True)
    assert train(TINY, PICTURES, TEST, tmp_path, resume=True).steps == 15


def test_too_few_pictures_for_a_batch(tmp_path):
    with pytest.raises(TrainError, match="do not fill one batch of 64"):
        train(TINY.changed({"batch_size": 64}), PICTURES, TEST, tmp_path)


def test_pictures_kept_back_are_not_trained_on():
    kept_back, rest = run.hold_out(PICTURES, TINY)
    assert (len(kept_back), len(rest)) == (4, 41)
    every = torch.cat([kept_back.images, rest.images]).flatten(1)
    assert len(every.unique(dim=0)) == 45
    assert run.hold_out(PICTURES, TINY.changed({"holdout": 0.0})) == (None, PICTURES)


# --- recipes -----------------------------------------------------------------------------------


def test_recipes_differ_in_positions_alone_and_begin_with_the_same_other_weights():
    began = {}
    for positions in ("learned", "rotary", "none"):
        recipe = RECIPES["mnist" if positions == "learned" else f"mnist-{positions}"]
        rest = {"name": "mnist", "title": "", "positions": "learned"}
        assert recipe.changed(rest) == RECIPES["mnist"].changed(rest)
        torch.manual_seed(0)
        began[positions] = ViT(recipe.config(10)).state_dict()
    assert began["learned"].keys() - began["none"].keys() == {"pos_embed"}
    assert began["rotary"].keys() == began["none"].keys()  # its angles are no weights
    for name, drawn in began["none"].items():
        assert torch.equal(drawn, began["learned"][name]), name
        assert torch.equal(drawn, began["rotary"][name]), name
    assert RECIPES["mnist-rotary"].config(10).rotary == Rotary(kind="axial")


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_every_recipe_makes_a_model(recipe):
    config = recipe.config(num_classes=10)
    assert config.image_size == (recipe.image_size, recipe.image_size)
    assert Recipe(**json.loads(json.dumps(recipe.to_dict()))) == recipe


def test_every_field_of_a_recipe_is_an_option_with_a_sentence():
    text = " ".join(parser().format_help().split())
    for one in fields(Recipe):
        if one.name not in ("name", "data"):
            assert f"--{one.name.replace('_', '-')}" in text
        assert len(one.metadata["help"]) > 10


def test_the_command_line_changes_any_field():
    words = "--recipe photos --epochs 0.5 --flip no --optimizer adamw --depth 8 --data some/where"
    recipe = chosen_recipe(parser().parse_args(words.split()))
    changes = {"epochs": 0.5, "flip": False, "optimizer": "adamw", "depth": 8, "data": "where"}
    assert recipe == RECIPES["photos"].changed(changes | {"title": "where"})


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("", "Handwritten digits"),
        ("--data mnist", "Handwritten digits"),
        ("--data my/shapes/", "shapes"),
        ("--data shapes --title Forms", "Forms"),
        ("--title Forms", "Forms"),
    ],
)
def test_a_model_of_other_pictures_is_not_called_as_that_of_the_recipe(words: str, title: str):
    asked = parser().parse_args(["--recipe", "mnist", *words.split()])
    assert chosen_recipe(asked).title == title


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "epochs must be more than 0"),
        ({"lr": float("nan")}, "lr must be a finite number"),
        ({"optimizer": "sgd"}, "optimizer must be adamw or muon, got 'sgd'"),
        ({"patch_keep": 1.5}, "patch_keep must be more than 0 and at most 1"),
        ({"crop": 0.0}, "crop must be"),
        ({"ema": 1.0}, "ema must be at least 0 and less than 1"),
        ({"mixup": -0.1}, "mixup must be 0 or more"),
        ({"erase": 1.1}, "erase must be a share from 0 to 1"),
        ({"channels": 4}, "channels must be 1"),
        ({"seed": 10**10}, "seed must be from 0 to 2147483647"),
        ({"colour": 1.0}, "colour must be at least 0 and less than 1"),
        ({"momentum": 1}, "no field momentum"),
    ],
)
def test_an_impossible_recipe_is_refused(changes, message):
    with pytest.raises(TrainError, match=message):
        TINY.changed(changes)


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def pack(tmp_path):
    """The three kinds as packs, with classes.json."""
    folder = tmp_path / "kinds"
    folder.mkdir()
    for split, pictures in (("train", PICTURES), ("val", TEST)):
        arrays = {"images": pictures.images.permute(0, 2, 3, 1).numpy()}
        boxes = np.tile(np.array([0, 0, 3, 7], dtype=np.uint8), (len(pictures), 1))
        np.savez(
            folder / f"kinds_{split}.npz", labels=pictures.targets.numpy(), boxes=boxes, **arrays
        )
    classes = [{"name": n, "group_name": g} for n, g in zip(LABELS, PICTURES.groups, strict=True)]
    (folder / "classes.json").write_text(json.dumps(classes))
    return folder


SMALL = ["--image-size", "8", "--channels", "3", "--patch-size", "4", "--embed-dim", "16"]
SMALL += ["--depth", "2", "--num-heads", "2", "--epochs", "4", "--batch-size", "8"]
SMALL += ["--rotate", "0", "--shift", "0", "--warmup", "0"]


def test_the_file_says_all_there_is_to_know(pack, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "current_commit", lambda: "0123456789ab+")
    out = tmp_path / "out"
    names = {"ko": {"labels": {"light": "밝은 것"}, "groups": {"lines": "줄무늬"}}}
    (pack / "names.json").write_text(json.dumps(names))
    words = ["--data", str(pack), "--out", str(out), "--title", "Handwritten digits"]
    assert main([*words, *SMALL]) == 0
    loaded = load(out / "mnist.safetensors")
    card, details = loaded.card, loaded.card.details
    assert card.words == names
    korean = {name: say(details[name], "ko") for name in ("title", "data", "wall time", "terms")}
    assert korean == {
        "title": "손글씨 숫자",
        "data": "kinds: 학습용 그림 45장, 시험용 그림 12장, 클래스 3개",
        "wall time": "0분",
        "terms": "데이터의 조건과 같음",
    }
    assert loaded.film.read_bytes() == (out / "film.safetensors").read_bytes()
    assert card.labels == LABELS
    assert loaded.preprocess.size == (8, 8)
    assert loaded.preprocess.mean == pytest.approx((0.49,) * 3, abs=0.1)
    recipe = Recipe(**json.loads(details["recipe"]))
    assert (recipe.epochs, recipe.data, recipe.depth) == (4, "kinds", 2)
    assert details["data"] == "kinds: 45 training and 12 test pictures, 3 classes"
    assert details["seed"] == "0"
    assert details["title"] == "Handwritten digits"
    assert details["steps"] == "20"
    assert details["images seen"] == "160"
    assert details["commit"] == "0123456789ab+"
    assert json.loads(details["groups"]) == ["plain", "plain", "lines"]
    assert float(details["temperature"]) == card.temperature
    assert details["accuracy"] in capsys.readouterr().out
    assert details["terms"] == "as the data set's"


def test_the_commit_is_named_with_a_mark_for_changes():
    assert re.fullmatch(r"[0-9a-f]{12}\+?|unknown", command.current_commit())


def test_the_commit_of_another_project_is_not_told(tmp_path, monkeypatch):
    """An installed vitviz lies in the virtual environment of somebody's own clone."""
    inside = tmp_path / "venv" / "vitviz" / "train"
    inside.mkdir(parents=True)
    (inside / "command.py").touch()
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x"]
    (tmp_path / ".gitignore").write_text("venv")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "theirs"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(command, "__file__", str(inside / "command.py"))
    assert command.current_commit() == "unknown"


def test_an_option_for_measuring_is_not_passed_over_in_a_training(tmp_path, capsys):
    for words in (["--calibrate"], ["--json", "x"], ["--explainers", "all"], ["--pictures", "0"]):
        assert main(["--out", str(tmp_path / "out"), *words]) == 1
        assert f"{words[0]}: only with --evaluate" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_option_for_a_training_is_not_passed_over_in_measuring(capsys):
    for words in (
        ["--epochs", "2"], ["--flip", "no"], ["--warmup", "0"], ["--recipe", "mnist"],
        ["--save-every", "0"], ["--resume"], ["--film", "x.png"],
    ):  # fmt: skip
        assert main(["--evaluate", "mnist", "--data", "digits", *words]) == 1
        assert f"{words[0]}: only for a training" in capsys.readouterr().err
    for words, partner in (
        (["--out", "x"], "--explainers"),
        (["--pictures", "0"], "--explainers"),
        (["--unseen", "1"], "--others"),
        (["--seed", "0"], "--others"),
        (["--others", "x", "--seed", "0"], "--unseen"),
    ):
        assert main(["--evaluate", "mnist", "--data", "digits", *words]) == 1
        assert f"{words[-2]}: only with {partner}, or for a training" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(pack, capsys):
    assert main(["--data", str(pack), "--out", "x" * 300, *SMALL]) == 1
    assert f"{'x' * 300} could not be written: " in capsys.readouterr().err
    assert main(["--data", "x" * 300, *SMALL]) == 1
    assert f"{'x' * 300} could not be read: " in capsys.readouterr().err


def test_a_second_run_is_kept_out_of_a_folder_while_the_first_goes_on(tmp_path):
    """Both wrote one log, and the state of the slower one stood at the end."""
    pytest.importorskip("fcntl")
    short = PLAIN.changed({"epochs": 1})
    with checkpoint.held(tmp_path):
        with pytest.raises(TrainError, match="another run writes into"):
            train(short, PICTURES, TEST, tmp_path)
        assert not [*tmp_path.iterdir()]
    train(short, PICTURES, TEST, tmp_path)
    assert log_of(tmp_path)[-1]["event"] == "end"
    with pytest.raises(TrainError, match="already holds a run"):  # it began and ended meanwhile
        train(short, PICTURES, TEST, tmp_path)


def test_a_finished_run_is_not_overwritten(pack, tmp_path, capsys):
    words = ["--data", str(pack), "--out", str(tmp_path / "out"), *SMALL, "--epochs", "0.5"]
    assert main(words) == 0
    assert main(words) == 1
    assert "add --resume to go on, or choose another --out" in capsys.readouterr().err
    assert main([*words, "--epochs", "1", "--resume"]) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_stopped_says_how_to_go_on(pack, tmp_path, capsys, monkeypatch, number):
    out = tmp_path / "with space"
    words = ["--data", str(pack), "--out", str(out), *SMALL]
    with monkeypatch.context() as patch:
        stop_after(patch, 3, number)
        assert main(words) == 128 + number
    told = capsys.readouterr().err
    assert "stopped after step 3 of 20" in told
    assert f"python -m vitviz.train --data {pack} --out '{out}'" in told
    assert told.rstrip().endswith("--resume")
    assert main([*words, "--resume"]) == 0
    events = [line["event"] for line in log_of(out)]
    assert events.count("start") == 2
    assert events[-1] == "end"


def test_a_class_without_pictures_is_named(tmp_path, capsys, monkeypatch):
    images = (torch.arange(24 * 28 * 28) % 251).view(24, 28, 28).to(torch.uint8).numpy()
    folder = tmp_path / "kinds"
    folder.mkdir()
    classes = [f"kind {number}" for number in range(9)]
    (folder / "classes.json").write_text(json.dumps(classes))
    np.savez(folder / "kinds_train.npz", images=images, labels=np.arange(24) % 8)
    np.savez(folder / "kinds_val.npz", images=images[:4], labels=np.array([0, 1, 1, 0]))
    monkeypatch.setattr(command, "train", Mock(side_effect=TrainError("far enough")))
    assert main(["--data", str(folder), "--out", str(tmp_path / "out"), *SMALL]) == 1
    assert capsys.readouterr().err.splitlines()[-3:-1] == [
        "vitviz train: no training picture shows kind 8",
        "vitviz train: no test picture shows kind 2, kind 3, kind 4, kind 5, kind 6 and 2 more",
    ]


def test_a_checkpoint_is_measured_as_it_is_shipped(pack, tmp_path, capsys):
    out = tmp_path / "out"
    main(["--data", str(pack), "--out", str(out), *SMALL])
    capsys.readouterr()
    file = str(out / "mnist.safetensors")
    figures = tmp_path / "figures.json"
    assert main(["--evaluate", file, "--data", str(pack), "--json", str(figures)]) == 0
    told = capsys.readouterr().out
    details = load(file).card.details
    assert details["accuracy"] in told
    assert load(file).card.temperature != 1  # with a temperature of 1 nll would differ
    assert "uniform: 1.00 times" in told
    assert "attention:" in told
    found = json.loads(figures.read_text("utf-8"))
    carried = json.loads(details["evaluation"])
    assert set(carried) == set(MEASUREMENTS) - {"others", "photographs"}
    assert carried == {name: found[name] for name in carried}
    assert (found["checkpoint"], found["data"]) == (file, "kinds")
    assert sum(map(sum, found["confusion"]["counts"])) == len(TEST)
    assert main(["--evaluate", file, "--data", str(pack), "--json", str(tmp_path)]) == 1
    assert "could not be written" in capsys.readouterr().err
    assert main(["--evaluate", file]) == 1
    assert "--evaluate needs --data" in capsys.readouterr().err
    lists = [json.loads((pack / "classes.json").read_text())[at] for at in (2, 0, 1)]
    (pack / "classes.json").write_text(json.dumps(lists))
    for split, pictures in (("train", PICTURES), ("val", TEST)):
        arrays = dict(np.load(pack / f"kinds_{split}.npz"))
        arrays["labels"] = (pictures.targets.numpy() + 1) % 3  # of the same class as before
        np.savez(pack / f"kinds_{split}.npz", **arrays)
    again = ["--evaluate", file, "--data", str(pack), "--json", str(figures)]
    assert main(again) == 0, "the same classes in another order"
    assert json.loads(figures.read_text("utf-8")) == found
    capsys.readouterr()
    (pack / "classes.json").write_text('["a", "b", "c"]')
    assert main(["--evaluate", file, "--data", str(pack)]) == 1
    assert "other classes" in capsys.readouterr().err
