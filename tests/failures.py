"""Plugin of pytest: names a test the moment it fails, and has an ended run print its summary.

With -q, and with xdist, pytest itself prints only an F until the end.
"""

import signal

import pytest


class Failures:
    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self.terminal = terminal

    @pytest.hookimpl(trylast=True)  # when it is in the summary
    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash else str(report.longrepr)
            first = next(filter(None, map(str.strip, text.splitlines())), "")
            self.terminal.write_line(f"\n!! {report.nodeid}: {first}")
            self.terminal.flush()  # a pipe keeps kilobytes back

    pytest_collectreport = pytest_runtest_logreport


@pytest.hookimpl(trylast=True)  # after the terminal reporter
def pytest_configure(config: pytest.Config) -> None:
    """In the process that a person watches, not in those that xdist starts."""
    if hasattr(config, "workerinput"):
        return
    # As Ctrl-C: pytest then prints tracebacks and names of all that failed so far.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.pluginmanager.register(Failures(config.pluginmanager.get_plugin("terminalreporter")))
