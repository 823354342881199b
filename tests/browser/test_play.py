"""The playground: a model learns in the page, beside the viewer."""

import math
import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Held, address_says, comes_to, drop
from tests.browser.test_drawing import SEVEN, draw
from tests.models import spread
from vitviz import Analysis, Preprocess, ViT, ViTConfig, analyze, load
from vitviz.model.menu import WEIGHTS_DIR
from vitviz.model.tensor_file import tensors_from_bytes, tensors_to_bytes
from vitviz.model.weights import save_checkpoint
from vitviz.payload import page as one_file
from vitviz.web.store.examples import FOLDER

PAGE = ".vv-play-page"
DIGITS = re.compile(r"/digits-(train|test)-[0-9a-f]{16}\.png$")


def playing(page) -> None:
    page.get_by_role("button", name="Play: let it learn").click()


def pause(page) -> None:
    page.get_by_role("button", name="Pause", exact=False).click()


def step_is_above(page, step: int) -> None:
    page.wait_for_function(f"Number(document.querySelector('{PAGE}').dataset.step) > {step}")


def right_is_above(page, percent: float) -> None:
    big = "document.querySelector('.vv-play-big').textContent"
    page.wait_for_function(f"parseFloat({big}) > {percent}")


def test_back_closes_it_forward_opens_it_and_two_runs_learn_beside_each_other(visit) -> None:
    seen = visit(fresh=True)
    page = seen.page
    assert not any(DIGITS.search(one) or "vitviz-play" in one for one in seen.requests)
    page.get_by_role("button", name="Playground").click()
    page.locator(PAGE).wait_for()
    assert {DIGITS.search(one)[1] for one in seen.requests if DIGITS.search(one)} == {
        "train",
        "test",
    }
    # It was no entry of the history: Back left the page, on a phone with one stroke of a thumb.
    page.locator(f"{PAGE}[data-state=ready]").wait_for()
    address_says(page, play="standard")
    page.go_back()
    expect(page.locator(PAGE)).to_be_hidden()
    seen.is_(state="ready")
    address_says(page, play=None)
    page.go_forward()
    page.locator(f"{PAGE}[data-state=ready]").wait_for()
    page.keyboard.press("Escape")
    expect(page.locator(PAGE)).to_be_hidden()
    address_says(page, play=None)
    page.get_by_role("button", name="Playground").click()
    assert page.get_by_role("dialog", name="Playground").is_visible()
    # Ten classes, and as many digits of each: it is right as often as one that guesses.
    page.wait_for_function("document.querySelector('.vv-play-big').textContent === '10.0%'")
    playing(page)
    step_is_above(page, 20)
    right_is_above(page, 30)
    assert page.locator(".vv-play-guess[data-state=right]").count() > 0
    page.get_by_role("button", name="Take the positions away").click()
    page.locator(f"{PAGE}[data-runs='2']").wait_for()
    address_says(page, play="positions_none")
    step_is_above(page, 5)
    curves = page.locator(".vv-play-curves").first
    assert curves.locator("polyline").count() == 2
    # Gradio's selectors do not beat the page's own style: the scale stands beside the plot.
    plot = curves.locator(".vv-plot").bounding_box()
    heights = [one.bounding_box()["y"] for one in curves.locator(".vv-plot-ticks span").all()]
    assert max(heights) - min(heights) == pytest.approx(plot["height"], abs=20)
    runs = page.get_by_role("group", name="Runs").get_by_role("button")
    assert [re.sub(r"[\d.]+%$", "", one) for one in runs.all_inner_texts()] == [
        "standard\n",
        "positions: none\n",
    ]
    pause(page)
    page.get_by_role("button", name="Play: let it learn").wait_for()
    runs.first.click()
    address_says(page, play="standard")
    page.keyboard.press("Escape")
    assert page.locator(PAGE).is_hidden()
    address_says(page, play=None)
    seen.ready("red-panda.jpg")


# The step of the run that the tab keeps.
KEPT = """new Promise((done) => {
    indexedDB.open("vitviz").onsuccess = ({ target: { result } }) => {
        const all = result.transaction("photos").objectStore("photos").getAll();
        all.onsuccess = () => {
            result.close();
            done(all.result.find(({ kind }) => kind === "runs")?.snapshot.runs[0].step ?? null);
        };
    };
})"""


def test_a_run_outlives_a_reload_is_played_by_keys_and_pauses_in_a_tab_that_is_hidden(
    visit,
) -> None:
    page = visit("?play=patch_14", wait_for="").page
    page.locator(f"{PAGE}[data-state=ready]").wait_for()
    page.get_by_role("button", name="One step").click()
    page.get_by_role("button", name="One step").click()
    page.locator(f"{PAGE}[data-step='2']").wait_for()
    curve = page.locator(".vv-play-curves polyline").last
    points = curve.get_attribute("points")
    comes_to(page, KEPT, 2)
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.locator(f"{PAGE}[data-state=kept][data-step='2']").wait_for()
    assert curve.get_attribute("points") == points
    page.get_by_role("button", name="One step").click()
    page.locator(f"{PAGE}[data-state=paused][data-step='3']").wait_for()
    assert page.locator(PAGE).get_attribute("data-runs") == "1"
    # A link to another run begins that one, beside what is kept.
    comes_to(page, KEPT, 3)
    page.goto(link.replace("patch_14", "positions_none"))
    page.locator(f"{PAGE}[data-state=ready][data-step='0'][data-runs='2']").wait_for()
    # It is played by keys, at once.
    page.keyboard.press("s")
    page.locator(f"{PAGE}[data-step='1']").wait_for()
    page.locator(".vv-play").dispatch_event("keydown", {"key": "ㄴ", "code": "KeyS"})  # in Hangul
    page.locator(f"{PAGE}[data-step='2']").wait_for()
    page.keyboard.press("Space")
    step_is_above(page, 3)
    assert page.locator(PAGE).is_visible()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play: let it learn").wait_for()
    # A tab that is hidden pauses and says so.
    page.locator(".vv-play h2").click()
    page.keyboard.press(" ")
    step_is_above(page, int(page.locator(PAGE).get_attribute("data-step")))
    page.evaluate(
        """() => {
            Object.defineProperty(document, 'hidden', { get: () => true, configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));
            delete document.hidden;
        }"""
    )
    page.get_by_text("Paused, because this tab was out of sight.").wait_for()
    page.get_by_role("button", name="Play: let it learn").wait_for()
    page.keyboard.press(" ")
    page.get_by_role("button", name="Pause", exact=False).wait_for()
    assert page.get_by_text("Paused, because").count() == 0


def test_a_link_brings_the_same_run_back(visit) -> None:
    losses = []
    for _ in range(2):
        seen = visit("?play=positions_none*patch_14*seed_1", wait_for="")
        page = seen.page
        page.locator(f"{PAGE}[data-state=ready]").wait_for()
        assert page.get_by_role("radio", name="none").is_checked()
        for at in range(3):
            page.get_by_role("button", name="One step").click()
            page.locator(f"{PAGE}[data-step='{at + 1}']").wait_for()
        losses.append(page.locator(".vv-play-curves polyline").last.get_attribute("points"))
        address_says(page, play="positions_none*patch_14*seed_1")
    assert losses[0] == losses[1] != ""
    assert len(losses[0].split(" ")) == 3
    # What a link cannot name is as usual.
    odd = visit("?play=dim_4800000*nothing", wait_for="").page
    odd.locator(f"{PAGE}[data-state=ready]").wait_for()
    address_says(odd, play="standard")


def test_what_it_learned_opens_in_the_viewer_and_in_python(visit, tmp_path) -> None:
    seen = visit("?play=patch_14", wait_for="")
    page = seen.page
    page.locator(f"{PAGE}[data-state=ready]").wait_for()
    playing(page)
    right_is_above(page, 30)
    pause(page)
    inside, looks = page.locator(".vv-play-inside"), page.get_by_role("img", name="Where CLS looks")
    inside.scroll_into_view_if_needed()
    looks.wait_for()
    for subject in ("your own signs", "handwritten digits"):
        page.get_by_role("radio", name=subject).click()
    inside.scroll_into_view_if_needed()
    looks.wait_for()  # what was seen inside is there again
    page.locator(".vv-play-guess").nth(4).click()
    inside.scroll_into_view_if_needed()
    looks.wait_for()
    with page.expect_download() as coming:
        page.get_by_role("button", name="Save the model").click()
    assert re.fullmatch(r"playground-patch_14-\d+\.safetensors", coming.value.suggested_filename)
    file = tmp_path / "mine.safetensors"
    coming.value.save_as(file)
    # Read back it is a run of its own, and as good as it was.
    page.locator("input[type=file][accept='.safetensors']").set_input_files(file)
    page.locator(".vv-play-run[aria-pressed=true]", has_text="mine").wait_for()
    expect(page.locator(".vv-play-big")).to_be_in_viewport()
    page.wait_for_function(
        """() => {
            const rights = [...document.querySelectorAll('.vv-play-run b')];
            return new Set(rights.map(one => one.textContent)).size === 1 && rights.length === 2;
        }"""
    )
    page.get_by_role("button", name="Open in the viewer").click()
    seen.ready("digit-4.png")
    address_says(page, play=None)
    with page.expect_download() as coming:
        page.locator("button", has_text="Save").first.click()
        page.locator(".vv-save-items button", has_text="safetensors").first.click()
    page.keyboard.press("Escape")
    theirs = Analysis.load(coming.value.path())
    ours = analyze(load(file), theirs.picture.numpy()[..., 0])
    assert (theirs.trace.logits - ours.trace.logits).abs().max() < 1e-3
    # What is drawn is for this model, too.
    page.locator("#vv-draw").click()
    draw(page, SEVEN)
    seen.ready("drawing-")
    assert page.locator(".vv-names").inner_text().endswith("· mine")
    page.keyboard.press("Escape")
    for panel in ("Positions", "Patches", "Features", "Explanations", "Experiment", "Model"):
        seen.open_panel(panel)
        seen.is_(state="ready")
    # The example that was there before is chosen as ever.
    page.locator("#vv-examples img").first.click()
    seen.ready("red-panda.jpg")


def test_the_one_file_with_its_engine_has_it_too(open_page) -> None:
    html = one_file(analyze(load("mnist"), FOLDER / "digit.png"), engine=True)
    page = open_page(html, locale="en-US")
    page.get_by_role("button", name="Playground", exact=True).click()
    page.locator(f"{PAGE}[data-state=ready]").wait_for()
    page.locator(".vv-play-player").click()
    step_is_above(page, 3)
    page.wait_for_function("location.hash.includes('play=standard')")
    page.keyboard.press("Escape")
    page.wait_for_function("!location.hash.includes('play=')")


def test_a_playground_that_is_slow_or_does_not_come_is_said_and_asked_for_again(visit) -> None:
    seen, held = visit(), []
    page = seen.page
    page.route("**/vitviz-play-*", lambda route: held.append(route))
    page.get_by_role("button", name="Playground").click()
    page.get_by_role("alert").filter(has_text="What was to be opened is on its way").wait_for()
    page.route("**/vitviz-play-*", lambda route: route.abort())  # what is asked for late, too
    for route in held:
        route.abort()
    note = page.get_by_role("alert").filter(has_text="What was to be opened could not be loaded")
    note.wait_for()
    page.unroute("**/vitviz-play-*")
    # Closed and opened again while its digits are on their way, it has one of each.
    digits = Held()
    page.route(DIGITS, digits.hold)
    for _ in range(2):
        page.get_by_role("button", name="Playground").click()
        page.get_by_text("The digits are on their way").wait_for()
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Playground").click()
    digits.go()
    page.locator(f"{PAGE}[data-state=ready]").wait_for()
    assert note.is_hidden()
    assert len([one for one in seen.requests if DIGITS.search(one)]) == 2
    # It ends with its viewer.
    assert len(page.workers) > 0
    page.locator("vv-life").evaluate("node => node.remove()")
    page.wait_for_function("!document.querySelector('.vv-play')")
    assert page.locator("html.vv-plays").count() == 0
    for _ in range(1200):
        page.wait_for_timeout(50 * (len(page.workers) > 0))
    assert page.workers == []
    seen.forgive("ERR_FAILED", "no file at")


def sign(page, kind: int, at: int) -> None:
    """Draw a ring or a cross, each a little different, and lift the pen."""
    angles = [step * math.pi / 6 for step in range(13)]
    size = 0.28 + 0.01 * at
    ring = [(0.5 + size * math.cos(one), 0.5 + size * math.sin(one)) for one in angles]
    cross = [(0.2, 0.2), (0.8, 0.8 - 0.01 * at), (0.5, 0.5), (0.8, 0.2), (0.2, 0.8)]
    draw(page, (ring, cross)[kind])


# What workers say is held back while `held` is a list; `waits` counts what they have not answered.
HOLDING = """() => {
    const { set } = Object.getOwnPropertyDescriptor(Worker.prototype, "onmessage");
    const post = Worker.prototype.postMessage;
    Object.assign(window, { held: null, waits: 0 });
    Worker.prototype.postMessage = function (...message) {
        window.waits += 1;
        post.apply(this, message);
    };
    Object.defineProperty(Worker.prototype, "onmessage", { set(hear) {
        set.call(this, (event) => {
            const tell = () => {
                window.waits -= 1;
                hear.call(this, event);
            };
            if (window.held) window.held.push(tell);
            else tell();
        });
    } });
}"""
RELEASE = """() => {
    const all = window.held;
    window.held = null;
    all.forEach((tell) => tell());
}"""


def test_signs_of_ones_own_are_learned_and_another_one_is_answered(visit, tmp_path) -> None:
    seen = visit("?play=signs", wait_for="")
    page = seen.page
    page.evaluate(HOLDING)
    learn = page.get_by_role("button", name="Learn them")
    learn.click(force=True)  # it says why it cannot
    page.get_by_text("The model cannot learn yet").wait_for()
    page.locator(".vv-signs-name").first.fill("<i>ring</i>")
    page.locator(".vv-signs-name").first.press("Tab")
    for kind in (0, 1):
        for at in range(8):
            sign(page, kind, at)
            page.keyboard.press("Enter")
    assert page.locator(".vv-signs-kind").nth(1).get_by_text("8 of 8").is_visible()
    with page.expect_download() as coming:
        page.get_by_role("button", name="Save the drawings").click()
    drawings = tmp_path / "signs.json"
    coming.value.save_as(drawings)
    learn.click()
    page.locator(f"{PAGE}[data-state=done]").wait_for()
    assert page.locator(".vv-play-big").inner_text() == "100.0%"
    sign(page, 0, 5)
    best = page.locator(".vv-signs-answers .vv-best")
    best.get_by_text("<i>ring</i>").wait_for()
    # By keys: a stroke down the middle is asked about when the pen is lifted, and taken back.
    page.get_by_role("button", name="Clear", exact=True).click()
    page.wait_for_function("!document.querySelector('.vv-signs-answers .vv-best')")
    page.locator(".vv-drawing-field").focus()
    page.keyboard.press("Space")
    for _ in range(12):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    best.wait_for()
    hangul = {"key": "ㅋ", "code": "KeyZ", "ctrlKey": True}
    page.locator(".vv-drawing-field").dispatch_event("keydown", hangul)
    page.wait_for_function("!document.querySelector('.vv-signs-answers .vv-best')")
    # An answer that comes after its drawing was taken back is nobody's.
    page.evaluate("() => { window.held = []; window.waits = 0; }")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    page.wait_for_function("window.held.length > 0")
    page.keyboard.press("Control+z")
    page.evaluate(RELEASE)
    page.wait_for_function("window.waits <= 0")
    assert best.count() == 0
    # Learned once more, what learned before is gone with its workers.
    before = len(page.workers)
    learn.click()
    page.locator(f"{PAGE}[data-state=done]").wait_for()
    draw(page, SEVEN)
    best.wait_for()
    assert len(page.workers) == before
    # A reload has the drawings still; a file adds what is not there yet, and is not trusted.
    page.reload()
    kinds = page.locator(".vv-signs-kind")
    kinds.first.wait_for()
    assert kinds.locator(".vv-signs-drawing").count() == 16
    kinds.nth(1).locator(".vv-signs-drawing").first.click()
    kinds.nth(1).get_by_text("7 of 8").wait_for()
    chooser = page.locator("input[type=file][accept^='.json']")
    chooser.set_input_files(drawings)
    kinds.nth(1).get_by_text("8 of 8").wait_for()
    assert kinds.locator(".vv-signs-drawing").count() == 16
    odd = tmp_path / "odd.json"
    odd.write_text('{"vitviz": "signs", "kinds": [{"name": "a", "drawings": [[[9, [[0, 0]]]]]}]}')
    chooser.set_input_files(odd)
    page.get_by_text("A drawing of a in the file is not made of strokes").wait_for()
    assert not any(one.startswith("data:") for one in seen.requests)


def test_what_is_dropped_on_the_playground_is_opened_or_refused(visit, tmp_path) -> None:
    """The sentence was gone with the next step, and files went to the viewer behind."""
    seen = visit("?play=patch_14", wait_for="")
    page = seen.page
    page.locator(f"{PAGE}[data-state=ready]").wait_for()
    head = page.locator(".vv-play h2")
    whole = (WEIGHTS_DIR / "mnist-none.safetensors").read_bytes()
    tensors, metadata = tensors_from_bytes(whole)
    tensors["head.weight"] = tensors["head.weight"].float() * 1e38
    playing(page)
    step_is_above(page, 3)
    for data, why in (
        (whole[:-4], "the file holds"),
        (tensors_to_bytes(tensors, metadata), "computes numbers that are not finite"),
    ):
        drop(head, data, "damaged.safetensors")
        said = page.locator(f"{PAGE} .vv-play-note", has_text=why)
        said.wait_for()
        step_is_above(page, int(page.locator(PAGE).get_attribute("data-step")) + 3)
        assert said.inner_text().startswith("This file is no model of 28 x 28 digits")
    drop(head, whole, "whole.safetensors")
    page.locator(".vv-play-run[aria-pressed=true]", has_text="whole").wait_for()
    page.get_by_text("This model came from a file").wait_for()
    assert page.locator(".vv-play-run").count() == 2
    assert page.locator(".vv-names").inner_text().startswith("red-panda.jpg")
    # A model that was made elsewhere, and says nothing of how it learned and what its classes are.
    config = ViTConfig(
        image_size=28, patch_size=7, in_chans=1, embed_dim=16, depth=2, num_heads=2,
        num_classes=10, dist_token=True, reg_tokens=2,
    )  # fmt: skip
    preprocess = Preprocess(size=config.image_size, channels=1, mean=(0.1,), std=(0.3,))
    state = spread(ViT(config)).state_dict()
    facts = {"config": config, "preprocess": preprocess, "labels": None, "details": {}}
    save_checkpoint(tmp_path / "a", state, **facts)
    drop(head, (tmp_path / "a").read_bytes(), "registers.safetensors")
    page.locator(".vv-play-run[aria-pressed=true]", has_text="registers").wait_for()
    # Of several the first was taken without a word, even where it was no model by its name.
    drop(head, whole, "notes.txt", "second.safetensors", "third.safetensors")
    note = page.locator(f"{PAGE} .vv-play-note")
    note.get_by_text("Of 3 files only second.safetensors was opened. This model came").wait_for()
    page.locator(".vv-play-run[aria-pressed=true]", has_text="second").wait_for()
    drop(head, b"", "a.safetensors", "b.safetensors")
    note.get_by_text("Of 2 files only a.safetensors was opened. This file is no model").wait_for()
    page.locator(".vv-play-run", has_text="registers").click()
    page.get_by_role("button", name="Open in the viewer").click()
    seen.ready("digit-")
    for panel in ("Predictions", "Model"):
        seen.open_panel(panel)
        seen.is_(panel=panel.lower(), state="ready")


RECORDING = """window.workers = [];
window.Worker = class extends Worker {
    constructor(...of) { super(...of); window.workers.push(this); }
};"""


def test_a_run_whose_worker_died_has_nothing_to_save_and_a_replaced_one_goes_on(visit) -> None:
    seen = visit("?play=patch_14", wait_for="", before=lambda page: page.add_init_script(RECORDING))
    page = seen.page
    page.locator(f"{PAGE}[data-state=ready]").wait_for()
    page.evaluate("for (const one of workers) one.dispatchEvent(new ErrorEvent('error'))")
    page.get_by_role("button", name="One step").click()
    page.locator(f"{PAGE}[data-state=failed]").wait_for()
    buttons = page.locator(".vv-play-inside button")
    taking = [buttons.filter(has_text=one) for one in ("Open in the viewer", "Save the model")]
    for one in taking:
        assert one.get_attribute("aria-disabled") == "true"
        one.click(force=True)
    assert page.locator("dialog.vv-play").evaluate("one => one.open")
    page.get_by_role("button", name="Start again").click()
    page.locator(f"{PAGE}[data-state=ready]").wait_for()
    assert [one.get_attribute("aria-disabled") for one in taking] == ["false", "false"]
    # A run that was replaced goes on at another speed.
    page.get_by_role("radio", name="10 a second").check(force=True)
    playing(page)
    step_is_above(page, 5)
    page.get_by_role("radio", name="rotary").check(force=True)
    page.locator(f'{PAGE}[data-runs="2"]').wait_for()
    step_is_above(page, 1)
    first = page.get_by_role("group", name="Runs").get_by_role("button").first
    pause(page)
    first.click()
    page.locator(f"{PAGE}[data-state=kept]").wait_for()
    kept = int(page.locator(PAGE).get_attribute("data-step"))
    playing(page)
    step_is_above(page, kept)
    page.get_by_role("radio", name="full").check(force=True)
    step_is_above(page, kept + 100)
