"""The tables of the page's engine are those of Python, and Python's own checks keep to them."""

from vitviz.payload import tables


def test_the_file_of_the_engine_is_what_python_writes() -> None:
    text = tables.FILE.read_text("utf-8")
    assert text == tables.text(), "run python -m vitviz.payload.tables"
    assert max(map(len, text.splitlines())) <= 120
