"""What a host sees: log lines, health and metrics, and nothing of a visitor in them."""

import json
import logging
import sys
from pathlib import Path

import anyio
import httpx
import pytest
from anyio import to_thread
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.desks import desk_of, models_of, uploaded
from vitviz.errors import VitvizError
from vitviz.model.key import ModelKey
from vitviz.web.host import watch
from vitviz.web.host.watch import Watch
from vitviz.web.service.replies import Shown

FACTS = {
    "door": "page",
    "model": ModelKey("photos", True, 144),
    "outcome": "answered",
    "photo_bytes": 1000,
    "sent_bytes": 2000,
    "seconds": {"pass": 0.0125, "all": 0.5},
}


def test_a_line_of_json_for_each_analysis(caplog):
    with caplog.at_level(logging.INFO, "vitviz.analyses"):
        Watch().analysis(**FACTS)
    told = json.loads(caplog.messages[0])
    assert told == {
        **{name: value for name, value in FACTS.items() if name not in ("seconds", "model")},
        "model": "photos",
        "untrained": True,
        "image_size": [144, 144],
        "ms": {"pass": 12.5, "all": 500.0},
    }


def no_room():
    raise VitvizError("the disk is full")


def asked(one, path, closing=False, room=lambda: None):
    app = Starlette(routes=one.routes(lambda: closing, room))
    return TestClient(app).get(path)


def test_health_says_whether_pictures_are_taken():
    one = Watch()
    one.analysis(**FACTS)
    one.analysis(**FACTS | {"outcome": "photo.empty"})
    reply = asked(one, "/healthz")
    assert reply.status_code == 200
    told = reply.json()
    assert (told["status"], told["answered"], told["refused"]) == ("ok", 1, 1)
    for settings, status in (({"closing": True}, "closing"), ({"room": no_room}, "no room")):
        reply = asked(one, "/healthz", **settings)
        assert reply.status_code == 503
        assert reply.json()["status"].startswith(status)


def test_health_is_told_while_visitors_use_all_threads():
    app = Starlette(routes=Watch().routes(lambda: False, lambda: None))

    async def ask():
        threads = to_thread.current_default_thread_limiter()
        threads.total_tokens = 1
        async with threads, httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
            with anyio.fail_after(20):
                return await client.get("http://localhost/healthz")

    assert anyio.run(ask).json()["status"] == "ok"


def test_without_the_library_metrics_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    reply = asked(Watch(), "/metrics")
    assert reply.status_code == 501
    assert "pip install" in reply.text


def test_metrics_count_by_door_model_and_outcome(monkeypatch):
    pytest.importorskip("prometheus_client")
    one, other = Watch(), Watch()
    for outcome in ("answered", "answered", "photo.empty"):
        one.analysis(**FACTS | {"outcome": outcome})
    said = asked(one, "/metrics").text
    answered = 'vitviz_analyses_total{door="page",model="photos",outcome="answered"} 2.0'
    assert answered in said
    assert 'vitviz_stage_seconds_count{stage="pass"} 3.0' in said
    assert answered not in asked(other, "/metrics").text


def test_an_analysis_is_noted_without_its_picture(tmp_path, caplog):
    service = desk_of(models_of(tmp_path, "cls"), tmp_path)
    upload = uploaded(service, "my secret.png")
    with caplog.at_level(logging.INFO, "vitviz.analyses"):
        service.show(upload, ModelKey("tiny-cls"), Shown(None, ModelKey("tiny-cls")))
        service.show(upload, ModelKey("<none>"), Shown(None, ModelKey("tiny-cls")))
        Path(upload.address).write_bytes(b"no picture")
        service.show(upload, ModelKey("tiny-cls"), Shown(None, ModelKey("tiny-cls")))
    lines = [json.loads(line) for line in caplog.messages]
    assert [line["outcome"] for line in lines][:2] == ["answered", "web.no_model"]
    assert lines[2]["outcome"].startswith("photo.")
    assert lines[1]["model"] == "unknown"
    assert set(lines[0]["ms"]) == {"open", "load", "wait", "pass", "pack", "all"}
    stages = sum(spent for stage, spent in lines[0]["ms"].items() if stage != "all")
    assert stages <= lines[0]["ms"]["all"] + 0.6  # each is rounded
    assert "secret" not in " ".join(caplog.messages)
    assert watch.log.name == "vitviz.analyses"
