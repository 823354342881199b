#!/usr/bin/env bash
# Every check of vitviz from a bare machine: bash tests/run.sh
#
# Makes a virtual environment of its own (.venv-test, kept while the requirements stay the same),
# meanwhile finds or installs Node and Chromium, and checks and tests the JavaScript; then runs the
# unit tests, with Python's linter beside them, and the journeys through the page in a real browser.
# Needs no input. A test that fails is named at once, behind !!, and again at the end, also of a run
# that is ended by a signal.
#
#   PYTHON=...     the Python to use, 3.11 to 3.13     CHROMIUM=...   the browser to use
#   VENV=...       another place for the environment   anything after the script: passed to pytest
#   CONSTRAINTS=... what pip has to keep to, such as "torch==2.8.* torchvision==0.23.*"
set -umo pipefail # -m: a process group for every job, so that all that it has started ends with it
cd "$(dirname "$0")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
export GRADIO_ANALYTICS_ENABLED=False HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1
# pip does not compile, so imports have to: without files of bytecode each start of Python compiles torch and Gradio anew.
unset PYTHONDONTWRITEBYTECODE
# nproc itself obeys OMP_NUM_THREADS.
cores=$(env -u OMP_NUM_THREADS nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# One thread for each process: pytest starts a process per core, and threads of several of them
# that share a core wait for each other most of the time.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
venv=${VENV:-.venv-test}
notes=$(mktemp -d) # what failed
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n== %s\n' "$*"; }

# finish: what is said at the end of every run, by whatever it is ended.
finish() {
    local status=$? job
    trap '' HUP INT TERM
    for job in $(jobs -p); do end "$job"; done
    say "$SECONDS s in all$([ $status -le 128 ] || echo ", ended by a signal")"
    cat "$notes/missing" "$notes/failed" 2>/dev/null
    grep -hE '^!! |✖ .*ms\)$' "$notes/node.log" "$venv"/{unit,browser}.log 2>/dev/null | sed 's/^ *//' | sort -u
    tail -qn 1 "$venv"/{unit,browser}.log 2>/dev/null
    rm -rf -- "$notes"
}

# end JOB: all that is left of it. pytest says what failed so far, and has 20 s for that.
end() {
    [ "$BASH_SUBSHELL" = 0 ] || return 0 # a job of a job is in the group of that one
    kill -TERM -- "-$1" 2>/dev/null || return 0
    for _ in {1..100}; do kill -0 -- "-$1" 2>/dev/null || return 0; sleep 0.2; done
    kill -KILL -- "-$1" 2>/dev/null
}

# step NAME COMMAND...: runs it, says how long it took, remembers a failure and goes on.
step() {
    local name=$1 began=$SECONDS job status
    shift
    say "$name"
    "$@" </dev/null & # a shell that waits for a job hears a signal at once
    job=$!
    wait $job
    status=$?
    end $job # apps of a test whose process died
    if [ $status = 0 ]; then
        echo "-- $name: ok, $((SECONDS - began)) s"
    else
        echo "-- $name: FAILED, $((SECONDS - began)) s"
        echo "FAILED: $name" >>"$notes/failed"
        return 1
    fi
}

fits() { "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3.12 python3.11 python3.13 python3 python; do
        if fits "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# apt_get PACKAGE...: installs Debian packages where that is possible without asking anyone.
apt_get() {
    command -v apt-get >/dev/null || return 1
    [ "$(id -u)" = 0 ] || return 1
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 ||
        { apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
}

find_node() {
    local candidate
    for candidate in node nodejs; do
        # 18 has the test runner; the viewer itself runs in browsers.
        if [ "$("$candidate" -p 'parseInt(process.versions.node) >= 18' 2>/dev/null)" = true ]; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# Development checks of the JavaScript; their tools come from tests/js/package-lock.json.
javascript_tools() {
    (cd tests/js && npm ci --no-audit --no-fund --loglevel=error)
}

# The shell is Chromium without windows: it draws the same pages in four fifths of the computing.
find_chromium() {
    local candidate
    for candidate in ${CHROMIUM:+"$CHROMIUM"} chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable; do
        if "$candidate" --version >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

install_environment() {
    local python=$1 wanted
    wanted=$("$python" - <<'PY'
import os, sys, tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
print(f"# for Python {sys.version}".replace("\n", " "))
print(Path("requirements.txt").read_text("utf-8"))
print("\n".join(project["optional-dependencies"]["test"]))
print("\n".join(os.environ.get("CONSTRAINTS", "").split()))
PY
    ) || return
    if [ -x "$venv/bin/python" ] && [ "$(cat "$venv/requirements.txt" 2>/dev/null)" = "$wanted" ]; then
        echo "$venv is up to date"
        return
    fi
    rm -rf -- "${venv:?}"
    "$python" -m venv "$venv" || return
    echo "torch brings its CUDA libraries along: several GB the first time, from pip's cache after that"
    printf '%s\n' "$wanted" >"$venv/wanted.txt"
    # Compiled when it is imported, which most of it never is: that is a third of the time.
    "$venv/bin/python" -m pip install --quiet --no-compile --retries 5 -r "$venv/wanted.txt" || return
    mv "$venv/wanted.txt" "$venv/requirements.txt" # only now: an install that broke off is repeated
}

missing() { echo "NOT RUN: $1" | tee -a "$notes/missing"; }

# without_python: Node, Chromium, and all that is JavaScript.
without_python() {
    local node limit=
    if ! find_chromium >/dev/null; then
        say "installing Chromium with apt-get"
        apt_get chromium-headless-shell fonts-noto-cjk || apt_get chromium fonts-noto-cjk
        find_chromium >/dev/null || missing "Chromium (the journeys in the browser) was not found and could not be installed"
    fi
    if ! node=$(find_node); then
        say "installing Node with apt-get"
        apt_get nodejs
        node=$(find_node) || missing "Node 18 or newer (the tests of the viewer's JavaScript) was not found and could not be installed"
    fi
    [ -n "$node" ] || return
    echo "node: $node"
    if command -v npm >/dev/null &&
        [ "$("$node" -p 'const [a, b] = process.versions.node.split(".").map(Number); a > 20 || (a === 20 && b >= 19)')" = true ]; then
        step "tools for JavaScript" javascript_tools && step "lint and types of JavaScript" bash tests/check.sh javascript
    else
        echo "NOT RUN: eslint, tsc, prettier and the accessibility audit need npm and Node 20.19 or newer"
    fi
    # Named one by one: Node 20 takes a folder, Node 22 takes a pattern, all take files. --test-timeout is the limit
    # of one test, as in pyproject.toml; in Node 20 it is of a whole file, and ends an endless loop too. Node 18 lacks it.
    "$node" --help | grep -q -- --test-timeout && limit=--test-timeout=900000
    step "viewer tests in Node" "$node" --test $limit --test-reporter={spec,spec} \
        --test-reporter-destination={stdout,"$notes/node.log"} tests/js/*.test.js
}

say "machine: $(uname -sm), $cores cores, OMP_NUM_THREADS=$OMP_NUM_THREADS"
if ! python=$(find_python); then
    echo "vitviz needs Python 3.11, 3.12 or 3.13 with venv; none was found. Set PYTHON=/path/to/python."
    exit 1
fi
echo "python: $python ($("$python" --version))"
rm -f "$venv"/unit.log "$venv"/browser.log
# pip takes one core for minutes; what needs no Python runs beside it.
without_python &
beside=$!
step "install into $venv" install_environment "$python" || exit 1
bin=$PWD/$venv/bin
case $venv in /*) bin=$venv/bin ;; esac
VENV=$venv step "lint and types of Python" bash tests/check.sh python &
lint=$!
wait $beside
CHROMIUM=$(find_chromium)
export CHROMIUM
echo "chromium: ${CHROMIUM:-none}"

# tests NAME ARGUMENTS...: pytest, whose log tee keeps to the end of a run that is ended: the step is not over before
# tee is. A selection (the arguments of this script) may have no test of one kind: status 5.
tests() {
    local log=$venv/$1.log
    shift
    "$bin/python" -m pytest -q $side_by_side "$@" 2>&1 | (trap '' HUP INT TERM; exec tee "$log") || [ "$?$selection" = "5yes" ]
}

# One process per core: most of these tests compute on one thread, and a browser waits a lot.
side_by_side="-n $((cores < 4 ? cores : 4)) --dist worksteal"
selection=${1:+yes}
step "unit tests" tests unit --durations=25 "$@"
wait $lint
# A journey has twenty times as long as one wait in it (PATIENCE_MS in tests/browser/conftest.py).
[ -n "${CHROMIUM:-}" ] && step "journeys in Chromium" tests browser -m browser --durations=25 -o faulthandler_timeout=1800 "${@:-tests/browser}"
[ ! -s "$notes/failed" ] && [ ! -s "$notes/missing" ]
