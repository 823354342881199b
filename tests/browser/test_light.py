"""A page that computes itself stays light on a slow machine: what it does is counted, not timed."""

from tests.browser.test_erase import ERASE, PLACE, places, said, settled
from tests.browser.test_experiment import PANDA
from vitviz import analyze, load

ROW = [(6, col) for col in range(2, 10)]
COUNT = """() => {
  window.counts = { answers: 0, passes: 0, elements: 0, others: 0 };
  window.made = [];
  const count = (prototype, name, what) => {
    const plain = prototype[name];
    prototype[name] = function (...given) {
      counts[what(...given)] += 1;
      const result = plain.apply(this, given);
      if (result instanceof Node) made.push(result);
      return result;
    };
  };
  count(Worker.prototype, "postMessage",
    ({ wish }) => (wish ? (wish.answer ? "answers" : "passes") : "others"));
  count(Document.prototype, "createElement", () => "elements");
}"""

# Until nothing is made any more.
RESTS = """async () => {
  for (let last = -1; last !== counts.elements; ) {
    last = counts.elements;
    await new Promise((goOn) => setTimeout(goOn, 1000));
  }
}"""


def test_a_slow_machine_erases_and_hovers(visit) -> None:
    """With a quarter of the processor: right numbers, a pass for each square, little made anew."""
    page = visit("?model=photos").page
    page.context.spent = True
    page.evaluate(COUNT)
    page.locator(ERASE).click()
    way = places(page, *ROW)
    page.mouse.move(*way[0])
    page.mouse.down()
    page.mouse.move(*way[1])
    page.locator(f'{PLACE}[data-beside="experiment"]').wait_for()
    page.wait_for_function("counts.others > 0")  # the weights have come, and the engine gets them
    page.evaluate(RESTS)  # what the first square asked for is drawn, and not counted
    page.evaluate("Object.assign(counts, { answers: 0, passes: 0, elements: 0 })")
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
    for place in way[2:]:
        page.mouse.move(*place, steps=5)
    page.mouse.up()
    changes = [{"kind": "remove", "patches": [row * 12 + col for row, col in ROW]}]
    settled(page, said(analyze(load("photos"), PANDA, interventions=changes)))
    page.locator(f'{PLACE}[data-beside="experiment"]').wait_for()
    counts = page.evaluate("counts")
    # While the hand moves only the answer is asked for; all else of a pass when it rests.
    assert 1 <= counts["answers"] <= len(ROW)
    assert 1 <= counts["passes"] < len(ROW)
    # The panel of the changed model is made anew; what stands beside is drawn again.
    assert counts["elements"] < 180 * counts["passes"]
    page.locator(".vv-modes .vv-option").first.click()  # one looks again
    page.locator(".vv-stage .vv-under", has_text="patch").wait_for()
    # A throttled page draws what it learned of the last pass some frames later.
    page.evaluate(RESTS)
    page.evaluate("Object.assign(counts, { answers: 0, passes: 0 }); made.length = 0;")
    for place in way:
        page.mouse.move(*place)
    page.locator(".vv-stage .vv-under", has_text="row 6, col 9").wait_for()
    assert page.evaluate("[counts.answers, counts.passes]") == [0, 0]
    # Terms are underlined once the pointer rests, which on a slow machine is between two moves.
    assert page.evaluate("made.filter((node) => !node.matches?.('.vv-term')).length") == 0
