/** Own live: the camera or one picture, with the answer of the present head. */

import { Overtaken } from "../engine/client.js";
import { best } from "../learn/linearhead.js";
import { percents } from "../maths/numbers.js";
import { inChannels, pictureOf } from "../maths/pixels.js";
import { el, setText, show } from "../parts/dom.js";
import { button } from "../parts/widgets.js";
import { createShutter, createStream } from "../stage/stream.js";
import { answerRows } from "./answerrows.js";
import { thumbnailOf } from "./thumbnails.js";

const TELL_MS = 2000; // pause between two answers to the camera for screen readers

/**
 * @param {{trunk: import("./ownmodel.js").Trunk, model: ReturnType<typeof import("./ownmodel.js").createOwnModel>,
 *   nameOf: (thing: import("./ownset.js").Thing) => string, changed: () => void}} of
 *   changed: the camera was turned on or off
 */
export function createOwnLive({ trunk: { template, known, tools }, model, nameOf, changed }) {
  const { image } = template.model;
  const { preprocess } = known.facts;
  const shutter = createShutter(image);
  const stream = createStream((now) => {
    const was = camera;
    camera = now;
    if (now === "on") film();
    draw();
    if (was === "on" && now !== "on") {
      turn += 1; // drops a pending answer to the last frame
      forget();
      again();
    }
    changed();
  });
  let [camera, turn, toldAt] = ["stopped", 0, 0];
  let still = /** @type {{pixels: Uint8Array, file: Blob|null}|null} */ (null);
  const spoken = { say: /** @type {import("./texts.js").Say} */ ((key) => key), language: "en" };
  const buttons = /** @type {Record<string, HTMLButtonElement>} */ ({});
  const [view, word, why, answers, note, heard] = [
    el("div", { class: "vv-own-view" }),
    el("p", { class: "vv-own-word" }),
    el("p", { class: "vv-note" }),
    el("ol", { class: "vv-signs-answers" }),
    el("p", { class: "vv-note", role: "status" }),
    el("p", { class: "vv-live", role: "status" }),
  ];
  view.style.aspectRatio = image.width + " / " + image.height;
  return {
    build,
    isOn: stream.isOn,
    off: stream.stop,
    /** A frame of the camera as a file; null where there is none. @returns {Promise<Blob|null>} */
    take: () =>
      stream.isOn() && shutter.shoot(stream.video)
        ? new Promise((done) => {
            shutter.canvas.toBlob(done, "image/jpeg", 0.92);
          })
        : Promise.resolve(null),
    /** The picture that is tried out now, for the panels. */
    shown: () => still,
    /** Shows a picture in place of the camera. @param {{pixels: Uint8Array, file: Blob|null}} picture */
    try(picture) {
      still = picture;
      turn += 1; // drops a pending answer to the picture before
      stream.stop();
      setText(heard, ""); // the same answer to another picture is told, too
      draw();
      again();
    },
    again,
    end() {
      still = null; // its model ends, too
      stream.end();
    },
  };

  /**
   * Makes all anew, in a language.
   * @param {import("./texts.js").Say} say
   * @param {string} language
   * @param {() => void} choose  a picture to try
   */
  function build(say, language, choose) {
    Object.assign(spoken, { say, language });
    const press = (text, title, onClick) => button({ text: say(text), title: say(title), onClick });
    Object.assign(buttons, {
      start: press("ownCamera", "ownCameraTitle", () => stream.start()),
      stop: press("ownCameraOff", "ownCameraOffTitle", stream.stop),
      other: press("ownCameraOther", "ownCameraOtherTitle", () => stream.start(stream.others()[0])),
    });
    buttons.start.classList.add("vv-play-player");
    draw();
    again();
    return el(
      "section",
      { class: "vv-own-try", "aria-label": say("ownTry") },
      el("h3", { text: say("ownTry") }),
      el(
        "div",
        { class: "vv-play-buttons" },
        ...Object.values(buttons),
        press("ownTest", "ownTestTitle", choose),
      ),
      note,
      el("div", { class: "vv-own-now" }, view, el("div", {}, word, answers)),
      why,
      heard,
    );
  }

  function draw() {
    const isOn = camera === "on";
    view.classList.toggle("vv-mirrored", isOn && stream.facesPerson());
    view.replaceChildren(
      ...(isOn
        ? [stream.video]
        : still
          ? [thumbnailOf(still.pixels, image)]
          : [el("span", { text: spoken.say("ownNothing") })]),
    );
    show(buttons.start, !isOn && camera !== "asking");
    show(buttons.stop, isOn);
    show(buttons.other, isOn && stream.others().length > 0);
    const why =
      camera === "on" || camera === "stopped"
        ? ""
        : tools.said({ key: "camera_" + camera, values: {} })[spoken.language];
    setText(note, why);
  }

  async function film() {
    const mine = ++turn;
    try {
      for (;;) {
        await new Promise(requestAnimationFrame); // there is none while nobody sees the page
        if (mine !== turn || !stream.isOn()) return;
        const frame = shutter.shoot(stream.video);
        if (!frame) continue;
        await tell(new Uint8Array(pictureOf(inChannels(frame, preprocess.channels), preprocess).data));
      }
    } catch (error) {
      if (mine === turn && stream.isOn()) {
        stream.stop();
        setText(note, spoken.say("ownFailed", { why: error.message }));
      }
      throw error;
    }
  }

  function forget() {
    for (const node of [word, why, answers, heard]) node.replaceChildren();
  }

  /** Answers the picture that stands still, whose head may be another one by now. */
  function again() {
    if (!stream.isOn() && still) tell(still.pixels);
    if (!model.found()) forget();
  }

  /** @param {Uint8Array} pixels */
  async function tell(pixels) {
    const mine = turn;
    const found = await model.answer(pixels, stream.isOn()).catch((error) => {
      if (error instanceof Overtaken) return null;
      throw error;
    });
    if (!found || found.of !== model.found() || mine !== turn) return;
    const { shares, of } = found;
    const first = best(shares);
    const low = of.threshold !== null && shares[first] < of.threshold;
    setText(word, low || first === of.none ? spoken.say("ownNone") : nameOf(of.things[first]));
    const [share, least] = percents([shares[first], of.threshold ?? 0]);
    setText(
      why,
      low && first !== of.none && share !== least ? spoken.say("ownNoneWhy", { share, least }) : "",
    );
    answers.replaceChildren(
      ...answerRows(of.things.map((thing, at) => ({ name: nameOf(thing), share: shares[at] }))),
    );
    if (stream.isOn() && performance.now() < toldAt + TELL_MS) return;
    toldAt = performance.now();
    setText(heard, word.textContent);
  }
}
