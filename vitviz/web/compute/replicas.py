"""Replicas: Ray Serve executes jobs in other processes or on other machines.

Ray is needed only for `Replicas`. Its ports run code for anybody who knows the token of the
cluster, so a cluster without a token is refused.
"""

import importlib
import logging
import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import Mapping, MutableMapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from ...errors import VitvizError
from ...languages import Message
from ..host import limits
from ..host.settings import Settings, SettingsError
from .executor import execute
from .jobs import AnyJob, Result
from .models import Models

PACKAGE = "ray[serve]>=2.59,<3"
OLDEST = (2, 59)  # the first version that checks the token at every port
APP = "vitviz"  # its name in a cluster: the fronts of one cluster share its replicas
TRIES = 3  # for a job whose replica dies; Serve itself does not retry
SECONDS = 180  # for a job, including the start of a replica

log = logging.getLogger("vitviz.web")


class Replica:
    """A process of the engine in the cluster, which holds models and executes jobs."""

    def __init__(self, settings: Settings) -> None:
        """`settings`: of the front; model files have the same paths on every machine."""
        settings.apply()
        if settings.threads is not None:
            torch.set_num_threads(settings.threads)  # Ray's default is 1
        self._models = Models(
            settings.models, settings.default_model, settings.device, settings.weights
        )

    def __call__(self, job: AnyJob) -> Result:
        return execute(job, self._models)


class Replicas:
    """An `Engine` of replicas: as many as the work needs, up to `limits.COMPUTING`.

    If a replica dies, its job is retried, up to three times: jobs have no side effects. If all
    replicas are busy and their queue is full, a job is refused at once.
    """

    def __init__(self, settings: Settings, environ: MutableMapping[str, str] = os.environ) -> None:
        """Start a cluster on this machine, or join that of `settings.ray_address`.

        Raises `SettingsError` without Ray or a token.
        """
        address = settings.ray_address()
        self._folder: str | None = None
        _check_version()
        _check_token(address, environ)
        self._ray = importlib.import_module("ray")
        self._errors = importlib.import_module("ray.exceptions")
        self._busy = importlib.import_module("ray.serve.exceptions").BackPressureError
        if address is None:
            # Ray's ports listen on every interface in spite of this address: see README.md.
            options: dict[str, Any] = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
            # The folder of its logs and sockets, deleted at the end; their paths must be short.
            short = "/tmp" if Path("/tmp").is_dir() else None
            self._folder = options["_temp_dir"] = tempfile.mkdtemp("", "vitviz-ray-", short)
        else:
            _check_reached(address)
            options = {"address": address}
        try:
            self._start(settings, options)
        except BaseException:  # a signal, too: a start can take a minute
            self.close()
            raise

    def _start(self, settings: Settings, options: Mapping[str, Any]) -> None:
        """Start or join the cluster, and wait for its first replica."""
        serve = importlib.import_module("ray.serve")
        self._ray.init(log_to_driver=False, namespace=APP, **options)
        serve.start(proxy_location="Disabled")  # no port for HTTP: only our app uses it
        replica = serve.deployment(
            name="engine",
            max_ongoing_requests=1,
            max_queued_requests=limits.QUEUE_SIZE,
            autoscaling_config={
                "min_replicas": 1,
                "max_replicas": limits.COMPUTING,
                "target_ongoing_requests": 1,
            },
            ray_actor_options={"num_cpus": 1},
        )(Replica)
        self._handle = serve.run(replica.bind(settings), name=APP, route_prefix=None)

    def run(self, job: AnyJob) -> Result:
        return self._ask(job)

    def close(self) -> None:
        """End a cluster of our own; leave another cluster, whose replicas other fronts may use."""
        self._ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _ask(self, job: AnyJob, tries: int = TRIES) -> Result:
        try:
            return self._handle.remote(job).result(timeout_s=SECONDS)
        except (self._busy, TimeoutError) as error:
            raise VitvizError(Message("web.busy")) from error
        except (self._errors.RayActorError, self._errors.WorkerCrashedError):
            if tries == 1:
                raise
            log.warning("a replica died, its job is retried")
        return self._ask(job, tries - 1)


def _check_version() -> None:
    try:
        installed = version("ray")
    except PackageNotFoundError as error:
        raise SettingsError(f'engine: ray needs a package: pip install "{PACKAGE}"') from error
    if tuple(map(int, re.findall(r"\d+", installed)[:2])) < OLDEST:
        raise SettingsError(
            f"engine: ray must be 2.59 or newer, which ask for a token, got {installed}"
        )


def _check_reached(address: str) -> None:
    """Raise `SettingsError` if nothing listens; Ray would end this process after a minute."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        raise SettingsError(f"engine: there is no Ray cluster at {address}: {error}") from error


def _check_token(address: str | None, environ: MutableMapping[str, str]) -> None:
    """Make Ray require a token; generate it for a cluster of our own. Raises `SettingsError`."""
    mode = environ.setdefault("RAY_AUTH_MODE", "token").lower()
    if mode != "token":
        raise SettingsError(
            f"engine: RAY_AUTH_MODE must be token, got {mode!r}: without one, whoever reaches a "
            "port of the cluster can run code on it"
        )
    if _has_token(environ):
        return
    if address is not None:
        raise SettingsError(
            "engine: the token of the cluster is needed, in RAY_AUTH_TOKEN, in a file that "
            "RAY_AUTH_TOKEN_PATH names, or in ~/.ray/auth_token"
        )
    environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def _has_token(environ: Mapping[str, str]) -> bool:
    if environ.get("RAY_AUTH_TOKEN") or environ.get("RAY_AUTH_TOKEN_PATH"):
        return True
    try:
        return (Path.home() / ".ray" / "auth_token").is_file()
    except RuntimeError:  # nobody's home
        return False
