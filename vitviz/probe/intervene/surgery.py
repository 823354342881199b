"""Surgery: a list of interventions, checked together and applied to a pass by hooks."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import torch
from PIL import Image, ImageFilter
from torch import Tensor

from ...errors import SelectionError
from ...languages import Message
from ...model.config import ViTConfig
from ...model.photograph import Photograph
from ...model.vit import Places, ViT
from ..capture.cuts import Cuts, Edges, among
from ..capture.grid import PatchGrid
from ..capture.recorder import listening
from ..capture.trace import Trace
from .chance import Chance
from .intervention import (
    Branch,
    ChangePositions,
    Cut,
    Even,
    Head,
    Intervention,
    Keep,
    Remove,
    Replace,
    Scramble,
    Shuffle,
    Some,
    Swap,
    Transplant,
)

Kind = TypeVar("Kind", bound=Intervention)


@dataclass(frozen=True, eq=False)
class Surgery:
    """Interventions that fit a model and each other; `Surgery(interventions, config)` checks both.

    Raises `SelectionError` with a sentence for what the model does not have, for interventions that
    contradict each other, and where nothing would be left to look at.
    """

    interventions: tuple[Intervention, ...]
    config: ViTConfig
    removed: Tensor = field(init=False)  # (P,) bool
    cuts: Cuts | None = field(init=False)

    def __post_init__(self) -> None:
        for one in self.interventions:
            one.check(self.config)
        object.__setattr__(self, "removed", self._removed())
        self._check_contradictions()
        object.__setattr__(self, "cuts", self._cuts())

    @property
    def present(self) -> Tensor:
        """The patches that are not taken out. (n,) indices of patches"""
        return (~self.removed).nonzero().view(-1)

    @property
    def changes_pixels(self) -> bool:
        """Whether some pixels are no longer those of the photo."""
        return any(one.touches == "pixels" for one in self.interventions)

    # --- checks ---

    def _of(self, kind: type[Kind]) -> list[Kind]:
        return [one for one in self.interventions if isinstance(one, kind)]

    def _removed(self) -> Tensor:
        removed = torch.zeros(self.config.num_patches, dtype=torch.bool)
        for remove in self._of(Remove):
            removed[list(remove.patches)] = True
        for keep in self._of(Keep):
            if (both := [patch for patch in keep.patches if removed[patch]]) and self._of(Remove):
                raise _contradiction("removed_and_kept", patch=both[0])
        for keep in self._of(Keep):
            others = torch.ones_like(removed)
            others[list(keep.patches)] = False
            removed |= others
        if removed.all():
            raise SelectionError(Message("experiments.nothing_left"))
        return removed

    def _check_contradictions(self) -> None:
        before: set[tuple[object, ...]] = set()
        for one in self.interventions:
            if not isinstance(one, Remove | Keep):
                for patch in one.numbers("patches"):
                    if self.removed[patch]:
                        raise _contradiction("removed_and", patch=patch, kind=one.kind)
            if one.same is not None and not one.again:
                fields = {name: getattr(one, name) for name in one.same}
                if (one.kind, *fields.values()) in before:
                    raise _contradiction(f"{one.kind}_twice", **fields)
                before.add((one.kind, *fields.values()))
        for off in (one.layer for one in self._of(Branch) if one.branch == "attention"):
            for one in self.interventions:
                # What is meant for all layers may meet one that is off; a layer named may not.
                in_attention = one.touches in ("edges", "heads") and not isinstance(one, Branch)
                if in_attention and off in one.numbers("layers"):
                    raise _contradiction("branch_off", layer=off, kind=one.kind)

    def _cuts(self) -> Cuts | None:
        config, n = self.config, self.config.num_tokens
        patch = torch.arange(n) >= config.num_prefix_tokens
        sides = {
            "patches to prefix": (patch, ~patch),
            "prefix to patches": (~patch, patch),
            "patches to others": (patch, patch),
        }
        edges = []
        for one in self._of(Cut):
            if isinstance(one.edges, str):
                queries, keys = sides[one.edges]
            else:
                queries, keys = torch.tensor(one.edges).unbind(1)
            layers = None if one.layers == "all" else frozenset(one.layers)
            edges.append(Edges(queries, keys, layers, None if one.heads == "all" else one.heads))
        if not edges and not self.removed.any():
            return None
        prefix = torch.zeros(config.num_prefix_tokens, dtype=torch.bool)
        cuts = Cuts(torch.cat([prefix, self.removed]), tuple(edges), config.num_heads)
        for layer in range(config.depth):
            if (token := cuts.blind(layer)) is not None:
                raise SelectionError(Message("experiments.blind", token=token, layer=layer))
        return cuts

    # --- what is done to the picture ---

    def picture(self, picture: Tensor) -> Tensor:
        """The picture with what is done to its pixels, one intervention after the other.

        uint8 (h, w, C) -> the same.
        """
        grid = PatchGrid.of(self.config)
        for one in self.interventions:
            if one.touches != "pixels":
                continue
            before, picture = picture, picture.clone()

            def patch(image: Tensor, index: int) -> Tensor:
                return grid.patch(image, grid.num_prefix_tokens + index)

            match one:
                case Replace():
                    source = _source(before, one, grid)
                    moves = [(source, index, index) for index in one.patches]
                case Swap(patches=(a, b)):
                    moves = [(before, a, b), (before, b, a)]
                case Shuffle():
                    order = _shuffled(grid, one)
                    moves = [(before, int(index), place) for place, index in enumerate(order)]
            for source, index, place in moves:
                patch(picture, place).copy_(patch(source, index))
        return picture

    def photograph(self, photograph: Photograph | None) -> Photograph | None:
        """Without its crop if pixels are changed: it would show the patches as they were."""
        return replace(photograph, crop=None) if photograph and self.changes_pixels else photograph

    def positions(self, pos_embed: Tensor) -> Tensor:
        """The position embedding that is added in this pass. (1, N or P, D) -> the same"""
        if self._without("learned off"):
            return torch.zeros_like(pos_embed)
        if (places := self.places) is None:
            return pos_embed
        count = self.config.num_patches
        order = places[-count:].to(pos_embed.device) - self.config.num_prefix_tokens
        return torch.cat([pos_embed[:, :-count], pos_embed[:, -count:][:, order]], dim=1)

    @property
    def places(self) -> Tensor | None:
        """The token whose position each token has in this pass. (N,); None: each its own"""
        for one in self._of(ChangePositions):
            if one.by == "shuffled":
                order = Chance(one.seed, "positions").permutation(self.config.num_patches)
                first = self.config.num_prefix_tokens
                return torch.cat([torch.arange(first), first + order])
        return None

    def _without(self, part: str) -> bool:
        """Whether positions of one kind are off, by this name or with all others."""
        return any(one.by in ("off", part) for one in self._of(ChangePositions))

    def traced(self, trace: Trace) -> Trace:
        """The trace of a pass, with the edges that it did not have and the bias that it had."""
        bias = None if self._without("bias off") else trace.bias
        if bias is not None:
            queries = None
            if any(map(self._asking, range(trace.depth))):
                layers = range(trace.depth)
                # Counted from 1, so that 0 is a row that was set to 0.
                rows = torch.arange(1, trace.num_tokens + 1).view(1, 1, -1, 1)
                queries = torch.stack([self._asked(i, rows, None).flatten() - 1 for i in layers])
            bias = replace(bias, places=self.places, queries=queries)
        return replace(trace, cuts=self.cuts, bias=bias)

    # --- what is done to the pass ---

    @contextmanager
    def applied(self, vit: ViT) -> Iterator[None]:
        """Passes of this thread go as the interventions say, until the block ends.

        Patches that are removed are masked where all tokens go through the blocks. Where tokens
        come with their places, those that are removed must not be among them.
        """
        device = next(vit.parameters()).device
        with listening() as listen:
            for one in self.interventions:
                if isinstance(one, ChangePositions):
                    self._listen_to_embedding(vit, listen)
                    self._listen_to_places(vit, listen)
                elif isinstance(one, Transplant):
                    self._listen_for_transplant(vit, listen, one, device)
            for layer in range(self.config.depth):
                self._listen_to_attention(vit, listen, layer)
            for branch in self._of(Branch):
                block = vit.blocks[branch.layer]
                first, second = (
                    (block.norm1, block.norm2) if block.post_norm else (block.ls1, block.ls2)
                )
                # Times 0 and not zeros: the graph of a backward pass goes on through it.
                listen(
                    (first if branch.branch == "attention" else second).register_forward_hook,
                    lambda _module, _args, out: out * 0,
                )
            if self.removed.any() and self.config.global_pool:
                listen(vit.norm.register_forward_hook, lambda _module, _args, out: self._stay(out))
            yield

    def _listen_to_embedding(self, vit: ViT, listen: Callable[..., None]) -> None:
        """Add other positions: the sum is made again, from what was there before positions."""
        patches: list[Tensor] = []

        def hear_patches(_module: object, _args: object, out: Tensor) -> None:
            patches[:] = [out]

        def place(_module: object, _args: object) -> Tensor:
            added = None if vit.pos_embed is None else self.positions(vit.pos_embed)
            return vit.join(patches[0], added)

        listen(vit.patch_embed.register_forward_hook, hear_patches)
        listen(vit.norm_pre.register_forward_pre_hook, place)

    def _listen_to_places(self, vit: ViT, listen: Callable[..., None]) -> None:
        """Other angles and another bias, or none, where attention asks for those of its tokens."""

        def moved(_module: object, args: Any) -> Any:
            order = cast(Tensor, self.places).to(vit.blocks[0].attn.qkv.weight.device)
            return (order[None] if args[0] is None else order[args[0]]), *args[1:]

        for block in vit.blocks:
            parts = (block.attn.angles, "rotary off"), (block.attn.score_bias.relative, "bias off")
            for part, name in parts:
                if part is None:
                    continue
                if self._without(name):
                    listen(part.register_forward_hook, lambda _module, _args, out: out * 0)
                elif self.places is not None:
                    listen(part.register_forward_pre_hook, moved)

    def _listen_for_transplant(
        self, vit: ViT, listen: Callable[..., None], one: Transplant, device: torch.device
    ) -> None:
        n, first = self.config.num_tokens, self.config.num_prefix_tokens
        taken = torch.zeros(n, dtype=torch.bool)
        if one.patches == "cls":
            taken[0] = True
        elif one.patches == "all":
            taken[:] = True
        else:
            taken[[first + patch for patch in one.patches]] = True
        donor = torch.zeros(n, self.config.embed_dim)
        rows = min(n, len(one.donor.tokens))
        donor[:rows] = one.donor.tokens[:rows]  # of another number of patches only CLS is taken
        taken, donor = taken[:, None].to(device), donor.to(device)

        def transplant(_module: object, args: Any, out: Tensor) -> Tensor:
            places = args[1] if len(args) > 1 else None  # all go through `norm_pre`
            some = slice(None) if places is None else places
            return torch.where(taken[some], donor[some].to(out.dtype), out)

        # Behind the module before the layer, so that a trace hears what really enters it.
        before = vit.blocks[one.layer - 1] if one.layer else vit.norm_pre
        listen(before.register_forward_hook, transplant)

    def _listen_to_attention(self, vit: ViT, listen: Callable[..., None], layer: int) -> None:
        attn = vit.blocks[layer].attn
        mask = self.cuts.mask(layer) if self.cuts else None

        def ask(_module: object, args: Any, qkv: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            (q, k, v), places = qkv, args[3]
            return self._asked(layer, q, places), k, v

        def add(_module: object, args: Any, bias: Tensor) -> Tensor:
            return self._asked(layer, bias, args[0])

        if self._asking(layer):
            listen(attn.tap.register_forward_hook, ask)
            if attn.score_bias.relative is not None:
                listen(attn.score_bias.register_forward_hook, add)
        if mask is not None:
            like = attn.qkv.weight
            whole = like.new_zeros(mask.shape).masked_fill_(mask.to(like.device), -torch.inf)[None]

            def cut(_module: object, args: Any, bias: Tensor | None) -> Tensor:
                places, n_queries = args
                edges = whole if places is None else among(whole, places)
                edges = edges[:, :, :n_queries]
                return edges if bias is None else edges + bias

            listen(attn.score_bias.register_forward_hook, cut)
        if any(one.layer == layer for one in self._of(Head)):
            listen(
                attn.mixed.register_forward_hook,
                lambda _module, _args, mixed: self.heads_off(layer, mixed),
            )

    def _asking(self, layer: int) -> list[Even | Scramble]:
        kinds = (one for one in self.interventions if isinstance(one, Even | Scramble))
        return [one for one in kinds if _has(one.layers, layer)]

    def _asked(self, layer: int, rows: Tensor, places: Places) -> Tensor:
        """What belongs to the queries of a layer, as they are in this pass. (B, H, n, ...)"""
        for one in self._asking(layer):
            rows = self._queries(one, rows, places)
        return rows

    def _queries(self, one: Even | Scramble, q: Tensor, places: Places) -> Tensor:
        """q of a layer with some rows set to 0, or in another order. (B, H, n, d)"""
        first = self.config.num_prefix_tokens
        if isinstance(one, Even):
            rows = {"cls": slice(0, 1), "patches": slice(first, None), "all": slice(None)}[one.rows]
            q = q.clone()
            q[:, :, rows] = 0
            return q
        # Each patch has a random rank; those that stay go by theirs.
        ranks = Chance(one.seed, "scramble").permutation(self.config.num_patches)
        ranks = torch.where(self.removed, len(ranks), ranks)
        index = (
            torch.arange(len(ranks))[None] if places is None else places[:, first:].cpu() - first
        )
        order = ranks[index].argsort(dim=1).to(q.device)
        if places is None and self.removed.any():
            stay = self.present.to(q.device)
            whole = torch.arange(len(ranks), device=q.device)
            whole[stay] = order[0, : len(stay)]
            order = whole[None]
        order = order[:, None, :, None].expand(len(q), q.shape[1], -1, q.shape[3])
        return torch.cat([q[:, :, :first], q[:, :, first:].gather(2, order)], dim=2)

    def heads_off(self, layer: int, mixed: Tensor) -> Tensor:
        """What the heads of a layer gathered, without those that are off. (B, H, n, d)

        The same is done to gradients: of a head that is off nothing matters, of one set to its mean
        only the sum over the tokens.
        """
        for one in self._of(Head):
            if one.layer != layer:
                continue
            mixed, alone = mixed.clone(), mixed[:, one.head]
            if one.by == "zero":
                mixed[:, one.head] = 0
            else:
                mixed[:, one.head] = self._stay(alone).mean(dim=1, keepdim=True)
        return mixed

    def _stay(self, x: Tensor) -> Tensor:
        """The tokens that are not removed; a shorter sequence holds no others. (B, n, D)"""
        if x.shape[1] < self.config.num_tokens:
            return x
        prefix = torch.ones(self.config.num_prefix_tokens, dtype=torch.bool)
        return x[:, torch.cat([prefix, ~self.removed]).to(x.device)]


def _contradiction(key: str, **values: object) -> SelectionError:
    return SelectionError(Message(f"experiments.{key}", **values))


def _has(layers: Some, layer: int) -> bool:
    return layers == "all" or layer in layers


def _source(picture: Tensor, one: Replace, grid: PatchGrid) -> Tensor:
    """A picture of the same size, that patches are replaced from. uint8 (h, w, C)"""
    match one.by:
        case "black":
            return torch.zeros_like(picture)
        case "mean":
            mean = picture.float().mean(dim=(0, 1)).round().to(torch.uint8)
            return mean.expand_as(picture)
        case "blur":
            pixels = Image.fromarray(picture.squeeze(-1).numpy())
            blurred = pixels.filter(ImageFilter.GaussianBlur(max(grid.patch_size) / 2))
            return torch.frombuffer(bytearray(blurred.tobytes()), dtype=torch.uint8).view_as(
                picture
            )
        case _:
            noise = Chance(one.seed, "noise").below([256] * picture.numel())
            return noise.to(torch.uint8).view_as(picture)


def _shuffled(grid: PatchGrid, one: Shuffle) -> Iterable[int]:
    """Which patch comes to each place, when the cells of the picture are shuffled. (P,)"""
    rows, cols, side = grid.rows, grid.cols, one.cells
    places = torch.arange(rows * cols).view(rows // side, side, cols // side, side)
    cells = places.permute(0, 2, 1, 3).reshape(-1, side, side)  # (cells, side, side)
    order = Chance(one.seed, "shuffle").permutation(len(cells))
    moved = cells[order].view(rows // side, cols // side, side, side)
    return moved.permute(0, 2, 1, 3).flatten()
