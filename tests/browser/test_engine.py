"""The engine of the page in a browser: a page of a file, a worker, and the shipped models."""

import base64

import pytest
import torch
from torch.testing import assert_close

import vitviz
from tests.running import ROOT
from vitviz import analyze
from vitviz.payload.bundle import VIEWER, join

EXAMPLES = sorted((ROOT / "vitviz/web/examples").glob("*.*g"))
CHANGE = {"kind": "remove", "patches": [3, 4, 5, 20]}
RUN = """async ([weights, pictures, change]) => {
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const said = [];
  const engine = client.createEngine({ told: (state) => said.push(state) });
  const facts = await engine.load(bytes(weights).buffer);
  const answers = [];
  for (const picture of pictures.map(bytes)) {
    const intact = await engine.run({ picture });
    const changed = await engine.run({ picture, interventions: [change], answer: true });
    const tokens = intact.tokens[facts.config.depth].slice(-facts.config.embed_dim);
    answers.push([intact.logits, changed.logits, tokens].map((one) => [...one]));
  }
  const state = engine.state();
  engine.stop();
  return { answers, state, said, unknown: facts.unknown };
}"""


def client(policy: str = "", before: str = "") -> str:
    """A page with the client of the engine alone."""
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
    script = f"{before}\nconst client = {join(VIEWER / 'engine' / 'client.js', 'client.js')}"
    return f"<!doctype html><meta charset=utf-8>{meta}<script>{script}</script>"


def bytes_of(name: str) -> str:
    return base64.b64encode((ROOT / f"weights/{name}.safetensors").read_bytes()).decode()


@pytest.mark.parametrize("name", ["photos", "mnist"])
def test_the_shipped_models_answer_in_a_worker_as_in_python(open_page, name: str) -> None:
    loaded = vitviz.load(name)
    tab = open_page(client())
    assert tab.url.startswith("file:")
    ours = [analyze(loaded, path) for path in EXAMPLES]
    pictures = [base64.b64encode(one.picture.numpy().tobytes()).decode() for one in ours]
    found = tab.evaluate(RUN, [bytes_of(name), pictures, CHANGE])
    assert found["unknown"] == []
    assert found["state"] == {"where": "worker", "restarts": 0, "simd": True}
    for analysis, path, answers in zip(ours, EXAMPLES, found["answers"], strict=True):
        changed = analyze(loaded, path, interventions=[CHANGE]).trace.logits
        wanted = [analysis.trace.logits, changed, analysis.trace.tokens[-1, -1]]
        for theirs, one in zip(wanted, answers, strict=True):
            close = 1e-4 * float(theirs.abs().max())
            assert_close(torch.tensor(one), theirs, rtol=0, atol=close, msg=path.name)


def test_where_a_policy_forbids_both_the_page_computes_in_plain_javascript(open_page) -> None:
    analysis = analyze(vitviz.load("mnist"), EXAMPLES[0])
    picture = base64.b64encode(analysis.picture.numpy().tobytes()).decode()
    tab = open_page(client("script-src 'unsafe-inline'; worker-src 'none'"))
    found = tab.evaluate(RUN, [bytes_of("mnist"), [picture], CHANGE])
    assert found["state"] == {"where": "page", "restarts": 0, "simd": False}
    assert found["said"][0]["where"] == "page"
    assert_close(torch.tensor(found["answers"][0][0]), analysis.trace.logits, rtol=1e-4, atol=1e-3)


def test_a_worker_that_dies_is_made_anew_and_has_its_model(open_page) -> None:
    analysis = analyze(vitviz.load("mnist"), EXAMPLES[0])
    picture = base64.b64encode(analysis.picture.numpy().tobytes()).decode()
    keeps = """window.made = [];
    const Plain = Worker;
    Worker = class extends Plain { constructor(address) { super(address); made.push(this); } };"""
    tab = open_page(client(before=keeps))
    found = tab.evaluate(
        """async ([weights, picture]) => {
          const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
          const said = [];
          const engine = client.createEngine({ told: (state) => said.push(state) });
          await engine.load(bytes(weights).buffer);
          const asked = engine.run({ picture: bytes(picture) });
          made[0].dispatchEvent(new ErrorEvent("error", { cancelable: true }));
          const { logits } = await asked;
          const lost = engine.run({ picture: bytes(picture) }).catch((error) => error.message);
          made[1].dispatchEvent(new ErrorEvent("error", { cancelable: true }));
          return { logits: [...logits], said, lost: await lost, count: made.length };
        }""",
        [bytes_of("mnist"), picture],
    )
    assert_close(torch.tensor(found["logits"]), analysis.trace.logits, rtol=1e-4, atol=1e-3)
    assert [(one["where"], one["restarts"]) for one in found["said"]] == [
        ("worker", 0),
        ("worker", 1),
        ("stopped", 1),
    ]
    assert found["count"] == 2
    assert "stopped twice" in found["lost"]
