"""The meaning of a model's outputs is read from its files, can be set, and is in every answer."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import timm
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

import vitviz
from tests.models import photo, spread, tiny
from tests.running import save_tiny
from tests.test_transformers_files import FOLDER
from vitviz import Analysis, LoadedModel, ModelCard, SelectionError, WeightsError, analyze, load
from vitviz.cli import main
from vitviz.model.checkpoints import rewrite, save_checkpoint
from vitviz.probe.measure.numbers import digits, percents
from vitviz.web.page.first import asked_of, said_of
from vitviz.web.service.programs import _same_answer
from vitviz.web.service.short_answers import facts_of

MULTI, SINGLE, VALUE = (
    "multi_label_classification",
    "single_label_classification",
    "regression",
)
NAMES = ("effusion", "mass", "nodule", "pneumonia", "edema", "hernia")


def of_transformers(
    folder: Path, count: int, problem_type: str | None, family: str = "vit"
) -> Path:
    """A model of transformers with so many outputs, random ones, and a problem type."""
    shutil.copytree(FOLDER / family, folder)
    state = load_file(folder / "model.safetensors")
    generator = torch.Generator().manual_seed(count)
    width = state["classifier.weight"].shape[1]
    state["classifier.weight"] = torch.randn(count, width, generator=generator)
    state["classifier.bias"] = torch.randn(count, generator=generator)
    save_file(state, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config |= {"id2label": dict(enumerate(NAMES[:count])), "problem_type": problem_type}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def looked(loaded: LoadedModel) -> Analysis:
    return analyze(loaded, photo())


def with_outputs(name: str, outputs: str) -> LoadedModel:
    loaded = tiny(name)
    return replace(loaded, card=replace(loaded.card, outputs=outputs))


def alone(outputs: str = "score") -> LoadedModel:
    """A model of timm with one output."""
    model = spread(timm.create_model("test_vit", num_classes=1).eval())
    return vitviz.from_timm(model, labels=["hotdog"], outputs=outputs)


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


@pytest.mark.parametrize(
    ("count", "problem_type", "outputs", "is_assumed"),
    [
        (5, MULTI, "any_of", False),
        (2, MULTI, "any_of", False),
        (1, MULTI, "score", False),
        (1, VALUE, "value", False),
        (3, VALUE, "value", False),
        (1, None, "score", True),
        (1, SINGLE, "score", True),
        (2, SINGLE, "one_of", False),
        (3, None, "one_of", False),
    ],
)
def test_the_problem_type_of_transformers_counts(
    tmp_path: Path, count: int, problem_type: str | None, outputs: str, is_assumed: bool
) -> None:
    loaded = load(of_transformers(tmp_path / "x", count, problem_type), device="cpu")
    assert loaded.card.outputs == outputs
    assert ["one output is a score" in text for text in loaded.card.assumed] == [True] * is_assumed
    analysis = looked(loaded)
    logits = analysis.trace.logits.tolist()
    found = analysis.predictions(9)
    assert sorted(one.index for one in found) == [*range(count)]
    shares = torch.tensor(logits).double().softmax(0).tolist()
    for one in found:
        assert (one.logit, one.label) == (logits[one.index], NAMES[one.index])
        if outputs == "value":
            assert one.probability is None
        else:
            expected = shares[one.index] if outputs == "one_of" else sigmoid(one.logit)
            assert one.probability == pytest.approx(expected, abs=1e-6)
    order = [one.index for one in found]
    ranked = sorted(range(count), key=lambda index: -logits[index])
    assert order == ([*range(count)] if outputs == "value" else ranked)


def test_a_problem_type_outside_of_the_part_that_sees_counts(tmp_path: Path) -> None:
    folder = of_transformers(tmp_path / "x", 3, MULTI, "clip-classes")
    assert load(folder, device="cpu").card.outputs == "any_of"


def test_an_unknown_problem_type_is_refused_unless_the_meaning_is_given(tmp_path: Path) -> None:
    folder = of_transformers(tmp_path / "x", 3, "ranking")
    with pytest.raises(WeightsError, match="its problem_type is 'ranking'; single_label"):
        load(folder, device="cpu")
    assert load(folder, outputs="any_of", device="cpu").card.outputs == "any_of"


def test_config_json_of_timm_can_say_it(tmp_path: Path) -> None:
    model = spread(timm.create_model("test_vit", num_classes=3).eval())
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    inner = {"num_classes": 3, "input_size": [3, 160, 160]}
    told = {"architecture": "test_vit", "num_classes": 3}
    for config in (
        {**told, "pretrained_cfg": inner, "problem_type": MULTI},
        {**told, "pretrained_cfg": {**inner, "problem_type": MULTI}},
        {**told, "model_type": "timm_wrapper", "pretrained_cfg": inner, "problem_type": MULTI},
    ):
        (tmp_path / "config.json").write_text(json.dumps(config))
        card = load(tmp_path, device="cpu").card
        assert (card.outputs, card.labels) == ("any_of", ("output 0", "output 1", "output 2"))
        if "problem_type" in config:  # timm itself does not read the other one
            assert load(tmp_path, pretrained=False, device="cpu").card.outputs == "any_of"
        assert load(tmp_path, outputs="value", device="cpu").card.outputs == "value"
    (tmp_path / "config.json").write_text(json.dumps({**told, "pretrained_cfg": inner}))
    assert load(tmp_path, device="cpu").card.outputs == "one_of"


def test_one_output_of_timm_is_a_score_by_assumption(tmp_path: Path, caplog) -> None:
    model = spread(timm.create_model("test_vit", num_classes=1).eval())
    torch.save(model.state_dict(), tmp_path / "x.pth")
    loaded = load(tmp_path / "x.pth", arch="test_vit", device="cpu")
    assert "one output is a score" in caplog.text
    assert sum("one output is a score" in text for text in loaded.card.assumed) == 1
    assert "one score" in loaded.understood()["outputs"]
    analysis = looked(loaded)
    (found,) = analysis.predictions()
    assert found.label == "output 0"
    assert found.probability == pytest.approx(sigmoid(float(analysis.trace.logits)), abs=1e-6)
    given = load(tmp_path / "x.pth", arch="test_vit", outputs="value", device="cpu")
    assert not any("score" in text for text in given.card.assumed)
    assert looked(given).predictions()[0].probability is None


def test_a_checkpoint_keeps_the_meaning(tmp_path: Path) -> None:
    loaded = tiny("cls")
    path = tmp_path / "several.safetensors"
    card = loaded.card
    save_checkpoint(
        path,
        loaded.vit.state_dict(),
        config=card.config,
        preprocess=loaded.preprocess,
        labels=card.labels,
        details={},
        outputs="any_of",
        dtype=torch.float32,
    )
    again = load(path, device="cpu")
    assert again.card.outputs == "any_of"
    assert load(path, pretrained=False, device="cpu").card.outputs == "any_of"
    assert load(path, image_size=64, device="cpu").card.outputs == "any_of"
    assert load(path, outputs="one_of", device="cpu").card.outputs == "one_of"
    assert load(save_tiny(tmp_path, "cls"), device="cpu").card.outputs == "one_of"
    rewrite(path, lambda meta: meta.update(outputs="some_of"))
    with pytest.raises(WeightsError, match="outputs must be one of one_of, any_of"):
        load(path, device="cpu")
    analysis = looked(again)
    analysis.save(tmp_path / "saved.safetensors")
    read = Analysis.load(tmp_path / "saved.safetensors")
    assert read.answer() == analysis.answer()
    values = card.to_dict()
    del values["outputs"]  # as in an older file
    assert ModelCard.from_dict(values).outputs == "one_of"


@pytest.mark.parametrize(
    ("name", "outputs", "sentence"),
    [
        ("cls", "score", '"score" is of a model with one output, and this one has 7'),
        ("cls", "both", "outputs must be one of one_of, any_of, score, value, got 'both'"),
        ("registers", "any_of", "has no head whose outputs could mean any_of"),
        ("no_pool", "any_of", "has no head whose outputs could mean any_of"),
    ],
)
def test_a_meaning_that_does_not_fit_is_refused(
    tmp_path: Path, name: str, outputs: str, sentence: str
) -> None:
    with pytest.raises(WeightsError, match=sentence):
        load(save_tiny(tmp_path, name), outputs=outputs, device="cpu")
    with pytest.raises(WeightsError, match='"one_of" needs two outputs or more'):
        alone("one_of")


def test_each_class_that_can_be_true_has_its_own_lens_and_fair_test() -> None:
    loaded = with_outputs("cls", "any_of")
    analysis = looked(loaded)
    logits = analysis.trace.logits
    for line in analysis.lens_lines(3):
        assert_close(torch.tensor(line.probabilities), analysis.lens[:, line.index].sigmoid())
    second = int(logits.argsort()[-2])
    found = analysis.fair_test("occlusion", target=second, steps=2, orders=2)
    values = analysis.explain("occlusion", target=second)[1:]
    kept = values.argsort(descending=True)[8:].sort().values.tolist()
    changed = analysis.operate([{"kind": "keep", "patches": kept}])
    for step, left in enumerate((analysis, changed)):
        share = sigmoid(float(left.trace.logits[second]))
        assert float(found.first["occlusion"][step]) == pytest.approx(share, abs=1e-5)
    one = looked(tiny("cls"))
    for key in ("generic", "grad_cam", "occlusion"):  # the logit of the class is explained
        assert_close(analysis.explain(key, target=second), one.explain(key, target=second))


def test_a_fair_test_of_one_score_is_not_always_1() -> None:
    analysis = looked(alone())
    found = analysis.fair_test("generic", steps=3, orders=2)
    assert float(found.random.std()) > 1e-4
    assert float(found.first["generic"][0]) == pytest.approx(
        sigmoid(float(analysis.trace.logits)), abs=1e-6
    )


def test_values_have_no_fair_test_and_no_lens() -> None:
    analysis = looked(with_outputs("cls", "value"))
    with pytest.raises(SelectionError, match="outputs of this model are values"):
        analysis.fair_test("generic")
    assert analysis.lens_lines() == ()
    assert analysis.class_index(None) == 0
    assert_close(analysis.explain("generic"), looked(tiny("cls")).explain("generic", target=0))


def test_the_text_of_the_answer_is_everywhere_the_same(tmp_path: Path) -> None:
    analysis = looked(with_outputs("cls", "any_of"))
    true = [one for one in analysis.predictions(9) if one.probability >= 0.5]
    assert len(true) > 3
    listed = ", ".join(f"{one.label} {100 * one.probability:.1f}%" for one in true[:3])
    text = f"{listed} and {len(true) - 3} more; several can be true"
    korean = f"{listed} 외 {len(true) - 3}개. 여러 개가 함께 참일 수 있습니다"
    assert analysis.answer_text() == text
    assert analysis.answer_text("ko") == korean
    assert said_of(analysis) == {"en": text, "ko": korean}
    assert asked_of(analysis, "ko") == korean  # a question has one answer
    assert text in repr(analysis)
    summary = json.loads(json.dumps(analysis.summary()))
    assert (
        summary["answer"]["text"] == facts_of(summary, analysis.card.key)["answer"]["text"] == text
    )
    assert summary["answer"]["level"] == "answer"
    assert summary["model"]["outputs"] == "any_of"
    assert [part["label"] for part in summary["answer"]["parts"]] == [one.label for one in true[:3]]
    assert summary["answer"]["classes"] == [one.index for one in true]


def test_programs_get_values_and_no_probability() -> None:
    analysis = looked(with_outputs("cls", "value"))
    facts = facts_of(json.loads(json.dumps(analysis.summary())), analysis.card.key)
    first = float(analysis.trace.logits[0])
    assert facts["outputs"] == "value"
    assert facts["predictions"][0]["probability"] is None
    assert facts["predictions"][0]["value"] == pytest.approx(first, rel=1e-3)
    assert facts["answer"]["probability"] is None
    assert facts["answer"]["value"] == facts["predictions"][0]["value"]
    assert facts["answer"]["text"].startswith(f"class 0 {digits(first)}, class 1 ")
    one = looked(tiny("cls"))
    assert "outputs" not in facts_of(one.summary(), one.card.key)


def test_whether_an_answer_stays_is_asked_of_all_classes_that_are_true() -> None:
    def answer(outputs: str, classes: list[int]) -> dict:
        return {"outputs": outputs, "classes": classes}

    assert _same_answer(answer("any_of", [1, 2]), answer("any_of", [2, 1])) is True
    assert _same_answer(answer("any_of", [1, 2]), answer("any_of", [1])) is False
    assert _same_answer(answer("score", [0]), answer("score", [])) is False
    assert _same_answer(answer("value", []), answer("value", [])) is None
    assert _same_answer(None, None) is None


def test_an_ablation_is_of_the_sigmoid_and_of_values_of_the_value_alone() -> None:
    changes = [{"kind": "head", "layer": 1, "head": 0, "by": "zero"}]
    loaded = with_outputs("cls", "any_of")
    pictures = [photo()]
    found = vitviz.ablate(loaded, pictures, [changes], target=2, progress=False)
    before = looked(loaded)
    after = before.operate(changes)
    fall = sigmoid(before.trace.logits[2]) - sigmoid(after.trace.logits[2])
    assert float(found.probability) == pytest.approx(fall, abs=1e-5)
    same = set(before.answer().classes) == set(after.answer().classes)
    assert bool(found.kept) == same
    values = vitviz.ablate(with_outputs("cls", "value"), pictures, [changes], progress=False)
    assert values.targets.tolist() == [0]
    assert float(values.logits) == pytest.approx(
        float(before.trace.logits[0] - after.trace.logits[0]), abs=1e-5
    )
    assert bool(values.probability.isnan())
    assert [*values.table()[0]] == ["changed", "logits", "logits_error"]


def test_an_ablation_of_a_score_that_crosses_a_half_does_not_keep_the_answer() -> None:
    loaded = alone()
    logit = float(looked(loaded).trace.logits)
    changes = [{"kind": "keep", "patches": [0]}]
    after = float(looked(loaded).operate(changes).trace.logits)
    middle = (logit + after) / 2
    with torch.no_grad():
        loaded.vit.head.bias.sub_(middle)
    found = vitviz.ablate(loaded, [photo()], [changes], progress=False)
    assert found.kept.tolist() == [[False]]


def test_a_survey_has_no_confidence_where_no_class_is_chosen() -> None:
    pictures = [photo()]
    loaded = with_outputs("cls", "any_of")
    answer = looked(loaded).answer()
    true = loaded.card.labels[answer.classes[1]]
    false = next(label for at, label in enumerate(loaded.card.labels) if at not in answer.classes)
    for label, right in ((true, True), (false, False)):
        found = vitviz.survey(loaded, pictures, labels=[label], progress=False)
        assert found.pictures[0].right is right
        assert found.confidence is None
        assert "value" not in found.pictures_to_csv()
    values = vitviz.survey(with_outputs("cls", "value"), pictures, labels=[true], progress=False)
    (only,) = values.pictures
    logits = looked(loaded).trace.logits
    assert (only.answer, only.probability, only.right) == ("class 0", None, None)
    assert only.value == pytest.approx(float(logits[0]), abs=1e-5)
    assert values.pictures_to_csv().splitlines()[0].endswith(",right,value,sentence")
    score = vitviz.survey(alone(), pictures, labels=["hotdog"], progress=False)
    logit = float(looked(alone()).trace.logits)
    assert score.pictures[0].right is (logit >= 0)


def test_two_models_of_values_are_compared_by_value() -> None:
    first, second = (looked(with_outputs("cls", name)) for name in ("value", "any_of"))
    row = vitviz.compare(first, second).answers(1)[0]
    assert row.first == pytest.approx(float(first.trace.logits[0]))
    assert row.second == pytest.approx(sigmoid(float(first.trace.logits[0])), abs=1e-6)


def test_look_prints_what_the_outputs_say(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = save_tiny(tmp_path, "cls")
    picture = str(FOLDER / "picture.png")
    look = ["look", picture, "--model", str(path), "--device", "cpu", "--no-figures"]
    loaded = load(path, outputs="value", device="cpu")
    first = digits(float(analyze(loaded, picture).trace.logits[0]))
    main([*look, "--outputs", "value", "--out", "value"])
    assert capsys.readouterr().out.splitlines()[0] == f"{first:>7}  class 0"
    assert json.loads(Path("value/summary.json").read_text())["answer"]["outputs"] == "value"
    main([*look, "--outputs", "any_of", "--out", "any"])
    several = analyze(load(path, outputs="any_of", device="cpu"), picture)
    assert f"\n{several.answer_text()}\n" in capsys.readouterr().out
    main(["look", picture, picture, *look[2:], "--outputs", "value", "--out", "two"])
    assert f"class 0 {first}, class 1" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*look, "--outputs", "all_of"])
    assert "all_of" in capsys.readouterr().err


def test_figures_of_values_have_no_percentages() -> None:
    from vitviz import draw

    def texts(figure: object) -> str:
        return "\n".join(text.get_text() for ax in figure.axes for text in ax.texts)

    analysis = looked(with_outputs("cls", "value"))
    written = texts(draw.predictions(analysis))
    assert digits(float(analysis.trace.logits[0])) in written
    assert "%" not in written
    assert "%" not in texts(draw.answers(analysis, analysis))
    several = draw.predictions(looked(with_outputs("cls", "any_of")))
    assert several.axes[1].get_xlabel() == "probability: sigmoid"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-1.2282, "\u22121.23"), (1234.6, "1235"), (0.9996, "1.00"),
        (0.000012, "1.2e-5"), (-0.00012, "\u22120.00012"), (1000.0, "1000"), (34.56, "34.6"),
    ],
)  # fmt: skip
def test_a_value_has_three_digits(value: float, text: str) -> None:
    assert digits(value) == text


def test_percentages_of_one_list_have_the_decimals_of_the_largest() -> None:
    assert percents([0.74, 0.00001]) == ["74.0%", "<\u00a00.1%"]
    assert percents([0.00034, 0.0001]) == ["0.034%", "0.010%"]
    assert percents([1.0, 0.0]) == ["100.0%", "0.0%"]
    assert percents([0.99999]) == [">\u00a099.9%"]
