/** Pending photo: shows a new photo, and no answer of the one before, while it is computed in this page. */

import { el, setText } from "../parts/dom.js";
import { percent } from "../maths/numbers.js";
import { isDrawn } from "../state/photos.js";

/**
 * Limits of a photo that is shown before its answer: to show it, the browser decodes it once more, and the
 * page waits meanwhile for large PNG and GIF files. A larger photo is shown with its answer. PNG: the first
 * four bytes of such a file.
 */
const [MOST_BYTES, MOST_PIXELS, PNG] = [16e6, 24e6, 0x89504e47];

/** @param {Blob} file */
async function isLight(file) {
  const head = new DataView(await file.slice(0, 24).arrayBuffer());
  const pixels =
    head.byteLength === 24 && head.getUint32(0) === PNG ? head.getUint32(16) * head.getUint32(20) : 0;
  return file.size <= MOST_BYTES && pixels <= MOST_PIXELS;
}

/**
 * @param {import("../main.js").App} app
 * @param {import("../shell/screen.js").Screen} screen
 * @param {() => void} render
 */
export function createPendingPhoto(app, screen, render) {
  let image = /** @type {HTMLImageElement|null} */ (null);
  let board = /** @type {HTMLElement|null} */ (null); // that shows it
  const note = el("p", { class: "vv-incoming-note", role: "status" });
  const title = el("p", { class: "vv-incoming-title", role: "status" });
  let turn = 0; // of what is wanted
  let model = /** @type {import("../types.js").Model|null} */ (null);
  return {
    here: () => note.isConnected,
    end,
    /**
     * Shows a photo until its manifest is made, then the manifest, unless something else is wanted by then.
     * @param {import("../types.js").Manifest} template
     * @param {import("../types.js").PhotoFile} photo
     * @param {Promise<import("../types.js").Manifest|null>} making
     * @param {(manifest: import("../types.js").Manifest) => void} update
     * @returns {Promise<boolean>}  false if there was no manifest, and nothing else was wanted
     */
    async during(template, photo, making, update) {
      end();
      const mine = turn;
      model = template.model;
      begin(photo);
      let manifest = null;
      try {
        manifest = await making;
      } finally {
        if (mine === turn && !manifest) {
          clear();
          render();
        }
      }
      if (mine === turn && manifest) update(manifest); // the photo goes with the board that it stands on
      return mine !== turn || manifest !== null;
    },
    /** @param {import("../passes/backend.js").Backend["model"]} modelOf */
    render(modelOf) {
      const { state = "", share = 0 } = (model && modelOf(model)) ?? {};
      setText(note, state === "coming" ? app.t("weightsComing", { share: percent(share) }) : "");
    },
  };

  /** @param {import("../types.js").PhotoFile} photo */
  function begin({ file, name }) {
    if (!screen.board || isDrawn(name)) return;
    const [url, mine] = [URL.createObjectURL(file), el("img", { class: "vv-incoming", alt: "" })];
    image = mine;
    board = screen.board.root;
    // it is decoded, or is none: nothing holds its file for longer
    const forget = () => URL.revokeObjectURL(url);
    const fail = () => {
      if (image === mine) removeImage();
      forget();
    };
    Object.assign(mine, { onload: forget, onerror: fail });
    board.querySelector(".vv-picture").append(mine, note);
    board.querySelector(".vv-title").append(title);
    board.classList.add("vv-pending", "vv-pending-photo");
    setText(title, app.t("looking"));
    // The browser complains of a picture that it cannot read at all, such as a folder.
    isLight(file).then((light) => {
      if (light) mine.src = url;
      else fail();
    }, forget);
    screen.setState("loading");
    render();
  }

  /** Something else is shown. */
  function end() {
    turn += 1;
    clear();
  }

  function clear() {
    removeImage();
    note.remove();
    title.remove();
    board?.classList.remove("vv-pending");
    board = null;
  }

  function removeImage() {
    image?.remove();
    image = null;
    board?.classList.remove("vv-pending-photo");
  }
}
