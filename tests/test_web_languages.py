"""Who is spoken to in Korean, on both sides of the line."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from vitviz import web
from vitviz.web.languages import LANGUAGE_OF, language_of, preferred

TAGS = {
    **dict.fromkeys(("ko", "ko-KR", "KO", "ko_KR", "ko-Hang-KR", " ko "), "ko"),
    **dict.fromkeys(("kok", "kok-IN", "kos", "en", "en-KO", "fr", "", "*"), "en"),
}


def test_korean_is_korean_in_any_spelling_and_no_other_language_is():
    assert {tag: language_of(tag) for tag in TAGS} == TAGS


def test_the_browser_says_the_same():
    script = f"const of = {LANGUAGE_OF}; console.log(JSON.stringify({list(TAGS)}.map(of)))"
    said = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(said.stdout) == list(TAGS.values())


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
    ],
)
def test_quality_values_decide(header, language):
    assert preferred(header) == language


def test_only_one_place_knows_what_a_tag_of_a_language_looks_like():
    room = Path(web.__file__).parent
    knowing = [
        path.name
        for path in sorted((*room.glob("*.py"), *room.glob("*.js")))
        if re.search(r"""starts[wW]ith\(["']ko|\bko\b.*\.test\(""", path.read_text("utf-8"))
    ]
    assert knowing == ["languages.py"]
