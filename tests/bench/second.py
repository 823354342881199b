"""Waits of a second visitor while a first one, of another address, attacks the app.

    python -m tests.bench.abuse --second             every attack
    python -m tests.bench.abuse --second idle        those with the word in their name

Each attack meets an app of its own, started with the 1,024 descriptors of a shell or of systemd.
The second visitor, at 127.0.0.2, asks without pause, one of each kind at a time: /healthz, the
document, a file that the app keeps, and the analysis of a photo of its own colour. Prints Markdown:
seconds before the attack (median), then during it (median and longest, and how many got no right
answer); memory before, and the most; files outside the cache, which nothing ever deletes. "Held":
/healthz and the document came within 2 s, each time, an analysis within 5 s, which is two turns of
a slow photo, and no such file was left.
"""

import asyncio
import io
import json
import multiprocessing
import resource
import socket
import statistics
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

import httpx
from PIL import Image

from tests.bench.abuse import QUESTIONS, question
from tests.bench.load import MARK, RefusedError, Visitor, colours, picture_of
from tests.running import app_process

FIRST, SECOND = "127.0.0.1", "127.0.0.2"
LOGIN = {"username": "second", "password": "right"}
HELD = {"/healthz": 2.0, "document": 2.0, "analysis": 5.0}  # seconds
QUIET = 4  # seconds before an attack
HOLDING = 12  # seconds that an attack keeps what it has opened
PATIENCE = 90  # seconds for one answer
FORK = multiprocessing.get_context("fork")
KINDS = ("/healthz", "document", "file", "analysis")


class Attacker:
    """The first visitor; sends each kind of request many times at once."""

    def __init__(self, url: str, address: str = FIRST) -> None:
        transport = httpx.HTTPTransport(
            local_address=address, limits=httpx.Limits(max_connections=None)
        )
        self.client = httpx.Client(base_url=url, timeout=PATIENCE, transport=transport)
        self.sent = 0
        self.statuses: Counter[str] = Counter()

    def many(self, count: int, at_once: int, send: Callable[[int], httpx.Response | str]) -> None:
        """Call `send` with 0 ... count - 1, so many at once."""

        def one(number: int) -> str:
            try:
                answer = send(number)
                return answer if isinstance(answer, str) else outcome_of(answer)
            except httpx.HTTPError as error:
                return type(error).__name__

        self.sent += count
        with ThreadPoolExecutor(at_once) as threads:
            self.statuses.update(threads.map(one, range(count)))

    def hold(self, count: int, *parts: bytes) -> None:
        """Open connections, send these bytes through each, and keep all open for a while."""
        host, port = self.client.base_url.host, self.client.base_url.port
        opened = []
        self.sent += count
        for number in range(count):
            try:
                end = socket.create_connection((host, port), 10, source_address=(FIRST, 0))
                opened.append(end)
                for part in parts:
                    end.sendall(part.replace(b"NUMBER", b"%d" % number))
                self.statuses["open"] += 1
            except OSError as error:
                self.statuses[type(error).__name__] += 1
        time.sleep(HOLDING)
        for end in opened:
            end.close()

    def photo(self, data: bytes) -> httpx.Response:
        """Upload a picture, and ask for its analysis at once."""
        answer = self.client.post("/gradio_api/upload", files={"files": ("a.png", data)})
        if answer.status_code != 200:
            return answer
        asked = {"data": [{"path": answer.json()[0], **MARK}, "photos"]}
        joined = self.client.post("/gradio_api/call/analyze", json=asked)
        if joined.status_code != 200:
            return joined
        return self.client.get(f"/gradio_api/call/analyze/{joined.json()['event_id']}")


def outcome_of(answer: httpx.Response) -> str:
    """The outcome of a request, such as "answered with 200" or "refused with 400"."""
    return f"{'refused' if answer.is_error else 'answered'} with {answer.status_code}"


def slow_jpeg(side: int = 8000, scans: int = 1000) -> bytes:
    """A grey picture in few bytes whose decoder walks over all of it for each of its scans."""

    def segment(marker: int, body: bytes) -> bytes:
        return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body

    blocks = (side // 8) ** 2
    one_code = bytes([1, *[0] * 15])  # of one bit; its symbol follows
    begin = b"\xff\xd8" + segment(0xDB, bytes([0, *[1] * 64]))
    begin += segment(0xC2, struct.pack(">BHHB", 8, side, side, 1) + bytes([1, 0x11, 0]))
    begin += segment(0xC4, b"\x00" + one_code + b"\x00")
    begin += segment(0xC4, b"\x10" + one_code + b"\xe0")  # the end of 16,384 blocks: 15 bits
    first = segment(0xDA, bytes([1, 1, 0, 0, 0, 0])) + bytes(-(-blocks // 8))
    empty = segment(0xDA, bytes([1, 1, 0, 1, 63, 0])) + bytes(-(-15 * -(-blocks // 2**14) // 8))
    return begin + first + empty * scans + b"\xff\xd9"


def form(parts: int, name: str, size: int) -> bytes:
    """A request for an upload whose parts have come and whose end has not."""
    head = f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode()
    body = (head + bytes(size) + b"\r\n") * parts
    length = len(body) + 1000
    return (
        b"POST /gradio_api/upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n"
        b"Content-Type: multipart/form-data; boundary=x\r\n\r\n" % length + body
    )


UPLOAD, OF_X = "/gradio_api/upload", {"Content-Type": "multipart/form-data; boundary=x"}
STREAM = b"GET /gradio_api/heartbeat/NUMBER HTTP/1.1\r\nHost: localhost\r\n\r\n"


def language_tags(first: Attacker) -> None:
    """Tags in heads that are let in, which have up to 32 kB, and in longer ones."""

    def send(number: int) -> httpx.Response:
        tag = "a-" * (15_000, 30_000)[number // 2]
        if number % 2:
            return first.client.get("/", params={"lang": tag})
        return first.client.get("/", headers={"Accept-Language": tag})

    first.many(4, 1, send)


def slow_jpegs(first: Attacker) -> None:
    data = slow_jpeg()
    first.many(2, 2, lambda _: first.photo(data))


def large_pngs(first: Attacker) -> None:
    Image.new("RGB", (8000, 8000)).save(data := io.BytesIO(), "PNG")
    first.many(16, 8, lambda _: first.photo(data.getvalue()))


def many_parts(first: Attacker) -> None:
    with ThreadPoolExecutor() as threads:
        threads.submit(first.hold, 1, form(990, 'files"; filename="a.png', 10))
        time.sleep(2)  # until they have been read
        threads.submit(first.hold, 60, STREAM)


def large_fields(first: Attacker) -> None:
    first.hold(20, form(1, "files", 32_000_000))


def idle_streams(first: Attacker) -> None:
    first.hold(1050, STREAM)


def recordings(first: Attacker) -> None:
    video = {"video": ("a.webm", bytes(50_000))}
    first.many(40, 4, lambda _: first.client.post("/gradio_api/process_recording", files=video))


def addresses(first: Attacker) -> None:
    first.many(
        40, 8, lambda n: first.client.get(f"/gradio_api/file=http://{n}.vitviz.invalid/a.png")
    )


def past_the_door(first: Attacker) -> None:
    call = {"name": "survey", "arguments": {"photos": [1] * 1_300_000}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    path = "/gradio_api/mcp/heartbeat/gradio_api/mcp/"
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    content = json.dumps(body)
    first.many(10, 4, lambda _: first.client.post(path, content=content, headers=headers))


def upload_names(first: Attacker) -> None:
    def send(number: int) -> httpx.Response:
        name = f"{number}-" + "a" * 50_000
        return first.client.get("/gradio_api/upload_progress", params={"upload_id": name})

    first.many(3000, 100, send)


def passwords(first: Attacker) -> None:
    first.many(
        90, 10, lambda n: first.client.post("/login", data=LOGIN | {"password": f"wrong {n}"})
    )


def full_queue(first: Attacker) -> None:
    pictures = [picture_of((n, n, n)) for n in range(60)]
    first.many(60, 60, lambda n: first.photo(pictures[n]))


def questions(first: Attacker) -> None:
    config = first.client.get("/config").json()
    viewer = next(
        one["id"] for one in config["components"] if one["props"].get("elem_id") == "vv-viewer"
    )
    page = httpx.AsyncClient(base_url=first.client.base_url, timeout=PATIENCE)
    opened = Visitor("", "photos", config, page).open(picture_of((7, 7, 7)), "a.png")
    key = json.loads(asyncio.run(opened)["text"])["pass"]["id"]
    names = ("fair", "operate", "figure", "rollout")

    def send(number: int) -> str:
        name = names[number % len(names)]
        asked = {"interventions": [], **QUESTIONS[name], "id": key, "token": number}
        return question(first.client, viewer, name, json.dumps(asked))

    first.many(96, 32, send)


def cookies(first: Attacker) -> None:
    """Python before 3.11.10 unquotes them in quadratic time."""
    cookie = {"Cookie": 'a="' + "\\1" * 15_000 + '"'}
    first.many(20, 10, lambda _: first.client.get("/", headers=cookie))


def padding(first: Attacker) -> None:
    """Forms whose parser walks over 32 MB of spaces after a boundary, one by one."""
    body = b'--x\r\nContent-Disposition: form-data; name="files"\r\n\r\n\r\n--x' + b" " * 32_000_000
    first.many(8, 8, lambda _: first.client.post(UPLOAD, content=body, headers=OF_X))


def broken_forms(first: Attacker) -> None:
    """Forms for a question, which end within a file."""
    path = "/gradio_api/component_server"
    body = b'--x\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\nleft'
    first.many(40, 10, lambda _: first.client.post(path, content=body, headers=OF_X))


def sixteen_addresses(first: Attacker) -> None:
    """Explanations of several seconds each, of as many addresses at a time."""
    visitors = [Attacker(str(first.client.base_url), f"127.0.0.{16 + n}") for n in range(16)]
    asked = {"data": ["dog", "photos", "occlusion"]}

    def send(number: int) -> httpx.Response:
        return visitors[number % 16].client.post("/gradio_api/run/explain", json=asked)

    first.many(32, 32, send)


ATTACKS: dict[str, Callable[[Attacker], None]] = {
    "language tags of 30 and 60 kB": language_tags,
    "JPEG of 1,000 scans": slow_jpegs,
    "PNG of 64 megapixels": large_pngs,
    "an upload of 990 parts, 60 idle streams": many_parts,
    "20 form fields of 32 MB": large_fields,
    "1,050 idle streams": idle_streams,
    "recordings": recordings,
    "files of other addresses": addresses,
    "3 MB to tools by a path with /heartbeat/": past_the_door,
    "3,000 names of uploads": upload_names,
    "wrong passwords": passwords,
    "60 analyses at once": full_queue,
    "questions that compute": questions,
    "cookies of 15,000 escapes": cookies,
    "32 MB of spaces after a boundary": padding,
    "forms that break off": broken_forms,
    "explanations of 16 addresses": sixteen_addresses,
}


@dataclass
class Row:
    """The result of an attack. `before`, `during`: seconds of each kind of request."""

    attack: str
    sent: int
    statuses: Counter[str]
    before: dict[str, list[float]]
    during: dict[str, list[float]]
    lost: Counter[str]  # requests of each kind without the right answer
    seconds: float  # until the first visitor had all answers
    memory: tuple[int, int]  # MB before, and the most
    left: int  # files outside the cache

    @property
    def held(self) -> bool:
        """Whether the second visitor hardly noticed, and nothing stays."""
        late = [kind for kind, most in HELD.items() if max(self.during[kind]) > most]
        return not late and not self.lost.total() and not self.left

    def __str__(self) -> str:
        cells = [self.attack, str(self.sent)]
        for kind in KINDS:
            before, during = (statistics.median(one[kind]) for one in (self.before, self.during))
            cell = f"{before:.2f}; {during:.2f}, {max(self.during[kind]):.2f}"
            cells.append(cell + (f" ({self.lost[kind]} lost)" if self.lost[kind] else ""))
        cells += ["{:,}; {:,}".format(*self.memory), str(self.left), "yes" if self.held else "no"]
        got = ", ".join(f"{count} {what}" for what, count in self.statuses.most_common(4))
        return f"| {' | '.join(cells)} | {got} in {self.seconds:.1f} s |"


class Second:
    """The second visitor, who asks for one of each kind at a time."""

    def __init__(self, url: str) -> None:
        transport = httpx.AsyncHTTPTransport(local_address=SECOND)
        self.client = httpx.AsyncClient(base_url=url, timeout=PATIENCE, transport=transport)
        self.colours = colours()
        self.waits: dict[str, list[float]] = {}
        self.lost: Counter[str] = Counter()

    async def come(self) -> None:
        """Log in, and send a first photo, whose file is fetched again and again."""
        await self.client.post("/login", data=LOGIN)
        config = (await self.client.get("/config")).json()
        self.visitor = Visitor(str(self.client.base_url), "photos", config, self.client)
        found = await self.visitor.open(picture_of(next(self.colours)), "first.png")
        place = json.loads(found["text"])["files"]["picture"]["path"]
        self.asks: dict[str, Callable[[], Awaitable[object]]] = {
            "/healthz": lambda: self.get("/healthz"),
            "document": lambda: self.get("/"),
            "file": lambda: self.get(f"/gradio_api/file={place}"),
            "analysis": self.analysis,
        }

    async def get(self, path: str) -> None:
        (await self.client.get(path)).raise_for_status()

    async def analysis(self) -> None:
        colour = next(self.colours)
        seen = await self.visitor.page(picture_of(colour), "photo.png")
        if any(abs(a - b) > 3 for a, b in zip(seen, colour, strict=True)):
            raise RefusedError("another picture")

    async def measure(self, work: Awaitable[object]) -> tuple[dict[str, list[float]], Counter[str]]:
        """Ask until `work` has ended, and at least once: the seconds of each kind, and failures."""
        over, waits, lost = asyncio.Event(), {kind: [] for kind in KINDS}, Counter()

        async def ask(kind: str) -> None:
            while not over.is_set() or not waits[kind]:
                began = time.perf_counter()
                try:
                    await self.asks[kind]()
                except (httpx.HTTPError, RefusedError, KeyError, ValueError):
                    lost[kind] += 1
                waits[kind].append(time.perf_counter() - began)
                await asyncio.sleep(0.05)

        async def end() -> None:
            await work
            over.set()

        await asyncio.gather(end(), *(ask(kind) for kind in KINDS))
        return waits, lost


def attacking(url: str, attack: str, go: Event, got: Connection) -> None:
    """The first visitor, in a process of its own: what it computes slows no measurement down."""
    first = Attacker(url)
    go.wait()
    began = time.perf_counter()
    ATTACKS[attack](first)
    got.send((first.sent, first.statuses, time.perf_counter() - began))


async def attacked(url: str, attack: str, app: int, go: Event, got: Connection) -> Row:
    """Measure before and during an attack on an app with a process of this number."""
    second = Second(url)
    await second.come()
    before, _ = await second.measure(asyncio.sleep(QUIET))
    used = memory(app, "VmRSS")
    go.set()
    ended = asyncio.create_task(asyncio.to_thread(got.recv))
    during, lost = await second.measure(ended)
    await second.client.aclose()
    sent, statuses, seconds = await ended
    grown = (used, memory(app, "VmHWM"))
    return Row(attack, sent, statuses, before, during, lost, seconds, grown, 0)


def memory(process: int, kind: str) -> int:
    """MB of a process, as Linux counts them."""
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    return int(status.split(f"{kind}:")[1].split()[0]) // 1000


def row_of(attack: str, folder: Path) -> Row:
    """Attack an app of its own, whose temporary files lie in `folder`."""
    (folder / "tmp").mkdir()
    environ = {"TMPDIR": str(folder / "tmp")}
    if attack == "wrong passwords":
        (folder / "login").write_text("{username}:{password}\n".format(**LOGIN))
        environ["VITVIZ_LOGIN"] = str(folder / "login")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    with app_process(folder, environ=environ) as (url, process):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
        (got, sending), go = FORK.Pipe(duplex=False), FORK.Event()
        attacker = FORK.Process(target=attacking, args=(url, attack, go, sending))
        attacker.start()
        sending.close()  # so that an attacker who fails ends the wait, too
        row = asyncio.run(attacked(url, attack, process.pid, go, got))
        attacker.join()
        row.left = sum(path.is_file() for path in (folder / "tmp").rglob("*"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return row


def second(word: str) -> None:
    """Print the table of the attacks with a word in their name."""
    kinds = " | ".join(KINDS)
    print(f"| attack | requests | {kinds} | MB | files left | held | what the first got |")
    print("|---" * (len(KINDS) + 6) + "|")
    for attack in ATTACKS:
        if word in attack:
            with tempfile.TemporaryDirectory() as folder:
                print(row_of(attack, Path(folder)), flush=True)
