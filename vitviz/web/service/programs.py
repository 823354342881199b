"""Programs: short answers in JSON's types, for programs over HTTP and for language models.

The docstrings of the methods and the texts of `PARAMETERS` are the descriptions of the endpoints
and of the tools: parameters, result, and refusals.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import torch
from torch import Tensor

from ...errors import ImageError, SelectionError, VitvizError
from ...languages import Message
from ...model.key import ModelKey, read_size
from ...model.photo import MAX_BYTES, MAX_PIXELS
from ...model.photo_levels import AS_IT_IS, Look
from ...probe.analysis import Analysis
from ...probe.capture.selection import choose
from ...probe.compare import compare
from ...probe.explain.explainers import EXPLAINERS, check_knows_target, chosen
from ...probe.explain.likeness import vector_of
from ...probe.intervene.intervention import KINDS
from ...probe.measure.heads import distances
from ..compute.jobs import Result, Selection
from ..host import limits
from ..store.store import Store, Upload
from .analyses import Analyses
from .replies import Shown
from .short_answers import facts_of, row_of, short, shortened, shortest, strongest

NO_PICTURE = Message("web.no_picture")
# Descriptions of the parameters of the six questions.
PARAMETERS = {
    "photo": "the name of an example (models lists them); or the picture itself as "
    f"data:image/png;base64,..., in a tool at most {limits.TOOL_BYTES // 10**6} MB of text, over "
    f"HTTP within the {limits.BODY_BYTES // 1000} kB of a request, so upload larger ones first; or "
    "the address or path of a file that was uploaded to this server at /gradio_api/upload, of at "
    f"most {MAX_BYTES // 10**6} MB and {MAX_PIXELS // 10**6} megapixels; other addresses are not "
    "opened",
    "photos": "a list of pictures, each named as photo is in the other questions",
    "model": 'a key that models lists; "" is the default model',
    "token": "the query, counted from 0: first the prefix tokens such as CLS, where the model has "
    "any, then the patches row by row",
    "layer": "counted from 0; -1 is the last",
    "head": "counted from 0; -1 is the mean of all",
    "untrained": "use the random weights that the training began with",
    "invert": "exchange light and dark of the picture first",
    "stretch": "stretch the levels of the picture first: its lowest becomes black, its highest "
    "white, as for a dark X-ray",
    "rows": "also give the values of every token",
    "explainer": "one of those that models lists",
    "target": "the number or the name of the class to explain; -1 is the one that the model "
    "answers",
    "like": "in place of a class: another picture, named as photo is, or a vector as a list of "
    'numbers, as wide as the pooled features; the likeness to it is explained then; "" is none',
    "interventions": 'at most 64 changes, such as [{"kind": "remove", "patches": [64, 65]}] or '
    '[{"kind": "head", "layer": 2, "head": 0, "by": "zero"}]; patches count from 0, row by row, '
    'without prefix tokens; models lists the kinds; a transplant takes tokens "from" a picture, '
    "named as photo is",
    "other_photo": 'the second picture, named as photo is; "" is the same',
    "other_model": 'the second model; "" is the same',
    "other_untrained": "take the untrained twin of the second model; it is taken as well where "
    "nothing else differs",
    "image_size": "pixels of the picture that the model sees, in more or fewer patches of the same "
    'size: 144, or height x width as "144x192" or [144, 192], whole patches; "" is the size '
    "on this server, for some models smaller than that of vitviz.load",
    "other_image_size": 'that of the second model; "" is the same if it is the same model',
}
Door = Literal["api", "mcp"]
Photo = str | Mapping[str, Any]
Size = int | str | list[int]
Like = Photo | list[float]
FILE = "/gradio_api/file="


class Programs:
    """The six questions of programs, which return a dict or raise `VitvizError`; and `answer`,
    `analyze` with the whole summary and the file of the analysis.
    """

    def __init__(self, analyses: Analyses, store: Store, door: Door = "api") -> None:
        """`door`: how the questions arrive, for the log."""
        self._analyses, self._store, self._door = analyses, store, door

    def analyze(
        self,
        photo: Photo,
        model: str = "",
        token: int = 0,
        layer: int = -1,
        head: int = -1,
        untrained: bool = False,
        invert: bool = False,
        rows: bool = False,
        image_size: Size = "",
        stretch: bool = False,
    ) -> dict[str, Any]:
        """What a Vision Transformer answers about a picture, and where it looks: the classes with
        their probabilities, whether it was taught such a thing at all, and for one token, layer and
        head the tokens with the most attention, of this head and of the rollout up to this layer;
        and those that the answer is gathered from, where an attention pool gathers it.
        Attention shows where values are gathered from, not why the model decides. Refused with a
        sentence: no picture or a broken one, an unknown model, a token, layer or head it lacks.
        """
        selection = Selection(token, layer, head)
        key = self._key(model, untrained, image_size)
        result = self._compute(photo, key, selection, look=_look(invert, stretch))
        summary = result.summary
        values = summary["selection"]
        attention = values["attention"]
        prefix = len(summary["prefix_tokens"])
        selected = {name: values[name] for name in ("token", "layer", "head")}
        selected["attention"] = strongest(attention, summary)
        selected["attention_on_special_tokens"] = short(sum(attention[:prefix]))
        for name in ("rollout", "pooling"):
            if name in values:
                selected[name] = strongest(values[name], summary)
        if _flag(rows, "rows"):
            selected["rows"] = {
                name: shortened(values[name])
                for name in ("attention", "rollout", "pooling")
                if name in values
            }
        return {**facts_of(summary, key), "selection": selected}

    def explain(
        self,
        photo: Photo,
        model: str = "",
        explainer: str = "generic",
        target: int | str = -1,
        token: int = 0,
        untrained: bool = False,
        rows: bool = False,
        image_size: Size = "",
        like: Like = "",
    ) -> dict[str, Any]:
        """How much every patch of a picture matters to the answer, to another class, or to the
        likeness to another picture, by one of several explainers of the literature. One map proves
        nothing: whether it is right is a question for an experiment (intervene takes patches out).
        "gap" says how far values that should add up to the answer miss it, as a share of it.
        Refused with a sentence: what "analyze" refuses, an unknown explainer, a class the model
        does not have, a likeness that the explainer does not know.
        """
        selection = Selection(token, -1, -1, explainer or "generic", target)
        key = self._key(model, untrained, image_size)
        result = self._compute(photo, key, selection, like=like)
        summary = result.summary
        relevance = summary["selection"]["relevance"]
        values = relevance["values"]
        answer = {name: relevance[name] for name in ("explainer", "target")}
        if "gap" in relevance:
            answer["gap"] = short(relevance["gap"])
        if "likeness" in relevance:
            like = relevance["like"] and relevance["like"][:80]
            answer |= {"like": like, "likeness": short(relevance["likeness"])}
        answer["strongest"] = strongest(values, summary)
        if EXPLAINERS[relevance["explainer"]].signed:
            answer["against"] = strongest([-value for value in values], summary, sign=-1)
        if _flag(rows, "rows"):
            answer["rows"] = shortened(values)
        return {**facts_of(summary, key), "relevance": answer}

    def intervene(
        self,
        photo: Photo,
        interventions: Sequence[Mapping[str, Any]],
        model: str = "",
        untrained: bool = False,
        image_size: Size = "",
    ) -> dict[str, Any]:
        """What a Vision Transformer answers when its forward pass is changed: patches taken out,
        heads or whole branches silenced, attention made even, positions turned off. Gives the
        answer before and after. Refused with a sentence: what "analyze" refuses, and changes of a
        wrong form, or to what the model lacks, with an example of the right form.
        """
        key = self._key(model, untrained, image_size)
        plain = self._compute(photo, key).summary
        changes = self._with_pictures(interventions)
        changed = self._compute(photo, key, changes=changes).summary
        facts, after = facts_of(plain, key), facts_of(changed, key)["predictions"]
        before = facts.pop("predictions")
        return {
            **facts,
            "changes": str(changed["changes"]),
            "before": before,
            "after": after,
            "same_answer": _same_answer(plain["answer"], changed["answer"]),
        }

    def compare(
        self,
        photo: Photo,
        model: str = "",
        other_photo: Photo = "",
        other_model: str = "",
        other_untrained: bool = False,
        token: int = 0,
        layer: int = -1,
        image_size: Size = "",
        other_image_size: Size = "",
    ) -> dict[str, Any]:
        """Two analyses side by side: two pictures, two models, or a model and its untrained twin.
        Gives the probabilities of both for the same classes, and the share (0 to 1) that attention
        in one layer, and rollout through all, of one token have in common. Refused with a sentence:
        what "analyze" refuses; a share that needs equal grids is null where the grids differ.
        """
        untrained = _flag(other_untrained, "other_untrained")
        first = self._key(model, False, image_size)
        second = first.named(other_model or first.name)
        if other_image_size:
            second = replace(second, image_size=_size(other_image_size))
        is_same = second == first and (other_photo or photo) == photo
        second = replace(second, untrained=untrained or is_same)
        results = self._compute(photo, first), self._compute(other_photo or photo, second)
        both = compare(*(Analysis.from_bytes(result.saved) for result in results))
        if layer == -1:
            layer = min(both.first.trace.depth, both.second.trace.depth) - 1
        layer = choose("layer", layer, both.first.trace.depth)
        token = choose("token", token, both.first.trace.num_tokens)
        common: list[float | None] = [None, None]
        if both.same_grid:
            maps = both.attention(layer, None, token), both.rollout(token)
            common = [short(each.common) for each in maps]
        classes = both.first.card.head == both.second.card.head == "classes"
        facts: dict[str, Any] = {"same_grid": both.same_grid, "token": token, "layer": layer}
        sides = zip(("first", "second"), results, (first, second), strict=True)
        for name, result, key in sides:
            answer = facts_of(result.summary, key)
            facts[name] = {field: answer[field] for field in ("model", "trained", "photo", "grid")}
        return {
            **facts,
            "answers": [row_of(answer) for answer in both.answers(3)] if classes else [],
            **dict(zip(("attention_in_common", "rollout_in_common"), common, strict=True)),
        }

    def survey(
        self,
        photos: Sequence[Photo],
        model: str = "",
        untrained: bool = False,
        image_size: Size = "",
    ) -> dict[str, Any]:
        """What a Vision Transformer does with several pictures: its answer to each, and how far
        every layer's heads look on the average, the mean attention distance in pixels of the
        nearest head, of all and of the farthest (figure 7 of the ViT paper). "known": false stands
        where a picture shows none of its classes. A picture that cannot be read has a sentence,
        and the others go on. Refused with a sentence: no pictures or too
        many, an unknown model.
        """
        if not isinstance(photos, list) or not 0 < len(photos) <= limits.SURVEYED:
            raise SelectionError(Message("web.many_photos", most=limits.SURVEYED))
        key = self._key(model, untrained, image_size)
        answers: list[dict[str, Any]] = []
        far: list[Tensor] = []  # (L, H) of each picture; whole analyses take far more memory
        for place, photo in enumerate(photos):
            try:
                result = self._compute(photo, key)
            except ImageError as error:
                answers.append({"photo": place, "refused": str(error.message)[:80]})
                continue
            analysis = Analysis.from_bytes(result.saved)
            far.append(analysis.head_statistics().distance)
            even = float(distances(analysis.grid).mean())
            of = "value" if analysis.card.outputs == "value" else "p"
            first = analysis.predictions(1) if analysis.card.head == "classes" else ()
            answer = {"answer": first[0].label[:20], of: shortest(first[0].number)} if first else {}
            phrase = analysis.answer()
            if phrase is not None and phrase.known is False:
                answer["known"] = False
            answers.append({"photo": analysis.photo_name[:20], **answer})
        facts: dict[str, Any] = {"model": key.name, "pictures": len(far), "answers": answers}
        if far:
            heads = torch.stack(far).mean(dim=0)
            spread = {"nearest": heads.amin(1), "mean": heads.mean(1), "farthest": heads.amax(1)}
            facts["distance"] = {
                name: [*map(shortest, row.tolist())] for name, row in spread.items()
            }
            facts["distance"]["even"] = shortest(even)
        return facts

    def models(self) -> dict[str, Any]:
        """The models that can be asked, the explainers, the kinds of interventions, and the example
        pictures. Models of timm are downloaded at the first question, if this server can reach the
        Hugging Face hub. Refuses nothing.
        """
        menu = self._analyses.menu
        return {
            "default": menu.default,
            "models": {key: str(title) for title, key in menu.choices},
            "explainers": [*EXPLAINERS],
            "interventions": [*KINDS],
            "examples": [*self._examples()],
        }

    def answer(
        self,
        photo: Photo,
        model: str = "",
        token: int = 0,
        layer: int = -1,
        head: int = -1,
        untrained: bool = False,
        invert: bool = False,
        explainer: str = "",
        target: int | str = -1,
        interventions: Sequence[Mapping[str, Any]] = (),
        image_size: Size = "",
        stretch: bool = False,
        like: Like = "",
    ) -> tuple[Mapping[str, Any], str]:
        """Analyze a picture: a JSON object, and a .safetensors file for `vitviz.Analysis.load`.

        The object holds what the model answered, the shape of every step, and under "selection" the
        attention from one token in one layer and head, and its rollout. With an explainer,
        "relevance" there says how much every token matters to it, for the class "target", or the
        likeness to "like". Refused with a sentence: what cannot be used.
        """
        given: dict[str, Any] = {"token": token, "layer": layer, "head": head}
        given |= {"explainer": explainer, "target": target}
        selection = Selection(**{key: value for key, value in given.items() if value is not None})
        changes = self._with_pictures(() if interventions is None else interventions)
        key = self._key(model, untrained, image_size)
        look = _look(invert, stretch)
        result = self._compute(photo, key, selection, look=look, changes=changes, like=like)
        return result.summary, self._store.put(result.saved, result.saved_name)

    def _compute(
        self,
        photo: Photo,
        key: ModelKey,
        selection: Selection = Selection(),  # noqa: B008 - it is immutable
        *,
        look: Look = AS_IT_IS,
        changes: Sequence[Mapping[str, Any]] = (),
        like: Like | None = "",
    ) -> Result:
        """Let the engine analyze a picture. Raises `VitvizError` if it refuses."""
        shown = Shown(self._picture(photo), key, None, look)
        other = None if like in ("", None) else self._liked(like, selection)
        result = self._analyses.compute(shown, selection, changes, self._door, like=other)
        if result.refused:
            kind = ImageError if result.refused.of_picture else VitvizError
            raise kind(result.refused.text)
        return result

    def _key(self, model: str, untrained: bool, image_size: Size) -> ModelKey:
        """The model that a program names; "" is the default one, and a model's own size."""
        name = model or self._analyses.menu.default
        return ModelKey(name, _flag(untrained, "untrained"), _size(image_size))

    def _liked(self, like: Any, selection: Selection) -> Upload | list[float]:
        """The picture or vector whose likeness a program wants explained. Raises `VitvizError`."""
        if not selection.explainer or selection.target not in (-1, None):
            raise SelectionError(Message("web.like_alone"))
        check_knows_target(chosen(selection.explainer).key)
        if not isinstance(like, list):
            return self._picture(like)
        vector_of(like)  # refuses what is no vector
        return like

    def _with_pictures(self, changes: Any) -> Any:
        """The interventions, with the picture of each transplant as the address of a file."""
        if not isinstance(changes, list):
            return changes
        # Counted first, because reading a picture of the question puts it into the store.
        named = (change.get("from") for change in changes if isinstance(change, dict))
        sent = {name for name in named if isinstance(name, str) and name.startswith("data:")}
        if len(sent) > limits.DONORS:
            raise SelectionError(Message("web.many_donors", most=limits.DONORS))

        def with_address(change: Any) -> Any:
            match change:
                case {"from": photo}:
                    upload = self._picture(photo)
                    return {**change, "from": {"path": upload.address, "name": upload.name}}
            return change

        return [with_address(change) for change in changes]

    def _picture(self, photo: Any) -> Upload:
        """The picture that a program names. Nothing is fetched from another server."""
        if isinstance(photo, Mapping):  # a file of one of Gradio's clients
            photo, name = photo.get("path"), photo.get("orig_name")
        else:
            name = None
        if not isinstance(photo, str) or not photo:
            raise ImageError(NO_PICTURE)
        if photo in (examples := self._examples()):
            return examples[photo]
        if photo.startswith("data:"):
            self._store.check_room()
            return Upload(self._store.put(_decoded(photo), "picture"), "picture")
        path = _path_of(photo)
        if path not in self._store:
            raise ImageError(Message("web.not_ours", names=tuple(examples)))
        return Upload.sent(path, name if isinstance(name, str) else "")

    def _examples(self) -> dict[str, Upload]:
        uploads = (example.upload for example in self._analyses.examples)
        return {upload.name.rsplit(".", 1)[0]: upload for upload in uploads}


def _path_of(address: str) -> str:
    """The path of a file in its address, or the path itself; "" in an address that has none."""
    address = address[: limits.ADDRESS_LETTERS + 1]  # longer ones are never in the store
    try:
        path = unquote(urlsplit(address).path) if "://" in address else address
    except ValueError:  # such as http://[
        return ""
    return path.partition(FILE)[2] or path


def _decoded(address: str) -> bytes:
    """The bytes of a data: address (RFC 2397) in base64. Raises `ImageError`."""
    head, comma, body = address.partition(",")
    try:
        if not comma or not re.fullmatch(r"data:[^,]{0,200};base64", head):
            raise ValueError
        return base64.b64decode(re.sub(r"\s", "", body), validate=True)
    except (ValueError, binascii.Error) as error:
        raise ImageError(Message("web.no_data")) from error


def _size(value: Any) -> Any:
    """An image size for a `ModelKey`: texts are parsed, "" is the model's own."""
    if isinstance(value, str):
        return read_size(value) if value else None
    return value


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise SelectionError(Message("web.true_or_false", name=name, value=repr(value)[:40]))
    return value


def _look(invert: Any, stretch: Any) -> Look:
    return Look(_flag(invert, "invert"), _flag(stretch, "stretch"))


def _same_answer(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool | None:
    """Whether two answers name the same classes; None without classes, and of values."""
    if before is None or after is None or before["outputs"] == "value":
        return None
    return {*before["classes"]} == {*after["classes"]}
