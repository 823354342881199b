/**
 * Signing: a visitor draws kinds of signs, gives them names, and draws another one for the model to answer.
 */

import { download } from "../parts/download.js";
import { el, keepFocus, setText, show } from "../parts/dom.js";
import { fileField } from "../parts/drops.js";
import { allow, button, entitle } from "../parts/widgets.js";
import { createPenField } from "../stage/penfield.js";
import { letterOf } from "../state/keys.js";
import { answerRows } from "./answerrows.js";
import { pictureOf } from "./digits.js";
import { createKeptSigns } from "./signskept.js";
import {
  FEWEST_KINDS,
  LONGEST_NAME,
  MOST_KINDS,
  SignsError,
  WANTED,
  fileOf,
  isEnough,
  kept,
  pixelsOf,
} from "./signs.js";

/**
 * The page on which a visitor draws signs; the drawings stay when the language changes. `learn` is called
 * with the kinds to be learned; `request` is called when the field has changed and needs an answer.
 * @param {{learn: (kinds: import("./signs.js").Kind[]) => void, request: () => void}} on
 */
export function createSigning({ learn, request }) {
  const kinds = createKeptSigns(() => {
    note = null;
    render();
  });
  let [say, note, asks, shown] = [
    /** @type {import("./texts.js").Say} */ ((key) => key),
    /** @type {{key: string, values: Record<string, any>}|null} */ (null),
    0,
    /** @type {Uint8Array|null} */ (null),
  ];
  let parts = /** @type {any} */ (null);
  const field = createPenField(
    { t: (key, values) => say(key, values) },
    () => {
      if (parts) allow(parts.keep, !field.empty());
    },
    ask,
  );
  return {
    build,
    /** The picture in the field, with a number of its own; null if the field is empty. */
    picture: () => shown && { number: asks, pixels: shown },
    /** Adds the drawings of files, up to the first that holds none. @param {File[]} files */
    take: (files) =>
      trying(async () => {
        for (const file of files) await kinds.load(file);
      }),
    /**
     * Shows the answer of the model to the field; null removes the rows.
     * @param {{name: string, share: number}[]|null} found  of each kind
     */
    answer: (found) => parts?.answers.replaceChildren(...answerRows(found ?? [])),
  };

  /** Asks for an answer to the field once the pen rests. */
  function ask() {
    asks += 1;
    shown = field.empty() ? null : pixelsOf(kept(field.strokes()));
    request();
  }

  /** Makes all anew, in a language. @param {import("./texts.js").Say} language */
  function build(language) {
    say = language;
    const { node, tools, where, help } = field.build();
    const [, back, clear] = tools;
    field.divide({ rows: 4, cols: 4 });
    for (const control of [back, clear]) control.addEventListener("click", ask);
    node.addEventListener("keydown", onKey);
    const keep = button({ title: say("signsKeepTitle"), onClick: add });
    const more = button({
      text: say("signsMore"),
      title: say("signsMoreTitle", { most: MOST_KINDS }),
      onClick: kinds.more,
    });
    const undo = button({
      text: say("ownUndo"),
      title: say("ownUndoTitle"),
      onClick: () => kinds.canUndo() && trying(kinds.undo),
    });
    const go = button({
      text: say("signsLearn"),
      title: say("signsLearnTitle"),
      onClick: () => {
        if (isEnough(kinds.all())) learn(kinds.all());
        else hear("signsFew");
      },
    });
    go.classList.add("vv-play-player");
    const input = fileField(".json,application/json", ([file]) => trying(() => kinds.load(file)));
    const save = button({
      text: say("signsSave"),
      title: say("signsSaveTitle"),
      onClick: () => download(new Blob([fileOf(kinds.all())], { type: "application/json" }), "signs.json"),
    });
    const load = button({
      text: say("signsLoad"),
      title: say("signsLoadTitle"),
      onClick: () => input.click(),
    });
    const [list, answers, message] = [
      el("div", { class: "vv-signs-kinds", role: "group", "aria-label": say("signsKinds") }),
      el("ol", { class: "vv-signs-answers" }),
      el("p", { class: "vv-play-note", role: "status" }),
    ];
    parts = { rows: [], list, answers, message, keep, more, undo, go, save };
    render();
    return el(
      "section",
      { class: "vv-signs", "aria-label": say("signs") },
      el("p", { text: say("signsGoal", { wanted: WANTED }) }),
      el(
        "div",
        { class: "vv-signs-row" },
        el(
          "div",
          { class: "vv-signs-pad" },
          node,
          el("div", { class: "vv-play-buttons" }, keep, back, clear),
          where,
          answers,
        ),
        el(
          "div",
          { class: "vv-signs-side" },
          list,
          el("div", { class: "vv-play-buttons" }, go, more, undo),
          message,
          el("div", { class: "vv-play-buttons" }, save, load, input),
          el("p", { class: "vv-note", text: say("signsHere") }),
          help,
        ),
      ),
    );
  }

  function onKey(event) {
    if (event.key === " ") {
      // the pen was put down or lifted
      ask();
      return;
    }
    if (event.key === "Enter") add();
    else if (letterOf(event) === "z" && (event.ctrlKey || event.metaKey)) {
      field.undo();
      ask();
    } else return;
    event.preventDefault();
  }

  /** Adds the drawing in the field to the chosen kind. */
  function add() {
    if (field.empty()) {
      hear("signsEmpty");
      return;
    }
    trying(() => {
      kinds.add(kept(field.strokes()));
      field.replace([]);
      ask();
      field.focus();
    });
  }

  /** Does something, and says why it cannot be done. @param {() => any} task */
  async function trying(task) {
    try {
      await task();
    } catch (error) {
      if (!(error instanceof SignsError)) throw error;
      hear(error.key, error.values);
    }
  }

  function hear(key, values = {}) {
    note = { key, values };
    render();
  }

  function render() {
    if (!parts) return;
    const { rows, list, message, keep, more, undo, go, save } = parts;
    const all = kinds.all();
    setText(message, note ? say(note.key, note.values) : "");
    allow(more, all.length < MOST_KINDS);
    allow(undo, kinds.canUndo());
    allow(go, isEnough(all));
    allow(
      save,
      all.some(({ drawings }) => drawings.length > 0),
    );
    allow(keep, !field.empty());
    setText(keep, say("signsKeep", { name: kinds.chosen().name }));
    keep.setAttribute("aria-label", keep.textContent);
    parts.rows = all.map((kind) => rows.find((row) => row.kind === kind) ?? createRow(kind));
    const roots = parts.rows.map(({ root }) => root);
    const again = keepFocus(list); // what is taken away had it
    parts.rows.forEach((row, at) => row.render(at + 1));
    if (roots.length === list.children.length && roots.every((root, at) => list.children[at] === root))
      return;
    list.replaceChildren(...roots);
    again(roots.at(-1).querySelector("input"));
  }

  /** The row of a kind, which stays while the kind does: Tab may be on its way to one of its buttons. */
  function createRow(kind) {
    const nodes = /** @type {Map<import("./signs.js").Drawing, HTMLButtonElement>} */ (new Map());
    const input = el("input", {
      type: "text",
      class: "vv-signs-name",
      maxlength: LONGEST_NAME,
      onchange: () => trying(() => kinds.rename(kind, input.value)),
    });
    const choose = button({
      onClick: () => {
        kinds.choose(kind);
        field.focus();
      },
    });
    const gone = button({ text: "✕", onClick: () => kinds.remove(kind) });
    const drawings = el("div", { class: "vv-signs-drawings" });
    const root = el("div", { class: "vv-signs-kind" }, input, choose, gone, drawings);
    return { kind, root, render };

    /** @param {number} place  from 1 */
    function render(place) {
      const { name, drawings: all } = kind;
      if (input.value !== name) input.value = name;
      input.setAttribute("aria-label", say("signsName", { place }));
      entitle(choose, say("signsChoose", { name }), say("signsHave", { count: all.length, wanted: WANTED }));
      choose.setAttribute("aria-pressed", String(kind === kinds.chosen()));
      root.classList.toggle("vv-chosen", kind === kinds.chosen());
      entitle(gone, say("signsGone", { name }));
      show(gone, kinds.all().length > FEWEST_KINDS);
      const again = keepFocus(drawings);
      for (const [drawing, node] of nodes) {
        if (all.includes(drawing)) continue;
        node.remove();
        nodes.delete(drawing);
      }
      all.forEach((drawing, index) => {
        const node = nodes.get(drawing) ?? drawingOf(drawing);
        entitle(node, say("signsDrop", { number: index + 1, name }));
        if (drawings.children[index] !== node) drawings.insertBefore(node, drawings.children[index] ?? null);
      });
      again(/** @type {HTMLElement|null} */ (drawings.lastElementChild) ?? choose);
    }

    function drawingOf(drawing) {
      const node = button({ onClick: () => kinds.drop(kind, kind.drawings.indexOf(drawing)) });
      node.classList.add("vv-signs-drawing");
      node.append(pictureOf(pixelsOf(drawing)));
      nodes.set(drawing, node);
      return node;
    }
  }
}
