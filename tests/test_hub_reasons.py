"""The hub's reasons, by its own client, from a server here that answers as huggingface.co does."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from vitviz import WeightsError, load
from vitviz.languages import say
from vitviz.model.timm_models import why_not

HASH = "a" * 40
# What comes for a file of each repository: status, the hub's code for it, or the file itself.
ANSWERS: dict[str, tuple[int, str, dict | None]] = {
    "gated": (401, "GatedRepo", None),
    "denied": (403, "GatedRepo", None),
    "nobody": (401, "RepoNotFound", None),
    "gone": (404, "RepoNotFound", None),
    "old": (404, "RevisionNotFound", None),
    "empty": (404, "EntryNotFound", None),
    "adapter": (200, "adapter_config.json", {"base_model_name_or_path": "google/vit"}),
    "other": (200, "config.json", {"task": "detect"}),
    "swin": (200, "config.json", {"model_type": "swin"}),
}


class Hub(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        parts = self.path.split("/")
        status, code, held = ANSWERS[parts[2]] if len(parts) > 2 else (200, "", {})
        if held is not None and len(parts) > 2 and parts[-1] != code:
            status, code, held = 404, "EntryNotFound", None
        body = b"" if held is None else json.dumps(held).encode()
        self.send_response(status)
        if held is None:
            self.send_header("X-Error-Code", code)
            self.send_header("X-Error-Message", "Invalid username or password.")
        for name, value in (("ETag", f'"{HASH}"'), ("X-Repo-Commit", HASH)):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_GET = do_HEAD


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    for name, value in (
        ("HF_HUB_OFFLINE", False),
        ("ENDPOINT", address),
        ("HUGGINGFACE_CO_URL_TEMPLATE", template),
        ("HF_HUB_CACHE", str(tmp_path)),
    ):
        monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
    yield address
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gated", r"a/gated is gated: .* Log in on http.*/a/gated, accept them .* hf auth login"),
        ("denied", r"account has no access to a/denied yet: .* on http.*/a/denied"),
        ("nobody", "no file or folder a/nobody here, and the .* hub has no model of this name"),
        ("gone", r"no file or folder a/gone here.*If it is private, log in"),
        ("old@v9", "the Hugging Face hub has a/old, but no branch, tag or commit v9"),
        ("empty", r"a/empty is on the Hugging Face hub, but has no config\.json"),
        ("adapter", r"a/adapter is an adapter of google/vit \(LoRA\).*merge_and_unload"),
        ("other", r"config\.json of a/other names neither a model_type .* nor an architecture"),
        ("swin", "its model_type is 'swin'"),
    ],
)
@pytest.mark.parametrize("front", ["", "hf-hub:"])
def test_the_reason_of_the_hub_and_a_way_are_said(name, sentence, front, hub: str) -> None:
    with pytest.raises(WeightsError, match=sentence) as caught:
        load(f"{front}a/{name}", device="cpu")
    if name in ("gated", "denied", "nobody", "gone", "old@v9", "empty", "other"):
        assert "Hugging Face" in (korean := say(caught.value.message, "ko")) or name in korean
        assert korean != str(caught.value)


def test_a_folder_that_is_mistyped_is_told_to_be_none(hub: str) -> None:
    """ "runs/checkpoint" looks like owner/name of the hub, which is asked and does not have it."""
    ANSWERS["checkpoint-50"] = ANSWERS["gone"]
    with pytest.raises(WeightsError, match="there is no file or folder runs/checkpoint-50 here"):
        load("runs/checkpoint-50")


def test_other_errors_keep_their_words() -> None:
    assert "broken off" in why_not("a/b", True, RuntimeError("broken off\nlong trace"))
