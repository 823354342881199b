"""The texts for nginx and systemd in the page for hosts: nginx runs them, systemd reads them."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest
from gradio_client import Client, handle_file

from tests.running import ROOT, answering, free_port, running_app, until
from vitviz.web.host import limits

PAGE = (ROOT / "vitviz/web/README.md").read_text("utf-8")
FOR_ALL, LOCATION = re.findall(r"```nginx\n(.*?)```", PAGE, re.DOTALL)
UNIT = re.search(r"```ini\n(.*?)```", PAGE, re.DOTALL)[1]
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
# One process, of whoever runs the tests.
CONFIG = """
daemon off; master_process off; pid pid; error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    {for_all}
    server {{ listen 127.0.0.1:{port}; {location} }}
}}
"""


@contextmanager
def behind_nginx(url: str, folder: Path) -> Iterator[str]:
    """The address under which nginx shows a server, with the text of the page but for its port."""
    if not (nginx := shutil.which("nginx", path=PATH)):
        pytest.skip("nginx is not installed")
    port = free_port()
    location = LOCATION.replace("http://127.0.0.1:7860/", f"{url.rstrip('/')}/")
    (folder / "conf").write_text(CONFIG.format(for_all=FOR_ALL, port=port, location=location))
    command = [nginx, "-p", str(folder), "-c", str(folder / "conf")]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert "test is successful" in checked.stderr, checked.stderr
    assert "[warn]" not in checked.stderr
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            there = f"http://127.0.0.1:{port}/vitviz/"
            until(lambda: reached(there))
            yield there
        finally:
            process.terminate()


def reached(url: str) -> bool:
    try:
        return bool(httpx.get(url).status_code)
    except httpx.ConnectError:
        return False


class Headers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(dict(self.headers)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_a_visitor_of_nginx_chooses_neither_address_nor_host(tmp_path: Path) -> None:
    lies = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Host": "example.org"}
    with answering(Headers) as url, behind_nginx(url, tmp_path) as there:
        seen = httpx.get(there, headers=lies).json()
        assert seen["X-Forwarded-For"] == "127.0.0.1"
        assert "X-Forwarded-Host" not in seen
        assert seen["Host"] == httpx.URL(there).netloc.decode()
        long = httpx.get(there, headers={"Accept-Language": "a-" * 30_000})
        assert long.status_code == 400
        large = httpx.post(there, content=bytes(36_000_000))
        assert large.status_code == 413


def test_page_upload_and_streams_work_behind_nginx(tmp_path: Path) -> None:
    environ = {"VITVIZ_ROOT_PATH": "/vitviz"}
    (tmp_path / "nginx").mkdir()
    with running_app(tmp_path, environ=environ) as url, behind_nginx(url, tmp_path / "nginx") as at:
        assert httpx.get(at).status_code == 200
        assert httpx.get(f"{at}config").json()["root"] == at.rstrip("/")
        photo = handle_file(str(ROOT / "vitviz/web/examples/dog.jpg"))
        client = Client(at, verbose=False)
        summary, file = client.predict(photo, api_name="/analyze")  # its answer comes as a stream
        assert summary["photo"]["name"] == "dog.jpg"
        assert Path(file).stat().st_size > 100_000
        with httpx.stream("GET", f"{at}gradio_api/heartbeat/abc") as stream:
            assert next(stream.iter_text())  # at once, and not when the stream ends
        client.close()


def test_the_texts_for_hosts_admit_what_the_app_admits() -> None:
    megabytes = int(re.search(r"client_max_body_size (\d+)m;", LOCATION)[1])
    assert megabytes * 2**20 >= limits.UPLOAD_BYTES + limits.BODY_BYTES
    seconds = int(re.search(r"proxy_read_timeout (\d+)s;", LOCATION)[1])
    assert seconds >= limits.LOADING_WAIT_SECONDS + limits.COMPUTING_WAIT_SECONDS
    stop = int(re.search(r"TimeoutStopSec=(\d+)", UNIT)[1])
    assert stop > limits.CLOSING_SECONDS
    memory = int(re.search(r"MemoryMax=(\d+)G", UNIT)[1])
    assert memory * 2**30 > 2 * limits.MODELS_BYTES
    writable = re.search(r"CacheDirectory=(\w+)", UNIT)[1]
    for variable in ("GRADIO_TEMP_DIR", "XDG_CACHE_HOME", "MPLCONFIGDIR"):
        assert re.search(rf"\b{variable}=/var/cache/{writable}\b", UNIT)


def test_systemd_knows_every_line_of_the_unit(tmp_path: Path) -> None:
    if not (analyze := shutil.which("systemd-analyze", path=PATH)):
        pytest.skip("systemd is not installed")
    unit = UNIT.replace("/srv/vitviz/.venv/bin/python", sys.executable)
    (tmp_path / "vitviz.service").write_text(unit)
    command = [analyze, "verify", str(tmp_path / "vitviz.service")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
