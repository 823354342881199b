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
THIRD = 300  # tokens of the question how much work attention is, in place of a hundred

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


def scramble(analysis: Analysis) -> dict:
    return {"kind": "scramble", "rows": "patches", "layers": [analysis.trace.depth - 1], "seed": 0}


FORMS = {"a": lambda analysis: even(analysis, "patches"), "b": scramble}


def test_sizes_are_those_of_the_model(asked, analyses) -> None:
    def of_patch(analysis: Analysis) -> int:
        rows, cols = analysis.grid.patch_size
        return analysis.pixels[:, :rows, :cols].numel()

    for item, form, option, wanted in (
        ("pixels", "a", "small", of_patch),
        ("pixels", "b", "either", of_patch),
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
            interventions=[FORMS[one["form"]](analysis)],
        )
        assert (one["key"], one["right"]) == ("stays", "read")
        torch.testing.assert_close(changed.trace.logits, analysis.trace.logits, rtol=0, atol=0)
        asked_token = (analysis.trace.depth - 1, None, one["at"]["token"])
        assert not torch.equal(changed.attention(*asked_token), analysis.attention(*asked_token))
    mean = tiny("no_cls")
    intact = analyze(mean, photo())
    for change in FORMS.values():
        gathered = analyze(mean, photo(), interventions=[change(intact)])
        assert not torch.allclose(gathered.trace.logits, intact.trace.logits)


def test_brightness_is_not_what_an_answer_loses(asked, analyses) -> None:
    """Without the brightest patch neither its share nor all is lost; a darker one can cost more."""
    found_losses = {}
    for one, options, name in found(asked, "bright"):
        analysis = as_sent(analyses[name])
        prefix = analysis.grid.num_prefix_tokens
        row = analysis.attention(analysis.trace.depth - 1, None, 0)[prefix:]
        order = row.argsort(descending=True, stable=True)
        patches = [int(order[0]), int(order[len(row) // 4])][: 1 if one["form"] == "a" else 2]
        assert one["marks"] == [prefix + patch for patch in patches]
        assert all(percent(float(row[patch])) in one["question"] for patch in patches)
        assert (one["key"], one["right"]) == ("open", "others")
        if one["form"] == "a":
            assert options["share"] == f"By {percent(float(row[patches[0]]))}"
            continue
        best = top(analysis)
        found_losses[name] = [
            share_of(analysis, best)
            - share_of(
                analyze(
                    load(name[0]),
                    PICTURES / EXAMPLES[name[1]],
                    interventions=[{"kind": "remove", "patches": [patch]}],
                ),
                best,
            )
            for patch in patches
        ]
        assert abs(found_losses[name][0] - float(row[patches[0]])) > 0.001
        assert found_losses[name][0] < 0.5 * share_of(analysis, best)
    without = {name: bright - dark for name, (bright, dark) in found_losses.items()}
    assert without["photos", "cat"] < -0.05  # the darker one costs more
    assert without["photos", "red-panda"] > 0  # the brighter one


def test_a_strange_picture_can_be_called_by_a_name_with_much_probability(asked) -> None:
    strange = analyze(load("mnist"), PICTURES / EXAMPLES["cat"])
    shares = [one.probability for one in strange.predictions(10)]
    assert max(shares) > 0.8
    assert sum(shares) == pytest.approx(1)
    assert {one["key"] for one, _, _ in found(asked, "percent", "a")} == {"any"}
    assert {one["key"] for one, _, _ in found(asked, "percent", "b")} == {"rest"}
    for one, options, _ in found(asked, "percent", "b"):
        assert "“cat” gets 8%" in one["question"]
        assert options["rest"] == "92%"


def test_only_cls_enters_with_the_same_numbers_for_two_photos(analyses, asked) -> None:
    panda, dog = (analyses["photos", one].trace.tokens[0] for one in ("red-panda", "dog"))
    same = [torch.equal(one, other) for one, other in zip(panda, dog, strict=True)]
    assert same == [True] + [False] * 144
    assert {one["key"] for one, _, _ in found(asked, "cls")} == {"learned", "cls"}


def test_photos_that_come_in_together_do_not_meet(asked) -> None:
    """An untaught question: in a pass of many photos each gets the answer that it gets alone."""
    vit = load("mnist").vit
    pixels = torch.randn(8, vit.config.in_chans, *vit.config.image_size)
    with torch.no_grad():
        together = vit(pixels)
        alone = torch.cat([vit(one[None]) for one in pixels])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)
    assert {one["key"] for one, _, _ in found(asked, "batch")} == {"alone", "same"}
    assert {one["lesson"] for one, _, _ in found(asked, "batch")} == {None}


def test_shares_grow_as_the_square_of_the_tokens(asked, analyses) -> None:
    """An untaught question: a map has a share for every pair of tokens."""
    for one, options, name in found(asked, "grow"):
        trace = analyses[name].trace
        tokens = trace.tokens.shape[1]
        assert trace.attention(0).shape[-2:] == (tokens, tokens)
        prefix = analyses[name].grid.num_prefix_tokens
        larger = 4 * (tokens - prefix) + prefix  # twice as wide and high
        times = (larger / tokens) ** 2 if one["form"] == "a" else (THIRD / 100) ** 2
        assert options[one["key"]] == f"{times:.0f} times"
        assert one["lesson"] is None
