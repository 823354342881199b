/** Changes: the choices of a run, each with a sentence that says what to watch for. */

import { el } from "../parts/dom.js";
import { choice } from "../parts/widgets.js";
import { CHANGES, called, keyOf } from "./settings.js";

/**
 * @param {import("./texts.js").Say} say
 * @param {string[]} fixed  fields that cannot be chosen here
 * @param {(parts: Partial<import("./settings.js").Settings>) => void} change
 */
export function createChanges(say, fixed, change) {
  const controls = CHANGES.filter(({ field }) => !fixed.includes(field)).map((setting) => {
    const { field, options } = setting;
    const { root, set } = choice({
      label: say(field),
      wrap: true,
      options: options.map(({ value }) => ({ value, text: called(setting, value, say) })),
      onChoose: (value) => change({ [field]: value }),
    });
    return {
      field,
      set,
      root: el(
        "div",
        { class: "vv-play-change" },
        root,
        el("p", { class: "vv-note", text: say(keyOf("watch", field)) }),
      ),
    };
  });
  const root = el(
    "section",
    { class: "vv-play-changes", "aria-label": say("changes") },
    el("h3", { text: say("changes") }),
    el("p", { class: "vv-note", text: say("changesNote") }),
    ...controls.map((control) => control.root),
  );
  return {
    root,
    /** @param {import("./settings.js").Settings} settings */
    render(settings) {
      for (const { field, set } of controls) set(settings[field]);
    },
  };
}
