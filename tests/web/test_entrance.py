"""The entrance: which requests are let in, from whom, and the headers of what is answered."""

import asyncio
import json
import os
import re
import subprocess
import sys

import pytest
from starlette.datastructures import Headers

from tests.running import ROOT
from vitviz.web.compute.turns import ASKING
from vitviz.web.host import limits
from vitviz.web.host.origins import Origins, read_origin
from vitviz.web.page.entrance import Entrance
from vitviz.web.page.routes import RULES, TOOL_RULES, own_rules, rule_of

CONFIG, JOIN, DATA = "/config", "/gradio_api/queue/join", "/gradio_api/queue/data"
HERE = "localhost:7860"

# Routes of Gradio that this app does not need: they fetch addresses, record, proxy, profile, share.
CLOSED = {
    *("GET /openapi.json", "HEAD /openapi.json", "GET /gradio_api/openapi.json"),
    *("GET /gradio_api/deep_link", "GET /gradio_api/dev/reload"),
    *("GET /gradio_api/app_id/", "GET /gradio_api/token", "GET /gradio_api/token/"),
    *("GET /gradio_api/user", "GET /gradio_api/user/", "GET /gradio_api/login_check"),
    *("GET /gradio_api/login_check/", "GET /gradio_api/runs", "GET /gradio_api/runs/"),
    *("GET /gradio_api/proxy={url_path:path}", "HEAD /gradio_api/proxy={url_path:path}"),
    *("GET /gradio_api/file/{path:path}", "POST /gradio_api/process_recording"),
    *("GET /gradio_api/queue/status", "GET /svelte/{path:path}"),
    *("POST /gradio_api/run-history/connect", "GET /gradio_api/run-history/buckets"),
    "GET /gradio_api/run-history/records",
    "GET /gradio_api/run-history/records/{endpoint}/{record_id}/assets/{asset_id}",
    *("GET /monitoring", "GET /monitoring/summary", "GET /monitoring/{key}"),
    *("GET /pwa_icon", "GET /pwa_icon/{size}"),
    "GET /gradio_api/custom_component/{id}/{environment}/{type}/{file_name}",
    *("POST /gradio_api/stream/{event_id}", "POST /gradio_api/stream/{event_id}/close"),
    "GET /gradio_api/stream/{session_hash}/{run}/{component_id}/playlist.m3u8",
    "GET /gradio_api/stream/{session_hash}/{run}/{component_id}/playlist-file",
    "GET /gradio_api/stream/{session_hash}/{run}/{component_id}/{segment_id}.{ext}",
    *("POST /gradio_api/vibe-edit", "POST /gradio_api/vibe-edit/"),
    *("POST /gradio_api/undo-vibe-edit", "POST /gradio_api/undo-vibe-edit/"),
    *("GET /gradio_api/vibe-code", "GET /gradio_api/vibe-code/"),
    *("POST /gradio_api/vibe-code", "POST /gradio_api/vibe-code/"),
    *("POST /gradio_api/vibe-starter-queries", "POST /gradio_api/vibe-starter-queries/"),
}


def answer(
    method="GET",
    path=CONFIG,
    *,
    headers=None,
    origins=None,
    client="10.0.0.1",
    rules=RULES,
    app=None,
):
    """Status, text and headers of an answer to a request at the entrance of an app."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    named = {"host": HERE, **(headers or {})}
    raw = [(key.encode(), value.encode()) for key, value in named.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": raw, "client": (client, 1)}
    entrance = Entrance(app or App(), rules, origins or Origins())
    asyncio.run(entrance({**scope, "app": Open}, receive, send))
    text = b"".join(message.get("body", b"") for message in sent).decode()
    return sent[0]["status"], text, Headers(raw=sent[0]["headers"])


def test_an_answer_that_nobody_takes_ends(monkeypatch):
    """Its file was deleted after an hour, and its bytes stayed on the disk all the same."""
    monkeypatch.setattr(limits, "ANSWER_SECONDS", 0.1)
    sent, ended = [], []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(3):
            await send({"type": "http.response.body", "body": b"a" * 9, "more_body": True})
        ended.append(scope["path"])

    async def send(message):
        if len(sent) == 2:
            await asyncio.Event().wait()  # a client that has stopped to read
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def ask(path):
        scope = {"type": "http", "method": "GET", "path": path, "client": ("10.0.0.1", 1)}
        scope |= {"app": Open, "headers": [(b"host", HERE.encode())]}
        async with asyncio.timeout(5):
            await Entrance(app, RULES, Origins())(scope, receive, send)

    asyncio.run(ask("/gradio_api/file=/vitviz/cache/a.png"))
    assert ended == ["/gradio_api/file=/vitviz/cache/a.png"]
    assert len(sent) == 2
    sent.clear()
    with pytest.raises(TimeoutError):  # a stream lasts as long as its page
        asyncio.run(ask(DATA))


class Open:
    """An app without a login."""

    auth, tokens, cookie_id = None, {}, "x"


class App:
    """A stand-in for Gradio, which lets every site read what it answers."""

    def __init__(self, status=200, **headers):
        headers = {"access-control-allow-origin": "http://evil.example", **headers}
        self.status, self.headers = status, headers

    async def __call__(self, scope, receive, send):
        raw = [
            (key.replace("_", "-").encode(), value.encode()) for key, value in self.headers.items()
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": raw})
        await send({"type": "http.response.body", "body": b"answered"})


# In a process of its own, because Gradio leaves event loops and sockets open.
LIST_ROUTES = """
import json
from gradio.routes import App as Routes
from starlette.routing import Mount
from vitviz.web import Settings, build_app

def routes_of(router):
    for route in router.routes:
        if inner := getattr(route, "original_router", None):
            yield from routes_of(inner)
        elif not isinstance(route, Mount):
            yield from ([method, route.path] for method in route.methods)

demo, options = build_app(Settings())
own = [route.path for route in options["app_kwargs"]["routes"]]
app = Routes.create_app(demo, app_kwargs=options["app_kwargs"], mcp_server=True)
demo.gate.cache.delete()
print(json.dumps({"own": own, "routes": list(routes_of(app.router))}))
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """All routes of an app, as ("METHOD path", method, path with its parameters filled in), and the
    rules for them.
    """
    env = {**os.environ, "GRADIO_TEMP_DIR": str(tmp_path_factory.mktemp("cache"))}
    command = [sys.executable, "-c", LIST_ROUTES]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    routes = [
        (f"{method} {path}", method, re.sub(r"\{\w+(:path)?\}", "x", path))
        for method, path in found["routes"]
    ]
    return routes, (*own_rules(found["own"]), *RULES, *TOOL_RULES)


def test_every_route_of_the_app_is_let_in_or_known_to_be_closed(app):
    """A new version of Gradio can bring a route: it is refused, and named here to be looked at."""
    routes, rules = app
    refused = {name for name, method, path in routes if rule_of(rules, method, path) is None}
    assert refused - CLOSED == set()
    assert len(refused) > 30
    assert not [name for name, method, path in routes if name in CLOSED - refused]


def test_every_rule_is_of_a_route_of_the_app(app):
    routes, rules = app
    paths = [path for _, _, path in routes]
    paths += ["/gradio_api/mcp/", "/gradio_api/mcp/schema"]  # of a server inside
    assert not [rule.path.pattern for rule in rules if not any(map(rule.path.fullmatch, paths))]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/gradio_api/process_recording"),
        ("GET", "/gradio_api/file=http://example.com/a.png"),
        ("GET", "/gradio_api/file=https://example.com/a.png"),
        ("GET", "/gradio_api/proxy=https://a.hf.space/"),
        ("POST", "/gradio_api/mcp/heartbeat/x"),
        ("GET", "/gradio_api/heartbeat/x/y"),
        ("GET", "/gradio_api/heartbeat/\x00"),
        ("GET", "/gradio_api/heartbeat/" + "x" * 200),
        ("DELETE", "/config"),
        ("POST", "/"),
        ("GET", "/gradio_api/file="),
        ("TRACE", "/"),
    ],
)
def test_what_is_not_listed_is_refused(method, path):
    assert answer(method, path)[:2] == (404, "There is nothing at this address.")


def test_a_websocket_is_closed():
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(Entrance(App(), RULES, Origins())({"type": "websocket"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("host", "good"),
    [
        *((HERE, True), ("127.0.0.1:7860", True), ("[::1]:7860", True), ("192.168.1.5", True)),
        *(("Vit.example:80", True), ("board.local", True), ("a.gradio.live", True)),
        # no legal names, though they end like those of the app
        *(
            (f"{name}.local", False)
            for name in ("<b>", "a b", "me@board", "x/y", "a..b", "", "\xe9")
        ),
        *(("board.local:port", False), ("board.local:123456", False), ("a" * 64 + ".local", False)),
        *(("localhost/", False), ("me@localhost", False), ("localhost#", False), ("[::1", False)),
        *(("evil.example", False), ("vit.example.evil.example", False), ("localhost.evil", False)),
        *(("", False), ("[", False), ("evil.example#localhost", False)),
    ],
)
def test_a_name_that_is_not_the_apps_is_refused(host, good):
    """Or else a name that somebody lets point at this machine would make their page ours."""
    origins = Origins(["vit.example"])
    origins.add("https://a.gradio.live")
    status, text, _ = answer(headers={"host": host}, origins=origins)
    assert (status == 200) is good, text
    assert good or "--hostname" in text


OTHERS = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://localhost:8000"},
    {"origin": "http://localhost"},
    {"origin": "http://[", "sec-fetch-site": "same-origin"},
    {"origin": ""},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},  # another port of this machine
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
]
OURS = [
    {},
    {"origin": f"http://{HERE}"},
    {"origin": f"https://{HERE}", "sec-fetch-site": "same-origin"},  # a proxy with TLS
    {"sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "none"},
]


@pytest.mark.parametrize("headers", OTHERS)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", CONFIG), ("POST", JOIN), ("GET", DATA), ("POST", "/gradio_api/upload")),
        *(("POST", "/gradio_api/component_server"), ("POST", "/gradio_api/call/explain")),
        *(("POST", "/login"), ("GET", "/logout"), ("POST", "/gradio_api/mcp/")),
    ],
)
def test_a_page_of_another_site_is_refused(method, path, headers):
    rules = (*RULES, *TOOL_RULES)
    status, text, sent = answer(method, path, headers=headers, rules=rules)
    assert status == 403
    assert "answered" not in text
    assert "--allow-origin" in text
    assert not [name for name in sent if name.startswith("access-control")]


@pytest.mark.parametrize("headers", OURS)
@pytest.mark.parametrize(("method", "path"), [("GET", CONFIG), ("POST", JOIN), ("GET", DATA)])
def test_a_page_of_the_app_and_a_program_are_let_in(method, path, headers):
    status, text, sent = answer(method, path, headers=headers)
    assert (status, text) == (200, "answered")
    assert not [name for name in sent if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("path", "good"), [("/", True), ("/gradio_api/file=/vitviz/cache/a", True), (CONFIG, False)]
)
def test_a_link_from_another_site_leads_to_the_page_and_to_a_file(path, good):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert (answer("GET", path, headers=headers)[0] == 200) is good
    headers["sec-fetch-mode"] = "no-cors"  # <img>, <script>
    assert answer("GET", path, headers=headers)[0] == 403


def test_a_site_that_is_allowed_may_ask_and_read():
    allowed = Origins(allowed=[read_origin("https://School.example/")])
    headers = {"origin": "https://school.example", "sec-fetch-site": "cross-site"}
    status, _, sent = answer("POST", JOIN, headers=headers, origins=allowed)
    assert (status, sent["access-control-allow-origin"]) == (200, "https://school.example")
    assert sent["access-control-allow-credentials"] == "true"
    preflight = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    status, _, sent = answer("OPTIONS", JOIN, headers=headers | preflight, origins=allowed)
    assert (status, sent["access-control-allow-headers"]) == (204, "content-type")
    assert (
        answer("OPTIONS", JOIN, headers={"origin": "null"} | preflight, origins=allowed)[0] == 403
    )
    assert answer("OPTIONS", JOIN, headers=headers, origins=allowed)[0] == 404  # of no method
    assert "frame-ancestors 'self' https://school.example" in sent["content-security-policy"]


@pytest.mark.parametrize(
    "text", ["school.example", "https://", "https://a/b", "ftp://a", "*", "null"]
)
def test_an_origin_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match=re.escape(text)):
        read_origin(text)


def test_a_space_goes_by_any_name_but_other_sites_may_only_frame_it(monkeypatch):
    monkeypatch.setenv("SPACE_ID", "me/vitviz")
    monkeypatch.setenv("SPACE_HOST", "me-vitviz.hf.space,vit.example")
    origins = Origins()
    inside = {"host": "10.1.2.3:7860", "origin": "https://vit.example"}
    assert answer("POST", JOIN, headers=inside, origins=origins)[0] == 200
    assert answer("GET", "/", headers={"host": "proxy.internal"}, origins=origins)[0] == 200
    other = inside | {"origin": "https://huggingface.co"}
    assert answer("POST", JOIN, headers=other, origins=origins)[0] == 403
    _, _, sent = answer("GET", "/", headers=inside, origins=origins)
    assert "frame-ancestors *" in sent["content-security-policy"]


class Closed(Open):
    auth, tokens = {"ada": "1815"}, {"right": "ada"}


@pytest.mark.parametrize(
    "path", ["/config", "/gradio_api/info", "/gradio_api/file=x", "/gradio_api/upload", "/metrics"]
)
def test_with_a_login_what_knows_of_visitors_asks_for_it(path):
    async def status(**headers):
        sent = []

        async def send(message):
            sent.append(message)

        method = "POST" if path.endswith("upload") else "GET"
        raw = [
            (b"host", HERE.encode()),
            *((key.encode(), v.encode()) for key, v in headers.items()),
        ]
        scope = {"type": "http", "method": method, "path": path, "headers": raw, "app": Closed}
        await Entrance(App(), (*RULES, *own_rules(["/metrics"])), Origins())(scope, None, send)
        return sent[0]["status"]

    open_to_all = 200 if path == "/metrics" else 401
    assert asyncio.run(status()) == open_to_all
    assert asyncio.run(status(cookie="access-token-x=wrong")) == open_to_all
    assert asyncio.run(status(cookie="access-token-x=right")) == 200
    assert asyncio.run(status(cookie="access-token-unsecure-x=right")) == 200


@pytest.mark.parametrize(
    ("path", "addresses", "wanted"),
    [
        (DATA, "aaab", [200, 200, 503, 200]),
        # The fourth is in when its address has few; the fifth, the second of its own, is not.
        (DATA, "abcdbe", [200, 200, 200, 200, 503, 503]),
        (CONFIG, "aaab", [200, 200, 503, 200]),
        (CONFIG, "abcd", [200, 200, 200, 200]),
    ],
)
def test_open_streams_and_requests_are_bounded(monkeypatch, path, addresses, wanted):
    monkeypatch.setattr(limits, "STREAMS", 3)
    monkeypatch.setattr(limits, "FIRST_STREAMS", 4)
    monkeypatch.setattr(limits, "STREAMS_OF_PAGE", 1)
    monkeypatch.setattr(limits, "STREAMS_OF_ADDRESS", 2)
    monkeypatch.setattr(limits, "REQUESTS_INSIDE", 2)
    statuses = []

    async def run():
        """A request of each address, all of which stay open until the last was sent."""
        done = asyncio.Event()

        async def app(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await done.wait()

        async def send(message):
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        entrance = Entrance(app, RULES, Origins())
        scope = {"type": "http", "method": "GET", "path": path, "app": Open}
        scope["headers"] = [(b"host", HERE.encode())]
        tasks = []
        for address in addresses:
            tasks.append(
                asyncio.create_task(entrance({**scope, "client": (address, 1)}, None, send))
            )
            await asyncio.sleep(0)
        done.set()
        await asyncio.gather(*tasks)
        assert not entrance._streams
        assert not entrance._inside

    asyncio.run(run())
    assert statuses == wanted


@pytest.mark.parametrize("path", [CONFIG, DATA])
def test_turns_know_who_asks(path):
    known = []

    async def app(scope, receive, send):
        known.append(ASKING.get())
        await App()(scope, receive, send)

    answer(path=path, client="10.0.0.7", app=app)
    assert known == ["10.0.0.7"]


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize(
    ("body", "pieces"),
    [(b"", [b""]), (b"0123", [b"0123"]), (b"0123456789", [b"0123", b"4567", b"89"])],
)
def test_a_long_answer_is_sent_in_pieces_so_that_a_slow_client_costs_little(
    monkeypatch, body, pieces, more
):
    """1,000 clients that read nothing of the weights held 3.2 GB."""
    monkeypatch.setattr(limits, "ANSWER_PIECE_BYTES", 4)
    sent = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": more})

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": CONFIG, "app": Open, "client": ("a", 1)}
    scope["headers"] = [(b"host", HERE.encode())]
    asyncio.run(Entrance(app, RULES, Origins())(scope, None, send))
    assert [message["body"] for message in sent[1:]] == pieces
    assert [message["more_body"] for message in sent[1:]] == [True] * (len(pieces) - 1) + [more]


def test_short_requests_of_an_address_take_turns_until_their_answer_begins(monkeypatch):
    monkeypatch.setattr(limits, "REQUESTS_OF_ADDRESS", 2)
    inside, begin, end = [], asyncio.Event(), asyncio.Event()

    async def app(scope, receive, send):
        inside.append(scope["client"][0])
        await begin.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await end.wait()  # a slow connection
        raise ZeroDivisionError

    async def run():
        async def send(_message):
            pass

        entrance = Entrance(app, RULES, Origins())
        scope = {"type": "http", "path": CONFIG, "app": Open, "headers": [(b"host", HERE.encode())]}

        def ask(address, path=CONFIG, method="GET"):
            asked = {**scope, "client": (address, 1), "path": path, "method": method}
            return asyncio.create_task(entrance(asked, None, send))

        tasks = [ask("a") for _ in range(4)]
        tasks += [ask("b"), ask("a", "/gradio_api/component_server", "POST")]
        for _ in range(5):
            await asyncio.sleep(0)
        assert inside == ["a", "a", "b", "a"]  # the last one is long, and takes no turn
        begin.set()
        for _ in range(9):
            await asyncio.sleep(0)
        assert inside == ["a", "a", "b", "a", "a", "a"]
        end.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not entrance._turns

    asyncio.run(run())


def test_a_name_that_no_file_system_takes_is_not_here():
    """It was status 500, and a traceback with a path of the host in the log."""
    for path in ("/assets/index-a.js", "/static/img/logo.svg", "/static/fonts/a/b_c@2x.woff2"):
        assert rule_of(RULES, "GET", path), path
    for path in ("/static/" + "a" * 5000, "/assets/" + "a/" * 4000, "/static/\x00", "/static/한"):
        assert rule_of(RULES, "GET", path) is None, path


def test_an_address_computes_few_direct_requests_at_a_time(monkeypatch):
    """99 at once took all threads, 3.4 GB, and half a minute from everybody."""
    monkeypatch.setattr(limits, "DIRECT_OF_ADDRESS", 2)
    inside, end = [], asyncio.Event()

    async def app(scope, receive, send):
        inside.append(scope["client"][0])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await end.wait()  # a tool answers by a stream, which begins before it computes

    async def run():
        async def send(_message):
            pass

        entrance = Entrance(app, (*RULES, *TOOL_RULES), Origins())
        paths = ("run/analyze", "mcp/", "component_server/", "run/survey", "mcp/http")
        headers = [(b"host", HERE.encode())]
        scope = {"type": "http", "method": "POST", "app": Open, "headers": headers}
        bodies = [(b"content-length", b"2"), (b"transfer-encoding", b"chunked")]

        async def receive():
            return {"type": "http.request", "body": b"{}", "more_body": False}

        def ask(number, who, path):
            asked = {**scope, "headers": [*headers, bodies[number % 2]], "client": (who, 1)}
            return asyncio.create_task(
                entrance({**asked, "path": f"/gradio_api/{path}"}, receive, send)
            )

        wanted = (*(("a", path) for path in paths), ("b", "run/analyze"))
        tasks = [ask(number, *one) for number, one in enumerate(wanted)]
        for _ in range(20):
            await asyncio.sleep(0)
        assert inside == ["a", "a", "b"]
        end.set()
        await asyncio.gather(*tasks)
        assert sorted(inside) == ["a"] * 5 + ["b"]
        assert not entrance._turns

    asyncio.run(run())


def test_a_body_that_arrives_slowly_keeps_nobody_of_its_address_waiting(monkeypatch):
    """Four requests without the bodies that they announced stopped a school behind one address."""
    monkeypatch.setattr(limits, "REQUESTS_OF_ADDRESS", 1)
    monkeypatch.setattr(limits, "DIRECT_OF_ADDRESS", 1)
    heard, sent, rest = [], [], asyncio.Event()

    async def app(scope, receive, send):
        body = (await receive())["body"] if scope["method"] == "POST" else b""
        heard.append((scope["path"], body))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def slow():
        await rest.wait()
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def at_once():
        return {"type": "http.request", "body": b"[]", "more_body": False}

    async def too_much():
        return {"type": "http.request", "body": b"x" * (limits.BODY_BYTES + 1), "more_body": True}

    async def send(message):
        sent.append(message.get("status"))

    async def run():
        entrance = Entrance(app, (*RULES, *TOOL_RULES), Origins())

        def ask(path, receive=at_once, method="POST", headers=((b"content-length", b"2"),)):
            scope = {"type": "http", "method": method, "path": path, "app": Open}
            scope |= {"headers": [(b"host", HERE.encode()), *headers], "client": ("a", 1)}
            return asyncio.create_task(entrance(scope, receive, send))

        direct = "/gradio_api/component_server"
        tools = {"headers": ((b"transfer-encoding", b"chunked"),)}
        late = [ask(path, slow) for path in (JOIN, direct)] + [
            ask("/gradio_api/mcp", slow, **tools)
        ]
        async with asyncio.timeout(60):
            await asyncio.gather(ask(JOIN), ask(direct), ask(CONFIG, None, "GET", ()))
        assert heard == [(JOIN, b"[]"), (direct, b"[]"), (CONFIG, b"")]
        rest.set()
        await asyncio.gather(*late)
        assert sorted(heard[3:]) == sorted(
            [(JOIN, b"{}"), (direct, b"{}"), ("/gradio_api/mcp", b"{}")]
        )
        sent.clear()
        await ask(JOIN, too_much)
        assert sent[0] == 413
        assert not entrance._turns

    asyncio.run(run())


def test_a_slow_reader_keeps_no_long_body_of_its_address_waiting(monkeypatch):
    """The turn of a long body lasted until its answer was taken."""
    monkeypatch.setattr(limits, "REQUESTS_OF_ADDRESS", 1)
    monkeypatch.setattr(limits, "DIRECT_OF_ADDRESS", 1)
    inside, end = [], asyncio.Event()

    async def app(scope, receive, send):
        inside.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await end.wait()

    async def receive():
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(_message):
        pass

    async def run():
        entrance = Entrance(app, RULES, Origins())
        headers = [(b"host", HERE.encode()), (b"transfer-encoding", b"chunked")]
        scope = {"type": "http", "method": "POST", "path": JOIN, "app": Open, "headers": headers}
        asked = [entrance({**scope, "client": ("a", 1)}, receive, send) for _ in range(2)]
        tasks = [asyncio.create_task(one) for one in asked]
        for _ in range(20):
            await asyncio.sleep(0)
        assert inside == [b"{}"] * 2
        end.set()
        await asyncio.gather(*tasks)
        assert not entrance._turns

    asyncio.run(run())


def test_who_logs_out_does_not_log_out_others_of_the_same_name():
    heard = []

    async def app(scope, receive, send):
        heard.append(scope["query_string"])
        await App()(scope, receive, send)

    answer("GET", "/logout", app=app)
    assert heard == [b"all_session=false"]


@pytest.mark.parametrize("kind", ["", "unsecure-"])
def test_who_logs_out_ends_the_session_over_http_too(monkeypatch, kind):
    monkeypatch.setattr(Open, "tokens", {"mine": "class", "theirs": "class"})
    cookie = {"cookie": f"access-token-{kind}x=mine"}
    answer("GET", "/logout", headers=cookie | {"sec-fetch-site": "cross-site"})
    assert Open.tokens == {"mine": "class", "theirs": "class"}  # no other site ends it
    answer("GET", "/logout", headers=cookie)
    assert Open.tokens == {"theirs": "class"}


def test_a_proxy_that_forwards_no_name_is_refused_and_leaves_no_traceback():
    for name in ("127.0.0.1:abc", "[", "a b", "a:b:c", "a, b c", "x" * 300, "<script>"):
        entrance = Entrance(None, RULES, Origins())
        headers = Headers({"host": HERE, "x-forwarded-host": name})
        scope = {"method": "GET", "app": Open, "client": ("a", 1), "headers": headers.raw}
        status, _ = entrance._refusal(rule_of(RULES, "GET", "/"), scope, headers)
        assert status == 403, name
    for name in ("", "vit.school.example", "a.example:8080", "a.example, b.example", "[::1]:80"):
        headers = Headers({"host": HERE, "x-forwarded-host": name})
        assert entrance._refusal(rule_of(RULES, "GET", "/"), scope, headers) is None, name


def test_answers_say_how_browsers_treat_them():
    _, _, sent = answer("GET", "/")
    assert sent["x-content-type-options"] == "nosniff"
    assert sent["referrer-policy"] == "same-origin"
    assert sent["cache-control"] == "private, no-cache"  # X-Forwarded-Host is in its addresses
    assert "default-src 'self'" in sent["content-security-policy"]
    assert "frame-ancestors 'self'" in sent["content-security-policy"]
    assert "google" not in sent["content-security-policy"]
    _, _, sent = answer("GET", "/gradio_api/file=/vitviz/cache/a/b.svg")
    assert sent["cache-control"] == "private, no-store"
    assert "sandbox" in sent["content-security-policy"]
    fixed = App(cache_control="public, immutable")
    assert answer("GET", "/gradio_api/info", app=fixed)[2]["cache-control"] == "public, immutable"


def test_a_part_of_a_file_does_not_bring_back_what_the_request_said():
    part = {
        "content_range": "bytes 0-1/2",
        "cookie": "a=b",
        "authorization": "Bearer x",
        "host": HERE,
    }
    _, _, sent = answer("GET", "/gradio_api/file=x", app=App(206, **part))
    assert sent["content-range"] == "bytes 0-1/2"
    assert not {"cookie", "authorization", "host"} & set(sent)


def test_the_cookie_of_a_login_stays_on_its_site_unless_another_may_frame_the_app():
    cookie = {"set_cookie": "access-token-x=y; HttpOnly; Path=/; SameSite=none; Secure"}
    _, _, sent = answer("POST", "/login", app=App(**cookie))
    assert "SameSite=lax" in sent["set-cookie"]
    guests = Origins(allowed=["https://school.example"])
    _, _, sent = answer("POST", "/login", app=App(**cookie), origins=guests)
    assert "SameSite=none" in sent["set-cookie"]


def heard(**scope):
    """The scope of a request as the app behind an entrance under /vitviz gets it."""
    scopes = []

    async def app(scope, receive, send):
        scopes.append(scope)

    scope = {"type": "http", "method": "GET", "app": Open, "headers": [], **scope}
    scope["headers"] = [(b"host", HERE.encode()), *scope["headers"]]
    asyncio.run(Entrance(app, RULES, Origins(), "/vitviz")(scope, None, None))
    return scopes[0]


@pytest.mark.parametrize("path", ["/login", "/vitviz/login"])
def test_the_path_that_was_checked_is_the_path_that_is_answered(path):
    """Else a password sent to /vitviz/login is checked without a delay."""
    assert heard(method="POST", path=path)["path"] == "/login"


def test_only_the_cookies_of_a_login_are_read():
    cookies = [
        (b"cookie", b'a="%s"; access-token-x=right' % (b"\\1" * 15_000)),
        (b"cookie", b'access-token-y="\\1"; access-token-unsecure-x=ri_gh-t; b'),
    ]
    headers = heard(path=CONFIG, headers=cookies)["headers"]
    assert [value for name, value in headers if name == b"cookie"] == [
        b"access-token-x=right",
        b"access-token-unsecure-x=ri_gh-t",
    ]


def test_under_a_path_of_a_proxy_that_leaves_it_in_the_request():
    entrance = Entrance(App(), RULES, Origins(), "/vitviz")
    assert entrance._path_of({"path": "/vitviz/config"}) == "/config"
    assert entrance._path_of({"path": "/vitviz"}) == "/"
    assert entrance._path_of({"path": "/config"}) == "/config"
