"""The page makes of each example what the shipped models see of it; see `pixels_fixture`."""

import json

from tests.node import JS, needs_node, node
from tests.pixels_fixture import looked, pixels, raw, seen
from vitviz import load, open_photo
from vitviz.web.store.examples import EXAMPLES


@needs_node
def test_the_page_sees_the_examples_as_python_does(tmp_path) -> None:
    ways = {name: load(name).preprocess for name in ("photos", "mnist")}
    pictures = {}
    for example in EXAMPLES:
        photo = open_photo(example.path)
        told = {name: [seen(one, p) for one in looked(photo)] for name, p in ways.items()}
        pictures[str(example.name)] = {**raw(photo), "seen": told}
    # The other fixtures are those of every day.
    for path in (JS / "fixture").iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "pixels").unlink()
    (tmp_path / "pixels").mkdir()
    told = {"ways": {name: one.to_dict() for name, one in ways.items()}, "pictures": pictures}
    (tmp_path / "pixels" / "pictures.json").write_text(json.dumps(told))
    said = node("--test", JS / "pixels.test.js", VITVIZ_FIXTURE=str(tmp_path))
    assert f"# pass {len(EXAMPLES) + 2}" in said  # and two that need no example
    assert len(pixels()["pictures"]) > 8
