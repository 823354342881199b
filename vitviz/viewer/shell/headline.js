/**
 * The headline: what the model answers; while there is an experiment, its answer before and after, with both
 * bars.
 */

import { el, setText, show } from "../parts/dom.js";
import { LIKE } from "../data/explanations.js";
import { grouped, percents } from "../maths/numbers.js";
import { OPERATED, read } from "../state/experiment.js";
import { visitPanel } from "../state/panels.js";
import {
  answerOf,
  isAnswer,
  likenessOf,
  moved,
  movedText,
  nameOf,
  partSeen,
  rivalsOf,
} from "../text/answer.js";
import { changeName, sized, translated } from "../text/words.js";

/**
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, names: string, title: () => string, render: () => void}}
 *   names: of the picture and the model; title: the answer that stands there now, with these names
 */
export function createHeadline(app) {
  const { t } = app;
  const { manifest } = app.source;
  const names = [manifest.photo.name, sized(translated(manifest.model.title, app), app)]
    .filter(Boolean)
    .join(" · ");
  const answer = answerOf(app);
  const intact = answer ? answer.text : names;
  const { height, width } = manifest.model.image;
  const seen = { count: grouped(manifest.model.num_classes), height, width };
  const about = answer?.note || t(answer ? "says" : "saysNothing", seen);
  const question = questionOf(app, seen); // on the first look, in place of an answer
  const before = el("s", { text: intact });
  const was = el("p", { class: "vv-was" }, before, el("span", { text: "→", "aria-hidden": "true" }));
  const now = el("h2", { text: intact });
  const saying = el("span");
  // CSS reserves the height of the intact text while another one tells of an experiment
  const says = el("p", { class: "vv-says", "data-intact": about }, saying);
  const shares = createShares();
  let told = intact;
  let holds = false; // the height of the intact answer
  const root = el(
    "div",
    { class: "vv-title" },
    el("div", { class: "vv-title-line" }, was, now, says, createCut(app)),
    shares.root,
  );
  return {
    root,
    names,
    title: () => (told === names ? names : told + " · " + names),
    render,
  };

  function render() {
    const wanted = app.selection.beside === OPERATED ? (read(app.selection.experiment) ?? []) : [];
    const { app: other, coming, error } = app.sketching.answered();
    const failed = wanted.length > 0 && error !== null;
    const changes = failed ? [] : wanted;
    const likeness = other && likenessOf(app, other);
    const answered = other && answerOf(other);
    // where the likeness is explained, it is what the experiment is about
    const after = likeness && app.selection.target === LIKE ? null : answered;
    const distance = other && !after ? (likeness?.line ?? movedText(app, other)) : "";
    hold(changes.length > 0 && Boolean(app.panel().plain));
    show(was, Boolean(after));
    const asks = app.panel().plain && !after && !distance ? question : null;
    told = after ? after.text : distance || intact;
    setText(now, asks ? asks.text : told);
    now.classList.toggle("vv-told", now.textContent !== names); // the name of a file stays as it is
    const { answer: shown } = (after ? other : app).source.manifest.pass;
    now.classList.toggle("vv-maybe", shown?.level === "maybe");
    now.title = now.textContent; // a long one is cut off, so that what stands below keeps its place
    root.classList.toggle("vv-coming", coming || app.page.widening);
    setText(saying, app.page.widening ? t("dareWideComing") : explained());
    says.title = saying.textContent;
    if (answered) shares.draw(t("besideAnswers"), moved(app, other).concat((after && likeness) || []));
    else
      shares.draw(
        t("rivals"),
        rivalsOf(app).map((one) => ({ ...one, before: null })),
      );

    /** The line under the answer. */
    function explained() {
      if (failed) return t("experimentFailed");
      if (changes.length === 0) return asks ? asks.about : about;
      return [
        after?.why ? after.note : "",
        distance && t(likeness ? "likenessWhy" : "vectorMovedWhy"),
        t("afterChanges", { changes: said(changes) }),
      ]
        .filter(Boolean)
        .join("; ");
    }
  }

  /** Keeps the height of the intact answer on the first look, so that what stands below keeps its place. */
  function hold(on) {
    if (on !== holds) root.style.minHeight = on ? root.getBoundingClientRect().height + "px" : "";
    holds = on;
  }

  /** The interventions in words, in their order. */
  function said(changes) {
    return changes.map((one) => changeName(one, app)).join("; ");
  }
}

/** The answer as a question, and how sure it is; null where none is firm. */
function questionOf(app, seen) {
  const { answer } = app.source.manifest.pass;
  if (!isAnswer(app.source) || answer.outputs !== "one_of") return null;
  const [share] = percents([answer.probability]);
  return {
    text: app.t(answer.level === "maybe" ? "whyMaybe" : "whySays", { name: nameOf(answer, app) }),
    about: app.t("whySure", { share, ...seen }),
  };
}

/**
 * How much of the photo the model saw, where much was cut away; it leads to the whole photo with the frame.
 */
function createCut(app) {
  const { t } = app;
  const { manifest, whole } = app.source;
  const text = partSeen(app);
  if (text === "" || !whole.exists) return null;
  return el("button", {
    type: "button",
    class: "vv-cut",
    text,
    title: text + ". " + t("sawPartTitle"),
    async onclick({ target }) {
      app.select(visitPanel("patches", app.selection, app.shape()));
      await whole.fetch();
      if (app.source.manifest === manifest)
        target
          .closest(".vv-board")
          .querySelector(".vv-panel .vv-framing")
          ?.scrollIntoView({ block: "nearest" });
    },
  });
}

/**
 * The transform of a bar, as wide as its track, that ends at a share: moving it needs no layout in each of
 * its frames.
 */
const upTo = (share) => "translateX(calc(max(2px, " + 100 * share + "%) - 100%))";

/**
 * Answers with a thin bar each; a bar whose share was another before moves from there, unless motion is
 * unwanted.
 */
function createShares() {
  const root = el("ul", { class: "vv-rivals" });
  let rows = [];
  return {
    root,
    /**
     * @param {string} label
     * @param {{name: string, probability: number, before: number|null, text: string}[]} shares
     */
    draw(label, shares) {
      show(root, shares.length > 0);
      root.setAttribute("aria-label", label);
      if (shares.map(({ name }) => name).join("/") !== rows.map(({ name }) => name).join("/")) {
        rows = shares.map(({ name, before, probability }) => {
          const [fill, text] = [el("span", { class: "vv-fill" }), el("b")];
          fill.style.transform = upTo(before ?? probability);
          return {
            name,
            fill,
            text,
            node: el(
              "li",
              {},
              el("span", { text: name, title: name }),
              el("span", { class: "vv-track", "aria-hidden": "true" }, fill),
              text,
            ),
          };
        });
        root.replaceChildren(...rows.map(({ node }) => node));
        void root.offsetWidth; // the bars stand where they were, so that they can be seen to move
      }
      shares.forEach(({ probability, text }, at) => {
        rows[at].fill.style.transform = upTo(probability);
        setText(rows[at].text, text);
      });
    },
  };
}
