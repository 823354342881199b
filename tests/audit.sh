#!/usr/bin/env bash
# Known holes in what vitviz needs: bash tests/audit.sh
#
# pip-audit over the newest versions that requirements.txt and the extras admit, npm audit over the
# tools in tests/js. Both ask a database on the network, so this is no part of tests/run.sh; a
# workflow runs it every week. The status is 1 if a hole is known or a database cannot be asked.
#
#   PYTHON=...   the Python to use
set -uo pipefail
cd "$(dirname "$0")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
notes=$(mktemp -d)
trap 'rm -rf -- "$notes"' EXIT
failed=0

echo "== pip-audit"
"${PYTHON:-python3}" -m venv "$notes/venv" && "$notes/venv/bin/python" -m pip install --quiet "pip-audit>=2.9,<3" || exit 1
echo ".[mcp,metrics,ray,teacher,test]" >"$notes/wanted.txt"
# osv: the database behind pip-audit's default passes over packages that it cannot find, and ends well.
"$notes/venv/bin/pip-audit" --requirement "$notes/wanted.txt" --vulnerability-service osv --progress-spinner off || failed=1

echo "== npm audit"
npm --prefix tests/js audit || failed=1
exit $failed
