"""Limits that depend on the machine."""

import os

import pytest

from vitviz.web.host.limits import usable_cores


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
