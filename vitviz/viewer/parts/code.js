/** The code under a panel: lines of Python that make the array on the screen, to read and to copy. */

import { OPERATED } from "../state/experiment.js";
import { el, freshId, setText, show } from "./dom.js";
import { button, choice, numberBox } from "./widgets.js";

const KINDS = ["vitviz", "torch"];

/**
 * @param {import("../main.js").App} app
 * @param {import("../state/panels.js").PanelDescription} panel
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createCode(app, panel) {
  const { t } = app;
  let kind = KINDS[0];
  const which = choice({
    label: t("codeKind"),
    options: KINDS.map((value) => ({ value, text: t("codeKind_" + value) })),
    onChoose: (value) => {
      kind = value;
      render();
    },
  });
  const text = numberBox(t("code"), " vv-code-text");
  const status = el("p", { class: "vv-note vv-said", role: "status" });
  const none = el("p", { class: "vv-note", text: t("codeNone") });
  const body = el(
    "div",
    { class: "vv-code-body" },
    el("div", { class: "vv-pair vv-on-a-line" }, which.root, button({ text: t("codeCopy"), onClick: copy })),
    text,
    el("p", { class: "vv-note", text: t("codeNote") }),
    status,
  );
  const root = el(
    "details",
    { class: "vv-facts vv-code", id: freshId("code"), ontoggle: () => render() },
    el("summary", { text: t("code") }),
    none,
    body,
  );
  return { root, render };

  /** Writes the code for the present selection, while it is open. */
  function render() {
    if (!root.open) return;
    const selection = {
      ...app.selection,
      token: app.pointer.shownToken(),
      partner: app.pointer.shownPartner(),
      selected: app.selection.token, // of panels that do not follow the pointer
      album: app.album?.items() ?? [],
    };
    const { changes } = app.source.manifest.pass;
    const { key, app: changed, coming } = app.second;
    const snippet = panel.code(
      selection,
      app.source,
      app.taste,
      key === OPERATED && changed && !coming ? changed.source.manifest.pass.changes : null,
    );
    // In plain PyTorch a snippet runs the intact model alone.
    const code = snippet && { ...snippet, torch: changes.length > 0 ? null : snippet.torch };
    if (code && code[kind] === null) kind = KINDS[0];
    which.set(kind);
    show(which.root, Boolean(code?.torch));
    show(none, !code);
    show(body, code !== null);
    if (!code || text.textContent === code[kind]) return;
    setText(text, code[kind]);
    setText(status, "");
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(text.textContent);
      setText(status, t("codeCopied"));
    } catch {
      // Without https or permission a page cannot write to the clipboard: the visitor copies by hand.
      text.focus();
      document.getSelection().selectAllChildren(text);
      setText(status, t("codeSelected"));
    }
  }
}
