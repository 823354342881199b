"""A linear head of one's own answers as an independent computation in plain torch does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.testing import assert_close

import vitviz
from tests.models import TINY, photo, spread, tiny
from tests.running import save_tiny
from vitviz import LoadedModel, ModelCard, WeightsError, cli
from vitviz.model.config import ViTConfig
from vitviz.model.head import POOLS
from vitviz.model.vit import ViT

# Prefix tokens 0, 1, 2 (CLS and distillation), 2 (CLS and a register) and 5; no grid is a square.
BARE = {
    "no_cls": replace(TINY["no_cls"], num_classes=0),
    "cls": replace(TINY["cls"], image_size=(32, 24), num_classes=0),
    "distilled": replace(TINY["distilled"], num_classes=0),
    "registers": TINY["registers"],
    "token_avg": replace(TINY["token_avg"], num_classes=0),
    "map": replace(TINY["map"], num_classes=0),
}


def bare(config: ViTConfig) -> LoadedModel:
    """A model without classes."""
    card = ModelCard(name="bare", source="random weights", config=config)
    size = replace(tiny("cls").preprocess, size=config.image_size)
    return LoadedModel(spread(ViT(config)).eval().requires_grad_(False), card, size)


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def plain(loaded: LoadedModel, pixels: torch.Tensor, pool: str) -> torch.Tensor:
    """The pooled features in plain torch: blocks, last norm, CLS and the mean of the patches."""
    vit, prefix = loaded.vit, loaded.card.config.num_prefix_tokens
    x = vit.norm_pre(vit.embed(pixels))
    for block in vit.blocks:
        x = block(x)
    x = vit.norm(x)
    mean = x[:, prefix:].mean(1)
    if loaded.card.config.final_norm == "after_pool":
        return vit.fc_norm(mean)
    return {"token": x[:, 0], "avg": mean, "token_avg": torch.cat([x[:, 0], mean], 1)}[pool]


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("name", BARE)
def test_the_head_answers_as_plain_torch(name: str, pool: str) -> None:
    loaded = bare(BARE[name])
    width = loaded.card.config.embed_dim * (2 if pool == "token_avg" else 1)
    weight, bias = numbers(3, width), numbers(3)
    if name == "no_cls" and pool != "avg":
        with pytest.raises(WeightsError, match=r"reads the CLS token|comes after pooling"):
            vitviz.with_head(loaded, weight, bias, pool=pool)
        return
    made = vitviz.with_head(loaded, weight, bias, ["ant", "bee", "cow"], pool)
    analysis = vitviz.analyze(made, photo())
    expected = plain(loaded, analysis.pixels[None], pool)[0] @ weight.T + bias
    assert_close(analysis.trace.logits, expected, rtol=1e-5, atol=1e-5)
    best = ["ant", "bee", "cow"][int(expected.argmax())]
    assert analysis.answer().name == best
    assert analysis.predictions()[0].probability == pytest.approx(float(expected.softmax(0).max()))
    maps = {key: analysis.explain(key, target=best) for key in ("generic", "occlusion", "grad_cam")}
    assert all(len(values) == loaded.card.config.num_tokens for values in maps.values())
    assert analysis.fair_test("generic", steps=2, orders=2).target == int(expected.argmax())
    erased = analysis.operate([{"kind": "remove", "patches": [0]}])
    assert not torch.equal(erased.trace.logits, analysis.trace.logits)
    assert vitviz.Analysis.from_bytes(analysis.to_bytes()).answer() == analysis.answer()


def test_without_a_pool_the_head_reads_what_the_model_pools() -> None:
    """The query of SigLIP too; a weight twice as wide can only be of CLS and the mean."""
    for name in ("map", "cls", "token_avg", "no_cls"):
        loaded = bare(BARE[name])
        made = vitviz.with_head(loaded, weight := numbers(2, loaded.card.config.pooled_dim))
        features = vitviz.analyze(loaded, photo()).trace.logits
        assert_close(vitviz.analyze(made, photo()).trace.logits, features @ weight.T)
    wide = vitviz.with_head(bare(BARE["cls"]), numbers(2, 48))
    assert wide.card.config.global_pool == "token_avg"
    assert wide.card.labels == ("class 0", "class 1")


def test_one_row_with_two_names_is_a_head_of_two_classes() -> None:
    """As scikit-learn's LogisticRegression has it: its row is for the second class."""
    loaded = tiny("cls")
    weight, bias = torch.randn(1, loaded.card.config.embed_dim), torch.tensor([0.3])
    names = np.array(["cat", "dog"])  # as `classes_` has them
    found = vitviz.analyze(vitviz.with_head(loaded, weight, bias, names), photo())
    one = vitviz.analyze(vitviz.with_head(loaded, weight, bias), photo())
    answers = {answer.label: answer.probability for answer in found.predictions()}
    assert answers["dog"] == pytest.approx(float(one.trace.logits.sigmoid()), abs=1e-6)
    assert sum(answers.values()) == pytest.approx(1, abs=1e-6)


def test_a_head_takes_the_place_of_another_and_of_what_was_measured_with_it() -> None:
    loaded = tiny("cls")
    details = {"accuracy": "90 %", "temperature": "2", "title": "Mine"}
    card = replace(loaded.card, details=details, temperature=2.0)
    made = vitviz.with_head(replace(loaded, card=card), numbers(1, 24).numpy(), labels=["sick"])
    assert (made.card.temperature, made.card.outputs) == (1, "score")
    assert made.card.details == {"title": "Mine"}
    assert made.vit.blocks[0].mlp.fc1.weight is not None
    ours, theirs = (m.vit.blocks[0].mlp.fc1.weight.data_ptr() for m in (made, loaded))
    assert ours == theirs  # shared, not copied
    assert loaded.card.config.num_classes == 7
    values = vitviz.with_head(loaded, numbers(1, 24), outputs="value")
    assert values.card.outputs == "value"
    assert not values.card.assumed


@pytest.mark.parametrize(
    ("weight", "options", "sentence"),
    [
        (numbers(3, 25), {}, r"must have shape \(classes, 24\) or \(classes, 48\).*got \(3, 25\)"),
        (numbers(24, 3), {}, r"got \(24, 3\); is it turned\? weight.T fits"),
        (numbers(24), {}, r"got \(24,\)"),
        (numbers(0, 24), {}, r"got \(0, 24\)"),
        (numbers(3, 24), {"bias": numbers(2)}, r"must have shape \(3,\).*got \(2,\)"),
        (numbers(3, 24), {"labels": ["a"]}, "labels must be 3 names"),
        (numbers(3, 24), {"pool": "max"}, "pool must be one of token, avg, token_avg, got 'max'"),
        (numbers(3, 24) / 0, {}, "not finite"),
        ("linear", {}, "must be an array of numbers, got str"),
        ([[0.5, 10**400]], {}, "must be an array of numbers, got list"),
    ],
)
def test_a_head_that_does_not_fit_is_refused_with_the_shapes(weight, options, sentence) -> None:
    with pytest.raises(WeightsError, match=sentence):
        vitviz.with_head(bare(BARE["cls"]), weight, **options)


def test_vectors_of_texts_are_a_head_behind_the_projection() -> None:
    """As CLIP's zero-shot classifier: texts that are as wide as its outputs."""
    loaded = tiny("cls")  # its outputs stand for a projection
    texts = numbers(3, 7)
    with pytest.raises(WeightsError, match="7 is the width of its outputs, which weight @"):
        vitviz.with_head(loaded, texts)
    made = vitviz.with_head(loaded, texts @ loaded.vit.head.weight, texts @ loaded.vit.head.bias)
    projected = vitviz.analyze(loaded, photo()).trace.logits
    logits = vitviz.analyze(made, photo()).trace.logits
    assert_close(logits, projected @ texts.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["safetensors", "pth", "npz"])
def test_a_head_from_a_file_is_the_same_on_the_command_line(kind, tmp_path, capsys) -> None:
    weight, bias = numbers(3, 32), numbers(3)
    path = tmp_path / f"head.{kind}"
    state = {"head.weight": weight, "head.bias": bias}
    if kind == "npz":
        np.savez(path, weight=weight.numpy(), bias=bias.numpy())
    else:
        (save_file if kind == "safetensors" else torch.save)(state, path)
    model = save_tiny(tmp_path, "registers")
    names = tmp_path / "names.txt"
    names.write_text("ant\nbee\ncow\n")
    labels = ["ant", "bee", "cow"]
    loaded = vitviz.load(model, head_file=path, head_pool="avg", labels=labels, device="cpu")
    by_hand = vitviz.with_head(vitviz.load(model, device="cpu"), weight, bias, labels, "avg")
    answers = [vitviz.analyze(each, photo()).trace.logits for each in (loaded, by_hand)]
    assert torch.equal(*answers)
    example = Path(__file__).parent.parent / "vitviz/web/examples/cat.jpg"
    argv = ["look", str(example), "--model", str(model), "--head-file", str(path), "--device"]
    argv += ["cpu", "--head-pool", "avg", "--labels", str(names), "--json", "--head", "1"]
    assert cli.main(argv) == 0
    said = capsys.readouterr().out
    expected = vitviz.analyze(loaded, example).answer()
    assert expected.name in labels
    assert f'"{expected.name}"' in said
    twin = vitviz.load(model, head_file=path, pretrained=False, device="cpu")
    assert not twin.card.trained
    assert not torch.equal(twin.vit.head.weight, weight)


@pytest.mark.parametrize("data", [b"", b"PK", b"\x93NUMPY"], ids=["empty", "zip", "npy"])
def test_a_damaged_file_of_arrays_is_refused_in_a_sentence(tmp_path, data) -> None:
    path = tmp_path / "head.npz"
    path.write_bytes(data)
    if data == b"\x93NUMPY":
        with path.open("wb") as file:
            np.save(file, np.eye(2))
    with pytest.raises(WeightsError, match=r"head\.npz (cannot be read|is damaged)"):
        vitviz.load(save_tiny(tmp_path, "registers"), head_file=path, device="cpu")


def test_a_file_that_holds_no_head_is_refused(tmp_path) -> None:
    model = save_tiny(tmp_path, "registers")
    other = tmp_path / "other.pth"
    torch.save({"a.weight": numbers(2, 2), "b.weight": numbers(2, 2)}, other)
    for head, sentence in ((other, "of one linear layer; it holds"), ("no", "there is no file no")):
        with pytest.raises(WeightsError, match=sentence):
            vitviz.load(model, head_file=head)
    (tmp_path / "broken.npz").write_bytes(b"PK")
    with pytest.raises(WeightsError, match=r"broken\.npz cannot be read"):
        vitviz.load(model, head_file=tmp_path / "broken.npz")
    with pytest.raises(WeightsError, match="head_pool is of a head_file"):
        vitviz.load(model, head_pool="avg")
    with pytest.raises(WeightsError, match=r"this model has no classes to name.*with_head"):
        vitviz.load(model, labels=["a"])


def test_a_model_with_a_head_is_served_and_written_as_a_checkpoint(tmp_path) -> None:
    """So that it stands on a site and in a page that computes, too."""
    from vitviz.payload import in_page, page
    from vitviz.web.host.settings import Settings

    made = vitviz.with_head(bare(BARE["cls"]), numbers(2, 24), labels=["a", "b"])
    path = tmp_path / "mine.safetensors"
    vitviz.model.weights.save_checkpoint(
        path,
        made.vit.state_dict(),
        config=made.card.config,
        preprocess=made.preprocess,
        labels=made.card.labels,
        details={},
        dtype=torch.float32,
    )
    ours, theirs = (vitviz.analyze(m, photo()) for m in (vitviz.load(path, device="cpu"), made))
    assert torch.equal(ours.trace.logits, theirs.trace.logits)
    for pool in ("token", "avg", "token_avg"):  # pages have its classes, also those that compute
        width = 48 if pool == "token_avg" else 24
        bees = vitviz.with_head(made, numbers(2, width), labels=["ant", "bumblebee"], pool=pool)
        in_page.check(bees.card)
        assert "bumblebee" in page(vitviz.analyze(bees, photo()), engine=True)
    settings = Settings.from_args(["--model", "x.pth", "--head-file", "h.pth"], {})
    assert settings.weights == {"x.pth": {"head_file": "h.pth"}}
