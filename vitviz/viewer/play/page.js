/** Page: shows the runs. */

import { grouped, percent } from "../maths/numbers.js";
import { el, setText, show } from "../parts/dom.js";
import { fileField } from "../parts/drops.js";
import { allow, button, choice, dressPlayer } from "../parts/widgets.js";
import { createOneStep } from "./onestep.js";
import { createChanges } from "./changes.js";
import { createCurves } from "./curves.js";
import { SHOWN, createGuesses } from "./guesses.js";
import { createInside } from "./inside.js";
import { nameOf } from "./settings.js";

const MOST_LOSS = 2.5;
const PACES = [1, 10, null]; // steps a second

/**
 * @param {{say: import("./texts.js").Say, digits: import("./playground.js").Digits,
 *   runs: import("./runs.js").Runs, fixed: string[], on: Record<string, (...all: any[]) => void>}} of
 */
export function createPage({ say, digits, runs, fixed, on }) {
  const { test, classes } = digits;
  const player = button({ sign: "play", title: say("play"), onClick: on.play });
  const playText = el("span");
  const step = button({ text: say("step"), title: say("stepTitle"), onClick: () => runs.step() });
  const again = button({
    text: say("again"),
    title: say("againTitle"),
    onClick: () => {
      runs.again();
    },
  });
  const copy = button({ text: say("link"), title: say("linkTitle"), onClick: on.link });
  player.classList.add("vv-play-player");
  const buttons = el("div", { class: "vv-play-buttons" }, player, step, again, copy);
  const speed = choice({
    label: say("speed"),
    options: PACES.map((value) => ({
      value,
      text: value === null ? say("speedFull") : say("speedSteps", { count: value }),
    })),
    onChoose: (value) => runs.setPace(value),
  });
  speed.root.classList.add("vv-play-speed");
  const [big, of, state, note] = [
    el("b", { class: "vv-play-big" }),
    el("span"),
    el("p", { class: "vv-play-state" }),
    el("p", { class: "vv-play-note" }),
  ];
  const live = el("p", { class: "vv-live", role: "status" });
  const list = el("div", { class: "vv-play-runs", role: "group", "aria-label": say("runs") });
  const shares = [0, 0.25, 0.5, 0.75, 1].map((value) => ({ value, text: 100 * value + "%" }));
  const rights = createCurves({
    label: say("rightCurve", { count: grouped(test.labels.length) }),
    axis: say("stepAxis"),
    scale: { min: 0, max: 1 },
    ticks: shares,
  });
  const losses = createCurves({
    label: say("lossCurve"),
    axis: say("stepAxis"),
    scale: { min: 0, max: MOST_LOSS },
    ticks: [0, 0.5, 1, 1.5, 2].map((value) => ({ value, text: String(value) })),
  });
  const guesses = createGuesses(digits, say, on.choose);
  const changes = createChanges(say, fixed, (parts) => on.start({ ...runs.current.settings, ...parts }));
  const away = button({
    text: say("takeAway"),
    title: say("takeAwayTitle"),
    onClick: () => on.start({ ...runs.current.settings, positions: "none" }, true),
  });
  away.classList.add("vv-play-away");
  const result = el(
    "section",
    { "aria-label": say("result") },
    buttons,
    speed.root,
    el("p", { class: "vv-play-right" }, big, of),
    state,
    note,
    away,
    list,
    rights.root,
    losses.root,
  );
  const few = Math.min(SHOWN, test.labels.length);
  const shown = el(
    "section",
    { "aria-label": say("guesses", { count: few }) },
    el("h3", { text: say("guesses", { count: few }) }),
    el("p", { class: "vv-note", text: say("guessesNote") }),
    guesses.root,
  );
  const input = fileField(".safetensors", on.load);
  const taking = [
    { text: say("show"), title: say("showTitle"), does: on.show },
    { text: say("save"), title: say("saveTitle"), does: on.save },
  ].map(({ does, ...named }) =>
    button({
      ...named,
      onClick: () => {
        if (hasModel(runs.current)) does();
      },
    }),
  );
  const files = el(
    "div",
    { class: "vv-play-buttons" },
    ...taking,
    button({ text: say("load"), title: say("loadTitle"), onClick: () => input.click() }),
    input,
  );
  const inside = createInside(digits, say);
  const within = el(
    "section",
    { class: "vv-play-inside", "aria-label": say("inside") },
    el("h3", { text: say("inside") }),
    files,
    inside.root,
    createOneStep(digits, say, (index) => runs.apart(index)).root,
  );
  const columns = el("div", { class: "vv-play-columns" }, result, shown, changes.root, within);
  // A form of its own: radio buttons of the viewer can have the same names.
  const root = el(
    "form",
    { class: "vv-play-page", onsubmit: (event) => event.preventDefault() },
    columns,
    el("p", { class: "vv-note", text: say("terms") }),
    live,
  );
  const chips = new Map(); // by the numbers of runs
  let dressed = /** @type {boolean|null} */ (null);
  // a message stays until another run is selected, or this one begins or ends something
  let [heard, last] = ["", ""];
  return {
    root,
    render,
    inside,
    showsInside: () => within.getBoundingClientRect().top < innerHeight,
    speak: () => setText(live, spoken()),
    hear,
  };

  function spoken() {
    const run = runs.current;
    return run.right !== null && run.steps > 0
      ? say("spoken", { step: grouped(run.step), steps: grouped(run.steps), right: percent(run.right) })
      : "";
  }

  function hear(text) {
    [heard, last] = [text, nowOf(runs.current)];
    setText(note, heard);
    for (const node of [note, big]) node.scrollIntoView({ block: "nearest" }); // a file is chosen further down
  }

  function render({ run, chosen, hidden }) {
    const playing = runs.playing;
    if (playing !== dressed) {
      dressPlayer(player, playing, say(playing ? "pause" : "play"));
      player.append(playText);
      setText(playText, say(playing ? "pauseText" : "playText"));
    }
    dressed = playing;
    allow(player, playing || runs.canPlay());
    allow(step, runs.canLearn(run));
    for (const control of taking) allow(control, hasModel(run));
    speed.set(runs.pace);
    show(again, run.name === null);
    setText(big, run.right === null ? "–" : percent(run.right));
    setText(of, say("ofDigits", { count: grouped(test.labels.length), chance: percent(1 / classes.length) }));
    setText(
      state,
      run.name !== null
        ? ""
        : run.steps
          ? say("state", {
              step: grouped(run.step),
              steps: grouped(run.steps),
              parameters: grouped(run.parameters),
              rate: Math.round(run.pace),
            })
          : say("beginning"),
    );
    const key = run.name === null ? { ready: "ready", done: "done", failed: "failed" }[run.state] : "ofFile";
    const now = nowOf(run);
    if (now !== last) [heard, last] = ["", now];
    setText(note, heard || (hidden ? say("hidden") : key ? say(key, { why: run.why }) : ""));
    renderRuns(run);
    const steps = Math.max(...runs.all.map((other) => other.steps));
    const lines = (of_) => runs.all.map((other) => ({ ...other, points: of_(other), lit: other === run }));
    rights.render(
      lines((other) => other.rights),
      steps,
      ["0", grouped(steps)],
    );
    losses.render(
      lines((other) => other.losses),
      steps,
      ["0", grouped(steps)],
    );
    guesses.render(run.answers, chosen);
    inside.confuse(run.answers);
    changes.render(run.settings);
    show(away, run.name === null && run.settings.positions !== "none");
    Object.assign(root.dataset, { state: run.state, step: run.step, runs: runs.all.length });
  }

  function renderRuns(current) {
    for (const number of [...chips.keys()])
      if (!runs.all.some((run) => run.number === number)) {
        chips.get(number).node.remove();
        chips.delete(number);
      }
    for (const run of runs.all) {
      if (!chips.has(run.number)) {
        const right = el("b");
        const node = el(
          "button",
          {
            type: "button",
            class: "vv-play-run vv-series-" + run.colour,
            onclick: () => runs.choose(run),
          },
          el("i", { "aria-hidden": "true" }),
          el("span", { text: run.name ?? nameOf(run.settings, say) }),
          right,
        );
        chips.set(run.number, { node, right });
        list.append(node);
      }
      const { node, right } = chips.get(run.number);
      node.setAttribute("aria-pressed", String(run === current));
      setText(right, run.right === null ? "" : percent(run.right));
    }
  }
}

/**
 * Whether the weights of a run can be saved: those of a failed run are gone with its learner.
 * @param {import("./runs.js").Run} run
 */
const hasModel = ({ state }) => state !== "failed";

/**
 * A value that changes when another run is selected, or the run begins or ends something.
 * @param {import("./runs.js").Run} run
 */
const nowOf = ({ number, state }) => number + state;
