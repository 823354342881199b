#!/usr/bin/env bash
# Every check of vitviz from a bare machine: bash tests/run.sh
#
# Makes a virtual environment of its own (.venv-test, kept while the requirements stay the same),
# finds or installs Node and Chromium, then runs the linter, the tests of the viewer's JavaScript,
# the unit tests and the journeys through the page in a real browser. Needs no input.
#
#   PYTHON=...     the Python to use, 3.11 to 3.13     CHROMIUM=...   the browser to use
#   VENV=...       another place for the environment   anything after the script: passed to pytest
#   CONSTRAINTS=... what pip has to keep to, such as "torch==2.8.* torchvision==0.23.*"
set -uo pipefail
cd "$(dirname "$0")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
export GRADIO_ANALYTICS_ENABLED=False HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1
# nproc itself obeys OMP_NUM_THREADS.
cores=$(env -u OMP_NUM_THREADS nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# One thread for each process: pytest starts a process per core, and threads of several of them
# that share a core wait for each other most of the time.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
venv=${VENV:-.venv-test}
notes=$(mktemp -d) # what failed, and what is said beside the installation
trap 'kill $(jobs -p) 2>/dev/null; rm -rf -- "$notes"' EXIT

say() { printf '\n== %s\n' "$*"; }

# step NAME COMMAND...: runs it, says how long it took, remembers a failure and goes on.
step() {
    local name=$1 began=$SECONDS
    shift
    say "$name"
    if "$@" </dev/null; then
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
    local node
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
    # Named one by one: Node 20 takes a folder, Node 22 takes a pattern, all take files.
    step "viewer tests in Node" limit 300 "$node" --test --test-reporter=spec tests/js/*.test.js
}

limit() {
    if command -v timeout >/dev/null; then timeout --kill-after=10 "$@"; else "${@:2}"; fi
}

say "machine: $(uname -sm), $cores cores, OMP_NUM_THREADS=$OMP_NUM_THREADS"
if ! python=$(find_python); then
    echo "vitviz needs Python 3.11, 3.12 or 3.13 with venv; none was found. Set PYTHON=/path/to/python."
    exit 1
fi
echo "python: $python ($("$python" --version))"
# pip takes one core for minutes; what needs no Python runs beside it, and is shown when it has ended.
without_python >"$notes/beside" 2>&1 &
beside=$!
step "install into $venv" install_environment "$python" || exit 1
bin=$PWD/$venv/bin
case $venv in /*) bin=$venv/bin ;; esac
rm -f "$venv"/unit.log "$venv"/browser.log "$venv"/alone.log
VENV=$venv step "lint and types of Python" bash tests/check.sh python >"$notes/lint" 2>&1 &
lint=$!
wait $beside
cat "$notes/beside"
CHROMIUM=$(find_chromium)
export CHROMIUM
echo "chromium: ${CHROMIUM:-none}"

# tests NAME ARGUMENTS...: pytest, ended if it hangs; its last line is shown again at the very end.
tests() {
    local log=$venv/$1.log
    shift
    limit 1500 "$bin/python" -m pytest -q "$@" 2>&1 | tee "$log"
}

# journeys ARGUMENTS...: up to three that fail are tried once more, one after another and alone. On a small machine two browsers
# and an app each starve one another for seconds; a fault fails again. Which they were is said again at the very end.
journeys() {
    tests browser tests/browser $side_by_side -m browser --durations=3 "$@" && return
    grep -E '^(FAILED|ERROR) ' "$venv/browser.log" >"$venv/alone.txt"
    [ "$(wc -l <"$venv/alone.txt")" -le 3 ] && [ -s "$venv/alone.txt" ] || return 1
    say "journeys that failed, once more and alone"
    tests alone tests/browser -m browser --last-failed "$@" || return
    unsteady=$(sed -E 's/^(FAILED|ERROR) ([^ ]*).*/UNSTEADY: \2 failed once, and passed alone/' "$venv/alone.txt" | sort -u)
}

# One process per core: most of these tests compute on one thread, and a browser waits a lot.
side_by_side="-n $((cores < 4 ? cores : 4)) --dist worksteal"
step "unit tests" tests unit $side_by_side --durations=5 "$@"
wait $lint
cat "$notes/lint"
[ -n "${CHROMIUM:-}" ] && step "journeys in Chromium" journeys "$@"

say "$SECONDS s in all"
cat "$notes/missing" 2>/dev/null
if [ -n "${unsteady:-}" ]; then echo "$unsteady"; fi
cat "$notes/failed" 2>/dev/null
tail -qn 1 "$venv"/unit.log "$venv"/browser.log "$venv"/alone.log 2>/dev/null
[ ! -s "$notes/failed" ] && [ ! -s "$notes/missing" ]
