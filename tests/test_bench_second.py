"""The table of a second visitor: what counts as held, and a picture that is slow on purpose."""

import io
from collections import Counter

import pytest
from PIL import Image

from tests.bench.second import KINDS, Row, slow_jpeg

QUICK = {kind: [0.1, 0.3] for kind in KINDS}


@pytest.mark.parametrize(
    ("during", "lost", "left", "held"),
    [
        ({}, {}, 0, True),
        ({"analysis": [4.0]}, {}, 0, True),
        ({"analysis": [6.0]}, {}, 0, False),
        ({"document": [0.1, 2.5]}, {}, 0, False),
        ({}, {"file": 1}, 0, False),
        ({}, {}, 1, False),
    ],
)
def test_a_row_is_held_if_nobody_waited_and_nothing_was_lost_or_left(
    during: dict, lost: dict, left: int, held: bool
) -> None:
    got = Counter({"200": 3})
    row = Row("one", 3, got, QUICK, QUICK | during, Counter(lost), 1.5, (800, 900), left)
    assert row.held is held
    assert ("| yes |" in str(row)) is held
    assert str(row).count("|") == len(KINDS) + 7
    assert "3 200 in 1.5 s" in str(row)
    assert "0.20; " in str(row)  # the median before


def test_the_slow_picture_is_one_and_has_as_many_scans_as_it_says() -> None:
    data = slow_jpeg(side=64, scans=30)
    assert data.count(b"\xff\xda") == 31  # the first has the picture
    with Image.open(io.BytesIO(data)) as picture:
        picture.load()
        assert (picture.size, picture.mode) == ((64, 64), "L")
