"""Languages are data: all say the same, and one more is one folder more."""

import json
import re
import string
from collections import Counter
from pathlib import Path

import pytest

from tests.node import node
from vitviz import languages
from vitviz.languages import FOLDER, dictionary, language_of
from vitviz.payload.bundle import bundle

PARTICLES_JS = (FOLDER.parent / "viewer" / "text" / "particles.js").as_uri()
SUBJECTS = sorted(path.stem for path in (FOLDER / "en").glob("*.json"))
OTHERS = [language for language in languages.languages() if language != "en"]


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def faults(english: dict[str, str], other: dict[str, str]) -> list[str]:
    """What a dictionary of another language has wrong, in words."""
    found = [f"lacks {key}" for key in english.keys() - other.keys()]
    found += [f"has {key}, which English has not" for key in other.keys() - english.keys()]
    for key in english.keys() & other.keys():
        if placeholders(english[key]) != placeholders(other[key]):
            found.append(f"fills in other values in {key}")
        if not other[key].strip():
            found.append(f"says nothing in {key}")
    return sorted(found)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_language_says_all_that_english_says_with_the_same_values(
    language: str, subject: str
) -> None:
    assert faults(dictionary("en", subject), dictionary(language, subject)) == []


@pytest.mark.parametrize("language", languages.languages())
def test_files_that_a_text_names_are_there(language: str) -> None:
    texts = " ".join(text for one in SUBJECTS for text in dictionary(language, one).values())
    named = set(re.findall(r"vitviz/[\w/]+\.py", texts))
    assert "vitviz/model/patch_embed_three_ways.py" in named
    assert [path for path in named if not (FOLDER.parents[1] / path).is_file()] == []


def test_a_language_has_no_file_that_english_has_not() -> None:
    for language in OTHERS:
        assert sorted(path.stem for path in (FOLDER / language).iterdir()) == SUBJECTS


def test_the_rule_itself() -> None:
    english = {"a": "{x} of {y}", "b": "b", "c": "c"}
    assert faults(english, {"a": "{y}", "b": " ", "d": "d"}) == [
        "fills in other values in a",
        "has d, which English has not",
        "lacks c",
        "says nothing in b",
    ]


def test_no_key_stands_twice() -> None:
    twice = []
    for path in sorted(FOLDER.glob("*/*.json")):
        pairs = json.loads(path.read_text("utf-8"), object_pairs_hook=list)
        counts = Counter(key for key, _ in pairs)
        twice += [f"{path.parent.name}/{path.name}: {key}" for key in counts if counts[key] > 1]
    assert not twice, "\n".join(twice)


def test_korean_has_one_word_for_python() -> None:
    texts = [text for one in SUBJECTS for text in dictionary("ko", one).values()]
    assert sum("파이썬" in text for text in texts) > 10
    assert [text for text in texts if "Python" in text] == []


def test_english_and_korean_come_with_vitviz() -> None:
    assert {"en", "ko"} <= set(languages.languages())


def test_the_longest_beginning_of_a_tag_decides(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for tag in ("en", "ko", "zh", "zh-Hant"):
        (tmp_path / tag).mkdir()
        (tmp_path / tag / "viewer.json").write_text("{}")
    monkeypatch.setattr(languages, "FOLDER", tmp_path)
    languages.languages.cache_clear()
    try:
        asked = ["zh-TW", "zh_Hant_TW", "ZH-HANT", "zhx", " ko ", "kok", "", "*"]
        got = ["zh", "zh-Hant", "zh-Hant", "en", "ko", "en", "en", "en"]
        assert [language_of(tag) for tag in asked] == got
    finally:
        languages.languages.cache_clear()


def test_the_bundle_brings_the_texts_and_reads_no_folder() -> None:
    text = bundle()
    assert "node:fs" not in text
    assert dictionary("ko", "viewer")["untrainedNote"] in text


PARTICLES = {
    "레이어 3을(를)": "레이어 3을",
    "레이어 5을(를)": "레이어 5를",
    "개은(는) 곰은(는)": "개는 곰은",
    "CLS 토큰와(과)의": "CLS 토큰과의",
    "5행 2열와(과) 사과(와)": "5행 2열과 사와",
    "'a.jpg'은(는)": "'a.jpg'는",
    "'cell'이(가)": "'cell'이",
    "“위치 없음”은(는) 고양이\u2019을(를)": "“위치 없음”은 고양이\u2019를",
    "그림(2)을(를)": "그림(2)를",
    "1(으)로 3(으)로 벽(으)로 물(으)로": "1로 3으로 벽으로 물로",
    "'dog'(이)라는 요가(이)라는 작가(이)라는": "'dog'라는 요가라는 작가라는",
    # English words as they are read, abbreviations by their letters.
    "cat을(를) book이(가) pen(으)로 apple(으)로": "cat을 book이 pen으로 apple로",
    "tiger을(를) desk이(가) boat과(와) house은(는)": "tiger를 desk가 boat와 house는",
    "ViT은(는) MLP과(와) png(으)로 R(으)로 M(으)로": "ViT는 MLP와 png로 R로 M으로",
    "을(를) (가) 이것": "을(를) (가) 이것",
}


def test_korean_particles_fit_the_word_before_them() -> None:
    assert {text: languages.with_particles(text) for text in PARTICLES} == PARTICLES
    script = f"""import {{ filled }} from "{PARTICLES_JS}";
        const all = {json.dumps(list(PARTICLES))};
        console.log(JSON.stringify(all.map((one) => filled(one, {{}}))))"""
    said = json.loads(node("--input-type=module", "-e", script))
    assert said == list(PARTICLES.values())  # the viewer says the same
