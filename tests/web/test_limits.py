"""Limits that depend on the machine, and what is kept up to a limit."""

import os
import re
from collections import OrderedDict

import pytest

from tests.running import ROOT
from vitviz.languages import ENGLISH, dictionary
from vitviz.model.photo import MAX_BYTES, MAX_PIXELS
from vitviz.web.host import limits
from vitviz.web.host.limits import keep, usable_cores

SHARES = {0.25: "a quarter", 0.75: "three quarters"}


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


def test_the_page_on_security_says_what_a_host_gives() -> None:
    page = (ROOT / ".github/SECURITY.md").read_text("utf-8")
    mb, kb = 10**6, 1000
    waiting = int(limits.QUEUE_SIZE * limits.QUEUE_SHARE)
    rows = {
        "descriptors": f"{limits.CONNECTIONS_OF_ADDRESS:,} connections of one address, at"
        f" most {SHARES[limits.ADDRESS_SHARE]} of all descriptors, but of a proxy on this machine;"
        f" {SHARES[limits.CONNECTIONS_SHARE]} for the connections of all;"
        f" {limits.STREAMS} streams of events at a time,"
        f" {limits.STREAMS_OF_ADDRESS} of one address, {limits.FIRST_STREAMS:,} where an address"
        f" with further ones has fewer than four; {limits.UPLOADS} uploads,"
        f" {limits.UPLOADS_OF_ADDRESS} of one address, {limits.FIRST_UPLOADS} where each further"
        f" one is the only one of its address; {limits.REQUESTS_INSIDE} requests of one address,"
        f" waiting ones included. The app asks the system for {limits.DESCRIPTORS:,}",
        "memory": f"{MAX_BYTES // mb} MB and {MAX_PIXELS // mb} megapixels of a picture,"
        f" {limits.UPLOAD_PARTS} files and {limits.UPLOAD_PARTS} fields of"
        f" {limits.UPLOAD_FIELD_BYTES // kb} kB in an upload; {limits.BODY_BYTES // kb} kB and"
        f" {limits.BODY_VALUES:,} JSON values in any other request, {limits.TOOL_BYTES // kb:,} kB"
        f" and {limits.TOOL_VALUES:,} for a tool of language models,"
        f" {limits.JSON_LISTS:,} lists in either,"
        f" and a head of {limits.HEAD_BYTES // kb} kB and {limits.HEAD_LINES} lines,"
        f" with an address of {limits.FIRST_LINE_BYTES // kb} kB and {limits.PARAMETERS}"
        " parameters;"
        f" {limits.ANSWER_PIECE_BYTES // kb} kB of an answer that waits for a slow reader;"
        f" {limits.MODELS_BYTES // mb:,} MB of models",
        "disk": f"{limits.CACHE_BYTES // mb:,} MB of pictures and results in"
        f" {limits.CACHE_FILES:,} files, in whole blocks, for"
        f" {limits.CACHE_AGE_SECONDS // 60} minutes each; {limits.LOG_LINES} warnings of one kind"
        f" a minute in the log, of {limits.LOG_LETTERS} letters each; the oldest files go"
        " before the disk lacks room, nothing new while less than"
        f" {limits.DISK_RESERVE_BYTES // mb:,} MB are free",
        "time": f"{limits.QUEUE_SIZE} requests wait, at most {waiting} of one address, and"
        f" {limits.QUEUE_SIZE * limits.FIRST_QUEUE} where each further one is the only one of its"
        f" address; addresses take turns; on two cores {limits.workers(2)} requests of pages"
        f" compute at a time, and {limits.workers(2)} of programs, up to"
        f" {limits.FIRST_WORKERS} of each if every further one is the only one of its address;"
        f" {limits.DIRECT_OF_ADDRESS} requests of an address compute beside the"
        f" queue, {limits.QUESTIONS} of all addresses and {limits.FIRST_QUESTIONS} where each"
        f" further one is the only one of its address, for pages, and as many for programs;"
        f" {['no', 'one'][limits.DOCUMENTS]} document is made at a time, of addresses in turn;"
        f" what computes goes first to the address that has the fewest turns, then to the one that"
        f" has waited longest, and the sooner the shorter its turns are; {limits.HEAD_SECONDS} s"
        f" for a head to arrive, {limits.UPLOAD_SECONDS} s for an upload, {limits.BODY_SECONDS} s"
        f" for any other body; {limits.ANSWER_SECONDS} s for an answer to be taken; after wrong"
        f" passwords the next one of that address waits for up to {limits.LOGIN_SECONDS} s",
    }
    for name, most in rows.items():
        assert f"| {name} | {most} |" in page.splitlines(), name
    table = page.partition("| of a host | at most |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(table) == len(rows)  # no row whose figures nothing holds


def test_the_readme_says_what_one_address_may_do() -> None:
    """Each bound with its number, status and sentence; and no bound of an address is left out."""
    page = (ROOT / "vitviz/web/README.md").read_text("utf-8")
    table = page.partition("## What one address may do")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    sentences = dictionary(ENGLISH, "web")
    wanted = {
        "CONNECTIONS_OF_ADDRESS": "they are closed",
        "REQUESTS_INSIDE": (503, "many_open"),
        "STREAMS_OF_ADDRESS": (503, "many_open"),
        "REQUESTS_OF_ADDRESS": "they wait",
        "DIRECT_OF_ADDRESS": "they wait",
        "QUEUE_SHARE": (429, "busy"),
        "UPLOADS_OF_ADDRESS": (503, "many_uploads"),
        "LOGIN_SECONDS": (429, "many_passwords"),
    }
    found = {}
    for _, bound, beyond in rows:
        named = re.findall(r"`(\w+)` ([\d.,]+)", bound)
        for name, number in named:
            assert float(number.replace(",", "")) == getattr(limits, name), name
        found[named[0][0]] = beyond.removesuffix(" |")
    assert found == {
        name: beyond if isinstance(beyond, str) else f"{beyond[0]}, *{sentences[beyond[1]]}*"
        for name, beyond in wanted.items()
    }
    assert {name for name in vars(limits) if name.endswith("_OF_ADDRESS")} <= set(found)


def test_a_full_class_behind_one_address_may_open_the_page() -> None:
    """200 phones hold six connections and two streams each; 14,000 of 18,400 files were refused."""
    assert limits.REQUESTS_INSIDE >= 6 * limits.VOTERS
    assert limits.STREAMS_OF_ADDRESS >= 2 * limits.VOTERS
    assert limits.STREAMS > limits.STREAMS_OF_ADDRESS
