#!/usr/bin/env bash
# What can be found without running vitviz, in seconds: bash tests/check.sh
#
# ruff and mypy on one core, eslint, tsc and prettier on another; `python` or `javascript` after the script: one
# of the two alone. Each says its findings once; the status is 1 if there are any. The tools are those
# that tests/run.sh installs, into .venv-test and tests/js/node_modules.
#
#   VENV=...   another place for the environment   CONSTRAINTS=...   as of tests/run.sh; no mypy then
set -uo pipefail
cd "$(dirname "$0")/.."

bin=${VENV:-.venv-test}/bin
case $bin in /*) ;; *) bin=$PWD/$bin ;; esac
wanted=" ${*:-python javascript} "
said=$(mktemp -d)
trap 'rm -rf -- "$said"' EXIT

# check NAME COMMAND...: keeps what a command says, and the name of one that fails.
check() {
    local name=$1
    shift
    "$@" >"$said/$name" 2>&1 </dev/null || echo "$name" >>"$said/failed"
}
types() {
    cd "$said/tree" && "$bin/mypy" --no-error-summary --cache-dir "$1"
}
missing() { echo "NOT RUN: $1" >>"$said/missing"; }

python() {
    check "ruff check" "$bin/ruff" check --quiet .
    check "ruff format" "$bin/ruff" format --check --quiet .
    if [ -n "${CONSTRAINTS:-}" ]; then
        echo "mypy reads what the newest torch says of itself; CONSTRAINTS may hold another" >"$said/mypy"
    else
        # Gradio writes .pyi beside a component when it is imported; mypy would read them in its place.
        mkdir "$said/tree"
        tar -c --exclude="*.pyi" --exclude="__pycache__" vitviz pyproject.toml | tar -x -C "$said/tree"
        check "mypy" types "$PWD/.mypy_cache"
    fi
}
javascript() {
    check "eslint" npm --prefix tests/js run --silent lint
    check "tsc" npm --prefix tests/js run --silent types
    check "prettier" npm --prefix tests/js run --silent formatted
}

if [[ $wanted == *" python "* ]]; then
    if [ -x "$bin/mypy" ] && [ -x "$bin/ruff" ]; then python & else missing "there is no ruff or mypy in $bin"; fi
fi
if [[ $wanted == *" javascript "* ]]; then
    if [ -x tests/js/node_modules/.bin/tsc ]; then javascript & else missing "eslint, tsc and prettier need npm ci in tests/js"; fi
fi
wait

for name in "ruff check" "ruff format" mypy eslint tsc prettier; do
    [ -s "$said/$name" ] && printf '== %s\n' "$name" && cat "$said/$name"
done
cat "$said/missing" 2>/dev/null
[ -f "$said/failed" ] && sed 's/^/FAILED: /' "$said/failed"
echo "$SECONDS s"
[ ! -f "$said/failed" ] && [ ! -f "$said/missing" ]
