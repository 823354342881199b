/** Heads and branches of all blocks as buttons, each of which turns one off and on again. */

import { el } from "../../parts/dom.js";

/**
 * @param {import("../../main.js").App} app
 * @param {() => "zero"|"mean"} by  what a head that is off gives
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createHeadTable(app, by) {
  const { t, bench } = app;
  const { depth, num_heads: heads } = app.source.manifest.model;
  const buttons = [];
  const rows = Array.from({ length: depth }, (_, layer) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", text: String(layer) }),
      ...Array.from({ length: heads }, (_head, head) =>
        cell(
          String(head),
          t("experimentHeadOf", { layer, head }),
          ({ kind, layer: at, head: of }) => kind === "head" && at === layer && of === head,
          () => ({ kind: "head", layer, head, by: by() }),
        ),
      ),
      ...["attention", "mlp"].map((branch) =>
        cell(
          t("experimentBranch_" + branch),
          t("experimentBranchOf_" + branch, { layer }),
          ({ kind, layer: at, branch: of }) => kind === "branch" && at === layer && of === branch,
          () => ({ kind: "branch", layer, branch }),
        ),
      ),
    ),
  );
  const head = el(
    "tr",
    {},
    el("th", { scope: "col", text: t("experimentBlock") }),
    el("th", { scope: "colgroup", colspan: heads, text: t("experimentHeads") }),
    el("th", { scope: "colgroup", colspan: 2, text: t("experimentBranches") }),
  );
  const root = el(
    "div",
    { class: "vv-scroll" },
    el("table", { class: "vv-heads-off" }, el("thead", {}, head), el("tbody", {}, ...rows)),
  );
  return {
    root,
    render() {
      const list = bench.list();
      for (const { node, is } of buttons) node.setAttribute("aria-pressed", String(list.some(is)));
    },
  };

  function cell(text, title, is, make) {
    const node = el("button", {
      type: "button",
      class: "vv-off-button",
      text,
      title,
      "aria-label": title,
      "aria-pressed": "false",
      onclick: () => {
        const list = bench.list();
        const at = list.findIndex(is);
        if (at < 0) bench.add(make());
        else bench.drop(at);
      },
    });
    buttons.push({ node, is });
    return el("td", {}, node);
  }
}
