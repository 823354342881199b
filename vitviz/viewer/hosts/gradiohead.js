/** The part of Gradio's page that runs before Gradio: photos, and what takes them in place of its input. */

import { fileField } from "../parts/drops.js";
import { takesPhotos } from "./drops.js";
import { GradioPhotos } from "./gradiophotos.js";
import { keptEntry } from "./entry.js";

/**
 * `taker`: takes photos in the viewer, null until that is there. takes: whether the viewer takes a photo;
 * take: takes a photo, false if the server has to.
 */
export function createHead() {
  const entry = history.state?.vitviz ? null : keptEntry();
  if (entry) history.replaceState({ ...history.state, vitviz: entry.view }, "", entry.place);
  return {
    photos: new GradioPhotos(),
    takesPhotos,
    fileField,
    taker: /** @type {null|{takes: () => boolean, take: (file: File) => Promise<boolean>}} */ (null),
  };
}
