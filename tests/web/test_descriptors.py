"""Descriptors: as many as the system allows, and one line of log when none is left."""

import logging
import subprocess
import sys

import pytest

from tests.running import ROOT
from vitviz.web.host.descriptors import EXHAUSTED, Rarely

RAISED = """
import resource
from vitviz.web.host import limits
from vitviz.web.host.descriptors import most_descriptors, raise_descriptors
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 1000))
for most in (500, 5000):
    limits.DESCRIPTORS = most
    raise_descriptors()
    print(resource.getrlimit(resource.RLIMIT_NOFILE), most_descriptors())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such bound")
def test_a_process_takes_what_the_system_allows():
    done = subprocess.run([sys.executable, "-c", RAISED], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["(500, 1000) 500", "(1000, 1000) 1000"], done.stderr


def test_that_none_is_left_stands_in_the_log_once_and_without_a_traceback(caplog):
    logger = logging.getLogger("of this test")
    logger.addFilter(Rarely())
    for _ in range(100):
        try:
            raise OSError(24, "Too many open files")
        except OSError:
            logger.error("socket.accept() " + EXHAUSTED, exc_info=True)
    logger.error("another")
    assert [record.getMessage() for record in caplog.records] == [
        "no connection can be accepted: all descriptors are used",
        "another",
    ]
    assert not caplog.records[0].exc_info
