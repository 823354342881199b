"""Log lines: bounded in letters and in number, but for what a host asks for."""

import logging

import pytest

from vitviz.web.host import limits, log_lines
from vitviz.web.host.log_lines import Bounded, bound_log


@pytest.fixture
def logger(monkeypatch):
    for handler in logging.getLogger().handlers:  # a start of the app bounds those of pytest, too
        monkeypatch.setattr(handler, "filters", [])
    logger = logging.getLogger("of these tests")
    monkeypatch.setattr(logger, "filters", [Bounded()])
    return logger


def test_a_warning_is_one_line_of_a_few_hundred_printable_letters(logger, caplog):
    logger.warning("%s", "a\n  b\x1b[31m" + "x" * 10_000)
    (line,) = caplog.messages
    assert line.startswith("'a b\\x1b[31mxxx")
    assert len(line) < limits.LOG_LETTERS + 10


def test_each_place_of_the_code_writes_few_warnings_a_minute(logger, caplog, monkeypatch):
    now = 1e6
    monkeypatch.setattr(log_lines.time, "monotonic", lambda: now)

    def warn(first: int, count: int) -> list[str]:
        caplog.clear()
        for number in range(first, first + count):
            logger.warning("number %d", number)
        return caplog.messages

    lines = warn(0, 3 * limits.LOG_LINES)
    assert len(lines) == limits.LOG_LINES
    assert lines[-1] == f"number {limits.LOG_LINES - 1} (no more of these in this minute)"
    logger.warning("another place")
    assert caplog.messages[-1] == "another place"
    now += 60
    assert warn(0, 2) == ["number 0", "number 1"]


def test_each_handler_counts_its_own_lines(monkeypatch):
    root, heard = logging.getLogger(), []
    handlers = [logging.Handler(), logging.Handler()]
    for handler in handlers:
        handler.emit = lambda record: heard.append(record)
    monkeypatch.setattr(root, "handlers", handlers)
    monkeypatch.setattr(logging.getLogger(log_lines.LOGGERS[0]), "filters", [])
    bound_log()
    for _ in range(limits.LOG_LINES + 5):
        root.warning("a line")
    assert len(heard) == 2 * limits.LOG_LINES


def test_what_a_host_asks_for_and_tracebacks_stay_whole(logger, caplog):
    logger.setLevel(logging.INFO)
    long = "x" * 10_000
    for _ in range(2 * limits.LOG_LINES):
        logger.info(long)
    try:
        raise ZeroDivisionError(long)
    except ZeroDivisionError:
        logger.exception("a fault")
    assert caplog.messages == [long] * 2 * limits.LOG_LINES + ["a fault"]
    assert caplog.records[-1].exc_info
