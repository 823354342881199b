/**
 * Own lessons: views that a teacher has collected, with questions; checked, packed into a link, and played.
 */

import { MOST_IN_LINK } from "../state/experiment.js";

export const OWN = "own";
/** Limits of an own lesson. It comes from files and links, so more is refused with a sentence. */
export const MOST = {
  steps: 30,
  title: 80,
  text: 600,
  question: 300,
  right: 300,
  answer: 600,
  fields: 60,
  name: 60,
  value: MOST_IN_LINK,
  file: 200_000,
  link: 8000,
};
/**
 * How a question is answered: in words with the view shown; or before it is shown: in words, by tapping a
 * patch, by choosing, with a number.
 */
export const WAYS = ["look", "write", "patch", "choose", "number"];
/** Mark in front of the right choice. */
const RIGHT = "*";
/** Parts of the page that a step with a view shows. */
const SHOWN = ["title", "panel", "readout", "legend", "layer", "head"];
const KIND = "vitviz lesson";

/**
 * view: fields of the selection, and how the host finds model and picture again.
 * @typedef {{view: Record<string, string|number|boolean>, text: string, question: string, answer: string,
 *   way: "look"|"write"|"patch"|"choose"|"number", right?: string}} OwnStep
 *   right: the choices, one in a line and the right one with a star before it, or the right number
 * @typedef {{title: string, steps: OwnStep[]}} OwnLesson
 */

/** Why a lesson is refused: the key of a sentence, and its values. */
export class Misfit extends Error {
  /** @param {string} key @param {Record<string, any>} values */
  constructor(key, values = {}) {
    super(key);
    this.key = key;
    this.values = values;
  }
}

/** @returns {OwnLesson} */
export const emptyLesson = () => ({ title: "", steps: [] });

/**
 * A lesson from anywhere as a lesson that can be played. Throws a `Misfit` for anything else.
 * @param {any} wanted
 * @returns {OwnLesson}
 */
export function checkedLesson(wanted) {
  if (wanted === null || typeof wanted !== "object" || !Array.isArray(wanted.steps))
    throw new Misfit("ownNoLesson");
  if (wanted.steps.length > MOST.steps)
    throw new Misfit("ownManySteps", { count: wanted.steps.length, most: MOST.steps });
  return { title: textOf(wanted, "title"), steps: wanted.steps.map(checkedStep) };
}

function checkedStep(step, at) {
  const { view, way = "write" } = step ?? {};
  if (
    view === null ||
    typeof view !== "object" ||
    Array.isArray(view) ||
    typeof view.model !== "string" ||
    typeof view.example !== "string"
  ) {
    throw new Misfit("ownNoView", { step: at + 1 });
  }
  if (!WAYS.includes(way))
    throw new Misfit("ownNoWay", {
      step: at + 1,
      way: String(way).slice(0, MOST.name),
      ways: WAYS.join(", "),
    });
  const fields = Object.entries(view);
  if (fields.length > MOST.fields) throw new Misfit("ownNoView", { step: at + 1 });
  for (const [name, value] of fields) {
    const short =
      typeof value === "boolean" ||
      Number.isFinite(value) ||
      (typeof value === "string" && value.length <= MOST.value);
    if (!short || name.length > MOST.name || Object.hasOwn(Object.prototype, name))
      throw new Misfit("ownNoView", { step: at + 1 });
  }
  const right = textOf(step, "right");
  return {
    view: { ...view },
    ...Object.fromEntries(["text", "question", "answer"].map((name) => [name, textOf(step, name)])),
    way,
    ...(right ? { right } : {}),
  };
}

function textOf(from, name) {
  const text = from[name] ?? "";
  if (typeof text !== "string" || text.length > MOST[name])
    throw new Misfit("ownLongText", { name, most: MOST[name] });
  return text;
}

/**
 * The present view as a step of a lesson; null if its picture is one that no link finds again.
 * @param {any} selection
 * @param {Record<string, string>|undefined} link  of the manifest
 * @param {string[]} names  of the fields that its link has
 * @returns {OwnStep|null}
 */
export function stepOf(selection, link, names) {
  if (!link?.example) return null;
  const fields = [...names, "token", "overlay"].filter(
    (name) => Object.hasOwn(selection, name) && !["lesson", "step"].includes(name),
  );
  return {
    view: { ...link, ...Object.fromEntries(fields.map((name) => [name, selection[name]])) },
    text: "",
    question: "",
    answer: "",
    way: "look",
  };
}

/** The lesson with a step moved to another place. @param {OwnLesson} lesson @returns {OwnLesson} */
export function withMoved({ steps, ...rest }, from, to) {
  if (to < 0 || to >= steps.length) return { ...rest, steps };
  const others = steps.filter((_, at) => at !== from);
  return { ...rest, steps: [...others.slice(0, to), steps[from], ...others.slice(to)] };
}

/**
 * The question of a step, and the texts of its options. It becomes a question in free words where the right
 * answer is missing, or not clear.
 * @param {OwnStep} step
 * @returns {{question: import("./steps.js").Question, options?: Record<string, string>}}
 */
export function askedBy({ way, right = "" }) {
  if (way === "patch") return { question: { kind: "patch", truth: "attentionMap" } };
  const lines = right
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  if (way === "choose" && lines.length > 1 && lines.filter((line) => line.startsWith(RIGHT)).length === 1) {
    const named = lines.map(
      (line, at) =>
        /** @type {[string, string]} */ (
          line.startsWith(RIGHT) ? ["right", line.slice(1).trim()] : ["other" + at, line]
        ),
    );
    return {
      question: { kind: "choose", truth: "filled", options: named.map(([name]) => name), worked: true },
      options: Object.fromEntries(named.map(([name, text]) => ["option_" + name, text])),
    };
  }
  // "1,000" is a thousand in one language and one in another.
  const isUnclear = right.trim() === "" || /^[-+]?[1-9]\d{0,2}(,\d{3})+$/.test(right.trim());
  const given = isUnclear ? NaN : Number(right.trim().replace(",", "."));
  // a line that does not end where the answer is
  const end = 10 ** (given === 0 ? 0 : Math.floor(Math.log10(Math.abs(given))) + 1);
  if (way === "number" && Number.isFinite(end)) {
    return {
      question: {
        kind: "number",
        truth: "given",
        at: { given },
        min: given < 0 ? -end : 0,
        max: end,
        worked: true,
      },
    };
  }
  return { question: { kind: "write", truth: "" } };
}

/**
 * The lesson as the engine plays any lesson; null if it has no steps.
 * @param {OwnLesson} own
 * @returns {import("./steps.js").Lesson|null}
 */
export function played({ title, steps }) {
  if (steps.length === 0) return null;
  const [{ view: first }] = steps;
  return {
    id: OWN,
    title,
    minutes: 2 * steps.length,
    model: String(first.model),
    example: String(first.example),
    steps: steps.map((step) => {
      const { view, text, question, answer, way } = step;
      const { question: prompt, options = {} } = askedBy(step);
      const texts = { "": text, question, why: answer, ...options };
      const id = markOf(JSON.stringify(step));
      if (!question) return { id, texts, state: view, shows: SHOWN };
      const open = way === "look";
      // the patch that is asked for is one that the token looks at
      const shown = way === "patch" ? { ...view, direction: "from" } : view;
      return {
        id,
        texts,
        state: open ? shown : { ...shown, overlay: "none", beside: "" },
        shows: open ? SHOWN : [],
        question: prompt,
        reveal: { state: { overlay: view.overlay ?? "attention", beside: view.beside ?? "" }, shows: SHOWN },
      };
    }),
  };
}

/** A short name for a text, so that a guess stays with its question. */
export function markOf(text) {
  let hash = 2166136261; // FNV-1a
  for (const unit of new TextEncoder().encode(text)) hash = Math.imul(hash ^ unit, 16777619) >>> 0;
  return hash.toString(36);
}

/** The lesson as the text of a file. @param {OwnLesson} lesson */
export function fileText(lesson) {
  return JSON.stringify({ kind: KIND, version: 1, ...lesson }, null, 2) + "\n";
}

/** The lesson in the text of a file. Throws a `Misfit`. @param {string} text @returns {OwnLesson} */
export function lessonInFile(text) {
  if (text.length > MOST.file) throw new Misfit("ownLargeFile", { most: MOST.file / 1000 });
  try {
    return checkedLesson(JSON.parse(text));
  } catch (error) {
    throw error instanceof Misfit ? error : new Misfit("ownNoLesson");
  }
}

/**
 * The lesson in the letters that a link may have: Base64 for addresses, of JSON in UTF-8.
 * Throws a `Misfit` if it is too long for a link.
 * @param {OwnLesson} lesson
 */
export function packed(lesson) {
  const bytes = new TextEncoder().encode(JSON.stringify(lesson));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  if (text.length > MOST.link) throw new Misfit("ownLongLink", { length: text.length, most: MOST.link });
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The lesson of a link. Throws a `Misfit`. @param {string} text @returns {OwnLesson} */
export function unpacked(text) {
  if (text.length > MOST.link) throw new Misfit("ownLongLink", { length: text.length, most: MOST.link });
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) =>
      letter.charCodeAt(0),
    );
    return checkedLesson(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch {
    throw new Misfit("ownBrokenLink");
  }
}

/**
 * The lesson behind the # of an address, where no server sees it; null if there is none. Throws a `Misfit`.
 */
export function lessonOfAddress(href) {
  const packedText = new URLSearchParams(new URL(href).hash.slice(1)).get(OWN);
  return packedText === null ? null : unpacked(packedText);
}

/** The address with the lesson behind its #. Throws a `Misfit` if it is too long. */
export function addressWith(href, lesson) {
  const url = new URL(href);
  url.hash = OWN + "=" + packed(lesson);
  return url.href;
}
