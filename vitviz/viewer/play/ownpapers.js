/** Own papers: the card of a visitor's own model, of which they write three parts, for a sheet of A4 and for files. */

import { el } from "../parts/dom.js";
import { allow, button } from "../parts/widgets.js";
import { openPaper, paper } from "../teaching/paper.js";
import { sumOf } from "./ownresult.js";
import { CARD, LONGEST_TEXT } from "./ownset.js";
import { thumbnailOf } from "./thumbnails.js";

const LINES = 3; // to write on, where nothing is written

/**
 * @param {{set: import("./ownset.js").OwnSet, say: import("./texts.js").Say, language: string,
 *   trunk: import("./ownmodel.js").Trunk, nameOf: (thing: import("./ownset.js").Thing) => string,
 *   found: () => import("./ownmodel.js").Found|null, changed: () => void}} of
 *   changed: something was written
 */
export function createOwnPapers({ set, say, language, trunk, nameOf, found, changed }) {
  const { model } = trunk.template;
  const base = model.words[language]?.texts?.[model.title] ?? model.title;
  const titles = { purpose: say("ownPurpose"), pictures_from: say("ownFrom"), not_for: say("ownNotFor") };
  const fields = CARD.map((key) => {
    const field = el("textarea", {
      rows: 2,
      maxlength: LONGEST_TEXT,
      oninput() {
        set.card[key] = field.value;
        changed();
      },
    });
    return { key, field };
  });
  const print = button({ text: say("ownPrint"), title: say("ownPrintTitle"), onClick: open });
  return {
    root: el(
      "details",
      { class: "vv-facts vv-own-card" },
      el("summary", { text: say("ownCard") }),
      el("p", { class: "vv-note", text: say("ownCardNote") }),
      ...fields.map(({ key, field }) => el("label", {}, el("span", { text: titles[key] }), field)),
      print,
    ),
    render() {
      allow(print, found() !== null);
      for (const { key, field } of fields)
        if (field !== document.activeElement && field.value !== set.card[key]) field.value = set.card[key];
    },
  };

  function open() {
    const learned = found();
    if (learned) openPaper(sheetOf(learned));
  }

  /** @param {import("./ownmodel.js").Found} learned */
  function sheetOf(learned) {
    const { things, right, count, pair, pictures } = learned;
    const listed = (textOf) =>
      el("ul", {}, ...things.map((thing, at) => el("li", { text: textOf(nameOf(thing), at) })));
    const written = (key) =>
      set.card[key].trim()
        ? [el("p", { text: set.card[key].trim() })]
        : Array.from({ length: LINES }, () => el("div", { class: "line wide" }));
    const names = pair?.classes.map((at) => nameOf(things[at])) ?? [];
    const confused = pair
      ? say("ownPair", { one: names[0], other: names[1], count: pair.times })
      : say("ownNoPair");
    const shots = (pair?.pictures ?? []).filter((at) => at >= 0);
    const sections = [
      [titles.purpose, ...written("purpose")],
      [say("ownCounts"), listed((name, at) => name + ": " + things[at].pictures.length)],
      [titles.pictures_from, ...written("pictures_from")],
      sumOf(count) > 0
        ? [
            say("ownGood"),
            el("p", {
              text: say("ownOf", { right: sumOf(right), count: sumOf(count) }) + " " + say("ownAll"),
            }),
            listed((name, at) => name + ": " + say("ownOf", { right: right[at], count: count[at] })),
            el("p", { text: confused }),
            ...shots.map((at) =>
              el("img", {
                src: thumbnailOf(pictures[at].pixels, model.image).toDataURL(),
                width: 120,
                alt: nameOf(things[learned.labels[at]]),
              }),
            ),
          ]
        : [say("ownGood"), el("p", { text: say("ownUnknown") })],
      [titles.not_for, ...written("not_for")],
    ];
    return paper(language, say("ownPaper", { names: things.map(nameOf).join(", ") }), [
      el("p", { class: "about", text: say("ownPaperAbout", { base }) }),
      ...sections.map(([title, ...nodes]) => el("section", {}, el("h2", { text: title }), ...nodes)),
    ]);
  }
}

/** What is written, for the details of a file. @param {Record<string, string>} card */
export const writtenOf = (card) =>
  Object.fromEntries(CARD.map((key) => [key, card[key].trim()]).filter(([, text]) => text !== ""));
