/**
 * Taking the page home: one HTML file with the analysis, the open lesson, a note, the guesses and the
 * worksheet.
 */

import { layerName } from "../data/layers.js";
import { el, setText } from "../parts/dom.js";
import { OWN } from "../lessons/own.js";
import { OPERATED } from "../state/experiment.js";
import { reasonOf } from "../text/refusal.js";
import { button, toggle } from "../parts/widgets.js";
import { sheetIsReady, worksheet } from "../teaching/worksheet.js";

/** Letters of a note. */
const MOST_NOTE = 2000;
/**
 * With more tokens than these, only the shown layer, the last and those of the lesson are chosen at first.
 */
const MANY_TOKENS = 400;
/** Size of the viewer in such a page, with the overhead of late files and lists. */
const SHELL_BYTES = 1.1e6;
/** Size of the engine without weights, with the playground and its digits. */
const ENGINE_BYTES = 2.05e6;
/** Late files of the values are only in pages of small models: as in payload.py. */
const MOST_MIXING_BYTES = 1e7;
/** Waiting for values that are still being computed: the pause in ms, and the most tries (half a minute). */
const [TRY_MS, MOST_TRIES] = [100, 300];
/** The gap in the page for its content: as in page.html. */
const [OPENING, CLOSING] = ['<script type="application/json" id="taken">', "<" + "/script>"];

/**
 * The part of the dialog Save that makes the page.
 * @param {import("../main.js").App} app
 * @param {(blob: Blob, name: string) => void} download
 * @param {() => string} nameOf  of the file
 * @returns {HTMLElement}
 */
export function createTakeHome(app, download, nameOf) {
  const {
    t,
    source: { manifest },
    selection,
  } = app;
  const few = manifest.model.num_tokens > MANY_TOKENS;
  const taught = neededBy(app);
  const layers = new Set(
    [...Array(manifest.model.depth).keys()].filter(
      (layer) =>
        !few ||
        layer === selection.layer ||
        layer === manifest.model.depth - 1 ||
        taught.layers.includes(layer),
    ),
  );
  let film = showsFilm(selection) || taught.film;
  let engine = false;
  // The dialog closes at a click beside it, and the board is made anew: the page keeps what was written.
  const note = el("textarea", {
    rows: 3,
    maxlength: MOST_NOTE,
    text: app.page.note,
    oninput() {
      app.page.note = note.value;
    },
  });
  const status = el("p", { class: "vv-note", role: "status" });
  const size = el("p", { class: "vv-note" });
  const boxes = [...Array(manifest.model.depth).keys()].map((layer) => {
    const box = toggle({
      label: String(layer),
      onSwitch(on) {
        if (on) layers.add(layer);
        else layers.delete(layer);
        box.set(layers.has(layer));
        tell();
      },
    });
    box.set(layers.has(layer));
    // the layer on the screen is always included
    /** @type {HTMLInputElement} */ (box.root.querySelector("input")).disabled = layer === selection.layer;
    return box.root;
  });
  const filmed = manifest.files.film
    ? toggle({
        label: t("takeFilm"),
        onSwitch(on) {
          film = on;
          tell();
        },
      })
    : null;
  filmed?.set(film);
  const runs = app.backend.explains(manifest)
    ? toggle({
        label: t("takeEngine"),
        onSwitch(on) {
          engine = on;
          tell();
        },
      })
    : null;
  const make = button({ text: t("takeMake"), onClick: save });
  tell();
  return el(
    "section",
    { class: "vv-take" },
    el("h4", { text: t("take") }),
    el("p", { class: "vv-note", text: t("takeHelp") }),
    el("label", {}, el("span", { text: t("takeNote") }), note),
    el(
      "fieldset",
      {},
      el("legend", { text: t("takeLayers") }),
      el("div", { class: "vv-take-layers" }, ...boxes),
    ),
    filmed?.root ?? null,
    runs?.root ?? null,
    size,
    el("div", { class: "vv-save-items" }, make),
    status,
  );

  function tell() {
    setText(
      size,
      t("takeSize", {
        size: megabytes(
          estimate(manifest, layers, film) +
            (engine ? ENGINE_BYTES + (8 / 3) * manifest.model.num_parameters : 0),
        ),
      }),
    );
  }

  async function save() {
    setText(status, t("takeBusy"));
    try {
      const outcomes = app.course.lesson()
        ? await settled(() => sheetIsReady(app) && app.course.outcomes())
        : {};
      const { html } = await app.backend.takeHome({ ...app.source.asked, layers: [...layers], film, engine });
      const page = filled(html, taken(outcomes));
      download(new Blob([page], { type: "text/html;charset=utf-8" }), nameOf());
      setText(status, t("takeDone", { size: megabytes(new TextEncoder().encode(page).length) }));
    } catch (error) {
      setText(status, t("saveFailed", { reason: reasonOf(error, app.language) }));
    }
  }

  /** The contents of this browser that go into the file. */
  function taken(outcomes) {
    const open = app.course.lesson();
    return {
      note: note.value,
      outcomes,
      // An experiment is made again by the model of the page.
      selection: { ...app.selection, beside: engine && app.selection.beside === OPERATED ? OPERATED : "" },
      guesses: open ? app.course.guesses() : {},
      lesson: open?.id === OWN ? (app.teaching.shelf.brought() ?? app.teaching.shelf.draft()) : null,
      sheet: open ? worksheet(app, false) : "",
      sheetTitle: t("lessonSheet"),
    };
  }
}

/** Waits for `read` to return a value. It can take some time, because the host may be busy. */
async function settled(read) {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const found = read();
    if (found) return found;
    await new Promise((done) => {
      setTimeout(done, TRY_MS);
    });
  }
  throw new Error("no answer");
}

/**
 * The layers that the steps of the open lesson need at home, and whether they need the film.
 * @param {{course: import("../lessons/course.js").Course}} app
 * @returns {{layers: number[], film: boolean}}
 */
export function neededBy({ course }) {
  const selections = Array.from({ length: course.count() }, (_, at) => course.inStep(at + 1).selection);
  return { layers: [...new Set(selections.map(({ layer }) => layer))], film: selections.some(showsFilm) };
}

/** Whether a selection shows the film. */
function showsFilm({ panel }) {
  return ["training"].includes(panel);
}

/** About how many bytes the page will have: base64 makes files a third longer. */
export function estimate({ files, model: { depth, num_tokens: tokens, embed_dim: dim } }, layers, film) {
  const others = Object.entries(files)
    .filter(([name]) => !name.startsWith("layer-") && name !== "film")
    .reduce((sum, [, file]) => sum + (file.size ?? 0), 0);
  const halves = 4 * tokens * dim; // q and k of a layer that was computed here, and has no size yet
  const own = [...layers].reduce(
    (sum, layer) => sum + (files[layerName(layer)].size ?? halves) + 2 * tokens * dim,
    0,
  );
  const mixing = dim * (2 * dim + 6 * tokens);
  const values = depth * mixing > MOST_MIXING_BYTES ? 0 : layers.size * mixing;
  return SHELL_BYTES + (4 / 3) * (others + own + values + (film ? (files.film?.size ?? 0) : 0));
}

/**
 * The page with the taken data in its gap. JSON may stand in a script element without its `<`.
 * @param {string} html
 * @param {any} taken
 */
export function filled(html, taken) {
  const at = html.indexOf(OPENING);
  if (at < 0) throw new Error("this page has no place for it");
  const end = html.indexOf(CLOSING, at);
  return (
    html.slice(0, at + OPENING.length) + JSON.stringify(taken).replaceAll("<", "\\u003c") + html.slice(end)
  );
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(1) + " MB";

/**
 * Puts the note above the viewer of a page that was taken home, and the worksheet below it.
 * @param {HTMLElement} content
 * @param {any} taken
 */
export function frameTaken(content, { note, sheet, sheetTitle }) {
  if (note)
    content.before(
      el(
        "aside",
        { class: "vv-taken-note" },
        ...String(note)
          .split("\n")
          .map((line) => el("p", { text: line })),
      ),
    );
  // Of another origin and without scripts: it is only looked at.
  if (sheet)
    content.after(
      el("iframe", {
        class: "vv-taken-sheet",
        sandbox: "",
        srcdoc: String(sheet),
        title: String(sheetTitle),
      }),
    );
}
