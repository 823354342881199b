/** Photos of a tab of Gradio's page: kept for a reload and Back, and uploaded again when the server has lost them. */

import { lookIn, lookOf } from "../maths/look.js";
import { PhotoStore } from "../state/photos.js";
import { Database } from "../data/database.js";

const REFRESHED_MS = 300_000;

/** @typedef {import("../state/photos.js").OwnPhoto} OwnPhoto */

export class GradioPhotos extends PhotoStore {
  #database = new Database();
  /** Resolves when the photos of before a reload are here. */
  #ready = this.#restore();

  constructor() {
    super();
    window.addEventListener("pageshow", ({ persisted }) => {
      if (persisted && this.#database.isForgotten()) location.reload();
    });
    setInterval(() => {
      if (!document.hidden) for (const photo of this.all) this.#store(photo);
    }, REFRESHED_MS);
  }

  async #restore() {
    const photos = /** @type {OwnPhoto[]} */ ([]);
    await this.#database.read((one) => {
      if (!one.kind) photos.push(one);
    });
    const newer = this.all;
    photos.sort((one, other) => one.kept - other.kept);
    for (const photo of photos) super.keep({ ...photo, address: null }, photo.kept);
    for (const photo of [...newer].reverse()) super.keep(photo, photo.kept);
    say(photos.length > 0);
  }

  /** @param {OwnPhoto} photo */
  keep(photo) {
    const forgotten = super.keep(photo);
    // store first: a reload before the deletion still finds a photo
    this.#store(photo).then(() =>
      forgotten.filter(({ id }) => !this.find(id)).forEach(({ id }) => this.#database.delete(id)),
    );
    return forgotten;
  }

  /** @param {OwnPhoto} photo */
  async #store(photo) {
    await this.#ready;
    if (photo.file && this.find(photo.id) && (await this.#database.put(photo))) say(true);
  }

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
    this.#store(photo);
  }

  /** Sends a photo; undefined if the server refuses it. @param {OwnPhoto|null} photo */
  async share(photo) {
    const sent = photo?.file && (await this.#send(photo));
    if (!sent) return undefined;
    if (this.shown === photo) this.shown = null;
    this.#store(photo);
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
    await this.#ready;
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

  /** Forgets all photos of this tab, and opens the page as if for the first time. */
  async forget() {
    await this.#database.forget();
    location.replace(location.pathname);
  }
}

/** Shows on the page that photos are kept, with the button to forget them. @param {boolean} kept */
function say(kept) {
  document.documentElement.toggleAttribute("data-vv-kept", kept);
}
