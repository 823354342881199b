/** load: fetches the viewer and its texts, where a page does not bring them along. */

/**
 * Loads the content of a file that bundle.py wrote: what main.js exports (`as_file`), or the texts of a language
 * (`texts_files`). A script, and not a module or a fetch, because it needs no permission of another host, and
 * browsers keep it compiled.
 * @param {string} address
 * @returns {Promise<any>}  rejected where the file cannot be had, or is something else
 */
export function load(address) {
  return new Promise((done, failed) => {
    const script = Object.assign(document.createElement("script"), { src: address });
    const leave = (way, value) => {
      script.remove();
      way(value);
    };
    // The file stores its exports on the script element that it runs in: nothing is global, and loads do not
    // mix.
    script.onload = () =>
      "viewer" in script ? leave(done, script.viewer) : leave(failed, new Error("no viewer in " + address));
    script.onerror = () =>
      leave(failed, Object.assign(new Error("no file at " + address), { unanswered: true }));
    document.head.append(script);
  });
}
