"""Pages and Python name the kind of a file that is no picture in the same words."""

import json
import random
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.node import needs_node, node
from tests.running import ROOT, save_tiny
from vitviz.model import photo_kinds
from vitviz.model.photo_kinds import BEGINNINGS, DAMAGED, HEAD, HEIC, PLACED, WITHIN, looks_like

SCRIPT = """\
import { readFileSync } from "node:fs";
const { kindOf } = await import(process.env.MODULE);
const files = JSON.parse(readFileSync(0, "utf-8"));
console.log(JSON.stringify(files.map((file) => kindOf(Uint8Array.from(file)))));
"""


def placed(at: int, data: bytes) -> bytes:
    """A file with these bytes at a place, or so far from its end."""
    return b"\1" * at + data + b"\1" * (600 if at >= 0 else -at - len(data))


NAMED = [
    *((placed(at, data), what) for at, data, what in PLACED),
    *((b"\0\0\0\x18ftyp" + brand, "heic") for brand in HEIC),
    (b"\0\0\0\x18ftypqt  ", "video"),
    *((b"\xef\xbb\xbf \n" + data.upper() + b"\1", what) for data, what in BEGINNINGS),
    *((data + b"\1", "damaged") for data, _ in DAMAGED),
    (b"<?xml ?>\n<SVG>", "svg"),
    (b"hello \xc3\xa9", "text"),
    (b"a" * (HEAD - 1) + b"\xc3\xa9", "text"),  # a letter that lies across the end of the head
    (b"a" * HEAD + b"\xff", "text"),
    (b"\xe9t\xe9 " * 200, "unknown"),  # Latin-1
    (b"a\xc3", "unknown"),  # a letter that is cut off
    (b"hello\0", "unknown"),
    (b"del\x7f", "unknown"),
    (b"", "unknown"),
    (b" \n", "unknown"),
]


def files() -> list[bytes]:
    """The files above, damaged copies of them, and short files of bytes that the tables name."""
    rng = random.Random(3)
    pieces = [data for _, data, _ in PLACED] + [data for data, _ in (*BEGINNINGS, *DAMAGED)]
    pieces += [data for data, _ in WITHIN]
    pieces += [b"ftyp", *HEIC, b" ", b"\xef\xbb\xbf", b"\n", b"a", b"\xc3\xa9", b"\xff"]
    mixed = [b"".join(rng.choices(pieces, k=rng.randrange(1, 5))) for _ in range(500)]
    cut = [data[: rng.randrange(len(data) + 1)] for data, _ in NAMED for _ in range(8)]
    return [data for data, _ in NAMED] + mixed + cut


@pytest.mark.parametrize(("data", "what"), NAMED)
def test_a_file_is_named_by_its_first_bytes(data: bytes, what: str) -> None:
    assert looks_like(data).key == f"photo.is_{what}"


@needs_node
def test_a_page_names_the_same_kind() -> None:
    module = (ROOT / "vitviz/viewer/data/photofile.js").as_uri()
    given = files()
    script = ("--input-type=module", "-e", SCRIPT)
    found = json.loads(node(*script, given=json.dumps([[*data] for data in given]), MODULE=module))
    for data, here in zip(given, found, strict=True):
        message = looks_like(data)
        assert (f"photo.is_{here.pop('what')}", here) == (message.key, message.values), data[:40]


def test_files_of_weights_are_named(tmp_path: Path) -> None:
    save_tiny(tmp_path, "cls")
    save_file({"a": torch.zeros(3)}, tmp_path / "theirs.safetensors", {"format": "pt"})
    torch.save({"a": torch.zeros(3)}, tmp_path / "a long name of a model.pth")
    files = [*tmp_path.iterdir()]
    assert [photo_kinds.kind_of(path).key for path in files] == ["photo.is_weights"] * 3


def test_each_kind_has_a_sentence() -> None:
    from vitviz.languages import ENGLISH, dictionary

    kinds = {what for *_, what in (*PLACED, *WITHIN, *BEGINNINGS)}
    kinds |= {"damaged", "heic", "video"}
    assert {f"is_{what}" for what in kinds | {"text", "unknown"}} <= set(
        dictionary(ENGLISH, "photo")
    )
    assert max(at + len(data) for at, data, _ in PLACED) < photo_kinds.HEAD
