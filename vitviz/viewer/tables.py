"""Writes `engine/tables.js`: what Python and the page's engine must agree on, as tables of Python.

python -m vitviz.viewer.tables      after a change in one of them
"""

import json
from dataclasses import MISSING, Field, asdict, fields
from pathlib import Path
from textwrap import indent
from typing import Any

from ..model import config, photo
from ..probe.intervene import forms, intervention
from ..probe.intervene.forms import COUNTS, NEEDS
from ..probe.intervene.intervention import KINDS, Intervention
from . import in_page, payload

FILE = Path(__file__).resolve().parent / "engine" / "tables.js"
WIDTH = 116  # columns
SPREAD = "..."  # in place of a name: the value is the name of another object
LIMITS = {
    "interventions": intervention.MOST,
    "pairs": forms.MOST_PAIRS,
    "number": forms.LARGEST,
    "named": intervention.NAMED,
    "donor_side": intervention.DONOR_SIDE,
    "config": config.MOST,
    "parameters": in_page.MOST_PARAMETERS,
    "tokens": in_page.MOST_TOKENS,
    "kept": in_page.MOST_KEPT,
    "rollout_tokens": payload.MOST_TOKENS,
    "photo_bytes": photo.MAX_BYTES,
    "photo_pixels": photo.MAX_PIXELS,
}
# What most rows of KINDS and most of their fields have; a row names only what differs.
KIND = {"told_by": "", "same": None, "again": False, "joins": False}
FORM = {"of": "", "words": [], "past": 0, "count": None, "needs": {}, "default": None}
# The file, with the name of a table in the place of each.
TEXT = """\
/** Tables: what Python and the engine of a page must agree on. They stand in Python. */

// Written by `python -m vitviz.viewer.tables`.
/**
 * What a field of an intervention may hold, and what its kind is like (vitviz/probe/intervene/).
 * @typedef {"number"|"list"|"pairs"|"word"|"picture"} Shape
 * @typedef {{shape: Shape, of: string, words: string[], past: number, count: number|null,
 *   needs: Record<string, string>, default: number|string|null}} Form
 * @typedef {{touches: string, example: string, told_by: string, same: string[]|null,
 *   again: boolean, joins: boolean, fields: Record<string, Form>}} Kind
 */

const KIND = {KIND};
const FORM = {FORM};

/** The kinds of interventions. @type {Record<string, Kind>} */
export const KINDS = {KINDS};

/**
 * Needs of a model for a word of a field: one of these fields of its config is set.
 * error: the text of experiments.json for a model that has none.
 * @type {Record<string, {fields: string[], error: string}>}
 */
export const NEEDS = {NEEDS};

/** The value of a config that bounds the numbers of a field. @type {Record<string, string>} */
export const COUNTS = {COUNTS};

/**
 * Bounds. interventions: in a pass; pairs: of tokens in one of them; number: of every number in it;
 * named: patches in a caption; donor_side: pixels; config: of every size and count in a config;
 * parameters, tokens: of a model that runs in a page; kept: numbers that its pass leaves behind;
 * rollout_tokens: of a model whose rollout a browser computes.
 */
export const LIMITS = {LIMITS};

/**
 * The values of a config's switches that this engine computes, where it lacks others.
 * @type {Record<string, any[]>}
 */
export const SUPPORTED = {SUPPORTED};

/**
 * Values of a field of a config. default: null for one that follows from others, or that a
 * model need not have; absent for one that must not be left out.
 * @typedef {{default?: any, holds: "sides"|"count"|"number"|"word"|"switch"|"rotary",
 *   least?: number, most?: number, words?: string[]}} Setting
 */

/** A config (vitviz/model/config.py). @type {Record<string, Setting>} */
export const CONFIG = {CONFIG};

/** Its rotary positions. @type {Record<string, Setting>} */
export const ROTARY = {ROTARY};

/** The explainers that this engine computes (explain.js). @type {string[]} */
export const EXPLAINER_KEYS = {EXPLAINERS};
"""


def text() -> str:
    """The file."""
    tables: dict[str, Any] = {
        "KIND": KIND,
        "FORM": FORM,
        "KINDS": {name: _row(kind) for name, kind in KINDS.items()},
        "NEEDS": {name: asdict(need) for name, need in NEEDS.items()},
        "COUNTS": COUNTS,
        "LIMITS": LIMITS,
        "SUPPORTED": in_page.SUPPORTED,
        "EXPLAINERS": in_page.EXPLAINERS,
        "CONFIG": {one.name: _setting(one) for one in fields(config.ViTConfig)},
        "ROTARY": {one.name: _setting(one) for one in fields(config.Rotary)},
    }
    written = TEXT
    for name, table in tables.items():
        written = written.replace(f"= {{{name}}};", f"= {_written(table, WIDTH)};")
    return written


def _setting(one: Field[Any]) -> dict[str, Any]:
    """Values that a field of a config may hold."""
    default = {} if one.default is MISSING else {"default": one.default}
    if one.name in config.NUMBERS:
        least, most = config.NUMBERS[one.name]
        return default | {"holds": "number", "least": least, "most": most}
    if one.name in config.LEAST:
        return default | {"holds": "count", "least": config.LEAST[one.name]}
    if one.name in config.WORDS:
        return default | {"holds": "word", "words": config.WORDS[one.name]}
    if one.name in config.SIDES:
        return default | {"holds": "sides"}
    return default | {"holds": "switch" if one.type is bool else "rotary"}


def _row(kind: type[Intervention]) -> dict[str, Any]:
    """A kind, in JSON's types, without what KIND and FORM have."""
    row = json.loads(json.dumps(kind.described()))
    row["fields"] = {name: _different("FORM", FORM, one) for name, one in row["fields"].items()}
    return _different("KIND", KIND, row)


def _different(name: str, usual: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    return {SPREAD: name} | {
        key: value for key, value in row.items() if key not in usual or usual[key] != value
    }


def _written(value: Any, room: int) -> str:
    """A value in JavaScript, in lines of at most so many columns."""
    if isinstance(value, dict):
        parts = [_part(name, one, room - 2) for name, one in value.items()]
    elif isinstance(value, list | tuple) and len(json.dumps(value)) > room:
        parts = [f"{json.dumps(one)}," for one in value]
    else:
        return json.dumps(value)
    lines = [""]
    for part in parts:
        if lines[-1] and ("\n" in lines[-1] + part or len(lines[-1] + part) >= room - 3):
            lines.append("")
        lines[-1] += f" {part}" if lines[-1] else part
    left, right = "{}" if isinstance(value, dict) else "[]"
    if len(lines) == 1 and "\n" not in lines[0]:
        return f"{left} {lines[0].removesuffix(',')} {right}" if lines[0] else left + right
    return left + "\n" + indent("\n".join(lines), "  ") + f"\n{right}"


def _part(name: str, value: Any, room: int) -> str:
    """A name and its value in an object."""
    if name == SPREAD:
        return f"...{value},"
    key = name if name.isidentifier() else json.dumps(name)
    return f"{key}: {_written(value, room)},"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
