"""Monitoring for a host: a log line for each analysis, /healthz and /metrics."""

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...errors import VitvizError
from ...model.key import ModelKey

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

log = logging.getLogger("vitviz.analyses")

NO_METRICS = 'Metrics need prometheus_client: pip install "prometheus_client>=0.22,<1"\n'


class Watch:
    """Counts analyses and their costs; it never sees a picture or its name."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()  # (door, outcome)
        self._metrics = _Metrics.if_installed()

    def analysis(
        self,
        *,
        door: str,
        model: ModelKey,
        outcome: str,
        photo_bytes: int,
        sent_bytes: int,
        seconds: Mapping[str, float],
    ) -> None:
        """Record an analysis: one JSON line at the level "info", and the counts of `/metrics`.

        `door`: "page", "api" or "mcp". `outcome`: "answered", or the key of the refusal. `seconds`:
        of each stage and in all.
        """
        with self._lock:
            self._counts[door, outcome] += 1
        if self._metrics:
            self._metrics.note(door, model.name, outcome, seconds)
        line = {
            "door": door,
            "model": model.name,
            "untrained": model.untrained,
            "image_size": model.image_size,
            "outcome": outcome,
            "photo_bytes": photo_bytes,
            "sent_bytes": sent_bytes,
            "ms": {stage: round(1000 * spent, 1) for stage, spent in seconds.items()},
        }
        log.info("%s", json.dumps(line))

    def health(self, closing: bool, check_room: Callable[[], None]) -> tuple[int, dict[str, Any]]:
        """HTTP status and facts: 200 while the app takes pictures, otherwise 503."""
        status, code = "ok", 200
        try:
            check_room()
        except VitvizError:
            status, code = "no room on the disk", 503
        if closing:
            status, code = "closing", 503
        with self._lock:
            answered = sum(n for (_, outcome), n in self._counts.items() if outcome == "answered")
            refused = sum(self._counts.values()) - answered
        facts: dict[str, Any] = {"status": status, "version": __version__}
        facts |= {"seconds": round(time.monotonic() - self._began, 1)}
        return code, facts | {"answered": answered, "refused": refused}

    def routes(self, closing: Callable[[], bool], check_room: Callable[[], None]) -> list[Any]:
        """`/healthz` and `/metrics`, for Gradio's server; open even with a login, since they have
        no facts about visitors. `/healthz` has a thread of its own: visitors may use all others.
        """
        from anyio import CapacityLimiter
        from anyio.to_thread import run_sync
        from starlette.responses import JSONResponse, PlainTextResponse, Response
        from starlette.routing import Route

        own = CapacityLimiter(1)

        async def healthz(_request: "Request") -> "Response":
            code, facts = await run_sync(self.health, closing(), check_room, limiter=own)
            return JSONResponse(facts, code, {"Cache-Control": "no-store"})

        def metrics(_request: "Request") -> "Response":
            if self._metrics is None:
                return PlainTextResponse(NO_METRICS, 501)
            return Response(self._metrics.text(), media_type=self._metrics.media_type)

        return [Route("/healthz", healthz), Route("/metrics", metrics)]


class _Metrics:
    """The metrics of one app, in a registry of its own, so that two apps do not add up."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._registry = client.CollectorRegistry()
        self.media_type = client.CONTENT_TYPE_LATEST
        self._analyses = client.Counter(
            "vitviz_analyses",
            "Analyses by door, model and outcome",
            ["door", "model", "outcome"],
            registry=self._registry,
        )
        self._seconds = client.Histogram(
            "vitviz_stage_seconds",
            "Seconds of each stage of an analysis",
            ["stage"],
            buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100),
            registry=self._registry,
        )

    @classmethod
    def if_installed(cls) -> "_Metrics | None":
        """The metrics; None without prometheus_client, which a host may install."""
        try:
            import prometheus_client
        except ImportError:
            return None
        return cls(prometheus_client)

    def note(self, door: str, model: str, outcome: str, seconds: Mapping[str, float]) -> None:
        self._analyses.labels(door, model, outcome).inc()
        for stage, spent in seconds.items():
            self._seconds.labels(stage).observe(spent)

    def text(self) -> bytes:
        return self._client.generate_latest(self._registry)
