"""Writes `engine/tables.js`: the tables of Python that the page's engine must share.

python -m vitviz.payload.tables      after a change in one of them
"""

import json
from dataclasses import MISSING, Field, asdict, fields
from textwrap import indent
from typing import Any

from ..many import linear
from ..model import config, photo, photo_kinds
from ..probe.explain import perturb
from ..probe.intervene import fooling, forms, intervention
from ..probe.intervene.forms import COUNTS, NEEDS
from ..probe.intervene.intervention import KINDS, Intervention
from . import in_page, payload
from .bundle import VIEWER

FILE = VIEWER / "engine" / "tables.js"
WIDTH = 116  # columns
SPREAD = "..."  # in place of a name: the value is the name of another object
LIMITS = {
    "interventions": intervention.MOST,
    "pairs": forms.MOST_PAIRS,
    "number": forms.LARGEST,
    "named": intervention.NAMED,
    "donor_side": intervention.DONOR_SIDE,
    "hidden_units": payload.HIDDEN_UNITS,
    "levels": intervention.MOST_LEVELS,
    "fooling_steps": intervention.MOST_FOOLING_STEPS,
    "factor": intervention.MOST_FACTOR,
    "lead": fooling.LEAD,
    "gap": perturb.CONVERGED,
    "config": config.MOST,
    "parameters": in_page.MOST_PARAMETERS,
    "tokens": in_page.MOST_TOKENS,
    "kept": in_page.MOST_KEPT,
    "rollout_tokens": payload.MOST_TOKENS,
    "photo_bytes": photo.MAX_BYTES,
    "photo_pixels": photo.MAX_PIXELS,
}
# Defaults of the rows of KINDS and of their fields; a row has only the values that differ.
KIND = {"told_by": "", "same": None, "again": False, "joins": False}
FORM = {"of": "", "words": [], "past": 0, "count": None, "needs": {}, "default": None}
# Template of the file: each table is replaced by its name.
TEXT = """\
/** Tables that Python and the engine of a page share. Their source is Python. */

// Written by `python -m vitviz.payload.tables`.
/**
 * Forms of the fields of an intervention, and its kind (vitviz/probe/intervene/).
 * @typedef {"number"|"list"|"pairs"|"word"|"factor"|"picture"} Shape
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
 * Requirements of a word of a field: the model's config must have one of these fields set.
 * error: the text of experiments.json for a model that has none.
 * @type {Record<string, {fields: string[], error: string}>}
 */
export const NEEDS = {NEEDS};

/** The field of a config that bounds the numbers of a field. @type {Record<string, string>} */
export const COUNTS = {COUNTS};

/**
 * Bounds. interventions: in a pass; pairs: of tokens in an intervention; number: each number in it;
 * named: patches in a caption; donor_side: pixels; levels, fooling_steps: of `perturb`, which ends
 * at this lead of probability; factor: of `add`; gap: of a map that counts as adding up; config: of
 * every size and count in a config; parameters, tokens: of a model that runs in a page; kept:
 * numbers that are kept of its pass; rollout_tokens: of a model whose rollout a browser computes.
 */
export const LIMITS = {LIMITS};

/**
 * Supported values of a config's switches, for switches that this engine does not fully support.
 * @type {Record<string, any[]>}
 */
export const SUPPORTED = {SUPPORTED};

/**
 * Values of a field of a config. default: null if it follows from other fields, or if a model need
 * not have it; absent if the field is required.
 * @typedef {{default?: any, holds: "sides"|"count"|"number"|"word"|"switch"|"rotary",
 *   least?: number, most?: number, words?: string[]}} Setting
 */

/** A config (vitviz/model/config.py). @type {Record<string, Setting>} */
export const CONFIG = {CONFIG};

/** Its rotary positions. @type {Record<string, Setting>} */
export const ROTARY = {ROTARY};

/** The explainers that this engine computes (explain.js). @type {string[]} */
export const EXPLAINER_KEYS = {EXPLAINERS};

/** Strength of the L2 penalty of a head that is taught (vitviz/many/linear.py). */
export const PENALTY = {PENALTY};

/** Most groups of pictures that are left out of it in turn. */
export const FOLDS = {FOLDS};

/**
 * Kinds of files that are no picture (vitviz/model/photo_kinds.py), with the ends of their keys in
 * photo.json. head: bytes that are looked at; placed: place, from the end if negative, and bytes
 * there; within: anywhere in the head, in lower case; heic: brands; beginnings: in lower case;
 * damaged: of a format.
 * @type {{head: number, placed: [number, string, string][], within: [string, string][],
 *   heic: string[], beginnings: [string, string][], damaged: [string, string][]}}
 */
export const FILE_KINDS = {FILE_KINDS};
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
        "CONFIG": {field.name: _setting(field) for field in fields(config.ViTConfig)},
        "PENALTY": linear.PENALTY,
        "FOLDS": linear.FOLDS,
        "FILE_KINDS": {
            "head": photo_kinds.HEAD,
            "placed": [[at, _letters(start), what] for at, start, what in photo_kinds.PLACED],
            "within": [[_letters(piece), what] for piece, what in photo_kinds.WITHIN],
            "heic": [*map(_letters, photo_kinds.HEIC)],
            "beginnings": [[_letters(start), what] for start, what in photo_kinds.BEGINNINGS],
            "damaged": [[_letters(start), name] for start, name in photo_kinds.DAMAGED],
        },
        "ROTARY": {field.name: _setting(field) for field in fields(config.Rotary)},
    }
    written = TEXT
    for name, table in tables.items():
        value = _written(table, WIDTH)
        if "\n" not in value:  # its name stands on the same line
            value = _written(table, WIDTH - len(f"export const {name} = "))
        written = written.replace(f"= {{{name}}};", f"= {value};")
    return written


def _letters(data: bytes) -> str:
    """Bytes as JavaScript compares them: a character for each."""
    return data.decode("latin-1")


def _setting(field: Field[Any]) -> dict[str, Any]:
    """Description of the values that a field of a config may hold."""
    default = {} if field.default is MISSING else {"default": field.default}
    if field.name in config.NUMBERS:
        least, most = config.NUMBERS[field.name]
        return default | {"holds": "number", "least": least, "most": most}
    if field.name in config.LEAST:
        return default | {"holds": "count", "least": config.LEAST[field.name]}
    if field.name in config.WORDS:
        return default | {"holds": "word", "words": config.WORDS[field.name]}
    if field.name in config.SIDES:
        return default | {"holds": "sides"}
    return default | {"holds": "switch" if field.type is bool else "rotary"}


def _row(kind: type[Intervention]) -> dict[str, Any]:
    """A kind of intervention, in JSON's types, without the defaults of KIND and FORM."""
    row = json.loads(json.dumps(kind.described()))
    row["fields"] = {name: _different("FORM", FORM, form) for name, form in row["fields"].items()}
    return _different("KIND", KIND, row)


def _different(name: str, usual: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    return {SPREAD: name} | {
        key: value for key, value in row.items() if key not in usual or usual[key] != value
    }


def _written(value: Any, room: int) -> str:
    """A value in JavaScript, in lines of at most so many columns."""
    if isinstance(value, dict):
        parts = [_part(name, item, room - 2) for name, item in value.items()]
    elif isinstance(value, list | tuple) and len(json.dumps(value)) > room:
        parts = [f"{json.dumps(item)}," for item in value]
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
