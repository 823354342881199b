"""Explanations on the wire: the values of `Analysis.explain`, made when somebody looks."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load

from tests.models import photo, tiny
from tests.running import save_tiny
from vitviz import EXPLAINERS, Analysis, SelectionError, VitvizError, analyze
from vitviz import features as many_features
from vitviz import load as load_model
from vitviz.languages import dictionary, in_others, languages
from vitviz.payload import pack
from vitviz.payload.explanations import LIKE, explanation_name
from vitviz.payload.payload import late_file, needs_model
from vitviz.probe.explain.explanation import explained
from vitviz.probe.measure.measurements import fair_tests_of

MEASURED = {"mean": 0.4, "half": 0.02, "pictures": 10}


def test_a_late_file_has_the_values_of_explain(
    any_tiny_analysis: Analysis, subtests: pytest.Subtests
) -> None:
    for key in EXPLAINERS:
        with subtests.test(key=key):
            compare_late_file(any_tiny_analysis, key)


def compare_late_file(analysis: Analysis, key: str) -> None:
    one = EXPLAINERS[key].within(analysis.card.config)
    told = {
        entry["key"]: entry for entry in pack(analysis, whole=False).manifest["model"]["explainers"]
    }
    of_class = "class" in one.needs
    if of_class and analysis.card.head != "classes":
        assert (key in told) == bool(analysis.card.config.global_pool)  # for a likeness
        with pytest.raises(SelectionError, match="names no classes"):
            late_file(analysis, explanation_name(key, 0, 1))
        return
    assert told[key]["late"]
    if key == "attention":  # it is not called the last layer's where it is the pool's
        name = told[key]["name"]
        assert ("pool" in name) == ("pool" in one.needs) != ("last layer" in name)
    for name in ("signed", "baseline"):
        assert told[key][name] == getattr(one, name)
    assert told[key]["needs"] == sorted(one.needs)
    target = 3 if of_class else None
    name = explanation_name(key, 1 if "token" in one.needs else 0, target)
    sent = load(late_file(analysis, name))
    assert torch.equal(sent["values"], analysis.explain(key, 1, target))
    forward, backward, seconds = sent["cost"].tolist()
    # What it cost is what its definition says, to a fifth: the project promises no more.
    assert forward + 2 * backward <= 1.2 * one.passes(analysis.grid) + 1e-4
    assert (forward > 0) == (one.passes(analysis.grid) > 0)
    assert one.runs_the_model == needs_model(name, analysis.card.config)
    assert seconds > 0
    if one.gap is None:
        assert "gap" not in sent
    else:
        gap = one.gap(analysis.case(key, target=target), sent["values"])
        assert sent["gap"].item() == pytest.approx(gap, rel=1e-5)


OF_CLASS = [key for key, one in EXPLAINERS.items() if "class" in one.needs]


@pytest.mark.parametrize("name", ["cls", "registers", "distilled", "map"])
def test_a_late_file_explains_the_likeness_to_another_picture(name: str) -> None:
    loaded = tiny(name)
    mirrored = photo()[:, ::-1].copy()
    analysis, other = analyze(loaded, photo()), analyze(loaded, mirrored)
    features = many_features(loaded, [mirrored]).values[0]
    for key in OF_CLASS:
        late = explanation_name(key, 1, LIKE)
        sent = load(late_file(analysis, late, Analysis.from_bytes(other.to_bytes())))
        torch.testing.assert_close(sent["values"], analysis.explain(key, 1, features))
        assert sent["likeness"].item() == pytest.approx(analysis.likeness(features), abs=1e-6)
        assert sent["cost"][0] > 0
        assert needs_model(late, loaded.card.config)
    another = analyze(tiny("grey" if name == "cls" else "cls"), photo())
    for wrong in (None, another):
        with pytest.raises(SelectionError, match="another picture in the same model"):
            late_file(analysis, explanation_name("generic", 0, LIKE), wrong)


def test_what_a_definition_costs(tiny_analysis: Analysis) -> None:
    grid = tiny_analysis.grid  # 4 x 4 patches: windows of 1 at 16 places, of 3 at 4
    passes = {key: one.passes(grid) for key, one in EXPLAINERS.items()}
    assert passes["occlusion"] == 16 + 4
    assert passes["integrated_gradients"] == 96
    assert (passes["attention"], passes["attention_norm"], passes["generic"]) == (0, 1, 3)
    count = explained(tiny_analysis, "generic")
    assert (count.forward, count.backward) == pytest.approx((1, 1))
    assert explained(tiny_analysis, "integrated_gradients").backward == pytest.approx(32)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("explain-nothing-0-any", "there is no explainer 'nothing'"),
        ("explain-generic-99-1", "token must be"),
        ("explain-generic-0-99", "has no class '?99"),
        ("explain-generic-0-1000000", "has no class"),
        ("explain-generic-0", "has no file"),
        ("explain-generic-0-1-", "has no file"),
        ("explain-generic--1-1", "has no file"),
        ("explain-<b>-0-1", "has no file"),
        ("explain-generic-\u0660-1", "has no file"),
    ],
)
def test_what_does_not_exist_is_refused_with_a_sentence(
    name: str, says: str, tiny_analysis: Analysis
) -> None:
    with pytest.raises(SelectionError, match=says):
        late_file(tiny_analysis, name)


def test_a_page_of_one_file_brings_a_few_for_the_answer(any_tiny_analysis: Analysis) -> None:
    analysis = any_tiny_analysis
    payload, token = pack(analysis), pack(analysis).manifest["pass"]["first"]["token"]
    brought = [name for name in payload.manifest["files"] if name.startswith("explain-")]
    assert not any(one["late"] for one in payload.manifest["model"]["explainers"])
    cheap = {key for key, one in EXPLAINERS.items() if one.passes(analysis.grid) <= 3}
    if analysis.card.head != "classes":
        cheap = {key for key in cheap if "class" not in EXPLAINERS[key].needs}
    assert {name.split("-")[1] for name in brought} == cheap
    for name in brought:
        sent = load(payload.files[payload.manifest["files"][name]["path"]])
        _, key, at, target = name.split("-")
        assert int(at) == (token if "token" in EXPLAINERS[key].needs else 0)
        assert torch.equal(sent["values"], analysis.explain(key, int(at)))
        assert target == "any" or int(target) == int(analysis.trace.logits.argmax())


def test_without_its_model_an_analysis_explains_what_needs_none(tiny_analysis: Analysis) -> None:
    read = Analysis.from_bytes(tiny_analysis.to_bytes())
    free = {key for key, one in EXPLAINERS.items() if not one.runs_the_model}
    listed = pack(read, whole=False).manifest["model"]["explainers"]
    assert {one["key"] for one in listed if one["late"]} == free
    brought = {name.split("-")[1] for name in pack(read).files if name.startswith("explain-")}
    assert brought == free
    with pytest.raises(VitvizError, match="does not hold its model"):
        late_file(read, explanation_name("generic", 0, 1))


def test_names_and_sentences_come_in_every_language(tiny_analysis: Analysis) -> None:
    texts = [f"{text}_{key}" for key in EXPLAINERS for text in ("name", "explainer")]
    missing = [text for text in texts if text not in dictionary("en", "experiments")]
    assert missing == [], "add them to experiments.json of every language"
    for one in pack(tiny_analysis, whole=False).manifest["model"]["explainers"]:
        assert set(one["sentences"]) == set(languages()) - {"en"}
        assert one["name"] == str(EXPLAINERS[one["key"]].name)
        assert one["names"] == in_others(EXPLAINERS[one["key"]].name)


def test_what_was_measured_stands_beside_a_name_if_the_checkpoint_brings_it(
    tiny_analysis: Analysis,
) -> None:
    def listed(told: object, **changes: object) -> dict[str, object]:
        card = replace(tiny_analysis.card, details={"explainers": json.dumps(told)}, **changes)
        entries = pack(replace(tiny_analysis, card=card), whole=False).manifest["model"][
            "explainers"
        ]
        return {one["key"]: one["measured"] for one in entries}

    table = {"generic": {"gain": MEASURED, "energy": MEASURED, "saco": {"mean": "x", "half": 1}}}
    head = {"pictures": 10, "date": "2026-11-22", "data": "tiny"}
    kept = {"mean": 0.4, "half": 0.02}
    assert listed({**head, "table": table})["generic"] == {"gain": kept}
    assert listed({**head, "table": table})["rollout"] is None
    for broken in (
        None,
        [],
        {"table": 3},
        {"table": {"generic": []}},
        {"table": {"generic": {"gain": {"mean": float("nan"), "half": 1}}}},
    ):
        assert not any(listed(broken).values())
    assert not any(listed({**head, "table": table}, trained=False).values())


def test_fair_tests_lie_beside_a_checkpoint_and_are_of_these_very_weights(tmp_path: Path) -> None:
    path = save_tiny(tmp_path, "cls")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    beside = tmp_path / "tiny-cls.explainers.json"
    table = {"sha256": sha256, "table": {"generic": {"gain": MEASURED}}}
    head = {"pictures": 10, "date": "2026-11-22", "data": "tiny"}

    def told(text: str, **options: object) -> dict[str, object]:
        beside.write_text(text, encoding="utf-8")
        manifest = pack(analyze(load_model(path, **options), photo()), whole=False).manifest
        measured = {one["key"]: one["measured"] for one in manifest["model"]["explainers"]}
        return {"tested": manifest["model"]["tested"], "generic": measured["generic"]}

    found = told(json.dumps(head | table))
    assert found == {"tested": head, "generic": {"gain": {"mean": 0.4, "half": 0.02}}}
    nothing = {"tested": None, "generic": None}
    assert told(json.dumps(head | table), pretrained=False) == nothing
    assert told(json.dumps(head | table), image_size=48) == nothing
    for other in (json.dumps(head | table | {"sha256": "0" * 64}), "{", "[]", "\0" * 300_000):
        assert told(other) == nothing


@pytest.mark.parametrize("name", ["photos", "mnist"])
def test_the_shipped_tables_are_of_the_shipped_weights(name: str) -> None:
    told = fair_tests_of(load_model(name).card)
    assert told["pictures"] > 50, "the table names other weights: measure again, or remove it"
    assert {"generic", "rollout", "centre"} <= set(told["explainers"])
