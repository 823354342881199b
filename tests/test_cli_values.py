"""Any value of any option is used, or refused in one sentence; a traceback helps nobody."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.models import photo
from tests.running import save_tiny
from tests.values import JSON, tried
from vitviz import cli

# A shell can pass any bytes but 0; those that are no text arrive as lone surrogates. No value names
# a place outside of the folder that the test runs in.
TEXT = st.text(
    st.characters(exclude_characters="\0/") | st.characters(categories=["Cs"]), max_size=20
).filter(lambda text: text.strip(". ") or not text)
NEARLY = [
    *("", " ", "-", "--", "-1", "0", "1", "99", "1.5", "1e3", "nan", "0x1", "٣", "²", "½", "+1"),
    *("9" * 5000, "1_0", ",", "0,0", "0,,0", "1,99", "1,2,3", "cls", "mean", "all", "class 1"),
    *("[]", "{}", "[{}]", '[{"kind": "remove"}]', "[" * 5000, "tiny-cls", "é.png", "a\nb"),
]
FIELDS = ("patches", "rows", "layers", "layer", "head", "by", "cells", "from")
KINDS = st.sampled_from(["remove", "keep", "head", "even", "shuffle", "transplant"])
CHANGES = st.lists(
    st.fixed_dictionaries({"kind": KINDS}, optional=dict.fromkeys(FIELDS, JSON)), max_size=2
)
AS_JSON = (JSON | CHANGES).map(json.dumps)
OPTIONS = [
    *("photo", "model", "layer", "head", "token", "explain", "target", "remove", "keep"),
    *("positions", "shuffle", "head-off", "intervene", "out", "format", "summary"),
]


@pytest.fixture(scope="module")
def place(folder):
    save_tiny(folder, "cls")
    Image.fromarray(photo()).save(folder / "cat.png")
    return folder


@pytest.mark.parametrize("option", OPTIONS)
def test_a_value_is_used_or_refused_in_one_sentence(capsys, monkeypatch, place, option) -> None:
    monkeypatch.chdir(place)
    # What is written comes after all values were checked, and takes a second for the figures.
    monkeypatch.setattr(cli, "write", lambda *_, **__: [])
    others = ["cat.png", "--model=tiny-cls.safetensors"] if option != "photo" else []
    others += ["--explain=generic"] if option == "target" else []
    codes = set()

    def ask(value: str) -> None:
        asked = ["--", value] if option == "photo" else [f"--{option}={value}"]
        codes.add(said_by(capsys, [*others, *asked]))

    for value in NEARLY:
        ask(value)
    tried(20)(given(TEXT | AS_JSON)(ask))()
    assert 2 in codes


def said_by(capsys, arguments: list[str]) -> int:
    """The exit code, for which stderr has what belongs to it."""
    try:
        code = cli.main(arguments)
        start = "vitviz: "
    except SystemExit as stop:  # argparse shows the usage first
        code, start = stop.code, "python -m vitviz: error: "
    err = capsys.readouterr().err
    if code == 0:
        assert err == "", arguments
        return code
    assert code == 2, arguments
    *before, last = err.removesuffix("\n").split("\n")
    assert last.startswith(start), arguments
    assert before == [] or before[0].startswith("usage: "), arguments
    return code
