"""Analysis: a model, a photo, and the pass of the photo through the model; `analyze` makes it."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from ..errors import ImageError, SelectionError, VitvizError
from ..languages import ENGLISH, Message, say
from ..model.json_values import short
from ..model.labels import are_digits
from ..model.loaded import LoadedModel, ModelCard, check_runs
from ..model.photo import Photo, open_photo
from ..model.photo_levels import DARK_NOTE, STRETCHED_NOTE, has_note, look_of
from ..model.photograph import Photograph
from ..model.preprocess import Preprocess
from ..model.untrained import first_seed, start_of
from . import saved
from .capture.grid import PatchGrid
from .capture.selection import count_of
from .capture.trace import Trace
from .explain import explainers, fairness, perturb
from .explain.case import Case
from .explain.likeness import likened, likeness_in, own_vector, vector_of
from .fooled import Fooled
from .forward import Pass, forward, trace_with_values
from .intervene import fooling
from .intervene.intervention import Intervention, Perturb
from .intervene.intervention import read as read_interventions
from .intervene.surgery import Surgery
from .measure import inside
from .measure.embedding import Embedding
from .measure.filters import Filters
from .measure.heads import HeadStatistics, head_statistics
from .measure.ink import is_dark_on_light, taught_light_ink_only
from .measure.lens import Line, lines
from .measure.mixing import Mix, Mixing, hidden_sums, mix, mixing
from .measure.numbers import percent
from .measure.phrases import not_taught, phrase
from .measure.positions import Positions, similarity, untrained_positions
from .measure.predictions import (
    Answer,
    Group,
    KnownOrNot,
    Prediction,
    Results,
    class_named,
    classes_of,
    most_probable,
    results_of,
)
from .measure.shapes import Step, steps
from .measure.turning import Turn, turn_of
from .normalised import unnormalised
from .summary import facts
from .verify import is_of, verify

# For functions whose tensors may take part in a backward pass: they run outside of the caller's
# torch.inference_mode().
OUTSIDE = torch.inference_mode(False)
log = logging.getLogger("vitviz.explain")
Class = int | str | None  # number or name of a class; None: the model's answer


@dataclass(frozen=True, eq=False, kw_only=True)
class Analysis:
    """A model's pass on a photo, with all results. Every view, file and API reads its numbers here.

    About the model:
    positions   the learned position embedding; None for a model without one
    loaded      the model itself, to run it or read its weights; None after reading a file
    About the photo:
    inverted    whether light and dark were exchanged before the model saw it
    photograph  the part that the model saw, with finer pixels, for the eye; None if there are none
    About the pass:
    pass_       its interventions, and the numbers that the model computed
    """

    card: ModelCard
    preprocess: Preprocess
    positions: Positions | None
    loaded: LoadedModel | None = None
    photo_name: str = ""
    notes: tuple[str, ...] = ()
    inverted: bool = False
    photograph: Photograph | None = None
    pass_: Pass

    _repr_html_: ClassVar[Callable[["Analysis"], str]]  # for a notebook; `public.py` puts it in

    @property
    def grid(self) -> PatchGrid:
        return PatchGrid.of(self.card.config)

    @property
    def picture(self) -> Tensor:
        return self.pass_.picture

    @property
    def pixels(self) -> Tensor:
        return self.pass_.pixels

    @property
    def trace(self) -> Trace:
        return self.pass_.trace

    @property
    def embedding(self) -> Embedding | None:
        return self.pass_.embedding

    @property
    def lens(self) -> Tensor | None:
        return self.pass_.lens

    @property
    def interventions(self) -> tuple[Intervention, ...]:
        """The interventions of this pass, in order; () for the intact model."""
        return self.pass_.surgery.interventions

    def __repr__(self) -> str:
        """One line: the photo, the model, its sizes, and the answer."""
        trace = self.trace
        sizes = f"{trace.depth} layers x {trace.num_heads} heads x {trace.num_tokens} tokens"
        if (answer := self.answer()) is None:
            answer_text = "no class names"
        elif not self.card.trained:
            answer_text = "no answer: it is untrained"
        elif answer.known is False:
            answer_text = not_taught(answer, self.card)
        elif answer.outputs != "one_of":
            answer_text = phrase(answer, self.card)
        else:
            unsure = "not sure, " if answer.sure is False else ""
            name = f"maybe {answer.name}" if answer.level == "maybe" else f'"{answer.name}"'
            answer_text = f"{unsure}{name} {percent(answer.number, 0)}"
        answer_text += f", {self.changes()}" if self.interventions else ""
        photo = self.photo_name or "a photo"
        photo += " stretched" * self.stretched + " inverted" * self.inverted
        line = f"Analysis({photo}, {self.card.name}: {sizes}, {answer_text})"
        return "".join(letter if letter.isprintable() else "\ufffd" for letter in line)

    def changes(self) -> str:
        """A caption that names the changes of this pass; "" for the intact model."""
        if not self.interventions:
            return ""
        changes = tuple(change.sentence() for change in self.interventions)
        return Message("experiments.changed", changes=changes)

    @property
    def removed(self) -> list[int]:
        """The patches that were taken out of this pass, in order."""
        return self.pass_.surgery.removed.nonzero().view(-1).tolist()

    def predictions(self, k: int = 5) -> tuple[Prediction, ...]:
        """The k most probable classes, best first; of values the first k. () for a model that names
        no classes.
        """
        return self._results(k).predictions

    def groups(self, k: int = 5) -> tuple[Group, ...]:
        """The k most probable groups of classes, best first; () where classes have no groups."""
        return self._results(k).groups

    def answer(self) -> Answer | None:
        """The answer; None for a model that names no classes. `answer_text` is its text."""
        return self._results().answer

    def answer_text(self, language: str = ENGLISH) -> str:
        """The answer as the headline of the page tells it; "" for a model that names no classes."""
        answer = self.answer()
        return "" if answer is None else say(phrase(answer, self.card, language), language)

    def known_or_not(self) -> KnownOrNot | None:
        """Whether the picture shows one of the classes, by the score and threshold of the model.

        None for a model without a threshold (`vitviz train --others` and `vitviz.teach` set one),
        or that names no classes.
        """
        return self._results().known_or_not

    def not_taught(self) -> str | None:
        """The sentence that the picture shows none of the classes, with the nearest of them.

        None where it shows one of them, as far as the model can tell.
        """
        answer = self.answer()
        return not_taught(answer, self.card) if answer and answer.known is False else None

    @property
    def stretched(self) -> bool:
        """Whether the levels of the photo were stretched over the whole range, as `notes` say."""
        return has_note(self.notes, STRETCHED_NOTE)

    def is_dark(self) -> bool:
        """Whether the highest level of the photo stays below half of its range, as `notes` say:
        `analyze(..., stretch=True)` shows it as bright as it can be.
        """
        return has_note(self.notes, DARK_NOTE)

    def dark_ink(self) -> bool:
        """Whether the picture shows dark strokes on light to a model that was taught the opposite
        alone: its answer means little, and `analyze(..., invert=True)` shows it what it knows.
        """
        return taught_light_ink_only(self.card, self.preprocess) and is_dark_on_light(self.picture)

    def lens_lines(self, k: int = 5) -> tuple[Line, ...]:
        """The classes worth following through the layers, by the logit lens: the last layer's
        first k, and the first of any other layer. () where `lens` is None, and of values, which
        no layer answers more than another.
        """
        if self.lens is None:
            return ()
        card = self.card
        return lines(self.lens, card.labels or (), card.temperature, count_of(k), card.outputs)

    def _results(self, k: int = 5) -> Results:
        return results_of(self.trace.logits, classes_of(self.card), count_of(k))

    def attention(
        self,
        layer: int,
        head: int | None = None,
        token: int = 0,
        direction: Literal["from", "to"] = "from",
    ) -> Tensor:
        """Attention from or to a token in one head; `head` None: the mean of all heads. (N,)

        "from": where `token` looks; sums to 1. "to": how much each token looks at it.
        Raises `SelectionError` for a layer, head or token that the model does not have.
        """
        heads = self.attention_of_heads(layer, token, direction)
        return heads.mean(dim=0) if head is None else heads[self.trace.check_head(head)]

    def attention_of_heads(
        self, layer: int, token: int = 0, direction: Literal["from", "to"] = "from"
    ) -> Tensor:
        """Attention from or to a token, in every head of a layer. (H, N)

        Raises `SelectionError` for a layer or token that the model does not have.
        """
        if direction not in ("from", "to"):
            raise SelectionError(f'direction must be "from" or "to", got {direction!r}')
        listen = self.trace.attention_from if direction == "from" else self.trace.attention_to
        return listen(layer, token)

    def attention_matrix(self, layer: int, head: int | None = None) -> Tensor:
        """The whole attention map of one head; None: the mean of all. (N, N), [query, key]

        Rows sum to 1. Raises `SelectionError` for a layer or head that the model does not have.
        """
        if head is not None:
            return self.trace.attention_of(layer, head)
        heads = range(self.trace.num_heads)  # one at a time: maps of many tokens are large
        maps = (self.trace.attention_of(layer, head) for head in heads)
        return sum(maps, torch.zeros(())) / len(heads)

    def rollout(
        self,
        token: int = 0,
        layer: int | None = None,
        *,
        head_fusion: explainers.HeadFusion = "mean",
        residual: float = 0.5,
        first: int = 0,
    ) -> Tensor:
        """Attention rollout for a token, through layers `first` to `layer`. (N,), sums to 1

        `layer` None: the last one.
        """
        return explainers.rollout(
            self.trace, token, head_fusion=head_fusion, residual=residual, first=first, last=layer
        )

    def mixing(self, layer: int, loaded: LoadedModel | None = None) -> Mixing:
        """The changes that the attention of a layer makes to the tokens, by head; see `Mixing`.

        Raises `SelectionError` for a layer that the model does not have, and if
        `changed_behind_the_mix`. An analysis read from a file does not hold its model: pass it, or
        `VitvizError` is raised.
        """
        loaded = self._model(loaded, "mixing")
        if self.changed_behind_the_mix:
            raise SelectionError(
                "a head or a branch was changed in this pass: it adds something else"
            )
        return mixing(self.trace, loaded.vit, layer)

    @property
    def changed_behind_the_mix(self) -> bool:
        """Whether an intervention changed what heads add to the tokens, which `mixing` refuses."""
        return any(change.touches == "heads" for change in self.interventions)

    def mix(self, layer: int, head: int, token: int = 0, loaded: LoadedModel | None = None) -> Mix:
        """The part of one head, and of all heads, in the change of a token; see `Mix`.

        Raises `SelectionError` for a layer, head or token that the model does not have, and
        `VitvizError` as `mixing` does.
        """
        mixing = self.mixing(layer, self._model(loaded, "mix"))
        return mix(self.trace, mixing, layer, head, token)

    def hidden_sums(self, layer: int, loaded: LoadedModel | None = None) -> Tensor:
        """The sum of each hidden unit of a layer's MLP at each token, before the activation.

        (N, hidden); of a gated MLP those of the gate. Raises as `mixing` does.
        """
        loaded = self._model(loaded, "hidden_sums")
        return hidden_sums(self.trace, self.mixing(layer, loaded), loaded.vit, layer)

    @OUTSIDE
    def explain(
        self,
        key: str,
        token: int = 0,
        target: "Target" = None,
        *,
        loaded: LoadedModel | None = None,
        **options: Any,
    ) -> Tensor:
        """How much every token matters, by one of `EXPLAINERS`. (N,)

        token   the query token, for explainers that have one; 0 is CLS in most models. If an
                attention pool gathers the answer (SigLIP), its query is used instead
        target  the class to explain, its number or name; None: the model's answer; two classes:
                the difference of their logits, the first minus the second; a vector (D,), such as
                the pooled features of another picture: its cosine with those of this one, see
                `likeness`; the analysis of another picture in the same model: the same, of its
                vector
        loaded  the model, for an analysis read from a file, which does not hold it
        options `layer` and `head` of attention; `head_fusion`, `residual`, `first` and `last` of
                rollout; `layer` of grad_cam; `baseline` and `steps` of integrated_gradients

        Where integrated gradients do not add up to the rise of the score by more than 5 % of it,
        this is logged as a warning, and `gap` gives the number.
        Raises `SelectionError` for what does not exist: an explainer, a token, a class, an option;
        and `VitvizError` if the model has to run and is not at hand.
        """
        explainer = explainers.chosen(key)
        case = self.case(key, target=target, loaded=loaded)
        values = explainer(case, token, **options)
        if sentence := explainers.gap_sentence(explainer, case, values, **options):
            log.warning("%s", sentence)
        return values

    @OUTSIDE
    def gap(
        self,
        values: Tensor,
        target: "Target" = None,
        *,
        loaded: LoadedModel | None = None,
        **options: Any,
    ) -> float:
        """How far the values of integrated gradients, (N,), are from adding up to the rise of the
        score from the baseline to the picture, as a share of that rise; 0 if they do.

        target, loaded, options  those with which `explain` made the values
        """
        case = self.case("integrated_gradients", target=target, loaded=loaded)
        return perturb.gap(case, values, **options)

    @OUTSIDE
    def fair_test(
        self,
        *keys: str,
        token: int = 0,
        target: "Target" = None,
        loaded: LoadedModel | None = None,
        **options: Any,
    ) -> fairness.Removal:
        """Whether these explainers (all that the model has but noise if none is named) order the
        patches of this picture better than random orders, and than the centre; see
        `fairness.removal`, which has the options. `target`: a class; or as in `explain` a vector
        or another picture, the likeness to which the curves then follow. Two classes are refused.

        Raises as `explain` does, and `CancelledError`.
        """
        fitting = explainers.fitting(self.card.config)
        keys = keys or tuple(key for key in fitting if key != "random")
        if _is_likeness(target):
            case = self.case(*keys, target=target, loaded=loaded)
        else:
            fairness.check_outputs(self.card.outputs)
            index = self.class_index(target, "fair_test")  # type: ignore[arg-type]
            case = self.case(*keys, target=index, loaded=loaded)
            model = self._model(loaded, "fair_test")
            case = replace(case, vit=model.vit, target=index)
        maps = {key: explainers.EXPLAINERS[key](case, token) for key in keys}
        card = self.card
        return fairness.removal(
            case, maps, temperature=card.temperature, outputs=card.outputs, **options
        )

    @OUTSIDE
    def case(
        self,
        *keys: str,
        target: "Target" = None,
        loaded: LoadedModel | None = None,
    ) -> Case:
        """Input of these explainers (all that the model has if none is named), made with at most
        one more pass of the model; then `EXPLAINERS[key](case, token)` computes values.

        Raises as `explain` does.
        """
        keys = keys or explainers.fitting(self.card.config)
        requested = [explainers.chosen(key) for key in keys]
        chosen = [explainer.within(self.card.config) for explainer in requested]
        likeness = _is_likeness(target)
        runs = likeness or any(explainer.runs_the_model for explainer in chosen)
        loaded = self._model(loaded, "explain") if runs else None
        trace, index, other = self.trace, None, None
        if loaded and likeness:
            loaded, index = likened(loaded, self._vector(target, loaded)), 0
            trace = replace(trace, logits=self._likeness(loaded))
        elif of_class := [explainer.key for explainer in chosen if "class" in explainer.needs]:
            index, other = self._classes(target, of_class[0])
        needs = frozenset().union(*(explainer.needs for explainer in chosen))
        if loaded and ("gradients" in needs or ("values" in needs and trace.v is None)):
            wanted = index if "gradients" in needs else None
            trace = trace_with_values(loaded, self.pass_, wanted)
        if loaded and trace.g is not None and other is not None:
            # The gradient of a difference is the difference of the gradients.
            less = trace_with_values(loaded, self.pass_, other)
            assert less.g is not None
            trace = replace(trace, g=trace.g - less.g)
        return Case(
            trace=trace,
            grid=self.grid,
            pixels=self.pixels,
            vit=loaded.vit if loaded else None,
            target=index,
            other=other,
            likeness=likeness,
            liked=target.photo_name if isinstance(target, Analysis) else "",
            preprocess=self.preprocess,
            surgery=self.pass_.surgery,
        )

    @OUTSIDE
    def likeness(self, vector: Any, loaded: LoadedModel | None = None) -> float:
        """The cosine similarity of the features of this pass and a vector, from -1 to 1.

        vector  (D,), as wide as the pooled features behind the last norm (`vitviz.features`), or as
                the outputs of a model that names no classes (with CLIP, the embedding of a text);
                or the analysis of another picture in the same model, whose vector is taken

        An intervention that changes the likeness acts on what makes the pictures alike. Raises
        `SelectionError` for a vector of another width and a picture in another model, `VitvizError`
        if the model is not at hand.
        """
        if not _is_likeness(vector):
            raise SelectionError(f"a vector is needed, got {short(vector)}")
        model = self._model(loaded, "likeness")
        return float(self._likeness(likened(model, self._vector(vector, model))))

    def _vector(self, target: Any, loaded: LoadedModel) -> Tensor:
        """The vector of a target that is one, or of another analysis in this model. (D,)"""
        if not isinstance(target, Analysis):
            vector = vector_of(target)
            assert vector is not None
            return vector
        if target.card.key != self.card.key or not target._is_of(loaded):
            raise SelectionError("a likeness needs another picture in the same model")
        return own_vector(loaded, target.trace.tokens[-1], target.pass_.surgery)

    def _likeness(self, model: LoadedModel) -> Tensor:
        return likeness_in(self.trace.tokens[-1], self.pass_.surgery, model)

    def _classes(self, target: Any, key: str) -> tuple[int, int | None]:
        """The class to explain, and the one to subtract; None: none."""
        if isinstance(target, tuple) and len(target) != 2:
            raise SelectionError(f"target must be a class or two, got {short(target)}")
        target, second = target if isinstance(target, tuple) else (target, None)
        index = self.class_index(target, key)
        return index, None if second is None else self.class_index(second, key)

    def class_index(self, target: int | str | None, key: str = "target") -> int:
        """The number of a class; None is the class that the model answers, the first of values.

        Raises `SelectionError` for a class that the model does not have, for a model without
        classes, and for None if classes have no names: the largest output may be no answer then.
        """
        number = class_named(self.card, target, key)
        if number is not None:
            return number
        return int(most_probable(self.trace.logits, 1, self.card.outputs))

    @OUTSIDE
    def operate(
        self,
        interventions: Sequence[Intervention | Mapping[str, Any]],
        *,
        loaded: LoadedModel | None = None,
    ) -> "Analysis":
        """Run the same photo through the same model with interventions. Gives the result of
        `analyze(..., interventions=...)`, without opening the photo again.

        Raises `SelectionError` as `analyze` does, and for an analysis that was changed already;
        `VitvizError` if the model is not at hand.
        """
        surgery = Surgery(read_interventions(interventions, card=self.card), self.card.config)
        if self.interventions:
            raise SelectionError(Message("experiments.changed_already"))
        loaded = self._model(loaded, "operate")
        pass_ = forward(
            loaded, self.picture, surgery, values=self.trace.v is not None, pixels=self.pixels
        )
        seen = surgery.photograph(self.photograph)
        return replace(self, pass_=pass_, photograph=seen, loaded=loaded)

    @OUTSIDE
    def fool(
        self,
        target: Class = None,
        epsilon: int = 4,
        steps: int = 8,
        *,
        seed: int = 0,
        loaded: LoadedModel | None = None,
    ) -> Fooled:
        """Move each value of the picture by at most `epsilon` of 255 levels, so that the model
        answers another class, and see what random signs of the same size do (`seed` draws them).

        target   the class that it is to answer, its number or name; None: any but its answer
        epsilon  0 to 8; the picture stays one of whole levels from 0 to 255, as files hold it
        steps    most steps along the gradient, 1 to 32; it ends as soon as the new answer leads all
                 other classes by 0.05; see `intervene/fooling.py`

        Raises `SelectionError` for other values, for a model whose classes do not exclude each
        other or that names none, and for an analysis that was changed already; `VitvizError` if the
        model is not at hand.
        """
        fooling.check_classes(self.card)
        number = class_named(self.card, target, "fool")
        change = Perturb("away" if number is None else number, epsilon, steps, seed)
        loaded = self._model(loaded, "fool")
        control = self.operate([replace(change, target="random")], loaded=loaded)
        made = fooling.fool(loaded, self.picture, change)
        # `operate` would take the steps once more.
        pass_ = forward(
            loaded, made.picture, Surgery((), self.card.config), values=self.trace.v is not None
        )  # fmt: skip
        surgery = Surgery((change,), self.card.config)
        analysis = replace(control, pass_=replace(pass_, surgery=surgery))
        return Fooled(clean=self, analysis=analysis, control=control, steps=made.steps)

    def head_statistics(self) -> HeadStatistics:
        """Entropy and mean attention distance of every head. (L, H) each"""
        return head_statistics(self.trace, self.grid)

    def position_similarities(self) -> Tensor:
        """Cosine similarity of the positions of all patches. (P, P), in [-1, 1]

        Raises `SelectionError` if the model learned no position embedding.
        """
        if self.positions is None:
            raise SelectionError(Message("models.no_positions", name=self.card.name))
        return similarity(self.positions.patches)

    def position_similarity(self, token: int) -> Tensor:
        """Similarity of the position of one patch token to all others. (rows, cols), in [-1, 1]"""
        row, col = self.grid.row_col(token)
        return self.grid.to_map(self.position_similarities()[row * self.grid.cols + col])

    def filters(self, loaded: LoadedModel | None = None) -> Filters:
        """The principal components of the filters of the patch embedding.

        An analysis read from a file does not hold its model: pass it, or `VitvizError` is raised.
        """
        return Filters.of(self._model(loaded, "filters").vit.patch_embed.proj.weight)

    def normed_tokens(self, layer: int = -1, loaded: LoadedModel | None = None) -> Tensor:
        """The tokens after a block behind the model's last norm, as its head reads them. (N, D)

        After the last block these are DINOv2's `x_norm_clstoken`, `x_norm_regtokens` and
        `x_norm_patchtokens`, one after another. If the model's norm comes after its pooling, the
        tokens are returned without a norm. Pass the model of an analysis read from a file, or
        `VitvizError` is raised; `SelectionError` without such a layer.
        """
        vit = self._model(loaded, "normed_tokens").vit
        tokens = self.trace.tokens[self.trace.check_layer(layer) + 1]
        with torch.no_grad():
            return vit.norm(tokens.to(next(vit.parameters()).device)).float().cpu()

    def rotary_damping(
        self, layer: int, loaded: LoadedModel | None = None, *, token: int | None = None
    ) -> Tensor:
        """The factor by which rotary positions damp equal content, by the distance of two patches.

        (1 or H, 2 rows - 1, 2 cols - 1) in [-1, 1], see `measure.inside.rotary_damping`; for the
        query of a patch token with each patch as the key: (1 or H, rows, cols). Pass the
        model of an analysis read from a file, or `VitvizError` is raised; `SelectionError` for one
        without rotary positions.
        """
        layer = self.trace.check_layer(layer)
        ways = inside.rotary_damping(self._model(loaded, "rotary_damping").vit, layer)
        return ways if token is None else inside.around(ways, self.grid.row_col(token))

    def bias_pictures(self, layer: int, *, token: int | None = None) -> Tensor:
        """The relative bias added to scores in this pass, by the offset from key to query.

        (H, 2 rows - 1, 2 cols - 1), see `measure.inside.bias_pictures`, which names the errors;
        for the query of a patch token with each patch as the key: (H, rows, cols).
        """
        ways = inside.bias_pictures(self.trace.bias, self.trace.check_layer(layer))
        return ways if token is None else inside.around(ways, self.grid.row_col(token))

    def pooling_map(self, loaded: LoadedModel | None = None) -> Tensor:
        """Attention of the learned query that pools the tokens. (H, N), rows sum to 1

        See `measure.inside.Pool`. Pass the model of an analysis read from a file, or
        `VitvizError` is raised; `SelectionError` for a model that pools in another way.
        """
        return inside.pool_of(self._model(loaded, "pooling_map").vit, self.trace).shares

    def turn(
        self, layer: int, head: int, query: int, key: int, loaded: LoadedModel | None = None
    ) -> Turn:
        """Query and key of one attention value before rotary positions turned them; see `Turn`.

        Raises `SelectionError` for what the model does not have, and where positions were changed;
        `VitvizError` for an analysis read from a file without its model: pass it.
        """
        loaded = self._model(loaded, "turn")
        if any(change.kind in ("positions", "scramble") for change in self.interventions):
            raise SelectionError(
                "positions were changed or patches exchanged in this pass: it turned otherwise"
            )
        return turn_of(loaded.vit, self.trace, layer, head, query, key)

    @property
    def positions_seed(self) -> int | None:
        """The seed that the learned positions were first drawn with.

        None if the model has no learned positions, is untrained, or its seed is not known.
        """
        if self.positions is None or not self.card.trained:
            return None
        return first_seed(self.card.details)

    def untrained_positions(self) -> Positions | None:
        """The position embedding that the training of this model began with.

        None where `positions_seed` is None.
        """
        if self.positions_seed is None:
            return None
        start = start_of(self.card.details)
        return untrained_positions(self.card.config, self.card.resized_from, **start)

    def steps(self) -> tuple[Step, ...]:
        """The shapes of every step from pixels to logits."""
        return steps(self.card.config)

    def summary(self, k: int = 5) -> dict[str, Any]:
        """The results in JSON's types: model, photo, sizes, predictions, shapes, heads."""
        return {**self.facts(k), "heads": self.head_statistics().to_dict()}

    def facts(self, k: int = 5) -> dict[str, Any]:
        """The part of the summary that needs no attention map."""
        return facts(self, k)

    def verify(self, loaded: LoadedModel | None = None) -> float:
        """Run the model once more; return how far this trace is from what its blocks compute.

        For every layer softmax(scale q k^T) from this trace is multiplied with the block's values,
        sent through the block's projection and compared with the block's own attention output; so
        is what an attention pool gathers after them. The largest absolute difference is returned;
        float rounding leaves about 1e-5.
        An analysis read from a file does not hold its model: pass it, or `VitvizError` is raised.
        """
        return verify(self.pass_, self._model(loaded, "verify"))

    def _model(self, loaded: LoadedModel | None, method: str) -> LoadedModel:
        """The model passed to `method`, or the one that this analysis holds. Raises `VitvizError`
        if there is none, or if it is not the model of this analysis.
        """
        if self.loaded is not None and loaded in (None, self.loaded):
            check_runs(self.loaded)
            return self.loaded
        if loaded is None:
            raise VitvizError(
                Message("experiments.needs_model", method=method, model=repr(self.card.name))
            )
        check_runs(loaded)
        if not self._is_of(loaded):
            raise VitvizError(
                Message("experiments.other_model", ours=self.card.name, theirs=loaded.card.name)
            )
        return loaded

    def _is_of(self, loaded: LoadedModel) -> bool:
        """Whether this model, with its weights, made the pass, whatever its name."""
        if loaded is self.loaded:
            return True
        same = (loaded.card.config, loaded.card.trained) == (self.card.config, self.card.trained)
        return same and is_of(self.pass_, loaded)

    def save(self, path: str | Path) -> None:
        """Write everything to one .safetensors file; `Analysis.load` gives it back exactly.

        Raises `VitvizError` if the file cannot be written.
        """
        saved.write(self, path)

    @classmethod
    def load(cls, path: str | Path) -> "Analysis":
        """Read what `save` wrote. Raises `VitvizError` for a file that is not a saved analysis."""
        return saved.read(cls, path)

    def to_bytes(self) -> bytes:
        """The bytes that `save` writes, to be sent or kept elsewhere than on a disk."""
        return saved.to_bytes(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle` and `copy.deepcopy`: what `save` writes, so without the model's weights;
        `explain(..., loaded=...)` takes the model then.
        """
        return type(self).from_bytes, (self.to_bytes(),)

    def __copy__(self) -> "Analysis":
        return replace(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Analysis":
        """Read what `to_bytes` returned or `save` wrote. Raises as `load` does."""
        return saved.from_bytes(cls, data)


# The target of an explanation: a class, a pair of classes, a vector (D,) that the features are
# compared with, or another picture in the same model.
Target = Class | tuple[Class, Class] | Tensor | np.ndarray | list[float] | Analysis


def _is_likeness(target: Any) -> bool:
    """Whether a likeness is explained. Raises `SelectionError` for an array that is no vector."""
    return isinstance(target, Analysis) or vector_of(target) is not None


@OUTSIDE
def analyze(
    loaded: LoadedModel,
    image: Any,
    *,
    invert: bool = False,
    stretch: bool = False,
    normalised: bool = False,
    values: bool = False,
    interventions: Sequence[Intervention | Mapping[str, Any]] = (),
) -> Analysis:
    """Run a model once on a photo, and keep the trace of the pass with the results.

    `image`: see `open_photo`. `invert` exchanges light and dark first, for a dark digit on paper
    in a model that was taught white on black, `stretch` spreads its levels over the whole range, as
    for a dark X-ray (`open_photo`); the analysis notes both. `normalised`: the image is a tensor
    (C, h, w) as it enters the model, such as one of a DataLoader; nothing is resized or rounded,
    and the picture that is shown is made of it. `values`: the trace keeps v beside q and k.
    `interventions`: changes to this pass (`intervention.py`), as values or in JSON's types; patch
    numbers are places in the grid, and changes of pixels are applied in order.

    Raises `ImageError` if the image cannot be read, `SelectionError` for `invert` or `stretch`
    beside `normalised`, and for interventions that this model has no place for or that contradict
    each other, and `CaptureError` if the model computes numbers that are not finite.
    """
    check_runs(loaded)
    surgery = Surgery(read_interventions(interventions, card=loaded.card), loaded.card.config)
    if look_of(invert, stretch, normalised) is None:
        around, shown, pixels = seen_pixels(loaded, image, surgery)
        pass_ = forward(loaded, shown, surgery, values=values, pixels=pixels)
        return Analysis(**around, pass_=pass_)
    photo = open_photo(image, stretch=stretch)
    around, picture = seen(loaded, photo.invert() if invert else photo, surgery)
    return Analysis(**around, pass_=forward(loaded, picture, surgery, values=values))


def seen(loaded: LoadedModel, photo: Photo, surgery: Surgery) -> tuple[dict[str, Any], Tensor]:
    """The fields of an analysis besides its pass, by name, and the input picture of the pass; see
    `picture_of`.
    """
    card, preprocess, pos_embed = loaded.card, loaded.preprocess, loaded.vit.pos_embed
    around = {
        "card": card,
        "preprocess": preprocess,
        "positions": None if pos_embed is None else Positions.of(pos_embed, card.config),
        "loaded": loaded,
        "photo_name": photo.name,
        "notes": (*photo.notes, *_notes(photo, card, preprocess)),
        "inverted": photo.inverted,
        "photograph": surgery.photograph(
            Photograph.of(photo, preprocess, card.config.image_size),
        ),
    }
    return around, picture_of(loaded, photo)


def seen_pixels(
    loaded: LoadedModel, given: Any, surgery: Surgery, name: str | None = None
) -> tuple[dict[str, Any], Tensor, Tensor]:
    """`seen` of normalised pixels, and the pixels (C, h, w). Raises `ImageError`."""
    shown, pixels = unnormalised(loaded, given)
    around, _ = seen(loaded, open_photo(shown.numpy(), name), surgery)
    return around | {"photograph": None, "notes": ()}, shown, pixels


def picture_of(loaded: LoadedModel, photo: Photo) -> Tensor:
    """The photo as the model sees it, before its pixels are changed. uint8 (h, w, C)

    Raises `ImageError` where the preprocessing makes less than the model needs.
    """
    height, width = loaded.card.config.image_size
    picture = loaded.preprocess.picture(photo)
    if picture.shape[0] < height or picture.shape[1] < width:
        raise ImageError(
            f"the model needs {height} x {width} pixels, preprocessing makes {tuple(picture.shape)}"
        )
    # A patch size that does not divide the image leaves a margin that the model never sees.
    return picture[:height, :width].contiguous()


def _notes(photo: Photo, card: ModelCard, preprocess: Preprocess) -> Iterator[Message]:
    """Notes about differences between the photo and the picture that this model was shown."""
    if photo.inverted:
        yield Message("photo.inverted")
    if preprocess.channels == 1 and photo.has_colours():
        digits = are_digits(card.labels, preprocess.channels)
        yield Message("photo.grey_copy_digits") if digits else Message("photo.grey_copy")
