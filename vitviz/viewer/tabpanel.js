/** The page behind a tab: a panel with its code, and the same panel of the second analysis if there is one. */

import { createCode } from "./parts/code.js";
import { el } from "./parts/dom.js";
import { sideNames } from "./text/words.js";

/**
 * @param {import("./main.js").App} app
 * @param {HTMLElement} page
 * @returns {{settle: () => void, render: (view: import("./types.js").View, second: import("./types.js").View|null) => void, destroy: () => void}}
 */
export function createTabPanel(app, page) {
  const { create, alone, both } = app.panel();
  const panel = create(app);
  const code = createCode(app, app.panel());
  page.append(panel.root, code.root);
  let facing = null; // {app, panel, both, nodes} of the second analysis
  return {
    /** Drops an analysis that was closed, also while the tab is hidden: an analysis is large. */
    settle() {
      if (facing && facing.app !== app.facing()) leave();
    },
    render(view, second) {
      const other = alone ? null : app.facing();
      if (other && !facing) meet(other);
      panel.render(view);
      code.render();
      if (!facing || !second) return;
      facing.panel.render(second);
      facing.both?.render(view);
    },
    destroy() {
      leave();
      panel.destroy?.();
    },
  };

  function meet(other) {
    const twin = create(other);
    const shared = both?.(app, other);
    const words = sideNames(app, other);
    const names = words.map((text, at) => el("h3", { class: "vv-side-name vv-side-" + at, text }));
    [panel, twin].forEach(({ root }, at) => {
      root.setAttribute("role", "group");
      root.setAttribute("aria-label", words[at]);
    });
    panel.root.before(...(shared ? [shared.root] : []), names[0]);
    panel.root.after(names[1], twin.root);
    page.classList.add("vv-twice");
    facing = { app: other, panel: twin, both: shared, nodes: [...(shared ? [shared.root] : []), ...names, twin.root] };
  }

  function leave() {
    if (!facing) return;
    facing.panel.destroy?.();
    for (const node of facing.nodes) node.remove();
    for (const name of ["role", "aria-label"]) panel.root.removeAttribute(name);
    page.classList.remove("vv-twice");
    facing = null;
  }
}
