"""What the questions of lessons ask, by the names that the viewer gives them, computed in Python.

Each function takes what a lesson sees: an analysis with the numbers as they are sent to a page
(q, k and positions in half precision), what it is asked about (`at`: tokens, layer, head, moment),
and the analysis beside it.
"""

import json
import math
import re
import statistics
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from einops import rearrange
from torch import Tensor

from tests.running import ROOT
from vitviz import Analysis, ViT, analyze, open_photo
from vitviz.probe.measure.film import Film
from vitviz.probe.measure.heads import head_statistics
from vitviz.probe.measure.mixing import Mix, mix, mixing
from vitviz.probe.measure.pairs import Pair, pair
from vitviz.probe.measure.positions import Positions, similarity
from vitviz.train.recipes import RECIPES

PICTURES = ROOT / "vitviz" / "web" / "examples"


class Seen(NamedTuple):
    """What a lesson is about: an analysis, the film of its model, the analysis beside, and those
    that came of experiments, by their texts in the lesson.
    """

    analysis: Analysis
    film: Film | None = None
    beside: Analysis | None = None
    outcomes: Mapping[str, Analysis] = {}


At = Mapping[str, Any]


def learned() -> dict[str, dict[str, Any]]:
    """Results of the playground that lessons tell of; tests/test_learner.py repeats its runs."""
    text = (ROOT / "vitviz/viewer/lessons/playgroundresults.js").read_text("utf-8")
    rows = re.findall(r"^  (\w+): (\{.*\}),$", text, re.MULTILINE)
    return {name: json.loads(re.sub(r"(\w+):", r'"\1":', row)) for name, row in rows}


LEARNED = learned()


def row(seen: Seen, at: At, token: int) -> Tensor:
    head = None if at["head"] == "mean" else at["head"]
    return seen.analysis.attention(at["layer"], head, token)


def patches(seen: Seen, at: At) -> Tensor:
    return seen.analysis.grid.patches(row(seen, at, at["token"]))


def even(seen: Seen, at: At) -> float:
    return 1 / len(row(seen, at, 0))


def one(seen: Seen, at: At) -> Pair:
    return pair(seen.analysis.trace, at["layer"], at["head"], at["token"], at["partner"])


def gathered(seen: Seen, at: At) -> Mix:
    trace, vit = seen.analysis.trace, seen.analysis.loaded.vit
    return mix(trace, mixing(trace, vit, at["layer"]), at["layer"], at["head"], at["token"])


def parts_of_change(seen: Seen, at: At) -> Tensor:
    """The part of each head along the change, as a share of its length. (H,)"""
    found = gathered(seen, at)
    return found.parts @ found.change / (found.change @ found.change)


def value_number(seen: Seen, at: At) -> float:
    """The first number of a value, as a page gets it: in half precision."""
    return float(gathered(seen, at).v[at["partner"], 0].half())


def value_length(seen: Seen, at: At) -> float:
    found = gathered(seen, at)
    return float(found.attention @ found.v.norm(dim=-1))


def norm_of_twice(seen: Seen, at: At) -> str:
    token = gathered(seen, at).before
    once, twice = (torch.nn.functional.layer_norm(one, one.shape) for one in (token, 2 * token))
    return "same" if torch.allclose(once, twice, atol=1e-3) else "another"


def loss(logits: Tensor, seen: Seen) -> float:
    """Cross-entropy of the most probable class, by torch itself."""
    logits = logits / seen.analysis.card.temperature
    return float(torch.nn.functional.cross_entropy(logits, logits.argmax()))


def push(seen: Seen, at: At) -> float:
    """Derivative of the loss of the most probable class with respect to its scaled logit."""
    logits = (seen.analysis.trace.logits / seen.analysis.card.temperature).clone().requires_grad_()
    (slope,) = torch.autograd.grad(
        torch.nn.functional.cross_entropy(logits, logits.argmax()), logits
    )
    return float(slope[logits.argmax()])


def cosine(positions: Positions, seen: Seen, first: int, second: int) -> float:
    # As a page gets them: unit rows in half precision.
    rows = torch.nn.functional.normalize(positions.patches, dim=-1).half().float()
    prefix = seen.analysis.grid.num_prefix_tokens
    return float(rows[first - prefix] @ rows[second - prefix])


def convolution_difference(seen: Seen, at: At) -> float:
    """The model's own patch embedding as a convolution and as a linear layer, without its bias."""
    weight = seen.analysis.loaded.vit.patch_embed.proj.weight
    pixels = seen.analysis.pixels[None]
    size = weight.shape[-2:]
    slid = torch.nn.functional.conv2d(pixels, weight, stride=size).flatten(2)[0].T
    cut = torch.nn.functional.unfold(pixels, size, stride=size)[0].T
    return float((slid - cut @ weight.flatten(1).T).abs().max())


def order_difference(seen: Seen, at: At) -> float:
    """Largest error of a linear layer with columns (c p1 p2) if patches are cut as (p1 p2 c)."""
    weight = seen.analysis.loaded.vit.patch_embed.proj.weight
    p1, p2 = weight.shape[-2:]
    squares = "c (rows p1) (cols p2) -> (rows cols) "
    by_channel, by_pixel = (
        rearrange(seen.analysis.pixels, squares + order, p1=p1, p2=p2)
        for order in ("(c p1 p2)", "(p1 p2 c)")
    )
    few = weight.flatten(1)[: len(seen.analysis.embedding.bias)]  # of those that the page has
    return float(((by_pixel - by_channel) @ few.T).abs().max())


def unseen(seen: Seen, at: At) -> float:
    """Share of the photo outside the largest centre crop that has the model's shape."""
    photo = open_photo(PICTURES / seen.analysis.photo_name).image
    height, width = seen.analysis.grid.image_size
    scale = min(photo.height / height, photo.width / width)
    return 1 - height * width * scale**2 / (photo.height * photo.width)


def moment(seen: Seen, at: At) -> int:
    wanted = at.get("moment", "last")
    return len(seen.film) - 1 if wanted == "last" else wanted


def tested_right(seen: Seen, at: At) -> float:
    """Accuracy (top-1) on the 10,000 test pictures that the lesson mentions."""
    found = json.loads(seen.analysis.loaded.card.details["evaluation"])
    assert found["pictures"] == 10_000
    return found["top1"]


def facts(seen: Seen, at: At) -> Mapping[str, Any]:
    return seen.film.facts["moments"][moment(seen, at)]


def peak(seen: Seen, at: At) -> float:
    maps = seen.film.attention[moment(seen, at), 0, -1].float().mean(dim=0)
    return float(maps[seen.film.facts["num_prefix_tokens"] :].max()) * len(maps)


def probabilities(analysis: Analysis, layer: int) -> Tensor:
    """Probabilities of all classes after a block, by the logit lens."""
    return (analysis.lens[layer] / analysis.card.temperature).softmax(dim=-1)


def word(analysis: Analysis, layer: int) -> str:
    return analysis.card.labels[int(analysis.lens[layer].argmax())]


def first_lead(seen: Seen, at: At) -> str:
    lens = seen.analysis.lens
    leads = lens.argmax(dim=-1) == lens[-1].argmax()
    return str(int(leads.nonzero()[0]) + 1)


def starts_the_same(seen: Seen, at: At) -> str:
    starts = [analysis.trace.tokens[0, 0] for analysis in (seen.analysis, seen.beside)]
    return "same" if torch.equal(*starts) else "different"


def half(seen: Seen, at: At) -> int:
    found = patches(seen, at).sort(descending=True).values.double()
    return int((found.cumsum(0) < found.sum() / 2).sum()) + 1


def strongest_distance(seen: Seen, at: At) -> int:
    grid = seen.analysis.grid
    best = grid.num_prefix_tokens + int(patches(seen, at).argmax())
    here, there = grid.row_col(at["token"]), grid.row_col(best)
    return max(abs(a - b) for a, b in zip(here, there, strict=True))


def position_map(seen: Seen, at: At) -> list[float]:
    """Position similarity of all patches to the selected one, whose own -2 does not count."""
    grid, positions = seen.analysis.grid, seen.analysis.positions.patches
    own = at["token"] - grid.num_prefix_tokens
    rows = torch.nn.functional.normalize(positions, dim=-1).half().float()
    found = (rows @ rows[own]).tolist()
    assert torch.allclose(torch.tensor(found), similarity(positions)[own], atol=2e-3)
    return [-2 if patch == own else value for patch, value in enumerate(found)]


def more_alike(seen: Seen, at: At) -> str:
    a, b = (cosine(seen.analysis.positions, seen, at["token"], mark) for mark in at["marks"])
    return "a" if a > b else "b"


def overlap(seen: Seen, at: At) -> float:
    maps = [row(seen, at, at[name]) for name in ("token", "partner")]
    return float(torch.minimum(*maps).sum())


def raised(share: float) -> float:
    """The share after its score has grown by 1, from the softmax itself."""
    return float(torch.tensor([math.log(share) + 1, math.log1p(-share)]).softmax(dim=0)[0])


def top(analysis: Analysis) -> int:
    return int(analysis.trace.logits.argmax())


def share_of(analysis: Analysis, index: int) -> float:
    return float((analysis.trace.logits / analysis.card.temperature).softmax(dim=-1)[index])


def texts(experiments: Any) -> list[str]:
    """Those of one experiment, of several draws, or of all options."""
    if isinstance(experiments, str):
        return [experiments]
    all_of = experiments.values() if isinstance(experiments, Mapping) else experiments
    return [text for one in all_of for text in texts(one)]


def shares_after(seen: Seen, experiments: Any) -> list[float]:
    own = top(seen.analysis)
    return [share_of(seen.outcomes[text], own) for text in texts(experiments)]


def hurts_most(seen: Seen, at: At) -> str:
    experiments = at["experiments"]
    return min(experiments, key=lambda one: statistics.mean(shares_after(seen, experiments[one])))


def outcomes_same(seen: Seen, at: At) -> int:
    own = top(seen.analysis)
    return sum(top(seen.outcomes[text]) == own for text in texts(at["experiments"]))


def halved_photos(seen: Seen, at: At) -> int:
    """Number of photos whose answer keeps less than half of its probability when the CLS row of
    layer 5 is even.

    Each photo is analysed itself; the lesson transplants its tokens into another photo instead.
    """
    vit, even = seen.analysis.loaded, {"kind": "even", "rows": "cls", "layers": [5]}
    count = 0
    for name in ("bison", "cat", "goldfish", "red-panda", "dog", "coffee"):
        whole = analyze(vit, PICTURES / f"{name}.jpg")
        changed = analyze(vit, PICTURES / f"{name}.jpg", interventions=[even])
        count += share_of(changed, top(whole)) < share_of(whole, top(whole)) / 2
    return count


def matrices(seen: Seen, part: str, narrow: bool = False) -> int:
    """The weights of a part of the first block, counted in the model itself."""
    block = seen.analysis.loaded.vit.blocks[0]
    if part == "attention":
        return block.attn.qkv.weight.numel() + block.attn.proj.weight.numel()
    both = block.mlp.fc1.weight.numel() + block.mlp.fc2.weight.numel()
    return both // 2 if narrow else both


def part_of_mlp(seen: Seen, narrow: bool = False) -> float:
    mlp = matrices(seen, "mlp", narrow)
    return mlp / (mlp + matrices(seen, "attention"))


def unit_sums(seen: Seen, at: At) -> Tensor:
    """The sums of one hidden unit at the patches, by a hook in a pass of the model. (P)"""
    vit, heard = seen.analysis.loaded.vit, []
    act = vit.blocks[at["layer"]].mlp.act
    handle = act.register_forward_pre_hook(lambda _, args: heard.append(args[0][0]))
    with torch.inference_mode():
        vit(seen.analysis.pixels[None])
    handle.remove()
    return heard[0][seen.analysis.grid.num_prefix_tokens :, at["unit"]]


def unit_place(seen: Seen, at: At) -> str:
    grid = seen.analysis.grid
    rows = unit_sums(seen, at).topk(6).indices // grid.cols
    return "bottom" if bool((rows >= 0.75 * grid.rows).all()) else "other"


def bent(total: Tensor) -> float:
    return round(float(torch.nn.functional.gelu(total)), 3)


def more_harmed(seen: Seen, at: At) -> int:
    """Number of photos whose answer is less probable without the MLP of a block than without its
    attention.

    Each photo is analysed itself; the lesson transplants its tokens into another photo instead.
    """
    loaded, count = seen.analysis.loaded, 0
    named = at["experiments"]["mlp"][0].split("_")[1]
    layer = loaded.vit.config.depth - 1 if named == "LAST" else int(named)
    for name in ("bison", "cat", "goldfish", "red-panda", "dog", "coffee"):
        own = top(analyze(loaded, PICTURES / f"{name}.jpg"))
        mlp, attention = (
            analyze(
                loaded,
                PICTURES / f"{name}.jpg",
                interventions=[{"kind": "branch", "layer": layer, "branch": branch}],
            )
            for branch in ("mlp", "attention")
        )
        count += share_of(mlp, own) < share_of(attention, own)
    return count


def shown(value: float) -> float:
    """A number as a lesson writes it: with five digits."""
    return float(f"{value:.5g}")


def shown_share(share: float) -> float:
    """A share as a lesson writes it: in percent, with one decimal."""
    return round(100 * share, 1) / 100


def score(seen: Seen, at: At) -> float:
    found = one(seen, at)
    return shown(float(found.q @ found.k)) / math.sqrt(len(found.q))


def whose_word(seen: Seen, at: At) -> str:
    now, donor = top(seen.beside), top(seen.outcomes[at["experiment"]])
    return "own" if now == top(seen.analysis) else "donor" if now == donor else "third"


def first_turn(seen: Seen, at: At) -> str:
    """The first number of blocks after which the answer is the one after all of them."""
    depth = seen.analysis.trace.depth
    places = [str(place) for place in range(1, depth + 1)]
    words = [top(seen.outcomes[at["experiment"].replace("PLACE", place)]) for place in places]
    return places[words.index(words[-1])]


def turned(seen: Seen, text: str) -> bool:
    return top(seen.outcomes[text]) != top(seen.analysis)


def least_turn(seen: Seen, at: At) -> str:
    all_of = at["experiments"]
    return next((one for one in all_of if turned(seen, all_of[one])), "further")


def brings_back(seen: Seen, at: At) -> str:
    back = [one for one, text in at["experiments"].items() if not turned(seen, text)]
    return {0: "none", 1: "".join(back)}.get(len(back), "both")


def config(seen: Seen) -> Any:
    return seen.analysis.card.config


def numbers_of_a_patch(seen: Seen) -> int:
    return seen.analysis.pixels.shape[0] * math.prod(seen.analysis.grid.patch_size)


def compared(token: int, patch: int) -> str:
    return "more" if token > patch else "fewer" if token < patch else "same"


TRUTHS: dict[str, Callable[[Seen, At], Any]] = {
    "patchCount": lambda seen, at: seen.analysis.grid.rows * seen.analysis.grid.cols,
    "patchNumbers": lambda seen, at: numbers_of_a_patch(seen),
    "pixelNumbers": lambda seen, at: seen.analysis.pixels.numel(),
    "tokenCount": lambda seen, at: seen.analysis.trace.num_tokens,
    "tokenWidth": lambda seen, at: compared(config(seen).embed_dim, numbers_of_a_patch(seen)),
    "unseen": unseen,
    "convolutionDifference": convolution_difference,
    "convolutionOrLinear": lambda seen, at: (
        "same" if convolution_difference(seen, at) < 1e-3 else "different"
    ),
    "orderDifference": order_difference,
    "orderMatters": lambda seen, at: "same" if order_difference(seen, at) < 1e-3 else "different",
    "learnedRight": lambda seen, at: LEARNED[at["run"]][at["of"]],
    "learnedNumbers": lambda seen, at: sum(
        one.numel() for one in ViT(RECIPES["playground"].config(10)).parameters()
    ),
    "errorsLeft": lambda seen, at: (1 - LEARNED["all"]["right"]) / (1 - LEARNED["some"]["right"]),
    "neighboursFrom": lambda seen, at: (
        "learned" if abs(TRUTHS["untrainedCosine"](seen, at)) < 0.3 else "built"
    ),
    "temperature": lambda seen, at: seen.analysis.card.temperature,
    "positionCount": lambda seen, at: seen.analysis.loaded.vit.pos_embed.shape[1],
    "classAtStart": starts_the_same,
    "positionCosine": lambda seen, at: cosine(seen.analysis.positions, seen, at["token"], at["to"]),
    "untrainedCosine": lambda seen, at: cosine(
        seen.analysis.untrained_positions(), seen, at["token"], at["to"]
    ),
    "moreAlike": more_alike,
    "positionMap": position_map,
    "attentionMap": lambda seen, at: patches(seen, at).tolist(),
    "overlapOfPair": overlap,
    "strongestDistance": strongest_distance,
    "nearestHead": lambda seen, at: str(
        int(head_statistics(seen.analysis.trace, seen.analysis.grid).distance[at["layer"]].argmin())
    ),
    "halfOfAttention": half,
    "dotProduct": lambda seen, at: float(one(seen, at).q @ one(seen, at).k),
    "score": score,
    "scorePower": lambda seen, at: math.exp(shown(score(seen, at))),
    "scoreTotal": lambda seen, at: float(one(seen, at).scores.exp().sum()),
    "evenShare": even,
    "pairShare": lambda seen, at: float(row(seen, at, at["token"])[at["partner"]]),
    "raisedShare": lambda seen, at: raised(float(row(seen, at, at["token"])[at["partner"]])),
    "raisedOthers": lambda seen, at: "shrink",
    "valueNumber": value_number,
    "handedOn": lambda seen, at: (
        shown_share(float(gathered(seen, at).attention[at["partner"]]))
        * shown(value_number(seen, at))
    ),
    "mixedLength": lambda seen, at: float(gathered(seen, at).mixed.norm()),
    "valueLength": value_length,
    "mixedOrValues": lambda seen, at: (
        "shorter" if float(gathered(seen, at).mixed.norm()) < value_length(seen, at) else "longer"
    ),
    "joinedNumbers": lambda seen, at: config(seen).embed_dim,
    "largestHead": lambda seen, at: str(int(parts_of_change(seen, at).argmax())),
    "largestPart": lambda seen, at: float(parts_of_change(seen, at).max()),
    "tokenLength": lambda seen, at: float(gathered(seen, at).before.norm()),
    "changeLength": lambda seen, at: float(gathered(seen, at).change.norm()),
    "changeOfToken": lambda seen, at: (
        shown(float(gathered(seen, at).change.norm()))
        / shown(float(gathered(seen, at).before.norm()))
    ),
    "keptDirection": lambda seen, at: float(
        torch.cosine_similarity(gathered(seen, at).before, gathered(seen, at).after, dim=0)
    ),
    "normOfTwice": norm_of_twice,
    "hiddenCount": lambda seen, at: len(seen.analysis.loaded.vit.blocks[0].mlp.fc1.weight),
    "mlpWeights": lambda seen, at: matrices(seen, "mlp"),
    "attentionWeights": lambda seen, at: matrices(seen, "attention"),
    "mlpPart": lambda seen, at: part_of_mlp(seen),
    "narrowWeights": lambda seen, at: matrices(seen, "mlp", narrow=True),
    "narrowPart": lambda seen, at: part_of_mlp(seen, narrow=True),
    "unitMap": lambda seen, at: unit_sums(seen, at).tolist(),
    "unitOn": lambda seen, at: int((unit_sums(seen, at) > 0).sum()),
    "unitLeast": lambda seen, at: float(unit_sums(seen, at).min()),
    "unitMost": lambda seen, at: float(unit_sums(seen, at).max()),
    "unitPlace": unit_place,
    "bentLeast": lambda seen, at: bent(unit_sums(seen, at).min()),
    "bentMost": lambda seen, at: bent(unit_sums(seen, at).max()),
    "bentKind": lambda seen, at: "gone" if abs(bent(unit_sums(seen, at).min())) < 0.2 else "other",
    "moreHarmed": more_harmed,
    "filled": lambda seen, at: "right",  # test_exercise.py holds the lines
    "lossOfWord": lambda seen, at: (
        -math.log(shown_share(math.exp(-loss(seen.analysis.trace.logits, seen))))
    ),
    "lossOfChance": lambda seen, at: loss(torch.zeros(config(seen).num_classes), seen),
    "pushOfWord": lambda seen, at: shown_share(1 + push(seen, at)) - 1,
    "shareBeside": lambda seen, at: share_of(seen.beside, top(seen.beside)),
    "morePushed": lambda seen, at: (
        "beside"
        if share_of(seen.beside, top(seen.beside)) < share_of(seen.analysis, top(seen.analysis))
        else "this"
    ),
    "testedRight": tested_right,
    "filmTop1": lambda seen, at: facts(seen, at)["top1"],
    "filmImages": lambda seen, at: facts(seen, at)["images"],
    "filmPeak": peak,
    "chance": lambda seen, at: 1 / config(seen).num_classes,
    "firstLead": first_lead,
    "lensShare": lambda seen, at: float(
        probabilities(seen.analysis, at["layer"])[seen.analysis.lens[-1].argmax()]
    ),
    "firstWord": lambda seen, at: word(seen.analysis, at["layer"]),
    "finalWord": lambda seen, at: word(seen.analysis, -1),
    "firstWordKind": lambda seen, at: (
        "final" if word(seen.analysis, at["layer"]) == word(seen.analysis, -1) else "other"
    ),
    "sameFirstWord": lambda seen, at: (
        "same"
        if word(seen.analysis, at["layer"]) == word(seen.beside, at["layer"])
        else "different"
    ),
    "wordShare": lambda seen, at: share_of(seen.analysis, top(seen.analysis)),
    "otherShare": lambda seen, at: share_of(seen.beside, top(seen.analysis)),
    "otherWord": lambda seen, at: seen.beside.card.labels[top(seen.beside)],
    "sameWord": lambda seen, at: "same" if top(seen.beside) == top(seen.analysis) else "other",
    "outcomeShare": lambda seen, at: share_of(seen.outcomes[at["experiment"]], top(seen.analysis)),
    "outcomeWord": lambda seen, at: seen.analysis.card.labels[top(seen.outcomes[at["experiment"]])],
    "outcomesMean": lambda seen, at: statistics.mean(shares_after(seen, at["experiments"])),
    "outcomesLeast": lambda seen, at: min(shares_after(seen, at["experiments"])),
    "outcomesMost": lambda seen, at: max(shares_after(seen, at["experiments"])),
    "outcomesSame": outcomes_same,
    "halvedPhotos": halved_photos,
    "hurtsMost": hurts_most,
    "whoseWord": whose_word,
    "firstTurn": first_turn,
    "leastTurn": least_turn,
    "digitSaid": lambda seen, at: word(seen.analysis, -1),
    "taughtPictures": lambda seen, at: sum(seen.analysis.card.taught.pictures),
    "leftOut": lambda seen, at: seen.analysis.card.taught.of,
    "leftOutRight": lambda seen, at: seen.analysis.card.taught.right,
    "bringsBack": brings_back,
    "sameNumbers": lambda seen, at: (
        "same" if torch.equal(seen.beside.trace.logits, seen.analysis.trace.logits) else "different"
    ),
    "answerKind": lambda seen, at: (
        "none"
        if seen.analysis.answer().known is False
        else "unsure"
        if seen.analysis.answer().sure is False
        else "named"
    ),
    "answerShare": lambda seen, at: seen.analysis.answer().probability,
    "answerName": lambda seen, at: seen.analysis.answer().name,
    "sumOfClasses": lambda seen, at: sum(
        one.probability for one in seen.analysis.predictions(config(seen).num_classes)
    ),
}
