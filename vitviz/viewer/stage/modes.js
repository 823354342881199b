/**
 * Modes of the picture: look or erase, before or after. Also lists interventions that no pixel shows, and
 * counts the patches that are left.
 */

import { pictureCanvas } from "../parts/canvas.js";
import { el, setText, show } from "../parts/dom.js";
import { OPERATED, removedIn, touches } from "../state/experiment.js";
import { answerOf, isAnswer, likenessOf, movedText, nameOf, vectorName } from "../text/answer.js";
import { changeName } from "../text/words.js";
import { choice } from "../parts/widgets.js";

/** Slower answers do not follow the hand. */
const SLOW_MS = 1000;

/**
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createModes(app) {
  const { t, bench } = app;
  const { grid, manifest } = app.source;
  const mode = choice({
    label: t("mode"),
    onChoose: (erasing) => bench.use({ erasing, on: erasing, ...(erasing ? { tool: "remove" } : {}) }),
    options: [false, true].map((erasing) => ({
      value: erasing,
      text: t(erasing ? "modeErase" : "modeLook"),
      more: t(erasing ? "modeEraseMore" : "modeLookMore"),
      title: t(erasing ? "modeEraseTitle" : "modeLookTitle"),
    })),
  });
  const side = choice({
    label: t("sides"),
    onChoose: (shows) => bench.use({ shows }),
    options: ["before", "after"].map((value) => ({ value, text: t(value), title: t("sidesTitle") })),
  });
  const badges = el("ul", { class: "vv-badges" });
  const finding = el("p", { class: "vv-finding" });
  const heard = el("p", { class: "vv-heard", role: "status" });
  const root = el("div", { class: "vv-modes" }, mode.root, side.root, finding, badges, heard);
  mode.root.dataset.control = "erase";
  // Presses here must not reach the picture.
  for (const kind of ["pointerdown", "pointermove", "pointerup", "click"])
    root.addEventListener(kind, (event) => event.stopPropagation());
  let [since, waited] = [0, 0]; // start of the pending request (0: none), and duration of the last one
  let drawn = []; // the badges that stand there
  return { root, render };

  function render() {
    const changes = bench.list();
    const { coming } = app.sketching.answered();
    if (coming && !since) since = performance.now();
    if (!coming && since) [since, waited] = [0, performance.now() - since];
    show(mode.root, app.backend.changes);
    mode.set(bench.paints());
    show(side.root, changes.length > 0 && bench.marks());
    side.set(bench.shows);
    // Changes of heads, edges, positions or tokens of another picture have no pixels to mark, so words name
    // them.
    const { donors = {} } = (app.second.key === OPERATED && app.second.app?.source.manifest.pass) || {};
    const unseen = changes
      .map((change, at) => ({ change, donor: donors[at] ?? null }))
      .filter(
        ({ change }) => !touches([change], "pixels") && removedIn([change], grid.rows * grid.cols).size === 0,
      );
    const labels =
      bench.marks() && bench.shows === "after"
        ? unseen.map(({ change, donor }) => ({ text: changeName(change, app), donor }))
        : [];
    if (
      labels.length !== badges.children.length ||
      labels.some(({ text, donor }, at) => text !== drawn[at]?.text || donor !== drawn[at].donor)
    ) {
      badges.replaceChildren(
        ...labels.map(({ text, donor }) =>
          el("li", {}, donor && pictureCanvas(donor.rgba, donor.height, donor.width, "vv-donor"), text),
        ),
      );
      drawn = labels;
    }
    show(badges, labels.length > 0);
    show(finding, bench.erases());
    if (!bench.erases()) return;
    const { counted, now, dare } = found(changes);
    setText(finding, counted + " " + dare);
    if (!bench.underWay()) setText(heard, [counted, now, dare].join(" ")); // when the hand rests
  }

  /** A note about erasing for a model whose pass has no answer that could be kept. */
  function without() {
    if (manifest.model.trained === false) return t("eraseTwin");
    const why = { value: "eraseValue", score: "eraseScore" };
    return manifest.pass.answer
      ? t(why[manifest.model.outputs] ?? "eraseStranger")
      : manifest.pass.vector
        ? t("eraseVector", { what: vectorName(app) })
        : "";
  }

  /** How many patches are out, what the model says now, and how few were enough on this device. */
  function found(changes) {
    const patches = grid.rows * grid.cols;
    const out = removedIn(changes, patches).size;
    const answered = app.sketching.answered();
    const other = answered.coming ? null : answered.app;
    const counted = out === 0 ? t("eraseStart") : t("erased", { out, patches });
    const likeness = other && likenessOf(app, other)?.line;
    const line = other && (answerOf(other)?.line ?? (likeness ? "" : movedText(app, other)));
    const answer = [line, likeness].filter(Boolean).join("; ");
    const now = answer ? t("erasedNow", { answer: answer }) : "";
    if (!isAnswer(app.source)) return { counted, now, dare: without() };
    const [before, after] = [manifest.pass.answer, other?.source.manifest.pass.answer];
    // Only what takes patches out counts. A photo of one's own often has the name of another: it is known by
    // its analysis.
    const holds =
      out > 0 &&
      after?.kind === before.kind &&
      after.name === before.name &&
      isAnswer(other.source) &&
      changes.every((change) => removedIn([change], patches).size > 0);
    const { model, photo, pass, upload, template } = manifest;
    const best = app.teaching.records.best(
      [model.name, upload || template ? pass.id : photo.name, grid.tokens, before.name].join("/"),
      holds ? patches - out : null,
    );
    const took = Math.max(waited, app.sketching.took());
    const dare =
      took > SLOW_MS
        ? t("eraseSlow", { seconds: (took / 1000).toFixed(1) })
        : t("eraseDare", { name: nameOf(before, app) });
    return { counted, now, dare: [dare, best === null ? "" : t("eraseBest", { best })].join(" ").trim() };
  }
}
