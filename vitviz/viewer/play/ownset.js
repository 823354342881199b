/** Own set: a visitor's own things, each a name and pictures. No document in here. */

export const NONE = "none of these"; // that class in files, as in vitviz/many/teach.py
export const CARD = /** @type {const} */ (["purpose", "pictures_from", "not_for"]); // what a visitor writes
export const LONGEST_TEXT = 300; // letters of each
const FEWEST_THINGS = 2;
export const MOST_THINGS = 5; // besides "none of these"
export const MOST_PICTURES = 100; // of all things: as many as a phone holds and a page of thumbnails shows

/**
 * A picture of a thing. group: those of one go of the camera have the same; pixels: as the model sees it, (h, w, C);
 * vectors: what the trunk makes of it and of its mirror image, null until that is computed; file: the whole
 * photo, where this page has it.
 * @typedef {{group: number, pixels: Uint8Array, vectors: Float32Array[]|null, file: Blob|null}} Picture
 * @typedef {{name: string, pictures: Picture[], none?: boolean}} Thing  none: of pictures that show none of the things
 */

const MOST_UNDOS = 50; // changes that can be taken back

export class OwnSet {
  /** @type {Thing[]} */
  things = Array.from({ length: FEWEST_THINGS }, () => ({ name: "", pictures: [] }));
  card = blankCard();
  #groups = 0;
  /**
   * Undo stack: the last change is at the end; batch: the pictures of one change that came together.
   * @type {{act: () => boolean, batch?: {key: any, thing: Thing, pictures: Picture[]}}[]}
   */
  #undos = [];

  get count() {
    return this.things.reduce((sum, { pictures }) => sum + pictures.length, 0);
  }

  /** The row of pictures that show none of the things, if there is one. It is the last. */
  get none() {
    return this.things.find(({ none }) => none);
  }

  /** The number of rows of things. */
  get named() {
    return this.things.length - Number(Boolean(this.none));
  }

  /** Whether nothing stands in it: no name, no picture, no word of the card. */
  get isEmpty() {
    return (
      this.things.every(({ name, pictures }) => name === "" && pictures.length === 0) &&
      Object.values(this.card).every((text) => text === "")
    );
  }

  /**
   * Begins with things that were kept.
   * @param {{name: string, pictures: Omit<Picture, "vectors">[], none?: boolean}[]} kept
   * @param {Partial<OwnSet["card"]>} [card]
   */
  restore(kept, card = {}) {
    this.card = { ...blankCard(), ...card };
    this.things = kept.map(({ name, pictures, none }) => ({
      name,
      none,
      pictures: pictures.map((picture) => ({ ...picture, vectors: null })),
    }));
    while (this.named < FEWEST_THINGS) this.more();
    this.#groups = Math.max(this.#groups, ...this.content().pictures.map(({ group }) => group));
  }

  /**
   * Puts other things in the place of these; `undo` exchanges the two.
   * @param {Parameters<OwnSet["restore"]>} kept
   */
  replace(...kept) {
    const { things, card } = this;
    this.restore(...kept);
    this.#exchanges({ things, card });
  }

  #exchanges(others) {
    this.#undoes(() => {
      const { things, card, isEmpty } = this;
      Object.assign(this, others);
      if (!isEmpty) this.#exchanges({ things, card }); // what came since is not lost either
      return true;
    });
  }

  /** Takes all away. */
  clear() {
    if (!this.isEmpty) this.replace([]);
  }

  get room() {
    return MOST_PICTURES - this.count;
  }

  /** A new group of pictures, which are left out together. */
  group() {
    return ++this.#groups;
  }

  /**
   * Adds a picture, if there is room and the thing was not taken away meanwhile; returns whether it did. A
   * copy of a picture of the thing joins its group: a head that has learned one is not tested on the other.
   * @param {Thing} thing
   * @param {Omit<Picture, "vectors">} picture
   * @param {any} [batch]  the same one for pictures that `undo` takes back together
   */
  add(thing, picture, batch = picture.group) {
    const fits = this.room > 0 && this.things.includes(thing);
    if (!fits) return false;
    const { group } = thing.pictures.find(({ pixels }) => isEqual(pixels, picture.pixels)) ?? picture;
    const added = { ...picture, group, vectors: null };
    thing.pictures.push(added);
    const last = this.#undos.at(-1)?.batch;
    if (last?.key === batch && last.thing === thing) {
      last.pictures.push(added);
      return true;
    }
    const pictures = [added];
    const act = () => {
      thing.pictures = thing.pictures.filter((one) => !pictures.includes(one));
      return true;
    };
    this.#undoes(act, { key: batch, thing, pictures });
    return true;
  }

  /** @param {() => boolean} act @param {{key: any, thing: Thing, pictures: Picture[]}} [batch] */
  #undoes(act, batch) {
    this.#undos = [...this.#undos.slice(1 - MOST_UNDOS), { act, batch }];
  }

  /** Another thing that has this picture, as the model sees it. @param {Thing} thing @param {Uint8Array} pixels */
  elsewhere(thing, pixels) {
    return this.things.find(
      (other) => other !== thing && other.pictures.some((picture) => isEqual(picture.pixels, pixels)),
    );
  }

  /** One more thing, without a name. */
  more() {
    if (this.named < MOST_THINGS) this.things.splice(this.named, 0, { name: "", pictures: [] });
  }

  /** A row for pictures that show none of the things. */
  others() {
    if (!this.none) this.things.push({ name: "", pictures: [], none: true });
  }

  /** Takes a picture away. @param {Thing} thing @param {Picture} picture */
  drop(thing, picture) {
    const at = thing.pictures.indexOf(picture);
    if (at < 0) return;
    thing.pictures.splice(at, 1);
    this.#undoes(() => {
      if (this.room < 1 || !this.things.includes(thing)) return false;
      thing.pictures.splice(at, 0, picture);
      return true;
    });
  }

  /** Takes a thing away with its pictures; two always stay. @param {Thing} thing */
  remove(thing) {
    const at = this.things.indexOf(thing);
    if (at < 0) return;
    const blank = /** @type {Thing} */ ({ name: "", pictures: [] });
    this.things.splice(at, 1, ...(thing.none || this.named > FEWEST_THINGS ? [] : [blank]));
    this.#undoes(() => {
      const place = this.things.indexOf(blank);
      const stands = place >= 0 && blank.name === "" && blank.pictures.length === 0;
      const full = thing.none ? Boolean(this.none) : !stands && this.named === MOST_THINGS;
      if (this.room < thing.pictures.length || full) return false;
      if (thing.none) this.things.push(thing);
      else this.things.splice(stands ? place : at, Number(stands), thing);
      return true;
    });
  }

  get canUndo() {
    return this.#undos.length > 0;
  }

  /** Takes the last change back; false if there is no room for it now, and it waits until there is. */
  undo() {
    const last = this.#undos.pop();
    const done = last?.act() ?? false;
    if (last && !done) this.#undos.push(last);
    return done;
  }

  /**
   * The names as they are shown: one for a thing without any, and no two alike.
   * @param {(place: number) => string} unnamed  the name of a thing by its place, from 1
   * @param {string} [others]  the name of what shows none of the things
   */
  names(unnamed, others = NONE) {
    const taken = new Set([NONE, others]);
    return this.things.map(({ name, none }, at) => {
      if (none) return others;
      const wanted = name || unnamed(at + 1);
      let free = wanted;
      for (let number = 2; taken.has(free); number++) free = wanted + " " + number;
      taken.add(free);
      return free;
    });
  }

  /** The things that have pictures, all pictures in a row, and the index of the thing of each (`labels`). */
  content() {
    const none = this.none;
    const things = this.things.filter(({ pictures }) => pictures.length > 0);
    return {
      things,
      none: none && things.includes(none) ? things.indexOf(none) : undefined,
      pictures: things.flatMap(({ pictures }) => pictures),
      labels: things.flatMap(({ pictures }, at) => pictures.map(() => at)),
    };
  }
}

/** @param {Uint8Array} pixels @param {Uint8Array} others */
export const isEqual = (pixels, others) =>
  pixels.length === others.length && pixels.every((value, at) => value === others[at]);

const blankCard = () => ({ purpose: "", pictures_from: "", not_for: "" });
