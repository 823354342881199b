"""Places: every block hears which tokens it was given, whoever sends them through the blocks."""

from dataclasses import replace
from functools import lru_cache

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests.models import TINY, photo, spread, tiny
from tests.test_interventions import one_of_each
from vitviz import LoadedModel, ViT, analyze
from vitviz.model.vit import Tokens
from vitviz.probe.intervene.intervention import read
from vitviz.probe.intervene.surgery import Surgery
from vitviz.train.learner import Learner

# 0, 1, 2, 5 and 3 prefix tokens; no grid is square, and no depth is the number of heads.
SIZES = {
    "no_cls": (24, 40),
    "cls": (24, 40),
    "distilled": (32, 24),
    "registers": (16, 24),
    "map": (24, 32),
}


@lru_cache
def model_of_places(name: str) -> LoadedModel:
    """A model that nothing but its attention tells where a token stands, in each layer anew.

    q and k move by a vector of their place, and scores by a number of both places: rotary positions
    and a relative bias know no more.
    """
    loaded = tiny(name)
    config = replace(
        TINY[name], pos_embed=False, image_size=SIZES[name], post_norm=name == "distilled"
    )
    vit = spread(ViT(config)).eval().requires_grad_(False)
    generator = torch.Generator().manual_seed(1)
    for block in vit.blocks:
        table = torch.randn(config.num_tokens, config.head_dim, generator=generator)
        pairs = torch.randn(
            config.num_heads, config.num_tokens, config.num_tokens, generator=generator
        )

        def turn(_module, args, qkv, table=table):
            q, k, v = qkv
            moved = table if args[3] is None else table[args[3]][:, None]
            return q + moved, k + moved, v

        def add(_module, args, _none, pairs=pairs):
            places, n_queries = args
            if places is None:
                return pairs[None, :, :n_queries]
            some = [pairs[:, one][:, :, one] for one in places]
            return torch.stack(some)[:, :, :n_queries]

        block.attn.tap.register_forward_hook(turn)
        block.attn.score_bias.register_forward_hook(add)
    card = replace(loaded.card, config=config)
    size = replace(loaded.preprocess, size=config.image_size)
    return LoadedModel(vit, card, size)


def removed(name: str, patches: list[int], *others: dict) -> Tensor:
    """The logits where the other patches are only masked: the whole sequence, in its order."""
    gone = [{"kind": "remove", "patches": patches}]
    return analyze(model_of_places(name), photo(), interventions=[*others, *gone]).trace.logits


def some_patches(name: str) -> tuple[list[int], Tensor]:
    """Patches that are taken out, and those that stay."""
    count = model_of_places(name).vit.config.num_patches
    gone = [0, 3, *range(5, count, 3)]
    return gone, torch.tensor([one for one in range(count) if one not in gone])


def test_taking_from_what_was_taken_by_hand() -> None:
    x = torch.tensor([[[0.0], [10.0], [20.0], [30.0]], [[5.0], [15.0], [25.0], [35.0]]])
    once = Tokens(x).take(torch.tensor([[3, 1, 2], [0, 2, 3]]))
    assert once.x[..., 0].tolist() == [[30, 10, 20], [5, 25, 35]]
    assert once.places.tolist() == [[3, 1, 2], [0, 2, 3]]
    twice = once.take(torch.tensor([[2, 0], [1, 1]]))
    assert twice.x[..., 0].tolist() == [[20, 30], [25, 25]]
    assert twice.places.tolist() == [[2, 3], [2, 2]]
    # Of one image several sequences are taken.
    many = Tokens(x[:1]).take(torch.tensor([[1], [3], [0]]))
    assert many.x[..., 0].tolist() == [[10], [30], [0]]


@pytest.mark.parametrize("name", SIZES)
def test_the_model_of_these_tests_needs_the_places(name: str) -> None:
    loaded = model_of_places(name)
    config = loaded.vit.config
    rows, cols = config.grid_size
    assert rows != cols
    assert config.depth != config.num_heads
    gone, kept = some_patches(name)
    case = analyze(loaded, photo()).case("centre")
    tokens = case.with_patches(kept[None])
    case, x = replace(case, vit=loaded.vit), case.trace.tokens[0][tokens]
    with torch.inference_mode():
        assert not torch.allclose(case.answer(x, tokens.roll(1))[0], removed(name, gone), atol=1e-2)
        with pytest.raises(RuntimeError, match="must match"):  # as if all were there
            case.answer(x)


@pytest.mark.parametrize("name", SIZES)
def test_a_gathered_sequence_is_a_masked_one(name: str) -> None:
    """`Case.logits_with`: without interventions, and with each that can be in any pass."""
    loaded, (gone, kept) = model_of_places(name), some_patches(name)
    whole = analyze(loaded, photo())
    values = [
        one
        for one in one_of_each(name)
        if one["kind"] in ("head", "branch", "cut", "even", "scramble")
        or (one["kind"] == "transplant" and one["layer"] == 1)
    ]
    for value in [None, *values]:
        others = [value | ({"from": donor(name)} if "from" in value else {})] if value else []
        surgery = Surgery(read(others), loaded.vit.config)
        case = replace(whole.case("centre"), vit=loaded.vit, surgery=surgery)
        expected = removed(name, gone, *others)
        assert_close(case.logits_with_patches([kept])[0], expected, atol=2e-4, rtol=2e-4)
        if value and value["kind"] == "scramble":
            continue  # deals its queries out along the sequence, so it goes by the order
        turned = torch.stack([kept.flip(0), kept.roll(1)])
        found = case.logits_with(case.with_patches(turned))
        assert_close(found, expected.expand(2, -1), atol=2e-4, rtol=2e-4, msg=str(value))


def donor(name: str):
    return analyze(model_of_places(name), photo()[::-1, ::-1].copy())


@pytest.mark.parametrize("name", SIZES)
def test_every_block_hears_the_same_places(name: str) -> None:
    loaded, (_, kept) = model_of_places(name), some_patches(name)
    case = replace(analyze(loaded, photo()).case("centre"), vit=loaded.vit)
    heard: list[Tensor | None] = []
    handles = [
        part.register_forward_pre_hook(lambda _module, args: heard.append(args[-2]))
        for block in loaded.vit.blocks
        for part in (block.attn, block.attn.score_bias)
    ]
    tokens = case.with_patches(torch.stack([kept, kept.flip(0)]))
    for operated in ([], [{"kind": "even", "rows": "all"}]):
        surgery = Surgery(read(operated), loaded.vit.config)
        replace(case, surgery=surgery).logits_with(tokens)
    loaded.vit(torch.zeros(1, *case.pixels.shape))
    for handle in handles:
        handle.remove()
    times = 2 * loaded.vit.config.depth
    assert len(heard) == 3 * times
    assert all(torch.equal(one, tokens) for one in heard[: 2 * times])
    assert heard[2 * times :] == [None] * times  # all of them: nothing is gathered


@pytest.mark.parametrize("name", ["cls", "distilled", "registers"])
def test_cut_edges_are_those_of_the_rows_that_are_asked_for(name: str) -> None:
    vit = model_of_places(name).vit
    cut = {"kind": "cut", "edges": [[0, 4], [1, 0], [6, 1]]}
    surgery = Surgery(read([cut]), vit.config)
    pixels = torch.randn(2, 3, *vit.config.image_size, generator=torch.Generator().manual_seed(0))
    intact = vit(pixels)
    with surgery.applied(vit):
        whole = vit(pixels)
        rows = vit.encode(*vit.tokenize(pixels), n_queries=vit.config.tokens_read)
    assert rows.shape[1] == vit.config.tokens_read
    assert_close(vit.forward_head(rows), whole)
    assert not torch.allclose(whole, intact, atol=1e-3)


@pytest.mark.parametrize("name", SIZES)
def test_patches_that_training_drops_leave_the_others_in_their_places(name: str) -> None:
    """`ViT.forward_features` and `Learner`, in training mode, against the masked whole."""
    loaded = model_of_places(name)
    vit, prefix = loaded.vit, loaded.vit.config.num_prefix_tokens
    pixels = analyze(loaded, photo()).pixels[None].expand(3, -1, -1, -1)
    learner, heard = Learner(vit, others=2, neighbours=True), []
    handle = vit.blocks[-1].register_forward_pre_hook(lambda _module, args: heard.append(args[1]))
    vit.patch_keep = 0.5
    try:
        learner.train()
        torch.manual_seed(0)
        logits = vit(pixels)
        torch.manual_seed(0)
        outputs = learner(pixels)
    finally:
        handle.remove()
        vit.patch_keep = 1.0
        learner.eval()
    assert torch.equal(*heard)
    assert torch.equal(outputs.kept, heard[0][:, prefix:] - prefix)
    assert len({tuple(sorted(one)) for one in outputs.kept.tolist()}) == 3
    for picture, kept in enumerate(outputs.kept.tolist()):
        gone = [one for one in range(vit.config.num_patches) if one not in kept]
        for found in (logits, outputs.logits):
            assert_close(found[picture], removed(name, gone), atol=2e-4, rtol=2e-4)
    whole = learner(pixels)
    assert torch.equal(whole.kept[0], torch.arange(vit.config.num_patches))


def test_hooks_of_users_hear_tensors() -> None:
    """Forward, and backward, where a value of another type would silence torch's hooks."""
    vit, heard = tiny("cls").vit, []
    pixels = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    handles = [
        vit.blocks[1].register_forward_hook(
            lambda _module, args, out: heard.append((args[0], out))
        ),
        vit.blocks[1].register_full_backward_hook(lambda _module, _to, out: heard.append(out)),
    ]
    x = vit.norm_pre(vit.embed(pixels)).requires_grad_()
    vit.norm(torch.nn.Sequential(*vit.blocks)(x)).sum().backward()
    for handle in handles:
        handle.remove()
    (entered, left), (gradient,) = heard
    assert entered.shape == left.shape == gradient.shape == x.shape
    assert gradient.any()


def test_places_are_given_where_hooks_hear_them() -> None:
    """By keyword a hook of a block would not hear them, and a transplant would miss its tokens."""
    vit = tiny("cls").vit
    x = torch.zeros(1, 2, TINY["cls"].embed_dim)
    places = torch.tensor([[0, 3]])
    with pytest.raises(TypeError, match="positional-only"):
        vit.blocks[0](x, places=places)
    assert vit.blocks[0](x, places).shape == x.shape
