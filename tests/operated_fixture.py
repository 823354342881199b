"""Operated analyses for the JavaScript tests: interventions in, rows out. See `viewer_fixture`."""

import base64
from typing import Any

from tests.models import as_sent, photo, tiny
from vitviz import analyze
from vitviz.languages import languages, say
from vitviz.payload import pack
from vitviz.probe.measure.pairs import pair

# By model; together all kinds but a transplant, which no list in a link can hold.
CASES: dict[str, list[dict[str, Any]]] = {
    "cls": [
        {"kind": "remove", "patches": [0, 5]},
        {"kind": "cut", "edges": "patches to prefix", "layers": [1], "heads": "all"},
        {"kind": "scramble", "rows": "patches", "layers": [2], "seed": 4},
        {"kind": "add", "patches": "cls", "layer": 1, "toward": 3, "factor": 1.5},
        {"kind": "replace", "patches": [7, 8, 9, 12], "by": "black", "seed": 0},
        {"kind": "replace", "patches": [6], "by": "noise", "seed": 5},
    ],
    "no_cls": [
        {"kind": "keep", "patches": [0, 1, 2, 4, 5, 6, 7, 9, 10, 14]},
        {"kind": "cut", "edges": [[1, 2], [2, 1], [4, 4]], "layers": "all", "heads": [0, 2]},
        {"kind": "head", "layer": 1, "head": 1, "by": "zero"},
        {"kind": "even", "rows": "patches", "layers": [0]},
        {"kind": "positions", "by": "shuffled", "seed": 2},
    ],
    "distilled": [
        {"kind": "cut", "edges": "prefix to patches", "layers": [1, 2], "heads": [0, 3]},
        {"kind": "even", "rows": "cls", "layers": [2]},
        {"kind": "shuffle", "cells": 2, "seed": 3},
        {"kind": "swap", "patches": [3, 13]},
        {"kind": "branch", "layer": 1, "branch": "mlp"},
        {"kind": "add", "patches": "all", "layer": 2, "toward": 2, "factor": -0.75},
    ],
    "registers": [
        {"kind": "remove", "patches": [2, 3, 4, 5, 6, 11, 12, 23]},
        {"kind": "cut", "edges": "patches to others", "layers": [0, 4], "heads": "all"},
        {"kind": "cut", "edges": [[0, 9]], "layers": "all", "heads": "all"},
        {"kind": "head", "layer": 3, "head": 1, "by": "mean"},
    ],
    "rotary": [
        {"kind": "perturb", "target": "random", "epsilon": 5, "steps": 1, "seed": 3},
        {"kind": "positions", "by": "rotary off", "seed": 0},
        {"kind": "remove", "patches": [1, 2]},
    ],
    # Layer 0 with its own rows, layer 1 with rows made even, layer 2 with rows of other patches.
    "relative": [
        {"kind": "positions", "by": "shuffled", "seed": 1},
        {"kind": "even", "rows": "cls", "layers": [1]},
        {"kind": "scramble", "rows": "patches", "layers": [2], "seed": 0},
        {"kind": "remove", "patches": [3]},
        {"kind": "add", "patches": [0, 8], "layer": 2, "toward": 0, "factor": 2},
    ],
    "grey": [
        {"kind": "positions", "by": "off", "seed": 0},
        {"kind": "even", "rows": "all", "layers": [1]},
        {"kind": "branch", "layer": 0, "branch": "attention"},
        {"kind": "replace", "patches": [5, 6], "by": "mean", "seed": 0},
        {"kind": "replace", "patches": [1], "by": "blur", "seed": 0},
    ],
}


def operated(name: str) -> dict[str, Any]:
    """A payload of an operated pass; of every layer the whole map, of the numbers as sent."""
    analysis = analyze(tiny(name), photo(), interventions=CASES[name])
    payload = pack(analysis)
    analysis = as_sent(analysis)
    trace = analysis.trace
    layer, token = trace.depth - 1, trace.num_tokens - 2
    found = pair(trace, layer, 0, 0, token)
    return {
        "interventions": CASES[name],
        "sentences": {
            one: [say(change.sentence(), one) for change in analysis.interventions]
            for one in languages()
        },
        "manifest": payload.manifest | {"pass": payload.manifest["pass"] | {"id": "operated"}},
        "files": {path: base64.b64encode(data).decode() for path, data in payload.files.items()},
        "removed": analysis.removed,
        "maps": [trace.attention(layer).flatten().tolist() for layer in range(trace.depth)],
        "token": token,
        "rollout": analysis.rollout(token, layer).tolist(),
        "pair": {
            "share": found.share,
            "bias": found.bias,
            "score": found.score,
            "attention": found.attention.tolist(),
        },
        "logits": trace.logits.tolist(),
    }
