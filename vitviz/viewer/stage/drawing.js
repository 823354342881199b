/** Drawing: sends the drawing to the model whenever the pen rests, and shows the answer. */

import { answerOf, rivalsOf } from "../text/answer.js";
import { Overtaken, newestOf } from "../data/newest.js";
import { headOf } from "../parts/dialog.js";
import { el, show } from "../parts/dom.js";
import { createPenField } from "./penfield.js";
import { createPlacing } from "./placing.js";
import { letterOf } from "../state/keys.js";
import { isDrawn } from "../state/photos.js";
import { reasonOf, refusal } from "../text/refusal.js";

/** Time without a move after which the pen counts as resting. */
const REST_MS = 50;
/** Time after which a request without an answer is sent again, and the most attempts. */
const [PATIENCE_MS, MOST_TRIES] = [10_000, 3];

/**
 * @param {import("../main.js").App} app
 * @param {(picture: Blob, name: string, first: boolean) => Promise<void>} send  shows a picture: the
 *   first to the model of digits, any other to the chosen model
 * @returns {{root: HTMLElement, open: () => void, render: () => void}}
 */
export function createDrawing(app, send) {
  const field = createPenField(app, changed, () => {
    if (resting) deliver();
  }); // a pen that is lifted rests
  let [resting, sent, movedAt, language] = [0, 0, 0, ""];
  // One at a time: on a slow network a later question could overtake an earlier one, which may have asked
  // about all that is drawn by now.
  const turn = newestOf(async () => root.dataset.sent || patiently(ask));
  // the analysis that was shown when the drawing was sent; the callback for when another is shown
  let [before, answered] = [null, () => {}];
  let [reply, placing] = [null, null]; // elements for the answer, and for the place of the digit
  let opener = null; // the element that had the focus before
  const root = el("section", { class: "vv-drawing", hidden: true });
  // The keys of the viewer mean something else here.
  root.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
    if (letterOf(event) === "z" && (event.ctrlKey || event.metaKey)) field.undo();
  });
  return {
    root,
    open() {
      if (root.hidden) opener = document.activeElement;
      show(root, true);
      render();
      root.scrollIntoView({ block: "nearest" });
      field.focus();
    },
    render,
  };

  function close() {
    show(root, false);
    opener?.focus();
  }

  /** Draws the answer; in another language builds everything again. */
  function render() {
    if (before !== app.source) answered();
    if (root.hidden) return;
    if (language !== app.language) {
      language = app.language;
      build();
      root.setAttribute("aria-label", app.t("draw"));
    }
    answer();
  }

  function build() {
    const { t } = app;
    const { node, tools, thick, where, help } = field.build();
    reply = el("div", { class: "vv-drawing-answer" });
    placing = createPlacing(app, field);
    root.replaceChildren(
      headOf(t, t("draw"), close),
      el(
        "div",
        { class: "vv-drawing-row" },
        node,
        el(
          "div",
          { class: "vv-drawing-side" },
          reply,
          placing.root,
          el("div", { class: "vv-drawing-tools" }, ...tools),
          thick,
          where,
          help,
        ),
      ),
    );
  }

  function changed() {
    movedAt = performance.now();
    clearTimeout(resting);
    resting = 0;
    root.dataset.sent = ""; // the present drawing is not sent yet
    if (!field.empty()) resting = setTimeout(deliver, REST_MS);
    else answer();
  }

  function deliver() {
    clearTimeout(resting);
    resting = 0;
    turn(null).catch((error) => {
      if (error instanceof Overtaken) return;
      tell(
        el("p", { class: "vv-note", text: app.t("drawFailed", { reason: reasonOf(error, app.language) }) }),
      );
    });
  }

  /** Sends the present drawing; resolves when another analysis is shown. */
  async function ask() {
    if (field.empty()) return;
    sent += 1;
    root.dataset.sent = nameOf(sent);
    const [name, first] = [nameOf(sent), !isDrawing()];
    before = app.source;
    await new Promise((resolve, reject) => {
      answered = () => resolve(null);
      field.picture((picture) => send(picture, name, first).catch(reject));
    });
  }

  /** Whether the picture of the page is a drawing from here. */
  function isDrawing() {
    return sent > 0 && isDrawn(app.source?.manifest.photo.name ?? "");
  }

  function answer() {
    if (!reply) return;
    if (field.empty() || !isDrawing()) {
      tell(el("p", { class: "vv-note", text: app.t("drawStart") }));
      if (app.source) placing.render("");
      return;
    }
    const { grid, manifest } = app.source;
    const { name } = manifest.photo;
    field.divide(grid);
    if (name === nameOf(sent) && root.dataset.shown !== name) {
      root.dataset.ms = String(Math.round(performance.now() - movedAt)); // since the pen moved last
    }
    const nodes = answerLines(app);
    tell(...nodes);
    if (name === root.dataset.sent) placing.render(nodes[0].textContent); // nothing was drawn since
    root.dataset.shown = name;
  }

  function tell(...nodes) {
    reply.replaceChildren(...nodes);
  }
}

/** The answer of the model to a drawing: its class, the next ones, and the pixels and patches that it sees. */
function answerLines(app) {
  const { grid, manifest } = app.source;
  const { height, width } = manifest.model.image;
  const found = answerOf(app);
  return [
    el("p", { class: "vv-drawing-word", text: found?.text ?? app.t("saysNothing", { height, width }) }),
    ...(found?.why ? [el("p", { class: "vv-note", text: found.note })] : []),
    ...rivalsOf(app).map(({ name, text }) => el("p", { class: "vv-note", text: name + ": " + text })),
    el("p", { class: "vv-note", text: app.t("drawSeen", { height, width, patches: grid.rows * grid.cols }) }),
  ];
}

/**
 * Sends a request, and again if it gets lost.
 * @param {() => Promise<void>} ask  resolves when it is answered
 */
export async function patiently(ask) {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    let patience = 0;
    const late = new Promise((resolve) => {
      patience = setTimeout(resolve, PATIENCE_MS, true);
    });
    const lost = await Promise.race([ask(), late]);
    clearTimeout(patience);
    if (!lost) return;
  }
  throw refusal("noReply");
}

const nameOf = (number) => "drawing-" + number + ".png";
