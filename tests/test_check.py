"""The self-check with the shipped models: its keys are Python's, its facts are true of vitviz."""

import pytest
import torch

from tests.lesson_truths import PICTURES, share_of, top
from tests.models import as_sent, photo, tiny
from tests.node import needs_node
from tests.test_lessons import EXAMPLES, save, walk
from vitviz import Analysis, analyze, load
from vitviz.payload import pack

SHOWN = (("photos", "red-panda"), ("photos", "dog"), ("photos", "cat"), ("mnist", "digit"))

pytestmark = needs_node


@pytest.fixture(scope="module")
def analyses() -> dict[tuple[str, str], Analysis]:
    return {(model, one): analyze(load(model), PICTURES / EXAMPLES[one]) for model, one in SHOWN}


@pytest.fixture(scope="module")
def asked(analyses, tmp_path_factory) -> list[dict]:
    folder = tmp_path_factory.mktemp("check")
    for (model, example), analysis in analyses.items():
        save(folder / f"{model}-{example}", pack(analysis, whole=False), {})
    return walk(folder, "check", *("/".join(one) for one in SHOWN))


def found(asked, item: str, form: str = "ab"):
    for one in asked:
        if one["item"] == item and one["form"] in form:
            options = {option["value"]: option["text"] for option in one["options"]}
            yield one, options, (one["model"], one["example"])


def percent(share: float) -> str:
    return f"{100 * share:.1f}%" if share >= 0.00095 else f"{100 * share:.2g}%"


def even(analysis: Analysis, rows: str) -> dict:
    return {"kind": "even", "rows": rows, "layers": [analysis.trace.depth - 1]}


def test_sizes_are_those_of_the_model(asked, analyses) -> None:
    def of_patch(analysis: Analysis) -> int:
        rows, cols = analysis.grid.patch_size
        return analysis.pixels[:, :rows, :cols].numel()

    for item, form, option, wanted in (
        ("pixels", "a", "small", of_patch),
        ("pixels", "b", "either", lambda one: one.pixels.numel()),
        ("parts", "ab", "same", lambda one: one.grid.num_patches),
    ):
        for one, options, name in found(asked, item, form):
            assert one["key"] == option
            assert options[option].split()[0] == f"{wanted(analyses[name]):,}", (name, form)
            assert list(options.values()).count(options[option]) == 1


def test_the_way_back_has_a_share_of_its_own(asked, analyses) -> None:
    for one, options, name in found(asked, "pair"):
        at = one["at"]
        sent = as_sent(analyses[name])
        asks, answers = at["token"], at["partner"]
        row, column = (sent.attention(at["layer"], at["head"], one) for one in (asks, answers))
        there, back = float(row[answers]), float(column[asks])
        assert answers == int(row.index_fill(0, torch.tensor([0, asks]), -1).argmax())
        assert options["share"].endswith(percent(there)), name
        assert options["rest"].endswith(percent(1 - there))
        assert percent(there) in one["question"]
        assert (one["key"], one["right"]) == ("anew", "own")
        # Far enough apart to show that no line is shared, in each model and picture.
        assert abs(there - back) > 0.001, (name, there, back)


def test_patches_of_the_last_layer_change_an_answer_only_where_it_is_gathered(
    asked, analyses
) -> None:
    for one, _, name in found(asked, "late"):
        analysis = analyses[name]
        changed = analyze(
            load(name[0]),
            PICTURES / EXAMPLES[name[1]],
            interventions=[even(analysis, "patches")],
        )
        assert (one["key"], one["right"]) == ("stays", "read")
        torch.testing.assert_close(changed.trace.logits, analysis.trace.logits, rtol=0, atol=0)
        asked_token = (analysis.trace.depth - 1, None, one["at"]["token"])
        assert not torch.equal(changed.attention(*asked_token), analysis.attention(*asked_token))
    mean = tiny("no_cls")
    intact = analyze(mean, photo())
    gathered = analyze(mean, photo(), interventions=[even(intact, "patches")])
    assert not torch.allclose(gathered.trace.logits, intact.trace.logits)


def test_brightness_is_not_what_an_answer_loses(asked, analyses) -> None:
    losses = []
    for one, options, name in found(asked, "bright"):
        analysis = as_sent(analyses[name])
        prefix = analysis.grid.num_prefix_tokens
        row = analysis.attention(analysis.trace.depth - 1, None, 0)[prefix:]
        bright = one["form"] == "a"
        patch = int(row.argmax() if bright else row.argmin())
        assert one["marks"] == [prefix + patch]
        assert options["share"] == f"By {percent(float(row[patch]))}"
        assert (one["key"], one["right"]) == ("open", "others")
        left = analyze(
            load(name[0]),
            PICTURES / EXAMPLES[name[1]],
            interventions=[{"kind": "remove", "patches": [patch]}],
        )
        best = top(analysis)
        losses.append((bright, float(row[patch]), share_of(analysis, best) - share_of(left, best)))
    # Neither as much as was taken, nor all of it, nor nothing at all.
    assert all(abs(loss - share) > 0.001 for bright, share, loss in losses if bright)
    assert all(loss != 0 for _, _, loss in losses)
    assert any(loss < 0.5 * share for bright, share, loss in losses if bright)


def test_a_strange_picture_can_be_called_by_a_name_with_much_probability(asked) -> None:
    strange = analyze(load("mnist"), PICTURES / EXAMPLES["cat"])
    shares = [one.probability for one in strange.predictions(10)]
    assert max(shares) > 0.8
    assert sum(shares) == pytest.approx(1)
    assert {one["key"] for one, _, _ in found(asked, "percent", "a")} == {"any"}
    assert {one["key"] for one, _, _ in found(asked, "percent", "b")} == {"whole"}


def test_only_cls_enters_with_the_same_numbers_for_two_photos(analyses, asked) -> None:
    panda, dog = (analyses["photos", one].trace.tokens[0] for one in ("red-panda", "dog"))
    same = [torch.equal(one, other) for one, other in zip(panda, dog, strict=True)]
    assert same == [True] + [False] * 144
    assert {one["key"] for one, _, _ in found(asked, "cls")} == {"learned", "cls"}


def test_a_model_is_the_same_before_and_after_a_photo(asked) -> None:
    """The control: to answer, to explain and to look again changes no weight."""
    loaded = load("mnist")
    before = {name: value.clone() for name, value in loaded.vit.state_dict().items()}
    first = analyze(loaded, PICTURES / EXAMPLES["cat"])
    first.explain("attention_gradient")
    again = analyze(loaded, PICTURES / EXAMPLES["cat"])
    for name, value in loaded.vit.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert torch.equal(first.trace.logits, again.trace.logits)
    assert {one["key"] for one, _, _ in found(asked, "photo")} == {"no", "same"}
    assert {one["lesson"] for one, _, _ in found(asked, "photo")} == {None}
