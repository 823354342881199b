"""How fast the viewer draws, and how long the app takes to start, in Chromium."""

import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import torch
from playwright.sync_api import CDPSession, Page, sync_playwright

from tests.bench.serving import serving
from tests.models import photo
from tests.running import chromium as find_chromium
from tests.running import running_app, save_tiny, serving_files
from vitviz import Analysis, ModelCard, Preprocess, Trace, ViTConfig, open_photo
from vitviz.payload import pack
from vitviz.payload import page as one_file
from vitviz.probe.forward import Pass
from vitviz.probe.intervene.surgery import Surgery
from vitviz.probe.measure.positions import Positions
from vitviz.site import write_site

SWITCHES = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
MOVES = 200
LINKS = {
    "localhost": None,
    "20 Mbit/s, 60 ms": {
        "offline": False,
        "latency": 60,
        "downloadThroughput": 20e6 / 8,
        "uploadThroughput": 20e6 / 8,
    },
}
NOTHING = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
SLOW = {"latency": 100, "downloadThroughput": 5e6 / 8, "uploadThroughput": 5e6 / 8}
# Link, by how much the processor is slower, and the seconds in which a first visit is to be ready.
ARRIVALS = {
    "20 Mbit/s, 60 ms": (LINKS["20 Mbit/s, 60 ms"], 1, 1.6),
    "5 Mbit/s, 100 ms, processor / 4": ({"offline": False, **SLOW}, 4, 3.5),
}
# kB on the wire that are wanted: the document, and all of ours on a first and a second visit.
DOCUMENT_KB, FIRST_KB, SECOND_KB = 120, 340, 150
SITE_SECONDS = 1.0  # until a site is ready that has no server of its own
GRADIOS = re.compile(r"/(assets|static|theme\.css|manifest\.json|favicon\.ico)")  # its own files
# Nobody waits for these, and where the page above the viewer is slow they are there before it.
BEHIND = re.compile(
    r"/((picture|positions|layer-\d+)\.safetensors|example-\w+\.jpg|queue/(join|data))$"
)
WATCH_READY = """new MutationObserver((_, observer) => {
  if (!document.querySelector("[data-state=ready]")) return;
  observer.disconnect();
  window.readyAfter = performance.now();
}).observe(document, { subtree: true, childList: true, attributeFilter: ["data-state"] })"""
# What had arrived when the viewer was ready: [path, bytes on the wire]; 0 is from the cache.
ARRIVED = """() => [
  [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .filter(({ name, responseEnd: end }) => name.startsWith("http") && end && end <= readyAfter)
    .map(({ name, transferSize }) => [new URL(name).pathname, transferSize]),
  performance.getEntriesByName("first-contentful-paint")[0].startTime, readyAfter]"""
HEAD = (
    "| open panel | drawing, ms: p50 | p95 | longest | to the next frame, ms: p50 | p95"
    " | mean on the processor, ms |\n|---|---|---|---|---|---|---|"
)
EAGER = "--enable-blink-features=ForceEagerMeasureMemory"  # or it waits for a collection
MEMORY = "async () => (await performance.measureUserAgentSpecificMemory()).bytes"
ALL_LAYERS = """(layers) => performance.getEntriesByType("resource")
    .filter(({ name }) => name.includes("/layer-")).length >= layers"""
# One walk over the picture per panel: `event` is the time inside the viewer's handler, in which it
# draws everything; `frame` runs until the browser has come round to the next frame after it.
WALK = """async (moves) => {
  const picture = document.querySelector(".vv-picture");
  const times = { event: [], frame: [] };
  for (let i = 0; i < moves; i++) {
    const box = picture.getBoundingClientRect();
    const clientX = box.left + box.width * ((i * 0.377) % 1);
    const clientY = box.top + box.height * ((i * 0.611) % 1);
    const under = document.elementFromPoint(clientX, clientY);
    const move = new PointerEvent("pointermove",
      { bubbles: true, clientX, clientY, pointerId: 1, pointerType: "mouse" });
    const began = performance.now();
    under.dispatchEvent(move);
    times.event.push(performance.now() - began);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    times.frame.push(performance.now() - began);
  }
  return times;
}"""


def viewer() -> None:
    """Pointer moves over a 12 x 12 x 197 analysis in the one-file page, with each panel open."""
    analysis = made_up(224, 16)
    with tempfile.TemporaryDirectory() as folder, chromium() as page:
        path = Path(folder) / "page.html"
        path.write_text(one_file(analysis), "utf-8")
        page.goto(path.as_uri())
        page.locator("[data-state=ready]").wait_for(timeout=120_000)
        page.wait_for_timeout(3000)  # layers are unpacked, work for idle moments is done
        print(f"### Repainting 12 layers, 12 heads, 197 tokens: {MOVES} moves of the pointer\n")
        print(HEAD)
        for tab in page.locator("[role=tab]").all():
            tab.click()
            walk(page, tab.inner_text())
        page.get_by_role("tab", name="Attention").click()
        page.get_by_role("radio", name="all layers and heads").check()
        walk(page, "Attention, all layers and heads")
        page.get_by_role("radio", name="heads of this layer").check()
        page.locator(".vv-frame").press("Home")
        walk(page, "Attention, compared with a pinned token")
    print(flush=True)


def large() -> None:
    """The same at 12 x 12 x 1370, files from a server; and the memory that the tab takes."""
    payload = pack(made_up(518, 14))
    with (
        serving(payload) as url,
        chromium("--enable-blink-features=ForceEagerMeasureMemory") as page,
    ):
        page.goto(url)
        print(f"### 12 layers, 12 heads, 1370 tokens: {MOVES} moves of the pointer\n")
        print(HEAD)
        page.evaluate("open_()")
        page.locator("[data-state=ready]").wait_for(timeout=120_000)
        page.wait_for_timeout(15_000)  # every layer is fetched, if they are fetched ahead
        for name in ("Attention", "Features"):
            page.get_by_role("tab", name=name).click()
            walk(page, name)
            used = page.evaluate(MEMORY)
            print(f"\nMemory of the tab with {name}: {used / 1e6:.0f} MB\n", flush=True)


def paint(rounds: int = 3) -> None:
    """From the answer of the server to the first painted map, on links of two speeds.

    The best of `rounds`; the last column is from one of them. `waited` is the part of the first
    paint that is spent on files: the rest is drawing, which a busy machine makes longer.
    """
    print(f"### First paint after the answer, seconds, best of {rounds}\n")
    print("| analysis | link | first paint | waited for files | kB by then | all layers |")
    print("|---|---|---|---|---|---|")
    for image, patch in ((224, 16), (518, 14)):
        payload = pack(made_up(image, patch))
        with serving(payload) as url:
            for link, conditions in LINKS.items():
                runs = [_first_paint(url, conditions, last=i == 0) for i in range(rounds)]
                first, waited, kilobytes = (min(run[at] for run in runs) for at in range(3))
                cells = f"{first:.2f} | {waited:.2f} | {kilobytes:.0f} | {runs[0][3]:.1f}"
                print(f"| ViT-B/{patch} at {image} | {link} | {cells} |", flush=True)
    print(flush=True)


def _first_paint(url: str, conditions: dict | None, last: bool) -> tuple[float, ...]:
    """Seconds to the first paint, of them for files, their kilobytes, and seconds to all layers."""
    with chromium() as page:
        page.goto(url)
        cdp = page.context.new_cdp_session(page)
        cdp.send("Network.enable")
        if conditions:
            cdp.send("Network.emulateNetworkConditions", conditions)
        page.evaluate("open_()")
        page.wait_for_function("times.ready", timeout=300_000)
        times = page.evaluate("times")
        whole = 0.0
        if last:
            page.wait_for_function(ALL_LAYERS, arg=12, timeout=300_000)
            whole = page.evaluate("performance.now() - times.began") / 1000
    return times["ready"] / 1000, times["waited"] / 1000, times["bytes"] / 1000, whole


def made_up(image: int, patch: int) -> Analysis:
    """Random numbers in the shapes that a ViT-B leaves behind; drawing them takes as long."""
    generator = torch.Generator().manual_seed(0)

    def noise(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    config = ViTConfig(
        image_size=image, patch_size=patch, embed_dim=768, depth=12, num_heads=12, num_classes=0
    )
    heads = (config.depth, config.num_heads, config.num_tokens, config.head_dim)
    tokens = (config.depth + 1, config.num_tokens, config.embed_dim)
    preprocess = Preprocess(size=config.image_size, mean=(0.5,) * 3, std=(0.5,) * 3)
    picture = preprocess.picture(open_photo(photo(300, 300)))
    return Analysis(
        pass_=Pass(
            surgery=Surgery((), config),
            picture=picture,
            pixels=preprocess.pixels(picture)[0],
            trace=Trace(
                noise(*heads), noise(*heads), noise(*tokens), noise(0), config.head_dim**-0.5
            ),
        ),
        positions=Positions.of(noise(1, config.num_tokens, config.embed_dim), config),
        card=ModelCard(
            name=f"ViT-B/{patch}",
            source="random",
            config=config,
            labels=None,
            num_parameters=86_000_000,
            head="none",
        ),
        preprocess=preprocess,
    )


def walk(page: Page, name: str) -> None:
    """One row of the table: the pointer walks over the picture, whatever panel is open."""
    page.locator(".vv-picture").first.scroll_into_view_if_needed()
    page.wait_for_timeout(2000)
    cdp = page.context.new_cdp_session(page)
    cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = processor_seconds(cdp)
    times = {kind: sorted(values) for kind, values in page.evaluate(WALK, MOVES).items()}
    spent = 1000 * (processor_seconds(cdp) - before) / MOVES
    numbers = [
        *(at(times["event"], share) for share in (0.5, 0.95, 1)),
        *(at(times["frame"], share) for share in (0.5, 0.95)),
    ]
    print(f"| {name} | {' | '.join(f'{number:.1f}' for number in [*numbers, spent])} |", flush=True)


def processor_seconds(cdp: CDPSession) -> float:
    """What scripts of the page have taken of a processor: a busy machine does not stretch it."""
    metrics = cdp.send("Performance.getMetrics")["metrics"]
    return next(entry["value"] for entry in metrics if entry["name"] == "ScriptDuration")


def start(times: int = 3) -> None:
    """From `python app.py` to an answer, and from there to a drawn page in a fresh browser."""
    print(f"### Start of the app, seconds, best of {times}\n")
    print("| from | to | s |")
    print("|---|---|---|")
    answers, paints, ready = [], [], []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as name, chromium() as page:
            folder = Path(name)
            began = time.perf_counter()
            with running_app(folder, save_tiny(folder, "cls")) as url:
                answers.append(time.perf_counter() - began)
                began = time.perf_counter()
                page.goto(url)
                page.locator("[data-state=ready]").first.wait_for(timeout=120_000)
                ready.append(time.perf_counter() - began)
                first = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
                paints.append(page.evaluate(first) / 1000)
    print(f"| `python app.py` | it answers | {min(answers):.1f} |")
    print(f"| opening the page | first paint | {min(paints):.1f} |")
    print(f"| opening the page | the first analysis is drawn | {min(ready):.1f} |\n", flush=True)


def arrive(rounds: int = 3) -> None:
    """What a visitor waits for, and what travels, until the viewer is ready: the first visit with
    an empty cache, and the second one. Medians of `rounds`; the app has been visited before.
    The times that are wanted are those of a quiet machine.
    """
    print(f"### Until the viewer is ready, kB on the wire and seconds, median of {rounds}\n")
    print("| link | visit | document | ours | of Gradio | requests | first paint | ready |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder)) as url:
        with chromium() as page:
            page.add_init_script(WATCH_READY)
            arrived(page, url, None, 1)
        for link, (conditions, slower, soon) in ARRIVALS.items():
            runs = []
            for _ in range(rounds):
                with chromium() as page:
                    page.add_init_script(WATCH_READY)
                    runs.append([arrived(page, url, conditions, slower) for _ in range(2)])
            print(f"| {link} | wanted | {DOCUMENT_KB} | {FIRST_KB}, {SECOND_KB} | | | | {soon} |")
            for visit, name in enumerate(("first", "second")):
                cells = [median(run[visit][i] for run in runs) for i in range(6)]
                print(
                    f"| {link} | {name} | {' | '.join(f'{cell:.0f}' for cell in cells[:4])}"
                    f" | {' | '.join(f'{cell:.2f}' for cell in cells[4:])} |",
                    flush=True,
                )
    _arrive_at_site(rounds)
    print(flush=True)


def _arrive_at_site(rounds: int) -> None:
    """The same of a site on a plain web server, which compresses nothing, before its weights."""
    link = "20 Mbit/s, 60 ms"
    with tempfile.TemporaryDirectory() as folder:
        write_site(folder)
        runs = []
        with serving_files(folder) as url:
            for _ in range(rounds):
                with chromium() as page:
                    page.add_init_script(WATCH_READY)
                    runs.append([arrived(page, url, LINKS[link], 1) for _ in range(2)])
    print(f"| {link} | site, wanted | | | | | | {SITE_SECONDS} |")
    for visit, name in enumerate(("first", "second")):
        cells = [median(run[visit][i] for run in runs) for i in range(6)]
        numbers = [*(f"{cell:.0f}" for cell in cells[:4]), *(f"{cell:.2f}" for cell in cells[4:])]
        print(f"| {link} | site, {name} | {' | '.join(numbers)} |", flush=True)


def arrived(page: Page, url: str, conditions: dict | None, slower: float) -> tuple[float, ...]:
    """One visit: kB of the document, of all of ours and of Gradio's, requests, and two times."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("Network.enable")
    cdp.send("Network.emulateNetworkConditions", conditions or LINKS["20 Mbit/s, 60 ms"] | NOTHING)
    cdp.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.goto(url, wait_until="commit")
    painted = "performance.getEntriesByName('first-contentful-paint').length"  # told a little late
    page.wait_for_function(f"window.readyAfter && {painted}", timeout=120_000)
    sent, painted, ready = page.evaluate(ARRIVED)
    cdp.detach()
    page.goto("about:blank")
    sent = [(path, size) for path, size in sent if not BEHIND.search(path)]
    theirs = [size for path, size in sent if GRADIOS.match(path)]
    ours = [size for path, size in sent if not GRADIOS.match(path)]
    document = next(size for path, size in sent if path == "/")
    sizes = [size / 1000 for size in (document, sum(ours), sum(theirs))]
    return *sizes, sum(size > 0 for _, size in sent), painted / 1000, ready / 1000


def at(ordered: list[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@contextmanager
def chromium(*switches: str) -> Iterator[Page]:
    path = find_chromium()
    if not path:
        sys.exit("no Chromium on this machine; name one in the variable CHROMIUM")
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path, args=[*SWITCHES, *switches])
        try:
            yield browser.new_page(viewport={"width": 1400, "height": 1000})
        finally:
            browser.close()
