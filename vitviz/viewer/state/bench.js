/**
 * The bench: what the brush does, and every change of the experiment, one after the other. No document in
 * here.
 */

import {
  OPERATED,
  broughtBack,
  drawn,
  isExperiment,
  read,
  removedIn,
  withOne,
  wordsOf,
  written,
} from "./experiment.js";
import { strongest } from "../maths/attention.js";

/** The tools of the brush. */
const REPLACED_BY = wordsOf("replace", "by");
export const TOOLS = ["remove", "keep", ...REPLACED_BY, "swap", "back"];

/** The tools that can also hide patches that somebody else has chosen. */
const HIDES = ["remove", ...REPLACED_BY];

const MOST_STEPS = 100;

/** @typedef {ReturnType<typeof createBench>} Bench */

/**
 * @param {import("../main.js").App} app
 * @param {() => void} render
 */
export function createBench(app, render) {
  let [past, future] = [/** @type {string[]} */ ([]), /** @type {string[]} */ ([])];
  let now = "";
  /** The selection before a stroke that is still under way. @type {import("./state.js").Selection|null} */
  let begun = null;
  const patchesOf = ({ rows, cols }) => rows * cols;
  // Steps of another model wait until it is shown again, unless earlier ones are taken back meanwhile.
  const possible = (/** @type {string} */ step) => isExperiment(step, app.source.shape);
  const bench = {
    tool: "remove",
    size: 1,
    on: true,
    /** Whether the brush is at hand on every panel. */
    erasing: false,
    /** The side that the picture shows while an experiment is marked on it. @type {"before"|"after"} */
    shows: "after",
    /** The first of two patches to swap. @type {number|null} */
    first: null,
    /** The key of a sentence about the last stroke, where it changed nothing. */
    said: "",
    /** Whether strokes on the picture are strokes of the brush. */
    paints: () => bench.marks() && !app.course.takes(),
    /** Whether the experiment is marked on the picture, in place of what lies over it. */
    marks: () => bench.on && (bench.erases() || (app.backend.changes && Boolean(app.panel().paints))),
    /** Whether one erases; a lesson has its own questions to the picture. */
    erases: () => app.backend.changes && bench.erasing && !app.course.lesson(),
    underWay: () => begun !== null,
    use(/** @type {any} */ wanted) {
      Object.assign(bench, wanted, { first: null, said: "" });
      render();
    },
    /** Takes a change that was made elsewhere (a link, another picture, undo of the page) into the steps. */
    follow() {
      const { experiment } = app.selection;
      if (experiment === now || begun) return;
      past = [...past, now].slice(-MOST_STEPS);
      [now, future] = [experiment, []];
    },
    list: () => read(app.selection.experiment) ?? [],
    change(list) {
      const experiment = written(list);
      Object.assign(bench, { said: "", shows: "after" });
      app.select({ experiment, beside: experiment ? OPERATED : app.selection.beside });
    },
    add: (one) => bench.change(withOne(bench.list(), one)),
    drop: (at) => bench.change(bench.list().filter((_, other) => other !== at)),
    clear: () => bench.change([]),
    canUndo: () => past.some(possible),
    canRedo: () => future.some(possible),
    undo: () => step(past, future),
    redo: () => step(future, past),
    /**
     * Shows the patches under the brush while the hand still moves: the model answers as fast as it can, and
     * no undo step is made. Sends nothing while a request is pending, because the hand would overtake every
     * answer.
     */
    sketch(patches) {
      if (!HIDES.includes(bench.tool) || app.sketching.stir()) return;
      const before = begun ?? app.selection;
      const list = read(before.experiment) ?? [];
      const gone = removedIn(list, patchesOf(app.source.grid));
      const left = bench.tool === "remove" ? patches.filter((patch) => !gone.has(patch)) : patches;
      const experiment =
        left.length > 0 ? written(withOne(list, hidden(left, bench.tool))) : before.experiment;
      if (experiment === app.selection.experiment) return;
      begun = before;
      app.sketch({ experiment, beside: OPERATED });
    },
    forget() {
      if (!begun) return;
      const { experiment, beside } = begun;
      begun = null;
      app.sketch({ experiment, beside });
    },
    /**
     * Another analysis is shown. Its picture does not hear that the pointer is lifted, so that a stroke ends here;
     * what was selected before it is of the other analysis.
     */
    arrive() {
      begun = null;
      Object.assign(bench, { first: null, said: "" });
    },
    /** Applies a finished stroke: patches in the order in which the brush met them. */
    stroke(patches) {
      if (begun) app.settled(begun);
      begun = null;
      const list = bench.list();
      const gone = removedIn(list, patchesOf(app.source.grid));
      if (bench.tool === "swap") return swap(patches);
      if (bench.tool === "back") return tell(broughtBack(list, patches), list);
      const left = bench.tool === "remove" ? patches.filter((patch) => !gone.has(patch)) : patches;
      return hide(left, bench.tool);
    },
    /** Hides patches that are chosen by their attention, or by chance. */
    hideStrongest(values, count) {
      const { prefix } = app.source.grid;
      const left = new Set(here());
      const order = strongest(values.subarray(prefix), values.length - prefix).filter((patch) =>
        left.has(patch),
      );
      hide(
        order.slice(0, count).sort((a, b) => a - b),
        hiding(),
      );
    },
    hideRandom: (count, seed) => hide(drawn(count, here(), seed), hiding()),
  };
  return bench;

  /**
   * Goes to the last of some steps that the shown model can have; those after it are of another model, and are lost.
   * @param {string[]} from
   * @param {string[]} to
   */
  function step(from, to) {
    const at = from.findLastIndex(possible);
    if (at < 0) return;
    to.push(now);
    now = from[at];
    from.length = at;
    bench.change(read(now) ?? []);
  }

  /** The patches that are still there. */
  function here() {
    const count = patchesOf(app.source.grid);
    const gone = removedIn(bench.list(), count);
    return [...Array(count).keys()].filter((patch) => !gone.has(patch));
  }

  /** Hiding is what the brush does; a brush that does something else hides by removing. */
  function hiding() {
    return HIDES.includes(bench.tool) ? bench.tool : "remove";
  }

  function hide(patches, tool) {
    if (patches.length === 0) return say("experimentEmpty");
    return bench.add(hidden(patches, tool));
  }

  function hidden(patches, tool) {
    const inOrder = [...patches].sort((a, b) => a - b);
    return REPLACED_BY.includes(tool)
      ? { kind: "replace", patches: inOrder, by: tool, seed: 0 }
      : { kind: tool, patches: inOrder };
  }

  function swap(patches) {
    const path = bench.first === null ? patches : [bench.first, ...patches];
    const [one, other] = [path[0], path[path.length - 1]];
    if (one === undefined) return say("experimentEmpty");
    if (one === other) {
      bench.first = bench.first === null ? one : null;
      return render();
    }
    bench.first = null;
    return bench.add({ kind: "swap", patches: [one, other] });
  }

  function tell(list, before) {
    if (written(list) === written(before)) return say("experimentNothingBack");
    return bench.change(list);
  }

  function say(key) {
    bench.said = key;
    render();
  }
}

/** The sets of edges that a model has: those without prefix tokens lack the ones to and from them. */
export function edgesOf({ prefix }) {
  return wordsOf("cut", "edges").filter((edges) => prefix > 0 || !edges.includes("prefix"));
}

/** The sides of cells into which a grid can be cut and shuffled, the smallest first. */
export function cellsOf({ rows, cols }) {
  return [...Array(Math.min(rows, cols)).keys()]
    .map((at) => at + 1)
    .filter((side) => rows % side === 0 && cols % side === 0 && !(rows === side && cols === side));
}
