/** The part of Gradio's page that runs before Gradio: photos, and whoever takes them in place of its input. */

import { takesPhotos } from "./drops.js";
import { GradioPhotos } from "./gradiophotos.js";
import { keptEntry } from "./entry.js";

/** `taker`: the viewer, once it is there: whether it takes a photo, and takes one unless the server has to. */
export function createHead() {
  const entry = history.state?.vitviz ? null : keptEntry();
  if (entry) history.replaceState({ ...history.state, vitviz: entry.view }, "", entry.place);
  return {
    photos: new GradioPhotos(),
    takesPhotos,
    taker: /** @type {null|{takes: () => boolean, take: (file: File) => Promise<boolean>}} */ (null),
  };
}
