/** The texts of lessons, with the numbers of the analysis on the screen in them. */

import { digits, grouped, multiple, percent, plain, signed } from "../maths/numbers.js";
import { ITEMS } from "../lessons/check.js";
import { hiddenIn } from "../lessons/experiments.js";
import { taughtBy } from "../lessons/plans.js";
import { groupName, hasText, labelName, namesIn, tokenName, translated } from "./words.js";

/** The title of a lesson: its own, else a text. */
export function titleOf({ t }, lesson) {
  if (lesson.title === undefined) return t("lesson." + lesson.id);
  return lesson.title || t("ownUntitled");
}

/** The goal of a lesson, in a sentence; "" for a teacher's own. */
export function goalOf({ t }, lesson) {
  return lesson.title === undefined ? t("lesson." + lesson.id + "_goal") : "";
}

/**
 * The text of a part of the open step: "" what it says, or "question", "why", ...
 * @param {import("../main.js").App} app
 * @param {string} part
 * @param {(name: string, value: any) => any} [veil]  what is said instead of a value
 * @returns {string|null}  null if the step has no such text, or while a number of it is loading
 */
export function stepText(app, part, veil = (_name, value) => value) {
  const { course, t } = app;
  const { texts } = course.step();
  if (texts) return texts[part] || (part === "" ? "" : null);
  const key = [keyOf(course), ...(part ? [part] : [])].join("_");
  const values = hasText(key) ? valuesOf(app, namesIn(key, app.language)) : null;
  return (
    values &&
    t(key, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, veil(name, value)])))
  );
}

/** Prefix of the text keys of the open step. */
function keyOf(course) {
  return "lesson." + (course.step().says ?? course.lesson().id + "_" + course.step().id);
}

/**
 * The texts that follow the truth: the reason, whether a fact about models holds here, and the mistake that
 * it corrects.
 * @param {import("../main.js").App} app
 * @returns {{why: string|null, claim: string|null, slip: string|null}}
 */
export function sayings(app) {
  const fact = app.course.holds();
  return {
    why: stepText(app, "why"),
    claim: typeof fact === "boolean" ? stepText(app, fact ? "holds" : "fails") : null,
    slip: stepText(app, "slip"),
  };
}

/** The text of an option: that of the step, else a head or a block by its number. */
export function optionText(app, option) {
  const { course, t } = app;
  const { options } = course.question();
  const { texts } = course.step();
  if (texts) return texts["option_" + option];
  if (options === "heads") return t("headNumber", { head: option });
  // layers are counted from 0, as in every chart
  if (options === "blocks") return t("lessonBlock", { block: Number(option) - 1 });
  return t([keyOf(course), "option", option].join("_"), sizesOf(app));
}

/**
 * A value as its unit is written.
 * @param {import("../main.js").App} app
 * @param {{truth: string, percent?: boolean}} what
 * @param {any} value
 * @returns {string}
 */
export function written(app, { truth }, value) {
  const unit = app.course.unit(truth);
  if (unit === "count") return Number.isInteger(value) ? grouped(value) : digits(value);
  if (unit === "share") return percent(value);
  if (unit === "cosine") return signed(value).trim();
  if (unit === "times") return app.t("times", { times: multiple(value) });
  if (unit === "label") return labelName(value, app);
  if (unit === "answer")
    return value.kind === "group" ? groupName(value.name, app) : labelName(value.name, app);
  if (unit === "which") return optionText(app, value);
  return Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3)
    ? plain(value)
    : Number(value.toPrecision(5)).toString().replace("-", "\u2212");
}

/** The gap between guess and truth in words. */
export function gapText(app, truth) {
  const { course, t } = app;
  const question = course.question();
  const guess = course.guess();
  const gap = course.gap();
  if (question.kind === "write") return t("lessonGap_write", { guess });
  if (question.kind === "choose") {
    if (question.worked)
      return verdictText(app, gap.same ? "right" : "far", optionText(app, guess), optionText(app, truth));
    return t(gap.same ? "lessonGap_same" : "lessonGap_choose", {
      guess: optionText(app, guess),
      truth: optionText(app, truth),
    });
  }
  if (question.kind === "number")
    return verdictText(app, gap.verdict, written(app, question, guess), written(app, question, truth));
  if (question.kind === "patch") {
    const [token] = gap.tokens;
    const read = (value) =>
      question.truth === "attentionMap" ? multiple(value * app.source.grid.tokens) : signed(value).trim();
    const words = {
      guess: tokenName(guess, app),
      of: read(gap.of),
      truth: tokenName(token, app),
      most: read(gap.most),
    };
    return t(
      token === guess
        ? "lessonGap_hit"
        : question.truth === "attentionMap"
          ? "lessonGap_patch"
          : "lessonGap_place",
      words,
    );
  }
  const words = { common: gap.common, count: guess.length, of: percent(gap.of), most: percent(gap.most) };
  return t(question.truth === "attentionMap" ? "lessonGap_shares" : "lessonGap_patches", words);
}

/** A sentence on whether a guess is right, followed by guess and truth. */
function verdictText({ t, course }, verdict, guess, truth) {
  const says = {
    right: t("lessonRight"),
    close: t("lessonClose"),
    far: course.question().kind === "number" ? t("lessonFar") : t("lessonWrong"),
  }[verdict];
  return says + " " + t(course.question().worked ? "lessonGap_worked" : "lessonGap_number", { guess, truth });
}

/**
 * The numbers that every text of a lesson can name: sizes of model and picture, and what the step is about.
 */
function sizesOf(app) {
  const { course } = app;
  const { manifest, grid } = app.source;
  const { layer, head, token, partner } = course.at();
  return {
    model: translated(manifest.model.title, app),
    height: manifest.model.image.height,
    width: manifest.model.image.width,
    channels: manifest.model.image.channels,
    rows: grid.rows,
    cols: grid.cols,
    patches: grid.rows * grid.cols,
    tokens: grid.tokens,
    hidden: hiddenIn(grid),
    patchHeight: grid.patchHeight,
    patchWidth: grid.patchWidth,
    count: manifest.model.image.channels * grid.patchHeight * grid.patchWidth,
    layers: manifest.model.depth,
    heads: manifest.model.num_heads,
    dim: manifest.model.head_dim,
    embed: manifest.model.embed_dim,
    classes: manifest.model.num_classes,
    even: percent(1 / grid.tokens),
    layer,
    head,
    token: tokenName(token, app),
    partner: tokenName(partner, app),
  };
}

/** These numbers with those of the step that a text names; null while one of them is loading. */
function valuesOf(app, names) {
  const { course } = app;
  /** @type {Record<string, any>} */
  const values = sizesOf(app);
  for (const [name, operand] of Object.entries(course.step().values ?? {})) {
    if (!names.includes(name)) continue; // a value that the text does not name is not waited for
    const value = course.value(operand);
    if (value === null) return null;
    // A text that names this value is not shown, because the value does not exist here.
    values[name] = value === undefined ? "–" : written(app, operand, value);
  }
  return values;
}

/**
 * A plan line by line: when a part begins, in hours and minutes, how long it lasts, what is done, which
 * steps, and how in all.
 * @param {{t: (key: string, values?: any) => string}} app
 * @param {import("../lessons/plans.js").Plan} plan
 */
export function planRows(app, { parts }) {
  const { t } = app;
  let now = 0;
  return parts.map(({ minutes, does, steps, note }) => {
    const from = Math.floor(now / 60) + ":" + String(now % 60).padStart(2, "0");
    now += minutes;
    const what = hasText("plan.does_" + does) ? t("plan.does_" + does) : t("lesson." + does);
    const which = steps ? t("plan.steps", { steps: runsOf(steps) }) : "";
    return {
      from,
      minutes,
      does,
      what,
      which,
      how: [which, note && t("plan.note_" + note)].filter(Boolean).join(" "),
    };
  });
}

/**
 * What a plan teaches of the self-check; and what it leaves out, where it has the self-check before and after.
 * @param {{t: (key: string, values?: any) => string}} app
 * @param {import("../lessons/plans.js").Plan} plan
 */
export function planTeaches({ t }, plan) {
  const taught = taughtBy(plan);
  const left = ITEMS.filter((item) => item.lesson && !taught.includes(item));
  const rounds = plan.parts.filter(({ does }) => does === "before" || does === "after").length;
  const titles = (items) => items.map(({ id }) => t("check." + id)).join("; ");
  return [
    taught.length > 0 && t("plan.teaches", { items: titles(taught) }),
    rounds === 2 && left.length > 0 && t("plan.leaves", { items: titles(left) }),
  ]
    .filter(Boolean)
    .join(" ");
}

/**
 * The competences that lessons serve, each once, and where their names are from; "" where none serves any.
 * @param {{t: (key: string, values?: any) => string}} app
 * @param {string[]} lessons  the ids of lessons and of other activities
 */
export function servedBy({ t }, lessons) {
  const texts = lessons.map((id) => competencesOf({ t }, id)).filter(Boolean);
  const names = new Set(texts.flatMap((text) => text.split("; ")));
  return names.size > 0 ? t("plan.serves", { competences: [...names].join("; ") }) : "";
}

/** The names of the competences that a lesson serves; "" where it serves none. */
export const competencesOf = ({ t }, lesson) =>
  hasText("plan.serves_" + lesson) ? t("plan.serves_" + lesson) : "";

/**
 * Numbers in order; where three and more follow each other, the first and the last of them.
 * @param {number[]} numbers
 */
function runsOf(numbers) {
  /** @type {number[][]} */
  const runs = [];
  for (const number of numbers) {
    if (runs.at(-1)?.at(-1) === number - 1) runs.at(-1).push(number);
    else runs.push([number]);
  }
  return runs.map((run) => (run.length > 2 ? run[0] + "–" + run.at(-1) : run.join(", "))).join(", ");
}
