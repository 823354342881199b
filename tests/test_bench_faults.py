"""The table of faults: what counts as held, and what ends the command with an error."""

from collections import Counter

import pytest

from tests.bench import faults
from tests.bench.faults import Row, english

RIGHT = Counter(answered=3)


@pytest.mark.parametrize(
    ("row", "held"),
    [
        (Row("a fault", "the answer", RIGHT, 0), True),
        (Row("a fault", "a sentence", Counter(answered=3, refused=2)), True),
        (Row("a fault", "", missing="not installed here"), True),
        (Row("a fault", "the answer", Counter(answered=3, wrong=1), 0), False),
        (Row("a fault", "the answer", Counter(answered=3, lost=1), 0), False),
        (Row("a fault", "the answer", RIGHT, 1), False),
        (Row("a fault", "the answer", RIGHT, 0, "exit code 1"), False),
    ],
    ids=str,
)
def test_a_row_is_held_if_nothing_was_lost_wrong_left_or_broken(row: Row, held: bool) -> None:
    assert row.held is held
    assert str(row).count("|") == 8  # seven columns
    assert ("| no" in str(row).replace("| not", "")) is not held


def test_each_row_is_printed_as_it_comes_and_one_that_is_not_held_is_an_error(
    capsys, monkeypatch
) -> None:
    def broken(folder):
        yield Row("first", "the answer", RIGHT, 0)
        raise TimeoutError(f"nothing came to {folder}")

    def good(folder):
        assert folder.is_dir()
        yield Row("last", "the answer", RIGHT)

    monkeypatch.setattr(faults, "FAULTS", {"broken": broken, "good": good})
    assert faults.main(["--only", "good"]) == 0
    capsys.readouterr()
    assert faults.main([]) == 1
    _, rule, first, failed, last = capsys.readouterr().out.splitlines()
    assert set(rule) == set("|-")
    assert first == "| first | the answer | 3 | 0 | 0 | 0 | yes |"
    assert failed.startswith("| broken |  | 0 | 0 | 0 |  | no TimeoutError: nothing came")
    assert last == "| last | the answer | 3 | 0 | 0 |  | yes |"


@pytest.mark.parametrize(
    "said",
    [
        "No room &#x27;here&#x27;.",
        '<span class="vv-en">No room &#x27;here&#x27;.</span><span class="vv-ko">없음</span>',
        """data: {"error": "No room 'here'.", "visible": true}""",
    ],
)
def test_what_a_visitor_sees_is_one_sentence_in_english(said: str) -> None:
    assert english(said) == "No room 'here'."
