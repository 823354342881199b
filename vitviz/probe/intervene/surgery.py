"""Surgery: a list of interventions, checked together and applied to a pass by hooks."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar, cast

import torch
from PIL import Image, ImageFilter
from torch import Tensor

from ...errors import SelectionError
from ...languages import Message
from ...model.config import ViTConfig
from ...model.loaded import LoadedModel
from ...model.photograph import Photograph
from ...model.vit import Places, ViT
from ..capture.cuts import Cuts, Edges, among
from ..capture.grid import PatchGrid
from ..capture.recorder import listening
from ..capture.trace import Trace
from . import steering
from .chance import Chance
from .fooling import fool
from .intervention import (
    Add,
    Branch,
    ChangePositions,
    Cut,
    Even,
    Head,
    Intervention,
    Keep,
    Perturb,
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
        for intervention in self.interventions:
            intervention.check(self.config)
        object.__setattr__(self, "removed", self._removed())
        self._check_contradictions()
        object.__setattr__(self, "cuts", self._cuts())

    @property
    def present(self) -> Tensor:
        """Indices of the patches that are not taken out. (n,)"""
        return (~self.removed).nonzero().view(-1)

    @property
    def changes_pixels(self) -> bool:
        """Whether some pixels are no longer those of the photo."""
        return any(intervention.touches == "pixels" for intervention in self.interventions)

    # --- checks ---

    def _of(self, kind: type[Kind]) -> list[Kind]:
        return [
            intervention for intervention in self.interventions if isinstance(intervention, kind)
        ]

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
        for intervention in self.interventions:
            if not isinstance(intervention, Remove | Keep):
                for patch in intervention.numbers("patches"):
                    if self.removed[patch]:
                        raise _contradiction("removed_and", patch=patch, kind=intervention.kind)
            if intervention.same is not None and not intervention.again:
                fields = {name: getattr(intervention, name) for name in intervention.same}
                if (intervention.kind, *fields.values()) in before:
                    raise _contradiction(f"{intervention.kind}_twice", **fields)
                before.add((intervention.kind, *fields.values()))
        for off in (branch.layer for branch in self._of(Branch) if branch.branch == "attention"):
            for intervention in self.interventions:
                # An intervention in all layers may include one that is off; a named layer may not.
                in_attention = intervention.touches in ("edges", "heads") and not isinstance(
                    intervention, Branch
                )
                if in_attention and off in intervention.numbers("layers"):
                    raise _contradiction("branch_off", layer=off, kind=intervention.kind)

    def _cuts(self) -> Cuts | None:
        config, n = self.config, self.config.num_tokens
        patch = torch.arange(n) >= config.num_prefix_tokens
        sides = {
            "patches to prefix": (patch, ~patch),
            "prefix to patches": (~patch, patch),
            "patches to others": (patch, patch),
        }
        edges = []
        for cut in self._of(Cut):
            if isinstance(cut.edges, str):
                queries, keys = sides[cut.edges]
            else:
                queries, keys = torch.tensor(cut.edges).unbind(1)
            layers = None if cut.layers == "all" else frozenset(cut.layers)
            edges.append(Edges(queries, keys, layers, None if cut.heads == "all" else cut.heads))
        if not edges and not self.removed.any():
            return None
        prefix = torch.zeros(config.num_prefix_tokens, dtype=torch.bool)
        cuts = Cuts(torch.cat([prefix, self.removed]), tuple(edges), config.num_heads)
        for layer in range(config.depth):
            if (token := cuts.blind(layer)) is not None:
                raise SelectionError(Message("experiments.blind", token=token, layer=layer))
        return cuts

    # --- changes of the picture ---

    def picture(self, picture: Tensor, loaded: LoadedModel) -> Tensor:
        """Apply all changes of pixels to the picture, one intervention after the other.

        uint8 (h, w, C) -> the same. `loaded`: the model of the pass, which `Perturb` fools.
        """
        grid = PatchGrid.of(self.config)
        for intervention in self.interventions:
            if intervention.touches != "pixels":
                continue
            if isinstance(intervention, Perturb):
                picture = fool(loaded, picture, intervention).picture
                continue
            before, picture = picture, picture.clone()

            def patch(image: Tensor, index: int) -> Tensor:
                return grid.patch(image, grid.num_prefix_tokens + index)

            match intervention:
                case Replace():
                    source = _source(before, intervention, grid)
                    moves = [(source, index, index) for index in intervention.patches]
                case Swap(patches=(a, b)):
                    moves = [(before, a, b), (before, b, a)]
                case Shuffle():
                    order = _shuffled(grid, intervention)
                    moves = [(before, int(index), place) for place, index in enumerate(order)]
            for source, index, place in moves:
                patch(picture, place).copy_(patch(source, index))
        return picture

    def photograph(self, photograph: Photograph | None) -> Photograph | None:
        """Drop the crop of a photograph if pixels are changed: it would show the old patches."""
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
        """Index of the token whose position each token has. (N,); None: its own"""
        for change in self._of(ChangePositions):
            if change.by == "shuffled":
                order = Chance(change.seed, "positions").permutation(self.config.num_patches)
                first = self.config.num_prefix_tokens
                return torch.cat([torch.arange(first), first + order])
        return None

    def _without(self, part: str) -> bool:
        """Whether positions of this kind are off, alone or with all others."""
        return any(change.by in ("off", part) for change in self._of(ChangePositions))

    def traced(self, trace: Trace) -> Trace:
        """The trace of a pass, with its cut edges and its changed bias."""
        bias = None if self._without("bias off") else trace.bias
        if bias is not None:
            queries = None
            if any(map(self._query_edits, range(trace.depth))):
                layers = range(trace.depth)
                # Counted from 1, because 0 stands for a row that was set to 0.
                rows = torch.arange(1, trace.num_tokens + 1).view(1, 1, -1, 1)
                queries = torch.stack(
                    [self._edit_queries(i, rows, None).flatten() - 1 for i in layers]
                )
            bias = replace(bias, places=self.places, queries=queries)
        return replace(trace, cuts=self.cuts, bias=bias)

    # --- changes of the pass ---

    @contextmanager
    def applied(self, vit: ViT) -> Iterator[None]:
        """Apply the interventions to passes of this thread, until the block ends.

        If all tokens go through the blocks, removed patches are masked. If tokens come with their
        places, removed patches must not be among them.
        """
        device = next(vit.parameters()).device
        with listening() as listen:
            for intervention in self.interventions:
                if isinstance(intervention, ChangePositions):
                    self._listen_to_embedding(vit, listen)
                    self._listen_to_places(vit, listen)
                elif isinstance(intervention, Transplant):
                    self._listen_for_transplant(vit, listen, intervention, device)
                elif isinstance(intervention, Add):
                    self._listen_to_add(vit, listen, intervention)
            for layer in range(self.config.depth):
                self._listen_to_attention(vit, listen, layer)
            for branch in self._of(Branch):
                block = vit.blocks[branch.layer]
                first, second = (
                    (block.norm1, block.norm2) if block.post_norm else (block.ls1, block.ls2)
                )
                # Times 0 instead of zeros, so that the graph of a backward pass stays connected.
                listen(
                    (first if branch.branch == "attention" else second).register_forward_hook,
                    lambda _module, _args, out: out * 0,
                )
            if self.removed.any() and self.config.global_pool:
                listen(vit.norm.register_forward_hook, lambda _module, _args, out: self._stay(out))
            yield

    def _listen_to_embedding(self, vit: ViT, listen: Callable[..., None]) -> None:
        """Add other positions: redo the sum with the patches before positions were added."""
        patches: list[Tensor] = []

        def hear_patches(_module: object, _args: object, out: Tensor) -> None:
            patches[:] = [out]

        def place(_module: object, _args: object) -> Tensor:
            added = None if vit.pos_embed is None else self.positions(vit.pos_embed)
            return vit.join(patches[0], added)

        listen(vit.patch_embed.register_forward_hook, hear_patches)
        listen(vit.norm_pre.register_forward_pre_hook, place)

    def _listen_to_places(self, vit: ViT, listen: Callable[..., None]) -> None:
        """Change or switch off the rotary angles and the relative bias of the tokens."""

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
        self, vit: ViT, listen: Callable[..., None], transplanted: Transplant, device: torch.device
    ) -> None:
        taken = self._named(transplanted.patches)
        donor = torch.zeros(self.config.num_tokens, self.config.embed_dim)
        rows = min(len(donor), len(transplanted.donor.tokens))
        # With another number of patches only CLS is taken.
        donor[:rows] = transplanted.donor.tokens[:rows]
        taken, donor = taken[:, None].to(device), donor.to(device)

        def transplant(_module: object, args: Any, out: Tensor) -> Tensor:
            places = args[1] if len(args) > 1 else None  # all go through `norm_pre`
            some = slice(None) if places is None else places
            return torch.where(taken[some], donor[some].to(out.dtype), out)

        # Behind the module before the layer, so that a trace hears what really enters it.
        before = vit.blocks[transplanted.layer - 1] if transplanted.layer else vit.norm_pre
        listen(before.register_forward_hook, transplant)

    def _listen_to_add(self, vit: ViT, listen: Callable[..., None], change: Add) -> None:
        assert not isinstance(change.toward, str)
        directions = steering.directions(vit, change.toward)
        taken = self._named(change.patches)[:, None].to(directions.device)
        steps = change.factor * taken * directions

        def add(_module: object, args: Any, out: Tensor) -> Tensor:
            places = args[1] if len(args) > 1 else None
            length = steering.length(self._stay(out))
            return out + (length * (steps if places is None else steps[places])).to(out.dtype)

        listen(vit.blocks[change.layer].register_forward_hook, add)

    def _named(self, patches: tuple[int, ...] | Literal["cls", "all"]) -> Tensor:
        """The tokens that "patches" of an intervention names. (N,) bool"""
        taken = torch.zeros(self.config.num_tokens, dtype=torch.bool)
        if patches == "cls":
            taken[0] = True
        elif patches == "all":
            taken[:] = True
        else:
            taken[[self.config.num_prefix_tokens + int(patch) for patch in patches]] = True
        return taken

    def _listen_to_attention(self, vit: ViT, listen: Callable[..., None], layer: int) -> None:
        attn = vit.blocks[layer].attn
        mask = self.cuts.mask(layer) if self.cuts else None

        def ask(_module: object, args: Any, qkv: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            (q, k, v), places = qkv, args[3]
            return self._edit_queries(layer, q, places), k, v

        def add(_module: object, args: Any, bias: Tensor) -> Tensor:
            return self._edit_queries(layer, bias, args[0])

        if self._query_edits(layer):
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
        if any(edit.layer == layer for edit in self._of(Head)):
            listen(
                attn.mixed.register_forward_hook,
                lambda _module, _args, mixed: self.heads_off(layer, mixed),
            )

    def _query_edits(self, layer: int) -> list[Even | Scramble]:
        kinds = (edit for edit in self.interventions if isinstance(edit, Even | Scramble))
        return [edit for edit in kinds if _has(edit.layers, layer)]

    def _edit_queries(self, layer: int, rows: Tensor, places: Places) -> Tensor:
        """Apply the row edits of a layer to a tensor with one row per query. (B, H, n, ...)"""
        for edit in self._query_edits(layer):
            rows = self._queries(edit, rows, places)
        return rows

    def _queries(self, edit: Even | Scramble, q: Tensor, places: Places) -> Tensor:
        """Set some rows of q to 0, or reorder the rows of the patches. (B, H, n, d)"""
        first = self.config.num_prefix_tokens
        if isinstance(edit, Even):
            rows = {"cls": slice(0, 1), "patches": slice(first, None), "all": slice(None)}[
                edit.rows
            ]
            q = q.clone()
            q[:, :, rows] = 0
            return q
        # Each patch has a random rank; the patches that stay are ordered by it.
        ranks = Chance(edit.seed, "scramble").permutation(self.config.num_patches)
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
        """Apply the `Head` interventions of a layer to the output of its heads. (B, H, n, d)

        The same applies to their gradients: 0 for a head that is off; for a head set to its mean,
        only the mean over the tokens counts.
        """
        for edit in self._of(Head):
            if edit.layer != layer:
                continue
            mixed, alone = mixed.clone(), mixed[:, edit.head]
            if edit.by == "zero":
                mixed[:, edit.head] = 0
            else:
                mixed[:, edit.head] = self._stay(alone).mean(dim=1, keepdim=True)
        return mixed

    def shares(self, trace: Trace, layer: int, token: int) -> Tensor:
        """The shares of `trace.attention_from` with which a layer really mixes values. (H, N)

        0 for a head, or an attention, that is off; for a head set to its mean, those of all tokens
        that stay, on average.
        """
        off = (branch.layer for branch in self._of(Branch) if branch.branch == "attention")
        if layer in off:
            return torch.zeros_like(trace.attention_from(layer, token))
        if any(edit.layer == layer for edit in self._of(Head)):
            return self.heads_off(layer, trace.attention(layer)[None])[0, :, token]
        return trace.attention_from(layer, token)

    def _stay(self, x: Tensor) -> Tensor:
        """The tokens that are not removed; a shorter sequence has none of those. (B, n, D)"""
        if x.shape[1] < self.config.num_tokens:
            return x
        prefix = torch.ones(self.config.num_prefix_tokens, dtype=torch.bool)
        return x[:, torch.cat([prefix, ~self.removed]).to(x.device)]


def _contradiction(key: str, **values: object) -> SelectionError:
    return SelectionError(Message(f"experiments.{key}", **values))


def _has(layers: Some, layer: int) -> bool:
    return layers == "all" or layer in layers


def _source(picture: Tensor, change: Replace, grid: PatchGrid) -> Tensor:
    """A picture of the same size, from which patches are copied. uint8 (h, w, C)"""
    match change.by:
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
            noise = Chance(change.seed, "noise").below([256] * picture.numel())
            return noise.to(torch.uint8).view_as(picture)


def _shuffled(grid: PatchGrid, change: Shuffle) -> Iterable[int]:
    """Index of the patch that moves to each place when cells are shuffled. (P,)"""
    rows, cols, side = grid.rows, grid.cols, change.cells
    places = torch.arange(rows * cols).view(rows // side, side, cols // side, side)
    cells = places.permute(0, 2, 1, 3).reshape(-1, side, side)  # (cells, side, side)
    order = Chance(change.seed, "shuffle").permutation(len(cells))
    moved = cells[order].view(rows // side, cols // side, side, side)
    return moved.permute(0, 2, 1, 3).flatten()
