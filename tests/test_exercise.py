"""The exercise with nine gaps: filled in it is vitviz's ViT, and mistakes are named."""

import json
import math
import re
import runpy
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from einops import rearrange
from PIL import Image

from tests.running import ROOT
from tests.test_languages import placeholders
from vitviz import VitvizError, analyze, load, save
from vitviz.cli import main
from vitviz.exercise import check, open_vit, write_exercise
from vitviz.exercise.checking import right_parts, run_file, vit_of
from vitviz.exercise.gaps import GAPS, LAYER
from vitviz.exercise.my_vit import Attention, Block, PatchEmbed, ViT
from vitviz.exercise.training import train_with_digits
from vitviz.exercise.writing import cells, notebook
from vitviz.languages import dictionary

DIGIT = ROOT / "vitviz" / "web" / "examples" / "digit.png"

# What somebody writes who has not seen ours: other functions, the same numbers.
ANOTHER = {
    "patches = ...": "patches = nn.functional.unfold(pixels, s, stride=s).transpose(1, 2)",
    "q, k, v = ..., ..., ...": (
        "q, k, v = (t.unflatten(2, (self.heads, -1)).transpose(1, 2) for t in numbers.chunk(3, 2))"
    ),
    "shares = ...": "shares = F.softmax(torch.einsum('bhnd,bhmd->bhnm', q, k) * k.size(3)**-.5, 3)",
    "joined = ...": "joined = (shares @ v).transpose(1, 2).flatten(2)",
    "x = ...\n        x = ...": (
        "x = self.attn(self.norm1(x)) + x\n        x = self.mlp(self.norm2(x)) + x"
    ),
    "x = ...": "x = torch.concat((cls, patches), 1) + self.pos_embed",
    "logits = ...": "logits = self.head(self.norm(x)[:, 0])",
    "loss = ...": "loss = F.nll_loss(logits.log_softmax(1), labels)",
    "        ...\n        ...\n        ...": (
        "        loss.backward()\n        optimizer.step()\n        self.zero_grad()"
    ),
}


def heads_moved_wrongly(form: str) -> Any:
    return lambda self, numbers: tuple(rearrange(numbers, form, three=3, h=self.heads))


def patches_cut(form: str) -> Any:
    return lambda self, pixels: rearrange(pixels, form, y=self.side, x=self.side)


def post_norm(self: Any, x: torch.Tensor) -> torch.Tensor:
    x = self.norm1(x + self.attn(x))
    return self.norm2(x + self.mlp(x))


def no_norm(self: Any, x: torch.Tensor) -> torch.Tensor:
    x = x + self.attn(x)
    return x + self.mlp(x)


def no_sum(self: Any, x: torch.Tensor) -> torch.Tensor:
    return self.mlp(self.norm2(self.attn(self.norm1(x))))


def side_by_side(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x + self.attn(self.norm1(x)) + self.mlp(self.norm2(x))


def with_cls(self: Any, patches: torch.Tensor) -> torch.Tensor:
    return torch.cat([self.cls_token.expand(len(patches), -1, -1), patches], dim=1)


def unfolded(self: Any, pixels: torch.Tensor) -> torch.Tensor:
    batch, channels, s = len(pixels), pixels.shape[1], self.side
    squares = pixels.unfold(2, s, s).unfold(3, s, s).contiguous()
    return squares.view(batch, -1, channels * s * s)


def swapped(self: Any, numbers: torch.Tensor) -> tuple[torch.Tensor, ...]:
    q, k, v = rearrange(numbers, "b n (three h d) -> three b h n d", three=3, h=self.heads)
    return k, q, v


def scored(q: torch.Tensor, k: torch.Tensor, power: float = 0.5, dim: int = -1) -> torch.Tensor:
    return torch.softmax(q @ k.mT / q.shape[-1] ** power, dim)


def of_labml(self: Any, x: torch.Tensor) -> torch.Tensor:
    x = self.norm1(x)
    x = x + self.attn(x)
    x = self.norm2(x)
    return x + self.mlp(x)


def norm1_twice(self: Any, x: torch.Tensor) -> torch.Tensor:
    x = x + self.attn(self.norm1(x))
    return x + self.mlp(self.norm1(x))


# (class, method, gap, what a mistaken student writes there, the key of its sentence)
PLANTED = [
    (PatchEmbed, "cut", "cut", patches_cut("b c (r y) (q x) -> b (r q) (y x c)"), "colours_last"),
    (PatchEmbed, "cut", "cut", patches_cut("b c (r y) (q x) -> b (q r) (c y x)"), "columns_first"),
    (
        Attention,
        "split",
        "split",
        heads_moved_wrongly("b n (h three d) -> three b h n d"),
        "heads_first",
    ),
    (
        Attention,
        "split",
        "split",
        heads_moved_wrongly("b n (three d h) -> three b h n d"),
        "heads_last",
    ),
    (Attention, "shares", "shares", lambda _self, q, k: torch.softmax(q @ k.mT, -1), "no_root"),
    (
        Attention,
        "shares",
        "shares",
        lambda self, q, k: torch.softmax(q @ k.mT / self.proj.in_features**0.5, -1),
        "wrong_root",
    ),
    (
        Attention,
        "shares",
        "shares",
        lambda _self, q, k: torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, 2),
        "over_queries",
    ),
    (
        Attention,
        "shares",
        "shares",
        lambda _self, q, k: q @ k.mT / q.shape[-1] ** 0.5,
        "no_softmax",
    ),
    (
        Attention,
        "join",
        "join",
        lambda _self, shares, v: (shares @ v).reshape(len(v), shares.shape[-1], -1),
        "heads_not_moved",
    ),
    (
        Attention,
        "join",
        "join",
        lambda _self, shares, v: (shares @ v).permute(0, 2, 3, 1).flatten(2),
        "heads_interleaved",
    ),
    (Block, "forward", "block", no_sum, "no_sum"),
    (Block, "forward", "block", no_norm, "no_norm"),
    (Block, "forward", "block", post_norm, "norm_after"),
    (Block, "forward", "block", side_by_side, "side_by_side"),
    (
        ViT,
        "tokens",
        "tokens",
        lambda self, patches: with_cls(self, patches).roll(-1, 1) + self.pos_embed,
        "cls_last",
    ),
    (ViT, "tokens", "tokens", with_cls, "no_positions"),
    (
        ViT,
        "tokens",
        "tokens",
        lambda self, patches: with_cls(self, patches + self.pos_embed[:, 1:]),
        "cls_without_position",
    ),
    (ViT, "answer", "answer", lambda self, x: self.head(self.norm(x).mean(1)), "mean"),
    (ViT, "answer", "answer", lambda self, x: self.head(x[:, 0]), "no_last_norm"),
    (PatchEmbed, "cut", "cut", unfolded, "channels_mixed"),
    (Attention, "split", "split", swapped, "q_k_swapped"),
    (Attention, "shares", "shares", lambda _self, q, k: scored(q, k, 1.0), "by_width"),
    (Attention, "shares", "shares", lambda _self, q, k: scored(q, k, -0.5), "times_root"),
    (
        Attention,
        "shares",
        "shares",
        lambda _self, q, k: scored(q, k, 0.0) * q.shape[-1] ** -0.5,
        "root_after",
    ),
    (Attention, "shares", "shares", lambda _self, q, k: scored(k, q), "turned"),
    (Attention, "shares", "shares", lambda _self, q, k: scored(q, k, dim=1), "over_heads"),
    (
        Attention,
        "join",
        "join",
        lambda _self, shares, v: (shares.transpose(2, 3) @ v).transpose(1, 2).flatten(2),
        "shares_turned",
    ),
    (Block, "forward", "block", of_labml, "normed_kept"),
    (Block, "forward", "block", norm1_twice, "one_norm"),
    (
        Block,
        "forward",
        "block",
        lambda self, x: self.mlp(self.norm2(x + self.attn(self.norm1(x)))),
        "mlp_alone",
    ),
    (
        ViT,
        "tokens",
        "tokens",
        # the index of labml's LearnedPositionalEmbeddings: the number of patches
        lambda self, patches: with_cls(self, patches) + self.pos_embed[:, patches.shape[1]],
        "one_position",
    ),
    (
        ViT,
        "answer",
        "answer",
        lambda self, x: self.head(self.norm(self.norm(x))[:, 0]),
        "norm_twice",
    ),
    (ViT, "answer", "answer", lambda self, x: self.head(self.norm(x)[:, -1]), "last_token"),
    (
        ViT,
        "answer",
        "answer",
        lambda self, x: F.softmax(self.head(self.norm(x[:, 0])), 1),
        "softmax_too",
    ),
]


# The lines that a mistaken student writes for the loss and for a step, and the key of the sentence.
OF_LOSS = {
    "softmax_before": lambda logits, labels: F.cross_entropy(torch.softmax(logits, 1), labels),
    "added_up": lambda logits, labels: F.cross_entropy(logits, labels) * len(logits),
    "no_logarithm": lambda logits, labels: (
        (logits.softmax(1) * F.one_hot(labels, logits.shape[1])).sum(1).mean()
    ),
    "no_minus": lambda logits, labels: logits.log_softmax(1).gather(1, labels[:, None]).mean(),
    "logits_taken": lambda logits, labels: -logits.gather(1, labels[:, None]).mean(),
    "squares": lambda logits, labels: (
        (logits.softmax(1) - torch.eye(logits.shape[1])[labels]).square().mean()
    ),
}
OF_STEP = {
    "not_emptied": lambda optimizer, loss: (loss.backward(), optimizer.step()),
    "no_step": lambda optimizer, loss: (optimizer.zero_grad(), loss.backward()),
    "no_backward": lambda optimizer, _loss: (optimizer.zero_grad(), optimizer.step()),
    "step_first": lambda optimizer, loss: (
        optimizer.zero_grad(),
        optimizer.step(),
        loss.backward(),
    ),
    "emptied_too_late": lambda optimizer, loss: (
        loss.backward(),
        optimizer.zero_grad(),
        optimizer.step(),
    ),
}
for _gap, _mistakes in (("loss", OF_LOSS), ("step", OF_STEP)):
    PLANTED += [
        (ViT, _gap, _gap, lambda _self, *given, mistaken=one: mistaken(*given), key)
        for key, one in _mistakes.items()
    ]


def keys(report: Any) -> dict[str, str]:
    return {gap: one.key.removeprefix("exercise.") for gap, one in report.sentences.items()}


ALL_RIGHT = dict.fromkeys(GAPS, "right")


def test_filled_in_it_is_the_vit_of_vitviz_and_knows_both_pictures() -> None:
    report = check(ViT)
    assert keys(report) == ALL_RIGHT
    assert report.right
    assert report.whole.values["digit"].values["answer"] == "3"
    assert report.whole.values["photo"].values["answer"] == "red panda"
    assert str(check(ViT, "ko-KR")).startswith("1. 패치: 맞습니다")
    assert "레서판다" in str(check(ViT, "ko"))


@pytest.mark.parametrize("language", ["en", "ko"])
def test_what_is_written_has_nine_gaps_that_another_hand_fills(
    tmp_path: Path, language: str
) -> None:
    file, notebook = write_exercise(tmp_path / "new", language)
    assert file.read_text("utf-8").count("= ...") == 9, "the block has two lines"
    assert set(keys(check(vit_of(run_file(file), file))).values()) == {"open"}
    text = file.read_text("utf-8")
    for gap, line in ANOTHER.items():
        assert gap in text
        text = text.replace(gap, line, 1)
    file.write_text(text, "utf-8")
    assert check(vit_of(run_file(file), file)).right
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) == 8
    names: dict[str, Any] = {}
    for cell in code:  # "Run all cells", before anything is filled in
        exec(cell, names)
    assert set(keys(check(names["ViT"])).values()) == {"open"}
    assert "check(ViT" in code[-2]


def test_the_file_says_what_is_right_when_it_is_run(tmp_path, capsys) -> None:
    file, _ = write_exercise(tmp_path)
    runpy.run_path(str(file), run_name="__main__")
    assert capsys.readouterr().out.splitlines()[-1] == "0 of 9 are right."


@pytest.mark.parametrize(("owner", "method", "gap", "mistaken", "key"), PLANTED)
def test_a_planted_mistake_is_called_by_its_name(
    monkeypatch: pytest.MonkeyPatch, owner: type, method: str, gap: str, mistaken: Any, key: str
) -> None:
    monkeypatch.setattr(owner, method, mistaken)
    report = check(ViT)
    assert keys(report) == ALL_RIGHT | {gap: f"mistake_{key}"}, "and nothing else is blamed"
    assert not report.right
    assert report.whole.values == {"done": 8, "of": 9}


def test_every_known_mistake_was_planted_and_has_its_sentence() -> None:
    known = [(gap, key) for gap, one in GAPS.items() for key in one.mistakes]
    assert sorted(known) == sorted((gap, key) for _, _, gap, _, key in PLANTED)
    said = {key for key in dictionary("en", "exercise") if key.startswith("mistake_")}
    assert said == {f"mistake_{key}" for _, key in known}
    for language in ("en", "ko"):
        texts = dictionary(language, "exercise")
        assert {f"gap_{gap}" for gap in GAPS} | {f"name_{gap}" for gap in GAPS} <= set(texts)
        assert not placeholders(texts["gap_cut"])


@pytest.mark.parametrize(
    ("mistaken", "sentence"),
    [
        (lambda _self, _q, _k: None, "1 tensor(s) are expected here, and NoneType came"),
        (lambda _self, q, _k: q, "the shape is (2, 4, 50, 32) and should be (2, 4, 50, 50)"),
        (lambda _self, q, k: q @ k, "it stops with RuntimeError: "),
        (lambda _self, q, k: (q @ k.mT) * float("nan"), "they differ by up to nan"),
        (lambda _self, q, k: (q @ k.mT / 7).softmax(-1), "the numbers are not: they differ by"),
    ],
)
def test_whatever_else_is_wrong_is_said(
    monkeypatch: pytest.MonkeyPatch, mistaken: Any, sentence: str
) -> None:
    monkeypatch.setattr(Attention, "shares", mistaken)
    report = check(ViT)
    assert sentence in report.sentences["shares"]
    assert str(report).splitlines()[2].startswith("3. softmax: ")


def test_code_that_ends_python_is_not_right(monkeypatch: pytest.MonkeyPatch) -> None:
    for part, name in ((Attention, "shares"), (ViT, "forward")):
        with monkeypatch.context() as patch:
            patch.setattr(part, name, lambda *_: sys.exit(0))
            assert not check(ViT).right, name
    with pytest.raises(VitvizError, match="SystemExit"):
        check(lambda **_sizes: sys.exit(0))
    with pytest.raises(VitvizError, match="the training stops with SystemExit"):
        train_with_digits(ViT, lambda *_: sys.exit(0))


def test_nan_is_not_right_behind_a_part_that_is(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Attention.split

    def split(self: Any, numbers: torch.Tensor) -> Any:
        q, k, v = right(self, numbers)
        return q, k * math.nan, v

    monkeypatch.setattr(Attention, "split", split)
    assert "they differ by up to nan" in check(ViT).sentences["split"]


def test_code_for_one_picture_is_not_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ViT,
        "tokens",
        lambda self, patches: torch.cat([self.cls_token, patches], 1) + self.pos_embed,
    )
    assert keys(check(ViT)) == ALL_RIGHT | {"tokens": "stops"}


def test_a_change_outside_of_the_gaps_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ViT, "forward", lambda self, pixels: self.answer(self.tokens(self.patch_embed(pixels)))
    )
    report = check(ViT)
    assert keys(report) == ALL_RIGHT
    assert report.whole.key == "exercise.not_whole"
    assert not report.right
    with pytest.raises(
        VitvizError, match="The shipped weights do not fit into this ViT: RuntimeError"
    ):
        check(lambda **_sizes: torch.nn.Linear(2, 3))


def test_what_a_gap_changes_in_place_stays_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_place(self: Any, x: torch.Tensor) -> torch.Tensor:
        x += self.attn(self.norm1(x))
        x += self.mlp(self.norm2(x))
        return x

    monkeypatch.setattr(Block, "forward", in_place)
    assert check(ViT).right


SIZES = {
    "image_size": 12,
    "patch_size": 4,
    "channels": 3,
    "classes": 5,
    "dim": 12,
    "depth": 3,
    "heads": 2,
}


def test_a_trained_vit_of_the_exercise_opens_as_a_model(tmp_path: Path) -> None:
    torch.manual_seed(0)
    vit = ViT(**SIZES)
    optimizer = torch.optim.SGD(vit.parameters(), lr=0.1)
    F.cross_entropy(vit(torch.rand(4, 3, 12, 12)), torch.tensor([0, 1, 2, 3])).backward()
    optimizer.step()
    mine = open_vit(vit, list("abcde"), mean=0.5, std=0.25)
    assert vit.training, "it stays as it was"
    assert (mine.card.name, mine.card.labels, mine.card.head) == ("my_vit", (*"abcde",), "classes")
    image = Image.new("RGB", (12, 12), (10, 200, 90))
    analysis = analyze(mine, image)
    pixels = (torch.tensor([10, 200, 90]).view(1, 3, 1, 1).expand(1, 3, 12, 12) / 255 - 0.5) / 0.25
    torch.testing.assert_close(analysis.trace.logits, vit.eval()(pixels)[0].detach())
    file = tmp_path / "mine.safetensors"
    save(mine, file)
    again = analyze(load(file), image)
    torch.testing.assert_close(again.trace.logits, analysis.trace.logits)
    assert again.card.labels == mine.card.labels
    with torch.no_grad():
        vit.head.bias += 1
    assert torch.equal(analyze(mine, image).trace.logits, analysis.trace.logits), (
        "the weights are copies"
    )
    assert open_vit(vit).card.labels is None
    grey = open_vit(ViT(**{**SIZES, "channels": 1}))
    assert grey.preprocess.channels == 1


FEW = """
from vitviz.exercise.my_vit import ViT

def train(vit, pixels, labels):
    assert pixels.shape == (4000, 1, 28, 28) and labels.shape == (4000,)
    assert pixels.min() == 0 and pixels.max() == 1
    vit.step(torch.optim.SGD(vit.parameters(), lr=0.1), vit.loss(vit(pixels[:50]), labels[:50]))
"""


def test_one_that_is_right_is_trained_and_kept_as_it_was_before_and_after(
    tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "my vit.py"
    file.write_text("import torch" + FEW, "utf-8")
    assert main(["exercise", "--train", str(file)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"untrained: \d+ of 1000 digits right\ntrained: \d+ of 1000", out)
    assert out.splitlines()[-1] == (
        "  /?model=my%20vit&example=digit&panel=attention&beside=model-my%20vit_untrained"
    )
    before, after = (
        load(tmp_path / "my vit_untrained.safetensors"),
        load(tmp_path / "my vit.safetensors"),
    )
    assert (before.card.labels, after.card.labels) == ((*"0123456789",), (*"0123456789",))
    changed = [
        name
        for name, tensor in before.vit.state_dict().items()
        if not torch.equal(tensor, after.vit.state_dict()[name])
    ]
    assert "head.weight" in changed
    assert "blocks.1.attn.qkv.weight" in changed


def test_a_file_that_is_trained_runs_once(tmp_path: Path) -> None:
    file, runs = tmp_path / "mine.py", tmp_path / "runs"
    mark = f"with open({str(runs)!r}, 'a') as log:\n    log.write('run ')\n"
    file.write_text(f"import torch\n{mark}{FEW}", "utf-8")
    assert main(["exercise", "--train", str(file)]) == 0
    assert runs.read_text() == "run "
    assert main(["exercise", "--check", str(file)]) == 0
    assert runs.read_text() == "run run "


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("ViT = ViT", "has no train"),
        ("def train(vit, pixels, labels):\n    1 / 0", "the training stops with ZeroDivisionError"),
    ],
)
def test_code_that_cannot_train_is_refused(
    tmp_path: Path, capsys: Any, code: str, sentence: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"from vitviz.exercise.my_vit import ViT\n{code}\n", "utf-8")
    assert main(["exercise", "--train", str(file)]) == 1
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [file]


def test_the_last_cell_of_the_notebook_shows_both_side_by_side() -> None:
    shown: list[Any] = []
    names: dict[str, Any] = {"ViT": ViT, "train": lambda *_given: None, "display": shown.append}
    cells = json.loads(notebook("en"))["cells"]
    for cell in cells[-2:]:
        exec(cell["source"], names)
    (both,) = shown
    assert both.first.card.name == "my_vit_untrained"
    assert both.second.card.name == "my_vit"


def test_what_is_no_vit_of_the_exercise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(VitvizError, match="a ViT of the exercise has patch_embed, cls_token"):
        open_vit(torch.nn.Linear(2, 3))
    with pytest.raises(VitvizError, match="labels"):
        open_vit(ViT(**SIZES), ["one", "two"])
    with pytest.raises(VitvizError, match="mean needs one number for each of 3 channels"):
        open_vit(ViT(**SIZES), mean=[0.5, 0.5])
    monkeypatch.setattr(Block, "forward", side_by_side)
    with pytest.raises(VitvizError, match=r"my_vit is no ViT of the exercise: .* differ by"):
        open_vit(ViT(**SIZES))


def test_right_parts_worked_by_hand() -> None:
    vit = load("mnist").vit
    pixels = torch.arange(28 * 28.0).view(1, 1, 28, 28) / 784
    parts = right_parts(vit, pixels)
    patch = parts["cut"].expected[0][0, 8]  # second row, second column: rows 4 to 7, columns 4 to 7
    assert torch.equal(patch, pixels[0, 0, 4:8, 4:8].flatten())
    assert torch.allclose(parts["shares"].expected[0].sum(-1), torch.ones(1, 4, 50))
    assert torch.allclose(parts["answer"].expected[0], vit(pixels), atol=1e-5)
    assert (
        F.cosine_similarity(
            parts["tokens"].expected[0][0, 0], (vit.cls_token + vit.pos_embed)[0, 0], 0
        )
        > 0.9999
    )


def line_of(lesson: str, option: str, language: str) -> str:
    """The code in an option of a lesson, behind the words that say what it does."""
    return dictionary(language, "lessons")[f"{lesson}_line_option_{option}"].split(": ", 1)[1]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_lines_that_lessons_offer_are_right_and_wrong_as_they_say(language: str) -> None:
    analysis = analyze(load("mnist"), DIGIT)
    right = right_parts(load("mnist").vit, analysis.pixels[None])
    shares, v = right["join"].given
    block = load("mnist").vit.blocks[LAYER]
    sizes = {"B": 1, "N": 50, "D": 128, "rearrange": rearrange}
    parts = {name: getattr(block, name) for name in ("norm1", "attn", "norm2", "mlp")}
    cases = [
        ("gather", "join", "joined", {**sizes, "shares": shares, "v": v}),
        ("block", "block", "x", {**parts, "x": right["block"].given[0]}),
    ]
    model = SimpleNamespace(blocks=load("mnist").vit.blocks)
    for lesson, gap, result, names in cases:
        offered = [
            key.split("_line_option_")[1]
            for key in dictionary("en", "lessons")
            if key.startswith(f"{lesson}_line_option_")
        ]
        for option in offered:
            known = dict(names)
            exec(line_of(lesson, option, language), known)
            if option == "right":
                torch.testing.assert_close(known[result], right[gap].expected[0])
            else:
                wrong = GAPS[gap].mistakes[option](model, *right[gap].given)
                torch.testing.assert_close(known[result], wrong)
                assert not torch.allclose(known[result], right[gap].expected[0], atol=1e-2)
    logits, classes = torch.tensor([[2.0, 0.0, 1.0]], requires_grad=True), torch.tensor([0])
    losses = {}
    for option in ("right", "softmax_twice", "no_slope"):
        known = {"F": F, "logits": logits, "classes": classes}
        exec(line_of("learn", option, language), known)
        losses[option] = known["loss"]
    assert losses["right"].item() == pytest.approx(-math.log(logits.softmax(1)[0, 0].item()))
    (steep,) = torch.autograd.grad(losses["right"], logits)
    (flat,) = torch.autograd.grad(losses["softmax_twice"], logits)
    assert flat.norm() < 0.6 * steep.norm()
    assert not losses["no_slope"].requires_grad


def test_the_code_that_lessons_show_stands_in_the_exercise() -> None:
    code = (ROOT / "vitviz/viewer/lessons/codelines.js").read_text("utf-8")
    parts = re.findall(r"(\w+): \[(.*?)\],\n", code, re.DOTALL)
    shown = {name: "\n".join(re.findall(r'"([^"]*)"', lines)) for name, lines in parts}
    assert set(shown) == {"join", "block", "step"}
    # Comments are shapes: what is said stands in the texts, in the language of the page.
    assert not re.search(r"# (?!\()", "\n".join(shown.values()))
    gaps = "\n".join(cells("en"))
    for name in ("join", "block"):
        bare = re.sub(r" +#(?! \().*", "", gaps)  # without what is to be done there
        lines = [line for line in bare.splitlines() if line.strip()]
        assert textwrap.indent(shown[name], "    ") in "\n".join(lines)


def test_the_command_writes_checks_and_refuses(tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "my"
    assert main(["exercise", str(folder), "--language", "ko"]) == 0
    assert f"vitviz exercise --check {folder / 'my_vit.py'}" in capsys.readouterr().out
    assert main(["exercise", str(folder)]) == 1
    assert "is there already, and stays as it is" in capsys.readouterr().err
    assert main(["exercise", "--check", str(folder / "my_vit.py"), "--language", "ko"]) == 1
    assert "9개 가운데 0개가 맞습니다." in capsys.readouterr().out
    assert main(["exercise", "--check", str(folder / "none.py")]) == 1
    assert "cannot be read: No such file" in capsys.readouterr().err
    assert main(["exercise", "--check", "none.py"]) == 1
    assert "none.py cannot be read: No such file" in capsys.readouterr().err
    (folder / "bad.py").write_text("ViT = 1 / 0")
    assert main(["exercise", "--check", str(folder / "bad.py")]) == 1
    assert "stops with ZeroDivisionError: division by zero" in capsys.readouterr().err
    (folder / "bad.py").write_text("open('data.csv')")  # bad.py was said not to be there
    assert main(["exercise", "--check", str(folder / "bad.py")]) == 1
    assert "bad.py stops with FileNotFoundError" in capsys.readouterr().err
    (folder / "bad.py").write_text("exit()")  # it counted as right
    assert main(["exercise", "--check", str(folder / "bad.py")]) == 1
    assert "stops with SystemExit" in capsys.readouterr().err
    (folder / "empty.py").write_text("ViT = 3")
    assert main(["exercise", "--check", str(folder / "empty.py")]) == 1
    assert "has no class ViT" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["exercise", str(folder), "--language", "xx"])
    assert "--language is one of en, ko, got 'xx'" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["exercise", str(tmp_path / "file")]) == 1
    assert "nothing can be written" in capsys.readouterr().err
