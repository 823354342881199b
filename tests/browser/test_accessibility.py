"""An audit by axe-core: no panel has a fault, in light and in dark, in each language."""

from pathlib import Path

import pytest

from tests.browser.conftest import CUT_LABELS, PHONE, STANDS, comes_to, follow, speak, tabs_of
from tests.models import photo, tiny
from vitviz import analyze, load
from vitviz.payload import page
from vitviz.web.store.examples import FOLDER

AXE = Path(__file__).parents[1] / "js" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async (only = null) => {
  const rules = { "label-content-name-mismatch": { enabled: true } };
  if (only === "words") rules["color-contrast"] = { enabled: false };
  const found = await axe.run(".vitviz", { resultTypes: ["violations"], rules,
    ...(only === "colours" ? { runOnly: ["color-contrast", "link-in-text-block"] } : {}) });
  return found.violations.map(({ id, nodes }) => id + ": " + nodes.slice(0, 3)
    .map(({ html, failureSummary }) => html.slice(0, 160) + " " + failureSummary).join(" | "));
}"""
# Every rule that axe has, also those that it leaves off and advice, of the whole page. Contrast of
# AAA (7 : 1) is more than this page promises. "panel": all of them in the panel and the stage, and
# of the rest of the page, which stays, what compares parts of it with each other; "words": what
# reads words, or how much room they take.
ALL = """async (how) => {
  const all = axe.getRules().map(({ ruleId }) => ruleId)
    .filter((one) => one !== "color-contrast-enhanced");
  const named = (words) => all.filter((one) => new RegExp(words).test(one));
  const compared = named("^(accesskeys|bypass|duplicate-id|frame-|heading-order|identical-links"
    + "|landmark-|page-has-heading-one|region)");
  const worded = named("name|label|lang|alt$|title|heading|landmark-unique|identical-links"
    + "|target-size");
  const audit = async (where, runOnly) =>
    (await axe.run(where, { resultTypes: ["violations"], runOnly })).violations;
  const found = how === "panel"
    ? [...await audit({ include: [[".vv-panel:not([hidden])"], [".vv-stage"]] }, all),
      ...await audit(document, compared)]
    : await audit(document, how === "words" ? worded : all);
  return found.map(({ id, nodes }) => id + ": " + nodes.slice(0, 3)
    .map(({ html }) => html.slice(0, 160)).join(" | "));
}"""
# Labels that reach out of their boxes, above or below.
OUTSIDE = """() => [...document.querySelectorAll(".vv-button, .vv-layer-number")]
  .filter((one) => one.checkVisibility() && one.textContent.trim())
  .filter((one) => {
    const words = document.createRange();
    words.selectNodeContents(one);
    const [text, box] = [words, one].map((each) => each.getBoundingClientRect());
    return text.top < box.top - 1 || text.bottom > box.bottom + 1;
  })
  .map(({ textContent }) => textContent)"""
# Ends what moves: waited for, an animation of a part that is not drawn would never end.
SETTLED = """() => {
  for (const one of document.getAnimations()) {
    if (Number.isFinite(one.effect.getComputedTiming().endTime)) one.finish();
  }
}"""


def faults(page, only: str | None = None, run: str = RUN) -> list[str]:
    """The faults that axe finds after all animations; none where axe is not installed."""
    if not AXE.is_file():
        return []
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text("utf-8") + "; 0")
    page.evaluate(SETTLED)
    return page.evaluate(run, only)


needs_axe = pytest.mark.skipif(
    not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in tests/js"
)


def test_no_fault_in_any_panel_in_the_dark_and_what_is_chosen_is_seen_in_forced_colours(open_page):
    """In the dark only colours differ; all else of every panel is audited in the app, below."""
    tab = open_page(page(analyze(tiny("cls"), photo())))
    tab.wait_for_selector('#viewer[data-state="ready"]')
    assert faults(tab) == [], "in the light, without Gradio's style"
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_selector('.vitviz[data-theme="dark"]')
    tab.locator("summary").first.click()
    for panel in tabs_of(tab):
        panel.click()
        assert faults(tab, "colours") == [], panel.inner_text()
    for opener in ("?", "Save"):
        tab.locator(".vv-tools").get_by_text(opener, exact=True).click()
        assert faults(tab, "colours") == [], opener
        tab.keyboard.press("Escape")
    tab.emulate_media(color_scheme="light", forced_colors="active")
    tab.get_by_role("tab", name="Attention", exact=True).click()
    tab.locator(".vv-frame").focus()
    tab.keyboard.press("ArrowRight")
    look = """([one, other, name]) => [one, other].map(
        (selector) => getComputedStyle(document.querySelector(selector))[name])"""
    for one, other, style in (
        (".vv-option :checked + span", ".vv-option :not(:checked) + span", "backgroundColor"),
        (".vv-tabs [aria-selected=true]", ".vv-tabs [aria-selected=false]", "borderBottomColor"),
        (".vv-head.vv-chosen", ".vv-head:not(.vv-chosen)", "outlineStyle"),
        (".vv-selected.vv-box", ".vv-columns", "boxShadow"),  # on the picture
        (".vv-swatch", ".vv-columns", "backgroundColor"),
    ):
        chosen, rest = tab.evaluate(look, [one, other, style])
        assert chosen != rest, one


def test_labels_stay_inside_their_boxes_in_letters_twice_as_large_on_a_phone(open_page):
    analysis = analyze(load("photos"), FOLDER / "cat.jpg")
    tab = open_page(page(analysis), **PHONE)
    for place in ("panel=attention", "lesson=ask&step=1"):
        follow(tab, f"{tab.url.partition('#')[0]}#{place}")
        tab.add_style_tag(content=".vitviz { --vv-size: 30px !important }")
        tab.evaluate(
            """() => {
                const one = document.querySelector(".vv-button");
                one.textContent = "Back to the picture of the lesson";  // it wraps
            }"""
        )
        assert tab.evaluate(OUTSIDE) == [], place


@needs_axe
def test_no_fault_with_two_beside_each_other(open_page):
    two = [analyze(tiny("cls"), picture) for picture in (photo(), photo(90, 50))]
    tab = open_page(page(two[0], beside=two[1]))
    tab.wait_for_selector('#viewer[data-beside="other"]')
    for panel in tabs_of(tab):
        panel.click()
        # Twice the same panel has its regions twice, each in a group with a name.
        found = [one for one in faults(tab, "words") if not one.startswith("landmark-unique")]
        assert found == [], panel.inner_text()
    # Colours are those of one alone, but for what both share and for the bars of both answers.
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        tab.wait_for_selector(f'.vitviz[data-theme="{scheme}"]')
        for panel in ("Attention", "Predictions"):
            tab.get_by_role("tab", name=panel, exact=True).click()
            assert faults(tab, "colours") == [], (scheme, panel)


@needs_axe
def test_no_fault_in_the_playground(open_page):
    html = page(analyze(load("mnist"), FOLDER / "digit.png"), engine=True)
    run = RUN.replace(".vitviz", ".vv-play")
    for locale, scheme, name in (
        ("en-US", "dark", "Playground"),
        ("ko-KR", "light", "직접 학습시키기"),
    ):
        tab = open_page(html, locale=locale, color_scheme=scheme)
        tab.get_by_role("button", name=name, exact=True).click()
        tab.wait_for_selector(".vv-play-page[data-state=ready]")
        tab.locator(".vv-play-player").click()
        tab.wait_for_selector(".vv-play-guess[data-state=right]")
        tab.locator(".vv-play-player").click()
        tab.locator(".vv-play-away").click()
        tab.locator(".vv-play-apart .vv-button").click()
        tab.wait_for_selector(".vv-play-steps li")
        assert faults(tab, None, run) == [], (locale, scheme)


@needs_axe
def test_no_fault_in_any_panel_of_the_app_with_all_unfolded(visit):
    """Gradio's style lies under that of the viewer here; in another language only words differ."""
    page = visit("?model=photos").page
    page.evaluate(AXE.read_text("utf-8") + "; 0")
    for language, first, later, save in (
        ("en", "all", "panel", "Save"),
        ("ko", "words", "words", "저장"),
    ):
        speak(page, language)
        for at, panel in enumerate(tabs_of(page)):
            panel.click()
            page.evaluate(
                "for (const one of document.querySelectorAll('.vv-board details')) one.open = true"
            )
            # What is computed late has no text at first, and is pale: each audit takes a second.
            page.wait_for_function(STANDS)
            page.evaluate(SETTLED)
            assert page.evaluate(CUT_LABELS) == [], panel.inner_text()
            comes_to(page, f"({ALL})({(later if at else first)!r})", [])
        for opener in ("?", save):
            page.locator(".vv-tools").get_by_text(opener, exact=True).click()
            page.locator("dialog[open]").wait_for()
            assert faults(page, "words" if language == "ko" else None) == [], opener
            page.keyboard.press("Escape")
