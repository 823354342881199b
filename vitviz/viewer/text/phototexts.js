/**
 * Texts about photos, the camera, many pictures, and experiments (their keys after "experiment."), by
 * language; bundle.py replaces this module.
 */

import { byLanguage, dictionary, prefixed } from "./dictionaries.js";

/** @type {Record<string, Record<string, string>>} */
export const PHOTO = byLanguage((name) => ({
  ...dictionary(name, "photo"),
  ...dictionary(name, "camera"),
  ...dictionary(name, "many"),
  ...prefixed("experiment.", dictionary(name, "experiments")),
}));
