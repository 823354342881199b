"""Experiments in the page: a brush and its answer, undo, links; by pointer, keys and touch."""

import csv
import io
import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LAPTOP, PHONE, PHOTOS, address, middle_in, number, unfold
from tests.browser.test_accessibility import faults
from tests.browser.test_beside import HERE, THERE, point
from tests.browser.test_explain import DRAWN
from tests.browser.test_saving import SAVES, saved
from vitviz import Analysis, analyze, load
from vitviz.web.store.examples import FOLDER

# The colours of a small picture, without how much it covers.
DONOR = """node => [...node.getContext("2d").getImageData(0, 0, node.width, node.height).data]
    .filter((_, at) => at % 4 < 3)"""
PANDA = FOLDER / "red-panda.jpg"
SIDE = PHOTOS.cols
PLACE = ".vv-place"

SHARE = """share => document.querySelectorAll('.vv-experiment .vv-both-answers li b')[1]
    ?.textContent === share"""


@pytest.fixture(scope="module")
def photos():
    return load("photos")


def places(page, *patches: tuple[int, int]) -> list[tuple[float, float]]:
    """The middles of patches on the picture, (x, y) in the window."""
    picture = page.locator(".vv-stage .vv-picture")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    return [middle_in(box, PHOTOS, *patch) for patch in patches]


def brush(page, *patches: tuple[int, int]) -> None:
    """A stroke with the mouse from patch to patch."""
    first, *others = places(page, *patches)
    page.mouse.move(*first)
    page.mouse.down()
    for place in others:
        page.mouse.move(*place, steps=4)
    page.mouse.up()


def answers(page) -> list[str]:
    """The share of the first class before and after, as the bars show it."""
    page.locator(f'{PLACE}[data-beside="experiment"]').wait_for()
    return page.locator(".vv-experiment .vv-both-answers li").first.locator("b").all_inner_texts()


def table(page, title: str) -> list[dict[str, str]]:
    """A table of the panel as it is saved: what is on the screen, with all of its digits."""
    page.get_by_role("button", name="Save what you see").click()
    panel = page.locator(SAVES).nth(1)
    name, data = saved(page, panel.get_by_role("button", name=re.compile(f"CSV.*{title}|CSV$")))
    assert name.endswith(".csv")
    page.keyboard.press("Escape")
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))


def answers_are(page, intact, changed) -> None:
    """The probabilities before and after are those of two analyses, to five digits."""
    rows = table(page, "answers")
    for side, analysis in (("before", intact), ("after", changed)):
        exact = {one.index: one.probability for one in analysis.predictions(100)}
        shown = {int(row["class"]): float(row[side]) for row in rows if row[side]}
        assert shown == pytest.approx({one: exact[one] for one in shown}, abs=1e-5)


def expected(loaded, interventions: list[dict]) -> list[str]:
    before, after = (analyze(loaded, PANDA, interventions=one) for one in ([], interventions))
    best = before.predictions(1)[0]
    (same,) = [one for one in after.predictions(100) if one.index == best.index]
    return [f"{100 * one.probability:.1f}%" for one in (best, same)]


def test_a_stroke_is_answered_beside_undone_and_in_the_link(visit, photos) -> None:
    seen = visit("?model=photos&panel=experiment")
    page = seen.page
    done = page.locator(".vv-done li")
    brush(page, (0, 0), (0, 2))
    assert done.all_inner_texts()[0].startswith(
        "row 0, col 0; row 0, col 1; row 0, col 2 taken out"
    )
    first = {"kind": "remove", "patches": [0, 1, 2]}
    assert answers(page) == expected(photos, [first])
    many = [0, 1, 2]
    for row in (4, 5, 6):
        brush(page, (row, 3), (row, 8))
        many += [row * SIDE + col for col in range(3, 9)]
        wanted = expected(photos, [{"kind": "remove", "patches": many}])
        page.wait_for_function(SHARE, arg=wanted[1])
    assert answers(page) == wanted
    # What stands beside says so, and every panel shows both.
    assert "21 patches taken out" in page.locator(".vv-beside h3").inner_text()
    assert page.locator(".vv-before-after").get_attribute("role") == "status"
    assert wanted[1] in page.locator(".vv-before-after").inner_text()
    # A quick hand: the newest stroke wins, whichever answer comes first.
    page.get_by_role("radio", name="black").check()
    for row in (8, 9, 10):
        brush(page, (row, 3))
    assert done.count() == 2
    black = {"kind": "replace", "patches": [99, 111, 123], "by": "black"}
    changes = [{"kind": "remove", "patches": many}, black]
    page.wait_for_function(SHARE, arg=expected(photos, changes)[1])
    # Undo takes back the last stroke, and the keys are those of the experiment in its panel.
    page.get_by_role("button", name="Undo", exact=False).last.focus()
    for _ in range(3):
        page.keyboard.press("Control+z")
    assert done.count() == 1
    assert answers(page) == wanted
    page.keyboard.press("Control+Shift+Z")
    assert done.count() == 2
    page.keyboard.press("Control+z")
    page.wait_for_function("() => location.search.includes('experiment=remove_0-2.51-56.63-68')")
    for section in page.locator(".vv-experiment details").all():
        section.locator("summary").click()
    page.wait_for_function("() => !document.querySelector('.vv-coming')")  # which is pale
    assert faults(page) == []
    seen.open_panel("Predictions")
    assert page.locator(".vv-side-name").all_inner_texts()[:2] == ["intact", "changed"]
    page.wait_for_function("() => location.search.includes('panel=predictions')")
    again = visit(re.sub(r"panel=\w+", "panel=experiment", address(page)).split("/")[-1]).page
    assert answers(again) == wanted
    again.get_by_role("button", name="Take back").click()
    again.locator(f'{PLACE}[data-beside=""]').wait_for()
    assert again.locator(".vv-done li").count() == 0


def test_by_touch_and_by_keys_in_korean_and_what_cannot_be_done_is_a_sentence(
    visit, photos, pictures, ours
) -> None:
    seen = visit("?model=photos&panel=experiment", locale="ko-KR", **PHONE)
    page = seen.page
    seen.is_(panel="experiment")
    # One finger paints and does not scroll; two fingers zoom.
    layer = page.locator(".vv-stage .vv-brush")
    assert layer.evaluate("node => getComputedStyle(node).touchAction") == "pinch-zoom"
    ((x, y),) = places(page, (3, 4))
    page.touchscreen.tap(x, y)
    done = page.locator(".vv-done li")
    done.first.wait_for()
    assert "3행 4열" in done.first.inner_text()
    assert answers(page) == expected(photos, [{"kind": "remove", "patches": [40]}])
    # By keys: the patch that the page opens with, row 5 and column 5, and the second below it.
    page.locator(".vv-frame").focus()
    page.keyboard.press("Enter")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    done.filter(has_text="7행 5열").wait_for()
    # Nothing would be left: a sentence in the visitor's language, and the entry can be taken back.
    link = f"?model=photos&panel=experiment&beside=experiment&experiment=remove_0-{SIDE * SIDE - 1}"
    seen.go(link, "red-panda.jpg")
    refused = page
    refused.locator(f'{PLACE}[data-beside="error"]').wait_for()
    assert "하나는 남아야" in refused.locator(".vv-beside [role=status]").inner_text()
    refused.locator(".vv-done li button").click()
    refused.locator(f'{PLACE}[data-beside=""]').wait_for()
    # Another photo gives its tokens.
    seen.go("?model=tiny-cls&panel=experiment", "red-panda.jpg")
    section = page.locator(".vv-experiment details", has_text="다른 사진의 토큰 옮겨 넣기")
    section.locator("summary").tap()
    button = section.get_by_role("button", name="내 사진")
    assert button.bounding_box()["height"] >= 44
    with page.expect_file_chooser() as chooser:
        button.tap()
    chooser.value.set_files(pictures["second"])
    donor = section.get_by_role("combobox", name="가져올 사진")
    donor.locator("option:checked").get_by_text("second photo.png").wait_for(state="attached")
    section.get_by_role("button", name="CLS만").tap()
    page.locator(f'{PLACE}[data-beside="experiment"]').wait_for()
    change = {"kind": "transplant", "patches": "cls", "layer": 1, "from": ours(pictures["second"])}
    after = ours(PANDA, interventions=[change]).predictions(1)[0]
    page.locator(".vv-badges canvas.vv-donor").wait_for()
    said = page.locator(".vv-experiment .vv-both-answers b").all_inner_texts()
    assert f"{100 * after.probability:.1f}%" in said


def test_an_experiment_and_explanations_are_those_of_python_to_five_digits(visit, ours) -> None:
    """The tables that are saved hold what is on the screen, with all of its digits."""
    changes = [
        {"kind": "remove", "patches": [3, 9]},
        {"kind": "head", "layer": 1, "head": 0, "by": "zero"},
        {"kind": "swap", "patches": [0, 6]},
    ]
    intact, changed = (ours(PANDA, interventions=one) for one in ([], changes))
    link = "?model=tiny-cls&example=red-panda&panel=experiment&beside=experiment"
    seen = visit(f"{link}&experiment=remove_3.9*head_1_0_zero*swap_0.6")
    page = seen.page
    page.locator(f'{PLACE}[data-beside="experiment"]').wait_for()
    answers_are(page, intact, changed)
    # A figure for print is of the pass that was changed, and says what was done.
    page.get_by_role("button", name="Save what you see").click()
    figures = page.locator(SAVES).first.get_by_role("button", name=re.compile("SVG · changed"))
    name, data = saved(page, figures)
    assert "-beside-" in name
    assert "changed:" in data.decode()
    page.keyboard.press("Escape")
    seen.open_panel("Explanations")
    unfold(page)
    for name in ("Grad-CAM", "generic relevance (Chefer)"):  # the last is on the picture
        page.get_by_role("checkbox", name=name).first.check()
    page.wait_for_function(DRAWN, arg=8)  # four of each side
    rows = table(page, "explanations")
    for key in ("attention", "attention_gradient", "generic", "grad_cam"):
        shown = [float(row[key]) for row in rows if row["kind"] == "patch"]
        exact = intact.grid.patches(intact.explain(key))
        assert shown == pytest.approx(exact.tolist(), abs=1e-5)
    # Beside it the same explainer of the changed pass; each for the class that it answers.
    page.locator(f'{PLACE}[data-overlay="explain"]').wait_for()
    grid, sides = intact.grid, [one.explain("generic") for one in (intact, changed)]
    assert not sides[0].allclose(sides[1], rtol=1e-2)
    for row, col in ((0, 1), (2, 2), (3, 0)):
        point(page, HERE, row, col, grid.rows, grid.cols)
        for side, exact in zip((HERE, THERE), sides, strict=True):
            line = page.locator(f"{side} > .vv-under", has_text=f"row {row}, col {col}")
            expected_there = float(exact[grid.token(row, col)])
            assert number(line.inner_text()) == pytest.approx(expected_there, rel=6e-3, abs=1e-6)
    # Where all layers are shown, those of the changed pass come, too.
    seen.open_panel("Attention")
    page.get_by_role("radio", name="all layers and heads").first.check()
    everything = page.locator(".vv-everything:visible")
    expect(everything).to_have_count(2)
    expect(everything.filter(has_text="not yet fetched")).to_have_count(0)


def test_a_step_is_undone_but_where_one_writes_and_tokens_come_from_any_photo_of_the_visitor(
    visit, pictures, ours
) -> None:
    seen = visit("?model=tiny-cls&panel=experiment")
    page = seen.page
    page.locator(".vv-picture").click(position={"x": 5, "y": 5})
    seen.is_(beside="experiment")
    page.locator("#vv-model input").focus()
    page.keyboard.press("Control+z")
    page.locator("#vv-upload").focus()
    seen.is_(beside="experiment")
    page.keyboard.press("Control+z")
    seen.is_(beside="")
    page.keyboard.press("Control+Shift+z")
    seen.is_(beside="experiment")
    page.keyboard.press("Control+z")
    seen.is_(beside="")
    # Chosen by keys or dropped, a second photo gives tokens and stands beside, to five digits.
    seen.bring(pictures["first"])
    first, second = ours(pictures["first"]), ours(pictures["second"])
    section = page.locator(".vv-experiment details", has_text="Put in tokens of another photo")
    section.locator("summary").click()
    with page.expect_file_chooser() as chooser:
        section.get_by_role("button", name="Your photo").press("Enter")
    chooser.value.set_files(pictures["second"])
    donor = section.get_by_role("combobox", name="From")
    chosen = donor.locator("option:checked")
    chosen.get_by_text("second photo.png").wait_for(state="attached")
    seen.is_(beside="")  # the picture stays, and nothing is done yet
    layer = first.trace.depth // 2
    for button, tokens in (("CLS alone", "cls"), ("all tokens", "all")):
        section.get_by_role("button", name=button).press("Enter")
        change = {"kind": "transplant", "patches": tokens, "layer": layer, "from": second}
        entry = page.locator(".vv-done li")
        entry.get_by_text("second photo.png").wait_for()
        page.locator(f'{PLACE}[data-beside="experiment"]').wait_for()
        answers_are(page, first, ours(pictures["first"], interventions=[change]))
        seen_there = page.locator(".vv-badges canvas.vv-donor").evaluate(DONOR)
        assert seen_there == second.picture.flatten().tolist()
        assert "photo-" not in address(page)  # nobody else could open it
        entry.get_by_role("button").click()
        page.locator(f'{PLACE}[data-beside=""]').wait_for()
    # The same photo can be compared with; and the one that was shown before, after another upload.
    page.get_by_role("combobox", name="Beside").select_option(label="second photo.png")
    page.locator(f'{PLACE}[data-beside^="photo-"]').wait_for()
    seen.bring(pictures["second"])
    labels = section.locator("option").all_text_contents()
    assert "first.png" in labels
    assert "second photo.png" not in labels
    # A dropped photo is one of them too; the page does not show it in place of the other.
    place = section.locator(".vv-takes-photos")
    carried = page.evaluate_handle(
        """() => {
            const data = new DataTransfer();
            data.items.add(new File(["no picture"], "dropped.png", { type: "image/png" }));
            return data;
        }"""
    )
    section.locator("summary").click()
    place.dispatch_event("dragover", {"dataTransfer": carried})
    place.dispatch_event("drop", {"dataTransfer": carried})
    chosen.get_by_text("dropped.png").wait_for(state="attached")
    # What is no picture gives no tokens, and a sentence.
    section.get_by_role("button", name="CLS alone").click()
    page.locator(f'{PLACE}[data-beside="error"]').wait_for()
    assert "dropped.png" in page.locator(".vv-beside [role=status]").inner_text()
    seen.ready("second photo.png")


# The weights have come, and the answer that is shown was computed in the page.
IN_PAGE = """() => document.querySelector('.vv-place').dataset.beside === 'experiment'
    && document.querySelector('.vv-computed').textContent.startsWith('Computed in this page')"""


# It stands there where the last answer came from, and no weights are on the way.
SAID_WHERE = """() => {
    const said = document.querySelector('.vv-computed').textContent;
    return said && !said.includes('%');
}"""


def test_a_stroke_is_computed_in_the_page_and_asks_nobody(visit, photos) -> None:
    seen = visit("?model=photos&panel=experiment&token=140")  # a patch that stays
    page = seen.page
    brush(page, (0, 0), (0, 2))  # the weights come with the first one
    page.wait_for_function(SAID_WHERE)
    brush(page, (1, 0))
    page.wait_for_function(IN_PAGE)
    asked: list[str] = []  # about the changed model; of the intact one the server has files
    page.on("request", lambda request: asked.append(request.post_data or ""))
    many = [0, 1, 2, 12]
    wanted = [{"kind": "remove", "patches": many}]
    for row in (4, 5, 6):
        brush(page, (row, 3), (row, 8))
        many += [row * SIDE + col for col in range(3, 9)]
        page.wait_for_function(SHARE, arg=expected(photos, wanted)[1])
    assert answers(page) == expected(photos, wanted)
    answers_are(page, analyze(photos, PANDA), analyze(photos, PANDA, interventions=wanted))
    # Pixels change in the page, too.
    page.get_by_role("radio", name="blur").check()
    brush(page, (8, 3), (9, 3))
    wanted.append({"kind": "replace", "patches": [99, 111], "by": "blur"})
    page.wait_for_function(SHARE, arg=expected(photos, wanted)[1])
    # Every panel shows both, from the same pass.
    for panel in ("Attention", "Query · key", "Features", "Predictions"):
        seen.open_panel(panel)
        page.locator(".vv-difference canvas").first.wait_for()
    assert page.locator(".vv-side-name").all_inner_texts()[:2] == ["intact", "changed"]
    # The changed analysis is saved as Python reads it.
    seen.open_panel("Experiment")
    page.get_by_role("button", name="Save what you see").click()
    name, data = saved(page, page.get_by_role("button", name="The changed analysis, for Python"))
    assert name.endswith(".safetensors")
    read, ours = Analysis.from_bytes(data), analyze(photos, PANDA, interventions=wanted)
    assert read.interventions == ours.interventions
    assert (read.picture == ours.picture).all()
    assert (read.trace.q - ours.trace.q).abs().max() < 1e-4 * ours.trace.q.abs().max()
    page.keyboard.press("Escape")
    assert not [body for body in asked if "interventions" in body]
    # What the page does not make of a pass, the server still makes of the same one.
    page.get_by_role("button", name="Save what you see").click()
    with page.expect_request(lambda request: '"blur"' in (request.post_data or "")):
        page.locator(".vv-save-items button", has_text="SVG").last.click()


def test_where_a_browser_runs_no_webassembly_the_server_computes(visit, photos) -> None:
    none = """delete window.WebAssembly;
        window.Worker = class { constructor() { throw new Error('no'); } };"""
    link = "?model=photos&panel=experiment"
    seen = visit(link, before=lambda page: page.add_init_script(none))
    page = seen.page
    brush(page, (0, 0), (0, 2))
    page.get_by_text("this browser runs no WebAssembly here").wait_for()
    brush(page, (1, 0))
    wanted = [{"kind": "remove", "patches": [0, 1, 2, 12]}]
    page.wait_for_function(SHARE, arg=expected(photos, wanted)[1])
    assert "this browser runs no WebAssembly" in page.locator(".vv-computed").inner_text()


def test_the_head_of_a_cut_is_chosen_and_a_changed_headline_stands_whole(visit) -> None:
    seen = visit("?model=photos&panel=experiment&overlay=features&head=2&layer=3")
    page = seen.page
    page.locator(".vv-experiment summary", has_text="Cut edges").click()
    seen.choose("1")
    # The place is said with the choice, and not when something else is drawn.
    said = page.get_by_role("radio", name="this head", exact=True).evaluate("""radio => {
        radio.click();
        const notes = document.querySelectorAll(".vv-experiment .vv-note");
        return [...notes].map((note) => note.textContent);
    }""")
    assert any(note.startswith("Layer 3, head 1: the line above") for note in said)
    place = page.locator(".vv-experiment .vv-note", has_text=re.compile("^Layer 3,"))
    expect(place).to_contain_text("Layer 3, head 1: the line above")
    seen.choose("mean")
    expect(place).to_contain_text("all heads, because no single one is chosen")
    # The answer before an experiment stands whole beside the answer after it.
    page.set_viewport_size(LAPTOP["viewport"])
    link = "?model=photos&example=bison&panel=experiment&experiment=remove_40.53.66.79.100"
    seen.go(link + "&beside=experiment", "bison.jpg")
    expect(page.locator(".vv-rivals b").first).to_contain_text("→")
    cut = """all => all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
        .map(({ outerHTML }) => outerHTML)"""
    assert page.locator(".vv-title-line :is(.vv-was, .vv-was *, h2)").evaluate_all(cut) == []
    # Long names cut off no number of it.
    page.set_viewport_size({"width": 1280, "height": 800})
    link = "?model=photos&example=goldfish&panel=experiment&experiment=shuffle_1_3"
    seen.go(link + "&beside=experiment", "goldfish.jpg")
    rivals = seen.page.locator(".vv-rivals")
    expect(rivals.locator("b").nth(1)).to_contain_text("→")
    ends = rivals.evaluate(
        """node => {
            for (const { firstChild: name } of node.children) name.textContent = "many ".repeat(6);
            const right = (one) => one.getBoundingClientRect().right;
            return [...node.querySelectorAll("b"), node].map(right);
        }"""
    )
    assert ends == sorted(ends)
