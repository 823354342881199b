/** Tabs: one for each panel, as the ARIA practices describe them, and the page behind each. */

import { createCode } from "../parts/code.js";
import { el, freshId } from "../parts/dom.js";
import { panelOf, visitPanel } from "../state/panels.js";
import { sideNames } from "../text/words.js";

/**
 * A panel is made when it is first opened.
 * @param {import("../main.js").App} app
 */
export function createTabs(app) {
  const { t } = app;
  const made = new Map();
  let narrow = false;
  const pages = app.panels.map(({ id, group = "" }) => {
    const [tabId, pageId] = [freshId("tab"), freshId("panel")];
    const tab = el("button", {
      type: "button",
      role: "tab",
      id: tabId,
      "aria-controls": pageId,
      text: t("panel_" + id),
      onclick: () => {
        unfold(id === app.selection.panel && !list.classList.contains("vv-unfolded"));
        if (panelOf(app.panels, id).plain) app.prefer({ all: false });
        visit(id);
      },
    });
    const page = el(
      "div",
      { role: "tabpanel", id: pageId, "aria-labelledby": tabId, class: "vv-panel" },
      el("h3", { class: "vv-heard", text: t("panel_" + id) }),
    ); // the headings of a panel stand below its name
    return { id, group, tab, page };
  });
  const list = el(
    "div",
    {
      role: "tablist",
      class: "vv-tabs",
      "aria-label": t("panels"),
      onkeydown: moveTab,
      onscroll: mark,
      onclick: ({ target }) => target === list && goOn(),
      onfocusout: ({ relatedTarget }) => relatedTarget && !list.contains(relatedTarget) && unfold(false),
    },
    ...[...new Set(pages.map(({ group }) => group))].flatMap(groupOf),
  );
  const resized = new ResizeObserver(mark);
  resized.observe(list);
  return {
    list,
    pages: pages.map(({ page }) => page),
    render(view, second) {
      for (const page of made.values()) page.settle();
      for (const { id, tab, page } of pages) {
        const open = id === app.selection.panel;
        if (tab.getAttribute("aria-selected") !== String(open)) {
          tab.setAttribute("aria-selected", String(open));
          tab.tabIndex = open ? 0 : -1;
          page.hidden = !open;
          tell();
          // The row scrolls where the columns are narrow; the open tab must be visible.
          if (open) list.scrollLeft = tab.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2;
        }
        if (!open) continue;
        if (!made.has(id)) made.set(id, createTabPanel(app, page));
        made.get(id).render(view, second);
      }
    },
    unfold,
    /** @param {string} place  "wide" or "narrow" */
    arrange(place) {
      narrow = place === "narrow";
      tell();
      mark();
    },
    /** The panel that is shown. */
    open() {
      const { id, page } = pages.find((one) => one.id === app.selection.panel);
      return { id, page, saves: app.panel().saves };
    },
    destroy() {
      resized.disconnect();
      for (const page of made.values()) page.destroy();
    },
  };

  /**
   * Marks a row with more tabs beyond its end. The mark is a pseudo-element, so a click on it has the list as
   * target, and scrolls on.
   */
  function mark() {
    const rest = list.scrollWidth - list.clientWidth - list.scrollLeft;
    list.classList.toggle("vv-goes-on", !narrow && rest > 2);
  }

  function goOn() {
    if (list.classList.contains("vv-goes-on")) list.scrollLeft += list.clientWidth / 2;
  }

  /**
   * The tabs of one group after its name, which is for the eye: a tab says all by itself.
   * @returns {HTMLElement[]}
   */
  function groupOf(name) {
    const tabs = pages.filter(({ group }) => group === name).map(({ tab }) => tab);
    if (!name) return tabs;
    const heading = el("span", {
      class: "vv-tab-group-name",
      "aria-hidden": "true",
      text: t("group_" + name),
    });
    return [el("div", { role: "presentation", class: "vv-tab-group" }, heading, ...tabs)];
  }

  /** On a narrow page only the open tab stands there: it opens and closes the grid of all. */
  function unfold(whether) {
    list.classList.toggle("vv-unfolded", whether);
    tell();
  }

  function tell() {
    for (const { tab } of pages) tab.removeAttribute("aria-expanded");
    if (!narrow) return;
    const { tab } = pages.find(({ id }) => id === app.selection.panel);
    tab.setAttribute("aria-expanded", String(list.classList.contains("vv-unfolded")));
  }

  /** Opens a panel, and scrolls to its beginning if the page was scrolled down in another. */
  function visit(id) {
    const pageOf = (panel) => pages.find((one) => one.id === panel).page;
    const open = pageOf(app.selection.panel).getBoundingClientRect();
    const scrolled = open.top < list.getBoundingClientRect().bottom;
    app.select(visitPanel(id, app.selection, app.shape()));
    // In the next frame, when all of it has its height: scroll anchoring would move the page before.
    if (scrolled) requestAnimationFrame(() => pageOf(id).scrollIntoView());
  }

  function moveTab(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    // By keys one stays among the tabs: the first look has none.
    const stops = pages.filter(({ id }) => !panelOf(app.panels, id).plain);
    const at = stops.findIndex(({ tab }) => tab === event.target);
    const next = stops[(at + step + stops.length) % stops.length];
    unfold(true);
    visit(next.id);
    next.tab.focus({ preventScroll: true });
    event.preventDefault();
  }
}

/**
 * A panel with its code, and the same panel of the second analysis if there is one.
 * @param {import("../main.js").App} app
 * @param {HTMLElement} page
 * @returns {{settle: () => void,
 *   render: (view: import("../types.js").View, second: import("../types.js").View|null) => void,
 *   destroy: () => void}}
 */
function createTabPanel(app, page) {
  const { create, alone, both } = app.panel();
  const panel = create(app);
  const code = createCode(app, app.panel());
  page.append(panel.root, code.root);
  let facing = null; // {source, panel, both, nodes} of the second analysis
  return {
    /** Drops an analysis that was closed, also while the tab is hidden: an analysis is large. */
    settle() {
      if (facing && facing.source !== app.facing()?.source) leave();
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
    facing = {
      source: other.source,
      panel: twin,
      both: shared,
      nodes: [...(shared ? [shared.root] : []), ...names, twin.root],
    };
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
