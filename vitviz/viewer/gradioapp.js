/** The viewer and its host in Gradio's page: they come as one file. */

import { open } from "./hosts/gradio.js";
import { learnedHere, mount, prepare } from "./main.js";
import { languageHere } from "./text/latetexts.js";

/**
 * Loads the texts of the page's language, if the file has those of another, and opens the viewer in a component
 * of Gradio.
 * @param {import("./hosts/gradio.js").Component} component
 * @param {ReturnType<typeof import("./hosts/gradiohead.js").createHead>} page
 * @param {(name: string) => Promise<any>} texts
 */
export async function start(component, page, texts) {
  if (!(await prepare(document.documentElement.lang, texts))) document.documentElement.lang = languageHere();
  return () => open({ learnedHere, mount }, component, page, texts);
}
