"""What a visitor can be told stands in the dictionaries, and is said in any language from them."""

import ast
import copy
import json
import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from timm.models import get_pretrained_cfg

from tests.test_languages import placeholders
from vitviz import Analysis, ImageError, load, open_photo
from vitviz.languages import FOLDER, Message, dictionary, from_file, say, to_file
from vitviz.model.menu import CURATED, list_models
from vitviz.model.tensor_file import read_tensors, write_tensors
from vitviz.model.timm_models import terms_of_timm
from vitviz.probe.measure.film import facts_of
from vitviz.probe.measure.predictions import groups_of
from vitviz.probe.saved import FORMAT
from vitviz.train.recipes import RECIPES, TITLES
from vitviz.web.compute.models import Menu
from vitviz.web.host.error_messages import APOLOGY, sentence
from vitviz.web.store.examples import EXAMPLES

HOUSE = Path(__file__).resolve().parents[1] / "vitviz"
# All errors and notes of these reach a visitor, but for those with one of the words below: what
# only Python or whoever starts the app can meet, and questions that no viewer of ours asks.
VISITED = (
    "model/photo.py",
    # Only hosts meet what settings.py raises, and replicas.py when the app starts.
    *(
        str(path.relative_to(HOUSE))
        for path in sorted((HOUSE / "web").rglob("*.py"))
        if path.stem not in ("settings", "replicas")
    ),
)
UNSEEN = (
    "array",
    "Pillow image",
    "opened as text",
    "a dictionary came",
    "is an address",
    "There is {} at",
    "are needed",
    "no model to offer",
    "a figure is one of",
    "the app cannot listen at",
    "the page cannot be served",
    "GRADIO_TEMP_DIR names another",
    "web/host/protocol.py: ",  # uvicorn answers with status 400 and words of its own
)
HANGUL = re.compile("[가-힣]")


class Use(NamedTuple):
    """`Message("photo.empty", name=...)` as it stands in the code."""

    file: str
    key: str | None  # None: not a plain text
    values: frozenset[str]


def template(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
    return None


def calls(path: Path) -> Iterator[tuple[str, str, ast.Call]]:
    """(owner, name, call) of every call with arguments in a file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            yield getattr(getattr(node.func, "value", None), "id", ""), name, node


USES = [
    Use(
        str(path.relative_to(HOUSE)),
        template(call.args[0]),
        frozenset(word.arg for word in call.keywords if word.arg),
    )
    for path in sorted(HOUSE.rglob("*.py"))
    for _, name, call in calls(path)
    if name == "Message" and not path.is_relative_to(HOUSE / "languages")
]


def test_messages_were_found() -> None:
    assert len(USES) > 60
    assert {"model/photo.py", "web/page/door.py", "train/command.py"} < {use.file for use in USES}


def test_every_message_is_in_the_dictionary_with_its_values(subtests: pytest.Subtests) -> None:
    for use in USES:
        with subtests.test(file=use.file, key=use.key):
            assert use.key, "its key must be written out, for this test and for a search"
            subject, _, name = use.key.partition(".")
            english = dictionary("en", subject)
            if "{}" in name:
                assert any(re.fullmatch(name.replace("{}", ".+"), key) for key in english)
            else:
                assert placeholders(english[name]) == use.values


def test_every_text_is_used() -> None:
    # What browsers do to pixels, a file that is gone, and what a page opens, only the page tells.
    files = [HOUSE / "viewer" / name for name in ("data/decoding.js", "text/phototold.js")]
    decoding = "".join(file.read_text("utf-8") for file in files)
    used = {use.key for use in USES} | {
        f"photo.{key}" for key in re.findall(r'(?:note\(|key: |allowed: )"(\w+)"', decoding)
    }
    # The live camera and the panel of many put their keys together of names in their files.
    viewer, name = HOUSE / "viewer", re.compile(r"^[a-z]+_(?:looks_(?=.)|by_)?(.+?)(?:_title)?$")
    living = [
        viewer / "stage" / f"{name}.js" for name in ("livecamera", "stream", "athand", "mistaken")
    ]
    for subject, files in (("camera", living), ("many", (viewer / "many").glob("*.js"))):
        text = "".join(file.read_text("utf-8") for file in files)
        for key in dictionary("en", subject):
            if re.search(rf"(?:\b|{subject}_)" + name.sub(r"\1", key) + r"\b", text):
                used.add(f"{subject}.{key}")
    patterns = [re.compile(key.replace("{}", ".+")) for key in used if "{}" in key]
    for path in (FOLDER / "en").glob("*.json"):
        ours = ("viewer", "lessons", "plans", "check", "page", "glossary", "site", "play", "own")
        if path.stem in ours or path.stem.startswith("everyday100-"):
            continue  # strings.test.js, play.test.js, test_web_texts.py, test_site.py, a data set
        for name in dictionary("en", path.stem):
            key = f"{path.stem}.{name}"
            assert key in used or any(pattern.fullmatch(key) for pattern in patterns), key


def plain(file: str) -> set[str]:
    """The plain texts that a file raises or notes."""
    found = set()
    for owner, name, call in calls(HOUSE / file):
        if name.endswith("Error") or (owner, name) == ("notes", "append"):
            found.add(template(call.args[0]))
    return {text for text in found if text and " " in text}


def test_what_a_visitor_can_meet_is_a_message() -> None:
    assert {"model/photo.py", "web/page/door.py"} < set(VISITED)
    met = [f"{file}: {text}" for file in VISITED for text in sorted(plain(file))]
    found = [line for line in met if not any(part in line for part in UNSEEN)]
    assert not found, "\n".join(found)
    assert not [part for part in UNSEEN if not any(part in line for line in met)], "of no text"


def test_the_rule_itself_finds_what_is_there() -> None:
    assert any("opened as text" in text for text in plain("model/photo.py"))


@pytest.mark.parametrize("subject", ["photo", "models", "training", "pictures", "web", "page"])
def test_korean_is_korean(subject: str) -> None:
    without = {"of_file", "of_timm", "quoted", "origin", "with_terms"}  # nothing but values
    without |= {"positions", "listed"}
    for name, text in dictionary("ko", subject).items():
        assert name in without or HANGUL.search(text), name


def test_a_real_refusal_is_korean_to_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "나의 사진.jpg").write_text("text")
    with pytest.raises(ImageError) as caught:
        open_photo(tmp_path / "나의 사진.jpg")
    korean = sentence(caught.value.message, "ko")
    assert korean.startswith("'나의 사진.jpg'는 읽을 수 있는 그림이 아닙니다: 텍스트")
    assert korean.endswith("올릴 수 있습니다.")
    assert sentence(caught.value.message).startswith(
        "'나의 사진.jpg' is not a picture we can read: it is "
    )
    with pytest.raises(ImageError) as caught:
        open_photo(np.zeros((9000, 9000), np.uint8), "큰 그림")
    assert "9,000 x 9,000픽셀" in say(caught.value.message, "ko")
    assert "9,000 x 9,000 pixels (81 megapixels)" in str(caught.value)


def test_values_cannot_fill_in_anything_themselves() -> None:
    name = "'{allowed} {name.__class__} {0}'"
    message = Message("web.deleted", name=name)
    assert message == f"{name} was deleted after about an hour; choose it again"
    assert say(message, "ko").startswith((f"{name}은", f"{name}는"))


def test_what_is_no_message_stays_as_it_is() -> None:
    for text in ("", "no such sentence", "first of 3 frames", "강아지", "{name}"):
        assert say(text, "ko") == text
    assert say(APOLOGY, "ko") != APOLOGY


@pytest.mark.parametrize(
    ("key", "values"),
    [("photo.nothing", {}), ("nothing.empty", {}), ("photo.first_of", {}), ("first_of", {})],
)
def test_a_message_without_its_text_or_value_is_a_bug(key: str, values: dict[str, Any]) -> None:
    with pytest.raises(KeyError):
        Message(key, **values)


def nested() -> Message:
    time = Message("training.origin_time", value=Message("training.minutes", minutes=87))
    return Message("training.origin", name="photos", facts=(time, "SHA-256 81c1"))


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_copies_are_messages(copied: Any) -> None:
    again = copied(nested())
    assert again == "photos: wall time 87 min, SHA-256 81c1"
    assert say(again, "ko") == "photos: 학습 시간 87분, SHA-256 81c1"


def test_a_file_keeps_messages_beside_its_texts() -> None:
    texts = [nested(), Message("photo.upright"), "my own"]
    kept = to_file(texts)
    assert kept.keys() == {str(text) for text in texts[:2]}
    again = [from_file(str(text), kept) for text in texts]
    assert again == texts
    assert [say(text, "ko") for text in again] == [say(text, "ko") for text in texts]
    assert [type(text) for text in again] == [Message, Message, str]


@pytest.mark.parametrize(
    "kept",
    [
        None,
        [],
        "it",
        {},
        {"it is text": None},
        {"it is text": {"key": "photo.is_video", "values": {}}},
        {"it is text": {"key": "photo.is_text"}},
        {"it is text": {"key": ["photo.is_text"], "values": {}}},
        {"it is text": {"key": "photo.is_text", "values": ["x"]}},
        {"it is text": {"key": "photo.nothing", "values": {}}},
        {"it is text": {"key": "photo.first_of", "values": {"key": "x", "self": 1}}},
    ],
)
def test_a_file_that_says_anything_else_gives_the_text(kept: Any) -> None:
    assert type(from_file("it is text", kept)) is str
    assert from_file("it is text", kept) == "it is text"


def test_an_analysis_saved_by_an_older_version_keeps_its_notes(
    tmp_path: Path, tiny_analysis: Analysis
) -> None:
    notes = (Message("photo.upright"), "my own")
    path = tmp_path / "a.safetensors"
    replace(tiny_analysis, notes=notes).save(path)
    assert [say(note, "ko") for note in Analysis.load(path).notes] == [
        "EXIF 정보에 따라 바로 세웠습니다",
        "my own",
    ]
    tensors, metadata = read_tensors(path)
    text = json.loads(metadata[FORMAT])
    del text["messages"], text["card"]["words"]
    write_tensors(path, tensors, {FORMAT: json.dumps(text)})
    old = Analysis.load(path)
    assert (old.notes, old.card.words) == (notes, {})
    assert [say(note, "ko") for note in old.notes] == list(notes)


def test_a_file_leads_to_no_file_outside_of_the_dictionaries(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"x": "it is text"}')
    kept = {"it is text": {"key": f"{tmp_path / 'secret'}.x", "values": {}}}
    assert "." not in str(tmp_path)
    assert type(from_file("it is text", kept)) is str


def test_what_shipped_models_say_of_themselves_has_its_korean() -> None:
    shipped = [name for name in list_models() if name not in CURATED]
    assert len(shipped) >= 2
    for name in shipped:
        loaded = load(name)
        details = loaded.card.details
        texts = [loaded.card.source, load(name, pretrained=False).card.source]
        told = ("title", "data", "terms", "wall time", "began with")
        texts += [details[fact] for fact in told if fact in details]
        if loaded.film:
            facts = facts_of(loaded.film)
            names = [picture["name"] for picture in facts["pictures"]]
            texts += [Message(f"pictures.{one}") for one in names if one in PICTURES]
            assert {one for one in names if re.search("[A-Za-z]", one)} <= PICTURES.keys()
            # What the film began with is what the checkpoint says, which knows its Korean.
            assert facts["began_with"] in ("", details.get("began with"))
        for text in texts:
            assert HANGUL.search(say(text, "ko")), text
    for example in EXAMPLES:
        assert HANGUL.search(say(example.name, "ko")), example


PICTURES = dictionary("en", "pictures")


def test_classes_and_groups_of_the_shipped_photo_model_have_korean_names() -> None:
    card = load("photos").card
    names = card.words["ko"]
    assert names["labels"].keys() == set(card.labels)
    assert names["groups"].keys() == set(groups_of(card))
    assert all(map(HANGUL.search, [*names["labels"].values(), *names["groups"].values()]))
    assert card.words["en"]["groups"]["dog"] == "a dog"
    assert load("photos", pretrained=False).card.words == card.words


def test_the_titles_of_our_recipes_are_messages() -> None:
    for recipe in RECIPES.values():
        assert type(recipe.title) is str  # kept with the state of a run
        assert not recipe.title or recipe.title in TITLES


def test_restricted_weights_say_so_before_they_are_loaded() -> None:
    """Nothing of it is downloaded; on the menu nothing is restricted."""
    said = {
        "vit_small_patch16_dinov3.lvd1689m": "under the DINOv3 License",
        "vit_small_patch16_dinov3": "under the DINOv3 License",
        "vit_tiny_patch16_dinov3_qkvb.eupe_lvd1689m": "non-commercial use only",
        "vit_base_patch16_sapiens2": "under the Sapiens2 License",
    }
    titles = {key: title for title, key in Menu(tuple(said)).choices}
    for name, terms in said.items():
        assert titles[name].startswith(f"{name}: weights ")
        assert terms in titles[name]
        assert say(titles[name], "ko") != titles[name]
    for name, one in CURATED.items():
        assert terms_of_timm(name) is None
        assert get_pretrained_cfg(name).license in ("apache-2.0", "mit")
        assert say(one.worth, "ko") != one.worth
    for other in ("hf-hub:owner/name", "local-dir:/models/it", "no_such_model"):
        assert terms_of_timm(other) is None


def test_titles_on_the_menu_have_their_korean() -> None:
    titles = {say(Message("models.of_timm", title=one.title), "ko") for one in CURATED.values()}
    assert {"DINO small 16, 자기 지도 학습 (timm)", "CLIP base 16 (timm)"} < titles
    assert "DINOv2 small 14, 레지스터 있음 (timm)" in titles
