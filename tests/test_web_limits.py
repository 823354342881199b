"""Limits that depend on the machine, and what is kept up to a limit."""

import os
from collections import OrderedDict

import pytest

from vitviz.web.host.limits import keep, usable_cores


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("200000 100000", 2),
        ("150000 100000", 1),
        ("50000 100000", 1),
        ("900000 100000", 4),
        ("max 100000", 4),
        ("", 4),
        (None, 4),
    ],
)
def test_a_quota_counts_where_it_is_smaller(tmp_path, monkeypatch, quota, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    if quota is not None:
        (tmp_path / "cpu.max").write_text(quota)
    assert usable_cores(tmp_path / "cpu.max") == cores


def test_what_is_kept_anew_is_not_lost_to_another_thread_that_drops_the_oldest():
    class Shared(OrderedDict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            if len(self) > 1:
                self.popitem(last=False)  # as another thread does at this moment

    known = Shared()
    for key in ("a", "b"):
        OrderedDict.__setitem__(known, key, 0)
    keep(known, "a", 1, 2)
    assert dict(known) == {"a": 1}
