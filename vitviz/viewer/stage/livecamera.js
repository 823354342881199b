/**
 * Live camera: the picture with the answer and the attention of the model, as often as the model can. No
 * frame is sent, and only those that a visitor marks as wrong are kept, until the camera is closed.
 */

import { attentionRows, layerOf, meanOfHeads } from "../maths/attention.js";
import { SPOTLIGHT, tableOver } from "../maths/colour.js";
import { cutsOf } from "../maths/cuts.js";
import { neighbour, placeOf, tokenAt } from "../maths/geometry.js";
import { percent } from "../maths/numbers.js";
import { framing, inChannels, pictureOf } from "../maths/pixels.js";
import { resultsOf } from "../maths/predictions.js";
import { patchScale } from "../maths/scales.js";
import { answerOf, rivalsOf } from "../text/answer.js";
import { saidOf } from "../text/phototold.js";
import { counted } from "../text/words.js";
import { mapCanvas } from "../parts/canvas.js";
import { headOf } from "../parts/dialog.js";
import { el, setText, show } from "../parts/dom.js";
import { button, choice } from "../parts/widgets.js";
import { createAtHand } from "./athand.js";
import { createMarks } from "./marks.js";
import { createMistaken } from "./mistaken.js";
import { placeBox } from "./picture.js";
import { createShutter, createStream } from "./stream.js";

/** Pause between two answers for screen readers, and between two counts of pictures per second. */
const TELL_MS = 2000;

/** The arrow key that goes the same way in a picture that is not mirrored. */
const MIRRORED = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" };

/**
 * @param {any} app
 * @param {{runner: import("../passes/localmodels.js").LocalModel, take: (picture: Blob, name: string) => void,
 *   close: () => void}} on
 *   runner: of the model that is shown; take: makes a picture the photo of the page; close: nobody needs the
 *   camera any more
 * @returns {{root: HTMLElement, render: () => void, end: () => void}}
 */
export function createLiving(app, { runner, take, close }) {
  const say = (key, values = {}) => saidOf({ key, values })[app.language];
  const field = createField(app, say, () => render());
  const stream = createStream((now) => {
    state = now;
    render();
    if (now === "on") film();
  });
  const [word, why, note, rate, heard] = [
    el("p", { class: "vv-drawing-word" }),
    el("p", { class: "vv-note" }),
    el("p", { role: "status" }),
    el("p", { class: "vv-note" }),
    el("p", { class: "vv-heard", role: "status" }),
  ];
  const root = el("section", { class: "vv-drawing vv-living", onkeydown: keyed });
  const tools = {};
  const atHand = createAtHand(app, say);
  const mistaken = createMistaken(say);
  let [state, language, frames, filming] = ["coming", "", 0, 0];
  let answered = /** @type {ImageData|null} */ (null); // the last answered frame
  field.root.prepend(stream.video);
  field.root.append(note);
  render();
  begin();
  return {
    root,
    render,
    end() {
      state = "closed";
      stream.end();
      root.remove();
    },
  };

  async function begin() {
    await runner.ready;
    if (state !== "coming") return;
    if (runner.engine) stream.start();
    else state = "no_model";
    render();
  }

  /** Builds everything again in another language; otherwise updates what may have changed. */
  function render() {
    if (state === "closed") return;
    if (language !== app.language) build();
    root.dataset.state = state;
    // People know themselves from mirrors. Only what they see is mirrored, not what the model gets.
    if (state === "on") field.mirror(stream.facesPerson());
    setText(note, state === "on" ? "" : say("camera_" + state, { share: percent(runner.share) }));
    show(note, state !== "on");
    const possible = {
      keep: answered,
      start: !["coming", "asking", "on", "no_model", "broken"].includes(state),
      stop: stream.isOn(),
      other: stream.others()[0],
      back: field.out.size > 0,
    };
    const held = /** @type {HTMLElement|null} */ (document.activeElement);
    for (const [name, offered] of Object.entries(possible)) show(tools[name], Boolean(offered));
    // a hidden button has no focus
    if (held?.hidden && Object.values(tools).includes(held)) field.root.focus({ preventScroll: true });
  }

  function build() {
    language = app.language;
    const pressed = {
      keep,
      start: () => stream.start(),
      stop: stream.stop,
      other: () => stream.start(stream.others()[0]),
      back: field.back,
    };
    for (const [name, onClick] of Object.entries(pressed))
      tools[name] = button({ text: say("camera_" + name), title: say("camera_" + name + "_title"), onClick });
    mistaken.build();
    atHand.build(app.source.manifest.model.labels ?? runner.known?.facts.labels ?? []);
    root.setAttribute("aria-label", say("camera_title"));
    root.replaceChildren(
      headOf(app.t, say("camera_title"), close),
      el(
        "div",
        { class: "vv-drawing-row" },
        field.root,
        el(
          "div",
          { class: "vv-drawing-side" },
          el("div", { class: "vv-living-answer" }, word, why),
          el("div", { class: "vv-drawing-tools" }, ...Object.values(tools)),
          mistaken.root,
          field.build(heard),
          atHand.root,
        ),
      ),
      el("p", { class: "vv-note", text: say("camera_cover") }),
      rate,
      el("p", { class: "vv-note", text: say("camera_private") }),
      heard,
    );
  }

  async function film() {
    const mine = ++filming;
    const goesOn = () => mine === filming && state === "on";
    try {
      await answerFrames(goesOn);
    } catch (error) {
      if (!goesOn()) return; // a newer film has overtaken it
      stream.stop();
      state = "broken";
      render();
      throw error;
    }
  }

  /**
   * Runs frame after frame: takes the newest one when the answer to the one before is drawn. Rejected when
   * the engine stops.
   */
  async function answerFrames(goesOn) {
    const { engine, known } = /** @type {any} */ (runner);
    const { facts } = known;
    let [since, before] = [performance.now(), frames];
    for (;;) {
      await new Promise(requestAnimationFrame); // there is none while nobody sees the page
      if (!goesOn()) return;
      const frame = field.shoot(stream.video);
      if (!frame) continue;
      const seen = pictureOf(inChannels(frame, facts.preprocess.channels), facts.preprocess);
      const interventions =
        field.out.size > 0 ? [{ kind: "remove", patches: [...field.out].sort((a, b) => a - b) }] : [];
      const pass = await engine.run({ picture: new Uint8Array(seen.data), interventions, lane: "living" });
      if (!goesOn()) return;
      field.draw(pass, facts.preprocess);
      answer(pass, facts);
      [answered, root.dataset.frames] = [frame, String(++frames)];
      show(tools.keep, true);
      const passed = performance.now() - since;
      if (passed < TELL_MS) continue;
      setText(rate, say("camera_rate", { rate: ((1000 * (frames - before)) / passed).toFixed(0) }));
      setText(heard, word.textContent);
      [since, before] = [performance.now(), frames];
    }
  }

  /** @param {import("../engine/core.js").Pass} pass */
  function answer({ logits }, facts) {
    const { manifest } = app.source;
    const { model } = manifest;
    const results = resultsOf(
      model.head === "classes" ? logits : [],
      model,
      model.labels ?? facts.labels ?? {},
    );
    const of = { t: app.t, language, source: { manifest: { ...manifest, pass: results } } };
    const told = answerOf(of);
    if (field.out.size === 0) atHand.hear(results.answer);
    const named = field.out.size === 0 && ["answer", "maybe"].includes(results.answer?.level ?? "");
    mistaken.hear(named ? (told?.text ?? "") : "", field.view);
    setText(word, told?.text ?? say("camera_no_classes"));
    setText(
      why,
      told?.note ||
        rivalsOf(of)
          .map(({ name, text }) => name + " " + text)
          .join(", "),
    );
  }

  /** Makes the last frame that was answered the photo of the page. */
  function keep() {
    const { width, height } = /** @type {ImageData} */ (answered);
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    canvas.getContext("2d").putImageData(answered, 0, 0);
    close();
    canvas.toBlob((blob) => take(blob, "webcam.png"));
  }

  /** The keys of the viewer mean something else here. */
  function keyed(event) {
    event.stopPropagation();
    if (event.key === "Escape") close();
  }
}

/**
 * The picture: a frame, where a token looks in it, and patches that are taken out.
 * @param {any} app
 * @param {(key: string, values?: any) => string} say
 * @param {() => void} changed  other patches are out
 */
function createField(app, say, changed) {
  const { grid } = app.source;
  const { model } = app.source.manifest;
  // of the last answer; of the next one
  const [view, shutter] = [el("canvas", { class: "vv-pixels" }), createShutter(model.image)];
  const map = mapCanvas(grid.rows, grid.cols, "vv-overlay");
  const marks = createMarks(grid);
  const cursor = el("div", { class: "vv-box vv-pointed" });
  const root = el(
    "div",
    { class: "vv-picture", tabindex: "0", role: "application", onclick: tapped },
    view,
    map.canvas,
    marks.canvas,
    cursor,
  );
  const out = /** @type {Set<number>} */ (new Set());
  let token = grid.prefix;
  let mirrored = false;
  const hasCls = model.prefix_tokens[0] === "cls_token";
  let looks = hasCls ? "cls" : "selected"; // where the map is from; "none"
  placeBox(cursor, -1, grid);
  for (const side of ["width", "height"]) map.canvas.style[side] = marks.canvas.style[side];
  root.style.aspectRatio = model.image.width + " / " + model.image.height;
  root.style.setProperty("--vv-ratio", model.image.width / model.image.height);
  return {
    root,
    view,
    out,
    build,
    shoot,
    draw,
    /** @param {boolean} wanted  whether left and right are exchanged for the eye */
    mirror(wanted) {
      mirrored = wanted;
      root.classList.toggle("vv-mirrored", wanted);
    },
    back() {
      out.clear();
      changed();
    },
  };

  /** @param {HTMLElement} heard  what a screen reader hears */
  function build(heard) {
    root.setAttribute("aria-label", say("camera_picture"));
    root.onkeydown = (event) => steered(event, heard);
    const seen = choice({
      label: say("camera_looks"),
      wrap: true,
      onChoose: (value) => {
        looks = value;
      },
      options: (hasCls ? ["cls", "selected", "none"] : ["selected", "none"]).map((value) => ({
        value,
        text: say("camera_looks_" + value),
        title: say("camera_looks_" + value + "_title"),
      })),
    });
    seen.set(looks);
    return seen.root;
  }

  /** The present frame; null before the first. @param {HTMLVideoElement} video */
  function shoot(video) {
    const frame = shutter.shoot(video);
    if (frame && (view.width !== frame.width || view.height !== frame.height))
      Object.assign(view, { width: frame.width, height: frame.height });
    return frame;
  }

  /**
   * Draws the part of the last frame that the patches lie on: many models cut a photo's edges off.
   * @param {import("../engine/core.js").Pass} pass  of the last frame
   * @param {import("../maths/pixels.js").Preprocess} preprocess
   */
  function draw(pass, preprocess) {
    const [top, left, bottom, right] = framing(shutter.canvas, preprocess);
    const { width, height } = view;
    const pen = view.getContext("2d");
    pen.clearRect(0, 0, width, height);
    pen.drawImage(shutter.canvas, left, top, right - left, bottom - top, 0, 0, width, height);
    marks.draw(pass.removed);
    const values = mapOf(pass);
    const { colours, opacity } = app.taste;
    if (values) map.draw(values, grid.prefix, patchScale(values, grid), tableOver(colours));
    else map.clear();
    map.canvas.style.opacity = String(colours === SPOTLIGHT ? 1 : opacity);
  }

  /**
   * The attention map to show: of CLS at the end, on the mean of its heads, or of the token selected on the
   * page; null: no map.
   */
  function mapOf({ layers, removed }) {
    const atEnd = { layer: model.depth - 1, head: "mean", direction: "from", token: 0 };
    const { layer, head, direction, token: of } = looks === "cls" ? atEnd : app.selection;
    if (looks === "none" || removed.includes(of - grid.prefix)) return null;
    const { num_heads: heads, num_tokens: tokens } = model;
    const isCut = cutsOf({ model, pass: /** @type {any} */ ({ changes: [], removed }) }, layer);
    const rows = attentionRows(layerOf(layers[layer], model, isCut), of, direction);
    return head === "mean" ? meanOfHeads(rows, heads) : rows.subarray(head * tokens, (head + 1) * tokens);
  }

  /** Removes a patch, or puts it back; the last one cannot be removed. */
  function change(patch) {
    if (!out.delete(patch) && out.size < grid.rows * grid.cols - 1) out.add(patch);
    changed();
  }

  function tapped({ clientX, clientY }) {
    const box = root.getBoundingClientRect();
    const across = mirrored ? box.right - clientX : clientX - box.left;
    const at = tokenAt(across, clientY - box.top, box, grid);
    if (at !== null) change(at - grid.prefix);
  }

  function steered(event, heard) {
    if (["Enter", " "].includes(event.key)) change(token - grid.prefix);
    else if (event.key.startsWith("Arrow")) {
      const key = (mirrored && MIRRORED[event.key]) || event.key;
      token = Math.max(grid.prefix, neighbour(token, key, grid));
    } else return;
    event.preventDefault();
    placeBox(cursor, token, grid);
    const name = app.t("patchShort", counted(placeOf(token, grid), app));
    setText(heard, name + ": " + say(out.has(token - grid.prefix) ? "camera_out" : "camera_in"));
  }
}
