"""The language for a tag or an Accept-Language header, the same in Python and JavaScript."""

import json
import re
from pathlib import Path

import pytest

import vitviz
from tests.node import node
from vitviz.languages import language_of, languages
from vitviz.payload.bundle import language_of as language_of_js
from vitviz.web.host.error_messages import preferred

TAGS = {
    **dict.fromkeys(("ko", "ko-KR", "KO", "ko_KR", "ko-Hang-KR", " ko "), "ko"),
    **dict.fromkeys(("kok", "kok-IN", "kos", "en", "en-KO", "fr", "", "*"), "en"),
    "ko-" + "a" * 32: "ko",  # 35 letters
    **dict.fromkeys(("ko-" + "a" * 33, "ko" + "-a" * 17, "ko-" * 20_000), "en"),
}

KINDS = ("py", "js", "css", "html")


def test_korean_is_korean_in_any_spelling_and_no_other_language_is():
    assert {tag: language_of(tag) for tag in TAGS} == TAGS


def test_the_browser_says_the_same():
    script = f"const of = {language_of_js()}; console.log(JSON.stringify({list(TAGS)}.map(of)))"
    assert json.loads(node("-e", script)) == list(TAGS.values())


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("ko-KR", "ko"),
        ("ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7", "ko"),
        ("en-US,ko;q=0.5", "en"),
        ("ko;q=0.5, en-US", "en"),
        ("en;q=0.5,ko;q=0.8", "ko"),
        ("fr,ko;q=0.5", "ko"),
        ("fr-FR,fr;q=0.9", "en"),
        ("kok-IN,kok;q=0.9", "en"),
        ("ko;q=0", "en"),
        ("ko;q=0,en;q=0.1", "en"),
        ("ko;q=nonsense", "en"),
        ("ko; Q=1.000", "ko"),
        (",;,;q=,ko", "ko"),
        ("*", "en"),
        ("fr," * 19 + "ko", "ko"),
        ("fr," * 20 + "ko", "en"),  # more entries than are read
        ("," * 60_000 + "ko", "en"),
        ("ko-" + "a" * 60_000, "en"),
    ],
)
def test_quality_values_decide(header, language):
    assert preferred(header) == language


def test_no_code_names_a_language_other_than_english():
    house = Path(vitviz.__file__).parent
    others = "|".join(one for one in languages() if one != "en")
    naming = [
        path.relative_to(house).as_posix()
        for path in sorted(path for kind in KINDS for path in house.rglob(f"*.{kind}"))
        if re.search(rf"""["'](?:{others})["']""", without_docstrings(path))
    ]
    assert naming == []


def without_docstrings(path: Path) -> str:
    return re.sub(r'""".*?"""', "", path.read_text("utf-8"), flags=re.DOTALL)
