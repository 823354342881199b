"""Writes `engine/kinds.js`, the kinds of interventions as the page reads them.

python -m vitviz.viewer.kinds       after a change in probe/intervene/intervention.py
"""

import json
from pathlib import Path

from ..probe.intervene.intervention import KINDS

FILE = Path(__file__).resolve().parent / "engine" / "kinds.js"
OPENING = """\
/** The kinds of interventions, as vitviz/probe/intervene/intervention.py describes them. */

// Written by `python -m vitviz.viewer.kinds`.
/**
 * What a field may hold (vitviz/probe/intervene/forms.py), and what its kind is like.
 * @typedef {"number"|"list"|"pairs"|"word"|"picture"} Shape
 * @typedef {{shape: Shape, of: string, words: string[], past: number}} Form
 * @typedef {{touches: string, told_by: string, same: string[]|null, again: boolean,
 *   joins: boolean, fields: Record<string, Form>}} Kind
 */

/** @type {Record<string, Kind>} */
export const KINDS = {
"""


def text() -> str:
    """The file, with one line for each kind."""
    rows = (f"  {name}: {json.dumps(kind.described())},\n" for name, kind in KINDS.items())
    return OPENING + "".join(rows) + "};\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
