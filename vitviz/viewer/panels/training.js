/** Panel Training: the film of how this model learned, moment by moment. */

import { pictureCanvas, mapCanvas } from "../parts/canvas.js";
import { SPOTLIGHT, colourTable, largest, tableOver, toRgba } from "../maths/colour.js";
import { leastEnd } from "../maths/scales.js";
import { el, setText, show } from "../parts/dom.js";
import { answersAt, attentionAt, epochText, knowsNothing, pixelsOf, similarityAt } from "../data/film.js";
import { mapRatio, middleToken, placeOf, samePlace, tokenOf } from "../maths/geometry.js";
import { createLegend } from "../parts/legend.js";
import { createLineChart, createReading } from "../parts/linechart.js";
import { createPatchMosaic } from "../parts/mosaic.js";
import { digits, grouped, multiple, percent, percents } from "../maths/numbers.js";
import { createPatchMap } from "../parts/patchmap.js";
import { createFileView } from "../parts/waiting.js";
import { button, choice, dressPlayer, slider } from "../parts/widgets.js";
import { codeOf } from "../text/python.js";
import { counted, headName, labelName, translated } from "../text/words.js";

/** The moment of the film that is selected; it may be above the last of this film. */
const MOMENT = {
  start: "last",
  possible: (value) => value === "last" || (Number.isInteger(value) && value >= 0),
};

/** @type {import("../state/panels.js").PanelDescription} */
export const training = {
  id: "training",
  group: "try",
  alone: true,
  whole: true,
  note: stageNote,
  selects: { moment: MOMENT },
  lights: ({ selection: { layer }, source: { film } }) => (film.exists ? [layer] : []),
  create,
  saves,
  code,
};

/** Says whether the large picture is the start or the end of the film. */
function stageNote({
  t,
  source: {
    film,
    manifest: { model },
  },
}) {
  return film.exists ? t(model.trained === false ? "filmStageBefore" : "filmStage") : "";
}

/** Code for the attention of CLS in the pictures of the film, at the selected moment. */
function code({ moment, layer, head }, { manifest, film: { here } }) {
  const last = here && here.moments.length - 1;
  return (
    here &&
    codeOf(manifest, "training", {
      moment: moment === "last" ? last : Math.min(moment, last),
      layer: Math.min(layer, here.layers - 1),
      head: head === "mean" ? head : Math.min(head, here.heads - 1),
    })
  );
}

/** The film shows each moment for this long. */
const FRAME_MS = 600;
const ANSWERS = 3;
const COSINES = { min: -1, max: 1 };
const SHARES = { min: 0, max: 1 };
const SHARE_TICKS = [0, 0.5, 1].map((value) => ({ value, text: 100 * value + "%" }));

/** @param {import("../main.js").App} app */
function create(app) {
  const { root, view, render } = createFileView(
    app,
    el("div"),
    () => app.source.film,
    "filmLoading",
    (film) => createView(app, film),
    { none: "filmNone", lost: "filmFailed", line: "vv-text" },
  );
  return { root, render: ({ token }) => render(token), destroy: () => view()?.stop() };
}

function createView(app, film) {
  const { t } = app;
  const last = film.moments.length - 1;
  const player = createPlayer(app, last, {
    onMoment: play,
    onEnd: () => go(moment),
    onLeave: () => {
      chosen = null;
    },
  }); // on return the panel shows the moment that the link has
  const scrubber = slider({
    label: t("filmMoment"),
    min: 0,
    max: last,
    step: 1,
    format: (moment) => t("filmAt", facts(film.moments[moment])),
    onInput: go,
  });
  const accuracy = createAccuracy(app, film, go);
  const looks = createLooks(app, film);
  const places = film.positions && createPlaces(app, film);
  const root = el(
    "div",
    { class: "vv-film" },
    el("p", { class: "vv-intro", text: t("filmIntro", { count: film.moments.length }) }),
    ...(film.beganWith
      ? [el("p", { class: "vv-note", text: t("filmBegan", { origin: translated(film.beganWith, app) }) })]
      : []),
    el("div", { class: "vv-film-knobs" }, player.root, scrubber.root),
    accuracy.root,
    ...measuredOn(app),
    looks.root,
    ...(places ? [places.root] : []),
  );
  let chosen = null; // the selected moment when it was drawn last
  let moment = last; // the shown moment; while the film plays the selection stays
  return { root, render, stop: player.stop };

  function play(next) {
    moment = next;
    render(app.pointer.shownToken());
  }

  function go(wanted) {
    player.stop();
    play(wanted);
    app.select({ moment: wanted === last ? "last" : wanted });
  }

  function render(token) {
    if (chosen !== app.selection.moment) {
      player.stop();
      chosen = app.selection.moment;
      moment = chosen === "last" ? last : Math.min(chosen, last);
    }
    scrubber.set(moment);
    player.at(moment);
    accuracy.render(moment);
    looks.render(moment);
    places?.render(moment, token);
  }
}

/** The numbers of a moment, formatted. */
function facts({ epoch, images, seconds, top1, top5 }) {
  return {
    epoch: epochText(epoch),
    images: grouped(images),
    minutes: Math.round(seconds / 60),
    top1: percent(top1),
    top5: percent(top5),
  };
}

/**
 * Plays from the shown moment, or from the beginning if that is the last; with prefers-reduced-motion
 * each press goes on by one moment. onEnd: called when it is paused or ends; onLeave: when the panel is left.
 */
function createPlayer(app, last, { onMoment, onEnd, onLeave }) {
  const { t } = app;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const root = button({
    sign: still ? "next" : "play",
    title: t(still ? "filmNext" : "filmPlay"),
    onClick: press,
  });
  if (!still) root.setAttribute("aria-pressed", "false");
  let moment = last;
  let timer = 0;
  return {
    root,
    stop,
    at: (now) => {
      moment = now;
    },
  };

  function press() {
    if (timer) {
      stop();
      return onEnd();
    }
    onMoment(moment === last ? 0 : still ? moment + 1 : moment);
    if (still) return onEnd();
    timer = setInterval(() => {
      if (!root.isConnected || root.offsetParent === null) {
        stop();
        return onLeave();
      }
      if (moment < last) return onMoment(moment + 1);
      stop();
      return onEnd();
    }, FRAME_MS);
    return dress();
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    if (!still) dress();
  }

  function dress() {
    dressPlayer(root, Boolean(timer), t(timer ? "pause" : "filmPlay"));
  }
}

/**
 * Number of pictures behind the figures of a film. The finished model may be measured on more, in panel
 * Model.
 */
function measuredOn({
  t,
  source: {
    manifest: {
      model: {
        measurements: { watched, pictures },
      },
    },
  },
}) {
  const [count, all] = [watched, pictures].map((number) => grouped(number ?? 0));
  return watched
    ? [
        el("p", {
          class: "vv-note",
          text: t(watched < pictures ? "filmMeasured" : "filmMeasuredAll", { count, all }),
        }),
      ]
    : [];
}

function createAccuracy(app, film, onMoment) {
  const { t } = app;
  const { moments } = film;
  const chart = createLineChart({
    label: t("filmChart"),
    axis: t("filmAxis"),
    columns: moments.map(({ epoch }) => epochText(epoch)),
    height: 9,
    onChoose: onMoment,
  });
  const reading = createReading();
  const lines = [
    ["filmTop1", "top1"],
    ["filmTop5", "top5"],
  ].map(([key, field]) => {
    const values = moments.map((moment) => moment[field]);
    return {
      name: t(key),
      values,
      title: t("filmLine", {
        name: t(key),
        first: percent(values[0]),
        last: percent(values[values.length - 1]),
      }),
    };
  });
  return {
    root: el("div", {}, chart.root, reading.root),
    render(moment) {
      const text = t("filmReading", facts(moments[moment]));
      chart.render({ lines, scale: SHARES, ticks: SHARE_TICKS, marked: moment, reading: text });
      reading.render(text);
    },
  };
}

/**
 * The pictures of the film, with the attention from CLS and the predictions. The line chooses the layer, and
 * the stage the head, where the film has them all.
 */
function createLooks(app, film) {
  const { t } = app;
  const title = el("h4");
  const { depth, num_heads: heads } = app.source.manifest.model;
  const layer =
    film.layers === depth
      ? null
      : slider({
          label: t("layer"),
          min: 0,
          max: film.layers - 1,
          step: 1,
          format: (value) => t("ofCount", { value, last: film.layers - 1 }),
          onInput: (value) => app.select({ layer: value }),
        });
  const head =
    film.heads === heads
      ? null
      : choice({
          label: t("head"),
          wrap: true,
          onChoose: (value) => app.select({ head: value }),
          options: ["mean", ...Array(film.heads).keys()].map((value) => ({
            value,
            text: value === "mean" ? t("mean") : String(value),
          })),
        });
  const pictures = film.names.map((_, picture) => createPicture(app, film, picture));
  const root = el(
    "div",
    { class: "vv-film" },
    title,
    layer || head ? el("div", { class: "vv-knobs" }, layer && layer.root, head && head.root) : null,
    el("div", { class: "vv-figures vv-thirds" }, ...pictures.map((picture) => picture.root)),
    el("p", { class: "vv-note", text: t("filmLooksNote") }),
  );
  return {
    root,
    render(moment) {
      const chosen = {
        layer: Math.min(app.selection.layer, film.layers - 1),
        head: app.selection.head === "mean" ? "mean" : Math.min(app.selection.head, film.heads - 1),
      };
      setText(title, t("filmLooks", chosen));
      layer?.set(chosen.layer);
      head?.set(chosen.head);
      for (const picture of pictures) picture.render(moment, chosen);
    },
  };
}

function createPicture(app, film, picture) {
  const { t } = app;
  const { height, width, channels, prefix, tokens, rows, cols, labels } = film;
  const rgba = toRgba(pixelsOf(film, picture), channels);
  const map = mapCanvas(rows, cols);
  map.canvas.setAttribute("role", "img");
  const entries = Array.from({ length: Math.min(ANSWERS, labels.length) }, () => {
    const [name, share] = [el("span"), el("b")];
    return { root: el("li", {}, name, share), name, share };
  });
  const scale = el("p", { class: "vv-note" });
  const root = el(
    "figure",
    { class: "vv-figure" },
    el("figcaption", { text: translated(film.names[picture], app) }),
    el("div", { class: "vv-film-picture" }, pictureCanvas(rgba, height, width, "vv-enlarged"), map.canvas),
    el("ol", {}, ...entries.map((entry) => entry.root)),
    scale,
  );
  return {
    root,
    render(moment, { layer, head }) {
      const values = attentionAt(film, moment, picture, layer, head);
      const spotlight = app.taste.colours === SPOTLIGHT;
      const max = largest(values, prefix, tokens, leastEnd(tokens));
      map.draw(values, prefix, { min: 0, max }, tableOver(app.taste.colours));
      setText(scale, t("filmScale", { max: digits(max), times: multiple(max * tokens) }));
      map.canvas.style.opacity = String(spotlight ? 1 : app.taste.opacity);
      map.canvas.setAttribute(
        "aria-label",
        t("filmMap", { name: translated(film.names[picture], app), layer, head: headName(head, app) }),
      );
      const answers = answersAt(film, moment, picture, ANSWERS);
      const shares = percents(answers.map(({ probability }) => probability));
      const even = knowsNothing(answers, labels.length);
      entries.forEach(({ root: entry, name, share }, at) => {
        setText(name, even ? t("filmNothing") : labelName(answers[at].label, app));
        setText(share, shares[at]);
        show(entry, !even || at === 0);
      });
    },
  };
}

/** Cosine similarity of positions: of the selected patch, and of all patches as a mosaic. */
function createPlaces(app, film) {
  const { t } = app;
  const { grid } = app.source;
  const { rows, cols, height, width } = film;
  const filmed = {
    rows,
    cols,
    prefix: 0,
    tokens: rows * cols,
    height,
    width,
    patchHeight: height / rows,
    patchWidth: width / cols,
  };
  const map = createPatchMap(filmed);
  const title = el("figcaption");
  const label = t("positionsAll", { count: rows * cols });
  const mosaic = createPatchMosaic(filmed, mapRatio(filmed), label);
  const legend = createLegend(t);
  const go = (place) => {
    if (!place) return;
    const { row, col } = samePlace(place, film, grid);
    app.select({ token: tokenOf(row, col, grid), pinned: true });
  };
  mosaic.frame.addEventListener("click", (event) => go(mosaic.cellAt(event)));
  map.frame.addEventListener("click", (event) => {
    const patch = map.tokenOf(event);
    if (patch !== null) go(placeOf(patch, filmed));
  });
  const root = el(
    "div",
    { class: "vv-film" },
    el("h4", { text: t("filmPositions") }),
    el(
      "div",
      { class: "vv-figures" },
      el("figure", { class: "vv-figure" }, map.frame, title),
      el("figure", { class: "vv-figure" }, mosaic.frame, el("figcaption", { text: label })),
    ),
    legend.root,
  );
  let drawn = -1; // the moment that the mosaic shows
  return {
    root,
    render(moment, token) {
      const table = colourTable("diverging");
      const place = samePlace(placeOf(token, grid) ?? placeOf(middleToken(grid), grid), grid, film);
      const patch = tokenOf(place.row, place.col, filmed);
      map.draw(similarityAt(film, moment, patch), 0, COSINES, table);
      map.mark(patch);
      setText(title, t("filmPosition", counted(place, app)));
      mosaic.mark(place);
      legend.render({ scale: COSINES, colours: "diverging", uniform: null, note: t("scale_positions") });
      if (drawn === moment) return;
      drawn = moment;
      for (let at = 0; at < film.patches; at++) {
        mosaic.draw(Math.floor(at / cols), at % cols, similarityAt(film, moment, at), 0, COSINES, table);
      }
    },
  };
}

/** Saves the metrics of every filmed moment of the training. */
function saves({ source: { film } }) {
  if (!film.exists) return { tables: {}, figures: [] };
  const columns = ["step", "epoch", "images", "seconds", "loss", "top1", "top5"];
  const rows = film.here?.moments.map((moment) => columns.map((name) => moment[name] ?? NaN));
  return { figures: ["training"], tables: rows ? { training: { columns, rows } } : {} };
}
