"""Every sentence that a visitor can be shown has its Korean, and keeps what was filled in."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from vitviz import ImageError, load, open_photo
from vitviz.korean import SENTENCES, in_korean
from vitviz.model.menu import CURATED, list_models
from vitviz.probe.film import facts_of
from vitviz.web.answers import APOLOGY, sentence
from vitviz.web.examples import EXAMPLES

HOUSE = Path(__file__).resolve().parents[1] / "vitviz"
VISITED = (
    "model/photo.py",
    "web/service.py",
    "web/models.py",
    "web/components.py",
    "web/cache.py",
    "web/store.py",
    "web/turns.py",
    "web/door.py",
)
# What only Python or whoever starts the app can meet, and questions that no viewer of ours asks.
UNSEEN = (
    "array",
    "Pillow image",
    "opened as text",
    "is an address",
    "There is {} at",
    "are needed",
    "none came",
    "no model to offer",
    "must be a whole number",
)


def template(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
    return None


def sentences(file: str) -> set[str]:
    """The templates of errors raised and notes made in a file, and of texts it returns."""
    found = set()
    for node in ast.walk(ast.parse((HOUSE / file).read_text("utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            owner = getattr(getattr(node.func, "value", None), "id", "")
            if name.endswith("Error") or name == "__init__" or (owner, name) == ("notes", "append"):
                found.add(template(node.args[0]))
        if file == "model/photo.py" and isinstance(node, ast.Return):  # parts of sentences
            values = node.value.elts if isinstance(node.value, ast.List) else [node.value]
            found |= {template(value) for value in values if value is not None}
    return {text for text in found if text and " " in text}


@pytest.mark.parametrize("file", VISITED)
def test_every_sentence_of_a_visit_has_its_korean(file: str) -> None:
    missing = {
        text
        for text in sentences(file)
        if text not in SENTENCES
        and not any(part in text for part in UNSEEN)
        and in_korean(text.replace("{}", "x")) == text.replace("{}", "x")
    }
    assert missing == set()


def test_the_rule_itself_finds_what_is_there() -> None:
    assert len(sentences("model/photo.py")) > 25
    assert "{} is empty (0 bytes). {}" in sentences("model/photo.py")
    assert "first of {} frames" in sentences("model/photo.py")


@pytest.mark.parametrize("english", SENTENCES)
def test_korean_keeps_every_value(english: str) -> None:
    count = english.count("{}")
    values = [f"<{letter}>" for letter in "abcdef"[:count]]
    filled = english
    for value in values:
        filled = filled.replace("{}", value, 1)
    for said in (filled, sentence(ImageError(filled))):
        korean = in_korean(said)
        assert re.search("[가-힣]", korean), said
        assert all(value in korean for value in values)
        assert "{" not in korean
    assert sorted(set(re.findall(r"\{(\d)\}", SENTENCES[english]))) == [
        str(i) for i in range(count)
    ]


def test_a_real_refusal_is_korean_to_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "나의 사진.jpg").write_text("text")
    with pytest.raises(ImageError) as caught:
        open_photo(tmp_path / "나의 사진.jpg")
    korean = in_korean(sentence(caught.value))
    assert korean.startswith("'나의 사진.jpg'은(는) 읽을 수 있는 그림이 아닙니다: 텍스트")
    assert korean.endswith("올릴 수 있습니다.")
    with pytest.raises(ImageError) as caught:
        open_photo(np.zeros((9000, 9000), np.uint8), "큰 그림")
    assert "9,000 x 9,000픽셀" in in_korean(str(caught.value))


def test_what_shipped_models_say_of_themselves_has_its_korean() -> None:
    shipped = [name for name in list_models() if name not in CURATED]
    assert len(shipped) >= 2
    for name in shipped:
        loaded = load(name)
        details = loaded.card.details
        words = [loaded.card.source, load(name, pretrained=False).card.source]
        told = ("title", "data", "terms", "wall time", "began with")
        words += [details[fact] for fact in told if fact in details]
        if loaded.film:
            facts = facts_of(loaded.film)
            words += [picture["name"] for picture in facts["pictures"]]
            words += [facts["began_with"]] if facts["began_with"] else []
        for text in filter(re.compile("[A-Za-z]").search, words):  # digits are written alike
            assert re.search("[가-힣]", in_korean(text)), text
    for example in EXAMPLES:
        assert re.search("[가-힣]", in_korean(example.name)), example


def test_what_is_not_in_the_dictionary_stays_as_it_is() -> None:
    for text in ("", "no such sentence", "x" * 5000, "강아지"):
        assert in_korean(text) == text
    assert in_korean(APOLOGY) != APOLOGY
