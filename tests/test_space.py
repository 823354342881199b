"""The app as a Space starts it: `app_file` without arguments, from a checkout and with a home that
cannot be written, without a network.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from gradio_client import Client

from tests.running import ROOT, ended, free_port, wait_for

# Root writes everywhere, unless it gives up the right to.
AS_VISITOR = [
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
]


@pytest.fixture
def checkout():
    """A read-only copy of what a Space checks out; not below pytest's folder, which stays."""
    folder = Path(tempfile.mkdtemp(prefix="space-"))
    for name in ("README.md", "app.py", "requirements.txt"):
        shutil.copy(ROOT / name, folder)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyi")
    for name in ("vitviz", "weights"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    places = [folder, *folder.rglob("*")]
    for path in places:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in places:
        path.chmod(0o755 if path.is_dir() else 0o644)
    shutil.rmtree(folder)


def test_the_app_starts_and_answers_as_a_space(checkout, tmp_path):
    prefix = AS_VISITOR if os.getuid() == 0 else []
    if prefix and not shutil.which(prefix[0]):
        pytest.skip("root writes everywhere, and there is no setpriv to give that up")
    script = re.search(r"^app_file: (.*)$", (checkout / "README.md").read_text("utf-8"), re.M)[1]
    (home := tmp_path / "home").mkdir(mode=0o555)
    (cache := tmp_path / "tmp").mkdir()
    port = free_port()
    unset = ("VITVIZ", "GRADIO", "HF_", "XDG", "MPLCONFIGDIR", "TORCH_HOME", "PYTHONPATH")
    environ = {key: one for key, one in os.environ.items() if not key.startswith(unset)}
    nowhere = "http://127.0.0.1:9"
    # Not SYSTEM=spaces: with it Gradio reloads by the package `spaces`, which only Spaces have.
    environ |= {"HOME": str(home), "TMPDIR": str(cache), "SPACE_ID": "somebody/vitviz"}
    environ |= {"GRADIO_SERVER_NAME": "127.0.0.1"}
    environ |= {"GRADIO_SERVER_PORT": str(port), "HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere}
    environ |= {"NO_PROXY": "127.0.0.1,localhost"}
    log = tmp_path / "app.log"
    with log.open("wb") as file:
        command = [*prefix, sys.executable, script]
        process = subprocess.Popen(command, cwd=checkout, env=environ, stdout=file, stderr=file)
    try:
        wait_for(f"http://127.0.0.1:{port}", process, log)
        client = Client(f"http://127.0.0.1:{port}", verbose=False, download_files=False)
        assert client.predict("dog", api_name="/explain")["predictions"]
        with pytest.raises(Exception, match="not on this machine"):
            client.predict("dog", "deit_tiny_patch16_224.fb_in1k", api_name="/explain")
    finally:
        ended(process)
    assert "Traceback" not in log.read_text()
    assert not list(home.iterdir())
    assert not [path for path in checkout.rglob("*") if path.suffix in (".pyi", ".pyc")]
    assert not list(cache.glob("gradio/vitviz-*"))  # no picture is left
