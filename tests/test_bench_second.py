"""The table of a second visitor: what counts as held, and a picture that is slow on purpose."""

import io
import ipaddress
import sys
from collections import Counter

import httpx
import pytest
from PIL import Image

from tests.bench.load import own_address
from tests.bench.second import KINDS, Row, outcome_of, slow_jpeg

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
    got = Counter({"answered with 200": 3})
    row = Row("one", 3, got, QUICK, QUICK | during, Counter(lost), 1.5, (800, 900), left)
    assert row.held is held
    assert ("| yes |" in str(row)) is held
    assert str(row).count("|") == len(KINDS) + 7
    assert "3 answered with 200 in 1.5 s" in str(row)
    assert "0.20; " in str(row)  # the median before


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(200, "answered with 200"), (400, "refused with 400"), (503, "refused with 503")],
)
def test_what_is_refused_is_told_from_what_is_answered(status: int, outcome: str) -> None:
    assert outcome_of(httpx.Response(status)) == outcome


def test_the_slow_picture_is_one_and_has_as_many_scans_as_it_says() -> None:
    data = slow_jpeg(side=64, scans=30)
    assert data.count(b"\xff\xda") == 31  # the first has the picture
    with Image.open(io.BytesIO(data)) as picture:
        picture.load()
        assert (picture.size, picture.mode) == ((64, 64), "L")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8")
def test_each_visitor_has_an_address_of_this_machine_of_their_own() -> None:
    addresses = {own_address() for _ in range(300)}
    assert len(addresses) == 300
    assert all(ipaddress.ip_address(one).is_loopback for one in addresses)
    assert not addresses & {"127.0.0.1", "127.0.0.2"}  # of second.py
