/**
 * Photos: the visitor's own photos in this page. Each is one value that says where its bytes are and whether
 * the host may have them. No document in here.
 */

import { lookOf } from "../maths/photolevels.js";

/** The id of a photo; no other page knows it. */
export const OWN_PHOTO = /^photo-[a-z0-9]{6}$/;

/** Number of photos that are kept; the oldest are forgotten. */
const MOST = 6;

/** Whether a name is that of a drawing: of successive drawings only the last one is kept. */
export const isDrawn = (name) => /^drawing-\d+\.png$/.test(name);

/**
 * A photo of the visitor's. file: null until its bytes were read back from the host; address: its place at the
 * host, null while the host does not have it; kept: when it was kept, in milliseconds; consent: whether the
 * host may have it. Nothing is sent unless consent is "given".
 * @typedef {import("../maths/photolevels.js").Look & {id: string, name: string, file: Blob|null, address: string|null,
 *   kept: number, consent: "unasked"|"no"|"given"}} OwnPhoto
 */

export class PhotoStore {
  /**
   * The photo that the visitor looks at, or is asked about, where the host does not have it.
   * @type {OwnPhoto|null}
   */
  shown = null;
  /** @type {OwnPhoto[]} */
  #photos = []; // the newest first
  /** @type {Map<string, string>} */
  #ids = new Map(); // by all addresses that photos have had at the host
  #random;

  /** @param {() => number} [random]  from 0 to 1 */
  constructor(random = Math.random) {
    this.#random = random;
  }

  /**
   * Makes a photo without keeping it: its file may be no picture. A photo with an address counts as one with
   * consent, because the host already has it.
   * @param {Partial<OwnPhoto> & {name: string}} photo
   * @returns {OwnPhoto}
   */
  create({ name, file = null, address = null, consent, id, ...look }) {
    const number = Math.floor(this.#random() * 36 ** 6);
    return {
      id: id ?? "photo-" + number.toString(36).padStart(6, "0"),
      name,
      file,
      address,
      kept: 0,
      ...lookOf(look),
      consent: consent ?? (address ? "given" : "unasked"),
    };
  }

  /**
   * Keeps a photo as the newest, in place of another one with its id or address.
   * @param {OwnPhoto} photo
   * @param {number} [now]  milliseconds
   * @returns {OwnPhoto[]}  photos that are forgotten for it
   */
  keep(photo, now = Date.now()) {
    photo.kept = now;
    if (photo.address) this.#ids.set(photo.address, photo.id);
    const others = this.#photos.filter(
      ({ id, address }) => id !== photo.id && (address === null || address !== photo.address),
    );
    const stay = others.filter(({ name }) => !(isDrawn(name) && isDrawn(photo.name))).slice(0, MOST - 1);
    this.#photos = [photo, ...stay];
    return others.filter((other) => !stay.includes(other));
  }

  /** The host has a photo now. @param {OwnPhoto} photo @param {string} address */
  sent(photo, address) {
    Object.assign(photo, { address, consent: "given" });
    this.#ids.set(address, photo.id);
  }

  /** @param {string|undefined} name  an id, or any address that the photo has had @returns {OwnPhoto|null} */
  find(name = "") {
    const wanted = this.#ids.get(name) ?? name;
    return this.#photos.find(({ id }) => id === wanted) ?? null;
  }

  /**
   * The id of the photo that an analysis is of; "" where it is of none of these.
   * @param {{upload?: {address: string}}} manifest
   */
  idOf({ upload }) {
    return this.find(upload?.address)?.id ?? "";
  }

  /** @returns {readonly OwnPhoto[]}  the newest first */
  get all() {
    return this.#photos;
  }
}

/**
 * A picture as the host knows it: a photo by its address, anything else by its key.
 * @param {PhotoStore} photos
 * @param {string} key
 */
export function askedOf(photos, key) {
  const photo = photos.find(key);
  return photo?.address ? { path: photo.address, name: photo.name } : key;
}

/**
 * An experiment as the host takes it.
 * @param {PhotoStore} photos
 * @param {import("./experiment.js").Intervention[]} interventions
 */
export function askedIn(photos, interventions) {
  return interventions.map((change) =>
    change.from === undefined ? change : { ...change, from: askedOf(photos, change.from) },
  );
}
