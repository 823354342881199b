/** Photos of a tab of Gradio's page: also those that were sent, which are sent again when the server has lost them. */

import { lookIn, lookOf } from "../maths/photolevels.js";
import { TabPhotos } from "./tabphotos.js";

/** @typedef {import("../state/photos.js").OwnPhoto} OwnPhoto */

export class GradioPhotos extends TabPhotos {
  /** Number of photos and drawings that were taken in this page. */
  taken = 0;

  /**
   * Keeps a photo that the server shows, with its bytes, which the browser has in its cache.
   * @param {{address: string, name: string}} upload
   * @param {string} url
   */
  async remember({ address, name }, url) {
    if (this.find(address)) return;
    const photo = this.create({ address, name });
    this.keep(photo);
    const answer = await fetch(url, { cache: "force-cache" }).catch(() => null);
    if (!answer?.ok) return;
    photo.file = await answer.blob();
    this.store(photo);
  }

  /**
   * Sends a photo; undefined if the server refuses it. One that was opened meanwhile stays on the screen.
   * @param {OwnPhoto|null} photo
   */
  async share(photo) {
    const before = this.shown;
    const sent = photo?.file && (await this.#send(photo));
    if (!sent) return undefined;
    if (this.shown === before) this.leave();
    this.store(photo);
    return { path: sent.path, name: photo.name, first: false, ...lookOf(photo) };
  }

  /**
   * Uploads a photo as Gradio does; null if the server refuses it.
   * @param {OwnPhoto} photo
   */
  async #send(photo) {
    const form = new FormData();
    form.append("files", /** @type {Blob} */ (photo.file), photo.name);
    const answer = await fetch(new URL("gradio_api/upload", document.baseURI), {
      method: "POST",
      body: form,
    }).catch(() => null);
    if (!answer?.ok) return null;
    const [path] = await answer.json();
    this.sent(photo, path);
    return { path, orig_name: photo.name, meta: { _type: "gradio.FileData" } };
  }

  /** The photo of the picture input, uploaded again if the server has forgotten it. @param {any} input */
  async alive(input) {
    const photo = this.find(input?.path);
    if (!photo?.file) return input;
    const there = await fetch(input.url, { method: "HEAD" }).catch(() => null);
    return there && !there.ok ? ((await this.#send(photo)) ?? input) : input;
  }

  /**
   * The photo of this entry of the browser's history, on the server; null if there is none. A photo that the
   * server does not have is `shown`.
   */
  async fromHistory() {
    const { photo: id, link } = history.state?.vitviz ?? {};
    this.shown = null;
    if (!id) return null;
    await this.ready;
    const photo = this.find(id);
    if (photo && photo.consent !== "given") {
      this.shown = { ...photo, ...lookIn(link) };
      this.keep(this.shown);
    }
    return photo?.file && photo.consent === "given" ? this.#send(photo) : null;
  }

  /** An analysis of the server is shown from now on. */
  leave() {
    this.shown = null;
  }
}
