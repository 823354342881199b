"""Any value of any option is used, or refused in one sentence; a traceback helps nobody."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.models import photo
from tests.running import save_tiny
from tests.values import JSON, tried
from vitviz import cli, look

# A shell can pass any bytes but 0; those that are no text arrive as lone surrogates (PEP 383). No
# value names a place outside of the folder that the test runs in.
BYTES = st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0/") | BYTES, max_size=20).filter(
    lambda text: text.strip(". ") or not text
)
NEARLY = [
    *("", " ", "-", "--", "-1", "0", "1", "99", "1.5", "1e3", "nan", "0x1", "٣", "²", "½", "+1"),
    *("9" * 5000, "1_0", ",", "0,0", "0,,0", "1,99", "1,2,3", "cls", "mean", "all", "class 1"),
    *("[]", "{}", "[{}]", '[{"kind": "remove"}]', "[" * 5000, "tiny-cls", "é.png", "a\nb"),
]
FIELDS = ("patches", "rows", "layers", "layer", "head", "by", "cells", "from", "toward", "factor")
KINDS = st.sampled_from(["remove", "keep", "head", "even", "shuffle", "transplant", "add"])
CHANGES = st.lists(
    st.fixed_dictionaries({"kind": KINDS}, optional=dict.fromkeys(FIELDS, JSON)), max_size=2
)
AS_JSON = (JSON | CHANGES).map(json.dumps)
OPTIONS = [
    *("model", "layer", "head", "token", "explain", "target", "remove", "keep"),
    *("positions", "shuffle", "head-off", "intervene", "out", "format", "arch", "labels", "key"),
    *("preprocess", "like"),
]
# What comes before a value that is not one of an option.
BEFORE = {"word": [], "photo": ["look", "--"], "summary": ["summary", "--"]}


@pytest.fixture(scope="module")
def place(folder):
    save_tiny(folder, "cls")
    Image.fromarray(photo()).save(folder / "cat.png")
    return folder


@pytest.mark.parametrize("option", [*OPTIONS, *BEFORE])
def test_a_value_is_used_or_refused_in_one_sentence(capsys, monkeypatch, place, option) -> None:
    monkeypatch.chdir(place)
    # What is written comes after all values were checked, and takes a second for the figures.
    monkeypatch.setattr(look, "write", lambda *_, **__: [])
    others = ["look", "cat.png", "--model=tiny-cls.safetensors"]
    others += ["--explain=generic"] if option in ("target", "like") else []
    codes = set()

    def ask(value: str) -> None:
        if option in BEFORE:
            codes.add(said_by(capsys, [*BEFORE[option], value]))
        else:
            codes.add(said_by(capsys, [*others, f"--{option}={value}"]))

    for value in NEARLY:
        ask(value)
    tried(20)(given(TEXT | AS_JSON)(ask))()
    assert codes & {1, 2}


def said_by(capsys, arguments: list[str]) -> int:
    """The exit status, for which stderr has what belongs to it."""
    try:
        status = cli.main(arguments)
        assert status in (0, 1), arguments
    except SystemExit as stop:
        status = stop.code
        assert status == 2, arguments
    err = capsys.readouterr().err
    if status == 0:
        assert err == "", arguments
        return status
    assert err.startswith("vitviz"), arguments
    assert err.endswith("\n"), arguments
    assert err.count("\n") == 1, arguments
    return status
