"""An audit by axe-core: no panel has a fault, in light and in dark, in each language."""

from pathlib import Path

import pytest

from tests.browser.conftest import STANDS, comes_to
from tests.models import photo, tiny
from vitviz import analyze, load
from vitviz.viewer import page
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
SETTLED = """() => Promise.allSettled(document.getAnimations()
  .filter((one) => Number.isFinite(one.effect.getComputedTiming().endTime))
  .map((one) => one.finished)).then(() => null)"""


def faults(page, only: str | None = None, run: str = RUN) -> list[str]:
    """What axe finds; contrast is measured after transitions. Nothing where it is not installed."""
    if not AXE.is_file():
        return []
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text("utf-8") + "; 0")
    page.evaluate(SETTLED)
    return page.evaluate(run, only)


needs_axe = pytest.mark.skipif(
    not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in tests/js"
)


# In the dark only colours differ, and in another language only words.
@needs_axe
@pytest.mark.parametrize(
    ("locale", "scheme", "only"),
    [("en-US", "light", None), ("en-US", "dark", "colours"), ("ko-KR", "light", "words")],
)
def test_no_fault_in_any_panel(open_page, locale, scheme, only):
    tab = open_page(page(analyze(tiny("cls"), photo())), color_scheme=scheme, locale=locale)
    tab.wait_for_selector('#viewer[data-state="ready"]')
    tab.locator("summary").first.click()
    for panel in tab.get_by_role("tab").all():
        panel.click()
        assert faults(tab, only) == [], panel.inner_text()
    for opener in ("?", "Save" if locale == "en-US" else "저장"):
        tab.locator(".vv-tools").get_by_text(opener, exact=True).click()
        assert faults(tab, only) == [], opener
        tab.keyboard.press("Escape")


@needs_axe
@pytest.mark.parametrize(("scheme", "only"), [("light", None), ("dark", "colours")])
def test_no_fault_with_two_beside_each_other(open_page, scheme, only):
    two = [analyze(tiny("cls"), picture) for picture in (photo(), photo(90, 50))]
    tab = open_page(page(two[0], beside=two[1]), color_scheme=scheme)
    tab.wait_for_selector('#viewer[data-beside="other"]')
    for panel in tab.get_by_role("tab").all():
        panel.click()
        # Twice the same panel has its regions twice, each in a group with a name.
        found = [one for one in faults(tab, only) if not one.startswith("landmark-unique")]
        assert found == [], panel.inner_text()


@needs_axe
@pytest.mark.parametrize(
    ("locale", "scheme", "only"),
    [("en-US", "light", None), ("en-US", "dark", "colours"), ("ko-KR", "light", "words")],
)
def test_no_fault_in_the_playground(open_page, locale, scheme, only):
    html = page(analyze(load("mnist"), FOLDER / "digit.png"), engine=True)
    tab = open_page(html, locale=locale, color_scheme=scheme)
    name = "Playground" if locale == "en-US" else "놀이터"
    tab.get_by_role("button", name=name, exact=True).click()
    tab.wait_for_selector(".vv-play-page[data-state=ready]")
    tab.locator(".vv-play-player").click()
    tab.wait_for_selector(".vv-play-guess[data-state=right]")
    tab.locator(".vv-play-player").click()
    tab.locator(".vv-play-away").click()
    tab.locator(".vv-play-apart .vv-button").click()
    tab.wait_for_selector(".vv-play-steps li")
    assert faults(tab, only, RUN.replace(".vitviz", ".vv-play")) == []


# Every rule that axe has, also those that it leaves off and advice, of the whole page. Contrast of
# AAA (7 : 1) is more than this page promises.
ALL = """async () => {
  const rules = Object.fromEntries(axe.getRules()
    .map(({ ruleId }) => [ruleId, { enabled: ruleId !== "color-contrast-enhanced" }]));
  const { violations } = await axe.run(document, { resultTypes: ["violations"], rules });
  return violations.map(({ id, nodes }) => id + ": " + nodes.slice(0, 3)
    .map(({ html }) => html.slice(0, 160)).join(" | "));
}"""


@needs_axe
@pytest.mark.parametrize("locale", ["en-US", "ko-KR"])
def test_no_fault_in_any_panel_of_the_app_with_all_unfolded(visit, locale):
    """Gradio's style lies under that of the viewer here."""
    page = visit("?model=photos", "red-panda.jpg", locale=locale).page
    page.evaluate(AXE.read_text("utf-8") + "; 0")
    for panel in page.get_by_role("tab").all():
        panel.click()
        page.evaluate(
            "document.querySelectorAll('.vv-board details').forEach((one) => { one.open = true; })"
        )
        # What is computed late has no text at first, and is pale: each audit takes a second.
        page.wait_for_function(STANDS)
        page.evaluate(SETTLED)
        comes_to(page, f"({ALL})()", [])


def test_the_buttons_of_the_strip_are_seen_in_forced_colours(visit):
    page = visit(forced_colors="active").page
    for name in ("camera", "paste", "draw", "upload"):
        icon, ground = page.evaluate(
            """(id) => { const node = document.getElementById(id);
                return [getComputedStyle(node, "::before"), getComputedStyle(node)]
                    .map(({ backgroundColor }) => backgroundColor); }""",
            f"vv-{name}",
        )
        assert icon != ground, name


def test_what_is_chosen_is_seen_in_forced_colours(open_page):
    tab = open_page(page(analyze(tiny("cls"), photo())), forced_colors="active")
    tab.wait_for_selector('#viewer[data-state="ready"]')
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
