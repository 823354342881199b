"""Replicas of Ray Serve: tokens, retries and refusals, with a stand-in for Ray."""

import pickle
import shutil
import socket
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

import vitviz
from tests.desks import encoded
from tests.models import photo
from tests.running import save_tiny
from vitviz.errors import VitvizError, WeightsError
from vitviz.model.key import ModelKey
from vitviz.web.compute import replicas as module
from vitviz.web.compute.jobs import Job, Selection
from vitviz.web.compute.replicas import TRIES, Replicas
from vitviz.web.host.settings import Settings, SettingsError


class RayActorError(Exception):
    pass


class BackPressureError(Exception):
    pass


class Ray:
    """A stand-in: one replica in this process, which jobs and results reach as bytes."""

    def __init__(self, monkeypatch):
        self.asked, self.fails, self.ended = [], [], []
        ray, serve = ModuleType("ray"), ModuleType("ray.serve")
        ray.init = self.init
        ray.shutdown = lambda: self.ended.append("ray")
        serve.start = lambda **options: self.asked.append(options)
        serve.deployment = lambda **options: self.deployment(options)
        serve.run = self.run
        errors, of_serve = ModuleType("ray.exceptions"), ModuleType("ray.serve.exceptions")
        errors.RayActorError = RayActorError
        errors.WorkerCrashedError = type("WorkerCrashedError", (Exception,), {})
        of_serve.BackPressureError = BackPressureError
        for one in (ray, serve, errors, of_serve):
            monkeypatch.setitem(sys.modules, one.__name__, one)
        monkeypatch.setattr(module, "version", lambda _: "2.60.0")

    def init(self, **options):
        self.asked.append(options)

    def deployment(self, options):
        self.asked.append(options)
        return lambda made: SimpleNamespace(bind=lambda *given: (made, given))

    def run(self, bound, **options):
        self.asked.append(options)
        made, given = bound
        self.replica = made(*pickle.loads(pickle.dumps(given)))
        return self

    def remote(self, job):
        return SimpleNamespace(result=lambda timeout_s: self.result(pickle.dumps(job)))

    def result(self, job):
        if self.fails:
            raise self.fails.pop(0)
        return pickle.loads(pickle.dumps(self.replica(pickle.loads(job))))


@pytest.fixture
def ray(monkeypatch):
    made = Ray(monkeypatch)
    yield made
    for options in made.asked:  # of an engine that was not closed
        shutil.rmtree(options.get("_temp_dir", ""), ignore_errors=True)


@pytest.fixture
def settings(tmp_path):
    return Settings(models=(str(save_tiny(tmp_path, "cls")),), engine="ray")


@pytest.fixture
def job():
    return Job(photo=encoded(), name="a.png", model=ModelKey("tiny-cls"), selection=Selection(3))


def test_a_job_is_executed_elsewhere_and_retried_if_its_replica_dies(ray, settings, job):
    engine = Replicas(settings, environ={})
    ray.fails = [RayActorError("killed")] * (TRIES - 1)
    result = engine.run(job)
    ours = vitviz.analyze(vitviz.load(settings.models[0]), photo())
    said = [one["index"] for one in result.summary["predictions"]]
    assert said == [one.index for one in ours.predictions(5)]
    ray.fails = [RayActorError("killed")] * TRIES
    with pytest.raises(RayActorError):
        engine.run(job)
    assert engine.run(Job(photo=b"", name="b.png", model=ModelKey("tiny-cls"))).refused.of_picture


@pytest.mark.parametrize("threads", [None, 3])
def test_a_replica_computes_on_the_threads_of_the_settings(ray, settings, threads):
    before = torch.get_num_threads()
    try:
        Replicas(replace(settings, threads=threads), environ={})
        assert torch.get_num_threads() == (threads or before)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("error", [BackPressureError("full"), TimeoutError()], ids=repr)
def test_where_all_replicas_are_busy_a_sentence_says_so_at_once(ray, settings, job, error):
    engine = Replicas(settings, environ={})
    ray.fails = [error]
    with pytest.raises(VitvizError, match="computes for many others"):
        engine.run(job)
    assert ray.fails == []


def test_a_cluster_of_our_own_gets_a_token_and_ends_with_the_app(ray, settings):
    environ = {}
    engine = Replicas(settings, environ)
    assert environ["RAY_AUTH_MODE"] == "token"
    assert len(environ["RAY_AUTH_TOKEN"]) == 64
    assert {"proxy_location": "Disabled"} in ray.asked  # no port for strangers' requests
    logs = Path(ray.asked[0]["_temp_dir"])
    assert logs.is_dir()
    engine.close()
    assert ray.ended == ["ray"]
    assert not logs.exists()


@pytest.mark.parametrize("error", [WeightsError("no model"), KeyboardInterrupt()], ids=repr)
def test_a_start_that_fails_leaves_no_cluster_and_no_folder(ray, settings, monkeypatch, error):
    monkeypatch.setattr(module.Models, "__init__", Mock(side_effect=error))
    with pytest.raises(type(error)):
        Replicas(settings, environ={})
    assert ray.ended == ["ray"]
    assert not Path(ray.asked[0]["_temp_dir"]).exists()


def test_another_cluster_is_joined_with_its_token_and_left_running(ray, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        joined_with_its_token(ray, address)
    with pytest.raises(SettingsError, match=f"no Ray cluster at {address}"):
        Replicas(Settings(engine=f"ray={address}"), environ={"RAY_AUTH_TOKEN": "secret"})


def joined_with_its_token(ray, address):
    settings = Settings(engine=f"ray={address}")
    with pytest.raises(SettingsError, match="the token of the cluster is needed"):
        Replicas(settings, environ={})
    assert ray.asked == []
    engine = Replicas(settings, environ={"RAY_AUTH_TOKEN": "secret"})
    assert ray.asked[0]["address"] == address
    assert "_temp_dir" not in ray.asked[0]
    engine.close()
    assert ray.ended == ["ray"]


@pytest.mark.parametrize("mode", ["disabled", "Disabled", ""])
def test_without_tokens_it_does_not_start(ray, settings, mode):
    with pytest.raises(SettingsError, match="RAY_AUTH_MODE must be token"):
        Replicas(settings, environ={"RAY_AUTH_MODE": mode})
    assert ray.asked == []


def test_without_ray_or_with_an_old_one_it_does_not_start(monkeypatch, settings):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module, "version", missing)
    with pytest.raises(SettingsError, match="needs a package"):
        Replicas(settings, environ={})
    monkeypatch.setattr(module, "version", lambda _: "2.9.3")
    with pytest.raises(SettingsError, match=r"2\.59 or newer"):
        Replicas(settings, environ={})
