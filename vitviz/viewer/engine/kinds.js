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
  remove: {"touches": "tokens", "told_by": "", "same": null, "again": false, "joins": true, "fields": {"patches": {"shape": "list", "of": "patches", "words": [], "past": 0}}},
  keep: {"touches": "tokens", "told_by": "", "same": null, "again": false, "joins": true, "fields": {"patches": {"shape": "list", "of": "patches", "words": [], "past": 0}}},
  replace: {"touches": "pixels", "told_by": "by", "same": null, "again": false, "joins": true, "fields": {"patches": {"shape": "list", "of": "patches", "words": [], "past": 0}, "by": {"shape": "word", "of": "", "words": ["black", "mean", "blur", "noise"], "past": 0}, "seed": {"shape": "number", "of": "seeds", "words": [], "past": 0}}},
  shuffle: {"touches": "pixels", "told_by": "", "same": [], "again": true, "joins": false, "fields": {"cells": {"shape": "number", "of": "cells", "words": [], "past": 0}, "seed": {"shape": "number", "of": "seeds", "words": [], "past": 0}}},
  swap: {"touches": "pixels", "told_by": "", "same": null, "again": false, "joins": false, "fields": {"patches": {"shape": "list", "of": "patches", "words": [], "past": 0}}},
  positions: {"touches": "tokens", "told_by": "by", "same": [], "again": false, "joins": false, "fields": {"by": {"shape": "word", "of": "", "words": ["off", "shuffled", "learned off", "rotary off"], "past": 0}, "seed": {"shape": "number", "of": "seeds", "words": [], "past": 0}}},
  head: {"touches": "heads", "told_by": "by", "same": ["layer", "head"], "again": false, "joins": false, "fields": {"layer": {"shape": "number", "of": "layers", "words": [], "past": 0}, "head": {"shape": "number", "of": "heads", "words": [], "past": 0}, "by": {"shape": "word", "of": "", "words": ["zero", "mean"], "past": 0}}},
  branch: {"touches": "heads", "told_by": "branch", "same": ["layer", "branch"], "again": false, "joins": false, "fields": {"layer": {"shape": "number", "of": "layers", "words": [], "past": 0}, "branch": {"shape": "word", "of": "", "words": ["attention", "mlp"], "past": 0}}},
  cut: {"touches": "edges", "told_by": "edges", "same": null, "again": false, "joins": false, "fields": {"edges": {"shape": "pairs", "of": "tokens", "words": ["patches to prefix", "prefix to patches", "patches to others"], "past": 0}, "layers": {"shape": "list", "of": "layers", "words": ["all"], "past": 0}, "heads": {"shape": "list", "of": "heads", "words": ["all"], "past": 0}}},
  even: {"touches": "edges", "told_by": "rows", "same": null, "again": false, "joins": false, "fields": {"rows": {"shape": "word", "of": "", "words": ["cls", "patches", "all"], "past": 0}, "layers": {"shape": "list", "of": "layers", "words": ["all"], "past": 0}}},
  scramble: {"touches": "edges", "told_by": "", "same": null, "again": false, "joins": false, "fields": {"rows": {"shape": "word", "of": "", "words": ["patches"], "past": 0}, "layers": {"shape": "list", "of": "layers", "words": ["all"], "past": 0}, "seed": {"shape": "number", "of": "seeds", "words": [], "past": 0}}},
  transplant: {"touches": "tokens", "told_by": "patches", "same": null, "again": false, "joins": false, "fields": {"patches": {"shape": "list", "of": "patches", "words": ["cls", "all"], "past": 0}, "layer": {"shape": "number", "of": "layers", "words": [], "past": 1}, "from": {"shape": "picture", "of": "", "words": [], "past": 0}}},
};
