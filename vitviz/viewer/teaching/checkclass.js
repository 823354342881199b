/**
 * The self-check of a class: codes, typed or pasted, become counts before and after, and a table for a study.
 */

import { ITEMS, ROUNDS } from "../lessons/check.js";
import { CODE_LETTERS, HANDED, classOf, codeFrom, readResults, tableOf } from "../lessons/checkcodes.js";
import { el, setText, show } from "../parts/dom.js";
import { csvFile, download } from "../parts/download.js";
import { button } from "../parts/widgets.js";
import { heard, replyText } from "./room.js";
import { itemTitle } from "./selfcheck.js";

/** @param {import("../main.js").App} app @returns {HTMLElement} */
export function createCheckClass(app) {
  const { t } = app;
  const { room } = app.teaching;
  const field = el("textarea", {
    rows: 3,
    spellcheck: "false",
    autocapitalize: "characters",
    maxlength: 10_000,
    oninput: draw,
  });
  const count = el("p", { role: "status" });
  const wrong = el("ul", { class: "vv-poll-wrong" });
  const body = el("tbody");
  const csv = button({
    text: t("check.csv"),
    title: t("check.csvTitle"),
    onClick: () => download(csvFile(tableOf(readResults(field.value).guesses)), "vitviz-self-check.csv"),
  });
  const cells = (tag, texts) => texts.map((text) => el(tag, { text, scope: tag === "th" ? "col" : null }));
  const table = el(
    "table",
    { class: "vv-check-table" },
    el(
      "thead",
      {},
      el("tr", {}, ...cells("th", [t("check.classQuestion"), t("check.classRight"), t("check.classSure")])),
    ),
    body,
  );
  const found = el(
    "div",
    {},
    table,
    el("p", { text: t("check.classCause") }),
    el("div", { class: "vv-lesson-buttons" }, csv),
    el("p", { class: "vv-note", text: t("check.csvHelp") }),
  );
  const root = el(
    "div",
    { class: "vv-poll vv-check-class" },
    el("label", {}, el("span", { class: "vv-note", text: t("pollCodes", { count: CODE_LETTERS }) }), field),
    el("p", { class: "vv-note", text: t("check.classHelp") }),
    room?.teacher
      ? el(
          "div",
          { class: "vv-lesson-buttons" },
          button({ text: t("check.fetch"), title: t("check.fetchTitle"), onClick: collect }),
        )
      : null,
    count,
    wrong,
    found,
  );
  draw();
  return root;

  /** Adds the codes that pupils have handed in to those in the field. */
  async function collect() {
    const reply = await heard(room.ask({ do: "tally", teacher: room.teacher, question: HANDED }));
    if (!Array.isArray(reply?.guesses))
      return setText(count, replyText(app, reply, t("check.silent"), t("check.silent")));
    const codes = [...field.value.split(/\s+/), ...reply.guesses.map(codeFrom)].filter(Boolean);
    field.value = [...new Set(codes)].join("\n");
    return draw();
  }

  function draw() {
    const { guesses, wrong: slips, more } = readResults(field.value);
    setText(
      count,
      t("check.classCount", { count: guesses.length }) + (more > 0 ? " " + t("pollMore", { more }) : ""),
    );
    wrong.replaceChildren(...slips.map(({ code, key }) => el("li", { text: t(key, { code }) })));
    show(wrong, slips.length > 0);
    show(found, guesses.length > 0);
    const items = classOf(guesses);
    const change = (counts) => t("check.classChange", counts);
    const sum = (part) =>
      Object.fromEntries(
        ROUNDS.map((round) => [round, items.reduce((total, item) => total + item[part][round], 0)]),
      );
    const row = (name, right, sureWrong) =>
      el(
        "tr",
        {},
        el("th", { scope: "row", text: name }),
        ...cells("td", [change(right), change(sureWrong)]),
      );
    body.replaceChildren(
      ...items.map(({ right, sureWrong }, at) => row(itemTitle(app, ITEMS[at]), right, sureWrong)),
      row(t("check.classAll"), sum("right"), sum("sureWrong")),
    );
  }
}
