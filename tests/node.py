"""JavaScript run by Node, for tests that compare it with Python."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

JS = Path(__file__).parent / "js"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed (version 20 or newer)")


def node(*arguments: str | Path, given: str | None = None, **environ: str) -> str:
    """What Node prints; where it fails, an AssertionError with what it complained of."""
    done = subprocess.run(
        [NODE or "node", *arguments],
        input=given,
        capture_output=True,
        text=True,
        env={**os.environ, **environ},
        timeout=840,  # before that of a test ends the process (pyproject.toml)
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout
