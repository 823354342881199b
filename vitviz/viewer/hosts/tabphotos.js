/** Photos of a tab: kept in the browser for a reload and Back, until the tab is closed or an hour has passed. */

import { Database } from "../data/database.js";
import { PhotoStore } from "../state/photos.js";
import { keepEntry } from "./entry.js";

const REFRESHED_MS = 300_000;

/** @typedef {import("../state/photos.js").OwnPhoto} OwnPhoto */

export class TabPhotos extends PhotoStore {
  #database = new Database();
  /** Resolves when the photos of before a reload are here. */
  ready = this.#restore();

  constructor() {
    super();
    window.addEventListener("pageshow", ({ persisted }) => {
      if (persisted && this.#database.isForgotten()) location.reload();
    });
    setInterval(() => {
      if (!document.hidden) for (const photo of this.all) this.store(photo);
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
    this.store(photo).then(() =>
      forgotten.filter(({ id }) => !this.find(id)).forEach(({ id }) => this.#database.delete(id)),
    );
    return forgotten;
  }

  /** Stores a photo for another hour. @param {OwnPhoto} photo */
  async store(photo) {
    await this.ready;
    if (photo.file && this.find(photo.id) && (await this.#database.put(photo))) say(true);
  }

  /** Forgets all photos of this tab, and opens the page as if for the first time. */
  async forget() {
    await this.#database.forget();
    keepEntry(location.href, null);
    location.replace(location.pathname);
  }
}

/** Shows on the page that photos are kept, with the button to forget them. @param {boolean} kept */
function say(kept) {
  document.documentElement.toggleAttribute("data-vv-kept", kept);
}
