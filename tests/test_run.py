"""The runner: it names failed tests at once and at the end of any run, and tries nothing twice."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import ROOT, until

PLANTED = """
import threading

def test_wrong():
    assert 1 == 2, "one is\\nnot two"

def test_waiting():
    threading.Event().wait()  # until the run is ended

def test_right():
    pass
"""
NAMED = "!! test_planted.py::test_wrong: AssertionError: one is"


def pytest_of(folder: Path, *options: str) -> subprocess.Popen:
    """pytest with the configuration of this project, on the planted tests in a process of xdist."""
    (folder / "test_planted.py").write_text(PLANTED)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "tests.failures"]
    command += ["-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", "--rootdir", folder]
    return started([*command, *options, folder], os.environ)


def started(command: list, environ: dict[str, str] | os._Environ) -> subprocess.Popen:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=ROOT, env=environ, **pipes)


def up_to(process: subprocess.Popen, line: str) -> None:
    """Read what a process prints until this line."""
    assert line in map(str.strip, iter(process.stdout.readline, "")), "it was not printed"


def test_a_failed_test_is_named_while_others_run_and_in_the_summary_of_an_ended_run(
    tmp_path: Path,
) -> None:
    with pytest_of(tmp_path) as process:
        up_to(process, NAMED)
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert ">       assert 1 == 2" in rest
    assert "FAILED " in rest.partition("short test summary")[2]


def test_a_test_beyond_its_limit_is_named_and_the_next_ones_run(tmp_path: Path) -> None:
    with pytest_of(tmp_path, "-o", "faulthandler_timeout=1") as process:
        up_to(process, NAMED)
        rest = process.stdout.read()
    assert "Timeout (0:00:01)!" in rest
    assert "in test_waiting\n" in rest
    assert "\n!! test_planted.py::test_waiting: worker 'gw0' crashed while running" in rest
    assert "\n2 failed, 1 passed in " in rest


# --- tests/run.sh with programs that only speak ---

PROGRAM = """#!/bin/sh
case "$*" in
    "--version" | "-c "* | "-m venv"*) ;;
    "-") echo wanted ;;
    *"-m pytest"*)
        echo "$@" >>"$VENV/calls"
        echo "!! test_a.py::test_b: one is not two"
        if [ "$1" = -m ] && [ -n "$WAITS" ]; then echo $$ >"$VENV/pid"; sleep 100; fi
        echo "1 failed in 0.01s"
        exit 1 ;;
    "-p parseInt"*) echo true ;;
    *--test*)
        for word; do
            case $word in *destination=/*) echo "✖ a figure (1.5ms)" >"${word#*=}" ;; esac
        done
        exit 1 ;;
esac
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Variables of a runner that finds `PROGRAM` as Python, Node, browser and linters."""
    (tmp_path / "bin").mkdir()
    for name in ("python", "node", "ruff", "mypy", "apt-get"):
        program = tmp_path / "bin" / name
        program.write_text(PROGRAM)
        program.chmod(0o755)
    (tmp_path / "requirements.txt").write_text("wanted\n")
    program = str(tmp_path / "bin/python")
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    places = {"VENV": str(tmp_path), "PYTHON": program, "CHROMIUM": program, "PATH": path}
    return os.environ | places | {"WAITS": ""}


def end_of(process: subprocess.Popen) -> list[str]:
    """The lines that a runner prints last, however it ends."""
    try:
        output, _ = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return output.partition(" s in all")[2].splitlines()


needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
AT_THE_END = ["!! test_a.py::test_b: one is not two", "✖ a figure (1.5ms)"]


def state_of(pid: str) -> str:
    """The first letter of the state of a process; "" if there is none."""
    if Path("/proc/self/stat").exists():  # a bare Linux has no ps
        stat = Path(f"/proc/{pid}/stat")
        return stat.read_text().rpartition(") ")[2][:1] if stat.exists() else ""
    ask = ["ps", "-o", "stat=", "-p", pid]
    return subprocess.run(ask, capture_output=True, text=True).stdout[:1]


@needs_bash
def test_a_run_names_what_failed_and_tries_nothing_twice(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with started(["bash", "tests/run.sh"], environ) as process:
        lines = end_of(process)
    assert process.returncode == 1
    assert "FAILED: journeys in Chromium" in lines
    assert [lines.count(line) for line in AT_THE_END] == [1, 1]
    unit, journeys = (tmp_path / "calls").read_text().splitlines()
    assert "browser" not in unit
    assert "tests/browser" in journeys


@needs_bash
def test_an_ended_run_names_what_failed_so_far_and_leaves_no_process(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with started(["bash", "tests/run.sh"], environ | {"WAITS": "yes"}) as process:
        until((tmp_path / "pid").exists)
        until((tmp_path / "pid").read_text)
        pid = (tmp_path / "pid").read_text().strip()
        process.terminate()
        lines = end_of(process)
    assert process.returncode == 128 + signal.SIGTERM
    assert lines[0] == ", ended by a signal"
    assert set(AT_THE_END) < set(lines)
    assert state_of(pid) in ("", "Z")  # Z: ended, and not yet reaped
