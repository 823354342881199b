"""The payload, the bundle and the page: what leaves Python is complete, safe and what it says."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load

from tests import viewer_fixture
from tests.models import photo, tiny, with_pass
from tests.node import JS, needs_node, node
from vitviz import Analysis, CaptureError, SelectionError, VitvizError, analyze
from vitviz import load as load_model
from vitviz.languages import Message, languages
from vitviz.model.positions import way_between
from vitviz.model.untrained import draw
from vitviz.payload import bundle, css, pack, page
from vitviz.payload.bundle import VIEWER, join, running_file
from vitviz.payload.payload import LATE, Payload, late_file, layer_path, tokens_name
from vitviz.probe.measure import features
from vitviz.probe.measure.filters import Filters
from vitviz.probe.measure.positions import unit_rows


def late_names(payload: Payload) -> list[str]:
    """Names of the files that are made when a viewer asks for them."""
    return [name for name, file in payload.manifest["files"].items() if file.get("late")]


def test_the_manifest_says_what_the_files_hold(any_tiny_analysis: Analysis) -> None:
    analysis = any_tiny_analysis
    payload = pack(analysis)
    manifest = payload.manifest
    trace, grid = analysis.trace, analysis.grid
    assert len(json.dumps(manifest)) < 20_000
    assert json.loads(json.dumps(manifest)) == manifest
    assert (
        manifest["model"]["num_tokens"]
        == len(manifest["model"]["prefix_tokens"]) + grid.num_patches
    )
    assert {file["path"]: file["size"] for file in manifest["files"].values()} == {
        path: len(data) for path, data in payload.files.items()
    }
    picture = load(payload.files[manifest["files"]["picture"]["path"]])
    torch.testing.assert_close(picture["pixels"], analysis.picture, rtol=0, atol=0)
    assert list(picture["pixels"].shape) == list(manifest["model"]["image"].values())
    assert ("positions" in manifest["files"]) == (analysis.positions is not None)
    if analysis.positions is not None:
        positions = load(payload.files[manifest["files"]["positions"]["path"]])["pos_embed"]
        assert positions.shape == (grid.num_patches, manifest["model"]["embed_dim"])
        torch.testing.assert_close(
            positions.float() @ positions.float().T,
            analysis.position_similarities(),
            rtol=0,
            atol=2e-3,
        )
    heads = load(payload.files[manifest["files"]["statistics"]["path"]])
    for layer in range(manifest["model"]["depth"]):
        sent = load(payload.files[manifest["files"][f"layer-{layer:02d}"]["path"]])
        shape = (
            manifest["model"]["num_heads"],
            manifest["model"]["num_tokens"],
            manifest["model"]["head_dim"],
        )
        assert sent["q"].shape == sent["k"].shape == shape
        scores = manifest["model"]["scale"] * sent["q"].float() @ sent["k"].float().transpose(1, 2)
        if trace.bias:
            scores = scores + trace.bias.scores(layer, slice(None), slice(None))
        attention = (scores - sent["lse"][..., None]).exp()
        torch.testing.assert_close(attention.sum(dim=-1), torch.ones(shape[:2]))
        worst = float((attention - trace.attention(layer)).abs().max())
        assert worst == pytest.approx(float(heads["error"][layer]), abs=1e-6)
    assert torch.equal(heads["entropy"], analysis.head_statistics().entropy)
    assert torch.equal(heads["distance"], analysis.head_statistics().distance)
    sent = load(payload.files[manifest["files"]["embedding"]["path"]])
    for name in ("bias", "content", "position"):
        assert torch.equal(sent[name], getattr(analysis.embedding, name))
    assert torch.equal(sent["filters"], analysis.embedding.filters.half())
    found = load(payload.files[manifest["files"]["features"]["path"]])
    assert found["scores"].shape == (trace.depth, grid.num_patches, 3)
    for layer in range(trace.depth):
        file = manifest["files"][tokens_name(layer)]
        tokens = features.tokens_after(trace, layer)
        torch.testing.assert_close(found["norms"][layer], features.norms(tokens))
        unit = load(payload.files[file["path"]])["unit"].float()
        torch.testing.assert_close(
            unit @ unit[1], features.similarity(tokens, 1), rtol=0, atol=2e-3
        )


def test_every_analysis_has_its_own_id(tiny_analysis: Analysis) -> None:
    assert pack(tiny_analysis).manifest["pass"]["id"] != pack(tiny_analysis).manifest["pass"]["id"]


def test_a_model_without_learned_positions_or_classes(tiny_analysis: Analysis) -> None:
    card = replace(tiny_analysis.card, head="embedding")
    payload = pack(replace(tiny_analysis, positions=None, card=card))
    assert payload.manifest["model"]["labels"] == []
    assert "positions.safetensors" not in payload.files
    assert "positions" not in payload.manifest["files"]


def test_an_analysis_of_an_older_file_has_no_filters(tiny_analysis: Analysis) -> None:
    payload = pack(with_pass(tiny_analysis, embedding=None))
    assert "embedding" not in payload.manifest["files"]
    assert "embedding.safetensors" not in payload.files


def test_the_positions_that_training_began_with_are_sent_where_they_are_known(
    tiny_analysis: Analysis,
) -> None:
    card = replace(tiny_analysis.card, details={"seed": "3"})
    sent = load(pack(replace(tiny_analysis, card=card)).files["untrained.safetensors"])["pos_embed"]
    began = draw(card.config, 3)["pos_embed"][0, 1:]
    torch.testing.assert_close(sent.float(), unit_rows(began), rtol=0, atol=1e-3)
    assert sent.dtype == torch.float16
    twin = replace(tiny_analysis, card=replace(card, trained=False))
    for analysis in (tiny_analysis, twin, replace(tiny_analysis, card=card, positions=None)):
        assert "untrained.safetensors" not in pack(analysis).files
        assert "untrained" not in late_names(pack(analysis, whole=False))
        with pytest.raises(SelectionError, match="has no file 'untrained'"):
            late_file(analysis, "untrained")


def test_what_no_first_picture_needs_is_left_out_and_made_when_it_is_asked_for(
    any_tiny_analysis: Analysis,
) -> None:
    analysis = replace(
        any_tiny_analysis, card=replace(any_tiny_analysis.card, details={"seed": "3"})
    )
    whole, lean = pack(analysis), pack(analysis, whole=False)
    layers = range(analysis.trace.depth)
    tokens = [tokens_name(layer) for layer in layers]
    mixings = [f"mixing-{layer:02d}" for layer in layers]
    absent = {"lens"} if analysis.lens is None else set()
    absent |= {"untrained"} if analysis.positions is None else set()
    config = analysis.card.config
    absent |= set() if config.rotary or config.relative_bias else {"inside"}
    absent |= set() if config.global_pool == "map" else {"pooling"}
    absent |= set() if config.final_norm == "before_pool" else {"normed"}
    absent |= set() if config.global_pool and analysis.card.head == "classes" else {"vector"}
    named = [name for name in LATE if name not in absent]
    assert late_names(lean) == [*named, *tokens, *mixings]
    assert late_names(whole) == []
    for name in late_names(lean):
        path = whole.manifest["files"][name]["path"]
        assert path not in lean.files
        assert late_file(analysis, name) == whole.files[path]
    assert lean.files.items() < whole.files.items()
    with pytest.raises(SelectionError, match="has no file 'picture'"):
        late_file(analysis, "picture")


def test_a_lean_payload_makes_each_map_for_rounding_alone(
    monkeypatch: pytest.MonkeyPatch, tiny_analysis: Analysis
) -> None:
    """Neither statistics of heads nor PCA nor the weights of the twin nor the tokens are computed
    for a visitor who may never look at them."""
    monkeypatch.setattr("vitviz.payload.payload._tokens", lambda *_: pytest.fail("unasked"))
    for name in LATE:
        monkeypatch.setitem(LATE, name, lambda _: pytest.fail("computed before anyone asked"))
    for name in ("head_statistics", "mixing"):
        monkeypatch.setattr(Analysis, name, lambda *_: pytest.fail("computed before anyone asked"))
    pack(tiny_analysis, whole=False)


def test_the_components_of_the_filters_are_sent_with_the_model_alone(
    any_tiny_analysis: Analysis,
) -> None:
    analysis = any_tiny_analysis
    found = Filters.of(analysis.loaded.vit.patch_embed.proj.weight)
    sent = load(pack(analysis).files["filters.safetensors"])
    assert torch.equal(sent["components"], found.components.half())
    assert torch.equal(sent["shares"], found.shares)
    read = Analysis.from_bytes(analysis.to_bytes())
    assert "filters" not in pack(read).manifest["files"]
    with pytest.raises(SelectionError, match="has no file 'filters'"):
        late_file(read, "filters")
    with pytest.raises(VitvizError, match="filters"):
        read.filters()
    assert torch.equal(read.filters(analysis.loaded).shares, found.shares)


def test_values_and_what_follows_them_are_sent_with_the_model_alone(
    monkeypatch: pytest.MonkeyPatch, any_tiny_analysis: Analysis
) -> None:
    analysis, name = any_tiny_analysis, "mixing-01"
    found, sent = analysis.mixing(1), load(late_file(analysis, name))
    for part in ("before", "gain", "rest"):
        assert torch.equal(sent[part], getattr(found, part)), part
    for part in ("v", "out"):
        assert torch.equal(sent[part], getattr(found, part).half()), part
    torch.testing.assert_close(sent["norms"], found.normed.norm(dim=-1))
    assert torch.equal(sent["hidden"], analysis.hidden_sums(1)[:, :16])
    # What the browser makes of them is right to three digits.
    head, token, trace = 1, 2, analysis.trace
    mixed = trace.attention(1)[head, token] @ sent["v"][head].float()
    added = sent["gain"][token] * sent["out"][head].float() @ mixed
    exact = analysis.mix(1, head, token).added
    assert float((added - exact).norm() / exact.norm()) < 2e-3

    read = Analysis.from_bytes(analysis.to_bytes())
    assert not any(name.startswith("mixing") for name in late_names(pack(read, whole=False)))
    assert not any(name.startswith("mixing") for name in pack(read).files)
    with pytest.raises(SelectionError, match="has no file 'mixing-01'"):
        late_file(read, name)
    monkeypatch.setattr("vitviz.payload.payload.MOST_MIXING_BYTES", 1000)
    large = pack(analysis)
    assert not any(name.startswith("mixing") for name in large.files)
    assert late_names(large) == []
    assert name in late_names(pack(analysis, whole=False))


def test_a_value_that_half_precision_cannot_hold_is_an_error(tiny_analysis: Analysis) -> None:
    v = torch.zeros_like(tiny_analysis.trace.q)
    v[1, 0, 3, 2] = 1e5
    analysis = with_pass(tiny_analysis, trace=replace(tiny_analysis.trace, v=v))
    with pytest.raises(CaptureError, match="layer 1 is larger than half precision can hold"):
        late_file(analysis, "mixing-01")


def test_a_page_of_many_tokens_brings_the_rollout_that_it_shows_first(
    tiny_analysis: Analysis, monkeypatch
) -> None:
    assert "rollout" not in pack(tiny_analysis).manifest["files"]
    monkeypatch.setattr("vitviz.payload.payload.MOST_TOKENS", tiny_analysis.trace.num_tokens - 1)
    assert "rollout" not in pack(tiny_analysis, whole=False).manifest["files"]
    made = pack(tiny_analysis)
    sent = load(made.files[made.manifest["files"]["rollout"]["path"]])["rows"]
    for layer, row in enumerate(sent):
        token = made.manifest["pass"]["first"]["token"]
        torch.testing.assert_close(row, tiny_analysis.rollout(token=token, layer=layer))


def test_the_logits_come_first_and_nothing_that_follows_from_them(
    any_tiny_analysis: Analysis,
) -> None:
    analysis = any_tiny_analysis
    payload = pack(analysis)
    sent, model = load(payload.files["first.safetensors"]), payload.manifest["model"]
    if analysis.card.head != "classes":
        assert "logits" not in sent
        assert "vector" not in sent or torch.equal(sent["vector"], analysis.trace.logits)
        assert ("vector" in sent) == (analysis.card.head != "tokens")
        assert "lens" not in payload.manifest["files"]
        assert (model["labels"], model["groups"], model["threshold"]) == ([], None, None)
        return
    assert torch.equal(sent["logits"], analysis.trace.logits)
    assert torch.equal(load(payload.files["lens.safetensors"])["logits"], analysis.lens)
    assert model["labels"] == list(analysis.card.labels)
    assert set(payload.manifest["pass"]) == {"id", "changes", "removed", "first"}


def test_of_very_many_classes_only_those_that_are_listed_have_names(
    tiny_analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vitviz.payload.payload.MOST_CLASSES", 6)
    monkeypatch.setattr("vitviz.payload.payload.SHOWN", 2)
    manifest = pack(tiny_analysis, whole=False).manifest
    assert manifest["model"]["labels"] is None
    named = (*tiny_analysis.predictions(2), *tiny_analysis.lens_lines())
    assert manifest["pass"]["labels"] == {str(one.index): one.label for one in named}
    assert len(named) > 2


def test_the_film_of_a_training_is_sent_to_those_who_want_it(tmp_path: Path) -> None:
    path = tmp_path / "x.film.safetensors"
    viewer_fixture.film(path)
    analysis = analyze(replace(tiny("cls"), film=path), photo())
    payload = pack(analysis, film=True)
    assert payload.files[payload.manifest["files"]["film"]["path"]] == path.read_bytes()
    assert "film" not in pack(analysis).manifest["files"]
    assert len(page(analysis, film=True)) > len(page(analysis)) + path.stat().st_size
    path.unlink()
    assert "film" not in pack(analysis, film=True).manifest["files"]
    assert "film" not in pack(replace(analysis, loaded=None), film=True).manifest["files"]


def test_the_title_of_a_model_is_its_own_or_its_name(tiny_analysis: Analysis) -> None:
    assert pack(tiny_analysis).manifest["model"]["title"] == "tiny cls"
    titled = replace(tiny_analysis.card, details={"title": "Tiny"})
    assert pack(replace(tiny_analysis, card=titled)).manifest["model"]["title"] == "Tiny"


def test_words_are_sent_with_what_they_are_in_other_languages(
    tmp_path: Path, tiny_analysis: Analysis
) -> None:
    assert pack(tiny_analysis).manifest["model"]["words"] == {}
    details = {
        "title": Message("training.digits"),
        "wall time": Message("training.minutes", minutes=3),
        "data set": "my own",
        "recipe": "x" * 301,
    }
    names = {
        "ko": {"labels": {"class 1": "첫째"}, "groups": {"dog": "개"}},
        "en": {"groups": {"dog": "a dog"}},
        "xx": {"labels": {"class 1": "not a language of ours"}},
    }
    card = replace(tiny_analysis.card, details=details, words=names)
    notes = (Message("photo.first_of", count=3), "a new note")
    analysis = replace(tiny_analysis, card=card, notes=notes)
    words = pack(analysis).manifest["model"]["words"]
    assert words["en"] == {**names["en"], "texts": {}}
    assert words.keys() == set(languages())
    assert words["ko"] == {
        **names["ko"],
        "texts": {
            "Handwritten digits": "손글씨 숫자",
            "3 min": "3분",
        },
    }
    told = pack(analysis).manifest["photo"]["words"]
    assert told["ko"] == {"first of 3 frames": "장면 3개 가운데 첫 장면입니다"}
    # Those of a film too; one that is damaged has none, and is told of by its own panel.
    path = tmp_path / "x.film.safetensors"
    made = viewer_fixture.film(path)
    pictures = [{"name": "dog"}, {"name": "class 1"}, *made.facts["pictures"][2:]]
    replace(made, facts=made.facts | {"pictures": pictures}).save(path)
    filmed = analyze(replace(tiny("cls"), film=path), photo())
    assert pack(filmed, film=True).manifest["model"]["words"]["ko"] == {"texts": {"dog": "개"}}
    assert pack(filmed).manifest["model"]["words"] == {}
    named = replace(filmed, card=replace(filmed.card, words={"ko": names["ko"]}))
    texts = pack(named, film=True).manifest["model"]["words"]["ko"]["texts"]
    assert texts == {"dog": "개", "class 1": "첫째"}
    path.write_bytes(path.read_bytes()[:100])
    assert pack(filmed, film=True).manifest["model"]["words"] == {}


def test_the_bundle_is_one_closed_expression() -> None:
    text = bundle()
    assert not re.search(r"^\s*(import|export)\b", text, re.MULTILINE)
    assert text.startswith("(() => {")
    assert text.endswith("//# sourceURL=vitviz.js\n")
    assert "</script" not in text.lower()
    assert "innerHTML" not in text


@needs_node
def test_the_bundle_runs_and_leaves_nothing_global(tmp_path: Path) -> None:
    script = tmp_path / "bundle.cjs"
    script.write_text(
        "const before = Object.keys(globalThis).length;\n"
        f"const viewer = {bundle()};\n"
        "if (Object.keys(globalThis).length !== before) throw new Error('left something global');\n"
        "if (typeof viewer.mount !== 'function') throw new Error('no mount');\n"
    )
    node(script)


@needs_node
def test_what_computes_passes_is_one_expression_too_and_its_worker(tmp_path: Path) -> None:
    script = tmp_path / "running.cjs"
    text = running_file().replace("document.currentScript.viewer", "globalThis.made")
    told = "console.log(Object.keys(globalThis.made.running).join())"
    script.write_text(f"{text};\n{told};\n")
    assert "explanationFile,fairStep" in node(script)
    (tmp_path / "worker.js").write_text(join(VIEWER / "engine" / "worker.js", "worker.js"))
    node("--check", tmp_path / "worker.js")


def test_the_bundle_drops_comments_and_no_code(tmp_path: Path) -> None:
    (tmp_path / "main.js").write_text(
        "/** a\n * b */\n// c\nconst d = 1; // c {d: 1}\n"
        "/** @type {any} */ (d).e('x // y', \"/** z\");\n/** f */\n"
    )
    text = join(tmp_path / "main.js", "x")
    assert "const d = 1;(d).e('x // y', \"/** z\");\n" in text
    assert not re.search("[abcf] *\\*/|// c|@type", text)


@needs_node
def test_lines_of_the_bundle_run_on_where_nothing_ends(tmp_path: Path) -> None:
    (tmp_path / "main.js").write_text(
        "export function run() {\n  let a = [\n    1,\n    2\n  ]\n  let b = 3\n"
        "  if (a) { // it's so\n    b += 1\n  }\n  return [...a, b]\n}\n"
    )
    text = join(tmp_path / "main.js", "x")
    assert "let a = [1,2]\nlet b = 3\nif (a) { // it's so\nb += 1}\n" in text
    (script := tmp_path / "out.cjs").write_text(f"const m = {text};\nconsole.log(m.run());\n")
    assert node(script).strip() == "[ 1, 2, 4 ]"


@needs_node
def test_equal_names_in_two_modules_do_not_clash(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("const secret = 1;\nexport const value = secret;\n")
    (tmp_path / "b.js").write_text(
        'import { value as\n  other } from "./a.js";\n'
        "const secret = 2;\nexport async function both() { return [other, secret]; }\n"
        "export class Thing {}\n"
    )
    (tmp_path / "main.js").write_text(
        'import { both, Thing } from "./b.js";\nimport { value } from "./a.js";\n'
        "export function run() { new Thing(); return both().then((x) => [...x, value]); }\n"
    )
    script = tmp_path / "out.cjs"
    script.write_text(f"const m = {join(tmp_path / 'main.js', 'x')};\nm.run().then(console.log);\n")
    assert node(script).strip() == "[ 1, 2, 1 ]"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("export default 1;\n", "does not understand 'export default 1;'"),
        ('import * as a from "./a.js";\n', "does not understand 'import"),
        ("export let a = 1;\n", "does not understand 'export let"),
        ('import { x } from "./main.js";\n', "circle: main.js -> main.js"),
        ('export const a = "</script>";\n', "end of a script element"),
    ],
)
def test_the_bundle_refuses_what_it_does_not_understand(
    tmp_path: Path, source: str, message: str
) -> None:
    (tmp_path / "main.js").write_text(source)
    with pytest.raises(ValueError, match=re.escape(message)):
        join(tmp_path / "main.js", "x")


def test_the_style_sheet_is_plain_enough_for_a_template() -> None:
    for wrong in ("\\", "`", "${", "{{", "</style"):
        assert wrong not in css()
    assert css().count("{") == css().count("}")
    for color in re.findall(r"#[0-9a-fA-F]+\b", css()):
        assert len(color) in (4, 7, 9), color


GUESSES = ("mine", "truth", "both")


def test_no_style_is_left_over() -> None:
    later = join(VIEWER / "localengine.js", "running.js", ())
    used = set(re.findall(r"\bvv-[a-z][a-z-]*[a-z]\b", bundle() + later))
    styled = set(re.findall(r"\.(vv-[a-z][a-z-]*[a-z])\b", css()))
    # Kinds of tokens and of guesses, and edges of a ruler, are put together in JavaScript.
    built = {"vv-cls", "vv-reg", "vv-dist", "vv-patch", "vv-ruler-left", "vv-ruler-top"}
    built |= {f"vv-{owner}-{kind}" for owner in ("guess", "number") for kind in GUESSES}
    built |= {"vv-guess-mark", "vv-lesson-slip"}
    assert styled - used - built == set()


def test_a_page_holds_names_as_text(tiny_analysis: Analysis) -> None:
    evil = '</script><script>alert(1)</script> ${x} <!-- "'
    card = replace(tiny_analysis.card, labels=(evil,) * 7, details={"title": evil, evil: evil})
    text = page(replace(tiny_analysis, photo_name=evil, card=card, notes=(evil,)))
    assert text.count("</script>") == 5
    assert "<script>alert" not in text
    assert len(re.findall(r"<h1>[^<]+</h1>", text)) == 1  # for those who go from heading to heading
    manifest = re.search(r'<script type="application/json" id="manifest">(.*?)</script>', text)
    assert json.loads(manifest[1])["photo"]["name"] == evil


def test_a_page_holds_two_analyses_beside_each_other(tiny_analysis: Analysis) -> None:
    card = replace(tiny_analysis.card, trained=False, words={"ko": {"texts": {}}})
    twin = replace(tiny_analysis, card=card)

    def held(text: str, name: str) -> Any:
        pattern = rf'<script type="application/json" id="{name}">(.*?)</script>'
        return json.loads(re.search(pattern, text)[1])

    both, alone = page(tiny_analysis, beside=twin), page(tiny_analysis)
    (choice,) = held(both, "manifest")["beside"]
    assert (choice["key"], choice["kind"]) == ("other", "untrained")
    files, own = held(both, "files"), held(alone, "files")
    second = held(both, "beside")
    named = [one["path"] for file in second["files"].values() for one in _listed(file)]
    assert set(files) == {*own, *named}
    assert all(files[path] == own[path] for path in own)
    assert held(alone, "beside") is None
    assert "beside" not in held(alone, "manifest")
    larger = replace(twin, card=replace(card, resized_from=(64, 64)))
    for one, other in ((twin, tiny_analysis), (tiny_analysis, larger)):
        assert held(page(one, beside=other), "manifest")["beside"][0]["kind"] == "other"


def _listed(file: Any) -> list[Any]:
    return file if isinstance(file, list) else [file]


def test_a_page_asks_for_nothing(tiny_analysis: Analysis) -> None:
    text = page(tiny_analysis)
    assert not re.search(r'\b(src|href)="(https?:)?//', text)
    assert not re.search(r"url\(|@import", css())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The numbers that the viewer is held to, by this code."""
    folder = tmp_path_factory.mktemp("numbers")
    viewer_fixture.write_viewer(folder)
    return folder


def test_the_committed_numbers_are_those_of_this_code(written: Path) -> None:
    for name in viewer_fixture.NAMES:
        kept = json.loads((viewer_fixture.FOLDER / f"{name}.json").read_text("utf-8"))
        fresh = json.loads((written / f"{name}.json").read_text("utf-8"))
        assert fresh["manifest"].keys() == kept["manifest"].keys()
        for key in ("attention_from", "attention_to", "mean_to", "similarity", "patch_pixel"):
            torch.testing.assert_close(
                torch.tensor(fresh[key]),
                torch.tensor(kept[key]),
                rtol=0,
                atol=1e-4,
                msg=f"{name} {key}: run `python -m tests.viewer_fixture`",
            )


@needs_node
def test_the_browser_finds_the_numbers_of_python(written: Path) -> None:
    # Only tests that read these numbers. tests/run.sh runs the others; test_engine.py and its
    # neighbours compare the fixtures of the engine and the learner with Python.
    numbers = r'\b([A-Z]{5,}|fixtureOf|sourceOf)\b[^}]*\} from "\./fixture\.js"'
    texts = {path: path.read_text("utf-8") for path in JS.glob("*.test.js")}
    files = [
        str(path)
        for path, text in texts.items()
        if re.search(numbers, text) and not re.search(r'"\./(engine|learner)\.js"', text)
    ]
    assert str(JS / "numbers_of_python.test.js") in files
    node("--test", *files, VITVIZ_FIXTURE=str(written))


def test_the_first_rows_are_those_of_their_layer(
    any_tiny_analysis: Analysis, subtests: pytest.Subtests
) -> None:
    for asked in (None, (0, 3), (1, 1), (99, 0), (0, 10_000), (-1, 0)):
        with subtests.test(asked=asked):
            compare_first_rows(any_tiny_analysis, asked)


def compare_first_rows(analysis: Analysis, asked: tuple[int, int] | None) -> None:
    payload = pack(analysis, first=asked)
    first = payload.manifest["pass"]["first"]
    grid, last = analysis.grid, analysis.trace.depth - 1
    middle = grid.token(grid.rows // 2, grid.cols // 2)
    dull = (last, 0 if grid.num_prefix_tokens else middle)
    expected = asked if asked in [(0, 3), (1, 1)] else dull
    assert (first["layer"], first["token"], first["direction"]) == (*expected, "from")
    sent = load(payload.files[payload.manifest["files"]["first"]["path"]])["rows"]
    layer = load(payload.files[payload.manifest["files"][f"layer-{first['layer']:02d}"]["path"]])
    scores = (
        payload.manifest["model"]["scale"]
        * layer["q"].double()
        @ layer["k"].double().transpose(1, 2)
    )
    if analysis.trace.bias:
        model = payload.manifest["model"]
        tokens, grid_size = torch.arange(model["num_tokens"]), (grid.rows, grid.cols)
        assert layer["bias"].dtype == torch.float32
        assert set(layer) == {"q", "k", "lse", "bias"}
        ways = way_between(tokens[:, None], tokens[None], grid_size)
        scores = scores + layer["bias"].double()[ways].movedim(-1, 0)
    maps = (scores - layer["lse"][..., None].double()).exp()
    torch.testing.assert_close(sent.double(), maps[:, first["token"]], rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(sent.sum(dim=-1), torch.ones(len(sent)))
    trace = analysis.trace
    exact = trace.attention_from(first["layer"], first["token"])
    assert float((sent - exact).abs().max()) <= trace.rounding_error(first["layer"]) + 1e-6


def test_the_types_of_the_viewer_name_what_python_writes(any_tiny_analysis: Analysis) -> None:
    """A key that no manifest has, or one that no type has, is somebody's mistake."""
    types = (JS.parents[1] / "vitviz" / "viewer" / "types.js").read_text("utf-8")
    manifest = pack(any_tiny_analysis).manifest
    for name in ("Model", "Photo", "Pass"):
        body = re.search(r"@typedef \{\{([^@]*?)\}\} " + name + r"\n", types)[1]
        while (flat := re.sub(r"\{[^{}]*\}|<[^<>]*>|\([^()]*\)", "", body)) != body:
            body = flat
        keys = {key: bool(mark) for key, mark in re.findall(r"(\w+)(\?)?:", body)}
        written = set(manifest[name.lower()])
        assert written <= set(keys), name
        assert {key for key, optional in keys.items() if not optional} <= written, name
    assert set(manifest) == {"version", "model", "photo", "pass", "files"}


def test_a_stroke_sends_the_pass_and_what_is_shown_first(tiny_analysis: Analysis) -> None:
    stroke = tiny_analysis.operate([{"kind": "remove", "patches": [3]}])
    payload = pack(stroke, whole=False, beside=True)
    assert set(payload.manifest) == {"version", "pass", "files"}
    assert set(payload.files) == {"first.safetensors"}
    assert "id" not in payload.manifest["pass"], "it is known by what was changed"


def test_a_page_of_some_layers_takes_those_that_are_there() -> None:
    analysis = analyze(tiny("cls"), photo())
    packed = pack(analysis, layers=[-1])
    sizes = [len(packed.files[layer_path(layer)]) > 0 for layer in range(analysis.trace.depth)]
    assert sizes == [False, False, True]
    with pytest.raises(SelectionError, match="layer"):
        pack(analysis, layers=[99])


HEAD_OFF = [{"kind": "head", "layer": 0, "head": 0, "by": "zero"}]


def test_a_page_with_its_model_is_of_the_intact_pass() -> None:
    """Experiments in the page would have taken the changes back without a word."""
    changed = analyze(load_model("mnist"), photo(), interventions=HEAD_OFF)
    with pytest.raises(SelectionError, match="changed"):
        page(changed, engine=True)
