"""Weights of 16 bits: every public function works, and gives float32 close to that of float32.

There is no GPU here: the arithmetic is tested in bfloat16 on the CPU, where `load` refuses it.
"""

import pickle
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import timm
import torch
from torch.testing import assert_close

import vitviz
from tests.models import TINY, photo, tiny
from tests.test_from_transformers import Model, processor_of
from tests.test_interventions import each_kind
from tests.test_transformers_files import FOLDER
from vitviz import Analysis, LoadedModel, WeightsError, analyze, cli
from vitviz.model import weight_options
from vitviz.model.precision import PRECISIONS, bring_to, check_precision
from vitviz.probe.explain.explainers import fitting

NAMES = ["cls", "map", "relative", "rotary", "mixed_rotary", "registers", "token_avg", "no_cls"]
NAMES = [name for name in NAMES if name in TINY]


@cache
def rounded(name: str) -> LoadedModel:
    loaded = replace(tiny(name), vit=deepcopy(tiny(name).vit))
    bring_to(loaded.vit, torch.bfloat16)
    return loaded


@cache
def analysis_of(name: str) -> Analysis:
    return analyze(rounded(name), photo())


def near(ours: torch.Tensor, theirs: torch.Tensor, share: float = 0.05) -> None:
    """float32, finite, and apart by at most this share of the largest value."""
    assert ours.dtype == torch.float32
    assert ours.isfinite().all()
    assert_close(ours, theirs, rtol=0, atol=share * float(theirs.abs().max()))


@pytest.mark.parametrize("name", NAMES)
def test_a_trace_is_float32_and_near_that_of_whole_weights(name: str) -> None:
    ours, theirs = analysis_of(name), analyze(tiny(name), photo())
    assert {weight.dtype for weight in rounded(name).vit.parameters()} >= {torch.bfloat16}
    for part in ("q", "k", "tokens", "logits"):
        near(getattr(ours.trace, part), getattr(theirs.trace, part))
    assert not torch.equal(ours.trace.logits, theirs.trace.logits)  # it is not computed in float32
    assert ours.pixels.dtype == torch.float32
    assert_close(ours.trace.attention(1).sum(-1), torch.ones(1).expand(ours.trace.q.shape[1:3]))
    again = Analysis.from_bytes(ours.to_bytes())
    assert torch.equal(again.trace.logits, ours.trace.logits)
    assert torch.equal(pickle.loads(pickle.dumps(ours)).trace.q, ours.trace.q)


@pytest.mark.parametrize("name", NAMES)
def test_every_explainer_likeness_and_fair_test(name: str) -> None:
    loaded, ours, theirs = rounded(name), analysis_of(name), analyze(tiny(name), photo())
    if not loaded.card.config.global_pool:
        return
    vector = torch.from_numpy(vitviz.features(loaded, [photo()[::-1].copy()]).values[0])
    assert ours.likeness(vector) == pytest.approx(theirs.likeness(vector), abs=0.03)
    targets = [vector] + [1] * (loaded.card.config.num_classes > 0)
    for target in targets:
        for key in fitting(loaded.card.config):
            values = ours.explain(key, target=target)
            assert values.dtype == torch.float32
            assert values.isfinite().all()
        near(ours.explain("generic", target=target), theirs.explain("generic", target=target), 0.1)
        test = ours.fair_test("generic", "grad_cam", target=target, steps=3, orders=2)
        assert test.random.dtype == torch.float32
    assert loaded.vit.blocks[0].attn.qkv.weight.dtype == torch.bfloat16  # nothing has changed it


@pytest.mark.parametrize("name", NAMES)
def test_every_intervention(name: str) -> None:
    ours, other = analysis_of(name), analyze(rounded(name), photo()[::-1].copy())
    for one in each_kind(rounded(name).card.config, other):
        assert ours.operate([one]).trace.logits.dtype == torch.float32, one


@pytest.mark.parametrize("name", NAMES)
def test_what_reads_the_weights(name: str) -> None:
    ours, theirs = analysis_of(name), analyze(tiny(name), photo())
    near(ours.hidden_sums(1), theirs.hidden_sums(1))
    near(ours.filters().shares, theirs.filters().shares)
    near(ours.mix(1, 0, 0).added, theirs.mix(1, 0, 0).added, 0.1)
    ours.verify()
    both = vitviz.compare(ours, theirs)
    assert both.attention(0, 0, 1).difference.abs().max() < 0.1
    assert "<" in ours._repr_html_()
    assert vitviz.pca([ours], 1, normed=True)[0].colours.dtype in (torch.float32, np.float32)


@pytest.mark.parametrize("name", ["cls", "map"])
def test_many_pictures_heads_and_files_made_of_it(name: str, tmp_path) -> None:
    loaded, some = rounded(name), [photo(), photo()[::-1].copy()]
    found = vitviz.features(loaded, some, progress=False)
    assert found.values.dtype == np.float32
    vitviz.survey(loaded, some, progress=False)
    vitviz.ablate(loaded, some, progress=False)
    assert len(list(vitviz.analyze_many(loaded, some))) == 2
    vitviz.save(loaded, tmp_path / "model.safetensors")  # in float32
    read = vitviz.load(tmp_path / "model.safetensors", device="cpu")
    assert torch.equal(read.vit.head.weight, loaded.vit.head.weight.float())
    width = loaded.card.config.pooled_dim
    with_head = vitviz.with_head(loaded, torch.eye(width)[:3])
    assert with_head.vit.head.weight.dtype == torch.bfloat16
    near(analyze(with_head, photo()).trace.logits, torch.from_numpy(found.values[0][:3]))


def test_learned_frequencies_stay_exact() -> None:
    for name in TINY:
        for module in rounded(name).vit.modules():
            if type(module).__name__ == "Angles" and module.freqs is not None:
                assert module.freqs.dtype == torch.float32


def test_what_came_and_what_is_allowed_is_said(monkeypatch) -> None:
    with pytest.raises(WeightsError, match=r"dtype must be 'half' or 'bfloat16', got 'int8'"):
        vitviz.load("mnist", dtype="int8")
    with pytest.raises(WeightsError, match=r"got 'torch\.float64'"):
        vitviz.load("mnist", dtype=torch.float64)
    for dtype in ("half", torch.bfloat16):
        with pytest.raises(WeightsError, match=f"dtype '{dtype}' needs a GPU.* in float32"):
            vitviz.load("mnist", dtype=dtype, device="cpu")
    with pytest.raises(WeightsError, match="the device 'nonsense' cannot be used"):
        vitviz.load("mnist", dtype="half", device="nonsense")
    gpu = torch.device("cuda")
    assert [check_precision(name, gpu) for name in PRECISIONS] == [torch.float16, torch.bfloat16]
    assert check_precision(None, gpu) is None
    # `load` brings the weights to it before they go to the device.
    monkeypatch.setattr("vitviz.model.precision.check_precision", lambda *_: torch.bfloat16)
    loaded = vitviz.load("mnist", device="cpu", dtype="bfloat16")
    assert loaded.vit.head.weight.dtype == torch.bfloat16
    analyze(loaded, photo())


def of_timm(**options: Any) -> LoadedModel:
    torch.manual_seed(0)
    return vitviz.from_timm(timm.create_model("test_vit", num_classes=3), **options)


def of_transformers(**options: Any) -> LoadedModel:
    return vitviz.from_transformers(Model(FOLDER / "vit"), processor_of("vit"), **options)


@pytest.mark.parametrize("make", [of_timm, of_transformers])
def test_objects_take_it_as_load_does(monkeypatch, make) -> None:
    with pytest.raises(WeightsError, match=r"dtype must be 'half' or 'bfloat16', got 'int8'"):
        make(dtype="int8")
    for dtype in PRECISIONS:
        with pytest.raises(WeightsError, match=f"dtype '{dtype}' needs a GPU.* in float32"):
            make(dtype=dtype)
    whole = make()
    assert {weight.dtype for weight in whole.vit.parameters()} == {torch.float32}
    monkeypatch.setattr("vitviz.model.precision.check_precision", lambda *_: torch.bfloat16)
    ours = make(dtype="bfloat16")
    assert {weight.dtype for weight in ours.vit.parameters()} == {torch.bfloat16}
    assert ours.card == whole.card
    near(analyze(ours, photo()).trace.tokens, analyze(whole, photo()).trace.tokens)


@pytest.mark.parametrize("word", ["look cat --json", "survey cat", "summary", "serve"])
def test_the_command_line_takes_it_as_load_does(monkeypatch, capsys, tmp_path, word) -> None:
    monkeypatch.chdir(tmp_path)
    asked = []
    monkeypatch.setattr("vitviz.model.precision.bring_to", lambda _vit, kind: asked.append(kind))
    names = [] if word == "summary" else ["--device", "cpu"]
    names += ["mnist"] if word == "summary" else ["--model", "mnist"]
    command = [*word.split(), *names, "--dtype", "bfloat16"]
    assert cli.main(command) == 1
    assert "dtype 'bfloat16' needs a GPU, and the device is the CPU" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main([*command[:-1], "int8"])
    assert "--dtype: invalid choice: 'int8'" in capsys.readouterr().err
    assert set(weight_options.PRECISIONS) == set(PRECISIONS)
    if word == "look cat --json":
        check = "vitviz.model.precision.check_precision"
        monkeypatch.setattr(check, lambda dtype, _: PRECISIONS[dtype])
        assert cli.main(command) == 0
        assert asked == [torch.bfloat16]
