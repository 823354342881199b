"""What the page costs for each of many visitors."""

import json
import os
import subprocess
import sys

import pytest

from tests.running import ROOT, save_tiny
from vitviz.web import limits
from vitviz.web.examples import EXAMPLES

# In a process of its own: Gradio leaves loops and sockets open.
FACTS = """
import json, sys
from gradio.components import html
from gradio.state_holder import StateHolder
from PIL import Image
from vitviz.web import Settings, build_app
from vitviz.web.components import Viewer

demo, options = build_app(Settings(models=(sys.argv[1],)))
searched, search = [], html.re.search
html.re.search = lambda pattern, text, *rest: searched.append(len(text)) or search(pattern, text)
holder = StateHolder()
holder.set_blocks(demo)
configs = len(holder["a page"].config_values)
viewer = next(block for block in demo.blocks.values() if isinstance(block, Viewer))
thumbnails = next(block for block in demo.blocks.values() if hasattr(block, "raw_samples"))
print(json.dumps({
    "configs": configs,
    "longest search": max(searched, default=0),
    "lacks": not hasattr(viewer, "nothing"),
    "sessions": options["state_session_capacity"],
    "block": Image.core.get_block_size(),
    "examples": [sample[0] for sample in thumbnails.samples],
}))
demo.gate.cache.delete()
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    env = {**os.environ, "GRADIO_TEMP_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", FACTS, str(save_tiny(folder, "cls"))]
    said = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def test_a_session_does_not_search_our_script(facts):
    """Gradio asks each component for many names that it lacks, for each page that is opened."""
    assert facts["configs"] > 10
    assert facts["longest search"] < 10_000
    assert facts["lacks"]


def test_only_so_many_sessions_are_kept(facts):
    assert facts["sessions"] == limits.SESSIONS_KNOWN


def test_the_memory_of_a_large_photo_is_given_back(facts):
    assert facts["block"] == limits.PILLOW_BLOCK_BYTES


def test_no_example_is_shown_from_the_cache(facts):
    """It would be swept, and the page would show a broken picture."""
    paths = [example["path"] for example in facts["examples"]]
    assert len(paths) > 5
    assert set(paths) <= {example.path for example in EXAMPLES}
    assert [example["url"] for example in facts["examples"]] == [
        f"/gradio_api/file={path}" for path in paths
    ]
