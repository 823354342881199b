/** Own: the page on which a visitor teaches a trained model things of their own. */

import { download } from "../parts/download.js";
import { el, keepFocus, setText } from "../parts/dom.js";
import { fileField } from "../parts/drops.js";
import { allow, button } from "../parts/widgets.js";
import { createCheat } from "./owncheat.js";
import { SetError, openSet, setFile } from "./ownfile.js";
import { createKept } from "./ownkept.js";
import { createOwnLive } from "./ownlive.js";
import { checkpointOf, createOwnModel } from "./ownmodel.js";
import { createOwnResult } from "./ownresult.js";
import { MOST_PICTURES, MOST_THINGS, NONE, OwnSet } from "./ownset.js";
import { createOwnPapers, writtenOf } from "./ownpapers.js";
import { createTaking } from "./owntaking.js";
import { createRow } from "./ownrow.js";
import { cardOf, countsOf, picturesOf, templateOf } from "./owncard.js";
import { createTrunks } from "./owntrunks.js";
import { seenName } from "./signs.js";
import { fileOf } from "./thumbnails.js";

const TITLES = {
  ownMore: "ownMoreTitle",
  ownOthers: "ownOthersTitle",
  ownUndo: "ownUndoTitle",
  ownForget: "ownForgetTitle",
  ownShow: "ownShowTitle",
  ownSave: "ownSaveTitle",
  ownSaveSet: "ownSaveSetTitle",
  ownOpenSet: "ownOpenSetTitle",
};
let opened = 0; // number of models that were opened in the viewer

/**
 * What the viewer gives to this page. trunk: a model of the page; null where it has none; picture: what the
 * page shows, as that model sees it; null where another model does; adopt: shows a model and a picture.
 * @typedef {{trunk: () => Promise<import("./ownmodel.js").Trunk|null>,
 *   picture: (trunk: import("./ownmodel.js").Trunk) => Promise<{pixels: Uint8Array, file: Blob|null}|null>,
 *   adopt: (model: import("../session/playing.js").Adopted) => Promise<any>}} Around
 */

/** @param {Around & {close: () => void}} around  close: the viewer is to be seen */
export function createOwn({ trunk: fetchTrunk, picture, adopt, close }) {
  const set = new OwnSet();
  const spoken = { say: /** @type {import("./texts.js").Say} */ ((key) => key), language: "en", note: "" };
  const say = (key, values) => spoken.say(key, values);
  const place = el("div", { class: "vv-own vv-form" });
  let works = /** @type {Awaited<ReturnType<typeof come>>} */ (null); // what the page runs, once the model has come
  let coming = /** @type {Promise<any>|null} */ (null);
  let parts = /** @type {any} */ (null);
  let chosen = set.things[0];
  const names = () => set.names((at) => say("ownUnnamed", { place: at }), say("ownNone"));
  const labelOf = (thing) => (thing.none ? NONE : nameOf(thing)); // in files
  const nameOf = (thing) => names()[set.things.indexOf(thing)] ?? thing.name;
  return {
    root: place,
    build,
    /**
     * Takes files that were dropped, or pasted, once the model has come.
     * @param {Iterable<File>} files @param {Node} on
     */
    async take(files, on) {
      const some = [...files];
      await coming?.catch(() => {}); // the page says what went wrong
      const kept = some.find(({ name }) => name.endsWith(".safetensors"));
      if (kept) return bring(kept);
      const row = parts?.rows.find(({ root }) => root.contains(on));
      const thing = row?.thing ?? (set.things.includes(chosen) ? chosen : set.things[0]);
      return works?.taking.files(thing, some);
    },
    /** Nobody sees it any more. */
    leave: () => works?.live.off(),
    destroy() {
      works?.live.end();
      works?.model.stop();
    },
  };

  /** Makes all anew, in a language. @param {import("./texts.js").Say} newSay @param {string} newLanguage */
  function build(newSay, newLanguage) {
    Object.assign(spoken, { say: newSay, language: newLanguage });
    if (!works) {
      place.replaceChildren(el("p", { role: "status", text: say("ownComing") }));
      coming ??= begin();
      return;
    }
    const { live, taking, trunk, model } = works;
    const test = fileField("image/*", ([file]) => taking.tryFile(file));
    const sets = fileField(".safetensors", ([file]) => bring(file));
    const press = (key, onClick, values = {}) =>
      button({ text: say(key), title: say(TITLES[key], values), onClick });
    parts = {
      rows: [],
      list: el("div", { class: "vv-own-things", role: "group", "aria-label": say("ownThings") }),
      more: press("ownMore", () => change(() => set.more()), { most: MOST_THINGS }),
      others: press("ownOthers", () => change(() => set.others())),
      undo: press("ownUndo", () => {
        if (set.canUndo) change(() => (spoken.note = set.undo() ? "" : say("ownNoUndo")));
      }),
      forget: press("ownForget", () => change(() => set.clear())),
      count: el("p", { class: "vv-note" }),
      message: el("p", { class: "vv-play-note", role: "status" }),
      result: createOwnResult({ say, nameOf, image: trunk.template.model.image }),
      cheat: createCheat({ trunk, model, say, nameOf }),
      trunks: createTrunks(trunk, say),
      papers: createOwnPapers({
        set,
        say,
        language: newLanguage,
        trunk,
        nameOf,
        found: () => foundNow(model),
        changed: works.kept.touch,
      }),
      open: press("ownShow", openIt),
      save: press("ownSave", saveIt),
      saveSet: press("ownSaveSet", saveSet),
    };
    parts.open.classList.add("vv-play-player");
    place.replaceChildren(
      el("p", { text: say("ownGoal") }),
      el("p", { class: "vv-note", text: say("ownPrivate") }),
      el(
        "div",
        { class: "vv-own-columns" },
        live.build(say, newLanguage, () => test.click()),
        el(
          "section",
          { class: "vv-own-side", "aria-label": say("ownThings") },
          parts.list,
          el("div", { class: "vv-play-buttons" }, parts.more, parts.others, parts.undo, parts.forget, test),
          el(
            "div",
            { class: "vv-play-buttons" },
            parts.saveSet,
            press("ownOpenSet", () => sets.click()),
            sets,
          ),
          parts.count,
          parts.message,
        ),
        el(
          "section",
          { class: "vv-own-result", "aria-label": say("ownGood") },
          parts.result.root,
          el("div", { class: "vv-play-buttons" }, parts.open, parts.save),
          parts.cheat.root,
          parts.papers.root,
          parts.trunks.root,
        ),
      ),
    );
    render();
  }

  async function begin() {
    try {
      works = await come();
    } finally {
      coming = null; // it can be asked for again
      if (works) build(spoken.say, spoken.language);
      else place.replaceChildren(el("p", { role: "status", text: say("ownNoModel") }));
    }
    const shown = works && (await picture(works.trunk));
    if (shown) works?.live.try(shown);
  }

  async function come() {
    const trunk = await fetchTrunk();
    if (!trunk) return null;
    const model = createOwnModel(trunk, set, () => {
      render();
      live.again();
    });
    const live = createOwnLive({ trunk, model, nameOf, changed: render });
    const language = () => spoken.language;
    const kept = createKept(set, trunk.template.model.image);
    await kept.restore();
    if (set.count > 0) model.touch();
    const taking = createTaking({ trunk, set, model, live, picture, nameOf, say, language, hear, change });
    return { trunk, model, live, taking, kept };
  }

  /** Does something to the set, from which is learned anew. @param {() => void} task */
  function change(task) {
    spoken.note = "";
    task();
    works?.model.touch();
    works?.kept.touch();
    render();
  }

  /** Keeps a name that is still being written. @param {import("./ownset.js").Thing} thing @param {string} name */
  function typed(thing, name) {
    thing.name = seenName(name);
    works?.kept.touch();
  }

  /** @param {string} text */
  function hear(text) {
    spoken.note = text;
    render();
    parts?.message.scrollIntoView({ block: "nearest" });
  }

  function render() {
    if (!parts || !works) return;
    const { model, live, taking, trunk } = works;
    const { rows, list, more, undo, forget, count, result, cheat, trunks, open, save } = parts;
    parts.rows = set.things.map(
      (thing) =>
        rows.find((row) => row.thing === thing) ??
        createRow({
          thing,
          set,
          say,
          image: trunk.template.model.image,
          on: {
            choose: () => (chosen = thing),
            typed: (name) => typed(thing, name),
            rename: (name) => change(() => (thing.name = seenName(name))),
            files: (files) => taking.files(thing, files),
            shoot: (group) => taking.shoot(thing, group),
            screen: () => taking.screen(thing),
            drop: (one) => change(() => set.drop(thing, one)),
            remove: () => change(() => set.remove(thing)),
          },
        }),
    );
    const roots = parts.rows.map(({ root }) => root);
    if (roots.some((root, at) => list.children[at] !== root) || list.children.length !== roots.length) {
      const again = keepFocus(list); // ✕ of the thing that was taken away had it
      list.replaceChildren(...roots);
      again([...roots.at(-1).querySelectorAll("button")].find(({ hidden }) => !hidden));
    }
    parts.rows.forEach((row, at) => row.render({ name: names()[at], place: at + 1, films: live.isOn() }));
    allow(more, set.named < MOST_THINGS);
    allow(parts.others, !set.none);
    allow(undo, set.canUndo);
    for (const press of [forget, parts.saveSet]) allow(press, !set.isEmpty);
    setText(count, say("ownRoom", { count: set.count, most: MOST_PICTURES }));
    result.render({ found: model.found(), state: model.state(), set });
    for (const part of [cheat, trunks]) part.render(model.found());
    parts.papers.render();
    for (const press of [open, save]) allow(press, foundNow(model) !== null);
    setText(parts.message, spoken.note);
  }

  /** The model as it is now: its file, and what is known of it; null while nothing is learned. */
  function made() {
    const found = works && foundNow(works.model);
    if (!works || !found) return null;
    const { trunk } = works;
    const labels = found.things.map(labelOf);
    const details = { ...cardOf(found, labels, trunk.template.model.key.name), ...writtenOf(set.card) };
    return {
      ...works,
      found,
      labels,
      details,
      buffer: checkpointOf(trunk.known, {
        head: found.head,
        labels,
        details,
        counts: countsOf(found.confusions),
      }),
    };
  }

  async function openIt() {
    const learned = made();
    if (!learned) return;
    const { labels, details, buffer, found, live, trunk } = learned;
    const { template } = trunk;
    const frame = await live.take();
    const shown = live.shown() ?? found.pictures[0];
    const name = labels.filter((label) => label !== NONE).join("-") + ".png";
    const taken = frame ?? shown.file;
    const file = taken ?? (await fileOf(shown.pixels, template.model.image, name));
    close();
    await adopt({
      template: templateOf(template, {
        key: "own-" + ++opened,
        file: fileName("own", labels),
        labels,
        details,
        found,
      }),
      buffer,
      photo: { file, name, cropped: !taken },
      pictures: picturesOf(found, labels, template.model.image),
      all: true,
    });
  }

  function saveIt() {
    const learned = made();
    if (learned) download(new Blob([learned.buffer]), fileName("own", learned.labels));
  }

  function saveSet() {
    if (!works) return;
    const { image } = works.trunk.template.model;
    const labels = set.things.map(labelOf);
    download(new Blob([setFile(set, labels, image)]), fileName("set", labels));
  }

  /** Goes on with a set in a file. @param {File} file */
  async function bring(file) {
    if (!works) return;
    try {
      const { things, card } = await openSet(file, works.trunk.template.model.image, say);
      change(() => set.replace(things, card));
      hear(say("ownSetOpened", { name: file.name, count: set.count }));
    } catch (error) {
      if (!(error instanceof SetError)) throw error;
      hear(error.message);
    }
  }
}

/**
 * The result of learning the present set; null while learning is under way, and after a failure.
 * @param {ReturnType<typeof import("./ownmodel.js").createOwnModel>} model
 */
function foundNow(model) {
  const { working, failed } = model.state();
  return working || failed ? null : model.found();
}

/** @param {string} kind @param {string[]} labels */
const fileName = (kind, labels) =>
  [kind, ...labels.filter((label) => label !== NONE)].join("-").replace(/[^\p{L}\p{N}-]+/gu, "_") +
  ".safetensors";
