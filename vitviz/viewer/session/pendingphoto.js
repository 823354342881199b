/**
 * Pending photo: shows a new photo undimmed while it is computed in this page, and asks for consent before
 * anything is sent.
 */

import { el, setText } from "../parts/dom.js";
import { percent } from "../maths/numbers.js";
import { isDrawn } from "../state/photos.js";
import { refusal } from "../text/refusal.js";

/**
 * The browser decodes what stands there once more, and the page waits for large PNG and GIF files: those
 * stand there with their answer.
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
 * @param {import("../types.js").Host} host
 * @param {import("../shell/screen.js").Screen} screen
 * @param {() => void} render
 */
export function createPendingPhoto(app, host, screen, render) {
  let image = /** @type {HTMLImageElement|null} */ (null);
  const note = el("p", { class: "vv-incoming-note", role: "status" });
  const kept = new Set(); // addresses of photos that are not to be sent
  let turn = 0; // of what is wanted
  let model = /** @type {import("../types.js").Model|null} */ (null);
  return {
    here: () => note.isConnected,
    end,
    /** Whether the visitor keeps the photo that is shown from the host. */
    staysHere: () => kept.has(shown()),
    /** The visitor says no. */
    keepHere() {
      kept.add(shown());
      host.kept?.();
      render();
    },
    /**
     * Asks whether the photo that is shown may be sent, for what the visitor has just chosen: also after a no
     * to something else.
     */
    need() {
      kept.delete(shown());
      need();
    },
    /**
     * Shows a photo until its manifest is made, and then that, unless something else is wanted by then.
     * @param {import("../types.js").Manifest} template
     * @param {import("../types.js").OwnPhoto} photo
     * @param {Promise<import("../types.js").Manifest|null>} making
     * @param {(manifest: import("../types.js").Manifest) => void} update
     * @returns {Promise<boolean>}  whether there was one
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
    /** @returns {never} */
    refuse() {
      need();
      throw refusal(kept.has(shown()) ? "photoKept" : "needsServer");
    },
  };

  /** The address of the photo that is shown. */
  function shown() {
    return app.source?.manifest.upload?.address;
  }

  /** @param {import("../types.js").OwnPhoto} photo */
  function begin({ file, name }) {
    if (!screen.board || isDrawn(name)) return;
    const [url, mine] = [URL.createObjectURL(file), el("img", { class: "vv-incoming", alt: "" })];
    image = mine;
    // it is decoded, or is none: nothing holds its file for longer
    const forget = () => URL.revokeObjectURL(url);
    Object.assign(mine, {
      onload: forget,
      onerror() {
        mine.remove();
        forget();
      },
    });
    screen.board.root.querySelector(".vv-picture").append(mine, note);
    // The browser complains of a picture that it cannot read at all, such as a folder.
    isLight(file).then((light) => {
      if (light) mine.src = url;
      else {
        mine.remove();
        forget();
      }
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
    image?.remove();
    note.remove();
  }

  /** The selected panel needs the host. */
  function need() {
    if (host.share) app.needed.add(app.selection.panel);
    render();
  }
}
