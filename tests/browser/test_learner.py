"""The learner in a browser: a page of a file, a worker, and the digits that come with vitviz."""

import json

from tests.learner_fixture import shipped
from vitviz.payload.bundle import VIEWER, join

PAGE = """<!doctype html><meta charset=utf-8>{policy}<script>
const client = {client};
const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
const part = ({{ pixels, labels }}) =>
  ({{ pixels: bytes(pixels), labels: Uint8Array.from(labels) }});
const told = {digits};
const digits = {{ train: part(told.train), test: part(told.test), classes: [..."0123456789"] }};
</script>"""
# Plays until so many steps are done, pauses, and asks twice how far it is.
RUN = """async (least) => {
  const states = [];
  let enough;
  const over = new Promise((resolve) => { enough = resolve; });
  const learner = client.createLearner({ told: (told) => {
    states.push(told.state);
    if (told.step >= least) enough();
  } });
  const { parameters, steps, simd } = await learner.begin({ seed: 1, epochs: 100 }, digits);
  const { right: before } = await learner.measure();
  await learner.play();
  await over;
  const paused = await learner.pause();
  const { right, probabilities } = await learner.measure();
  const again = await learner.pause();
  const { weight } = await learner.apart(5);
  const file = await learner.weights();
  const where = learner.where();
  learner.stop();
  const [count, bytes] = [probabilities.length, file.byteLength];
  const facts = { parameters, steps, simd, where, states, count, bytes };
  return { ...facts, before, paused, again, right, weight };
}"""
NO_WORKERS = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'unsafe-inline'; script-src 'unsafe-inline' 'wasm-unsafe-eval'\">"
)


def page(policy: str = "") -> str:
    client = join(VIEWER / "learn" / "client.js", "client.js", ())
    return PAGE.format(client=client, digits=json.dumps(shipped()), policy=policy)


def test_a_worker_learns_digits_and_pauses_when_it_is_told(open_page) -> None:
    found = open_page(page()).evaluate(RUN, 150)
    assert found["where"] == "worker"
    assert (found["parameters"], found["steps"], found["simd"]) == (60394, 12500, True)
    assert found["paused"]["state"] == "paused"
    assert found["paused"]["step"] == found["again"]["step"] >= 150
    assert found["before"] == 0.1  # all classes are alike, and the first of them is the answer
    assert found["right"] > 0.6
    assert found["count"] == 10 * 1000
    assert abs(found["weight"]["finite"] - found["weight"]["gradient"]) < 1e-2
    assert found["bytes"] > 4 * 60394
    assert set(found["states"]) == {"playing", "paused", "stopped"}


def test_where_a_policy_forbids_workers_the_page_learns(open_page) -> None:
    found = open_page(page(NO_WORKERS)).evaluate(RUN, 5)
    assert (found["where"], found["simd"]) == ("page", True)
    assert found["paused"]["step"] == found["again"]["step"] >= 5
